# SPDX-License-Identifier: BSD-2-Clause
# Functions that left by a tail call are in the backtrace, where the trace has their jumps: the same
# functions and lines as gdb finds by call sites, and those that it cannot find (indirect jumps).
# The headline names such a function of the program before a library's.
. "$(dirname "$0")/lib.sh"
for tool in gcc clang gdb python3; do
	command -v $tool >/dev/null || skip "$tool is not installed"
done

cat >chain.c <<'C'
#include <stdlib.h>
#include <string.h>
#define KEEP __attribute__((noinline))
static int *volatile nowhere;
static volatile int calls;
KEEP static int inner(int x)
{
	calls++;
	*nowhere = x;
	return x + calls;
}
KEEP static int middle(int x)
{
	calls += 2;
	return inner(x * 3);
}
KEEP static int outer(int x)
{
	calls += 3;
	return middle(x + 1);
}
static int (*volatile entry)(int) = middle;
KEEP static int indirect(int x)
{
	calls += 4;
	return entry(x + 2);
}
struct item { const char *name; };
KEEP int by_name(const void *a, const void *b)
{
	calls += 5;
	return strcmp(((const struct item *)a)->name, ((const struct item *)b)->name);
}
int main(int argc, char **argv)
{
	struct item items[2] = {{argv[0]}, {(const char *)8}};
	int sum = 0;
	if (argc == 1)
		sum += outer(argc);
	else if (argc == 2)
		sum += indirect(argc);
	else
		qsort(items, 2, sizeof(items[0]), by_name);
	return sum + calls;
}
C

# functions of the backtrace, one a line: NAME LINE
report_functions() {
	sed -n '/^Backtrace/,/^$/p' data.report.txt |
		sed -nE 's/^  (#[0-9]+ +|    )([^ ]+)( \(tail call\))? at .*chain\.c:([0-9]+)$/\2 \4/p'
}
die() { # ARGUMENT...
	guard "$AUXTAP" crash --backend emulated -o data -- ./chain "$@" >out 2>err </dev/null
	[ -s data.report.txt ] || fail "no report: $(tail -n 3 err)"
}

for cc in gcc clang; do
	$cc -g -O2 -no-pie -o chain chain.c || fail "$cc: not built"
	die
	rm -f core
	gdb -nx -batch -ex 'set debuginfod enabled off' -ex run -ex 'generate-core-file core' \
		./chain >gdb.run 2>&1 </dev/null
	[ -e core ] || skip "gdb cannot run programs here: $(tail -n 2 gdb.run)"
	gdb -nx -batch -ex 'set debuginfod enabled off' -ex 'set width 0' \
		-ex 'set print frame-arguments none' -ex bt ./chain core 2>/dev/null </dev/null |
		sed -nE 's/^#[0-9]+ +(0x[0-9a-f]+ in )?([^ ]+) \(.*chain\.c:([0-9]+)$/\2 \3/p' |
		sed 1d >want # what it prints when it opens the core
	report_functions >got
	[ "$(cut -d ' ' -f 1 got | tr '\n' ' ')" = "inner middle outer main " ] ||
		fail "$cc: direct: $(cat got)"
	# what gdb 13 does not find of clang's program the trace has all the same
	[ "$cc" = clang ] && grep -Fxf want got >both || cp got both
	[ -s want ] && cmp -s both want || fail "$cc: the report: $(cat got); gdb: $(cat want)"

	die 1
	report_functions >got
	[ "$(cut -d ' ' -f 1 got | tr '\n' ' ')" = "inner middle indirect main " ] ||
		fail "$cc: indirect: $(cat got)"
	[ "$(grep -c '(tail call)' data.report.txt)" = 2 ] ||
		fail "$cc: $(sed -n '/^Backtrace/,/^$/p' data.report.txt)"

	die 1 2
	head -n 3 data.report.txt | grep -qE '(called|reached) from by_name at chain\.c:[0-9]+$' ||
		fail "$cc: the headline: $(head -n 3 data.report.txt)"
	report_functions | grep -q '^by_name ' || fail "$cc: no comparator"
done

# A recursion by direct calls has no packets: the tail call that began it is not of its innermost
# frame.
cat >endless.c <<'C'
__attribute__((noinline)) static int endless(int x)
{
	volatile char large[2000];
	large[0] = (char)x;
	return endless(x + 1) + large[0];
}
__attribute__((noinline)) static int outer(int x) { return endless(x * 3); }
int main(int argc, char **argv) { return outer(argc) + 1; }
C
gcc -g -O1 -foptimize-sibling-calls -w -o endless endless.c || fail "endless: not built"
rm -f data*
"$AUXTAP" crash -o data -- ./endless >out 2>err </dev/null
grep -q '^  #1  endless at ' data.report.txt || fail "endless: $(head -n 20 data.report.txt)"
grep '(tail call)' data.report.txt && fail "endless: no frame that is shown was entered by a jump"
finish
