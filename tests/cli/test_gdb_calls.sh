# SPDX-License-Identifier: BSD-2-Clause
# Backtraces and motion by calls in the past, in stock gdb as 'auxtap gdb' starts it: as in a live
# run of the same program.
. "$(dirname "$0")/lib.sh"
command -v gdb >/dev/null || skip "gdb is not installed"
command -v gcc >/dev/null || skip "gcc is not installed"
gdb -nx -batch -ex 'python print(1)' 2>&1 | grep -qx 1 || skip "this gdb has no Python"

cat >prog.c <<'END'
#include <signal.h>
#include <setjmp.h>
static volatile int *bad, hits;
static jmp_buf env;
__attribute__((noinline)) int leaf(int n) { hits++; return n; }
__attribute__((noinline)) int work(int n)
{
	if (n < 2)
		return leaf(n);
	return work(n - 1) + work(n - 2);
}
static void handler(int signo) { leaf(signo); }
__attribute__((noinline)) void jump(int n)
{
	if (n)
		jump(n - 1);
	leaf(n);
	longjmp(env, 1);
}
int main(void)
{
	signal(SIGUSR1, handler);
	work(5);
	raise(SIGUSR1);
	if (!setjmp(env))
		jump(3);
	leaf(7);
	return *bad; /* the crash */
}
END
gcc -g -O0 -fno-pie -no-pie -static -w -o prog prog.c || fail "prog: not built"
"$AUXTAP" crash -o data -- ./prog >stdout 2>stderr </dev/null
[ -s data ] || { fail "no snapshot: $(tail -n 2 stderr)"; finish; }

# frames FILE: a line for each backtrace: function:line of each frame of the program
frames() {
	sed -nE -e 's/^HIT.*/|/p' \
		-e 's/^#[0-9]+ +(0x[0-9a-f]+ in )?([a-z]+) \(.*\) at prog\.c:([0-9]+)$/\2:\3/p' \
		"$1" |
		tr '\n' ' ' | tr '|' '\n'
}
hits() {
	printf 'set $i = 0\nwhile $i < %s\n%s\n' "$2" "$1"
	printf 'echo HIT\\n\nbt\nset $i = $i + 1\nend\n'
}
plain='set prompt
set style enabled off
set width 0
set pagination off'

# 1. the backtrace at each of the ten calls of leaf(): work(5) makes eight of them
{ echo "$plain"; echo 'handle SIGUSR1 nostop noprint pass'; echo 'break leaf'; echo run
	printf 'echo HIT\\n\nbt\n'; hits continue 9; echo kill; } >live.gdb
guard gdb -nx -q ./prog <live.gdb >live 2>&1
{ echo "$plain"; echo 'reverse-continue'; echo 'break leaf'; hits continue 10; } >past.gdb
guard "$AUXTAP" gdb data -- -nx -q <past.gdb >past 2>&1 || fail "past: $(tail -n 3 past)"
frames live >wanted
frames past >got
if grep -qi 'ptrace' live; then
	echo "SKIP: no live run: $(grep -i ptrace live | head -n 1)"
else
	[ "$(grep -c 'leaf:5 work:9 .*main:' wanted)" -eq 8 ] &&
		grep -q 'leaf:5 jump:17 jump' wanted ||
		fail "live: $(cat wanted)"
	# gdb does not show what a handler has interrupted as a frame of the program
	diff wanted got >diff || fail "backtraces: $(cat diff)"
fi

# 2. over calls, out of them, and back to where they were made
{ echo "$plain"; echo 'break leaf'; echo reverse-continue; echo bt; echo reverse-finish; echo bt
	echo reverse-next; echo 'tbreak main'; echo reverse-continue; echo next; echo next
	echo next
	echo step; echo finish; echo bt; } >motion.gdb
guard "$AUXTAP" gdb data -- -nx -q <motion.gdb >motion 2>&1 || fail "motion: $(tail -n 3 motion)"
grep -E '^[0-9]+	' motion | sed 's/	.*//' | tr '\n' ' ' >lines
# the crash; leaf(7); its call; back over longjmp(), to leaf() in jump(); main, ...
grep -q '^28 5 27 ' lines || fail "motion: $(cat lines): $(cat motion)"
grep -qE '^Run back to call of #0 ' motion || fail "reverse-finish: $(cat motion)"
# what a function returned is in a register, which is not recorded
{ echo "$plain"; echo 'break leaf'; echo reverse-continue; echo finish; echo 'print $'; } >value.gdb
guard "$AUXTAP" gdb data -- -nx -q <value.gdb >value 2>&1 || fail "finish: $(tail -n 3 value)"
grep -q 'It is not known' value && grep -q '[$].* = <unavailable>' value ||
	fail "finish: $(tail -n 18 value | head -n 12)"
grep -qE '[$][0-9]+ = [0-9]' value && fail "finish: a value: $(tail -n 4 value)"

# 3. what the trace does not prove is not claimed: after longjmp() the callers of main are unknown
{ echo "$plain"; echo 'break leaf'; echo reverse-continue; echo 'monitor calls'; } >calls.gdb
guard "$AUXTAP" gdb data -- -nx -q <calls.gdb >calls 2>&1
grep -E '^#[01] +0x' calls |
	sed -E 's/.* in ([a-z]+) .*:([0-9]+)$/\1:\2/' | tail -n 2 | tr '\n' ' ' |
	grep -q 'leaf:5 main:27 ' || fail "calls: $(cat calls)"
grep -q 'jump' calls && fail "calls: of jump() that longjmp() left: $(cat calls)"
{ echo "$plain"; echo 'break leaf'; echo reverse-continue; echo bt; echo 'echo AFTER\n'
	echo finish; echo bt; echo 'echo AFTER\n'; } >outermost.gdb
guard "$AUXTAP" gdb data -- -nx -batch -x outermost.gdb >outermost 2>&1
[ "$(grep -c '^AFTER' outermost)" -eq 2 ] || fail "a backtrace is an error: $(cat outermost)"
grep -A2 '^#0  main () at prog.c:28' outermost | grep -q '^Backtrace stopped: ' ||
	fail "the outermost known frame: $(cat outermost)"
# and where a local variable of a frame is, gdb does not know either
cat >locals.c <<'END'
struct db { int n; int *rows; };
__attribute__((noinline)) static int sum(struct db *d)
{
	int s = 0;
	for (int i = 0; i < d->n; i++)
		s += d->rows[i];
	return s;
}
__attribute__((noinline)) static void shrink(int n, struct db *d) { d->n = n; d->rows = 0; }
int main(void)
{
	struct db d = {3, (int[]){1, 2, 3}};
	int s = sum(&d);
	shrink(s, &d);
	return sum(&d); /* the crash */
}
END
gcc -g -O2 -fno-pie -no-pie -static -w -o locals locals.c || fail "locals: not built"
"$AUXTAP" crash -o locals.data -- ./locals >stdout 2>stderr </dev/null
{ echo "$plain"; echo reverse-stepi; echo bt; echo up; echo 'print &d'; echo 'break shrink'
	echo reverse-continue; echo 'bt -full'; } >locals.gdb
guard "$AUXTAP" gdb locals.data -- -nx -q <locals.gdb >locals.out 2>&1
grep -q ' = (struct db [*]) <not known>' locals.out || fail "an address of a variable: $(cat locals.out)"
grep -E '(d|=)(@entry)?=? ?([(]struct db [*][)] )?0xff' locals.out && fail "an invented address"

# in the thread that steps, while another one calls what is stepped over
cat >threads.c <<'END'
#include <pthread.h>
#include <semaphore.h>
static sem_t go, done;
static volatile int *bad;
static void *work(void *arg)
{
	for (;;) {
		sem_wait(&go);
		sem_post(&done);
	}
	return arg;
}
int main(void)
{
	pthread_t thread;
	pthread_create(&thread, 0, work, 0);
	sem_post(&go);
	sem_wait(&done);
	sem_post(&go);
	sem_wait(&done);
	sem_post(&go);
	sem_wait(&done);
	return *bad; /* the crash */
}
END
gcc -g -O0 -fno-pie -no-pie -static -w -o threads threads.c -pthread || fail "threads: not built"
"$AUXTAP" crash -o threads.data -- ./threads >stdout 2>stderr </dev/null
{ echo "$plain"
	# the first may stop within sem_wait(): see docs/roadmap.md, "gdb"
	for i in 1 2 3 4 5 6 7; do echo reverse-next; echo 'print $_thread'; done; } >threads.gdb
guard "$AUXTAP" gdb threads.data -- -nx -q <threads.gdb >threads.out 2>&1 ||
	fail "threads: $(tail -n 3 threads.out)"
sed -n 's/^\([0-9]*\)\t.*/\1/p; s/^[$].* = /thread /p' threads.out | tr '\n' ' ' >lines
grep -q 'thread 1 21 thread 1 20 thread 1 19 thread 1 18 thread 1 17 thread 1 ' lines ||
	fail "threads: $(cat lines): $(cat threads.out)"

# 4. a program whose code is elsewhere in the file than in memory
if command -v ld.lld >/dev/null && gcc -g -O0 -fuse-ld=lld -w -o lld prog.c; then
	"$AUXTAP" crash -o lld.data -- ./lld >stdout 2>stderr </dev/null
	[ -s lld.data ] || fail "lld: no snapshot: $(tail -n 2 stderr)"
	{ echo "$plain"; echo bt; echo 'break work'; echo reverse-continue; echo bt; } >lld.gdb
	guard "$AUXTAP" gdb lld.data -- -nx -q <lld.gdb >lld.out 2>&1
	grep -q '#0 .*main () at prog.c:28' lld.out &&
		grep -q '^#[0-9] .*work (n=.*prog.c:10' lld.out ||
		fail "lld: $(cat lld.out)"
else
	echo "SKIP: no lld"
fi

# 5. AArch64 by CoreSight
A64=$FIXTURES/a64/null_deref
if ! command -v gdb-multiarch >/dev/null; then
	echo "SKIP: gdb-multiarch is not installed"
elif [ ! -x "$A64" ]; then
	echo "SKIP: no AArch64 compiler was there"
else
	"$AUXTAP" crash -o a64.data -- "$A64" >stdout 2>stderr </dev/null
	[ -s a64.data ] || { fail "a64: no snapshot: $(tail -n 2 stderr)"; finish; }
	{ echo "$plain"; echo bt; echo 'reverse-stepi'; echo 'info registers sp'
		echo 'break find_user'; echo reverse-continue; echo bt; echo reverse-finish
		printf 'set $i = 0\nwhile $i < 100\nreverse-stepi\nprintf "PC %%lx\\n", $pc\n'
		printf 'set $i = $i + 1\nend\n'; } >a64.gdb
	guard "$AUXTAP" gdb a64.data -- -nx -q <a64.gdb >a64 2>&1 || fail "a64: $(tail -n 3 a64)"
	grep -qE '^sp +<unavailable>' a64 || fail "a64: sp in the past: $(cat a64)"
	sed -nE '/^Breakpoint 1, find_user/,/^Run back/p' a64 |
		sed -nE 's/^#([0-9]) .*\<(find_user|age_of|sum_of_ages|main) \(.*/\1 \2/p' >got
	printf '0 find_user\n1 age_of\n2 sum_of_ages\n3 main\n' | diff - got >diff ||
		fail "a64: backtrace in the past: $(cat a64)"
	sed -nE 's/^.*PC ([0-9a-f]+)$/\1/p' a64 >got
	"$AUXTAP" decode --events insn -F ip a64.data | tr -d ' ' | tac >all
	first=$(grep -nx "$(head -n 1 got)" all | head -n 1 | cut -d: -f1)
	tail -n "+$first" all | head -n 100 | diff - got >diff ||
		fail "a64: backwards: $(head -n 5 diff)"
fi
finish
