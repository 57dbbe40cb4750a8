# SPDX-License-Identifier: BSD-2-Clause
# gdb's own record commands on a recording (auxtap gdb --btrace): the instructions are those of
# 'auxtap decode', the frames those of 'monitor calls', and nothing is served without the option.
. "$(dirname "$0")/lib.sh"
command -v gdb >/dev/null || skip "gdb is not installed"
command -v gcc >/dev/null || skip "gcc is not installed"

cat >lib.c <<'END'
int twice(int n) { return 2 * n; }
END
cat >prog.c <<'END'
static volatile int *bad, hits;
int twice(int n);
__attribute__((noinline)) int leaf(int n) { hits++; return n; }
__attribute__((noinline)) int work(int n)
{
	if (n < 2)
		return leaf(n);
	return work(n - 1) + work(n - 2);
}
int main(void)
{
	work(5);
	hits = twice(4);
	leaf(7);
	return *bad; /* the crash */
}
END
gcc -g -O0 -fno-pie -no-pie -static -w -o prog prog.c lib.c || fail "prog: not built"
"$AUXTAP" crash -o data -- ./prog >stdout 2>stderr </dev/null
[ -s data ] || { fail "no snapshot: $(tail -n 2 stderr)"; finish; }

# session NAME GDB-OPTION... : commands of standard input in gdb, as auxtap starts it
session() {
	local name=$1
	shift
	{ printf 'set %s\n' prompt 'style enabled off' 'width 0' 'pagination off'; cat; } >"$name.gdb"
	guard "$AUXTAP" gdb "$@" -- -nx -q <"$name.gdb" >"$name" 2>&1 ||
		fail "$name: $(tail -n 3 "$name")"
}
# addresses NAME: those of 'record instruction-history'
addresses() { sed -nE 's/.*\b[0-9]+\t(=>|  ) 0x([0-9a-f]+)( <.*|:.*)$/\2/p' "$1" | sed 's/^0*//'; }

# 1. the newest instructions, and all of them
session insns --btrace data <<'END'
info record
set record instruction-history-size 500
record instruction-history
END
grep -q '^Recording format: Branch Trace Store\.$' insns || fail "not recorded: $(cat insns)"
addresses insns >got
"$AUXTAP" decode --events insn -F ip --last 500 data | tr -d ' ' >wanted
[ "$(wc -l <wanted)" = 500 ] || fail "decode: $(wc -l <wanted)"
diff wanted got >diff || fail "instructions: $(head -n 5 diff)"
nr=$("$AUXTAP" decode --events insn -F ip data | wc -l)
grep -qE "^Recorded $nr instructions in [0-9]+ functions \(0 gaps\) for thread 1 " insns ||
	fail "of $nr: $(grep Recorded insns)"

# 2. a bound
session bound --btrace=20 data <<'END'
info record
END
grep -qE '^Recorded [0-9]+ instructions ' bound && ! grep -q "^Recorded $nr " bound ||
	fail "bound: $(cat bound)"

# 3. calls: gdb's frames at each leaf() are those that the trace proves; gdb goes to its own ends
{
	echo 'break leaf'
	printf 'set $i = 0\nwhile $i < 9\nreverse-continue\necho HIT\\n\nbt\nset $i = $i + 1\nend\n'
} >hits
session gdbs --btrace data <hits
sed 's/^bt$/monitor calls/' hits | session ours data
frames() { # function:line of each frame, one backtrace a line
	sed -nE -e 's/^HIT.*/|/p' \
		-e 's/^#[0-9]+ +(0x[0-9a-f]+ in )?([a-z]+) .*at [^ ]*prog\.c:([0-9]+)$/\2:\3/p' \
		"$1" | tr '\n' ' ' | tr '|' '\n' | sed 's/main:.*/main/' 
}
frames gdbs >got
frames ours >wanted
[ "$(grep -c 'leaf:3 work:7 .*main' wanted)" = 8 ] || fail "calls: $(cat wanted)"
diff wanted got >diff || fail "frames: $(cat diff)"
session history --btrace data <<'END'
set record function-call-history-size 1000
record function-call-history /c
END
# each as deep as it is called: leaf() in work(1) in ... work(5) in main()
sed -nE 's/^[0-9]+\t( *)(main|work|leaf|twice)$/\1\2/p' history | sed -n '/^ *work$/,$p' >got
[ "$(grep -c leaf got)" = 9 ] && [ "$(grep -c twice got)" = 1 ] || fail "history: $(cat got)"
awk '{d = index($0, $1); if (min == "" || d < min) min = d; if (d > max) max = d}
	END {exit !(max - min == 2 * 6)}' got || fail "history: levels: $(cat got)"

# 4. off, and back to auxtap's own motions; gdb cannot begin another one
session off --btrace data <<'END'
record goto end
record stop
reverse-stepi
info registers rip
record btrace bts
END
"$AUXTAP" decode --events insn -F ip --last 1 data | tr -d ' ' >last
grep -qE "^rip +0x$(cat last) " off && ! grep -q '^Recorded' off || fail "off: $(cat off)"
grep -qi 'does not support branch tracing' off || fail "again: $(cat off)"

# 5. a gap is shown as one
gcc -g -shared -fPIC -o libtwice.so lib.c && gcc -g -O0 -w -o dynamic prog.c ./libtwice.so ||
	fail "dynamic: not built"
"$AUXTAP" crash -o gap -- ./dynamic >stdout 2>stderr </dev/null
rm libtwice.so
session gap.out --btrace gap <<'END'
info record
END
grep -qE '^Recorded [0-9]+ instructions in [0-9]+ functions \([1-9][0-9]* gaps\)' gap.out ||
	fail "gap: $(cat gap.out)"

# 6. not by default
session plain data <<'END'
info record
END
grep -q 'No recording is currently active\.$' plain ||
	fail "without --btrace: $(cat plain)"
"$AUXTAP" gdb --btrace=0 data >out 2>err </dev/null && fail "--btrace=0"
grep -q -- "--btrace: '0' is not a number from 1" err || fail "--btrace=0: $(cat err)"

# 7. AArch64: gdb knows no calls there, but the instructions
A64=$FIXTURES/a64/null_deref
if ! command -v gdb-multiarch >/dev/null; then
	echo "SKIP: gdb-multiarch is not installed"
elif [ ! -x "$A64" ]; then
	echo "SKIP: no AArch64 compiler was there"
else
	"$AUXTAP" crash -o a64.data -- "$A64" >stdout 2>stderr </dev/null
	session a64 --btrace a64.data <<'END'
set record instruction-history-size 500
record instruction-history
END
	addresses a64 >got
	"$AUXTAP" decode --events insn -F ip --last 500 a64.data | tr -d ' ' >wanted
	diff wanted got >diff || fail "a64: instructions: $(head -n 5 diff)"
fi
finish
