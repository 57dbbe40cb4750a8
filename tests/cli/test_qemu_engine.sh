#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Features of the qemu engine, through the whole pipeline: faults inside blocks, exec, death;
# decode and stock perf list exactly what was executed. Status and streams pass through.
# (exact.sh runs the ordinary programs.)
set -u
if ! command -v qemu-x86_64 >/dev/null; then
	echo "skipped: qemu-x86_64 is not installed"
	exit 77
fi
PATH=$BIN:$PATH
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
failures=0

fail()
{
	echo "FAILED: $*"
	failures=$((failures + 1))
}

hex()
{
	od -An -v -t x8 -w8 "$1" | sed 's/^ *0*//'
}

# exact EXPECTED_STATUS COMMAND...
exact()
{
	local expected=$1 status truth tid nr=0
	shift
	rm -f "$dir"/*
	auxtap record --backend emulated --source qemu -m 128,8192 --truth "$dir/truth" \
		-o "$dir/data" -- "$@" >"$dir/out" 2>"$dir/err" </dev/null
	status=$?
	[ $status = "$expected" ] || fail "$*: status $status, not $expected: $(tail -1 "$dir/err")"
	if grep -q truncated "$dir/err"; then
		echo "note: $*: truncated, not compared"
		return
	fi
	for truth in "$dir"/truth.*; do
		tid=${truth##*.}
		hex "$truth" >"$dir/expected"
		auxtap decode --events insn -F ip --tid "$tid" "$dir/data" >"$dir/got" 2>"$dir/decode_err"
		cmp -s "$dir/expected" "$dir/got" ||
			fail "$*: decode of thread $tid: $(wc -l <"$dir/expected") executed, $(wc \
			-l <"$dir/got") decoded"
		[ -s "$dir/expected" ] || fail "$*: nothing was executed by thread $tid"
		nr=$((nr + 1))
		if command -v perf >/dev/null && [ "$(wc -l <"$dir/expected")" -lt 400000 ]; then
			perf script -i "$dir/data" --itrace=i1i -F ip --tid "$tid" 2>/dev/null |
				tr -d ' ' | grep -E '^[0-9a-f]+$' >"$dir/perf"
			cmp -s "$dir/expected" "$dir/perf" ||
				fail "$*: perf's view of thread $tid: $(wc -l <"$dir/perf") instructions"
		fi
	done
	echo "$*: $nr threads"
}

fixtures=$BIN/../fixtures
exact 0 true
exact 3 sh -c 'exit 3'
exact 139 "$fixtures/null_deref"
exact 139 sh -c "exec $fixtures/null_deref"
exact 0 "$BIN/../tests/qemu_faults"

# input, output and a pipeline pass through
got=$(echo hello | auxtap record --backend emulated --source qemu -o "$dir/data" -- tr a-z A-Z \
	2>/dev/null)
[ "$got" = HELLO ] || fail "stdin and stdout: '$got'"

[ $failures = 0 ] || exit 1
