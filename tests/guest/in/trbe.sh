# SPDX-License-Identifier: BSD-2-Clause
# In the arm64 guest: see arm64/test_trbe.sh. Leaves in /out, for each case: NAME.data, NAME.counts.
unit=trbe
. /replaying.sh
pmu=/sys/bus/event_source/devices/cs_etm
load() { # MODULE PARAMETERS...
	[ ! -e $pmu ] || rmmod auxtap || complain 'is not unloaded'
	insmod /auxtap.ko replay=1 "$@" || exit 1
}
load
for attr in format/timestamp cpu0/trcidr/trcidr0 cpu1/trcidr/trcidr8 cpu1/mgmt/trcdevarch; do
	[ -s $pmu/$attr ] || complain "no $attr"
done
[ "$(cat $pmu/cpu1/trcidr/trcidr1)" = 0x4100fff0 ] || complain "TRCIDR1 is $(cat $pmu/cpu1/trcidr/trcidr1)"

setting() { # NAME BYTES RATE [SKID [DELAY]]: the bytes are played once
	name=$1
	cat $2 >$replay/data || complain "does not take $2"
	wc -c <$2 >$replay/limit
	echo $3 >$replay/rate
	echo ${4:-0} >/sys/module/auxtap/parameters/skid
	echo ${5:-0} >/sys/module/auxtap/parameters/irq_delay
	echo >$replay/counts
}
record() { # CPU OPTIONS... -- PROGRAM...
	pin="taskset $((1 << $1))" # from the start: each CPU's unit starts with the first byte
	shift
	$pin auxtap record --backend kernel -o /out/$name.data -e cs_etm//u "$@" >/tmp/log 2>&1 ||
		complain "auxtap record: exit $?: $(cat /tmp/log)"
	cat $replay/counts >/out/$name.counts
}

# Trace of the very program that runs here; it waits until all is played. Once with each recorder.
if [ -s /emulated ]; then
	setting emulated /emulated 0
	record 1 -m 128,64 -- /recursion_static $replay/left
	all_played
	setting perf /emulated 0
	taskset 2 perf record -q --per-thread -m 128,64 -o /out/perf.data -e cs_etm//u -- \
		/recursion_static $replay/left >/tmp/log 2>&1 ||
		complain "perf record: exit $?: $(cat /tmp/log)"
	cat $replay/counts >/out/perf.counts
	all_played
	perf script -i /out/perf.data --itrace=i1i -F ip >/out/perf.list 2>/tmp/err || complain "perf script: $(cat /tmp/err)"
	# the file of the emulated run
	perf script --symfs /symbols -i /host.data --itrace=i1i -F ip >/out/host.list 2>/tmp/err ||
		complain "perf script: $(cat /tmp/err)"
fi

# A lot of trace: the buffer ends at each wakeup.
for cpu in 0 1; do
	setting bulk$cpu /noise 1000000
	record $cpu -m 128,64 -- sh /tmp/spin 60
	all_played
done
# A late interrupt costs trace: late by a number of bytes, by a time.
setting skid /noise 1000000 200
record 1 -m 128,16 -- sh /tmp/spin 60
all_played
setting delay /noise 1000000 0 300
record 0 -m 128,16 -- sh /tmp/spin 60
all_played
# The reader does not read in time: truncations.
setting fast /noise 30000000
record 1 -m 128,8 -- sh /tmp/spin 4
# All CPUs, system-wide: an event on each, each unit at its own position.
setting wide /noise 500000
record 0 -a -m 128,64 -- sh /tmp/spin 60

# Snapshots (J5): the newest bytes, of the whole area.
setting snap /noise 300000
size=$(wc -c </noise)
taskset 2 auxtap record --backend kernel -S -m 128,16 -o /out/snap.data -e cs_etm//u -- \
	sh /tmp/spin 60 >/tmp/log 2>&1 &
played_below $((size / 2))
kill -USR2 $(pidof auxtap) || complain 'no auxtap to take a snapshot'
rmmod auxtap 2>/dev/null && complain 'was unloaded under an open event'
wait $! || complain "auxtap record: $(cat /tmp/log)"
cat $replay/counts >/out/snap.counts

# Management events (J4) during the run.
event() { # NAME WORDS...
	setting $1 /noise 500000
	shift
	during "$*" auxtap record --backend kernel -m 128,64 -o /out/$name.data -e cs_etm//u
	cat $replay/counts >/out/$name.counts
}
event spurious spurious     # an interrupt without a status
event unknown fail 1        # filled, and did not wrap: it continues, something was lost
event stage1 fail 90000007  # a fault of a write
event stage2 fail 94000007
event abort fail 40001      # external abort
event trigger fail 200002
for words in 'fail' 'explode 1' ''; do
	name="injecting '$words'"
	[ "$words" = fail ] || ! echo "$words" 2>/dev/null >$inject || complain 'is taken'
done

name=vectors
/vectors trbe || complain 'they do not hold'

# Errata (J2, J6): the buffer overwrites bytes at its base, and after its limit.
load trbe_overwrite=192 trbe_beyond=4096
setting errata /noise 1000000 300
record 1 -m 128,64 -- sh /tmp/spin 60
all_played
load trbe_beyond=4096
/vectors beyond || complain 'they do not hold'
rmmod auxtap
for wrong in trbe_beyond=4097 trbe_overwrite=193; do
	insmod /auxtap.ko $wrong 2>/dev/null && complain "$wrong is taken"
done

# Another unit's trace requires that unit's registers.
for of in /units/*; do
	[ -e $of/registers ] || continue
	load etm_registers=$(cat $of/registers)
	rate=0 # without a gap if packets are compared
	[ $(wc -c <$of/bytes) -lt 100000 ] || rate=1000000
	setting ${of##*/} $of/bytes $rate
	record 1 -m 128,64 -- sh /tmp/spin 60
	all_played
done

name=unloading
load # the last load may have been refused
rmmod auxtap || complain 'is not unloaded'
[ ! -e $pmu ] || complain 'its PMU is still there'
exit $bad
