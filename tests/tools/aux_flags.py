#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Changes the flags of AUX records in a copy of a perf.data file and nothing else.
Usage: aux_flags.py IN OUT clear|set FLAGS [N]: of all of them, or of the N-th one (from 0) that
this changes. Prints how many were changed; exit status 1 if none."""
import struct
import sys

AUX, AUXTRACE = 11, 71


def records(data):
    """The offset and type of each record of the data section."""
    at, size = struct.unpack_from("<QQ", data, 40)
    end = at + size
    while at < end:
        kind, _, size = struct.unpack_from("<IHH", data, at)
        if size < 8:
            sys.exit("a record of %d bytes at %#x" % (size, at))
        yield at, kind
        if kind == AUXTRACE:
            at += struct.unpack_from("<Q", data, at + 8)[0]
        at += size


def main():
    source, target, what, mask = sys.argv[1:5]
    mask = int(mask, 0)
    only = int(sys.argv[5]) if len(sys.argv) > 5 else None
    with open(source, "rb") as f:
        data = bytearray(f.read())
    if data[:8] != b"PERFILE2":
        sys.exit("not a perf.data file")
    nr, changed = 0, 0
    for at, kind in records(data):
        if kind != AUX:
            continue
        flags = struct.unpack_from("<Q", data, at + 24)[0]
        new = flags & ~mask if what == "clear" else flags | mask
        if new == flags:
            continue
        if only is None or only == nr:
            struct.pack_into("<Q", data, at + 24, new)
            changed += 1
        nr += 1
    with open(target, "wb") as f:
        f.write(data)
    print(changed)
    sys.exit(0 if changed else 1)


main()
