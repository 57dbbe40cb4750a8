# SPDX-License-Identifier: BSD-2-Clause
# A program that overwrites qemu's memory, so that qemu crashes: the report says that, and blames no
# instruction of the program. Bytes that no processor knows are not said to be a limit of qemu.
. "$(dirname "$0")/lib.sh"
needs_qemu_10
[ "$(uname -m)" = x86_64 ] || skip "its programs are for x86-64"
command -v gcc >/dev/null || skip "gcc is not installed"
cat >over.c <<'S'
#include <stdio.h>
#include <string.h>
#include <unistd.h>
int main(void)
{
	unsigned long at, size;

	printf("%d\n", getpid());
	fflush(stdout);
	if (scanf("%lx %lx", &at, &size) != 2)
		return 2;
	memset((void *)at, 0xa5, size);
	puts("written");
	fflush(stdout);
	return 0;
}
S
gcc -g -O1 -o over over.c || { fail "not built"; finish; }
mkfifo in out
overwrite() { # all of qemu's heap; the program itself sees only its own mappings
	local pid heap

	guard "$AUXTAP" crash -o over.data -- ./over <in >out 2>err &
	exec 5>in 6<out
	read -r pid <&6
	heap=$(awk '/\[heap\]/ {print $1}' "/proc/$pid/maps")
	[ -n "$heap" ] || fail "qemu has no heap: $(cat "/proc/$pid/maps")"
	printf '%x %x\n' $((0x${heap%-*})) $((0x${heap#*-} - 0x${heap%-*})) >&5
	cat <&6 >rest
	wait $!
	status=$?
	exec 5>&- 6<&-
}
# a check of glibc in qemu may end it instead: then there is no snapshot, and auxtap says so
for _ in 1 2 3 4 5 6; do
	overwrite
	[ -e over.data.report.txt ] && break
	grep -q 'no snapshot was written' err || fail "no report and no reason: $(tail -n 3 err)"
done
[ $status -eq 139 ] || fail "status $status"
head -n 1 over.data.report.txt | grep -q 'died of SIGSEGV: the emulator itself crashed$' ||
	fail "$(head -n 3 over.data.report.txt)"
grep -E '^(Faulting instruction|Registers|Backtrace|Memory involved)|SIGSEGV here' \
	over.data.report.txt && fail "what is not known is reported"
"$AUXTAP" report --format json over.data >json || fail "no JSON"
grep -q '"emulator_crashed": *true' json || fail "JSON lacks it"

# bytes that neither qemu nor the disassembler knows: whose fault that is, is not known
printf 'int main(void) { __asm__ volatile(".byte 0xc5, 0x83, 0xe3, 0x3f"); return 0; }\n' >bytes.c
gcc -O1 -o bytes bytes.c || fail "bytes.c: not built"
./bytes 2>/dev/null
[ $? -eq 132 ] || fail "bytes: this processor executes them"
guard "$AUXTAP" crash -o bytes.data -- ./bytes 2>/dev/null
grep -q 'died of SIGILL' bytes.data.report.txt || fail "bytes: $(head -n 1 bytes.data.report.txt)"
grep 'limit of the emulator' bytes.data.report.txt && fail "bytes: not a limit of the emulator"
grep -q 'The emulator does not know these bytes' bytes.data.report.txt ||
	fail "bytes: $(head -n 3 bytes.data.report.txt)"
"$AUXTAP" report --format json bytes.data >json || fail "bytes: no JSON"
grep -q '"emulator_limit": *false' json && grep -q '"unknown_instruction": *true' json ||
	fail "bytes: JSON"
# one that every disassembler knows, but qemu does not (vpaddd with 512 bits)
printf 'int main(void) { __asm__ volatile("vpaddd %%zmm1, %%zmm2, %%zmm3"); return 0; }\n' >wide.c
gcc -O1 -o wide wide.c || fail "wide.c: not built"
guard "$AUXTAP" crash -o wide.data -- ./wide 2>/dev/null
grep -q 'This is a limit of the emulator' wide.data.report.txt ||
	fail "wide: $(head -n 3 wide.data.report.txt)"
finish
