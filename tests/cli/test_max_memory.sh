# SPDX-License-Identifier: BSD-2-Clause
# A program that uses more memory than --max-memory is ended like a crash: a snapshot, a report
# that names the limit, status 137. Shared memory counts once, address space does not count.
. "$(dirname "$0")/lib.sh"
command -v cc >/dev/null || skip "no C compiler"
cat >eater.c <<'C'
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#define MIB (1ul << 20)
static void *mapped(size_t size)
{
	return mmap(NULL, size, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
}
/* One system call: single steps would take an hour to touch so much. */
static void fill(void *at, size_t size)
{
	int fd = open("/dev/zero", O_RDONLY);

	for (size_t done = 0; done < size;) {
		ssize_t n = read(fd, (char *)at + done, size - done);

		if (n <= 0)
			abort();
		done += (size_t)n;
	}
	close(fd);
}
/* More than any limit here; not without end, in case nothing ends it. */
static void eat(void)
{
	for (int i = 0; i < 75; i++) {
		fill(mapped(16 * MIB), 16 * MIB);
		usleep(20000);
	}
	exit(6);
}
int main(int argc, char **argv)
{
	int status;
	void *shared;

	setvbuf(stdout, NULL, _IONBF, 0);
	if (!strcmp(argv[1], "maps")) { /* terabytes, unused */
		if (mapped(1ul << 40) == MAP_FAILED && mapped(1ul << 36) == MAP_FAILED)
			return 77;
		usleep(500000);
		return 3;
	}
	if (!strcmp(argv[1], "shares")) { /* 8 processes with one heap */
		shared = mapped(100 * MIB);
		fill(shared, 100 * MIB);
		for (int i = 0; i < 7; i++)
			if (!fork()) {
				usleep(2500000);
				_exit(0);
			}
		while (wait(NULL) > 0)
			;
		return 4;
	}
	if (!strcmp(argv[1], "child")) { /* the largest is the one that ends */
		if (!fork())
			eat();
		wait(&status);
		printf("child: signal %d\n", WTERMSIG(status));
		return 5;
	}
	if (!strcmp(argv[1], "later"))
		while (access("go", F_OK))
			usleep(10000);
	eat();
}
C
cc -O1 -g -static -o eater eater.c 2>cc.err || skip "cc -static does not work: $(tail -n 1 cc.err)"
engines=ptrace
"$BIN/auxtap-emu" engines | grep -q '^x86_64' && engines="qemu ptrace"
for engine in $engines; do
	rm -f data*
	"$AUXTAP" crash --source $engine --max-memory 400M -m 8,64 -o data -- ./eater eats \
		>out 2>err </dev/null
	status=$?
	[ $status -eq 137 ] || fail "$engine: status $status, not 137: $(tail -n 3 err)"
	grep -q 'auxtap ended it: the processes of this session used more than 400 MiB, the limit that --max-memory sets' \
		data.report.txt ||
		fail "$engine: the report does not name the limit: $(head -n 4 data.report.txt)"
	"$AUXTAP" decode --summary data >summary 2>&1
	grep -q '^errors: 0$' summary && grep -q '^instructions: [1-9]' summary ||
		fail "$engine: the snapshot: $(tr '\n' ' ' <summary)"
	"$AUXTAP" record --source $engine --max-memory 400M -m 8,64 -o full -- ./eater eats \
		>out 2>err </dev/null
	status=$?
	[ $status -eq 137 ] || fail "$engine, record: status $status, not 137: $(tail -n 3 err)"
	grep -q 'killed a process: all processes together used more than 400 MiB; raise --max-memory' \
		err || fail "$engine, record: $(cat err)"
	rm -f data*
	"$AUXTAP" crash --source $engine --max-memory 400M -m 8,64 -o data -- ./eater child \
		>out 2>err </dev/null
	status=$?
	[ $status -eq 5 ] && [ "$(cat out)" = "child: signal 9" ] ||
		fail "$engine, a child: status $status, $(cat out): $(tail -n 3 err)"
	[ -e data ] || fail "$engine, a child: no snapshot"
	for what in maps shares; do
		./eater $what
		native=$?
		"$AUXTAP" crash --source $engine --max-memory 700M -m 8,64 -o healthy \
			-- ./eater $what >out 2>err </dev/null
		status=$?
		[ $status -eq $native ] || fail "$engine, $what: status $status, natively $native: $(tail -n 3 err)"
		[ -e healthy ] && fail "$engine, $what: a snapshot of a healthy program"
	done
done
case "$engines" in
qemu*)
	if aarch64-linux-gnu-gcc -O1 -g -static -o eater.a64 eater.c 2>cc.err; then
		"$AUXTAP" crash -e cs_etm//u --max-memory 400M -o a64 -- ./eater.a64 eats \
			>out 2>err </dev/null
		status=$?
		[ $status -eq 137 ] || fail "AArch64: status $status, not 137: $(tail -n 3 err)"
		grep -q 'used more than 400 MiB' a64.report.txt || fail "AArch64: $(head -n 4 a64.report.txt)"
	fi ;;
esac
# The default: half of the memory that the kernel reports as available.
awk '$1 == "MemAvailable:" { $2 = 1024 * 600 } { print }' /proc/meminfo >meminfo
if unshare -m true 2>/dev/null; then
	# shellcheck disable=SC2016
	unshare -m sh -c 'mount --bind meminfo /proc/meminfo && exec "$0" crash -m 8,64 -o half -- ./eater eats' \
		"$AUXTAP" >out 2>err </dev/null
	status=$?
	[ $status -eq 137 ] || fail "default: status $status, not 137: $(tail -n 3 err)"
	grep -q 'used more than 300 MiB' half.report.txt || fail "default: $(head -n 4 half.report.txt)"
	# a process that auxtap has not started has no limit by default
	./eater later &
	eater=$!
	# shellcheck disable=SC2016
	unshare -m sh -c 'mount --bind meminfo /proc/meminfo && exec "$0" record --backend emulated -m 8,64 -o attached -p $1' \
		"$AUXTAP" $eater >out 2>err </dev/null &
	recorder=$!
	wait_for test -s attached
	touch go
	wait $eater
	status=$?
	[ $status -eq 6 ] || fail "attached: status $status, not 6"
	wait $recorder
	[ -s attached ] || fail "attached: nothing was recorded: $(cat err)"
fi
"$AUXTAP" crash --max-memory 0 -- ./eater eats >out 2>err
[ $? -eq 125 ] || fail "--max-memory 0: $(cat err)"
finish
