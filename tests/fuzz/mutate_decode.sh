#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Random mutations of real Intel PT, raw and in perf.data, through the decoder: no crash, no hang,
# no growth.
set -u
traces=${AUXTAP_TRACES:-${AUXTAP_TRACES_DEFAULT:-}}
shopt -s nullglob
files=("$traces"/intel-pt/*/{pt.bin,*.trace} "$traces"/intel-pt-perfdata/*/perf.data)
if [ ${#files[@]} -lt 6 ]; then
	echo "skipped: no real traces in '$traces' (set AUXTAP_TRACES)"
	exit 77
fi
count=2000
grep -q __asan_init "$MUTATE" && count=500
exec "$MUTATE" "${AUXTAP_MUTATIONS:-$count}" "${AUXTAP_SEED:-1}" "${files[@]}"
