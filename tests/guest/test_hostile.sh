#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Users who mean no good: refusals have the right errno; garbage in the control page, areas
# unmapped and events closed while trace is written, tasks that fork and exec under it leave
# neither a word in the kernel's log nor memory behind.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
exec "$SRC/tests/guest/run" --kernel "$KERNEL" --module --timeout 500 -o "$work/out" \
	--file "$TESTS/guest_hostile:/hostile" "$SRC/tests/guest/in/hostile.sh"
