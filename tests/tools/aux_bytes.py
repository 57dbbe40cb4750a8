#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
# Prints the AUX area's records of a perf.data file; independent of auxtap's own reader.
#   aux_bytes.py FILE records     a line for each AUX record: CPU (or thread), offset, size, flags
#   aux_bytes.py FILE bytes OUT   the bytes that AUX records cover, in order. Bytes between them
#                                 must be padding: PAD=0x70, say; without PAD nothing is checked
#   aux_bytes.py FILE registers   of cs_etm's AUXTRACE_INFO: TRCIDR0,1,2,8, TRCAUTHSTATUS,
#                                 TRCDEVARCH
import os
import struct
import sys

data = open(sys.argv[1], 'rb').read()
if data[:8] != b'PERFILE2':
    sys.exit('not a perf.data file')
_, _, attrs_at, _, begin, size = struct.unpack_from('<6Q', data, 8)
sample_type, = struct.unpack_from('<Q', data, attrs_at + 24)
TID, TIME, ID, CPU, STREAM, IDENTIFIER = 2, 4, 64, 128, 512, 65536


def owner(end):  # owner of a record: its sample id, from the last field back
    at = end
    if sample_type & IDENTIFIER:
        at -= 8
    cpu = None
    if sample_type & CPU:
        at -= 8
        cpu, = struct.unpack_from('<I', data, at)
    at -= 8 * bin(sample_type & (STREAM | ID | TIME)).count('1')
    tid = struct.unpack_from('<I', data, at - 4)[0] if sample_type & TID else None
    return cpu, tid


records, pieces, info = [], [], None
at = begin
while at < begin + size:
    kind, _, length = struct.unpack_from('<IHH', data, at)
    if kind == 11:  # AUX
        records.append((owner(at + length), *struct.unpack_from('<3Q', data, at + 8)))
    elif kind == 71:  # AUXTRACE
        nr, off, _, _, tid, cpu = struct.unpack_from('<QQQIII', data, at + 8)
        pieces.append((cpu, tid, off, data[at + length:at + length + nr]))
        at += nr
    elif kind == 70:
        info = struct.unpack_from('<%dQ' % ((length - 16) // 8), data, at + 16)
    at += length

def of(piece, who):
    return piece[0] == who[0] if piece[0] != 0xffffffff else piece[1] in (who[1], 0xffffffff)


# perf pads each to 8 bytes; only the last one of an owner keeps the padding
for i, (cpu, tid, off, what) in enumerate(pieces):
    begins = [p[2] for p in pieces if p[:2] == (cpu, tid) and p[2] > off]
    end_max = min(begins) - off if begins else max(
        [r[1] + r[2] - off for r in records if of((cpu, tid), r[0])] or [0])
    pieces[i] = (cpu, tid, off, what[:max(end_max, len(what) - 7)])

if sys.argv[2] == 'registers':
    # after version, CPUs, snapshot: magic, CPU, count, TRCCONFIGR, TRCTRACEIDR, then these
    have = list(info[8:8 + info[5] - 2])[:6] + [0]
    print(','.join('%#x' % v for v in have[:6]))
    sys.exit()
if sys.argv[2] == 'records':
    for (cpu, tid), off, nr, flags in records:
        print('%s %#x %#x %#x' % (cpu, off, nr, flags))
    sys.exit()


pad = int(os.environ['PAD'], 0) if 'PAD' in os.environ else None
out = open(sys.argv[3], 'wb')
named = {}
for who, off, nr, _ in records:
    done = off
    for piece in sorted(p for p in pieces if of(p, who)):
        if piece[2] <= done < piece[2] + len(piece[3]) and done < off + nr:
            part = piece[3][done - piece[2]:off + nr - piece[2]]
            out.write(part)
            named.setdefault(piece[:3], []).append((done - piece[2], len(part)))
            done += len(part)
    if done != off + nr:
        sys.exit('%#x bytes of the AUX record at %#x are not in the file' % (off + nr - done, off))
for piece in pieces if pad is not None else []:
    rest = bytearray(piece[3])
    for start, nr in named.get(piece[:3], []):
        rest[start:start + nr] = bytes([pad]) * nr
    if any(b != pad for b in rest):
        sys.exit('other bytes than padding outside of AUX records')
