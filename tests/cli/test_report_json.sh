# SPDX-License-Identifier: BSD-2-Clause
# The report as JSON: as docs/report.schema.json says, of crashes and of other recordings; the facts
# are gdb's and the text report's; names are whole and harmless.
. "$(dirname "$0")/lib.sh"
. "$SRC/tests/cli/hostile_program.sh"
python3 -c 'import jsonschema' 2>/dev/null || skip "python3-jsonschema is not installed"

# crash NAME PROGRAM [OPTION...]: NAME.data and NAME.json
crash() {
	guard "$AUXTAP" crash -o "$1.data" "${@:3}" -- "$2" >stdout 2>stderr </dev/null
	[ -s "$1.data" ] || { fail "$1: no snapshot: $(tail -n 2 stderr)"; return; }
	"$AUXTAP" report --format json "$1.data" >"$1.json" 2>stderr || fail "$1: exit $?: $(cat stderr)"
}
for name in null_deref thread_crash stack_overflow; do
	crash "$name" "$FIXTURES/$name"
done
guard "$AUXTAP" record -o healthy.data -- "$FIXTURES/recursion" >stdout 2>stderr || fail "record: $?"
guard "$AUXTAP" record -m 64,4096 -o threads.data -- "$FIXTURES/threads4" >stdout 2>stderr || fail "record: $?"
for name in healthy threads; do
	"$AUXTAP" report --calls 40 $name.data >$name.txt 2>stderr &&
		"$AUXTAP" report --format json $name.data >$name.json || fail "$name: exit $?"
done
"$AUXTAP" report --format json --calls 30 --branches 5 null_deref.data >short.json || fail "short: $?"

hostile_program && crash hostile ./hostile

for name in $(command -v gdb >/dev/null && echo null_deref thread_crash); do
	gdb -nx -batch -ex 'set debuginfod enabled off' -ex run -ex bt "$FIXTURES/$name" \
		>"$name.gdb" 2>&1 </dev/null
done

python3 -B - "$SRC/docs/report.schema.json" <<'END' || fail "see above"
import json, os, re, subprocess, sys
import jsonschema

schema = json.load(open(sys.argv[1]))
jsonschema.Draft7Validator.check_schema(schema)
validator = jsonschema.Draft7Validator(schema)

def load(name):
    raw = open(name + '.json', 'rb').read()
    assert not re.search(rb'[\x00-\x09\x0b-\x1f\x7f]|\xc2[\x80-\x9f]', raw), name
    report = json.loads(raw.decode('utf-8'))
    errors = [(list(e.absolute_path), e.message) for e in validator.iter_errors(report)]
    assert not errors, (name, errors[:3])
    return report

names = ('null_deref', 'thread_crash', 'stack_overflow', 'hostile', 'healthy', 'threads', 'short')
reports = {name: load(name) for name in names}
# the schema refuses what it does not describe
bad = json.loads(json.dumps(reports['null_deref']))
bad['crash']['fault_address'] = 8
assert list(validator.iter_errors(bad))

# gdb's backtrace of a native run
for name in ('null_deref', 'thread_crash'):
    if not os.path.exists(name + '.gdb'):
        continue
    text = open(name + '.gdb').read()
    frames = re.findall(r'^#\d+ +(?:0x[0-9a-f]+ in )?(\S+) \(.*?\) at (\S+):(\d+)', text, re.M)
    if not frames:
        print('gdb could not run it:', text[-200:])
        continue
    inner = [f['functions'][0] for f in reports[name]['backtrace']['frames'] if f['functions']]
    got = [(f['function'], os.path.basename(f['file']), f['line']) for f in inner if f['file']]
    want = [(f, os.path.basename(file), int(line)) for f, file, line in frames
            if name in file]
    assert want and got[:len(want)] == want, (got, want)
    assert reports[name]['crash']['signal']['number'] == 11

for name, report in reports.items():
    assert (report['kind'] == 'overview') == (name in ('healthy', 'threads')), name
    rows = report.get('calls', {}).get('rows', [])
    assert report['kind'] == 'overview' or rows, name
    # each row has a caller, and a call that returned did what the rows below it did
    for i, row in enumerate(rows):
        assert row['depth'] <= (rows[i - 1]['depth'] + 1 if i else 0), (name, i)
        if row['kind'] == 'gap' or not row.get('returned'):
            continue
        below, k = row['hidden_instructions'], i + 1
        while k < len(rows) and rows[k]['depth'] > row['depth']:
            if rows[k]['depth'] == row['depth'] + 1:
                below += rows[k].get('instructions') or 0
            k += 1
        assert row['instructions'] >= row['own_instructions'], (name, row)
        assert below + row['own_instructions'] == row['instructions'], (name, row)
    for frame in report.get('backtrace', {}).get('frames', []):
        for f in frame['functions']:
            if 'source' in f:
                source = f['source']
                lines = open(f['file'], errors='replace').read().split('\n')
                first = source['first_line']
                assert source['lines'] == lines[first - 1:first - 1 + len(source['lines'])], f
                assert first <= f['line'] < first + len(source['lines'])

# the whole flow of a short program: its rows count what was decoded
rows = reports['null_deref']['calls']['rows']
def outer(rows, i):  # is it in a call that returned?
    depth = rows[i]['depth']
    for k in range(i - 1, -1, -1):
        if rows[k]['depth'] < depth:
            depth = rows[k]['depth']
            if rows[k].get('returned'):
                return True
    return False
def total_of(rows):
    return sum(r['instructions'] if r['returned']
               else r['own_instructions'] + r['hidden_instructions']
               for i, r in enumerate(rows) if not outer(rows, i))
total = total_of(rows)
assert total == reports['null_deref']['coverage']['instructions'], (total, reports['null_deref']['coverage'])
# without a crash: a tree for each thread; it counts what the thread executed, as the text does
for name, nr_threads in (('healthy', 1), ('threads', 5)):
    trees = reports[name]['call_trees']
    assert len(trees) == nr_threads == reports[name]['coverage']['threads'], (name, len(trees))
    for tree in trees:
        thread, = [t for t in reports[name]['threads'] if t['tid'] == tree['tid']]
        assert total_of(tree['rows']) == thread['instructions'], (tree, thread)
        texts = [t for t in open(name + '.txt').read().split('\n\n')
                 if re.match('.*thread %d\n' % tree['tid'], t)]
        assert texts or nr_threads > 1, tree['tid']
        have = [(r.get('function'), r['returned'], r['instructions'] or r['own_instructions'])
                for r in tree['rows']]
        for line in texts[0].split('\n')[2:] if texts else []:
            m = re.match(r' +(\d+)  +(\w+) .*\d$', line)
            assert not m or (m[2], True, int(m[1])) in have, (line, have[:5])
assert len(reports['short']['calls']['rows']) <= 30 < len(rows)
assert len(reports['short']['branches']) == 5 and len(reports['null_deref']['branches']) == 16
assert [r for r in rows if r.get('current')][0]['function'] == 'age_of'
assert [t['died'] for t in reports['thread_crash']['threads']].count(True) == 1

# names: whole, and what they are
hostile = reports['hostile']
functions = [f['functions'][0]['function'] for f in hostile['backtrace']['frames']][:4]
assert functions[0] == '</script><img src=x onerror=foreign=1>"\'', functions
assert functions[1] == '\x1b[2J\\xff\\xfe\x9b<!--\\"\x07\u202e..', functions
assert functions[2:] == ['wide_' + 'x' * 400, 'main'], functions
assert hostile['crash']['name'].startswith('</script>\x1b[2J'), hostile['crash']['name']
END
"$AUXTAP" report --format yaml null_deref.data >stdout 2>stderr
[ $? -eq 2 ] && grep -q "unknown format 'yaml'" stderr || fail "format yaml: $(cat stderr)"
finish
