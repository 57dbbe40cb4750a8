#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Compares crash reports with what generated programs really did.

check_crash.py run AUXTAP STEP_PROGRAM DIR SEED COMPILER LEVEL [OPTION...]
    generates the program of SEED, builds it, executes it in single steps and in gdb, records its
    death with 'auxtap crash OPTION...' and compares every statement that has a counterpart.
check_crash.py selftest DIR
    breaks the reports in such a directory in several ways: each must be noticed.
Prints 'FALSE: ...' lines and a count of comparisons; exit status 1 if a statement is false, 3 if
the program could not be examined.
"""
import json
import os
import pickle
import re
import subprocess
import sys

import crash_program
import crash_report
import crash_truth
from crash_truth import SI_KERNEL, plain, run

GDB_FRAMES = 48  # as many as crash_gdb.py asks for

NAMES = {2: "SIGINT", 3: "SIGQUIT", 4: "SIGILL", 5: "SIGTRAP", 6: "SIGABRT", 7: "SIGBUS",
         8: "SIGFPE", 11: "SIGSEGV", 24: "SIGXCPU", 25: "SIGXFSZ", 31: "SIGSYS"}
RESTORER = 2  # instructions after a handler: its return to the kernel
FLAGS = 0x841  # CF ZF OF: the others may depend on addresses


class Checker:
    def __init__(self, truth, plan):
        self.truth, self.plan = truth, plan
        self.findings, self.counts, self.missing = [], {}, []
        self.binary, self.gdb = truth.binary, truth.gdb

    def false(self, what):
        self.findings.append(what)

    def compared(self, what, nr=1):
        self.counts[what] = self.counts.get(what, 0) + nr

    def equal(self, what, got, want):
        self.compared(what)
        if got != want:
            self.false(f"{what}: {got}, in truth {want}")

    def report(self, text, whole):
        part = crash_report.sections(text)
        self.head(part["head"])
        self.instruction(part.get("Faulting instruction"))
        self.backtrace(part.get("Backtrace", []))
        self.registers(part.get("Registers", []))
        for name, lines in part.items():
            if name.startswith("Last branches"):
                self.branches(lines, "before" in name)
        self.calls(crash_report.tree(part.get("The calls that led there", [])), "tree")
        whole = crash_report.sections(whole)
        self.calls(crash_report.tree(whole.get("The calls that led there", [])), "whole tree")

    # ---- the head ----

    def is_own(self, frame):
        return frame["file"] in self.own_files()

    def own_files(self):
        return set(self.plan["files"]) | {"program.h"}

    def head(self, lines):
        text = "\n".join(lines)
        m = re.search(r"\(pid (\d+)(?:, thread (\d+))?\) died of (SIG\w+)", text)
        if not m:
            self.false("no headline: " + text[:200])
            return
        self.equal("signal", m[3], NAMES.get(self.truth.steps.death, "?"))
        self.equal("signal in gdb", m[3], NAMES.get(self.gdb["number"], "?"))
        main = min(self.truth.steps.roots)
        self.equal("dying thread", bool(m[2] and m[2] != m[1]), self.truth.steps.fatal[0] != main)
        joined = re.sub(r",\n\s+(reached|called)", r", \1", text)
        own = [f for f in self.gdb["frames"] if self.is_own(f)]
        places = re.findall(r"(?:in|from) (\S[^\n]*?) (?:at|near) (\S+?):(\d+)", joined)
        places = [p for p in places if p[1] in self.own_files()]
        if own and places:
            name, file, line = places[0]
            want = (self.name(own[0]["name"]), own[0]["file"], own[0]["line"])
            if (self.name(name), file, int(line)) != want and self.left_by_tail_call(places[0]):
                self.compared("place")
            else:
                self.equal("place", (self.name(name), file, int(line)), want)
        elif own:
            self.missing.append("no place of the program in the headline: " + joined[:200])
        self.compared("cause")
        if not re.search(self.plan["head"], joined):
            self.false(f"cause: {self.plan['cause']}: '{self.plan['head']}' is not in: {joined}")
        m = re.search(r"it (?:wrote to|read from|executes|jumped to) 0x([0-9a-f]+)", joined)
        if m and 0 < self.gdb["code"] < SI_KERNEL and \
                self.plan["cause"] not in ("exhausted", "bus"):
            self.equal("address", int(m[1], 16), self.gdb["addr"])

    def name(self, text):
        return self.binary.plain(text)

    def left_by_tail_call(self, place):
        """An open call that gdb cannot know: only the steps know where it jumped away."""
        node = self.truth.steps.roots[self.truth.steps.fatal[0]]
        while node:
            if node.last and node.jumped and self.is_place(place, self.binary.places(
                    {node.last})[node.last]):
                return True
            node = node.children[-1] if node.children and node.children[-1].open else None
        return False

    def instruction(self, lines):
        if not lines or self.gdb["insn"] is None:
            return
        m = re.match(r"  0x([0-9a-f]+)  (\S+)", lines[0])
        if not m or not self.binary.function(self.gdb["pc"] - self.truth.steps.base):
            return
        self.equal("instruction's page offset", int(m[1], 16) & 0xfff, self.gdb["pc"] & 0xfff)
        if not self.truth.steps.base:
            self.equal("instruction's address", int(m[1], 16), self.gdb["pc"])
        a, b = m[2], self.gdb["insn"].split()[0]
        self.compared("mnemonic")
        if not (a.startswith(b) or b.startswith(a) or a[:4] == b[:4]):
            self.false(f"mnemonic {a}, in gdb {b}")

    # ---- backtrace and registers ----

    def backtrace(self, lines):
        got, tail = [], []
        for f in crash_report.frames(lines):
            if f is None:
                break
            if f[2] in self.own_files() or f[1].endswith("/prog"):
                name = re.sub(r" in /\S*/prog$", "", f[1])
                if f[2] or self.name(name) in self.binary.names:
                    got.append((self.name(name), f[2], f[3], f[4]))
                    tail.append("(tail call)" in f[1])
        want = [(self.name(f["name"]), f["file"], f["line"], f["inlined"])
                for f in self.gdb["frames"] if self.is_own(f)]
        if self.plan["cause"] == "smash":
            self.smashed_backtrace(got, want)
            return
        at = 0
        kept = []
        for frame, is_tail in zip(got, tail):
            if is_tail and frame not in want[at:at + 1]:
                self.compared("tail frames")
                if frame[1] and not self.left_by_tail_call(frame):
                    self.false(f"tail frame {frame}: no open call that jumped away there")
                continue
            kept.append(frame)
            at += 1
        got = kept
        self.compared("frames", len(got))
        for i, frame in enumerate(got):
            if i == len(want) and len(self.gdb["frames"]) >= GDB_FRAMES:
                break
            if i < len(want) and frame[1] is None and frame[0] == want[i][0]:
                continue  # code without a line; gdb shows the line before
            if i >= len(want) or frame != want[i]:
                self.false(f"frame {i}: {frame}, in gdb {want[i] if i < len(want) else None}")
                return
        if len(got) < len(want) and not any(" more" in x for x in lines):
            self.missing.append(f"frames: {len(got)} of {len(want)}")

    def smashed_backtrace(self, got, want):
        """The frames above the destroyed one are unknown to gdb, too: only the steps know them."""
        open_calls, node = [], self.truth.steps.roots[self.truth.steps.fatal[0]]
        while node:
            open_calls.append(node.name)
            node = node.children[-1] if node.children and node.children[-1].open else None
        self.compared("frames", len(got))
        for frame in got:
            if frame not in want and not frame[3] and frame[0] not in open_calls:
                self.false(f"frame {frame}: not an open call: {open_calls}")

    def registers(self, lines):
        own = self.binary.function(self.gdb["pc"] - self.truth.steps.base) is not None
        got = dict(re.findall(r"(r\w+|eflags) ([0-9a-f]{16})", "\n".join(lines)))
        if not got:
            self.missing.append("registers")
            return
        if not own:
            return
        for name, want in self.gdb["regs"].items():
            value = int(got[name], 16)
            if name == "eflags":
                self.equal("arithmetic flags", value & FLAGS, want & FLAGS)
            elif self.stable(name, want):
                self.equal(name, f"{value:x}", f"{want:x}")

    def stable(self, name, want):
        """Is the register's value the same in another process? Only what the program itself put
        there is: the registers of the instruction, unless they point to stack, heap or library.
        """
        short = {"e" + name[1:], name + "d", name}
        if not short & set(re.findall(r"%(\w+)", self.gdb["insn"] or "")):
            return False
        return want < 0x10000 or want == self.plan["addr"] or want >> 47

    # ---- branches ----

    def branches(self, lines, before_a_call):
        """Those within the program, the newest first: those of libraries are not in the steps.
        before_a_call: that call, perhaps of a function that left by a tail call, is the newest.
        """
        want = list(self.truth.steps.branches[self.truth.steps.fatal[0]])
        places = self.binary.places({a for b in want for a in b[1:]})
        got = [b for b in crash_report.branches(lines)
               if b[0] in ("call", "return", "jump", "cond") and self.in_program(b[1]) and
               self.in_program(b[2])]
        if "-- gap: uncounted" in "\n".join(lines):
            return  # which of the branches are missing is not known
        while before_a_call and got and want and not (
                want[-1][0] == got[-1][0] and self.is_place(got[-1][1], places[want[-1][1]]) and
                self.is_place(got[-1][2], places[want[-1][2]])):
            want.pop()
        for i, (kind, source, target) in enumerate(reversed(got)):
            if i == len(want):
                self.false("more branches than were executed")
                return
            self.compared("branches")
            k, a, b = want[-1 - i]
            begin = self.binary.begin(b) if k in ("call", "jump") else places[b]
            if k != kind or not self.is_place(source, places[a]) or \
                    not self.is_place(target, begin):
                self.false(f"branch {kind} {source} -> {target}, in truth {k} {places[a]} -> "
                           f"{begin}")
                return

    def in_program(self, place):
        name = self.binary.plain(place[0].replace(" (inlined)", ""))
        return self.is_own_file(place[1]) or place[0].endswith(" (prog)") and \
            "@plt" not in place[0] and name in self.binary.names

    def is_own_file(self, file):
        return file in self.binary.files or file in self.own_files()

    def is_place(self, place, frames):
        if place[1] is None:
            return True  # without a line
        name = self.binary.plain(place[0].replace(" (inlined)", ""))
        return any(name == self.name(n) and place[1] == f and str(place[2]) == l
                   for n, f, l in frames)

    # ---- the tree of calls ----

    def calls(self, root, what):
        steps = self.truth.steps
        tid = steps.fatal[0]
        self.what = what
        if any(r.depth >= 40 for r in all_rows(root)):
            return  # not indented further
        self.unknown = any(r.kind in ("gap", "between", "exec") or r.lost for r in all_rows(root))
        # what lies farther out than the program's first function is the library's
        self.match_library(root, [steps.roots[tid]])
        for row in all_rows(root):
            if row.current:
                node = steps.roots[tid]
                while node.children and node.children[-1].open:
                    node = node.children[-1]
                self.compared("current call")
                if self.is_user(row) and not node.library and \
                        self.binary.plain(row.name) != node.name:
                    self.false(f"{what}: died in {row.name}, in truth {node.name}")

    def is_user(self, row):
        if row.kind in ("repeated", "mixed") or \
                self.binary.plain(row.name) not in self.binary.names:
            return False
        file = row.location.rpartition(":")[0]
        return self.is_own_file(file) or os.path.basename(row.location) == "prog"

    def match_library(self, row, nodes):
        """Functions of the program that a library called, in any depth and order."""
        rows, hidden = [], [row.hidden]
        self.user_rows(row, rows, hidden)
        children = [c for n in nodes for c in n.children]
        self.bag(rows, children, any(hidden), row)

    def user_rows(self, row, out, hidden):
        for r in row.children:
            if self.is_user(r):
                out.append(r)
            else:
                hidden.append(r.hidden or r.kind in ("gap", "between"))
                self.user_rows(r, out, hidden)

    def bag(self, rows, children, incomplete, parent):
        """Rows of calls that need not be in this order: how many of each function there are."""
        names = {}
        for r in rows:
            names.setdefault(self.binary.plain(r.name), []).append(r)
        for name, same in names.items():
            nodes = [c for c in children if c.name == name]
            got = sum(r.count * r.recursion for r in same)
            self.compared("rows", len(same))
            if any(r.recursion > 1 for r in same):
                continue
            if got > len(nodes) or (got < len(nodes) and not incomplete and not self.unknown):
                caller = parent.name or parent.kind or "the thread"
                self.false(f"{self.what}: {name} x {got} in {caller}, in truth {len(nodes)}")
            elif got == len(nodes):
                self.rows_are(same, nodes)

    def rows_are(self, rows, nodes):
        """These rows together are these calls."""
        if not nodes:
            return
        still = sum(r.open for r in rows)
        if self.what and still != sum(n.open for n in nodes) and not self.unknown:
            self.false(f"{self.what}: {rows[0].text.strip()}: open {still}, in truth "
                       f"{sum(n.open for n in nodes)}")
        self.instructions(rows, nodes)
        if len(rows) == 1 and rows[0].count == 1 and len(nodes) == 1 and not nodes[0].library:
            self.ordered(rows[0], nodes[0])
            return
        merged = crash_report.Row(0, rows[0].text)
        merged.name = rows[0].name
        for r in rows:
            merged.hidden += r.hidden
            merged.children += r.children
        self.merged(merged, nodes)

    def instructions(self, rows, nodes):
        total = 0
        for n in nodes:
            insns = n.own if n.open else n.insns()
            if insns is None or n.library:
                return
            total += insns
            if n.signal and not n.open:
                total += RESTORER
        if any(r.open for r in rows) and (len(rows) > 1 or rows[0].lost):
            return
        if any(x.kind == "signal" for r in rows for x in all_rows(r)):
            return
        self.compared("instructions")
        got = sum(r.insns for r in rows)
        if got != total and not self.unknown:
            self.false(f"{self.what}: {rows[0].text.strip()[:70]}: {got} instructions, in truth "
                       f"{total}")

    def merged(self, row, nodes):
        """The calls that several calls made: rows of any group, in any order."""
        children = [c for n in nodes for c in n.children]
        flat = []
        flatten(row, flat)
        self.bag([r for r in flat if self.is_user(r)],
                 [c for c in children if not c.library], bool(row.hidden), row)
        self.library_rows([r for r in flat if not self.is_user(r)],
                          [c for c in children if c.library], True)

    def library_rows(self, rows, nodes, incomplete):
        users, hidden = [], []
        for r in rows:
            hidden.append(r.hidden or r.kind in ("gap", "between"))
            self.user_rows(r, users, hidden)
        self.bag(users, [c for n in nodes for c in n.children], incomplete or any(hidden),
                 rows[0] if rows else crash_report.Row(0, ""))

    def ordered(self, row, node):
        """One call: its rows are the calls that it made, in their order, the newest ones last."""
        wanted = list(node.children)
        hidden = row.hidden
        flat = []
        flatten(row, flat)
        if any(r.kind in ("gap", "between") or r.recursion > 1 for r in row.children):
            return
        counted = sum(r.count for r in flat if r.kind != "signal")
        calls = [c for c in wanted if not c.signal]
        self.compared("calls of one call")
        if counted + hidden != len(calls) and not self.unknown:
            self.false(f"{self.what}: {row.text.strip()[:70]}: {counted} calls and {hidden} "
                       f"not shown, in truth {len(calls)}")
            return
        if any(r.kind == "mixed" for r in all_rows(row)):
            self.merged(row, [node])
            return
        at = len(wanted)
        for r in reversed(row.children):
            block = sum(x.count for x in leaves(r))
            keys = [self.key(x) for x in leaves(r)]
            # calls without a line between those that have one
            while hidden and at >= block and not self.fits(keys, wanted[at - block:at]):
                hidden -= 1
                at -= 1
            if at < block or not self.fits(keys, wanted[at - block:at]):
                names = [c.name for c in wanted[max(0, at - block):at]][:12]
                self.false(f"{self.what}: in {row.text.strip()[:50]}: {r.text.strip()[:60]}, "
                           f"in truth {names}")
                return
            self.compared("rows")
            nodes = wanted[at - block:at]
            at -= block
            if r.kind != "repeated":
                if nodes[0].library:
                    self.library_rows([r], nodes, False)
                else:
                    self.rows_are([r], nodes)
                continue
            self.rounds(r, nodes)

    def rounds(self, group, nodes):
        """[repeated] x N: the same calls in this order N times."""
        rows = leaves(group)
        names = [self.key(r) for r in rows]
        if all(not r.kind == "repeated" for r in group.children) and len(set(names)) == len(names):
            collapsed = []
            for n in nodes:
                if not collapsed or collapsed[-1] != n.name:
                    collapsed.append(n.name)
            if collapsed != names * group.count:
                self.false(f"{self.what}: {group.text.strip()} of {names}, in truth "
                           f"{collapsed[:20]}")
                return
        merged = crash_report.Row(0, group.text)
        merged.children = rows
        fake = crash_truth.Node(None, None, group.kind, 0)
        fake.children = nodes
        self.merged(merged, [fake])

    def key(self, row):
        return self.binary.plain(row.name) if self.is_user(row) else crash_truth.LIBRARY

    @staticmethod
    def fits(keys, nodes):
        return {k for k in keys} == {n.name for n in nodes}


def all_rows(row):
    for r in row.children:
        yield r
        yield from all_rows(r)


def leaves(row):
    """A row, or those of a group."""
    if row.kind not in ("repeated", "mixed"):
        return [row]
    return [x for r in row.children for x in leaves(r)]


def flatten(row, out):
    for r in row.children:
        out += leaves(r)


def build(plan, where, compiler, level):
    if plan["cpp"]:
        compiler = {"gcc": "g++", "clang": "clang++"}.get(compiler, compiler)
    command = [compiler, "-g", "-w", "-" + level, "-pthread"] + plan["flags"] + plan["link"] + \
        ["-o", "prog"] + plan["files"]
    result = run(command, cwd=where)
    if result.returncode:
        raise RuntimeError(" ".join(command) + ": " + result.stderr[:400])


def examine(where):
    """Compares the report in a directory with the ground truth there."""
    truth = pickle.load(open(os.path.join(where, "truth"), "rb"))
    plan = json.load(open(os.path.join(where, "plan.json"), encoding="ascii"))
    checker = Checker(truth, plan)
    texts = [open(os.path.join(where, name), encoding="utf-8", errors="replace").read()
             for name in ("data.report.txt", "whole.txt")]
    checker.report(*texts)
    return checker


def record(auxtap, where, options):
    result = run([auxtap, "crash", "-o", "data"] + options + ["--", "./prog"], cwd=where,
                 stdin=subprocess.DEVNULL)
    if not os.path.exists(os.path.join(where, "data.report.txt")):
        raise RuntimeError(f"no report: status {result.returncode}: {result.stderr[-300:]}")
    whole = run([auxtap, "report", "--calls", "20000", "data"], cwd=where)
    with open(os.path.join(where, "whole.txt"), "w", encoding="utf-8") as out:
        out.write(whole.stdout)


def campaign(auxtap, step_program, where, seed, compiler, level, options):
    crash_program.Program(int(seed)).write(where)
    plan = json.load(open(os.path.join(where, "plan.json"), encoding="ascii"))
    sys.setrecursionlimit(100000)
    build(plan, where, compiler, level)
    tools = os.path.dirname(os.path.abspath(__file__))
    truth = crash_truth.Truth(where, os.path.join(where, "prog"), step_program, tools)
    pickle.dump(truth, open(os.path.join(where, "truth"), "wb"))
    record(auxtap, where, options)
    return show(examine(where), f"seed {seed} {compiler} {level} {plan['cause']}")


def show(checker, title):
    for finding in checker.findings:
        print(f"FALSE: {title}: {finding}")
    for missing in checker.missing:
        print(f"missing: {title}: {missing}")
    counts = ", ".join(f"{n} {what}" for what, n in checker.counts.items() if n > 1)
    print(f"{title}: {len(checker.findings)} false; {counts}")
    return 1 if checker.findings else 0


def selftest(where):
    """A false report must be noticed: one line is changed at a time."""
    names = [os.path.join(where, n) for n in ("data.report.txt", "whole.txt")]
    texts = [open(n, encoding="utf-8").read() for n in names]
    damage = {
        "signal": (r"died of SIG\w+", "died of SIGPIPE"),
        "line of the headline": (r"(part_\d\.c(?:pp)?|program\.h):(\d)", r"\1:9\2"),
        "function of a frame": (r"(\n  #\d+ +)(path_\d+)", r"\1x_\2"),
        "line of a frame": (r"(\n  #\d+ +path_[^\n]*:\d+)", r"\g<1>9"),
        "line of a tail call": (r"( \(tail call\) at \S+:)(\d)", r"\g<1>9\2"),
        "row of the tree": (r"(\n +\d+ +)path_(\d)", r"\1other_\2"),
        "instructions of a row": (r"\n( +)(\d+)( +path_\d)", r"\n\g<1>9\2\3"),
        "count of a row": (r"(\n +\d+ +(?:work_\d|step)\S*  x )(\d+)", r"\g<1>9\2"),
        "open call": (r"(\n +\d+ +path_\d[^\n]*)  \.\.\.(?=\n)", r"\1"),
        "branch": (r"\n  (call|return)( +)(path|work|step|blend)", r"\n  cond\2\3"),
    }
    unnoticed, tried = [], 0
    sound = examine(where)
    before = set(sound.findings)
    for what, (pattern, new) in damage.items():
        changed = [re.sub(pattern, new, t, count=1) for t in texts]
        if changed == texts:
            continue
        tried += 1
        checker = Checker(sound.truth, sound.plan)
        checker.report(*changed)
        if not set(checker.findings) - before:
            unnoticed.append(what)
    if sound.binary.places([]):
        unnoticed.append("places of no address")
    print(f"selftest: {tried} kinds of damage, unnoticed: {unnoticed or 'none'}")
    return 1 if unnoticed or tried < 5 else 0


def main():
    sys.setrecursionlimit(100000)
    try:
        if sys.argv[1] == "selftest":
            return selftest(sys.argv[2])
        if sys.argv[1] == "again":
            return show(examine(sys.argv[2]), sys.argv[2])
        return campaign(*map(os.path.abspath, sys.argv[2:5]), *sys.argv[5:8],
                        sys.argv[8:])
    except RuntimeError as why:
        print(f"not examined: {' '.join(sys.argv[5:8])}: {why}")
        return 3


if __name__ == "__main__":
    sys.exit(main())
