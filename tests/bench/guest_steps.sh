#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Steps a second of the module's trap engine against the ptrace engine's, for the same program
# recorded by auxtap in one guest. Guest time is a count of instructions (run --icount), one
# CPU for all, so other work of the host does not affect the results.
# LOOPS, PTRACE_LOOPS: loops of the program.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
echo "LOOPS=${LOOPS:-100000} PTRACE_LOOPS=${PTRACE_LOOPS:-5000}" >"$work/bench.conf"
rc=0
"$SRC/tests/guest/run" --kernel "$KERNEL" --module --timeout "${TIMEOUT:-1200}" -o "$work/out" \
	--icount 1 --cpus 1 --file "$BIN/auxtap:/usr/bin/auxtap" \
	--file "$BIN/auxtap-emu:/usr/bin/auxtap-emu" --file "$BIN/emu_program:/emu_program" \
	--file "$work/bench.conf:/bench.conf" "$SRC/tests/bench/in/steps.sh" || rc=$?
cat "$work/out/steps.log" 2>/dev/null || true
exit "$rc"
