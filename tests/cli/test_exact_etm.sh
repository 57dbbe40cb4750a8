#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# CoreSight on any machine: what OpenCSD finds in the emulated trace of AArch64 programs is
# exactly what each of their threads executed.
set -u
fixtures=$BIN/../fixtures/a64
if ! command -v qemu-aarch64 >/dev/null || [ ! -x "$fixtures/qemu_a64" ]; then
	echo "skipped: qemu-aarch64 or a compiler for AArch64 is not installed"
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

# exact STATUS EVENT COMMAND...
exact()
{
	local expected=$1 event=$2 status truth tid nr=0 all=0
	shift 2
	rm -f "$dir"/*
	timeout 120 auxtap record -e "$event" --backend emulated --source qemu -m 128,8192 --truth "$dir/raw" \
		-o "$dir/data" -- "$@" >"$dir/out" 2>"$dir/err"
	status=$?
	[ $status = "$expected" ] || fail "$*: status $status, not $expected: $(tail -1 "$dir/err")"
	grep -q truncated "$dir/err" && fail "$*: truncated: a larger -m"
	for truth in "$dir"/raw.*; do
		tid=${truth##*.}
		od -An -v -t x8 -w8 "$truth" | sed 's/^ *0*//' >"$dir/expected"
		auxtap decode --events insn -F ip --tid "$tid" "$dir/data" >"$dir/got" 2>"$dir/decode_err"
		cmp -s "$dir/expected" "$dir/got" ||
			fail "$event $*: thread $tid: $(wc -l <"$dir/expected") executed, $(wc -l <"$dir/got") decoded: $(cmp "$dir/expected" "$dir/got" 2>&1)"
		[ -s "$dir/expected" ] || fail "$*: nothing was executed by thread $tid"
		nr=$((nr + 1))
		all=$((all + $(wc -l <"$dir/got")))
	done
	auxtap decode --events gap "$dir/data" >"$dir/gaps"
	[ -s "$dir/gaps" ] && fail "$event $*: $(head -1 "$dir/gaps")"
	echo "$event ${1##*/}: $nr threads, $all instructions"
}

for event in cs_etm// cs_etm/retstack/ cs_etm/cycacc,contextid1/ cs_etm/branch_broadcast/; do
	exact 0 "$event" "$fixtures/recursion_static"
done
exact 0 cs_etm//u "$fixtures/recursion"
auxtap decode --events call -F sym "$dir/data" | grep -q '\$[xd]' && fail "mapping symbols are no names"
[ -x "$fixtures/exceptions" ] && exact 0 cs_etm//u "$fixtures/exceptions"
exact 0 cs_etm//u "$fixtures/threads4_static"
[ "$(ls "$dir"/raw.* | wc -l)" = 5 ] || fail "threads4: not five threads"
exact 139 cs_etm//u "$fixtures/null_deref"
exact 139 cs_etm//u "$fixtures/thread_crash_static"

[ $failures = 0 ] || exit 1
