# SPDX-License-Identifier: BSD-2-Clause
# 'watermark advise': its arithmetic repeated here; its answer, the next smaller area and stock
# perf's watermark run again by 'sim'; the command that it prints records; invalid options are
# refused.
. "$(dirname "$0")/lib.sh"

advise() { "$AUXTAP" watermark advise "$@"; }

machines=(
	"--rate 500M --irq-latency 2us --irq-jitter 500 --reader-latency 200us --reader-jitter 10us --transactions 5000"
	"--rate 100000000 --irq-latency 20us --irq-jitter 0 --reader-latency 1ms --reader-jitter 0 --transactions 5000"
	"--rate 800M --burst 100us,900us --irq-latency 1us --irq-jitter 0 --reader-latency 1ms --reader-jitter 50us --transactions 5000"
)
for options in "${machines[@]}"; do
	# shellcheck disable=SC2086
	advise $options --format json >advice.json || fail "$options: exit $?"
	AUXTAP=$AUXTAP OPTIONS=$options python3 - <<'END' || fail "$options"
import json, math, os, subprocess
auxtap, options = os.environ['AUXTAP'], os.environ['OPTIONS'].split()
given = dict(zip(options[::2], options[1::2]))
units = {'us': 1000, 'ms': 1000000, 'M': 1 << 20}
def value(text):
    for unit, scale in units.items():
        if text.endswith(unit):
            return int(text[:-len(unit)]) * scale
    return int(text)
rate = value(given['--rate'])
irq = value(given['--irq-latency']) + value(given['--irq-jitter'])
reader = value(given['--reader-latency']) + value(given['--reader-jitter'])
burst = [value(t) for t in given['--burst'].split(',')] if '--burst' in given else None
def comes(ns):
    if burst:
        cycle = sum(burst)
        ns = ns // cycle * burst[0] + min(ns % cycle, burst[0])
    return math.ceil(rate * ns / 1e9)
def sim(driver, pages, watermark, *more):
    machine = [o for name, v in given.items() if name != '--transactions' for o in (name, v)]
    out = subprocess.run([auxtap, 'watermark', 'sim', '--format', 'json', '--driver', driver, '--pages',
                          str(pages), '--watermark', str(watermark), *machine, *more],
                         capture_output=True, text=True, check=True).stdout
    r = json.loads(out)[0]
    assert r['verdict'] == 'pass', r
    r['for_room'] = r['lost'] - (r['lost_stopped'] if driver != 'intel_pt' else 0) + r['record_lost']
    return r

advice = json.load(open('advice.json'))
assert [a['driver'] for a in advice] == ['intel_pt', 'arm_spe', 'trbe']
for a in advice:
    assert a['found'], a
    driver, arm = a['driver'], a['driver'] != 'intel_pt'
    area, mark, sums = a['area'], a['watermark'], a['arithmetic']
    assert area == a['pages'] * 4096 and area & (area - 1) == 0
    # the arithmetic
    skid = comes(irq)
    session = mark + (skid if arm else 0)
    copied = mark * (1 + comes(reader) // session)
    copy_ns = copied * 10**9 // 2000000000
    passed = comes(reader + copy_ns) // session
    unread = mark * (1 + passed)
    want = {'until_driver': skid, 'asleep': comes(reader), 'copied': copied, 'copy_ns': copy_ns,
            'until_read': comes(reader + copy_ns), 'watermarks_passed': passed, 'unread': unread,
            'need': unread + mark + (4096 if arm else skid)}
    assert sums == want, (driver, sums, want)
    # the runs need no more than the arithmetic says; for PT it is exact
    lag = max(r['max_lag'] for r in a['runs'])
    assert driver != 'intel_pt' or sums['need'] < area
    assert lag <= unread + (skid + 64 if not arm else mark + 4096), (driver, lag, unread, skid)
    assert arm or burst or lag > unread - mark, (driver, lag, unread)
    # the runs of the answer: long, with several seeds and one with contents
    assert len(a['runs']) >= 5 and len({r['config']['seed'] for r in a['runs']}) >= 4
    for r in a['runs']:
        assert (r['config']['pages'], r['config']['watermark']) == (a['pages'], mark)
        assert r['transactions'] >= (1000 if '--contents' in r['command'] else 5000), r['transactions']
        assert r['verdict'] == 'pass'
        assert r['lost'] == (r['lost_stopped'] if arm else 0) and not r['truncated'] and not r['record_lost']
    assert '--contents' in a['runs'][0]['command']
    # again, with other seeds
    for seed in (11, 12):
        r = sim(driver, a['pages'], mark, '--transactions', '3000', '--seed', str(seed))
        assert r['for_room'] == 0 and r['truncated'] == 0, (driver, r)
        assert not arm or r['lost_stopped'] > 0
    # half of it: with any watermark
    smaller = a['areas'][-2]
    assert smaller['area'] == area // 2 and smaller['enough'] == 0 and smaller['watermarks'] >= 5
    marks = {4096 << n for n in range(20) if 4096 << n <= area // 2}
    marks |= {smaller['best_watermark'], 6000, area // 8}
    for w in sorted(marks):
        late = ['--irq-latency', str(irq), '--irq-jitter', '0',
                '--reader-latency', str(reader), '--reader-jitter', '0']
        r = sim(driver, a['pages'] // 2, w, '--transactions', '2000', *late)
        assert r['for_room'] > 0, (driver, 'half of the area loses nothing', w)
    # an Arm unit: a larger area loses less
    shares = [(l['lost'] / l['produced']) for l in a['larger']]
    assert bool(shares) == arm and shares == sorted(shares, reverse=True), shares
    # stock perf's watermark
    part = 2 if arm else 4
    pages = a['perf_area'] // 4096
    assert a['perf_area'] >= area
    assert sim(driver, pages, a['perf_area'] // part, '--transactions', '3000')['for_room'] == 0
    if a['perf_area'] > area:
        smaller_run = sim(driver, pages // 2, a['perf_area'] // 2 // part, '--transactions', '3000')
        assert smaller_run['for_room'] > 0
    assert '--aux-watermark %d' % mark in a['record']
json.dump(advice, open('checked.json', 'w'))
END
done

# the same as text, and the printed command records with that watermark
# shellcheck disable=SC2086
advise --driver intel_pt ${machines[0]} >text || fail "text: exit $?"
read -r area mark < <(sed -nE '1s/.*: area ([0-9KMG]+), watermark ([0-9KMG]+): nothing is lost$/\1 \2/p' \
	text)
[ "$area $mark" = "256K 32K" ] || fail "text: $(head -n 1 text)"
grep -q 'more than 197919 = 163840 unread + 32768 to the next threshold + 1311$' text || fail "text: $(cat text)"
grep -qE '^  smaller +128K: all [0-9]+ watermarks lose trace; the best, ' text || fail "text: $(cat text)"
again=$(sed -n 's/^  repeat *auxtap //p' text)
# shellcheck disable=SC2086
"$AUXTAP" $again >again || fail "again: $again: $(cat again)"
grep -q '^  lost ' again && fail "again: it loses: $(cat again)"
record=$(sed -nE 's/^  record +auxtap (.*) -- PROGRAM$/\1/p' text)
# shellcheck disable=SC2086
"$AUXTAP" $record --backend emulated -o advised.data -- /bin/true 2>err || fail "$record: $(cat err)"
"$AUXTAP" audit advised.data >audit || fail "audit: $(cat audit)"
grep -q 'watermark 32768' audit || fail "the watermark is not the advised one: $(cat audit)"

# ---- impossible requests ----
advise --driver intel_pt --rate 3G >none
[ $? -eq 1 ] || fail "a reader that is too slow: exit is not 1: $(cat none)"
grep -q 'it never catches' none || fail "too slow: $(cat none)"
grep -qE 'loses [1-9][0-9]* of' none || fail "too slow: not simulated: $(cat none)"
advise --driver trbe --rate 500M --reader-latency 5ms --max 1M >none
[ $? -eq 1 ] || fail "--max: exit is not 1: $(cat none)"
grep -q '^trbe, .*: no area up to 1M is large enough$' none || fail "--max: $(cat none)"
wrong() {
	local text=$1
	shift
	advise "$@" >out 2>err
	[ $? -eq 2 ] || fail "$*: exit is not 2: $(cat err out)"
	grep -qF -- "$text" err || fail "$*: '$text' is missing: $(cat err)"
	[ "$(wc -l <err)" -eq 1 ] || fail "$*: $(cat err)"
}
wrong "rate: out of range" --rate 0
wrong "--rate fast" --rate fast
wrong "option requires an argument" --rate
wrong "--irq-latency long" --irq-latency long
wrong "no such option" --nothing
wrong "not an option" 500M
wrong "no reader and no watermark" --snapshot
wrong "the size of the area is the result" --pages 4
wrong "--max" --max 1
wrong "--watermark" --watermark 5G
wrong "only arm_spe has a maximum record size" --max-record 128
wrong "--watermark" --watermark 1..2M:4K
wrong "--transactions" --transactions 3
wrong "no such driver" --driver pt
wrong "text or json" --format html
wrong "page size" --driver intel_pt --page-size 16K
advise --help | grep -q 'usage: auxtap watermark advise' || fail "--help"
finish
