#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# What `auxtap list` and each refusal print for an unprivileged user: the number in the message is
# then set, and suffices. Also the module under its own name.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
rc=0
"$SRC/tests/guest/run" --kernel "$KERNEL" --module --timeout 300 -o "$work/out" \
	--file "$BIN/auxtap:/usr/bin/auxtap" --file "$(dirname "$BIN")/fixtures/null_deref:/null_deref" \
	"$SRC/tests/guest/in/users.sh" || rc=$?
cat "$work/out/users.log" 2>/dev/null || true
exit "$rc"
