#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# What the module stepped is what every decoder says: stock perf and auxtap record on the
# module, each of them decodes both files, and all four give the module's own log. With
# AUXTAP_LONG ls, gzip and python3 too (20 million instructions), and exceptions with the whole
# library. What is recorded in the guest is read outside.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# shellcheck source=tests/guest/readers
. "$SRC/tests/guest/readers"
fixtures=$(dirname "$BIN")/fixtures
rc=0
exact() { # LIST NR OPTION...: so many recordings; further options of run
	local nr=$2 status=0
	echo "$1" >"$work/list"
	shift 2
	"$SRC/tests/guest/run" --kernel "$KERNEL" --module -o "$work/out" --root "$work/root" \
		--file "$BIN/auxtap:/usr/bin/auxtap" --file "$SRC/tests/guest/in/reading.sh:/reading.sh" \
		--file "$work/list:/list" "$@" "$SRC/tests/guest/in/exact.sh" || status=$?
	[ $status -ne 77 ] || exit 77
	[ $status -eq 0 ] || rc=1
	cat "$work/out/exact.log" || true
	read_recordings "$nr" "$work/out" "$work/root"
	[ $readers_bad -eq 0 ] || rc=1
}
short=() nr=18
for program in true sort date; do
	short+=(--file "$(type -P $program)")
done
if [ -n "${AUXTAP_LONG:-}" ]; then
	head -c 3000 "$SRC/README.md" >"$work/text"
	short+=(--file "$(type -P ls)" --file "$(type -P gzip)" --file "$work/text:/text")
	nr=22
fi
exact short $nr "${short[@]}" --timeout 500 --file "$TESTS/guest_tf:/tf" \
	--file "$TESTS/guest_exceptions:/exceptions" --file "$fixtures/threads4:/threads4"
[ $rc = 0 ] && [ -n "${AUXTAP_LONG:-}" ] || exit $rc

python=$(readlink -f /usr/bin/python3)
library=/usr/lib/${python##*/}
mkdir -p "$work/library/lib-dynload" # the part of its library that it loads at start
cp -r "$library"/{os.py,encodings} "$work/library/"
exact long 4 --timeout 1500 --memory 3072 --file "$fixtures/exceptions:/exceptions" \
	--file "$python" --file "$work/library:$library"
exit $rc
