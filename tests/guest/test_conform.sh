#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Conformance: the guest's kernel and driver/core do the same: every script of
# tests/conform/scripts, and random ones (their seed is printed; a difference is reduced to
# a script, which `conform FILE` plays again). AUXTAP_LONG: 10,000,000 operations.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
ops=200000 timeout=480
[ -z "${AUXTAP_LONG:-}" ] || ops=10000000 timeout=7200
seed=${SEED:-$(date +%s)000}
# The switches of another kernel must not fit: then nothing would be compared.
other=6.1.192
[ "$KERNEL" != 6.1 ] || other=6.18.44
module=$("$SRC/tests/conform/module" "$KERNEL") || exit $?

cat >"$work/conform.sh" <<END
insmod /auxtap_conform.ko || exit 1
/conform /scripts/*.conf || exit 1
if /conform --seed 1 --ops 20000 --set $other >/tmp/other.log; then
	cat /tmp/other.log
	echo "the switches of $other fit, too"
	exit 1
fi
grep -q '^---- script ----' /tmp/other.log || { cat /tmp/other.log; exit 1; }
/conform --seed $seed --ops $ops || exit 1
rmmod auxtap_conform
END
rc=0
"$SRC/tests/guest/run" --kernel "$KERNEL" --timeout "$timeout" -o "$work/out" \
	--file "$TESTS/conform/conform:/conform" \
	--file "$module:/auxtap_conform.ko" --file "$SRC/tests/conform/scripts:/scripts" \
	--append 'rcupdate.rcu_expedited=1' "$work/conform.sh" || rc=$?
cat "$work/out/conform.log" 2>/dev/null || true
[ "$rc" = 0 ] || exit "$rc"
grep -q 'scripts played' "$work/out/conform.log"
grep -q 'bytes of records compared' "$work/out/conform.log"
