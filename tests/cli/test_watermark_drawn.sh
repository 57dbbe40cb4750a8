#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Pictures as a headless Chromium draws them and as the page's button saves them: complete, with the
# numbers of the JSON, what is wrong said in its place, in red only where something is wrong.
# KEEP_SHOTS=DIRECTORY keeps the pictures.
. "$(dirname "$0")/lib.sh"
. "$SRC/tests/cli/picture_texts.sh"
command -v python3 >/dev/null || skip "python3 is not installed"
HERE=$SRC/tests/cli
PYTHONPATH=$HERE python3 -B -c 'import browser, sys; sys.exit(not browser.find())' ||
	skip "no Chromium; 'scripts/install-packages browser' installs one (60 MB)"

# NAME STATUS OPTION...: NAME.html and NAME.json (with all events); its picture is to be NAME.svg
pictures=()
page() {
	local name=$1 want=$2 got
	shift 2
	"$AUXTAP" watermark sim "$@" --format html -o "$name.html"
	got=$?
	[ $got -eq "$want" ] || fail "$*: exit $got, not $want"
	"$AUXTAP" watermark sim "$@" --format json --events -o "$name.json"
	pictures+=("$name.html" "$name.svg")
}
page run 1 --driver trbe --fault interrupt-page-off --bytes 2M
page clean 0 --driver arm_spe --bytes 300K
page refused 0 --driver arm_spe --pages 1
page snapshot 0 --snapshot --switch 100us --bytes 1M
page far 1 --fault wrong-wrap --pages 256 --bytes 2M
page heat 0 --watermark 4K,8K,12K --pages 4..16
page heat-bad 1 --watermark 4K,8K --pages 1..4 --driver arm_spe --fault interrupt-page-off \
	--bytes 300K
page collision 0 --driver trbe --watermark 32K --pages 32 --bytes 300K
for driver in intel_pt arm_spe trbe; do
	for fault in interrupt-late interrupt-lost interrupt-doubled interrupt-page-off past-limit \
		stale-status interrupt-while-stopping; do
		page $fault,$driver 1 --fault $fault --driver $driver --bytes 2M
	done
	page clean,$driver 0 --driver $driver --bytes 2M
	page clean-slow,$driver 0 --driver $driver --bytes 2M --reader-latency 3ms
	page clean-switch,$driver 0 --driver $driver --bytes 2M --switch 70us
	page clean-small,$driver 0 --driver $driver --bytes 2M --watermark 5000 --pages 4
done
for fault in flag-missing,intel_pt flag-missing,trbe wrong-wrap,intel_pt wrong-wrap,trbe \
	padding-missing,arm_spe padding-missing,trbe; do
	page $fault 1 --fault ${fault%,*} --driver ${fault#*,} --bytes 2M
done
PYTHONPATH=$HERE python3 -B "$HERE/draw.py" "${pictures[@]}" || fail "the browser: see above"
[ -z "${KEEP_SHOTS:-}" ] || cp ./*.svg "$KEEP_SHOTS"
[ "$failures" -eq 0 ] || finish

python3 - <<'END' || fail "pictures: see above"
import json, re
import xml.etree.ElementTree as ET

SVG = '{http://www.w3.org/2000/svg}'
def words(root):
    return [''.join(t.itertext()) for t in root.iter(SVG + 'text')]
def tips(root):
    return [t.text for t in root.iter(SVG + 'title')]
def root_of(name):
    return ET.parse(name + '.svg').getroot()
def run_of(name):
    return json.load(open(name + '.json'))[0]

# a file stands alone
for name in ('run', 'heat', 'snapshot'):
    text = open(name + '.svg').read().replace('http://www.w3.org/2000/svg', '')
    assert not re.search(r'https?:|//[a-z]|\bsrc=|@import|href=|<script', text), name
    assert 'prefers-color-scheme: dark' in text, name
    root = root_of(name)
    assert root.get('viewBox') == '0 0 %s %s' % (root.get('width'), root.get('height')), name

run, root = run_of('run'), root_of('run')
said, shown = words(root), tips(root)
total = len(run['events'])
events = run['events'][:run['picture']['events']['drawn']]
# what is wrong, where and how far, in words; the fault's name is not among them
text = 'interrupt due here, comes 40.960 us (4096 bytes of trace) later'
assert any(text in w for w in said), said
assert any('interrupt-at-threshold' in w for w in said)
assert not any('page-off' in w for w in said + shown)
text = r'drawn: events 1 to \d+ of %d, the others are left out' % total
assert any(re.search(text, w) for w in said), said
# each drawn record's numbers are an event's
records = {(e['offset'], e['size'], e['time_ns']) for e in events if e['event'] == 'AUX'}
drawn = {tuple(map(int, m)) for t in shown for m in
         re.findall(r'^AUX record: offset (\d+), size (\d+), .* at (\d+) ns', t)}
assert drawn == records and len(records) > 5, drawn ^ records
for event, text in (('line', 'the interrupt line goes up at (\\d+) ns'),
                    ('interrupt', "interrupt: the driver handles it at (\\d+) ns"),
                    ('threshold', 'interrupt due: .* at (\\d+) ns'),
                    ('read', 'read: .* at (\\d+) ns')):
    want = {e['time_ns'] for e in events if e['event'] == event}
    got = {int(m) for t in shown for m in re.findall('^' + text, t)}
    assert got == want and want, (event, got ^ want)
# each shape of the JSON is in the picture, with its tip
for name in ('run', 'clean', 'snapshot', 'far', 'collision'):
    want = [s['tip'] for s in run_of(name)['picture']['shapes']]
    missing = set(want) - set(tips(root_of(name)))
    assert len(want) > 50 and not missing, (name, missing)
# curves, bars and symbols are where the JSON has them, by the scale of the view and the names of
# the lanes
LANES = {'record': 'AUX records', 'record-lost': 'AUX records', 'runs': 'program', 'loss': 'program',
         'delay': 'interrupts', 'due': 'interrupts', 'line': 'interrupts', 'interrupt': 'interrupts',
         'wakeup': 'reader', 'read': 'reader', 'enable': 'reader', 'refused': 'program'}
def near(a, b):
    return len(a) == len(b) and all(abs(p - q) < 0.02 for p, q in zip(a, b))
compared = {}
for name in ('run', 'clean', 'snapshot', 'far', 'collision', 'padding-missing,trbe',
             'interrupt-late,intel_pt', 'clean-small,arm_spe'):
    root, run = root_of(name), run_of(name)
    picture, v = run['picture'], run['picture']['view']
    left, top, right, bottom = map(float, root.get('data-box').split(','))
    X = lambda t: left + (t - v['t0']) * (right - left) / (v['t1'] - v['t0'])
    Y = lambda p: top + (v['p1'] - p) * (bottom - top) / (v['p1'] - v['p0'])
    def curve(cls):
        paths = [p.get('d') for p in root.iter(SVG + 'path') if p.get('class') == cls]
        return paths[0].count('M'), [tuple(map(float, p)) for p in
                                     re.findall(r'(-?[\d.]+),(-?[\d.]+)', paths[0])]
    area = run['config']['pages'] * run['config']['page_size']
    lines = [('pointer', picture['pointer'], 0)]
    if not run['config']['snapshot']:
        lines += [('tail', picture['tail'], 0), ('full', picture['tail'], area)]
    for cls, data, lift in lines:
        nr, got = curve(cls)
        want = [(X(t), Y(p + lift)) for line in data for t, p in line]
        assert nr == len(data) and len(got) == len(want) > 3, (name, cls)
        assert all(near(a, b) for a, b in zip(got, want)), (name, cls)
    lanes = {''.join(t.itertext()): float(t.get('y')) - 4 for t in root.iter(SVG + 'text')
             if t.get('class') == 'tick end'}
    # by tip: what is drawn in the plot, what is drawn in a lane
    drawn = {}
    for e in root.iter():
        tip = e.find(SVG + 'title')
        if tip is not None:
            drawn.setdefault(tip.text, []).append(e)
    number = lambda e, key: float(e.get(key))
    for s in picture['shapes']:
        found, kind = drawn[s['tip']], s['kind']
        compared[kind] = compared.get(kind, 0) + 1
        if kind in ('threshold', 'stop', 'watermark'):
            want = [X(s['t0']), X(s['t1']), Y(s['p0']), Y(s['p0'])]
            got = [[number(e, k) for k in ('x1', 'x2', 'y1', 'y2')] for e in found]
        elif kind == 'padding':
            want = [X(s['t0']), Y(s['p1']), X(s['t1']) - X(s['t0']), Y(s['p0']) - Y(s['p1'])]
            got = [[number(e, k) for k in ('x', 'y', 'width', 'height')] for e in found]
        elif kind in ('record', 'record-lost', 'runs', 'loss', 'delay'):
            width = X(s['t1']) - X(s['t0'])
            width = width if kind.startswith('record') else max(width, 1.5)
            want = [X(s['t0']), width, lanes[LANES[kind]]]
            got = [[number(e, 'x'), number(e, 'width'), number(e, 'y') + number(e, 'height') / 2]
                   for e in found]
        elif kind == 'violation':
            want = [s['t0'], s['p0']]
            got = [[number(e, 'data-t'), number(e, 'data-p')] for e in found]
        else:
            want = [s['t0'], lanes[LANES[kind]]]
            got = [[number(e, 'data-t'), number(e, 'data-y')] for e in found if e.get('data-y')]
            if LANES[kind] == 'interrupts': # in the plot, too
                plot = [[number(e, 'data-t'), number(e, 'data-p')] for e in found if e.get('data-p')]
                assert [s['t0'], s['p0']] in plot, (name, s, plot)
        assert any(near(want, g) for g in got), (name, s, want, got)
    # a symbol is drawn where its data is
    for e in root.iter(SVG + 'g'):
        if (e.get('class') or '').startswith('pin ') and e.get('data-t1') is None and \
                e.get('class') != 'pin note':
            x, y = map(float, re.match(r'translate\((.*),(.*)\)', e.get('transform')).groups())
            want = float(e.get('data-y')) if e.get('data-y') else Y(float(e.get('data-p')))
            assert near([x, y], [X(float(e.get('data-t'))), want]), (name, e.attrib)
assert len(compared) >= 15 and min(compared.values()) > 1, compared

# an area that is overwritten: the pointer goes on, too
d = root_of('snapshot').findall('.//%spath[@class="pointer"]' % SVG)[0].get('d')
assert any(float(a.split(',')[1]) > float(b.split(',')[1]) + 5
           for a, b in re.findall(r'M([\d.,-]+)L([\d.,-]+)', d)), d[:200]

clean = words(root_of('clean'))
assert 'pass: all invariants hold' in clean and not any('FAIL' in w for w in clean)
assert any('refused: the driver requires at least 2 pages' in w for w in words(root_of('refused')))

# a violation far from the beginning: what is around it is drawn
run, said = run_of('far'), words(root_of('far'))
first = next(i for i, e in enumerate(run['events']) if e['event'] == 'VIOLATION')
text = 'drawn: events %d to %d of %d' % (first - 399, first + 401, len(run['events']))
assert any(text in w for w in said), said
assert any('trace due at offset 0 is stored at offset 4096: 4096 bytes too far' in w for w in said)

# the heat map: a cell a machine, with its numbers
for name in ('heat', 'heat-bad'):
    runs, root = json.load(open(name + '.json')), root_of(name)
    want = {(r['config']['pages'], r['config']['watermark'], r['lost'], r['produced'])
            for r in runs}
    cells = [c for c in root.iter(SVG + 'rect') if c.get('data-pages')]
    keys = ['data-' + key for key in ('pages', 'watermark', 'lost', 'produced')]
    got = {tuple(int(c.get(key)) for key in keys) for c in cells}
    assert got == want and len(cells) == len(runs) >= 6, got ^ want
    states = {'cell': 0, 'cell fail': 0, 'cell refused': 0}
    for c in cells:
        states[c.get('class')] += 1
    assert states['cell refused'] == sum(r['refusal'] is not None for r in runs), states
    assert states['cell fail'] == sum(r['violations'] > 0 for r in runs), states
    assert name == 'heat' or states['cell refused'] and states['cell fail'], states
    # the overshoots add up, each in its bucket
    bars = [tuple(map(int, m)) for t in tips(root) for m in
            re.findall(r'^(\d+) to (\d+) bytes: (\d+) interrupts$', t)]
    want = {}
    for s in (s for r in runs for s in r['overshoots']):
        want[s['from'], s['to'] - 1] = want.get((s['from'], s['to'] - 1), 0) + s['count']
    assert {(a, b): n for a, b, n in bars if n} == want and sum(want.values()) > 0, (bars, want)
    assert all(b + 1 == c for (_, b, _), (c, _, _) in zip(bars, bars[1:])), bars
assert len(json.load(open('heat.json'))) == 9
END

# ---- what each fault of the hardware looks like: its words, in its place ----
says() {
	local fault=$1 driver=$2
	shift 2
	for text in "$@"; do
		grep -qE ">[^<]*$text" "$fault,$driver.svg" ||
			fail "$fault, $driver: the picture does not say '$text'"
	done
	grep -qF -- "$fault" "$fault,$driver.svg" && fail "$fault, $driver: named"
}
says_of_faults

# the cause has the first number, what comes of it the next; the ring is where it begins, and
# notes hide nothing of the curve; two lines at one time stand one above the other
for fault in stale-status,intel_pt flag-missing,intel_pt flag-missing,trbe wrong-wrap,trbe \
	interrupt-late,trbe interrupt-lost,intel_pt interrupt-page-off,trbe \
	padding-missing,arm_spe interrupt-doubled,intel_pt; do
	FAULT=$fault python3 - <<'END' || fail "$fault: see above"
import json, os, re
import xml.etree.ElementTree as ET
SVG = '{http://www.w3.org/2000/svg}'
name = os.environ['FAULT']
fault, root = name.split(',')[0], ET.parse(name + '.svg').getroot()
run = json.load(open(name + '.json'))[0]
events = run['events']
listed = [''.join(t.itertext()) for t in root.iter(SVG + 'text') if t.get('class') == 'listed']
listed = [l for l in listed if not l.startswith('overshoot: ')]
assert len(listed) == len(run['picture']['numbered'])
rings = {}
for g in root.iter(SVG + 'g'):
    if g.get('class') == 'pin violation':
        rings[int(''.join(g.find('.//%stext' % SVG).itertext()))] = int(g.get('data-t'))
assert sorted(rings) == list(range(1, len(listed) + 1)), (rings, listed)
first = next(e for e in events if e['event'] == 'VIOLATION')
if fault in ('stale-status', 'flag-missing', 'wrong-wrap'):
    assert [': status register: ' in l for l in listed].count(True) == 1, listed
    assert ': status register: ' in listed[0], listed
    assert rings[1] <= first['time_ns'] and len(listed) > 1, (rings, first)
before = {'interrupt-late': 'line', 'interrupt-lost': 'line', 'interrupt-page-off': 'threshold',
          'padding-missing': 'skip'}.get(fault)
if before:
    assert min(rings.values()) < first['time_ns'], rings
    assert min(rings.values()) in [e['time_ns'] for e in events if e['event'] == before], rings
    dots = [g for g in root.iter(SVG + 'g') if g.get('class') == 'pin violation noticed']
    assert any(int(g.get('data-t')) == first['time_ns'] for g in dots), 'where it was noticed is not drawn'
# what is wrong is red, and nothing else
red = {e.find(SVG + 'title').text for e in root.iter() if (e.get('class') or '').endswith(' bad')
       and e.find(SVG + 'title') is not None}
assert red == {s['tip'] for s in run['picture']['shapes']
               if s.get('bad') and s['kind'] != 'violation'}, red
if fault == 'interrupt-doubled':
    moves = [g.get('transform') for p in root.iter(SVG + 'g') if (p.get('class') or '').startswith('pin line')
             for g in p.findall(SVG + 'g')]
    assert moves and all(re.match(r'translate\(0,-', m) for m in moves), moves
    text = 'one interrupt is expected for a threshold; a second one comes'
    assert any(text in l for l in listed), listed
# boxes and the curve: both where they are drawn
d = next(p for p in root.iter(SVG + 'path') if p.get('class') == 'pointer').get('d')
assert d.count('L') > 2, d
curve = [(c, float(x), float(y)) for c, x, y in re.findall(r'([ML])(-?[\d.]+),(-?[\d.]+)', d)]
boxes = 0
for g in root.iter(SVG + 'g'):
    if g.get('class') != 'pin note':
        continue
    boxes += 1
    gx, gy = map(float, re.match(r'translate\(([-\d.]+),([-\d.]+)\)', g.get('transform')).groups())
    r = g.find(SVG + 'rect')
    gx += float((re.match(r'translate\(([-\d.]+),0\)', r.get('transform') or '') or [0, 0])[1])
    x0, y0 = gx + float(r.get('x')) + 1, gy + float(r.get('y')) + 1
    x1, y1 = x0 + float(r.get('width')) - 2, y0 + 20
    for (_, ax, ay), (c, bx, by) in zip(curve, curve[1:]):
        for i in range(401) if c == 'L' else ():
            x, y = ax + (bx - ax) * i / 400, ay + (by - ay) * i / 400
            hidden = x0 < x < x1 and y0 < y < y1
            assert not hidden, ('a box over the curve', ''.join(g.itertext()))
view = run['picture']['view']
seen = {n['text'][:14] for n in run['picture']['notes'] if view['t0'] <= n['t0'] <= view['t1']}
assert boxes == len(seen) > 0, (boxes, seen)
END
done
# COLLISION is how a good TRBE speaks: not in the colour of what is lost; the legend has it, for
# TRBE
grep -qE 'class="small middle">[^<]* COLLISION<' collision.svg || fail "no COLLISION in black"
grep -q 'flagged">[^<]*COLLISION' collision.svg && fail "COLLISION in orange"
grep -qE 'class="small middle flagged">[^<]*TRUNCATED' interrupt-late,intel_pt.svg || fail "TRUNCATED is not in orange"
grep -qE 'class="small middle">[^<]* OVERWRITE<' snapshot.svg || fail "no OVERWRITE in black"
grep -q 'flagged">[^<]*OVERWRITE' snapshot.svg && fail "OVERWRITE in orange: nothing is lost"
grep -q 'COLLISION: it was full' collision.svg || fail "the legend has no COLLISION"
grep -q 'COLLISION' clean.svg && fail "an SPE's legend has COLLISION"
for text in 'TRUNCATED: no space' 'from the interrupt line to the driver' 'the area wraps' \
	'a tick: for a moment'; do
	grep -qE ">[^<]*$text" collision.svg || fail "the legend has no '$text'"
done

# a machine without a fault has no words in red
red='<line [^>]*class="span|class="(span|pin note|pin violation|padding bad|delay bad)'
for driver in intel_pt arm_spe trbe; do
	grep -qE "$red" "interrupt-late,$driver.svg" || fail "$driver: nothing is red"
	for clean in clean clean-slow clean-switch clean-small; do
		grep -qE "$red" "$clean,$driver.svg" &&
			fail "$clean, $driver: red without a violation"
	done
done
finish
