# SPDX-License-Identifier: BSD-2-Clause
# In the guest: see guest_drain.sh.
replay=/sys/kernel/debug/auxtap/replay
. /bench.conf
. /kind.conf
if [ $KIND = loss ]; then
	# The kernel waits for a CPU that comes up without yielding to it; replay_spin yields.
	replay_spin for 60 &
	for cpu in 1 2; do
		echo 1 >/sys/devices/system/cpu/cpu$cpu/online
	done
	kill $!
	tool_on='taskset 4' program_on='taskset 2'
else
	tool_on='' program_on=''
fi
insmod /auxtap.ko name=intel_pt replay=1 || exit 1
check_replay pattern 4194304 >/tmp/pattern
cat /tmp/pattern >$replay/data || exit 1
bad=0

# A line: thousands of instructions of the tool; bytes dropped; microseconds that the unit of
# the program's CPU was off; truncations.
run() { # TOOL BYTES
	echo $2 >$replay/limit
	echo >$replay/counts
	case "$1" in
	perf) set -- perf record -q ;;
	auxtap) set -- auxtap record --backend kernel ;;
	esac
	$tool_on cpu_time /tmp/tool.us "$@" -m $map -o /tmp/drain.data -e intel_pt//u -- \
		$program_on replay_spin left 60 /tmp/program.us >/tmp/record.log 2>&1 || {
			cat /tmp/record.log >&2; bad=1; }
	cat $replay/counts >/tmp/counts
	[ "$(cat $replay/left)" = 0 ] || {
		echo "$1: $(cat $replay/left) bytes were never produced" >&2; bad=1; }
	# every byte that was written is in the file
	check_replay full /tmp/drain.data /tmp/pattern /tmp/counts >/tmp/verdict || {
		cat /tmp/verdict >&2; bad=1; }
	echo $((($(cat /tmp/tool.us) - $(cat /tmp/program.us)) >> SHIFT)) \
		$(awk '{dropped += $8} $2 == "1:" {off = $10} END {print dropped, off + 0}' \
		/tmp/counts) \
		$(sed -n 's/.* \([0-9]*\) truncated.*/\1/p' /tmp/verdict | awk '{n += $1} END {print n + 0}')
	rm -f /tmp/drain.data /tmp/drain.data.old
}
median() { # FILE COLUMN
	cut -d' ' -f$2 $1 | sort -n | awk '{v[NR] = $1} END {print v[int((NR + 1) / 2)]}'
}
runs=1 bytes=$BYTES
[ $KIND = cpu ] || { runs=$LOSS_RUNS; bytes=$LOSS_BYTES; }
for map in $MAPS; do
	echo 0 >$replay/rate
	for tool in perf auxtap; do # the second run counts: the first fills the page cache
		run $tool 4096 >/tmp/$tool.idle
		run $tool 4096 >/tmp/$tool.idle
	done
	for rate in $RATES; do
		echo $rate >$replay/rate
		rm -f /tmp/*.figures
		i=0
		while [ $i -lt $runs ]; do
			for tool in perf auxtap; do
				run $tool $bytes >>/tmp/$tool.figures
			done
			i=$((i + 1))
		done
		for tool in perf auxtap; do
			echo $(cut -d' ' -f1 /tmp/$tool.idle) $(median /tmp/$tool.figures 1) \
				$(median /tmp/$tool.figures 2) \
				$(median /tmp/$tool.figures 3) $(median /tmp/$tool.figures 4)
		done | awk -v what="drain -m $map, $((bytes >> 20)) MiB at $((rate >> 20)) MiB/s" \
			-v kind=$KIND '
			{idle[NR] = $1; all[NR] = $2; dropped[NR] = $3; off[NR] = $4; cut[NR] = $5}
			END {
				if (kind == "cpu") {
					printf "%s: million instructions, ", what
					printf "whole: perf %.0f, auxtap %.0f, ratio %.2f; ",
						all[1] / 1000, all[2] / 1000, all[2] / all[1]
					draining[1] = all[1] - idle[1]
					draining[2] = all[2] - idle[2]
					printf "draining: perf %.0f, auxtap %.0f, ratio %.2f\n",
						draining[1] / 1000, draining[2] / 1000,
						draining[2] / draining[1]
				} else {
					printf "%s: bytes dropped: perf %d, auxtap %d; ",
						what, dropped[1], dropped[2]
					printf "unit off: perf %.1f, auxtap %.1f ms; ",
						off[1] / 1000, off[2] / 1000
					printf "truncations: perf %d, auxtap %d\n", cut[1], cut[2]
				}
			}'
	done
done
exit $bad
