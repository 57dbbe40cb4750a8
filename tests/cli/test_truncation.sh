# SPDX-License-Identifier: BSD-2-Clause
# AUX areas so small that they wrap and truncate hundreds of times: bytes written = Σ AUX sizes
# = final head = bytes in the file; decode lists the ground truth with runs left out, each replaced
# by a gap; the gaps' sizes are the bytes that the unit dropped.
. "$(dirname "$0")/lib.sh"
KEEP=1

# accounts NAME: compares the counters in the kept files of gapped NAME; sets NR_TRUNCATED
accounts() {
	local dir=$WORK/$1 tid nr_units=0
	"$AUXTAP" dump --no-packets "$dir/data" >"$dir/dump" 2>&1
	NR_TRUNCATED=0
	while read -r tid produced written dropped; do
		nr_units=$((nr_units + 1))
		[ $((written + dropped)) -eq "$produced" ] || fail "$1, thread $tid: produced $produced, written $written, dropped $dropped"
		# AUX records: Σ sizes, the last one's end, how many are flagged
		read -r sum head flagged < <(
			sed -nE "s#.*\] AUX [0-9]+/$tid .*offset ([0-9a-fx]+) size ([0-9a-fx]+) flags ([0-9A-Zx,|]+).*#\1 \2 \3#p" \
				"$dir/dump" | {
			sum=0 head=0 flagged=0
			while read -r offset size flags; do
				sum=$((sum + size)) head=$((offset + size))
				# two at one offset are one gap
				[[ $flags != *TRUNCATED* ]] || [ "${last:-}" = "$head" ] ||
					flagged=$((flagged + 1)) last=$head
			done
			echo $sum $head $flagged
		})
		[ "$sum" -eq "$written" ] || fail "$1, thread $tid: Σ AUX sizes $sum, written $written"
		[ "$head" -eq "$written" ] || fail "$1, thread $tid: final head $head, written $written"
		# AUXTRACE: each begins where the one before ended; at most 7 bytes of padding
		grep -E '\] AUXTRACE: ' "$dir/dump" | grep -w "tid $tid" |
			sed -E 's/.*size (0x[0-9a-f]+) offset (0x[0-9a-f]+).*/\2 \1/' | {
			end=0
			while read -r offset size; do
				[ $((offset)) -le $end ] && [ $((end - offset)) -lt 8 ] || echo "AUXTRACE at $offset, the one before ended at $end"
				end=$((offset + size))
			done
			[ $end -ge "$written" ] && [ $((end - written)) -lt 8 ] || echo "AUXTRACE ends at $end, written $written"
		} >"$dir/apart"
		[ ! -s "$dir/apart" ] || fail "$1, thread $tid: $(head -n 1 "$dir/apart")"
		"$AUXTAP" decode --tid "$tid" --events gap -F event "$dir/data" >"$dir/gaps" 2>&1
		# a gap for each truncation; one more if D6 found no space and wrote no record
		# (adjacent gaps are one: a pause of capture itself may include a truncation)
		gaps=$(grep -vc ' paused' "$dir/gaps")
		all=$(grep -c gap "$dir/gaps")
		[ "$gaps" -le $((flagged + 1)) ] && [ "$all" -ge "$flagged" ] || fail "$1, thread $tid: $gaps gaps, $flagged truncations"
		lost=$(sed -n 's/.*, \([0-9]*\) bytes lost.*/\1/p' "$dir/gaps" | awk '{sum += $1} END {print sum + 0}')
		[ "${lost:-0}" -eq "$dropped" ] || fail "$1, thread $tid: the gaps' sizes are ${lost:-0}, dropped $dropped"
		echo "$1, thread $tid: written $written, dropped $dropped, $flagged truncations, $gaps gaps"
		NR_TRUNCATED=$((NR_TRUNCATED + flagged))
	done < <(sed -n 's/^ *unit \([0-9]*\): produced \([0-9]*\) written \([0-9]*\) dropped \([0-9]*\)$/\1 \2 \3 \4/p' \
		"$dir/dump")
	[ $nr_units -gt 0 ] || fail "$1: no counters"
}

head -c 150000 /bin/bash >input
head -c 300 /bin/bash >small
if command -v qemu-x86_64 >/dev/null; then
	for pages in 1 2 8; do
		# one area of the smallest size truncates hundreds of times, fewer if the machine is
		# busy: one page full, then none for as long as the reader waits for a CPU
		truncations=0
		for ((runs = 1; runs <= 20; runs++)); do
			rm -rf "$WORK/qemu-$pages" # another thread's
			gapped "qemu-$pages" --source qemu -m "8,$pages" -- gzip -c input
			accounts "qemu-$pages"
			truncations=$((truncations + NR_TRUNCATED))
			[ $pages -eq 1 ] && [ $truncations -lt 100 ] || break
		done
		[ $pages -gt 1 ] || [ $truncations -ge 100 ] ||
			fail "only $truncations truncations in $((runs - 1)) runs"
	done
	gapped qemu-threads --source qemu -m 8,1 -- "$FIXTURES/threads4"
	accounts qemu-threads
fi
gapped ptrace --source ptrace -m 8,1 -- sort small
accounts ptrace
gapped ptrace-threads --source ptrace -m 8,1 -- "$FIXTURES/threads4"
accounts ptrace-threads
finish
