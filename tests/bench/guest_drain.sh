#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# What it costs to drain AUX areas: CPU time, without the traced program's, of stock perf
# record and of auxtap record on the same PMU, rate and buffers, in turns, in one guest; and
# what each of them lost: bytes dropped, and time that the unit was off. Medians, and, for
# a machine that has other work, the least of all runs. "all" is the whole tool; "draining"
# is that without what it takes for (next to) no trace.
# BYTES, RUNS, RATES (bytes a second, 0: full speed), MAPS (of -m): other choices.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cat >"$work/bench.conf" <<END
BYTES=${BYTES:-268435456}
RUNS=${RUNS:-5}
RATES='${RATES:-33554432 67108864 0}'
MAPS='${MAPS:-128,1024}'
END
rc=0
"$SRC/tests/guest/run" --kernel "$KERNEL" --module --timeout "${TIMEOUT:-3000}" -o "$work/out" \
	--file "$BIN/auxtap:/usr/bin/auxtap" --file "$TESTS/guest_replay_spin:/usr/bin/replay_spin" \
	--file "$TESTS/guest_check_replay:/usr/bin/check_replay" \
	--file "$TESTS/guest_cpu_time:/usr/bin/cpu_time" --file "$work/bench.conf:/bench.conf" \
	"$SRC/tests/bench/in/drain.sh" || rc=$?
cat "$work/out/drain.log" 2>/dev/null || true
exit "$rc"
