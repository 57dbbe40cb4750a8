#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# The zoo of docs/watermark.md in the kernel module: what the PT unit, its interrupt or the kernel gets
# wrong, the auditor finds in a recording and the unit's own log; and nothing where nothing is wrong.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# shellcheck source=tests/guest/zoo
. "$SRC/tests/guest/zoo"
zoo_auxtap=$BIN/auxtap
zoo_options=()
head -c 1000003 /dev/urandom >"$work/noise"
zoo_run intel_pt intel_pt//u . "$work/noise" name=intel_pt <<'CASES'
clean none 4000000 1000000 0 128,16 16384 -
clean-skid none 4000000 1000000 200 128,16 16384 -
clean-full none 40000000 2000000 3000 128,8 16384 -
late interrupt-late 8000000 1000000 0 128,16 16384 interrupt-late
lost interrupt-lost 4000000 1000000 0 128,16 16384 interrupt-missing,missed-interrupt
doubled interrupt-doubled 4000000 1000000 0 128,16 16384 interrupt-doubled
page-off interrupt-page-off 4000000 1000000 0 128,16 16384 interrupt-late
stopping interrupt-while-stopping 4000000 1000000 0 128,16 16384 interrupt-stopped
past-limit past-limit 40000000 2000000 3000 128,8 16384 write-past-limit
stale stale-status 40000000 2000000 3000 128,8 16384 loss-unflagged
flag-missing flag-missing 40000000 2000000 3000 128,8 16384 loss-unflagged
wrong-wrap wrong-wrap 4000000 1000000 200 128,16 4096 bytes-not-written
CASES
exit $zoo_bad
