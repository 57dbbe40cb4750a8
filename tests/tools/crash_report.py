# SPDX-License-Identifier: BSD-2-Clause
"""The text of a crash report as data, for check_crash.py."""
import os
import re


class Row:
    """A line of the tree of calls."""
    def __init__(self, depth, text):
        self.depth, self.text, self.children = depth, text, []
        self.count, self.hidden, self.insns, self.recursion = 1, 0, None, 1
        self.kind, self.name, self.location, self.open, self.current = "", "", "", False, False
        self.lost = False


SECTIONS = ["Faulting instruction", "Registers", "Backtrace", "The calls that led there",
            "Last branches (newest last)", "What the trace covers", "Images", "Next"]


def sections(text):
    out, name = {"head": []}, "head"
    for line in text.splitlines():
        if line in SECTIONS or not line.startswith(" ") and line:
            if name == "head" and not out["head"]:
                out["head"].append(line)
                continue
            name = line
            out.setdefault(name, [])
        else:
            out[name].append(line)
    return out


def tree_row(line):
    m = re.match(r"  ( *(?:\d+|\.\.\.)?)  ( *)(.*)$", line[:16] + line[16:]) if len(line) > 16 \
        else None
    if not m or len(m[1]) < 12:
        return None
    count = m[1].strip()
    body = line[16:]
    depth = (len(body) - len(body.lstrip(" "))) // 2
    row = Row(depth, line)
    body = body.strip(" ")
    if body.startswith("-- gap"):
        row.kind = "gap"
        return row
    if body.startswith("== "):
        row.kind = "exec"
        return row
    if count == "...":
        row.kind = "between"
        return row
    if not count.isdigit():
        return None
    row.insns = int(count)
    m = re.search(r"  (\.\.\.|\?|<- .*)$", body)
    if m:
        row.open, row.current = True, m[1].startswith("<-")
        row.lost = m[1] == "?"
        body = body[:m.start()]
    left, location = body, ""
    m = re.match(r"^(.{%d,}?) (\S*)$" % max(1, 60 - 2 * depth), body)
    if m:
        left, location = m[1].rstrip(), m[2]
    row.location = location
    m = re.search(r"  \((\d+) calls? not shown\)$", left)
    if m:
        row.hidden, left = int(m[1]), left[:m.start()]
    m = re.search(r"  x (\d+)$", left)
    if m:
        row.count, left = int(m[1]), left[:m.start()]
    m = re.match(r"\[(repeated|mixed|signal|by return|by jump|fall-through)\] ?", left)
    if m:
        row.kind, left = m[1], left[m.end():]
    m = re.search(r", depth (\d+)( \(recursive.*\))?$", left)
    if m:
        row.recursion, left = int(m[1]), left[:m.start()]
    row.name = left.strip()
    return row


def tree(lines):
    root = Row(-1, "")
    path = [root]
    for line in lines:
        if "instructions  function" in line:
            continue
        row = tree_row(line)
        if row is None:
            continue
        while path[-1].depth >= row.depth:
            path.pop()
        path[-1].children.append(row)
        path.append(row)
    return root


def frames(lines):
    """(number, function, file, line, inlined); None where frames are left out."""
    out = []
    for line in lines:
        if re.match(r"  \.\.\. ", line):
            out.append(None)
            continue
        m = re.match(r"  (#\d+ |    )\s*(.*)$", line)
        if not m:
            continue
        number = int(m[1][1:]) if m[1].strip() else None
        if number is None and not line.startswith("      "):
            continue
        text = m[2]
        # "near": code of no line, and the line before, which gdb shows
        place = re.match(r"(.*?)( \(inlined\))? (?:at|near) (.*):(\d+)$", text)
        if place:
            out.append((number, place[1], os.path.basename(place[3]), int(place[4]),
                        bool(place[2])))
        elif number is not None or text.endswith("<signal handler called>"):
            out.append((number, text, None, 0, False))
    return out


def branches(lines):
    out = []
    for line in lines:
        m = re.match(r"  (\S+) +(.*?) +-> (.*?)(?:  x (\d+))?$", line)
        if m:
            out += [(m[1], place(m[2]), place(m[3]))] * int(m[4] or 1)
    return out


def place(text):
    m = re.match(r"(.*) \(([^()]*):(\d+)\)$", text.strip())
    return (m[1], m[2], int(m[3])) if m else (text.strip(), None, 0)
