#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Pictures of the simulator: well-formed, self-contained, and with the numbers of the JSON. How a
# browser shows them: test_watermark_browser.sh.
. "$(dirname "$0")/lib.sh"

sim() { "$AUXTAP" watermark sim "$@"; }

# ---- a time line ----
args=(--driver trbe --fault interrupt-page-off --bytes 2M)
sim "${args[@]}" --format json --events -o run.json
[ $? -eq 1 ] || fail "json: not exit 1"
sim "${args[@]}" --format svg -o run.svg
[ $? -eq 1 ] || fail "svg: not exit 1"
sim "${args[@]}" --format html >run.html
[ $? -eq 1 ] || fail "html: not exit 1"
sim --driver arm_spe --bytes 300K --format svg --output clean.svg || fail "clean: exit $?"
sim --driver arm_spe --pages 1 --format svg -o refused.svg || fail "refused: exit $?"
sim --snapshot --switch 100us --bytes 1M --format html -o snapshot.html || fail "snapshot: exit $?"
sim --snapshot --switch 100us --bytes 1M --format svg -o snapshot.svg || fail "snapshot: exit $?"
sim --fault wrong-wrap --pages 256 --bytes 2M --format json --events -o far.json
sim --fault wrong-wrap --pages 256 --bytes 2M --format html -o far.html
sim --watermark 4K,8K,12K --pages 4..16 --format html -o heat.html || fail "heat: exit $?"
sim --watermark 4K,8K,12K --pages 4..16 --format svg -o heat.svg || fail "heat: exit $?"
sim --watermark 4K,8K,12K --pages 4..16 --format json -o heat.json || fail "heat: exit $?"
python3 - <<'END' || fail "pictures: see above"
import html, json, re
import xml.etree.ElementTree as ET

def data(path):
    text = open(path).read()
    found = re.findall(r'<script type="application/json" id="data">(.*?)</script>', text, re.S)
    assert len(found) == 1, path
    return json.loads(found[0]), text

SVG = '{http://www.w3.org/2000/svg}'
def words(root):
    return [''.join(t.itertext()) for t in root.iter(SVG + 'text')]
def tips(root):
    return [t.text for t in root.iter(SVG + 'title')]

run = json.load(open('run.json'))[0]
picture, page = data('run.html')
picture = picture[0]
# the same objects: the sums all of them, the events those that are drawn, contiguous
events = picture.pop('events')
before, total = picture.pop('events_before'), picture.pop('events_total')
assert total == len(run['events']) and 0 < len(events) < total
assert events == run['events'][before:before + len(events)]
assert any(e['event'] == 'VIOLATION' for e in events)
del run['events']
assert picture == run
# the numbers of the table
table = dict(re.findall(r'data-key="(\w+)">(-?\d+)<', page))
assert len(table) > 20 and all(run[k] == int(v) for k, v in table.items()), table
# nothing is loaded from elsewhere
for path in ('run.html', 'heat.html', 'snapshot.html', 'run.svg', 'heat.svg'):
    text = open(path).read().replace('http://www.w3.org/2000/svg', '')
    assert not re.search(r'https?:|//[a-z]|\bsrc=|@import|href=', text.replace('//# ', '')), path
    assert 'prefers-color-scheme: dark' in text, path

root = ET.parse('run.svg').getroot()
said, shown = words(root), tips(root)
# what is wrong, where and how far, as text, without the fault's name
assert any('interrupt due here, comes 40.960 us (4096 bytes of trace) later' in w
           for w in said), said
assert any('interrupt-at-threshold' in w for w in said)
assert not any('page-off' in w for w in said + shown)
assert any(re.search(r'drawn: events 1 to \d+ of %d, the others are left out' % total, w)
           for w in said)
# each drawn record's numbers are an event's
records = {(e['offset'], e['size'], e['time_ns']) for e in events if e['event'] == 'AUX'}
drawn = {tuple(map(int, m)) for t in shown for m in
         re.findall(r'^AUX record: offset (\d+), size (\d+), .* at (\d+) ns', t)}
assert drawn == records and len(records) > 5, drawn ^ records
for event, text in (('line', 'the interrupt line goes up at (\\d+) ns'),
                    ('interrupt', "interrupt: the driver's turn at (\\d+) ns"),
                    ('threshold', 'interrupt due: .* at (\\d+) ns'),
                    ('read', 'read: .* at (\\d+) ns')):
    want = {e['time_ns'] for e in events if e['event'] == event}
    got = {int(m) for t in shown for m in re.findall('^' + text, t)}
    assert got == want and want, (event, got ^ want)

# an area that is overwritten: the pointer advances, too
d = ET.parse('snapshot.svg').getroot().findall('.//%spath[@class="pointer"]' % SVG)[0].get('d')
assert any(float(a.split(',')[1]) > float(b.split(',')[1]) + 5
           for a, b in re.findall(r'M([\d.,-]+)L([\d.,-]+)', d)), d[:200]

clean = words(ET.parse('clean.svg').getroot())
assert 'pass: all invariants hold' in clean and not any('FAIL' in w for w in clean)
assert any('refused: the driver wants at least 2 pages' in w
           for w in words(ET.parse('refused.svg').getroot()))

# a violation far from the beginning: only its surroundings are drawn
run, (picture, page) = json.load(open('far.json'))[0], data('far.html')
events, before = picture[0]['events'], picture[0]['events_before']
first = next(i for i, e in enumerate(run['events']) if e['event'] == 'VIOLATION')
assert first > 1000 and before == first - 400 and len(events) == 801
assert events == run['events'][before:before + 801]
assert 'drawn: events %d to %d of %d' % (before + 1, before + 801, len(run['events'])) in page
assert 'trace due at offset 0 is stored at offset 4096: 4096 bytes too far' in page

# the heat map: a cell a machine, with its numbers
runs = json.load(open('heat.json'))
assert len(runs) == 9 and data('heat.html')[0] == runs
want = {(r['config']['pages'], r['config']['watermark'], r['lost'], r['produced']) for r in runs}
cells = ET.parse('heat.svg').getroot().iter(SVG + 'rect')
got = {tuple(int(c.get('data-' + k)) for k in ('pages', 'watermark', 'lost', 'produced'))
       for c in cells if c.get('data-pages')}
assert got == want, got ^ want
# the overshoots add up
skids = sum(int(m) for t in tips(ET.parse('heat.svg').getroot()) for m in
            re.findall(r' bytes: (\d+) interrupts$', t))
assert skids == sum(s['count'] for r in runs for s in r['overshoots']) > 0
END

# ---- each hardware fault's picture: its text, at its position ----
says() {
	local fault=$1 driver=$2
	shift 2
	sim --fault "$fault" --driver "$driver" --bytes 2M --format svg -o fault.svg
	[ $? -eq 1 ] || fail "$fault, $driver: not exit 1"
	for text in "$@"; do
		grep -qE ">[^<]*$text" fault.svg || fail "$fault, $driver: the picture does not say '$text'"
	done
	grep -qF -- "$fault" fault.svg && fail "$fault, $driver: named"
}
for driver in intel_pt arm_spe trbe; do
	says interrupt-late $driver 'line up here; the interrupt reaches the driver [0-9.]+ ms later'
	says interrupt-lost $driver 'line up here: its interrupt never comes to the driver'
	says interrupt-doubled $driver 'a second interrupt for the same mark'
	says interrupt-page-off $driver 'interrupt due here, comes 40.9[0-9]+ us'
	says past-limit $driver '[0-9]+ bytes written beyond the limit'
	says stale-status $driver 'the driver clears the status register, and it still says'
	says interrupt-while-stopping $driver 'interrupt here, while the unit is being switched off' \
		'due only here, [0-9]+ bytes further on'
done
says flag-missing intel_pt 'the status register does not say so \(Stopped is 0\)' 'no flag'
says flag-missing trbe 'the status register does not say so \(WRAP is 0\)'
says wrong-wrap intel_pt 'the area begins again: trace due at offset 0 is stored at offset 4096: 4096 bytes too far'
says wrong-wrap trbe 'wrapped: the write pointer should be at offset 0, and is at 4096'
says padding-missing arm_spe 'these 4095 bytes of padding, which the driver writes, were not filled'
says padding-missing trbe 'these 4095 bytes of padding, which the driver writes, were not filled'

# the cause has the first number, its consequences the next; the ring is at its start, and text
# hides nothing of the curve; two lines at one time are one above the other
for fault in "stale-status intel_pt" "flag-missing intel_pt" "flag-missing trbe" "wrong-wrap trbe" "interrupt-late trbe" \
	"interrupt-lost intel_pt" "interrupt-page-off trbe" "padding-missing arm_spe" \
	"interrupt-doubled intel_pt"; do
	# shellcheck disable=SC2086
	set -- $fault
	sim --fault "$1" --driver "$2" --bytes 2M --format svg -o ring.svg
	sim --fault "$1" --driver "$2" --bytes 2M --format json --events -o ring.json
	FAULT=$1 python3 - <<'END' || fail "$fault: see above"
import json, os, re
import xml.etree.ElementTree as ET
SVG = '{http://www.w3.org/2000/svg}'
fault, root = os.environ['FAULT'], ET.parse('ring.svg').getroot()
events = json.load(open('ring.json'))[0]['events']
listed = [''.join(t.itertext()) for t in root.iter(SVG + 'text') if t.get('class') == 'listed']
listed = [l for l in listed if not l.startswith('skid: ')]
rings = {}
for g in root.iter(SVG + 'g'):
    if g.get('class') == 'pin violation':
        rings[int(''.join(g.find('.//%stext' % SVG).itertext()))] = int(g.get('data-t'))
assert sorted(rings) == list(range(1, len(listed) + 1)), (rings, listed)
first = next(e for e in events if e['event'] == 'VIOLATION')
if fault in ('stale-status', 'flag-missing', 'wrong-wrap'):
    assert ': status register: ' in listed[0], listed
    assert not any(': status register: ' in l for l in listed[1:]), listed
    assert rings[1] <= first['time_ns'] and len(listed) > 1, (rings, first)
before = {'interrupt-late': 'line', 'interrupt-lost': 'line', 'interrupt-page-off': 'threshold',
          'padding-missing': 'skip'}.get(fault)
if before:
    assert min(rings.values()) < first['time_ns'], rings
    assert min(rings.values()) in [e['time_ns'] for e in events if e['event'] == before], rings
    dots = [g for g in root.iter(SVG + 'g') if g.get('class') == 'pin violation again']
    assert any(int(g.get('data-t')) == first['time_ns'] for g in dots), 'the time of the finding is not drawn'
if fault == 'interrupt-doubled':
    moves = [g.get('transform') for p in root.iter(SVG + 'g') if (p.get('class') or '').startswith('pin line')
             for g in p.findall(SVG + 'g')]
    assert moves and all(re.match(r'translate\(0,-', m) for m in moves), moves
    assert any('one interrupt is expected for a mark; a second one comes' in l
               for l in listed), listed
# boxes and the curve: both at their drawn positions
d = next(p for p in root.iter(SVG + 'path')
         if p.get('class') == 'pointer' and p.get('d').count('L') > 2).get('d')
curve = [(c, float(x), float(y)) for c, x, y in re.findall(r'([ML])(-?[\d.]+),(-?[\d.]+)', d)]
for g in root.iter(SVG + 'g'):
    if g.get('class') != 'pin note':
        continue
    gx, gy = map(float, re.match(r'translate\(([-\d.]+),([-\d.]+)\)', g.get('transform')).groups())
    r = g.find(SVG + 'rect')
    x0, y0 = gx + float(r.get('x')) + 1, gy + float(r.get('y')) + 1
    x1, y1 = x0 + float(r.get('width')) - 2, y0 + 20
    for (_, ax, ay), (c, bx, by) in zip(curve, curve[1:]):
        inside = []
        if c == 'L':
            inside = [(ax + (bx - ax) * i / 400, ay + (by - ay) * i / 400) for i in range(401)]
        assert not any(x0 < x < x1 and y0 < y < y1 for x, y in inside), (
            'a box over the curve', ''.join(g.itertext()))
END
done
# COLLISION is normal for a TRBE: not in the colour of loss; the legend explains it, for
# TRBE
sim --driver trbe --watermark 32K --pages 32 --bytes 300K --format svg -o collision.svg || fail "collision: exit $?"
grep -qE 'class="small middle">[^<]* COLLISION<' collision.svg || fail "no COLLISION in black"
grep -q 'flagged">[^<]*COLLISION' collision.svg && fail "COLLISION in orange"
grep -q 'COLLISION: it was full' collision.svg || fail "the legend has no COLLISION"
grep -q 'COLLISION' clean.svg && fail "an SPE's legend has COLLISION"
for text in 'TRUNCATED: no room' 'from the interrupt line to the driver' 'the area begins again' \
	'a tick: for a moment'; do
	grep -q ">$text" collision.svg || grep -qE ">[^<]*$text" collision.svg || fail "the legend has no '$text'"
done

# a machine without a fault has no text in red
for driver in intel_pt arm_spe trbe; do
	for options in "" "--reader-latency 3ms" "--switch 70us" "--watermark 5000 --pages 4"; do
		# shellcheck disable=SC2086
		sim --driver $driver --bytes 2M --format svg -o clean.svg $options || fail "$driver $options"
		grep -qE '<line class="span|class="(pin note|pin violation|padding bad|delay bad)' \
			clean.svg &&
			fail "$driver $options: red without a violation: $(grep -oE \
			'notetext">[^<]*' clean.svg)"
	done
done

# ---- files and lists ----
sim --format svg -o /nowhere/picture.svg >out 2>err
[ $? -eq 3 ] || fail "no directory: not exit 3"
grep -q '^auxtap: /nowhere/picture.svg: No such file' err || fail "no directory: $(cat err)"
sim --format svg --pages 3 -o picture.svg >out 2>err
[ $? -eq 2 ] || fail "three pages: not exit 2"
[ -e picture.svg ] && fail "an empty picture is left"
for bad in 4..2 2..64:2 0..8 4,x; do
	sim --pages "$bad" >out 2>err
	[ $? -eq 2 ] || fail "--pages $bad: not exit 2"
done
sim --pages 2..16 --bytes 300K >table || fail "pages: exit $?"
[ "$(grep -c 'verdict *pass' table)" -eq 4 ] || fail "pages: $(cat table)"
finish
