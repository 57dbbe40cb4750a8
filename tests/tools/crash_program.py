#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""crash_program.py SEED DIR: writes a random C or C++ program that dies; one seed, one program.

DIR gets the sources and plan.json: the files, the language, the flags, what kills the program.
Calls are direct, indirect, tail calls, inlined, recursive; callbacks, handlers, threads and longjmp
are on the way. Everything is deterministic: a run under another tool makes the same calls.
"""
import json
import os
import random
import sys

# name: (body, signals, what the head of the report must contain, languages, flags)
# x is an int; the body may use OFF and ADDR, which are chosen per program.
CAUSES = {
    "null": ("char *volatile p = nothing;\n\t((volatile struct far *)p)->value = x;",
             r"it wrote to 0x{off:x} \(4 bytes\); .*null pointer"),
    "null_read": ("char *volatile p = nothing;\n\tsink = ((volatile struct far *)p)->value + x;",
                  r"it read from 0x{off:x} \(4 bytes\); .*null pointer"),
    "wild": ("volatile int *volatile p = (volatile int *)0x{addr:x}ul;\n\t*p = x;",
             r"it wrote to 0x{addr:x} \(4 bytes\); nothing is mapped there"),
    "division": ("volatile int zero = 0;\n\tsink = (x | 1) / zero;", "division by zero"),
    "quotient": ("volatile int lowest = INT_MIN, minus = -1;\n\tsink = lowest / minus;",
                 "integer overflow: the most negative number divided by -1"),
    "abort": ("abort();", r"the program called abort\(\)"),
    "assert": ("assert(x == -77777);", "an assertion failed"),
    "trap": ("__builtin_trap();", "ud2"),
    "double_free": ("void *volatile p = malloc(32);\n\tfree(p);\n\tfree(p);",
                    r"the C library called abort\(\)"),
    "exhausted": ("sink = x;\n\tendless(x);", "the stack is exhausted"),
    "smash": ("smashed(x);", "stack smashing"),
    "bad_call": ("int (*volatile f)(int) = (int (*)(int))0x{addr:x}ul;\n\tsink = f(x) + 1;",
                 r"0x{addr:x}"),
    "null_call": ("int (*volatile f)(int) = (int (*)(int))nothing;\n\tsink = f(x) + 1;",
                  r"null function pointer|0x0"),
    "misaligned": ("__attribute__((aligned(16))) char raw[48];\n\t"
                   "__asm__ volatile(\"movaps %%xmm0, %0\" : \"=m\"(*(char (*)[16])(raw + 4)));\n\t"
                   "sink = raw[5];",
                   r"movaps needs an address that is a multiple of 16"),
    "bus": ("sink = truncated_mapping()[{off}] + x;", "SIGBUS"),
    "raise": ("raise({signal});\n\tsink = x;", "the program sent it to itself"),
    "kill": ("kill(getpid(), {signal});\n\tsink = x;", "the program sent it to itself"),
    "uncaught": ("throw x;", r"std::terminate|uncaught|exception"),
}
SIGNALS = {"null": "SIGSEGV", "null_read": "SIGSEGV", "wild": "SIGSEGV", "division": "SIGFPE",
           "quotient": "SIGFPE", "abort": "SIGABRT", "assert": "SIGABRT", "trap": "SIGILL",
           "double_free": "SIGABRT", "exhausted": "SIGSEGV", "smash": "SIGABRT",
           "bad_call": "SIGSEGV", "null_call": "SIGSEGV", "misaligned": "SIGSEGV", "bus": "SIGBUS",
           "uncaught": "SIGABRT"}
SENT = ["SIGSEGV", "SIGBUS", "SIGFPE", "SIGILL", "SIGABRT", "SIGQUIT", "SIGSYS", "SIGTRAP",
        "SIGXCPU", "SIGXFSZ"]

HEADER = """\
#ifndef PROGRAM_H
#define PROGRAM_H
#include <assert.h>
#include <limits.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
extern volatile int sink;
extern char *volatile nothing;
extern int fuel;
extern int *shared_area;
struct far {
	char space[%(off)d];
	int value;
};
static inline int blend(int a, int b)
{
	unsigned int u = (unsigned int)a * 31u + (unsigned int)b;

	return (int)(u ^ u >> 7);
}
"""


class Program:
    def __init__(self, seed):
        self.seed = seed
        self.rng = rng = random.Random(f"crash {seed}")
        causes = list(CAUSES)
        self.cause = causes[seed % len(causes)]
        self.cpp = self.cause == "uncaught" or rng.random() < 0.3
        self.suffix = ".cpp" if self.cpp else ".c"
        self.off = rng.choice([0, 4, 8, 64, 256, 1000, 2040, 4000])
        if self.off == 0:
            self.off = 16
        self.addr = rng.choice([0x123000000000, 0x550000000010, 0x10000123450, 0x7000000]) + \
            16 * rng.randrange(100)
        self.signal = SIGNALS.get(self.cause) or rng.choice(SENT)
        self.nr_files = rng.randint(2, 4)
        self.parts = [[] for _ in range(self.nr_files)]
        self.protos = []
        self.statics = [[] for _ in range(self.nr_files)]
        self.helpers = 0

    def text(self, template):
        return template.replace("{off}", str(self.off)).replace("{addr:x}", f"{self.addr:x}") \
            .replace("{signal}", self.signal)

    # ---- work: functions that call those with a higher number ----

    def function(self, file, name, body, arguments="int x", result="int", static=False,
                 attributes=""):
        head = f"{attributes}{result} {name}({arguments})"
        if static:
            self.parts[file].append((True, head, body))
        else:
            self.protos.append(head + ";")
            self.parts[file].append((False, head, body))

    def helper(self, kind):
        self.helpers += 1
        return f"{kind}_{self.helpers}"

    def callee(self, number, file):
        """A work function that this one may call, or the file's own step()."""
        usable = [n for n, f, static in self.work if n > number and (not static or f == file)]
        if not usable or self.rng.random() < 0.3:
            return "step"
        return f"work_{self.rng.choice(usable)}"

    def statement(self, number, file):
        rng = self.rng
        kinds = [self.st_direct, self.st_loop, self.st_switch, self.st_table, self.st_sort,
                 self.st_heap, self.st_print, self.st_recursion, self.st_mutual, self.st_longjmp,
                 self.st_signal, self.st_mix]
        if self.cpp:
            kinds += [self.st_virtual, self.st_lambda, self.st_template, self.st_throw,
                      self.st_vector]
        return rng.choice(kinds)(number, file)

    def st_direct(self, number, file):
        return f"\tr += {self.callee(number, file)}(r & 15);\n"

    def st_mix(self, number, file):
        return f"\tr = blend(r, {self.callee(number, file)}(r & 7));\n"

    def st_loop(self, number, file):
        return (f"\tfor (int i = 0; i < {self.rng.randint(2, 9)}; i++)\n"
                f"\t\tr += {self.callee(number, file)}(r + i);\n")

    def st_switch(self, number, file):
        text = "\tswitch ((unsigned int)r % 5) {\n"
        for i in range(4):
            text += f"\tcase {i}:\n\t\tr += {self.callee(number, file)}(r + {i});\n\t\tbreak;\n"
        return text + "\tdefault:\n\t\tr = blend(r, 3);\n\t}\n"

    def st_table(self, number, file):
        name = self.helper("table")
        functions = ", ".join(self.callee(number, file) for _ in range(4))
        return (f"\tstatic int (*const {name}[])(int) = {{{functions}}};\n"
                f"\tfor (int i = 0; i < {self.rng.randint(2, 6)}; i++)\n"
                f"\t\tr += {name}[(unsigned int)(r + i) % 4](r & 31);\n")

    def st_sort(self, number, file):
        name = self.helper("compare")
        self.function(file, name, "\tint x = *(const int *)a, y = *(const int *)b;\n\n"
                      f"\t{self.rng.choice(['sink = x;', 'x = step(x) & 255;', ''])}\n"
                      "\treturn x < y ? -1 : x > y;\n",
                      "const void *a, const void *b", static=True)
        n = self.rng.randint(2, 9)
        return (f"\tint {name}_in[{n}];\n\n\tfor (int i = 0; i < {n}; i++)\n"
                f"\t\t{name}_in[i] = (r + i * 37) & 63;\n"
                f"\tqsort({name}_in, {n}, sizeof(int), {name});\n\tr += {name}_in[1];\n")

    def st_heap(self, number, file):
        name = self.helper("heap")
        return (f"\tchar *{name} = (char *)malloc({self.rng.randint(1, 400)});\n\n"
                f"\tmemset({name}, r, 1);\n\tr += {name}[0];\n"
                f"\t{name} = (char *)realloc({name}, {self.rng.randint(1, 4000)});\n"
                f"\tr += {self.callee(number, file)}({name}[0]);\n\tfree({name});\n")

    def st_print(self, number, file):
        name = self.helper("line")
        return (f"\tchar {name}[64];\n\n"
                f"\tsnprintf({name}, sizeof({name}), \"%d %s\", r, \"text\");\n"
                f"\tr += (int)strlen({name});\n")

    def st_recursion(self, number, file):
        name = self.helper("recurse")
        how = self.rng.choice([f"return {name}(n - 1, step(x)) + 1;",
                               f"return {name}(n - 1, blend(x, n));",
                               f"x += {name}(n - 1, x);\n\treturn x + step(n);"])
        self.function(file, name, f"\tif (n <= 0)\n\t\treturn x;\n\t{how}\n", "int n, int x",
                      static=self.rng.random() < 0.5)
        return f"\tr += {name}({self.rng.randint(1, 12)}, r);\n"

    def st_mutual(self, number, file):
        odd, even = self.helper("odd"), self.helper("even")
        self.protos += [f"int {odd}(int n, int x);", f"int {even}(int n, int x);"]
        self.parts[file].append((False, f"int {odd}(int n, int x)",
                                 f"\treturn n <= 0 ? x : {even}(n - 1, x + 1) ^ 1;\n"))
        other = self.rng.randrange(self.nr_files)
        self.parts[other].append((False, f"int {even}(int n, int x)",
                                  f"\tsink = x;\n\treturn n <= 0 ? x : {odd}(n - 1, x) + 2;\n"))
        return f"\tr += {self.rng.choice([odd, even])}({self.rng.randint(1, 9)}, r & 3);\n"

    def st_longjmp(self, number, file):
        name = self.helper("leap")
        self.function(file, name, f"\tif (n > 0)\n\t\t{name}(where, n - 1, step(x));\n"
                      "\tlongjmp(*where, 1);\n", "jmp_buf *where, int n, int x", "void",
                      static=True, attributes="__attribute__((noinline)) ")
        return (f"\tjmp_buf {name}_to;\n\n\tif (!setjmp({name}_to))\n"
                f"\t\t{name}(&{name}_to, {self.rng.randint(0, 3)}, 5);\n\tr += step(2);\n")

    def st_signal(self, number, file):
        return "\traise(SIGUSR1);\n"

    def st_virtual(self, number, file):
        base, one, two = self.helper("Base"), self.helper("One"), self.helper("Two")
        self.statics[file].append(
            f"struct {base} {{\n\tvirtual ~{base}() {{}}\n\tvirtual int area(int x) = 0;\n}};\n"
            f"struct {one} : {base} {{\n\tint area(int x) override;\n}};\n"
            f"struct {two} : {base} {{\n\tint side = 3;\n\tint area(int x) override;\n}};\n"
            f"int {one}::area(int x)\n{{\n\treturn blend(x, 4);\n}}\n"
            f"int {two}::area(int x)\n{{\n\tsink = x;\n\treturn side * x;\n}}\n")
        name = self.helper("shape")
        return (f"\t{{\n\t\t{base} *{name} = (r & 1) ? ({base} *)new {one} : new {two};\n\n"
                f"\t\tr += {name}->area(r);\n\t\tdelete {name};\n\t}}\n")

    def st_lambda(self, number, file):
        name = self.helper("lambda")
        return (f"\tauto {name} = [&r](int y) {{ return r + {self.callee(number, file)}(y); }};\n\n"
                f"\tr = {name}(4) + {name}(5);\n")

    def st_template(self, number, file):
        name = self.helper("generic")
        self.statics[file].append(
            f"template <typename T> T {name}(T x)\n{{\n\tsink = (int)x;\n\treturn x + 1;\n}}\n")
        return f"\tr += {name}<int>(r) + (int){name}<long>(r & 3);\n"

    def st_throw(self, number, file):
        name = self.helper("thrower")
        self.function(file, name, "\tif (x >= 0)\n\t\tthrow step(x);\n", "int x", "void",
                      static=True, attributes="__attribute__((noinline)) ")
        return (f"\ttry {{\n\t\t{name}(r & 255);\n\t}} catch (int e) {{\n\t\tr += e;\n\t}}\n")

    def st_vector(self, number, file):
        name = self.helper("list")
        count, callee = self.rng.randint(2, 9), self.callee(number, file)
        return (f"\tstd::vector<int> {name};\n\n\tfor (int i = 0; i < {count}; i++)\n"
                f"\t\t{name}.push_back((r * (i + 3)) & 31);\n"
                f"\tstd::sort({name}.begin(), {name}.end(), "
                "[](int a, int b) { return a > b; });\n"
                f"\tr += {name}[0] + {callee}({name}[1]);\n")

    def make_work(self):
        rng = self.rng
        self.work = [(n, rng.randrange(self.nr_files), rng.random() < 0.3)
                     for n in range(rng.randint(4, 9))]
        for number, file, static in reversed(self.work):
            body = "\tint r = x;\n\n\tif (--fuel < 0)\n\t\treturn x ^ 5;\n"
            for _ in range(rng.randint(1, 3)):
                body += self.statement(number, file)
            if rng.random() < 0.3:
                body += f"\treturn {self.callee(number, file)}(r + 1);\n"  # perhaps a tail call
            else:
                body += "\tsink = r;\n\treturn r;\n"
            attributes = rng.choice(["", "", "__attribute__((noinline)) "])
            self.function(file, f"work_{number}", body, static=static, attributes=attributes)

    def some_work(self, file):
        usable = [n for n, f, static in self.work if not static or f == file]
        if not usable or self.rng.random() < 0.2:
            return f"\tx += step(x);\n"
        call = f"work_{self.rng.choice(usable)}(x & 31)"
        return self.rng.choice([f"\tx += {call};\n",
                                f"\tfor (int i = 0; i < 3; i++)\n\t\tx += {call};\n",
                                f"\tx = blend(x, {call});\n"])

    # ---- the way to the death: path_0 calls path_1 and so on ----

    def make_path(self):
        rng = self.rng
        body, _ = CAUSES[self.cause]
        length = rng.randint(2, 6)
        last = rng.randrange(self.nr_files)
        work = self.some_work(last) if rng.random() < 0.6 else ""
        self.function(last, f"path_{length}", work + "\t" + self.text(body) + "\n", result="void",
                      attributes=rng.choice(["", "__attribute__((noinline)) "]))
        self.last_file = last
        thread_used = False
        for i in range(length - 1, -1, -1):
            file, following = rng.randrange(self.nr_files), f"path_{i + 1}"
            text = "".join(self.some_work(file) for _ in range(rng.randint(0, 2)))
            kinds = ["direct", "direct", "pointer", "tail", "switch", "loop", "inline", "sort",
                     "handler", "static"]
            if not thread_used:
                kinds.append("thread")
            if self.cpp:
                kinds += ["lambda", "method"]
            kind = rng.choice(kinds)
            thread_used |= kind == "thread"
            text += getattr(self, "path_" + kind)(file, following)
            self.function(file, f"path_{i}", text, result="void",
                          attributes=rng.choice(["", "", "__attribute__((noinline)) "]))

    def path_direct(self, file, following):
        return f"\t{following}(x + 1);\n\tsink = x;\n"

    def path_tail(self, file, following):
        return f"\t{following}(x ^ 1);\n"

    def path_pointer(self, file, following):
        return f"\tvoid (*volatile go)(int) = {following};\n\n\tgo(x);\n\tsink = 1;\n"

    def path_switch(self, file, following):
        return (f"\tswitch ((unsigned int)x & 3) {{\n\tcase 0:\n\t\t{following}(x);\n\t\tbreak;\n"
                f"\tcase 1:\n\t\tsink = 4;\n\t\t{following}(x + 2);\n\t\tbreak;\n"
                f"\tdefault:\n\t\t{following}(step(x));\n\t}}\n\tsink = 2;\n")

    def path_loop(self, file, following):
        return (f"\tfor (int i = 0; i < 10; i++) {{\n\t\tx += step(i);\n\t\tif (i == "
                f"{self.rng.randint(0, 8)})\n\t\t\t{following}(x);\n\t}}\n")

    def path_inline(self, file, following):
        name = self.helper("inner")
        self.function(file, name, f"\tsink = x;\n\t{following}(x);\n\tsink = x + 1;\n",
                      result="inline void", static=True,
                      attributes="__attribute__((always_inline)) ")
        return f"\t{name}(x + 3);\n\tsink = 3;\n"

    def path_static(self, file, following):
        name = self.helper("local")
        self.function(file, name, f"\t{following}(x);\n\tsink = x + 1;\n", result="void",
                      static=True)
        return f"\t{name}(x + 3);\n\tsink = 3;\n"

    def path_sort(self, file, following):
        name = self.helper("fatal_compare")
        self.function(file, name, "\tint x = *(const int *)a;\n\n"
                      f"\tif (++sink > {self.rng.randint(0, 3)})\n\t\t{following}(x);\n"
                      "\treturn x < *(const int *)b ? -1 : x > *(const int *)b;\n",
                      "const void *a, const void *b", static=True)
        return (f"\tint in[6] = {{x & 7, 9, 3, 4, 8, 1}};\n\n\tsink = 0;\n"
                f"\tqsort(in, 6, sizeof(int), {name});\n\tsink = in[0];\n")

    def path_handler(self, file, following):
        name = self.helper("handler")
        self.function(file, name, f"\t{following}(number);\n\tsink = number;\n", "int number",
                      "void", static=True)
        return f"\tsignal(SIGUSR2, {name});\n\traise(SIGUSR2);\n\tsink = 4;\n"

    def path_thread(self, file, following):
        name = self.helper("thread")
        self.function(file, name, f"\t{following}((int)(intptr_t)arg);\n\treturn NULL;\n",
                      "void *arg", "void *", static=True)
        return (f"\tpthread_t thread;\n\n\tpthread_create(&thread, NULL, {name}, "
                f"(void *)(intptr_t)(x & 7));\n\tpthread_join(thread, NULL);\n")

    def path_lambda(self, file, following):
        return (f"\tauto go = [x](int y) {{ sink = y; {following}(x); sink = 2; }};\n\n"
                "\tgo(x + 1);\n")

    def path_method(self, file, following):
        name = self.helper("Walker")
        self.statics[file].append(f"namespace walkers {{\nstruct {name} {{\n\tint x;\n"
                                  "\tvoid go(int y)\n\t{\n\t\tsink = y;\n"
                                  f"\t\t{following}(x + y);\n"
                                  "\t\tsink = x;\n\t}\n};\n}\n")
        return f"\twalkers::{name} walker{{x}};\n\n\twalker.go(2);\n\tsink = walker.x;\n"

    # ---- the rest ----

    def extras(self):
        size = self.rng.choice([3000, 9000])
        endless = (f"void endless(int x)\n{{\n\tvolatile char big[{size}];\n\n"
                   "\tbig[x & 15] = 1;\n\tbig[2] = 0;\n"
                   "\tendless(x + big[2]);\n\tsink = big[x & 15];\n}\n")
        smashed = ("void smashed(int x)\n{\n\tvolatile char small[16];\n\tvolatile int n = 60;\n\n"
                   "\tfor (int i = 0; i < n; i++)\n\t\tsmall[i] = (char)x;\n}\n")
        mapping = ("volatile char *truncated_mapping(void)\n{\n\tFILE *file = tmpfile();\n"
                   "\tchar *at;\n\n\tfputs(\"text\", file);\n\tfflush(file);\n"
                   "\tat = (char *)mmap(NULL, 4096, PROT_READ, MAP_SHARED, fileno(file), 0);\n"
                   "\tif (ftruncate(fileno(file), 0))\n\t\treturn NULL;\n\treturn at;\n}\n")
        if self.cause == "exhausted":
            self.protos.append("void endless(int x);")
            return endless
        if self.cause == "smash":
            self.protos.append("void smashed(int x);")
            return smashed
        if self.cause == "bus":
            self.protos.append("volatile char *truncated_mapping(void);")
            return mapping
        return ""

    def main_text(self):
        rng = self.rng
        text = self.extras()
        text += "static int *waiting_pipe;\nstatic void *waits(void *arg)\n{\n\tchar c;\n\n" \
            "\tsink = step((int)(intptr_t)arg);\n\tif (write(waiting_pipe[1], \"\", 1) == 1)\n" \
            "\t\tread(waiting_pipe[2], &c, 1);\n\treturn NULL;\n}\n"
        text += "static void on_usr1(int number)\n{\n\tsink += step(number);\n}\n"
        text += "static void *quick(void *arg)\n{\n\tint x = (int)(intptr_t)arg;\n\n"
        text += self.some_work(0) + "\tsink = x;\n\treturn NULL;\n}\n"
        text += "int main(int argc, char **argv)\n{\n\tint x = argc;\n\tpthread_t thread;\n" \
            "\tint pipes[4];\n\n\t(void)argv;\n\t(void)thread;\n\t(void)pipes;\n\t(void)waits;\n" \
            "\t(void)quick;\n\tsignal(SIGUSR1, on_usr1);\n"
        text += f"\tfuel = {rng.choice([20, 60, 150, 400])};\n"
        for _ in range(rng.randint(1, 3)):
            text += self.some_work(0)
        if rng.random() < 0.3:
            text += "\tpthread_create(&thread, NULL, quick, (void *)2);\n" \
                "\tpthread_join(thread, NULL);\n"
        if rng.random() < 0.3:
            text += "\tif (pipe(pipes) || pipe(pipes + 2))\n\t\treturn 1;\n" \
                "\twaiting_pipe = pipes;\n\tpthread_create(&thread, NULL, waits, (void *)3);\n" \
                "\tif (read(pipes[0], &x, 1) != 1)\n\t\treturn 1;\n"
        text += f"\tfuel = {rng.choice([10, 30, 80])};\n\tpath_0(x & 15);\n"
        text += "\tsink = x;\n\treturn 0;\n}\n"
        return text

    def write(self, where):
        rng = self.rng
        os.makedirs(where, exist_ok=True)
        self.make_work()
        self.make_path()
        main = self.main_text()
        header = HEADER % {"off": self.off} + "\n".join(self.protos) + "\n"
        if self.cpp:
            header = header.replace("#include <unistd.h>\n", "#include <unistd.h>\n"
                                    "#include <algorithm>\n#include <vector>\n")
        header += "#endif\n"
        with open(os.path.join(where, "program.h"), "w", encoding="ascii") as out:
            out.write(header)
        names = []
        for file in range(self.nr_files):
            text = '#include "program.h"\n'
            # one name, in every file another function
            never = rng.choice(["", ", noinline"])
            text += (f"static __attribute__((unused{never})) int step(int x)\n"
                     f"{{\n\tsink = x + {file};\n\treturn blend(x, {file + 3}) & 1023;\n}}\n")
            for static, head, _ in self.parts[file]:
                if static:
                    text += f"static {head};\n"
            text += "".join(self.statics[file])
            parts = list(self.parts[file])
            rng.shuffle(parts)
            for static, head, body in parts:
                text += f"{'static ' if static else ''}{head}\n{{\n{body}}}\n"
            if file == 0:
                text += "volatile int sink;\nchar *volatile nothing;\nint fuel;\n" + main
            names.append(f"part_{file}{self.suffix}")
            with open(os.path.join(where, names[-1]), "w", encoding="ascii") as out:
                out.write(text)
        flags = ["-fstack-protector-all"] if self.cause == "smash" else \
            rng.choice([[], [], ["-fomit-frame-pointer"], ["-fno-omit-frame-pointer"]])
        link = rng.choice(["-no-pie", "-no-pie", "-no-pie -static", "-pie"])
        if link == "-pie":
            flags = flags + ["-fPIE"]
        else:
            flags = flags + ["-fno-pie"]
        plan = {"seed": self.seed, "cause": self.cause, "cpp": self.cpp, "files": names,
                "flags": flags, "link": link.split(), "signal": self.signal, "addr": self.addr,
                "head": CAUSES[self.cause][1].replace("{off:x}", f"{self.off:x}")
                .replace("{addr:x}", f"{self.addr:x}")}
        with open(os.path.join(where, "plan.json"), "w", encoding="ascii") as out:
            json.dump(plan, out, indent=1)


if __name__ == "__main__":
    Program(int(sys.argv[1])).write(sys.argv[2])
