# SPDX-License-Identifier: BSD-2-Clause
# In the guest: see test_exact.sh.
debug=/sys/kernel/debug/auxtap
bad=0
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

# name: the case; $file was recorded, the log is of the same run. One reader a processor.
reader() { # NAME COMMAND...: what it says against the log
	as=$1
	shift
	from=$(now)
	"$@" 2>$as.errors | compare_steps $debug/steps >$as.verdict
	echo $? >$as.rc
	since $from >$as.time
}
judge() {
	reader perf perf script -i $file --itrace=i1i -F tid,ip &
	reader auxtap auxtap decode --events insn -F tid,ip $file
	wait $!
	for as in perf auxtap; do
		[ "$(cat $as.rc)" = 0 ] ||
			complain "read by $as: $(cat $as.verdict; head -n 3 $as.errors)"
	done
	echo "$name: $(tail -n 1 auxtap.verdict), recorded in $took," \
		"read by perf in $(cat perf.time), by auxtap in $(cat auxtap.time)"
}
# Files that take too long to read here are copied back, with the log and perf's copy of the vdso.
take_home() {
	cat $debug/steps >/out/$what.$tool.steps
	mv $file* /out/
	mkdir -p /out/home/.debug
	cp -a /root/.debug/. /out/home/.debug/
	echo "$name: recorded in $took"
}
exact() { # NAME EVENT COMMAND...: by every recorder, into an area that holds all of it
	event=$2
	what=$1
	shift 2
	for tool in perf auxtap; do
		name="$what by $tool"
		file=$place/$what.$tool.data
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
		$and_then
		rm -f $file*
	done
}

seq 100 -1 1 >/tmp/numbers
case $(cat /list) in
short)
	insmod /auxtap.ko name=intel_pt steps=4000000 || exit 1
	least=1000000
	and_then=judge
	pages=2048
	place=/tmp
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
	and_then=take_home
	pages=16384
	place=$(cat /place) # where it will be read: auxtap's file names its vdso
	mkdir -p $place
	program='print(sum(i * i for i in range(100)))'
	python=$(echo /usr/bin/python3.*)
	$python -S -E -c "$program" >/tmp/program.out || exit 1 # compiles its library
	exact python3 intel_pt//u $python -S -E -c "$program"
	# two million instructions, most of them the loading of the library
	program=$(cat /exceptions-path)
	mkdir -p ${program%/*}
	cp /exceptions $program
	exact exceptions intel_pt//u $program
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
