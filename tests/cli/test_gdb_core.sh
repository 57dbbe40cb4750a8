# SPDX-License-Identifier: BSD-2-Clause
# Core files in 'auxtap gdb': gdb shows of the end what it shows of the core file itself; core files
# of other processes or moments, and damaged ones, are refused.
. "$(dirname "$0")/lib.sh"
export ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}disable_coredump=0
command -v gdb >/dev/null || skip "gdb is not installed"
command -v gcc >/dev/null || skip "gcc is not installed"
command -v python3 >/dev/null || skip "python3 is not installed"

cat >prog.c <<'END'
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static int *bad, table[16];
static double factor = 1.5;
static char *heap;
static pthread_barrier_t barrier;
static void *worker(void *arg)
{
	volatile double local = 2.25;

	pthread_barrier_wait(&barrier);
	for (;;)
		pause();
	return local > 1 ? arg : NULL;
}
__attribute__((noinline)) static int use(int n)
{
	volatile double product = factor * n;
	volatile long double wide = 1 / (long double)product;

	__asm__ volatile("fldpi\n\tfldz\n\tfldt %0\n\t" : : "m"(wide));
	__asm__ volatile("movq %0, %%xmm9\n\t" : : "r"(0x1122334455667788) : "xmm9");
	return *bad + n;
}
int main(int argc, char **argv)
{
	pthread_t thread;

	heap = malloc(5 << 20);
	strcpy(heap + 100000, "far away in the heap");
	table[3] = 33;
	if (argc > 1 && !strcmp(argv[1], "threads")) {
		pthread_barrier_init(&barrier, NULL, 3);
		for (int i = 0; i < 2; i++)
			pthread_create(&thread, NULL, worker, NULL);
		pthread_barrier_wait(&barrier);
		usleep(50000);
	}
	if (argc > 1 && !strcmp(argv[1], "abort"))
		abort();
	return use(argc);
}
END
gcc -g -O0 -pthread -o prog prog.c || fail "prog: not built"

cat >show.gdb <<'END'
set style enabled off
set width 0
thread apply all -q bt
info registers rip rsp rbp rax rbx rcx rdx rsi rdi r8 r15 fs_base gs_base
print factor
print heap + 100000
print table
x/4xb heap + 4000000
x/64xg $sp
print/x $_siginfo
print/x $eflags
info auxv
END
{
	for reg in fs gs st0 st1 st2 st7 fctrl fstat ftag fiseg fioff foseg fooff fop orig_rax \
		mxcsr; do
		echo "print/x \$$reg"
	done
	for i in $(seq 0 15); do echo "print/x \$xmm$i.uint128"; done
} >vectors.gdb
# same NAME CORE SCRIPT...: of the recording NAME with the core file gdb shows what it shows of CORE
same() {
	local name=$1 core=$2 script scripts=()
	shift 2
	for script; do scripts+=(-x "$script"); done
	# '^#', '$1 = ', 'name value', 'address:'; not who runs where
	guard "$AUXTAP" gdb --core "$core" "$name" -- -nx -batch "${scripts[@]}" \
		>past 2>&1 </dev/null
	guard gdb -nx -batch -iex 'set debuginfod enabled off' "${scripts[@]}" ./prog "$core" \
		>wanted.all 2>&1 </dev/null
	sed -n '/^#0/,$p' past | grep -vE '^(\[|$)' >got
	# its own first frame, and threads in another order
	sed -n '/^#0/,$p' wanted.all | grep -vE '^(\[|warning|Section|$)' |
		awk '/^#0/ && !seen++ {next} seen' | sed -n '/^#0/,$p' >wanted
	[ "$(wc -l <wanted)" -gt 60 ] ||
		fail "$name $core: gdb of the core file: $(tail -n 5 wanted.all)"
	diff <(sort wanted) <(sort got) >diff ||
		fail "$name $core: $(head -n 20 diff): $(grep -i auxtap: past)"
}
# refused NAME CORE PATTERN: with the reason
refused() {
	guard "$AUXTAP" gdbserver --stdio --core "$2" "$1" >out 2>err </dev/null
	[ $? = 3 ] && grep -qE -- "^auxtap: $2: $3" err ||
		fail "$1 $2: not '$3': $(cat err)"
}

# 1. the kernel's own, of the process that the ptrace engine has executed
kernel() {
	[ "$(cat /proc/sys/kernel/core_pattern)" = core ] && (ulimit -c unlimited) 2>/dev/null
}
if kernel; then
	for what in one threads abort; do
		rm -f core
		(ulimit -c unlimited && guard "$AUXTAP" crash --source ptrace -o "k.$what" -- \
			./prog $what) >out 2>&1 </dev/null
		mv core "k.$what.core" || { fail "$what: no core: $(tail -n 2 out)"; continue; }
		same "k.$what" "k.$what.core" show.gdb vectors.gdb
	done
	grep -q 'xmm9' vectors.gdb && grep -q ' = 0x1122334455667788$' <(
		guard "$AUXTAP" gdb --core k.one.core k.one -- -nx -batch \
			-ex 'print/x $xmm9.v2_int64[0]' 2>&1 </dev/null) || fail "xmm9 is not there"
	# a recording without a crash: the trace ends where the process died
	rm -f core
	(ulimit -c unlimited && guard "$AUXTAP" record --source ptrace -o rec -- ./prog one) \
		>out 2>&1 </dev/null
	mv core rec.core && same rec rec.core show.gdb vectors.gdb
	refused rec k.one.core 'it is of process [0-9]+, the recording of process [0-9]+'
else
	echo "(not compared with the kernel's core files: core_pattern, or the hard limit)"
fi

# 2. auxtap's own, of the qemu engine; what it lacks is unknown
for what in one threads abort; do
	guard "$AUXTAP" crash --source qemu --core -o "q.$what" -- ./prog $what >out 2>&1 </dev/null
	[ -s "q.$what.core" ] || { fail "qemu: $what: no core: $(tail -n 2 out)"; finish; }
	same "q.$what" "q.$what.core" show.gdb
done
guard "$AUXTAP" gdb --core q.one.core q.one -- -nx -batch -ex 'print $xmm9.uint128' \
	-ex 'print $fs' -ex 'print $orig_rax' >out 2>&1 </dev/null
[ "$(grep -c ' = <unavailable>$' out)" = 3 ] || fail "qemu: vectors: $(cat out)"
# in the past memory is unknown all the same
guard "$AUXTAP" gdb --core q.one.core q.one -- -nx -batch -ex 'print table[3]' -ex reverse-stepi \
	-ex 'print table[3]' -ex stepi -ex 'print table[3]' >out 2>&1 </dev/null
grep -E '^(\$[0-9] = |Cannot access)' out | sed 's/ at address.*//' | tr '\n' ' ' >got
[ "$(cat got)" = '$1 = 33 Cannot access memory $2 = 33 ' ] || fail "past: $(cat got out)"

# 3. others are refused
refused q.one q.abort.core 'it is of process'
refused q.one prog 'not a core file'
refused q.one no-such-file 'cannot open: '
refused q.one . 'not a regular file'
mkfifo fifo
refused q.one fifo 'not a regular file'
cat >patch.py <<'END'
# usage: patch.py CORE OUT WHAT: a copy with one difference
import struct, sys
data = bytearray(open(sys.argv[1], "rb").read())
what = sys.argv[3]
phoff, phnum = struct.unpack_from("<Q", data, 32)[0], struct.unpack_from("<H", data, 56)[0]
heads = [struct.unpack_from("<IIQQQQQQ", data, phoff + 56 * i) for i in range(phnum)]
def notes():
    off, size = next((h[2], h[5]) for h in heads if h[0] == 4)
    at = off
    while at < off + size:
        name, desc, kind = struct.unpack_from("<III", data, at)
        at += 12 + (name + 3 & ~3)
        yield kind, at, desc
        at += desc + 3 & ~3
def where(kind):
    return next(at for k, at, _ in notes() if k == kind)
def memory(addr):
    return next(h[2] + addr - h[3] for h in heads if h[0] == 1 and h[3] <= addr < h[3] + h[5])
status = where(1)
if what == "rbx":
    data[status + 112 + 5 * 8] ^= 1
elif what == "signal":
    data[status + 12] = 6
elif what == "tid":
    data[status + 32] ^= 1
elif what == "stack":
    data[memory(struct.unpack_from("<Q", data, status + 112 + 19 * 8)[0])] ^= 1
elif what == "map":
    data[where(0x46494C45) + 16 + 16] ^= 1
elif what == "build-id":
    at = data.index(b"\x04\0\0\0\x14\0\0\0\x03\0\0\0GNU\0", memory(struct.unpack_from("<Q", data,
                    where(0x46494C45) + 16)[0]))
    data[at + 16] ^= 1
elif what == "machine":
    data[18] = 183
elif what == "overlap":
    i = [i for i in range(phnum) if heads[i][0] == 1][1]
    struct.pack_into("<Q", data, phoff + 56 * i + 16, heads[i - 1][3] + 16)
open(sys.argv[2], "wb").write(data)
END
while read -r what pattern; do
	python3 patch.py q.one.core "p.$what" "$what" || fail "patch.py $what"
	refused q.one "p.$what" "$pattern"
done <<'END'
rbx thread [0-9]+ has registers in it that differ from those at the end of .*; give the core file
signal thread [0-9]+ died in it by signal 6, in the recording thread [0-9]+ by signal 11
tid thread [0-9]+ died in it
stack its memory near 0x[0-9a-f]+ is not that of the recording
map 0x[0-9a-f]+ is mapped differently in the recording
build-id 'prog' in it has another build-id than in the recording
machine not a usable core file|it is of an AArch64 process, the recording of an x86-64 process
overlap not a usable core file: its segments overlap
END

# 4. cut off: what is missing is unknown; damaged: an error, never a crash
size=$(stat -c %s q.one.core)
head -c $((size * 2 / 3)) q.one.core >cut
guard "$AUXTAP" gdbserver --stdio --core cut q.one >out 2>err </dev/null || fail "cut: $(cat err)"
cat >damage.py <<'END'
# usage: damage.py AUXTAP RECORDING CORE RUNS
import random, subprocess, sys
core = open(sys.argv[3], "rb").read()
inputs = b"".join(b"$%s#%02x" % (p, sum(p) & 255) for p in
                  [b"qSupported", b"g", b"p1c", b"m560000004040,100", b"qXfer:auxv:read::0,1000",
                   b"qXfer:siginfo:read::0,1000", b"qfThreadInfo", b"bs", b"g"])
end = 64 + 56 * 100 + 20000
bad = taken = 0
for seed in range(int(sys.argv[4])):
    rng = random.Random(seed)
    data = bytearray(core)
    for _ in range(rng.choice([1, 1, 2, 5, 20])):
        at = rng.choice([rng.randrange(64), rng.randrange(end), rng.randrange(64, 2000)])
        at %= len(data)
        kind = rng.randrange(3)
        if kind == 0:
            data[at] = rng.randrange(256)
        elif kind == 1:
            data[at:at + 8] = rng.choice([b"\xff" * 8, b"\0" * 8, b"\xff" * 7 + b"\x7f"])
        else:
            del data[rng.randrange(len(data)):]
            data += bytes(max(0, 64 - len(data)))
    open("damaged", "wb").write(data)
    done = subprocess.run([sys.argv[1], "gdbserver", "--stdio", "--core", "damaged", sys.argv[2]],
                          check=False, input=inputs, capture_output=True)
    taken += done.returncode == 0
    if done.returncode not in (0, 3) or b"runtime error" in done.stderr:
        print("seed %d: %d: %r" % (seed, done.returncode, done.stderr[-300:]))
        bad += 1
print("%d of %s taken" % (taken, sys.argv[4]))
sys.exit(bad > 0)
END
runs=60
[ -n "${AUXTAP_LONG:-}" ] && runs=5000
guard python3 damage.py "$AUXTAP" q.one q.one.core $runs >out 2>&1 || fail "damaged: $(cat out)"
finish
