# SPDX-License-Identifier: BSD-2-Clause
# A packed snapshot gives the same report and the same events, with symbols and lines, in a
# directory that has nothing but auxtap and its libraries; stock perf reads it as it reads the
# snapshot; it is small; --redact leaves out what it promises; a cut or damaged file is reported.
. "$(dirname "$0")/lib.sh"
command -v qemu-x86_64 >/dev/null && [ -e "$BIN/auxtap-qemu.so" ] ||
	skip "the engine qemu is missing"

# auxtap loads capstone when it disassembles
loaded_later() { /sbin/ldconfig -p | awk '$1 ~ /^libcapstone[.]so[.]/ && !nr++ {print $NF}'; }
JAIL=$WORK/jail
mkdir "$JAIL"
for file in "$AUXTAP" $(ldd "$AUXTAP" | grep -o '/[^ ]*') $(loaded_later); do
	mkdir -p "$JAIL/$(dirname "$file")"
	cp -L "$file" "$JAIL/$file"
done
ln -s "$AUXTAP" "$JAIL/auxtap"
# inside COMMAND...: auxtap where no image, no /proc and no source file is
if chroot "$JAIL" "$AUXTAP" --version >/dev/null 2>&1; then
	inside() { chroot "$JAIL" "$AUXTAP" "$@"; }
else
	unshare -r chroot "$JAIL" "$AUXTAP" --version >/dev/null 2>&1 ||
		skip "chroot is not allowed: $(unshare -r true 2>&1)"
	inside() { unshare -r chroot "$JAIL" "$AUXTAP" "$@"; }
fi

EVENTS=insn,branch,call,return,async,trace,gap
FIELDS=comm,tid,time,event,ip,sym,symoff,dso,srcline,addr,insn,asm,flags
# crash NAME COMMAND...: a snapshot in NAME, packed in NAME.packed
crash() {
	local name=$1
	shift
	guard "$AUXTAP" crash --backend emulated -o "$name" -- "$@" >/dev/null 2>err </dev/null
	[ -s "$name" ] || { fail "$name: no snapshot: $(tail -n 1 err)"; return 1; }
	"$AUXTAP" pack --with-memory "$name" 2>err || { fail "$name: $(cat err)"; return 1; }
}
# same NAME: packed and not, report and decode
same() {
	local name=$1 size
	cp "$name.packed" "$JAIL/$name"
	"$AUXTAP" report "$name" >outside.txt
	inside report "$name" >inside.txt 2>&1
	cmp -s outside.txt inside.txt ||
		fail "$name: the report: $(diff outside.txt inside.txt | head -n 6)"
	grep -q ', none missing' inside.txt || fail "$name: $(grep -A 3 '^Images' inside.txt)"
	"$AUXTAP" decode --events $EVENTS -F $FIELDS "$name" >outside.txt
	inside decode --events $EVENTS -F $FIELDS "$name" >inside.txt 2>&1
	cmp -s outside.txt inside.txt ||
		fail "$name: events: $(diff outside.txt inside.txt | head -n 6)"
	[ "$(wc -l <inside.txt)" -gt 1000 ] || fail "$name: only $(wc -l <inside.txt) events"
	size=$(stat -c %s "$name.packed")
	sizes="$sizes $size"
	echo "$name: $(wc -l <inside.txt) events, $size bytes; not packed $(stat -c %s "$name")"
}

sizes=
for program in bad_pointer dlopen_crash ${AUXTAP_LONG:+null_deref use_after_free deep_calls \
	thread_crash stack_smash handler_crash cxx_uncaught}; do
	crash "$program" "$FIXTURES/$program" && same "$program"
done
if command -v qemu-aarch64 >/dev/null && [ -x "$FIXTURES/a64/null_deref" ]; then
	crash a64 "$FIXTURES/a64/null_deref" && same a64
fi
if [ -n "${AUXTAP_LONG:-}" ]; then
	[ -x /usr/bin/python3 ] &&
		crash python3 /usr/bin/python3 -c 'import ctypes; ctypes.string_at(0)' &&
		same python3
	[ -x /usr/bin/node ] &&
		crash node /usr/bin/node -e 'process.kill(process.pid, "SIGSEGV")' && same node
fi
# C++: exceptions unwind by tables for them; functions are inlined; debug information is compressed,
# DWARF 4, or missing
if command -v c++ >/dev/null; then
	cat >land.cc <<'END'
#include <cstdlib>
#include <stdexcept>
static inline int half(int n) { if (n & 1) throw std::runtime_error("odd"); return n / 2; }
__attribute__((noinline)) static int try_half(int n)
{
	try { return half(n); } catch (const std::exception &) { return -1; }
}
int main(int argc, char **argv)
{
	int sum = 0;
	for (int i = 0; i < 4; i++)
		sum += try_half(i + argc);
	*(volatile int *)(long)(sum & 0) = sum;
}
END
	for flags in '-g -gz' ${AUXTAP_LONG:+-gdwarf-4 -g0}; do
		name=land$(tr -dc a-z0-9 <<<"${flags#-g -gz}")
		# shellcheck disable=SC2086
		c++ -O1 $flags -o "$name.cc.bin" land.cc || fail "c++ $flags"
		crash "$name" "./$name.cc.bin" && same "$name"
	done
	"$AUXTAP" report land.packed | grep -q '_cxa_throw' ||
		fail 'land: no exception in the calls'
fi
median=$(tr ' ' '\n' <<<"$sizes" | grep . | sort -n |
	awk '{ a[NR] = $1 } END { print a[int((NR + 1) / 2)] }')
[ "$median" -lt 2097152 ] || fail "the median of the sizes is $median"

# packed over itself, and packed again: the same
cp bad_pointer again
"$AUXTAP" pack --with-memory -o again again 2>err || fail "in place: $(cat err)"
[ -e again.old ] && fail 'in place: there is an old file'
cmp -s again bad_pointer.packed || fail 'in place: another file'
[ "$(stat -c %a again)" = 600 ] || fail "mode $(stat -c %a again)"
inside pack --with-memory -o twice bad_pointer 2>err || fail "packed again: $(cat err)"
sed "s/bad_pointer/twice/" <<<"$(inside report bad_pointer)" >once.txt
inside report twice | sed 's,/[^ ]*/bad_pointer,&,' >twice.txt
diff <(sed 's/twice/bad_pointer/g' once.txt) <(sed 's/twice/bad_pointer/g' twice.txt) >diff ||
	fail "packed twice: $(head -n 6 diff)"

# stock perf
if command -v perf >/dev/null; then
	for of in bad_pointer bad_pointer.packed; do
		perf script -i $of --itrace=b -F tid,time,ip,addr 2>/dev/null >$of.perf
	done
	[ -s bad_pointer.perf ] && ! cmp -s bad_pointer.perf bad_pointer.packed.perf &&
		fail 'perf reads it differently'
fi

# gdb: the same session, without the program
if command -v gdb >/dev/null && [ -e land.cc.bin ]; then
	cat >session <<'END'
bt
info sharedlibrary
reverse-step
bt
reverse-continue
x/3i $pc
info symbol $pc
END
	for of in land land.packed; do
		[ $of = land ] || mv land.cc.bin away.bin
		gdb -nx -batch -iex 'set debuginfod enabled off' -iex 'set auto-load off' \
			-iex 'set remotetimeout 86400' \
			-ex "target remote | $AUXTAP gdbserver --stdio $of" -x session 2>&1 |
			grep -v '^Reading ' >$of.gdb
	done
	mv away.bin land.cc.bin
	grep -q '#0.* main.*land.cc' land.gdb || fail "gdb: $(head -n 20 land.gdb)"
	cmp -s land.gdb land.packed.gdb || fail "gdb: $(diff land.gdb land.packed.gdb | head -n 20)"
fi

# --redact
cat >secret.c <<'END'
#include <stdlib.h>
#include <string.h>
const char text[] = "constant-secret";
int main(int argc, char **argv)
{
	volatile char stack[64];
	strcpy((char *)stack, "stack-"); strcat((char *)stack, "secret");
	if (!strcmp(text, argv[1]))
		return 1;
	*(volatile int *)8 = stack[0]; /* line-secret */
	return 0;
}
END
if cc -g -O0 -o secret secret.c 2>/dev/null; then
	VARIABLE=env-secret crash whole ./secret argument-secret
	"$AUXTAP" pack --redact -o redacted whole 2>err || fail "--redact: $(cat err)"
	grep -q 'contains no memory' err || fail "--redact: $(cat err)"
	cp redacted "$JAIL/"
	inside report redacted >redacted.txt 2>&1 || fail "--redact: $(tail -n 1 redacted.txt)"
	grep -q 'SIGSEGV.* in main' redacted.txt ||
		fail "--redact: the report: $(head -n 3 redacted.txt)"
	grep -q 'secret.c:10' redacted.txt || fail "--redact: no line: $(head -n 12 redacted.txt)"
	grep -q 'line-secret' redacted.txt && fail '--redact: the report shows source'
	grep -q 'rax' redacted.txt || fail '--redact: the report lacks registers'
	"$AUXTAP" decode --events $EVENTS -F $FIELDS whole >outside.txt
	inside decode --events $EVENTS -F $FIELDS redacted >inside.txt 2>&1
	cmp -s outside.txt inside.txt ||
		fail "--redact: events: $(diff outside.txt inside.txt | head -n 6)"
	# what is compressed is looked at uncompressed
	for of in whole.packed redacted; do
		mkdir $of.records && "$TOOLS/packed_records" $of $of.records || fail "packed_records $of"
	done
	for what in constant-secret stack-secret argument-secret line-secret; do
		grep -raq "$what" redacted.records && fail "--redact: the file contains $what"
	done
	"$AUXTAP" pack --with-memory -o again redacted 2>err || fail "again: $(cat err)"
	grep -q 'the recording is redacted' err || fail "again: $(cat err)"
	"$AUXTAP" report again 2>&1 | tail -n 1 >again.txt
	"$AUXTAP" report redacted 2>&1 | tail -n 1 | diff - again.txt >&2 ||
		fail "again, with memory: $(cat again.txt)"
	for what in stack-secret argument-secret line-secret; do
		grep -raq "$what" whole.packed.records || fail "--with-memory: the file lacks $what"
	done
fi

# crash --pack: as crash, then pack
"$AUXTAP" crash --backend emulated --pack --redact -o direct -- "$FIXTURES/bad_pointer" \
	>/dev/null 2>err </dev/null
[ $? -eq 139 ] || fail "crash --pack: $(tail -n 1 err)"
"$AUXTAP" dump --no-packets direct | grep -q '^metadata .* packed image:' ||
	fail "crash --pack: not packed: $(tail -n 2 err)"
"$AUXTAP" dump --no-packets direct | grep -q '^metadata .* memory:' && fail 'crash --pack: memory'
cp direct "$JAIL/"
inside report direct 2>&1 | grep -q ', none missing' || fail 'crash --pack: the report'
for arguments in '--pack' '--pack --redact --with-memory' '--with-memory'; do
	# shellcheck disable=SC2086
	"$AUXTAP" crash $arguments -- true >out 2>err
	[ $? -eq 125 ] && [ "$(wc -l <err)" -eq 1 ] || fail "crash $arguments: $(cat err)"
done

# what is missing where auxtap's own libraries alone were copied
library=$(loaded_later)
rm "$JAIL$library"
cp dlopen_crash.packed "$JAIL/packed"
inside report packed >out 2>err || fail "without $library: status $?: $(cat err)"
grep -q "^  0x[0-9a-f]*  (${library##*/} cannot be loaded)\$" out ||
	fail "without $library: $(sed -n '/^Faulting/,/^$/p' out)"
inside report --format json packed >out 2>err || fail "without $library: JSON: $(cat err)"
grep -q "\"text\": *\"(${library##*/} cannot be loaded)\"" out ||
	fail "without $library: JSON: $(grep -o '"text":.\{60\}' out | head -n 3)"

# usage
for arguments in '' '--redact --with-memory' '--redact x y' '--no-such' '-o'; do
	# shellcheck disable=SC2086
	"$AUXTAP" pack $arguments >out 2>err
	[ $? -eq 2 ] && [ "$(wc -l <err)" -eq 1 ] || fail "pack $arguments: $(cat err)"
done
"$AUXTAP" pack --redact missing 2>err
[ $? -eq 3 ] || fail "a missing file: $(cat err)"
head -c 3000 bad_pointer >cut
"$AUXTAP" pack --redact cut 2>err && fail 'a cut recording is packed'
[ -e cut.packed ] && fail 'a cut recording left a file'
mkdir full && (ulimit -f 8; "$AUXTAP" pack --with-memory -o full/out bad_pointer 2>err)
[ -z "$(ls full)" ] || fail "a full disk leaves $(ls full)"

# cut and damaged
size=$(stat -c %s bad_pointer.packed)
for cut in 1 8 31 32 33 1000 300000 $((size - $(stat -c %s bad_pointer))); do
	head -c $((size - cut)) bad_pointer.packed >cut
	"$AUXTAP" report cut >out 2>err
	[ $? -eq 1 ] || fail "cut by $cut: status is not 1: $(cat err)"
	grep -q '^auxtap: cut: .*packed file' err || fail "cut by $cut: $(cat err)"
done
for at in 40 200 3000 $((size / 3)) $((size / 2)) $((size - 40)); do
	cp bad_pointer.packed damaged
	printf '\x5a' | dd of=damaged bs=1 seek=$at conv=notrunc status=none
	cmp -s damaged bad_pointer.packed && continue
	inside_error=$("$AUXTAP" report damaged 2>&1 >/dev/null)
	[[ $inside_error =~ ^"auxtap: damaged: " ]] || fail "damaged at $at: $inside_error"
	"$AUXTAP" decode --summary damaged >out 2>err && fail "damaged at $at: decoded"
done
# valid records with damaged images: refused, or looked up without a crash
mkdir records
mutations=${AUXTAP_MUTATIONS:-300}
[ -n "${AUXTAP_LONG:-}" ] && mutations=20000
"$TOOLS/packed_records" bad_pointer.packed records || fail packed_records
"$TOOLS/mutate_pack" "$mutations" "${AUXTAP_SEED:-1}" records/* >out 2>&1 ||
	fail "mutations: $(tail -n 3 out)"
finish
