#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Address filters of stock perf record on the module: what perf script and auxtap decode say
# is the module's own log of steps, cut down to the ranges that the program itself names.
set -euo pipefail
type -P chrt >/dev/null || { echo 'guest: no chrt here (util-linux)' >&2; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# shellcheck source=tests/guest/readers
. "$SRC/tests/guest/readers"
rc=0
"$SRC/tests/guest/run" --kernel "$KERNEL" --module --timeout 400 -o "$work/out" --root "$work/root" \
	--file "$BIN/auxtap:/usr/bin/auxtap" --file "$SRC/tests/guest/in/reading.sh:/reading.sh" \
	--file "$TESTS/select_steps:/usr/bin/select_steps" \
	--file "$TESTS/guest_filtered:/fixed" --file "$TESTS/guest_filtered_pie:/anywhere" \
	--file "$(type -P chrt):/usr/bin/chrt" "$SRC/tests/guest/in/filters.sh" || rc=$?
[ $rc -ne 77 ] || exit 77
read_recordings 8 "$work/out" "$work/root"
[ $rc -eq 0 ] && [ $readers_bad -eq 0 ]
