#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Hostile users: refusals have the right errno; garbage in the control page, areas unmapped and
# events closed while trace is written, storms of opens and execs meanwhile cause neither a line in
# the kernel's log nor a leak; no sleeping task holds a reference to the module.
# AUXTAP_LONG: 10,000 rounds of each storm.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
files=()
[ -z "${AUXTAP_LONG:-}" ] || files+=(--file /dev/null:/long)
exec "$SRC/tests/guest/run" --kernel "$KERNEL" --module --timeout 500 -o "$work/out" \
	--file "$TESTS/guest_hostile:/hostile" --file "$TESTS/guest_storm:/storm" \
	--file "$TESTS/guest_tiny:/tiny" "${files[@]}" "$SRC/tests/guest/in/hostile.sh"
