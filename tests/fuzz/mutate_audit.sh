#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Random mutations of real recordings with trace, and of an event log, through the auditor: no
# crash, no hang, no growth.
set -u
traces=${AUXTAP_TRACES:-${AUXTAP_TRACES_DEFAULT:-}}
shopt -s nullglob
files=("$traces"/{intel-pt-perfdata,coresight-perfdata}/*/perf.data "$(dirname "$0")"/../cli/audit/*.csv)
if [ ${#files[@]} -lt 8 ]; then
	echo "skipped: no real traces in '$traces' (set AUXTAP_TRACES)"
	exit 77
fi
exec "$MUTATE" "${AUXTAP_MUTATIONS:-2000}" "${AUXTAP_SEED:-1}" "${files[@]}"
