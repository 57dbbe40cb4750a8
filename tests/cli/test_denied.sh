# SPDX-License-Identifier: BSD-2-Clause
# With ptrace or the reading of another process' memory denied, as in containers: list does not say
# "available", and a crash report has code and location, or says what is missing and why.
. "$(dirname "$0")/lib.sh"
# a sanitizer build's own leak check needs ptrace, which is denied here
export ASAN_OPTIONS="${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0"
command -v cc >/dev/null || skip "no C compiler"
cat >deny.c <<'C'
/* deny ptrace|readv... -- PROGRAM...: these system calls fail with EPERM */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
int main(int argc, char **argv)
{
	struct sock_filter f[16] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr))};
	struct sock_fprog program = {.filter = f};
	unsigned short n = 1;
	int at = 1;

	for (; at < argc && strcmp(argv[at], "--"); at++) {
		unsigned int nr = !strcmp(argv[at], "ptrace") ? SYS_ptrace : SYS_process_vm_readv;

		f[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, nr, 0, 1);
		f[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM);
	}
	f[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	program.len = n;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
		return 99;
	execvp(argv[at + 1], argv + at + 1);
	return 98;
}
C
cat >crasher.c <<'C'
#include <string.h>
#include <sys/prctl.h>
static void fatal_store(volatile int *p) { *p = 1; }
int main(int argc, char **argv)
{
	if (argc > 1 && !strcmp(argv[1], "hidden"))
		prctl(PR_SET_DUMPABLE, 0);
	fatal_store(NULL);
	return 0;
}
C
cc -o deny deny.c && cc -g -O0 -o crasher crasher.c || skip "cc does not work"
./deny ptrace -- true || skip "no seccomp filters here: status $?"
engines=ptrace
command -v qemu-x86_64 >/dev/null && [ -e "$BIN/auxtap-qemu.so" ] && engines="qemu ptrace"

./deny ptrace -- "$AUXTAP" list >out 2>&1
grep -q 'available' out && fail "list says available where ptrace is denied: $(grep available out)"
[ "$(grep -c 'no: ptrace is refused (Operation not permitted)' out)" -ge 1 ] || fail "list: $(cat out)"
grep -q 'record selects: backend emulated' out && fail "list: record selects a backend that cannot work: $(cat out)"
./deny readv -- "$AUXTAP" list >out 2>&1
grep -q 'ptrace: available' out || fail "list where process_vm_readv is denied: $(cat out)"

for engine in $engines; do
	./deny ptrace -- "$AUXTAP" crash --source $engine -o data -- ./crasher >out 2>err </dev/null
	status=$?
	[ $status -eq 125 ] || fail "$engine, ptrace denied: status $status"
	grep -q 'ptrace: Operation not permitted.*; allow ptrace' err || fail "$engine, ptrace denied: $(cat err)"
	./deny readv -- "$AUXTAP" crash --source $engine -o data -- ./crasher >out 2>err </dev/null
	status=$?
	[ $status -eq 139 ] || fail "$engine, readv denied: status $status"
	head -n 1 data.report.txt | grep -q 'in fatal_store at crasher.c:3' ||
		fail "$engine, readv denied: no location: $(head -n 3 data.report.txt)"
	grep -q '^Faulting instruction' data.report.txt || fail "$engine, readv denied: no code"
	grep -q 'could not be read' data.report.txt && fail "$engine, readv denied: says that memory is denied"
	grep -q 'decode_error' data.report.txt && fail "$engine, readv denied: $(grep -m 1 decode_error data.report.txt)"
done

# A process that is not dumpable denies its own user access to its memory.
if [ "$(id -u)" -eq 0 ] && command -v setpriv >/dev/null; then
	mkdir other && chmod 755 "$WORK" && chmod 777 other && cp crasher other
	if setpriv --reuid 65534 --clear-groups test -x "$AUXTAP"; then
		for engine in $engines; do
			(cd other && setpriv --reuid 65534 --clear-groups "$AUXTAP" crash \
				--source $engine \
				-o hidden.$engine -- ./crasher hidden) >out 2>err </dev/null
			status=$?
			[ $status -eq 139 ] || fail "$engine, hidden: status $status: $(tail -n 2 err)"
			grep -q '^Faulting instruction' other/hidden.$engine.report.txt ||
				grep -q 'memory could not be read: the kernel refused' \
				other/hidden.$engine.report.txt ||
				fail "$engine, hidden: neither code nor a reason: $(head -n 4 other/hidden.$engine.report.txt)"
		done
	else
		echo "skipped: a hidden process (another user cannot reach $AUXTAP)"
	fi
else
	echo "skipped: a hidden process (needs root and setpriv)"
fi
finish
