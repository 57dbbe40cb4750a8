# SPDX-License-Identifier: BSD-2-Clause
# Shared by the tests of the auditor: its findings in a file, and files made line by line.

# audit EXPECTED_STATUS NAMES OPTION... FILE: the invariants with findings, notes excluded
names() {
	python3 -c 'import json, sys
known = {}
for f in json.load(sys.stdin)["findings"]:
    if f["severity"] != "note": known[f["name"]] = 1
print(" ".join(sorted(known)))' <json
}
audit() {
	local want=$1 expected=$2 status
	shift 2
	"$AUXTAP" audit --format json "$@" >json 2>err
	status=$?
	[ $status = "$want" ] || fail "$*: status $status, not $want: $(cat err)"
	[ "$(names)" = "$expected" ] || fail "$*: found '$(names)', not '$expected'"
}
# ---- files made line by line ----
aux_file() { python3 "$SRC/tests/tools/aux_file.py" "$@" || fail "aux_file $*"; }
# made NAMES STATUS SED: audits $MADE, edited by SED, with OPTIONS
made() {
	sed "$3" made.txt >broken.txt
	[ -z "$3" ] || ! cmp -s broken.txt made.txt || fail "sed '$3' changes nothing"
	aux_file broken.data $KIND <broken.txt
	audit "$2" "$1" ${OPTIONS:-} broken.data
}
