# SPDX-License-Identifier: BSD-2-Clause
# A 32-bit program dies: it is not traced, but it ends, and the report says only what is known of
# it. Once as the first program, once after an exec by a traced one.
. "$(dirname "$0")/lib.sh"
"$AUXTAP" list 2>/dev/null | grep -q 'ptrace: available' || skip "the engine ptrace is missing"
cat >m32.s <<'S'
	.text
	.globl _start
_start:	call f
	hlt
	.type f,@function
f:	mov 0,%eax
	ret
	.size f,.-f
S
as --32 -g -o m32.o m32.s && ld -m elf_i386 -o m32 m32.o || { fail "m32: not built"; finish; }
(./m32) 2>/dev/null
rc=$?
[ $rc = 139 ] || skip "no 32-bit programs on this kernel (exit $rc)"
f=0x$(nm m32 | sed -n 's/^0*\([0-9a-f]*\) t f$/\1/p')

unknown='Variables and further frames are not known.'
# death NAME STATUS PROGRAM...: what the reports of both deaths have in common
death() {
	local name=$1 status=$2 rc=0
	shift 2
	guard "$AUXTAP" crash --source ptrace -o "$name.data" -- "$@" 2>"$name.err" || rc=$?
	mv "$name.data.report.txt" "$name.txt" || fail "$name: no report"
	[ $rc = "$status" ] || fail "$name: exit $rc: $(tail -n 2 "$name.err")"
	{
		sed -n "/^m32 (pid/,+1p" "$name.txt" | sed 's/ (pid [0-9]*)//'
		grep -A 1 '^Faulting' "$name.txt"
		grep -A 2 '^Backtrace' "$name.txt"
	} >found
	diff - found <<-S || fail "$name: another report"
		m32 died of SIGSEGV: segmentation fault in f at m32.s:6
		  it touched 0x0; nothing is mapped there
		Faulting instruction
		  $f  movl 0, %eax
		Backtrace
		  #0  f at $WORK/m32.s:6
		  This is 32-bit code, of which the stack is not read. $unknown
	S
	grep -q '<- SIGSEGV here' "$name.txt" && fail "$name: a call of a traced program has the signal"
	"$AUXTAP" report --format json "$name.data" >"$name.json" || fail "$name: no JSON"
	python3 -B "$SRC/tests/tools/report_text_json.py" "$SRC/docs/report.schema.json" \
		"$name.json" || fail "$name: JSON and text differ"
}
death first 139 ./m32
grep -q 'process [0-9]*: not traced from here on: 32-bit code is not traced' first.err ||
	fail "first: not said: $(cat first.err)"
grep -qx '  no trace in this file: what ran is not known' first.txt || fail "first: what the trace covers"
death shell 3 sh -c './m32; exit 3'
grep -q '== exec: becomes m32 ==$' shell.txt || fail "shell: no exec in the tree"
grep -q "the thread died at $f: what ran between is not known\$" shell.txt ||
	fail "shell: what the trace covers"

# ---- what is not known is not said ----

build() { # NAME BITS: of its source on standard input
	as "--$2" -g -o "$1.o" - && ld -m "$([ "$2" = 32 ] && echo elf_i386 || echo elf_x86_64)" \
		-o "$1" "$1.o" || fail "$1: not built"
}
crash() { # PROGRAM...
	rm -f data*
	guard "$AUXTAP" crash --source ptrace -o data -- "$@" 2>stderr
	rc=$?
}
# a signal whose handler has no stack; an instruction that ran before it is innocent
build no_stack 32 <<'S'
	.globl _start
_start:	mov $67,%eax
	mov $14,%ebx
	mov $handler,%ecx
	xor %edx,%edx
	int $0x80
	mov $27,%eax
	mov $1,%ebx
	int $0x80
	mov $0x1000,%esp
spin:	add $1,%eax
	jmp spin
	.data
handler: .long spin,0,0,0
S
crash ./no_stack
sed 's/ (pid [0-9]*)//' data.report.txt | sed -n 1,3p >head
grep -q '^no_stack died of SIGSEGV: segmentation fault in spin' head &&
	[ "$rc $(sed -n 3p head)" = '139 Registers' ] || fail "no_stack: $rc $(cat head)"
# 4 bytes: as 64-bit code it would write 8
build push 32 <<'S'
	.globl _start
_start:	mov $0x5008,%esp
	push %eax
S
crash ./push
sed -n 2p data.report.txt | grep -q '^  it touched 0x5004; nothing is mapped there' ||
	fail "push: $rc $(sed '/^$/q' data.report.txt)"
# another thread than the first one
build thread 32 <<'S'
	.globl _start
_start:	mov $120,%eax
	mov $0x10f00,%ebx	# CLONE_VM, FS, FILES, SIGHAND, THREAD
	mov $stack,%ecx
	xor %edx,%edx
	xor %esi,%esi
	xor %edi,%edi
	int $0x80
	test %eax,%eax
	jz child
first:	mov $29,%eax		# pause
	int $0x80
	jmp first
child:	mov $20000000,%ecx
1:	dec %ecx
	jnz 1b
	movl $1,0x1234
	.bss
	.space 65536
stack:
S
crash ./thread
[ "$rc" = 139 ] && [ ! -e data.report.txt ] &&
	grep -q '(thread) died of SIGSEGV; no snapshot was written' stderr ||
	fail "thread: $rc $(cat stderr)"
# 32-bit code in a 64-bit program, by a far jump; another thread is single-stepped then, which ends
build far 64 <<'S'
	.globl _start
	.type _start,@function
_start:	mov $56,%eax
	mov $0x10f00,%edi
	lea stack(%rip),%rsi
	xor %edx,%edx
	xor %r10d,%r10d
	xor %r8d,%r8d
	syscall
	test %eax,%eax
	jz child
	call go
child:	mov $300,%ecx
1:	push %rcx
	mov $39,%eax
	syscall
	pop %rcx
	dec %ecx
	jnz 1b
	mov $60,%eax
	xor %edi,%edi
	syscall
	.type go,@function
go:	push $0x23
	lea code32(%rip),%rax
	push %rax
	lretq
	.code32
	.type code32,@function
code32:	mov $100000000,%ecx
1:	dec %ecx
	jnz 1b
	cmpl $1,4(%esp)
	mov 0x10,%eax
	.bss
	.space 65536
stack:
S
crash ./far
grep -q '^far (pid [0-9]*) died of SIGSEGV: segmentation fault in code32' data.report.txt &&
	grep -q 'gap: unknown: 32-bit code, which is not traced' data.report.txt &&
	! grep -q '<- SIGSEGV here' data.report.txt || fail "far: $rc $(sed '/^$/q' data.report.txt)"
"$AUXTAP" gdb data -- -batch 2>stderr && fail "far: gdb shows it"
grep -q 'died in 32-bit code' stderr || fail "far: gdb: $(cat stderr)"
grep -q '^  auxtap gdb' data.report.txt && fail "far: gdb is recommended"
# programs that ran one after the other, none of them traced
build next 32 <<'S'
	.globl _start
_start:	mov 8(%esp),%ebx
	lea 8(%esp),%ecx
	xor %edx,%edx
	mov $11,%eax
	int $0x80
S
ln next other
crash sh -c 'exec ./next ./other ./m32'
grep -o 'exec: becomes [a-z0-9]*' data.report.txt | sed 's/.* //' | paste -sd' ' >names
[ "$(cat names)" = 'next other m32' ] || fail "execs: $(cat names)"
# it is dying while the recorder is stopped; if that is killed then, nothing stays
late=late$$ dies=dies$$ # names of this run
cat >late.s <<'S'
	.globl _start
_start:	mov $35,%eax
	lea time(%rip),%rdi
	xor %esi,%esi
	syscall
	mov $59,%eax
	lea name(%rip),%rdi
	lea args(%rip),%rsi
	xor %edx,%edx
	syscall
	.data
time:	.quad 2,0
args:	.quad name,0
name:	.asciz "./NAME"
S
sed "s/NAME/$dies/" late.s >named.s
build "$late" 64 <named.s
ln m32 "$dies"
wait_for() { for _ in $(seq 3000); do "$@" && return; sleep 0.1; done; }
runs() { pgrep -x "$1" >/dev/null; }
gone() { ! runs "$dies"; }
dies_while_stopped() { # SIGNAL: what the recorder gets then
	rm -f data*
	"$AUXTAP" crash --source ptrace -o data -- "./$late" >/dev/null 2>&1 &
	recorder=$!
	wait_for runs "$late"
	kill -STOP $recorder
	wait_for runs "$dies"
	runs "$dies" || fail "$1: it did not run: $(ps -o pid,stat,comm -C "$late,auxtap-emu")"
	sleep 0.5
	kill "-$1" $recorder
	wait $recorder 2>/dev/null
	wait_for gone
	gone && return
	fail "$1: it stays: $(ps -o pid,stat,comm -C "$dies,auxtap-emu")"
	pkill -KILL -x "$dies"
}
dies_while_stopped KILL
# the recorder's answer to the exec comes when the program is dying
dies_while_stopped CONT
grep -q ' died of SIGSEGV: segmentation fault in f at m32.s:6$' data.report.txt ||
	fail "CONT: $(sed '/^$/q' data.report.txt)"

# the default engine cannot run it, and says which can
guard "$AUXTAP" crash -- ./m32 2>refused
rc=$?
[ "$rc $(cat refused)" = "125 auxtap: ./m32: not a program for 64-bit x86 or AArch64; qemu cannot \
run it, use --source ptrace" ] || fail "qemu: $rc: $(cat refused)"
finish
