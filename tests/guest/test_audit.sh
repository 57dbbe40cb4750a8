#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# The audit of recordings by stock perf and by auxtap with the module, under a real kernel: clean
# without a fault, and the fault by its name if the unit's interrupt comes late.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$SRC/tests/guest/run" --kernel "$KERNEL" --module --timeout 500 -o "$work/out" \
	--file "$BIN/auxtap:/usr/bin/auxtap" "$SRC/tests/guest/in/audit.sh"
cd "$work/out"
bad=0
complain() {
	echo "audit: $*"
	bad=1
}
says() { # NAME STATUS OPTION...: in the file 'text'
	local name=$1 status=$2 got=0
	"$BIN/auxtap" audit "${@:3}" "$name.data" >text || got=$?
	[ "$got" = "$status" ] || complain "$name: status $got: $(cat text)"
}
has() { grep -q "$1" text || complain "$name: no '$1': $(cat text)"; }
for name in perf perf-cpus auxtap; do
	says $name 0 --aux-size 256K --max-skid 200
	has 'past a watermark'
	has 'bytes past the watermark'
done
name=odd
says odd 0 --aux-size 256K
has 'note odd-watermark'
name=snapshot
says snapshot 0
has '(overwrite)'
name=full
says full 0 --aux-size 8K
has 'known loss truncated'
name=late
says late 0 --aux-size 256K
says late 1 --aux-size 256K --max-skid 200
has 'VIOLATION late-interrupt'
name=missed
says missed 1 --aux-size 256K
has 'VIOLATION missed-interrupt'
exit $bad
