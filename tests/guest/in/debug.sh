# SPDX-License-Identifier: BSD-2-Clause
# In the guest: see test_debug.sh.
debug=/sys/kernel/debug/auxtap
bad=0
complain() {
	echo "debug: $name: $*"
	bad=1
}
count() {
	sed -n "s/^$1: //p" $debug/counts
}
label() { # NAME: its address
	sed -n "s/^$1 \([0-9a-f]*\) .*/\1/p" labels
}
offset() { # NAME: in the file
	sed -n "s/^$1 [0-9a-f]* //p" labels
}
# NAME COMMAND...: prints and ends as untraced; then 'want' is what it printed, 'steps' the log,
# and $lost how often the module did not know what ran
record='auxtap record --backend kernel -e intel_pt//u -m 64,4096 -o data --'
traced() {
	if [ "$1" = with_gdb ]; then # the program alone, not gdb
		with_gdb $record
	else
		$record "$@"
	fi
}
same() {
	name=$1
	shift
	"$@" >want 2>want.err
	want=$?
	echo >$debug/steps
	lost=$(($(count lost_track) + $(count unreadable)))
	traced "$@" >got 2>got.err
	rc=$?
	lost=$(($(count lost_track) + $(count unreadable) - lost))
	[ $rc = $want ] || complain "exit $rc, untraced $want: $(cat got.err)"
	cmp -s want got || complain "prints something else: $(diff want got | head -n 8)"
	cat $debug/steps >steps
	auxtap decode --events insn -F tid,ip data >ips 2>errors
	if [ ! -s steps ] && [ ! -s ips ]; then # nothing that is stepped
		echo 'no instructions' >verdict
		return
	fi
	compare_steps steps <ips >verdict || complain "decoded: $(cat verdict; head -n 3 errors)"
	echo "$name: $(tail -n 1 verdict), lost $lost"
}
exactly() { # LABEL TIMES
	nr=$(count_steps steps $(label $1))
	[ "$nr" = "$2" ] || complain "$1 was stepped $nr times, not $2"
}

insmod /auxtap.ko name=intel_pt steps=4000000 || exit 1
/victim where >labels
[ "$(wc -l <labels)" = 7 ] || { cat labels; exit 1; }
nop=$(label region_nop)

# ---- by itself ----

same plain /victim run 20
for at in region_loop region_after_ss region_pop region_store region_nop; do
	exactly $at 60
done
[ $lost = 0 ] || complain "lost track $lost times"
same 'its own single step' /tf
[ $lost = 0 ] || complain "lost track $lost times"

# ---- a debugger ----

debugger() { # HOW BREAK
	same "debugger $1 $2" /debugger $1 $(label $2) /victim run 4
}
debugger step region_nop
[ "$(grep -c ^step want)" = 60 ] || complain "$(head -n 3 want)"
exactly region_store 12
debugger break region_nop
[ "$(grep -c ^break want)" = 12 ] || complain "$(head -n 3 want)"
exactly region_nop 12
debugger move region_nop
exactly region_store 12
debugger execute region_nop
[ "$(grep -c 'dr6 2' want)" = 12 ] || complain "$(head -n 4 want)"
exactly region_store 12
exactly region_nop 12
debugger calls region_nop
[ "$(grep -c ^call want)" -gt 24 ] || complain "$(head -n 4 want)"
exactly region_store 12
# [WRAPPER...]: a program waits for gdb, which attaches and goes with it through its exec
with_gdb() {
	rm -f pid
	"$@" sh -c 'echo $$ >pid; kill -STOP $$; exec /victim run 4' >victim.out 2>victim.err &
	started=$!
	until grep -qs '^State:.*T' /proc/$(cat pid 2>/dev/null)/status; do sleep 0.1; done
	gdb -nx -q -batch -p $(cat pid) -x gdb.in 2>gdb.err |
		sed -n -e 's/process [0-9]*/process N/' -e '/^Catch/,$p'
	wait $started
	rc=$?
	cat victim.out
	return $rc
}
if [ -e /usr/bin/gdb ]; then
	# displaced: a copy of the instruction, written over _start, which no image has
	printf '%s\n' 'set pagination off' 'set displaced-stepping off' 'catch exec' \
		'signal SIGCONT' 'delete 1' "break *0x$(label region_nop)" c \
		'stepi 5' 'info registers rip eflags' "hbreak *0x$(label region_store)" \
		c c delete c >gdb.in
	same gdb with_gdb
	grep -q '^Hardware assisted breakpoint 3' want && grep -q 'exited normally' want ||
		complain "$(cat want gdb.err)"
fi

# ---- perf's breakpoints, probes ----

same breakpoints /victim breakpoints
grep -q 'execs 15, traps 12' want || complain "$(cat want)"
exactly region_store 15
exactly region_nop 15
tracing=/sys/kernel/tracing
for at in region_nop region_store region_loop; do # emulated, run elsewhere, run elsewhere
	echo "p:victim/$at /victim:0x$(offset $at)" >>$tracing/uprobe_events || complain "no probe at $at"
	echo 1 >$tracing/events/victim/$at/enable
done
same uprobes /victim run 4
awk '{print $2, $3}' $tracing/uprobe_profile >profile
for at in region_nop region_store region_loop; do
	grep -q "^$at 24$" profile || complain "hits: $(cat profile)"
done
exactly region_pop 12
[ $lost = 0 ] || complain "lost track $lost times"
echo 0 >$tracing/events/victim/enable
echo >$tracing/uprobe_events

# ---- system calls that end early ----

same seccomp /victim seccomp
same dispatch /victim dispatch
same 'restarted calls' /victim restart
calls=$(sed -n 's/^read calls: //p' got.err)
[ "${calls:-0}" -gt 5 ] || complain "only ${calls:-no} calls: $(cat got.err)"
exactly read_syscall $calls

# ---- sequences that are aborted ----

same rseq /victim rseq
grep -q 'aborts 40' want || complain "$(cat want)"
exactly rseq_abort 40

# ---- code that is not stepped ----

before=$(count not_64bit)
[ ! -e /i386 ] || same '32 bits' /i386
same int80 /victim int80
grep -q 'flags 0' want || complain "$(cat want)"
exactly region_store 15
same code32 /code32
[ "$(count not_64bit)" -gt "$before" ] || complain '32-bit code was not counted'
before=$(count unreadable)
same vsyscall /victim vsyscall
[ "$(count unreadable)" -ge $((before + 10)) ] || complain 'the vsyscall page was not counted'
cat $debug/counts
rmmod auxtap || complain "does not unload"
exit $bad
