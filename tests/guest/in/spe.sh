# SPDX-License-Identifier: BSD-2-Clause
# In the arm64 guest: see arm64/test_spe.sh. Leaves in /out, for each case: NAME.data, NAME.counts,
# NAME.insn and NAME.mem: what stock perf lists.
unit=spe
. /replaying.sh
pmu=/sys/bus/event_source/devices/arm_spe_0
insmod /auxtap.ko replay=1 || exit 1
for attr in cpumask type caps/min_interval format/ts_enable format/load_filter; do
	[ -s $pmu/$attr ] || complain "no $attr"
done
[ "$(cat $pmu/format/load_filter)" = config:33 ] || complain "load_filter is $(cat $pmu/format/load_filter)"
# inverted filters take a kernel with config3 (6.3)
case $(uname -r) in
6.[012].*) [ ! -e $pmu/format/inv_event_filter ] || complain 'has inv_event_filter' ;;
*) [ "$(cat $pmu/format/inv_event_filter)" = config3:0-63 ] || complain 'has no inv_event_filter' ;;
esac
cat /records >$replay/data || complain 'does not take the records'

setting() { # NAME RATE LIMIT SKID
	name=$1
	echo "$2" >$replay/rate
	echo "$3" >$replay/limit
	echo "$4" >/sys/module/auxtap/parameters/skid
	echo >$replay/counts
}
lists() {
	cat $replay/counts >/out/$name.counts
	perf script --ns -i /out/$name.data --itrace=i1i -F tid,cpu,time,event,ip \
		>/out/$name.insn 2>/tmp/err ||
		complain "perf script: $(cat /tmp/err)"
	perf script --ns -i /out/$name.data --itrace=M -F tid,cpu,time,event,ip,addr \
		>/out/$name.mem 2>/tmp/err ||
		complain "perf script: $(cat /tmp/err)"
}
record() { # CPU OPTIONS... -- PROGRAM...
	pin="taskset $((1 << $1))" # from the start: each CPU's unit starts with the first record
	shift
	$pin perf record -q -o /out/$name.data -e arm_spe_0/ts_enable=1/u "$@" >/tmp/log 2>&1 ||
		complain "perf record: exit $?: $(cat /tmp/log)"
	lists
}
size=$(wc -c </records)

setting full 1000000 $size 0
record 1 -m 128,256 -- sh /tmp/spin 60
grep -q 'dropped 0 ' /out/full.counts || complain 'something is dropped'
all_played

# while an event is open the module cannot be unloaded
setting inuse 200000 $size 0
taskset 2 perf record -q -o /out/$name.data -e arm_spe_0/ts_enable=1/u -m 128,256 -- \
	sh /tmp/spin 60 >/tmp/log 2>&1 &
played_below $size || complain 'is not recorded'
rmmod auxtap 2>/dev/null && complain 'was unloaded under an open event'
wait $! || complain "perf record: $(cat /tmp/log)"
lists

# Small areas: buffers end at each wakeup, and a late interrupt costs records.
for cpu in 0 1; do
	setting skid$cpu 300000 $size 200
	record $cpu -m 128,16 -- sh /tmp/spin 60
done

# The reader does not read in time: truncations.
setting fast 30000000 $size 0
record 1 -m 128,8 -- sh /tmp/spin 4

# All CPUs, system-wide: an event on each.
setting wide 500000 $size 0
record 0 -a -m 128,64 -- sh /tmp/spin 60

# Snapshots (I8): the newest records. The signal comes when about half is produced.
for pages in 4 16; do
	setting snap$pages 300000 $size 0
	taskset 2 perf record -q -S -m 128,$pages -o /out/$name.data -e arm_spe_0/ts_enable=1/u -- \
		sh /tmp/spin 60 >/tmp/log 2>&1 &
	played_below $((size / 2))
	kill -USR2 $(pidof perf) || complain 'no perf to take a snapshot'
	wait $! || complain "perf record: $(cat /tmp/log)"
	lists
done

# auxtap's recorder; stock perf lists its file
if [ -x /usr/bin/auxtap ]; then
	setting ours 500000 $size 0
	taskset 2 auxtap record --backend kernel -o /out/$name.data -m 128,256 \
		-e arm_spe_0/ts_enable=1/u -- sh /tmp/spin 60 >/tmp/log 2>&1 ||
		complain "auxtap record: exit $?: $(cat /tmp/log)"
	lists
fi

# Management events (I10) during the run. All records fit into the area: a reader that waits for a
# CPU of a busy machine causes no truncation.
event() { # NAME WORDS...
	setting $1 1000000 $size 0
	shift
	during "$*" perf record -q -m 128,256 -o /out/$name.data -e arm_spe_0/ts_enable=1/u
	lists
}
event spurious spurious      # an interrupt without a status
event collide collide        # a sample was due while one was being taken
event dl fail 80001 17       # a record is incomplete
event stage1 fail 90000007   # a fault of a write
event abort fail 40000       # external abort
name=injecting
echo explode 2>/dev/null >$inject && complain 'is taken'

name=vectors
/vectors spe || complain 'they do not hold'

name=unloading
rmmod auxtap || complain 'is not unloaded'
[ ! -e $pmu ] || complain 'its PMU is still there'
exit $bad
