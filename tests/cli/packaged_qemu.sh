# SPDX-License-Identifier: BSD-2-Clause
# Runs a test (first argument) under the distribution's qemu if auxtap finds another one first.
engine() { "$BIN/auxtap-emu" engines | awk -F '\t' '$1 == "x86_64" { print $2, $3 }'; }
first=$(engine)
export AUXTAP_QEMU=/usr/bin
packaged=$(engine)
case $packaged in
*" /usr/bin/"*) ;;
*) echo "SKIP: no qemu in /usr/bin that loads plugins"; exit 77 ;;
esac
[ "$packaged" != "$first" ] || { echo "SKIP: all other tests run under qemu $packaged"; exit 77; }
echo "under qemu $packaged"
export AUXTAP_TEST_PACKAGED=1 # parts that run without qemu are not repeated
exec bash "$1"
