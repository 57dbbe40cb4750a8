# SPDX-License-Identifier: BSD-2-Clause
# Blocks of the heap that were written past their end: the report says which, and who allocated it.
# It says so of no program that has not done that, whatever its threads are doing as it dies, and
# of no other malloc than glibc's.
. "$(dirname "$0")/lib.sh"
needs_qemu_10
command -v gcc >/dev/null || skip "no C compiler"
cat >over.c <<'C'
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
struct node {
	struct node *next;
	long value;
	char tag[24];
};
static char *volatile name;
static struct node *volatile head;
static void *volatile sink;
__attribute__((noinline)) static char *new_name(size_t size)
{
	char *made = malloc(size); /* name */
	sink = made;
	return made;
}
__attribute__((noinline)) static struct node *new_node(void)
{
	struct node *made = calloc(1, sizeof(*made)); /* node */
	sink = made;
	return made;
}
__attribute__((noinline)) static void die(void)
{
	*(volatile int *)8 = 1;
}
/* Not by functions of the C library, which check. */
static void fill(char *at, const char *text)
{
	while ((*at++ = *text++))
		__asm__ volatile("");
}
int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";

	name = new_name(24); /* from main */
	head = new_node();
	head->next = new_node();
	puts("the C library has a block, too");
	if (!strcmp(what, "text")) {
		fill(name, "a name that is much longer than it may be");
		return (int)head->next->value;
	}
	if (!strcmp(what, "zero"))
		fill(name, "just as long as the room");
	if (!strcmp(what, "ints"))
		for (int i = 0; i < 8; i++)
			((volatile int *)name)[i] = i;
	if (!strcmp(what, "before")) /* of the next block */
		for (int i = 1; i < 8; i++)
			((volatile char *)head)[-i] = 'x';
	if (!strcmp(what, "free")) {
		fill(name, "a name that is much longer than it may be");
		free(head);
	}
	if (!strcmp(what, "fits")) {
		fill(name, "as long as it may be...");
		for (int i = 0; i < 24; i++)
			((volatile char *)head->tag)[i] = 'x';
	}
	die();
	return 0;
}
C
line_of() { grep -n "/\* $1 \*/" over.c | cut -d : -f 1; }
# damage PROGRAM ARGUMENT...: its report's lines of damage, with addresses and values as X
options=()
damage() {
	rm -f data*
	guard "$AUXTAP" crash --source qemu "${options[@]}" -o data -- "$@" >out 2>err </dev/null
	"$AUXTAP" report data >text || fail "$*: $(cat err)"
	damage=$(sed -n '2,/^$/s/^  The heap is damaged/&/p
		/^Heap corruption/,/^$/{/^Heap corruption/d; /^$/d; s/0x[0-9a-f]*/X/g; p}' text)
}
after='what malloc keeps right after it was overwritten with X'
# is TEXT PROGRAM WHAT: of the block of new_name(), and after it lies a node
is() {
	local head='  The heap is damaged right after a block of 24 bytes, allocated by'
	local wanted="$head new_name at over.c:$(line_of name)
  block of 24 bytes at X: $1
    allocated   new_name at over.c:$(line_of name)
      from      main at over.c:$(line_of 'from main')
  block of 40 bytes at X, the next in memory
    allocated   new_node at over.c:$(line_of node)
      from      main at over.c:$(($(line_of 'from main') + 1))"
	[[ "${options[*]}" == *"--memory none"* ]] && wanted=$(sed '/^      from/d' <<<"$wanted")
	[ "$3" = free ] && wanted=$(head -n -3 <<<"$wanted") # that node is being freed
	damage "${@:2}"
	[ "$damage" = "$wanted" ] || fail "${*:2}: $damage"
}
for build in 'gcc -O0' 'gcc -O2' 'gcc -O1 -static' 'clang -O2' \
	'aarch64-linux-gnu-gcc -O1 -static'; do
	command -v "${build%% *}" >/dev/null || { echo "$build: not installed"; continue; }
	$build -g -w -o over over.c 2>cc.err || { echo "$build: $(tail -n 1 cc.err)"; continue; }
	if [[ $build == aarch64* ]]; then
		command -v qemu-aarch64 >/dev/null || continue
	fi
	is "$after, as text \"er than \"" ./over text
	is "$after" ./over zero
	is "$after" ./over ints
	is "$after, as text \"1xxxxxxx\"" ./over before
	is "$after, as text \"er than \"" ./over free
	damage ./over fits
	[ -z "$damage" ] || fail "$build fits: $damage"
done
gcc -g -O1 -w -o over over.c || fail "not built"
options=(--memory none)
is 'what malloc keeps right after it was overwritten' ./over text
options=()
damage ./over free
python3 -c 'import jsonschema' 2>/dev/null && {
	"$AUXTAP" report --calls 60 data >free.txt
	"$AUXTAP" report --calls 60 --format json data >free.json
	python3 -B "$SRC/tests/tools/report_text_json.py" "$SRC/docs/report.schema.json" \
		free.json || fail "JSON: see above"
}
# another malloc, whose blocks have no such words
for library in libjemalloc.so.2 libtcmalloc_minimal.so.4 libmimalloc.so.2.0; do
	[ -e "/usr/lib/x86_64-linux-gnu/$library" ] || { echo "$library: not installed"; continue; }
	damage env "LD_PRELOAD=$library" ./over ints
	"$AUXTAP" report --format json data | grep -q "/$library" || fail "$library: not loaded: $(cat err)"
	[ -z "$damage" ] || fail "$library: $damage"
done

# threads that are in malloc, realloc and free as another dies
cat >busy.c <<'C'
#include <malloc.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static unsigned next(unsigned *seed) { return *seed = *seed * 1664525 + 1013904223; }
static void *work(void *arg)
{
	static __thread void *at[400];
	unsigned seed = (unsigned)(long)arg;

	for (;;) {
		unsigned i = (next(&seed) >> 8) % 400;
		size_t size = next(&seed) >> 12 & (next(&seed) & 0x30000 ? 0x1ff : 0xffff);

		switch (next(&seed) >> 16 & 3) {
		case 0:
			free(at[i]);
			at[i] = memset(malloc(size), 0x41, size);
			break;
		case 1:
			at[i] = realloc(at[i], size + 1);
			break;
		case 2:
			free(at[i]);
			at[i] = calloc(size / 8 + 1, 8);
			break;
		default:
			free(at[i]);
			at[i] = memalign(16u << (size & 3), size);
			break;
		}
	}
}
int main(int argc, char **argv)
{
	static char *volatile a, *volatile b;
	pthread_t t;

	a = malloc(100);
	for (long i = 0; i < 3; i++)
		pthread_create(&t, NULL, work, (void *)(i + atoi(argv[1])));
	usleep(50000 + 1000 * (atoi(argv[1]) % 997));
	b = malloc(56);
	a = malloc(56);
	if (argc > 2)
		for (int i = 0; i < 64; i++)
			((volatile char *)a)[i] = ((volatile char *)b)[i] = 'x';
	*(volatile int *)8 = 1;
}
C
gcc -g -O2 -pthread -w -o busy busy.c || fail "busy: not built"
for seed in 1 222 4444; do
	damage ./busy $seed
	[ -z "$damage" ] || fail "busy $seed: $damage"
done
guard "$AUXTAP" crash --source qemu -o data -- ./busy 7 over >out 2>err </dev/null
text='  The heap is damaged right after a block of 56 bytes, allocated by main at busy.c:'
grep -q "^$text" err || fail "busy over: $(cat err)"

# the C library frees a thread's cached blocks once more as it ends: the program has not done that
cat >cache.c <<'C'
#include <pthread.h>
#include <stdlib.h>
static char *volatile small, *volatile cached;
static void *work(void *arg)
{
	small = malloc(24);
	cached = malloc(512);
	free(cached);
	for (int i = 24; i < 32; i++)
		small[i] = 'x';
	return arg;
}
int main(void)
{
	pthread_t t;

	pthread_create(&t, NULL, work, NULL);
	pthread_join(t, NULL);
	return 0;
}
C
for build in 'gcc -O1' 'gcc -O1 -static'; do
	$build -g -pthread -w -o cache cache.c || fail "cache: not built"
	damage ./cache ''
	[[ $damage == *' a block of 24 bytes, allocated by work at cache.c:'* ]] ||
		fail "$build, cache: $damage"
	grep -Eq 'free\(\): |munmap_chunk' err || fail "$build, cache: it did not die: $(cat err)"
	grep -n 'freed again' text && fail "$build, cache: $(cat text)"
done
finish
