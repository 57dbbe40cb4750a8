#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# auxtap.ko builds without warnings, loads under either name, shows what tools look for, is not
# unloaded while an event is open, and comes and goes many times without a word in the log.
# --one-thread: each coming and going changes the kernel's code, see stale_int3 in run.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
exec "$SRC/tests/guest/run" --one-thread --kernel "$KERNEL" --module --timeout 300 -o "$work/out" \
	"$SRC/tests/guest/in/module.sh"
