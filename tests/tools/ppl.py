#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Compares listings of OpenCSD's trc_pkt_lister (.ppl) with those of auxtap.

ppl.py compare FILE.ppl[.xz] DUMP [--dstream] [--drop REGEX]
    packets; prints their number, or the first that differs
ppl.py flow FILE.ppl[.xz] CSV ID=CPU...
    instructions; prints their number, or the first range that differs
ppl.py gaps FILE.ppl[.xz] CSV
    instructions with gaps; prints how many of how many
ppl.py tarmac FILE[.xz] IPS
    all of IPS, in this order, in a model's log of EL0 and EL1

Where the lister prints no ID (a single source's is 0) or no bytes, any will do. Ignores white space
and what matches REGEX in both texts.
"""
import lzma
import re
import sys


def lines(path):
    data = lzma.open(path).read() if path.endswith(".xz") else open(path, "rb").read()
    return data.decode("utf-8", "replace").splitlines()


def words(text, drop):
    text = re.sub(r"; Decoder Sync point.*$", "", text)  # printed by newer libraries only
    if drop:
        text = re.sub(drop, "", text)
    return " ".join(text.split())


def packets(path, dstream, drop):
    for line in lines(path):
        # an error message has no newline: a packet may follow it on the line
        m = re.search(r"Idx:(\d+); ID:([0-9a-f]+); ?(?:\[([^\]]*)\];)?\t(.*)$", line)
        if not m:
            continue
        off = int(m[1])
        if dstream:  # offsets leave out the last 8 bytes of every 512
            off = off // 504 * 512 + off % 504
        data = re.sub(r"0x| ", "", m[3])[:64] if m[3] is not None else "-"
        ident = int(m[2], 16)
        yield off, "%02x" % ident if ident else "-", data, words(m[4], drop)


def dump(path, drop):
    for line in lines(path):
        m = re.match(r"([0-9a-f]{8,})  ([0-9a-f]{2})  ((?:[0-9a-f]{2} )+)(?: *and \d+ more)? *(.*)$",
                     line)
        if m:
            yield int(m[1], 16), m[2], m[3].replace(" ", ""), words(m[4], drop)


def compare(expected, ours):
    """Prints the first difference, or the number of packets."""
    expected, ours = list(expected), list(ours)
    for i in range(max(len(expected), len(ours))):
        e = expected[i] if i < len(expected) else None
        o = ours[i] if i < len(ours) else None
        same = (e and o and e[0] == o[0] and e[1] in ("-", o[1]) and e[2] in ("-", o[2]) and
                e[3] == o[3])
        if not same:
            print("packet %d: expected %s, listed %s" % (i, e, o))
            return 1
    print(len(expected))
    return 0


def ranges(path):
    """ID, first address, end, number of instructions, instruction set."""
    pattern = (r"ID:([0-9a-f]+); OCSD_GEN_TRC_ELEM_INSTR_RANGE\(exec range=0x([0-9a-f]+):\[0x([0-9a-f]+)\] "
               r"num_i\((\d+)\) last_sz\(\d\) \(ISA=(\w+)\)")
    for line in lines(path):
        for m in re.finditer(pattern, line):
            yield int(m[1], 16), int(m[2], 16), int(m[3], 16), int(m[4]), m[5]


def flow(path, csv, cpus):
    """CSV has the columns cpu, ip and insnlen of every instruction, from 'auxtap decode'."""
    ours, at, nr = {}, {}, 0
    for line in lines(csv)[1:]:
        cpu, ip, size = line.split(",")
        ours.setdefault(cpu, []).append((int(ip, 16), int(size)))
    total = 0
    for ident, start, end, count, isa in ranges(path):
        cpu = cpus.get(ident, cpus.get(-1))
        mine = ours.get(cpu, [])[at.get(cpu, 0):at.get(cpu, 0) + count]
        good = len(mine) == count and mine[0][0] == start and sum(mine[-1]) == end
        good = good and all(sum(a) == b[0] for a, b in zip(mine, mine[1:]))
        good = good and (isa == "T32" or all(size == 4 for _, size in mine))
        if not good:
            print("range %d, trace ID %02x: expected %x to %x (%d, %s), listed %s" %
                  (nr, ident, start, end, count, isa, ", ".join("%x+%d" % i for i in mine[:4])))
            return nr
        at[cpu] = at.get(cpu, 0) + count
        nr += 1
        total += count
    for cpu, list_ in ours.items():
        if at.get(cpu, 0) != len(list_):
            print("range %d, CPU %s: %d instructions after the last expected" %
                  (nr, cpu, len(list_) - at.get(cpu, 0)))
            return nr
    print("all %d" % total)
    return nr


def gaps(path, csv):
    """CSV has event, ip and insnlen, with gaps: each run between gaps is a part of the ranges."""
    expected = list(ranges(path))
    runs = [[]]
    for line in lines(csv)[1:]:
        event, ip, size = line.split(",")[:3]
        if event == "gap":
            runs.append([])
        else:
            runs[-1].append((int(ip, 16), int(size)))
    nr = 0
    for run in runs:
        at = 0  # sessions are in any order
        while at < len(expected) and run and not matches(expected[at:], run):
            at += 1
        if run and at == len(expected):
            print("not in the listing: a run of %d from %x on" % (len(run), run[0][0]))
            return 1
        nr += len(run)
    print("%d of %d, in %d runs" % (nr, sum(r[3] for r in expected), len([r for r in runs if r])))
    return 0


def matches(expected, run):
    """True if run equals the ranges; the last one may be partial."""
    left = list(run)
    for _, start, end, count, _ in expected:
        part, left = left[:count], left[count:]
        if part[0][0] != start or sum(part[-1]) > end or (len(part) == count and
                                                          sum(part[-1]) != end):
            return False
        if any(sum(a) != b[0] for a, b in zip(part, part[1:])):
            return False
        if not left:
            return True
    return False


def tarmac(path, ips):
    ours = [int(line, 16) for line in lines(ips)]
    log = []
    for line in lines(path):
        m = re.match(r"\d+ clk cpu0 I[TS] \(\d+\) ([0-9a-f]+)(?::\S+)? [0-9a-f]+ \S+ (\S+) :", line)
        if m and re.match("EL[01]._n", m[2]):  # the trace excludes other levels
            log.append(int(m[1], 16))
    best = 0
    for start in (i for i, ip in enumerate(log) if ours and ip == ours[0]):
        same = 0
        while same < len(ours) and start + same < len(log) and log[start + same] == ours[same]:
            same += 1
        best = max(best, same)
    print("%d of %d" % (best, len(ours)))
    return 0 if ours and best == len(ours) else 1


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
    if args[0] == "flow":
        pairs = (arg.split("=") for arg in args[3:])
        flow(args[1], args[2], {int(ident, 16): cpu for ident, cpu in pairs})
    elif args[0] == "gaps":
        sys.exit(gaps(args[1], args[2]))
    elif args[0] == "tarmac":
        sys.exit(tarmac(args[1], args[2]))
    else:
        sys.exit(2)


if __name__ == "__main__":
    main()
