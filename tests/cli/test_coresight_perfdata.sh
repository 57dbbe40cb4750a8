#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# cs_etm files of real hardware: every byte that an AUX record covers is listed as packets of the
# CPU's trace ID, and decode reports what it lacks: images, trace that is not in the file,
# truncation.
source "$(dirname "$0")/lib.sh"
traces=$AUXTAP_TRACES/coresight-perfdata
[ -d "$traces" ] || skip "no real traces in '$AUXTAP_TRACES' (set AUXTAP_TRACES)"

# packets CASE NUMBER: none of them an error, or not synchronised if the trace starts with a sync
packets() {
	"$AUXTAP" dump "$traces/$1/perf.data" >"$WORK/$1.dump" 2>"$WORK/err" ||
		fail "$1: dump: $(cat "$WORK/err")"
	local nr
	nr=$(grep -c '^[0-9a-f]\{8,\}  [0-9a-f][0-9a-f]  [0-9a-f]' "$WORK/$1.dump")
	[ "$nr" = "$2" ] || fail "$1: $nr packets, expected $2"
	grep -q '  error  ' "$WORK/$1.dump" && fail "$1: $(grep '  error  ' "$WORK/$1.dump" | head -1)"
}

has() { grep -qF -- "$2" "$WORK/$1" || fail "$1 lacks '$2'"; }

packets etm-loop-v1 27
packets ete-loop-raw-v1 21
packets etm-kernel-v1 23806
packets etm-kernel-v0 7629
packets etm-loop-v0-4cpu 351907
packets etm-missing-aux 0

# four AUX records share one AUXTRACE; raw trace is cut to its 76 bytes, without the padding
[ "$(grep -c '^  AUX 0x.*, frames, CPU 7' "$WORK/etm-loop-v1.dump")" = 4 ] || fail "etm-loop-v1: AUX records"
has ete-loop-raw-v1.dump '  AUX 0x0 +0x4c, raw, CPU 0'
has ete-loop-raw-v1.dump 'Addr=0x000000629B293000; Ctxt: AArch64,EL0, NS; VMID=0x013f'
grep -q '^0000004[cdef]' "$WORK/ete-loop-raw-v1.dump" && fail "ete-loop-raw-v1: padding is listed as trace"

decode() {
	"$AUXTAP" decode --format csv -F tid,cpu,time,event,ip,addr "$traces/$1/perf.data" \
		>"$WORK/$1" 2>"$WORK/err" ||
		fail "$1: decode: $(cat "$WORK/err")"
	"$AUXTAP" decode --summary "$traces/$1/perf.data" >"$WORK/sum" 2>/dev/null
}

# the thread is the one that the unit traced as the context (VMID 0x13f is 319)
decode ete-loop-raw-v1
has ete-loop-raw-v1 '319,0,1667.196293520,trace_on,,0x629b293000'
has ete-loop-raw-v1 'no image /data/local/tmp/etm_test_loop for 629b293000'
has sum 'bytes: 76'
decode etm-loop-v1
has etm-loop-v1 '17235,7,1118.693749982,trace_on,,0x582b2b1000'
has sum 'bytes: 384'
decode etm-kernel-v1
grep -q 'truncated' "$WORK/etm-kernel-v1" || fail "etm-kernel-v1: no gap for the truncated AUX record"
decode etm-loop-v0-4cpu
# CPU 3's 80 bytes contain only a sync
cpus=$(cut -d, -f2 "$WORK/etm-loop-v0-4cpu" | sed 1d | sort -u | tr '\n' ' ')
[ "$cpus" = "0 2 4 " ] || fail "etm-loop-v0-4cpu: flow of CPUs $cpus"

# AUX records without their trace: a gap each, with its exact bytes
decode etm-missing-aux
for size in 683968 358512 478768 14000; do
	"$AUXTAP" decode "$traces/etm-missing-aux/perf.data" |
		grep -q "gap: unknown, $size bytes lost: not in the file" ||
		fail "etm-missing-aux: no gap of $size bytes"
done
has sum 'gaps: 6'
finish
