# SPDX-License-Identifier: BSD-2-Clause
# Arm SPE: samples a second of decode and of stock perf script on the same file, alternating. The
# unit is output lines: perf makes up to four samples of one record (cache, TLB, memory, branch),
# auxtap one event. So there are rates by record, too, and rates of equal work, where both print
# the same fields of the same samples. Seconds are CPU seconds (of all threads), which other load
# disturbs least; with two threads, wall-clock seconds. Instructions by callgrind, startup
# subtracted. Goals: 10 times perf's samples a second; 300 MB a second of trace on one core.
. "$SRC/tests/cli/lib.sh"
NR=1000000 # records of each of the two CPUs
FIELDS=comm,tid,cpu,time,event,ip,sym,dso
"$TOOLS/spe_file" big.data $NR 1 large || exit 1
"$TOOLS/spe_file" bare.bin $NR 1 bare || exit 1

seconds() { # COMMAND...: CPU seconds, then wall-clock seconds
	{ TIMEFORMAT='%U %S %R'; time "$@" >/dev/null 2>&1; } 2>&1 | awk '{print $1 + $2, $3}'
}
median() { awk -v c="$2" '{print $c}' "$1" | sort -n | awk '{v[NR] = $1} END {print v[int((NR + 1) / 2)]}'; }
for turn in 1 2 3 4 5; do
	seconds perf script -i big.data >>perf
	seconds "$AUXTAP" decode -j1 --events mem,branch big.data >>ours
	seconds "$AUXTAP" decode -j2 --events mem,branch big.data >>ours-j2
	seconds perf script -i big.data --itrace=M -F $FIELDS >>perf-mem
	seconds "$AUXTAP" decode -j1 --events mem -F $FIELDS big.data >>ours-mem
	seconds perf script -i big.data --itrace=i1i -F $FIELDS >>perf-insn
	seconds "$AUXTAP" decode -j1 --events insn -F $FIELDS big.data >>ours-insn
	seconds perf script -i big.data --itrace=i1i -F ip >>perf-ip
	seconds "$AUXTAP" decode -j1 --events insn -F ip big.data >>ours-ip
	seconds "$AUXTAP" decode -j1 --summary --raw spe bare.bin >>bare
done
declare -A lines
lines[perf]=$(perf script -i big.data 2>/dev/null | wc -l)
lines[ours]=$("$AUXTAP" decode --events mem,branch big.data | wc -l)
lines[perf-mem]=$(perf script -i big.data --itrace=M -F $FIELDS 2>/dev/null | wc -l)
lines[ours-mem]=$("$AUXTAP" decode --events mem -F $FIELDS big.data | wc -l)
lines[perf-insn]=$((2 * NR)) lines[ours-insn]=$((2 * NR)) lines[perf-ip]=$((2 * NR)) \
	lines[ours-ip]=$((2 * NR))
[ "${lines[perf-mem]}" = "${lines[ours-mem]}" ] || fail "not the same samples: ${lines[perf-mem]}, ${lines[ours-mem]}"
lines[ours-j2]=${lines[ours]}
for name in perf ours perf-mem ours-mem perf-insn ours-insn perf-ip ours-ip; do
	awk -v t="$(median $name 1)" -v n="${lines[$name]}" -v name=$name 'BEGIN {
		printf "spe-%s-samples-per-second: %.0f\n", name, n / t }'
done
ratio() { # NAME OURS PERF COLUMN LINES: LINES: samples a record; 1 gives records
	awk -v a="$(median "$2" "$4")" -v b="$(median "$3" "$4")" -v n="$5" -v name="$1" 'BEGIN {
		printf "spe-%s: %.2f\n", name, b / a * n }'
}
by_samples=$(awk -v a="${lines[ours]}" -v b="${lines[perf]}" 'BEGIN {print a / b}')
ratio samples-over-perf ours perf 1 "$by_samples"
ratio records-over-perf ours perf 1 1
ratio samples-over-perf-two-threads ours-j2 perf 2 "$by_samples"
ratio records-over-perf-two-threads ours-j2 perf 2 1
ratio equal-mem-over-perf ours-mem perf-mem 1 1
ratio equal-insn-over-perf ours-insn perf-insn 1 1
ratio equal-ip-over-perf ours-ip perf-ip 1 1
awk -v t="$(median bare 1)" -v size="$(stat -c %s bare.bin)" 'BEGIN {
	printf "spe-megabytes-per-second-one-core: %.0f\n", size / t / 1e6 }'

command -v valgrind >/dev/null || finish
"$TOOLS/spe_file" one.data 25000 1 large && "$TOOLS/spe_file" two.data 50000 1 large || exit 1
insns() { # COMMAND...: instructions executed, by all threads
	valgrind --tool=callgrind --callgrind-out-file=cg "$@" 2>&1 >/dev/null | awk '/Collected/ {print $4}'
}
per_record() { # COMMAND...: instructions a record, of the second 50,000 records
	echo $((($(insns "$@" two.data) - $(insns "$@" one.data)) / 50000))
}
compare() { # NAME PERF OURS
	awk -v name="$1" -v a="$2" -v b="$3" 'BEGIN {
		printf "spe-%s-instructions-per-record: perf %d, ours %d: %.2f\n",
			name, a, b, a / b }'
}
compare default "$(per_record perf script -i)" "$(per_record "$AUXTAP" decode -j1 --events mem,branch)"
compare equal-mem "$(per_record perf script --itrace=M -F $FIELDS -i)" \
	"$(per_record "$AUXTAP" decode -j1 --events mem -F $FIELDS)"
compare equal-insn "$(per_record perf script --itrace=i1i -F $FIELDS -i)" \
	"$(per_record "$AUXTAP" decode -j1 --events insn -F $FIELDS)"
finish
