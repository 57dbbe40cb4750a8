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

# the default engine cannot run it, and says which can
guard "$AUXTAP" crash -- ./m32 2>refused
rc=$?
[ "$rc $(cat refused)" = "125 auxtap: ./m32: not a program for 64-bit x86 or AArch64; qemu cannot \
run it, use --source ptrace" ] || fail "qemu: $rc: $(cat refused)"
finish
