# SPDX-License-Identifier: BSD-2-Clause
"""cut_perfdata.py FILE OUT=RECORD:N,...: writes OUT, FILE without the Nth record (from 0; -1: the
last) of each type named. Features and metadata at the file's end are moved along."""
import struct
import sys

TYPES = {"EXIT": 4, "AUX": 11, "AUXTRACE": 71}
TRAILER = b"AUXTAPN1"


def records(data, begin, end):
    """(type, bytes) of each record; those of an AUXTRACE record include its trace"""
    at = begin
    while at < end:
        kind, _, size = struct.unpack_from("<IHH", data, at)
        if kind == TYPES["AUXTRACE"]:
            size += struct.unpack_from("<Q", data, at + 8)[0]
        yield kind, data[at:at + size]
        at += size


def write(name, head, left, tail, nr_features, removed):
    struct.pack_into("<Q", head, 48, sum(len(record) for _, record in left))
    for i in range(nr_features):
        offset = struct.unpack_from("<Q", tail, 16 * i)[0]
        struct.pack_into("<Q", tail, 16 * i, offset - removed)
    if tail.endswith(TRAILER):
        at = len(tail) - 32
        struct.pack_into("<Q", tail, at, struct.unpack_from("<Q", tail, at)[0] - removed)
    with open(name, "wb") as out:
        out.write(head + b"".join(record for _, record in left) + tail)


def main():
    with open(sys.argv[1], "rb") as source:
        data = source.read()
    begin, size = struct.unpack_from("<QQ", data, 40)
    nr_features = sum(bin(byte).count("1") for byte in data[72:104])
    everything = list(records(data, begin, begin + size))
    for argument in sys.argv[2:]:
        name, wanted = argument.split("=")
        gone = []
        for want in wanted.split(","):
            kind, number = want.split(":")
            gone.append([r for r in everything if r[0] == TYPES[kind]][int(number)])
        left = [r for r in everything if not any(r is g for g in gone)]
        write(name, bytearray(data[:begin]), left, bytearray(data[begin + size:]), nr_features,
              sum(len(record) for _, record in gone))


main()
