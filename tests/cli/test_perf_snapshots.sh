# SPDX-License-Identifier: BSD-2-Clause
# Stock perf reads every kind of snapshot: of the program, a forked child, a grandchild, a thread,
# with threads and a leader that ended before, after exec, by -S, of several deaths; also for
# AArch64 programs. 'perf script --itrace=b' lists the branches that auxtap's own decoder finds.
# All kinds under qemu; under ptrace and for AArch64 half of them, unless AUXTAP_LONG is set. With
# the sanitizers only under qemu: the build without them compares with perf.
. "$(dirname "$0")/lib.sh"
command -v perf >/dev/null || skip "perf is not installed: nothing to compare with"
command -v cc >/dev/null || skip "no C compiler"
cat >kinds.c <<'C'
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile unsigned int sink;

static __attribute__((noinline)) void work(int nr)
{
	for (int i = 0; i < nr; i++)
		sink = (i * 2654435761u) & 64 ? sink + 1 : sink ^ 3;
}

static __attribute__((noinline)) void die(void)
{
	work(200);
	*(volatile int *)8 = 1;
}

static void map_code(void) /* a further record of this thread's event */
{
	FILE *self = fopen("/proc/self/exe", "r");

	if (mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fileno(self), 0) == MAP_FAILED)
		abort();
}

static void child(int generations)
{
	pid_t pid = fork();

	if (!pid) {
		if (generations > 1)
			child(generations - 1);
		die();
	}
	waitpid(pid, NULL, 0);
}

static void *maps_and_ends(void *arg)
{
	map_code();
	work(50);
	return arg;
}

static void *dies(void *leader)
{
	if (leader)
		pthread_join(*(pthread_t *)leader, NULL);
	die();
	return NULL;
}

int main(int argc, char **argv)
{
	const char *kind = argc > 1 ? argv[1] : "";
	static pthread_t self;
	pthread_t t;

	if (!strcmp(kind, "child") || !strcmp(kind, "grandchild")) {
		child(*kind == 'g' ? 2 : 1);
		return 0;
	}
	if (!strcmp(kind, "children")) {
		child(1);
		child(1);
		child(1);
		return 0;
	}
	if (!strcmp(kind, "thread") || !strcmp(kind, "leader")) {
		self = pthread_self();
		pthread_create(&t, NULL, dies, *kind == 'l' ? &self : NULL);
		if (*kind == 'l')
			syscall(SYS_exit, 0); /* pthread_exit() takes 2.8 million steps to unwind */
		pthread_join(t, NULL);
	}
	if (!strcmp(kind, "ended") || !strcmp(kind, "ended_child")) {
		for (int i = 0; i < 3; i++) {
			pthread_create(&t, NULL, maps_and_ends, NULL);
			pthread_join(t, NULL);
		}
		if (kind[5])
			child(1);
	}
	if (!strcmp(kind, "exec") || !strcmp(kind, "exec_child")) {
		map_code();
		if (kind[4] && fork()) {
			wait(NULL);
			return 0;
		}
		execl("/proc/self/exe", "kinds", "self", NULL);
	}
	if (strcmp(kind, "ended_child"))
		die();
	return 0;
}
C

# compared WHAT FILE: perf's branches of each thread equal ours. Those with only one end (where
# tracing starts or stops) are excluded: perf prints 0 for the other end. For CoreSight trace perf
# 6.1 reports a range with the next one, so it may lack the last branch.
compared() {
	local tid nr=0 tids
	tids=$("$AUXTAP" dump "$2" | sed -n 's/.* AUXTRACE.* tid \([0-9]*\).*/\1/p' | sort -u)
	[ -n "$tids" ] || { fail "$1: no trace"; return; }
	for tid in $tids; do
		if ! perf script -i "$2" --tid "$tid" --itrace=b -F ip,addr \
			>perf.out 2>perf.err; then
			fail "$1: perf script, thread $tid: $(head -n 1 perf.err)"
			continue
		fi
		sed -n 's/^ *\([1-9a-f][0-9a-f]*\) => *\([1-9a-f][0-9a-f]*\)$/\1 \2/p' perf.out \
			>perf.list
		"$AUXTAP" decode --tid "$tid" --events branch,async -F ip,addr "$2" 2>own.err |
			sed -n 's/^ *\([1-9a-f][0-9a-f]*\) => *\([1-9a-f][0-9a-f]*\)$/\1 \2/p' \
			>own.list
		case $1 in a64*) [ $(($(wc -l <own.list) - 1)) -eq "$(wc -l <perf.list)" ] &&
			sed -i '$d' own.list ;; esac
		cmp -s perf.list own.list ||
			fail "$1: thread $tid: perf lists $(wc -l <perf.list) branches, decode $(wc -l <own.list): $(diff perf.list own.list | head -n 4 | tr '\n' ' ')"
		nr=$((nr + $(wc -l <perf.list)))
	done
	[ "$nr" -gt 200 ] || fail "$1: only $nr branches"
	echo "$1: $nr branches"
}

# kind WHAT NR-OF-SNAPSHOTS OPTION... -- COMMAND...
kind() {
	local what=$1 nr=$2 file
	shift 2
	rm -rf kind && mkdir kind
	"$AUXTAP" crash -o kind/data "$@" >out 2>err </dev/null
	for file in kind/data*.report.txt; do
		[ -e "$file" ] || { fail "$what: no snapshot: $(tail -n 3 err)"; return; }
		nr=$((nr - 1))
		compared "$what${file#kind/data}" "${file%.report.txt}"
	done
	[ $nr -eq 0 ] || fail "$what: $nr snapshots missing: $(tail -n 3 err)"
}

all="self child grandchild thread ended ended_child exec exec_child"
some="self child thread exec"
qemu=
command -v qemu-x86_64 >/dev/null && [ -e "$BIN/auxtap-qemu.so" ] && qemu=yes
[ -z "${AUXTAP_LONG:-}" ] && [ -n "$qemu" ] || some=$all
kinds() { # KINDS NAME PROGRAM OPTION...
	local list=$1 name=$2 program=$3 what nr
	shift 3
	for what in $list; do
		case $what in grandchild) nr=2 ;; *) nr=1 ;; esac
		kind "$name $what" $nr "$@" -- "$program" $what
	done
	[ "$list" != "$all" ] || kind "$name children" 2 "$@" --keep 2 -- "$program" children
	kind "$name -S child" 1 "$@" -S8K -- "$program" child
}

cc -g -O1 -static -pthread -w -o kinds kinds.c 2>cc.err || skip "cc -static does not work: $(tail -n 1 cc.err)"
if short_of_sanitizers && [ -n "$qemu" ]; then
	kinds "$all" qemu ./kinds --source qemu
	finish
fi
kinds "$some" ptrace ./kinds --source ptrace
kind "ptrace leader" 1 --source ptrace -- ./kinds leader
if [ -n "$qemu" ]; then
	kinds "$all" qemu ./kinds --source qemu
	"$AUXTAP" record --source qemu -S -m 8,16 -o snapshot -- ./kinds child >out 2>err </dev/null
	compared "record -S" snapshot
else
	echo "skipped: the qemu engine (qemu-x86_64 is not installed)"
fi
if ! ldd "$(readlink -f "$(command -v perf)")" 2>/dev/null | grep -q libopencsd; then
	echo "skipped: AArch64 (this perf has no OpenCSD)"
elif ! command -v qemu-aarch64 >/dev/null || ! command -v aarch64-linux-gnu-gcc >/dev/null; then
	echo "skipped: AArch64 (qemu-aarch64 or a compiler for it is not installed)"
elif aarch64-linux-gnu-gcc -g -O1 -static -pthread -w -o kinds.a64 kinds.c; then
	kinds "$some" a64 ./kinds.a64 --backend emulated
else
	fail "aarch64-linux-gnu-gcc -static"
fi
finish
