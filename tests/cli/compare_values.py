#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Arguments and local variables of a crash report, compared with gdb's 'bt full' of a core file.

compare_values.py REPORT GDB [all]  all: what gdb shows must be in the report, too
Each value that both show must be the same; addresses are not compared. Prints the differences, or
how many values were compared; exit status 1 on a difference, or if there was nothing to compare.
"""
import re
import sys

MAX_LOCALS = 3  # functions whose local variables the report shows


def split(text, separator):
    """At separators outside of quotes and brackets."""
    parts, depth, quote, start, i = [], 0, None, 0, 0
    while i < len(text):
        c = text[i]
        if quote:
            if c == "\\":
                i += 1
            elif c == quote:
                quote = None
        elif c in "\"'":
            quote = c
        elif c in "{(<[":
            depth += 1
        elif c in "})>]":
            depth -= 1
        elif not depth and text.startswith(separator, i):
            parts.append(text[start:i])
            i += len(separator)
            start = i
            continue
        i += 1
    return [p for p in parts + [text[start:]] if p]


def plain(name):
    depth, out = 0, ""
    name = name.replace("operator()", "operator")
    for c in re.sub(r"( \[clone [^\]]*\])+$", "", name):
        if c in "(<[{":
            depth += 1
        elif c in ")>]}":
            depth -= 1
        elif not depth:
            out += c
    return re.sub(r" const$", "", out).split(" ")[-1].split("::")[-1]


def values(items):
    found = {}
    for item in items:
        m = re.match(r"([\w.@~*]+)\s*=\s*(.*)$", item, re.S)
        if m and m[1] not in found:  # the innermost of several blocks
            found[m[1]] = m[2]
    return found


def report_frames(path):
    text = open(path, errors="replace").read()
    frames, at = [], None
    for line in text.split("\nBacktrace\n")[1].split("\n\n")[0].splitlines():
        m = re.match(r"  (?:#\d+\s+|    )(\S.*?)(?: \(inlined\))? (?:at .*:\d+|in .*)$", line)
        if m and not line.startswith("        "):
            frames.append([plain(m[1]), "", ""])
        elif line.startswith("        args: "):
            at = 1
            frames[-1][at] += line[14:]
        elif line.startswith("        locals: "):
            at = 2
            frames[-1][at] += line[16:]
        elif line.startswith("          ") and at:
            frames[-1][at] += " " + line.strip()
        else:
            at = None
    return [(n, values(split(a, ", ")), values(split(l, ", "))) for n, a, l in frames]


def gdb_frames(path):
    text = open(path, errors="replace").read()
    frames = []
    for part in re.split(r"^#\d+ +", text[text.index("BEGIN"):], flags=re.M)[1:]:
        head, _, rest = part.partition("\n")
        head = re.sub(r"^0x[0-9a-f]+ in ", "", head)
        name, _, args = head.partition(" (")
        args = args[:args.rindex(") at ")] if ") at " in args else args.rstrip(")")
        rest = re.sub(r"^ {8}(?! )", "\x00", rest, flags=re.M)
        names = re.sub(r"<.*>", "", name)
        frames.append((plain(names + "()"), values(split(args, ", ")),
                       values(re.sub(r"\s+", " ", i).strip() for i in rest.split("\x00"))))
    return frames


def masked(value):
    value = re.sub(r"0x[0-9a-f]+", "0xX", value)
    # gdb's class names have their namespace and their arguments
    value = re.sub(r"<[\w:]*?(\w+)(<[^=]*>)?> =", r"<\1> =", value)
    value = re.sub(r"<(\w+)<\.\.\.>> =", r"<\1> =", value)
    value = re.sub(r"^(\w+::)+(?=\w+$)", "", value)  # an enumerator
    # it names variables and PLTs at addresses
    value = re.sub(r"0xX <[^>]*\+\d+>", "0xX", value)
    value = re.sub(r"<vtable for [^>]*>", "", value)
    return re.sub(r"\s+", " ", value).strip()


def equal(ours, other):
    """What the report has cut, or does not know, is not compared."""
    pattern = re.escape(ours).replace(re.escape("<not in the snapshot>"), ".*")
    pattern = pattern.replace(r"\{\.\.\.\}", ".*").replace(r"\.\.\.", ".*")
    pattern = pattern.replace(re.escape("<not known>"), ".*")
    if re.match(r"@?0xX <not in the", ours):
        pattern = ".*"
    return re.fullmatch(pattern, other) is not None


def compare(report, gdb, complete):
    ours, other = report_frames(report), gdb_frames(gdb)
    compared = bad = nr_locals = 0
    while ours and other and ours[0][0] != other[0][0]:
        ours.pop(0)
    for (name, *mine), (function, *its) in zip(ours, other):
        if name != function:
            print(f"frame of {name}: gdb has {function}")
            return compared, bad + 1
        nr_locals += 1
        for kind in 0, 1:
            for variable, value in its[kind].items():
                if "<optimized out>" in value or "synthetic pointer" in value:
                    continue
                if variable not in mine[kind]:
                    if complete and (kind == 0 or nr_locals <= MAX_LOCALS):
                        print(f"{name}: {variable} is missing; gdb: {value}")
                        bad += 1
                    continue
                have = mine[kind][variable]
                if have.startswith(("<optimized out>", "<not ", "<maybe not ")):
                    if complete:
                        print(f"{name}: {variable} is {have}; gdb: {value}")
                        bad += 1
                    continue
                compared += 1
                if not equal(masked(have), masked(value)):
                    print(f"{name}: {variable}={have}; gdb: {value}")
                    bad += 1
        if name == "main":
            break
    return compared, bad


def main():
    compared, bad = compare(sys.argv[1], sys.argv[2], "all" in sys.argv[3:])
    if not compared:
        print("nothing to compare")
    elif not bad:
        print(compared)
    return 1 if bad or not compared else 0


sys.exit(main())
