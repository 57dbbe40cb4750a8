#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# The simulator's pictures in a headless Chromium: drawn without an error, in light and dark,
# zoomed, moved and pointed at, and the displayed numbers are those of the JSON.
# KEEP_SHOTS=DIRECTORY keeps screenshots.
. "$(dirname "$0")/lib.sh"
command -v python3 >/dev/null || skip "python3 is not installed"
HERE=$SRC/tests/cli
PYTHONPATH=$HERE python3 -B -c 'import browser, sys; sys.exit(not browser.find())' ||
	skip "no Chromium; 'scripts/install-packages browser' installs one (60 MB)"

sim() { "$AUXTAP" watermark sim "$@"; }
sim --fault interrupt-page-off --bytes 2M --format html -o run.html
[ $? -eq 1 ] || fail "html: not exit 1"
sim --fault interrupt-page-off --bytes 2M --format json --events -o run.json
sim --fault interrupt-page-off --bytes 2M --format svg -o run.svg
sim --pages 4..64 --watermark 4K..32K:4K --reader-latency 300us --format html -o heat.html || fail "heat"
PYTHONPATH=$HERE python3 -B - <<'END' || fail "browser: see above"
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
    drawn = [e for e in page['events'] if e['event'] == 'AUX']
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
    place = ("(() => { const p = [...document.querySelectorAll('.pin.irq[data-p]')][0]"
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
                    " p = document.querySelector('.pin.irq[data-y]').getBoundingClientRect();"
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
    # a link to a location
    b.open('about:blank')
    b.open(here + '/run.html#zoom=100000,250000')
    assert b.js(view)[:2] == [100000, 250000]
    together()

    # several machines, and pictures without a page
    b.open(here + '/heat.html')
    runs = json.loads(b.js("document.getElementById('data').textContent"))
    cells = b.js("[...document.querySelectorAll('.cell')].map(c =>"
                 " [+c.dataset.pages, +c.dataset.watermark, +c.dataset.lost, c.getBBox().width])")
    assert len(cells) == len(runs) == 40 and all(c[3] > 5 for c in cells)
    assert [c[:3] for c in cells] == [
        [r['config']['pages'], r['config']['watermark'], r['lost']] for r in runs]
    colours = b.js("[...document.querySelectorAll('.cell')].map(c => getComputedStyle(c).fill)")
    assert len(set(colours)) > 3
    shot('heat.png')
    b.open(here + '/run.svg')
    assert b.js("document.querySelectorAll('rect.record').length") == len(drawn)
    # no text is outside the picture
    out = b.js("(() => { const w = document.documentElement.getBoundingClientRect();"
               " return [...document.querySelectorAll('text.title,text.verdict,text.listed,text.muted,.small')]"
               ".filter(t => !t.closest('.pin')).map(t => [t.getBoundingClientRect(), t.textContent])"
               ".filter(([r]) => r.right > w.right || r.left < w.left).map(([, t]) => t); })()")
    assert out == [], out
    shot('svg.png')
    errors = b.errors()
    assert errors == [], errors
finally:
    b.close()
END
finish
