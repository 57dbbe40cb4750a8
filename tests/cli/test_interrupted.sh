# SPDX-License-Identifier: BSD-2-Clause
# crash on programs that hang: SIGUSR2 and Ctrl-C, attached and launched; the status of an attached
# process that dies.
. "$(dirname "$0")/lib.sh"
command -v cc >/dev/null || skip "no C compiler"
cat >prog.c <<'C'
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static volatile sig_atomic_t got;
static volatile unsigned long turns;
static void on_signal(int signo) { got = signo; }

__attribute__((noinline)) static void spin_here(void)
{
	for (int i = 0; i < 50; i++)
		turns++;
}

int main(int argc, char **argv)
{
	if (argc > 1 && !strcmp(argv[1], "die"))
		signal(SIGUSR1, SIG_DFL);
	else
		signal(SIGTERM, on_signal);
	signal(SIGINT, on_signal);
	alarm(6000);
	spin_here(); /* has run whenever the signal comes */
	puts("ready");
	fflush(stdout);
	while (!got)
		spin_here();
	if (argc > 1 && !strcmp(argv[1], "die"))
		*(volatile int *)0 = 1;
	return 9;
}
C
cc -O1 -static -o prog prog.c 2>/dev/null || cc -O1 -o prog prog.c || skip "cc does not work"
ready() { wait_for test -s "$1"; }
traced() { wait_for grep -q '^TracerPid:[[:space:]][1-9]' "/proc/$1/status"; }
# Nothing of the stage before: what is waited for must be this one's.
stage() { # WHAT
	what=$1
	rm -f a a.* l l.* out err
}
interrupted() { # FILE: its report
	grep -q '^prog (pid [0-9]*) was interrupted: a snapshot was asked for; it did not die$' \
		"$1" ||
		fail "$what: headline: $(head -n 2 "$1")"
	grep -q 'spin_here' "$1" || fail "$what: not what it did: $(cat "$1")"
	grep -q 'died' <(grep -v 'did not die' "$1") && fail "$what: a death"
	grep -q 'interrupted here' "$1" || fail "$what: no end of the calls"
}

# background jobs of a script without job control ignore SIGINT
set -m
sources=ptrace
command -v qemu-x86_64 >/dev/null && [ -e "$BIN/auxtap-qemu.so" ] && sources="qemu ptrace"

for source in $sources; do
	stage "launched, $source"
	"$AUXTAP" crash --source $source -m 8,16 -o l -- ./prog >out 2>err </dev/null &
	pid=$!
	ready out
	kill -USR2 $pid
	wait_for test -s l.report.txt
	interrupted l.report.txt
	child=$(sed -n 's/.*(pid \([0-9]*\)) was.*/\1/p' l.report.txt)
	kill -0 "$child" || fail "$what: the program does not go on"
	kill -USR2 $pid
	wait_for test -s "l.$child.2.report.txt"
	interrupted "l.$child.2.report.txt"
	cp "l.$child.2" second
	kill -INT $pid
	wait $pid
	status=$?
	[ $status -eq 9 ] || fail "$what: status $status: $(cat err)"
	[ "$(grep -c 'was interrupted' err)" = 2 ] || fail "$what: $(cat err)"
	grep -q 'ended with status 9; no crash$' err || fail "$what: end: $(tail -n 1 err)"
	"$AUXTAP" decode --summary second >summary 2>&1 || fail "$what: decode: $(cat summary)"
	grep -q '^errors: 0$' summary || fail "$what: $(cat summary)"
	stage "launched, then a death, $source"
	"$AUXTAP" crash --source $source -m 8,16 -o l -- ./prog die >out 2>err </dev/null &
	pid=$!
	ready out
	kill -USR2 $pid
	wait_for test -s l.report.txt
	kill -INT $pid
	wait $pid
	status=$?
	[ $status -eq 139 ] || fail "$what: status $status: $(cat err)"
	child=$(sed -n 's/.*(pid \([0-9]*\)) was.*/\1/p' l.report.txt)
	grep -q 'died of SIGSEGV' "l.$child.report.txt" || fail "$what: $(ls)"
done

for signo in INT USR2; do
	stage "attached, $signo"
	./prog >out &
	target=$!
	ready out
	"$AUXTAP" crash --backend emulated -m 8,16 -p $target -o a 2>err &
	pid=$!
	traced $target
	sleep 0.5
	kill -$signo $pid
	wait $pid
	status=$?
	[ $status -eq 0 ] || fail "$what: status $status: $(cat err)"
	[ -s a.report.txt ] && interrupted a.report.txt || fail "$what: no report: $(cat err)"
	grep -q '^TracerPid:[[:space:]]0$' /proc/$target/status || fail "$what: not detached"
	kill -TERM $target
	wait $target
	status=$?
	[ $status -eq 9 ] || fail "$what: the process ended with $status"
done

stage "attached, dies"
./prog die >out &
target=$!
ready out
"$AUXTAP" crash --backend emulated -m 8,16 -p $target -o a 2>err &
pid=$!
traced $target
sleep 0.5
kill -INT $target
wait $pid
status=$?
wait $target
[ $status -eq 139 ] || fail "$what: status $status: $(cat err)"
grep -q 'died of SIGSEGV' a.report.txt || fail "$what: no report"

stage "a healthy end"
./prog >out &
target=$!
ready out
"$AUXTAP" crash --backend emulated -m 8,16 -p $target -o a 2>err &
pid=$!
traced $target
kill -TERM $target
wait $pid
status=$?
wait $target
[ $status -eq 0 ] || fail "$what: status $status: $(cat err)"
[ -e a ] && fail "$what: a snapshot"
finish
