#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Random mutations of real recordings through reader and listing: no crash, no hang, no growth.
set -u
traces=${AUXTAP_TRACES:-${AUXTAP_TRACES_DEFAULT:-}}
shopt -s nullglob
files=("$traces"/{perfdata,intel-pt-perfdata,coresight-perfdata}/*/perf.data)
if [ ${#files[@]} -lt 40 ]; then
	echo "skipped: no real traces in '$traces' (set AUXTAP_TRACES)"
	exit 77
fi
exec "$MUTATE" "${AUXTAP_MUTATIONS:-2000}" "${AUXTAP_SEED:-1}" "${files[@]}"
