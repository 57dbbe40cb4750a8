#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Stepping is invisible to a program and its debugger. Debuggers by ptrace (gdb
# if installed), debug registers, perf's breakpoints, uprobes, its own single step, calls
# that seccomp refuses, aborted sequences, restarted calls, 32 bits, the vsyscall page: each runs
# traced as untraced, and the trace contains exactly what was stepped.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
files=()
[ ! -e "$TESTS/guest_i386" ] || files+=(--file "$TESTS/guest_i386:/i386")
if [ -n "${AUXTAP_LONG:-}" ] && gdb=$(type -P gdb); then
	files+=(--file "$gdb:/usr/bin/gdb")
	for dir in /usr/share/gdb /usr/lib/python3.*/encodings; do
		[ ! -d "$dir" ] || files+=(--file "$dir")
	done
fi
exec "$SRC/tests/guest/run" --kernel "$KERNEL" --module --timeout 500 -o "$work/out" \
	--append vsyscall=emulate --file "$BIN/auxtap:/usr/bin/auxtap" \
	--file "$TESTS/compare_steps:/usr/bin/compare_steps" \
	--file "$TESTS/guest_count_steps:/usr/bin/count_steps" \
	--file "$TESTS/guest_victim:/victim" --file "$TESTS/guest_debugger:/debugger" \
	--file "$TESTS/guest_code32:/code32" --file "$TESTS/guest_tf:/tf" \
	--file "$TESTS/guest_park:/park" \
	"${files[@]}" "$SRC/tests/guest/in/debug.sh"
