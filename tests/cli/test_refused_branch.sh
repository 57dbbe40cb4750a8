# SPDX-License-Identifier: BSD-2-Clause
# Branches to addresses that cannot exist, and the registers after a system call: the qemu engine
# reports what the processor does (the ptrace engine).
. "$(dirname "$0")/lib.sh"
command -v cc >/dev/null || skip "no C compiler"
[ "$(uname -m)" = x86_64 ] || skip "the programs are for x86-64"
command -v qemu-x86_64 >/dev/null && [ -e "$BIN/auxtap-qemu.so" ] || skip "no qemu engine"

# The stack pointer is 16-byte aligned at the start; r12 has it, for the distances below.
cat >program.S <<'S'
	.globl _start
_start:	mov %rsp, %r12
	mov $39, %eax
	syscall
	movabs $0x4141414141414141, %rax
	push $0
	push $0
	push %rax
	call f
f:	add $8, %rsp
	.globl branch
branch:	BRANCH
	hlt
S
cc -E program.S >/dev/null 2>&1 || skip "no assembler"

# registers ENGINE: those that do not depend on where the stack is, and the stack pointer's distance
registers() {
	sed -n '/^Registers/,/^$/p' "$1.report.txt" | tr -s ' ' '\n' |
		awk '/^(r..?|eflags)$/ { name = $0; next } name { print name, $0; name = "" }' >"$1.regs"
	local rsp r12
	rsp=$(sed -n 's/^rsp //p' "$1.regs") r12=$(sed -n 's/^r12 //p' "$1.regs")
	[ -n "$rsp" ] && [ -n "$r12" ] || { fail "$1: no registers"; return 1; }
	echo "below $((16#$r12 - 16#$rsp))"
	grep -E '^(rax|rcx|rip) ' "$1.regs"
	# the processor sets RF (0x10000) when it stores the flags of a fault
	echo "r11 $((16#$(sed -n 's/^r11 //p' "$1.regs") & ~0x10000))"
}

for branch in 'ret' 'ret $16' 'repz ret' 'jmp *%rax' 'call *%rax'; do
	cc -nostdlib -static -no-pie -DBRANCH="$branch" -o program program.S 2>cc.err ||
		skip "cc: $(tail -n 1 cc.err)"
	for engine in qemu ptrace; do
		rm -f $engine*
		"$AUXTAP" crash --source $engine -o $engine -- ./program >/dev/null 2>err
		[ -e $engine.report.txt ] || {
			fail "$branch, $engine: no report: $(cat err)"
			finish
		}
		{
			sed -n '1s/(pid [0-9]*)//p; 2p; /^Faulting/,/^ *0x/p' $engine.report.txt
			registers $engine
			sed -n '/^Last branches/,/^$/p' $engine.report.txt
			sed -n 's/^ *\([0-9]* instructions, [0-9]* branches\) .*/\1/p' \
				$engine.report.txt
		} >$engine.facts
		"$AUXTAP" decode --events insn -F ip $engine >$engine.insns 2>err ||
			fail "$branch, $engine: $(tail -n 1 err)"
	done
	diff ptrace.facts qemu.facts >diff || fail "$branch: $(cat diff)"
	cmp -s ptrace.insns qemu.insns || fail "$branch: the instructions differ"
	grep -q '0x4141414141414141, which is no address at all' qemu.facts ||
		fail "$branch: the cause is not named: $(sed -n 2p qemu.facts)"
	at=$(nm program | sed -n 's/ T branch$//p')
	grep -q "^rip $at\$" qemu.facts || fail "$branch: rip is not $at: $(grep rip qemu.facts)"
	grep -q '^below 24$' qemu.facts || fail "$branch: the stack pointer: $(grep below qemu.facts)"
	[ "$(tail -n 1 qemu.insns)" != "0x$at" ] && [ "$(tail -n 1 qemu.insns)" != "$at" ] ||
		fail "$branch: the refused instruction counts as executed"
done
finish
