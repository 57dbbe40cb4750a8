#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# The cost of draining AUX areas, and the loss meanwhile: stock perf record beside auxtap record
# on the same PMU, rate and buffers, in one guest. Guest time is a count of instructions (run
# --icount), so other work of the host does not affect the results.
#   cpu   instructions of the tool and of the kernel on its behalf (its CPU time), on one CPU,
#         where a unit is off while the tool runs, so that all bytes are drained. "whole": the
#         command from start to end; "draining": that minus the same for 4096 bytes
#   loss  tool and program on a CPU each: bytes dropped, time that the program's unit was off,
#         records with TRUNCATED; medians
# The kernel's copying counts a byte an instruction (rep movs), and as much again for clearing
# the page cache's pages; real processors do both faster.
# BYTES, RATES (bytes a second, 0: full speed, half a GiB), MAPS (of -m); LOSS_BYTES, LOSS_RUNS;
# KINDS. Two to ten minutes of processor time.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cat >"$work/bench.conf" <<END
BYTES=${BYTES:-268435456}
RATES='${RATES:-33554432 134217728 0}'
MAPS='${MAPS:-128,1024}'
LOSS_BYTES=${LOSS_BYTES:-50331648}
LOSS_RUNS=${LOSS_RUNS:-3}
END
rc=0
guest() { # KIND SHIFT CPUS
	echo "KIND=$1 SHIFT=$2" >"$work/kind.conf"
	"$SRC/tests/guest/run" --kernel "$KERNEL" --module --timeout "${TIMEOUT:-3000}" -o "$work/out" \
		--icount "$2" --cpus "$3" \
		--file "$BIN/auxtap:/usr/bin/auxtap" --file "$TESTS/guest_replay_spin:/usr/bin/replay_spin" \
		--file "$TESTS/guest_check_replay:/usr/bin/check_replay" \
		--file "$TESTS/guest_cpu_time:/usr/bin/cpu_time" --file "$work/bench.conf:/bench.conf" \
		--file "$work/kind.conf:/kind.conf" "$SRC/tests/bench/in/drain.sh" || rc=$?
	cat "$work/out/drain.log" 2>/dev/null || true
}
# SHIFT makes a slow machine for runs that mostly wait, a fast one where the tool must keep up.
for kind in ${KINDS:-cpu loss}; do
	case "$kind" in
	cpu) guest cpu 3 1 ;;
	loss) guest loss 1 3 ;;
	esac
done
exit "$rc"
