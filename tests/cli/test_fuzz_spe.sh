#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Random mutations of Arm SPE: of files like perf's, through dump, decode and report, and of raw
# streams. AUXTAP_LONG=1: 10,000 of each. AUXTAP_MUTATIONS and AUXTAP_SEED set them.
. "$(dirname "$0")/lib.sh"
[ -x "$TOOLS/mutate_spe" ] || skip "the mutation runner is not built"
count=600
[ -n "${AUXTAP_LONG:-}" ] && count=10000
count=${AUXTAP_MUTATIONS:-$count}
for kind in plain cut again midr; do
	"$TOOLS/spe_file" $kind.data 60 1 $kind || fail "no file $kind"
done
"$TOOLS/mutate_whole" "$count" "${AUXTAP_SEED:-1}" ./*.data >log 2>&1 || fail "files: $(tail -n 60 log)"
tail -n 1 log

# the records of a file as a raw stream; and real ones
"$TOOLS/spe_file" bare.bin 60 2 bare || fail 'no raw stream'
streams=(bare.bin)
[ ! -d "$AUXTAP_TRACES/arm-spe" ] || streams+=("$AUXTAP_TRACES"/arm-spe/*/spe.bin)
"$TOOLS/mutate_spe" "$count" "${AUXTAP_SEED:-1}" "${streams[@]}" >log 2>&1 || fail "bare: $(tail -n 60 log)"
tail -n 1 log
finish
