# SPDX-License-Identifier: BSD-2-Clause
# record and crash: exit statuses, usage errors in one clear line, no file left over.
. "$(dirname "$0")/lib.sh"

# expect STATUS PATTERN COMMAND...: status, and exactly one line on stderr that matches
expect() {
	local status=$1 pattern=$2 got
	shift 2
	"$AUXTAP" "$@" >out 2>err </dev/null
	got=$?
	[ "$got" -eq "$status" ] || fail "$*: status $got, not $status: $(cat err)"
	[ "$(wc -l <err)" -eq 1 ] || fail "$*: not one line: $(cat err)"
	grep -q "^auxtap: .*$pattern" err || fail "$*: '$(cat err)' lacks '$pattern'"
}

for command in record crash; do
	expect 125 'nothing to trace' $command
	expect 125 '\-Z: no such option' $command -Z true
	expect 125 '\--foo: no such option' $command --foo true
	expect 125 'option requires an argument' $command -o
	expect 125 'not a power of two' $command -m 3 true
	expect 125 'not a power of two' $command -m 1,12K true
	expect 125 'not a power of two' $command -m 0,1 true
	expect 125 'not a size' $command -m 4x true
	expect 125 'not a whole number of pages' $command -m ,5000B true
	expect 125 'not a size' $command -Sx true
	expect 125 'not one of auto, kernel, emulated' $command --backend foo true
	expect 125 'not one of auto, qemu, ptrace' $command --source foo true
	expect 125 'not one of ete, etmv4' $command --trace-unit etmv3 -e cs_etm//u true
	expect 125 'requires a cs_etm event' $command --trace-unit ete true
	expect 125 'requires a cs_etm event' $command --trace-unit ete -e intel_pt//u true
	expect 125 'requires a cs_etm event' $command --trace-unit ete -e cs_etmv4//u true
	expect 125 'requires a cs_etm event' $command --trace-unit ete -e arm_spe_0//u true
	expect 125 'the trace unit of a real CPU is fixed' \
		$command --trace-unit ete -e cs_etm//u --backend kernel true
	expect 125 'more than one' $command -p 1 true
	expect 125 'not a process' $command -p x
	expect 125 'not a list' $command -C x
	expect 127 'no such program' $command -- /nonexistent/program
	expect 127 'no such program' $command -- no-such-program-anywhere
	expect 126 'ermission denied' $command -- /etc/passwd
	expect 126 'is a directory' $command -- /
	"$AUXTAP" $command --help >out 2>err || fail "$command --help"
	for option in -e -m -S -p -t -a -C -o --backend --source --trace-unit --aux-watermark \
		--truth; do
		grep -q -e "$option" out || fail "$command --help does not list $option"
	done
done
expect 125 "option of 'auxtap crash'" record --keep 3 true
expect 125 "option of 'auxtap crash'" record --error-exitcode 3 true
for code in 0 -1 256 x ''; do
	expect 125 'not a number from 1 to 255' crash --error-exitcode "$code" true
done
for command in record crash; do
	expect 125 'cannot record to standard output' $command -o - true
done
[ -e ./- ] && fail "-o -: a file of that name"
expect 125 'not a number' crash --keep 0 true
emulated=(record --backend emulated --source ptrace)
expect 125 'no such term.*cyc' "${emulated[@]}" -e intel_pt/foo/u true
expect 125 'no such term.*cycacc, contextid1, timestamp' "${emulated[@]}" -e cs_etm/foo/u true
expect 125 'no such term.*ts_enable' "${emulated[@]}" -e arm_spe_0/foo/ true
expect 125 "no sink 'trbe9'; leave it out" "${emulated[@]}" -e cs_etm/@trbe9/u true
expect 125 'no PMU' "${emulated[@]}" -e arm_spe//u true
expect 125 'user mode only' "${emulated[@]}" -e intel_pt//k true
expect 125 'not CPUs' "${emulated[@]}" -a
expect 125 'does not fit' "${emulated[@]}" -m 8,1 -S64K true
expect 125 'No such file' "${emulated[@]}" -o /nonexistent/dir/file true
expect 125 'rocess' record --backend emulated -p 4194303
expect 125 'qemu cannot attach' record --backend emulated --source qemu -p $$
expect 125 'only emulation can record' record --backend kernel --truth t true
ls auxtap.data* >/dev/null 2>&1 && fail "a failed run left $(ls auxtap.data*)"

# Attaching under emulation is never silent.
if ! [ -e /sys/bus/event_source/devices/intel_pt ]; then
	expect 125 'backend emulated' record -p $$
fi

# The program's own status, and its own streams. A shell takes thirty times as many steps for it.
copies=(/bin/sh -c 'cat; echo err >&2; exit 42') killed=(/bin/sh -c 'kill -9 $$')
cat >streams.c <<'C'
#include <signal.h>
#include <unistd.h>
int main(int argc, char **argv)
{
	char text[64];
	ssize_t size;

	(void)argv;
	while (argc == 1 && (size = read(0, text, sizeof(text))) > 0)
		if (write(1, text, (size_t)size) != size)
			return 1;
	if (argc > 1)
		raise(SIGKILL);
	return write(2, "err\n", 4) == 4 ? 42 : 1;
}
C
command -v cc >/dev/null && cc -static -o streams streams.c 2>/dev/null &&
	copies=(./streams) killed=(./streams kill)
printf 'in' >input
"$AUXTAP" record --source ptrace -o data -- "${copies[@]}" <input >out 2>err
status=$?
[ "$status" -eq 42 ] || fail "status $status, not 42"
[ "$(cat out)" = in ] || fail "stdin and stdout: '$(cat out)'"
grep -qx err err || fail "stderr: $(cat err)"
[ "$(grep -c '^auxtap: backend emulated, engine ptrace, event intel_pt//u: expect' err)" -eq 1 ] ||
	fail "no message about emulation: $(cat err)"
quick_program
for sizes in 16,16 8,64K ,32; do
	"$AUXTAP" record --source ptrace -m "$sizes" -o sizes -- "$QUICK" 2>err || fail "-m $sizes: $(tail -n 1 err)"
	"$AUXTAP" dump --no-packets sizes | grep -q "CMDLINE.* -m $sizes -o" ||
		fail "-m $sizes: $("$AUXTAP" dump --no-packets sizes | grep CMDLINE)"
done
[ "$(stat -c %a data)" = 600 ] || fail "mode of the file: $(stat -c %a data)"
"$AUXTAP" record --source ptrace -o data -- "${killed[@]}" 2>/dev/null
status=$?
[ "$status" -eq 137 ] || fail "status $status, not 137"
[ -e data.old ] || fail "the old file was not kept"

# No crash: one line, no file.
"$AUXTAP" crash --source ptrace -o none -- "$QUICK" 2>err
status=$?
[ "$status" -eq 0 ] || fail "crash on true: status $status"
grep -q 'ended with status 0; no crash, no snapshot' err || fail "no message 'no crash': $(cat err)"
[ -e none ] && fail "a snapshot without a crash"

"$AUXTAP" list >out || fail "list"
grep -q '^record selects: ' out || fail "list does not say what record would pick"

# An AArch64 program selects its event, also through a script; Intel's trace unit is refused for it.
a64=$FIXTURES/a64/recursion
if command -v qemu-aarch64 >/dev/null && [ -x "$a64" ]; then
	printf '#!%s\n' "$a64" >script && chmod +x script
	for program in "$a64" ./script; do
		"$AUXTAP" record --backend emulated -o a64.data -- "$program" >out 2>err || fail "$program: status $?: $(cat err)"
		grep -q 'engine qemu .*, event cs_etm//u: expect' err || fail "$program: not announced: $(cat err)"
		"$AUXTAP" decode --summary a64.data >out && grep -q '^instructions: [1-9]' out ||
			fail "$program: no trace"
	done
	expect 125 'an AArch64 program, and intel_pt traces x86-64; use -e cs_etm//u' record \
		--backend emulated -e intel_pt//u -- "$a64"
	expect 125 'an AArch64 program.*use --source qemu' record --source ptrace -- "$a64"
	printf '#!/bin/sh\nexec %s\n' "$a64" >script
	"$AUXTAP" record --backend emulated --source qemu -o a64.data -- ./script >out 2>err
	grep -q 'AArch64 code, which intel_pt does not trace; -e cs_etm//u does' err || fail "script: $(cat err)"
	"$AUXTAP" record --backend emulated -e cs_etm//u -o a64.data -- ./script >out 2>err
	"$AUXTAP" decode --summary a64.data >out && grep -q '^instructions: [1-9]' out || fail "script, cs_etm: no trace"
	"$AUXTAP" list | grep -q 'for AArch64 programs: backend emulated, engine qemu, event cs_etm//u' \
		|| fail "list does not say what is selected for AArch64 programs"
else
	echo "not tested: AArch64 programs (no qemu-aarch64 or no compiler)"
fi
finish
