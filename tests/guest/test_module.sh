#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# auxtap.ko builds without warnings, loads under either name, has the attributes that tools expect,
# cannot be unloaded while an event is open, and loads and unloads many times without a log message.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
exec "$SRC/tests/guest/run" --kernel "$KERNEL" --module --timeout 300 -o "$work/out" \
	"$SRC/tests/guest/in/module.sh"
