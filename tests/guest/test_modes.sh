#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# The module with other uses than one whole program: whole CPUs, a running process, areas so small
# that they truncate, snapshots, late interrupts, probes in the traced code, 32-bit code, a task
# parked in a signal handler while the module is unloaded.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
exec "$SRC/tests/guest/run" --kernel "$KERNEL" --module --timeout 500 -o "$work/out" \
	--file "$BIN/auxtap:/usr/bin/auxtap" --file "$TESTS/compare_steps:/usr/bin/compare_steps" \
	--file "$TESTS/guest_pair:/pair" --file "$TESTS/guest_park:/park" --file "$TESTS/guest_code32:/code32" \
	--file "$(type -P true):/usr/bin/true" "$SRC/tests/guest/in/modes.sh"
