# SPDX-License-Identifier: BSD-2-Clause
# In the guest: see test_hostile.sh.
bad=0
insmod /auxtap.ko name=intel_pt || exit 1
echo 2 >/proc/sys/kernel/perf_event_paranoid
type=$(cat /sys/bus/event_source/devices/intel_pt/type)
slab() {
	echo 3 >/proc/sys/vm/drop_caches
	sleep 1
	sed -n 's/^SUnreclaim: *\([0-9]*\) kB/\1/p' /proc/meminfo
}
pages() { # kB that are nobody's: what leaks as whole pages is missing here
	sed -n 's/^MemFree: *\([0-9]*\) kB/\1/p' /proc/meminfo
}
/hostile $type 5 || bad=1 # what is allocated once
slab_before=$(slab)
pages_before=$(pages)
/hostile $type ${ROUNDS:-60} || bad=1
slab_after=$(slab)
pages_after=$(pages)
echo "slab $slab_before -> $slab_after kB, free $pages_before -> $pages_after kB"
# an AUX area is 64 kB: one leaked in each round would be thousands
[ $((slab_after - slab_before)) -lt 1500 ] || { echo 'hostile: slab grows'; bad=1; }
[ $((pages_before - pages_after)) -lt 3000 ] || { echo 'hostile: pages are missing'; bad=1; }
cat /sys/kernel/debug/auxtap/counts
tries=0
until rmmod auxtap 2>/dev/null; do
	tries=$((tries + 1))
	[ $tries -lt 100 ] || { echo 'hostile: the module does not go'; exit 1; }
	sleep 0.1
done
exit $bad
