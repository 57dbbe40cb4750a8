#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# What there is to draw of a run ("picture" in 'sim --format json'), and the page that draws it:
# it carries that JSON, loads nothing and runs its own script alone.
# What a browser makes of it: test_watermark_drawn.sh, test_watermark_browser.sh.
. "$(dirname "$0")/lib.sh"
. "$SRC/tests/cli/picture_texts.sh"

sim() { "$AUXTAP" watermark sim "$@"; }

# ---- a time line ----
args=(--driver trbe --fault interrupt-page-off --bytes 2M)
sim "${args[@]}" --format json --events -o run.json
[ $? -eq 1 ] || fail "json: not exit 1"
sim "${args[@]}" --format json -o short.json
sim "${args[@]}" --format html -o run.html
[ $? -eq 1 ] || fail "html: not exit 1"
sim "${args[@]}" --format html --events >events.html
[ $? -eq 1 ] || fail "html, events: not exit 1"
sim --driver arm_spe --bytes 300K --format json --output clean.json || fail "clean: exit $?"
sim --driver arm_spe --pages 1 --format json -o refused.json || fail "refused: exit $?"
sim --driver arm_spe --pages 1 --format html -o refused.html || fail "refused: exit $?"
sim --snapshot --switch 100us --bytes 1M --format json -o snapshot.json || fail "snapshot: exit $?"
sim --fault wrong-wrap --pages 256 --bytes 2M --format json --events -o far.json
sim --watermark 4K,8K,12K --pages 4..16 --format html -o heat.html || fail "heat: exit $?"
sim --watermark 4K,8K,12K --pages 4..16 --format json -o heat.json || fail "heat: exit $?"
python3 - <<'END' || fail "pictures: see above"
import base64, hashlib, json, re

def only(path):
    runs = json.load(open(path))
    assert len(runs) == 1, path
    return runs[0]

def data(path):
    begin = r'<script type="application/json" id="data">'
    found = re.findall(begin + '(.*?)</script>', open(path).read(), re.S)
    assert len(found) == 1 and '<' not in found[0], path
    return json.loads(found[0])

def drawn(run):
    """the events of which shapes are: as many as it says, in one piece"""
    e = run['picture']['events']
    assert e['total'] == len(run['events']) and e['before'] + e['drawn'] <= e['total']
    return run['events'][e['before']:e['before'] + e['drawn']]

def shapes(run, kind):
    return [s for s in run['picture']['shapes'] if s['kind'] == kind]

# the page has the JSON that is printed; --events adds the events and changes nothing else
run = only('run.json')
assert data('events.html') == [run]
short = only('short.json')
assert data('run.html') == [short]
assert {k: v for k, v in run.items() if k != 'events'} == short
assert data('refused.html') == json.load(open('refused.json'))

# nothing is loaded from anywhere; no script or style runs but those that the page came with
for path in ('run.html', 'heat.html', 'refused.html'):
    text = open(path).read()
    outside = text.replace('http://www.w3.org/2000/svg', '')
    assert not re.search(r'https?:|//[a-z]|\bsrc=|@import|href=|innerHTML|\beval\b', outside), path
    assert 'prefers-color-scheme: dark' in text, path
    policy = re.search(r'<meta http-equiv="Content-Security-Policy" content="([^"]*)">', text)[1]
    assert text.index('Content-Security-Policy') < text.index('<style'), path
    policy = dict(rule.split(' ', 1) for rule in policy.split('; '))
    assert policy['default-src'] == "'none'", policy
    def hashes(parts):
        digests = [hashlib.sha256(part.encode()).digest() for part in parts]
        return ["'sha256-%s'" % base64.b64encode(digest).decode() for digest in digests]
    scripts = re.findall(r'<script type="module">(.*?)</script>', text, re.S)
    styles = re.findall(r'<style[^>]*>(.*?)</style>', text, re.S)
    assert len(scripts) == 1 and policy['script-src'].split() == hashes(scripts), path
    assert len(styles) == 2 and policy['style-src'].split() == hashes(styles), path
    body = re.sub(r'<(script|style)[^>]*>.*?</\1>', '', text, flags=re.S)
    assert not re.search(r'<[^>]*\s(on\w+|style)=', body), path

# what is wrong, where and how far, in words; the fault's name is not among them
events, picture = drawn(run), run['picture']
assert 0 < len(events) < len(run['events']) and picture['events']['before'] == 0
assert any(e['event'] == 'VIOLATION' for e in events)
text = 'interrupt due here, comes 40.960 us (4096 bytes of trace) later'
assert any(text in n['text'] for n in picture['notes'])
assert any('interrupt-at-threshold' in n['text'] for n in picture['numbered'])
assert 'page-off' not in json.dumps(picture)
# each shape's numbers are an event's, in its place and in its tip
records = {(e['offset'], e['size'], e['time_ns']) for e in events if e['event'] == 'AUX'}
found = shapes(run, 'record')
assert {(s['p0'], s['p1'] - s['p0'], s['t1']) for s in found} == records and len(records) > 5
tips = [re.match(r'AUX record: offset (\d+), size (\d+), .* at (\d+) ns', s['tip']) for s in found]
assert {tuple(map(int, m.groups())) for m in tips} == records
points = {tuple(p) for line in picture['pointer'] for p in line}
for event, kind, text, at in (
        ('line', 'line', 'the interrupt line goes up at (\d+) ns', 'at'),
        ('interrupt', 'interrupt', "interrupt: the driver handles it at (\d+) ns", 'at'),
        ('threshold', 'due', 'interrupt due: .* at (\d+) ns', 'at'),
        ('read', 'read', 'read: .* at (\d+) ns', 'tail')):
    want = {(e['time_ns'], e[at]) for e in events if e['event'] == event}
    found = shapes(run, kind)
    assert {(s['t0'], s['p1']) for s in found} == want and want, event
    assert {int(re.match(text, s['tip'])[1]) for s in found} == {t for t, _ in want}, event
    # the curve goes through the points of interrupts
    assert kind == 'read' or all((s['t0'], s['p0']) in points for s in found), event

# a line of it is a transaction: between two of them nothing is drawn
begins = [[e['time_ns'], e['head']] for e in events if e['event'] == 'begin']
assert [line[0] for line in picture['pointer']] == begins and len(begins) > 5

# an area that is overwritten: the pointer goes on, too
picture = only('snapshot.json')['picture']
visible = (picture['view']['p1'] - picture['view']['p0']) / 80
assert any(line[1][1] > line[0][1] + visible for line in picture['pointer'] if len(line) > 1)

clean = only('clean.json')
assert clean['verdict'] == 'pass' and clean['picture']['numbered'] == []
assert clean['picture']['first_bad_ns'] is None
refused = only('refused.json')
assert refused['picture'] is None and 'the driver requires at least 2 pages' in refused['refusal']

# a violation far from the beginning: what is around it is drawn, and no more
run = only('far.json')
first = next(i for i, e in enumerate(run['events']) if e['event'] == 'VIOLATION')
picture, events, at = run['picture'], drawn(run), run['events'][first]['time_ns']
assert first > 1000 and picture['events']['before'] == first - 400 and len(events) == 801
assert picture['first_bad_ns'] == at and picture['view']['t0'] < at < picture['view']['t1']
first, last = events[0]['time_ns'], events[-1]['time_ns']
assert all(s['t1'] <= last for s in picture['shapes'])
# (a loss is drawn from where it began, which may be before the first of these events)
assert all(s['t0'] >= first or s['kind'] == 'loss' for s in picture['shapes'])
text = 'trace due at offset 0 is stored at offset 4096: 4096 bytes too far'
assert any(text in n['text'] for n in picture['notes'])

# of several runs the sums are drawn
runs = json.load(open('heat.json'))
assert len(runs) == 9 and data('heat.html') == runs and not any('picture' in r for r in runs)
END

# ---- what each fault of the hardware looks like: its words, in its place ----
says() {
	local fault=$1 driver=$2
	shift 2
	sim --fault "$fault" --driver "$driver" --bytes 2M --format json -o fault.json
	[ $? -eq 1 ] || fail "$fault, $driver: not exit 1"
	FAULT=$fault python3 - "$@" <<'END' || fail "$fault, $driver: see above"
import json, os, re, sys
picture = json.load(open('fault.json'))[0]['picture']
texts = [x['text'] for x in picture['notes'] + picture['numbered']]
texts += [s['tip'] for s in picture['shapes']]
for text in sys.argv[1:]:
    assert any(re.search(text, t) for t in texts), 'the picture does not say %r' % text
assert os.environ['FAULT'] not in json.dumps(picture), 'named'
END
}
says_of_faults

# the cause has the first number, what comes of it the next; the ring is where it begins
for fault in "stale-status intel_pt" "flag-missing intel_pt" "flag-missing trbe" "wrong-wrap trbe" \
	"interrupt-late trbe" "interrupt-lost intel_pt" "interrupt-page-off trbe" \
	"padding-missing arm_spe" "interrupt-doubled intel_pt"; do
	# shellcheck disable=SC2086
	set -- $fault
	sim --fault "$1" --driver "$2" --bytes 2M --format json --events -o ring.json
	FAULT=$1 python3 - <<'END' || fail "$fault: see above"
import json, os
fault, run = os.environ['FAULT'], json.load(open('ring.json'))[0]
events, picture = run['events'], run['picture']
listed = [n['text'] for n in picture['numbered']]
assert [n['number'] for n in picture['numbered']] == list(range(1, len(listed) + 1)), listed
wrong = [s for s in picture['shapes'] if s['kind'] == 'violation']
rings = {s['number']: s['t0'] for s in wrong if 'number' in s}
assert sorted(rings) == list(range(1, len(listed) + 1)), (rings, listed)
assert all(rings[n['number']] == n['t0'] for n in picture['numbered']), (rings, picture['numbered'])
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
    assert any(s['t0'] == first['time_ns'] for s in wrong if 'number' not in s), 'where it was noticed is not there'
# what is wrong is marked as that
bad = {s['kind'] for s in picture['shapes'] if s.get('bad')}
want = {'interrupt-late': {'delay', 'interrupt'}, 'interrupt-lost': {'delay'},
        'interrupt-page-off': {'line'}, 'interrupt-doubled': {'line'}, 'padding-missing': {'padding'}}
assert bad == want.get(fault, bad - {'violation'}) | {'violation'}, bad
if fault == 'interrupt-doubled':
    text = 'one interrupt is expected for a threshold; a second one comes'
    assert any(text in l for l in listed), listed
END
done

# a machine without a fault has nothing that is wrong
for driver in intel_pt arm_spe trbe; do
	for options in "" "--reader-latency 3ms" "--switch 70us" "--watermark 5000 --pages 4"; do
		# shellcheck disable=SC2086
		sim --driver $driver --bytes 2M --format json -o clean.json $options || fail "$driver $options"
		python3 - <<'END' || fail "$driver $options: see above"
import json
picture = json.load(open('clean.json'))[0]['picture']
assert picture['notes'] == picture['numbered'] == [] and picture['first_bad_ns'] is None, picture['notes']
wrong = [s for s in picture['shapes'] if s['kind'] == 'violation' or
         s.get('bad') and s['kind'] in ('padding', 'delay')]
assert wrong == [], wrong
END
	done
done

# ---- files and lists ----
sim --format html -o /nowhere/page.html >out 2>err
[ $? -eq 3 ] || fail "no directory: not exit 3"
grep -q '^auxtap: /nowhere/page.html: No such file' err || fail "no directory: $(cat err)"
sim --format html --pages 3 -o page.html >out 2>err
[ $? -eq 2 ] || fail "three pages: not exit 2"
[ -e page.html ] && fail "a page of nothing stays"
sim --format svg -o picture.svg >out 2>err
[ $? -eq 2 ] || fail "--format svg: not exit 2"
grep -qF "auxtap: svg: not an output format; use '--format html'" err || fail "--format svg: $(cat err)"
[ -e picture.svg ] || [ -s out ] && fail "--format svg: prints something"
for bad in 4..2 2..64:2 0..8 4,x; do
	sim --pages "$bad" >out 2>err
	[ $? -eq 2 ] || fail "--pages $bad: not exit 2"
done
sim --pages 2..16 --bytes 300K >table || fail "pages: exit $?"
[ "$(grep -c 'verdict *pass' table)" -eq 4 ] || fail "pages: $(cat table)"
finish
