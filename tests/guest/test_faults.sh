#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# The faults of docs/watermark.md in the kernel module: the audit finds each fault of the PT unit,
# its interrupt or the kernel in a recording and the unit's own log, and nothing without a fault.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# shellcheck source=tests/guest/faults
. "$SRC/tests/guest/faults"
faults_auxtap=$BIN/auxtap
faults_orphan=$TESTS/guest_orphan
faults_options=(--may-warn "$faults_freed")
head -c 1000003 /dev/urandom >"$work/noise"
faults_run intel_pt intel_pt//u . "$work/noise" 'name=intel_pt fault_head_bits=18' <<'CASES'
clean none 4000000 1000000 0 128,16 16384 -
clean-skid none 4000000 1000000 200 128,16 16384 -
clean-full none 40000000 2000000 3000 128,8 16384 -
late interrupt-late 8000000 1000000 0 128,16 16384 interrupt-late
lost interrupt-lost 4000000 1000000 0 128,16 16384 interrupt-missing,missed-interrupt
doubled interrupt-doubled 4000000 1000000 0 128,16 16384 interrupt-doubled
page-off interrupt-page-off 4000000 1000000 0 128,16 16384 interrupt-late
stopping interrupt-while-stopping 4000000 1000000 0 128,16 16384 interrupt-stopped
past-limit past-limit 40000000 2000000 3000 128,8 16384 write-past-limit
stale stale-status 40000000 2000000 3000 128,8 16384 loss-unflagged,lost-with-space
flag-missing flag-missing 40000000 2000000 3000 128,8 16384 loss-unflagged
wrong-wrap wrong-wrap 4000000 1000000 200 128,16 4096 bytes-not-written
clean-skids none 4000000 1000000 20000 128,32 16384 missed-interrupt,!threshold-late
by-one wakeup-by-one 4000000 1000000 20000 128,32 16384 threshold-late
clean-snap none 4000000 1000000 0 128,16 4096:snapshot -
overwrite overwrite-watermark 4000000 1000000 0 128,16 4096:snapshot wakeup-overwrite
clean-stop none 4000000 8000000 0 128,8 16384:stop -
goes-on truncation-goes-on 4000000 8000000 0 128,8 16384:stop truncated-goes-on
disable disable-lost-on-cpu-0 4000000 8000000 0 128,8 16384:stop,cpu0 truncated-goes-on
partial partial-as-truncated 4000000 1000000 0 128,16 16384 flag-without-cause
head head-32-bit 4000000 1000000 0 128,16 16384 aux-order
clean-kill none 50000 40000000 0 128,1024 16384:killed file-unfinished,!freed-in-transaction
refcount refcount-first 50000 40000000 0 128,1024 16384:killed freed-in-transaction
CASES
exit $faults_bad
