# SPDX-License-Identifier: BSD-2-Clause
"""Runs in gdb: the program's death, natively, as JSON in $CRASH_GDB_OUT.

The backtrace is a core file's: a live gdb omits inlined functions at their first instruction.
"""
import json
import os

import gdb

FRAMES = 48


def run(command):
    return gdb.execute(command, to_string=True)


def frames():
    out, frame = [], gdb.newest_frame()
    while frame is not None and len(out) < FRAMES:
        sal = frame.find_sal()
        if frame.type() == gdb.TAILCALL_FRAME:
            frame = frame.older()  # not on the stack; the report has none
            continue
        out.append({"name": frame.name(), "pc": frame.pc(), "line": sal.line,
                    "file": os.path.basename(sal.symtab.filename) if sal.symtab else None,
                    "inlined": frame.type() == gdb.INLINE_FRAME,
                    "handler": frame.type() == gdb.SIGTRAMP_FRAME})
        try:
            frame = frame.older()
        except gdb.error:
            break
    return out


def main():
    for setting in ("debuginfod enabled off", "style enabled off", "width 0", "height 0",
                    "pagination off", "confirm off", "startup-with-shell off",
                    "disassembly-flavor att", "backtrace past-main off"):
        gdb.execute("set " + setting)
    run("handle SIGUSR1 SIGUSR2 nostop noprint pass")
    run("run")
    death = {"signal": None}
    if gdb.selected_inferior().pid:
        info = gdb.parse_and_eval("$_siginfo")
        frame = gdb.newest_frame()
        regs = {r: int(run("output/x $" + r), 16) for r in
                "rax rbx rcx rdx rsi rdi rbp rsp r8 r9 r10 r11 r12 r13 r14 r15 rip eflags".split()}
        death = {"number": int(info["si_signo"]), "code": int(info["si_code"]), "regs": regs,
                 "addr": int(info["_sifields"]["_sigfault"]["si_addr"]), "pc": frame.pc(),
                 "nr_threads": len(gdb.selected_inferior().threads())}
        try:
            death["insn"] = frame.architecture().disassemble(frame.pc())[0]["asm"]
        except gdb.error:
            death["insn"] = None
        core = os.environ["CRASH_GDB_OUT"] + ".core"
        run("generate-core-file " + core)
        run("kill")
        run("core-file " + core)
        death["frames"] = frames()
        os.unlink(core)
    with open(os.environ["CRASH_GDB_OUT"], "w", encoding="utf-8") as out:
        json.dump(death, out)


main()
