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
	[ "$name" != a64_faults ] || continue # not this machine's
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

# Legitimate differences between the two backends:
# - the kernel's time is real, the emulated one counts instructions;
# - the kernel's rings belong to CPUs: parent (fork_child) and helpers (wrapper's dirname) are
#   in the file as well, where an emulated ring holds one thread;
# - a time slice or interrupt cuts a row of the same branch in two: their sum is compared, and
#   where the report's rows were used up by that, only what they reach back to: as_far_back();
# - how long handler_crash waits for its alarm in a loop of one jump, and how many interrupts cut
#   that loop: after each the trace starts again, and the loop is one more uncounted gap.
same_in_both() { # NAME
	sed -E -e 's/^  N s of (emulated time \(one instruction is one ns\)|time)$/  N s/' \
		-e "$(case "$1" in
		fork_child | wrapper) echo 's/branches in N threads?,/branches in N threads,/' ;;
		handler_crash) echo '/jump   main .*-> main .handler_crash.c/d
			s/^  N gaps?: uncounted$/  N gaps: uncounted/
			:same
			/gap: uncounted/{
				$!N
				s/^(.*)\n\1$/\1/
				t same
				P
				D
			}' ;;
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

ROWS=16 # of last branches in a report

# Of the golden report on standard input, the last branches as far back as the MASKED one goes,
# if the RAW one's rows are used up: the newest ones, the oldest of them maybe in part.
as_far_back() { # RAW MASKED
	local raw rows oldest
	branches() { sed -n '/^Last branches/,/^What the trace/{/ -> /p}' "$1"; }
	# the signal's row, the newest, has no target
	raw=$(sed -n '/^Last branches/,/^What the trace/{/^  /p}' "$1" | grep -c .) || true
	rows=$(branches "$2" | grep -c .) || true
	oldest=$(branches "$2" | head -n 1)
	awk -v full=$((raw >= ROWS)) -v rows="$rows" -v oldest="$oldest" '
		function times(row) {
			return match(row, /  x [0-9]+$/) ? substr(row, RSTART + 4) + 0 : 1
		}
		function branch(row) { sub(/  x [0-9]+$/, "", row); return row }
		{ text[NR] = $0 }
		/^Last branches/ { inside = 1 }
		/^What the trace/ { inside = 0 }
		inside && / -> / { is_row[NR] = 1; total++ }
		END {
			skip = full && rows > 0 && total > rows ? total - rows : 0
			for (i = 1; i <= NR; i++) {
				if (is_row[i] && skip-- > 0)
					continue
				if (is_row[i] && full && !first++ &&
				    branch(text[i]) == branch(oldest) &&
				    times(oldest) < times(text[i]))
					text[i] = oldest
				print text[i]
			}
		}'
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
	without_blocks <"$SRC/tests/cli/golden/$4.txt" | same_in_both "$1" |
		as_far_back "$report" "$work/masked" >"$work/golden"
	if diff -u "$work/golden" "$work/masked" >"$work/diff"; then
		echo "$1: as $4"
	else
		fail "$1: the report is not the golden one: $(head -n 40 "$work/diff")"
	fi
}

compare null_deref 139 null_deref.c null_deref.ptrace
compare use_after_free 139 use_after_free.c use_after_free.ptrace
# the guest's processor is emulated: it loads by RET an address that no other one would, and fetches
compare stack_smash 139 stack_smash.c stack_smash.guest
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
