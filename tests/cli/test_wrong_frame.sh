# SPDX-License-Identifier: BSD-2-Clause
# Nothing false where the stack or the code is not what it seems: a wrong frame pointer, a function
# that runs on into the next one, libraries that replace each other at one address.
. "$(dirname "$0")/lib.sh"
command -v gcc >/dev/null || skip "gcc is not installed"
command -v qemu-x86_64 >/dev/null || skip "qemu-x86_64 is not installed"
src=$SRC/tests/cli/frames
compilers=(gcc)
command -v clang >/dev/null && compilers+=(clang) || echo "clang: not installed"

# crash PROGRAM ARGUMENT...
crash() {
	rm -f data*
	"$AUXTAP" crash -o data -- "$@" >stdout 2>stderr </dev/null
	[ -s data.report.txt ] || { fail "$*: no report: $(tail -n 3 stderr)"; return 1; }
	sed -n '/^Backtrace/,/^$/p' data.report.txt >frames
}

# ---- the saved frame pointer was changed ----

# known_callers NAME...: the frames, and then the calls known from the trace, are these
known_callers() {
	sed -nE 's/^  (#[0-9]+ )?( +)([a-z_0-9]+) at .*framepointer.c.*/\3/p' frames |
		paste -sd' ' >names
	[ "$(cat names)" = "$*" ] &&
		grep -q '^  The return address of this call is not where it' frames &&
		grep -q '^  Known from the trace' frames || fail "$what: $(cat frames)"
	grep -E '^ +(args|locals)' frames | grep -vE ': (in=5|here=6)$' &&
		fail "$what: values of a wrong frame"
}

for cc in "${compilers[@]}"; do
	"$cc" -g -O0 -fno-stack-protector -w -o pointer "$src/framepointer.c" ||
		{ fail "framepointer: not built by $cc"; continue; }
	for change in 32 -32 200 0x1000000; do
		what="$cc reads $change"
		crash ./pointer reads "$change" && known_callers visit walk main
		what="$cc calls $change"
		crash ./pointer calls "$change" && known_callers die visit walk main
		what="$cc recursion $change"
		crash ./pointer calls "$change" 5 && known_callers die visit walk main &&
			! grep -q '^      walk at .* and other places, depth 6 ' frames &&
			fail "$what: $(cat frames)"
	done
	what="$cc climbs"
	crash ./pointer climbs && known_callers climb climb main
	# an ordinary one has its values, in a recursion, too
	crash ./pointer calls 0 3
	[ "$(grep -c 'args: first=0x[0-9a-f]*, depth=[0-3]$' frames)" = 4 ] &&
		! grep -q 'return address of this call' frames || fail "$cc unchanged: $(cat frames)"
done
# gcc's code restores the stack pointer by the frame pointer: the function returns elsewhere
gcc -g -O0 -fno-stack-protector -w -o pointer "$src/framepointer.c" || fail "not built by gcc"
for change in -32 -96 32 144 256; do
	crash ./pointer returns "$change" || continue
	grep -qE 'called 0x|call that had not returned, which was from walk [(]' data.report.txt ||
		fail "returns $change: $(head -n 3 data.report.txt)"
	grep 'address was overwritten' data.report.txt && fail "returns $change: it was not"
done

# ---- return addresses that earlier calls have left in the frames ----

for cc in "${compilers[@]}"; do
	for level in -O0 -O1; do
		"$cc" -g $level -w -o stale "$src/stale.c" || fail "stale: not built by $cc $level"
		crash ./stale
		sed -nE 's/^  #[0-9]+ +([a-z]+) at .*stale.c.*/\1/p' frames | paste -sd' ' >names
		[ "$(cat names)" = 'visit visit visit visit main' ] ||
			fail "stale, $cc $level: $(cat frames)"
	done
done

# ---- a pointer leads into the middle of a function ----

within() { # WHAT FUNCTION CALLER...: function and callers; no values of a frame that does not exist
	local what=$1
	shift
	sed -nE 's/^  (#[0-9]+ )?( +)([a-z_0-9]+) at .*within.c.*/\3/p' frames | paste -sd' ' >names
	[ "$(cat names)" = "$*" ] &&
		grep -q '^  A wrong address led into the middle of this function' frames ||
		fail "within $what: $(cat frames)"
	grep -E '^ +(args|locals)' frames && fail "within $what: values"
}
for cc in "${compilers[@]}"; do
	"$cc" -g -O0 -fcf-protection=none -w -o within "$src/within.c" || fail "within: not built by $cc"
	crash ./within call 4 && within "$cc call" last call main # after push and mov
	crash ./within call 0 && grep -q 'args: a=4, b=4' frames || fail "within $cc: $(cat frames)"
	# after longjmp() the function runs in its own frame
	crash ./within recover 4
	grep -q 'args: a=1, b=2' frames && ! grep -q 'A wrong address' frames &&
		! grep -qE '^ *[0-9]+ +(call|parse) .*[.][.][.]$' data.report.txt ||
		fail "within $cc recover: $(cat frames)"
done

# a table's wrong element leads to a label of a function, which goes on to others and to no code
cat >labels.c <<'C'
static void **labels;
static long steps(long code, long acc)
{
	static void *to[] = {&&first, &&second, 0};

	labels = to;
	if (code < 0)
		return acc;
	goto *to[0];
first:
	acc += code;
	goto *to[1];
second:
	acc *= 2;
	goto *to[2];
}
static long run(void **table, int nr) { return ((long (*)(long, long))table[nr])(4, 5) + 1; }
int main(int argc, char **argv)
{
	steps(-1, 0);
	return argc > 1 ? run(labels, 0) : steps(7, 8) + 1;
}
C
for cc in "${compilers[@]}"; do
	"$cc" -g -O0 -fcf-protection=none -w -o labels labels.c || fail "labels: not built by $cc"
	crash ./labels wrong
	[ "$(grep -E '^  #' frames | awk '{print $2}' | paste -sd' ')" = '0x0 steps' ] &&
		grep -q 'A wrong address' frames && ! grep -qE '^ +(args|locals)' frames ||
		fail "labels $cc wrong: $(cat frames)"
	crash ./labels
	[ "$(grep -E '^  #' frames | awk '{print $2}' | head -n 3 | paste -sd' ')" = \
		'0x0 steps main' ] && grep -q 'args: code=7, acc=30' frames ||
		fail "labels $cc: $(cat frames)"
done

# what a function that was entered so does next: it calls, jumps into another one or to no code; and
# main, that enters itself
if [ "$(uname -m)" = x86_64 ]; then
	cat >next.c <<'C'
#include <string.h>
#define FRAME "push %rbp; .cfi_def_cfa_offset 16; .cfi_offset 6, -16; mov %rsp, %rbp; " \
	".cfi_def_cfa_register 6\n"
#define FUNCTION(name) ".type " name ", @function\n" name ": .cfi_startproc\n" FRAME
#define END(name) "pop %rbp; ret\n.cfi_endproc\n.size " name ", . - " name "\n"
/* only "one", "two" and "three", which has no frame, are symbols */
__asm__(".text\n" FUNCTION("one")
	".Lcalls: call fails\n"
	".Ljumps: jmp .Lwithin\n"
	".Lleaves: jmp *%rdi\n"
	".Lstrays: jmp .Lnameless\n" END("one")
	FUNCTION("two") ".Lwithin: movl $1, 0\n" END("two")
	".type three, @function\nthree: .cfi_startproc; nop\n.Lhops: jmp .Lwithin; .cfi_endproc\n"
	".size three, . - three\n"
	".p2align 4\n.Lnameless: movl $1, 0\n.p2align 4\n"
	".data; places: .quad .Lcalls, .Ljumps, .Lleaves, .Lhops, .Lstrays\n.text");
extern void (*const places[5])(void *);
__attribute__((used)) void fails(void) { *(volatile int *)16 = 1; }
static void run(void (*to)(void *)) { to((void *)0x12345678); }
int main(int argc, char **argv)
{
	void *volatile to = &&here;
	volatile long frame[8] = {argc};

	if (!strcmp(argv[1], "calls"))
		run(places[0]);
	else if (!strcmp(argv[1], "jumps"))
		run(places[1]);
	else if (!strcmp(argv[1], "leaves"))
		run(places[2]);
	else if (!strcmp(argv[1], "hops"))
		run(places[3]);
	else if (!strcmp(argv[1], "strays"))
		run(places[4]);
	else
		__asm__ volatile("call *%0" : : "r"(to));
here:
	*(volatile int *)8 = frame[0];
	return 0;
}
C
	# correct programs that enter a function away from its start: by a table of jumps, and a
	# subroutine that uses the frame of its function
	cat >entries.c <<'C'
#include <string.h>
__asm__(".text\n.type table, @function\ntable: .cfi_startproc; jmp unused\n"
	".p2align 3, 0xcc\n.Lsecond: jmp reads; .cfi_endproc\n.size table, . - table\n"
	".type work, @function\nwork: .cfi_startproc\n"
	"push %rbp; .cfi_def_cfa_offset 16; .cfi_offset 6, -16; mov %rsp, %rbp\n"
	".cfi_def_cfa_register 6\ncall *subroutine(%rip)\npop %rbp\n"
	".cfi_remember_state; .cfi_def_cfa 7, 8\nret; .cfi_restore_state\n"
	".Lsub: mov (%rdi), %eax; ret\n.cfi_endproc\n.size work, . - work\n"
	/* one whose unwind information counts its return address, and that goes on by a pointer */
	".type hands, @function\nhands: .cfi_startproc\n"
	"push %rbx; .cfi_def_cfa_offset 16; .cfi_offset 3, -16\ncall *part(%rip)\n"
	"pop %rbx; .cfi_def_cfa_offset 8\nret\n"
	/* and one where it forgets that */
	".cfi_def_cfa_offset 16\n.Lforgets: jmp *nowhere(%rip)\n"
	".cfi_def_cfa_offset 24\n.Lpart: cmpq $8, %rdi; je 1f; jmp *nowhere(%rip)\n"
	"1: call *nowhere(%rip); ret; .cfi_endproc\n.size hands, . - hands\n"
	".data; second: .quad .Lsecond\nsubroutine: .quad .Lsub\npart: .quad .Lpart\n"
	"forgets: .quad .Lforgets\nnowhere: .quad 0\n.text");
extern int (*second)(int *);
extern void *part, *forgets;
int work(int *), hands(int *);
__attribute__((used)) int unused(int *at) { return 1; }
__attribute__((used)) int reads(int *at) { return *(volatile int *)at; }
static int caller(int (*to)(int *), int *at) { return to(at) + 1; }
int main(int argc, char **argv)
{
	if (!strcmp(argv[1], "forgets"))
		part = forgets;
	if (part == forgets || !strcmp(argv[1], "jumps") || !strcmp(argv[1], "calls"))
		return caller(hands, (int *)(argv[1][0] == 'c' ? 8l : 0l));
	return caller(strcmp(argv[1], "sub") ? second : work, (int *)8);
}
C
	for cc in "${compilers[@]}"; do
		"$cc" -g -O0 -fcf-protection=none -w -o next next.c || fail "next: not built by $cc"
		"$cc" -g -O1 -fomit-frame-pointer -fcf-protection=none -w -o main next.c ||
			fail "main: not built by $cc"
		for how in calls:'fails one' jumps:two leaves:one hops:two main:main; do
			crash ./$([ "$how" = main:main ] && echo main || echo next) ${how%:*}
			grep -E '^  #' frames | awk '{print $2}' | grep -v 0x12345678 |
				paste -sd' ' >names
			[ "$(cat names)" = "${how#*:}" ] && grep -q 'A wrong address' frames ||
				fail "next $cc $how: $(cat frames)"
			grep -E '^ +(args|locals)' frames && fail "next $cc $how: values"
		done
		crash ./next strays
		grep -q 'into the middle of the function that went there' frames &&
			[ "$(grep -c '^  #' frames)" = 1 ] || fail "next $cc strays: $(cat frames)"
		"$cc" -g -O0 -fcf-protection=none -w -o entries entries.c ||
			fail "entries: not built by $cc"
		for how in table:reads sub:work jumps:hands calls:hands; do
			crash ./entries ${how%:*}
			grep -E '^  #' frames | awk '$2 != "0x0" {print $2}' | head -n 3 |
				paste -sd' ' >names
			[ "$(cat names)" = "${how#*:} caller main" ] &&
				grep -q 'args: to=' frames &&
				! grep -q 'A wrong address' frames || fail "$cc $how: $(cat frames)"
		done
		crash ./entries forgets
		grep -q '^  #1  *hands' frames && ! grep -q 'A wrong address' frames ||
			fail "$cc forgets: $(cat frames)"
	done
fi

# on another stack, whose function returns to address 0: that called nothing
if [ "$(uname -m)" = x86_64 ]; then
	cat >switch.c <<'C'
__asm__(".text\n.type leave, @function\nleave: .cfi_startproc; mov %rdi, %rsp; ret; .cfi_endproc\n"
	".size leave, . - leave\n"
	".type other, @function\nother: .cfi_startproc; nop\n.Linside: nop; ret; .cfi_endproc\n"
	".size other, . - other\n.data; inside: .quad .Linside\n.text");
extern void leave(void **stack);
extern void *inside;
static void *stack[64];
int main(void) { stack[32] = inside; leave(stack + 32); return 0; }
C
	gcc -g -O0 -w -o switch switch.c || fail "switch: not built"
	crash ./switch
	grep -A 1 '\[by return\] other' data.report.txt >rows
	deep='^ +0 {14,}\[by return\] 0x0 +<- SIGSEGV here$'
	[ "$(wc -l <rows)" = 2 ] && sed -n 2p rows | grep -qE "$deep" || fail "switch: $(cat rows)"
fi

# of a function without a frame the callers are known, its variables are not
cat >leaf.c <<'C'
typedef long (*function)(long *, long);
static volatile long sink;
__attribute__((noinline)) static long leaf(long *at, long by)
{
	__asm__ volatile("nop; nop; nop; nop");
	return *at + by;
}
__attribute__((noinline)) static long calls(function to, long *at)
{
	return to(at, 5) + sink;
}
int main(int argc, char **argv)
{
	long here = argc;

	sink = calls(leaf, &here);
	return (int)calls((function)((char *)leaf + atoi(argv[1])), (long *)16);
}
C
for cc in "${compilers[@]}"; do
	"$cc" -g -O2 -fcf-protection=none -w -o leaf leaf.c || fail "leaf: not built by $cc"
	for off in 0 2; do
		crash ./leaf $off
		sed -nE 's/^  #[0-9]+ +([a-z]+) at .*leaf.c:[0-9]+(.*)/\1\2/p' frames |
			paste -sd, >names
		case $off in
		0) want=leaf,calls,main ;;
		2) want='leaf (entered in its middle),calls,main' ;;
		esac
		[ "$(cat names)" = "$want" ] || fail "leaf $cc $off: $(cat frames)"
		sed -n '/^  #0/,/^  #1/p' frames | grep -c 'args: at=0x10, by=5' >nr
		[ "$(cat nr)" = $((off == 0)) ] || fail "leaf $cc $off: values: $(cat frames)"
	done
done

# ---- a return address that was overwritten ----

gcc -g -O0 -fno-stack-protector -w -o smashes "$src/smashes.c" || fail "smashes: not built"
# calls farther out have the same return address; one that is no address faults at the return
crash ./smashes 0x4141414141414141
grep -q ': the return address was overwritten; .* walk (smashes' data.report.txt ||
	fail "smashes: $(head -n 3 data.report.txt)"
# on top of the stack is an address of code that called nothing
crash ./smashes 0x5550
sed -n 2p data.report.txt >why
grep -q '^  it returned to 0x5550, .*: the return address was overwritten; .* walk (smashes' why ||
	fail "smashes: $(head -n 4 data.report.txt)"
[ "$(grep -c '^  #' frames)" = 1 ] || fail "smashes: frames of no call: $(cat frames)"

# ---- a function without a return ----

if command -v clang >/dev/null; then
	clang -g -O2 -fno-stack-protector -w -o runs_on "$src/runs_on.c" || fail "runs_on: not built"
	crash ./runs_on
	sed -n '/^The calls/,/^Last/p' data.report.txt | grep -q '\[fall-through\]' ||
		echo "runs_on: this compiler's function has an end"
	grep -q '^  it returned to 0x2222[0-9a-f]*, where nothing is mapped' data.report.txt ||
		fail "runs_on: $(head -n 3 data.report.txt)"
	grep 'address was overwritten' data.report.txt && fail "runs_on: it was not"
fi

# ---- blocks of a library that another one replaced ----

cat >plugin.c <<'C'
#include <stdlib.h>
__attribute__((noinline)) static void *NAME(long n) { char *p = malloc(n); p[0] = 1; return p; }
void *get(long n) { void *p = NAME(n); __asm__ volatile("" ::: "memory"); return p; }
void put(void *p) { free(p); __asm__ volatile("" ::: "memory"); }
C
gcc -g -O1 -w -o replace "$src/replace.c" -ldl &&
	gcc -g -O1 -DNAME=alpha -shared -fPIC -o a.so plugin.c &&
	gcc -g -O1 -DNAME=beta -shared -fPIC -o b.so plugin.c || fail "replace: not built"
crash ./replace ./a.so ./b.so
grep -E '^same address: (yes|no)$' stdout >same || fail "replace: $(cat stdout stderr)"
grep -q yes same || fail "replace: the second library is at another address"
more='other code was mapped, too'
grep -cE "^ +(allocated|freed) +0x[0-9a-f]+, where $more$" data.report.txt >nr
[ "$(cat nr)" = 2 ] || fail "replace: $(grep -E 'allocated|freed' data.report.txt)"
grep -E '^ +(allocated|freed|from) .*(alpha|beta|get|put) ' data.report.txt &&
	fail "replace: one is named"
# of one library alone it is known
crash ./replace ./a.so
grep -qE '^ +allocated +alpha at .*plugin.c:2' data.report.txt &&
	grep -qE '^ +freed +put at .*plugin.c:4' data.report.txt ||
	fail "one library: $(grep -E 'allocated|freed' data.report.txt)"

# ---- a function that frees by a jump has no frame ----

cat >jumps.c <<'C'
#include <stdlib.h>
static volatile int sink;
static char *volatile block;
__attribute__((noinline)) static void release(char *p)
{
	sink++;
	free(p); /* a jump */
}
static void (*volatile release_by)(char *) = release;
__attribute__((noinline)) static void drop(char *p, int by_pointer)
{
	if (by_pointer)
		release_by(p);
	else
		release(p);
	sink++;
}
int main(int argc, char **argv)
{
	block = malloc(100);
	block[0] = 1;
	drop(block, argc > 1);
	drop(block, argc > 1);
	return 0;
}
C
for cc in "${compilers[@]}"; do
	"$cc" -g -O2 -w -o jumps jumps.c || fail "jumps: not built by $cc"
	crash ./jumps
	sed -nE 's/^ +(freed again|freed) +//p' data.report.txt >freed
	[ "$(grep -cE '^release at jumps.c:[0-9]+ \(tail call\)$' freed)" = 2 ] &&
		[ "$(grep -cE '^ +from +drop at jumps.c:' data.report.txt)" = 2 ] ||
		fail "$cc jumps: $(sed -n '/^Memory/,/^$/p' data.report.txt)"
	crash ./jumps pointer
	sed -nE 's/^ +(freed again|freed) +//p' data.report.txt >freed
	[ "$(grep -c '^in a call from drop at jumps.c:' freed)" = 2 ] ||
		fail "$cc jumps pointer: $(sed -n '/^Memory/,/^$/p' data.report.txt)"
done

# a library's function frees by a jump; a function has two such jumps; a constant looks like a call
cat >lib.c <<'C'
#include <stdlib.h>
int of_library;
void release(char *p) { of_library++; free(p); }
C
cat >uses.c <<'C'
#include <stdlib.h>
void release(char *p);
static volatile int sink;
static char *volatile block;
__attribute__((noinline)) static void either(char *p, int how)
{
	if (how > 1)
		free(p);
	else
		release(p);
}
__attribute__((noinline)) static void drop(char *p, int how)
{
	if (how > 1)
		either(p, how);
	else
		release(p);
	sink++;
}
int main(int argc, char **argv)
{
	block = malloc(100);
	block[0] = 1;
	drop(block, argc);
	sink = 0;
	drop(block, argc);
	return 0;
}
C
gcc -g -O2 -shared -fPIC -o librelease.so lib.c && gcc -g -O2 -w -o uses uses.c ./librelease.so ||
	fail "uses: not built"
for how in '' two; do
	crash ./uses $how
	sed -nE 's/^ +(freed again|freed) +//p' data.report.txt >freed
	due='^in a call from drop at uses.c:'
	[ -z "$how" ] || due='^in a call from either \(tail call\)$' # it is not known by which
	[ "$(grep -cE "$due" freed)" = 2 ] || fail "uses $how: $(sed -n '/^Memory/,/^$/p' data.report.txt)"
done

# a command without the arguments, which a redacted recording does not have, is no suggestion
for redact in '' --redact; do
	rm -f data*
	"$AUXTAP" crash $redact -o data -- ./pointer reads 0 >stdout 2>stderr </dev/null
	nr=$(grep -c '^  auxtap crash --values .*pointer' data.report.txt)
	[ "$nr" = "$([ -z "$redact" ] && echo 1 || echo 0)" ] ||
		fail "suggestion$redact: $(sed -n '/^Next/,/^$/p' data.report.txt)"
done
finish
