#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Random mutations of real recordings with trace, and of event logs (alone, and compared with the
# recording of that unit), through the auditor: no crash, no hang, no growth.
set -u
here=$(dirname "$0")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export AUXTAP_FUZZ_RECORDING=$work/pt.data
python3 "$here/../tools/aux_file.py" "$AUXTAP_FUZZ_RECORDING" pt 16384 \
	<"$here/../cli/audit/pt.txt" || exit 1
traces=${AUXTAP_TRACES:-${AUXTAP_TRACES_DEFAULT:-}}
# with a reader's wakeup log in the metadata
python3 "$here/../tools/aux_file.py" "$work/waits.data" pt 4096 <<'EOF' || exit 1
reader 65536 16384 4096
wait 4200 0 100 1
wait 8200 4200 200 0
wait 9000 8200 8193 3
wait 16384 16384 8500 4
aux 0 100 0 16384
trace 0 0 16384
EOF
shopt -s nullglob
files=("$traces"/{intel-pt-perfdata,coresight-perfdata}/*/perf.data "$here"/../cli/audit/*.csv "$work/waits.data")
if [ ${#files[@]} -lt 8 ]; then
	echo "skipped: no real traces in '$traces' (set AUXTAP_TRACES)"
	exit 77
fi
"$MUTATE" "${AUXTAP_MUTATIONS:-2000}" "${AUXTAP_SEED:-1}" "${files[@]}"
