#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# What the module stepped is what every decoder says: stock perf and auxtap record on the
# module, each of them decodes both files, and all four give the module's own log.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
files=()
for program in true ls sort gzip date; do
	files+=(--file "$(type -P $program)")
done
[ -z "${AUXTAP_LONG:-}" ] || files+=(--file /dev/null:/long)
fixtures=$(dirname "$BIN")/fixtures
exec "$SRC/tests/guest/run" --kernel "$KERNEL" --module --timeout 500 -o "$work/out" \
	--file "$BIN/auxtap:/usr/bin/auxtap" --file "$TESTS/compare_steps:/usr/bin/compare_steps" \
	--file "$TESTS/guest_tf:/tf" --file "$fixtures/exceptions:/exceptions" \
	--file "$fixtures/threads4:/threads4" "${files[@]}" "$SRC/tests/guest/in/exact.sh"
