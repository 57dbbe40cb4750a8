#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Random mutations of real CoreSight captures, snapshots and perf.data, through decoder and listing.
set -u
traces=${AUXTAP_TRACES:-${AUXTAP_TRACES_DEFAULT:-}}
if [ ! -d "$traces/coresight-snapshot" ]; then
	echo "skipped: no real traces in '$traces' (set AUXTAP_TRACES)"
	exit 77
fi
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT

# A snapshot's .ini files and the first bytes of its trace; its memory is the target's own.
pack() {
	printf 'CSSNAP\n'
	for file in "$1"/*.ini; do
		# the decoder reads none of a core's hundreds of registers
		sed '/^\[regs\]/,/^\[/{/^[A-Z].*=/{/^TRC\|^ETM\|^STM/!d}}' "$file" >"$work/ini"
		printf '%s %d\n' "$(basename "$file")" "$(stat -c %s "$work/ini")"
		cat "$work/ini"
	done
	sed -n 's/^file=//p' "$1/trace.ini" | tr -d '\r' | while read -r file; do
		head -c 6000 "$1/$file" >"$work/trace"
		printf '%s %d\n' "$file" "$(stat -c %s "$work/trace")"
		cat "$work/trace"
	done
}

files=()
for name in coresight-snapshot/{a57_single_step,a55-test-tpiu,Snowball,TC2,armv8_1m_branches} \
	coresight-snapshot/{juno_r1_1,stm_only,tc2-ptm-rstk-t32} \
	ete-snapshot/{002-ack_test_scr,event_test,tme_simple,trace_file_cid_vmid,ete_ip} \
	ete-snapshot/src_addr; do
	pack "$traces/$name" >"$work/${name//\//-}.cs"
	files+=("$work/${name//\//-}.cs")
done
for name in etm-loop-v1 ete-loop-raw-v1 etm-missing-aux; do
	files+=("$traces/coresight-perfdata/$name/perf.data")
done
count=2000
grep -q __asan_init "$MUTATE" && count=500
"$MUTATE" "${AUXTAP_MUTATIONS:-$count}" "${AUXTAP_SEED:-1}" "${files[@]}"
