// SPDX-License-Identifier: BSD-2-Clause
/*
 * AArch64. "faults": every way to leave a block early that a signal handler survives;
 * deterministic. "threads": four threads that count their work, some of it where qemu leaves
 * its blocks; "counted ADDRESS NUMBER" and the like are printed for comparison with the ground
 * truth. "touch": reads and writes at printed addresses. "null", "brk", "jump" and so on: die of
 * that, after printing where.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <ucontext.h>
#include <unistd.h>

static sigjmp_buf again;
static volatile int nr_segv, nr_usr, nr_ill, nr_trap, nr_nested;
static char *page;

static void on_segv_jump(int signo)
{
	(void)signo;
	nr_segv++;
	siglongjmp(again, 1);
}

static void on_segv_mend(int signo, siginfo_t *info, void *context)
{
	(void)signo;
	(void)context;
	nr_segv++;
	mprotect((void *)((unsigned long)info->si_addr & ~4095ul), 4096, PROT_READ | PROT_WRITE);
}

static void on_ill(int signo, siginfo_t *info, void *context)
{
	ucontext_t *uc = context;

	(void)signo;
	(void)info;
	nr_ill++;
	uc->uc_mcontext.pc += 4;
}

static void on_trap(int signo, siginfo_t *info, void *context)
{
	ucontext_t *uc = context;

	(void)signo;
	(void)info;
	nr_trap++;
	uc->uc_mcontext.pc += 4;
}

static void on_usr2(int signo)
{
	(void)signo;
	nr_nested++;
}

static void on_usr1(int signo)
{
	(void)signo;
	nr_usr++;
	raise(SIGUSR2);
}

static void install(int signo, void (*simple)(int), void (*full)(int, siginfo_t *, void *),
		    int flags)
{
	struct sigaction act;

	memset(&act, 0, sizeof(act));
	if (full) {
		act.sa_sigaction = full;
		flags |= SA_SIGINFO;
	} else {
		act.sa_handler = simple;
	}
	act.sa_flags = flags;
	sigaction(signo, &act, NULL);
}

static int faults(void)
{
	static char stack[65536] __attribute__((aligned(16)));
	stack_t alt = {.ss_sp = stack, .ss_size = sizeof(stack)};
	sigset_t both;

	page = mmap(NULL, 3 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	memset(page, 7, 3 * 4096);

	/* the fault is in the middle of a block, which qemu then abandons */
	install(SIGSEGV, on_segv_jump, NULL, SA_NODEFER);
	for (int i = 0; i < 5; i++)
		if (!sigsetjmp(again, 1))
			__asm__ volatile("mov w1, #1\n\tadd w1, w1, #2\n\tstr w1, [%0]\n\t"
					 "add w1, w1, #3\n\tsub w1, w1, #1"
					 :
					 : "r"(8l + i)
					 : "w1", "memory");
	/* the same on another stack */
	sigaltstack(&alt, NULL);
	install(SIGSEGV, on_segv_jump, NULL, SA_NODEFER | SA_ONSTACK);
	if (!sigsetjmp(again, 1))
		__asm__ volatile("add w1, w1, #1\n\tldr w1, [%0]\n\tadd w1, w1, #1"
				 :
				 : "r"(16l)
				 : "w1");
	/* a call to an unmapped address: the block completes, its target faults; an unaligned one
	 */
	if (!sigsetjmp(again, 1))
		((void (*)(void))0x123454)();
	install(SIGBUS, on_segv_jump, NULL, SA_NODEFER);
	if (!sigsetjmp(again, 1))
		((void (*)(void))((unsigned long)faults + 2))();

	/* the handler repairs the address and repeats */
	install(SIGSEGV, NULL, on_segv_mend, 0);
	mprotect(page + 4096, 4096, PROT_NONE);
	__asm__ volatile("add w1, w1, #1\n\tldp x1, x2, [%0]\n\tadd w1, w1, #1"
			 :
			 : "r"(page + 4096 - 8)
			 : "x1", "x2", "memory");
	mprotect(page + 8192, 4096, PROT_NONE);
	__asm__ volatile("add w1, w1, #1\n\tstrb w1, [%0]\n\tadd w1, w1, #1"
			 :
			 : "r"(page + 9000)
			 : "w1", "memory");

	install(SIGILL, NULL, on_ill, 0);
	__asm__ volatile("add w1, w1, #1\n\tudf #0\n\tadd w1, w1, #1" : : : "w1");
	install(SIGTRAP, NULL, on_trap, 0);
	__asm__ volatile("add w1, w1, #1\n\tbrk #7\n\tadd w1, w1, #1" : : : "w1");

	/* a handler inside a handler, by system calls; and two that are pending at once */
	install(SIGUSR1, on_usr1, NULL, 0);
	install(SIGUSR2, on_usr2, NULL, 0);
	raise(SIGUSR1);
	sigemptyset(&both);
	sigaddset(&both, SIGUSR1);
	sigaddset(&both, SIGUSR2);
	sigprocmask(SIG_BLOCK, &both, NULL);
	raise(SIGUSR1);
	raise(SIGUSR2);
	sigprocmask(SIG_UNBLOCK, &both, NULL);

	printf("segv %d ill %d trap %d usr %d nested %d\n", nr_segv, nr_ill, nr_trap, nr_usr,
	       nr_nested);
	return 0;
}

/* ---- threads ---- */

static volatile long nr_handled;
static long shared;
static unsigned __int128 wide;
extern char counted[], atomically[], widely[], handled[];
static pthread_barrier_t start;

#define ROUNDS 20000

struct counts {
	long counted, atomically, widely;
};

static __attribute__((noinline)) long count(long n, long *tries, long *wides)
{
	long sum = 0;

	__asm__ volatile(
		"0:\n"
		".global counted\ncounted:\n\tadd %[sum], %[sum], #1\n"
		/* exclusives: as often as they are tried */
		"1:\tadd %[tries], %[tries], #1\n"
		".global atomically\natomically:\n\tldaxr x9, [%[shared]]\n"
		"\tadd x9, x9, #1\n"
		"\tstlxr w10, x9, [%[shared]]\n"
		"\tcbnz w10, 1b\n"
		/* 16 bytes at once: qemu may have to run it exclusively, in a block of its own */
		"\tldp x2, x3, [%[wide]]\n"
		"2:\tadd %[wides], %[wides], #1\n"
		"\tmov x4, x2\n\tmov x5, x3\n"
		"\tadd x6, x2, #1\n\tmov x7, x3\n"
		".global widely\nwidely:\n\tcaspal x2, x3, x6, x7, [%[wide]]\n"
		"\tcmp x2, x4\n\tccmp x3, x5, #0, eq\n\tb.ne 2b\n"
		"\tsubs %[n], %[n], #1\n"
		"\tb.ne 0b\n"
		: [sum] "+r"(sum), [n] "+r"(n), [tries] "+r"(*tries), [wides] "+r"(*wides)
		: [shared] "r"(&shared), [wide] "r"(&wide)
		: "x2", "x3", "x4", "x5", "x6", "x7", "x9", "w10", "cc", "memory");
	return sum;
}

static void on_alarm(int signo)
{
	(void)signo;
	__asm__ volatile(".global handled\nhandled:\n\tnop");
	__atomic_fetch_add(&nr_handled, 1, __ATOMIC_SEQ_CST);
}

static void *worker(void *arg)
{
	struct counts *c = arg;

	pthread_barrier_wait(&start);
	c->counted = count(ROUNDS, &c->atomically, &c->widely);
	return NULL;
}

static int threads(void)
{
	struct itimerval often = {{0, 2000}, {0, 2000}}, never = {0};
	struct counts counts[4] = {0}, sum = {0};
	pthread_t thread[4];

	install(SIGALRM, on_alarm, NULL, SA_RESTART);
	pthread_barrier_init(&start, NULL, 4);
	setitimer(ITIMER_REAL, &often, NULL);
	for (int i = 0; i < 4; i++)
		pthread_create(&thread[i], NULL, worker, &counts[i]);
	for (int i = 0; i < 4; i++) {
		pthread_join(thread[i], NULL);
		sum.counted += counts[i].counted;
		sum.atomically += counts[i].atomically;
		sum.widely += counts[i].widely;
	}
	while (nr_handled < 10)
		;
	setitimer(ITIMER_REAL, &never, NULL);
	printf("counted %lx %ld\natomically %lx %ld\nwidely %lx %ld\nhandled %lx %ld\n",
	       (long)counted, sum.counted, (long)atomically, sum.atomically, (long)widely,
	       sum.widely, (long)handled, nr_handled);
	return shared == 4 * ROUNDS && wide == 4 * ROUNDS ? 0 : 1;
}

/* ---- data addresses ---- */

/* Round i reads table[i * 7 % 1024] and writes pairs[i * 5 % 512]. */
static int touch(void)
{
	static unsigned long table[1024], pairs[1024] __attribute__((aligned(16)));
	extern char reading[], writing[];
	unsigned long sum = 0;

	printf("reading %lx %lx\nwriting %lx %lx\n", (long)reading, (long)table, (long)writing,
	       (long)pairs);
	fflush(stdout);
	for (unsigned long i = 0; i < 50000; i++)
		__asm__ volatile(".global reading\nreading:\n\tldr x9, [%[table], %[at], lsl #3]\n"
				 "\tadd %[sum], %[sum], x9\n\tnop\n" /* 9 in a round: every one is
									sampled in turn */
				 ".global writing\nwriting:\n\tstp x9, %[sum], [%[pair]]\n"
				 : [sum] "+r"(sum)
				 : [table] "r"(table), [at] "r"(i * 7 % 1024),
				   [pair] "r"(pairs + i * 5 % 512 * 2)
				 : "x9", "memory");
	return sum ? 1 : 0;
}

/* ---- deaths ---- */

#define DIE(name, code)                                                             \
	do {                                                                        \
		extern char name##_at[];                                            \
		printf(#name " %lx\n", (long)name##_at);                            \
		fflush(stdout);                                                     \
		__asm__ volatile("mov x19, #0x1900\n\tmov x20, #0x2000\n\t"         \
				 "cmp x19, x20\n\t" code                            \
				 :                                                  \
				 :                                                  \
				 : "x0", "x1", "x2", "x19", "x20", "cc", "memory"); \
	} while (0)

static int die(const char *how)
{
	if (!strcmp(how, "null"))
		DIE(null, "mov x1, #24\n\tmov w0, #2\n.global null_at\nnull_at: str w0, [x1, #8]");
	else if (!strcmp(how, "read"))
		DIE(read,
		    "movz x1, #0x12, lsl #32\n\tmovk x1, #0x3456, lsl #16\n.global read_at\nread_at: ldr x0, [x1, #24]");
	else if (!strcmp(how, "noncanonical"))
		DIE(noncanonical, "movz x1, #0x42, lsl #48\n\tmovk x1, #0x1000\n"
				  ".global noncanonical_at\nnoncanonical_at: ldr x0, [x1]");
	else if (!strcmp(how, "text"))
		DIE(text, "adr x1, text_at\n.global text_at\ntext_at: str x0, [x1]");
	else if (!strcmp(how, "frame")) {
		/*
		 * with a handler, but the stack has no memory for its frame; a branch ends the
		 * block
		 */
		signal(SIGSEGV, on_usr2);
		DIE(frame,
		    "mov x2, #0x10000\n\tmov sp, x2\n\tmov x1, #24\n\tmov w0, #2\n"
		    ".global frame_at\nframe_at: str w0, [x1, #8]\n\tcbnz w0, 1f\n\tnop\n1:");
	} else if (!strcmp(how, "refused")) {
		signal(SIGILL, on_usr2);
		DIE(refused, "mov x2, #0x10000\n\tmov sp, x2\n\tmov w0, #2\n"
			     ".global refused_at\nrefused_at: udf #1\n\tcbnz w0, 1f\n\tnop\n1:");
	} else if (!strcmp(how, "brk"))
		DIE(brk, "nop\n.global brk_at\nbrk_at: brk #1");
	else if (!strcmp(how, "udf"))
		DIE(udf, "nop\n.global udf_at\nudf_at: udf #1");
	else if (!strcmp(how, "jump"))
		DIE(jump, "mov x1, #0x5550\n.global jump_at\njump_at: br x1");
	else if (!strcmp(how, "abort"))
		abort();
	else if (!strcmp(how, "kill"))
		kill(getpid(), SIGSEGV);
	return 99;
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";

	if (!strcmp(what, "faults"))
		return faults();
	if (!strcmp(what, "threads"))
		return threads();
	if (!strcmp(what, "touch"))
		return touch();
	if (!strcmp(what, "exec")) {
		execv(argv[2], argv + 2);
		return 98;
	}
	if (!strcmp(what, "fork"))
		return fork() ? 0 : 7;
	return die(what);
}
