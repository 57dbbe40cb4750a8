# SPDX-License-Identifier: BSD-2-Clause
# Random programs that die: what the crash report says of them equals what they did, which is known
# from single steps of a stepper that shares no code with auxtap (calls, branches, counts) and from
# gdb (signal, registers, frames). AUXTAP_LONG: 200 programs, else six. AUXTAP_SEED: the first one.
# A single one again: tests/tools/check_crash.py run (its first lines describe the arguments).
. "$(dirname "$0")/lib.sh"
[ "$(uname -m)" = x86_64 ] || skip "single steps are for x86-64"
for tool in gcc g++ clang clang++ gdb nm objdump c++filt llvm-addr2line python3; do
	command -v $tool >/dev/null || skip "$tool is not installed"
done
short_of_sanitizers && skip "the build without sanitizers runs it"
check=$SRC/tests/tools/check_crash.py
echo 'int main(void) { __builtin_trap(); }' >probe.c
gcc -g -o probe probe.c
gdb -nx -batch -ex run -ex 'print $_siginfo.si_signo' ./probe >gdb.out 2>&1 </dev/null
grep -q '^\$1 = 4' gdb.out || skip "gdb cannot run programs here: $(tail -n 2 gdb.out)"
export PYTHONDONTWRITEBYTECODE=1

# program SEED COMPILER LEVEL [OPTION...]
program() {
	local status
	guard python3 "$check" run "$AUXTAP" "$TOOLS/step_program" "$WORK/p" "$@" \
		>out 2>err </dev/null
	status=$?
	cat out
	[ $status -eq 0 ] && grep -q ': 0 false; .* rows' out && return
	fail "status $status: $(tail -n 3 err)"
	echo "again: python3 tests/tools/check_crash.py run $AUXTAP $TOOLS/step_program /tmp/p $*"
}

first=${AUXTAP_SEED:-0}
if [ -z "${AUXTAP_LONG:-}" ]; then
	set -- "2 gcc O2" "5 gcc O0" "7 clang O2" "27 gcc O0" "13 clang O0" "62 gcc O2"
else
	set --
	builds=("gcc O0" "gcc O2" "clang O0" "clang O2")
	for ((seed = first; seed < first + 200; seed++)); do
		set -- "$@" "$seed ${builds[$(((seed + seed / 18) % 4))]}"
	done
fi
# The comparison notices a false report.
selftest() {
	guard python3 "$check" selftest "$WORK/p" >out 2>err </dev/null ||
		fail "selftest: $(cat out err)"
	cat out
}
for one; do
	rm -rf p
	# shellcheck disable=SC2086
	program $one
	case $one in "13 "*) selftest ;; esac # the last one has a tail call
done
selftest
finish
