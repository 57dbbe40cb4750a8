#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""What auxtap's recorder would have written of a simulated machine: reads the events of 'auxtap
watermark sim --events' and prints lines for aux_file.py. Usage: sim_recording.py pt|spe|etm
AREA-BYTES WATERMARK. Records, reads and wakeups are those of the simulation; poll() returns
whenever the head has moved."""
import re
import sys

FLAGS = {"TRUNCATED": 1, "OVERWRITE": 2, "PARTIAL": 4, "COLLISION": 8, "RAW": 0x100}
RECORD = 64  # bytes of an AUX record in the data ring


class Recorder:
    def __init__(self, padding):
        self.padding = padding  # the byte
        self.skips = []  # not read yet
        self.head = self.tail = self.data = 0
        self.moved = self.woken = self.stopped = False

    def poll(self, last=False):
        """Records what poll() reports of the events since the last call."""
        flags = (1 if self.woken else 0) | (2 if self.stopped else 0) | (4 if last else 0)
        if self.moved or self.woken or last:
            print("wait", self.head, self.tail, self.data, flags)
            if self.moved and not self.woken and not last:  # and the next one, at the timeout
                print("wait", self.head, self.tail, self.data, 0)
            self.stopped = False
        self.moved = self.woken = False

    def read(self, to):
        patches = [f"@{max(a, self.tail)}-{min(b, to)}={self.padding}"
                   for a, b in self.skips if a < to]
        print("trace 0", self.tail, to - self.tail, "0xa5", *patches)
        self.skips = [(a, b) for a, b in self.skips if b > to]
        self.tail = to

    def event(self, time, name, v):
        if name not in ("AUX", "AUX-lost", "wakeup", "end", "skip", "VIOLATION", "known"):
            self.poll()
        if name == "AUX":
            flags = sum(FLAGS[f] for f in re.split(r"[|,+ ]", v["flags"]) if f != "-")
            print("aux 0", time, v["offset"], v["size"], flags)
            self.data += RECORD
            self.stopped |= bool(flags & 1)
        elif name in ("end", "skip"):
            self.poll()
            base = int(v["offset"] if name == "end" else v["from"])
            self.head = base + int(v["size"] if name == "end" else v["bytes"])
            self.moved = True
            if name == "skip":
                self.skips.append((base, self.head))
        elif name == "wakeup":
            self.woken = True
        elif name == "refused":
            self.stopped = True
        elif name == "read":
            self.read(int(v["tail"]))


def main():
    family, area, watermark = sys.argv[1:4]
    print("reader", area, 1 << 30, watermark)
    recorder = Recorder(0x70 if family == "etm" else 0)
    for line in sys.stdin:
        found = re.match(r" *(\d+) ns +(\S+) *(.*)", line)
        if not found:
            continue
        time, name, rest = found.groups()
        recorder.event(int(time), name, dict(re.findall(r"(\w+)=(\S+)", rest)))
    recorder.poll(last=True)
    if recorder.head > recorder.tail:
        recorder.read(recorder.head)


main()
