#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Bytes replayed through the module arrive in the files of stock perf and of auxtap: every
# one, or the file records where bytes are missing. Bytes that real hardware wrote, too, if there
# are any (AUXTAP_TRACES).
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
real=${AUXTAP_TRACES:-${AUXTAP_TRACES_DEFAULT:-}}/intel-pt/static-hello/pt.bin
files=()
if [ -s "$real" ]; then
	files+=(--file "$real:/real")
else
	echo "without real hardware's bytes: no $real (set AUXTAP_TRACES)"
fi
exec "$SRC/tests/guest/run" --kernel "$KERNEL" --module --timeout 300 "${files[@]}" -o "$work/out" \
	--file "$BIN/auxtap:/usr/bin/auxtap" --file "$TESTS/guest_replay_spin:/usr/bin/replay_spin" \
	--file "$TESTS/guest_check_replay:/usr/bin/check_replay" "$SRC/tests/guest/in/replay.sh"
