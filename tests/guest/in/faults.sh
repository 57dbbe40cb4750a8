# SPDX-License-Identifier: BSD-2-Clause
# In the guest: see test_faults.sh. /cases, a line each:
# NAME FAULT RATE LIMIT SKID DATA,AUX WATERMARK[:HOW].
# Leaves in /out for each: NAME.data, NAME.csv (the unit's log), NAME.counts. /unit: PMU, debugfs
# directory, and options.
read -r pmu unit_dir options </unit
auxtap=/sys/kernel/debug/auxtap/$unit_dir
parameters=/sys/module/auxtap/parameters
bad=0
complain() {
	echo "faults: $name: $*"
	bad=1
}
name=loading
# shellcheck disable=SC2086
insmod /auxtap.ko replay=1 unit_log=200000 $options || exit 1
cat /noise >$auxtap/replay/data || complain 'does not take the bytes'
name=parameter
[ "$(cat $parameters/fault)" = none ] || complain "it is $(cat $parameters/fault)"
echo interrupt-early 2>/dev/null >$parameters/fault && complain 'takes an unknown fault'
dmesg | grep -q "unknown fault 'interrupt-early.*interrupt-late" || complain 'does not list the faults'
[ "$(cat $parameters/fault)" = none ] || complain "it is $(cat $parameters/fault) after a refusal"

# The program: runs in user mode until all is replayed, at most so many seconds; sleeps now and
# then.
cat >/tmp/spin <<S
end=\$((\$(cut -d. -f1 /proc/uptime) + \$1))
while [ "\$(cat $auxtap/replay/left)" != 0 ]; do
	[ "\$(cut -d. -f1 /proc/uptime)" -lt \$end ] || exit 0
	i=0
	while [ \$i -lt 300 ]; do i=\$((i + 1)); done
done
S
# logged EVENT N: waits for N of them in the unit's log, half a minute at most
logged() {
	tries=0
	until [ "$(grep -c ",$1," $auxtap/log/cpu$cpu)" -ge $2 ] || [ $tries = 300 ]; do
		tries=$((tries + 1))
		sleep 0.1
	done
}
# The reader sleeps until the area is full, and then reads everything at once.
stopped() {
	logged write 1
	sleep 0.5
	kill -STOP $(pidof auxtap)
	logged truncated 1
	[ $fault = none ] || logged truncated 4
	sleep 1
	kill -CONT $(pidof auxtap)
}
# A single process, so that there is one event, on a shared processor.
cat >/tmp/alone <<S
read -r end _ </proc/uptime
end=\$((\${end%.*} + \$1)) left=1 now=0
while [ \$left != 0 ] && [ \$now -lt \$end ]; do
	read -r left <$auxtap/replay/left
	read -r now _ </proc/uptime
	now=\${now%.*} i=0
	while [ \$i -lt 300 ]; do i=\$((i + 1)); done
done
S
# Kills the recorder of a whole CPU; its events survive, without rings, until orphan ends.
killed() {
	# shellcheck disable=SC2086
	auxtap record --backend kernel -C $cpu -o /out/$name.data -e $pmu -m $pages $reader \
		>/tmp/log 2>&1 &
	recorder=$!
	taskset $((1 << cpu)) sh /tmp/spin 20 &
	program=$!
	logged write 1
	sleep 0.5
	/usr/bin/orphan $recorder $cpu || complain "orphan: $?; $(cat /tmp/log)"
	kill $program
	grep -q ',freed,' $auxtap/log/cpu$cpu || complain 'the log does not say when the area is freed'
	# B18: the area is still in use when it is unmapped
	warned=$(dmesg | grep -c 'WARNING: .*perf_mmap_close')
	case "$fault $warned" in
	'none 0' | 'refcount-first 1') ;;
	*) complain "the kernel has warned of the unmapping $warned times" ;;
	esac
}
while read -r name fault rate limit skid pages watermark; do
	how=${watermark#*:} cpu=1 program=spin other='' reader="--aux-watermark ${watermark%:*}"
	echo "$fault" >$parameters/fault || complain "does not take the fault $fault"
	echo "$rate" >$auxtap/replay/rate
	echo "$limit" >$auxtap/replay/limit
	echo "$skid" >$parameters/skid
	echo >$auxtap/replay/counts
	case $how in
	*cpu0*) cpu=0 ;;
	*snapshot*) reader="-S $reader" ;;
	esac
	echo >$auxtap/log/cpu$cpu
	case $how in
	*stop*)
		program=alone
		stopped &
		taskset $((1 << cpu)) sh -c 'while :; do :; done' &
		other=$!
		;;
	esac
	if [ "$how" = killed ]; then
		# shellcheck disable=SC2086
		killed
	else
		# shellcheck disable=SC2086
		taskset $((1 << cpu)) auxtap record --backend kernel -o /out/$name.data -e $pmu \
			-m $pages $reader -- \
			sh /tmp/$program 30 >/tmp/log 2>&1 || complain "record: $?: $(cat /tmp/log)"
	fi
	[ -z "$other" ] || kill $other
	wait
	echo none >$parameters/fault
	cat $auxtap/replay/counts >/out/$name.counts
	cat $auxtap/log/cpu$cpu >/out/$name.csv
done </cases
rmmod auxtap || complain 'is not unloaded'
exit $bad
