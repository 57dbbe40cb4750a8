# SPDX-License-Identifier: BSD-2-Clause
# The simulator: the worked vectors of docs/kernel-rules.md, section M, byte for byte; machines
# without a fault pass; every fault is caught; invalid options are refused.
. "$(dirname "$0")/lib.sh"

sim() { "$AUXTAP" watermark sim "$@"; }
# The events of a run: 'vector NAME WANTED OPTIONS...': these lines in this order, and no other of
# their kinds before the last of them.
vector() {
	local name=$1 want=$2 kinds
	shift 2
	sim --events "$@" >events || fail "$name: exit $?: $(tail -n 3 events)"
	kinds=$(printf '%s\n' "$want" | awk '{print $1}' | sort -u | paste -sd'|')
	grep -oE " ($kinds) .*" events | sed -E 's/^ +//; s/ +/ /g' |
		head -n "$(printf '%s\n' "$want" | wc -l)" >got
	printf '%s\n' "$want" | diff - got >diff || fail "$name: $(cat diff)"
}
still=(--irq-latency 0 --irq-jitter 0 --reader-latency 1s --reader-jitter 0)

# ---- M: Intel PT, first INT and STOP in an empty area of 64 KiB ----
while read -r watermark int; do
	vector "PT W=$watermark" "thresholds int=$int stop=65536" --watermark "$watermark" \
		--transactions 1
done <<'END'
32768 32768
16384 16384
4096 4096
12288 65536
6000 65536
100 65536
131072 65536
END
# head 16584, tail 16384: the unit continued for 200 bytes, the reader has read one watermark, and
# then the program is scheduled out and in
printf '165840 100000000\n10ms 0\n' >rates
sim --events --watermark 16384 --skid 200 --record 8 --rates rates --irq-latency 0 --irq-jitter 0 \
	--reader-latency 0 --reader-jitter 0 --reader-rate 16384000 --read-size 16384 \
	--switch 1170us \
	--time 1200us >events || fail "PT head 16584: exit $?"
grep -q 'begin .*head=16584 space=65335 wakeup=32768' events || fail "PT head 16584: not reached"
grep -A1 'begin .*head=16584 space=65335' events | grep -q 'int=32768 stop=81920' ||
	fail "PT head 16584: thresholds"
# head 49162, tail 0: the head has passed the interrupt threshold
sim --events --watermark 16384 --skid 10 --record 1 "${still[@]}" --transactions 4 >events ||
	fail "PT head 49162: exit $?"
grep -A1 'begin .*head=49162 space=16373 wakeup=65536' events |
	grep -q 'int=49152 stop=65536' || fail "PT head 49162: $(grep -A1 begin events)"

# ---- M: SPE and TRBE, 16 KiB ----
arm=(--pages 4 --align 64 --record 64 "${still[@]}" --bytes 64K)
idle="AUX offset=0 size=8192 flags=-
wakeup head=8192
AUX offset=8192 size=4096 flags=-
skip from=12288 bytes=4095
AUX offset=16383 size=0 flags=TRUNCATED"
vector "SPE W=8192" "$idle" --driver arm_spe "${arm[@]}" --max-record 64 --watermark 8192
grep -q 'head 16383 = 12288 recorded + 4095 padding' events || fail "SPE: head"
vector "SPE W=6000" "AUX offset=0 size=8192 flags=-
wakeup head=8192
AUX offset=8192 size=4096 flags=-
wakeup head=12288" --driver arm_spe "${arm[@]}" --max-record 64 --watermark 6000
vector "SPE prompt" "AUX offset=0 size=8192 flags=-
wakeup head=8192
AUX offset=8192 size=8192 flags=-
wakeup head=16384
AUX offset=16384 size=8192 flags=-
wakeup head=24576" --driver arm_spe --pages 4 --watermark 8192 --irq-latency 10us --irq-jitter 0 \
	--reader-latency 0 --reader-jitter 0 --reader-rate 0 --bytes 64K
vector "TRBE W=8192" "AUX offset=0 size=8192 flags=COLLISION|RAW
wakeup head=8192
AUX offset=8192 size=4096 flags=COLLISION|RAW
skip from=12288 bytes=4095
AUX offset=16383 size=0 flags=TRUNCATED|RAW" --driver trbe "${arm[@]}" --watermark 8192
vector "TRBE erratum" "AUX offset=0 size=4096 flags=COLLISION|RAW
skip from=4096 bytes=4096
wakeup head=8192
skip from=8192 bytes=4096
skip from=12288 bytes=4095
AUX offset=16383 size=0 flags=TRUNCATED|RAW" --driver trbe "${arm[@]}" --watermark 8192 \
	--errata beyond
grep -q 'head 16383 ' events || fail "TRBE erratum: head"

# a loss lasts as long as its bytes: 10 ns each, up to the record
sim --driver trbe --watermark 16K --bytes 2M --events |
	sed -nE 's/.* lost +bytes=([0-9]+) .* ns=([0-9]+)$/\1 \2/p' >losses
[ "$(wc -l <losses)" -gt 50 ] || fail "losses: $(wc -l <losses)"
awk '$2 < 10 * $1 || $2 > 10 * $1 + 160 {print "a loss of " $1 " bytes in " $2 " ns"; exit}' \
	losses >long
[ -s long ] && fail "$(cat long)"
# one that lasts to the end of the run counts, too: SPE has no flag for it (I10)
sim --driver arm_spe --watermark 16K --bytes 16500 --irq-latency 1ms >run
grep -qE '^  lost +([0-9]+) bytes, \1 stopped at the limit; the kernel does not report \1 bytes of it' \
	run ||
	fail "a loss at the end: $(cat run)"

# ---- machines without a fault, and the fault catalogue ----
"$AUXTAP" watermark sweep --kernel all --every 61 >sweep 2>&1 || fail "sweep: $(cat sweep)"
[ "$(grep -c ' pass: every invariant' sweep)" -eq 3 ] || fail "sweep: $(tail -n 3 sweep)"
awk '$2 ~ /^(intel_pt|arm_spe|trbe)$/ && ($4 < 60 || $7 < 2000) {print "too little: " $0}' sweep \
	>little
[ -s little ] && fail "$(cat little)"
for driver in intel_pt arm_spe trbe; do
	for options in "" "--snapshot --switch 200us" "--reader-latency 3ms --read-size 5000" \
		"--burst 100us,300us --switch 70us" "--data-pages 1 --watermark 64 --reader-latency 20ms" \
		"--skid 10 --irq-latency 0 --irq-jitter 5us --watermark 4096 --switch 30us --seed 332" \
		"--data-pages 0" "--pages 2 --cpu 0" "--kernel 6.12.95 --reader-latency 2ms" \
		"--order 1"; do
		# shellcheck disable=SC2086
		sim --driver $driver --contents --bytes 2M $options >run ||
			fail "$driver $options: $(tail -n 4 run)"
	done
done
for errata in overwrite beyond overwrite,beyond; do
	sim --driver trbe --contents --bytes 2M --errata $errata --reader-latency 700us >run ||
		fail "errata $errata: $(tail -n 4 run)"
	sim --driver trbe --contents --bytes 2M --errata $errata --skid 10 --irq-latency 30us \
		>run ||
		fail "errata $errata, skid: $(tail -n 4 run)"
done
"$AUXTAP" watermark faults --quick >faults 2>&1 || fail "faults: $(grep -E 'MISSED|FAIL' faults)"
[ "$(grep -c ' caught ' faults)" -ge 19 ] || fail "faults: $(cat faults)"
sim --fault past-limit --driver trbe >fault
[ $? -eq 1 ] || fail "a fault: exit is not 1"
grep -q 'limit-kept (H4 I3 J1)' fault || fail "past-limit: $(cat fault)"
cp fault first
# reported once in a transaction, so that its consequences are reported, too
sim --fault past-limit --driver arm_spe --contents --events >fault
[ "$(grep -cE ' VIOLATION +limit-kept' fault)" -gt 900 ] || fail "past-limit: $(grep -c VIOLATION fault) events"
[ "$(grep -cE '^  limit-kept .* at 16[0-9]\.' fault)" -eq 1 ] || fail "past-limit: not once: $(tail -n 12 fault)"
grep -qE '^  interrupt-at-threshold ' fault || fail "past-limit: the late interrupt is hidden: $(tail -n 12 fault)"
grep -q ' more; too many, the run was stopped' fault || fail "past-limit: $(tail -n 2 fault)"
# the command that a failure prints repeats it
repeat=$(sed -n 's/^ *repeat: auxtap //p' first)
# shellcheck disable=SC2086
"$AUXTAP" $repeat >again
[ $? -eq 1 ] || fail "the repeated run passes: $repeat"
diff <(grep 'limit-kept' first) <(grep '^  limit-kept' again) >/dev/null || fail "the repeated run differs"

# ---- progress: every loss must have a cause. J2: this area is padded out, again and again ----
for options in "--data-pages 1 --read-size 1" "--irq-latency 1ms --reader-rate 100M" "--switch 30us" \
	"--reader-latency 1s"; do
	# shellcheck disable=SC2086
	sim --driver trbe --bytes 2M --pages 8 --watermark 1000 --errata beyond $options >run
	[ $? -eq 1 ] || fail "padded out, $options: exit is not 1: $(cat run)"
	grep -q '^  verdict     no progress: ' run || fail "padded out, $options: $(cat run)"
	grep -qE '^  progress .*: none of [0-9]+ bytes is stored$' run || fail "padded out, $options: $(cat run)"
done
sim --driver trbe --bytes 2M --pages 8 --watermark 1000,16K --errata beyond >run
[ $? -eq 1 ] || fail "padded out: a list: exit is not 1"
grep -qE '^ +1000 .* no progress$' run && grep -qE '^ +16K .* pass$' run || fail "padded out: a list: $(cat run)"
sim --driver trbe --bytes 2M --pages 16 --watermark 1000 --errata beyond >run
[ $? -eq 1 ] && grep -q '^  progress .* for want of space, and the reader is fast enough' run ||
	fail "fast enough: $(cat run)"
sim --driver trbe --bytes 4M --pages 4 --watermark 64 --errata beyond >run
grep -qE '^  progress .* 8 times in a row the event is truncated before a byte is stored|^  progress .* nothing is traced' \
	run || fail "in a row: $(cat run)"
sim --driver trbe --bytes 2M --pages 4 --watermark 1000 --data-pages 2 --switch 30us \
	--errata beyond >run
grep -qE '^  progress .*: the program runs and is not traced for' run || fail "off for too long: $(cat run)"
# a slow reader must lose
for driver in intel_pt arm_spe trbe; do
	sim --driver $driver --bytes 4M --reader-latency 30ms --watermark 16K >run || fail "slow reader, $driver: $(cat run)"
	[ "$(sed -nE 's/.* = ([0-9]+) stored .*/\1/p' run)" -lt 400000 ] || fail "slow reader, $driver: it is not slow: $(cat run)"
done

# a reader's own timer does nothing while it is copying: the tail never goes back
sim --events --pages 2 --watermark 1000 --order 0 --skid 300 --reader-jitter 0 --reader-rate 1M \
	--read-size 1 \
	--switch 1ms --kernel 6.12.95 --bytes 2M >events || fail "slow copy: $(tail -n 4 events)"
sed -nE 's/.* read +tail=([0-9]+) .*/\1/p' events | sort -nc || fail "slow copy: the tail goes back"

# ---- every state of small configurations ----
for driver in intel_pt arm_spe trbe; do
	largest=
	[ $driver = arm_spe ] && largest="--max-record 2048"
	# shellcheck disable=SC2086
	"$AUXTAP" watermark explore --driver $driver --record 2048 $largest \
		--watermark 2K,4K,6K,8K,12K >states || fail "explore $driver: $(cat states)"
	[ "$(grep -c 'states,.*pass, in every state' states)" -eq 5 ] || fail "explore $driver: $(cat states)"
	sed -nE 's/.* ([0-9]+) states, .*/\1/p' states >counts
	[ "$(grep -c . counts)" -eq 5 ] && awk '$1 < 50 { exit 1 }' counts ||
		fail "explore $driver: too few states: $(cat states)"
	"$AUXTAP" watermark explore --driver $driver --snapshot >states || fail "explore $driver: $(cat states)"
done
for fault in wakeup-by-one past-limit interrupt-page-off refcount-first; do
	for driver in intel_pt arm_spe trbe; do
		"$AUXTAP" watermark explore --driver $driver --fault $fault --pages 2 >states
		[ $? -eq 1 ] || fail "explore $driver $fault: $(cat states)"
		# the printed path leads there, with the same text
		words=$(sed -n 's/^  [a-z-]* ([A-Z0-9 ]*): //p' states)
		play=$(sed -n 's/^  replay: auxtap //p' states)
		# shellcheck disable=SC2086
		"$AUXTAP" $play >played
		[ $? -eq 1 ] || fail "play $driver $fault: $(cat played)"
		grep -F VIOLATION played | grep -qF "$words" || fail "play $driver $fault: '$words' is not in $(tail -n 3 played)"
	done
done
# D21: kernels that disable a truncated event late, or never on CPU 0
for options in "--kernel 6.12.95 --watermark 2K,4K" "--cpu 0 --watermark 4K" \
	"--kernel 6.12.95 --cpu 0 --watermark 4K"; do
	# shellcheck disable=SC2086
	"$AUXTAP" watermark explore --record 2048 $options >states || fail "explore $options: $(cat states)"
	grep -q 'known: a truncated event is n.* (D21) (' states || fail "explore $options: no D21: $(cat states)"
done
# several configurations, in several processes: those that were requested; each one's states are
# the same as when it runs alone
"$AUXTAP" watermark explore --all --driver intel_pt --kernel 6.18.44 --pages 1 -v >worlds || fail "all: $(cat worlds)"
[ "$(grep -c '^intel_pt  6.18.44 .* 1 pages .* states,' worlds)" -eq 27 ] || fail "all: $(cat worlds)"
grep -q '^27 configurations (0 more' worlds || fail "all: $(cat worlds)"
grep -q '^pass: every invariant holds in every state' worlds || fail "all: $(cat worlds)"
awk '/ states, / && $1 == "intel_pt" {n += $(NF - 5)} /^27 configurations/ {ok = n == $10} END {exit !ok}' \
	worlds ||
	fail "all: the sum: $(cat worlds)"
"$AUXTAP" watermark explore --kernel 6.18.44 --pages 1 --watermark 3K >states
grep -qF "$(sed -nE 's/^.* cpu 1 .* watermark 3K +([0-9]+ states, [0-9]+ transitions).*/\1/p' worlds)" \
	states ||
	fail "all: one alone: $(cat states)"
"$AUXTAP" watermark explore --all --driver trbe --kernel 6.1.192 --pages 1 -j 2 >worlds || fail "all, refused: $(cat worlds)"
grep -qE '^0 configurations \([0-9]+ more are refused' worlds &&
	grep -q '^nothing was searched' worlds || fail "all, refused: $(cat worlds)"
quick=()
short_of_sanitizers && quick=(--driver trbe) # the search is the same code for all drivers
"$AUXTAP" watermark explore --quick "${quick[@]}" >worlds || fail "quick: $(cat worlds)"
[ "$(sed -nE 's/^unmapped in ([0-9]+) states.*/\1/p' worlds)" -gt 100000 ] || fail "quick: $(cat worlds)"
[ ${#quick[@]} -gt 0 ] || grep -q '^177 configurations (30 more are refused by their driver)' \
	worlds || fail "quick: $(cat worlds)"
grep -q '^pass: every invariant holds in every state' worlds || fail "quick: $(cat worlds)"
"$AUXTAP" watermark explore --quick --driver arm_spe --max-states 1000 -j 3 >worlds
[ $? -eq 3 ] || fail "given up: exit is not 3"
grep -q '^pass, as far as the search went' worlds && grep -q '^given up: [1-9]' worlds || fail "given up: $(cat worlds)"
"$AUXTAP" watermark explore --pages 1,2 --watermark 2K,4K >states
[ "$(grep -c 'pass, in every state' states)" -eq 4 ] || fail "lists: $(cat states)"
# a path without a violation, with the program running, or not, at its end
for play in pppp ppppiaes ppppu; do
	"$AUXTAP" watermark explore --play $play >played || fail "play $play: exit $?: $(cat played)"
	grep -q 'line .*at=4096' played || fail "play $play: $(cat played)"
done

# ---- JSON ----
sim --format json --watermark 4096,8192 --bytes 1M >runs.json || fail "json: exit $?"
python3 - <<'END' || fail "json"
import json
runs = json.load(open('runs.json'))
assert len(runs) == 2 and [r['config']['watermark'] for r in runs] == [4096, 8192]
for r in runs:
    assert r['verdict'] == 'pass' and r['produced'] == r['stored'] + r['lost']
    assert r['head'] == r['recorded'] + r['skipped'] + r['record_lost'] > 0
    assert 0 < sum(s['count'] for s in r['overshoots']) <= r['interrupts']
    assert r['overshoots'][-1]['from'] <= r['overshoot_max'] < r['overshoots'][-1]['to']
END

# ---- times: events inside one piece of trace are reported at their time, and in order ----
sim --driver trbe --fault past-limit --events --bytes 1M >events
grep -qE '^ +163840 ns  threshold +at=16384' events || fail "threshold: $(grep -m1 ' threshold ' events)"
grep -qE '^ +204800 ns  VIOLATION +limit-kept' events || fail "time: $(grep -m1 VIOLATION events)"
awk '$2 == "ns" {if ($1 + 0 < last) {print; exit 1} last = $1 + 0}' events || fail "events out of order"
# the driver reads the status that it cleared
sim --driver intel_pt --fault stale-status --events |
	grep -qE ' status +value=0x20 pointer=[0-9]+ written=0 Stopped' || fail "status"

# ---- docs/watermark.md: a paragraph for each invariant, with its rules; a row for each fault ----
doc=$SRC/docs/watermark.md
invariants=0
while read -r name rules; do
	grep -qF "**$name** ($rules)." "$doc" || fail "docs/watermark.md has no paragraph: **$name** ($rules)."
	invariants=$((invariants + 1))
done < <(sed -nE 's/.*= INFO\("([a-z-]+)", "([A-Z0-9 ]+)",$/\1 \2/p' "$SRC/watermark/invariants.c")
[ "$invariants" -ge 17 ] || fail "docs/watermark.md: only $invariants invariants looked for"
for fault in $("$AUXTAP" watermark faults --list | sed -nE 's/^([a-z0-9-]+) \(.*/\1/p'); do
	grep -q "^| $fault | " "$doc" || fail "docs/watermark.md has no fault $fault"
done

# ---- invalid options ----
wrong() {
	local status=$1 text=$2
	shift 2
	"$AUXTAP" watermark "$@" >out 2>err
	[ $? -eq "$status" ] || fail "$*: exit is not $status: $(cat err out)"
	grep -qF -- "$text" err || fail "$*: '$text' is missing: $(cat err)"
	[ "$(wc -l <err)" -eq 1 ] || fail "$*: $(cat err)"
}
wrong 2 "rate: out of range" sim --rate 0
wrong 2 "pages of the AUX area" sim --pages 0
wrong 2 "page size: not supported" sim --page-size 0
wrong 2 "record size: out of range" sim --record 0
wrong 2 "alignment: not a supported power of two" sim --driver trbe --align 0
wrong 2 "largest record: SPE has 16 to 2048" sim --driver arm_spe --max-record 0
wrong 2 "length: no end condition" sim --bytes 0
wrong 2 "no such fault" sim --fault nothing
wrong 2 "arm_spe cannot have this fault" sim --fault wrong-wrap --driver arm_spe
wrong 2 "intel_pt, arm_spe, trbe" sim --driver pt
wrong 2 "powers of two" sim --pages 3
wrong 2 "6.1.192, 6.12.95, 6.18.44" sim --kernel 5.10
wrong 2 "--rate fast" sim --rate fast
wrong 2 "page size" sim --page-size 16K
wrong 2 "no such option" sim --nothing
wrong 2 "option requires an argument" sim --pages
wrong 2 "no such command" nothing
wrong 2 "option requires an argument" sweep --every
wrong 2 "no such option" sweep --nothing
wrong 2 "not a number in range" sweep --every 0
wrong 2 "only arm_spe has a maximum record size" sim --max-record 64
wrong 2 "only arm_spe has a maximum record size" sim --max-record 64 --driver trbe
wrong 2 "start at any byte" sim --align 64
# the length: the first limit reached ends the run, in any order of the options
for order in "--bytes 100K --transactions 1000" "--transactions 1000 --bytes 100K" "--bytes 100K --time 1s" \
	"--bytes 100K --time 1s --transactions 1000"; do
	# shellcheck disable=SC2086
	produced=$(sim --format json --driver trbe $order | sed -nE 's/^ *"produced": ([0-9]+),$/\1/p')
	[ "$produced" -ge 102400 ] && [ "$produced" -lt 110000 ] || fail "$order: $produced bytes"
done
[ "$(sim --format json --transactions 10 | grep -c '"transactions": 1[01],')" = 1 ] || fail "--transactions 10"
wrong 2 "--errata 7" sim --errata 7 --driver trbe
wrong 2 "cannot happen there" explore --play i
wrong 2 "not a number in range" explore --max-states 0
wrong 2 "no event given" live
wrong 2 "unknown PMU" live -e cpu//
wrong 2 "no such reader" live -e intel_pt// --reader fast
wrong 2 "not a size" live -e intel_pt// --skid late
wrong 2 "not a size" live -e intel_pt// --skid 18446744073709551616
wrong 2 "not a CPU number" live -e intel_pt// --cpu x
wrong 2 "option requires an argument" live -e
wrong 2 "5.4: unknown kernel" live -e intel_pt// --kernel 5.4
wrong 2 "only the TRBE has errata" live -e intel_pt// --errata beyond
wrong 2 "powers of two only" live -e intel_pt// --pages 3
wrong 2 "intel_pt, arm_spe, trbe" live -e intel_pt// --driver nix
wrong 3 "this machine has no PMU 'no_pt'; 'auxtap list' prints" live -e no_pt//u
wrong 2 "--watermark: cannot be combined with --all or --quick" explore --all --watermark 4K
wrong 2 "--play: cannot be combined with --all or --quick" explore --quick --play p
wrong 2 "requires --all or --quick" explore -j 2
wrong 2 "give one number, up to 8" explore --all --pages 16
wrong 2 "no configuration with this driver" explore --all --driver pt
"$AUXTAP" watermark explore --max-states 100 >states
[ $? -eq 3 ] || fail "given up: exit is not 3"
grep -q 'given up, the remaining states were not checked' states || fail "given up: $(cat states)"
sim --driver arm_spe --pages 1 >run || fail "one page: exit $?"
grep -q 'refused: the driver requires at least 2 pages' run || fail "one page: $(cat run)"
finish
