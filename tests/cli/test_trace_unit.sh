# SPDX-License-Identifier: BSD-2-Clause
# examples/trace_unit.c and trace_unit_pt.c, external trace units: built against the installed
# header alone, run by the simulator; unchanged they pass; an interrupt a page late is named; a file
# that is not a trace unit is refused with the reason.
. "$(dirname "$0")/lib.sh"
installed
flags=$(installed_flags --cflags libauxtap)

# 'unit NAME [SED-SCRIPT [FLAG]]': NAME.so, from the example as the script changes it
example=trace_unit.c
unit() {
	sed -E "${2:-}" "$SRC/examples/$example" >"$1.c"
	[ -z "${2:-}" ] || ! cmp -s "$1.c" "$SRC/examples/$example" || fail "$1: the script changes nothing"
	# shellcheck disable=SC2086
	${CC:-cc} -std=c11 -Wall -Wextra -Werror $SANITIZER ${3:-} $flags -shared -fPIC -o "$1.so" \
		"$1.c" ||
		fail "$1 does not build"
}
sim() { "$AUXTAP" watermark sim "$@" >out 2>err; }

unit mine
unit late "" -DLATE_BYTES=4096
[ "$failures" -eq 0 ] || finish
runs=0
for pages in 2 8 32; do
	for watermark in 0 1000 4096 12288 16K 64K; do
		for options in "" "--reader-latency 3ms" "--skid 300 --irq-latency 20us" \
			"--switch 150us --read-size 5000 --kernel 6.12.95"; do
			machine="--driver trbe --pages $pages --watermark $watermark --bytes 1M $options"
			# shellcheck disable=SC2086
			sim --unit ./mine.so $machine --contents || fail "$machine: $(cat out err)"
			grep -q 'trbe, unit example, .*' out || fail "$machine: not this unit"
			# shellcheck disable=SC2086
			sim --unit ./late.so $machine
			[ $? -eq 1 ] || fail "late: $machine: exit is not 1: $(cat err)"
			grep -q '^  interrupt-at-threshold .* the interrupt line ' out ||
				fail "late: $machine: not named: $(cat out)"
			grep -qE '^  [a-z-]+ \(' out && grep -E '^  [a-z-]+ \(' out |
				grep -qv '^  interrupt-at-threshold' &&
				fail "late: $machine: another finding: $(cat out)"
			runs=$((runs + 1))
		done
	done
done
[ "$runs" -eq 72 ] || fail "only $runs machines"
sim --unit ./mine.so --snapshot --switch 200us --contents --bytes 1M || fail "snapshot: $(cat out err)"

# the command that a failure prints repeats it, with the unit
sim --unit ./late.so --watermark 8192
repeat=$(sed -n 's/^ *repeat: auxtap //p' out)
cp out first
# shellcheck disable=SC2086
"$AUXTAP" $repeat >again
grep '^  interrupt-at-threshold' first >first.late
grep '^  interrupt-at-threshold' again >again.late
cmp -s first.late again.late ||
	fail "the repeated run differs: $repeat"
# a name with any bytes: in JSON, and in a page, which it must not end
cp late.so $'<!--<script>\xff.so'
sim --unit $'./<!--<script>\xff.so' --bytes 300K --format json
grep -qF '"command": "auxtap watermark sim --driver trbe --unit ./<!--<script>\\xff.so ' out ||
	fail "a name that is not UTF-8: $(grep -a '"command"' out)"
sim --unit $'./<!--<script>\xff.so' --bytes 300K --format html
grep -qF -e '--unit ./\u003c!--\u003cscript>\\xff.so ' out ||
	fail "a name in a page: $(grep -ao 'unit .\{40\}' out)"
# the built-in unit and this one were written independently: they agree to the byte
sim --unit ./mine.so --events --watermark 12288 --bytes 1M --reader-latency 1ms
tail -n +2 out >mine.events
sim --driver trbe --events --watermark 12288 --bytes 1M --reader-latency 1ms
grep -v 'rules of Linux' mine.events >a
tail -n +2 out | grep -v 'rules of Linux' >b
[ -s a ] && cmp a b || fail "other events than the built-in unit: $(diff a b | head -n 5)"

# ---- the one with tables in memory: the same events as the built-in unit's, in every machine ----
example=trace_unit_pt.c
unit pt
unit ptlate "" -DLATE_BYTES=4096
unit ptstop 's/if \(pt->entry & ENTRY_STOP\)/if (0)/' # ignores its STOP
unit ptlink 's/pt->base = ENTRY_ADDRESS\(pt->entry\);/;/' # stays in its first table
example=trace_unit.c
runs=0
for pages in 1 8 64; do
	for watermark in 0 1000 4096 12288 16K 256K; do
		for options in "" "--reader-latency 3ms" "--skid 300 --irq-latency 20us --order 0" \
			"--switch 150us --read-size 5000 --kernel 6.12.95"; do
			machine="--pages $pages --watermark $watermark --bytes 1M $options"
			# shellcheck disable=SC2086
			sim --unit ./pt.so $machine --contents || fail "$machine: $(cat out err)"
			grep -q 'intel_pt, unit example-pt, .*' out || fail "$machine: not this unit"
			# shellcheck disable=SC2086
			sim --unit ./pt.so $machine --events && grep -v 'rules of Linux' out >a
			# shellcheck disable=SC2086
			sim --driver intel_pt $machine --events && grep -v 'rules of Linux' out >b
			[ -s a ] && cmp a b || fail "$machine: other events: $(diff a b | head -n 5)"
			# shellcheck disable=SC2086
			sim --unit ./ptlate.so $machine
			[ $? -eq 1 ] || fail "late PT: $machine: exit is not 1: $(cat out err)"
			grep -q '^  interrupt-at-threshold .* after the threshold ' out ||
				fail "late PT: $machine: $(cat out)"
			runs=$((runs + 1))
		done
	done
done
[ "$runs" -eq 72 ] || fail "only $runs machines of PT"
# an area of two tables (H1)
sim --unit ./pt.so --pages 1024 --order 0 --bytes 16M --contents || fail "two tables: $(cat out err)"
sim --unit ./ptlink.so --pages 1024 --order 0 --bytes 16M
[ $? -eq 1 ] || fail "a PT that follows no link: exit is not 1: $(cat out err)"
sim --unit ./ptstop.so --reader-latency 3ms
[ $? -eq 1 ] || fail "a PT without STOP: exit is not 1: $(cat out err)"
grep -qE '^  (limit-kept|unread-kept) ' out || fail "a PT without STOP: not named: $(cat out)"

# ---- units that store other bytes than produced, or none ----
# hostile NAME N: NAME.so, the example with a fault of hostile_unit.c
hostile() {
	local driver='"trbe"' level=irq_level
	[ "$example" = trace_unit_pt.c ] && driver='"intel_pt"' level=NULL
	sed -E \
		's/^const struct auxtap_trace_unit auxtap_trace_unit = /'\
'static const struct auxtap_trace_unit honest = /
		s/sizeof\(auxtap_trace_unit\)/sizeof(honest)/' "$SRC/examples/$example" >honest.c
	# shellcheck disable=SC2086
	${CC:-cc} -std=c11 -Wall -Wextra -Werror $SANITIZER $flags -I. "-DHOSTILE=$2" "-DHOSTILE_DRIVER=$driver" \
		"-DHOSTILE_LEVEL=$level" -shared -fPIC -o "$1.so" "$SRC/tests/cli/hostile_unit.c" ||
		fail "$1 does not build"
}
# finding FILE: named FILE: the invariants in a run's output
named() { grep -oE '^  [a-z-]+ \(' out | sort -u | tr -d ' (' | paste -sd' '; }
for example in trace_unit.c trace_unit_pt.c; do
	for n in 0 1 2 3 4 5 6; do
		hostile bad $n
		for options in "" "--snapshot --switch 200us" "--reader-latency 3ms" \
			"--watermark 1000 --switch 30us --record 48"; do
			# shellcheck disable=SC2086
			sim --unit ./bad.so --bytes 1M --contents $options
			status=$?
			if [ "$n" -eq 0 ]; then
				[ $status -eq 0 ] || fail "$example, honest: $options: $(cat out err)"
				continue
			fi
			[ $status -eq 1 ] || fail "$example, hostile $n: $options: exit is not 1: $(cat out err)"
			[ "$(named)" = contents-true ] || fail "$example, hostile $n: $options: $(named)"
			grep -q '^  contents-true .*the unit produced' out || fail "$example, hostile $n: $options: $(cat out)"
		done
		sim --unit ./bad.so --bytes 1M || fail "$example, hostile $n: its positions are right: $(cat out err)"
	done
	hostile bad 7
	sim --unit ./bad.so --bytes 1M
	[ $? -eq 1 ] || fail "$example, miscounts: exit is not 1: $(cat out err)"
	grep -q '^  bytes-add-up .* the unit stores .*, and returns that it has stored' out ||
		fail "$example, miscounts: $(cat out)"
	for n in 8 9; do
		for options in "" "--snapshot --switch 200us" "--bytes 32K" \
			"--reader-latency 1s"; do
			hostile bad $n
			# shellcheck disable=SC2086
			sim --unit ./bad.so --bytes 1M $options
			[ $? -eq 1 ] || fail "$example, hostile $n: $options: exit is not 1: $(cat out err)"
			grep -q '^  progress .*the unit is on, has space, and has not' out ||
				fail "$example, hostile $n: $options: not named: $(cat out)"
		done
	done
done
hostile bad 8
sim --unit ./bad.so --bytes 32K --format json
[ $? -eq 1 ] && grep -q '"verdict": "no-progress"' out || fail "deaf: $(cat out)"
sim --unit ./bad.so --bytes 32K
grep -q '^  verdict     no progress: ' out || fail "deaf: $(cat out)"
example=trace_unit.c

# ---- files that are not a trace unit ----
wrong() {
	local status=$1 text=$2
	shift 2
	sim "$@"
	[ $? -eq "$status" ] || fail "$*: exit is not $status: $(cat err out)"
	grep -qF -- "$text" err || fail "$*: '$text' is missing: $(cat err)"
	[ "$(wc -l <err)" -eq 1 ] || fail "$*: $(cat err)"
}
unit idle 's/\*taken = nr_bytes;/*taken = 0;/'
unit greedy 's/\*taken = nr_bytes;/*taken = nr_bytes + 1;/'
unit liar 's/b->ptr, bytes, nr_bytes/b->ptr, bytes, 0/'
unit torso 's/^\t\.reg_write = .*//; s/^static void reg_write/void other(void *u, uint32_t r, uint64_t v);\nvoid other/'
unit nameless 's/^const struct auxtap_trace_unit .* = /const struct auxtap_trace_unit my_unit = /; s/sizeof\(auxtap_trace_unit/sizeof(my_unit/'
unit old 's/\.size = .*/.size = 8,/'
wrong 3 "it took 0, handed" --unit ./idle.so
wrong 3 "take 1 byte to all" --unit ./greedy.so
wrong 3 "handed 0 to store()" --unit ./liar.so
wrong 2 "only irq_level may be NULL" --unit ./torso.so
wrong 2 "contains no trace unit" --unit ./nameless.so
wrong 2 "trace unit: size is " --unit ./old.so
wrong 2 "registers of 'trbe', not of 'arm_spe'" --unit ./mine.so --driver arm_spe
wrong 2 "cannot open shared object file" --unit ./nothing.so
wrong 2 "invalid ELF header" --unit ./mine.c
finish
