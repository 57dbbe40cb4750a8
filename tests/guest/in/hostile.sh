# SPDX-License-Identifier: BSD-2-Clause
# In the guest: see test_hostile.sh.
bad=0
complain() {
	echo "hostile: $*"
	bad=1
}
debug=/sys/kernel/debug/auxtap
parameters=/sys/module/auxtap/parameters
count() {
	sed -n "s/^$1: //p" $debug/counts
}
took() { # SECONDS-BEFORE WHAT
	echo "$2: $(($(cut -d. -f1 /proc/uptime) - $1)) s"
}
now() {
	cut -d. -f1 /proc/uptime
}
insmod /auxtap.ko name=intel_pt || exit 1
type=$(cat /sys/bus/event_source/devices/intel_pt/type)

# ---- what is refused ----

begin=$(now)
echo 2 >/proc/sys/kernel/perf_event_paranoid
/hostile refusals $type 0 || complain 'at level 2'
echo 3 >/proc/sys/kernel/perf_event_paranoid
/hostile refusals-at-3 $type 0 || complain 'at level 3'
echo 2 >/proc/sys/kernel/perf_event_paranoid
took $begin refusals

# ---- what must cause no damage ----

races() { # ROUNDS
	/hostile races $type $1 || complain 'races'
	echo 4000 >$parameters/irq_delay
	echo 50 >$parameters/skid
	/hostile interrupts $type $(($1 / 2)) || complain 'interrupts'
	echo 0 >$parameters/irq_delay
	echo 0 >$parameters/skid
}
storms() { # ROUNDS
	/storm open $type $1 || complain 'opens'
	before=$(count steps)
	/storm exec $type $1 /tiny || complain 'execs'
	# three instructions each
	[ $(($(count steps) - before)) -ge $((3 * $1)) ] || complain "$1 execs, $(($(count steps) - before)) steps"
}

# ---- leaks ----

# Objects in use by cache, after per-CPU caches were dropped; and pages in kB that no counter
# accounts for (except those on the CPUs' free lists).
left() { # TO
	sync
	echo 3 >/proc/sys/vm/drop_caches
	sleep 2 # RCU
	for cache in /sys/kernel/slab/*; do
		[ ! -w $cache/shrink ] || echo 1 >$cache/shrink
	done 2>/dev/null
	awk 'NR > 2 { print $1, $2, $5 }' /proc/slabinfo >$1.slab
	awk '$1 == "count:" { kept += 4 * $2 }
		FILENAME == "/proc/meminfo" { v[$1] = $2 }
		END {
		print v["MemTotal:"] - v["MemFree:"] - kept - v["Buffers:"] - v["Cached:"] -
			v["AnonPages:"] - v["Slab:"] - v["PageTables:"] - v["KernelStack:"] -
			v["Percpu:"] - v["VmallocUsed:"]
		print v["Percpu:"]; print v["VmallocUsed:"]; print v["KernelStack:"]
		}' /proc/meminfo /proc/zoneinfo >$1.pages
}
# One object (up to a slab is not counted), or one page, leaked by every other round is detected.
# vmap_area: freed lazily by vmalloc; VmallocUsed counts what is in use.
leaks() { # ROUNDS
	awk -v most=$(($1 / 2)) 'NR == FNR { before[$1] = $2; next }
		$1 != "vmap_area" && $2 - before[$1] > most + $3 {
			print $1 ": " before[$1] " -> " $2 " objects"
			bad = 1
		}
		END { exit bad }' before.slab after.slab || complain "slab after $1 rounds"
	echo 'unaccounted pages, percpu, vmalloc, stacks, in kB:' \
		$(cat before.pages) '->' $(cat after.pages)
	awk -v most=$(($1 * 2)) 'NR == FNR { before[FNR] = $1; next }
		$1 - before[FNR] > most { bad = 1 }
		END { exit bad }' before.pages after.pages || complain "pages after $1 rounds"
}
cd /tmp || exit 1
rounds=${ROUNDS:-500}
[ ! -e /long ] || rounds=10000
races 6 # what is allocated once
storms 20
left before
begin=$(now)
races 24
took $begin races
begin=$(now)
storms $rounds
took $begin storms
left after
leaks $rounds

# ---- a task that sleeps in the system call in which it was last woken ----

mkfifo pipe
dd if=/dev/zero of=pipe bs=1M count=1 2>/dev/null &
writer=$!
exec 3<pipe
sleep 0.2
before=$(count steps)
/storm hold $type 3 $writer 3<&3 || complain 'holding the writer'
[ -e /proc/$writer ] || complain 'the writer is gone'
cat $debug/counts
tries=0
until rmmod auxtap 2>/dev/null; do
	tries=$((tries + 1))
	[ $tries -lt 30 ] || { complain 'a sleeping task holds the module'; break; }
	sleep 0.1
done
[ -e /proc/$writer ] || complain 'the writer is gone'
cat <&3 >/dev/null
wait $writer || complain 'the writer failed'
exit $bad
