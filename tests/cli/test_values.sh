# SPDX-License-Identifier: BSD-2-Clause
# Arguments and local variables in the backtrace of the crash report equal gdb's 'bt full' of a core
# file, built by gcc and clang, without and with optimisation; without, none is missing. A redacted
# recording shows none, and says so; a packed one shows the same.
. "$(dirname "$0")/lib.sh"
compare=$SRC/tests/cli/compare_values.py
for tool in gcc g++ clang clang++ gdb python3; do
	command -v $tool >/dev/null || skip "$tool is not installed"
done

gdb_values() { # PROGRAM
	rm -f core
	gdb -nx -batch -ex 'set debuginfod enabled off' -ex run -ex 'generate-core-file core' \
		"$1" >gdb.run 2>&1 </dev/null
	[ -e core ] || skip "gdb cannot run programs here: $(tail -n 2 gdb.run)"
	gdb -nx -batch -ex 'set debuginfod enabled off' -ex 'set style enabled off' \
		-ex 'set width 0' -ex 'set print frame-arguments all' -ex 'set print entry-values no' \
		-ex 'set print null-stop on' -ex 'set print static-members off' \
		-ex 'disable pretty-printer' -ex 'echo BEGIN\n' -ex 'bt full' "$1" core \
		>gdb.bt 2>gdb.err </dev/null
}

check() { # COMPILER FLAGS SOURCE AT-LEAST [all]
	local cc=$1 flags=$2 source=$3 least=$4 result
	"$cc" -g $flags -no-pie -w -o program "$SRC/tests/cli/frames/$source" ||
		{ fail "$source: $cc $flags: not built"; return; }
	rm -f data*
	guard "$AUXTAP" crash --backend emulated -o data -- ./program >stdout 2>stderr </dev/null
	[ -s data.report.txt ] || { fail "$source: no report: $(tail -n 3 stderr)"; return; }
	gdb_values ./program
	result=$(python3 "$compare" data.report.txt gdb.bt ${5:-}) ||
		{ fail "$source, $cc $flags: $result"; return; }
	[ "$result" -ge "$least" ] || fail "$source, $cc $flags: only $result values are compared"
	echo "$source, $cc $flags: $result values"
}

check gcc -O0 values.c 30 all
check clang -O0 values.c 30 all
check gcc -O2 values.c 8
check clang -O2 values.c 8
check gcc '-O2 -gdwarf-4' values.c 8
check gcc -O2 preserved.c 5
check clang -O2 preserved.c 9
check g++ -O0 classes.cpp 12 all
check clang++ -O0 classes.cpp 12 all
check g++ -O2 classes.cpp 3
check clang++ -O2 classes.cpp 3

gcc -g -O0 -w -o program "$SRC/tests/cli/frames/values.c"
guard "$AUXTAP" crash --backend emulated -o data -- ./program >stdout 2>stderr </dev/null
"$AUXTAP" report data >plain.txt
grep -q '^        args: .*text=0x[0-9a-f]* "inlined \\"text\\"\\n"' plain.txt ||
	fail "no string: $(sed -n '/^Backtrace/,/^$/p' plain.txt)"
"$AUXTAP" pack --with-memory -o packed data 2>err || fail "pack: $(cat err)"
mv program elsewhere
"$AUXTAP" report packed >packed.txt
cmp -s <(sed -n '/^Backtrace/,/^$/p' plain.txt) <(sed -n '/^Backtrace/,/^$/p' packed.txt) ||
	fail "packed: $(diff plain.txt packed.txt | head -n 6)"
"$AUXTAP" pack --redact -o packed data 2>err || fail "pack --redact: $(cat err)"
"$AUXTAP" report packed >redacted.txt
mv elsewhere program
guard "$AUXTAP" crash --redact --backend emulated -o data -- ./program >stdout 2>stderr </dev/null
for report in redacted.txt data.report.txt; do
	grep -qE '^        (args|locals)' $report && fail "$report has values: $(cat $report)"
	grep -q '^  Arguments and local variables are left out: .* redacted' $report ||
		fail "$report does not say that values are left out"
done
# A function that dies before it has stored its arguments: their places hold other values.
cat >early.c <<'C'
static int deeper(int depth, const char *text)
{
	volatile char frame[4096];
	frame[0] = text[0];
	return deeper(depth + 1, text) + frame[0];
}
int main(void) { return deeper(1, "early"); }
C
gcc -g -O0 -o early early.c || fail "early.c: not built"
guard "$AUXTAP" crash --backend emulated -o data -- ./early >stdout 2>stderr </dev/null
grep -A 1 '^  #0 ' data.report.txt |
	grep -qx '        args: depth=<maybe not stored yet>, text=<maybe not stored yet>' ||
	fail "early: $(grep -A 3 '^  #0' data.report.txt)"

# At a "ret" that faults, what is found by the stack pointer has moved (gdb shows other bytes),
# unless the function never moved that.
cat >left.c <<'C'
#include <stdlib.h>
static __attribute__((noinline)) int leaf(const char *from)
{
	volatile char name[8];
	int nr = 0;
	for (; from[nr]; nr++)
		name[nr] = from[nr];
	return name[3] + nr;
}
__attribute__((noinline)) void keep(volatile char *at, long number)
{
	at[number & 1] = 't';
}
static __attribute__((noinline)) long frame(const char *from, long a, long b)
{
	volatile char name[8];
	int nr = 0;
	keep(name, a);
	asm volatile("" : : : "rbx", "rbp", "r12", "r13", "r14", "r15");
	for (; from[nr]; nr++)
		name[nr] = from[nr];
	return name[3] + nr + a + b;
}
int main(int argc, char **argv)
{
	const char *text = "this is far too long for an array of eight bytes, and for all that is on "
			   "the stack after it: registers that were saved, and values of variables";
	return argc > 1 ? leaf(text) : (int)frame(text, argc, argc + 1);
}
C
clang -g -O2 -fno-stack-protector -o left left.c || fail "left.c: not built"
guard "$AUXTAP" crash --backend emulated -o data -- ./left >stdout 2>stderr </dev/null
sed -n '/^  #0  frame /,/^  #1/p' data.report.txt >values
grep -q ' ret' data.report.txt && grep -qE 'locals: .*name=<its frame is gone>' values &&
	! grep -q '=[0-9]*[0-9]\{9\}' values || fail "left: $(cat values)"
guard "$AUXTAP" crash --backend emulated -o data -- ./left leaf >stdout 2>stderr </dev/null
grep -q ' ret' data.report.txt &&
	grep -A 3 '^  #0  leaf ' data.report.txt | grep -qE 'locals: .*name="this is "' ||
	fail "leaf: $(grep -A 3 '^  #0' data.report.txt)"

# A run of equal elements that is not followed to its end is not said to end there.
cat >run.c <<'C'
struct counts {
	int nr, hist[300];
};
int main(void)
{
	struct counts counts = {.nr = 7, .hist = {[97] = 10}};
	*(volatile int *)8 = counts.hist[97];
	return 0;
}
C
gcc -g -O0 -o run run.c || fail "run.c: not built"
guard "$AUXTAP" crash --backend emulated -o data -- ./run >stdout 2>stderr </dev/null
grep -qF 'counts={nr = 7, hist = {0 <repeats at least 64 times>, ...}' data.report.txt ||
	fail "run: $(grep -A 3 '^  #0' data.report.txt)"

# Snapshots have no vector registers, also not those of the function that died.
cat >vector.c <<'C'
int main(int argc, char **argv)
{
	double sum = argc;
	for (int i = 0; i < 100; i++) {
		sum += argv[0][i & 1];
		if (i == 50)
			*(volatile int *)8 = 1;
	}
	return (int)sum;
}
C
gcc -g -O2 -fno-tree-vectorize -o vector vector.c || fail "vector.c: not built"
guard "$AUXTAP" crash --backend emulated -o data -- ./vector >stdout 2>stderr </dev/null
grep -A 3 '^  #0  main ' data.report.txt | grep -qE 'locals: .*sum=<not in the snapshot>' ||
	fail "vector: $(grep -A 3 '^  #0' data.report.txt)"

# What a call leaves in rax is not a value from before it (clang -O2); registers that were saved in
# a frame that was overwritten have no values (gcc -O2: user@entry was computed from one).
for cc in 'gcc -O0' 'gcc -O2' 'clang -O0' 'clang -O2'; do
	$cc -g -fstack-protector-all -no-pie -w -o smashed "$SRC/tests/cli/frames/smashed.c" ||
		{ fail "smashed.c: $cc: not built"; continue; }
	guard "$AUXTAP" crash --backend emulated -o data -- ./smashed >stdout 2>stderr </dev/null
	sed -n '/^Backtrace/,/^$/p' data.report.txt >frames
	sed -n '/ format /,/ list /p' frames | grep -oE '(result|user@entry)=[^ ,]*' >values
	grep -vqxE 'result=(46|<not)' values && fail "smashed, $cc: $(cat values frames)"
	[ "$cc" != 'clang -O2' ] || grep -qx 'result=<not' values ||
		fail "smashed, $cc: result is in no register: $(cat frames)"
	sed -n '/ format /,/ list /p' frames |
		grep -q '^  The stack protector says that the frame before was overwritten' ||
		fail "smashed, $cc: no note: $(cat frames)"
	sed '1,/ list /d' frames | grep -qE '^ {8}(args|locals)' &&
		fail "smashed, $cc: values of callers: $(cat frames)"
done

# The frame pointer that was saved there leads to where nothing is saved: that is not the reason.
cat >pointer.c <<'C'
#include <stdio.h>
#include <string.h>
static void __attribute__((noinline)) card(const char *name)
{
	char text[16];
	strcpy(text, name);
	puts(text);
}
static void __attribute__((noinline)) book(const char *name)
{
	card(name);
	puts("booked");
}
int main(void)
{
	book("33 bytes, up to the frame pointer"); /* and its 2 low bytes */
	return 0;
}
C
gcc -g -w -fstack-protector-all -o pointer pointer.c || fail "pointer.c: not built"
guard "$AUXTAP" crash --backend emulated -o data -- ./pointer >stdout 2>stderr </dev/null
sed -n '/^Backtrace/,/^$/p' data.report.txt >frames
grep -A 2 ' book at ' frames >after
sed -n 2p after | grep -q '^  What says where the next frame is was overwritten, too' ||
	fail "pointer: $(cat frames)"
grep -q '^ *main at pointer.c:16' frames || fail "pointer: the trace has main: $(cat frames)"
"$AUXTAP" report --format json data >json
python3 -c 'import json; assert json.load(open("json"))["backtrace"]["end"] == "overwritten"' ||
	fail "pointer: JSON: $(cat json)"

# a value that is too long is not cut within a number
cat >long.c <<'C'
#include <stdlib.h>
struct numbers { unsigned long number_one, number_two, number_three, number_four, number_five,
	number_six, number_seven; };
static long __attribute__((noinline)) use(struct numbers all, int skip)
{
	return all.number_one + *(volatile int *)(long)skip;
}
int main(int argc, char **argv)
{
	struct numbers all;

	for (int i = 0; i < 7; i++)
		((unsigned long *)&all)[i] = ~0ul;
	all.number_one = strtoul(argv[1], 0, 10);
	return (int)use(all, 0);
}
C
gcc -g -O0 -w -o long long.c || fail "long.c: not built"
for first in 1 11 111 1111 11111 111111 1111111 11111111 111111111 1111111111; do
	guard "$AUXTAP" crash --backend emulated -o data -- ./long $first >stdout 2>&1 </dev/null
	grep -m 1 -E 'all=[{]' data.report.txt >long.txt
	grep -q "number_one = $first, .*[.][.][.],$" long.txt &&
		! grep -qE '[0-9][.]{3}' long.txt || fail "long $first: $(cat long.txt)"
done
finish
