// SPDX-License-Identifier: BSD-2-Clause
/* causes WHICH: dies of the cause named WHICH. */
#include <assert.h>
#include <limits.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

static volatile int sink;

static int descend(int depth)
{
	volatile char frame[2000];

	frame[0] = (char)depth;
	if (depth == sink - 1)
		return depth;
	return descend(depth + 1) + frame[0];
}

/* Writes past the end of the stack. */
static void above_stack(void)
{
	char here, *to = &here;
	unsigned long nr_bytes = 1 << 24;

	__asm__ volatile("rep stosb" : "+D"(to), "+c"(nr_bytes) : "a"('A') : "memory");
}

static void *run(void *arg)
{
	sink = -1;
	printf("%d\n", descend(0));
	return arg;
}

/* Writes far below the stack, or to its guard page; the stack is nearly empty. */
static void *reach(void *arg)
{
	pthread_attr_t attr;
	size_t nr_bytes;
	void *stack;

	pthread_getattr_np(pthread_self(), &attr);
	pthread_attr_getstack(&attr, &stack, &nr_bytes);
	((volatile char *)stack)[-100 - (long)arg] = 1;
	return arg;
}

/* Below the stack is nothing; what is written to is far below the stack pointer. */
static void thread_below(void)
{
	char *at = mmap(NULL, 160 << 10, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	pthread_attr_t attr;
	pthread_t thread;

	munmap(at, 128 << 10);
	pthread_attr_init(&attr);
	pthread_attr_setstack(&attr, at + (128 << 10), 32 << 10);
	pthread_create(&thread, &attr, reach, (void *)(16 << 10));
	pthread_join(thread, NULL);
}

static void thread_stack(void *(*fn)(void *))
{
	pthread_attr_t attr;
	pthread_t thread;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 64 << 10);
	pthread_create(&thread, &attr, fn, NULL);
	pthread_join(thread, NULL);
}

static void on_signal(int signo)
{
	_exit(signo);
}

/* With handlers but no stack memory: the kernel cannot start them. */
static void no_frame(const char *signal_name)
{
	signal(SIGSEGV, !strcmp(signal_name, "segv") ? on_signal : SIG_DFL);
	signal(SIGFPE, on_signal);
	signal(SIGALRM, on_signal);
	if (!strcmp(signal_name, "segv"))
		thread_stack(run);
	if (!strcmp(signal_name, "fpe"))
		__asm__ volatile("movl $0x10000, %%esp\n\txorl %%ecx, %%ecx\n\tcltd\n\tidivl %%ecx\n\t"
				 "testl %%eax, %%eax\n\tjz 1f\n\tnop\n1:" : : : "eax", "ecx", "edx");
	ualarm(20000, 0);
	__asm__ volatile("movl $0x10000, %%esp\n1: addl $2, %%eax\n\tjnz 1b\n\tjmp 1b"
			 : : : "eax", "memory");
}

static void shared(void)
{
	char *at = mmap(NULL, 4096, PROT_READ, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	at[8] = 1;
}

/* The protection is changed afterwards: the mapping stays shared. */
/* Of what the program gives back, nothing is left; before it was mapped. */
static void trimmed(void)
{
	char *at = sbrk(65536);

	at[20000] = 1;
	sbrk(-65536 + 8192);
	at[8000] = 1;
	at[20000] = 2;
}

static void shared_changed(void)
{
	char *at = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	at[8] = 1;
	mprotect(at, 4096, PROT_READ);
	at[8] = 1;
}

static void *crash_later(void *arg)
{
	int *volatile null = NULL;

	usleep(200000);
	*null = 1;
	return arg;
}

/* The first thread has ended when another crashes. */
static void leave_main(void)
{
	pthread_t thread;

	pthread_create(&thread, NULL, crash_later, NULL);
	pthread_exit(NULL);
}

/* The hard limit is far above: if the signal is not delivered, the program still ends. */
static void file_limit(void)
{
	struct rlimit limit = {4096, 1 << 20};
	static const char line[512];
	FILE *f = tmpfile();

	setrlimit(RLIMIT_FSIZE, &limit);
	for (int i = 0; i < 1000; i++)
		fwrite(line, sizeof(line), 1, f);
}

static void time_limit(void)
{
	struct rlimit limit = {1, 60};

	setrlimit(RLIMIT_CPU, &limit);
	for (;;)
		sink++;
}

static void filter(unsigned int action)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_socket, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, action),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {4, code};

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
		_exit(77);
	socket(AF_INET, SOCK_DGRAM, 0);
}

/* Signals, and deaths without a fault. */
static void sent(const char *which)
{
	if (!strcmp(which, "leave_main"))
		leave_main();
	if (!strcmp(which, "file_limit"))
		file_limit();
	if (!strcmp(which, "file_kill"))
		kill(getpid(), SIGXFSZ);
	if (!strcmp(which, "file_raise"))
		raise(SIGXFSZ);
	if (!strcmp(which, "time_limit"))
		time_limit();
	if (!strcmp(which, "filter_kill"))
		filter(SECCOMP_RET_KILL_PROCESS);
	if (!strcmp(which, "filter_trap"))
		filter(SECCOMP_RET_TRAP);
	if (!strcmp(which, "sys_raise"))
		raise(SIGSYS);
	if (!strcmp(which, "sys_default")) {
		signal(SIGSYS, SIG_IGN);
		raise(SIGSYS);
		signal(SIGSYS, SIG_DFL);
		raise(SIGSYS);
	}
	if (!strcmp(which, "int1"))
		__asm__ volatile(".byte 0xf1; nop");
	if (!strcmp(which, "abort"))
		abort();
	if (!strcmp(which, "abrt_raise"))
		raise(SIGABRT);
	if (!strcmp(which, "assert"))
		assert(which == NULL);
	if (!strcmp(which, "free"))
		free((char *)malloc(100) + 8);
}

/* Reads that start in the last bytes of a mapping. */
static int across(int is_wide)
{
	char *at = mmap(NULL, 3 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	munmap(at + 4096, 4096);
	if (is_wide)
		return *(volatile long double *)(at + 4093) > 0;
	return (int)*(volatile unsigned long *)(at + 4093);
}

/* Targets and divisors in the heap, of which the processor reports nothing. */
static int heap_word(const char *which)
{
	struct methods {
		long number;
		void (*method)(void);
	} *m = malloc(sizeof(*m));

	memset(m, strcmp(which, "divide") ? 0x41 : 0, sizeof(*m));
#ifdef __x86_64__
	if (!strcmp(which, "call"))
		__asm__ volatile("call *8(%0)" : : "r"(m));
	if (!strcmp(which, "jump"))
		__asm__ volatile("jmp *(%0,%1,8)" : : "r"(m), "r"(1L));
	/* the dividend is so large that another divisor might fail as well */
	if (!strcmp(which, "divide"))
		__asm__ volatile("divq (%0)" : : "r"(m), "a"(1L), "d"(1L));
#endif
	return (int)m->number;
}

/* In a page whose mapping the engine has not read from its ring yet. */
static void new_page(const char *which)
{
	int prot = !strcmp(which, "closed") ? PROT_NONE : PROT_READ | PROT_WRITE | PROT_EXEC;
	char *page = mmap(NULL, 4096, prot, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	page[0] = (char)0xf4; /* hlt */
	((void (*)(void))page)();
}

int main(int argc, char **argv)
{
	static char bytes[64] __attribute__((aligned(64)));
	const char *which = argc > 1 ? argv[1] : "";
	volatile int number = INT_MIN, by = -1;
	int *volatile small = (int *)0xbb8, *volatile null = NULL;

	sent(which);
	if (!strncmp(which, "word_", 5))
		return heap_word(which + 5);
	if (!strncmp(which, "new_", 4))
		new_page(which + 4);
	if (!strcmp(which, "ud1"))
		__asm__ volatile(".byte 0x67, 0x0f, 0xb9, 0x40, 0x0a");
	if (!strcmp(which, "overflow"))
		return number / by;
	if (!strcmp(which, "movaps"))
		__asm__ volatile("movaps (%0), %%xmm0" : : "r"(bytes + 4) : "xmm0");
	if (!strcmp(which, "hlt"))
		__asm__ volatile("hlt");
	if (!strcmp(which, "int3"))
		__asm__ volatile("int3; nop");
	if (!strcmp(which, "int_3"))
		__asm__ volatile(".byte 0xcd, 3; nop");
	if (!strcmp(which, "lock"))
		__asm__ volatile(".byte 0xf0, 0x89, 0xc0");
	if (!strcmp(which, "selector"))
		__asm__ volatile("mov $0x77, %%eax; mov %%eax, %%ds" ::: "rax");
	if (!strcmp(which, "control"))
		__asm__ volatile("mov %%cr0, %%rax" ::: "rax");
	if (!strcmp(which, "kernel"))
		return *(volatile int *)0xffffffff81000000;
	if (!strcmp(which, "out"))
		__asm__ volatile("outb %al, $0x80");
	if (!strcmp(which, "thread_stack"))
		thread_stack(run);
	if (!strcmp(which, "thread_below"))
		thread_below();
	if (!strcmp(which, "thread_guard"))
		thread_stack(reach);
	if (!strncmp(which, "frame_", 6))
		no_frame(which + 6);
	if (!strcmp(which, "above_stack"))
		above_stack();
	if (!strcmp(which, "shared"))
		shared();
	if (!strcmp(which, "shared_changed"))
		shared_changed();
	if (!strcmp(which, "trimmed"))
		trimmed();
	if (!strcmp(which, "small"))
		return *small;
	if (!strcmp(which, "across"))
		return across(0);
	if (!strcmp(which, "across10"))
		return across(1);
#ifdef __x86_64__
	if (!strcmp(which, "constant"))
		__asm__ volatile("movl $1, 0x8");
	if (!strcmp(which, "constant_0"))
		__asm__ volatile("movl 0x0, %%eax" ::: "rax");
#endif
	if (!strcmp(which, "null"))
		return null[3];
	return 0;
}
