#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# The rate of the qemu engine: gzip -c of a large file through rings and file writing.
# Usage: bench_qemu.sh BIN [MEGABYTES]. Prints "name: value" lines.
set -eu
BIN=${1:-${BIN:?directory of the built programs}}
size=${2:-4}
PATH=$BIN:$PATH
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cat /usr/bin/* 2>/dev/null | head -c $((size * 1000000)) >"$dir/input" || true

# seconds of wall clock, then of CPU
timed()
{
	local TIMEFORMAT='%R %U %S'
	{ time "$@" >/dev/null 2>"$dir/err"; } 2>"$dir/time"
	awk '{ printf "%s %.3f\n", $1, $2 + $3 }' "$dir/time"
}

read -r native _ < <(timed gzip -c "$dir/input")
read -r plain _ < <(timed qemu-x86_64 -cpu max "$(command -v gzip)" -c "$dir/input")
read -r wall cpu < <(timed auxtap record --backend emulated --source qemu -m 128,4096 \
	-o "$dir/data" -- gzip -c "$dir/input")
truncated=$(grep -o 'truncated [0-9]*' "$dir/err" | cut -d' ' -f2 || true)
auxtap record --backend emulated --source qemu --truth "$dir/truth" -m 128,4096 -o "$dir/small" \
	-- gzip -c "$dir/input" >/dev/null 2>&1
insns=$(($(cat "$dir"/truth.* | wc -c) / 8))
echo "qemu_gzip_input_bytes: $(stat -c %s "$dir/input")"
echo "qemu_gzip_instructions: $insns"
echo "qemu_gzip_native_seconds: $native"
echo "qemu_gzip_plain_qemu_seconds: $plain"
echo "qemu_gzip_record_seconds: $wall"
echo "qemu_gzip_record_cpu_seconds: $cpu"
echo "qemu_gzip_minsn_per_second: $(awk "BEGIN { printf \"%.1f\", $insns / $wall / 1e6 }")"
echo "qemu_gzip_minsn_per_cpu_second: $(awk "BEGIN { printf \"%.1f\", $insns / $cpu / 1e6 }")"
echo "qemu_gzip_file_bytes: $(stat -c %s "$dir/data")"
echo "qemu_gzip_truncations: ${truncated:-0}"
