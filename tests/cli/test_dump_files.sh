#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# dump of foreign files: counts, exit status and the location of damage; standard input and
# closed pipes; usage errors; small broken files.
set -u
auxtap=$BIN/auxtap
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
failed=0

fail() {
	echo "FAILED: $*"
	failed=1
}

status() { # expected status, pattern in stderr, command...
	local want=$1 pattern=$2 got
	shift 2
	"$@" >"$work/out" 2>"$work/err"
	got=$?
	[ $got = "$want" ] || fail "$*: exit status $got, not $want"
	if [ -z "$pattern" ]; then
		[ ! -s "$work/err" ] || fail "$*: stderr is not empty: $(head -3 "$work/err")"
	elif [ "$(wc -l <"$work/err")" != 1 ] || ! grep -q "^auxtap: .*$pattern" "$work/err"; then
		fail "$*: stderr does not say '$pattern' in one line: $(head -3 "$work/err")"
	fi
}

# Usage.
status 0 "" "$auxtap" dump --help
grep -q "usage: auxtap dump" "$work/out" || fail "--help"
status 2 "no file given" "$auxtap" dump
status 2 "too many files" "$auxtap" dump a b
status 2 "no such option" "$auxtap" dump --nonsense a
status 2 "option requires an argument" "$auxtap" dump --raw
status 3 "a: cannot open" "$auxtap" dump --raw spe a
status 2 "'spe:cpu=6/1/2': spe takes no CPU; remove it" "$auxtap" dump --raw spe:cpu=6/1/2 a
status 2 "etm takes no CPU" "$auxtap" dump --raw etm:cpu=7/1/2 a
status 2 "no trace family 'xyz'" "$auxtap" dump --raw xyz a
# decode's options for a raw trace are accepted, with a note that they change nothing
printf '\x02\x82\x02\x82\x02\x82\x02\x82\x02\x82\x02\x82\x02\x82\x02\x82\x02\x23' >"$work/psb"
status 0 "--image: .*has no effect on a packet listing" "$auxtap" dump --raw pt --image a@0 "$work/psb"
[ "$(wc -l <"$work/out")" = 2 ] || fail "--image: $(cat "$work/out")"
status 2 "contains only packets" "$auxtap" dump --raw pt --no-packets a

# Files of the wrong kind.
status 3 "No such file" "$auxtap" dump "$work/none"
: >"$work/empty"
status 3 "empty.*offset 0" "$auxtap" dump "$work/empty"
status 3 "empty.*offset 0" "$auxtap" dump --raw pt "$work/empty"
printf 'hello, this is not a recording of anything' >"$work/text"
status 3 "not a perf.data file.*offset 0" "$auxtap" dump "$work/text"
printf 'PERFILE2' >"$work/short"
status 3 "8 bytes.*offset 0" "$auxtap" dump "$work/short"
printf '2ELIFREP0123456789abcdef' >"$work/swapped"
status 3 "other byte order" "$auxtap" dump "$work/swapped"
mkdir "$work/directory"
status 3 "without a file 'data' in it" "$auxtap" dump "$work/directory"

traces=${AUXTAP_TRACES:-${AUXTAP_TRACES_DEFAULT:-}}
if [ ! -d "$traces/perfdata" ]; then
	[ $failed = 0 ] || exit 1
	echo "skipped in part: no real traces in '$traces' (set AUXTAP_TRACES)"
	exit 77
fi

# The table at the end against counts.txt, which counts no decompressed record.
files=0
for data in "$traces"/{perfdata,intel-pt-perfdata,coresight-perfdata}/*/perf.data; do
	directory=${data%/perf.data}
	name=${directory##*/}
	counts=$directory/counts.txt
	[ -f "$counts" ] || counts=$directory/expected/counts.txt
	files=$((files + 1))
	case $name in
	simpleperf-invalid_perf)
		status 3 "not a perf.data file.*offset 0" "$auxtap" dump "$data"
		continue
		;;
	quipper-piped.corrupted.zero_size_sample-3.2)
		status 1 "size 0 .*offset 49104" "$auxtap" dump "$data"
		grep -q "^damaged at offset 49104:" "$work/out" || fail "$name: location of damage"
		;;
	*)
		status 0 "" "$auxtap" dump --no-packets "$data"
		;;
	esac
	sed -n 's/^record\.\([A-Z0-9_]*\)([0-9]*)=\([0-9]*\)$/\1 \2/p' "$counts" | sort >"$work/expected"
	grep -E '^0x[0-9a-f]+ \[' "$work/out" | sed -E 's/^[^]]*\] ([A-Z0-9_]+).*/\1/' | sort |
		uniq -c | awk '{ print $2, $1 }' | sort >"$work/lines"
	cmp -s "$work/expected" "$work/lines" ||
		fail "$name: records: $(diff "$work/expected" "$work/lines" | head -3)"
	if ! grep -q COMPRESSED "$work/expected"; then
		sed '1,/^records:$/d' "$work/out" | awk 'NF == 2 && /^  / { print $1, $2 }' |
			sort >"$work/table"
		cmp -s "$work/expected" "$work/table" ||
			fail "$name: table: $(diff "$work/expected" "$work/table" | head -3)"
	fi
done
[ $files -ge 40 ] || fail "only $files files"

# Standard input is the same as the file, but for the name.
data=$traces/perfdata/quipper-piped.header_features-4.16/perf.data
"$auxtap" dump "$data" | sed 1d >"$work/a"
"$auxtap" dump - <"$data" | sed 1d >"$work/b"
cat "$data" | "$auxtap" dump - | sed 1d >"$work/c"
cmp "$work/a" "$work/b" && cmp "$work/a" "$work/c" || fail "standard input"

# The reader of our output may exit; a full disk is reported.
pt=$traces/intel-pt-perfdata/intel_pt-4.14/perf.data
"$auxtap" dump "$pt" 2>"$work/err" | head -1 >/dev/null
[ ! -s "$work/err" ] || fail "closed pipe: $(cat "$work/err")"
(
	trap '' PIPE
	"$auxtap" dump "$pt" 2>"$work/err" | head -1 >/dev/null
)
[ ! -s "$work/err" ] || fail "closed pipe, SIGPIPE ignored: $(cat "$work/err")"
"$auxtap" dump "$pt" >/dev/full 2>"$work/err"
[ $? = 3 ] || fail "/dev/full: exit status"
grep -q "standard output: cannot write: No space left" "$work/err" ||
	fail "/dev/full: $(cat "$work/err")"

# Cut anywhere: complete records are listed, the offset is reported.
for size in 104 300 744 5000 10700 20000 60000; do
	head -c $size "$pt" >"$work/cut"
	"$auxtap" dump --no-packets "$work/cut" >"$work/out" 2>"$work/err"
	got=$?
	[ $got = 1 ] || [ $got = 3 ] || fail "cut to $size: exit status $got"
	grep -q "^auxtap: .*offset" "$work/err" || fail "cut to $size: $(cat "$work/err")"
done
head -c 20000 "$pt" >"$work/cut"
"$auxtap" dump --no-packets "$work/cut" >"$work/out" 2>/dev/null
[ "$(grep -c '\] MMAP ' "$work/out")" = 56 ] || fail "cut to 20000: the MMAPs are not listed"
grep -q '\] AUXTRACE[ :]' "$work/out" || fail "cut to 20000: the incomplete AUXTRACE is not listed"
status 1 "AUXTRACE.*offset 10688 is incomplete: 12240 bytes of data, 9264 there" \
	"$auxtap" dump --no-packets "$work/cut"
exit $failed
