# SPDX-License-Identifier: BSD-2-Clause
# Backtraces through code that no unwind information describes: no frame is invented, and where
# one may be missing, the report says so. gdb has the truth: it is written in the program, too.
. "$(dirname "$0")/lib.sh"
command -v cc >/dev/null || skip "no C compiler"
[ "$(uname -m)" = x86_64 ] || skip "the program writes x86-64 code"
source=ptrace
"$AUXTAP" list | grep -q 'qemu: available' && source=qemu

# backtrace NAME WHAT: of that death, into the file 'frames'
backtrace() {
	rm -f data*
	guard "$AUXTAP" crash --source $source -o data -- "./$1" "$2" >/dev/null 2>err
	[ $? -eq 139 ] || fail "$1 $2: no death by SIGSEGV: $(tail -n 2 err)"
	sed -n '/^Backtrace/,/^$/p' data.report.txt >frames
}
functions() {
	grep -vE '^ {8}(args|locals)[: ]' frames |
		sed -nE 's/^  (#[0-9]+|  ) +([^ ]+) .*/\2/p' | paste -sd ' '
}

for level in O0 O2; do
	cc -g -$level -o "generated.$level" "$SRC/tests/cli/frames/generated.c" || skip "cc failed"

	# apply() calls the generated code: it may be missing only after a note
	for what in leaf deep; do
		backtrace "generated.$level" $what
		if ! grep -q ' apply at ' frames; then
			grep -q 'No unwind information describes that code' frames ||
				fail "$level $what: apply() is missing, without a note: $(cat frames)"
			sed '/No unwind information/q' frames | grep -q ' main at ' &&
				fail "$level $what: a caller before the note: $(cat frames)"
		fi
		grep -q 'return address is' frames &&
			fail "$level $what: a return address that is none: $(cat frames)"
	done
	backtrace "generated.$level" deep
	grep -q '^  #0  faults at ' frames &&
		grep -qE '^  #1  (//anon\+0xd|0x[0-9a-f]*00d \[generated code\])$' frames ||
		fail "$level deep: $(cat frames)"

	# the file of libc is there, although the program unmapped its beginning
	backtrace "generated.$level" unmap
	grep -qE 'No file|calls may be missing|not known' frames && fail "$level unmap: $(cat frames)"
	functions | grep -qE '^faults (on_fault )?<signal interrupted main ' ||
		fail "$level unmap: $(functions): $(cat frames)"
done

# Both engines save what was executed of generated code. It decodes; but what replaced other code is
# never used for what ran before the change: that is a gap.
# compare_threads WHAT: each thread's instructions, but for those in gaps
compare_threads() {
	for truth in truth.*; do
		[ -s "$truth" ] || continue # it never ran
		"$AUXTAP" decode --events insn,gap -F event,ip --tid "${truth#truth.}" data 2>err |
			"$TOOLS/compare_ground_truth" "$truth" --gaps >result ||
			fail "$engine: $1, $truth: $(cat result err)"
	done
}
# rewritten PROGRAM ARGUMENT...
rewritten() {
	rm -f data* truth.*
	guard "$AUXTAP" crash --source $engine --truth truth -o data "${options[@]}" -- "./$1" "${@:2}" \
		>/dev/null 2>err
	[ $? -eq 139 ] || fail "$engine: $*: no death by SIGSEGV: $(tail -n 2 err)"
	compare_threads "$*"
}
cc -g -O1 -o rewritten "$SRC/tests/cli/frames/rewritten.c" || skip "cc failed"
cc -g -O1 -pthread -o rewritten_threads "$SRC/tests/cli/frames/rewritten_threads.c" ||
	skip "cc failed"
for engine in ptrace qemu; do
	"$AUXTAP" list | grep -q "$engine: available" || continue
	options=()
	# qemu executes the old code of a file of memory, which write() changes
	memories='rwx rx'
	[ $engine = ptrace ] && memories='rwx rx memfd'
	for memory in $memories; do
		rewritten rewritten 1 $memory
		grep -q ' gaps 0 left-out 0$' result ||
			fail "$engine: $memory not rewritten: $(cat result)"
	done
	"$AUXTAP" pack --redact -o packed data >/dev/null 2>err || fail "pack: $(cat err)"
	"$AUXTAP" decode --events insn,gap -F event,ip packed 2>err |
		"$TOOLS/compare_ground_truth" truth.* --gaps >result || fail "packed: $(cat result err)"
	grep -q ' gaps 0 left-out 0$' result || fail "$engine: packed: $(cat result)"
	for memory in $memories; do
		rewritten rewritten 4 $memory
		grep -q ' gaps 0 ' result &&
			fail "$engine: $memory: older trace was decoded with newer code: $(cat result)"
		# the newest version ran five times, with its calls, after the last gap
		"$AUXTAP" decode --events branch,gap -F event,sym data 2>/dev/null | tac |
			sed '/^gap/q' | grep -c '^branch .*generated code.*00b$' >nr
		[ "$(cat nr)" -ge 4 ] || fail "$engine: $memory: $(cat nr) calls of the newest code"
	done
	# without times nothing says when the code was changed
	options=(-e intel_pt/tsc=0/u)
	rewritten rewritten 4
	grep -q ' gaps 0 ' result && fail "$engine: tsc=0: older trace was decoded with newer code"

	# threads that change the code of others; what they ran at the same time has one order
	options=()
	numbers='2 3 4 5 6'
	[ $engine = ptrace ] && numbers='2 4' # slower
	for nr in $numbers; do
		rewritten rewritten_threads $((nr * 3)) $nr
		"$AUXTAP" decode --events insn -F event data 2>/dev/null | grep -c insn >nr
		"$AUXTAP" decode --summary data 2>/dev/null | grep -qx "instructions: $(cat nr)" ||
			fail "$engine: threads: $(cat nr) instructions, not as many in blocks"
	done
	# a loop without packets, which another thread ends by a change of the code
	rewritten rewritten_threads spin 2
	"$AUXTAP" decode --events gap -F event data >gaps 2>/dev/null
	grep -qE 'gap: uncounted.*(which code followed|comes back to)' gaps ||
		fail "$engine: a loop that was replaced: $(cat gaps)"
done

# Code that is written again at the same place: the trace stops there and goes on, which is no
# interrupt; nor did it die where that happened, but at its third instruction.
cat >again.c <<'EOF'
#include <string.h>
#include <sys/mman.h>
static unsigned char *page;
static void make(const char *code)
{
	mprotect(page, 4096, PROT_READ | PROT_WRITE);
	memcpy(page, code, 6);
	mprotect(page, 4096, PROT_READ | PROT_EXEC);
	((void (*)(long))page)(0x700);
}
int main(void)
{
	page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	make("\x90\x90\x48\x89\xf8\xc3");     /* nop; nop; mov %rdi, %rax; ret */
	make("\x48\x89\xf8\x88\x00");	  /* mov %rdi, %rax; mov %al, (%rax) */
}
EOF
cc -g -O1 -w -o again again.c || skip "cc failed"
for engine in ptrace qemu; do
	"$AUXTAP" list | grep -q "$engine: available" || continue
	rm -f data*
	guard "$AUXTAP" crash --source $engine -o data -- ./again >/dev/null 2>err
	[ $? -eq 139 ] || fail "$engine: again: $(tail -n 2 err)"
	sed -n '/^Last branches/,/^$/p' data.report.txt >branches
	grep -q '^  call .*-> ' branches && ! grep -q '^  interrupt' branches &&
		! grep '^  SIGSEGV' branches | grep -qv '003 \[generated code\]$' ||
		fail "$engine: again: $(tail -n 5 branches)"
	# in JSON the signal of the death is one
	"$AUXTAP" report --format json data >data.json
	[ "$(grep -o '"interrupt"' data.json | wc -l)" = "$(grep -c '^  SIGSEGV' branches)" ] ||
		fail "$engine: again: JSON: $(grep -c '"interrupt"' data.json) interrupts"
done

# a signal that ends a loop without packets is one
cat >spin.c <<'EOF'
#include <signal.h>
#include <stdlib.h>
#include <sys/time.h>
static void on_alarm(int signo)
{
	abort();
}
__attribute__((noinline)) static void spin(void)
{
	for (;;)
		;
}
int main(void)
{
	struct itimerval soon = {.it_value = {.tv_usec = 20000}};
	signal(SIGALRM, on_alarm);
	setitimer(ITIMER_REAL, &soon, NULL);
	spin();
}
EOF
cc -g -O1 -w -o spin spin.c || skip "cc failed"
for engine in ptrace qemu; do
	"$AUXTAP" list | grep -q "$engine: available" || continue
	rm -f data*
	guard "$AUXTAP" crash --source $engine -o data -- ./spin >/dev/null 2>err
	[ $? -eq 134 ] || fail "$engine: spin: $(tail -n 2 err)"
	sed -n '/^Last branches/,/^$/p' data.report.txt >branches
	grep -q '^  interrupt  spin (spin.c:' branches || fail "$engine: spin: $(cat branches)"
done

# Generated code that ends with an instruction that always faults: what follows does not matter.
cat >ends.c <<'EOF'
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
int main(int argc, char **argv)
{
	static const unsigned char ends[][3] = {{0x0f, 0x0b}, {0xf4}, {0xcc}};
	unsigned char *code = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
				   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	(void)argc;
	memcpy(code, "\xb9\x03\x00\x00\x00\xff\xc9\x75\xfc", 9); /* a loop of three turns */
	memcpy(code + 9, ends[atoi(argv[1])], 3);
	((void (*)(void))code)();
	return 0;
}
EOF
cc -g -O1 -w -o ends ends.c || skip "cc failed"
for what in 'ud2 132' 'hlt 139' 'int3 133'; do
	for engine in ptrace qemu; do
		"$AUXTAP" list | grep -q "$engine: available" || continue
		case $what in ud2*) which=0 ;; hlt*) which=1 ;; *) which=2 ;; esac
		rm -f data*
		guard "$AUXTAP" crash --source $engine -o data -- ./ends $which >/dev/null 2>err
		[ $? -eq "${what#* }" ] || fail "$engine: ${what% *}: $(tail -n 2 err)"
		grep -q '^  no gaps: complete from the first instruction$' data.report.txt ||
			fail "$engine: ${what% *}: $(grep gap data.report.txt)"
		sed -n '/^Last branches/,/^$/p' data.report.txt >branches
		! grep 'generated code' branches | grep -q '^  syscall' ||
			fail "$engine: ${what% *}: no system call: $(cat branches)"
	done
done
grep -qE '^  int +0x[0-9a-f]+009 \[generated code\] +-> the kernel$' branches ||
	fail "int3: $(tail -n 3 branches)"

# A program that only a descriptor names runs without trace, which a line and a gap say.
cat >nameless.c <<'EOF'
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	char *again[] = {argv[0], "again", NULL}, path[64];
	int from, to;

	if (argc > 1 && !strcmp(argv[1], "again"))
		return 7;
	from = open("/proc/self/exe", O_RDONLY);
	to = memfd_create("copy", 0);
	while (sendfile(to, from, NULL, 1 << 20) > 0)
		;
	if (argc > 1)
		execve(strcat(strcpy(path, "/proc/self/fd/"), to == 4 ? "4" : "5"), again, environ);
	fexecve(to, again, environ);
	return 1;
}
EOF
cc -o nameless nameless.c || skip "no fexecve()"
if [ $source = qemu ]; then
	for how in '' link; do
		# shellcheck disable=SC2086
		guard "$AUXTAP" record --source qemu -o none -- ./nameless $how >/dev/null 2>err
		[ $? -eq 7 ] || fail "fexecve $how: another status: $(tail -n 2 err)"
		grep -q 'not traced from here on: .*a program that only a descriptor names' err ||
			fail "fexecve $how: $(cat err)"
		"$AUXTAP" report none | grep -q 'no gaps' && fail "fexecve $how: 'no gaps'"
	done
fi

# what generated code has computed; and where it runs off its end: the last instruction was before
cat >made.c <<'EOF'
#include <string.h>
#include <sys/mman.h>
int main(int argc, char **argv)
{
	/* imul $0x1001, %rdi, %rax; mov (%rax), %rax; ret */
	static const unsigned char code[] = {0x48, 0x69, 0xc7, 1, 0x10, 0, 0, 0x48, 0x8b, 0, 0xc3};
	unsigned char *page = mmap((void *)0x200000000, 8192, PROT_READ | PROT_WRITE,
				   MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);

	memset(page, 0x90, 4096);
	memcpy(page, code, sizeof(code));
	mprotect(page, 4096, PROT_READ | PROT_EXEC);
	return (int)((long (*)(long))(page + (argc > 1 ? 0xf00 : 0)))(0x1234);
}
EOF
cc -g -O1 -o made made.c || fail "made: not built"
if [ $source = qemu ]; then
	guard "$AUXTAP" crash --source qemu --values -o made.data -- ./made >/dev/null 2>err
	sed '/^$/q' made.data.report.txt >made.txt
	grep -q '^  The pointer was computed by 0x200000000 \[generated code\]$' made.txt ||
		fail "made: $(cat made.txt)"
fi
guard "$AUXTAP" crash --source $source -o made.data -- ./made off >/dev/null 2>err
sed '/^$/q' made.data.report.txt >made.txt
grep -q 'last traced in 0x200000fff \[generated code\]$' made.txt &&
	grep -q '^  it went on at 0x200001000, which is mapped' made.txt || fail "made off: $(cat made.txt)"
finish
