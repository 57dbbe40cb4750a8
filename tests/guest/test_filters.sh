#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Address filters of stock perf record on the module: what perf script and auxtap decode say
# is the module's own log of steps, cut down to the ranges that the program itself names.
set -euo pipefail
type -P chrt >/dev/null || { echo 'guest: no chrt here (util-linux)' >&2; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
exec "$SRC/tests/guest/run" --kernel "$KERNEL" --module --timeout 400 -o "$work/out" \
	--file "$BIN/auxtap:/usr/bin/auxtap" --file "$TESTS/compare_steps:/usr/bin/compare_steps" \
	--file "$TESTS/select_steps:/usr/bin/select_steps" \
	--file "$TESTS/guest_filtered:/fixed" --file "$TESTS/guest_filtered_pie:/anywhere" \
	--file "$(type -P chrt):/usr/bin/chrt" "$SRC/tests/guest/in/filters.sh"
