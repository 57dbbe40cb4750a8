# SPDX-License-Identifier: BSD-2-Clause
"""What a program of crash_program.py really did: its calls and branches from step_program's single
steps, its death and backtrace from gdb.
"""
import bisect
import json
import os
import re
import struct
import subprocess

STEP, LEFT, SIGNAL, BASE, DEATH = range(5)
SI_KERNEL = 128
LIBRARY = "(library)"
CLONE_COLD = re.compile(r"\.cold(\.\d+)?$")
CLONE = re.compile(r"\.(part|constprop|cold|isra|llvm|lto_priv)(\.\d+)*")


def run(command, **kwargs):
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False,
                          text=True, errors="replace", **kwargs)


def plain(name):
    """The last component of a function's name, without parameters, templates and clones."""
    name = CLONE.sub("", re.sub(r"( \[clone [^\]]*\])+$", "", name))
    name = name.replace("(anonymous namespace)", "{anonymous}").replace("operator()", "operator{}")
    name = re.sub(r"operator(<<|<=|<|>>|->|>=|>)", "operator", name)
    depth, out = 0, ""
    for c in name:
        if c in "(<[{":
            depth += 1
        elif c in ")>]}":
            depth = max(0, depth - 1)
        elif not depth:
            out += c
    return re.sub(r" const$", "", out).strip().split(" ")[-1].split("::")[-1] or "{}"


class Node:
    """A call."""
    def __init__(self, parent, symbol, name, sp):
        self.parent, self.symbol, self.name, self.sp = parent, symbol, name, sp
        self.children, self.own, self.open, self.signal = [], 0, True, False
        self.last, self.jumped = None, False  # its own newest instruction, which is a tail call

    @property
    def library(self):
        return self.name == LIBRARY

    def insns(self):
        """With all that it called; None: a library was called, whose instructions vary."""
        total = self.own
        for c in self.children:
            n = None if c.library else c.insns()
            if n is None:
                return None
            total += n
        return total


class Binary:
    """Functions that have source lines: those of the program, not of a linked library."""
    def __init__(self, path):
        self.path, self.known = path, {}
        symbols, at = {}, {}
        for line in run(["nm", "-S", "--defined-only", path]).stdout.splitlines():
            f = line.split(" ", 3)
            if len(f) == 4 and f[2] in "tTwW":
                symbols.setdefault(int(f[0], 16), (int(f[1], 16), f[3]))
                at.setdefault(int(f[0], 16), []).append(f[3])
        places = self.places(symbols)
        names = [name for others in at.values() for name in others]
        readable = dict(zip(names, run(["c++filt"], input="\n".join(names)).stdout.splitlines()))
        self.functions = {}
        self.files = set()
        for addr, (size, name) in symbols.items():
            file = places[addr][0][1]
            if places[addr][0][2].isdigit() and int(places[addr][0][2]) and size:
                self.functions[addr] = (size, name, readable[name])
                self.files.update(f for _, f, _ in places[addr])
        own = {n[1]: n[2] for n in self.functions.values()}
        for addr, (size, name) in symbols.items():
            whole = CLONE_COLD.sub("", name)
            if addr not in self.functions and size and whole in own:
                self.functions[addr] = (size, name, own[whole])  # it may begin without a line
        self.starts = sorted(self.functions)
        self.long_names = [n[2] for n in self.functions.values() if len(n[2]) > 100]
        self.aliases = {}
        for addr, others in at.items():
            if addr in self.functions:
                for name in others:
                    self.aliases.setdefault(plain(readable[name]), plain(self.functions[addr][2]))
        self.names = {self.plain(n[2]) for n in self.functions.values()}
        self.kinds = {}
        self.lines = {}
        self.disassemble()

    def places(self, addresses):
        """Of each address the frames (function, file, line), innermost first."""
        unknown = [a for a in addresses if a not in self.known]
        if unknown:  # it answers an empty line with an empty line
            self.known.update(self.addr2line(unknown))
        return {a: self.known[a] for a in addresses}

    def addr2line(self, addresses):
        text = "\n".join(f"{a:x}" for a in addresses) + "\n"
        out, at = {}, None
        lines = run(["llvm-addr2line", "-a", "-i", "-f", "-C", "-e", self.path],
                    input=text).stdout.splitlines()
        i = 0
        while i < len(lines):
            if re.fullmatch(r"0x[0-9a-f]+", lines[i]):
                at = out.setdefault(int(lines[i], 16), [])
                i += 1
                continue
            file, _, number = re.sub(r" \(discriminator \d+\)", "", lines[i + 1]).rpartition(":")
            at.append((lines[i], os.path.basename(file), number))
            i += 2
        return out

    def begin(self, addr):
        """The same of the address of a function that is called. Its first instruction may be of an
        inlined call further below; where the function itself begins is the first row of the line
        table for that address that lies within its source.
        """
        frames = self.places([addr])[addr]
        if len(frames) == 1 or addr not in self.functions:
            return frames
        name, file, _ = frames[-1]
        declared = int(re.findall(r"Function start line: (\d+)", run(
            ["llvm-symbolizer", "--verbose", "-e", self.path, hex(addr)]).stdout)[-1])
        lines = [line for f, line in self.rows().get(addr, ())
                 if f == file and int(line) >= declared]
        return [(name, file, lines[0])] if lines else frames

    def rows(self):
        """The line table: of each address its rows (file, line), in their order."""
        if not self.lines:
            text = run(["objdump", "--dwarf=decodedline", self.path]).stdout
            for file, line, addr in re.findall(r"^(\S+) +(\d+) +(0x[0-9a-f]+)", text, re.M):
                self.lines.setdefault(int(addr, 16), []).append((file, line))
        return self.lines

    def ranges(self):
        return "".join(f"{a:x} {a + self.functions[a][0]:x}\n" for a in self.starts)

    def plain(self, name):
        """The same of a name in a report, which may be cut at its end. Of several names of one
        function (compilers merge equal ones) it is the same one.
        """
        if len(name) > 100:
            for whole in self.long_names:
                if whole.startswith(name[:100].rstrip(".")):
                    name = whole
                    break
        elif re.search(r"[^<(]\.\.\.[^>)]", name):
            name = self.uncut(name)
        name = plain(name)
        return self.aliases.get(name, name)

    def uncut(self, name):
        """The whole name of one that is cut in its middle, if only one function can be meant."""
        parts = [re.escape(part) for part in re.sub(r" \[\d+\]$", "", name).split("...")]
        found = {plain(whole): whole for whole in self.long_names
                 if re.match(".*".join(parts), whole)}
        return next(iter(found.values())) if len(found) == 1 else name

    def disassemble(self):
        text = run(["objdump", "-d", "--no-show-raw-insn", "-j", ".text", self.path]).stdout
        previous = None
        for m in re.finditer(r"^ +([0-9a-f]+):\t(\S+)(.*)$", text, re.M):
            addr, op = int(m[1], 16), m[2]
            if op in ("bnd", "notrack", "repz", "rep", "repnz", "cs"):
                words = m[3].split()
                op = (op + " " if op == "rep" else "") + (words[0] if words else "")
            if previous is not None:
                self.kinds[previous[0]] = (previous[1], addr)
            previous = (addr, "call" if op.startswith("call") else
                        "return" if op.startswith("ret") else
                        "jump" if op.startswith("jmp") else
                        "cond" if op.startswith("j") or op.startswith("loop") else
                        "repeat" if op.startswith("rep ") else "")
        if previous is not None:
            self.kinds[previous[0]] = (previous[1], 0)

    def function(self, addr):
        """The start of the function that contains the address; of a cold part the function's."""
        i = bisect.bisect_right(self.starts, addr) - 1
        if i < 0 or addr >= self.starts[i] + self.functions[self.starts[i]][0]:
            return None
        return self.starts[i]


class Steps:
    """The calls and branches of each thread."""
    def __init__(self, binary, path):
        self.binary = binary
        self.roots, self.stacks, self.branches, self.last = {}, {}, {}, {}
        self.death = self.fatal = None
        data = open(path, "rb").read()
        base = 0
        waiting = {}
        for kind, tid, a, b in struct.iter_unpack("<4Q", data):
            if kind == BASE:
                base = a
            elif kind == SIGNAL:
                self.fatal = (tid, a & 0xffffffff, a >> 32, b)
                self.fault(tid, a >> 32)
                waiting[tid] = True
            elif kind == DEATH:
                self.death = a
            else:
                self.step(tid, a - base, b, kind == STEP, waiting.pop(tid, False))
        self.base = base
        for stack in self.stacks.values():
            for node in stack:
                node.open = True

    def identity(self, start):
        return None if start is None else CLONE_COLD.sub("", self.binary.functions[start][1])

    def step(self, tid, ip, sp, inside, after_signal):
        root = self.roots.get(tid)
        if root is None:
            root = self.roots[tid] = Node(None, None, LIBRARY, 1 << 64)
            self.stacks[tid] = [root]
            self.branches[tid] = []
        stack = self.stacks[tid]
        before = self.last.get(tid)  # ip, kind, next, function
        start = self.binary.function(ip) if inside else None
        if before and before[0] == ip and before[1] == "repeat" and not after_signal:
            return  # a further round of a repeated instruction
        while sp > stack[-1].sp:
            stack.pop().open = False
        kind = before[1] if before else ""
        entry = start is not None and start == ip
        changed = entry and self.identity(start) != self.identity(before[3] if before else None)
        if before and before[3] is not None and kind == "call" and not after_signal:
            self.push(stack, start, sp)
        elif before and before[3] is not None and kind in ("jump", "cond") and not after_signal \
                and (start is None or changed):
            stack[-1].jumped = True
            self.push(stack, start, sp)
        elif entry and (not before or before[3] is None or after_signal):
            self.push(stack, start, sp).signal = after_signal
        if start is not None:
            top = stack[-1]
            if top.symbol != self.identity(start):
                raise RuntimeError(f"thread {tid}: at {ip:#x} in {self.identity(start)}, but "
                                   f"{top.symbol} was called last")
            top.own += 1
            top.last, top.jumped = ip, False
            if before and before[3] is not None and kind and not after_signal and \
                    kind != "repeat" and (kind != "cond" or before[2] != ip):
                self.branches[tid].append((kind, before[0], ip))
        k = self.binary.kinds.get(ip, ("", 0)) if inside else ("", 0)
        self.last[tid] = (ip, k[0], k[1], start)

    def fault(self, tid, code):
        """The instruction that failed was not executed."""
        before = self.last.get(tid)
        if 0 < code <= SI_KERNEL and before and before[3] is not None:
            self.stacks[tid][-1].own -= 1

    def push(self, stack, start, sp):
        name = LIBRARY if start is None else self.binary.plain(self.binary.functions[start][2])
        node = Node(stack[-1], self.identity(start), name, sp)
        stack[-1].children.append(node)
        stack.append(node)
        return node


def gdb_death(directory, program, tools):
    out = os.path.join(directory, "death.json")
    environment = dict(os.environ, CRASH_GDB_OUT=out)
    result = run(["gdb", "-nx", "-batch", "-x", os.path.join(tools, "crash_gdb.py"), program],
                 env=environment, cwd=directory, stdin=subprocess.DEVNULL)
    if not os.path.exists(out):
        raise RuntimeError("gdb: " + result.stderr[-400:])
    return json.load(open(out, encoding="utf-8"))


class Truth:
    def __init__(self, directory, program, step_program, tools):
        self.binary = Binary(program)
        ranges = os.path.join(directory, "ranges")
        steps = os.path.join(directory, "steps")
        with open(ranges, "w", encoding="ascii") as out:
            out.write(self.binary.ranges())
        result = run([step_program, ranges, steps, program], stdin=subprocess.DEVNULL,
                     cwd=directory)
        if result.returncode:
            raise RuntimeError(f"step_program: status {result.returncode}: {result.stderr}")
        self.steps = Steps(self.binary, steps)
        self.gdb = gdb_death(directory, program, tools)
