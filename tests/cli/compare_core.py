#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Compares a core file with the kernel's of the same process.

usage: compare_core.py KERNEL OURS

Equal must be: every PT_LOAD, every byte of the contents, and the notes, but for the order of the
threads after the first, the times, the flags of the task, and notes that only describe layouts.
Memory that nothing was ever written to may be there as zeros where the kernel's has no contents.
"""
import struct
import sys

PT_LOAD, PT_NOTE = 1, 4
NT_PRSTATUS, NT_PRPSINFO = 1, 3
NT_XSAVE_LAYOUT = 0x205


def headers(data):
    if data[:4] != b"\x7fELF" or struct.unpack_from("<H", data, 16)[0] != 4:
        sys.exit("not a core file")
    offset, = struct.unpack_from("<Q", data, 32)
    number, = struct.unpack_from("<H", data, 56)
    return [struct.unpack_from("<IIQQQQQQ", data, offset + 56 * i) for i in range(number)]


def loads(data):
    return [(vaddr, memsz, filesz, flags, offset)
            for kind, flags, offset, vaddr, _, filesz, memsz, _ in headers(data)
            if kind == PT_LOAD]


def notes(data):
    for kind, _, offset, _, _, filesz, _, _ in headers(data):
        end = offset + filesz
        while kind == PT_NOTE and offset < end:
            namesz, descsz, note = struct.unpack_from("<III", data, offset)
            name = data[offset + 12:offset + 12 + namesz - 1].decode()
            offset += 12 + (namesz + 3 & ~3)
            yield name, note, data[offset:offset + descsz]
            offset += descsz + 3 & ~3


def without_times(note, desc):
    """Times go on, and the kernel flags a task that dumps core."""
    if note == NT_PRSTATUS:
        return desc[:48] + bytes(64) + desc[112:]
    if note == NT_PRPSINFO:
        return desc[:8] + bytes(8) + desc[16:]
    return desc


def threads(data):
    """The notes of each thread, by its ID; those of the process belong to the first."""
    found = {}
    tid = None
    for name, note, desc in notes(data):
        if note == NT_PRSTATUS:
            tid, = struct.unpack_from("<i", desc, 32)
        if note != NT_XSAVE_LAYOUT:
            found.setdefault(tid, []).append((name, note, without_times(note, desc)))
    return found


def main():
    kernel, ours = (open(path, "rb").read() for path in sys.argv[1:3])
    wrong = []
    a, b = loads(kernel), loads(ours)
    for x, y in zip(a, b):
        if not x[2] and y[2] == y[1] and not any(ours[y[4]:y[4] + y[2]]) and y[3] & 2:
            continue
        if x[:4] != y[:4]:
            wrong.append(f"mapping {x[0]:#x}: {x[1:4]} became {y[0]:#x} {y[1:4]}")
        elif kernel[x[4]:x[4] + x[2]] != ours[y[4]:y[4] + y[2]]:
            wrong.append(f"mapping {x[0]:#x}: the contents differ")
    if len(a) != len(b):
        wrong.append(f"{len(a)} mappings became {len(b)}")
    a, b = threads(kernel), threads(ours)
    if set(a) != set(b) or next(iter(a)) != next(iter(b)):
        wrong.append(f"threads {list(a)} became {list(b)}")
    for tid in set(a) & set(b):
        if [note[:2] for note in a[tid]] != [note[:2] for note in b[tid]]:
            wrong.append(f"thread {tid}: other notes: {[note[:2] for note in b[tid]]}")
            continue
        for (name, note, x), (_, _, y) in zip(a[tid], b[tid]):
            if x != y:
                at = next((i for i, pair in enumerate(zip(x, y)) if pair[0] != pair[1]), -1)
                wrong.append(f"thread {tid}: note {name} {note:#x} differs at {at}:"
                             f" {len(x)} and {len(y)} bytes")
    print("\n".join(wrong) or f"{len(loads(ours))} mappings, {len(b)} threads")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
