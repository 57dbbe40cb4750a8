# SPDX-License-Identifier: BSD-2-Clause
# A program without symbols: wherever the report names a call that has not returned, or that
# allocated or freed, it shows the address that the call returns to: in the text and in JSON, in the
# backtrace, of blocks, and of a return address that was overwritten.
. "$(dirname "$0")/lib.sh"
needs_qemu_10
command -v gcc >/dev/null || skip "gcc is not installed"
cat >twice.c <<'S'
#include <stdlib.h>
#define KEEP __asm__ volatile("" ::: "memory")
static void *p;
__attribute__((noinline)) static void make(void) { p = malloc(1000); KEEP; }
__attribute__((noinline)) static void drop(void) { free(p); KEEP; }
__attribute__((noinline)) static void middle(int n) { drop(); if (n) drop(); KEEP; }
int main(int argc, char **argv) { make(); middle(argc); KEEP; return 0; }
S
cat >smash.c <<'S'
#include <string.h>
#define KEEP __asm__ volatile("" ::: "memory")
__attribute__((noinline)) static void fill(char *to) { memset(to, 0x41, 64); KEEP; }
__attribute__((noinline)) static void smash(void) { char buf[8]; fill(buf); KEEP; }
int main(void) { smash(); KEEP; return 0; }
S
for name in twice smash; do
	gcc -O1 -s -no-pie -fno-stack-protector -w -o $name $name.c ||
		{ fail "$name: not built"; finish; }
	guard "$AUXTAP" crash -o $name.data -- ./$name 2>$name.err
	mv $name.data.report.txt $name.txt || fail "$name: no report: $(tail -n 2 $name.err)"
	"$AUXTAP" report --format json $name.data >$name.json || fail "$name: no JSON"
	# the address after each call
	objdump -d $name | awk '/^ *[0-9a-f]+:/ {if (call) print $1; call = /\tcall /}' |
		tr -d ' :' >after
	sed '/^The calls that led/,/^Images/d' $name.txt | grep -o "$name+0x[0-9a-f]*" |
		sed 's/.*0x//' >shown
	python3 -B - $name after shown <<'P' || fail "$name: see above"
import json, sys
name = sys.argv[1]
after = {int(line, 16) for line in open(sys.argv[2])}
shown = {int(line, 16) for line in open(sys.argv[3])}
report = json.load(open(name + '.json'))
insn = report['crash']['location']['image_offset'] if name == 'smash' else None
may = {int(insn, 16)} if insn else set()  # the return that failed
bad = sorted(hex(a) for a in shown - after - may)
assert not bad, ('not after a call', bad)
assert len(shown) >= {'twice': 6, 'smash': 2}[name], shown
def walk(value):
    if isinstance(value, list):
        for element in value:
            yield from walk(element)
    elif isinstance(value, dict):
        yield value
        for element in value.values():
            yield from walk(element)
nr = 0
for block in report['pointed_memory']:
    for at in walk([block['allocated'], block['freed'], block['bad_free']]):
        if 'image_offset' in at:
            nr += 1
            assert int(at['image_offset'], 16) in after, at
            assert at['address'] == at['image_offset'], at # of an executable at its own addresses
assert nr >= (6 if name == 'twice' else 0), nr
P
done
grep -q 'the call was from smash+0x' smash.txt || fail "smash: $(sed '/^$/q' smash.txt)"

[ "$(uname -m)" = x86_64 ] || finish # the options below are for its linker
# A short function that ends with a jump to an imported one keeps its row: the tree of calls has the
# same rows as with symbols, whatever the entries of the PLT look like. So it does without section
# headers, where the entries have no names.
cat >ends.c <<'S'
#include <stdlib.h>
#include <string.h>
volatile unsigned at[4];
__attribute__((noinline)) static size_t length(const char *s)
{
	at[0] = at[1] * 3;
	return strlen(s);
}
__attribute__((noinline)) static void drop(void *p) { at[2] ^= at[3]; free(p); }
__attribute__((noinline)) static size_t only(const char *s) { return strlen(s); }
int main(int argc, char **argv)
{
	void *a = malloc(10), *b = malloc(20);

	drop(a);
	free(b);
	drop(malloc(30));
	return length(argv[0]) + only(argv[0]) + length((char *)(long)argc);
}
S
rows() { # REPORT: the tree after the first call of malloc, without the names of its functions
	sed -n '/^The calls that led/,/^  (calls not shown)/p' "$1" | sed '1,/ malloc /d' |
		sed -E '/^ *[0-9]/!d; s/ (ends[^ ]*[+][^ ]*|main|length|drop|only) .*/ own/; t; s/  +[^ ]*$//'
}
names() { # without the numbers; of malloc and free either name
	cut -c 15- "$1" | sed 's/__libc_//'
}
for how in -Wl,-z,lazy '-Wl,-z,lazy -fcf-protection=full -Wl,-z,ibtplt' '-Wl,-z,now' -fno-plt \
	'-Wl,-z,lazy -fuse-ld=lld' '-Wl,-z,now -no-pie'; do
	rm -f ends.with ends
	# shellcheck disable=SC2086 # several options
	gcc -O2 $how -w -o ends.with ends.c 2>ends.err && strip -o ends ends.with || {
		case $how in
		*lld) continue ;; # not installed
		esac
		fail "ends, $how: not built: $(cat ends.err)"
		continue
	}
	python3 - <<'P'
data = bytearray(open('ends', 'rb').read())
data[40:48] = bytes(8) # e_shoff
data[60:64] = bytes(4) # e_shnum, e_shstrndx
open('ends.bare', 'wb').write(data)
P
	chmod +x ends.bare
	for name in ends.with ends ends.bare; do
		guard "$AUXTAP" crash -o $name.data -- ./$name 2>$name.err
		"$AUXTAP" report --calls 60 $name.data >$name.txt 2>>$name.err ||
			fail "$name, $how: no report: $(tail -n 2 $name.err)"
	done
	rows ends.with.txt >with
	rows ends.txt >without
	sed 's/ __libc_malloc / malloc /' ends.bare.txt >ends.bare.named
	rows ends.bare.named >bare
	[ "$(grep -c " own$" with)" -ge 5 ] && [ "$(wc -l <with)" -ge 12 ] && cmp -s with without ||
		fail "ends, $how: $(diff with without) in $(sed -n '/^The calls/,/^$/p' ends.txt)"
	case $how in
	*ibtplt) ;; # its entries have unwind information: a jump there is no proven tail call
	*) diff <(names with) <(names bare) >err ||
		fail "ends, $how, no section headers: $(cat err)" ;;
	esac
done
finish
