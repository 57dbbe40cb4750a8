# SPDX-License-Identifier: BSD-2-Clause
# crash --error-exitcode N: the exit status reports any death by a signal that dumps core, of any
# process and however the program itself ended. Without a death the status is the program's.
# ptrace runs some of the cases, unless it is the only engine here or AUXTAP_LONG is set.
. "$(dirname "$0")/lib.sh"
sources=ptrace some=
command -v qemu-x86_64 >/dev/null && [ -e "$BIN/auxtap-qemu.so" ] && sources="ptrace qemu"
[ "$sources" = ptrace ] || [ -n "${AUXTAP_LONG:-}" ] || some=ptrace

# expect STATUS SNAPSHOTS WHAT COMMAND...
expect() {
	local want=$1 nr=$2 what=$3 got
	shift 3
	rm -f data*
	"$AUXTAP" crash --source "$source" -m 8,16 -o data "$@" >out 2>err </dev/null
	got=$?
	[ $got -eq "$want" ] || fail "$what, $source: status $got, not $want: $(tail -n 2 err)"
	[ "$(ls data*.report.txt 2>/dev/null | wc -l)" -eq "$nr" ] || fail "$what, $source: $(ls data* 2>&1 | tr '\n' ' ')"
}
for source in $sources; do
	expect 99 1 'its own status' --error-exitcode 99 -- sh -c "$FIXTURES/null_deref; exit 3"
	expect 7 0 'no death' --error-exitcode 99 -- sh -c 'exit 7'
	# a signal that dumps no core does not count
	expect 4 0 'killed' --error-exitcode 99 -- sh -c 'sh -c "kill -TERM \$\$"; exit 4'
	[ "$source" != "$some" ] || continue
	expect 0 1 'hidden by the shell' -- sh -c "$FIXTURES/null_deref; true"
	expect 99 1 'a child of the shell' --error-exitcode 99 -- sh -c "$FIXTURES/null_deref; true"
	expect 99 2 'two deaths' --error-exitcode 99 -- sh -c "$FIXTURES/null_deref; $FIXTURES/bad_pointer; true"
	expect 99 1 'a forked child' --error-exitcode 99 -- "$FIXTURES/fork_child"
	expect 99 1 'the program' --error-exitcode=99 -- "$FIXTURES/null_deref"
	expect 99 1 'aborted' --error-exitcode 99 -- sh -c 'sh -c "kill -ABRT \$\$"; exit 4'
	expect 127 0 'no program' --error-exitcode 99 -- no-such-program-anywhere
done
finish
