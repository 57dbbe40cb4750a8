#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# The module with other uses than one whole program: whole CPUs, a running process, areas so small
# that they truncate, snapshots, late interrupts, probes in the traced code, 32-bit code, a task
# parked in a signal handler while the module is unloaded. What is recorded is read outside.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# shellcheck source=tests/guest/readers
. "$SRC/tests/guest/readers"
rc=0
"$SRC/tests/guest/run" --kernel "$KERNEL" --module --timeout 500 -o "$work/out" --root "$work/root" \
	--file "$BIN/auxtap:/usr/bin/auxtap" --file "$SRC/tests/guest/in/reading.sh:/reading.sh" \
	--file "$TESTS/guest_pair:/pair" --file "$TESTS/guest_park:/park" --file "$TESTS/guest_code32:/code32" \
	--file "$(type -P true):/usr/bin/true" "$SRC/tests/guest/in/modes.sh" || rc=$?
[ $rc -ne 77 ] || exit 77
read_recordings 14 "$work/out" "$work/root"
[ $rc -eq 0 ] && [ $readers_bad -eq 0 ]
