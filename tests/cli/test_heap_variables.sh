# SPDX-License-Identifier: BSD-2-Clause
# Variables that point into a block that was freed: of the innermost function of the program, or of
# its caller. They are in memory, not in registers (-O0), or in a register that says nothing.
. "$(dirname "$0")/lib.sh"
needs_qemu_10
command -v gcc >/dev/null || skip "no C compiler"
cat >vars.c <<'C'
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
struct node {
	struct node *next;
	long value;
	const char *name;
};
struct cursor {
	int index;
	struct node *at;
};
static void *volatile sink;
static int *volatile null;
static struct node *new_node(long value)
{
	struct node *made = calloc(1, sizeof(*made)); /* made */
	made->value = value;
	made->name = "a name";
	return made;
}
static void drop(struct node *node)
{
	memset(node, 0xdd, sizeof(*node));
	free(node); /* dropped */
}
/* Registers of the caller's are overwritten. */
static void clear(void)
{
	__asm__ volatile("xor %%eax, %%eax; xor %%ecx, %%ecx; xor %%edx, %%edx; xor %%esi, %%esi;"
			 "xor %%edi, %%edi; xor %%r8d, %%r8d; xor %%r9d, %%r9d" ::
			 : "rax", "rcx", "rdx", "rsi", "rdi", "r8", "r9");
}
static long local(struct node *node, struct node *other)
{
	long sum = other->value;

	clear();
	return sum + *null + node->value;
}
static long member(struct cursor cursor)
{
	clear();
	return cursor.index + *null;
}
static long callee(struct node *node)
{
	return node->value;
}
static long caller(struct node *node)
{
	return callee(node->next);
}
static long null_in_callee(struct node *node)
{
	sink = node;
	clear();
	return callee(NULL);
}
static void check(struct node *node)
{
	sink = node;
	assert(!"it is as it should be");
}
static void text(struct node *node)
{
	char shown[40];

	snprintf(shown, sizeof(shown), "%p", (void *)node);
	node = NULL;
	clear();
	sink = shown;
	*null = 1;
}
int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	struct node *a = new_node(1), *b = new_node(2);

	puts("two nodes");
	if (!strcmp(what, "live"))
		return (int)local(a, b);
	drop(a);
	sink = malloc(200);
	if (!strcmp(what, "local"))
		return (int)local(a, b);
	if (!strcmp(what, "member"))
		return (int)member((struct cursor){7, (struct node *)&a->name});
	if (!strcmp(what, "caller"))
		return (int)caller(a);
	if (!strcmp(what, "null"))
		return (int)null_in_callee(a);
	if (!strcmp(what, "check"))
		check(a);
	if (!strcmp(what, "text"))
		text(a);
	if (!strcmp(what, "reused")) {
		struct node *again = malloc(sizeof(*again));

		return (int)local(a, again);
	}
	return 0;
}
C
gcc -g -O0 -w -o vars vars.c || fail "not built"
line_of() { grep -n "/\* $1 \*/" vars.c | cut -d : -f 1; }
# section WHAT [OPTION...]: what its report says of memory, with addresses as X
section() {
	guard "$AUXTAP" crash --source qemu "${@:2}" -o "$1.data" -- ./vars "$1" \
		>out 2>err </dev/null
	"$AUXTAP" report --calls 60 "$1.data" >"$1.txt" || fail "$1: $(cat err)"
	sed -n '/^Memory involved/,/^$/{/^Memory involved/d; /^$/d; /^      from/d
		s/ 0x[0-9a-f]*/ X/; p}' "$1.txt" >section
}
# is POINTER WHAT: of the block that was dropped; registers may point there, too
is() {
	section "$2"
	sed -i 's/\(, r[0-9a-z]*\( (byte [0-9]*)\)\?\)*$//' section
	printf '%s\n' "  freed block of 24 bytes at X: $1" \
		"    freed       drop at vars.c:$(line_of dropped)" \
		"    allocated   new_node at vars.c:$(line_of made)" | cmp -s - section ||
		fail "$2: $(cat section)"
}
is 'node of local' local
is 'in cursor of member (byte 16)' member
is 'node of caller' caller
is 'node of check' check
for what in live null text reused; do
	section $what
	! grep -q freed section || fail "$what: $(cat section)"
done
section local --memory none
! [ -s section ] || fail "memory none: $(cat section)"
rm local.*
section local
section member
python3 -c 'import jsonschema' 2>/dev/null && {
	for what in local member check; do
		"$AUXTAP" report --calls 60 --format json $what.data >$what.json
	done
	python3 -B "$SRC/tests/tools/report_text_json.py" "$SRC/docs/report.schema.json" \
		./*.json || fail "JSON: see above"
}
finish
