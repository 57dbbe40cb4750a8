# SPDX-License-Identifier: BSD-2-Clause
# The tree of calls: --calls N prints N lines, and says how many calls are farther out; calls are
# named by the function that was called, not by what is inlined at its beginning.
. "$(dirname "$0")/lib.sh"
command -v gcc >/dev/null || skip "gcc is not installed"

calls() { "$AUXTAP" report "$@" | sed -n '/^The calls/,/^Last/p'; }

# 500 calls and main, then the start-up code
gcc -g -O0 -o deep "$SRC/tests/cli/frames/deep.c" || fail "deep: not built"
"$AUXTAP" crash -o deep.data -- ./deep 500 >stdout 2>stderr </dev/null
[ -s deep.data ] || { fail "deep: no snapshot: $(tail -n 2 stderr)"; finish; }
total=
for n in 1 2 7 40 41 100 450; do
	calls --calls $n deep.data >calls
	lines=$(grep -cE '^ +[0-9]+  ' calls)
	[ "$lines" -eq $n ] || fail "--calls $n: $lines lines"
	outer=$(sed -nE 's/.*\(([0-9]+) calls farther out\).*/\1/p' calls)
	all=$((lines + outer))
	[ "${total:=$all}" -eq "$all" ] || fail "--calls $n: $lines shown and $outer farther out, $total before"
done
[ "$total" -gt 501 ] || fail "only $total calls"
calls --calls 2000 deep.data >calls
grep -q 'farther out' calls && fail "--calls 2000: not all are shown"
depths=$(grep -cE '^ +[0-9]+ +depth ' calls)
[ "$depths" -eq 501 ] || fail "--calls 2000 shows $depths calls of depth, not 501"

# deeper than what is kept
"$AUXTAP" crash -o deeper.data -- ./deep 30000 >stdout 2>stderr </dev/null
calls deeper.data >calls
outer=$(sed -nE 's/.*\(([0-9]+) calls farther out\).*/\1/p' calls)
[ "${outer:-0}" -ge $((30000 - 40)) ] && [ "$outer" -le 30010 ] || fail "30000 calls deep: $outer farther out"

# what was called before a gap is unknown: the count says since when it counts
"$AUXTAP" crash -m 32,1 -o gap.data -- ./deep 30000 >stdout 2>stderr </dev/null
calls gap.data >calls
sed -n '/ instructions /,/farther out/p' calls | grep -q -- '-- gap: overwritten.* --' ||
	fail "gap: its line is missing: $(head -n 4 calls)"
grep -qE '\.\.\.  \(at least [0-9]+ calls farther out, since the last gap\)$' calls ||
	fail "gap: $(grep farther calls)"

# a function on a stack of its own: not called by who switched to that stack
gcc -g -O0 -o coroutine "$SRC/tests/cli/frames/coroutine.c" || fail "coroutine: not built"
"$AUXTAP" crash -o coroutine.data -- ./coroutine >stdout 2>stderr </dev/null
calls coroutine.data >calls
grep -A1 -E '^ +[0-9]+ +\[by return\] produce .*\.\.\.$' calls | grep -qE ' pause_here ' &&
	grep -qE '^ +[0-9]+ +die .*<- SIGSEGV' calls || fail "coroutine: die is not within produce: $(cat calls)"
sed -n '/^Backtrace/,/^$/p' coroutine.data.report.txt >backtrace
grep -A2 ' die at ' backtrace | tail -n 2 | grep -A1 ' produce at ' | grep -q '#2  __start_context\|#2  .*/libc\.so\.6+0x' && # without libc's symbols
	grep -q 'No call returns to where this function begins' backtrace ||
	fail "coroutine: the backtrace does not end at __start_context: $(cat backtrace)"
# every line between produce and die lies deeper than produce
awk '/\[by return\] produce .*\.\.\.$/ { at = index($0, "[") } / die .*SIGSEGV/ { n = index($0, "die"); exit }
	END { exit !(at && n > at) }' calls || fail "coroutine: die is not deeper than produce: $(cat calls)"

# clang's debug information lets the inlined function begin where the function does
command -v clang >/dev/null || skip "clang is not installed"
clang -g -O2 -o entry "$SRC/tests/cli/frames/entry.c" || fail "entry: not built"
"$AUXTAP" crash -o entry.data -- ./entry >stdout 2>stderr </dev/null
calls entry.data >calls
grep -qE '^ +[0-9]+ +doubled .*<- SIGSEGV' calls || fail "entry: the calls do not show doubled: $(cat calls)"
grep -q 'value_of' calls && fail "entry: value_of is inlined, it was never called"
"$AUXTAP" report --branches 64 entry.data | sed -n '/^Last/,/^What/p' >branches
grep -qE '(call|jump) .*-> doubled ' branches || fail "entry: no call or jump goes to doubled: $(cat branches)"
grep -qE '^  (call|jump).*-> value_of' branches && fail "entry: a call goes to an inlined function"
finish
