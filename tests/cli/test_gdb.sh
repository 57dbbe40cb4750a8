# SPDX-License-Identifier: BSD-2-Clause
# Stock gdb steps backwards through recordings: its pcs are those of a live run of the same program,
# registers and memory are those of the death where it is there, and unknown in the past.
. "$(dirname "$0")/lib.sh"
command -v gdb >/dev/null || skip "gdb is not installed"
command -v gcc >/dev/null || skip "gcc is not installed"

# static: a live run has the same addresses. Its bad pointer is set long before it is used.
cat >prog.c <<'END'
#include <stdlib.h>
static int *bad, table[16];
static const char text[] = "constant text";
__attribute__((noinline)) int work(int n) { return n < 2 ? n : work(n - 1) + work(n - 2); }
__attribute__((noinline)) void set_bad(int n) { bad = n == 3 ? NULL : &table[n]; }
__attribute__((noinline)) int use(int n) { return *bad + n + text[n]; }
int main(void)
{
	int sum = 0;
	for (int i = 0; i < 4; i++) {
		set_bad(i);
		sum += work(5);
		sum += use(i); /* the crash */
	}
	return sum;
}
END
gcc -g -O0 -fno-pie -no-pie -static -w -o prog prog.c || fail "prog: not built"
"$AUXTAP" crash -o data -- ./prog >stdout 2>stderr </dev/null
[ -s data ] || { fail "no snapshot: $(tail -n 2 stderr)"; finish; }

# session NAME FILE: runs the commands of standard input in gdb; what they print goes to NAME
session() {
	{
		echo 'set prompt'
		echo 'set pagination off'
		echo 'set confirm off'
		echo 'set debuginfod enabled off'
		echo 'set style enabled off'
		echo 'set width 0'
		echo 'set remotetimeout 86400' # its 2 s are too short on a busy machine
		echo "target remote | '$AUXTAP' gdbserver --stdio $2"
		cat
	} >"$1.gdb"
	# from standard input: errors do not end it
	guard gdb -nx -q <"$1.gdb" >"$1" 2>&1 ||
		fail "$1: gdb ended with $?: $(tail -n 3 "$1")"
}
# has NAME PATTERN: a line of its output matches
has() { grep -qE -- "$2" "$1" || fail "$1: no line matches '$2': $(cat "$1")"; }
# steps COMMAND N: prints the pc, N times, each time after the command
steps() {
	printf 'set $i = 0\nwhile $i < %s\n%s\n' "$2" "$1"
	printf 'printf "PC %%lx\\n", $pc\nset $i = $i + 1\nend\n'
}
pcs() { sed -nE 's/^(.*[^A-Z])?PC ([0-9a-f]+)$/\2/p' "$1"; }

# 1. the point of death, as the recorder saw it
session death data <<'END'
info threads
bt
info registers rip rsp
print $_siginfo.si_signo
print $_siginfo._sifields._sigfault.si_addr
print $xmm0.uint128
print text
print &table
print table[0]
up
print i
print sum
END
has death '^\* 1 +Thread [0-9]+ "prog" '
has death '^#0 .* use \(n=3\) at prog.c:6$'
has death '^#1 .* main \(\) at prog.c:13$'
has death '^\$1 = 11$'
has death '^\$2 = \(void \*\) 0x0$'
has death '^\$3 = <unavailable>$'
has death '"constant text"$'
has death '^Cannot access memory at address 0x'
has death '^\$6 = 3$'
has death '^\$7 = 343$'
rsp=$(sed -nE 's/.* rsp ([0-9a-f]+).*/\1/p' data.report.txt | head -n 1)
has death "^rsp +0x${rsp#"${rsp%%[!0]*}"} "

# 2. the last 400 instructions, backwards, are those that the decoder lists
"$AUXTAP" decode --events insn -F ip --last 400 data | tr -d ' ' | tac >wanted
session back data <<END
$(steps reverse-stepi 400)
END
pcs back >got
[ "$(wc -l <wanted)" -eq 400 ] || fail "decode lists $(wc -l <wanted) instructions"
diff wanted got >diff || fail "backwards: $(head -n 5 diff)"

# 3. forwards from main: the same pcs as in a live run
cat >live.gdb <<END
set style enabled off
break main
run
printf "PC %lx\n", \$pc
$(steps stepi 900)
END
session forward data <<END
break main
reverse-continue
printf "PC %lx\n", \$pc
$(steps stepi 900)
END
guard gdb -nx -batch -x live.gdb ./prog >live 2>&1 </dev/null
pcs live >wanted
if grep -qi 'ptrace\|cannot' live; then
	echo "SKIP: no live run: $(grep -i 'ptrace\|cannot' live | head -n 1)"
else
	[ "$(sort -u wanted | wc -l)" -gt 30 ] || fail "live: $(tail -n 3 live)"
	pcs forward >got
	diff wanted got >diff || fail "forwards: $(head -n 5 diff)"
fi

# 4. to what set the bad pointer; what is unknown in the past is not shown
session cause data <<'END'
break set_bad
reverse-continue
info registers rip rsp rax
print n
print bad
print text
continue
continue
reverse-continue
END
[ "$(grep -c '^Breakpoint 1, set_bad (n=<unavailable>) at prog.c:5' cause)" -eq 2 ] || fail "cause: $(cat cause)"
has cause '^rsp +<unavailable>'
has cause '^rax +<unavailable>'
has cause '^Cannot access memory at address 0x'
has cause '"constant text"$'
[ "$(grep -cE '^(No more reverse-execution|Reached end of recorded) history' cause)" -eq 2 ] ||
	fail "cause: $(cat cause)"
has cause '^0x[0-9a-f]+ in use \(n=3\) at prog.c:6|^use \(n=3\) at prog.c:6'

# 5. to the begin, and nothing can be changed
session begin data <<'END'
reverse-continue
info registers rip
continue
set var $rax = 1
set var table[0] = 1
set var $pc = 0
call work(1)
monitor position
END
"$AUXTAP" decode --events insn -F ip data | head -n 1 | tr -d ' ' >first
has begin "^rip +0x$(cat first) "
has begin "^Could not write register \"rax\"; remote failure reply '(E\.)?a recording cannot be changed'"
has begin '^Could not write register "rip"'
has begin '^thread [0-9]+: instruction ([0-9]+) of \1, its end$'

# 6. auxtap gdb, with arguments for gdb; only the recording's own files
"$AUXTAP" gdb data -- -nx -batch -ex 'set style enabled off' -ex 'reverse-stepi' \
	-ex 'info registers rip' >start 2>&1 </dev/null ||
	fail "auxtap gdb: $(cat start)"
"$AUXTAP" decode --events insn -F ip --last 1 data | tr -d ' ' >last
has start "^rip +0x$(cat last) "
session files data <<'END'
remote get /etc/passwd got.passwd
remote put prog.c put.c
remote delete prog.c
END
[ "$(grep -c '^Remote I/O error: ' files)" -eq 3 ] && [ ! -s got.passwd ] && [ -s prog.c ] &&
	[ ! -e put.c ] ||
	fail "files: $(cat files)"

# 7. damaged packets
python3 "$SRC/tests/cli/gdb_packets.py" "$AUXTAP" 8 data >packets 2>&1 ||
	fail "packets: $(tail -n 3 packets)"

# 8. errors
"$AUXTAP" gdbserver data >out 2>err </dev/null && fail "without --stdio"
grep -q -- '--stdio' err || fail "without --stdio: $(cat err)"
"$AUXTAP" gdbserver --stdio no-such-file >out 2>err </dev/null && fail "no file"
grep -q '^auxtap: no-such-file: ' err || fail "no file: $(cat err)"
# gdb shows the error if it can still write its first packet
mkfifo to_server
"$AUXTAP" gdbserver --stdio no-such-file >out 2>err <to_server &
exec 9>to_server
for _ in 1 2 3 4 5 6 7 8 9 10; do
	[ -s err ] || sleep 0.5
done
sleep 0.5
kill -0 $! 2>/dev/null || fail "no file: the server did not wait for a packet"
printf + >&9
wait $! && fail "no file: status 0"
exec 9>&-
"$AUXTAP" gdb no-such-file >out 2>err </dev/null && fail "gdb, no file"
"$AUXTAP" gdb --gdb ./no-such-gdb data >out 2>err </dev/null && fail "no gdb"
grep -q '^auxtap: ./no-such-gdb: not found; install gdb' err || fail "no gdb: $(cat err)"

# 9. options for gdbserver: of a repeated one the last holds, and no other is lost
printf '#!/bin/sh\nprintf "%%s\\n" "$@" | grep "^target remote"\n' >shows
chmod +x shows
"$AUXTAP" gdb --gdb ./shows --debuginfod --sysroot /a --pid 1 --pid 2 --pid 3 --memory 5 \
	--memory 6 --pid 7 --sysroot /b --pid 8 --pid 9 data >out 2>err </dev/null
grep -q -- " '--debuginfod' '--sysroot' '/b' '--pid' '9' '--memory' '6' '--' 'data'" out ||
	fail "gdb, repeated options: $(cat out err)"
finish
