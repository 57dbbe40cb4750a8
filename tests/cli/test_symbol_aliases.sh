# SPDX-License-Identifier: BSD-2-Clause
# Several functions of a library have one address: what is shown is the name that the program
# imports, or one of a class of which it imports something; also in a packed recording, and where
# the program before an exec imports another one.
. "$(dirname "$0")/lib.sh"
needs_qemu_10
command -v gcc g++ >/dev/null || skip "gcc or g++ is not installed"
for fn in strtol strtoll strtoimax strtoq; do
	cat >$fn.c <<S
#include <inttypes.h>
#include <stdlib.h>
#include <unistd.h>
/* in memory: no PLT entry has the name */
static __typeof__($fn) *volatile parse = $fn;
int main(int argc, char **argv)
{
	volatile long n = (long)parse(argv[1], 0, 10);
	if (argc > 2)
		execv(argv[2], argv + 2);
	*(volatile int *)n = 1;
	return 0;
}
S
	gcc -D_GNU_SOURCE -g -O1 -o $fn $fn.c || { fail "$fn: not built"; finish; }
done
# the address has the four names
nm -D --defined-only "$(ldd ./strtol | awk '/libc\.so/ {print $3}')" | sed 's/@.*//' >names
same=$(awk '$3 == "strtol" {print $1}' names)
for fn in strtoll strtoimax strtoq; do
	grep -q "^$same . $fn$" names || skip "this libc has $fn at another address than strtol"
done
shown() { # of the functions that the report FILE names, those of this address
	sed -n '/^The calls that led/,/^Last branches/p' "$1" |
		grep -oE '\b(strtol|strtoll|strtoimax|strtoq|__strtol|__strtoll)  ' |
		sort -u | tr -d ' '
}
same_when_packed() { # NAME: of NAME.data
	"$AUXTAP" pack --redact -o $1.packed $1.data 2>pack.err || fail "pack: $(cat pack.err)"
	"$AUXTAP" decode --events branch -F ip,sym,addr $1.data >plain.out 2>/dev/null
	"$AUXTAP" decode --events branch -F ip,sym,addr $1.packed >packed.out 2>/dev/null
	grep -q "$1" plain.out || fail "decode does not name $1"
	cmp -s plain.out packed.out ||
		fail "packed: $(diff plain.out packed.out | grep '^[<>]' | head -n 4)"
}
for fn in strtol strtoll strtoimax strtoq; do
	guard "$AUXTAP" crash -o $fn.data -- ./$fn 16 2>/dev/null
	[ "$(shown $fn.data.report.txt)" = $fn ] ||
		fail "$fn is shown as '$(shown $fn.data.report.txt)'"
	same_when_packed $fn
done
guard "$AUXTAP" crash -o exec.data -- ./strtoimax 16 ./strtoll 16 2>/dev/null
[ "$(shown exec.data.report.txt)" = strtoll ] ||
	fail "after an exec: '$(shown exec.data.report.txt)' for strtoll"

cat >error.h <<'S'
#include <cstring>
#include <exception>
void thrower(int n);
__attribute__((noinline)) static int length(const std::exception &e) { return strlen(e.what()); }
int main(int argc, char **argv)
{
	try {
		thrower(argc);
	} catch (const std::exception &e) {
		*(volatile int *)(long)length(e) = 1;
	}
}
S
for class in logic_error runtime_error; do
	{
		printf '#include <stdexcept>\n#include "error.h"\n'
		printf 'void thrower(int n) { if (n) throw std::%s("x"); }\n' $class
	} >$class.cc
	g++ -g -O0 -o $class $class.cc || { fail "$class: not built"; finish; }
	guard "$AUXTAP" crash -o $class.data -- ./$class 2>/dev/null
	sed '/^Next$/,$d' $class.data.report.txt >$class.txt
	grep -q "std::$class::what() const" $class.txt || fail "$class::what() is not shown"
	grep "_error::what()" $class.txt | grep -v "std::$class::what()" &&
		fail "another class's what() is shown for $class"
	same_when_packed $class
done
# a name that another file imports, but that this one does not export
printf 'void __attribute__((weak)) stop(void);\nint has(void) { return stop != 0; }\n' >lib.c
cat >label.c <<'S'
int has(void);
__attribute__((noinline)) static int parse(int *at)
{
	__asm__ volatile("" : : "r"(at));
	return *(volatile int *)at;
}
/* a local label at the function's address, without type and size */
__asm__(".set stop, parse");
int main(void) { return parse((int *)8) + has(); }
S
gcc -shared -fPIC -o lib.so lib.c && gcc -g -O0 -o label label.c ./lib.so ||
	fail "label: not built"
guard "$AUXTAP" crash -o label.data -- ./label 2>/dev/null
grep -q '^label .* in parse at label.c' label.data.report.txt ||
	fail "label: $(head -n 1 label.data.report.txt)"

# of more names of one address than are kept, the second, which is imported
{
	echo '.text'
	i=0
	while [ $i -lt 60000 ]; do
		echo ".globl n$i; .type n$i, @function; n$i:"
		i=$((i + 1))
	done
	echo 'mov 8, %eax; ret'
	for n in n0 n1 n59999; do echo ".size $n, . - $n"; done
} >many.s
printf 'int n1(void);\nint main(void) { return n1(); }\n' >many.c
gcc -shared -o many.so many.s && gcc -o many many.c ./many.so || fail "many: not built"
guard "$AUXTAP" crash -o many.data -- ./many 2>/dev/null
grep -q ' in n1 ' many.data.report.txt ||
	fail "many: $(head -n 1 many.data.report.txt)"
finish
