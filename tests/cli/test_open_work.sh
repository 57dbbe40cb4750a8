#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# A file with thousands of truncated AUX records, buffers and noted gaps, of one CPU and of as many
# threads: the work grows with the file, not with its square. Work is the number of instructions,
# counted by valgrind; what four times as much takes is compared with what twice as much takes.
. "$(dirname "$0")/lib.sh"
command -v valgrind >/dev/null || skip "valgrind is not installed"
command -v python3 >/dev/null || skip "python3 is not installed"
sanitized && skip "valgrind does not run programs with the address sanitizer"

# What is added from n to 2n, and from 2n to 4n, is 2 to 1 if it is linear and 4 to 1 if it is
# quadratic; sorting adds some percent to the former.
MOST=26 # tenths
FIRST=500

# lines N: for aux_file.py
lines() {
	awk -v n="$1" 'BEGIN {
		for (i = 0; i < n; i++) {
			print "aux 5", 1000 + i, 48 * i, 48, 1
			print "trace 5", 48 * i, 48, 0
			print "gap 1 5 -1", 1000 + i, 100
		}
		for (i = 0; i < n / 2; i++)
			for (k = 0; k < 2; k++) {
				print "aux t" 1000 + i, 1000 + 2 * i + k, 48 * k, 48, 1
				print "trace t" 1000 + i, 48 * k, 48, 0
				print "gap 1 -1", 1000 + i, 1000 + 2 * i + k, 100
			}
	}'
}

# instructions COMMAND...
instructions() {
	guard valgrind --tool=callgrind --callgrind-out-file=/dev/null "$@" 2>&1 >/dev/null |
		sed -n 's/.*Collected : //p'
}

# grows_with FAMILY COMMAND...: the file's name is added
grows_with() {
	local family=$1 counts=() k rise
	shift
	for k in 1 2 4; do
		counts+=("$(instructions "$AUXTAP" "$@" "$family-$k")")
		[ "${counts[-1]:-0}" -gt 0 ] || {
			fail "$family: $*: no instructions were counted"
			return
		}
	done
	rise=$((10 * (counts[2] - counts[1]) / (counts[1] - counts[0])))
	echo "$family: $*: ${counts[*]}: $rise tenths"
	[ "$rise" -le $MOST ] || fail "$family: $*: instructions grow faster than the file: ${counts[*]}"
}

for family in pt bts spe etm; do
	for k in 1 2 4; do
		lines $((k * FIRST)) | python3 "$SRC/tests/tools/aux_file.py" $family-$k $family ||
			fail "no file was made"
	done
	# all of the trace and all of the losses are there
	"$AUXTAP" decode --summary $family-4 >out 2>err
	grep -qx "bytes: $((4 * FIRST * 96))" out || fail "$family: $(cat out err)"
	nr=$("$AUXTAP" audit $family-4 | grep -oE '[0-9]+ truncated' | awk '{n += $1} END {print n}')
	[ "$nr" = $((8 * FIRST)) ] || fail "$family: audit counts $nr truncated records"
	grows_with $family decode --summary -j 1
done
grows_with pt audit
grows_with pt dump
finish
