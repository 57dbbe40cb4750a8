# SPDX-License-Identifier: BSD-2-Clause
# crash --error-exitcode N: the exit status reports any death by a signal that dumps core, of any
# process and however the program itself ended. Without a death the status is the program's.
# ptrace runs some of the cases, unless it is the only engine here or AUXTAP_LONG is set.
. "$(dirname "$0")/lib.sh"
sources=ptrace some=
command -v qemu-x86_64 >/dev/null && [ -e "$BIN/auxtap-qemu.so" ] && sources="ptrace qemu"
[ "$sources" = ptrace ] || [ -n "${AUXTAP_LONG:-}" ] || some=ptrace

# calls END PROGRAM|-SIGNAL...: runs the programs, sends itself the signals, in processes of their
# own, and ends with the status END. As a shell, in a tenth of its single steps.
cat >calls.c <<'C'
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
int main(int argc, char **argv)
{
	for (int i = 2; i < argc; i++) {
		pid_t pid = fork();

		if (!pid) {
			if (*argv[i] == '-')
				kill(getpid(), atoi(argv[i] + 1));
			execl(argv[i], argv[i], (char *)NULL);
			_exit(127);
		}
		waitpid(pid, NULL, 0);
	}
	return atoi(argv[1]);
}
C
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
	dies=(sh -c "$FIXTURES/null_deref; exit 3") lives=(sh -c 'exit 7')
	killed=(sh -c 'sh -c "kill -TERM \$\$"; exit 4')
	if [ "$source" = "$some" ] && cc -static -o calls calls.c 2>/dev/null; then
		dies=(./calls 3 "$FIXTURES/null_deref") lives=(./calls 7) killed=(./calls 4 -15)
	fi
	expect 99 1 'its own status' --error-exitcode 99 -- "${dies[@]}"
	expect 7 0 'no death' --error-exitcode 99 -- "${lives[@]}"
	# a signal that dumps no core does not count
	expect 4 0 'killed' --error-exitcode 99 -- "${killed[@]}"
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
