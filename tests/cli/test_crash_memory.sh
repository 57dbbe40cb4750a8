# SPDX-License-Identifier: BSD-2-Clause
# Which memory a snapshot contains: --memory, --redact, and the report's last line.
. "$(dirname "$0")/lib.sh"
command -v cc >/dev/null || skip "no C compiler"
cat >prog.c <<'C'
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

struct node {
	struct node *volatile next;
	char text[64];
};

/* In the program's data, with a pointer. */
struct node in_data = {NULL, "-"}, *volatile beside = &in_data;
char in_zeros[100000];

/* The texts are nowhere else in memory: "secret-", and a word, each letter one less. */
static void put(char *to, const char *coded)
{
	while (*coded)
		*to++ = (char)(*coded++ - 1);
	*to = 0;
}

/* A page of its own, with pages before and after that nothing points to. */
static struct node *page(const char *coded)
{
	char *mem = mmap(NULL, 64 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			 0);
	struct node *n = (struct node *)(mem + 32 * 4096);

	put(n->text, coded);
	put(mem + 48 * 4096, "tfdsfu.cftjef"); /* beside */
	return n;
}

/* Far down the stack: no pointer to the second and third page stays where it is saved. */
__attribute__((noinline)) static struct node *chain(void)
{
	volatile char far[8192] = {0};
	struct node *first = page("tfdsfu.pof"); /* one */

	first->next = page("tfdsfu.uxp");	  /* two */
	first->next->next = page("tfdsfu.uisff"); /* three */
	return far[0] ? NULL : first;
}

__attribute__((noinline)) static void fatal(struct node *volatile first)
{
	*(volatile int *)8 = first != NULL;
}

int main(void)
{
	volatile char local[64];
	struct node *first = chain();

	put((char *)local, "tfdsfu.tubdl");	      /* stack */
	put(in_data.text, "tfdsfu.ebub");	      /* data */
	put(in_zeros + 50000, "tfdsfu.{fspt");	      /* zeros */
	in_data.next = page("tfdsfu.gspnebub");	      /* fromdata */
	memset(in_zeros, 0, 1000);
	fatal(first);
	return local[0];
}
C
cc -O1 -static -o prog prog.c 2>/dev/null || cc -O1 -o prog prog.c || skip "cc does not work"
if command -v aarch64-linux-gnu-gcc >/dev/null && command -v qemu-aarch64 >/dev/null; then
	aarch64-linux-gnu-gcc -O1 -static -o prog_a64 prog.c || fail "cc for AArch64"
fi

words="stack data zeros one two three fromdata beside argument environment"
# has FILE WORD...: exactly these are in it
has() {
	local file=$1 word want got
	shift
	for word in $words; do
		want=no got=no
		[[ " $* " == *" $word "* ]] && want=yes
		grep -aq "secret-$word" "$file" && got=yes
		[ $want = $got ] || fail "$what: secret-$word: $got, not $want"
	done
}
# last TEXT: of the report
last() { tail -n 1 s.report.txt | grep -Fqx "Memory in this file: $1" ||
	fail "$what: last line: $(tail -n 1 s.report.txt)"; }
run() {
	rm -f s s.*
	SECRET=secret-environment guard "$AUXTAP" crash "$@" secret-argument >out 2>&1
	[ -s s.report.txt ] || fail "$what: no report: $(tail -n 2 out)"
	[ "$(stat -c %a s s.report.txt | sort -u)" = 600 ] || fail "$what: modes"
}

near="code around the instruction pointers"
for program in prog:ptrace prog:auto prog_a64:auto; do
	[ -x "${program%:*}" ] || continue
	options=(--source "${program#*:}" --backend emulated -o s)
	what="stack, $program"
	run "${options[@]}" -- "./${program%:*}"
	has s stack argument environment
	last "stacks, $near"
	grep -q '^  #1 .*main' s.report.txt || fail "$what: no backtrace"
	what="reachable, $program"
	run "${options[@]}" --memory reachable -- "./${program%:*}"
	has s stack argument environment data zeros one two fromdata
	last "stacks, the program's data, what they point to in two steps, $near"
	what="none, $program"
	run "${options[@]}" --memory none -- "./${program%:*}"
	has s argument # in the command line alone
	last "no data; registers, $near"
	what="redact, $program"
	run "${options[@]}" --redact -- "./${program%:*}"
	has s
	has s.report.txt
	last "redacted: no data, arguments or environment; registers, $near"
	for text in 'died of SIGSEGV' 'in fatal' '^The calls that led there' ' main'; do
		grep -q "$text" s.report.txt || fail "$what: the report lacks '$text'"
	done
done

what="redact, an abort's message"
cat >message.c <<'C'
#include <assert.h>
#include <stdlib.h>
int main(int argc, char **argv)
{
	(void)argv;
	assert(argc == 7777);
	return 0;
}
C
cc -o message message.c || fail "cc"
run --backend emulated -o s --redact -- ./message
grep -aq 'argc == 7777' s && fail "$what: in the snapshot"
grep -q 'argc == 7777' s.report.txt && fail "$what: in the report"

what="redact without a core"
if (ulimit -c unlimited) 2>/dev/null; then
	(ulimit -c unlimited && run --backend emulated -o s --redact -- ./prog)
	[ -e s.core ] && fail "$what: a core"
fi
refused() { # TEXT OPTION...
	local text=$1
	shift
	"$AUXTAP" "$@" -- true >out 2>&1 && fail "accepted: $*"
	grep -q -e "$text" out || fail "$*: $(cat out)"
}
refused "--redact: leaves out all memory, which --core asks for; remove" crash --redact --core
refused "which --memory reachable asks for" crash --memory reachable --redact
refused "'all' is not one of stack, reachable, none" crash --memory all
refused "auxtap: --memory: is an option of 'auxtap crash'" record --memory none
refused "auxtap: --redact: is an option of 'auxtap crash'" record --redact
finish
