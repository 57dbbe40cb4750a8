#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# The report as a page in a headless Chromium: drawn without an error and without loading anything,
# in light and dark, wide and narrow; it says what the JSON says; names from the program are text.
# KEEP_SHOTS=DIRECTORY keeps what it looks like.
. "$(dirname "$0")/lib.sh"
. "$SRC/tests/cli/hostile_program.sh"
command -v python3 >/dev/null || skip "python3 is not installed"

# crash NAME PROGRAM [OPTION...]: NAME.data, NAME.json and NAME.html
crash() {
	guard "$AUXTAP" crash -o "$1.data" "${@:3}" -- "$2" >stdout 2>stderr </dev/null
	[ -s "$1.data" ] || { fail "$1: no snapshot: $(tail -n 2 stderr)"; return; }
	page "$1"
}
page() {
	"$AUXTAP" report --format json "$1.data" >"$1.json" 2>stderr &&
		"$AUXTAP" report --format html "$1.data" >"$1.html" 2>stderr ||
		fail "$1: exit $?: $(cat stderr)"
}
for name in null_deref thread_crash stack_overflow abort_assert use_after_free heap_overflow; do
	crash "$name" "$FIXTURES/$name"
done
crash redacted "$FIXTURES/null_deref" --redact
hostile_program && crash hostile ./hostile
guard "$AUXTAP" record -o healthy.data -- "$FIXTURES/recursion" >stdout 2>stderr || fail "record: $?"
page healthy
"$AUXTAP" report null_deref.data >null_deref.txt
cp null_deref.data "it's.data" # quoted for a shell
page "it's"

# no page where there is no report, and no success where it cannot be written
"$AUXTAP" report --format html nothing.data >stdout 2>stderr
[ $? -eq 3 ] && ! [ -s stdout ] && grep -q 'nothing.data' stderr || fail "nothing.data: $(cat stderr)"
"$AUXTAP" report --format html null_deref.data >/dev/full 2>stderr
[ $? -eq 3 ] && grep -q 'cannot write' stderr || fail "/dev/full: $(cat stderr)"

python3 - <<'END' || fail "see above"
import glob, json, re

for name in glob.glob('*.html'):
    text = open(name, encoding='utf-8').read()
    assert text.startswith('<!DOCTYPE html>') and text.endswith('</html>\n'), name
    # one element has the JSON, and nothing in it looks like markup
    data = re.search('<script type="application/json" id="data">(.*?)</script>', text, re.S)[1]
    assert '<' not in data and text.count('</script>') == 2 and text.count('<script') == 2, name
    assert text.count('<!--') == 1, name
    assert json.loads(data) == json.load(open(name[:-4] + 'json')), name
    # it loads nothing
    rest = text.replace(data, '').replace('http://www.w3.org/2000/svg', '')
    assert not re.search(r'https?:|\bsrc=|@import|<link|url\((?!#)', rest), name
END

HERE=$SRC/tests/cli
if ! PYTHONPATH=$HERE python3 -B -c 'import browser, sys; sys.exit(not browser.find())'; then
	[ "$failures" -eq 0 ] || finish
	skip "no Chromium; 'scripts/install-packages browser' installs one (60 MB)"
fi
KEEP_SHOTS=${KEEP_SHOTS:-} PYTHONPATH=$HERE python3 -B - <<'END' || fail "the browser: see above"
import json, os, re, shlex, time
from urllib.parse import quote
import browser

keep = os.environ.get('KEEP_SHOTS')
b = browser.Browser(browser.find())
here = 'file://' + os.getcwd()

def text(selector):
    return b.js("document.querySelector(%s).textContent" % json.dumps(selector))
def texts(selector):
    return b.js("[...document.querySelectorAll(%s)].map(e => e.textContent)" % json.dumps(selector))
def load(name, width=1400):
    b.open('about:blank')
    b.open('%s/%s.html' % (here, quote(name)), width, 1000)
    assert b.errors() == [], (name, b.errors())
    # the pictures are drawn once their sizes are known, after the page was loaded
    while not b.js("[...document.querySelectorAll('.drawing')].every("
                   "e => e.offsetParent === null || e.children.length > 0)"):
        time.sleep(0.05)
    return json.load(open(name + '.json'))
def grouped(n):
    return '{:,}'.format(n)
def light(colour):
    return sum(map(int, re.findall(r'\d+', colour)[:3])) / 3

try:
    # what the page says is what the JSON says
    for name in ('null_deref', 'thread_crash', 'stack_overflow', 'abort_assert', 'redacted'):
        r = load(name)
        crash, frames = r['crash'], r['backtrace']['frames']
        head = text('#head')
        for word in (crash['name'], 'pid %d' % crash['pid'], crash['signal']['name'],
                     crash['cause'], crash['location']['function'], crash['message'] or ''):
            assert word in head, (name, word, head)
        assert crash['signal']['name'] in b.js('document.title'), name
        functions = [(f, at) for f in frames for at in f['functions'] + [
            t for tail in f.get('tail_frames', []) for t in tail['functions']]]
        rows = texts('#backtrace details.frame:not(.some) > summary')
        assert len(rows) == len(functions), (name, len(rows), len(functions))
        for (f, at), row in zip(functions, rows):
            assert not at['function'] or at['function'] in row, (name, at, row)
            place = at['file'] and '%s:%d' % (os.path.basename(at['file']), at['line'])
            assert not place or place in row, (place, row)
        values = [[v['name'], v['value']] for _, at in functions
                  for v in at.get('arguments', []) + at.get('locals', [])]
        shown = b.js("[...document.querySelectorAll('#backtrace .variables .name')]"
                     ".map(e => [e.textContent, e.nextSibling.textContent])")
        assert shown == values, (name, shown[:3], values[:3])
        assert (name == 'redacted') == (not values), (name, values[:3])
        assert ('the recording is redacted' in text('#backtrace')) == (name == 'redacted')
        # the source, with the line of the frame marked
        want = [[at['source']['first_line'], at['source']['lines'], at['line']]
                for _, at in functions if 'source' in at]
        shown = b.js("[...document.querySelectorAll('#backtrace .source')].map(s => ["
                     "+s.querySelector('.nr').textContent,"
                     "[...s.querySelectorAll('code')].map(c => c.textContent),"
                     "+s.querySelector('.at .nr').textContent])")
        assert shown == want and want, (name, shown[:1], want[:1])
        assert b.js("document.querySelector('#backtrace .source').offsetHeight") > 50
        # frames that only the trace knows
        known = r['backtrace'].get('from_trace', {}).get('rows', [])
        rows = texts('#backtrace .fromtrace .frame')
        assert len(rows) == len(known), (name, rows)
        assert bool(known) == (name in ('stack_overflow', 'redacted')), (name, known)
        for at, row in zip(known, rows):
            assert not at['function'] or at['function'] in row, (at, row)
            assert ('depth %s' % grouped(at.get('recursion_depth', 0)) in row) == \
                ('recursion_depth' in at), (at, row)
        # registers, coverage, memory
        values = dict(b.js("[...document.querySelectorAll('.register')].map(e =>"
                           " [e.firstChild.textContent, e.lastChild.textContent])"))
        assert {k: int(v, 16) for k, v in values.items()} == \
            {k: int(v, 16) for k, v in r['registers'].items()}, values
        cover = text('#coverage')
        assert grouped(r['coverage']['instructions']) + ' instructions' in cover, cover
        assert 'no gaps: complete from the first' in cover and r['memory']['text'] in cover, cover
        assert len(texts('#branches .branch')) == len(r['branches']), name
        last = texts('#branches .branch')[-1]
        assert crash['signal']['name'] in last or r['branches_before'], (name, last)

    # memory that it points to: who freed and allocated it, and their callers (engine qemu 10 only)
    blocks = load('use_after_free')['pointed_memory']
    rows = texts('#blocks .lastcall')
    want = [caller for block in blocks for call in ('bad_free', 'freed', 'allocated')
            for caller in (block[call] or {'callers': []})['callers']]
    assert len(rows) == len(want), (rows, want)
    for caller, row in zip(want, rows):
        assert caller['function'] in row and '%s:%d' % (
            os.path.basename(caller['file']), caller['line']) in row, (caller, row)

    # what was written past its end, where malloc says so (engine qemu 10 only)
    overruns = load('heap_overflow')['heap_overruns']
    rows = texts('#overruns p') if overruns else []
    assert len(rows) == sum(2 if block['next'] else 1 for block in overruns), rows
    for block in overruns:
        row = rows.pop(0)
        assert 'block of %s bytes at %s: ' % (grouped(block['bytes']), block['address']) in row, row
        assert row.endswith('overwritten with %s, as text "xxxxxxxx"' % block['after_end']), row
    rows = texts('#overruns .lastcall') if overruns else []
    assert all('heap_overflow.c:' in row for row in rows) and len(rows) >= len(overruns), rows

    # the tree of calls: what ran last is seen; all of it unfolds, and folds again
    r = load('null_deref')
    rows = r['calls']['rows']
    seen = texts('#calls .calls .call')
    assert 5 < len(seen) < len(rows) / 4, (len(seen), len(rows))
    assert ['SIGSEGV here' in t for t in texts('#calls .call.current')] == [True]
    b.js("document.getElementById('unfold').click()")
    calls = b.js("[...document.querySelectorAll('#calls .calls .call')].map(e => ["
                 "e.querySelector('.insns').textContent, e.querySelector('.what').textContent,"
                 "+e.style.getPropertyValue('--depth')])")
    assert len(calls) == len(rows), (len(calls), len(rows))
    for (insns, what, depth), row in zip(calls, rows):
        n = row['own_instructions'] if row['instructions'] is None else row['instructions']
        assert insns == grouped(n) and depth == min(row['depth'], 24), (insns, depth, row)
        assert not row.get('function') or row['function'] in what, (what, row)
        assert ('× %s' % grouped(row['count']) in what) == (row['count'] > 1), (what, row)
    b.js("document.getElementById('refold').click()")
    assert texts('#calls .calls .call') == seen
    # one row unfolds to what it called, by mouse and by key
    at = next(i for i in range(len(rows) - 1) if rows[i + 1]['depth'] > rows[i]['depth'])
    first = "document.querySelector('#calls button.fold')"
    x, y = b.js("(() => { %s.scrollIntoView(); const r = %s.getBoundingClientRect();"
                " return [r.x + r.width / 2, r.y + r.height / 2]; })()" % (first, first))
    for kind in ('mousePressed', 'mouseReleased'):
        b.mouse(kind, x, y, button='left', buttons=1, clickCount=1)
    below = rows[at + 1:] + [{'depth': 0}]
    end = next(i for i, row in enumerate(below) if row['depth'] <= rows[at]['depth'])
    children = sum(row['depth'] == rows[at]['depth'] + 1 for row in below[:end])
    assert b.js(first + ".getAttribute('aria-expanded')") == 'true'
    assert len(texts('#calls .calls .call')) == len(seen) + children, children
    b.js(first + '.focus()')
    b.call('Input.dispatchKeyEvent', type='keyDown', key='Enter', code='Enter', text='\r',
           windowsVirtualKeyCode=13)
    b.call('Input.dispatchKeyEvent', type='keyUp', key='Enter', code='Enter')
    assert texts('#calls .calls .call') == seen

    # a search unfolds what it finds, forth and back, in whatever case, and says "none"
    found = [i for i, row in enumerate(rows) if any('MAIN' in word.upper() for word in (
        row.get('function') or '', os.path.basename(row.get('file') or row.get('image') or '')))]
    b.js("(() => { const f = document.getElementById('search'); f.value = 'Main';"
         " f.dispatchEvent(new Event('input')); })()")
    def is_found():
        return b.js("[...document.querySelectorAll('#calls .call.found')].map(e => ["
                    "e.querySelector('.what').textContent, document.querySelector('.matches').textContent])")
    assert len(found) > 3 and len(is_found()) == 1, (found, is_found())
    for step, at in (('after', 1), ('after', 2), ('before', 1), ('before', 0), ('before', -1)):
        b.js("document.getElementById('%s').click()" % step)
        (what, says), = is_found()
        row = rows[found[at % len(found)]]
        assert (row['function'] or '') in what, (row, what)
        assert says == '%d of %d' % (at % len(found) + 1, len(found)), says
    b.js("(() => { const f = document.getElementById('search'); f.value = 'no such';"
         " f.dispatchEvent(new Event('input')); })()")
    assert is_found() == [] and text('.matches') == 'none', text('.matches')
    # the commands to go on with are those of the text
    shown = texts('#next .command')
    assert shown == [' '.join(words) for words in r['next']] and len(shown) == 4, shown
    said = open('null_deref.txt').read().split('\nNext\n')[1].split('\n')
    assert [line.split('  # ')[0] for line in said[1:5]] == ['  ' + command for command in shown], (
        said, shown)

    # threads: bars in the order and the proportions of their times, a mark where one died
    r = load('thread_crash')
    bars = b.js("[...document.querySelectorAll('#timeline rect.runs')].map(e => { const r ="
                " e.getBoundingClientRect(); return [r.left, r.right, e.dataset.tip]; })")
    times = [(t['first_time_ns'], t['last_time_ns']) for t in r['threads']]
    assert len(bars) == len(times) == 5, bars
    first = min(t[0] for t in times)
    scale = (bars[0][1] - bars[0][0]) / (times[0][1] - times[0][0])
    left = bars[0][0] - (times[0][0] - first) * scale
    for (begin, end, tip), (t0, t1), t in zip(bars, times, r['threads']):
        assert abs(begin - left - (t0 - first) * scale) < 2, (begin, t0)
        assert abs(end - left - (t1 - first) * scale) < 3, (end, t1)
        assert '%s instructions' % grouped(t['instructions']) in tip, tip
    dead = b.js("[...document.querySelectorAll('#timeline .violation')].map(e => { const r ="
                " e.getBoundingClientRect(); return r.left + r.width / 2; })")
    assert len(dead) == 1, dead
    assert abs(dead[0] - left - (r['crash']['time_ns'] - first) * scale) < 2, dead
    # the calls before the death: of each thread where its times say, in one scale up to the death
    end = r['crash']['time_ns']
    points = b.js("[...document.querySelectorAll('#strips rect.call')].map(e => { const r ="
                  " e.getBoundingClientRect(); return [r.left + r.width / 2, r.top, e.dataset.tip]; })")
    scale = b.js("(() => { const r = document.querySelector('#strips .violation circle')"
                 ".getBoundingClientRect(); return [r.left + r.width / 2, r.top + r.height / 2]; })()")
    ages = sorted(end - c['time_ns'] for t in r['threads'] for c in t['last_calls'])
    jump = [i for i, age in enumerate(ages) if i >= 5 and age > 8 * ages[i - 1]]
    oldest = end - (ages[jump[0] - 1] if jump else ages[-1])
    left = min(p[0] for p in points)
    for t in r['threads']:
        for call in [c for c in t['last_calls'] if c['time_ns'] >= oldest]:
            at = scale[0] - (end - call['time_ns']) / (end - oldest) * (scale[0] - left)
            near = [p for p in points if abs(p[0] - at) < 2 and call['function'] in p[2]]
            assert near, (call, at, points)
            assert not t['died'] or any(abs(p[1] + 7 - scale[1]) < 2 for p in near), (near, scale)
    # the axis says times before the death, in the same scale
    units = {'ns': 1, 'us': 1000, 'ms': 10 ** 6}
    ticks = b.js("[...document.querySelectorAll('#strips .tick')].map(e => { const r ="
                 " e.getBoundingClientRect(); return [r.left + r.width / 2, e.textContent]; })")
    ages = [(at, re.fullmatch('−([0-9.]+) (ns|us|ms)', says)) for at, says in ticks[1:]]
    assert len(ages) > 2 and all(m for _, m in ages), ticks
    for at, m in ages:
        age = float(m[1]) * units[m[2]]
        want = scale[0] - age / (end - oldest) * (scale[0] - left)
        assert abs(at - max(want, left + 16)) < 2, (at, want, m[0]) # labels end at the edge
    for t in r['threads']:
        row = [s for s in texts('#threads .frame') if ' %d ' % t['tid'] in s]
        assert len(row) == 1 and t['location']['function'] in row[0], (t, row)
        for call in t.get('last_calls', []):
            assert call['function'] in row[0], (call, row)

    r = load("it's")
    for shown, words in zip(texts('#next .command'), r['next']):
        assert shlex.split(shown) == words, (shown, words)
        assert "it's.data" in words or words[1] == 'crash', words

    # other recordings
    r = load('healthy')
    assert text('h1') == 'No crash in this file' and not texts('#backtrace'), text('h1')
    assert grouped(r['coverage']['instructions']) in text('#coverage')
    hot = r['hot_functions']['rows']
    rows = texts('#functions tr:not(.head)')
    assert len(rows) == len(hot) and len(hot) > 3, (len(rows), len(hot))
    for at, row in zip(hot, rows):
        assert (at['function'] or '') in row and grouped(at['own_instructions']) in row, (at, row)
    # the tree of calls of its thread
    tree, = r['call_trees']
    assert tree['name'] in text('#trees summary') and ' %d' % tree['tid'] in text('#trees summary')
    b.js("document.querySelector('#trees .buttons button').click()")
    calls = texts('#trees .calls .call')
    assert len(calls) == len(tree['rows']) > 20, (len(calls), len(tree['rows']))
    for row, shown in zip(tree['rows'], calls):
        assert not row.get('function') or row['function'] in shown, (row, shown)

    # light and dark, wide and narrow: legible, and nothing is wider than the page
    for name in ('null_deref', 'thread_crash', 'stack_overflow', 'hostile', 'healthy'):
        for width in (1400, 400):
            for scheme in ('light', 'dark'):
                b.scheme(scheme)
                load(name, width)
                b.js("document.querySelectorAll('details').forEach(d => { d.open = true; })")
                b.js("(document.getElementById('unfold') || { click() {} }).click()")
                assert b.js('document.documentElement.scrollWidth <= innerWidth'), (name, width)
                out = b.js("[...document.querySelectorAll('main *')].filter(e => !e.closest('.source'))"
                           ".filter(e => e.getBoundingClientRect().right > document.documentElement."
                           "clientWidth + 1).map(e => e.outerHTML.slice(0, 200))")
                assert out == [], (name, width, out[:3])
                # cut off by its box
                cut = b.js("[...document.querySelectorAll('section, details, .call, .branch, p, h1')]"
                           ".filter(e => e.scrollWidth > e.clientWidth + 1 && e.clientWidth)"
                           ".map(e => e.outerHTML.slice(0, 200))")
                assert cut == [], (name, width, cut[:3])
                for of, on in (('h1', '.card'), ('.name', '.card'), ('.source .at code', '.source .at'),
                               ('.bad', '.card'), ('.place', '.card')):
                    style = "getComputedStyle(document.querySelector('%s'))."
                    if not texts(of):
                        continue
                    ink = b.js(style % of + 'color')
                    paper = b.js(style % on + 'backgroundColor')
                    assert abs(light(ink) - light(paper)) > 70, (name, scheme, of, ink, paper)
                    assert (light(paper) > 128) == (scheme == 'light'), (scheme, paper)
                if keep:
                    b.shot('%s/%s-%d-%s.png' % (keep, name, width, scheme))
    b.scheme('light')

    # names are text, whole, and none reorders what is beside it
    r = load('hostile')
    names = [f['function'] for frame in r['backtrace']['frames'] for f in frame['functions']]
    assert names[0].startswith('</script>') and len(names[2]) > 400, names
    rows = texts('#backtrace summary .name')
    assert rows[:2] == [names[0], '\\u{1b}[2J\\xff\\xfe\\u{9b}<!--\\"\\u{7}\\u{202e}..'], rows
    assert len(rows[2]) == 120 and rows[2].endswith('…'), rows[2]
    assert names[2] in text('#backtrace .whole')
    assert b.js("document.querySelectorAll('img, iframe, object, embed').length") == 0
    assert b.js('window.foreign === undefined')
    assert not re.search('[\x00-\x08\x0b-\x1f\x7f-\x9f\u202e]', text('main')), 'control characters'
    tip = b.js("(() => { const e = [...document.querySelectorAll('#calls .name')].find(e => e.dataset.tip);"
               " e.scrollIntoView(); const r = e.getBoundingClientRect();"
               " return [e.dataset.tip, r.x + 4, r.y + 4]; })()")
    b.mouse('mouseMoved', tip[1], tip[2])
    assert text('#tip') == tip[0] == names[2], tip
    # the policy holds: a script that is not the page's own is not run
    b.js("(() => { const s = document.createElement('script'); s.textContent = 'window.foreign = 1';"
         " document.body.append(s); })()")
    assert b.js('window.foreign === undefined')
    assert any('Content Security Policy' in e for e in b.errors()), b.errors()
finally:
    b.close()
END
finish
