#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# docs/renamed.md against the programs: each new name is printed where the table says, and no old
# name is left in the sources, tests, man pages and documents.
. "$(dirname "$0")/lib.sh"

# ---- what the programs print ----
"$TOOLS/spe_file" spe.data 3000 1 || fail 'no recording'
printf '# unit: example\n# cpu: 0\n0,begin,0\n1,end\n' >unit.log
# with a unit's log an audit checks all of its invariants; CPU 1 has none, which is a note
"$AUXTAP" audit --format junit --unit-log unit.log spe.data >audit.xml
"$AUXTAP" audit --format json --unit-log unit.log spe.data >audit.json
"$AUXTAP" watermark faults --list >faults || fail 'faults --list'
"$AUXTAP" watermark sim --driver trbe --watermark 16K --reader-latency 2ms --bytes 2M --events \
	--format json >sim.json || fail 'sim'
"$AUXTAP" watermark sim --driver trbe --watermark 16K --reader-latency 2ms --bytes 2M >sim.text ||
	fail 'sim, text'
"$AUXTAP" watermark sim --watermark 4K,8K --bytes 100K >sim.table || fail 'sim, two watermarks'

SRC=$SRC python3 - <<'END' || fail 'see above'
import json, os, re, subprocess, sys
src = os.environ['SRC']
bad = 0

def wrong(text):
    global bad
    print(text)
    bad += 1

def read(path):
    with open(path, encoding='utf-8', errors='replace') as file:
        return file.read()

def keys(value):
    if isinstance(value, dict):
        return set(value).union(*map(keys, value.values()))
    return set().union(*map(keys, value)) if isinstance(value, list) else set()

def enums(value):
    if isinstance(value, dict):
        yield from [value['enum']] if 'enum' in value else []
        value = list(value.values())
    if isinstance(value, list):
        for inner in value:
            yield from enums(inner)

audit, sim = json.loads(read('audit.json')), json.loads(read('sim.json'))
events = [e for run in sim for e in run['events']]
live = read(os.path.join(src, 'cli/watermark/watermark_live.c'))  # needs a PMU: its strings
lost = next(line for line in read('sim.text').split('\n') if line.startswith('  lost '))
table = next(line for line in read('sim.table').split('\n') if 'verdict' in line)
faults = read('faults')
schema = json.loads(read(os.path.join(src, 'docs/report.schema.json')))
capture = read(os.path.join(src, 'capture/session_file.c'))
printed = {
    'audit: finding': set(re.findall(r'<testcase [^>]*name="([^"]*)"', read('audit.xml'))),
    'audit: severity': {f['severity'] for f in audit['findings']},
    'audit: key': keys(audit),
    'watermark faults: invariant': set(re.findall(r'^    caught by ([a-z-]+):', faults, re.M)),
    'watermark faults: kind': set(re.findall(r'^[a-z0-9-]+ \((\w+);', faults, re.M)),
    'watermark sim: cause': set(re.findall(r', \d+ ([a-z ]+)', lost)),
    'watermark sim: event': {e['event'] for e in events},
    'watermark sim: key': keys(sim),
    'watermark sim: column': set(re.split(r'  +', table.strip())),
    'watermark live: key': set(re.findall(r'"(\w+)"', live)),
    'watermark live: column': set(re.findall(r'(\w+)\\n",', live)),
    # the schema is compared with reports by test_report_json
    'report: kind of call': set(next(e for e in enums(schema) if 'tail_call' in e)),
    'record: line about the capture': set(re.findall(r'print_number\(f, "(\w+)"', capture)),
}
rows = re.findall(r'^\| `(.+?)` \| `(.+?)` \| (.+?) \|$',
                  read(os.path.join(src, 'docs/renamed.md')), re.M)
for old, new, where in rows:
    if where not in printed:
        wrong(f'{old}: unknown output: {where}')
    elif new not in printed[where]:
        wrong(f'{new}: not printed by {where}: {" ".join(sorted(printed[where]))}')
    elif old in printed[where] and (old, where) not in {('mark', 'watermark live: key')}:
        wrong(f'{old}: still printed by {where}')
if len(rows) < 25:
    wrong(f'only {len(rows)} rows')

# ---- old names in the tree ----
# Words that also have another use count only where they are quoted; not the verbs of the event log,
# options and style classes of the same name.
common = {old for old, _, _ in rows if re.fullmatch('[a-z ]+', old)} | {'mark_min', 'mark_max'}
kept = {
    'mark': {'audit/log.c', 'driver/kmod/unit_log.c', 'docs/audit.md', 'docs/kernel-module.md',
             'cli/watermark/watermark_picture_time.c'},
    'skid': {'cli/watermark/watermark_options.c', 'cli/watermark/watermark_options.h',
             'cli/watermark/watermark_live.c', 'watermark/config.c', 'docs/kernel-module.md',
             'tests/unit/watermark/test_config.c'},
}
not_read = ('docs/renamed.md', 'docs/terms.md', 'scripts/words/', 'tests/cli/golden/', 'LICENSES/',
            'tests/cli/test_renamed.sh')
listed = subprocess.run(['git', '-C', src, 'ls-files'], stdout=subprocess.PIPE, text=True)
files = listed.stdout.split('\n') if listed.returncode == 0 else []
if not files:  # not a checkout: the directories with sources
    for top in ('audit', 'capture', 'cli', 'decode', 'docs', 'driver', 'examples', 'include',
                'perfdata', 'tests', 'util', 'watermark'):
        for directory, _, names in os.walk(os.path.join(src, top)):
            files += [os.path.relpath(os.path.join(directory, n), src) for n in names]
nr_read = 0
for path in files:
    full = os.path.join(src, path)
    if not path or path.startswith(not_read) or not os.path.isfile(full):
        continue
    text = read(full)
    nr_read += 1
    for old in {old for old, _, _ in rows}:
        if path in kept.get(old, ()):
            continue
        word = re.escape(old)
        whole = rf'(?<![\w-]){word}(?![\w-])'
        found = re.search(rf'''(["'`]){word}\1''' if old in common else whole, text)
        if found:
            wrong(f'{path}:{text.count(chr(10), 0, found.start()) + 1}: {old} is an old name')
if nr_read < 300:
    wrong(f'only {nr_read} files read')
sys.exit(bad != 0)
END
finish
