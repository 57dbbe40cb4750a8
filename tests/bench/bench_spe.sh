# SPDX-License-Identifier: BSD-2-Clause
# Arm SPE: records a second of decode and of stock perf script on the same file, in turns; bytes a
# second with one thread and without printing; instructions of each for one record, by callgrind.
# Goals: 10 times perf's rate; 300 MB a second of trace on one core.
. "$SRC/tests/cli/lib.sh"
NR=1000000 # records of each of the two CPUs
"$TOOLS/spe_file" big.data $NR 1 || exit 1
"$TOOLS/spe_file" bare.bin $NR 1 bare || exit 1
"$TOOLS/spe_file" small.data 25000 1 || exit 1

seconds() { # COMMAND...
	local begin end
	begin=$(date +%s%N)
	"$@" >/dev/null 2>&1
	end=$(date +%s%N)
	echo "$begin $end" | awk '{printf "%.3f\n", ($2 - $1) / 1e9}'
}
median() { sort -n | sed -n 3p; } # of five
for turn in 1 2 3 4 5; do
	seconds perf script -i big.data >>perf
	seconds "$AUXTAP" decode big.data >>ours
	seconds perf script -i big.data --itrace=i1i -F ip >>perf-ip
	seconds "$AUXTAP" decode --events insn -F ip big.data >>ours-ip
	seconds "$AUXTAP" decode -j1 --summary --raw spe bare.bin >>bare
done
for name in perf ours perf-ip ours-ip; do
	median <$name | awk -v nr=$((2 * NR)) -v name=$name '{printf "spe-%s-records-per-second: %.0f\n", name, nr / $1}'
done
paste <(median <perf) <(median <ours) | awk '{printf "spe-rate-over-perf: %.2f\n", $1 / $2}'
paste <(median <perf-ip) <(median <ours-ip) | awk '{printf "spe-rate-over-perf-ip: %.2f\n", $1 / $2}'
median <bare | awk -v size="$(stat -c %s bare.bin)" '{printf "spe-megabytes-per-second-one-core: %.0f\n", size / $1 / 1e6}'

command -v valgrind >/dev/null || exit 0
insns() { # COMMAND...: executed, by all threads
	valgrind --tool=callgrind --callgrind-out-file=cg "$@" 2>&1 >/dev/null | awk '/Collected/ {print $4}'
}
paste <(insns perf script -i small.data) <(insns "$AUXTAP" decode -j1 small.data) |
	awk '{printf "spe-perf-instructions-per-record: %.0f\nspe-instructions-per-record: %.0f\nspe-instructions-perf-over-ours: %.2f\n",
		$1 / 50000, $2 / 50000, $1 / $2}'
