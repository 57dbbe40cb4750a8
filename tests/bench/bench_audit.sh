# SPDX-License-Identifier: BSD-2-Clause
# The auditor: bytes of trace a second, read from a file in the page cache, in buffers of 2 MiB
# (half of a default area) and of 5 KB (nearly a record each, the worst case). Goal: 1 GB a second.
. "$SRC/tests/cli/lib.sh"
NR=1000000 # SPE records of each of two CPUs
"$TOOLS/spe_file" large.data $NR 1 large && "$TOOLS/spe_file" small.data $NR 1 || exit 1
TIMEFORMAT='%R %U %S'
for kind in large small; do
	for turn in 1 2 3 4 5; do
		{ time "$AUXTAP" audit $kind.data >/dev/null; } 2>>$kind
	done
	# also by CPU time, because wall-clock time means little on a busy machine
	size=$(stat -c %s $kind.data)
	awk '{ print $1 }' $kind | sort -n | sed -n 3p | awk -v size="$size" -v name=$kind '{
		printf "audit-%s-buffers-megabytes-per-second: %.0f\n", name, size / $1 / 1e6 }'
	awk '{ print $2 + $3 }' $kind | sort -n | sed -n 3p | awk -v size="$size" -v name=$kind '{
		printf "audit-%s-buffers-megabytes-per-cpu-second: %.0f\n", name, size / $1 / 1e6 }'
done
finish
