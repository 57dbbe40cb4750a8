# SPDX-License-Identifier: BSD-2-Clause
# In the guest: see test_live.sh. What the units replay is in /trace.UNIT. Leaves in /out what each
# run printed.
bad=0
live() { # NAME EXIT OPTIONS...
	name=$1
	want=$2
	shift 2
	auxtap watermark live "$@" >/out/$name.out 2>/tmp/err
	rc=$?
	if [ $rc = "$want" ]; then
		rm -rf /tmp/auxtap-live-*
		return
	fi
	mv /tmp/auxtap-live-* /out/ 2>/dev/null
	echo "live: $name: exit $rc: $(cat /tmp/err)"
	if grep -q '^\[' /out/$name.out; then # of JSON: the configurations that differ
		grep -B6 '"text": "[^"]' /out/$name.out | head -n 40
	else
		head -n 40 /out/$name.out
	fi
	bad=1
}
debug=/sys/kernel/debug/auxtap
# All areas with the one reader, some of them with the other, which waits for each area to fill
# (AUXTAP_LONG: all).
both() { # UNIT, its directory, EVENT, PAGES of the one, of the other
	unit=$1
	replay=$2/replay
	event=$3
	shift 3
	cat /trace.$unit >$replay/data || bad=1
	# a rate at which the reader keeps up, and the highest that the machine reaches
	echo 5000000 >$replay/rate
	live $unit-prompt 0 -e $event --skid 0 --reader prompt --pages $1
	echo 0 >$replay/rate
	live $unit-full 0 -e $event --skid 0 --reader full --format json --pages $2
}
all=
case $(uname -m) in
x86_64)
	[ ! -e /long ] || all=2,4,8,16,32
	insmod /auxtap.ko name=intel_pt replay=1 || exit 1
	both pt $debug intel_pt//u 2,4,8,16,32 ${all:-2,8,32}
	# a late interrupt is detected, and how late it is (SPE and TRBE stop at their limit)
	echo 300 >/sys/module/auxtap/parameters/skid
	live pt-skid 0 -e intel_pt//u --skid 300 --reader full --pages 8 --watermark 8192
	live pt-late 1 -e intel_pt//u --skid 299 --reader full --pages 8 --watermark 8192
	;;
*)
	[ ! -e /long ] || all=2,4,16
	insmod /auxtap.ko replay=1 || exit 1
	both spe $debug/spe arm_spe_0/ts_enable=1/u 2,4,16 ${all:-2,16}
	both trbe $debug/trbe cs_etm//u 2,4,16 ${all:-2,16}
	;;
esac
exit $bad
