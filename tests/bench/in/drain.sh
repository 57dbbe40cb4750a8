# SPDX-License-Identifier: BSD-2-Clause
# In the guest: see guest_drain.sh.
replay=/sys/kernel/debug/auxtap/replay
. /bench.conf
insmod /auxtap.ko name=intel_pt replay=1 || exit 1
check_replay pattern 4194304 >$replay/data || exit 1

# A line: microseconds of the tool; bytes dropped; microseconds that the unit was off.
run() { # TOOL BYTES
	echo $2 >$replay/limit
	echo >$replay/counts
	case "$1" in
	perf) set -- perf record -q ;;
	auxtap) set -- auxtap record --backend kernel ;;
	esac
	taskset 1 cpu_time /tmp/tool.us "$@" -m $map -o /tmp/drain.data -e intel_pt//u -- \
		taskset 2 replay_spin left 60 /tmp/program.us >/tmp/drain.log 2>&1 || cat /tmp/drain.log >&2
	[ "$(cat $replay/left)" = 0 ] || echo "$1: $(cat $replay/left) bytes were never drained" >&2
	awk -v us=$(($(cat /tmp/tool.us) - $(cat /tmp/program.us))) \
		'{dropped += $8; off += $10} END {print us, dropped, off}' $replay/counts
	rm -f /tmp/drain.data /tmp/drain.data.old
}
median() { # FILE COLUMN
	cut -d' ' -f$2 $1 | sort -n | awk '{v[NR] = $1} END {print v[int((NR + 1) / 2)]}'
}
least() { # FILE COLUMN
	cut -d' ' -f$2 $1 | sort -n | head -n 1
}
for map in $MAPS; do
	for rate in $RATES; do
		echo $rate >$replay/rate
		rm -f /tmp/*.times
		i=0
		while [ $i -lt $RUNS ]; do
			for tool in perf auxtap; do
				run $tool $BYTES >>/tmp/$tool.times
				run $tool 4096 >>/tmp/$tool.idle.times
			done
			i=$((i + 1))
		done
		for tool in perf auxtap; do
			all=$(median /tmp/$tool.times 1) idle=$(median /tmp/$tool.idle.times 1)
			echo $all $((all - idle)) $(median /tmp/$tool.times 2) $(median /tmp/$tool.times 3) \
				$(least /tmp/$tool.times 1) $(least /tmp/$tool.idle.times 1)
		done | awk -v what="-m $map, rate $rate" '
			{all[NR] = $1; drain[NR] = $2; lost[NR] = $3; off[NR] = $4; least[NR] = $5; idle[NR] = $6}
			END {
				printf "drain %s: all: perf %d ms, auxtap %d ms, ratio %.2f\n", what, all[1] / 1000, all[2] / 1000, all[2] / all[1]
				printf "drain %s: draining: perf %d ms, auxtap %d ms, ratio %.2f\n", what, drain[1] / 1000, drain[2] / 1000, drain[2] / drain[1]
				printf "drain %s: least of all runs: perf %d ms, auxtap %d ms, ratio %.2f; draining: ratio %.2f\n", what, least[1] / 1000, least[2] / 1000, least[2] / least[1], (least[2] - idle[2]) / (least[1] - idle[1])
				printf "drain %s: dropped: perf %d, auxtap %d bytes; unit off: perf %d, auxtap %d ms\n", what, lost[1], lost[2], off[1] / 1000, off[2] / 1000
			}'
	done
done
