#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# What lies between the buffers of a file that has no AUX records: bytes that are missing, that
# come twice, that are padding; the same in each family, and in the audit.
. "$(dirname "$0")/lib.sh"
command -v python3 >/dev/null || skip "python3 is not installed"

make() { python3 "$SRC/tests/tools/aux_file.py" "$1" "$1" || fail "$1: no file was made"; }
# expect FAMILY <lines: all gaps of the file
expect() {
	cat >wanted
	"$AUXTAP" decode --events gap -F event "$1" 2>&1 | sed 's/.*---- gap: \(.*\) ----/\1/' >got
	cmp -s wanted got || fail "$1: $(diff wanted got)"
}

# 64 bytes are missing; the third one begins 92 bytes before the end of the second one
make spe <<'END_OF_LINES'
trace 0 0 64 0
trace 0 128 64 0
trace 0 100 64 0
END_OF_LINES
expect spe <<'END_OF_LINES'
unknown, 64 bytes lost: not in the file
unknown: a buffer begins before the end of the one before: samples may come twice
END_OF_LINES
"$AUXTAP" audit spe >out
for rule in 'trace-hole' 'trace-overlap'; do
	[ "$(grep -c "^VIOLATION $rule .* 1 time" out)" = 1 ] || fail "audit: $rule: $(cat out)"
done

# 50 bytes and 6 of padding, which the next one's offset shows; then 46 bytes are missing
make bts <<'END_OF_LINES'
trace 0 0 50 0
trace 0 50 46 0
trace 0 144 48 0
trace 0 100 48 0
END_OF_LINES
expect bts <<'END_OF_LINES'
decode_error, 2 bytes not decoded: incomplete record
unknown, 46 bytes lost: not in the file
unknown: a buffer begins before the end of the one before: branches may come twice
END_OF_LINES

make pt <<'END_OF_LINES'
trace 0 0 60 0
trace 0 60 64 0
trace 0 188 64 0
END_OF_LINES
expect pt <<'END_OF_LINES'
unknown, 64 bytes lost: the trace goes on at offset 0xbc
END_OF_LINES
finish
