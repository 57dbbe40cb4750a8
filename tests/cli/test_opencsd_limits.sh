#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# What this OpenCSD cannot follow is a gap up to the next synchronisation, never another flow.
. "$(dirname "$0")/lib.sh"
command -v python3 >/dev/null || skip "no python3"

printf '[device]\nname=ETE_0\ntype=ETE\n[regs]\nTRCCONFIGR=0x0\nTRCTRACEIDR=0x1\nTRCIDR0=0x2801cea1\n' \
	>ete.ini
printf 'TRCIDR1=0x4100fff0\nTRCIDR2=0xd0001088\nTRCIDR8=0x0\n' >>ete.ini
version=$("$AUXTAP" list | sed -n 's/.*OpenCSD \([0-9.]*\).*/\1/p')
[ -n "$version" ] || fail "list does not name OpenCSD's version: $("$AUXTAP" list | tail -n 3)"
older() { [ "$version" != "$1" ] && [ "$(printf '%s\n' "$version" "$1" | sort -V | head -n 1)" = "$version" ]; }

# ETE by hand: code, trace, ground truth; each part starts with a synchronisation.
cat >make.py <<'END'
import struct
NOP, RET = 0xd503201f, 0xd65f03c0
code, trace, truth = {}, b"", []

def place(addr, *words):
    for i, word in enumerate(words):
        code[addr + 4 * i] = word

def address(addr):
    return bytes([addr >> 2 & 0x7f, addr >> 9 & 0x7f]) + struct.pack("<Q", addr)[2:]

def sync(addr):
    return bytes(11) + b"\x80\x01\x01\x00\x04\x85" + address(addr) + b"\x30"

def target(addr):
    return b"\x9d" + address(addr)

E = b"\xf7"

def branch_part(at, word, to):
    """word at at + 4 goes to 'to', where nop and ret run; then nop and ret at 'to' + 0x80"""
    global trace
    place(at, NOP, word, RET, RET)
    place(to, NOP, RET)
    place(to + 0x80, NOP, RET)
    direct = word >> 24 & 0x7e == 0x74
    trace += sync(at) + E + (b"" if direct else target(to)) + E + target(to + 0x80) + E
    truth.extend([at, at + 4, to, to + 4, to + 0x80, to + 0x84])

def plain_part(at):
    global trace
    place(at, NOP, RET)
    trace += sync(at) + E
    truth.extend([at, at + 4])

for i, (word, to) in enumerate([
        (0x74020061, 0x2010), (0xf4020061, 0x2210),  # cb
        (0x74028061, 0x2410), (0x7402c061, 0x2610),  # cbb, cbh
        (0x75020061, 0x2810), (0xf5020061, 0x2a10),  # cb with an immediate
        (0x5500001f, 0x2c40), (0x5520001f, 0x2e40),  # retaasppc, retabsppc
        (0xd65f0be3, 0x3040), (0xd65f0fe3, 0x3240),  # retaasppc, retabsppc
        (0xd6ff03e0, 0x3440), (0xd6ff07e0, 0x3640)]):  # texit
    branch_part(0x2000 + 0x200 * i, word, to)
plain_part(0x4000)
# at 0x4200; then an interrupt that returns to 0x1000, whose handler is at 0x4300
place(0x4300, NOP, RET)
trace += sync(0x4200) + b"\x06\x15" + target(0x1000) + target(0x4300) + E
truth.extend([0x4300, 0x4304])
plain_part(0x4400)
open("code", "wb").write(b"".join(struct.pack("<I", code.get(a, NOP))
                                  for a in range(0x1000, 0x6000, 4)))
open("trace", "wb").write(trace)
open("truth", "wb").write(b"".join(struct.pack("<Q", a) for a in truth))
END
python3 make.py || fail "the trace was not made"
run() { "$AUXTAP" "$1" --raw etm --etm-config ete.ini --image "$WORK/code@0x1000" "${@:2}" trace; }
run decode --events insn,gap -F event,ip >listed 2>err || fail "decode: $(head -n 3 err)"
"$TOOLS/compare_ground_truth" truth --gaps <listed >result 2>&1 || fail "not the ground truth with gaps: $(cat result): $(head -n 30 listed)"
cat result
# each part is listed up to its unknown branch, and completely after a synchronisation
for ip in 2000 2004 2200 2204 3600 3604 4000 4004 4300 4304 4400 4404; do
	grep -q " $ip\$" listed || fail "$ip is missing"
done
nr=$(grep -c "gap" listed)
unknown=0
older 1.6.0 && unknown=$((unknown + 6))
older 1.5.1 && unknown=$((unknown + 4))
older 1.8.0 && unknown=$((unknown + 2))
run decode --events gap >gaps
[ "$(grep -c "OpenCSD $version does not know the instruction at" gaps)" = $unknown ] ||
	fail "$nr gaps, $unknown were expected of instructions: $(cat gaps)"
if older 1.4.2; then
	grep -q 'does not know the way to the exception at 0x1000' gaps || fail "no gap at the exception: $(cat gaps)"
fi
run report >report
grep -q "^  decoded by OpenCSD $version$" report || fail "the report does not name the library: $(sed -n '/^What/,/^$/p' report)"
[ "$unknown" = 0 ] || ! grep -q 'no gaps' report || fail "the report claims to have no gaps"

# speculation and cycle counts; elements that are open at a synchronisation point
sed 's/TRCIDR8=.*/TRCIDR8=0xff/; s/TRCCONFIGR=.*/TRCCONFIGR=0x10/' ete.ini >cycles.ini
sed 's/TRCIDR8=.*/TRCIDR8=0xff/' ete.ini >open.ini
python3 - <<'END'
trace = open("trace", "rb").read()
open("speculated", "wb").write(trace.replace(b"\x80\x01\x01\x00", b"\x80\x01\x05\x00\x03", 1))
END
size=$(stat -c %s trace)
if older 1.6.1; then
	"$AUXTAP" decode --raw etm --etm-config cycles.ini --image "$WORK/code@0x1000" \
		--events insn,gap trace >out
	[ "$(wc -l <out)" = 1 ] && grep -q "gap: .*$size bytes.*OpenCSD $version cannot follow speculation with cycle counts" \
		out ||
		fail "speculation with cycle counts: $(head -n 3 out)"
	"$AUXTAP" decode --raw etm --etm-config open.ini --image "$WORK/code@0x1000" \
		--events insn,gap speculated >out
	[ "$(wc -l <out)" = 1 ] && grep -q "gap: .*cannot follow speculation with elements from before" \
		out ||
		fail "speculated elements at a synchronisation point: $(head -n 3 out)"
fi
"$AUXTAP" decode --raw etm --etm-config open.ini --image "$WORK/code@0x1000" --events gap trace >out
grep -q 'cannot follow speculation' out && fail "a unit that may speculate, but does not: $(head -n 2 out)"
finish
