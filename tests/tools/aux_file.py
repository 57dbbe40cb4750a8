#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Makes a perf.data file of AUX records from the lines on standard input, for tests of the auditor.
Usage: aux_file.py FILE pt|bts|spe|etm [WATERMARK [overwrite]]. Lines; SIZE bytes of trace are FILL,
except where patches set others (@OFFSET=BYTE in the stream; up to an end: @OFFSET-END=BYTE):
    aux CPU TIME OFFSET SIZE [FLAGS]
    trace CPU OFFSET SIZE [FILL [PATCH]...]
    lost CPU TIME NUMBER
    start CPU TIME
    reader AUX-SIZE DATA-SIZE AUX-WATERMARK [WAITS]   the recorder's wakeup log of CPU 0's ring;
                                                      WAITS: number of all wakeups
    wait AUX-HEAD AUX-TAIL DATA-HEAD FLAGS            an entry of it
    osrelease VERSION
    inherit                                           the event is inherited
    capture TEXT                                      a line of the recorder's capture text
    gap CAUSE CPU TID TIME LOST                       a gap of LOST bytes that the recorder noted;
                                                      CAUSE: a number, 1: truncated
CPU tN is thread N's ring. CPU:N is a CPU's; aux: while task N runs; trace: of a command whose task
is N."""
import struct
import sys

FAMILIES = {"pt": 1, "bts": 2, "etm": 3, "spe": 4}
# version, PMU and number of units, no snapshots; an ETE of CPU 0 and its 8 registers
ETM_INFO = (1, 8 << 32 | 1, 0, 0x5050505050505050, 0, 8, 0xC1, 0x10, 0x28000EA1, 0x4100FF00, 0x488,
            0, 0xCC, 0x47705A13)
INFO_WORDS = 17
SAMPLE = 1 << 1 | 1 << 2 | 1 << 7 | 1 << 16  # TID, TIME, CPU, IDENTIFIER
OSRELEASE = 4
NOTE_GAP = 6


def number(text):
    return int(text, 0)


def ring(text):
    if text[0] == "t":
        return -1, int(text[1:])
    cpu, _, task = text.partition(":")
    return int(cpu), int(task or 100)


def record(kind, body, where, time):
    cpu, tid = where
    trailer = struct.pack("<IIQIIQ", tid, tid, time, cpu & 0xFFFFFFFF if cpu >= 0 else 0, 0, 1)
    return struct.pack("<IHH", kind, 0, 8 + len(body) + len(trailer)) + body + trailer


def trace(words):
    cpu, tid = ring(words[0])
    off, size = number(words[1]), number(words[2])
    fill = number(words[3]) if len(words) > 3 else 0xA5
    data = bytearray([fill]) * size
    for patch in words[4:]:
        place, byte = patch[1:].split("=")
        first, _, end = place.partition("-")
        first = number(first) - off
        end = number(end) - off if end else first + 1
        data[first:end] = bytes([number(byte)]) * (end - first)
    data += bytes(-len(data) % 8)
    head = struct.pack("<QQQIiiI", len(data), off, 1, 0,
                       tid if cpu < 0 or ":" in words[0] else -1, cpu, 0)
    return struct.pack("<IHH", 71, 0, 8 + len(head)) + head + bytes(data)


def main():
    path, family = sys.argv[1:3]
    watermark = number(sys.argv[3]) if len(sys.argv) > 3 else 0
    osrelease = "6.18.0"
    info = list(ETM_INFO if family == "etm" else ())
    info += [0] * (INFO_WORDS - len(info))
    data = struct.pack("<IHHII", 70, 0, 16 + 8 * INFO_WORDS, FAMILIES[family], 0)
    data += struct.pack("<%dQ" % INFO_WORDS, *info)
    notes, reader, inherit, capture = [], None, 0, b""
    for line in sys.stdin:
        words = line.split("#")[0].split()
        if not words:
            continue
        kind, words = words[0], words[1:]
        if kind == "aux":
            flags = number(words[4]) if len(words) > 4 else 0
            body = struct.pack("<QQQ", number(words[2]), number(words[3]), flags)
            data += record(11, body, ring(words[0]), number(words[1]))
        elif kind == "trace":
            data += trace(words)
        elif kind == "lost":
            data += record(2, struct.pack("<QQ", 1, number(words[2])),
                           ring(words[0]), number(words[1]))
        elif kind == "start":
            data += record(12, struct.pack("<II", 100, 100), ring(words[0]), number(words[1]))
        elif kind == "reader":
            aux, size, mark = map(number, words[:3])
            waits = number(words[3]) if len(words) > 3 else 0
            reader = struct.pack("<iiQQQQQQ", 0, -1, aux, size, mark, size // 2, 0, waits)
        elif kind == "wait":
            reader += struct.pack("<QQQQQ", 1000, number(words[0]), number(words[2]),
                                  number(words[1]), number(words[3]))
        elif kind == "osrelease":
            osrelease = words[0]
        elif kind == "inherit":
            inherit = 1 << 1
        elif kind == "capture":
            capture += " ".join(words).encode() + b"\n"
        elif kind == "gap":
            cause, cpu, tid, time, lost = map(number, words)
            notes.append((NOTE_GAP, struct.pack("<iiiiQQQii", cause, cpu, tid, tid, time,
                                                time + 1, lost, 1, 0)))
        else:
            sys.exit(f"aux_file: {line}")
    attr = bytearray(128)
    struct.pack_into("<II", attr, 0, 8, 128)  # type, size
    struct.pack_into("<Q", attr, 24, SAMPLE)
    struct.pack_into("<Q", attr, 40, 1 << 18 | inherit)  # sample_id_all
    struct.pack_into("<I", attr, 104, watermark)  # aux_watermark
    ids_at = 104
    attrs_at = ids_at + 8
    data_at = attrs_at + 128 + 16
    out = struct.pack("<QQQQQQQQQ", 0x32454C4946524550, 104, 144, attrs_at, 144, data_at,
                      len(data), 0, 0)
    features = 1 << OSRELEASE
    out += struct.pack("<QQQQ", features, 0, 0, 0)
    out += struct.pack("<Q", 1) + bytes(attr) + struct.pack("<QQ", ids_at, 8) + data
    text = osrelease.encode() + b"\0"
    text += bytes(-len(text) % 64)
    feature = struct.pack("<I", len(text)) + text
    out += struct.pack("<QQ", len(out) + 16, len(feature)) + feature
    if capture:
        notes.insert(0, (1, capture))
    if reader:
        notes.append((8, reader))
    at = len(out)
    for kind, body in notes:
        out += struct.pack("<IIQ", kind, 0, len(body)) + body + bytes(-len(body) % 8)
    if notes:
        out += struct.pack("<QQQQ", at, len(out) - at, len(notes), 0x314E504154585541)
    with open(path, "wb") as f:
        f.write(out)


main()
