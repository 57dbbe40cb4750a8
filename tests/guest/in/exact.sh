# SPDX-License-Identifier: BSD-2-Clause
# In the guest: see test_exact.sh.
debug=/sys/kernel/debug/auxtap
bad=0
. /reading.sh
complain() {
	echo "exact: $name: $*"
	bad=1
}
since() { # SECONDS OF UPTIME
	awk -v from="$1" '{printf "%.1f s", $1 - from}' /proc/uptime
}
now() {
	read -r up rest </proc/uptime
	echo "$up"
}

exact() { # NAME EVENT COMMAND...: by every recorder, into an area that holds all of it
	event=$2
	what=$1
	shift 2
	for tool in perf auxtap; do
		name="$what by $tool"
		file=/tmp/$what.$tool.data
		echo >$debug/steps
		from=$(now)
		if [ $tool = perf ]; then
			perf record -q -m ,$pages -o $file -e $event -- "$@" \
				>/tmp/program.out 2>/tmp/record.err
		else
			auxtap record --backend kernel -m ,$pages -e $event -o $file -- "$@" \
				>/tmp/program.out 2>/tmp/record.err
		fi
		rc=$?
		took=$(since $from)
		if [ $rc != 0 ]; then
			complain "recording: exit $rc: $(cat /tmp/record.err /tmp/program.out)"
			continue
		fi
		to_readers $file
		rm -f $file*
		echo "$name: recorded in $took"
	done
}

seq 100 -1 1 >/tmp/numbers
case $(cat /list) in
short)
	insmod /auxtap.ko name=intel_pt steps=4000000 || exit 1
	least=1000000
	pages=2048
	/tf || { echo 'exact: tf fails without tracing'; exit 1; }
	exact true intel_pt//u /usr/bin/true
	exact true-noretcomp intel_pt/noretcomp/u /usr/bin/true
	exact true-cyc intel_pt/cyc/u /usr/bin/true
	exact date intel_pt//u date
	exact tf intel_pt//u /tf
	exact sort intel_pt//u sort -n /tmp/numbers
	if [ -e /text ]; then # AUXTAP_LONG
		exact ls intel_pt//u /usr/bin/ls /
		exact gzip intel_pt//u /usr/bin/gzip -c /text
	fi
	exact exceptions intel_pt//u /exceptions
	exact threads4 intel_pt//u /threads4
	exact shell intel_pt//u sh -c 'ls / >/dev/null; busybox true | cat; exit 0'
	;;
long)
	insmod /auxtap.ko name=intel_pt steps=24000000 || exit 1
	least=40000000
	pages=16384
	program='print(sum(i * i for i in range(100)))'
	python=$(echo /usr/bin/python3.*)
	$python -S -E -c "$program" >/tmp/program.out || exit 1 # compiles its library
	exact python3 intel_pt//u $python -S -E -c "$program"
	# two million instructions, most of them the loading of the library
	exact exceptions intel_pt//u /exceptions
	;;
esac
while read -r what count; do
	case "$what" in
	steps:) [ "$count" -gt $least ] || { echo "exact: only $count steps"; bad=1; } ;;
	*) [ "$count" = 0 ] || { echo "exact: $what $count"; bad=1; } ;;
	esac
done <$debug/counts
[ "$(cat $debug/steps_lost)" = 0 ] || { echo 'exact: the log of steps was too small'; bad=1; }
cat $debug/counts
exit $bad
