# SPDX-License-Identifier: BSD-2-Clause
# In the guest: see test_users.sh.
bad=0
complain() {
	echo "users: $*"
	bad=1
}
sysctl=/proc/sys/kernel
mkdir -p /tmp/u
chmod 777 /tmp/u
cd /tmp/u || exit 1

user() { su -s /bin/sh nobody -c "cd /tmp/u; $*"; }
# EXPECTED EXIT STATUS, COMMAND LINE, PATTERNS THAT THE ERROR MATCHES...
by_user() {
	want=$1
	line=$2
	shift 2
	rm -f data*
	user "$line" >stdout 2>stderr
	rc=$?
	[ $rc = $want ] || complain "level $(cat $sysctl/perf_event_paranoid): $line: exit $rc, not $want: $(cat stderr)"
	for pattern in "$@"; do
		grep -qE -e "$pattern" stderr || complain "$line: not '$pattern': $(cat stderr)"
	done
}
lists() { # PATTERN...: what list prints for a user
	user auxtap list >stdout 2>&1 || complain "list: $(cat stdout)"
	for pattern in "$@"; do
		grep -qE -e "$pattern" stdout || complain "list does not say '$pattern': $(cat stdout)"
	done
}
record='auxtap record --backend kernel -m 16,16 -o data'

# ---- the module under its own name: found without being named ----

insmod /auxtap.ko || exit 1
type=$(cat /sys/bus/event_source/devices/auxtap_pt/type)
echo 2 >$sysctl/perf_event_paranoid
lists "^  auxtap_pt .type $type.$" ' tsc=config:10' ' noretcomp=config:11' ' topa_output=1' \
	'perf_event_paranoid is 2: users may trace the user mode' \
	'ring memory: 516 KiB a CPU' 'record selects: backend kernel, event auxtap_pt//u$'
by_user 139 'auxtap crash -m 16,64 -o data -- /null_deref' '^null_deref .* in age_of' \
	'^  [1-9][0-9]* instructions, ' '^  no gaps'
by_user 0 "$record -- true"
user 'auxtap decode --summary data' >stdout
grep -q '^errors: 0$' stdout || complain "decode: $(cat stdout)"
awk '$1 == "instructions:" && $2 > 1000 { many = 1 } END { exit !many }' stdout ||
	complain "decode: $(cat stdout)"
tries=0
until rmmod auxtap 2>/dev/null; do
	tries=$((tries + 1))
	[ $tries -lt 100 ] || { complain 'the module does not go'; exit 1; }
	sleep 0.1
done

# ---- the level: the number in the message is the one that suffices ----

insmod /auxtap.ko name=intel_pt || exit 1
for level in 4 3; do
	echo $level >$sysctl/perf_event_paranoid
	by_user 125 "$record -- true" \
		"^auxtap: intel_pt//u: .*paranoid is $level, .* your own programs needs 2 or less" \
		'paranoid=2'
	lists "perf_event_paranoid is $level: users may not trace; 2 lets them" \
		"^record selects: .*(nothing|emulated).*paranoid is $level"
done
echo 2 >$sysctl/perf_event_paranoid
by_user 0 "$record -- true"
by_user 125 "$record -e intel_pt// -- true" 'paranoid is 2, .* needs 1 or less' 'paranoid=1' '-e intel_pt//u'
by_user 125 "$record -a -- true" 'paranoid is 2, .* whole CPUs needs 0 or less' 'paranoid=0'
by_user 125 "$record -p 1" "another user's" 'run as root'
echo 1 >$sysctl/perf_event_paranoid
by_user 0 "$record -e intel_pt// -- true"
by_user 125 "$record -a -- true" 'paranoid is 1, .* whole CPUs needs 0 or less' 'paranoid=0'
lists 'perf_event_paranoid is 1: .*; 0 lets them'
echo 0 >$sysctl/perf_event_paranoid
by_user 0 "$record -a -- true"
lists 'perf_event_paranoid is 0: users may trace programs and whole CPUs'

# ---- locked memory: each of the three numbers suffices, and one less does not ----

echo 2 >$sysctl/perf_event_paranoid
big='auxtap record --backend kernel -m 64,512 -o data'
by_user 125 "ulimit -l 1000; $big -- true" '^auxtap: (data ring|AUX area): .* rings take 4616 KiB of locked memory' \
	'allowed are 1032 .perf_event_mlock_kb, 2 CPUs. and 1000 .ulimit -l'
sed -n -e "s/.*-m ,\([0-9]*\)K; or 'ulimit -l \([0-9]*\)'; or .*mlock_kb=\([0-9]*\);.*/\1 \2 \3/p" \
	stderr >numbers
read -r aux ulimit mlock <numbers || complain "no numbers: $(cat stderr)"
echo "instead of 2048 KiB of AUX with ulimit -l 1000: -m ,${aux}K, ulimit -l $ulimit, mlock_kb $mlock"
by_user 0 "ulimit -l 1000; auxtap record --backend kernel -m 64,${aux}K -o data -- true"
by_user 125 "ulimit -l 1000; auxtap record --backend kernel -m 64,$((aux * 2))K -o data -- true"
by_user 0 "ulimit -l $ulimit; $big -- true"
by_user 125 "ulimit -l $((ulimit - 1)); $big -- true"
echo $mlock >$sysctl/perf_event_mlock_kb
by_user 0 "ulimit -l 1000; $big -- true"
echo $((mlock - 4)) >$sysctl/perf_event_mlock_kb
by_user 125 "ulimit -l 1000; $big -- true"
echo 516 >$sysctl/perf_event_mlock_kb
lists 'locked memory .ulimit -l.: 8192 KiB; '

# ---- the rest ----

by_user 125 'auxtap record --backend kernel -m 16,16 -e software//u -o data -- true' \
	"cannot record what the PMU 'software' writes"
auxtap record -m 16,16 -a -o all.data -- sleep 1000 >all.log 2>&1 &
all=$!
tries=0
until pidof sleep >/dev/null || [ $tries = 100 ]; do
	tries=$((tries + 1))
	sleep 0.1
done
by_user 125 "$record -- true" 'the trace unit is taken'
kill $(pidof sleep)
wait $all
by_user 0 "$record -- true"
exit $bad
