# SPDX-License-Identifier: BSD-2-Clause
# The auditor: flags that must not be set, and losses that are known although their flag was
# cleared.
. "$(dirname "$0")/lib.sh"
. "$SRC/tests/cli/audit.sh"

# the finding of this name: 'finding NAME PYTHON-CONDITION', f is the first, fs is the list
finding() {
	python3 -c 'import json, sys
fs = [f for f in json.load(open("json"))["findings"] if f["name"] == sys.argv[1]]
f = fs[0]
assert eval(sys.argv[2]), fs' "$@" || fail "$*: $(cat json)"
}

# H8: PT stops at the end of a page; H6: a begin with too little space is truncated anywhere, with
# no bytes; H11: offset and size in an overwrite area are not positions; before 4.12 a hole was
# TRUNCATED
cat >made.txt <<'END'
aux 0 100 0 8192 1
trace 0 0 8192
aux 0 200 8192 100
aux 0 300 8292 0 1
trace 0 8192 100
END
KIND='pt 16384' OPTIONS=
made truncated 0 ''
made 'truncated truncated-inside' 1 '3s/$/ 1/'
finding truncated-inside 'f["bytes"] == 100 and f["time_ns"] == 200 and "0x2064" in f["text"] and f["rules"] == "H8"'
made truncated 0 '3s/$/ 1/; $s/$/\nosrelease 4.9.0-19-amd64/'
made 'truncated truncated-inside' 1 '3s/$/ 1/; $s/$/\nosrelease 4.12.0/'
KIND='pt 16384 overwrite' made truncated 0 's/^aux.*/aux 0 100 0 16384 2/; 2s/.*/aux 0 150 100 16384 3/; 3,$d; $s/$/\ntrace 0 0 16384/'
KIND='etm 16384' made truncated 0 '3s/$/ 1/'
# H8, H12: PT has no collisions
made 'collision flag-foreign truncated' 1 '3s/$/ 8/'
finding flag-foreign 'f["time_ns"] == 200 and f["rules"] == "H8 H12" and len(fs) == 1'
KIND='spe 16384' OPTIONS='--page 4096' made 'collision truncated' 0 '3s/$/ 8/'

# J4: a TRBE that ends at its limit has wrapped, which is flagged
cat >made.txt <<'END'
aux 0 100 0 8192 0x108
trace 0 0 8192
aux 0 200 8192 100 0x100
aux 0 300 8292 8092 0x108
trace 0 8192 8192
END
KIND='etm 8192' OPTIONS='--page 4096'
made collision 0 ''
made 'collision collision-unflagged' 1 's/ 8092 0x108/ 8092 0x100/'
finding collision-unflagged 'f["time_ns"] == 300 and "0x4000" in f["text"] and f["rules"] == "J4"'
made 'collision truncated' 0 's/ 8092 0x108/ 8092 0x101/' # before 5.15
made collision-unflagged 1 's/0x108/0x100/'
# before its limit: a context switch
made collision 0 's/^aux 0 200 8192 100 /aux 0 200 8192 4096 /; s/8292 8092/12288 4096/'
made '' 0 's/ 0x10[08]//' # another sink than TRBE
# pages may be 64 KiB: its limit may be further
OPTIONS= made collision 0 's/ 8092 0x108/ 8092 0x100/'
# ... or pages are smaller: the recorder noted a ring too small for two larger ones
noted() { printf '$s/$/\\ncapture mode: full\\ncapture aux_bytes_per_ring: %s/; 4s/0x108/0x100/' "$1"; }
OPTIONS= made 'collision collision-unflagged' 1 "$(noted 16384)"
OPTIONS= made collision 0 "$(noted 131072)"
# page size and watermark unknown: most records end with a page, and no flag reports a loss
KIND='etm 0'
OPTIONS=
made '' 0 's/0x108/0x100/' # two may be chance
cat >made.txt <<'END'
aux 0 100 0 8192 0x108
aux 0 200 8192 12288 0x100
aux 0 300 20480 4096 0x100
aux 0 400 24576 100 0x100
aux 0 500 24676 200 0x100
trace 0 0 24876
END
made collision 0 ''
made collision-unflagged 1 's/0x108/0x100/'
finding collision-unflagged 'len(fs) == 1 and f["text"].startswith("3 of 5 records end with a page")'
made '' 0 's/0x108/0x100/; 5s/$/\naux 0 600 24876 8 0x100/; $s/24876/24884/' # three of six

# the counts of auxtap's recorder, for a full trace
cat >made.txt <<'END'
aux 0 100 0 8192 1
trace 0 0 8192
aux 0 200 8192 8192 1
trace 0 8192 8192
capture mode: full
capture aux_bytes_per_ring: 16384
capture truncations: 2
capture collisions: 0
capture lost_records: 0
END
KIND='pt 8192'
made truncated 0 ''
made 'truncated truncation-unflagged' 1 '1s/ 1$//'
made truncation-unflagged 1 's/ 8192 1$/ 8192/'
finding truncation-unflagged 'len(fs) == 1 and "2 truncated records, and 0 are in the file" in f["text"]'
made truncated 0 '1s/ 1$//; s/truncations: 2/truncations: 1/'
made truncated 0 '1s/ 1$//; s/mode: full/mode: crash/'
made truncated 0 '1s/ 1$//; s/lost_records: 0/lost_records: 3/' # F3: it may have been the lost one
made truncated 0 '1s/ 1$//; 1s/$/\nlost 0 150 1/'
# D6: a full area was counted as well
made truncated 0 '1s/ 1$//; s/bytes_per_ring: 16384/bytes_per_ring: 8193/'
made 'collision-unflagged truncated' 1 's/collisions: 0/collisions: 1/'
# a gap that it noted, in this ring, at the time of this record
made 'noted-loss truncated' 0 '$s/$/\ngap 1 0 -1 200 77/'
made 'noted-loss truncated truncation-unflagged' 1 '$s/$/\ngap 1 0 -1 200 77/; 3s/ 1$//'
finding truncation-unflagged 'len(fs) == 1 and f["time_ns"] == 200 and f["bytes"] == 77 and f["cpu"] == 0'
made 'noted-loss truncated' 0 '$s/$/\ngap 1 1 -1 200 77/; 3s/ 1$//; s/^capture/#/'
made 'noted-loss truncated' 0 '$s/$/\ngap 5 0 -1 200 77/; 3s/ 1$//; s/^capture/#/'
made 'noted-loss truncated truncation-unflagged' 1 '$s/$/\ngap 1 0 -1 200 77/; 3s/ 1$//; s/^capture/#/'
made 'noted-loss truncated' 0 '$s/$/\ngap 1 0 -1 200 77/; 3s/ 1$//; s/^capture/#/; 1s/^/lost 0 50 1\n/'

# real recordings: the flags are cleared, all else is unchanged
flags() { python3 "$SRC/tests/tools/aux_flags.py" "$@" >changed || fail "aux_flags $*: $(cat changed)"; }
# cleared FILE FLAGS NAME N: all of them, and the first alone; each is a violation of this name, at
# its record
cleared() {
	local n
	for n in '' 0; do
		flags "$1" cleared.data clear "$2" $n
		"$AUXTAP" audit cleared.data >text
		[ $? = 1 ] && [ "$(grep ^VIOLATION text | cut -d' ' -f2)" = "$3" ] || fail "$1, cleared $2 $n: $(cat text)"
		grep -qE "^VIOLATION $3 .*, $(cat changed) times?$" text || fail "$1: not at each of $(cat changed): $(cat text)"
	done
}
if "$AUXTAP" record -m 64,4 --aux-watermark 12288 -o pt.data -- /bin/ls / >/dev/null 2>err; then
	"$AUXTAP" audit pt.data >text || fail "pt.data: $(cat text)"
	grep -q '^known loss truncated ' text && grep -q '^known loss noted-loss' text || fail "pt.data: no loss: $(cat text)"
	cleared pt.data 1 truncation-unflagged
	flags pt.data wrong.data set 8 0
	"$AUXTAP" audit wrong.data >text
	[ $? = 1 ] && [ "$(grep ^VIOLATION text | cut -d' ' -f2)" = flag-foreign ] || fail "COLLISION of PT: $(cat text)"
else
	echo "no emulated recording here: $(tail -n 1 err)"
fi
"$AUXTAP" record -e cs_etm//u -m 64,4 -o trbe.data -- "$FIXTURES/a64/recursion_static" >/dev/null \
	2>err
if [ -s trbe.data ]; then
	"$AUXTAP" audit trbe.data >text || fail "trbe.data: $(cat text)"
	grep -q '^known loss collision ' text || fail "trbe.data: no collision: $(cat text)"
	cleared trbe.data 8 collision-unflagged
	# found by the recorder's count alone
	flags trbe.data cleared.data clear 8
	"$AUXTAP" audit --page 65536 cleared.data >text
	[ $? = 1 ] && grep -q 'the recorder has read 1 records with COLLISION, and 0 are' text ||
		fail "count: $(cat text)"
else
	echo "no emulated AArch64 recording here: $(tail -n 1 err)"
fi
finish
