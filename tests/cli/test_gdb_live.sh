# SPDX-License-Identifier: BSD-2-Clause
# A hundred motions in stock gdb, backwards and forwards, by instruction, line, call and breakpoint:
# at each stop pc and backtrace are those that a live run of the same program has at that
# instruction. x86-64 by Intel PT, AArch64 by CoreSight (live: qemu's own gdb server).
. "$(dirname "$0")/lib.sh"
command -v gdb >/dev/null || skip "gdb is not installed"
command -v gcc >/dev/null || skip "gcc is not installed"
command -v python3 >/dev/null || skip "python3 is not installed"
gdb -nx -batch -ex 'python print(1)' 2>&1 | grep -qx 1 || skip "this gdb has no Python"
SESSION=$SRC/tests/cli/gdb_session.py

# static, and after main() without the C library: a live run has the same addresses
cat >prog.c <<'END'
static int *bad, table[16];
__attribute__((noinline)) int leaf(int n) { return n + 1; }
__attribute__((noinline)) int work(int n)
{
	if (n < 2)
		return leaf(n);
	return work(n - 1) + work(n - 2);
}
__attribute__((noinline)) void set_bad(int n)
{
	if (n == 3)
		bad = 0;
	else
		bad = &table[n];
}
__attribute__((noinline)) int use(int n)
{
	int sum = leaf(n);

	return *bad + sum;
}
int main(void)
{
	int sum = 0;

	for (int i = 0; i < 4; i++) {
		set_bad(i);
		sum += work(4);
		sum += use(i); /* the crash: i is 3 */
	}
	return sum;
}
END
plain() {
	printf 'set %s\n' prompt 'style enabled off' 'width 0' 'pagination off' 'confirm off' \
		'debuginfod enabled off' 'remotetimeout 86400'
}
# past DATA GDB OUTPUT: commands of standard input in gdb on the recording
past() {
	{ plain; cat; } >past.gdb
	guard "$AUXTAP" gdb --gdb "$2" "$1" -- -nx -q <past.gdb >"$3" 2>&1 ||
		fail "$1: gdb ended with $?: $(tail -n 3 "$3")"
}
# main_to_end DATA GDB: prints how many instructions main() and what it calls executed
main_to_end() {
	printf 'tbreak main\nreverse-continue\nmonitor position\n' | past "$1" "$2" position
	sed -nE 's/.*thread [0-9]+: instruction ([0-9]+) of ([0-9]+).*/\2-\1/p' position | head -n 1
}
# sessions PROGRAM GDB SEED...: compares them with live.PROGRAM
sessions() {
	local program=$1 gdb=$2 seed
	shift 2
	for seed; do
		python3 "$SESSION" past "$seed" 100 | past "$program.data" "$gdb" "past.$program"
		python3 "$SESSION" compare "live.$program" "past.$program" >compared 2>&1 ||
			fail "$program, seed $seed: $(head -n 20 compared)"
	done
}
record() {
	"$AUXTAP" crash -o "$1.data" -- "./$1" >stdout 2>stderr </dev/null
	[ -s "$1.data" ] || { fail "$1: no snapshot: $(tail -n 2 stderr)"; return 1; }
}

# 1. x86-64
for level in 0 2; do
	gcc -g "-O$level" -fno-pie -no-pie -static -w -o "x86.$level" prog.c || fail "x86: not built"
	record "x86.$level" || continue
	nr=$(($(main_to_end "x86.$level.data" gdb)))
	[ "$nr" -gt 300 ] || { fail "x86.$level: $nr instructions: $(cat position)"; continue; }
	{ plain; printf 'tbreak main\nrun\n'; python3 "$SESSION" live $nr; } >live.gdb
	guard gdb -nx -q "./x86.$level" <live.gdb >"live.x86.$level" 2>&1
	if grep -qi ptrace "live.x86.$level"; then
		echo "SKIP: no live run: $(grep -i ptrace "live.x86.$level" | head -n 1)"
		continue
	fi
	sessions "x86.$level" gdb 1 2
done

# 2. AArch64
if ! command -v gdb-multiarch >/dev/null; then
	echo "SKIP: gdb-multiarch is not installed"
elif ! aarch64-linux-gnu-gcc -g -O0 -static -w -o a64 prog.c 2>/dev/null; then
	echo "SKIP: no AArch64 compiler"
elif ! command -v qemu-aarch64 >/dev/null; then
	echo "SKIP: no qemu-aarch64 for a live run"
elif record a64; then
	nr=$(($(main_to_end a64.data gdb-multiarch)))
	[ "$nr" -gt 300 ] || fail "a64: $nr instructions: $(cat position)"
	guard qemu-aarch64 -g "$WORK/socket" ./a64 >stdout 2>&1 &
	live=$!
	wait_for test -S "$WORK/socket"
	{ plain; printf 'target remote %s\ntbreak main\ncontinue\n' "$WORK/socket"
		python3 "$SESSION" live $nr; echo kill; } >live.gdb
	guard gdb-multiarch -nx -q ./a64 <live.gdb >live.a64 2>&1
	wait $live
	sessions a64 gdb-multiarch 1 2
fi

# 3. threads: each is where the core file of the same death has it, and has its own past
cat >threads.c <<'END'
#include <pthread.h>
#include <unistd.h>
static pthread_barrier_t barrier;
static int *volatile bad;
__attribute__((noinline)) static void first(void) { for (;;) pause(); }
__attribute__((noinline)) static void second(void) { for (;;) pause(); }
static void *run(void *arg)
{
	pthread_barrier_wait(&barrier);
	if (arg)
		first();
	second();
	return arg;
}
int main(void)
{
	pthread_t thread;

	pthread_barrier_init(&barrier, 0, 3);
	pthread_create(&thread, 0, run, &barrier);
	pthread_create(&thread, 0, run, 0);
	pthread_barrier_wait(&barrier);
	usleep(100000);
	return *bad; /* the crash */
}
END
gcc -g -O0 -pthread -static -w -o threads threads.c || fail "threads: not built"
"$AUXTAP" crash --core -o threads.data -- ./threads >stdout 2>stderr </dev/null
frames() { sed -nE 's/.*#[0-9]+ .* in ([a-z]+) \(.*at (threads\.c:[0-9]+)$/\1 \2/p' "$1"; }
echo 'thread apply all -q bt' | past threads.data gdb threads.past
guard gdb -nx -batch -ex 'thread apply all -q bt' threads threads.data.core >threads.core 2>&1 \
	</dev/null
frames threads.core | sort -u >wanted
frames threads.past | sort -u >got
[ "$(grep -cE '^(first|second) ' wanted)" = 2 ] || fail "threads: $(cat threads.core)"
diff wanted got >diff || fail "threads: $(cat diff)"
for function in first second; do
	{
		echo 'set $i = 1'
		printf 'while $i <= 3\nthread $i\n'
		printf 'if $_any_caller_is("%s")\nloop_break\nend\n' $function
		printf 'set $i = $i + 1\nend\nreverse-stepi\nbt\n'
		printf 'tbreak run\nreverse-continue\ninfo thread\nmonitor position\n'
	} | past threads.data gdb "threads.$function"
	grep -qE "^(\(gdb\) )?#[0-9]+ .* $function \(.*threads\.c:" "threads.$function" ||
		fail "$function: $(cat "threads.$function")"
	grep -qE 'hit Temporary breakpoint 1, |Temporary breakpoint 1, run \(arg=' \
		"threads.$function" || fail "$function: run(): $(cat "threads.$function")"
done
finish
