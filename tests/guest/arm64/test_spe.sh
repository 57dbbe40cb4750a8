#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# arm_spe_0 by our driver in a distribution's arm64 kernel, stock perf of arm64 as its client: the
# records that the unit replays arrive, all of them or as many as its counts say; perf script and
# auxtap decode list the same samples.
set -euo pipefail
export ARCH=arm64
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
auxtap=$BIN/auxtap
cd "$work"
bad=0
complain() {
	echo "test_spe: $*" >&2
	bad=1
}

# 40 bytes each: PC, latency, events, a load, its address, translation latency, source, time
RECORD=40
python3 - <<'EOF' >records
import struct, sys
out = sys.stdout.buffer
for i in range(25000):
	out.write(b'\xb0' + struct.pack('<Q', 0x400000 + 4 * i) +
		  b'\x99' + struct.pack('<H', 10 + i % 1000) +
		  b'\x52' + struct.pack('<H', 0x2 | (i & 1) << 2 | (i & 2) << 2) + b'\x49\x00' +
		  b'\xb2' + struct.pack('<Q', 0xffff80000000 + 64 * i) +
		  b'\x9a' + struct.pack('<H', i % 100) + b'\x43' + bytes([i % 7]) +
		  b'\x71' + struct.pack('<Q', 1000000 + 100 * i))
EOF
files=()
cross=$SRC/build/aarch64/bin/auxtap
if [ -x "$cross" ]; then
	files+=(--file "$cross:/usr/bin/auxtap")
else
	echo "without auxtap as recorder: no $cross (cmake --preset aarch64)"
fi
aarch64-linux-gnu-gcc -D_GNU_SOURCE -static -O1 -Wall -Wextra -Werror -o vectors "$SRC/tests/guest/arm64/programs/vectors.c"
files+=(--file "$work/vectors:/vectors" --file "$SRC/tests/guest/in/replaying.sh:/replaying.sh")
rc=0
"$SRC/tests/guest/run" --kernel "$KERNEL" --module --timeout 500 --file "$work/records:/records" "${files[@]}" \
	-o out "$SRC/tests/guest/in/spe.sh" || rc=$?
[ $rc = 0 ] || exit $rc
cat out/spe.log

# the order of samples of equal time, and of two CPUs, is not defined
"$auxtap" decode --raw spe --events mem -F ip,addr,lat_total records | sort >all
[ "$(sort -u all | wc -l)" = 25000 ] || complain "the records are $(sort -u all | wc -l), not 25000"
check() { # NAME, expected kind of result
	local data=out/$1.data written dropped samples

	written=$(awk '{s += $6} END {print s}' "out/$1.counts")
	dropped=$(awk '{s += $8} END {print s}' "out/$1.counts")
	"$auxtap" audit --page 4K "$data" >audit || complain "$1: audit: $(sed -n '/^VIOLATION/,+2p' audit)"
	# stock perf's list is ours; threads are left out: the replayed times are not the guest's
	awk '{gsub(/[][]/, ""); sub(/:$/, "", $3); print $2 + 0, $3, $5}' "out/$1.insn" |
		sort >perf.insn
	"$auxtap" decode --events insn -F cpu,time,ip "$data" |
		awk '{sub(/:$/, "", $2); print $1, $2, $3}' | sort >our.insn
	cmp perf.insn our.insn || complain "$1: perf script and auxtap list different samples: $(diff perf.insn our.insn | head -n 3)"
	awk '$4 == "memory:" || $4 == "l1d-access:" {
		gsub(/[][]/, ""); sub(/:$/, "", $3); print $3, $6, $5
	}' "out/$1.mem" |
		sort -u >perf.mem
	"$auxtap" decode --events mem -F time,ip,addr "$data" |
		awk '{sub(/:$/, "", $1); print $1, $2, $4}' | sort -u >our.mem
	[ -s our.mem ] && cmp perf.mem our.mem || complain "$1: other accesses: $(diff perf.mem our.mem | head -n 3)"
	# each record that the unit wrote, none else
	samples=$(wc -l <our.insn)
	[ "$2" = snapshot ] || [ $((samples * RECORD)) = "$written" ] ||
		complain "$1: $samples samples, $((written / RECORD)) were written"
	"$auxtap" decode --events mem -F ip,addr,lat_total "$data" | sort -u >got
	comm -23 got all >foreign
	[ ! -s foreign ] || complain "$1: samples that were not replayed: $(head -n 3 foreign)"
	case $2 in
	whole) [ "$dropped" = 0 ] && [ "$samples" = 25000 ] && cmp <(sort -u all) got || complain "$1: $samples samples, $dropped bytes dropped" ;;
	counted) # what is not there was dropped, and counted
		[ $((samples * RECORD + dropped)) = $((25000 * RECORD)) ] ||
			complain "$1: $samples samples, $dropped bytes dropped"
		;;
	lossy) [ "$dropped" -gt 0 ] && [ "$samples" -gt 1000 ] || complain "$1: $samples samples, $dropped bytes dropped" ;;
	snapshot) # contiguous, of half an area at least (64 bytes for a record)
		local ends
		ends=$("$auxtap" decode --events insn -F ip "$data" | sort | sed -n '1p;$p' |
			paste -sd' ')
		# shellcheck disable=SC2086 # first and last
		set -- "$1" "$2" $ends
		[ $(((0x$4 - 0x$3) / 4 + 1)) = "$samples" ] &&
			[ "$samples" -ge $((${1#snap} * 32)) ] &&
			[ "$samples" -le $((${1#snap} * 64)) ] || complain "$1: $samples samples from $3 to $4"
		;;
	truncated)
		[ "$("$auxtap" decode --events gap "$data" | grep -c truncated)" -gt 0 ] ||
			complain "$1: no gap" ;;
	esac
	echo "$1: $samples samples, $dropped bytes dropped, $(wc -l <perf.mem) accesses by perf, $(wc -l <our.mem) by us"
}
check full whole
check inuse whole
check skid0 lossy
check skid1 lossy
check fast truncated
check wide any
check snap4 snapshot
check snap16 snapshot
[ ! -x "$cross" ] || check ours whole
flags() {
	python3 "$SRC/tests/tools/aux_bytes.py" "out/$1.data" records | awk '{print $4}' | sort -u |
		paste -sd' '
}
for name in spurious collide; do
	check $name whole
done
# whether a sample is due before the interrupt is served is a matter of time
check stage1 counted
check abort counted
check dl any
[ "$(flags spurious)" = 0x0 ] || complain "spurious: flags $(flags spurious)"
case " $(flags collide) " in
*' 0x8 '*) ;;
*) complain "collide: no COLLISION: $(flags collide)" ;;
esac
# I10: TRUNCATED and PARTIAL for a cut record, nothing for faults but the kernel's log
case " $(flags dl) " in *' 0x5 '*) ;; *) complain "dl: no TRUNCATED|PARTIAL: $(flags dl)" ;; esac
for name in stage1 abort; do
	[ "$(flags $name)" = 0x0 ] || complain "$name: flags $(flags $name)"
done
[ "$(grep -c 'arm_spe: CPU 1: status' out/dmesg)" = 2 ] || complain "the kernel's log: $(grep arm_spe out/dmesg)"
# I4: watermarks of whole pages: the unit stops at them, to the byte (its last bytes there are
# padding)
"$auxtap" audit --page 4K --aux-size 256K out/wide.data >audit &&
	grep -q 'bytes past the watermark: none [1-9][0-9]*$' audit || complain "wide: audit: $(cat audit)"
exit $bad
