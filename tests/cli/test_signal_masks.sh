# SPDX-License-Identifier: BSD-2-Clause
# A program that blocks all signals, and waits for one in a system call with a mask of its own, as
# dash's "wait" does: it goes on, and sees the masks that it sees natively, by each engine.
. "$(dirname "$0")/lib.sh"
command -v gcc >/dev/null || skip "gcc is not installed"
cat >masks.c <<'C'
#define _GNU_SOURCE
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/wait.h>
#include <unistd.h>
static volatile int got, inside;
static int is_blocked(int signo)
{
	sigset_t mask;

	sigprocmask(SIG_BLOCK, 0, &mask);
	return sigismember(&mask, signo);
}
static void handler(int signo) { got = signo; inside = is_blocked(SIGTRAP); }
int main(void)
{
	struct sigaction action = {.sa_handler = handler};
	sigset_t all, none, old;
	int epoll = epoll_create(1);
	struct epoll_event event;

	sigaction(SIGCHLD, &action, 0);
	sigfillset(&all);
	sigemptyset(&none);
	sigprocmask(SIG_BLOCK, &all, &old);
	for (int call = 0; call < 8; call++) {
		pid_t child = fork();

		if (!child) {
			usleep(call & 1 ? 50000 : 0); /* the signal is there, or comes */
			_exit(3);
		}
		for (got = 0; !got;) {
			if (call / 2 == 0)
				sigsuspend(&none);
			else if (call / 2 == 1)
				ppoll(0, 0, 0, &none);
			else if (call / 2 == 2)
				pselect(0, 0, 0, 0, 0, &none);
			else
				epoll_pwait(epoll, &event, 1, -1, &none);
		}
		printf("%d: %d, inside %d, after %d %d\n", call, got == SIGCHLD, inside,
		       is_blocked(SIGTRAP), is_blocked(SIGCHLD));
		waitpid(child, 0, 0);
	}
	sigprocmask(SIG_SETMASK, &old, 0);
	printf("%d\n", is_blocked(SIGTRAP));
	return 7;
}
C
gcc -g -O1 -o masks masks.c || { fail "masks: not built"; finish; }
./masks >native
engines=()
"$AUXTAP" list | grep -q '^  qemu.*: available' && engines+=(qemu)
"$AUXTAP" list | grep -q 'ptrace: available' && engines+=(ptrace)
for engine in "${engines[@]}"; do
	guard "$AUXTAP" crash --source "$engine" -o data -- ./masks >stdout 2>stderr
	rc=$?
	[ $rc = 7 ] || fail "$engine: exit $rc: $(tail -n 2 stderr)"
	diff native stdout || fail "$engine: other masks"
	guard "$AUXTAP" crash --source "$engine" -o data -- \
		sh -c 'sleep 0.1 & wait; exit 5' 2>stderr
	rc=$?
	[ $rc = 5 ] || fail "$engine: sh: exit $rc: $(tail -n 2 stderr)"
done
finish
