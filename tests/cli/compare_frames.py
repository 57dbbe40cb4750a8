#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Functions and source lines, compared with other tools.

compare_frames.py backtrace REPORT GDB  the backtrace of a crash report with gdb's of a core file
compare_frames.py addresses OURS OTHER  print_frames with 'addr2line -a -f -i' or llvm's, by frame
compare_frames.py lines OURS OTHER      the same, only the innermost line's number
Prints the differences; exit status 1 if there are any, or if there was nothing to compare.
"""
import os
import re
import sys


# An inherited constructor: binutils' demangler names the base class, LLVM's the derived class.
INHERITED = {"__uniq_ptr_data": "__uniq_ptr_impl"}


SIGNAL = "<signal handler called>"
TAIL = " (tail call)"


# What a compiler appends to the name of a clone or a part of a function: LLVM's addr2line prints
# the linker's name; gdb, binutils' addr2line and we print the source's.
CLONE = re.compile(r"\.(part|constprop|cold|isra|llvm|lto_priv)(\.\d+)*")


def plain(name):
    """The last component of a function's name; tools differ in parameters, templates, suffixes."""
    name = re.sub(r"( \[clone [^\]]*\])+$", "", name)
    name = name.replace("(anonymous namespace)", "{anonymous}").replace("operator()", "operator{}")
    depth, out = 0, ""
    for c in name:
        if c in "(<[":
            depth += 1
        elif c in ")>]":
            depth = max(0, depth - 1)
        elif not depth:
            out += c
    name = re.sub(r" const$", "", out).split(" ")[-1].split("::")[-1]
    name = name.removeprefix("__GI_")  # glibc's name for its own callers; gdb has it of DWARF
    return INHERITED.get(name, name)


def report_frames(path):
    text = open(path, errors="replace").read()
    frames = []
    for line in text.split("\nBacktrace\n")[1].split("\n\n")[0].splitlines():
        if line.endswith(SIGNAL):
            frames.append((SIGNAL, ""))
        m = re.match(r"  (?:#\d+\s+|    )(\S.*?)(?: \(inlined\)|( \(tail call\)))? (?:at|near) (.*):(\d+)$",
                     line)
        if m:
            frames.append((plain(m[1]) + (m[2] or ""), os.path.basename(m[3]) + ":" + m[4]))
    return frames


def without_tails(ours, other):
    """gdb finds tail frames by call sites alone, and only if they are the only possible ones."""
    kept = []
    for name, line in ours:
        tail = name.endswith(TAIL)
        name = name.removesuffix(TAIL)
        if not tail or (len(kept) < len(other) and other[len(kept)] == (name, line)):
            kept.append((name, line))
    return kept


def gdb_frames(path):
    frames = []
    for line in open(path, errors="replace"):
        if line.startswith("#0 "):
            frames = []  # gdb prints the innermost frame when it opens the core, too
        if line.rstrip().endswith(SIGNAL):
            frames.append((SIGNAL, ""))
        m = re.match(r"#\d+\s+(?:0x[0-9a-f]+ in )?(.*?) \((?:[^()]|\(.*?\))*\) at (.*):(\d+)$",
                     line.strip())
        if m:
            frames.append((plain(m[1] + "()"), os.path.basename(m[2]) + ":" + m[3]))
    return frames


def address_frames(path):
    frames, at = {}, None
    lines = open(path, errors="replace").read().splitlines()
    i = 0
    while i < len(lines):
        if re.fullmatch(r"0x[0-9a-f]+", lines[i]):
            at = frames.setdefault(int(lines[i], 16), [])
            i += 1
            continue
        file, _, line = re.sub(r" \(discriminator \d+\)", "", lines[i + 1]).rpartition(":")
        at.append((lines[i], os.path.normpath(file) if file else "", line))
        i += 2
    return frames


def compare_backtrace(report, gdb):
    ours, other = report_frames(report), gdb_frames(gdb)
    ours = without_tails(ours, [f for f in other if f[0] != "clone3"])
    # gdb ends at main
    names = [name for name, _ in ours]
    if "main" in names:
        ours = ours[:names.index("main") + 1]
    # the C library's thread start differs between a native and an emulated run
    other = [f for f in other if f[0] != "clone3"]
    ours = [f for f in ours if f[0] != "__clone"]
    for i in range(max(len(ours), len(other))):
        a, b = (x[i] if i < len(x) else None for x in (ours, other))
        if a != b:
            print(f"frame {i}: {a}, gdb has {b}")
    return len(other), ours != other


def compare_addresses(ours, other, numbers_only):
    ours, other = address_frames(ours), address_frames(other)
    compared = bad = 0
    for addr, frames in other.items():
        mine = ours.get(addr, [])
        # padding after a function, and code without a source line
        if not mine or mine[-1][0] == "??" or frames[0][2] in ("0", "?") or len(mine) >= 16:
            continue
        compared += 1
        if numbers_only:
            a, b = mine[0][2], frames[0][2]
        else:
            a = [(plain(n), f, l) for n, f, l in mine]
            b = [(plain(CLONE.sub("", n)), f, l) for n, f, l in frames]
            # a name that the other tool cannot demangle
            a = [(n if o[0] and not o[0].startswith("_Z") else o[0], f, l)
                 for (n, f, l), o in zip(a, b)] \
                if len(a) == len(b) else a
        if a != b:
            bad += 1
            if bad <= 3:
                print(f"{addr:#x}: {a}, the other tool has {b}")
    return compared, bad


def main():
    if sys.argv[1] == "backtrace":
        compared, bad = compare_backtrace(sys.argv[2], sys.argv[3])
    else:
        compared, bad = compare_addresses(sys.argv[2], sys.argv[3], sys.argv[1] == "lines")
    if not compared:
        print("nothing to compare")
    elif not bad:
        print(compared)
    return 1 if bad or not compared else 0


sys.exit(main())
