#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Compares what crash reports say of a bad pointer's origin with the way that it really took.

check_origin.py AUXTAP DIR FIRST-SEED COUNT COMPILER LEVEL
    generates COUNT C programs, in each of which a bad pointer takes a random way: through
    variables, blocks of the heap, arguments and results. It is known by construction. Builds each,
    records its death and compares. Prints 'FALSE: ...' lines, and how often the report says what;
    exit status 1 if a statement is false, or if one that was changed to be false is not noticed.
"""
import collections
import json
import os
import random
import subprocess
import sys


class Line:
    def __init__(self, text, event=None):
        self.text, self.event, self.number = text, event, 0


class Function:
    def __init__(self, name, head, attribute):
        self.name, self.head, self.attribute = name, head, attribute
        self.lines = []
        self.nr = 0

    def add(self, text, **event):
        if event:
            event["function"] = self.name
        line = Line(text, event or None)
        self.lines.append(line)
        return line

    def local(self):
        self.nr += 1
        return f"v{self.nr}"


class Program:
    def __init__(self, seed):
        self.r = random.Random(seed)
        self.globals, self.functions, self.nr = [], [], 0
        main = self.function("main", "int main(int n, char **argv)", "")
        main.add("\t(void)argv;")
        self.consume(main, self.produce(main, 2), 2)
        main.add("\treturn 0;")

    def name(self, prefix):
        self.nr += 1
        return f"{prefix}{self.nr}"

    def function(self, name, head, attribute=None):
        if attribute is None:
            attribute = self.r.choice(["NOIPA ", "NOIPA ", "NOINLINE ", "static ",
                                       "static inline "])
        function = Function(name, head, attribute)
        self.functions.append(function)
        return function

    # ---- where the value may be kept ----
    def variable(self):
        kind = self.r.choice(["pointer", "static", "array", "struct", "tls"])
        g = self.name("g_")
        if kind == "pointer":
            self.globals.append(f"char *{g};")
            return g, dict(variable=g, offset=0)
        if kind == "static":
            self.globals.append(f"static char *{g};")
            self.globals.append(f"void set_{g}(char *p) {{ {g} = p; }}")
            return g, dict(variable=g, offset=0)
        if kind == "tls":
            self.globals.append(f"__thread char *{g};")
            return g, dict()
        if kind == "array":
            size = self.r.randint(2, 20)
            self.globals.append(f"char *{g}[{size}];")
            at = self.r.randrange(size)
            index = f"{g}[{at}]" if self.r.random() < 0.5 else f"{g}[{at} + n - n]"
            return index, dict(variable=g, offset=at * 8)
        pad = self.r.randint(1, 9)
        self.globals.append(f"struct {{ long pad[{pad}]; char *p; int last; }} {g};")
        return f"{g}.p", dict(variable=g, offset=pad * 8)

    def block(self, function):
        """A block of the heap with a member; in a global, or only in a local."""
        t, h = self.name("type"), self.name("h_")
        pad, rest = self.r.randint(0, 12), self.r.randint(1, 30)
        before = f"char pad[{pad * 8}]; " if pad else ""
        self.globals.append(f"struct {t} {{ {before}char *p; char rest[{rest * 8}]; }};")
        if self.r.random() < 0.6:
            self.globals.append(f"struct {t} *{h};")
        else:
            function.add(f"\tstruct {t} *{h};")
        function.add(f"\t{h} = calloc(1, sizeof(*{h}));")
        return f"{h}->p", dict(block=pad * 8 + 8 + rest * 8, offset=pad * 8)

    def noise(self, function):
        for _ in range(self.r.choice([0, 0, 1, 2])):
            n = self.r.randint(1, 4)
            function.add(self.r.choice([
                f"\tnoise({n});", f"\tnoise(n + {n});", f"\tsink += strlen(text) + {n};",
                "\tfree(malloc(40));", "\tsink += *decoy;", "\t*decoy_slot = decoy;",
                f"\tfor (int i = 0; i < {n}; i++)\n\t\tsink += i * n;",
                "\tif (n > 100)\n\t\tnoise(n);",
                "\ttext[5] = n;",
                "\tdecoy = pick(n);"]))

    # ---- ways ----
    def produce(self, f, depth):
        """Code of f that yields a local with the value."""
        v = f.local()
        kind = self.r.choice(["null", "null", "constant", "global", "block", "call", "call"])
        if kind == "call" and not depth:
            kind = "null"
        if kind == "null":
            f.add(f"\tchar *{v} = NULL;", kind="set")
        elif kind == "constant":
            value = self.r.choice([8, 16, 0x1234, 0xdead])
            f.add(f"\tchar *{v} = (char *){value};", kind="set")
        elif kind == "global":
            place, source = self.variable()
            f.add(f"\tchar *{v} = {place};", kind="read", **source)
        elif kind == "block":
            place, source = self.block(f)
            f.add(f"\tchar *{v} = {place};", kind="read", **source)
        else:
            name = self.name("get_")
            g = self.function(name, f"char *{name}(int n)")
            got = self.produce(g, depth - 1)
            g.add(f"\treturn {got};", kind="pass", returned=name)
            f.add(f"\tchar *{v} = {name}(n);", kind="pass")
        return self.steps(f, v)

    def steps(self, f, v):
        for _ in range(self.r.randint(0, 3)):
            self.noise(f)
            v = self.step(f, v)
        return v

    def step(self, f, v):
        to = f.local()
        kind = self.r.choice(["copy", "variable", "variable", "block", "block", "local", "slot",
                              "copy", "local", "add", "identity", "identity", "choose", "copied",
                              "list", "freed", "loop"])
        if kind == "copy":
            f.add(f"\tchar *{to} = {v};", kind="pass")
        elif kind in ("variable", "block"):
            place, source = self.variable() if kind == "variable" else self.block(f)
            f.add(f"\t{place} = {v};", kind="pass")
            self.noise(f)
            f.add(f"\tchar *{to} = {place};", kind="read", **source)
        elif kind == "local":
            f.add(f"\tchar *volatile {to} = {v};", kind="pass")
        elif kind == "slot":
            array = f.local()
            f.add(f"\tchar *{array}[4] = {{decoy, {v}, decoy}};", kind="pass")
            f.add(f"\tkeep({array});")
            f.add(f"\tchar *{to} = {array}[1];", kind="read")
        elif kind == "add":
            n = self.r.choice([8, 24, 64, -8])
            f.add(f"\tchar *{to} = {v} + {n};", kind="pass")
        elif kind == "identity":
            name = self.name("same_")
            g = self.function(name, f"char *{name}(char *p, int n)")
            got = self.steps(g, "p") if self.r.random() < 0.4 else "p"
            self.noise(g)
            g.add(f"\treturn {got};", kind="pass", returned=name)
            f.add(f"\tchar *{to} = {name}({v}, n);", kind="pass")
        elif kind == "choose":
            f.add(f"\tchar *{to} = n < 50 ? {v} : decoy;", kind="pass")
        elif kind == "copied":
            a, b = f.local(), f.local()
            f.add(f"\tstruct both {a} = {{decoy, {v}, n}};", kind="pass")
            f.add(f"\tkeep(&{a});")
            f.add(f"\tstruct both {b} = {a};", kind="read")
            f.add(f"\tkeep(&{b});")
            f.add(f"\tchar *{to} = {b}.p;", kind="read")
        elif kind == "list":
            a, node = f.local(), self.name("list_")
            nodes = self.r.randint(1, 5)
            self.globals.append(f"static struct node *{node};")
            f.add(f"\t{node} = make_list({nodes}, {v});", kind="pass")
            f.add(f"\tstruct node *{a} = {node};")
            f.add(f"\twhile ({a}->next)")
            f.add(f"\t\t{a} = {a}->next;")
            f.add(f"\tchar *{to} = {a}->value;", kind="read", block=48, offset=40)
        elif kind == "freed":
            place, source = self.block(f)
            f.add(f"\t{place} = {v};", kind="pass")
            self.noise(f)
            f.add(f"\tchar *{to} = {place};", kind="read", **source)
            f.add(f"\tfree({place.split('-')[0]});")
        else:
            array = self.name("tab_")
            size = self.r.randint(2, 9)
            self.globals.append(f"static char *{array}[{size + 1}];")
            f.add(f"\tfor (int i = 0; i < {size}; i++)")
            f.add(f"\t\t{array}[i] = decoy;")
            f.add(f"\t{array}[{size} - 1 + !n] = {v};", kind="pass")
            f.add(f"\tkeep({array});")
            f.add(f"\tchar *{to} = decoy;")
            f.add(f"\tfor (int i = 0; i < {size}; i++) {{")
            f.add(f"\t\tif (i + 1 == {size})")
            f.add(f"\t\t\t{to} = {array}[i];", kind="read", variable=array, offset=(size - 1) * 8)
            f.add("\t}")
        return to

    def consume(self, f, v, depth):
        if depth and self.r.random() < 0.7:
            name = self.name("use_")
            late = self.r.random() < 0.3
            parameters = ["char *p", "int n"] + ["long x"] * late
            self.r.shuffle(parameters)
            call = ", ".join({"char *p": v, "int n": "n", "long x": "7"}[p] for p in parameters)
            g = self.function(name, f"void {name}({', '.join(parameters)})")
            f.add(f"\t{name}({call});", kind="pass")
            if late:
                g.add("\tsink += x;")
            self.consume(g, self.steps(g, "p"), depth - 1)
            return
        self.noise(f)
        how = self.r.choice(["store", "store", "load", "load", "member", "member", "call", "call", "index",
                             "string", "block"])
        if how == "store":
            f.add(f"\t*(volatile char *){v} = 1;", kind="pass")
        elif how == "load":
            f.add(f"\tsink += *(volatile char *){v};", kind="pass")
        elif how == "member":
            f.add(f"\tsink += ((volatile struct node *){v})->next != NULL;", kind="pass")
        elif how == "index":
            f.add(f"\tsink += ((volatile long *){v})[n + 2];", kind="pass")
        elif how == "string":
            f.add(f"\tsink += strlen({v});", kind="pass")
        elif how == "call":
            f.add(f"\t((void (*)(int)){v})(n);", kind="pass")
        else:
            place, source = self.block(f)
            f.add(f"\t{place} = {v};", kind="pass")
            f.add("\tkeep(text);")
            f.add(f"\t*(volatile char *){place} = 1;", kind="read", **source)

    def text(self):
        out = ["#include <stdio.h>", "#include <stdlib.h>", "#include <string.h>",
               "#ifdef __clang__", "#define NOIPA __attribute__((noinline, optnone))", "#else",
               "#define NOIPA __attribute__((noipa))", "#endif",
               "#define NOINLINE __attribute__((noinline))",
               "struct node { long pad[4]; struct node *next; char *value; };",
               "struct both { char *other, *p; long n; };",
               "volatile long sink;", "char text[64] = \"some text\";", "char bytes[9];",
               "char *decoy = bytes, *other_decoy = text;", "char **decoy_slot = &other_decoy;",
               "NOIPA void keep(void *p) { sink += p != NULL; }",
               "NOIPA void noise(int n) { for (int i = 0; i < n; i++) sink += i; }",
               "NOIPA char *pick(int n) { return n > 3 ? text : bytes; }",
               "NOIPA struct node *make_list(int n, char *value)", "{",
               "\tstruct node *first = NULL;", "\twhile (n--) {",
               "\t\tstruct node *node = calloc(1, sizeof(*node));",
               "\t\tnode->next = first;", "\t\tnode->value = first ? NULL : value;",
               "\t\tfirst = node;", "\t}", "\treturn first;", "}"]
        out += self.globals
        for function in reversed(self.functions):
            out += [function.attribute + function.head, "{"]
            for line in function.lines:
                line.number = len(out) + 1
                out += line.text.split("\n")
            out += ["}"]
        return "\n".join(out) + "\n"


def check(program, origin):
    """None, or why what the report says is false."""
    events = [line for f in program.functions for line in f.lines if line.event]
    where = origin["location"] or {}
    at = [line for line in events if line.number == where.get("line") and
          line.event["function"] == where.get("function")]
    if origin["kind"] == "returned":
        returned = {line.event.get("returned") for line in events}
        return None if where.get("function") in returned else "not returned by that function"
    if not at:
        return "the pointer was never there"
    event = at[0].event
    if origin["kind"] == "set":
        return None
    if origin["variable"]:
        if not any((line.event.get("variable"), line.event.get("offset")) ==
                   (origin["variable"], origin["offset"]) for line in events):
            return "another variable"
    if origin["block"] and not any(line.event.get("offset") == origin["offset"] and
                                   "block" in line.event for line in events):
        return "another block"
    return None


def false_ones(origin):
    """What would be false to say instead."""
    location = dict(origin["location"], line=1)
    yield dict(origin, location=dict(location, function="keep"))
    if origin["variable"]:
        yield dict(origin, variable="decoy_slot")
        yield dict(origin, offset=origin["offset"] + 1)
    if origin["block"]:
        yield dict(origin, offset=origin["offset"] + 1)


def report_of(auxtap, directory, program, compiler, level):
    paths = [f"{directory}/{name}" for name in ("program.c", "program", "data")]
    source, binary, data = paths
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL,
             "stdin": subprocess.DEVNULL}
    with open(source, "w", encoding="utf-8") as out:
        out.write(program.text())
    subprocess.run([compiler, "-g", "-w", level, "-o", binary, source], check=True)
    subprocess.run([auxtap, "crash", "-o", data, "--", binary], check=False, **quiet)
    if not os.path.exists(data):
        return None  # the compiler has left out what is undefined
    out = subprocess.run([auxtap, "report", "--format", "json", data], check=True,
                         stdout=subprocess.PIPE)
    os.remove(data)
    return json.loads(out.stdout)["crash"]


def main():
    auxtap, directory, first, count, compiler, level = sys.argv[1:]
    said, nr_false = collections.Counter(), 0
    os.makedirs(directory, exist_ok=True)
    for seed in range(int(first), int(first) + int(count)):
        program = Program(seed)
        crash = report_of(auxtap, directory, program, compiler, level)
        origin = crash and crash["pointer_origin"]
        if not origin:
            said["nothing" if crash else "no death"] += 1
            continue
        said[origin["kind"]] += 1
        said["variable"] += origin["variable"] is not None
        said["block"] += origin["block"] is not None
        why = check(program, origin)
        if why:
            nr_false += 1
            print(f"FALSE: seed {seed}, {compiler} {level}: {why}: {json.dumps(origin)}")
        for other in false_ones(origin):
            if not check(program, other):
                nr_false += 1
                print(f"FALSE: seed {seed}: not noticed: {json.dumps(other)}")
    print(f"{compiler} {level}: {nr_false} false;",
          ", ".join(f"{kind} {nr}" for kind, nr in sorted(said.items())))
    sys.exit(nr_false != 0)


if __name__ == "__main__":
    main()
