#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Bytes replayed through the module arrive in the files of stock perf and of auxtap: every
# one, or the file says where it is missing.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
exec "$SRC/tests/guest/run" --kernel "$KERNEL" --module --timeout 300 -o "$work/out" \
	--file "$BIN/auxtap:/usr/bin/auxtap" --file "$TESTS/guest_replay_spin:/usr/bin/replay_spin" \
	--file "$TESTS/guest_check_replay:/usr/bin/check_replay" "$SRC/tests/guest/in/replay.sh"
