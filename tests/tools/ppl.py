#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Listings of OpenCSD's trc_pkt_lister (.ppl) against those of auxtap.

ppl.py compare FILE.ppl[.xz] DUMP [--dstream] [--drop REGEX]   packets: their number, or the first that differs
ppl.py ranges FILE.ppl[.xz]                                    instruction ranges: ID start end count

Where the lister names no ID (a single source's is 0) or no bytes, any will do. White space does not matter,
nor what REGEX takes out of both texts.
"""
import lzma
import re
import sys


def lines(path):
    data = lzma.open(path).read() if path.endswith(".xz") else open(path, "rb").read()
    return data.decode("utf-8", "replace").splitlines()


def words(text, drop):
    text = re.sub(r"; Decoder Sync point.*$", "", text)  # newer libraries only
    if drop:
        text = re.sub(drop, "", text)
    return " ".join(text.split())


def packets(path, dstream, drop):
    for line in lines(path):
        # an error message has no end of line of its own: the packet may stand behind it
        m = re.search(r"Idx:(\d+); ID:([0-9a-f]+); ?(?:\[([^\]]*)\];)?\t(.*)$", line)
        if not m:
            continue
        off = int(m[1])
        if dstream:  # counted without the 8 bytes that end every 512
            off = off // 504 * 512 + off % 504
        data = re.sub(r"0x| ", "", m[3])[:64] if m[3] is not None else "-"
        ident = int(m[2], 16)
        yield off, "%02x" % ident if ident else "-", data, words(m[4], drop)


def dump(path, drop):
    for line in lines(path):
        m = re.match(r"([0-9a-f]{8,})  ([0-9a-f]{2})  ((?:[0-9a-f]{2} )+)(?: *and \d+ more)? *(.*)$", line)
        if m:
            yield int(m[1], 16), m[2], m[3].replace(" ", ""), words(m[4], drop)


def compare(expected, ours):
    """Prints where they differ; the number of packets if they do not."""
    expected, ours = list(expected), list(ours)
    for i in range(max(len(expected), len(ours))):
        e = expected[i] if i < len(expected) else None
        o = ours[i] if i < len(ours) else None
        same = e and o and e[0] == o[0] and e[1] in ("-", o[1]) and e[2] in ("-", o[2]) and e[3] == o[3]
        if not same:
            print("packet %d: expected %s, listed %s" % (i, e, o))
            return 1
    print(len(expected))
    return 0


def ranges(path):
    for line in lines(path):
        for m in re.finditer(r"ID:([0-9a-f]+); OCSD_GEN_TRC_ELEM_INSTR_RANGE\(exec range="
                             r"0x([0-9a-f]+):\[0x([0-9a-f]+)\] num_i\((\d+)\)", line):
            print(m[1], m[2], m[3], m[4])


def main():
    args = sys.argv[1:]
    drop = None
    if "--drop" in args:
        at = args.index("--drop")
        drop = args[at + 1]
        del args[at:at + 2]
    dstream = "--dstream" in args
    if dstream:
        args.remove("--dstream")
    if args[0] == "compare":
        sys.exit(compare(packets(args[1], dstream, drop), dump(args[2], drop)))
    if args[0] == "ranges":
        ranges(args[1])
    else:
        sys.exit(2)


if __name__ == "__main__":
    main()
