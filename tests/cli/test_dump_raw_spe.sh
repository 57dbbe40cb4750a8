#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# dump --raw spe of real records lists the packets that perf lists; only white space may differ, and
# the text for which perf's old form (early-dump: without the register's kind) was kept.
set -u
traces=${AUXTAP_TRACES:-${AUXTAP_TRACES_DEFAULT:-}}
if [ ! -d "$traces/arm-spe" ]; then
	echo "skipped: no real traces in '$traces' (set AUXTAP_TRACES)"
	exit 77
fi
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
failed=0 compared=0

normal() {
	sed -E 's/[ \t]+/ /g; s/^ //; s/ $//'
}

for case in "$traces"/arm-spe/*/; do
	name=$(basename "$case")
	"$BIN/auxtap" dump --raw spe "$case/spe.bin" >"$work/dump" || {
		echo "$name: exit status $?"; failed=1; }
	"$BIN/auxtap" dump --raw spe - <"$case/spe.bin" | cmp - "$work/dump" || failed=1
	normal <"$work/dump" >"$work/ours"
	# perf's: its container pads to 8 bytes
	size=$(stat -c %s "$case/spe.bin")
	sed -E 's/^\. +//; s/^([0-9a-f]+):/\1/' "$case/expected/packets.perf-7.2.txt" | normal |
		awk -v size="$size" '
			function hex(s, n, i) {
				n = 0
				for (i = 1; i <= length(s); i++)
					n = n * 16 + index("0123456789abcdef", substr(s, i, 1)) - 1
				return n
			}
			hex($1) < size' >"$work/expected"
	[ "$(wc -l <"$work/expected")" -ge 8 ] || {
		echo "$name: the expected listing is nearly empty"; failed=1; }
	if ! diff "$work/expected" "$work/ours" >"$work/diff"; then
		echo "$name: differs:"
		head -10 "$work/diff"
		failed=1
	fi
	compared=$((compared + 1))
done
[ $compared -ge 7 ] || { echo "only $compared streams found"; failed=1; }
echo "$compared listings compared"
exit $failed
