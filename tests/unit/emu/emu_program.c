// SPDX-License-Identifier: BSD-2-Clause
/*
 * The programs of test_ptrace*.c, linked statically so that steps are spent in the program, not in
 * ld.so. argv[1] names the scenario; the exit status says whether the program saw what it would
 * see alone (42: it did).
 */
#include "emu_program.h"
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#define TF 0x100ul

static volatile sig_atomic_t hits;
static volatile unsigned long seen_flags, seen_r11;
static sigjmp_buf env;

static void count(int signo)
{
	(void)signo;
	hits++;
}

static void install(int signo, void (*fn)(int), int flags)
{
	struct sigaction act = {.sa_handler = fn, .sa_flags = flags};

	sigaction(signo, &act, NULL);
}

static int signals(void)
{
	const struct itimerval soon = {.it_value = {.tv_usec = 3000}};

	install(SIGUSR1, count, 0);
	install(SIGALRM, count, 0);
	CHECK(kill(getpid(), SIGUSR1) == 0);
	CHECK(hits == 1);
	raise(SIGUSR1);
	CHECK(hits == 2);
	setitimer(ITIMER_REAL, &soon, NULL);
	while (hits == 2)
		;
	CHECK(hits == 3);
	return GOOD;
}

static void jump(int signo)
{
	siglongjmp(env, signo);
}

static int faults(void)
{
	volatile int *volatile null = NULL;
	volatile int zero = 0;

	install(SIGSEGV, jump, 0);
	install(SIGFPE, jump, 0);
	install(SIGILL, jump, 0);
	install(SIGTRAP, jump, 0);
	for (volatile int i = 0; i < 3; i++) {
		int got = sigsetjmp(env, 1);

		if (!got)
			*null = 1;
		CHECK(got == SIGSEGV);
	}
	int got = sigsetjmp(env, 1);

	if (!got)
		zero = 1000 / zero;
	CHECK(got == SIGFPE);
	got = sigsetjmp(env, 1);
	if (!got)
		__asm__ volatile("ud2");
	CHECK(got == SIGILL);
	got = sigsetjmp(env, 1);
	if (!got)
		__asm__ volatile("int3");
	CHECK(got == SIGTRAP);
	got = sigsetjmp(env, 1);
	if (!got)
		((void (*)(void))(uintptr_t)0x10)();
	CHECK(got == SIGSEGV);
	return GOOD;
}

/* A copy that faults half way: REP continues where it stopped. */
static char *half;
static void open_page(int signo)
{
	(void)signo;
	hits++;
	mprotect(half, 4096, PROT_READ | PROT_WRITE);
}

static int rep(void)
{
	char *p = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char *to = p + 4096 - 64;
	unsigned long n = 128;

	half = p + 4096;
	CHECK(mprotect(half, 4096, PROT_NONE) == 0);
	install(SIGSEGV, open_page, 0);
	__asm__ volatile("rep stosb" : "+D"(to), "+c"(n) : "a"(7) : "memory");
	CHECK(hits == 1 && p[4096 - 64] == 7 && p[4096 + 63] == 7 && p[4096 + 64] == 0);
	n = 0;
	__asm__ volatile("rep movsb" : "+D"(to), "+S"(p), "+c"(n) : : "memory");
	return GOOD;
}

static void look(int signo, siginfo_t *info, void *ctx)
{
	ucontext_t *uc = ctx;

	(void)signo;
	(void)info;
	seen_flags = (unsigned long)uc->uc_mcontext.gregs[REG_EFL];
	seen_r11 = (unsigned long)uc->uc_mcontext.gregs[REG_R11];
	hits++;
}

static unsigned long pushf(void)
{
	unsigned long flags;

	__asm__ volatile("pushf; pop %0" : "=r"(flags));
	return flags;
}

static int tf(void)
{
	struct sigaction act = {.sa_sigaction = look, .sa_flags = SA_SIGINFO};
	const struct itimerval soon = {.it_value = {.tv_usec = 2000}};
	const struct timespec t = {.tv_nsec = 20000000};
	unsigned short flags16;
	unsigned long r11, ret;

	CHECK(!(pushf() & TF));
	__asm__ volatile("pushfw; pop %0" : "=r"(flags16));
	CHECK(!(flags16 & TF));
	/* the value that popf loads stays */
	__asm__ volatile("pushf; orq $0x400, (%%rsp); popf; pushf; pop %0; cld" : "=r"(ret));
	CHECK((ret & 0x400) && !(ret & TF));
	ret = SYS_getpid;
	__asm__ volatile("syscall; mov %%r11, %1" : "+a"(ret), "=r"(r11) : : "rcx", "r11");
	CHECK(!(r11 & TF));
	sigaction(SIGALRM, &act, NULL);
	/* a frame made in user code */
	setitimer(ITIMER_REAL, &soon, NULL);
	while (!hits)
		;
	CHECK(!(seen_flags & TF));
	/* and one made in a system call */
	seen_flags = seen_r11 = TF;
	setitimer(ITIMER_REAL, &soon, NULL);
	nanosleep(&t, NULL);
	CHECK(hits == 2 && !(seen_flags & TF) && !(seen_r11 & TF));
	ret = SYS_fork;
	__asm__ volatile("syscall; mov %%r11, %1" : "+a"(ret), "=r"(r11) : : "rcx", "r11");
	CHECK(!(r11 & TF));
	if (!ret)
		_exit(0);
	CHECK(wait(NULL) > 0);
	return GOOD;
}

static void own_trap(int signo, siginfo_t *info, void *ctx)
{
	ucontext_t *uc = ctx;

	(void)signo;
	if (info->si_code == TRAP_TRACE)
		hits++;
	if (hits == 3)
		uc->uc_mcontext.gregs[REG_EFL] &= ~(long)TF;
}

/* A program that single-steps itself. */
static int own_tf(void)
{
	struct sigaction act = {.sa_sigaction = own_trap, .sa_flags = SA_SIGINFO};

	sigaction(SIGTRAP, &act, NULL);
	__asm__ volatile("pushf; orq $0x100, (%rsp); popf; nop; nop; nop; nop; nop");
	CHECK(hits == 3);
	CHECK(!(pushf() & TF));
	return GOOD;
}

static int restart(void)
{
	const struct itimerval soon = {.it_value = {.tv_usec = 20000}};
	struct timespec t = {.tv_nsec = 60000000}, rem, a, b;
	int fds[2], pid;
	char c = 0;

	/* with SA_RESTART a read continues after the handler */
	install(SIGALRM, count, SA_RESTART);
	CHECK(pipe(fds) == 0);
	pid = fork();
	if (!pid) {
		usleep(80000);
		CHECK(write(fds[1], "x", 1) == 1);
		_exit(0);
	}
	setitimer(ITIMER_REAL, &soon, NULL);
	CHECK(read(fds[0], &c, 1) == 1 && c == 'x' && hits == 1);
	CHECK(waitpid(pid, NULL, 0) == pid);
	/* without it ends with EINTR */
	install(SIGALRM, count, 0);
	setitimer(ITIMER_REAL, &soon, NULL);
	CHECK(read(fds[0], &c, 1) == -1 && errno == EINTR && hits == 2);
	/* an ignored signal has no effect: SIGCHLD, SIGWINCH */
	pid = fork();
	if (!pid) {
		kill(getppid(), SIGWINCH);
		usleep(10000);
		CHECK(write(fds[1], "y", 1) == 1);
		_exit(0);
	}
	CHECK(read(fds[0], &c, 1) == 1 && c == 'y');
	CHECK(waitpid(pid, NULL, 0) == pid);
	/* a stop and a continue restart a sleep with the remaining time */
	clock_gettime(CLOCK_MONOTONIC, &a);
	pid = fork();
	if (!pid) {
		usleep(10000);
		kill(getppid(), SIGSTOP);
		usleep(20000);
		kill(getppid(), SIGCONT);
		_exit(0);
	}
	CHECK(nanosleep(&t, &rem) == 0);
	clock_gettime(CLOCK_MONOTONIC, &b);
	CHECK((b.tv_sec - a.tv_sec) * 1000000000l + b.tv_nsec - a.tv_nsec >= 60000000l);
	CHECK(waitpid(pid, NULL, 0) == pid);
	/* and it is the handler that ends it */
	setitimer(ITIMER_REAL, &soon, NULL);
	CHECK(nanosleep(&t, &rem) == -1 && errno == EINTR && rem.tv_nsec > 0);
	return GOOD;
}

static int shared;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void add(int what, int times)
{
	for (int i = 0; i < times; i++) {
		pthread_mutex_lock(&lock);
		shared += what;
		pthread_mutex_unlock(&lock);
	}
}

static void *worker(void *arg)
{
	add((int)(intptr_t)arg, 200);
	return NULL;
}

static int threads(void)
{
	pthread_t t[4];

	for (int i = 0; i < 4; i++)
		CHECK(pthread_create(&t[i], NULL, worker, (void *)(intptr_t)(i + 1)) == 0);
	for (int i = 0; i < 4; i++)
		CHECK(pthread_join(t[i], NULL) == 0);
	CHECK(shared == 2000);
	return GOOD;
}

static int forks(void)
{
	int status;
	pid_t pid = fork();

	if (!pid)
		_exit(7);
	CHECK(waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 7);
	pid = fork();
	if (!pid) {
		raise(SIGTERM);
		_exit(0);
	}
	CHECK(waitpid(pid, &status, 0) == pid && WIFSIGNALED(status) &&
	      WTERMSIG(status) == SIGTERM);
	pid = vfork();
	if (!pid)
		_exit(9);
	CHECK(waitpid(pid, &status, 0) == pid && WEXITSTATUS(status) == 9);
	return GOOD;
}

static int execs(const char *self)
{
	int status;
	pid_t pid = vfork();

	if (!pid) {
		execl(self, self, "exit", "11", (char *)NULL);
		_exit(1);
	}
	CHECK(waitpid(pid, &status, 0) == pid && WEXITSTATUS(status) == 11);
	execl("/nonexistent", "x", (char *)NULL);
	execl(self, self, "exit", "42", (char *)NULL);
	return 1;
}

static void *exec_thread(void *arg)
{
	execl(arg, arg, "exit", "42", (char *)NULL);
	return NULL;
}

static void *sleeper(void *arg)
{
	for (;;)
		pause();
	return arg;
}

/* exec by a thread that is not the first */
static int thread_exec(char *self)
{
	pthread_t t;

	CHECK(pthread_create(&t, NULL, sleeper, NULL) == 0);
	CHECK(pthread_create(&t, NULL, exec_thread, self) == 0);
	for (;;)
		pause();
}

static void *quitter(void *arg)
{
	exit((int)(intptr_t)arg);
}

static int exit_from_thread(void)
{
	pthread_t t;

	CHECK(pthread_create(&t, NULL, sleeper, NULL) == 0);
	CHECK(pthread_create(&t, NULL, quitter, (void *)GOOD) == 0);
	for (;;)
		pause();
}

/* Code made at run time, changed at its old address, and through a second mapping. */
static int jit(void)
{
	static const unsigned char one[] = {0xb8, 1, 0, 0, 0, 0xc3};
	static const unsigned char two[] = {0x90, 0xb8, 2, 0, 0, 0, 0xc3};
	unsigned char *p =
		mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int (*fn)(void) = (int (*)(void))(uintptr_t)p;

	memcpy(p, one, sizeof(one));
	/* the tracer reads the page from now on, when it is complete */
	CHECK(mprotect(p, 4096, PROT_READ | PROT_WRITE | PROT_EXEC) == 0);
	CHECK(fn() == 1);
	usleep(200000);
	CHECK(mprotect(p, 4096, PROT_READ | PROT_EXEC) == 0);
	CHECK(fn() == 1);
	usleep(200000);
	return GOOD + (two[0] != 0x90);
}

/* The same, but the page's code does change; the trace needs an image for each version. */
static int rewrite(void)
{
	unsigned char *p =
		mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int (*fn)(void) = (int (*)(void))(uintptr_t)p;

	for (unsigned char i = 1; i < 4; i++) {
		CHECK(mprotect(p, 4096, PROT_READ | PROT_WRITE) == 0);
		memset(p, 0x90, i);
		p[i] = 0xb8;
		p[i + 1] = i;
		p[i + 2] = p[i + 3] = p[i + 4] = 0;
		p[i + 5] = 0xc3;
		CHECK(mprotect(p, 4096, PROT_READ | PROT_EXEC) == 0);
		CHECK(fn() == i);
	}
	return GOOD;
}

static int masks(void)
{
	sigset_t all, old, now;

	sigemptyset(&old);
	sigfillset(&all);
	CHECK(sigprocmask(SIG_SETMASK, &all, &old) == 0);
	CHECK(!sigismember(&old, SIGTRAP));
	CHECK(sigprocmask(SIG_SETMASK, NULL, &now) == 0);
	CHECK(sigismember(&now, SIGTRAP) && sigismember(&now, SIGUSR1));
	pid_t pid = fork();

	if (!pid) {
		sigprocmask(SIG_SETMASK, NULL, &now);
		_exit(sigismember(&now, SIGTRAP) ? 0 : 1);
	}
	int status;

	CHECK(waitpid(pid, &status, 0) == pid && status == 0);
	CHECK(sigprocmask(SIG_SETMASK, &old, &now) == 0);
	CHECK(sigismember(&now, SIGTRAP));
	CHECK(sigprocmask(SIG_SETMASK, NULL, &now) == 0);
	CHECK(!sigismember(&now, SIGTRAP));
	return GOOD;
}

static int affinity(void)
{
	cpu_set_t set, back;

	CHECK(sched_getaffinity(0, sizeof(set), &set) == 0);
	CHECK(CPU_COUNT(&set) == sysconf(_SC_NPROCESSORS_ONLN));
	for (int i = 0; i < CPU_SETSIZE; i++) {
		if (!CPU_ISSET(i, &set))
			continue;
		CPU_ZERO(&back);
		CPU_SET(i, &back);
		CHECK(sched_setaffinity(0, sizeof(back), &back) == 0);
		CPU_ZERO(&back);
		CHECK(sched_getaffinity(0, sizeof(back), &back) == 0);
		CHECK(CPU_COUNT(&back) == 1 && CPU_ISSET(i, &back));
	}
	return GOOD;
}

static int stopped(void)
{
	int status;
	pid_t pid = fork();

	if (!pid) {
		/* an orphaned group, as in the background, is not stopped by SIGTSTP */
		setpgid(0, 0);
		raise(SIGSTOP);
		raise(SIGTSTP);
		_exit(5);
	}
	for (int i = 0; i < 2; i++) {
		CHECK(waitpid(pid, &status, WUNTRACED) == pid && WIFSTOPPED(status));
		CHECK(WSTOPSIG(status) == (i ? SIGTSTP : SIGSTOP));
		CHECK(kill(pid, SIGCONT) == 0);
	}
	CHECK(waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 5);
	return GOOD;
}

static int spin(void)
{
	for (volatile unsigned int i = 0; i < 4000000000u; i++)
		;
	return 0;
}

static void __attribute__((noinline)) leaf(volatile int *p, int n)
{
	*p += n;
}

static int loops(int n)
{
	volatile int x = 0;

	for (int i = 0; i < n; i++)
		leaf(&x, i);
	return x ? GOOD : 0;
}

static int vsyscall(void)
{
	time_t (*vtime)(time_t *) = (time_t(*)(time_t *))(uintptr_t)0xffffffffff600400ul;

	CHECK(vtime(NULL) > 1000000000);
	return GOOD;
}

static int segv_in_thread(void)
{
	volatile uintptr_t addr = 8;
	pthread_t t;

	CHECK(pthread_create(&t, NULL, sleeper, NULL) == 0);
	worker((void *)1);
	*(volatile int *)addr = 1;
	return 1;
}

/* Threads, a timer, a lock, handlers, system calls: everything at once. */
static void *storm_worker(void *arg)
{
	const struct timespec t = {.tv_nsec = 1000000};

	for (int i = 0; i < 30; i++) {
		add((int)(intptr_t)arg, 50);
		if (i % 3 == 0)
			nanosleep(&t, NULL);
		if (i % 5 == 0)
			pthread_kill(pthread_self(), SIGUSR1);
		if (i % 7 == 0)
			munmap(mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS,
				    -1, 0),
			       4096);
	}
	return NULL;
}

static int storm(void)
{
	const struct itimerval often = {.it_value = {.tv_usec = 2000},
					.it_interval = {.tv_usec = 2000}};
	pthread_t t[3];
	int status;

	install(SIGALRM, count, SA_RESTART);
	install(SIGUSR1, count, SA_RESTART);
	setitimer(ITIMER_REAL, &often, NULL);
	for (int i = 0; i < 3; i++)
		CHECK(pthread_create(&t[i], NULL, storm_worker, (void *)(intptr_t)1) == 0);
	for (int i = 0; i < 3; i++) {
		pid_t pid = fork();

		if (!pid)
			_exit(i);
		while (waitpid(pid, &status, 0) < 0)
			CHECK(errno == EINTR);
		CHECK(WEXITSTATUS(status) == i);
	}
	for (int i = 0; i < 3; i++)
		CHECK(pthread_join(t[i], NULL) == 0);
	CHECK(shared == 3 * 30 * 50);
	CHECK(hits > 10);
	return GOOD;
}

/* Killed by a seccomp filter: no tracer sees the signal. */
static int filtered(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getppid, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog prog = {.len = 4, .filter = code};

	CHECK(!prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
	CHECK(!prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog));
	getppid();
	return 1;
}

/* Loading ss delays the trap of a step: two instructions in one step. */
static int shadow(void)
{
	unsigned long x = 0;

	for (int i = 0; i < 3; i++)
		__asm__ volatile("mov %%ss, %%eax; mov %%eax, %%ss; inc %0; inc %0"
				 : "+r"(x)
				 :
				 : "eax");
	__asm__ volatile("mov %%ss, %%eax; mov %%eax, %%ss; jmp 1f; inc %0; 1: inc %0"
			 : "+r"(x)
			 :
			 : "eax");
	CHECK(x == 7);
	/* and branches without a recorded target */
	__asm__ volatile(
		"lea -128(%%rsp), %%rsp; mov %%ss, %%eax;"
		"lea 1f(%%rip), %%rcx; push $0; push %%rcx; mov %%eax, %%ss; ret $8; ud2;"
		"1: inc %0; lea 2f(%%rip), %%rcx; mov %%eax, %%ss; jmp *%%rcx; ud2;"
		"2: inc %0; lea 3f(%%rip), %%rcx; push %%rcx; mov %%eax, %%ss; call *(%%rsp); ud2;"
		"3: inc %0; lea 128+16(%%rsp), %%rsp"
		: "+r"(x)
		:
		: "eax", "rcx", "memory");
	CHECK(x == 10);
	for (int i = 0; i < 3; i++) {
		pid_t pid = SYS_getpid;

		__asm__ volatile("mov %%ss, %%ecx; mov %%ecx, %%ss; syscall"
				 : "+a"(pid)
				 :
				 : "rcx", "r11", "memory");
		CHECK(pid == getpid());
	}
	return GOOD;
}

/* Only POPF, in two threads, until the test ends it. */
static void *popf_loop(void *arg)
{
	while (!hits) /* a branch that shows how often */
		__asm__ volatile("lea -128(%%rsp), %%rsp; pushf; popf; lea 128(%%rsp), %%rsp"
				 :
				 :
				 : "cc", "memory");
	return arg;
}

static int popf_threads(void)
{
	pthread_t thread;

	CHECK(pthread_create(&thread, NULL, popf_loop, NULL) == 0);
	popf_loop(NULL);
	return 1;
}

static int no_core(void)
{
	const struct rlimit none = {0, 0};

	return setrlimit(RLIMIT_CORE, &none);
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	/* clang-format off */
	static const struct {
		const char *name;
		int (*fn)(void);
	} scenarios[] = {
		{ "signals", signals }, { "faults", faults }, { "rep", rep }, { "tf", tf },
		{ "own_tf", own_tf }, { "restart", restart }, { "threads", threads },
		{ "forks", forks }, { "exit_from_thread", exit_from_thread }, { "jit", jit },
		{ "rewrite", rewrite }, { "masks", masks }, { "affinity", affinity },
		{ "stopped", stopped }, { "spin", spin }, { "vsyscall", vsyscall },
		{ "storm", storm }, { "shadow", shadow }, { "targets", targets },
		{ "popf_threads", popf_threads },
	};
	/* clang-format on */

	for (size_t i = 0; i < sizeof(scenarios) / sizeof(*scenarios); i++)
		if (!strcmp(what, scenarios[i].name))
			return scenarios[i].fn();
	if (!strcmp(what, "exit"))
		return atoi(argv[2]);
	if (!strcmp(what, "execs"))
		return execs(argv[0]);
	if (!strcmp(what, "thread_exec"))
		return thread_exec(argv[0]);
	if (!strcmp(what, "loops"))
		return loops(atoi(argv[2]));
	if (!strcmp(what, "cat")) {
		char c;

		while (read(0, &c, 1) == 1)
			if (write(1, &c, 1) != 1)
				return 1;
		return 0;
	}
	no_core();
	if (!strcmp(what, "segv_in_thread"))
		return segv_in_thread();
	if (!strcmp(what, "filtered"))
		return filtered();
	if (!strcmp(what, "badjump")) {
		((void (*)(void))(uintptr_t)0x1234)();
		return 1;
	}
	if (!strcmp(what, "kill")) {
		kill(getpid(), atoi(argv[2]));
		for (;;)
			pause();
	}
	return 2;
}
