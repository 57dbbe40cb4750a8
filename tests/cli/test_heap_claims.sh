# SPDX-License-Identifier: BSD-2-Clause
# What a report says of frees that did not happen, and of who damaged the heap: a call to free()
# that faulted, and was left by siglongjmp() or is another thread's, has freed nothing; a word of
# malloc was overwritten by the first write that damaged it, not by the last one that touched it.
. "$(dirname "$0")/lib.sh"
needs_qemu_10
cat >claims.c <<'C'
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#define NOINLINE __attribute__((noinline, noclone))
static sigjmp_buf back;
static volatile int sink, nr_faults;

static NOINLINE void first(void *at)
{
	free(at); /* first */
	sink++;
}
static NOINLINE void second(void *at)
{
	free(at); /* second */
	sink += 2;
}
static void leave(int sig)
{
	(void)sig;
	siglongjmp(back, 1);
}
static void wait_for_ever(int sig)
{
	signal(sig, SIG_DFL);
	nr_faults++;
	for (;;)
		pause();
}
static void *in_free(void *at)
{
	first(at);
	return NULL;
}
/* Dies with the pointer in a register. */
static NOINLINE void die(void *at)
{
	__asm__ volatile("" : "+b"(at));
	*(volatile int *)0x10008 = 1;
	__asm__ volatile("" : : "b"(at));
}
static NOINLINE void wipe(char *at, size_t size)
{
	memset(at - 8, 0, size); /* wipe */
	sink++;
}
static NOINLINE void touch(char *at)
{
	at[-1] = 7; /* touch */
	at[-1] = 0;
	sink++;
}
int main(int argc, char **argv)
{
	void *bad = (void *)0x560000023;
	char *a = malloc(40), *b = malloc(100);
	pthread_t t;

	if (argc < 2)
		return 1;
	strcpy(a, "first");
	if (!strcmp(argv[1], "left")) {
		signal(SIGSEGV, leave);
		if (!sigsetjmp(back, 1))
			first(bad);
		signal(SIGSEGV, SIG_DFL);
		second(bad); /* main_second */
	}
	if (!strcmp(argv[1], "called")) {
		signal(SIGSEGV, leave);
		if (!sigsetjmp(back, 1))
			first(bad);
		signal(SIGSEGV, SIG_DFL);
		die(bad);
	}
	if (!strcmp(argv[1], "thread")) {
		signal(SIGSEGV, wait_for_ever);
		pthread_create(&t, NULL, in_free, bad);
		while (!nr_faults)
			usleep(1000);
		second(bad);
	}
	if (!strcmp(argv[1], "damage")) {
		wipe(b, 100);
		touch(b);
		free(b);
	}
	if (!strcmp(argv[1], "inside"))
		a = realloc(b + 32, 300); /* inside */
	return a != NULL;
}
C
place() { printf 'claims.c:%s' "$(grep -n "/\* $1 \*/" claims.c | cut -d: -f1)"; }
crash() { # OPTION... -- MODE: the section on memory is in 'section', the first part in 'head'
	rm -f data*
	"$AUXTAP" crash -o data "${@:1:$#-1}" ./claims "${!#}" >stdout 2>stderr </dev/null
	[ -s data.report.txt ] || { fail "$*: no report: $(tail -n 3 stderr)"; return 1; }
	sed -n '/^Memory involved/,/^$/p' data.report.txt >section
	sed -n '1,/^$/p' data.report.txt >head
}
for build in 'gcc -O0' 'gcc -O2' 'clang -O2'; do
	command -v "${build% *}" >/dev/null || continue
	$build -g -w -fno-builtin -pthread -o claims claims.c ||
		{ fail "$build: not built"; continue; }

	crash -- left
	grep -q "^    being freed second at $(place second)$" section &&
		! grep -q 'freed again\|freed *first\|by thread' section ||
		fail "$build, left: $(cat section)"

	crash -- called
	grep -q "^    free called first at $(place first)$" section &&
		! grep -q ' freed ' section ||
		fail "$build, called: $(cat section)"

	crash -- thread
	grep -q "^    being freed second at $(place second)$" section &&
		! grep -q 'freed again\|freed *first\|by thread' section ||
		fail "$build, thread: $(cat section)"

	crash --values -- damage
	grep -qE "^  That was overwritten (in a call from|by) wipe at $(place wipe)$" head ||
		fail "$build, damage: $(cat head)"

	crash -- inside
	grep -q "^    invalid free (byte 32) main at $(place inside)$" section ||
		fail "$build, inside: $(cat section)"
done
finish
