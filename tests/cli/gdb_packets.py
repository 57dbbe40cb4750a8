# SPDX-License-Identifier: BSD-2-Clause
# usage: gdb_packets.py AUXTAP RUNS FILE...: sends damaged packets to 'auxtap gdbserver', which must
# go on and end well when its input does.
import random
import subprocess
import sys

SEEDS = [seed.encode() for seed in '''qSupported ? g p10 m5600000011bc,40 mff80000000000000,1000
Hg0 Hc-1 T1 bs bc s c Z0,560000001155,1 z0,560000001155,1 qXfer:features:read:target.xml:0,1000
qXfer:threads:read::0,10 qXfer:auxv:read::0,1000 qXfer:siginfo:read::0,1000
qXfer:libraries-svr4:read::0,1000 qXfer:exec-file:read::0,1000 vFile:open:2f62696e2f7368,0,0
vFile:pread:0,1000,0 vFile:fstat:0 vFile:close:0 vFile:setfs:0 qRcmd,63616c6c73
qRcmd,706f736974696f6e qRcmd,67617073 G00 P10=00 X0,0: qfThreadInfo qC vCont?
qXfer:btrace:read:all:0,1000 qXfer:btrace:read:delta:0,1000 qXfer:btrace-conf:read::0,1000
Qbtrace:off Qbtrace:bts QAuxtapThread:1'''.split()]
PIECES = [b'ffffffffffffffff', b'0' * 30, b',ffffffff', b'z' * 3000, b'-1']


def damage(rng, packet):
    for _ in range(rng.choice([0, 0, 1, 2, 5])):
        kind, at = rng.randrange(4), rng.randrange(len(packet) + 1)
        if kind == 0:
            packet[at:at + 1] = bytes([rng.randrange(256)])
        elif kind == 1:
            packet[at:at] = bytes([rng.choice(b'0123456789abcdef,:;-xF')])
        elif kind == 2:
            del packet[at:at + 1]
        else:
            packet += rng.choice(PIECES)
    return bytes(packet)


def stream(rng):
    data = b''
    for _ in range(150):
        body = damage(rng, bytearray(rng.choice(SEEDS)))
        data += b'$%s#%02x' % (body, sum(body) & 255) if rng.random() < .95 else body
        if rng.random() < .05:
            data += bytes([rng.choice(b'+-\x03')])
    return data


def main():
    failed = 0
    for path in sys.argv[3:]:
        for seed in range(int(sys.argv[2])):
            command = [sys.argv[1], 'gdbserver', '--stdio'] + ['--btrace'] * (seed % 2) + [path]
            done = subprocess.run(command, check=False, input=stream(random.Random(seed)),
                                  capture_output=True)
            if done.returncode or b'runtime error' in done.stderr:
                print(f'{path}, seed {seed}: {done.returncode}: {done.stderr[-300:]}')
                failed += 1
    return failed > 0


sys.exit(main())
