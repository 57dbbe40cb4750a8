#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Users who mean no good: refusals have the right errno; garbage in the control page, areas
# unmapped and events closed while trace is written, storms of opens and execs under it leave
# neither a word in the kernel's log nor memory behind; no sleeping task holds the module.
# AUXTAP_LONG: 10,000 rounds of each storm.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
files=()
[ -z "${AUXTAP_LONG:-}" ] || files+=(--file /dev/null:/long)
exec "$SRC/tests/guest/run" --kernel "$KERNEL" --module --timeout 500 -o "$work/out" \
	--file "$TESTS/guest_hostile:/hostile" --file "$TESTS/guest_storm:/storm" \
	--file "$TESTS/guest_tiny:/tiny" "${files[@]}" "$SRC/tests/guest/in/hostile.sh"
