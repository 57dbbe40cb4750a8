#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# As tests/guest/test_faults.sh, for the units of an arm64 machine: SPE, and a TRBE.
set -euo pipefail
export ARCH=arm64
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# shellcheck source=tests/guest/faults
. "$SRC/tests/guest/faults"
faults_auxtap=$SRC/build/aarch64/bin/auxtap
[ -x "$faults_auxtap" ] || {
	echo "no recorder for arm64: $faults_auxtap (cmake --preset aarch64)"
	exit 77
}
faults_orphan=$work/orphan
aarch64-linux-gnu-gcc -D_GNU_SOURCE -static -O1 -Wall -Wextra -Werror -o "$faults_orphan" "$SRC/tests/guest/programs/orphan.c"
faults_options=(--may-warn "$faults_freed")
# records of 40 bytes: PC, a load, its address, time
python3 -c '
import struct, sys
for i in range(25000):
	sys.stdout.buffer.write(b"\xb0" + struct.pack("<Q", 0x400000 + 4 * i) + b"\x49\x00" +
		b"\xb2" + struct.pack("<Q", 0xffff80000000 + 64 * i) + b"\x00" * 11 +
		b"\x71" + struct.pack("<Q", 1000000 + 100 * i))' >"$work/records"
head -c 1000003 /dev/urandom >"$work/noise"
faults_run arm_spe arm_spe_0/ts_enable=1/u spe "$work/records" fault_head_bits=18 <<'CASES'
clean none 2000000 500000 0 128,16 16384 -
clean-skid none 2000000 500000 200 128,16 16384 -
clean-full none 20000000 1000000 3000 128,8 16384 -
late interrupt-late 4000000 500000 0 128,16 16384 interrupt-late
lost interrupt-lost 2000000 500000 0 128,16 16384 interrupt-missing
doubled interrupt-doubled 2000000 500000 0 128,16 16384 interrupt-doubled
page-off interrupt-page-off 2000000 500000 0 128,16 16384 interrupt-late
stopping interrupt-while-stopping 2000000 500000 0 128,16 16384 interrupt-stopped
past-limit past-limit 20000000 1000000 3000 128,8 8192 write-past-limit,past-limit
stale stale-status 20000000 1000000 3000 128,8 16384 lost-with-space
padding padding-missing 20000000 1000000 3000 128,8 6000 padding-missing
clean-snap none 2000000 500000 0 128,16 4096:snapshot -
overwrite overwrite-watermark 2000000 500000 0 128,16 4096:snapshot wakeup-overwrite
clean-stop none 2000000 2000000 0 128,8 16384:stop -
goes-on truncation-goes-on 2000000 2000000 0 128,8 16384:stop truncated-goes-on
disable disable-lost-on-cpu-0 2000000 2000000 0 128,8 16384:stop,cpu0 truncated-goes-on
head head-32-bit 2000000 500000 0 128,16 16384 aux-order
clean-odd none 2000000 500000 0 128,16 1000 -
by-one wakeup-by-one 2000000 500000 0 128,16 1000 threshold-late
skip skip-without-wakeup 2000000 500000 0 128,16 1000 wakeup-not-sent
clean-kill none 50000 40000000 0 128,1024 16384:killed file-unfinished,!freed-in-transaction
refcount refcount-first 50000 40000000 0 128,1024 16384:killed freed-in-transaction
CASES
# the driver finds an end before its start, and warns
faults_options=(--may-warn "trbe_get_trace_size|$faults_freed")
faults_run trbe cs_etm//u trbe "$work/noise" fault_head_bits=18 <<'CASES'
clean none 4000000 1000000 0 128,16 16384 -
clean-skid none 4000000 1000000 200 128,16 16384 -
clean-full none 40000000 2000000 3000 128,8 16384 -
late interrupt-late 8000000 1000000 0 128,16 16384 interrupt-late
lost interrupt-lost 4000000 1000000 0 128,16 16384 interrupt-missing
doubled interrupt-doubled 4000000 1000000 0 128,16 16384 interrupt-doubled
page-off interrupt-page-off 4000000 1000000 0 128,16 16384 interrupt-late
stopping interrupt-while-stopping 4000000 1000000 0 128,16 16384 interrupt-stopped
past-limit past-limit 40000000 2000000 3000 128,8 8192 write-past-limit,past-limit
stale stale-status 40000000 2000000 3000 128,8 16384 lost-with-space
padding padding-missing 40000000 2000000 3000 128,8 6000 padding-missing
flag-missing flag-missing 4000000 1000000 200 128,16 16384 unit-bytes-unrecorded
wrong-wrap wrong-wrap 4000000 1000000 200 128,16 16384 unit-bytes-unrecorded
clean-snap none 4000000 1000000 0 128,16 4096:snapshot -
overwrite overwrite-watermark 4000000 1000000 0 128,16 4096:snapshot wakeup-overwrite
clean-stop none 4000000 8000000 0 128,8 16384:stop -
goes-on truncation-goes-on 4000000 8000000 0 128,8 16384:stop truncated-goes-on
disable disable-lost-on-cpu-0 4000000 8000000 0 128,8 16384:stop,cpu0 truncated-goes-on
head head-32-bit 4000000 1000000 0 128,16 16384 aux-order
clean-odd none 4000000 1000000 0 128,16 1000 -
by-one wakeup-by-one 4000000 1000000 0 128,16 1000 threshold-late
skip skip-without-wakeup 4000000 1000000 0 128,16 1000 wakeup-not-sent
clean-kill none 50000 40000000 0 128,1024 16384:killed file-unfinished,!freed-in-transaction
refcount refcount-first 50000 40000000 0 128,1024 16384:killed freed-in-transaction
CASES
exit $faults_bad
