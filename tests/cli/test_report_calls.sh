# SPDX-License-Identifier: BSD-2-Clause
# The tree of calls: --calls N prints N lines, and the number of calls farther out; a call is named
# by the called function, not by code inlined at its start.
. "$(dirname "$0")/lib.sh"
command -v gcc >/dev/null || skip "gcc is not installed"

calls() { "$AUXTAP" report "$@" | sed -n '/^The calls/,/^Last/p'; }
# The open calls of a tree, from the outermost inward: "main f g".
open_calls() {
	sed -nE 's/^ +[0-9]+ +(.*)/\1/p' "$1" |
		sed -nE 's/ +[^ ]*  (\.\.\.|<- SIG.*)$//p; s/ +\.\.\.$//p' |
		sed -E 's/  \([0-9]+ calls? not shown\)//; s/ +$//' | tr '\n' ' ' | sed 's/ $//'
}

# 500 calls and main, then the start-up code
gcc -g -O0 -o deep "$SRC/tests/cli/frames/deep.c" || fail "deep: not built"
"$AUXTAP" crash -o deep.data -- ./deep 500 >stdout 2>stderr </dev/null
[ -s deep.data ] || { fail "deep: no snapshot: $(tail -n 2 stderr)"; finish; }
for n in 1 2 7 40 41 100 450; do
	calls --calls $n deep.data >calls
	lines=$(grep -cE '^ +[0-9]+  ' calls)
	[ "$lines" -le $n ] || fail "--calls $n: $lines lines"
	grep -qE '^ +[0-9]+ +depth, depth 501 \(recursive\) .*<- SIGSEGV here$' calls ||
		fail "--calls $n: $(cat calls)"
	# main and its callers are farther out, where there are no lines for them
	[ $n -gt 1 ] || grep -qE ' \([2-9] calls farther out\)$' calls || fail "--calls 1: $(cat calls)"
	[ $n -lt 7 ] || grep -qE ' main .* \.\.\.$' calls || fail "--calls $n: no main: $(cat calls)"
done
calls --calls 2000 deep.data >calls
grep -q 'farther out' calls && fail "--calls 2000: not all are shown"
depths=$(grep -cE '^ +[0-9]+ +depth ' calls)
[ "$depths" -eq 501 ] || fail "--calls 2000 shows $depths calls of depth, not 501"

# deeper than there are nodes; functions that call each other in a circle, and die in another one
"$AUXTAP" crash -o deeper.data -- ./deep 104829 >stdout 2>stderr </dev/null
calls deeper.data >calls
grep -B 5 -E '^ +[0-9]+ +depth, depth 104830 \(recursive\) .*<- SIGSEGV here$' calls |
	grep -q ' main ' ||
	fail "104830 calls deep: $(cat calls)"
cat >circle.c <<'C'
static int *volatile wrong;
static int dies(void) { return *wrong; }
static int first(int n);
static int third(int n) { return n ? first(n - 1) + 1 : dies(); }
static int second(int n) { return third(n) + 1; }
static int first(int n) { return second(n) + 1; }
int main(void) { return first(9999); }
C
gcc -g -O0 -o circle circle.c || fail "circle: not built"
"$AUXTAP" crash -o circle.data -- ./circle >stdout 2>stderr </dev/null
calls circle.data >calls
sed -nE 's/^ +[0-9]+ +((first|second|third|dies|main).*)$/\1/p' calls |
	sed -E 's/ +circle.c:[0-9]+ +/ /' >got
diff -u - got >diff <<'TREE' || fail "circle: $(cat diff)"
main ...
first, depth 10000 (recursive, with the next 2 functions) ...
second, depth 10000 ...
third, depth 10000 ...
dies <- SIGSEGV here
TREE
# one that dies in the middle of the circle: no call is shown that main() did not make
sed -i '/^static int second/s/{.*/{ return n ? third(n) + 1 : *wrong; }/' circle.c
gcc -g -O0 -o circle circle.c || fail "circle: not built"
"$AUXTAP" crash -o circle.data -- ./circle >stdout 2>stderr </dev/null
calls circle.data >calls
sed -nE 's/^ +[0-9]+ +((first|second|third|main).*)$/\1/p' calls |
	sed -E 's/ +circle.c:[0-9]+ +/ /' >got
diff -u - got >diff <<'TREE' || fail "part of a circle: $(cat diff)"
main ...
first ...
second ...
third, depth 9999 (recursive, with the next 2 functions) ...
first, depth 9999 ...
second, depth 9999 <- SIGSEGV here
TREE
# no recursion, but more open calls than lines: the outermost and the innermost ones
{
	echo 'static int *volatile wrong; static int f0(void) { return *wrong; }'
	for ((i = 1; i < 100; i++)); do
		echo "static int f$i(void) { return f$((i - 1))() + 1; }"
	done
	echo 'int main(void) { return f99(); }'
} >chain.c
gcc -g -O0 -o chain chain.c || fail "chain: not built"
"$AUXTAP" crash -o chain.data -- ./chain >stdout 2>stderr </dev/null
calls chain.data >calls
[ "$(open_calls calls)" = "_start __libc_start_main __libc_start_call_main main f99 $(
	for ((i = 14; i >= 0; i--)); do echo -n "f$i "; done | sed 's/ $//')" ] ||
	fail "chain: open are: $(open_calls calls)"
grep -A 1 ' f99 ' calls | grep -qE '^ +\.\.\.  +\(84 calls between\)$' || fail "chain: $(cat calls)"
calls --calls 300 chain.data >calls
[ "$(open_calls calls | grep -oE '\bf[0-9]+' | wc -l)" = 100 ] || fail "chain: $(cat calls)"

# calls before a gap are unknown: the count says where it starts
"$AUXTAP" crash -m 32,1 -o gap.data -- ./deep 30000 >stdout 2>stderr </dev/null
calls gap.data >calls
grep -A 3 -- '-- gap: overwritten.* --' calls | grep -qE 'depth, depth [0-9]{4,} \(recursive\)' ||
	fail "gap: no recursion after it: $(cat calls)"
calls --calls 1 gap.data >calls
sed -n '/ instructions /,/farther out/p' calls | grep -q -- '-- gap: overwritten.* --' ||
	fail "gap: its line is missing: $(head -n 4 calls)"
grep -qE '\.\.\.  \(at least [0-9]+ calls? farther out, since the last gap\)$' calls ||
	fail "gap: $(grep farther calls)"

# an exec before the kept trace, and a system call after it
gcc -g -O0 -DSYSTEM_CALL -o deep_call "$SRC/tests/cli/frames/deep.c" || fail "deep_call: not built"
"$AUXTAP" crash -m 32,1 -o gap.data -- ./deep_call 30000 >stdout 2>stderr </dev/null
calls --calls 1 gap.data >calls
grep -qE '\.\.\.  \(at least [0-9]+ calls? farther out, since the last gap\)$' calls ||
	fail "gap, system call: $(grep farther calls)"

# a function on a stack of its own: not called by the function that switched to that stack
gcc -g -O0 -o coroutine "$SRC/tests/cli/frames/coroutine.c" || fail "coroutine: not built"
"$AUXTAP" crash -o coroutine.data -- ./coroutine >stdout 2>stderr </dev/null
calls coroutine.data >calls
grep -A1 -E '^ +[0-9]+ +\[by return\] produce .*\.\.\.$' calls | grep -qE ' pause_here ' &&
	grep -qE '^ +[0-9]+ +die .*<- SIGSEGV' calls || fail "coroutine: die is not within produce: $(cat calls)"
sed -n '/^Backtrace/,/^$/p' coroutine.data.report.txt >backtrace
# without libc's symbols
grep -A2 ' die at ' backtrace | tail -n 2 | grep -A1 ' produce at ' |
	grep -q '#2  __start_context\|#2  .*/libc\.so\.6+0x' &&
	! grep -A1 '#2  __start_context' backtrace | grep -q 'No call returns' ||
	fail "coroutine: the backtrace does not end at __start_context: $(cat backtrace)"
# every line between produce and die is deeper than produce
awk \
	'/\[by return\] produce .*\.\.\.$/ { at = index($0, "[") }
	/ die .*SIGSEGV/ { n = index($0, "die"); exit }
	END { exit !(at && n > at) }' calls || fail "coroutine: die is not deeper than produce: $(cat calls)"

# the same with a switch that ends in an indirect jump
gcc -g -O1 -w -o fcontext "$SRC/tests/cli/frames/fcontext.c" || fail "fcontext: not built"
gcc -s -O1 -w -o fcontext.bare "$SRC/tests/cli/frames/fcontext.c" || fail "fcontext.bare: not built"
"$AUXTAP" crash -o fcontext.data -- ./fcontext >stdout 2>stderr </dev/null
calls fcontext.data >calls
path=$(open_calls calls)
[ "${path##* main }" = 'resume jump_stack [by jump] produce die' ] || fail "fcontext: open are: $path"
grep -q "^  \[by jump\], \[by return\]: " calls || fail "fcontext: [by jump] is not explained: $(cat calls)"
"$AUXTAP" crash -o fcontext.data -- ./fcontext.bare >stdout 2>stderr </dev/null
calls fcontext.data >calls
open_calls calls | grep -q '\[by jump\] fcontext.bare+0x[0-9a-f]* fcontext.bare+0x[0-9a-f]*$' ||
	fail "fcontext.bare: open are: $(open_calls calls)"

# Exceptions: the calls that are open at the crash are those that the unwinder finds on the stack,
# even if no symbol names the function that catches; for a stripped program only their number is
# compared.
if command -v g++ >/dev/null; then
	g++ -g -O2 -fno-optimize-sibling-calls -o caught "$SRC/tests/cli/frames/caught.cpp" &&
		strip -o caught.bare caught || fail "caught: not built"
	"$AUXTAP" crash -o caught.data -- ./caught >stdout 2>stderr </dev/null
	calls --calls 400 caught.data >calls
	grep -q ' _Unwind_Resume' calls || fail "caught: no exception was unwound: $(cat calls)"
	path=$(open_calls calls)
	[ "${path##* main }" = 'nested(int) nested(int) nested(int) die(int)' ] || fail "caught: open are: $path"
	"$AUXTAP" crash -o bare.data -- ./caught.bare >stdout 2>stderr </dev/null
	calls --calls 400 bare.data >calls
	path=$(open_calls calls)
	# the second if libc's symbols are not installed
	path=$(sed -E 's/.*(__libc_start_call_main|libc\.so\.6\+0x[0-9a-f]+) //' <<<"$path")
	[ "$(wc -w <<<"$path")" = 5 ] || fail "caught.bare: open are: $path"
	# a static program has no search table for its unwind information
	if g++ -g -O2 -fno-optimize-sibling-calls -static -o caught.static \
		"$SRC/tests/cli/frames/caught.cpp" 2>/dev/null; then
		"$AUXTAP" crash -o static.data -- ./caught.static self >stdout 2>stderr </dev/null
		calls --calls 4000 static.data >calls
		path=$(open_calls calls)
		[ "${path##* main }" = 'self(int) die(int)' ] || fail "caught.static: open are: $path"
		grep '\[by jump\] self' calls && fail "caught.static: its handler is not within self()"
	fi
	# std::terminate handles an exception from a noexcept function, in code without a symbol
	"$AUXTAP" crash -o escape.data -- ./caught escape >stdout 2>stderr </dev/null
	calls --calls 400 escape.data >calls
	path=$(open_calls calls)
	[[ ${path#* __cxa_begin_catch} == *' __gnu_cxx::__verbose_terminate_handler() abort '* ]] ||
		fail "escape: open are: $path"
	escape='an exception could not leave a function that is noexcept, or a destructor while the stack was unwound$'
	sed -n 3p escape.data.report.txt |
		grep -q "from __cxa_throw: std::terminate() was called: $escape" ||
		fail "escape: $(head -n 3 escape.data.report.txt)"
	# 'throw;' without a caught exception
	printf 'int main() { throw; }\n' >again.cpp
	g++ -g -o again again.cpp || fail "again: not built"
	"$AUXTAP" crash -o again.data -- ./again >stdout 2>stderr </dev/null
	sed -n 1,4p again.data.report.txt |
		grep -q 'no handler was found for an exception, or there was none to throw again$' \
		|| fail "again: $(head -n 4 again.data.report.txt)"
	# a cancelled thread that catches everything: libc's abort() is not attributed to its start
	# function
	cat >cancelled.cpp <<-'C'
	#include <pthread.h>
	#include <thread>
	static void run()
	{
		try { pthread_cancel(pthread_self()); pthread_testcancel(); } catch (...) {}
	}
	int main() { std::thread(run).join(); return 0; }
	C
	g++ -g -O2 -pthread -o cancelled cancelled.cpp || fail "cancelled: not built"
	"$AUXTAP" crash -o cancelled.data -- ./cancelled >stdout 2>stderr </dev/null
	sed -n 1,4p cancelled.data.report.txt |
		grep -qE 'the C library called abort\(\)(, from (unwind_cleanup|__libc_fatal))?$' ||
		fail "cancelled: $(head -n 4 cancelled.data.report.txt)"
	if command -v clang++ >/dev/null; then
		clang++ -g -O2 -o caught.clang "$SRC/tests/cli/frames/caught.cpp" || fail "caught.clang: not built"
		"$AUXTAP" crash -o escape.data -- ./caught.clang escape >stdout 2>stderr </dev/null
		sed -n 2p escape.data.report.txt |
			grep -q '^  reached from commit(int) .*caught.cpp:' &&
			sed -n 3p escape.data.report.txt |
			grep -q "from __clang_call_terminate: $escape" ||
			fail "escape, clang: $(head -n 3 escape.data.report.txt)"
	fi
else
	echo "caught: g++ is not installed"
fi

# Equal calls on one line: the number of calls that are not shown is the sum of all. A call of
# address 0 is shown.
cat >twice.c <<'C'
#define FUNCTION static __attribute__((noinline)) void
#define BARRIER	 __asm__ volatile("")
FUNCTION leaf(void) { BARRIER; }
FUNCTION twice(void) { leaf(); BARRIER; leaf(); BARRIER; leaf(); BARRIER; }
static void (*volatile nothing)(void);
FUNCTION group(void) { twice(); twice(); twice(); twice(); BARRIER; }
int main(void) { for (volatile int i = 0; i < 20; i++) group(); nothing(); return 0; }
C
gcc -g -O1 -o twice twice.c || fail "twice: not built"
"$AUXTAP" crash -o twice.data -- ./twice >stdout 2>stderr </dev/null
calls twice.data >calls
grep -qE ' group  x 20 ' calls && grep -qE ' twice  x 80 ' calls &&
	grep -qE ' leaf  x 240 ' calls &&
	grep -q '^  x N: N calls in all' calls || fail "twice: $(cat calls)"
calls --calls 3 twice.data >calls
sed -nE 's/.* group  x 20  \(([0-9]+) calls? not shown\).*/\1/p' calls | grep -qx 80 || fail "twice: $(cat calls)"
calls twice.data | grep -qE '^ +0 +0x0 +<- SIGSEGV here$' || fail "twice: $(calls twice.data)"
sed -n '/^Last branches/,/^$/p' twice.data.report.txt | tail -n 3 >branches
grep -qE '^  call .* -> 0x0$' branches && grep -q '^  SIGSEGV    0x0$' branches || fail "twice: $(cat branches)"

# A library that replaces another one: code has the names of its own time. An unloaded one: its code
# is named as such.
cat >plugin.c <<'C'
int __attribute__((noinline)) NAME(int *v) { int s = 0; for (int i = 8; i--;) s += v[i]; return s; }
int apply(int *v) { return NAME(v) + 1; }
C
cat >reload.c <<'C'
#include <dlfcn.h>
#include <stdio.h>
static int data[8];
int main(int argc, char **argv)
{
	int (*last)(int *) = 0, n = 0;
	for (int i = 2; i < argc; i++) {
		void *so = dlopen(argv[i], RTLD_NOW);
		last = (int (*)(int *))dlsym(so, "apply");
		n += last(data);
		if (argv[1][0] == 'u' || i + 1 < argc)
			dlclose(so);
	}
	return last(argv[1][0] == 'u' ? data : (int *)8) + n;
}
C
gcc -g -O1 -o reload reload.c -ldl && gcc -g -O1 -DNAME=alpha -shared -fPIC -o a.so plugin.c &&
	gcc -g -O1 -DNAME=beta -shared -fPIC -o b.so plugin.c || fail "reload: not built"
"$AUXTAP" crash -o reload.data -- ./reload again ./a.so ./b.so >stdout 2>stderr </dev/null
calls --calls 4000 reload.data >calls
[ "$(grep -oE '  (alpha|beta) .*' calls | awk '{ print $1 }' | tr '\n' ' ')" = 'alpha beta beta ' ] \
	|| fail "reload: $(grep -E ' (alpha|beta) ' calls)"
"$AUXTAP" crash -o unload.data -- ./reload unload ./a.so >stdout 2>stderr </dev/null
sed -n 2p unload.data.report.txt |
	grep -qE '^  it called 0x[0-9a-f]+, where nothing is mapped; a\.so, which is unloaded, had apply \(plugin\.c:2\) there$' \
	|| fail "unload: $(head -n 3 unload.data.report.txt)"
grep -q '^  #0  apply at .*plugin.c:2 (unloaded)$' unload.data.report.txt &&
	grep -qE '^ +0 +apply .*<- SIGSEGV here \(unloaded\)$' unload.data.report.txt &&
	grep -qE '^  SIGSEGV +apply \(plugin.c:2\) \(unloaded\)$' unload.data.report.txt &&
	[ "$(grep -c unloaded unload.data.report.txt)" = 4 ] ||
	fail "unload: $(grep -E 'unloaded|SIGSEGV' unload.data.report.txt)"

# The line of a function is where it begins, in line 8, also if its first instruction is of an
# inlined call.
cat >entry.c <<'C'
struct list { struct list *next; long values[4]; };
static struct list here = {0, {1, 2, 3, 4}};
static inline __attribute__((always_inline)) long first_of(struct list *l)
{
	return l->next->values[0];
}
__attribute__((noinline)) long enter(struct list *l)
{
	long sum = 0;

	sum += first_of(l);
	return sum;
}
int main(void) { return (int)enter(&here); }
C
for cc in gcc clang; do
	command -v $cc >/dev/null || continue
	$cc -g -O2 -w -o entry entry.c || fail "entry: not built"
	"$AUXTAP" crash -o entry.data -- ./entry >stdout 2>stderr </dev/null
	"$AUXTAP" report --format json entry.data >entry.json 2>stderr
	line=8
	grep -qE "^ +[0-9]+ +enter +entry.c:$line " entry.data.report.txt ||
		fail "entry, $cc: not line $line: $(grep ' enter ' entry.data.report.txt)"
	grep '"entry":"0x[0-9a-f]*","function":"enter"' entry.json | grep -q "\"line\":$line," ||
		fail "entry, $cc: JSON: not line $line"
done

# The return address of a signal handler.
cat >handled.c <<'C'
#include <signal.h>
static void on_hup(int signo) { (void)signo; }
int main(void) { signal(SIGHUP, on_hup); raise(SIGHUP); *(volatile int *)0 = 1; return 0; }
C
gcc -g -O1 -w -o handled handled.c || fail "handled: not built"
"$AUXTAP" crash -o handled.data -- ./handled >stdout 2>stderr </dev/null
"$AUXTAP" report --branches 64 handled.data >report 2>stderr
grep -qE '^  return +on_hup .* -> (.*\(return from a signal handler\)|__restore_rt .*)$' report ||
	fail "handled: $(grep -E '^  return +on_hup' report)"

# The name of a function that is too long for a line is marked as cut.
cat >long.c <<'C'
static int *volatile wrong;
__attribute__((noinline)) void NAME(void) { *wrong = 1; }
int main(void) { NAME(); return 0; }
C
long=$(printf 'name%.0s' $(seq 100))
gcc -g -O1 -DNAME="$long" -o long long.c || fail "long: not built"
"$AUXTAP" crash -o long.data -- ./long >stdout 2>stderr </dev/null
sed -n '/^Last branches/,/^$/p' long.data.report.txt |
	grep -q '^  SIGSEGV    [name]*\.\.\.[name]* (long.c:2)$' ||
	fail "long: $(tail -n 40 long.data.report.txt | grep '^  SIGSEGV')"

# in clang's debug information the inlined function starts where the function does
command -v clang >/dev/null || skip "clang is not installed"
clang -g -O2 -o entry "$SRC/tests/cli/frames/entry.c" || fail "entry: not built"
"$AUXTAP" crash -o entry.data -- ./entry >stdout 2>stderr </dev/null
calls entry.data >calls
grep -qE '^ +[0-9]+ +doubled .*<- SIGSEGV' calls || fail "entry: the calls do not show doubled: $(cat calls)"
grep -q 'value_of' calls && fail "entry: value_of is inlined, it was never called"
"$AUXTAP" report --branches 64 entry.data | sed -n '/^Last/,/^What/p' >branches
grep -qE '(call|jump) .*-> doubled ' branches || fail "entry: no call or jump goes to doubled: $(cat branches)"
grep -qE '^  (call|jump).*-> value_of' branches && fail "entry: a call goes to an inlined function"
# signal handlers that interrupted a function are no calls of it
cat >handlers.c <<'C'
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>
static void on_signal(int sig) { (void)sig; }
__attribute__((noinline)) static int once(volatile int *n) { return ++*n; }
int main(void)
{
	long pid = getpid(), ret;
	volatile int n = 0;

	signal(SIGUSR1, on_signal);
	for (int i = 0; i < 60; i++)
		__asm__ volatile("syscall"
				 : "=a"(ret)
				 : "0"((long)SYS_kill), "D"(pid), "S"((long)SIGUSR1)
				 : "rcx", "r11", "memory");
	once(&n);
	once(&n);
	*(volatile int *)0 = 1;
	return (int)ret;
}
C
gcc -g -O1 -o handlers handlers.c || fail "handlers: not built"
"$AUXTAP" crash -o handlers.data -- ./handlers >stdout 2>stderr </dev/null
"$AUXTAP" report --calls 400 handlers.data | grep -q '\[signal\] on_signal  x 60 ' ||
	fail "handlers: not 60"
calls --calls 5 handlers.data >calls
inside=$(sed -nE 's/.* main +\(([0-9]+) calls? not shown\).*SIGSEGV here/\1/p' calls)
[ "${inside:-0}" -le 4 ] || fail "handlers: $inside calls of main not shown, which made 4: $(cat calls)"

# code that runs on into the next function: the function where the program dies, as gdb names it
for build in 'gcc -O0' 'gcc -O1' 'clang -O1' 'clang -O2'; do
	command -v "${build% *}" >/dev/null || continue
	$build -g -w -o falls "$SRC/tests/cli/frames/falls.c" || fail "falls: $build: not built"
	"$AUXTAP" crash -o falls.data -- ./falls >stdout 2>stderr </dev/null
	calls --calls 400 falls.data >calls
	path=$(open_calls calls)
	[ "${path##* main }" = 'walk [fall-through] next_one' ] ||
		fail "falls: $build: open are: $path"
	grep -q '^  \[fall-through\]: ' calls || fail "falls: $build: [fall-through] is not explained"
	command -v gdb >/dev/null || continue
	died=$(gdb -nx -batch -ex run -ex 'info symbol $pc' ./falls 2>/dev/null </dev/null |
		tail -n 1)
	[[ $died == 'next_one '* ]] || fail "falls: $build: gdb says: $died"
done

# out of deeper calls than a search looks at first: longjmp, an exception, a chain of tail calls
if command -v g++ >/dev/null; then
	g++ -g -O2 -o leaves "$SRC/tests/cli/frames/leaves.cpp" || fail "leaves: not built"
	for how in longjmp throw tails; do
		"$AUXTAP" crash -o leaves.data -- ./leaves $how 1000 >stdout 2>stderr </dev/null
		calls --calls 8000 leaves.data >calls
		path=$(open_calls calls)
		[ "${path##* main}" = ' finish()' ] || fail "leaves $how: open are: $path"
		grep -qE 'farther out|\] main' calls &&
			fail "leaves $how: $(grep -E 'farther out|\] main' calls)"
	done
fi

# a computed goto into the function's cold part and back is none into another function
gcc -g -O2 -o cold_goto "$SRC/tests/cli/frames/cold_goto.c" || fail "cold_goto: not built"
"$AUXTAP" crash -o cold_goto.data -- ./cold_goto >stdout 2>stderr </dev/null
calls --calls 100 cold_goto.data >calls
path=$(open_calls calls)
[ "${path##* main }" = run ] || fail "cold_goto: open are: $path"
[ "$(grep -cE '^ +[0-9]+ +(\[by jump\] )?run ' calls)" = 1 ] && ! grep -q 'by jump' calls ||
	fail "cold_goto: $(cat calls)"
grep -cE '^ +[0-9]+ +seldom ' calls >count
[ "$(cat count)" = 2 ] || fail "cold_goto: $(cat calls)"
# ... unless another file has a function of that name
gcc -g -O2 -w -o same_name "$SRC/tests/cli/frames/same_name_a.c" \
	"$SRC/tests/cli/frames/same_name_b.c" || fail "same_name: not built"
"$AUXTAP" crash -o same_name.data -- ./same_name >stdout 2>stderr </dev/null
"$AUXTAP" report --calls 100 same_name.data >text
! nm same_name | grep -q ' run\.cold$' || grep -qE '\[by jump\] run +same_name_a.c' text ||
	fail "same_name: the calls are those of the other run(): $(cat text)"

finish
