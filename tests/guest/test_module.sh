#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# auxtap.ko builds without warnings, loads under either name, shows what tools look for, is not
# unloaded while an event is open, and comes and goes many times without a word in the log.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
exec "$SRC/tests/guest/run" --kernel "$KERNEL" --module --timeout 500 -o "$work/out" \
	"$SRC/tests/guest/in/module.sh"
