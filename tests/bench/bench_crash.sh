#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# The cost of a flight recorder: programs under "auxtap crash" against the same qemu without it,
# alternating, medians of five ratios. Goal: 2.5 times the wall time, on two cores that have
# nothing else to do, and 4 times the CPU time.
# Usage: bench_crash.sh BIN [ROUNDS]. Prints "name: value" lines.
set -eu
BIN=${1:-${BIN:?directory of the built programs}}
turns=${2:-5}
PATH=$BIN:$PATH
export LC_ALL=C
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
seq 400000 | awk '{ print ($1 * 7919) % 1000003, $1 }' >numbers
cat >program.py <<'PY'
counts = {}
for i in range(400000):
    counts[i * 7919 % 1009] = counts.get(i % 1009, 0) + i
print(sorted(counts.values())[0])
PY

# seconds of wall clock, then of CPU
timed() {
	local TIMEFORMAT='%R %U %S'
	{ time "$@" >/dev/null 2>&1; } 2>times
	awk '{ printf "%s %.3f\n", $1, $2 + $3 }' times
}

median() { sort -n | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'; }

one() { # NAME COMMAND...
	local name=$1 wall cpu plain_wall plain_cpu
	shift
	: >walls
	: >cpus
	for _ in $(seq "$turns"); do
		read -r plain_wall plain_cpu < <(timed qemu-x86_64 -cpu max "$@")
		read -r wall cpu < <(timed auxtap crash --source qemu -o data -- "$@")
		awk "BEGIN { printf \"%.2f\n\", $wall / $plain_wall }" >>walls
		awk "BEGIN { printf \"%.2f\n\", $cpu / $plain_cpu }" >>cpus
	done
	echo "crash_${name}_plain_cpu_seconds: $plain_cpu"
	echo "crash_${name}_wall_ratio: $(median <walls)"
	echo "crash_${name}_cpu_ratio: $(median <cpus)"
}

one sort /usr/bin/sort numbers
one sort_n /usr/bin/sort -n numbers
one gzip /usr/bin/gzip -c numbers
one python3 /usr/bin/python3 -S -E program.py
