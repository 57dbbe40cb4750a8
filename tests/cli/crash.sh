# SPDX-License-Identifier: BSD-2-Clause
# The crash programs under one engine (first argument; a64: those for AArch64, with the default
# engine): each report names the right function and line, shows the calls before it, and equals
# the golden one once addresses, counts of library code and process numbers are masked.
# UPDATE=1 writes the golden files anew. ptrace skips the programs that take the most steps, unless
# qemu is missing or AUXTAP_LONG is set: emu/test_ptrace and test_error_exitcode run such deaths
# under ptrace.
. "$(dirname "$0")/lib.sh"
. "$SRC/tests/cli/mask_report.sh"
source=$1
GOLDEN=$SRC/tests/cli/golden
programs=$FIXTURES
options=(--source "$source")
if [ "$source" = a64 ]; then
	programs=$FIXTURES/a64
	options=(--backend emulated)
	command -v qemu-aarch64 >/dev/null && [ -x "$programs/null_deref" ] ||
		skip "qemu-aarch64 or a compiler for AArch64 is not installed"
fi

as_golden() { cat; }
! old_qemu || as_golden() { without_blocks; }

# crash NAME STATUS FUNCTION LINE-OWNER COMMAND...: the line is the one marked "crash: NAME".
crash() {
	local name=$1 want=$2 function=$3 own=$4 status line golden
	shift 4
	rm -rf "$WORK/c" && mkdir "$WORK/c" && cd "$WORK/c" || exit 1
	guard "$AUXTAP" crash "${options[@]}" -o data -- "$@" >stdout 2>stderr </dev/null
	status=$?
	[ "$status" -eq "$want" ] || fail "$name: exit status $status, not $want: $(tail -n 2 stderr)"
	if ! [ -s data.report.txt ]; then
		fail "$name: no report: $(tail -n 3 stderr)"
		return
	fi
	line=$(grep -n "crash: $name " "$SRC/fixtures/crash/$own" | cut -d: -f1)
	head -n 12 data.report.txt | grep -q "$function" || fail "$name: the head does not name $function"
	grep -q "$own:$line" data.report.txt || fail "$name: the report does not name $own:$line"
	sed -n '/^The calls/,/^Last/p' data.report.txt | grep -q "$function" ||
		fail "$name: the calls do not show $function"
	golden=$GOLDEN/$name.$source.txt
	mask "$own" <data.report.txt >masked
	if [ -n "${UPDATE:-}" ]; then
		cp masked "$golden"
	elif ! as_golden <"$golden" | diff -u - masked >diff; then
		fail "$name: the report is not the golden one: $(head -n 40 diff)"
	fi
	cd "$WORK" || exit 1
	echo "$name: $function at $own:$line"
}

all=yes
[ "$source" = ptrace ] && [ -z "${AUXTAP_LONG:-}${UPDATE:-}" ] &&
	command -v qemu-x86_64 >/dev/null &&
	[ -e "$BIN/auxtap-qemu.so" ] && all=
crash null_deref 139 age_of null_deref.c "$programs/null_deref"
[ -z "$all" ] || crash use_after_free 139 length_of_name use_after_free.c "$programs/use_after_free"
crash bad_pointer 139 apply bad_pointer.c "$programs/bad_pointer"
[ -z "$all" ] || crash cxx_uncaught 134 bank::account::withdraw cxx_uncaught.cpp "$programs/cxx_uncaught"
crash abort_assert 134 take abort_assert.c "$programs/abort_assert"
crash thread_crash 139 work_on thread_crash.c "$programs/thread_crash"
if [ "$source" = a64 ]; then
	# a tick for each instruction and each record, even if the trace has no times
	awk '$2 == "instructions," { nr = $1 } / s of emulated time / { ns = $1 * 1e9 }
		END { exit !(nr > 10000 && ns > nr - 1000 && ns < nr * 1.1) }' c/data.report.txt ||
		fail "thread_crash: emulated time: $(grep -A 2 ' instructions, ' c/data.report.txt)"
fi
crash fork_child 0 child_task fork_child.c "$programs/fork_child"
crash handler_crash 139 count_tick handler_crash.c "$programs/handler_crash"
crash dlopen_crash 139 scale_one dlopen_plugin.c "$programs/dlopen_crash"
# the program executes itself again, with another stack
crash stack_overflow 139 descend stack_overflow.c "$programs/stack_overflow"
crash second_fault 139 store second_fault.c "$programs/second_fault"
if [ "$source" = a64 ]; then
	# libc's memset has no symbol; the PLT entry has one, but the program is not executing there
	for now in '' 1; do
		LD_BIND_NOW=$now "$AUXTAP" crash "${options[@]}" -o data \
			-- "$programs/second_fault" >stdout 2>stderr
		"$AUXTAP" report --calls 400 data | grep -E '^ +[0-9]+ +memset ' >rows
		[ -s rows ] || fail "second_fault: no memset"
		grep -q 'second_fault$' rows && fail "second_fault: memset attributed to the program: $(cat rows)"
		[ -z "$now" ] || grep -q 'libc\.so\.6$' rows || fail "second_fault: memset is libc's: $(cat rows)"
	done
fi
if [ "$source" != a64 ]; then
	crash stack_smash 139 parse_request stack_smash.c "$programs/stack_smash"
	# qemu returns to where no address is, and faults there; it is reported as on a processor
	grep -qE 'parse_request .*<- SIGSEGV' c/data.report.txt ||
		fail "stack_smash: where it died: $(grep '<-' c/data.report.txt)"
	crash div_zero 136 average div_zero.c "$programs/div_zero"
	[ -z "$all" ] || crash null_deref 139 age_of null_deref.c "$programs/wrapper.sh"
	crash illegal_insn 132 checked_index illegal_insn.c "$programs/illegal_insn"
else
	# the overwritten frame is the caller's
	crash stack_smash_a64 139 handle stack_smash.c "$programs/stack_smash"
	# an ETM omits the lowest bits; the registers have them
	pc=$(sed -n 's/.* pc 0*\([0-9a-f]*\).*/\1/p' c/data.report.txt)
	grep -q "^  SIGSEGV  *0x$pc\$" c/data.report.txt &&
		grep -q "^  return .*-> 0x$pc\$" c/data.report.txt ||
		fail "stack_smash_a64: the branches do not end at $pc: $(grep -A 30 '^Last' c/data.report.txt | tail -n 4)"
	crash illegal_insn 133 checked_index illegal_insn.c "$programs/illegal_insn"
	crash a64_undefined 132 undefined a64_faults.c "$programs/a64_faults" undefined
	crash a64_breakpoint 133 breakpoint a64_faults.c "$programs/a64_faults" breakpoint
	crash a64_misaligned 135 misaligned a64_faults.c "$programs/a64_faults" misaligned
	crash a64_read_only 139 read_only a64_faults.c "$programs/a64_faults" read_only
	crash a64_into_data 139 into_data a64_faults.c "$programs/a64_faults" into_data
	crash a64_off_by_two 135 off_by_two a64_faults.c "$programs/a64_faults" off_by_two
	crash a64_vector 139 vector a64_faults.c "$programs/a64_faults" vector
	# the shell is not an AArch64 program
	options+=(-e cs_etm//u)
	crash null_deref 139 age_of null_deref.c "$programs/wrapper.sh"
fi

# no crash: one line reports it, no file. On AArch64 a division by zero does not fault.
rm -rf "$WORK/c" && mkdir "$WORK/c" && cd "$WORK/c" || exit 1
[ "$source" = a64 ] && true=$programs/div_zero || true=true
"$AUXTAP" crash "${options[@]}" -o data -- "$true" >stdout 2>stderr </dev/null || fail "$true: status $?"
[ -e data ] && fail "$true: a snapshot was left"
grep -qi 'no crash\|did not crash' stderr || fail "$true: no message: $(cat stderr)"
[ "$source" != a64 ] || grep -qx 5 stdout || fail "$true: $(cat stdout)"
finish
