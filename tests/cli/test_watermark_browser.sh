#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# The page of 'watermark sim' in a headless Chromium: it is drawn without an error, in light and
# dark, zoomed, moved and pointed at, says what the JSON says, and saves its picture as SVG.
# KEEP_SHOTS=DIRECTORY keeps what it looks like.
. "$(dirname "$0")/lib.sh"
command -v python3 >/dev/null || skip "python3 is not installed"
HERE=$SRC/tests/cli
PYTHONPATH=$HERE python3 -B -c 'import browser, sys; sys.exit(not browser.find())' ||
	skip "no Chromium; 'scripts/install-packages browser' installs one (60 MB)"

sim() { "$AUXTAP" watermark sim "$@"; }
sim --fault interrupt-page-off --bytes 2M --format html --events -o run.html
[ $? -eq 1 ] || fail "html: not exit 1"
sim --fault interrupt-page-off --bytes 2M --format json --events -o run.json
sim --driver arm_spe --pages 1 --format html -o refused.html || fail "refused"
sim --pages 4..64 --watermark 4K..32K:4K --reader-latency 300us --format html -o heat.html || fail "heat"
KEEP_SHOTS=${KEEP_SHOTS:-} PYTHONPATH=$HERE python3 -B - <<'END' || fail "browser: see above"
import json, os, re, sys
import browser

keep = os.environ.get('KEEP_SHOTS')
b = browser.Browser(browser.find())
def shot(name):
    b.shot(name)
    assert os.path.getsize(name) > 20000, name
    if keep:
        b.shot(os.path.join(keep, name))
try:
    here = 'file://' + os.getcwd()
    b.open(here + '/run.html')
    run = json.load(open('run.json'))[0]
    page = json.loads(b.js("document.getElementById('data').textContent"))[0]
    # the displayed numbers are the JSON's
    figures = b.js("Object.fromEntries([...document.querySelectorAll('[data-key]')]"
                   ".map(e => [e.dataset.key, +e.textContent]))")
    assert len(figures) > 20 and all(run[k] == v for k, v in figures.items()), figures
    records = b.js("[...document.querySelectorAll('rect.record')].map(e => e.dataset.tip)")
    assert page == run
    before, nr = (page['picture']['events'][key] for key in ('before', 'drawn'))
    drawn = [e for e in page['events'][before:before + nr] if e['event'] == 'AUX']
    assert b.js("document.title") == 'intel_pt, Linux 6.1.192: AUX area of 16 pages of 4K (64K), watermark 16K'
    assert len(records) == len(drawn) > 5
    for tip, e in zip(records, drawn):
        assert tip.startswith('AUX record: offset %d, size %d,' % (e['offset'], e['size'])), tip
        assert e in run['events']

    # light and dark
    colours = {}
    for scheme in ('light', 'dark'):
        b.scheme(scheme)
        paper, ink = b.js("['.paper', '.title'].map(s => getComputedStyle(document.querySelector(s)).fill)")
        light = lambda c: sum(map(int, re.findall(r'\d+', c)[:3])) / 3
        colours[scheme] = paper, ink
        assert abs(light(paper) - light(ink)) > 120, (scheme, paper, ink)
        shot('%s.png' % scheme)
    assert light(colours['light'][0]) > 200 and light(colours['dark'][0]) < 60, colours
    assert open('light.png', 'rb').read() != open('dark.png', 'rb').read()

    # pointing at a record shows its numbers
    box = b.js("(() => { const r = document.querySelector('rect.record').getBoundingClientRect();"
               " return [r.x + r.width / 2, r.y + 3]; })()")
    b.mouse('mouseMoved', *box)
    tip = b.js("[document.getElementById('tip').style.display, document.getElementById('tip').textContent]")
    assert tip == ['block', records[0]], tip

    # the wheel zooms around the pointer, which keeps its position
    view = "document.getElementById('timeline').dataset.view.split(',').map(Number)"
    place = ("(() => { const p = [...document.querySelectorAll('.pin.interrupt[data-p]')][0]"
             ".getBoundingClientRect(); return [p.x + p.width / 2, p.y + p.height / 2]; })()")
    before, at = b.js(view), b.js(place)
    b.mouse('mouseWheel', *at, deltaX=0, deltaY=-400)
    after, still = b.js(view), b.js(place)
    assert (after[1] - after[0]) < 0.6 * (before[1] - before[0]), (before, after)
    assert after[2:] == before[2:]
    assert abs(still[0] - at[0]) < 3 and abs(still[1] - at[1]) < 3, (at, still)
    # shapes and points stay together: the first record's end is where its interrupt is
    def together():
        ends = b.js("(() => { const r = document.querySelector('rect.record').getBoundingClientRect(),"
                    " p = document.querySelector('.pin.interrupt[data-y]').getBoundingClientRect();"
                    " return [r.right, p.x + p.width / 2]; })()")
        assert abs(ends[0] - ends[1]) < 3, ends
    together()
    b.mouse('mouseWheel', *at, deltaX=0, deltaY=-200, modifiers=8) # Shift
    both = b.js(view)
    assert both[3] - both[2] < 0.9 * (after[3] - after[2]), (after, both)
    together()
    shot('zoomed.png')
    # a tick's number is its position: bytes and time, from the view
    ticks = b.js("[...document.querySelectorAll('#xticks text')].map(t => [+t.getAttribute('x'), +t.textContent])")
    left, _, right, _ = map(float, b.js("document.getElementById('timeline').dataset.box").split(','))
    assert len(ticks) >= 3
    for x, us in ticks:
        t = both[0] + (x - left) / (right - left) * (both[1] - both[0])
        assert abs(t - us * 1000) <= (both[1] - both[0]) / 500, (x, us, t)
    # dragging moves, a double click goes back
    b.mouse('mousePressed', at[0], at[1], button='left', buttons=1, clickCount=1)
    b.mouse('mouseMoved', at[0] - 100, at[1], button='left', buttons=1)
    b.mouse('mouseReleased', at[0] - 100, at[1], button='left', clickCount=1)
    moved = b.js(view)
    assert moved[0] > both[0], (both, moved)
    assert abs((moved[1] - moved[0]) - (both[1] - both[0])) < 1, (both, moved)
    for n in (1, 2):
        b.mouse('mousePressed', *at, button='left', buttons=1, clickCount=n)
        b.mouse('mouseReleased', *at, button='left', clickCount=n)
    assert b.js(view) == before, (b.js(view), before)
    # keys
    span = lambda v: v[1] - v[0]
    for key, check in (('+', lambda v: span(v) < 0.8 * span(before) and v[2:] == before[2:]),
                       ('ArrowRight', lambda v: v[0] > last[0] and abs(span(v) - span(last)) < 1),
                       ('ArrowLeft', lambda v: v[0] < last[0]),
                       ('-', lambda v: span(v) > 1.3 * span(last)),
                       ('0', lambda v: v == before)):
        last = b.js(view)
        b.call('Input.dispatchKeyEvent', type='keyDown', key=key)
        b.call('Input.dispatchKeyEvent', type='keyUp', key=key)
        assert check(b.js(view)), (key, last, b.js(view))
    # a link to a place
    b.open('about:blank')
    b.open(here + '/run.html#zoom=100000,250000')
    assert b.js(view)[:2] == [100000, 250000]
    together()
    seen = "[...document.querySelectorAll('text.muted')].map(t => t.textContent).join()"
    assert b.js(seen).startswith('seen here: 100.000 us to 250.000 us of '), b.js(seen)

    # the button saves the picture as it is seen: a file that a viewer of SVG shows alike
    seen = b.js("[...document.querySelectorAll('rect.record')].map(e => e.getBoundingClientRect().width)")
    saved = b.save('#save', os.getcwd())
    assert os.path.basename(saved) == 'watermark-timeline-intel_pt.svg', saved
    b.open('about:blank')
    b.open('file://' + saved)
    assert b.js("document.documentElement.dataset.view").split(',')[:2] == ['100000', '250000']
    widths = b.js("[...document.querySelectorAll('rect.record')].map(e => e.getBoundingClientRect().width)")
    assert len(widths) == len(seen) == len(drawn)
    assert max(widths) > 500 and abs(max(widths) / max(seen) - 1) < 0.1, (widths[:3], seen[:3])
    assert b.js("document.querySelector('rect.record title').textContent") == records[0]
    for scheme, bright in (('light', True), ('dark', False)):
        b.scheme(scheme)
        paper = b.js("getComputedStyle(document.querySelector('.paper')).fill")
        assert (light(paper) > 128) == bright, (scheme, paper)
    # no text is outside of the picture
    def inside():
        out = b.js("(() => { const w = document.querySelector('svg').getBoundingClientRect();"
                   " return [...document.querySelectorAll('text.title,text.verdict,text.listed,text.muted,.small')]"
                   ".filter(t => !t.closest('.pin')).map(t => [t.getBoundingClientRect(), t.textContent])"
                   ".filter(([r]) => r.right > w.right || r.left < w.left || r.bottom > w.bottom)"
                   ".map(([, t]) => t); })()")
        assert out == [], out
        assert b.js("document.querySelectorAll('text.title').length") == 1
    inside()
    shot('svg.png')

    # several machines
    b.open(here + '/heat.html')
    runs = json.loads(b.js("document.getElementById('data').textContent"))
    cells = b.js("[...document.querySelectorAll('.cell')].map(c =>"
                 " [+c.dataset.pages, +c.dataset.watermark, +c.dataset.lost, c.getBBox().width])")
    assert len(cells) == len(runs) == 40 and all(c[3] > 5 for c in cells)
    config = lambda r, key: r['config'][key]
    assert [c[:3] for c in cells] == [[config(r, 'pages'), config(r, 'watermark'), r['lost']]
                                      for r in runs]
    fills = b.js("[...document.querySelectorAll('.cell')].map(c => getComputedStyle(c).fill)")
    assert len(set(fills)) > 3
    # each cell is above its watermark and beside its area, by the texts of the axes
    middles = b.js("[...document.querySelectorAll('.cell')].map(c => { const o = c.getBBox();"
                   " return [o.x + o.width / 2, o.y + o.height / 2]; })")
    ticks = b.js("[...document.querySelectorAll('text.tick')].map(t =>"
                 " [t.textContent, +t.getAttribute('x'), +t.getAttribute('y') - 4])")
    columns = {text: x for text, x, _ in ticks if re.fullmatch(r'\d+K', text)}
    rows = {text: y for text, _, y in ticks if re.match(r'\d+ pages', text)}
    assert len(rows) == 5 and all('%dK' % k in columns for k in range(4, 33, 4)), ticks
    for (x, y), r in zip(middles, runs):
        pages, watermark = config(r, 'pages'), config(r, 'watermark')
        assert abs(columns['%dK' % (watermark // 1024)] - x) < 1, (x, watermark, columns)
        assert abs(rows['%d pages (%dK)' % (pages, pages * 4)] - y) < 1, (y, pages, rows)
    # the same loss in the same colour, no loss in green
    for r, fill in zip(runs, fills):
        assert (r['lost'] == 0) == (fill == 'rgb(47, 158, 119)'), (r['lost'], fill)
    inside()
    shot('heat.png')
    saved = b.save('#save', os.getcwd())
    assert os.path.basename(saved) == 'watermark-heat-intel_pt.svg', saved
    b.open('file://' + saved)
    assert fills == b.js("[...document.querySelectorAll('.cell')].map(c => getComputedStyle(c).fill)")
    inside()

    # refused: the reason is all there is, and nothing to zoom
    b.open(here + '/refused.html')
    assert 'at least 2 pages' in b.js("document.querySelector('text.verdict.bad').textContent")
    assert b.js("['help', 'save'].map(id => document.getElementById(id).hidden)") == [True, False]
    inside()
    # the policy holds: a script or style that is not the page's own is not run
    assert b.errors() == [], b.errors()
    b.js("(() => { const s = document.createElement('script'); s.textContent = 'window.foreign = 1';"
         " document.body.append(s); const i = document.createElement('img'); i.src = 'file:///etc/motd.png';"
         " document.body.append(i); })()")
    assert b.js("window.foreign === undefined")
    assert any('Content Security Policy' in e for e in b.errors()), b.errors()
finally:
    b.close()
END
finish
