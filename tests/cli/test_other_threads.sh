# SPDX-License-Identifier: BSD-2-Clause
# The other threads of a crash report: sorted, each with its name and the last calls of the
# program's own functions; the bottom of a stack that makecontext() made is its end.
. "$(dirname "$0")/lib.sh"
command -v gcc >/dev/null || skip "gcc is not installed"
gcc -g -O1 -w -pthread -o others "$SRC/tests/cli/frames/others.c" || fail "others: not built"
"$AUXTAP" crash -o data -- ./others >stdout 2>stderr </dev/null
[ "$?" -eq 139 ] || fail "others: $(tail -n 2 stderr)"
head -n 1 data.report.txt | grep -q '^reader .* in get at others.c:' ||
	fail "others: $(head -n 2 data.report.txt)"
sed -n '/^The other threads/,/^$/p' data.report.txt >threads
sed -nE 's/^  ([a-z]+) +([0-9]+)  +[0-9]+ instructions, .*/\2 \1/p' threads >named
[ "$(wc -l <named)" = 2 ] && sort -n named | cmp -s - named && grep -q clearer named ||
	fail "others: $(cat threads)"
# the thread that waits has called clear(), which returned; main() has not
awk '/^  clearer/ { mine = 1; next } /^  [a-z]/ { mine = 0 } mine' threads >calls
line=$(grep -n 'void clear(void)' "$SRC/tests/cli/frames/others.c" | cut -d: -f1)
grep -qE "^ +-[0-9]+  clears \(others.c:[0-9]+\)  \.\.\.$" calls &&
	grep -qE "^ +-[0-9]+  clear \(others.c:$((line + 2))\)$" calls ||
	fail "clearer: $(cat threads)"
grep -qE '^ +-[0-9]+  main \(others.c:[0-9]+\)  \.\.\.$' threads || fail "main: $(cat threads)"
grep -qE '^ +-[0-9]+  (_start|frame_dummy|__|pthread_)' threads && fail "libraries: $(cat threads)"
# it was cleared before it was read: the times say so, those of the thread that died, too
ago() { sed -nE "s/^ +-([0-9]+)  $1 \(.*/\1/p" threads | tail -n 1; }
grep -qE '^  reader +[0-9]+  its tree of calls is above$' threads && [ -n "$(ago get)" ] &&
	[ "$(ago clear)" -gt "$(ago get)" ] || fail "times: $(cat threads)"

# the last line of a thread that waits in a system call is that of the call, not the next one
cat >waits.c <<'C'
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>
static volatile int waits;
static void *wait_for_ever(void *arg)
{
	waits = 1;
	asm volatile("syscall" : : "a"(SYS_pause) : "rcx", "r11", "memory"); /* here */
	waits = 0;
	return arg;
}
int main(void)
{
	pthread_t thread;
	pthread_create(&thread, NULL, wait_for_ever, NULL);
	while (!waits)
		usleep(1000);
	usleep(100000);
	*(volatile int *)0 = 0;
}
C
gcc -g -O0 -w -pthread -o waits waits.c || fail "waits: not built"
line=$(grep -n '/\* here' waits.c | cut -d: -f1)
"$AUXTAP" crash -o data -- ./waits >stdout 2>stderr </dev/null
grep -q "instructions, last in wait_for_ever at waits.c:$line\$" data.report.txt ||
	fail "waits: $(sed -n '/^The other threads/,/^$/p' data.report.txt)"
"$AUXTAP" report --format json data >json
python3 -c '
import json
lines = [t["location"]["line"] for t in json.load(open("json"))["threads"] if not t["died"]]
assert lines == ['$line'], lines' || fail "waits: JSON"

# threads that had ended have their names, also one that another thread gave; the last 64 of them
cat >ended.c <<'EOF'
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <unistd.h>
static pthread_barrier_t named;
static atomic_int last;
static void *self(void *name)
{
	last = gettid();
	prctl(PR_SET_NAME, name);
	return NULL;
}
static void *waits(void *arg)
{
	last = gettid();
	pthread_barrier_wait(&named);
	return arg;
}
/* The kernel wakes the joining thread before the other one has ended. */
static void join(pthread_t thread)
{
	pthread_join(thread, NULL);
	while (!tgkill(getpid(), last, 0))
		usleep(1000);
}
int main(void)
{
	pthread_t thread;
	char name[16];
	for (int i = 0; i < 70; i++) {
		snprintf(name, sizeof(name), "self-%d", i);
		pthread_create(&thread, NULL, self, name);
		join(thread);
	}
	pthread_barrier_init(&named, NULL, 2);
	pthread_create(&thread, NULL, waits, NULL);
	pthread_setname_np(thread, "by-another");
	pthread_barrier_wait(&named);
	join(thread);
	*(volatile int *)0 = 0;
}
EOF
gcc -g -O1 -pthread -o ended ended.c || fail "ended: not built"
"$AUXTAP" crash -o data -- ./ended >stdout 2>stderr </dev/null
sed -nE 's/^  ([a-z0-9-]+) +[0-9]+ +[0-9]+ instructions, last in .*; it had ended$/\1/p' \
	data.report.txt >named
{ seq -f 'self-%g' 7 69; echo by-another; } | sort >expected
sort named | cmp -s - expected || fail "ended: $(sort named | diff - expected | head -n 5)"

gcc -g -O0 -o coroutine "$SRC/tests/cli/frames/coroutine.c" || fail "coroutine: not built"
"$AUXTAP" crash -o data -- ./coroutine >stdout 2>stderr </dev/null
sed -n '/^Backtrace/,/^$/p' data.report.txt >frames
! grep -q __start_context frames || # without libc's symbols
	sed '$d' frames | tail -n 1 | grep -q '^  #[0-9]* *__start_context ' ||
	fail "coroutine: $(cat frames)"
finish
