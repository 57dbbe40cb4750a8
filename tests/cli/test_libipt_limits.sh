#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Instructions and packets that this libipt does not know are gaps, never another flow.
. "$(dirname "$0")/lib.sh"
command -v python3 >/dev/null || skip "no python3"
version=$("$AUXTAP" list | sed -n 's/.*libipt \([0-9.]*\).*/\1/p')
[ -n "$version" ] || fail "list does not name libipt's version"
case $version in 2.[01].*) ;; *) skip "libipt $version knows them" ;; esac

cat >make.py <<'END'
import struct

def address(ip):
    return struct.pack("<Q", ip)[:6]

PSB = bytes([2, 0x82] * 8)
END = b"\x02\x23"

def start(ip):
    return PSB + b"\x99\x01\x7d" + address(ip) + END

def tip(ip):
    return b"\x6d" + address(ip)

code = bytearray(b"\x90" * 0x2000)
truth = b""

def part(name, at, insn, to, packets=b""):
    """nop, insn, then code that must not be listed; at 'to' nop and ret, which returns to 0x1f00"""
    trace = start(at) + packets + tip(to) + tip(0x1f00) + start(0x1f00)
    code[at - 0x1000 + 1:at - 0x1000 + 1 + len(insn)] = insn
    code[to - 0x1000:to - 0x1000 + 2] = b"\x90\xc3"
    open(name, "wb").write(trace)

# right after them: nop; jmp *%rax, which would consume the next address
tail = b"\x90\xff\xe0"
part("jmpabs", 0x1000, b"\xd5\x00\xa1" + struct.pack("<Q", 0x1100) + tail, 0x1100)
part("eretu", 0x1200, b"\xf3\x0f\x01\xca" + tail, 0x1300)
part("erets", 0x1400, b"\xf2\x0f\x01\xca" + tail, 0x1500)
part("uiret", 0x1a00, b"\xf3\x0f\x01\xec" + tail, 0x1b00)
# not these: the same bytes as a constant
part("constant", 0x1600, b"\xb8\xd5\x00\xa1\x00\xb8\xf3\x0f\x01\xca" + tail, 0x1700)
for name, packet in (("cfe", b"\x02\x13\x01\x20"), ("evd", b"\x02\x53\x00" + bytes(8)),
                     ("trig", b"\xd9\x00\x00")):
    part(name, 0x1800, tail, 0x1900, packet)
open("code", "wb").write(code)
END
python3 make.py || fail "the traces were not made"
run() { "$AUXTAP" "$1" --raw pt --image "$WORK/code@0x1000" "${@:3}" "$2"; }

# NAME: the instruction itself is the last before the gap; listing continues at its target
unknown() {
	local name=$1 at=$2 to=$3
	run decode "$name" --events insn,gap -F ip >listed 2>err || fail "$name: $(head -n 2 err)"
	head -n 2 listed | diff - <(printf '%x\n%x\n' $((at)) $((at + 1))) || fail "$name: before the gap: $(cat listed)"
	sed -n 3p listed | grep -q "gap: decode_error.*ip $(printf %x $((at + 1)))" || fail "$name: no gap: $(cat listed)"
	sed -n '4,5p' listed | diff - <(printf '%x\n%x\n' $((to)) $((to + 1))) || fail "$name: after the gap: $(cat listed)"
	# by blocks, whose end may have consumed the next address: the same instructions, or a
	# longer gap
	run decode "$name" --summary --events branch,gap >summary
	[ "$(sed -n 's/^instructions: //p' summary)" -ge 2 ] &&
		[ "$(sed -n 's/^instructions: //p' summary)" -le "$(grep -vc gap listed)" ] &&
		grep -q '^gaps: 1$' summary || fail "$name: by blocks: $(cat summary)"
	run report "$name" >out
	grep -q '1 gap: decode_error' out || fail "$name: the report has no gap"
	grep -q "decoded by libipt $version" out || fail "$name: the report does not name libipt"
}
unknown jmpabs 0x1000 0x1100
unknown eretu 0x1200 0x1300
unknown erets 0x1400 0x1500
# libipt has known this one since 2.0.4
run decode uiret --events insn,gap -F ip >listed
diff listed <(printf '%s\n' 1a00 1a01 1b00 1b01) || fail "uiret: $(cat listed)"
run decode constant --events insn,gap -F ip >listed
diff listed <(printf '%s\n' 1600 1601 1606 160b 160c 1700 1701) || fail "constants: $(cat listed)"
for name in cfe evd trig; do
	run decode "$name" --events gap >listed
	grep -q 'gap: decode_error.*: unknown opcode at offset' listed || fail "$name: no gap: $(cat listed)"
	run report "$name" >out
	grep -q '1 gap: decode_error' out || fail "$name: the report has no gap"
done
finish
