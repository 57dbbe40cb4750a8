#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# The ptrace engine against a bare single-step loop over the same program, both pinned to one
# CPU. Prints 'name: value' lines. BIN: the build's bin directory; COUNT: loops of the program.
set -eu
BIN=${BIN:?the bin directory of the build}
SRC=$(cd "$(dirname "$0")/../.." && pwd)
COUNT=${COUNT:-20000}
ROUNDS=${ROUNDS:-3}
TMP=$(mktemp -d)
trap 'rm -rf "$TMP"' EXIT

${CC:-cc} -O2 -Wall -o "$TMP/bare" "$SRC/tests/bench/bare_step.c"

# CPU time of tracer and program together: they alternate on one CPU, so it is the rate that
# an idle machine shows, even on a busy one. The best of the rounds.
mkdir "$TMP/rate"
best() {
	name=$1
	shift
	for round in $(seq "$ROUNDS"); do
		"$@" | awk '/^instructions:/ { n = $2 } /^cpu_seconds:/ { s = $2 }
			END { if (s > 0) printf "%.0f\n", n / s; else print 0 }'
	done | sort -n | tail -1 >"$TMP/rate/$name"
}

best bare "$TMP/bare" "$BIN/emu_program" loops "$COUNT"
best ptrace "$BIN/../tests/emu_test_ptrace" "$BIN/emu_program" loops "$COUNT"
awk -v bare="$(cat "$TMP/rate/bare")" \
	-v ours="$(cat "$TMP/rate/ptrace")" 'BEGIN {
	printf "bare_steps_per_second: %d\n", bare
	printf "ptrace_steps_per_second: %d\n", ours
	printf "ptrace_percent_of_bare: %.1f\n", bare ? 100 * ours / bare : 0
}'
