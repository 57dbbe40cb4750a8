#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# AUX samples (section G): the newest trace in the records of another event, by stock perf and
# by a test program. What perf script decodes from a sample is a run of the module's own log of
# steps, up to the instruction at which the sample was taken.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
exec "$SRC/tests/guest/run" --kernel "$KERNEL" --module --timeout 300 -o "$work/out" \
	--file "$BIN/auxtap:/usr/bin/auxtap" --file "$TESTS/compare_samples:/usr/bin/compare_samples" \
	--file "$TESTS/guest_filtered:/fixed" --file "$TESTS/guest_aux_samples:/aux_samples" \
	"$SRC/tests/guest/in/samples.sh"
