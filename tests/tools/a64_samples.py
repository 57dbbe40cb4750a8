#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Checks the samples of one thread with qemu's own log of its registers before each instruction
(qemu-aarch64 -singlestep -d cpu,nochain,tid -D LOG-%d):
a64_samples.py LOG TRUTH SAMPLES PERIOD SLACK [LOW+SIZE]...

TRUTH: the ground truth, the addresses that the recorder says were executed. It must equal the log
(within the ranges of the filter), except for SLACK instructions at its end: the log of a killed
thread contains instructions that started. SAMPLES: lines "ip,addr,op,asm" of decode,
hexadecimal, every PERIOD-th instruction. A load or store must have the address that the
registers give, a branch the address that ran next."""

import csv
import re
import struct
import sys

WORD = re.compile(r"(PC|X\d\d| SP)=([0-9a-f]+)")
MEMORY = re.compile(r"\[(?P<base>[xs]p?\d*)(?:, (?P<off>[^\]]*))?\](?P<pre>!?)")
INDEX = re.compile(r"(?P<reg>[xw](?:\d+|zr))(?:, (?P<how>lsl|sxtw|uxtw|sxtx)(?: #(?P<shift>\d+))?)?$")
NO_ACCESS = ("prfm", "prfum")  # an address, but no access


def steps(path, expected, wanted):
    """The number of logged instructions; the registers of the wanted ones, by number"""
    regs, keep, nr, before = {}, None, 0, None
    for line in open(path):
        if line.startswith(" PC="):
            pc, keep = int(line[4:20], 16), None
            # qemu had to stop before it and logs it again
            if pc == before and (nr >= len(expected) or pc != expected[nr]):
                continue
            before = pc
            if nr < len(expected) and pc != expected[nr]:
                sys.exit("instruction %d: %x in the ground truth, %x in qemu's log" %
                         (nr, expected[nr], pc))
            if nr in wanted:
                keep = regs.setdefault(nr, {})
            nr += 1
        if keep is not None:
            keep.update((name.strip().lower(), int(value, 16))
                        for name, value in WORD.findall(line))
    return nr, regs


def register(regs, name):
    if name in ("xzr", "wzr"):
        return 0
    if name == "sp":
        return regs["sp"]
    value = regs["x%02d" % int(name[1:])]
    return value & 0xFFFFFFFF if name[0] == "w" else value


def offset(regs, text):
    if text.startswith("#"):
        return int(text[1:], 0)
    m = INDEX.match(text)
    value = register(regs, m["reg"])
    if m["how"] in ("sxtw",):
        value = (value & 0xFFFFFFFF) - (1 << 32 if value & 0x80000000 else 0)
    return value << int(m["shift"] or 0)


def access(regs, asm):
    """The address that this instruction loads from or stores to, or None."""
    name = asm.split(" ")[0]
    if name in NO_ACCESS:
        return None
    m = MEMORY.search(asm)
    if m:
        return (register(regs, m["base"]) + (offset(regs, m["off"]) if m["off"] else 0)) % (1 << 64)
    literal = re.match(r"ldr(?:sw)? \w+, #(0x[0-9a-f]+)$", asm)
    if literal:
        return int(literal[1], 16)
    zeroed = re.match(r"dc zva, (x\d+)$", asm)
    return register(regs, zeroed[1]) if zeroed else None


def access_of_word(regs, word):
    """The same of those that capstone 4 has no text for; False: not known here either."""
    if word & 0x3F200C00 == 0x38200000 or word & 0x3FA07C00 == 0x08A07C00 or \
            word & 0xBFA07C00 == 0x08207C00:  # LSE: LDADD and its kin, CAS, CASP
        base = word >> 5 & 31
        return register(regs, "sp" if base == 31 else "x%d" % base)
    if word >> 25 & 15 == 2 and not word >> 31:  # SVE, no load or store
        return None
    return False


def place(pcs, ips, period):
    """The index of the first sample"""
    for first in range(0, min(2 * period + 600, len(pcs))):
        if all(first + i * period < len(pcs) and pcs[first + i * period] == ip
               for i, ip in enumerate(ips)):
            return first
    sys.exit("the samples match the executed instructions at no offset")


def main():
    log, truth, samples, period, slack = sys.argv[1:4] + [int(a) for a in sys.argv[4:6]]
    ranges = [[int(n, 0) for n in a.split("+")] for a in sys.argv[6:]]
    data = open(truth, "rb").read()
    ran = struct.unpack("<%dQ" % (len(data) // 8), data)
    rows = [r for r in csv.reader(open(samples))]
    first = place(ran, [int(r[0], 16) for r in rows], period)
    if len(ran) - (first + (len(rows) - 1) * period) > 2 * period:
        sys.exit("no samples at the end")

    # the log's index of each instruction in it
    logged = [at for at, ip in enumerate(ran)
              if not ranges or any(lo <= ip < lo + size for lo, size in ranges)]
    number = {at: n for n, at in enumerate(logged) if (at - first) % period == 0}
    nr_logged, registers = steps(log, [ran[at] for at in logged], set(number.values()))
    if not len(logged) <= nr_logged <= len(logged) + slack:
        sys.exit("the ground truth has %d instructions, qemu's log %d" % (len(logged), nr_logged))

    nr = {"LD": 0, "ST": 0, "B": 0}
    unknown = 0
    for i, (ip, addr, op, asm) in enumerate(rows):
        at = first + i * period
        kind = op.split(" ")[0]
        if kind == "B":
            want = ran[at + 1] if at + 1 < len(ran) else int(addr, 16)
        elif at not in number:
            continue
        else:
            regs = registers[number[at]]
            want = access_of_word(regs, int(asm.split()[1], 16)) if asm.startswith(".inst ") \
                else access(regs, asm)
            if want is False:
                unknown += 1
                continue
            if (want is None) != (kind not in nr):
                sys.exit("%s %s: is it %s?" % (ip, asm, op))
        if want is not None:
            if addr == "-" or int(addr, 16) != want:
                sys.exit("%s %s: address %s, not %x" % (ip, asm, addr, want))
            nr[kind] += 1
    if unknown > len(rows) // 20:
        sys.exit("%d of %d samples are of instructions without text" % (unknown, len(rows)))
    print(len(rows), "samples, checked:", ", ".join("%d %s" % (n, k) for k, n in nr.items()))


main()
