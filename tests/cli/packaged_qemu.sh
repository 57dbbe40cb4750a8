# SPDX-License-Identifier: BSD-2-Clause
# Runs a test (first argument) under the distribution's qemu where another one is found first.
engine() { "$BIN/auxtap-emu" engines | awk -F '\t' '$1 == "x86_64" { print $2, $3 }'; }
first=$(engine)
export AUXTAP_QEMU=/usr/bin
packaged=$(engine)
case $packaged in
*" /usr/bin/"*) ;;
*) echo "SKIP: no qemu in /usr/bin that loads plugins"; exit 77 ;;
esac
[ "$packaged" != "$first" ] || { echo "SKIP: qemu $packaged is what all other tests run under"; exit 77; }
echo "under qemu $packaged"
export AUXTAP_TEST_PACKAGED=1 # what runs without qemu is not repeated
exec bash "$1"
