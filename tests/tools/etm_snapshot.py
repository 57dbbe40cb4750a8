#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""etm_snapshot.py FILE DIRECTORY: makes a snapshot of each thread's trace in a perf.data file with
unframed CoreSight trace of threads, DIRECTORY/TID, as OpenCSD's trc_pkt_lister reads it: trace,
registers of the first CPU, code of the mappings."""

import os
import shutil
import struct
import sys

MMAP2, AUX, AUXTRACE_INFO, AUXTRACE = 10, 11, 70, 71
REGISTERS = ["TRCCONFIGR", "TRCTRACEIDR", "TRCIDR0", "TRCIDR1", "TRCIDR2", "TRCIDR8",
             "TRCAUTHSTATUS", "TRCDEVARCH"]
MAGIC = {0x4040404040404040: ("ETM4", 7), 0x5050505050505050: ("ETE", 8)}


def records(data):
    at, size = struct.unpack_from("<QQ", data, 40)
    end = at + size
    while at < end:
        kind, _, nr = struct.unpack_from("<IHH", data, at)
        body = data[at + 8:at + nr]
        at += nr
        if kind == AUXTRACE:
            nr = struct.unpack_from("<Q", body)[0]
            body += data[at:at + nr]
            at += nr
        yield kind, body


def write(directory, name, text):
    with open(os.path.join(directory, name), "w") as f:
        f.write(text)


def main():
    data = open(sys.argv[1], "rb").read()
    streams, sizes, maps, unit = {}, {}, {}, None
    for kind, body in records(data):
        if kind == AUXTRACE_INFO:
            words = struct.unpack("<%dQ" % (len(body[8:]) // 8), body[8:])
            name, nr = MAGIC[words[3]]
            unit = name, dict(zip(REGISTERS[:nr], words[6:6 + nr]))
        elif kind == AUX:
            size, flags, _, tid = struct.unpack_from("<8xQQII", body)
            if flags & ~0x100:
                sys.exit("an AUX record with flags 0x%x" % flags)
            sizes[tid] = sizes.get(tid, 0) + size
        elif kind == AUXTRACE:
            offset, _, _, tid = struct.unpack_from("<8xQQII", body)
            stream = streams.get(tid, b"")
            if offset > len(stream):
                sys.exit("a hole in the trace")
            streams[tid] = stream[:offset] + body[40:]  # padding is dropped
        elif kind == MMAP2:
            start, length, offset = struct.unpack_from("<8xQQQ", body)
            path = body[64:].split(b"\0")[0].decode()
            if path.startswith("/"):
                maps[start] = length, offset, path

    for tid, stream in streams.items():
        directory = os.path.join(sys.argv[2], str(tid))
        os.makedirs(directory)
        with open(os.path.join(directory, "trace.bin"), "wb") as f:
            f.write(stream[:sizes[tid]])
        write(directory, "snapshot.ini", "[snapshot]\nversion=1.0\n\n[device_list]\ndevice0=cpu_0.ini\ndevice1=unit_0.ini\n\n"
              "[trace]\nmetadata=trace.ini\n")
        write(directory, "trace.ini", "[trace_buffers]\nbuffers=buffer0\n\n[buffer0]\nname=RAM\nfile=trace.bin\n"
              "format=source_data\n\n[source_buffers]\nunit_0=RAM\n\n[core_trace_sources]\ncpu_0=unit_0\n")
        write(directory, "unit_0.ini",
              "[device]\nname=unit_0\nclass=trace_source\ntype=%s\n\n[regs]\n" % unit[0] +
              "".join("%s=0x%x\n" % register for register in unit[1].items()))
        text = "[device]\nname=cpu_0\nclass=core\ntype=ARM-AA64\n\n[regs]\nPC(size:64)=0x0\n"
        for nr, (start, (length, offset, path)) in enumerate(maps.items()):
            name = "image%d" % nr
            if not os.path.exists(os.path.join(directory, name)):
                shutil.copy(path, os.path.join(directory, name))
            length = min(length, os.path.getsize(path) - offset)
            text += ("\n[dump%d]\nfile=%s\naddress=0x%x\noffset=0x%x\nlength=0x%x\n" %
                     (nr, name, start, offset, length))
        write(directory, "cpu_0.ini", text)


main()
