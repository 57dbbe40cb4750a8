# SPDX-License-Identifier: BSD-2-Clause
# Signals: forwarded to the program; SIGUSR2 takes a snapshot; attaching and detaching; death of
# the emulated kernel is an error.
. "$(dirname "$0")/lib.sh"
command -v cc >/dev/null || skip "no C compiler"
cat >loop.c <<'C'
#include <signal.h>
#include <stdio.h>
#include <unistd.h>
static volatile sig_atomic_t got;
static void on_signal(int signo) { got = signo; }
int main(void)
{
	signal(SIGTERM, on_signal);
	alarm(6000);
	puts("ready");
	fflush(stdout);
	while (!got)
		usleep(1000);
	return 9;
}
C
cc -O1 -static -o loop loop.c 2>/dev/null || # the steps are not spent in ld.so
	cc -O1 -o loop loop.c || skip "cc does not work"

ready() { wait_for test -s "$1"; }
snapshots() { "$AUXTAP" dump --no-packets "$1" 2>/dev/null | grep -c '] AUXTRACE: '; }
switches() { awk '/^voluntary_ctxt/ { print $2 }' "/proc/$1/status"; }

for command in record crash; do
	"$AUXTAP" $command --source ptrace -m 8,16 -o $command.data \
		-- ./loop >$command.out 2>$command.err </dev/null &
	pid=$!
	ready $command.out
	kill -TERM $pid
	wait $pid
	status=$?
	[ $status -eq 9 ] || fail "$command: SIGTERM was not forwarded: status $status: $(cat $command.err)"
done
grep -q 'no crash, no snapshot' crash.err || fail "a clean stop counts as a crash: $(cat crash.err)"
[ -e crash.data ] && fail "a clean stop left a snapshot"

"$AUXTAP" record --source ptrace -S -m 8,16 -o snap.data -- ./loop >snap.out 2>snap.err </dev/null &
pid=$!
ready snap.out
kill -USR2 $pid
wait_for eval '[ "$(snapshots snap.data)" -ge 1 ]'
kill -USR2 $pid
wait_for eval '[ "$(snapshots snap.data)" -ge 2 ]'
kill -TERM $pid
wait $pid
grep -q '3 snapshots' snap.err || fail "snapshots: $(cat snap.err)"
"$AUXTAP" decode --summary snap.data >summary 2>&1 || fail "decode of snapshots: $(cat summary)"
grep -q '^errors: 0$' summary || fail "snapshots do not fit together: $(cat summary)"

./loop >attach.out &
target=$!
ready attach.out
"$AUXTAP" record --backend emulated -p $target -o attach.data 2>attach.err &
pid=$!
wait_for grep -q "^TracerPid:.[1-9]" /proc/$target/status
before=$(switches $target)
wait_for eval '[ "$(switches $target)" -ge $((before + 20)) ]' # it runs, and is traced
kill -TERM $pid
wait $pid
status=$?
[ $status -eq 0 ] || fail "attach: status $status: $(cat attach.err)"
kill -0 $target || fail "the process did not survive the detach"
kill -TERM $target
wait $target
[ $? -eq 9 ] || fail "the process did not end as it would alone"
"$AUXTAP" decode --summary attach.data | grep -q '^instructions: [1-9]' || fail "nothing traced by -p"

"$AUXTAP" record --source ptrace -o dead.data -- ./loop >dead.out 2>dead.err </dev/null &
pid=$!
ready dead.out
kill -KILL "$(pgrep -P $pid auxtap-emu)"
wait $pid
status=$?
[ $status -eq 125 ] || fail "death of auxtap-emu: status $status"
grep -q 'the emulator was killed' dead.err || fail "death of auxtap-emu: $(cat dead.err)"
finish
