#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# The harness itself: files are copied back unchanged, a failing script, a panic and a hang are
# each distinguished from success, and a fault of QEMU's own is no result.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
boot=("$SRC/tests/guest/run" --kernel "$KERNEL" -o "$work/out")

fail() {
	echo "test_harness: $*" >&2
	[ ! -e "$work/err" ] || cat "$work/err" >&2
	exit 1
}

head -c 3000001 /dev/urandom >"$work/random"
cat >"$work/good.sh" <<'END'
uname -r
cp /random /out/random.back
mkdir /out/dir && echo deep >/out/dir/file
exit 77
END
echo 'echo this one fails; exit 5' >"$work/bad.sh"
rc=0
"${boot[@]}" --file "$work/random:/random" "$work/good.sh" "$work/bad.sh" 2>"$work/err" || rc=$?
if [ "$rc" = 77 ]; then
	cat "$work/err"
	exit 77
fi
[ "$rc" = 1 ] || fail "a failing script: exit $rc"
grep -q 'bad: exit 5' "$work/err" || fail 'the failing script is not named'
grep -q 'this one fails' "$work/err" || fail 'its output is not shown'
! grep -q 'good: exit' "$work/err" || fail 'exit 77 counts as failure'
cmp "$work/random" "$work/out/random.back" || fail 'a file came back changed'
[ "$(cat "$work/out/dir/file")" = deep ] || fail 'a directory was not copied back'
[[ "$(cat "$work/out/good.log")" == "$KERNEL".* ]] || fail 'another kernel ran'

echo 'echo c >/proc/sysrq-trigger' >"$work/panic.sh"
rc=0
"${boot[@]}" "$work/panic.sh" 2>"$work/err" || rc=$?
[ "$rc" = 1 ] || fail "a panic: exit $rc"
grep -q 'Kernel panic' "$work/err" || fail 'the panic is not shown'
grep -q 'panic: exit not reached' "$work/err" || fail 'the panic has an exit code'

echo 'echo is stuck >/dev/kmsg; sleep 1000' >"$work/hang.sh"
rc=0
"${boot[@]}" --timeout 25 "$work/hang.sh" 2>"$work/err" || rc=$?
[ "$rc" = 1 ] || fail "a hang: exit $rc"
grep -q 'hung: ' "$work/err" || fail 'the hang is not reported'
grep -q 'is stuck' "$work/err" || fail 'the log of the hang is not shown'

# QEMU's own fault, which cannot be provoked: what it prints and its signal are made here, by a
# program that gives way to QEMU after FAULTS of them
cache=$work/cache real=${AUXTAP_GUEST_CACHE:-$SRC/build/guest}
mkdir -p "$cache/emulator"
for entry in "$real"/*; do
	[ "${entry##*/}" = emulator ] || ln -s "$entry" "$cache/"
done
cp "$real/emulator/complete" "$cache/emulator/"
cat >"$work/faulty" <<'END'
#!/bin/bash
if [ "$1" != --version ] && [ "$(wc -l <"$TRIES")" -lt "$FAULTS" ]; then
	echo try >>"$TRIES"
	echo "qemu-system-x86_64: $MESSAGE" >&2
	kill -ABRT $$
fi
exec "$REAL/${0##*/}" "$@"
END
chmod +x "$work/faulty"
cp "$work/faulty" "$cache/emulator/qemu-system-x86_64"
cp "$work/faulty" "$cache/emulator/qemu-system-aarch64"
export AUXTAP_GUEST_CACHE=$cache TRIES=$work/tries REAL=$real/emulator
export MESSAGE="system/physmem.c:2678: iotlb_to_section: Assertion \`section_index < d->map.sections_nb' failed."
own_fault() { # FAULTS: exit code $rc
	: >"$TRIES"
	rc=0
	FAULTS=$1 "${boot[@]}" "$work/good.sh" --file "$work/random:/random" 2>"$work/err" || rc=$?
}
own_fault 2
[ "$rc" = 0 ] || fail "two faults of QEMU: exit $rc"
[[ "$(cat "$work/out/good.log")" == "$KERNEL".* ]] || fail 'nothing ran after faults of QEMU'
grep -q 'booting again (2)' "$work/err" || fail 'booting again is not reported'
own_fault 9
[ "$rc" = 1 ] || fail "QEMU never works: exit $rc"
[ "$(wc -l <"$TRIES")" = 3 ] || fail "QEMU never works: $(wc -l <"$TRIES") tries"
MESSAGE='hw/pci/pci.c:1: pci_register: Assertion failed.'
own_fault 1
[ "$rc" = 1 ] || fail "another fault of QEMU: exit $rc"
