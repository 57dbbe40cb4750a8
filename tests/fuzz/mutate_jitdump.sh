#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Random mutations of the jitdump of a C program, and of what a snapshot has of it.
count=4000
[ -n "${AUXTAP_LONG:-}" ] && count=1000000
src=$(cd "$(dirname "$0")/../.." && pwd)
mutate=$(realpath "${MUTATE:?the mutation runner}")
command -v cc >/dev/null || { echo "SKIP: no C compiler"; exit 77; }
[ "$(uname -m)" = x86_64 ] || { echo "SKIP: the program writes x86-64 code"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
cc -O1 -o jitdump "$src/tests/cli/frames/dumped.c" || { echo "SKIP: cc failed"; exit 77; }
ulimit -c 0
for how in own close garbled; do
	bash -c "./jitdump $how; true" >/dev/null 2>&1
	mv jit-*.dump $how.dump || exit 1
done
# the records alone, as a snapshot has them
tail -c +41 own.dump >records.dump
"$mutate" "${AUXTAP_MUTATIONS:-$count}" "${AUXTAP_SEED:-1}" ./*.dump
