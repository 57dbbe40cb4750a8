# SPDX-License-Identifier: BSD-2-Clause
# Random programs in which a bad pointer takes a known way: what the crash report says of where it
# was read, returned or set lies on that way. AUXTAP_LONG: 400 programs, else 32. AUXTAP_SEED: the
# first one.
. "$(dirname "$0")/lib.sh"
[ "$(uname -m)" = x86_64 ] || skip "the way is found in x86-64 code"
for tool in gcc clang python3; do
	command -v $tool >/dev/null || skip "$tool is not installed"
done
needs_qemu_10
short_of_sanitizers && skip "the build without sanitizers runs it"
export PYTHONDONTWRITEBYTECODE=1

seed=${AUXTAP_SEED:-0}
nr=$([ -z "${AUXTAP_LONG:-}" ] && echo 8 || echo 100)
for build in 'gcc -O0' 'gcc -O2' 'clang -O0' 'clang -O2'; do
	# shellcheck disable=SC2086
	guard python3 "$SRC/tests/tools/check_origin.py" "$AUXTAP" "$WORK/p" "$seed" "$nr" $build \
		>out 2>err </dev/null || fail "$build: $(cat out err)"
	cat out
	cat out >>all
	seed=$((seed + nr))
done
for kind in read returned set variable block; do
	grep -q " $kind [1-9]" all || fail "no report says '$kind': $(cat all)"
done
finish
