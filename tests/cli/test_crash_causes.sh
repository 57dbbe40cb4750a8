# SPDX-License-Identifier: BSD-2-Clause
# The cause of a death in the report's text, with both execution engines: the second line of the
# report. (tests/unit/decode/report/test_fault.c tests more of them.)
. "$(dirname "$0")/lib.sh"
command -v gcc >/dev/null || skip "gcc is not installed"
gcc -g -O0 -fno-stack-protector -pthread -w -o causes "$SRC/tests/cli/frames/causes.c" ||
	{ fail "causes: not built"; finish; }
# for single steps, most of which the dynamic program would take in ld.so
mkdir static
gcc -g -O0 -fno-stack-protector -pthread -static -w -o static/causes \
	"$SRC/tests/cli/frames/causes.c" 2>cc.err ||
	{ echo "ptrace: not linked statically: $(tail -n 1 cc.err)"; cp causes static/; }

# cause ENGINE WHICH STATUS TEXT
cause() {
	local status why program=./causes
	rm -f data*
	[ "$1" = qemu ] || program=static/causes
	"$AUXTAP" crash --source "$1" -o data -- $program "$2" >stdout 2>stderr </dev/null
	status=$?
	[ "$status" -eq "$3" ] || fail "$1 $2: status $status, not $3: $(tail -n 2 stderr)"
	[ -s data.report.txt ] || { fail "$1 $2: no report: $(tail -n 3 stderr)"; return; }
	why=$(sed -n 2,4p data.report.txt |
		sed -n '/^  called from/d; /^  reached from/d; /^  [a-z]/p' | head -n 1)
	[[ $why == *"$4"* ]] || fail "$1 $2: '$4' is not in: $(head -n 4 data.report.txt)"
	grep -q 'limit of the emulator' data.report.txt && fail "$1 $2: not a limit of the emulator"
}

# insn TEXT: the instruction shown as the faulting one; empty: none
insn() {
	local shown
	shown=$(sed -n '/^Faulting instruction/{n;s/^  0x[0-9a-f]* *//p}' data.report.txt)
	[ "$shown" = "$1" ] || fail "$engine: faulting instruction '$shown', not '$1'"
}

# no_frame ENGINE SIGNAL: the report says that its handler could not be started, not that it ran
no_frame() {
	grep -q "^  The program's own handler for $2 could not be started: the kernel could not write its frame" \
		data.report.txt || fail "$1 $2: $(head -n 4 data.report.txt)"
	grep "went to the program's own handler" data.report.txt && fail "$1 $2: the handler did not run"
	grep -q '^  no gaps: complete from the first instruction$' data.report.txt ||
		fail "$1 $2: $(sed -n '/^What the trace/,/^$/p' data.report.txt)"
}

version=$("$BIN/auxtap-emu" engines | awk -F '\t' '$1 == "x86_64" { print int($2) }')
: "${version:=0}"
engines=()
command -v qemu-x86_64 >/dev/null && engines+=(qemu) || echo "qemu: not installed"
engines+=(ptrace)
for engine in "${engines[@]}"; do
	cause "$engine" overflow 136 'integer overflow: the most negative number divided by -1'
	cause "$engine" movaps 139 '(16 bytes); movaps needs an address that is a multiple of 16'
	cause "$engine" hlt 139 'hlt is a privileged instruction'
	cause "$engine" word_call 139 'it calls 0x4141414141414141, which is no address at all'
	insn 'callq *8(%rax)'
	cause "$engine" word_jump 139 'it jumps to 0x4141414141414141, which is no address at all'
	cause "$engine" word_divide 136 'integer division by zero'
	cause "$engine" new_page 139 'hlt is a privileged instruction'
	cause "$engine" new_closed 139 ' (1 byte); it is mapped ---p'
	cause "$engine" thread_stack 139 'the guard page below the stack: the stack is exhausted'
	sed -n '/^Backtrace/,/^$/p' data.report.txt | grep -q ' run at .*causes.c' ||
		fail "$engine thread_stack: the backtrace does not reach the thread's function"
	cause "$engine" thread_guard 139 'the guard page below the stack, far from the stack pointer'
	if [ "$engine" = ptrace ]; then # qemu's own memory may be there
		cause ptrace thread_below 139 'nothing is mapped there'
		grep exhausted data.report.txt && fail "thread_below: it is not exhausted"
	fi
	cause "$engine" frame_segv 139 'the guard page below the stack: the stack is exhausted'
	no_frame "$engine" SIGSEGV
	cause "$engine" frame_fpe 139 'it cannot write the frame of a signal handler to the stack'
	insn 'idivl %ecx'
	no_frame "$engine" SIGFPE
	cause "$engine" frame_alrm 139 'it cannot write the frame of a signal handler to the stack'
	[ "$engine" = ptrace ] && no_frame ptrace SIGALRM
	above='nothing is mapped there: it lies just above the stack'
	# before version 10 qemu maps the program's interpreter there
	[ "$engine" = qemu ] && [ "$version" -lt 10 ] && above='it wrote to'
	cause "$engine" above_stack 139 "$above"
	grep -q QEMU stderr && fail "$engine above_stack: $(grep QEMU stderr)"
	cause "$engine" shared 139 'it is mapped r--s'
	cause "$engine" int3 133 'it ran into int3, a breakpoint, without a debugger'
	grep -q '^  0x[0-9a-f]*  int3' data.report.txt ||
		fail "$engine int3: $(grep -A1 '^Faulting' data.report.txt)"
	cause "$engine" int_3 133 'it ran into int $3, a breakpoint, without a debugger'
	cause "$engine" lock 132 'the bytes at this address are no instruction of this processor'
	cause "$engine" selector 139 'mov loads ds with a selector that programs may not use'
	cause "$engine" file_limit 153 'the kernel sent it: the last system call would have made a file'
	insn ''
	cause "$engine" time_limit 152 'the kernel sent it: the limit of processor time is reached'
	insn ''
	if [ "$engine" = ptrace ] && { ./causes filter_kill 2>/dev/null; [ $? -eq 159 ]; }; then
		cause ptrace filter_kill 159 'a seccomp filter does not allow the system call socket (41)'
		insn syscall
		cause ptrace filter_trap 159 'a seccomp filter does not allow the system call socket (41)'
		insn syscall
	fi
	[ "$engine" = ptrace ] && continue # the rest does not depend on the engine
	"$AUXTAP" crash --source qemu -o data -- ./causes filter_trap >stdout 2>stderr </dev/null
	status=$?
	[ "$status" -eq 77 ] || fail "qemu filter_trap: status $status, not 77"
	grep -q "qemu has no seccomp: the program's request for it failed; use --source ptrace" \
		stderr ||
		fail "seccomp refused without a message: $(cat stderr)"
	cause "$engine" leave_main 139 'it wrote to 0x0 (4 bytes); a null pointer'
	cause "$engine" file_raise 153 'the program sent it to itself'
	cause "$engine" file_kill 153 'the program sent it to itself, or the kernel did'
	cause "$engine" sys_raise 159 'the program sent it to itself'
	cause "$engine" sys_default 159 'the program sent it to itself'
	cause "$engine" int1 133 'it ran into int1, a breakpoint, without a debugger'
	insn int1
	cause "$engine" abort 134 'the program called abort()'
	cause "$engine" abrt_raise 134 'the program sent it to itself'
	cause "$engine" assert 134 'the C library called abort(), from __assert_fail: an assertion failed'
	cause "$engine" free 134 'the C library called abort()'
	cause "$engine" ud1 132 'it ran into ud1, the instruction that compilers put where'
	cause "$engine" out 139 'out'
	cause "$engine" control 139 'mov of a control or debug register is privileged'
	cause "$engine" kernel 139 "it lies in the kernel's half of the address space"
	cause "$engine" shared_changed 139 'it is mapped r--s'
	# qemu 7 keeps it mapped
	[ "$engine" = qemu ] && [ "$version" -lt 10 ] ||
		cause "$engine" trimmed 139 ' (1 byte); nothing is mapped there'
	cause "$engine" small 139 'it read from 0xbb8 (4 bytes); nothing is mapped there; rax is 0xbb8'
	cause "$engine" across 139 'ffd (8 bytes), which failed at 0x'
	cause "$engine" across 139 '000; nothing is mapped there'
	cause "$engine" across10 139 'ffd (10 bytes), which failed at 0x'
	cause "$engine" constant 139 'it wrote to 0x8 (4 bytes); nothing is mapped there: the address is a constant, as'
	cause "$engine" constant_0 139 'it read from 0x0 (4 bytes); a null pointer'
	cause "$engine" null 139 'nothing is mapped there: a null pointer and a small offset'
done

# si_code, too, is that of the mapping: 2 is SEGV_ACCERR
if command -v gdb >/dev/null; then
	"$AUXTAP" crash --core -o data -- ./causes new_closed >stdout 2>stderr </dev/null
	code=$(gdb -batch -nx -ex 'print $_siginfo.si_code' ./causes data.core 2>&1 | tail -n 1)
	[ "$code" = '$1 = 2' ] || fail "new_closed: si_code: $code"
fi

# Jumps to missing code. That does not prove that a return address was overwritten
# (tests/cli/crash.sh: stack_smash has one that was).
gcc -g -O1 -fno-stack-protector -w -o jumps "$SRC/tests/cli/frames/jumps.c" -ldl &&
	gcc -g -O1 -w -DPLUGIN -shared -fPIC -o plugin.so "$SRC/tests/cli/frames/jumps.c" ||
	{ fail "jumps: not built"; finish; }

# jump ENGINE WHICH TEXT...: each TEXT must be in the head of the report
jump() {
	local engine=$1 which=$2 text
	shift 2
	rm -f data*
	"$AUXTAP" crash --source "$engine" -o data -- ./jumps "$which" ./plugin.so \
		>stdout 2>stderr </dev/null
	sed -n '1,/^$/p' data.report.txt >head
	for text; do
		grep -q -- "$text" head || fail "$engine $which: '$text' is not in: $(cat head)"
	done
	grep overwritten head && fail "$engine $which: no return address was overwritten"
}

# frames_are NAME...: the backtrace of the report begins with these
frames_are() {
	sed -n 's/^  #[0-9]*  \([^ ]*\).*/\1/p' data.report.txt | head -n $# | paste -sd' ' >names
	[ "$(cat names)" = "$*" ] || fail "frames $*: $(sed -n '/^Backtrace/,/^$/p' data.report.txt)"
}

for engine in "${engines[@]}"; do
	jump "$engine" noexec 'it returned to 0x[0-9a-f]*, to its caller no_longer (jumps.c:[0-9]*), whose code is mapped r--p, no longer executable$'
	grep -q '^  #0  no_longer at ' data.report.txt &&
		grep -q '^  #1  main at ' data.report.txt ||
		fail "$engine noexec: $(sed -n '/^Backtrace/,/^$/p' data.report.txt)"
	[ "$engine" = ptrace ] && continue # the rest does not depend on the engine
	jump "$engine" unload ', from unload at' 'to its caller plugin_event (jumps.c:[0-9]*), whose code is no longer mapped$'
	jump "$engine" context 'it returned to 0x5550, where nothing is mapped, and not to the innermost call that had not returned, which was from bad_context (jumps.c:'
	jump "$engine" push 'it returned to 0x5550, where nothing is mapped, and not to the innermost call that had not returned, which was from main (jumps.c:'
	jump "$engine" middle 'it wrote to 0x0 (1 byte); a null pointer'
	sed -n '/^Backtrace/,/^$/p' data.report.txt >frames
	[ "$(grep -c '^  #' frames)" = 1 ] &&
		grep -q "^  The return address of this call is not where" frames &&
		grep -A1 '^  Known from the trace' frames | grep -q '^      main at ' ||
		fail "$engine middle: $(cat frames)"
	# the frames are those of the jump; without it where that function had left its own
	jump "$engine" goto ', from interpret at' 'it jumped to 0x5550, where nothing is mapped$'
	frames_are '0x5550' interpret main
	jump "$engine" tail ', from tail at' 'it jumped to 0x5550, where nothing is mapped$'
	frames_are '0x5550' before_tail main
	jump "$engine" data 'it called .* mapped rw-p, .*/jumps, not executable; it is in price (jumps.c:[0-9]*)$'
	jump "$engine" raise 'that instruction faults again: it wrote to 0x60 (1 byte); nothing is mapped there'
	grep -q '^  no gaps: complete from the first instruction$' data.report.txt ||
		fail "$engine raise: $(sed -n '/^What the trace/,/^$/p' data.report.txt)"
	# the ptrace engine does not save what it executes
	if [ "$engine" = qemu ]; then
		jump "$engine" generated ' in 0x[0-9a-f]*002 \[generated code\]$' \
			'it wrote to 0x0 (4 bytes); a null pointer'
		sed -n '/^Last branches/,/^$/p' data.report.txt | grep SIGSEGV -B 1 |
			grep -q '^  call  *run (jumps.c:.*) .*-> 0x.*000 \[generated code\]$' ||
			fail "$engine generated: $(sed -n '/^Last branches/,/^$/p' data.report.txt)"
		grep -q '^ *1  *0x.*000 \[generated code\] .* <- SIGSEGV here$' \
			data.report.txt ||
			fail "$engine generated: $(sed -n '/^The calls/,/^Last/p' data.report.txt)"
		grep -q '^  no gaps: complete from the first instruction$' data.report.txt ||
			fail "$engine generated: $(sed -n '/^What the trace/,/^$/p' data.report.txt)"
	else
		jump "$engine" generated ' in anon+0x2$' 'it wrote to 0x0 (4 bytes); a null pointer'
		sed -n '/^Last branches/,/^$/p' data.report.txt | tail -n 2 |
			grep -q '^  -- gap: no_image --$' ||
			fail "$engine generated: $(sed -n '/^Last branches/,/^$/p' data.report.txt)"
		grep -qE '^ +[0-9]+ +run .* \?$' data.report.txt &&
			grep -q '^  ?: it was open when a gap began' data.report.txt ||
			fail "$engine generated: $(sed -n '/^The calls/,/^Last/p' data.report.txt)"
		grep -q '^  anonymous memory: code written at run time, 1 gap without it; the snapshot holds [1-9][0-9]* bytes of it$' \
			data.report.txt ||
			fail "$engine generated: $(sed -n '/^Images/,/^$/p' data.report.txt)"
		grep -- '--sysroot' data.report.txt && fail "$engine generated: no directory has anonymous memory"
	fi
	grep -q '^  #1  run at .*jumps.c:' data.report.txt &&
		grep -q '^  #2  main at ' data.report.txt ||
		fail "$engine generated: $(sed -n '/^Backtrace/,/^$/p' data.report.txt)"
	if [ "$engine" = qemu ]; then
		jump "$engine" unmap ', from unmap at' \
			'it returned to .*, to its caller 0x[0-9a-f]* \[generated code\], whose code is no longer mapped$'
	else
		jump "$engine" unmap ', last traced in unmap at' \
			'it went on at 0x[0-9a-f]*, where nothing is mapped$'
	fi
done

# libgcc's check of a signed overflow, in the program (C) and in its shared library (C++)
echo 'int main(int n, char **v) { int x = 2147483647; (void)v; x += n; return x; }' >overflow.c
for compiler in gcc 'g++ -x c++'; do
	$compiler -g -O0 -ftrapv -o overflow overflow.c || fail "overflow: not built"
	"$AUXTAP" crash -o overflow.data -- ./overflow >stdout 2>stderr </dev/null
	text="  the compiler's runtime library called abort(), from __addvsi3: a signed integer overflowed"
	grep -qxF "$text" overflow.data.report.txt ||
		fail "$compiler -ftrapv: $(sed -n '1,/^$/p' overflow.data.report.txt)"
done

# a program that is removed while it runs: no file says how its frames are unwound
cat >removed.c <<'C'
#include <unistd.h>
int main(int n, char **v) { unlink(v[0]); return *(volatile int *)(long)(n - 1); }
C
gcc -g -O2 -fomit-frame-pointer -o removed removed.c || fail "removed: not built"
"$AUXTAP" crash -o removed.data -- ./removed >stdout 2>stderr </dev/null
text='  No file with the unwind information of that code could be read: further frames are not known.'
grep -qxF "$text" removed.data.report.txt ||
	fail "removed: $(sed -n '/^Backtrace/,/^$/p' removed.data.report.txt)"

# frames larger than the page that faults below a stack; a stack without a limit
cat >frames.c <<'C'
#include <stdlib.h>
static volatile char sink;
__attribute__((noinline)) static int deep(int n, int max)
{
	volatile char large[70000];
	large[0] = (char)n;
	sink = large[0];
	return n < max ? deep(n + 1, max) + large[0] : 0;
}
int main(int n, char **v) { return n > 1 && deep(0, atoi(v[1])) == 1 << 30; }
C
gcc -g -O1 -o frames frames.c || fail "frames: not built"
"$AUXTAP" crash -o frames.data -- ./frames 1000000 >stdout 2>stderr </dev/null
text='^  it wrote to 0x.*; it lies just below the stack: the stack is exhausted$'
grep -q "$text" frames.data.report.txt ||
	fail "frames: $(sed -n '1,/^$/p' frames.data.report.txt)"
(ulimit -s unlimited &&
	"$AUXTAP" crash -o frames.data -- ./frames 1000 >stdout 2>stderr </dev/null) ||
	fail "a stack without a limit: $(cat stderr)"

# it dies while the dynamic linker looks for the function: that has not been called
cat >lazy.c <<'C'
#include <stdio.h>
extern void *_GLOBAL_OFFSET_TABLE_[];
int main(void) { _GLOBAL_OFFSET_TABLE_[1] = (void *)16; return puts("never"); }
C
gcc -g -O1 -no-pie -fno-pie -Wl,-z,lazy,-z,norelro -o lazy lazy.c || fail "lazy: not built"
"$AUXTAP" crash -o lazy.data -- ./lazy >stdout 2>stderr </dev/null
grep -q '^ *[0-9]* *puts@plt  *lazy  \.\.\.$' lazy.data.report.txt &&
	! grep -q ' puts ' lazy.data.report.txt ||
	fail "lazy: $(sed -n '/^The calls/,/^Last/p' lazy.data.report.txt)"

# without line numbers the function is "in" its program, which is not a source location
gcc -O0 -fno-stack-protector -pthread -w -o bare "$SRC/tests/cli/frames/causes.c" || fail "bare: not built"
"$AUXTAP" crash -o bare.data -- ./bare null >stdout 2>stderr </dev/null
head -n 1 bare.data.report.txt | grep -q ' in [a-z_]* in bare$' ||
	fail "bare: 'in FUNCTION in bare' is not in: $(head -n 1 bare.data.report.txt)"
finish
