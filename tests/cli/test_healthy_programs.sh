# SPDX-License-Identifier: BSD-2-Clause
# Healthy programs: busy signal handlers, sanitizer builds. Under crash they print and return the
# same as natively, and leave no snapshot. If qemu cannot do that, the report names qemu's limit
# (handlers that need an aligned stack), or the program is refused.
. "$(dirname "$0")/lib.sh"
command -v cc >/dev/null || skip "no C compiler"
cat >timers.c <<'C'
#include <signal.h>
#include <stdio.h>
#include <sys/time.h>
static volatile sig_atomic_t ticks;
static volatile unsigned work;
static void on_tick(int signo) { (void)signo; ticks++; }
int main(void)
{
	struct itimerval often = {{0, 3000}, {0, 3000}}, off = {{0, 0}, {0, 0}};
	signal(SIGALRM, on_tick);
	setitimer(ITIMER_REAL, &often, NULL);
	while (ticks < 20)
		work = work * 3 + 1;
	setitimer(ITIMER_REAL, &off, NULL);
	puts("20 ticks");
	return 3;
}
C
cat >children.c <<'C'
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>
static volatile sig_atomic_t ended, sum;
static void on_child(int signo)
{
	int status;
	(void)signo;
	while (waitpid(-1, &status, WNOHANG) > 0) {
		sum += WEXITSTATUS(status);
		ended++;
	}
}
int main(void)
{
	signal(SIGCHLD, on_child);
	for (int i = 0; i < 20; i++)
		if (!fork())
			_exit(i);
	while (ended < 20)
		usleep(1000);
	printf("%d children, sum %d\n", (int)ended, (int)sum);
	return 4;
}
C
cat >altstack.c <<'C'
#include <signal.h>
#include <stdio.h>
static char other[65536];
static volatile sig_atomic_t inside, nested;
static void on_usr2(int signo) { (void)signo; nested++; }
static void on_usr1(int signo)
{
	char here;
	(void)signo;
	inside += &here >= other && &here < other + sizeof(other);
	raise(SIGUSR2);
}
int main(void)
{
	stack_t stack = {.ss_sp = other, .ss_size = sizeof(other)};
	struct sigaction act = {.sa_handler = on_usr1, .sa_flags = SA_ONSTACK};
	sigaltstack(&stack, NULL);
	sigaction(SIGUSR1, &act, NULL);
	signal(SIGUSR2, on_usr2);
	for (int i = 0; i < 50; i++)
		raise(SIGUSR1);
	printf("%d on the other stack, %d nested\n", (int)inside, (int)nested);
	return 5;
}
C
cat >jumps.c <<'C'
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
static sigjmp_buf back;
static void on_fault(int signo) { siglongjmp(back, signo); }
int main(void)
{
	volatile int faults = 0;
	int *volatile nowhere = NULL;
	signal(SIGSEGV, on_fault);
	signal(SIGFPE, on_fault);
	for (volatile int i = 0; i < 30; i++) {
		volatile int zero = 0;
		if (sigsetjmp(back, 1))
			faults++;
		else if (i & 1)
			*nowhere = 1;
		else
			zero = 1 / zero;
	}
	printf("%d faults\n", (int)faults);
	return 6;
}
C
cat >queue.c <<'C'
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <unistd.h>
static volatile sig_atomic_t nr, in_order = 1, sum;
static void on_queued(int signo, siginfo_t *info, void *context)
{
	(void)signo;
	(void)context;
	in_order &= info->si_value.sival_int == nr;
	sum += info->si_value.sival_int;
	nr++;
}
int main(void)
{
	struct sigaction act = {.sa_sigaction = on_queued, .sa_flags = SA_SIGINFO};
	sigset_t set, old;
	sigaction(SIGRTMIN + 3, &act, NULL);
	sigemptyset(&set);
	sigaddset(&set, SIGRTMIN + 3);
	sigprocmask(SIG_BLOCK, &set, &old);
	for (int i = 0; i < 40; i++)
		sigqueue(getpid(), SIGRTMIN + 3, (union sigval){.sival_int = i});
	sigprocmask(SIG_SETMASK, &old, NULL);
	printf("%d queued, sum %d, in order %d\n", (int)nr, (int)sum, (int)in_order);
	return 7;
}
C
cat >aligned.c <<'C'
#include <signal.h>
#include <stdio.h>
static volatile double value = 1.25;
static char text[32];
static void on_signal(int signo) { (void)signo; snprintf(text, sizeof(text), "%.2f", value); }
int main(void)
{
	signal(SIGUSR1, on_signal);
	raise(SIGUSR1);
	puts(text);
	return 8;
}
C
# the same below the stack pointer, in the 128 bytes that a function which calls no others may use
cat >leaf.c <<'C'
#include <signal.h>
#include <stdio.h>
static volatile sig_atomic_t nr;
static void on_signal(int signo);
__asm__(".type on_signal, @function\n"
	"on_signal: movaps %xmm0, -24(%rsp)\n" /* rsp + 8 is divisible by 16 here */
	"	incl nr(%rip)\n"
	"	ret\n"
	".size on_signal, . - on_signal\n");
int main(void)
{
	signal(SIGUSR1, on_signal);
	raise(SIGUSR1);
	printf("%d\n", (int)nr);
	return 11;
}
C
# One thread gets signals while another replaces their handler: qemu alone enters SIG_DFL or SIG_IGN
# as if it were a handler, and more often if it must wait for the pages of the frame.
cat >replaced.c <<'C'
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
static volatile int stop;
static volatile sig_atomic_t nr;
static void on_signal(int signo) { (void)signo; nr = 1; }
static void *sender(void *arg)
{
	stack_t stack = {.ss_size = 65536};
	stack.ss_sp = mmap(NULL, stack.ss_size, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	sigaltstack(&stack, NULL);
	while (!stop) {
		madvise(stack.ss_sp, stack.ss_size, MADV_DONTNEED);
		raise(SIGURG);
	}
	return arg;
}
int main(void)
{
	struct sigaction act = {.sa_handler = on_signal, .sa_flags = SA_ONSTACK};
	pthread_t thread;
	sigaction(SIGURG, &act, NULL);
	pthread_create(&thread, NULL, sender, NULL);
	for (int i = 0; i < 40000 || !nr; i++) {
		sigaction(SIGURG, &act, NULL);
		signal(SIGURG, i & 1 ? SIG_IGN : SIG_DFL);
	}
	stop = 1;
	pthread_join(thread, NULL);
	puts(nr ? "received" : "not received");
	return 9;
}
C
# Each page in the map belongs to the program: qemu alone lists a page of a thread that has been
# joined, and removes it then.
cat >joined.c <<'C'
#include <pthread.h>
#include <stdio.h>
#include <string.h>
static void *run(void *arg) { return arg; }
static int look(void)
{
	static unsigned long start[512], end[512];
	char perms[5], line[512];
	FILE *f = fopen("/proc/self/maps", "r");
	int nr = 0, sum = 0;
	while (nr < 512 && fgets(line, sizeof(line), f))
		if (sscanf(line, "%lx-%lx %4s", &start[nr], &end[nr], perms) == 3 &&
		    !strcmp(perms, "rw-p"))
			nr++;
	fclose(f);
	for (int i = 0; i < nr; i++)
		for (unsigned long at = end[i] - 4096, n = 0; at >= start[i] && n < 8;
		     at -= 4096, n++)
			sum += *(volatile char *)at;
	return sum;
}
int main(void)
{
	pthread_t t[4];
	for (int i = 0; i < 100; i++) {
		for (int j = 0; j < 4; j++)
			pthread_create(&t[j], NULL, run, NULL);
		for (int j = 0; j < 4; j++)
			pthread_join(t[j], NULL);
		look();
	}
	puts("100 looks");
	return 10;
}
C
# the program's own misaligned access, outside and inside a handler: not caused by qemu
cat >own.c <<'C'
#include <signal.h>
#include <string.h>
static char area[64] __attribute__((aligned(16)));
static void wrong(int signo)
{
	(void)signo;
	__asm__ volatile("movaps %%xmm0, (%0)" : : "r"(area + 8) : "memory");
}
int main(int argc, char **argv)
{
	signal(SIGUSR1, wrong);
	if (argc > 1 && !strcmp(argv[1], "handler"))
		raise(SIGUSR1);
	wrong(0);
	return 0;
}
C
for program in timers children altstack jumps queue aligned leaf replaced joined own; do
	cc -g -O1 -pthread -o $program $program.c 2>cc.err || skip "cc does not work: $(tail -n 1 cc.err)"
done
# for single steps, most of which a dynamic program would take in ld.so
mkdir static
for program in timers children altstack jumps queue aligned leaf own; do
	cc -g -O1 -pthread -static -o static/$program $program.c 2>cc.err ||
		cp $program static/$program
done
engines=ptrace version=0
# the qemu that auxtap finds and can use
version=$("$BIN/auxtap-emu" engines | awk -F '\t' '$1 == "x86_64" { print int($2) }')
if [ "${version:=0}" -gt 0 ]; then
	engines="ptrace qemu"
	[ -n "${AUXTAP_TEST_PACKAGED:-}" ] && engines=qemu
fi
# healthy ENGINE PROGRAM: the same result as natively
healthy() {
	local native status program=./$2
	[ "$1" = qemu ] || [ ! -e static/$2 ] || program=static/$2
	./"$2" >want 2>/dev/null
	native=$?
	rm -f data
	"$AUXTAP" crash --source "$1" -o data -- $program >out 2>err </dev/null
	status=$?
	[ $status -eq $native ] || fail "$2, $1: status $status, natively $native: $(tail -n 3 err)"
	cmp -s want out || fail "$2, $1: prints $(head -n 2 out), natively $(head -n 2 want)"
	[ -e data ] && fail "$2, $1: a snapshot of a healthy program"
}
for engine in $engines; do
	for program in timers children altstack jumps queue; do
		healthy $engine $program
	done
done
for again in 1 2 3; do # bare qemu dies in four of five runs
	[ "$version" -eq 0 ] || healthy qemu replaced
	[ "$version" -eq 0 ] || healthy qemu joined
done
for program in aligned leaf; do
	case "$engines" in *ptrace*) healthy ptrace $program ;; esac
	if [ "$version" -ge 10 ]; then
		healthy qemu $program
	elif [ "$version" -gt 0 ]; then
		rm -f data*
		"$AUXTAP" crash --source qemu -o data -- ./$program >out 2>err </dev/null
		status=$?
		[ $status -eq 139 ] || fail "$program, qemu $version: status $status: $(tail -n 3 err)"
		grep -q 'a limit of the emulator' data.report.txt || fail "$program: $(sed -n 1,5p data.report.txt)"
	fi
done
for engine in $engines; do
	program=./own
	[ $engine = qemu ] || program=static/own
	for how in plain handler; do
		"$AUXTAP" crash --source $engine -o data -- $program $how >out 2>err </dev/null
		status=$?
		[ $status -eq 139 ] || fail "own, $how, $engine: status $status: $(tail -n 3 err)"
		grep -q 'limit of the emulator' data.report.txt && fail "own, $how, $engine: blames the emulator"
	done
done

# sanitizers
cat >sane.c <<'C'
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int sum;
static void *add(void *arg)
{
	for (int i = 0; i < 100; i++) {
		pthread_mutex_lock(&lock);
		sum += i;
		pthread_mutex_unlock(&lock);
	}
	return arg;
}
int main(void)
{
	pthread_t t[2];
	char *text = malloc(64);
	for (int i = 0; i < 2; i++)
		pthread_create(&t[i], NULL, add, NULL);
	for (int i = 0; i < 2; i++)
		pthread_join(t[i], NULL);
	strcpy(text, "sum");
	printf("%s %d\n", text, sum);
	free(text);
	return 0;
}
C
# A heap that grows by sbrk(), in a position-independent program.
cat >grows.c <<'C'
#include <stdio.h>
#include <unistd.h>
int main(void)
{
	char *at = sbrk(64 << 20);
	if (at == (char *)-1)
		return 1;
	for (long i = 0; i < 64 << 20; i += 4096)
		at[i] = 1;
	return at[63 << 20] + 4;
}
C
cc -O1 -fPIE -pie -o grows grows.c || fail "grows.c: not built"
# before version 10 qemu leaves such a heap less space (docs/engine.md)
[ "$version" -ge 10 ] && healthy qemu grows
if [ "$version" -ge 10 ] && aarch64-linux-gnu-gcc -O1 -fPIE -pie -o grows_a64 grows.c \
	2>/dev/null; then
	"$AUXTAP" crash -o data -- ./grows_a64 >out 2>err </dev/null
	[ $? -eq 5 ] || fail "grows, AArch64: $(tail -n 1 err)"
fi
nr=0
for build in address address,undefined thread memory "address -static-libasan"; do
	compiler=cc
	[ "$build" = memory ] && compiler=clang
	rm -f sane
	$compiler -g -O1 -fsanitize=$build -pthread -o sane sane.c 2>/dev/null &&
		./sane >/dev/null 2>&1 || continue
	nr=$((nr + 1))
	if [ "$version" -ge 10 ]; then
		healthy qemu sane
	elif [ "$version" -gt 0 ]; then
		"$AUXTAP" crash --source qemu -o data -- ./sane >out 2>err </dev/null
		status=$?
		[ $status -eq 125 ] || fail "$build, qemu $version: status $status"
		grep -q 'built with [A-Z][a-z]*Sanitizer; use qemu 10 or newer' err || fail "$build: $(cat err)"
		[ -s out ] && fail "$build, qemu $version: it ran"
		# executed by another program: runs natively
		ASAN_OPTIONS=detect_leaks=0 "$AUXTAP" crash --source qemu -o data -- sh -c './sane; echo $?' \
			>run.out 2>run.err </dev/null
		{ ./sane 2>/dev/null; echo 0; } | cmp -s - run.out || fail "$build, qemu $version, executed: prints $(head -n 2 run.out): $(tail -n 2 run.err)"
		grep -q 'not traced from here on: .*: [A-Z][a-z]*Sanitizer needs qemu 10 or newer' \
			run.err ||
			fail "$build, qemu $version, executed: $(cat run.err)"
	fi
	case $build in
	address*)
		if [ "$version" -gt 0 ]; then
			[ "$(grep -c 'detect_leaks=0 is added' err)" -eq 1 ] || fail "$build: $(cat err)"
			ASAN_OPTIONS=detect_leaks=0 "$AUXTAP" crash --source qemu -o data \
				-- ./sane >out 2>err </dev/null
			grep -q 'is added' err && fail "$build: detect_leaks of the user is overridden"
		fi
		;;
	esac
done
[ $nr -gt 0 ] || echo "skipped: the sanitizers (none can be built with here)"
# Single steps, minutes: the start of the sanitizer is 10 million instructions.
if [ -n "${AUXTAP_LONG:-}" ] && cc -g -fsanitize=address -pthread -o sane sane.c 2>/dev/null; then
	healthy ptrace sane
fi
# a compiler contains their names as text
if [ "$version" -gt 0 ] && compiler=$(cc -print-prog-name=cc1) && [ -x "$compiler" ]; then
	"$AUXTAP" crash --source qemu -o data -- "$compiler" --version >out 2>err </dev/null
	grep -q 'built with' err && fail "cc1 is taken for a sanitizer build: $(cat err)"
fi
finish
