# SPDX-License-Identifier: BSD-2-Clause
# Processes that execute other programs with other code at the same addresses, and one that maps
# other code to an address: each instruction that decode lists was executed, in full traces and in a
# flight recorder's snapshots.
. "$(dirname "$0")/lib.sh"
"$AUXTAP" list 2>&1 | grep -q "qemu" || skip "no qemu"

# holds NAME TERMS: all listed instructions were executed. TERMS: awk's, of executed, listed, gaps.
holds()
{
	local truth listed='' result
	for truth in truth.*; do
		"$AUXTAP" decode --tid "${truth##*.}" --events insn,gap -F event,ip data >listed
		"$TOOLS/compare_ground_truth" "$truth" --gaps <listed >result 2>&1 || {
			fail "$1: $(tail -n 1 result)"; return; }
		result=$(tail -n 1 result)
		echo "$1: $result"
		echo "$result" | awk '{ executed = $2; listed = $4; gaps = $6 } END { exit !('"$2"') }' \
			|| fail "$1: not $2: $result"
	done
}

# traced NAME TERMS STATUS COMMAND OPTION... -- PROGRAM...
traced()
{
	local name=$1 terms=$2 want=$3
	shift 3
	rm -f data* truth.*
	guard "$AUXTAP" "$1" --backend emulated --truth truth -o data "${@:2}" >out 2>err </dev/null
	[ $? = "$want" ] || fail "$name: status is not $want: $(tail -n 1 err)"
	holds "$name" "$terms"
}

all='executed == listed && gaps == 0'
pt=(-e intel_pt//u)
[ "$(uname -m)" = x86_64 ] && {
	first=$FIXTURES/exec_first second=$FIXTURES/exec_second
	traced 'PT, record' "$all" 0 record "${pt[@]}" -- "$first" "$second" "$first"
	traced 'PT, crash' "$all" 139 crash "${pt[@]}" -- "$first" "$second" "$FIXTURES/null_deref"
	# more execs than the recorder keeps: execution before them is a gap
	many=("$first" "$second" "$first" "$second" "$first")
	traced 'PT, many' 'listed > 100000 && gaps > 0' 139 crash "${pt[@]}" -- "${many[@]}" "${many[@]}" \
		"$FIXTURES/null_deref"
}
a64=$FIXTURES/a64
if command -v qemu-aarch64 >/dev/null && [ -x "$a64/exec_first" ]; then
	cs=(-e cs_etm//u)
	first=$a64/exec_first_static second=$a64/exec_second_static
	for unit in ete etmv4; do
		traced "$unit, record" "$all" 0 record "${cs[@]}" --trace-unit $unit -m 128,8192 \
			-- "$first" "$second" "$first"
	done
	"$AUXTAP" decode --events branch -F sym data >branches
	for name in half work; do
		grep -qw "$name" branches || fail "record: no branch in $name"
	done
	traced 'ete, timestamps' "$all" 0 record -e cs_etm/timestamp,retstack/u -m 128,8192 \
		-- "$first" "$second"
	traced 'ete, dynamic' "$all" 0 record "${cs[@]}" -m 128,8192 -- "$a64/exec_first" "$a64/exec_second" \
		"$second"
	traced 'ete, crash' "$all" 139 crash "${cs[@]}" -- "$first" "$second" "$a64/null_deref_static"
	# gaps: overwritten trace, and perhaps code that may belong to the program before
	traced 'ete, end of a ring' 'listed > 20000 && gaps >= 1 && gaps <= 2' 139 \
		crash "${cs[@]}" -S8K -m 8,4 -- "$first" "$second" "$first" \
		"$a64/null_deref_static"
	many=("$first" "$second" "$first" "$second" "$first")
	traced 'ete, many' 'listed > 100000 && gaps > 0' 139 \
		crash "${cs[@]}" -- "${many[@]}" "${many[@]}" "$a64/null_deref_static"
	"$AUXTAP" decode --events gap data | grep -q 'gap: maps_changed' || fail "many: no gap maps_changed"
	# the trace does not contain the time of the other mapping
	traced 'ete, remap' 'listed > executed - executed / 10 && gaps == 10' 0 \
		record "${cs[@]}" -m 128,8192 -- "$a64/remap_static"
	"$AUXTAP" decode --events gap data |
		grep -q 'gap: maps_changed: what was mapped at 60000000' ||
		fail "remap: $("$AUXTAP" decode --events gap data | head -n 1)"
fi
finish
