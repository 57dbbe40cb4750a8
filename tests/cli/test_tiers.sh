# SPDX-License-Identifier: BSD-2-Clause
# scripts/test: a tier that fails, in its build or in its tests, does not keep the others from
# running; it is named at the end, and the exit status is not 0. The commands that the script
# calls are replaced by ones that only log: the test checks which ones it calls.
. "$(dirname "$0")/lib.sh"
mkdir -p tree/scripts tree/.ci bin
cp "$SRC/scripts/test" tree/scripts
cp "$SRC/.ci/run" tree/.ci
for name in install-packages lint check-rules quickstart; do
	cat >tree/scripts/$name <<-'S'
		#!/bin/sh
		echo "${0##*/} $*" >>"$LOG"
		case "${0##*/} $*" in $FAILING) exit 1 ;; esac
	S
done
for name in cmake ctest; do
	cp tree/scripts/lint bin/$name
done
chmod +x tree/scripts/* bin/*
export LOG=$WORK/log PATH=$WORK/bin:$PATH

# failing PATTERN LAST-LINE [OPTION...]: the commands that match the pattern fail
failing() {
	local pattern=$1 line=$2
	shift 2
	: >log
	FAILING=$pattern bash tree/.ci/run "$@" >out 2>&1
	status=$?
	tail -n 1 out | grep -qxF "$line" || fail "'$pattern' fails: the last line is '$(tail -n 1 out)'"
}
ran() { # COMMAND...: all of them were called
	local command
	for command in "$@"; do
		grep -q "^$command" log || fail "not run: $command"
	done
}
all=('lint' 'check-rules' 'ctest --test-dir build/release' 'ctest --test-dir build/asan'
	'ctest --test-dir build/tsan' 'install-packages cross' 'cmake --build --preset aarch64')

unset AUXTAP_LONG
failing nothing 'all tiers passed'
[ $status -eq 0 ] || fail "nothing fails: status $status"
ran quickstart "${all[@]}"
# real programs to crash: 600 MB, for long runs alone
grep -q '^install-packages programs' log && fail "without --long: programs are installed"
for only in "" "--only release"; do
	# shellcheck disable=SC2086
	failing nothing 'all tiers passed' --long $only
	ran 'install-packages programs'
done
while IFS=: read -r pattern tier unreached; do
	failing "$pattern" "tiers failed: $tier"
	[ $status -ne 0 ] || fail "'$pattern' fails: status 0"
	for command in "${all[@]}"; do
		# within a tier, no command runs after the failure
		[ "$command" = "$unreached" ] || ran "$command"
	done
done <<'LIST'
lint *:lint:check-rules
ctest --test-dir build/release *:release, guest:
cmake --preset asan:sanitizers:ctest --test-dir build/asan
ctest --test-dir build/asan *:sanitizers:
ctest --test-dir build/tsan *:threads:
install-packages cross:cross:
LIST
failing 'ctest *' 'tiers failed: release, guest; sanitizers; threads'
ran "${all[@]}"
[ $status -ne 0 ] || fail "all tests fail: status 0"
failing 'quickstart *' 'all tiers passed'
[ $status -ne 0 ] || fail "quickstart fails: status 0"
ran "${all[@]}"
for tier in release guest sanitizers threads cross lint; do
	failing nothing 'all tiers passed' --only $tier
	[ $status -eq 0 ] || fail "--only $tier: status $status"
	failing 'c*' "tiers failed: $tier" --only $tier
	[ $status -ne 0 ] || fail "--only $tier fails: status 0"
done
finish
