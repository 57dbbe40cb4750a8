#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# 'auxtap watermark live' through the real kernel: every AUX record of hundreds of watermarks and
# areas is at the position that the model predicts, and that a simulation without knowledge of the
# real run has.
# ARCH=arm64: SPE and TRBE.
set -euo pipefail
arch=${ARCH:-amd64}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
auxtap=$BIN/auxtap
[ "$arch" = amd64 ] || auxtap=$SRC/build/aarch64/bin/auxtap
[ -x "$auxtap" ] || { echo "no $auxtap (cmake --preset aarch64)"; exit 77; }
case $KERNEL in 6.1) rules=6.1.192 ;; *) rules=6.12.95 ;; esac
head -c 1000003 /dev/urandom >trace.pt
cp trace.pt trace.trbe
# records of 40 bytes: address, latency, events, a load's address, source, time
python3 - >trace.spe <<'PY'
import struct, sys
for i in range(5000):
	sys.stdout.buffer.write(
		b'\xb0' + struct.pack('<Q', 0x400000 + 4 * i) +
		b'\x99' + struct.pack('<H', 10 + i % 1000) +
		b'\x52\x02\x00\x49\x00\xb2' + struct.pack('<Q', 0xffff80000000 + 64 * i) +
		b'\x9a' + struct.pack('<H', i % 100) +
		b'\x43\x01\x71' + struct.pack('<Q', 1000000 + 100 * i))
PY
files=()
for unit in pt spe trbe; do files+=(--file "$work/trace.$unit:/trace.$unit"); done
[ -z "${AUXTAP_LONG:-}" ] || files+=(--file /dev/null:/long)
rc=0
"$SRC/tests/guest/run" --kernel "$KERNEL" --module --timeout 500 -o out "${files[@]}" \
	--file "$auxtap:/usr/bin/auxtap" "$SRC/tests/guest/in/live.sh" || rc=$?
cat out/live.log 2>/dev/null || true
[ $rc = 0 ] || exit $rc
bad=0
complain() {
	echo "live: $*"
	bad=1
}
nr=0
count() { # how many a run says it did
	sed -n 's/^\([0-9]*\) configurations, .*all as the model expects$/\1/p' "out/$1.out"
}
against_sim() { # UNIT DRIVER RECORD
	grep -q '^ .*prompt  *64  *0' "out/$1-prompt.out" || complain "$(cat "out/$1-prompt.out")"
	python3 "$SRC/tests/tools/live_against_sim.py" "$BIN/auxtap" "$2" "$rules" "$3" \
		"out/$1-full.out" >sim ||
		complain "$1: $(head -n 20 sim)"
	echo "$1: prompt reader $(count "$1-prompt"), full area: sim agrees with $(tail -n 1 sim)"
	nr=$((nr + $(count "$1-prompt") + $(sed -n '$s/ of .*//p' sim)))
}
if [ "$arch" = amd64 ]; then
	against_sim pt intel_pt 1
	grep -q '  300$' out/pt-skid.out || complain "$(cat out/pt-skid.out)"
	grep -q '300 bytes past where its interrupt was due; allowed are 299' out/pt-late.out ||
		complain "a late interrupt: $(cat out/pt-late.out)"
else
	against_sim spe arm_spe 40
	against_sim trbe trbe 1
fi
echo "$nr configurations agree"
[ $nr -ge 500 ] || complain "only $nr configurations"
exit $bad
