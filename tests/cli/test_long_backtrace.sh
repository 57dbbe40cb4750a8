# SPDX-License-Identifier: BSD-2-Clause
# Backtraces of many frames: those of the program's own functions are printed rather than those of
# libraries, what is left out is counted; what is farther out than the stack shows the trace knows.
. "$(dirname "$0")/lib.sh"
command -v gcc >/dev/null || skip "gcc is not installed"

backtrace() { "$AUXTAP" report "$1" | sed -n '/^Backtrace/,/^The calls/p'; }
# the program's functions with those of the C library between them
cat >between.c <<'C'
#include <stdlib.h>
static int *volatile wrong;
static int numbers[64];
static int dies(const void *a, const void *b) { return *wrong + (a < b); }
static int third(const void *a, const void *b)
{
	qsort(numbers, 64, sizeof(int), dies);
	return a < b;
}
static int second(const void *a, const void *b)
{
	qsort(numbers, 64, sizeof(int), third);
	return a < b;
}
static int first(const void *a, const void *b)
{
	qsort(numbers, 64, sizeof(int), second);
	return a < b;
}
int main(void)
{
	qsort(numbers, 64, sizeof(int), first);
	return 0;
}
C
gcc -g -O0 -o between between.c || fail "between: not built"
"$AUXTAP" crash -o between.data -- ./between >stdout 2>stderr </dev/null
backtrace between.data >text
for name in dies third second first main; do
	grep -qE "^  #[0-9]+ +$name at " text || fail "$name is left out: $(cat text)"
done
frames=$("$AUXTAP" report --format json between.data | guard python3 -c 'import json, sys
print(len(json.load(sys.stdin)["backtrace"]["frames"]))')
shown=$(grep -cE '^  #' text)
hidden=$(sed -nE 's/^  \.\.\. ([0-9]+) more$/\1/p' text | awk '{ nr += $1 } END { print nr + 0 }')
[ "$frames" -gt 24 ] || fail "only $frames frames"
[ $((shown + hidden)) -eq "$frames" ] || fail "$shown frames and $hidden more, of $frames"
# each number follows the one before it, or what is left out
sed -nE 's/^  #([0-9]+) .*/\1/p; s/^  \.\.\. ([0-9]+) more$/+\1/p' text |
	awk '/\+/ { next_nr += substr($0, 2); next } { if ($0 != next_nr) exit 1; next_nr++ }' ||
	fail "numbers: $(cat text)"

# a recursion deeper than frames are found
gcc -g -O0 -o deep "$SRC/tests/cli/frames/deep.c" || fail "deep: not built"
for depth in 47 60 5000; do
	"$AUXTAP" crash -o deep.data -- ./deep $depth >stdout 2>stderr </dev/null
	backtrace deep.data | sed -n '/^  Known from the trace/,/^$/p' | sed '1d;$d' >outer
	grep -qE '^ +main at deep.c:[0-9]+$' outer || fail "$depth calls: no main: $(cat outer)"
	# so many calls of depth(), which main() made, without the 48 frames of the backtrace
	case $depth in
	47) ! grep -q depth outer ;;
	*) grep -qx " *depth at deep.c:15, depth $((depth + 1 - 48)) (recursive)" outer ;;
	esac || fail "$depth calls: $(cat outer)"
	# and the JSON has the same
	"$AUXTAP" report --format json deep.data >deep.json || fail "$depth calls: exit $?"
	guard python3 - $depth deep.json <<'END' || fail "$depth calls: see above"
import json, sys

depth = int(sys.argv[1]) + 1 - 48
known = json.load(open(sys.argv[2]))['backtrace']['from_trace']
rows = known['rows']
assert not known['perhaps_more'], known
assert [r['function'] for r in rows if r['function'] == 'depth'] == ['depth'] * (depth > 0), rows
assert depth < 2 or rows[0]['recursion_depth'] == depth and rows[0]['line'] == 15, rows[0]
assert 'main' in [r['function'] for r in rows] and rows[-1]['function'] == '_start', rows
END
done
grep -qx '      _start in deep' outer || fail "no _start: $(cat outer)"

# calls of one function from two lines: the row has that of walk(48), and says so
cat >places.c <<'C'
static volatile int nr;
static __attribute__((noipa)) int walk(int n)
{
	if (!n)
		return *(volatile int *)8;
	if (n % 3)
		nr += walk(n - 1);
	else
		nr += walk(n - 1) + 1;
	return nr;
}
int main(void)
{
	return walk(301);
}
C
gcc -g -O0 -o places places.c || fail "places: not built"
"$AUXTAP" crash -o places.data -- ./places >stdout 2>stderr </dev/null
backtrace places.data >text
grep -qx '      walk at places.c:9 and other places, depth 254 (recursive)' text ||
	fail "places: $(sed -n '/^  Known from the trace/,$p' text)"
"$AUXTAP" report --format json places.data >places.json || fail "places: exit $?"
python3 -c '
import json
rows = json.load(open("places.json"))["backtrace"]["from_trace"]["rows"]
assert [row.get("other_places") for row in rows[:2]] == [True, None], rows' || fail "places: JSON"

# recursions of several functions in no order: what is left out is counted in calls
cat >mixed.c <<'C'
static unsigned int state = 1;
static volatile int nr;
static int next(int n);
static __attribute__((noipa)) int first(int n) { nr += next(n - 1); return nr; }
static __attribute__((noipa)) int second(int n) { nr += next(n - 1); return nr; }
static int next(int n)
{
	if (!n)
		return *(volatile int *)8;
	state = state * 1103515245 + 12345;
	return state >> 30 ? first(n) : second(n);
}
int main(void)
{
	return next(3000);
}
C
gcc -g -O0 -o mixed mixed.c || fail "mixed: not built"
"$AUXTAP" crash -o mixed.data -- ./mixed >stdout 2>stderr </dev/null
backtrace mixed.data | sed -n '/^  Known from the trace/,/^$/p' | sed '1d;$d' >outer
# 6001 calls, main() and its three callers; 48 of them are frames
nr=$(sed -nE 's/.*, depth ([0-9]+) .*/\1/p; t; s/^ +[.]{3} ([0-9]+) more$/\1/p; t; s/.*/1/p' outer |
	awk '{ nr += $1 } END { print nr + 48 }')
[ "$nr" = 6005 ] || fail "mixed: $nr calls: $(cat outer)"
grep -q 'depth' outer && grep -qE '^ +[.]{3} [0-9]+ more$' outer || fail "mixed: $(cat outer)"

# parse() ends with a jump to eval(), which calls it: parse() has left the stack, not eval()
cat >jumps.c <<'C'
#include <stdio.h>
#include <stdlib.h>
static volatile int nr;
static long parse(long n, const long *p);
static __attribute__((noipa)) long eval(long n, const long *p)
{
	return n ? parse(n - 1, p) + n : *p;
}
static __attribute__((noipa)) long parse(long n, const long *p)
{
	nr++;
	return eval(n, p);
}
int main(int argc, char **argv)
{
	return argc > 1 && eval(atol(argv[1]), NULL) == 1;
}
C
gcc -g -O2 -o jumps jumps.c || fail "jumps: not built"
for depth in 300 5000; do
	"$AUXTAP" crash -o jumps.data -- ./jumps $depth >stdout 2>stderr </dev/null
	backtrace jumps.data | sed -n '/^  Known from the trace/,/^$/p' | sed '1d;$d' >outer
	# the 48 frames are calls of eval(), each made by a parse()
	sed -E 's/^ +//; s/ at jumps.c:[0-9]+//' outer >rows
	[ "$(sed -n 1,4p rows)" = "eval, depth $((depth - 48)) (recursive)
parse, depth $((depth - 48)) (recursive) (tail call)
eval
main" ] || fail "jumps $depth: $(cat outer)"
	"$AUXTAP" report --format json jumps.data >jumps.json || fail "jumps: exit $?"
	guard python3 - jumps.json <<'END' || fail "jumps $depth: see above"
import json, sys

backtrace = json.load(open(sys.argv[1]))['backtrace']
rows = backtrace['from_trace']['rows']
assert [r.get('tail_call') for r in rows[:4]] == [None, True, None, None], rows
assert len(backtrace['frames']) == 48
for frame in backtrace['frames']:
	tails = [f['function'] for t in frame['tail_frames'] for f in t['functions']]
	assert tails == ['parse'], frame
END
done
grep -q 'perhaps' outer && fail "the trace has all calls: $(cat outer)"

# more open calls than are kept, half of them left by a jump: each is counted
depth=400000
"$AUXTAP" crash -o jumps.data -- ./jumps $depth >stdout 2>stderr </dev/null
backtrace jumps.data >text
grep -q 'complete from the first instruction' stderr || fail "jumps: $(tail -n 12 stderr)"
grep -qE '^ +[.]{3} and [0-9]+ further ones, too many to be kept$' text || fail "$(cat text)"
grep -q 'perhaps' text && fail "the trace has all calls: $(cat text)"
"$AUXTAP" report --format json jumps.data >jumps.json || fail "jumps: exit $?"
guard python3 - $depth jumps.json <<'END' || fail "jumps, $depth calls: see above"
import json, sys

report = json.load(open(sys.argv[2]))
nr_open = 2 * int(sys.argv[1]) + 1 + 4 # main() and its three callers
known = report['backtrace']['from_trace']
nr = sum(row.get('recursion_depth', 1) for row in known['rows']) + 2 * 48
assert nr + known['calls_not_kept'] == nr_open, (nr, known)
assert known['calls_not_kept_are'] == 'exact' and not known['perhaps_more']
calls = report['calls']
nr = sum(row.get('recursion_depth', 1) for row in calls['rows'] if not row['returned'])
assert nr + calls['outer_calls'] == nr_open, (nr, calls['outer_calls'])
assert calls['outer_calls_are'] == 'exact'
END

# of a small ring only the newest calls are known: nothing is claimed of main()
"$AUXTAP" crash -m 8,1 -o ring.data -- ./deep 90000 >stdout 2>stderr </dev/null
backtrace ring.data | sed -n '/^  Known from the trace/,/^$/p' >outer
if grep -q main outer; then fail "main is not in the ring: $(cat outer)"; fi
[ ! -s outer ] ||
	grep -qx '      [.]* and perhaps further ones, from before what the trace contains' outer ||
	fail "a small ring: further calls are possible: $(cat outer)"
"$AUXTAP" report --format json ring.data | guard python3 -c 'import json, sys
known = json.load(sys.stdin)["backtrace"].get("from_trace")
assert (known is not None) == bool(open("outer").read()), known
assert not known or known["perhaps_more"] and not any(r["function"] == "main" for r in known["rows"])
' || fail "the JSON of a small ring: see above"

# An argument that only callers' frames have, farther out than those that are listed, is not known;
# gdb knows it. A signal handler has no caller: there it is nowhere, as in gdb.
cat >entry.c <<'C'
#include <signal.h>
static volatile int sink;
static int *volatile bad = (int *)8;
__attribute__((noinline)) static int look(int *b) { return sink + *b; }
__attribute__((noinline)) static int solve(int *b, int depth)
{
	int seen = look(b), deeper = depth > 100 ? *bad : solve(b, depth + 1);

	return deeper / (seen + 2);
}
static void handler(int signo)
{
	sink = look((int *)&sink);
	sink = *bad;
}
int main(int argc, char **argv)
{
	if (argc == 1)
		return solve(&argc, 1);
	signal(SIGUSR1, handler);
	return raise(SIGUSR1);
}
C
gcc -g -O2 -w -o entry entry.c || fail "entry: not built"
"$AUXTAP" crash -o entry.data -- ./entry >stdout 2>stderr </dev/null
arguments() { "$AUXTAP" report --format json entry.data | python3 -c '
import json, sys
for frame in json.load(sys.stdin)["backtrace"]["frames"]:
	for f in frame.get("functions", []):
		for a in f.get("arguments", []):
			print(f["function"], a["name"], a["value"])' >arguments; }
arguments
[ "$(grep -c '^solve b <not known>$' arguments)" = 47 ] &&
	! grep 'solve .*<optimized out>' arguments || fail "entry: $(cat arguments)"
"$AUXTAP" crash -o entry.data -- ./entry handler >stdout 2>stderr </dev/null
arguments
grep -qx 'handler signo <optimized out>' arguments || fail "handler: $(cat arguments)"
# a handler that calls where nothing is: the frames of the signal, as gdb has them natively
cat >stray.c <<'C'
#include <signal.h>
static void (*volatile nowhere)(int);
static void handler(int signo)
{
	nowhere(signo);
	signo++;
}
int main(void)
{
	signal(SIGUSR1, handler);
	return raise(SIGUSR1);
}
C
gcc -g -O0 -o stray stray.c || fail "stray: not built"
"$AUXTAP" crash -o stray.data -- ./stray >stdout 2>stderr </dev/null
"$AUXTAP" report stray.data | sed -n '/^Backtrace/,/^$/s/^  #[0-9]*  *//p' |
	sed 's/ at .*//' | head -n 3 >frames
printf '%s\n' 0x0 handler '<signal handler called>' | diff - frames >diff || fail "stray: $(cat diff)"
"$AUXTAP" report stray.data | grep -q '^  #[0-9]*  *main at .*stray.c:11$' || fail "stray: no main"
# the handler of the fault of such a call: it and its caller are known, in backtrace and tree
cat >handled.c <<'C'
#include <signal.h>
#include <stdlib.h>
static int (*volatile nowhere)(int);
static void on_fault(int signo)
{
	abort();
}
static int run(int i)
{
	return nowhere(i) + 1;
}
int main(int argc, char **argv)
{
	signal(SIGSEGV, on_fault);
	return run(argc);
}
C
gcc -g -O0 -w -o handled handled.c || fail "handled: not built"
"$AUXTAP" crash -o handled.data -- ./handled >stdout 2>stderr </dev/null
"$AUXTAP" report --calls 60 handled.data >handled.txt
"$AUXTAP" report --calls 60 --format json handled.data >handled.json
for line in '  Before, a SIGSEGV at 0x0 went to the program.s own handler.' \
	'  The frame of that handler says: it went to 0x0, where nothing is mapped' \
	'  #[0-9]* *<signal handler called>' '  #[0-9]* *0x0' '  #[0-9]* *run at .*handled.c:10' \
	'  #[0-9]* *main at .*handled.c:15' ' *0 *0x0 *[.][.][.]' \
	' *[1-9] *\[signal\] on_fault .*'; do
	grep -qx -- "$line" handled.txt || fail "handled: '$line' is missing: $(cat handled.txt)"
done
! python3 -c 'import jsonschema' 2>/dev/null ||
	python3 -B "$SRC/tests/tools/report_text_json.py" "$SRC/docs/report.schema.json" \
		./handled.json ||
	fail 'handled: text and JSON differ'
finish
