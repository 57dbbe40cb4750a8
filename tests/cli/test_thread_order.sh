# SPDX-License-Identifier: BSD-2-Clause
# What threads do in turns is in the trace in that order, by the default event's times, whether they
# hand over by system calls or by atomic instructions alone. Ground truth: the order that the
# program enforces.
. "$(dirname "$0")/lib.sh"
command -v gcc >/dev/null || skip "gcc is not installed"
gcc -g -O1 -w -pthread -o hand_over "$SRC/tests/cli/frames/hand_over.c" || fail "not built"

steps_of() { # FILE: the numbers of the steps, in the order of the events
	"$AUXTAP" decode --events call -F time,addr,sym "$1" 2>decode.err |
		sed -nE 's/.*=> .*step([0-2])\+0x0.*/\1/p'
}

for how in mutex cond xchg; do
	guard "$AUXTAP" crash -m 128,8192 -o data -- ./hand_over $how >stdout 2>stderr </dev/null
	[ "$?" -eq 139 ] || fail "$how: $(tail -n 2 stderr)"
	grep -q '^  no gaps: complete from the first' stderr || fail "$how: $(grep -A5 'trace covers' stderr)"
	steps_of data >steps
	[ "$(wc -l <steps)" -eq 90 ] || fail "$how: $(wc -l <steps) steps, not 90"
	# turn N is step N % 3
	awk '$1 != (NR - 1) % 3 { bad++ } END { print bad + 0 }' steps >bad
	[ "$(cat bad)" -eq 0 ] || fail "$how: $(cat bad) of 90 steps out of order"
	if command -v perf >/dev/null; then
		guard perf script -i data --itrace=c -F tid,time,ip,addr,sym 2>perf.err |
			sed -nE 's/.*=> .* step([0-2])$/\1/p' >perf.steps
		cmp -s steps perf.steps ||
			fail "$how: stock perf has another order: $(diff steps perf.steps | head -n 3)"
	fi
	# the report's times: the last turns were those of step 0, 1 and 2
	for step in step0 step1 step2; do
		sed -n '/^The other threads/,/^$/p' data.report.txt |
			sed -nE "s/^ +-([0-9]+)  $step \(.*/\1/p" | sort -n | head -n 1
	done >ago
	[ "$(wc -l <ago)" -eq 3 ] && sort -nr ago | cmp -s - ago &&
		[ "$(sort -u ago | wc -l)" -eq 3 ] || fail "$how: times: $(paste -s ago)"
done

# While no other thread runs, a thread's atomics need no times. (A PSB has one; so has each return
# from the kernel.)
cat >one.c <<'EOF'
#include <pthread.h>
#include <unistd.h>
static int n;
static void *waits(void *arg)
{
	pause();
	return arg;
}
int main(void)
{
	pthread_t thread;
	pthread_create(&thread, NULL, waits, NULL);
	for (int i = 0; i < 5000; i++)
		__atomic_fetch_add(&n, 1, __ATOMIC_SEQ_CST);
	*(volatile int *)0 = 0;
}
EOF
gcc -O1 -pthread -o one one.c || fail "one: not built"
guard "$AUXTAP" crash -o data -- ./one >stdout 2>stderr </dev/null
"$AUXTAP" dump data >dump 2>&1 || fail "dump: $(tail -n 1 dump)"
grep -qiw tsc dump && [ "$(grep -ciw tsc dump)" -lt 300 ] || fail "one: $(grep -ciw tsc dump) times"
finish
