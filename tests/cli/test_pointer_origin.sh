# SPDX-License-Identifier: BSD-2-Clause
# Where a bad pointer came from: the line that read it, and the block that it was in, whose address
# the program prints; the line that set it; or the function that returned it. And which block was in
# that memory before.
. "$(dirname "$0")/lib.sh"
needs_qemu_10
command -v gcc >/dev/null && command -v g++ >/dev/null || skip "no C and C++ compiler"
cat >origin.c <<'C'
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#define NOINLINE __attribute__((noinline, noclone))
struct node {
	struct node *next;
	long value;
	long (*call)(struct node *node);
};
static struct node *volatile shared;
static struct node *made;
static NOINLINE struct node *new_node(struct node *next)
{
	made = calloc(1, sizeof(*made));
	made->next = next;
	return made;
}
static NOINLINE void drop(struct node *node)
{
	free(node);
}
static NOINLINE struct node *find(struct node *node, long value)
{
	while (node && node->value != value)
		node = node->next;
	return node;
}
static NOINLINE long value_of(struct node *node)
{
	return node->value;
}
static NOINLINE long returned(struct node *node)
{
	return find(node, 5)->value;
}
/* A compiler that knows it keeps a value in rax over its call. */
static NOINLINE void note(struct node *node)
{
	node->call = NULL;
}
static NOINLINE long over_a_call(struct node *node)
{
	struct node *found = find(node, 5);

	note(node);
	return found->value;
}
static NOINLINE long stored(struct node *node)
{
	node->next = find(node, 5);
	return node->next->value;
}
static NOINLINE long next_of_freed(struct node *node)
{
	struct node *next = node->next; /* destroyed */

	free(node);
	return next->value;
}
/* Without the PLT, where the first call searches for the function. */
static char *(*volatile find_char)(const char *, int) = strchr;
static NOINLINE long library(struct node *node)
{
	struct node *next = node->next; /* library */

	find_char("a text", 't');
	return next->value;
}
static NOINLINE long member(struct node *node)
{
	return node->next->value; /* member */
}
static NOINLINE long passed(struct node *node)
{
	return value_of(node->next) + 1; /* passed */
}
static NOINLINE long called(struct node *node)
{
	return node->call(node) + 1; /* called */
}
static NOINLINE long walked(struct node *node)
{
	long sum = 0;

	for (int i = 0; i < 5; i++) {
		sum += node->value;
		node = node->next; /* walked */
	}
	return sum;
}
static NOINLINE long constant(void)
{
	return value_of(NULL) + 1; /* constant */
}
static NOINLINE void lower(volatile char *text)
{
	text[0] |= 0x20;
}
static NOINLINE void literal(void)
{
	static char text[] = "Text";

	lower(text);
	lower("Literal"); /* literal */
}
static NOINLINE long computed(struct node *node)
{
	struct node *other = (struct node *)((uintptr_t)node * 3 ^ 0xffff000000000000);

	return other->value;
}
static NOINLINE long kept(struct node *node)
{
	struct node *volatile found = find(node, 5);

	getppid();
	return found->value;
}
static NOINLINE long global(void)
{
	return shared->value; /* global */
}
static struct node *volatile table[4];
static NOINLINE long listed(int at)
{
	return value_of(table[at]) + 1; /* listed */
}
/* Not of a pointer: in a program at fixed addresses that is a constant, and this is added to it. */
static const char constants[] = "constant";
static NOINLINE void index_of_constant(void)
{
	for (long i = 0; i < 3; i++)
		((volatile char *)(uintptr_t)constants)[i] = 'x';
}
static volatile long nr;
static NOINLINE void part_of_constant(void)
{
	lower((char *)(uintptr_t)constants + nr);
}
static NOINLINE long held(void)
{
	static struct node *volatile last;

	return value_of(last) + 1; /* held */
}
int main(int argc, char **argv)
{
	struct node *last = new_node(NULL), *node = new_node(last);
	const char *what = argv[1];
	char *volatile text;

	if (!strcmp(what, "freed") || !strcmp(what, "reused")) {
		node->next = (struct node *)0x123450;
		drop(node);
		text = what[0] == 'r' ? malloc(sizeof(*node)) : NULL;
		if (text)
			memset(text, 'r', sizeof(*node)); /* used again */
		else
			memset(node, 'f', sizeof(*node));
		node = made;
		printf("%p\n", (void *)node);
		fflush(stdout);
		return (int)member(node);
	}
	printf("%p\n", (void *)(what[0] == 'm' || what[0] == 'p' ? last : node));
	fflush(stdout);
	if (!strcmp(what, "returned"))
		return (int)returned(node);
	if (!strcmp(what, "over"))
		return (int)over_a_call(node);
	if (!strcmp(what, "stored"))
		return (int)stored(node);
	if (!strcmp(what, "member"))
		return (int)member(last);
	if (!strcmp(what, "passed"))
		return (int)passed(last);
	if (!strcmp(what, "walked"))
		return (int)walked(node);
	if (!strcmp(what, "constant"))
		return (int)constant();
	if (!strcmp(what, "literal"))
		literal();
	if (!strcmp(what, "index"))
		index_of_constant();
	if (!strcmp(what, "part"))
		part_of_constant();
	if (!strcmp(what, "destroyed") || !strcmp(what, "library")) {
		node->next = (struct node *)0x123450;
		if (what[0] == 'l')
			return (int)library(node);
		return (int)next_of_freed(node);
	}
	if (!strcmp(what, "listed"))
		return (int)listed(argc);
	if (!strcmp(what, "held"))
		return (int)held();
	if (!strcmp(what, "wild"))
		node->call = (long (*)(struct node *))0x123450;
	if (!strcmp(what, "called") || !strcmp(what, "wild"))
		return (int)called(node);
	if (!strcmp(what, "computed"))
		return (int)computed(node);
	if (!strcmp(what, "kept"))
		return (int)kept(node);
	return (int)global();
}
C
cat >origin.cpp <<'C'
#include <cstdio>
#include <vector>
struct item { long first, value; };
long __attribute__((noinline)) sum(const std::vector<item *> &items, int at)
{
	return items[at]->value;
}
int main()
{
	std::vector<item *> items(4, nullptr);

	std::printf("%p\n", (void *)items.data());
	std::fflush(stdout);
	return (int)sum(items, 2);
}
C
# line PROGRAM WHAT: the line of its report that says where the pointer came from
line() {
	rm -f data*
	guard "$AUXTAP" crash --source qemu -o data -- "./$1" "$2" >out 2>err </dev/null
	address=$(head -n 1 out)
	sed -n '1,/^$/s/^  The \(.*was \(read\|returned\|set\) \(by\|in\) .*\)/\1/p' \
		data.report.txt >line
}
# says PROGRAM WHAT TEXT: with the address that the program prints for X, and for @NAME the function
# and line with that comment
says() {
	local text name place
	line "$1" "$2"
	text=${3//X/$address}
	name=$(sed -n 's/.*@\([a-z]*\).*/\1/p' <<<"$text")
	place=$(grep -n "/[*] $name [*]/" origin.c | cut -d : -f 1)
	printf '%s\n' "${text/@$name/$name at origin.c:$place}" >due
	cmp -s due line || fail "$1 $2: '$(cat line)', not '$(cat due)': $(cat data.report.txt)"
}
# A variable that was never set may be in the register of what a function left there: that returned
# nothing, or no address.
cat >unset.c <<'C'
struct node { struct node *next; long key, value; };
static struct node list[3] = {{&list[1], 1, 2}, {&list[2], 3, 4}, {0, 5, 6}};
static volatile int sink, no = 77;
#ifdef SHORT
__attribute__((noinline)) static int prepare(int k)
#else
__attribute__((noinline)) static void prepare(int k)
#endif
{
	volatile long a[4] = {k, 2, 3, 4};
	__asm__ volatile("movq $0x12, %%rax" ::: "rax");
	a[0] += a[1];
#ifdef SHORT
	return 18;
#endif
}
__attribute__((noinline)) static long locate(struct node *n, long key)
{
	register struct node *hit __asm__("rax");
	__asm__("" : "=r"(hit));
	return hit->value;
}
int main(int argc, char **argv)
{
	prepare(argc);
	return (int)locate(list, no);
}
C
for flags in '' -DSHORT; do
	gcc -g -O2 -w $flags -fno-stack-protector -o unset unset.c || fail "unset: not built"
	line unset ''
	! grep returned line || fail "unset $flags: $(cat line)"
	grep -q '(8 bytes); nothing is mapped there' data.report.txt ||
		fail "unset $flags: $(head -n 3 data.report.txt)"
done
reused=$(grep -n 'what\[0\] ==' origin.c | head -n 1 | cut -d : -f 1)
for cc in 'gcc -O0' 'gcc -O2' 'clang -O0' 'clang -O2'; do
	command -v "${cc%% *}" >/dev/null || continue
	$cc -g -w -o origin origin.c || { fail "$cc: not built"; continue; }
	line origin returned
	grep -q '^null pointer was returned by find at origin\.c:2[0-9]$' line ||
		fail "$cc returned: $(cat line)"
	says origin member 'null pointer was read by @member, from byte 0 of the block of 24 bytes at X'
	says origin passed 'null pointer was read by @passed, from byte 0 of the block of 24 bytes at X'
	says origin walked 'null pointer was read by @walked'
	says origin constant 'null pointer was set by @constant'
	says origin literal 'pointer was set by @literal'
	says origin global 'null pointer was read by @global, from the variable shared'
	says origin listed 'null pointer was read by @listed, from byte 16 of the variable table'
	"$AUXTAP" pack -o packed --with-memory data 2>err || fail "$cc: not packed: $(cat err)"
	(mv origin origin.away && "$AUXTAP" report packed >packed.txt 2>err)
	mv origin.away origin
	grep -qF "$(cat due)" packed.txt || fail "$cc: packed: $(cat err packed.txt)"
	held=last
	[ "${cc%% *}" = gcc ] || held=held.last
	says origin held "null pointer was read by @held, from the variable $held"
	says origin called 'address was read by @called, from byte 16 of the block of 24 bytes at X'
	says origin wild 'address was read by @called, from byte 16 of the block of 24 bytes at X'
	"$AUXTAP" report --format json data >json
	grep -A 3 '"pointer_origin"' json | grep -q '"value": *"0x123450"' ||
		fail "$cc wild: $(grep -A 4 pointer_origin json)"
	says origin freed 'pointer was read by @member, from byte 0 of the freed block of 24 bytes at X'
	says origin reused 'pointer was read by @member, from byte 0 of the block of 24 bytes at X'
	sed -n '/^Memory involved/,/^$/p' data.report.txt | grep -v '^ *from ' >section
	# inlined, drop() has the line in main()
	grep -A 3 "^  block of 24 bytes at $address: " section >block
	sed -i 's/ of 24 bytes at .*/ X/; s/ main at/ drop at/; s/ (tail call)$//' block
	sed -i '4s/[0-9]*$//' block
	printf '%s\n' '  block X' "    allocated   drop at origin.c:$reused" '    before it: a block X' \
		'      freed       drop at origin.c:' | cmp -s - block ||
		fail "$cc reused: $(cat section)"
	for what in computed kept; do
		line origin $what
		[ ! -s line ] || fail "$cc $what: $(cat line)"
		grep -q ' died of SIGSEGV' data.report.txt || fail "$cc $what: no crash"
	done
	# the library may have freed the block since
	says origin library 'pointer was read by @library'
	line origin destroyed
	! grep -v '^pointer was read by [a-z_]* at origin\.c:[0-9]*$' line || fail "$cc destroyed: $(cat line)"
	grep -q ' died of SIGSEGV' data.report.txt || fail "$cc destroyed: no crash"
	line origin over
	! grep -v 'returned by find' line || fail "$cc over: $(cat line)"
	line origin stored
	due='^null pointer was (returned by find at|read by stored at origin\.c:[0-9]*, from byte 0 of)'
	grep -qE "$due" line ||
		fail "$cc stored: $(cat line)"
done
for cc in 'gcc -O0' 'gcc -O2' 'clang -O0' 'clang -O2'; do
	$cc -g -w -no-pie -fno-pie -o origin origin.c || { fail "$cc: not built"; continue; }
	for what in index part; do
		line origin $what
		! grep -v "^pointer was set by " line || fail "$cc -no-pie $what: $(cat line)"
		grep -q ' died of SIGSEGV' data.report.txt || fail "$cc -no-pie $what: no crash"
	done
	says origin listed 'null pointer was read by @listed, from byte 16 of the variable table'
done
g++ -g -O0 -o vector origin.cpp || fail "C++: not built"
function='sum(std::vector<item*, std::allocator<item*> > const&, int)'
from='from byte 16 of the block of 32 bytes at X'
says vector - "null pointer was read by $function at origin.cpp:6, $from"
cat >helper.cpp <<'C'
#include <variant>
struct circle { int radius; };
struct square { int side; };
static int radius(const std::variant<circle, square> &shape)
{
	const circle *found = std::get_if<circle>(&shape);

	return found->radius;
}
int main()
{
	return radius(square{4});
}
C
# not inlined, the library's template sets it
g++ -g -O0 -std=c++17 -o helper helper.cpp || fail "C++17: not built"
function='radius(std::variant<circle, square> const&)'
says helper - "null pointer was set in a call from $function at helper.cpp:6"
# a library's template reads it, inlined
cat >inlined.cpp <<'C'
#include <memory>
struct node {
	int value[4];
};
__attribute__((noipa)) int use(const std::unique_ptr<node> *from, int n)
{
	node *found = from->get();
	asm volatile("" : : : "memory");

	return found->value[2] + n;
}
int main(int argc, char **argv)
{
	return use(new std::unique_ptr<node>(), argc);
}
C
g++ -g -O2 -o inlined inlined.cpp || fail "inlined: not built"
line inlined -
due='null pointer was read in a call from use(*) at inlined.cpp:7, from byte 0 of the block of 8'
# shellcheck disable=SC2053
[[ $(cat line) == $due* ]] ||
	fail "inlined: $(cat line)"

# the C library reads it, in a function that is inlined there: the line is that of the read
cat >key.c <<'C'
#include <pthread.h>
int main(void)
{
	pthread_key_t key;
	pthread_key_create(&key, (void (*)(void *))0x1234);
	pthread_setspecific(key, &key);
	pthread_exit(NULL);
}
C
gcc -g -O0 -w -pthread -o key key.c || fail "key: not built"
guard "$AUXTAP" crash --source qemu -o data -- ./key >out 2>err </dev/null
"$AUXTAP" report --format json data >key.report
python3 - <<'END' || fail "key: $(sed -n '1,/^$/p' data.report.txt)"
import json, subprocess

at = json.load(open("key.report"))['crash']['pointer_origin']['location']
text = subprocess.run(['addr2line', '-e', at['image'], at['image_offset']], check=True,
                      stdout=subprocess.PIPE, text=True).stdout.split()[0]
assert at['function'].endswith('nptl_deallocate_tsd'), at
assert at['file'] is None or '?' in text or text.endswith('/%s:%d' % (
    at['file'].split('/')[-1], at['line'])), (at, text)
END
gcc -g -O0 -w -o origin origin.c || fail 'not built'
python3 -c 'import jsonschema' 2>/dev/null && {
	for what in returned member called reused walked constant literal global listed; do
		guard "$AUXTAP" crash --source qemu -o data -- ./origin $what >out 2>err </dev/null
		"$AUXTAP" report --calls 60 data >$what.txt
		"$AUXTAP" report --calls 60 --format json data >$what.json
	done
	python3 -B "$SRC/tests/tools/report_text_json.py" "$SRC/docs/report.schema.json" \
		./*.json || fail "JSON: see above"
}
# What was read is not what was used: a constant was added.
cat >moved.c <<'C'
struct node { struct node *next; long value, words[3]; };
struct cursor { struct node *at; };
__attribute__((noipa)) static long use(const struct node *node) { return node->value; }
__attribute__((noipa)) static long advance(struct cursor *cursor)
{
	struct node *next = cursor->at + 1;

	cursor->at = next;
	return use(next) + 1;
}
__attribute__((noipa)) static long same(struct cursor *cursor) { return use(cursor->at) + 1; }
/* the same constant is added and subtracted */
__attribute__((noipa)) static long member(const long *value)
{
	return use((const struct node *)((const char *)value - 8)) + 1;
}
__attribute__((noipa)) static long entry(struct cursor *cursor)
{
	return member(&cursor->at->value) + 1;
}
int main(int argc, char **argv)
{
	static struct cursor cursor;

	cursor.at = (struct node *)(argc > 2 ? 0x5000l : 0l);
	if (argc > 1 && argv[1][0] == 'e')
		return entry(&cursor);
	return argc > 1 && argv[1][0] == 's' ? same(&cursor) : advance(&cursor);
}
C
gcc -g -O1 -w -no-pie -o moved moved.c || fail "moved: not built"
from='from the variable cursor[.0-9]*'
grep_line() { # WHAT ARGUMENT... : of the report of "moved WHAT ARGUMENT..."
	rm -f data*
	guard "$AUXTAP" crash -o data -- ./moved "${@:2}" >/dev/null 2>err
	sed '/^$/q' data.report.txt |
		grep -qE "^  The $1 was read by $2 at moved.c:[0-9]*, $from" ||
		fail "moved $*: $(sed '/^$/q' data.report.txt)"
}
grep_line 'pointer, before a constant was added,' advance far
grep_line 'null pointer' advance
grep_line 'pointer' same far
grep_line 'pointer' entry far

# An instruction of an inlined function that has no line: not the line of the call.
cat >nowhere.c <<'C'
struct node { struct node *next; long value; };
static struct node list[2] = {{&list[1], 1}, {(struct node *)16, 2}};
static inline __attribute__((always_inline)) struct node *last(struct node *node, long n)
{
	while (n--) {
#line 0
		node = node->next;
#line 9
	}
	return node;
}
__attribute__((noinline)) long get(struct node *node, long n)
{
	node = last(node, n);
	return node->value;
}
int main(int argc, char **argv)
{
	return get(list, 2);
}
C
for cc in 'gcc -O1' 'clang -O1'; do
	command -v "${cc%% *}" >/dev/null || continue
	$cc -g -w -o nowhere nowhere.c || { fail "nowhere: not built by $cc"; continue; }
	line nowhere -
	grep -qE '^pointer was read by last \(inlined\)( at nowhere.c:[5-8]|,|$)' line ||
		fail "nowhere, $cc: $(cat line)"
done
finish
