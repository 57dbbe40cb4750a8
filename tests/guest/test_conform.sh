#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Conformance: the guest's kernel and driver/core do the same: every script of
# tests/conform/scripts, and random ones (their seed is printed; a difference is reduced to
# a script, which `conform FILE` plays again); and the rules that only a kernel keeps (section O).
# AUXTAP_LONG: 10,000,000 operations, in parts with different seeds; prints their sum.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
ops=200000 part=200000 timeout=480
player=$TESTS/conform/conform
[ -z "${ARCH:-}" ] || player=$("$SRC/tests/conform/player") || exit $?
[ -z "${AUXTAP_LONG:-}" ] || ops=10000000 part=500000 timeout=7200
seed=${SEED:-$(date +%s)000}
# The switches of another kernel must not fit: otherwise nothing would be compared.
other=6.1.192
[ "$KERNEL" != 6.1 ] || other=6.18.44
module=$("$SRC/tests/conform/module" "$KERNEL") || exit $?

cat >"$work/conform.sh" <<END
insmod /auxtap_conform.ko || exit 1
/conform --section-o || exit 1
/conform /scripts/*.conf || exit 1
if /conform --seed 1 --ops 20000 --set $other >/tmp/other.log; then
	cat /tmp/other.log
	echo "the switches of $other fit, too"
	exit 1
fi
grep -q '^---- script ----' /tmp/other.log || { cat /tmp/other.log; exit 1; }
# a part that differs does not stop the others
bad=0 seed=$seed
for part in \$(seq $((ops / part))); do
	/conform --seed \$seed --ops $part || bad=1
	seed=\$((seed + 100000)) # a script each, hundreds of operations
done
rmmod auxtap_conform || exit 1
exit \$bad
END
rc=0
"$SRC/tests/guest/run" --kernel "$KERNEL" --timeout "$timeout" -o "$work/out" \
	--file "$player:/conform" \
	--file "$module:/auxtap_conform.ko" --file "$SRC/tests/conform/scripts:/scripts" \
	--append 'rcupdate.rcu_expedited=1' "$work/conform.sh" || rc=$?
log=$work/out/conform.log
# hung or panicked: use what came over the serial line
[ -s "$log" ] || log=$work/out/live.log
cat "$log" 2>/dev/null || true
sum=$(awk '/ scripts, [0-9]+ operations; as planned/ {sum += $3} END {print sum + 0}' \
	"$log" 2>/dev/null || echo 0)
echo "conformance on $KERNEL${ARCH:+ $ARCH}, seeds from $seed: $sum operations"
[ "$rc" = 0 ] || exit "$rc"
grep -q 'scripts played' "$log"
grep -q 'section O: .* 0 do not hold' "$log"
grep -q 'bytes of records compared' "$log"
[ "$sum" -ge "$ops" ] || { echo "fewer than $ops operations were played"; exit 1; }
