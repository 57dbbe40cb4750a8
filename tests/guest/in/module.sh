# SPDX-License-Identifier: BSD-2-Clause
# In the guest: see test_module.sh.
fail() {
	echo "module: $*"
	exit 1
}
devices=/sys/bus/event_source/devices

insmod /auxtap.ko || fail 'does not load'
[ "$(cat $devices/auxtap_pt/format/tsc)" = config:10 ] || fail 'no format/tsc'
rmmod auxtap || fail 'does not unload'
[ ! -e $devices/auxtap_pt ] || fail 'the PMU is still there'

insmod /auxtap.ko name=intel_pt || fail 'does not load as intel_pt'
for file in caps/topa_output caps/psb_cyc caps/psb_periods caps/mtc_periods format/pt \
	format/branch format/psb_period tsc_art_ratio type; do
	[ -s $devices/intel_pt/$file ] || fail "no $file"
done
perf list 2>/dev/null | grep -q intel_pt || fail 'perf does not list it'

# An open event holds a reference to the module: EWOULDBLOCK.
perf record -q -o /tmp/open.data -e intel_pt//u -- sleep 1000 >/tmp/open.log 2>&1 &
perf=$!
tries=0
until pid=$(pidof sleep) && grep -q . /proc/$pid/stat; do
	tries=$((tries + 1))
	[ $tries -lt 100 ] || fail 'perf does not start'
	sleep 0.1
done
sleep 1
error=$(rmmod auxtap 2>&1) && fail 'unloaded under an open event'
case "$error" in
*'Resource temporarily unavailable'*) ;;
*) fail "unloading under an open event: $error" ;;
esac
kill -TERM $perf
wait $perf
cat /tmp/open.log
tries=0
until rmmod auxtap 2>/dev/null; do # a task on its way to user mode may hold it a moment
	tries=$((tries + 1))
	[ $tries -lt 50 ] || fail 'does not unload after the last close'
	sleep 0.1
done

i=0
while [ $i -lt 100 ]; do
	insmod /auxtap.ko name=intel_pt || fail "load $i"
	if [ $((i % 20)) = 0 ]; then
		perf record -q -o /tmp/load.data -e intel_pt//u -- /usr/bin/busybox true || fail "record $i"
	fi
	tries=0
	until rmmod auxtap 2>/dev/null; do
		tries=$((tries + 1))
		[ $tries -lt 50 ] || fail "unload $i"
		sleep 0.1
	done
	i=$((i + 1))
done
