# SPDX-License-Identifier: BSD-2-Clause
# What wrote a bad pointer, of a process with threads (crash --values): the report names the last
# writer and its thread, or says that the order is not known.
. "$(dirname "$0")/lib.sh"
command -v gcc >/dev/null || skip "gcc is not installed"
src=$SRC/tests/cli/frames/threads_write.c
export PYTHONDONTWRITEBYTECODE=1

# writes ORDER: the report of that order is in 'head'
writes() {
	rm -f data*
	"$AUXTAP" crash --values -o data -- ./program "$1" >stdout 2>stderr </dev/null
	grep -q 'requires qemu 10' stderr && skip "no qemu 10: $(head -n 1 stderr)"
	[ -s data.report.txt ] || { fail "$1: no report: $(tail -n 3 stderr)"; return 1; }
	sed -n '1,/^$/p' data.report.txt >head
	"$AUXTAP" report --calls 60 data >data.txt
	"$AUXTAP" report --calls 60 --format json data >data.json || fail "$1: JSON: status $?"
	python3 "$SRC/tests/tools/report_text_json.py" "$SRC/docs/report.schema.json" data.json \
		>out 2>&1 ||
		fail "$1: text and JSON: $(tail -n 3 out)"
}

# names ORDER LETTER [other]: the report names the function of that letter; other: in another thread
names() {
	local line
	line=$(grep -n "/\* $2 \*/" "$src" | cut -d: -f1)
	grep -q '  The pointer was read by use\(_early\)* at threads_write.c' head || fail "$1: $(cat head)"
	grep -A 1 "^  Before, it was written by write_$2 at threads_write.c:$line" head >step ||
		{ fail "$1: not $2: $(cat head)"; return; }
	case ${3:-} in
	other) grep -q ', in thread [0-9]*$' step || fail "$1: no thread: $(cat head)" ;;
	*) grep -q ', in thread' head && fail "$1: it was the thread that died: $(cat head)" ;;
	esac
	grep 'What wrote it is not known' head && fail "$1: it is"
}

written() {
	writes "$1" && names "$@"
}

# perhaps ORDER LETTER: as written; or unknown, as the log of the thread that ended was freed late
perhaps() {
	writes "$1" || return
	grep -q '^  What wrote it is not known: the process had other threads' head || names "$@"
}

# unknown ORDER: a thread that has ended wrote last. If its log was still there, it is named.
unknown() {
	writes "$1" || return
	grep -A 1 '^  Before, it was written by write_e at' head | grep -q ', in thread' && return
	grep -q '^  What wrote it is not known: the process had other threads' head || fail "$1: $(cat head)"
	grep 'it was written by' head && fail "$1: a writer"
}

for level in -O0 -O2; do
	gcc -g $level -pthread -fno-stack-protector -w -o program "$src" || fail "not built"
	written A a other
	written BA a other # both wrote the same
	written AB b other
	written abMaB b other
	written AM m # the same value again
	written AbM m
	written MA a other
	written AMrB m # that was later
	written BArMB a other
	perhaps aeM m # the thread that ended had ended before
	unknown E
	unknown AE
	perhaps EA a other
	perhaps bEbM m
	writes S && grep -qE '^  The return address was overwritten .* overflow at threads_write.c' \
		head ||
		fail "S: $(cat head)"
	writes T && grep -q '^  What wrote it is not known' head || fail "T: $(cat head)"
	grep -q 'address was overwritten ' head && fail "T: it was another thread: $(cat head)"
done
gcc -g -O1 -pthread -fstack-protector-all -w -o program "$src" || fail "not built"
writes S &&
	grep -q "^  The stack protector's value was overwritten in a call from overflow at " head ||
	fail "S, protected: $(cat head)"
finish
