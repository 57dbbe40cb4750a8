# SPDX-License-Identifier: BSD-2-Clause
# Core files beside snapshots: against the kernel's own of the same process, byte by byte, and
# against what gdb shows of a live process; limits, names, modes.
. "$(dirname "$0")/lib.sh"
# else a sanitizers' build of auxtap sets its own limit to 0, which the program inherits
export ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}disable_coredump=0
command -v cc >/dev/null || skip "no C compiler"
command -v gdb >/dev/null || skip "no gdb"
cat >prog.c <<'C'
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define PAGE 4096
char *heap, *pages[8];
int data[2000] = {1, 2, 3}, empty[5000];
double factor = 1.5;
static pthread_barrier_t barrier;
static volatile int gone;

/* One mapping of each kind that the kernel distinguishes. */
static void map_all(void)
{
	int fd = open("/proc/self/exe", O_RDONLY), out = open("shared", O_RDWR | O_CREAT, 0600);

	if (ftruncate(out, 2 * PAGE))
		exit(2);
	for (int i = 0; i < 5; i++) {
		size_t size = (size_t)(i + 1) << 20;

		/* apart from others: what was once one mapping with pages counts as written */
		pages[i] = mmap(NULL, size + PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		munmap(pages[i] + size, PAGE);
		mprotect(pages[i], size, PROT_READ | PROT_WRITE);
	}
	pages[0][5 * PAGE] = 'x';
	madvise(pages[1], 2 << 20, MADV_DONTDUMP);
	pages[1][0] = 'd';
	mprotect(pages[2], 3 << 20, PROT_NONE);
	pages[3][0] = 'r';
	mprotect(pages[3], PAGE, PROT_READ);
	pages[4] = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
	pages[4][PAGE] = 'p';
	pages[5] = mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE, fd, PAGE);
	pages[6] = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, out, 0);
	pages[6][1] = 's';
	pages[7] = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pages[7][1] = 'a';
}

static void *worker(void *arg)
{
	volatile double local = 2.25;

	pthread_barrier_wait(&barrier);
	for (;;)
		pause();
	return local > 1 ? arg : NULL;
}

__attribute__((noinline)) static void inner(int *p, const char *why)
{
	volatile double product = factor * 3;

	*p = product > 0 ? *why : 1;
}

__attribute__((noinline)) static void outer(int nr, const char *why)
{
	volatile int local = nr * 7;

	inner((int *)(long)(local & 8), why);
	local++;
}

int main(int argc, char **argv)
{
	pthread_t thread;
	int filter;

	if (argc > 1 && !strcmp(argv[1], "children")) {
		for (int i = 0; i < 3; i++) {
			pid_t pid = fork();

			if (!pid)
				outer(3, "a child");
			waitpid(pid, NULL, 0);
			fprintf(stderr, "child %d\n", pid);
		}
		return 0;
	}
	heap = malloc(100000);
	strcpy(heap, "on the heap");
	data[1999] = argc;
	map_all();
	if (argc > 2 && (filter = open("/proc/self/coredump_filter", O_WRONLY)) >= 0 &&
	    write(filter, argv[2], strlen(argv[2])) < 0)
		return 3;
	if (argc > 1 && !strcmp(argv[1], "threads")) {
		pthread_barrier_init(&barrier, NULL, 3);
		for (int i = 0; i < 2; i++)
			pthread_create(&thread, NULL, worker, NULL);
		pthread_barrier_wait(&barrier);
		usleep(50000);
	}
	if (argc > 1 && !strcmp(argv[1], "abort"))
		abort();
	outer(argc, "a text");
	return gone;
}
C
cc -g -O1 -fno-omit-frame-pointer -pthread -o prog prog.c || fail "cc"
cc -g -O1 -fno-omit-frame-pointer -pthread -static -o prog_static prog.c || fail "cc -static"
gdb_core() { gdb -nx -batch -iex 'set debuginfod enabled off' "${@:3}" "$1" "$2" 2>&1; }

section_kernel() { # the kernel writes its own core of the process that we have just read
	local what
	[ "$(cat /proc/sys/kernel/core_pattern)" = core ] || {
		echo "(not compared with the kernel's core files: core_pattern is not 'core')"
		return
	}
	(ulimit -c unlimited) 2>/dev/null || {
		echo "(not compared with the kernel's core files: the hard limit forbids them)"
		return
	}
	for what in "one" "threads" "abort" "one 0x0" "threads 0x1f" "one 0x2f"; do
		rm -f core k k.*
		# shellcheck disable=SC2086
		(ulimit -c unlimited && guard "$AUXTAP" crash --source ptrace -o k -- \
			./prog_static $what) >out 2>&1
		[ -f core ] || { fail "kernel: $what: no core: $(tail -n 2 out)"; continue; }
		grep -q '^auxtap: core file k.core: [0-9]* KiB$' out || fail "kernel: $what: no line"
		python3 "$SRC/tests/cli/compare_core.py" core k.core >diff ||
			fail "kernel: $what: $(cat diff)"
		[ "$(stat -c %s core)" -gt $((8 * $(stat -c %b k.core) * 512 / 10)) ] ||
			fail "kernel: $what: no holes"
	done
	# with libraries: all that gdb shows
	rm -f core k k.*
	(ulimit -c unlimited && guard "$AUXTAP" crash --source ptrace -o k -- ./prog threads) \
		>out 2>&1
	python3 "$SRC/tests/cli/compare_core.py" core k.core >diff || fail "kernel: $(cat diff)"
	for what in core k.core; do
		gdb_core ./prog $what -ex 'info auxv' -ex 'info sharedlibrary' -ex 'info registers' \
			-ex 'info all-registers' -ex 'bt full' -ex 'x/32gx $sp' -ex 'p $_siginfo' \
			-ex 'info proc mappings' -ex 'p pages' | grep -v '^\[New LWP' >$what.txt
	done
	grep -q 'outer (nr=.*2' core.txt || fail "kernel: gdb: $(cat core.txt)"
	diff core.txt k.core.txt >diff || fail "kernel: gdb: $(cat diff)"
}

# What gdb shows of a live process, and of the core of one under an engine. Addresses differ.
section_gdb() {
	local source what show=(-ex bt -ex 'frame 1' -ex 'info locals' -ex 'p heap' -ex 'p data[1999]'
		-ex 'p data[1]' -ex 'p empty[7]' -ex 'p pages[0][20480]' -ex 'p pages[7][1]'
		-ex 'p factor' -ex 'p $_siginfo.si_signo' -ex 'p $_siginfo._sifields._sigfault.si_addr'
		-ex 'x/2s heap' -ex 'p sizeof(data)')
	local only='s/0x[0-9a-f]{5,}/ADDR/g; s/LWP [0-9]+/LWP/g; /^\[|^Using|^warning|^$/d'

	gdb -nx -batch -iex 'set debuginfod enabled off' -ex 'run one >/dev/null' "${show[@]}" \
		./prog 2>&1 | sed -E "$only; 1,/^[0-9]+.*\*p = /d" >live
	grep -q 'outer (nr=.*2' live || fail "gdb: no live process: $(cat live)"
	for source in qemu ptrace; do
		[ "$source" = ptrace ] || guard "$AUXTAP" crash --source qemu -o probe -- true \
			>/dev/null 2>&1 || { echo "(no qemu)"; continue; }
		rm -f g g.*
		guard "$AUXTAP" crash --core --source "$source" -o g -- ./prog one >out 2>&1
		[ -s g.core ] || { fail "gdb: $source: no core: $(tail -n 1 out)"; continue; }
		gdb_core ./prog g.core "${show[@]}" >core.txt
		grep -q "^Core was generated by \`./prog one'" core.txt || fail "gdb: $source: arguments"
		sed -E "$only; 1,/^[0-9]+.*\*p = /d" core.txt >seen
		diff live seen >diff || fail "gdb: $source: $(cat diff)"
		[ "$(stat -c %a g.core)" = 600 ] || fail "gdb: $source: mode"
		for what in 'info auxv:AT_EXECFN.*/prog"' "info registers:^rip .*<inner" \
			'info threads:^\* 1 .*inner \(p=' 'x/3i $pc:=> .*<inner.*mov' \
			'info files:core dump' \
			'info sharedlibrary:Yes .*libc\.so\.6'; do
			gdb_core ./prog g.core -ex "${what%%:*}" | grep -Eq "${what#*:}" ||
				fail "gdb: $source: ${what%%:*}"
		done
	done
	rm -f g g.*
	guard "$AUXTAP" crash --core -o g -- ./prog threads >out 2>&1
	[ "$(gdb_core ./prog g.core -ex 'thread apply all bt' | grep -c 'in worker (')" = 2 ] ||
		fail "gdb: threads"
}

section_a64() {
	local cc=aarch64-linux-gnu-gcc
	command -v $cc >/dev/null && command -v gdb-multiarch >/dev/null ||
		{ echo "(no AArch64 tools)"; return; }
	$cc -g -O1 -fno-omit-frame-pointer -pthread -static -o prog_a64 prog.c || fail "$cc"
	guard "$AUXTAP" crash --core -o a -- ./prog_a64 threads >out 2>&1
	[ -s a.core ] || { fail "a64: no core: $(tail -n 2 out)"; return; }
	gdb-multiarch -nx -batch -iex 'set debuginfod enabled off' -ex bt -ex 'p heap' \
		-ex 'p data[1999]' -ex 'info threads' -ex 'p $x0' -ex 'p $pc' prog_a64 a.core \
		>seen 2>&1
	for what in '^#0 .*inner (p=' '^#1 .*outer (nr=' '^#2 .*main (argc=2' '"on the heap"' \
		'^\$2 = 2$' '^  3 .*LWP' '^\$4 = .*<inner'; do
		grep -q "$what" seen || fail "a64: no '$what': $(cat seen)"
	done
}

section_limits() {
	local size
	rm -f l l.*
	(ulimit -c 0; guard "$AUXTAP" crash -o l -- ./prog one >out 2>&1)
	[ -e l.core ] && fail "limits: a core without permission"
	grep -qw 'core' out && fail "limits: $(grep -w core out)"
	if (ulimit -c 40) 2>/dev/null; then # KiB
		(ulimit -c 40; guard "$AUXTAP" crash --source qemu -o l -- ./prog one >out 2>&1)
		grep -q 'core file l.core: [0-9]* KiB; cut by its limit: [0-9]* mapping' out ||
			fail "limits: ulimit: $(tail -n 1 out)"
		[ "$(stat -c %b l.core)" -le 88 ] || fail "limits: ulimit: $(stat -c %b l.core) blocks"
	fi
	for size in 1 2K; do
		rm -f l l.*
		guard "$AUXTAP" crash --core=$size -o l -- ./prog one >out 2>&1
		[ -e l.core ] && fail "limits: $size: a core"
		grep -q 'l.core: no core file was written: its headers need .*--core=SIZE' out ||
			fail "limits: $size: $(tail -n 1 out)"
	done
	# cut: the stack is kept first, and what is missing is not zero
	rm -f l l.*
	guard "$AUXTAP" crash --core=48K -o l -- ./prog one >out 2>&1
	gdb_core ./prog l.core -ex bt -ex 'p heap' -ex 'p pages[0][20480]' >seen
	grep -q 'main (argc=2' seen || fail "limits: cut: no backtrace: $(cat seen)"
	grep -q "= 0 " seen && fail "limits: cut: invented: $(cat seen)"
	"$AUXTAP" crash --core=x -- true >out 2>&1 && fail "limits: --core=x accepted"
	"$AUXTAP" record --core -- true >out 2>&1 && fail "limits: record --core accepted"
	grep -q "auxtap: --core: is an option of 'auxtap crash'" out || fail "limits: $(cat out)"
}

section_names() {
	local pids
	rm -f n n.*
	guard "$AUXTAP" crash --core --keep 2 -o n -- ./prog children 2>out >/dev/null
	mapfile -t pids < <(sed -n 's/^child //p' out)
	[ "${#pids[@]}" = 3 ] || fail "names: $(cat out)"
	[ -s "n.${pids[2]}.core" ] || fail "names: the newest has no core: $(ls)"
	[ "$(find . -name 'n*.core' | wc -l)" = 2 ] || fail "names: --keep 2: $(ls)"
	guard "$AUXTAP" crash --core -o n -- ./prog one >/dev/null 2>&1
	guard "$AUXTAP" crash --core -o n -- ./prog one >/dev/null 2>&1
	[ -s n.core ] && [ -s n.old.core ] || fail "names: no n.old.core: $(ls)"
	ln -s target n2.core
	guard "$AUXTAP" crash --core -o n2 -- ./prog one >/dev/null 2>&1
	[ -e target ] && fail "names: wrote through a link"
	[ -f n2.core ] && ! [ -L n2.core ] || fail "names: the link stays"
}

section_full_disk() { # a small file system, if this user may mount one
	mkdir -p small
	mount -t tmpfs -o size=200k none small 2>/dev/null ||
		{ echo "(no small file system)"; return; }
	guard "$AUXTAP" crash --core -m 16,16 -o small/f -- ./prog one >out 2>&1
	grep -q 'small/f.core: no core file was written: .*the disk allows' out ||
		fail "full disk: $(tail -n 1 out)"
	[ -s small/f ] || fail "full disk: no snapshot"
	[ -e small/f.core ] && fail "full disk: a core stays"
	umount small
}

section_kernel
section_gdb
section_a64
section_limits
section_names
section_full_disk
finish
