# SPDX-License-Identifier: BSD-2-Clause
# CoreSight in areas that are too small: decode lists the executed instructions with runs left out,
# each replaced by a gap; a flight recorder's snapshot is the end of what was executed.
. "$(dirname "$0")/lib.sh"
a64=$FIXTURES/a64
command -v qemu-aarch64 >/dev/null && [ -x "$a64/qemu_a64" ] ||
	skip "qemu-aarch64 or a compiler for AArch64 is not installed"
emulated=(--backend emulated --source qemu)

gaps=0
for unit in ete etmv4; do
	for terms in '' cycacc timestamp,retstack,contextid1,cycacc; do
		for pages in 2 4; do
			gapped "$unit-$pages-$terms" "${emulated[@]}" --trace-unit $unit \
				-e "cs_etm/$terms/u" -m 8,$pages -- "$a64/recursion"
			gaps=$((gaps + ${NR_GAPS:-0}))
			gapped "threads-$unit-$pages-$terms" "${emulated[@]}" --trace-unit $unit \
				-e "cs_etm/$terms/u" -m 8,$pages -- \
				"$a64/threads4_static"
		done
		# the newest trace of a crash
		"$AUXTAP" crash "${emulated[@]}" --trace-unit $unit -e "cs_etm/$terms/u" -S8K \
			-m 8,4 --truth truth -o data -- \
			"$a64/stack_overflow" >out 2>err
		[ $? = 139 ] || fail "crash: $(tail -1 err)"
		"$AUXTAP" decode --events insn,gap -F event,ip data >listed
		"$TOOLS/compare_ground_truth" truth.* --gaps <listed >result 2>&1 || fail "$unit/$terms: snapshot: $(tail -1 result)"
		# after a full buffer there may be no sync to start at any more: then a gap is the
		# end
		[ "$(wc -l <listed)" -gt 10000 ] && tail -1 listed | grep -q '^gap.*collision' ||
			[ "$(awk 'END { print $2 }' listed)" = "$(od -An -v -t x8 -w8 truth.* |
			tail -1 | sed 's/^ *0*//')" ] ||
			fail "$unit/$terms: the snapshot is not the end: $(wc -l <listed) instructions"
		"$AUXTAP" decode --events gap data | grep -q 'gap: overwritten' || fail "$unit/$terms: nothing was overwritten"
		rm -f data* truth.*
	done
done
[ $gaps -gt 8 ] || fail "only $gaps gaps: nothing was tested"
finish
