# SPDX-License-Identifier: BSD-2-Clause
# In the guest: see test_filters.sh.
debug=/sys/kernel/debug/auxtap
bad=0
. /reading.sh
complain() {
	echo "filters: $name: $*"
	bad=1
}
range() { # NAME: where the program says that it is
	sed -n "s/^$1 \(.*\) \(.*\)/\1-\2/p" said
}
judge() { # SELECTION...: for select_steps
	select_steps "$@" <$debug/steps >steps || complain "no selection of $*"
	[ "$(wc -c <steps)" -gt 3200 ] || complain "only $(wc -c <steps) bytes of steps: $*"
	to_readers data steps
}
record() { # NAME FILTER COMMAND...
	name=$1 filter=$2
	shift 2
	echo >$debug/steps
	perf record -q -o data -e intel_pt//u --filter "$filter" -- "$@" >said 2>err || complain "$(cat err)"
}
refused() { # NAME WHY perf record's options...
	name=$1 why=$2
	shift 2
	perf record -o refused "$@" -- /fixed >/dev/null 2>err && complain 'was taken'
	grep -q "$why" err || complain "$(cat err)"
}

insmod /auxtap.ko name=intel_pt steps=8000000 || exit 1
pmu=/sys/bus/event_source/devices/intel_pt
[ "$(cat $pmu/nr_addr_filters)" = 4 ] || { echo 'filters: not 4'; bad=1; }
[ "$(cat $pmu/caps/num_address_ranges)" = 4 ] || { echo 'filters: caps'; bad=1; }

for program in /fixed /anywhere; do
	record "main of $program" "filter main @ $program" $program
	judge "$(range main)"
	record "work of $program" "filter work @ $program" $program threads
	judge "$(range work)"
	record "three ranges of $program" \
		"filter main @ $program , filter leaf @ $program , filter rare @ $program" \
		$program threads
	judge "$(range main)" "$(range leaf)" "$(range rare)"
done

# A TraceStop ends the trace until the task is scheduled in again: under this policy never.
echo -1 >/proc/sys/kernel/sched_rt_runtime_us
record tracestop 'tracestop rare @ /anywhere' chrt -f 10 /anywhere
judge "until:$(range rare)"
record 'tracestop and filter' 'filter work @ /fixed , tracestop rare @ /fixed' chrt -f 10 /fixed
judge "$(range work)" "until:$(range rare)"
echo 950000 >/proc/sys/kernel/sched_rt_runtime_us
# And if it is scheduled, the trace continues with the next slice; no loss is recorded.
record 'tracestop, then again' 'tracestop rare @ /anywhere' /anywhere threads
perf report -D -i data 2>/dev/null | grep -q 'PERF_RECORD_AUX .*flags: 0x[1-9a-f]' && complain 'a loss is recorded'
auxtap decode --summary data >summary 2>err || complain "$(cat err)"
[ "$(sed -n 's/^errors: //p' summary)" = 0 ] || complain "$(cat summary)"

# What the kernel's driver refuses too.
refused 'start' 'Operation not supported\|not supported' -e intel_pt//u --filter 'start work @ /fixed'
refused 'stop at one address' 'Operation not supported\|not supported' -e intel_pt//u --filter 'stop work @ /fixed'
refused 'a file for whole CPUs' 'Operation not supported\|not supported' -a -e intel_pt//u \
	--filter 'filter work @ /fixed'
refused 'five' '.' -e intel_pt//u --filter 'filter main @ /fixed , filter work @ /fixed , filter leaf @ /fixed , filter rare @ /fixed , filter thread @ /fixed'

while read -r what count; do
	case "$what" in
	steps:) ;;
	*) [ "$count" = 0 ] || { echo "filters: $what $count"; bad=1; } ;;
	esac
done <$debug/counts
[ "$(cat $debug/steps_lost)" = 0 ] || { echo 'filters: the log of steps was too small'; bad=1; }

# Not refused, but no traced code is in the range.
record 'the kernel for an event of user code' 'filter 0xffffffff81000000/16' /fixed
[ "$(auxtap decode --summary data 2>/dev/null | sed -n 's/^instructions: //p')" = 0 ] || complain 'traced something'

rmmod auxtap || { echo 'filters: the module does not go'; bad=1; }
exit $bad
