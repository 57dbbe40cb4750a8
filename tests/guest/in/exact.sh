# SPDX-License-Identifier: BSD-2-Clause
# In the guest: see test_exact.sh.
debug=/sys/kernel/debug/auxtap
bad=0
complain() {
	echo "exact: $name: $*"
	bad=1
}

# name: what is judged; $file recorded, $steps the module's log of the same run
judge() {
	perf script -i $file --itrace=i1i -F tid,ip >ips 2>errors
	compare_steps $steps <ips >verdict || complain "perf script: $(cat verdict; head -n 3 errors)"
	auxtap decode --events insn -F tid,ip $file >ips 2>errors
	compare_steps $steps <ips >verdict || complain "auxtap decode: $(cat verdict; head -n 3 errors)"
	echo "$name: $(tail -n 1 verdict)"
}
exact() { # NAME EVENT COMMAND...: recorded by both
	event=$2
	what=$1
	shift 2
	steps=/tmp/steps
	for tool in perf auxtap; do
		name="$what by $tool"
		file=/tmp/$tool.data
		echo >$debug/steps
		if [ $tool = perf ]; then
			perf record -q -o $file -e $event -- "$@" >/tmp/program.out 2>/tmp/record.err
		else
			auxtap record --backend kernel -e $event -o $file -- "$@" >/tmp/program.out 2>/tmp/record.err
		fi
		rc=$?
		cat $debug/steps >$steps
		if [ $rc != 0 ]; then
			complain "recording: exit $rc: $(cat /tmp/record.err /tmp/program.out)"
			continue
		fi
		judge
	done
}

insmod /auxtap.ko name=intel_pt steps=4000000 || exit 1
seq 100 -1 1 >/tmp/numbers
/tf || { echo 'exact: tf fails without tracing'; exit 1; }
exact true intel_pt//u /usr/bin/true
exact true-noretcomp intel_pt/noretcomp/u /usr/bin/true
exact true-cyc intel_pt/cyc/u /usr/bin/true
exact date intel_pt//u date
exact tf intel_pt//u /tf
exact busybox intel_pt//u busybox ls /
exact sort intel_pt//u sort -n /tmp/numbers
[ ! -e /long ] || exact exceptions intel_pt//u /exceptions # two million instructions
exact threads4 intel_pt//u /threads4
exact shell intel_pt//u sh -c 'ls / >/dev/null; busybox true | cat; exit 0'
while read -r what count; do
	case "$what" in
	steps:) [ "$count" -gt 500000 ] || { echo "exact: only $count steps"; bad=1; } ;;
	*) [ "$count" = 0 ] || { echo "exact: $what $count"; bad=1; } ;;
	esac
done <$debug/counts
[ "$(cat $debug/steps_lost)" = 0 ] || { echo 'exact: the log of steps was too small'; bad=1; }
cat $debug/counts
exit $bad
