# SPDX-License-Identifier: BSD-2-Clause
# In the guest: see test_replay.sh.
replay=/sys/kernel/debug/auxtap/replay
data=/tmp/data
bad=0
nr_stuck=0 may_stick=no
complain() {
	echo "replay: $name: $*"
	bad=1
}

hand_in() {
	cat "$1" >$replay/data || complain "does not take $1"
	cp "$1" $data
}
setting() { # NAME RATE LIMIT: another case begins
	name=$1
	echo "$2" >$replay/rate
	echo "$3" >$replay/limit
	echo >$replay/counts
}
record() { # TOOL OPTIONS... -- PROGRAM...
	tool=$1
	shift
	case "$tool" in
	perf) perf record -q -o /tmp/replay.data -e intel_pt//u "$@" ;;
	auxtap) auxtap record --backend kernel -o /tmp/replay.data -e intel_pt//u "$@" ;;
	esac >/tmp/record.log 2>&1
	rc=$?
	cat $replay/counts >/tmp/counts
	# perf does not enable an event again whose truncation it had read before: the program ends
	# with 1, for bytes are left. On a busy machine; another try will do.
	if [ "$tool$rc$may_stick" = perf1yes ] && [ ! -s /tmp/record.log ] &&
		[ "$(cat $replay/left)" != 0 ] && [ $nr_stuck -lt 10 ]; then
		nr_stuck=$((nr_stuck + 1))
		return 1
	fi
	[ $rc = 0 ] || complain "$tool: exit $rc: $(cat /tmp/record.log)"
}
check() { # full or snapshot, watermark AUX skid
	what=$1
	shift
	if check_replay $what /tmp/replay.data $data /tmp/counts "$@" >/tmp/verdict; then
		echo "$name: $(cat /tmp/verdict)"
	else
		complain "$(cat /tmp/verdict /tmp/counts)"
	fi
}

insmod /auxtap.ko name=intel_pt replay=1 || exit 1
setting 'no bytes' 0 0
record perf -- replay_spin for 0.2
grep -v 'produced 0 written 0 dropped 0 ' /tmp/counts && complain 'produces without bytes'
check_replay pattern 1048576 >/tmp/pattern
hand_in /tmp/pattern

for tool in perf auxtap; do
	setting "$tool full" 8000000 4000003
	record $tool -m 128,1024 -- replay_spin left 20
	check full
done


# What real hardware wrote, over and over.
if [ -s /real ]; then
	hand_in /real
	for tool in perf auxtap; do
		setting "$tool real" 8000000 $(($(wc -c </real) * 50 + 1))
		record $tool -m 128,1024 -- replay_spin left 20
		check full
	done
	hand_in /tmp/pattern
fi

# H4, H5: where transactions end. perf's watermark is a quarter of the area, as auxtap's
# default is; others are no power of two, or smaller than a page.
skid=/sys/module/auxtap/parameters/skid
for marks in 'perf 0 64 65536' 'auxtap 40 64 65536' 'perf 40 16 16384' 'auxtap 0 16 4096' \
	'auxtap 0 64 12288' 'auxtap 0 64 6000'; do
	set -- $marks
	echo $2 >$skid
	watermark= may_stick=yes
	[ $1 = perf ] || watermark="--aux-watermark $4"
	# depending on the area: a reader that gets no CPU for 16 ms must not lose anything
	until
		setting "$1 skid $2 area $3 pages watermark $4" $((62500 * $3)) 1000000
		# shellcheck disable=SC2086
		record $1 -m 128,$3 $watermark -- taskset 2 replay_spin left 20
	do
		echo "$name: perf is stuck, again"
	done
	check full $4 $(($3 * 4096)) $2
done
echo 0 >$skid
may_stick=no

# A reader that stops: the trace has holes, all of them are recorded, and it continues. On
# 6.1 the kernel does not disable the event on CPU 0 (D21).
echo 100 >$skid
until_left_below() {
	tries=0
	until [ "$(cat $replay/left)" -lt $1 ]; do
		tries=$((tries + 1))
		[ $tries -lt 200 ] || complain "stays at $(cat $replay/left) bytes left"
		[ $tries -lt 200 ] || return
		sleep 0.1
	done
}
for cpu in 0 1; do
	setting "auxtap stopped, CPU $cpu" 2000000 3000000
	record auxtap -m 128,16 -- taskset $((1 << cpu)) replay_spin left 30 &
	recorder=$!
	until_left_below 2500000
	for again in 1 2; do
		pid=$(pidof auxtap | tr ' ' '\n' | sort -n | head -n 1)
		kill -STOP $pid
		sleep 0.4
		kill -CONT $pid
		sleep 0.2
	done
	wait $recorder || complain "$(cat /tmp/record.log)"
	cat $replay/counts >/tmp/counts
	check full
	grep -qE ' [1-9][0-9]* truncated, [1-9][0-9]* holes.* [1-9][0-9]* recoveries' \
		/tmp/verdict ||
		complain 'no truncation, or no recovery from it'
	[ "$(cat $replay/left)" = 0 ] || complain 'did not get to the end'
done

echo 0 >$skid

# Snapshots: the newest bytes.
for tool in perf auxtap; do
	setting "$tool snapshot" 20000000 3000005
	case $tool in
	perf)
		perf record -q -S -m 128,64 -o /tmp/replay.data -e intel_pt//u -- \
			replay_spin for 30 >/tmp/record.log 2>&1 &
		;;
	auxtap)
		auxtap record --backend kernel -S -m 128,64 -o /tmp/replay.data -e intel_pt//u -- \
			replay_spin for 30 >/tmp/record.log 2>&1 &
		;;
	esac
	recorder=$!
	until_left_below 1
	kill -USR2 $recorder
	sleep 1
	kill $(pidof replay_spin)
	wait $recorder 2>/dev/null
	cat $replay/counts >/tmp/counts
	check snapshot
done

# Write access to the files allows nothing else.
name=hostile
(exec 9>$replay/data; : 2>/dev/null >$replay/data) && complain 'two writers at a time'
(exec 9>$replay/data; sleep 1; rmmod auxtap 2>/dev/null) && complain 'unloaded under a writer'
dd if=/dev/zero of=$replay/data bs=1M count=65 2>/dev/null && complain 'takes 65 MiB'
dd if=/dev/zero of=$replay/data bs=1 count=1 seek=9223372036854775807 2>/dev/null && complain 'takes a byte at the largest offset'
echo 99999999999999 2>/dev/null >$replay/rate && complain 'takes any rate'
name='after the refusals'
setting "$name" 8000000 1000000
record auxtap -- replay_spin left 20
check full # still the pattern: refused writes have changed nothing
setting 'bytes exchanged while they are produced' 0 0
record auxtap -- replay_spin for 3 &
recorder=$!
for size in 1 8 100 4096 70000 8388608 3 1048576; do
	# one of the two writers is refused
	check_replay pattern 8388608 | head -c $size 2>/dev/null >$replay/data
	dd if=/tmp/pattern of=$replay/data bs=64K count=4 >/dev/null 2>&1 &
	echo $((size * 1000)) >$replay/rate
	echo >$replay/counts
done
wait
tries=0
until rmmod auxtap 2>/dev/null; do # a task on its way to user mode may hold it a moment
	tries=$((tries + 1))
	[ $tries -lt 50 ] || { complain 'does not unload'; break; }
	sleep 0.1
done
exit $bad
