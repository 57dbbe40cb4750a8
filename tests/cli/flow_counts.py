# SPDX-License-Identifier: BSD-2-Clause
"""flow_counts.py PROGRAM TRUTH REPORT.json: own and inclusive instructions and calls of the
functions of a static program, counted from the executed instructions alone, against the report.

The reference reads the code with objdump and the symbols with nm: a call opens a function, a return
closes it with those that jumped on (tail calls)."""
import array
import json
import re
import subprocess
import sys


def output(*command):
    return subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True).stdout


def read_code(program):
    """Of each instruction: 'call', 'ret', 'jump' or None; and its length."""
    kinds = {}
    for line in output("objdump", "-d", "-w", "--no-show-raw-insn", program).splitlines():
        found = re.match(r"\s*([0-9a-f]+):\t(?:(?:bnd|notrack|repz?|rep) )*(\w+)", line)
        if found:
            name = found[2]
            kinds[int(found[1], 16)] = (
                "call" if name.startswith("call") else "ret" if name.startswith("ret")
                else "jump" if name.startswith("j") else None)
    return kinds


def read_functions(program):
    """Of the program's own source: begin -> (name, end)."""
    own = {}
    for line in output("nm", "-S", program).splitlines():
        field = line.split()
        if len(field) == 4 and field[2] in "tT" and field[3].startswith("t_"):
            begin = int(field[0], 16)
            own[begin] = (field[3], begin + int(field[1], 16))
        if len(field) == 4 and field[3] == "main":
            own[int(field[0], 16)] = ("main", int(field[0], 16) + int(field[1], 16))
    return own


def count(program, truth):
    kinds, own = read_code(program), read_functions(program)
    inside = {a: name for b, (name, end) in own.items() for a in range(b, end)}
    sums = {name: {"own": 0, "insns": 0, "calls": 0} for name, _ in own.values()}
    opened, since = dict.fromkeys(sums, 0), {}
    frames = [[]]  # of each frame the functions that have it, one after the other
    before, function = None, None

    def enter(name, total):
        if not opened[name]:
            since[name] = total
        opened[name] += 1
        sums[name]["calls"] += 1
        frames[-1].append(name)

    def close(frame, total):
        for name in frame:
            opened[name] -= 1
            if not opened[name]:
                sums[name]["insns"] += total - since[name]

    for total, ip in enumerate(truth):
        function = inside.get(ip)
        if before == "call":
            frames.append([])
            if function:
                enter(function, total)
        elif before == "ret" and len(frames) > 1:
            close(frames.pop(), total)
        elif before == "jump" and ip in own and (not frames[-1] or frames[-1][-1] != function):
            enter(function, total)
        if function:
            sums[function]["own"] += 1
        before = kinds.get(ip)
    while frames:
        close(frames.pop(), len(truth))
    return sums


def main():
    program, truth_name, report_name = sys.argv[1:]
    truth = array.array("Q")
    with open(truth_name, "rb") as file:
        truth.frombytes(file.read())
    with open(report_name, encoding="utf-8") as file:
        report = json.load(file)
    hot = report["hot_functions"]
    assert not hot["cut"] and hot["total"] == len(hot["rows"]), "functions are left out"
    executed = sum(row["own_instructions"] for row in hot["rows"])
    assert executed == len(truth), f"{executed} instructions, not {len(truth)}"
    rows = {row["function"]: row for row in hot["rows"]}
    wrong = 0
    for name, sums in count(program, truth).items():
        row = rows.get(name, {})
        got = {"own": row.get("own_instructions", 0), "insns": row.get("instructions", 0),
               "calls": row.get("calls", 0)}
        print(name, sums)
        if got != sums:
            print(f"{name}: {got}, executed {sums}")
            wrong += 1
    sys.exit(wrong != 0)


main()
