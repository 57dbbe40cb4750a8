# SPDX-License-Identifier: BSD-2-Clause
# --values: what is called the index is one: not the step that a loop adds to a pointer, nor a
# variable beside the larger constant of an unrolled loop.
. "$(dirname "$0")/lib.sh"
needs_qemu_10
[ "$(uname -m)" = x86_64 ] || skip "its assembly is x86-64"
command -v gcc >/dev/null || skip "gcc is not installed"
cat >step.c <<'S'
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#define KEEP __asm__ volatile("" ::: "memory")
static volatile long variable;
__attribute__((noinline)) static void set(long value) { variable = value; KEEP; }
__attribute__((noinline)) static long get(void) { return variable; }
__attribute__((noinline)) static long access_memory(const char *how, char *p)
{
	long v = get(), sum = 0;

	if (!strcmp(how, "step"))
		__asm__ volatile("1: add (%1), %0; add %2, %1; jmp 1b"
				 : "+r"(sum), "+r"(p) : "r"(v));
	else if (!strcmp(how, "lea"))
		__asm__ volatile("1: add (%1), %0; lea (%1,%2), %1; jmp 1b"
				 : "+r"(sum), "+r"(p) : "r"(v));
	else if (!strcmp(how, "copy"))
		__asm__ volatile("1: mov %1, %%rdx; add (%%rdx), %0; add %2, %%rdx;"
				 "mov %%rdx, %1; jmp 1b" : "+r"(sum), "+r"(p) : "r"(v) : "rdx");
	else if (!strcmp(how, "operand"))
		__asm__ volatile("1: add (%1,%2), %0; add %2, %1; jmp 1b"
				 : "+r"(sum), "+r"(p) : "r"(v));
	else if (!strcmp(how, "exchanged"))
		__asm__ volatile("1: add (%2,%1), %0; add %2, %1; jmp 1b"
				 : "+r"(sum), "+r"(p) : "r"(v));
	else if (!strcmp(how, "constant"))
		__asm__ volatile("mov 0xff0(%1,%2), %0" : "=r"(sum) : "r"(p), "r"(v));
	else if (!strcmp(how, "index"))
		__asm__ volatile("mov (%1,%2), %0" : "=r"(sum) : "r"(p), "r"(v));
	else if (!strcmp(how, "field"))
		__asm__ volatile("mov 16(%1,%2), %0" : "=r"(sum) : "r"(p), "r"(v));
	else if (!strcmp(how, "sum"))
		__asm__ volatile("mov %1, %%rdx; add %2, %%rdx; mov (%%rdx), %0"
				 : "=r"(sum) : "r"(p), "r"(v) : "rdx");
	return sum;
}
int main(int argc, char **argv)
{
	char *p = mmap(0, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	mprotect(p + 4096, 4096, PROT_NONE);
	set(argc > 2 ? atol(argv[2]) : 0);
	return (int)access_memory(argv[1], p);
}
S
gcc -g -O2 -no-pie -w -o step step.c || { fail "not built"; finish; }
report_of() { # HOW VALUE: prints the report
	guard "$AUXTAP" crash --values -o $1.data -- ./step $1 $2 >/dev/null 2>$1.err
	cat $1.data.report.txt || fail "$1: no report: $(tail -n 2 $1.err)"
}
for how in step lea copy operand exchanged; do
	report_of $how 64 >$how.txt
	grep 'The index' $how.txt && fail "$how: a loop's step is said to be the index"
	grep -q "^step (pid.*access_memory" $how.txt || fail "$how: $(head -n 1 $how.txt)"
done
report_of constant 64 >constant.txt
grep 'The index' constant.txt && fail "constant: the small summand is said to be the index"
for how in index field sum; do
	report_of $how 4096 >$how.txt
	grep -A 3 'The index was read by get' $how.txt | grep -q 'written by set' ||
		fail "$how: $(grep -A 3 'The index' $how.txt) does not say who wrote the index"
done

# a pointer that was shifted is not the value before
cat >shifted.c <<'S'
#define KEEP __asm__ volatile("" ::: "memory")
static long *volatile at;
static volatile long number;
__attribute__((noipa)) static void set(long value) { number = value; KEEP; }
__attribute__((noipa)) static void make(void)
{
	long value = number;

	__asm__ volatile("shl $12, %0; add $8, %0" : "+r"(value));
	at = (long *)value;
}
int main(int argc, char **argv)
{
	if (argc > 1) { /* 0 is that after the shift, too */
		set(0);
		return 100 / (number << 3);
	}
	set(2);
	make();
	return *at;
}
S
gcc -g -O2 -w -o shifted shifted.c || fail "shifted: not built"
guard "$AUXTAP" crash --values -o shifted.data -- ./shifted >/dev/null 2>shifted.err
sed '/^$/q' shifted.data.report.txt >shifted.txt
grep -q 'written by make at' shifted.txt && grep -q 'computed by make at' shifted.txt &&
	! grep -qE '(set|written) by (set|main)' shifted.txt || fail "shifted: $(cat shifted.txt)"
guard "$AUXTAP" crash --values -o shifted.data -- ./shifted divide >/dev/null 2>shifted.err
grep -q '^  The divisor was \(written by set\|read by main\) at' shifted.data.report.txt &&
	grep -q ' written by set at' shifted.data.report.txt ||
	fail "shifted divide: $(sed '/^$/q' shifted.data.report.txt)"

# bytes that one line writes in any order are written by it; two lines write a part each
cat >bytes.c <<'S'
#include <string.h>
static struct { volatile char text[16]; long *volatile at; } all;
__attribute__((noipa)) static void up(long n)
{
	for (long i = 0; i < n; i++)
		all.text[i] = 0x41;
}
__attribute__((noipa)) static void down(long n)
{
	while (n--)
		all.text[n] = 0x41;
}
__attribute__((noipa)) static void halves(void)
{
	((volatile int *)&all.at)[0] = 0x41414141;
	((volatile int *)&all.at)[1] = 0x41414141;
}
int main(int argc, char **argv)
{
	if (!strcmp(argv[1], "up"))
		up(24);
	else if (!strcmp(argv[1], "down"))
		down(24);
	else
		halves();
	return (int)*all.at;
}
S
for level in -O0 -O1; do
	gcc -g $level -w -o bytes bytes.c || fail "bytes: not built"
	for how in up:written down:written halves:'partly written'; do
		name=${how%%:*}
		guard "$AUXTAP" crash --values -o bytes.data -- ./bytes $name >/dev/null 2>bytes.err
		grep -q "^  Before, it was ${how#*:} by $name at" bytes.data.report.txt ||
			fail "bytes $level $name: $(sed '/^$/q' bytes.data.report.txt)"
	done
done

# a null pointer and an index: who wrote the pointer; not if both may be the index
cat >null.c <<'S'
#include <string.h>
#define APART __attribute__((noipa, noinline)) static
struct text { char *at; long first; int last; };
static struct text all;
APART void clear(struct text *text) { text->at = 0; }
APART void begin(struct text *text) { text->first = 0; }
APART int by_int(struct text *text) { return text->at[text->last]; }
APART int by_both(struct text *text) { return text->at[text->first]; }
__attribute__((used)) static char table[100];
APART int by_table(struct text *text)
{
	long found = 0;

	__asm__ volatile("movb table(%1,%2), %b0"
			 : "+q"(found) : "r"(text->first), "r"((long)text->last));
	return found;
}
APART int by_product(struct text *text)
{
	long found = 0, row = text->first;

	__asm__ volatile("imul $3, %0" : "+r"(row));
	__asm__ volatile("movb (%1,%2), %b0"
			 : "+q"(found) : "r"(row), "r"((long)text->last));
	return found;
}
int main(int argc, char **argv)
{
	all.at = argv[0];
	all.last = 7;
	clear(&all);
	if (!strcmp(argv[1], "int"))
		return by_int(&all);
	begin(&all);
	all.last = 0x7ffffff0;
	if (!strcmp(argv[1], "table"))
		return by_table(&all);
	if (!strcmp(argv[1], "product")) {
		all.last = 7;
		return by_product(&all);
	}
	all.at = (char *)9;
	return by_both(&all);
}
S
for cc in 'gcc -O0' 'gcc -O2' 'clang -O0' 'clang -O2'; do
	command -v "${cc%% *}" >/dev/null || continue
	$cc -g -w -no-pie -fno-pie -o null null.c || { fail "null: not built by $cc"; continue; }
	for how in int both table product; do
		# there the product is a variable in memory, like a pointer
		[ $how != product ] || [ "${cc#*-O0}" = "$cc" ] || continue
		guard "$AUXTAP" crash --values -o null.data -- ./null $how >/dev/null 2>null.err
		sed '/^$/q' null.data.report.txt >null.txt
		case $how in
		int)
			due='^  The null pointer(, before a variable was added,)? was written by clear at'
			grep -qE "$due" null.txt || grep -q 'the address is a constant' null.txt
			;;
		*) grep -q SIGSEGV null.txt && ! grep 'null pointer' null.txt ;;
		esac || fail "null, $cc $how: $(cat null.txt)"
	done
done
finish
