# SPDX-License-Identifier: BSD-2-Clause
# The crash programs under one source (first argument): each report names the right function
# and line, shows the calls before it, and is the golden one once addresses, counts of
# library code and numbers of processes are masked. UPDATE=1 writes the golden files anew.
. "$(dirname "$0")/lib.sh"
. "$SRC/tests/cli/mask_report.sh"
source=$1
GOLDEN=$SRC/tests/cli/golden

# crash NAME STATUS FUNCTION LINE-OWNER COMMAND...: the line is the one marked "crash: NAME".
crash() {
	local name=$1 want=$2 function=$3 own=$4 status line golden
	shift 4
	rm -rf "$WORK/c" && mkdir "$WORK/c" && cd "$WORK/c" || exit 1
	timeout 300 "$AUXTAP" crash --source "$source" -o data -- "$@" >stdout 2>stderr </dev/null
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
	elif ! diff -u "$golden" masked >diff; then
		fail "$name: the report is not the golden one: $(head -n 40 diff)"
	fi
	cd "$WORK" || exit 1
	echo "$name: $function at $own:$line"
}

crash null_deref 139 age_of null_deref.c "$FIXTURES/null_deref"
crash use_after_free 139 length_of_name use_after_free.c "$FIXTURES/use_after_free"
crash stack_smash 139 parse_request stack_smash.c "$FIXTURES/stack_smash"
crash bad_pointer 139 apply bad_pointer.c "$FIXTURES/bad_pointer"
crash cxx_uncaught 134 bank::account::withdraw cxx_uncaught.cpp "$FIXTURES/cxx_uncaught"
crash div_zero 136 average div_zero.c "$FIXTURES/div_zero"
crash thread_crash 139 work_on thread_crash.c "$FIXTURES/thread_crash"
crash fork_child 0 child_task fork_child.c "$FIXTURES/fork_child"
crash handler_crash 139 count_tick handler_crash.c "$FIXTURES/handler_crash"
crash dlopen_crash 139 scale_one dlopen_plugin.c "$FIXTURES/dlopen_crash"
crash null_deref 139 age_of null_deref.c "$FIXTURES/wrapper.sh"
crash illegal_insn 132 checked_index illegal_insn.c "$FIXTURES/illegal_insn"
crash stack_overflow 139 descend stack_overflow.c "$FIXTURES/stack_overflow"
crash second_fault 139 store second_fault.c "$FIXTURES/second_fault"

# no crash: one line saying so, no file
rm -rf "$WORK/c" && mkdir "$WORK/c" && cd "$WORK/c" || exit 1
"$AUXTAP" crash --source "$source" -o data -- true 2>stderr </dev/null || fail "true: status $?"
[ -e data ] && fail "true: a snapshot was left"
grep -qi 'no crash\|did not crash' stderr || fail "true: nothing was said: $(cat stderr)"
finish
