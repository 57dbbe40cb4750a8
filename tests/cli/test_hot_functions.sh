# SPDX-License-Identifier: BSD-2-Clause
# The hottest functions of a recording without a crash: instructions, own and with callees, and
# calls are those executed; with gaps they are those of the trace, and the report says so.
. "$(dirname "$0")/lib.sh"
command -v gcc >/dev/null || skip "gcc is not installed"
command -v objdump >/dev/null || skip "objdump is not installed"

decoded() { "$AUXTAP" decode --summary "$1" | sed -n 's/^instructions: //p'; }
gcc -g -O1 -static -no-pie -o hot "$SRC/tests/cli/frames/hot.c" || fail "hot: not built"
for depth in 100 30000 90000; do
	"$AUXTAP" record -m 64,16384 -o hot.data --truth truth -- ./hot $depth >stdout 2>stderr
	"$AUXTAP" report --format json hot.data >hot.json || fail "report: $?"
	guard python3 "$SRC/tests/cli/flow_counts.py" ./hot truth.* hot.json >counts 2>&1 ||
		fail "depth $depth: $(cat counts)"
	[ "$(wc -l <counts)" -eq 11 ] || fail "depth $depth: $(cat counts)"
	rm -f truth.*
done

# the text says the same, and has the tree
"$AUXTAP" report hot.data >text
grep -qE '^ +28819 +[0-9.]+% +28819 +[0-9.]+% +1988  t_fib  hot.c:[0-9]+$' text ||
	fail "no line of t_fib: $(cat text)"
grep -qE '^The calls of hot, thread [0-9]+$' text || fail "no tree"
grep -qE '^ +36014  +t_middle ' text || fail "t_middle is not in the tree: $(cat text)"
grep -qE '^ +instructions  of the call and its callees; its own only if it had ' text ||
	fail "the tree has no header"
grep -qx '  (calls not shown): calls that it made, and signal handlers, that have no lines' text ||
	fail "no legend"
grep -q 'gaps lost' text && fail "gaps: $(cat text)"
executed=$(sed -nE 's/^ +([0-9]+) instructions in all threads$/\1/p' text)
[ "$executed" = "$(decoded hot.data)" ] ||
	fail "$executed instructions"
"$AUXTAP" report --calls 10 hot.data | sed -n '/^The calls of/,/^$/p' >calls
[ "$(grep -cE '^ +[0-9]+  ' calls)" -eq 10 ] || fail "--calls 10: $(cat calls)"

# all threads together
"$AUXTAP" record -m 64,16384 -o threads.data -- "$FIXTURES/threads4" >stdout 2>stderr
"$AUXTAP" report threads.data >text
executed=$(sed -nE 's/^ +([0-9]+) instructions in all threads$/\1/p' text)
[ "$executed" = "$(decoded threads.data)" ] ||
	fail "threads4: $executed instructions"

# an area so small that trace is lost: what is left is counted
"$AUXTAP" record -m 8,1 -o small.data -- ./hot >stdout 2>stderr
"$AUXTAP" report small.data >text
grep -q '^  What the gaps lost is not counted\.' text || fail "the loss is not said: $(cat text)"
executed=$(sed -nE 's/^ +([0-9]+) instructions in all threads$/\1/p' text)
[ "${executed:-0}" -gt 1000 ] &&
	[ "$executed" = "$(decoded small.data)" ] ||
	fail "with gaps: $executed instructions"

# and by another counter
if command -v valgrind >/dev/null && command -v callgrind_annotate >/dev/null; then
	valgrind --tool=callgrind --callgrind-out-file=out ./hot 90000 >stdout 2>stderr ||
		fail "valgrind: $(cat stderr)"
	callgrind_annotate --inclusive=yes --threshold=100 out |
		sed -nE 's/^ *([0-9,]+) \([^)]*\)  [^ ]*hot\.c:(t_[a-z_]+) .*/\2 \1/p' |
		tr -d , >others
	for name in t_even t_fib t_leaf t_middle t_deep t_compare; do
		other=$(sed -n "s/^$name //p" others)
		ours=$(guard python3 -c 'import json, sys
print(*(r["instructions"] for r in json.load(open("hot.json"))["hot_functions"]["rows"]
	if r["function"] == sys.argv[1]))' $name)
		[ -n "$other" ] && [ "$ours" = "$other" ] || fail "$name: $ours, callgrind: $other"
	done
fi
finish
