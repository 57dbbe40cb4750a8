#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# What the module stepped is what every decoder says: stock perf and auxtap record on the
# module, each of them decodes both files, and all four give the module's own log. With
# AUXTAP_LONG ls, gzip and python3 too (20 million instructions), and exceptions with the whole
# library: python3 and exceptions are recorded in the guest, read here by the same perf, which takes
# minutes instead of an hour.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fixtures=$(dirname "$BIN")/fixtures
files=(--file "$BIN/auxtap:/usr/bin/auxtap" --file "$TESTS/compare_steps:/usr/bin/compare_steps")
exact() { # LIST, further options of run
	echo "$1" >"$work/list"
	shift
	"$SRC/tests/guest/run" --kernel "$KERNEL" --module -o "$work/out" "${files[@]}" \
		--file "$work/list:/list" "$@" "$SRC/tests/guest/in/exact.sh" || return
	[ -z "${AUXTAP_LONG:-}" ] || cat "$work/out/exact.log"
}
short=()
for program in true sort date; do
	short+=(--file "$(type -P $program)")
done
if [ -n "${AUXTAP_LONG:-}" ]; then
	head -c 3000 "$SRC/README.md" >"$work/text"
	short+=(--file "$(type -P ls)" --file "$(type -P gzip)" --file "$work/text:/text")
fi
rc=0
exact short "${short[@]}" --timeout 500 --file "$TESTS/guest_tf:/tf" \
	--file "$TESTS/guest_exceptions:/exceptions" --file "$fixtures/threads4:/threads4" || rc=$?
[ $rc = 0 ] && [ -n "${AUXTAP_LONG:-}" ] || exit $rc

# ---- long: all paths are the same in the guest and here ----

python=$(readlink -f /usr/bin/python3)
library=/usr/lib/${python##*/}
mkdir -p "$work/library/lib-dynload" # the part of its library that it loads at start
cp -r "$library"/{os.py,encodings} "$work/library/"
echo "$work/out" >"$work/place"
echo "$fixtures/exceptions" >"$work/exceptions-path"
exact long --timeout 1500 --memory 3072 --file "$work/place:/place" \
	--file "$fixtures/exceptions:/exceptions" --file "$work/exceptions-path:/exceptions-path" \
	--file "$python" --file "$work/library:$library"
kernel=$("$SRC/tests/guest/kernel" "$KERNEL")
perf=$kernel/root/usr/bin/perf
[ -e "$perf" ] || perf=$(type -P perf)
export HOME=$work/out/home # with the vdso that perf recorded
reads() { # NAME COMMAND...: prints every address of the log
	local start=$SECONDS name=$1
	shift
	"$@" 2>"$work/errors" | "$TESTS/compare_steps" "$steps" >"$work/verdict" || {
		echo "exact: $name: $(cat "$work/verdict"; head -n 3 "$work/errors")"
		rc=1
	}
	echo "$name: $(tail -n 1 "$work/verdict") in $((SECONDS - start)) s"
}
for what in exceptions python3; do
	for tool in perf auxtap; do
		data=$work/out/$what.$tool.data
		steps=$work/out/$what.$tool.steps
		LD_LIBRARY_PATH=$kernel/root/usr/lib/x86_64-linux-gnu reads "$what by $tool, read by perf" \
			"$perf" script -i "$data" --itrace=i1i -F tid,ip
		reads "$what by $tool, read by auxtap" \
			"$BIN/auxtap" decode --events insn -F tid,ip "$data"
	done
done
exit $rc
