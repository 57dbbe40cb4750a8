# SPDX-License-Identifier: BSD-2-Clause
# 'watermark sweep -j N' prints the same for every N, also where machines fail or cannot be run.
. "$(dirname "$0")/lib.sh"

# same STATUS COMMAND...: in 1, 2, 7 and 128 threads
same() {
	local want=$1 jobs
	shift
	for jobs in 1 2 7 128; do
		"$@" -j $jobs >"out.$jobs" 2>"err.$jobs"
		[ $? = "$want" ] || fail "$* -j $jobs: status: $(cat "err.$jobs")"
		cmp "out.1" "out.$jobs" && cmp "err.1" "err.$jobs" || fail "$* -j $jobs: another output"
	done
}

same 0 "$AUXTAP" watermark sweep --kernel all --every 797
[ ! -s err.1 ] && [ "$(grep -c ' pass: ' out.1)" = 3 ] || fail "$(cat out.1 err.1)"
# as the sweep printed it when it ran in processes
diff "$SRC/tests/cli/golden/sweep_797.txt" out.1 || fail 'other sums'
"$AUXTAP" watermark sweep --kernel all --every 797 >out 2>&1 || fail "no -j: $(cat out)"
cmp out out.1 || fail 'no -j'

# the first failures are printed, in their order, and the others counted
same 1 "$TOOLS/sweep_faulty" watermark sweep --every 397
grep -q ' FAIL: ' out.1 && grep -q 'interrupt-in-time' err.1 || fail "$(cat out.1 err.1)"
grep -Eq '^and [0-9]+ more machines that fail$' err.1 || fail "all fit: $(cat err.1)"
failed=$(awk '$2 ~ /^(intel_pt|arm_spe|trbe)$/ {n += $8} END {print n}' out.1)
printed=$(grep -c ', watermark [0-9]*:$' err.1)
more=$(sed -n 's/^and \([0-9]*\) more.*/\1/p' err.1)
[ "$printed" -ge 2 ] && [ $((printed + more)) = "$failed" ] || fail "$printed + $more of $failed"

# the first machine that cannot be run is named, whichever thread had it
export AUXTAP_TEST_INVALID=1
same 3 "$TOOLS/sweep_faulty" watermark sweep --every 97
grep -q 'CPU: number out of range' err.1 || fail "$(cat err.1)"
unset AUXTAP_TEST_INVALID

for wrong in 0 129 x 4x ' 4' ''; do
	"$AUXTAP" watermark sweep -j "$wrong" >out 2>err
	[ $? = 2 ] && grep -q 'not a number in range' err || fail "-j $wrong: $(cat err)"
done
finish
