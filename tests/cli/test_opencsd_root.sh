#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# The build with another OpenCSD, installed under AUXTAP_OPENCSD_ROOT (no distribution has 1.8):
# that version decodes, and the traces that it supports decode without a gap.
. "$(dirname "$0")/lib.sh"
root=${AUXTAP_OPENCSD_ROOT:-}
[ -n "$root" ] || skip "no other OpenCSD (set AUXTAP_OPENCSD_ROOT to its prefix)"
[ -e "$root/include/opencsd/c_api/opencsd_c_api.h" ] || fail "no OpenCSD in '$root'"
ours=$(sed -n 's/.*OCSD_VER_STRING "\([0-9.]*\)".*/\1/p' "$root/include/opencsd/ocsd_if_version.h")

cmake -S "$SRC" -B "$WORK/build" -DCMAKE_BUILD_TYPE=Release -DBUILD_TESTING=OFF \
	-DOPENCSD_ROOT="$root" >log 2>&1 &&
	cmake --build "$WORK/build" --target auxtap -j 2 >log 2>&1 || {
	tail -n 20 log; fail "it does not build with OpenCSD $ours"; finish; }
built=$WORK/build/bin/auxtap
[ "$("$built" list | sed -n 's/.*OpenCSD \([0-9.]*\).*/\1/p')" = "$ours" ] ||
	fail "it decodes with another library: $("$built" list | grep decoders)"
ln -sfn "$TOOLS" "$WORK/build/tests"
for script in test_opencsd_limits test_decode_snapshot test_raw_etm; do
	BIN=$WORK/build/bin SRC=$SRC AUXTAP_TRACES=$AUXTAP_TRACES bash "$SRC/tests/cli/$script.sh" \
		>out 2>&1
	status=$?
	[ $status = 0 ] || [ $status = 77 ] || fail "$script: $(tail -n 5 out)"
	echo "$script: $(tail -n 1 out)"
done
finish
