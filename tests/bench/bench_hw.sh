# SPDX-License-Identifier: BSD-2-Clause
# Time of the PT unit per branch; goal: less than 8 ns for a conditional one.
program=$(mktemp)
trap 'rm -f "$program"' EXIT
cc -O2 -I"$SRC/driver" "$SRC/tests/bench/bench_pt_unit.c" "$SRC"/driver/hw/pt_*.c -o "$program"
"$program"
