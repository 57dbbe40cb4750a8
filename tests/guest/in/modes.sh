# SPDX-License-Identifier: BSD-2-Clause
# In the guest: see test_modes.sh.
debug=/sys/kernel/debug/auxtap
bad=0
. /reading.sh
complain() {
	echo "modes: $name: $*"
	bad=1
}
count() {
	sed -n "s/^$1: //p" $debug/counts
}
fresh() { # NAME
	name=$1
	echo >$debug/steps
}
# A busy machine may lose trace or records: that is no fault of the mode, so it is done again.
lossless() { # COMMAND...: it records into data
	again=0
	while :; do
		echo >$debug/steps
		"$@" 2>err || complain "$(cat err)"
		auxtap decode --summary data >summary 2>&1
		gaps=$(sed -n 's/^gaps: //p' summary)
		again=$((again + 1))
		[ "${gaps:-0}" -gt 0 ] && [ $again -lt 5 ] || break
		echo "$name: $gaps gaps, recorded again"
	done
}
unload() {
	tries=0
	until rmmod auxtap 2>/dev/null; do
		tries=$((tries + 1))
		[ $tries -lt 100 ] || { complain 'the module does not unload'; return; }
		sleep 0.1
	done
}

insmod /auxtap.ko name=intel_pt steps=4000000 || exit 1

# two threads that run all the time, on CPU 0
taskset 1 /pair >other &
pair=$!
until [ -s other ]; do sleep 0.1; done
other=$(cat other)

# tasks that ran before: of each thread a fork and a name, of each process its mappings
recorded() { # FILE: records of processes and threads that stay
	perf script -i $1 --itrace= --show-task-events --show-mmap-events 2>/dev/null |
		sed -n 's/.* 0\.000000: \(PERF_RECORD_.*\)/\1/p' | grep -v vdso | sort |
		grep -E "_FORK\((1|2|$pair):(1|2|$pair|$other)\)|_COMM: .*:(1/1|2/2|$pair/$pair|$pair/$other)|_MMAP2 (1/1|$pair/$pair):"
}
fresh 'whole CPUs by perf'
lossless perf record -q -a -o data -e intel_pt//u -- sh -c 'busybox true; true'
to_readers data
recorded data >recorded.perf
fresh 'whole CPUs by auxtap'
lossless auxtap record --backend kernel -a -o data -e intel_pt//u -- sh -c 'busybox true; true'
to_readers data
expected ran $other # it ran before
recorded data >recorded.auxtap
[ "$(grep -c . recorded.perf)" -ge 10 ] && cmp -s recorded.perf recorded.auxtap ||
	complain "not the processes that perf records: $(diff recorded.perf recorded.auxtap)"

# one CPU; perf runs there itself: its file lacks the mappings from before its program's exec
one_cpu() { # TOOL COMMAND..., which ran on CPU 1 in the end
	fresh "CPU 1 by $1"
	shift
	lossless "$@"
	to_readers data
	expected idle $pair # on CPU 0
	expected idle $other
	expected least 20000
}
one_cpu perf taskset 2 perf record -q -C 1 -o data -e intel_pt//u -- sh -c 'busybox true; true'
one_cpu auxtap taskset 1 auxtap record --backend kernel -C 1 -o data -e intel_pt//u -- \
	taskset 2 sh -c 'busybox true; true'
for tool in 'perf record -q' 'auxtap record --backend kernel'; do
	fresh "CPU 0 by ${tool%% *}"
	lossless $tool -C 0 -o data -e intel_pt//u -- sleep 0.5
	to_readers data
	expected ran $pair
	expected ran $other
done

sh -c 'while :; do read -r x </proc/uptime; done' &
loop=$!
stepped() { # wait until the module has stepped something
	tries=0
	until [ "$(count steps)" -gt $((before + 5000)) ]; do
		tries=$((tries + 1))
		[ $tries -lt 300 ] || { complain 'nothing is stepped'; return; }
		sleep 0.1
	done
}
attach() { # COMMAND...: as long as it takes to step a little
	rm -f data
	before=$(count steps)
	"$@" -o data -e intel_pt//u &
	recorder=$!
	stepped
	kill -TERM $recorder # a shell without job control makes a job in the background ignore INT
	wait $recorder || true
}
for tool in 'perf record -q' 'auxtap record --backend kernel'; do
	fresh "process by ${tool%% *}"
	lossless attach $tool -p $loop
	to_readers data
	fresh "two threads by ${tool%% *}"
	lossless attach $tool -p $pair
	to_readers data
	expected ran $pair
	expected ran $other
	fresh "one thread by ${tool%% *}"
	lossless attach $tool -t $other
	to_readers data
	expected idle $pair
	expected ran $other
done
kill $loop $pair

# What the small area lost is a gap with a size in bytes, and instructions are missing only there.
fresh 'small area by auxtap'
auxtap record --backend kernel -m 64,1 -o data -e intel_pt//u -- /usr/bin/true 2>err || complain "$(cat err)"
auxtap decode --summary data >summary 2>err
gaps=$(sed -n 's/^gaps: //p' summary)
[ "${gaps:-0}" -gt 0 ] || complain 'nothing was truncated'
[ "$(sed -n 's/^errors: //p' summary)" = 0 ] || complain "$(cat summary)"
echo "$name: $gaps gaps"

echo 300 >/sys/module/auxtap/parameters/irq_delay
echo 100 >/sys/module/auxtap/parameters/skid
fresh 'late interrupts'
perf record -q -m 64,64 -o data -e intel_pt//u -- /usr/bin/true 2>err || complain "$(cat err)"
to_readers data
echo 0 >/sys/module/auxtap/parameters/irq_delay
echo 0 >/sys/module/auxtap/parameters/skid

fresh snapshot
perf record -q -Se -o data -e intel_pt//u -- /usr/bin/true 2>err || complain "$(cat err)"
to_readers data

# 32-bit code in between: the trace continues after it, and reports that something is missing.
fresh '32-bit code'
before=$(count not_64bit)
perf record -q -o data -e intel_pt//u -- /code32 2>err || complain "$(cat err)"
[ "$(count not_64bit)" -gt "$before" ] || complain 'was not counted'
perf report -D -i data 2>/dev/null | grep -q 'PERF_RECORD_AUX.*flags: 0x4' || complain 'no PARTIAL'

# A probe in code that runs, hit while it is stepped, has the same effect as untraced.
name=probe
if perf probe -q -x /usr/bin/true 'entry=main' 2>/dev/null ||
	perf probe -q -x /lib/x86_64-linux-gnu/libc.so.6 'entry=exit' 2>err; then
	perf stat -x, -o stat -e 'probe_*:entry' \
		perf record -q -o data -e intel_pt//u -- /usr/bin/true 2>err || complain "$(cat err)"
	grep -q '^[1-9]' stat || complain "not hit: $(cat stat)"
	perf probe -q -d entry
else
	complain "no probe: $(cat err)"
fi

# The module is unloaded while the task that it stepped is in a signal handler.
name=park
/park /tmp/go >parked &
park=$!
sleep 0.5
kill -9 $park
wait $park
rm parked # the untraced one's output must not count as the traced one's
perf record -q -o data -e intel_pt//u -- /park /tmp/go >parked 2>err &
perf=$!
tries=0
until grep -qs parked parked; do
	tries=$((tries + 1))
	[ $tries -lt 100 ] || { complain 'does not park'; break; }
	sleep 0.1
done
park=$(pidof park)
kill -9 $perf # the events are closed, the program gets no signal
wait $perf
cat $debug/counts
unload
[ -e /proc/$park ] || complain 'the program is gone'
touch /tmp/go
tries=0
while [ -e /proc/$park ] && ! grep -q '^park:' parked; do
	tries=$((tries + 1))
	[ $tries -lt 100 ] || { complain 'does not continue'; break; }
	sleep 0.1
done
grep -q '^park: 0' parked || complain "$(cat parked)"
exit $bad
