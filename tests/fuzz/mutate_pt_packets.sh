#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Random mutations of real Intel PT streams through the packet decoder.
set -u
traces=${AUXTAP_TRACES:-${AUXTAP_TRACES_DEFAULT:-}}
shopt -s nullglob
files=("$traces"/intel-pt/*/{pt.bin,*.trace})
if [ ${#files[@]} -lt 6 ]; then
	echo "skipped: no real traces in '$traces' (set AUXTAP_TRACES)"
	exit 77
fi
exec "$MUTATE" "${AUXTAP_MUTATIONS:-2000}" "${AUXTAP_SEED:-1}" "${files[@]}"
