#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# `auxtap crash` on the kernel's perf, with the module as the trace unit: the report, made in
# the guest, is the one that the emulated backend makes (the golden files of tests/cli), but
# for what same_in_both() names.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
FIXTURES=$(dirname "$BIN")/fixtures WORK=$work
. "$SRC/tests/cli/mask_report.sh"
files=()
for file in "$SRC"/fixtures/crash/*.c*; do
	name=$(basename "${file%.*}")
	[ "$name" != dlopen_plugin ] || name=libdlopen_plugin.so
	files+=(--file "$FIXTURES/$name:/fixtures/$name")
done
{
	echo "FIXTURES='$FIXTURES' SRC='$SRC'"
	cat "$SRC/tests/guest/in/crash.sh"
} >"$work/crash.sh"
rc=0
"$SRC/tests/guest/run" --kernel "$KERNEL" --module --timeout 300 -o "$work/out" \
	--file "$BIN/auxtap:/usr/bin/auxtap" --file "$SRC/fixtures/crash:/sources" \
	--file "$FIXTURES/wrapper.sh:/fixtures/wrapper.sh" "${files[@]}" \
	"$work/crash.sh" || rc=$?
[ -z "${KEEP:-}" ] || cp -r "$work/out" "$KEEP"
[ "$rc" = 0 ] || exit "$rc"

failures=0
fail() {
	echo "FAIL: $*"
	failures=$((failures + 1))
}

# What the two backends rightly tell differently:
# - the kernel's time is real, the emulated one counts instructions;
# - the kernel's rings belong to CPUs: parent (fork_child) and helpers (wrapper's dirname) are
#   in the file as well, where an emulated ring holds one thread;
# - a time slice or interrupt cuts a row of the same branch in two: their sum is compared;
# - how long handler_crash waits for its alarm in a loop of one jump.
same_in_both() { # NAME
	sed -E -e 's/^  N s of (emulated time \(one instruction is one ns\)|time)$/  N s/' \
		-e "$(case "$1" in
		fork_child | wrapper) echo 's/branches in N threads?,/branches in N threads,/' ;;
		handler_crash) echo '/jump   main .*-> main .handler_crash.c/d' ;;
		esac)" |
		awk '
		function flush() { if (n > 1) print line "  x " n; else if (n) print line; n = 0 }
		/^Last branches/ { inside = 1 }
		/^What the trace/ { inside = 0 }
		!inside { flush(); print; next }
		{
			times = 1; now = $0
			if (match(now, /  x [0-9]+$/)) {
				times = substr(now, RSTART + 4); now = substr(now, 1, RSTART - 1)
			}
			if (now != line) { flush(); line = now }
			n += times
		}
		END { flush() }'
}

compare() { # NAME STATUS SOURCE GOLDEN
	local report=$work/out/$1.report status
	status=$(cat "$work/out/$1.status")
	[ "$status" = "$2" ] || fail "$1: exit status $status, not $2"
	if [ ! -s "$report" ]; then
		fail "$1: no report: $(tail -n 3 "$work/out/$1.stderr")"
		return
	fi
	[[ "$(cat "$work/out/$1.stderr")" == *"$(cat "$report")"* ]] ||
		fail "$1: the report is not on standard error"
	mask "$3" <"$report" | same_in_both "$1" >"$work/masked"
	same_in_both "$1" <"$SRC/tests/cli/golden/$4.txt" >"$work/golden"
	if diff -u "$work/golden" "$work/masked" >"$work/diff"; then
		echo "$1: as $4"
	else
		fail "$1: the report is not the golden one: $(head -n 40 "$work/diff")"
	fi
}

compare null_deref 139 null_deref.c null_deref.ptrace
compare use_after_free 139 use_after_free.c use_after_free.ptrace
# qemu fetches from an address that no processor would load by RET: what its report tells
compare stack_smash 139 stack_smash.c stack_smash.qemu
compare bad_pointer 139 bad_pointer.c bad_pointer.ptrace
compare cxx_uncaught 134 cxx_uncaught.cpp cxx_uncaught.ptrace
compare div_zero 136 div_zero.c div_zero.ptrace
compare thread_crash 139 thread_crash.c thread_crash.ptrace
compare fork_child 0 fork_child.c fork_child.ptrace
compare handler_crash 139 handler_crash.c handler_crash.ptrace
compare dlopen_crash 139 dlopen_plugin.c dlopen_crash.ptrace
compare wrapper 139 null_deref.c null_deref.ptrace
compare illegal_insn 132 illegal_insn.c illegal_insn.ptrace
compare stack_overflow 139 stack_overflow.c stack_overflow.ptrace
compare second_fault 139 second_fault.c second_fault.ptrace
[ "$failures" = 0 ]
