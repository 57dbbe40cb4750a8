# SPDX-License-Identifier: BSD-2-Clause
# Random mutations of new recordings, through dump, decode and report in one
# process: no crash, no hang, bounded memory. 1,000 under the address sanitizer, a few hundred
# elsewhere; AUXTAP_LONG=1: 10,000 and 200,000. AUXTAP_MUTATIONS and AUXTAP_SEED set them.
. "$(dirname "$0")/lib.sh"
mutate=$TOOLS/mutate_whole
[ -x "$mutate" ] || skip "the mutation runner is not built"
source=ptrace
command -v qemu-x86_64 >/dev/null && source=qemu
count=300
long=200000
grep -q __asan_init "$mutate" && count=1000 && long=10000
[ -n "${AUXTAP_LONG:-}" ] && count=$long

# good NAME COMMAND...: a file that decodes without an error
files=()
good() {
	local name=$1
	shift
	"$AUXTAP" "$@" >stdout 2>stderr </dev/null
	if ! [ -s "$name" ] || ! "$AUXTAP" dump --no-packets "$name" >listing 2>err; then
		fail "no good file $name: $(tail -n 2 stderr err)"
		return
	fi
	files+=("$name")
}
good full record --source "$source" -o full -- "$FIXTURES/null_deref"
good truncated record --source "$source" -m 1,1 -o truncated -- "$FIXTURES/thread_crash"
good cycles record --source "$source" -S4K -m 16,1 -e intel_pt/cyc,mtc,noretcomp/u -o cycles -- "$FIXTURES/fork_child"
good crash crash --source "$source" -S4K -m 16,1 -o crash -- "$FIXTURES/null_deref"
good threads crash --source "$source" -S4K -m 16,1 -o threads -- "$FIXTURES/thread_crash"
good stack crash --source "$source" -S2K -m 16,1 -o stack -- "$FIXTURES/stack_smash"
good cxx crash --source "$source" -S4K -m 16,1 -o cxx -- "$FIXTURES/cxx_uncaught"
good stepped crash --source ptrace -S4K -m 16,1 -o stepped -- "$FIXTURES/div_zero"
if command -v qemu-aarch64 >/dev/null && [ -x "$FIXTURES/a64/handler_crash" ]; then
	a64=(crash --backend emulated -S8K -m 16,4)
	good a64_null "${a64[@]}" -o a64_null -- "$FIXTURES/a64/null_deref"
	good a64_signal "${a64[@]}" -o a64_signal -- "$FIXTURES/a64/handler_crash"
	good a64_signed "${a64[@]}" -o a64_signed -- "$FIXTURES/a64/a64_faults" v
	good a64_astray "${a64[@]}" -o a64_astray -- "$FIXTURES/a64/bad_pointer"
else
	echo "without AArch64: no qemu-aarch64 or no compiler"
fi
[ "$failures" -eq 0 ] || finish
"$AUXTAP" decode --events gap truncated 2>/dev/null | grep -q 'gap: truncated' || fail "truncated has no gap"
grep -q 'died of SIGSEGV' crash.report.txt || fail "crash has no report"

if ! "$mutate" "${AUXTAP_MUTATIONS:-$count}" "${AUXTAP_SEED:-1}" "${files[@]}" >log 2>&1; then
	fail "$(tail -n 60 log)"
fi
tail -n 1 log
finish
