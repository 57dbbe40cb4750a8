# SPDX-License-Identifier: BSD-2-Clause
# Values of the past (auxtap crash --values) in stock gdb: registers and memory at each of several
# hundred positions are those of a live run, or unknown; watch and reverse-continue stop at the
# store at which the live watchpoint stopped last (a software watchpoint: some virtual machines have
# debug registers that never fire).
. "$(dirname "$0")/lib.sh"
command -v gdb >/dev/null || skip "gdb is not installed"
command -v gcc >/dev/null || skip "gcc is not installed"
command -v python3 >/dev/null || skip "python3 is not installed"
gdb -nx -batch -ex 'python print(1)' 2>&1 | grep -qx 1 || skip "this gdb has no Python"

# static: a live run has the same addresses, but for the stack
cat >prog.c <<'END'
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
static volatile long sum, atomic;
static int *volatile bad;
static int table[16];
static volatile int input = 1;
static struct big { long a[8]; } from, to;
static _Alignas(64) char state[4096];
static volatile int never = 77; /* written */
__attribute__((noinline)) void set_bad(int n) { bad = n == 5 ? 0 : &table[n]; }
__attribute__((noinline)) int work(int n) { return n < 2 ? n : work(n - 1) + work(n - 2); }
__attribute__((noinline)) void change(int n)
{
	long expected = 2 * n;
	table[n] += n;
	sum += table[n];
	__atomic_fetch_add(&atomic, 3, __ATOMIC_SEQ_CST);
	__atomic_compare_exchange_n(&atomic, &expected, 7, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
	from.a[n & 7] = n;
	to = from;
	__asm__ volatile("rep movsb" : : "D"(&to.a[2]), "S"(&from.a[4]), "c"(13) : "memory");
}
int main(void)
{
	syscall(SYS_sched_get_priority_max, 0); /* not known to write nothing */
	for (int i = 0; i < 4; i++) {
		change(i);
		set_bad(i);
		sum += work(4);
	}
	input = 2 + (never != 77);
	/* qemu's memory callback sees neither of these */
	__asm__ volatile("fxsave64 %0" : "=m"(*(char(*)[512])state));
	if (read(0, (void *)&input, 4) != 4)
		return 1;
	for (int i = 4; i < 8; i++) {
		set_bad(i);
		sum += *bad + work(3); /* the crash: i is 5 */
		change(i);
	}
	return 0;
}
END
gcc -g -O1 -fcf-protection=none -fno-pie -no-pie -static -w -o prog prog.c || fail "prog: not built"
printf 'abcd' >stdin
"$AUXTAP" crash --values -o data -- ./prog >stdout 2>stderr <stdin
grep -q 'requires qemu 10' stderr && skip "no qemu 10: $(head -n 1 stderr)"
[ -s data ] || { fail "no snapshot: $(tail -n 2 stderr)"; finish; }

cat >walk.py <<'END'
import gdb, json, os, sys
regs = "rax rbx rcx rdx rsi rdi rbp rsp r8 r9 r10 r11 r12 r13 r14 r15 fs_base".split()
words = ["sum", "bad", "table", "table[4]", "input", "atomic", "from.a[3]", "to", "to.a[3]", "never"]
def value(text):
    try:
        return int(gdb.parse_and_eval(text))
    except gdb.error:
        return None
def place():
    here = {"pc": value("$pc"), "sp": value("$rsp")}
    here["regs"] = {r: value("$" + r) for r in regs}
    here["words"] = {w: value("*(unsigned int *)&" + w) for w in words}
    here["state"] = value("*(unsigned int *)&state[8]"), value("state[24]")
    return here
def walk(step, name, most):
    places = [place()]
    for i in range(most):
        try:
            gdb.execute(step, to_string=True)
        except gdb.error:
            break
        places.append(place())
        if step == "stepi" and value("$_siginfo.si_signo") == 11:
            places.pop() # before the instruction that faults, once more
            break
    json.dump(places, open(name, "w"))
END
{
	echo 'set pagination off'
	echo 'set confirm off'
	echo 'set debuginfod enabled off'
	cat <<'END'
break main
run <stdin >live.out
delete
python exec(open("walk.py").read()); walk("stepi", "live.json", 5000)
kill
break main
run <stdin >live.out
set can-use-hw-watchpoints 0
watch -l bad
python
last = None
while True:
    gdb.execute("continue", to_string=True)
    if int(gdb.parse_and_eval("$_siginfo.si_signo")) == 11:
        break
    last = int(gdb.parse_and_eval("$pc"))
print("LIVE %x" % last)
end
kill
END
} >live.gdb
guard gdb -nx -q ./prog <live.gdb >live 2>&1 || fail "live: gdb ended with $?: $(tail -n 3 live)"
[ -s live.json ] || { fail "no live run: $(tail -n 3 live)"; finish; }
{
	echo 'set pagination off'
	echo 'set confirm off'
	echo 'set debuginfod enabled off'
	echo 'set remotetimeout 86400' # its 2 s are too short on a busy machine
	echo "target remote | '$AUXTAP' gdbserver --stdio data"
	cat <<'END'
monitor values
watch -l bad
reverse-continue
print bad
stepi
python print("PAST %x" % int(gdb.parse_and_eval("$pc")))
delete
watch -l input
continue
python exec(open("walk.py").read()); walk("reverse-stepi", "past.json", 450)
END
} >past.gdb
guard gdb -nx -q ./prog <past.gdb >past 2>&1 || fail "past: gdb ended with $?: $(tail -n 3 past)"
live=$(sed -nE 's/.*LIVE ([0-9a-f]+)$/\1/p' live) past=$(sed -nE 's/.*PAST ([0-9a-f]+)$/\1/p' past)
[ -n "$live" ] && [ "$live" = "$past" ] || fail "watch: live at '$live', in the past at '$past': $(cat past)"
grep -q '^New value = (int \*' past || fail "watch: no change is shown: $(cat past)"
grep -qE 'thread [0-9]+: instructions [0-9]+ to [0-9]+: registers at [0-9]+ of them, memory' past ||
	fail "monitor values: $(cat past)"

cat >compare.py <<'END'
import json
live, past = json.load(open("live.json")), json.load(open("past.json"))
# a live step is one iteration of a REP instruction
live = [l for at, l in enumerate(live) if not at or l["pc"] != live[at - 1]["pc"]]
live.reverse()
# live's stack is elsewhere: what points into it counts from the stack pointer of main
live_sp = live[-1]["sp"]
known = {}
bad = 0
shift = next(l["regs"]["rsp"] - p["regs"]["rsp"] for l, p in zip(live, past)
             if p["regs"]["rsp"] is not None)
def differs(l, p):
    return p is not None and p != l and not (abs(l - live_sp) < 1 << 16 and p == l - shift)
for at, (l, p) in enumerate(zip(live, past)):
    if l["pc"] != p["pc"]:
        print("position %d: pc %x, live %x" % (at, p["pc"], l["pc"]))
        bad += 1
        break
    for kind in "regs", "words":
        for name in l[kind]:
            if name in ("rcx", "r11", "fs_base"): # qemu leaves the first two in a system call
                continue
            if p[kind][name] is not None:
                known[name] = known.get(name, 0) + 1
            if differs(l[kind][name], p[kind][name]):
                print("position %d: %s %x, live %x" % (at, name, p[kind][name], l[kind][name]))
                bad += 1
    for i in 0, 1: # the emulated unit's state differs from the machine's: only before fxsave64
        if l["state"][i] == 0 and p["state"][i] not in (None, 0):
            print("position %d: state is known, and false" % at)
            bad += 1
nr = min(len(live), len(past))
print("positions", nr, "known", known)
if nr < 300 or known.get("bad", 0) < nr // 2 or known.get("rsp", 0) < nr // 10:
    print("too few are known")
    bad += 1
# an unknown system call does not hide what was the same at the end
if known.get("never", 0) < nr // 4:
    print("what nothing wrote to is unknown")
    bad += 1
if not any(p["words"]["input"] is None for p in past):
    print("what read() overwrote is never unknown")
    bad += 1
raise SystemExit(bad != 0)
END
python3 compare.py >compared 2>&1 || fail "values differ: $(head -n 20 compared)"

# What the last call of a function returned, as in a live run
printf "%s\n" "set debuginfod enabled off" "break work" "ignore 1 100000" \
	"run <stdin >live.out" "info break" >hits.gdb
guard gdb -nx -q ./prog <hits.gdb >hits 2>&1
nr=$(sed -n 's/.*already hit \([0-9]*\) times.*/\1/p' hits)
[ "${nr:-0}" -gt 1 ] || fail "live calls: $(tail -n 3 hits)"
printf 'set debuginfod enabled off\nbreak work\nignore 1 %s\nrun <stdin >live.out\nfinish\n' \
	$((nr - 1)) >returned.gdb
guard gdb -nx -q ./prog <returned.gdb >returned 2>&1
value=$(sed -n 's/.*Value returned is [$]1 = //p' returned)
[ -n "$value" ] || fail "live finish: $(tail -n 3 returned)"
printf 'set debuginfod enabled off\nbreak work\nreverse-continue\nfinish\nprint $\n' >returned.gdb
guard "$AUXTAP" gdb data -- -nx -q <returned.gdb >returned 2>&1
grep -q "It is $value\$" returned && grep -q "[$]2 = $value\$" returned ||
	fail "finish: not $value: $(tail -n 18 returned | head -n 12)"

# Where there can be none, it is an error
"$AUXTAP" crash --values --source ptrace -o refused -- ./prog >stdout 2>stderr <stdin
[ $? = 125 ] && grep -q 'use --source qemu' stderr || fail "ptrace: $(cat stderr)"
"$AUXTAP" crash --values --redact -o refused -- ./prog >stdout 2>stderr <stdin
[ $? = 125 ] && grep -q -- '--redact' stderr || fail "redact: $(cat stderr)"

# A ring that is too small: unknown before, and gdb's user sees it
"$AUXTAP" crash --values=4K --memory reachable -o small -- ./prog >stdout 2>stderr <stdin
{
	echo 'set debuginfod enabled off'
	echo 'set remotetimeout 86400' # its 2 s are too short on a busy machine
	echo "target remote | '$AUXTAP' gdbserver --stdio small"
	printf 'watch -l table[2]\nreverse-continue\nprint table[2]\nreverse-stepi\nprint table[2]\n'
} >small.gdb
guard gdb -nx -q ./prog <small.gdb >small.out 2>&1
grep -q 'written before this is not recorded' small.out || fail "small ring: $(cat small.out)"
[ "$(grep -c 'Cannot access memory' small.out)" = 1 ] || fail "before the ring: $(cat small.out)"
finish
