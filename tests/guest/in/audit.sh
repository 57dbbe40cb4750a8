# SPDX-License-Identifier: BSD-2-Clause
# In the guest: see test_audit.sh. Leaves recordings in /out.
insmod /auxtap.ko name=intel_pt || exit 1
work='i=0; while [ $i -lt 60 ]; do i=$((i + 1)); done; busybox true'
bad=0
made() { # NAME STATUS
	[ "$2" = 0 ] && [ -s "/out/$1.data" ] && return
	echo "audit: $1: exit $2: $(cat err)"
	bad=1
}
perf record -q -m 64,64 -o /out/perf.data -e intel_pt//u -- sh -c "$work" 2>err
made perf $?
perf record -q -a -m 64,64 -o /out/perf-cpus.data -e intel_pt//u -- sh -c "$work" 2>err
made perf-cpus $?
auxtap record --backend kernel -m 64,64 --aux-watermark 16384 \
	-o /out/auxtap.data -e intel_pt//u -- \
	sh -c "$work" 2>err
made auxtap $?
# H5: three pages: no interrupt at the watermark
auxtap record --backend kernel -m 64,64 --aux-watermark 12288 -o /out/odd.data -e intel_pt//u -- \
	sh -c "$work" 2>err
made odd $?
perf record -q -Se -o /out/snapshot.data -e intel_pt//u -- sh -c "$work" 2>err
made snapshot $?
# no space for what comes between two reads of the reader
perf record -q -m 64,2 -o /out/full.data -e intel_pt//u -- sh -c "$work" 2>err
made full $?
# a unit whose interrupt is late, and much too late: the area of 64 pages has a threshold at each 16
echo 3000 >/sys/module/auxtap/parameters/skid
perf record -q -m 64,64 -o /out/late.data -e intel_pt//u -- sh -c "$work" 2>err
made late $?
echo 150000 >/sys/module/auxtap/parameters/skid
perf record -q -m 64,64 -o /out/missed.data -e intel_pt//u -- sh -c "$work" 2>err
made missed $?
exit $bad
