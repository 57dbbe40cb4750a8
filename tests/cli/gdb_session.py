# SPDX-License-Identifier: BSD-2-Clause
# Scripts for gdb, and what they printed: of a live run (at each instruction from main() on), and of
# its recording (after each of many commands). See test_gdb_live.sh.
#   gdb_session.py live COUNT             writes the commands for a live run that stops in main()
#   gdb_session.py past SEED COMMANDS     ... for a recording
#   gdb_session.py compare LIVE PAST      at each stop in PAST pc and frames are those of LIVE
import random
import re
import sys

WHERE = 'printf "AT %lx\\n", $pc'
MOTIONS = ['reverse-step', 'reverse-next', 'reverse-finish', 'reverse-stepi 7', 'reverse-nexti 2',
           'reverse-step 2', 'reverse-next 2', 'step', 'next', 'stepi 5', 'nexti 2', 'finish',
           'tbreak set_bad\nreverse-continue', 'tbreak work\ncontinue',
           'tbreak use\nreverse-continue', 'tbreak work\nreverse-continue', 'reverse-step']


def live(count):
    print(f'set $i = 0\nwhile $i <= {count}\n{WHERE}\nbt\nif $i < {count}\nstepi\nend')
    print('set $i = $i + 1\nend')


def past(seed, count):
    rng = random.Random(seed)
    print(f'tbreak main\nreverse-continue\n{WHERE}\nmonitor position\nbt')
    print('tbreak use\ncontinue')
    for i in range(count):
        if i % 25 == 24:
            print('delete\ncontinue')  # to the death
        print(f'{rng.choice(MOTIONS)}\ndelete\n{WHERE}\nmonitor position\nbt')


def stops(path):
    """pc, number of the instruction (None: not printed), frames as function:line."""
    found = []
    for line in open(path, encoding='utf-8', errors='replace'):
        at = re.search(r'\bAT ([0-9a-f]+)$', line)
        if at:
            found.append([int(at[1], 16), None, []])
        number = re.search(r'thread \d+: instruction (\d+) of', line)
        if number and found and found[-1][1] is None:
            found[-1][1] = int(number[1])
        frame = re.match(r'(?:\(gdb\) )?#\d+ +(?:0x[0-9a-f]+ in )?(\w+) .*:(\d+)$', line)
        if frame and found:
            found[-1][2].append(frame[1] + ':' + frame[2])
    return found


def compare(live_path, past_path):
    known, seen = stops(live_path), stops(past_path)
    failed = 0
    if not seen or seen[0][1] is None or len(known) < 100:
        sys.exit(f'{len(known)} live positions, {len(seen)} stops')
    first = seen[0][1]
    numbers = set()
    for pc, number, frames in seen:
        at = number - first
        if not 0 <= at < len(known):
            if at < 0:  # before main(): nothing to compare with
                continue
            print(f'instruction {at} of {len(known)}')
            failed += 1
            continue
        numbers.add(at)
        wanted = known[at]
        if wanted[0] != pc or wanted[2] != frames:
            print(f'instruction {at}: {pc:x} {frames}, live {wanted[0]:x} {wanted[2]}')
            failed += 1
    print(f'{len(seen)} stops at {len(numbers)} of {len(known)} instructions')
    sys.exit(failed > 0 or len(numbers) < len(seen) // 4)


{'live': lambda a: live(int(a[0])), 'past': lambda a: past(int(a[0]), int(a[1])),
 'compare': lambda a: compare(a[0], a[1])}[sys.argv[1]](sys.argv[2:])
