#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# dump --raw pt of real streams, and dump's packets of AUXTRACE records, list the packets that
# libipt's ptdump lists; only white space may differ.
set -u
traces=${AUXTAP_TRACES:-${AUXTAP_TRACES_DEFAULT:-}}
if [ ! -d "$traces/intel-pt" ]; then
	echo "skipped: no real traces in '$traces' (set AUXTAP_TRACES)"
	exit 77
fi
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
failed=0 compared=0

normal() {
	sed -E 's/[ \t]+/ /g; s/^ //; s/ $//'
}

same() { # name, ours, expected
	normal <"$3" >"$work/expected"
	normal <"$2" >"$work/ours"
	if [ ! -s "$work/expected" ]; then
		echo "$1: the expected listing is empty"
		failed=1
	elif ! diff "$work/expected" "$work/ours" >"$work/diff"; then
		echo "$1: differs:"
		head -10 "$work/diff"
		failed=1
	fi
	compared=$((compared + 1))
}

for case in "$traces"/intel-pt/*/; do
	name=$(basename "$case")
	file=$(sed -n '/^\[trace\]/,/^\[/s/^file=//p' "$case/case.ini" | head -1)
	xz -dcf "$case"/expected/packets.txt* >"$work/listing"
	"$BIN/auxtap" dump --raw pt "$case/$file" >"$work/dump" || {
		echo "$name: exit status $?"
		failed=1
	}
	same "$name" "$work/dump" "$work/listing"
	"$BIN/auxtap" dump --raw pt - <"$case/$file" | cmp - "$work/dump" || failed=1
done
[ $compared -ge 6 ] || { echo "only $compared raw streams found"; failed=1; }

for case in "$traces"/intel-pt-perfdata/*/; do
	"$BIN/auxtap" dump "$case/perf.data" >"$work/all" || failed=1
	number=0
	for listing in "$case"/expected/aux*.packets.txt.xz; do
		# The lines between the number-th AUXTRACE record and the record after it.
		awk -v want=$number '/^0x/ { if (/\] AUXTRACE[ :]/) { on = seen++ == want; next } on = 0 } on' \
			"$work/all" >"$work/dump"
		xz -dc "$listing" >"$work/listing"
		same "$(basename "$case") AUXTRACE $number" "$work/dump" "$work/listing"
		number=$((number + 1))
	done
done
[ $compared -ge 8 ] || { echo "only $compared listings compared"; failed=1; }
echo "$compared listings compared"
exit $failed
