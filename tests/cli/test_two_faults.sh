# SPDX-License-Identifier: BSD-2-Clause
# Two threads fault at the same moment: one makes the program die, the other's newest block ended in
# the middle, too; nothing after its fault is listed. And a living thread that has executed nothing
# is in the report.
. "$(dirname "$0")/lib.sh"
command -v cc >/dev/null || skip "no C compiler"
"$AUXTAP" list | grep -q 'qemu: available' || skip "no qemu"

cat >both.c <<'EOF'
#include <pthread.h>

static volatile int ready;
static volatile int *volatile nowhere = (int *)0x40;

static void *reads(void *arg)
{
	__atomic_add_fetch(&ready, 1, __ATOMIC_SEQ_CST);
	while (ready < 3)
		;
	return *nowhere ? arg : 0;
}

int main(void)
{
	pthread_t thread;

	for (int i = 0; i < 2; i++)
		pthread_create(&thread, 0, reads, 0);
	reads(0);
}
EOF
cc -g -O2 -pthread -o both both.c || skip "no threads"
# The function's addresses in order; the read is a load through a register that was just loaded.
objdump -d --no-show-raw-insn both | sed -n '/<reads>:/,/^$/p' >code
fault=$(awk '/mov +\(%r[a-d]x\),%e/ { sub(":", "", $1); print $1; exit }' code)
[ -n "$fault" ] || skip "the compiler reads in another way: $(cat code)"
awk -v fault="$fault" '/^ / { sub(":", "", $1); if (after) print substr($1, length($1) - 2)
	if ($1 == fault) after = 1 }' code >never
[ -s never ] || fail "no instructions after the read: $(cat code)"

for run in 1 2 3 4 5 6; do
	guard "$AUXTAP" crash --source qemu -o "data.$run" -- ./both >/dev/null 2>&1
	[ $? -eq 139 ] || fail "run $run: no death by SIGSEGV"
	"$AUXTAP" decode --events insn,gap -F tid,event,ip,sym,symoff "data.$run" >events
	grep -q decode_error events && fail "run $run: $(grep -m 1 decode_error events)"
	"$AUXTAP" decode --events insn -F tid,ip "data.$run" | awk '{ last[$1] = $2 }
		END { for (t in last) print t, last[t] }' >newest
	# of each thread the newest instruction is one that comes before the read
	while read -r tid ip; do
		grep -q -x "${ip: -3}" never &&
			fail "run $run: thread $tid goes on to $ip after its fault at $fault"
	done <newest
done

cat >idle.c <<'EOF'
#include <pthread.h>
#include <unistd.h>

static void *waits(void *arg)
{
	pause();
	return arg;
}

int main(void)
{
	pthread_t thread;

	pthread_create(&thread, 0, waits, 0);
	*(volatile int *)0 = 1;
}
EOF
cc -g -pthread -o idle idle.c || skip "no threads"
# Whether the thread has run when main() dies is a matter of chance: it must be listed either way.
for run in 1 2 3 4 5 6; do
	guard "$AUXTAP" crash --source qemu -o "idle.$run" -- ./idle >/dev/null 2>&1
	listed=$(sed -n '/^The other threads/,/^$/p' "idle.$run.report.txt" | grep '^  idle ' |
		grep -vc 'its tree of calls is above$')
	[ "$listed" -eq 1 ] || fail "run $run: $listed other threads in the report, not 1"
done
finish
