// SPDX-License-Identifier: BSD-2-Clause
/* Dies as argv[1] says; labels mark the instructions, and a test finds them by their printed
 * addresses. */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

extern char at_null[], at_fpe[], at_ill[], at_avx512[], at_after[], at_frame[], at_divide[];

static __attribute__((noinline)) void null(void)
{
	__asm__ volatile(
		"movl $1, %%eax\n\tincl %%eax\n.globl at_null\nat_null: movl %%eax, 24(%0)\n"
		".globl at_after\nat_after: incl %%eax"
		:
		: "r"(0l)
		: "eax", "memory");
}

static __attribute__((noinline)) void fpe(void)
{
	__asm__ volatile("xorl %%ecx, %%ecx\n\txorl %%edx, %%edx\n.globl at_fpe\nat_fpe: divl %%ecx"
			 :
			 :
			 : "eax", "ecx", "edx");
}

static __attribute__((noinline)) void ill(void)
{
	__asm__ volatile("incl %%eax\n.globl at_ill\nat_ill: ud2" : : : "eax");
}

static __attribute__((noinline)) void avx512(void)
{
	__asm__ volatile("incl %%eax\n.globl at_avx512\nat_avx512: vpaddd %%zmm1, %%zmm2, %%zmm3"
			 :
			 :
			 : "eax");
}

static void on_signal(int signo)
{
	_exit(90 + signo);
}

/* A fault in the middle of a block, with a handler, but no stack memory for its frame. */
static __attribute__((noinline)) void frame(void)
{
	signal(SIGSEGV, on_signal);
	__asm__ volatile("movl $0x10000, %%esp\n\tmovl $1, %%eax\n\tincl %%eax\n"
			 ".globl at_frame\nat_frame: movl %%eax, 24(%0)\n\t"
			 "decl %%eax\n\tjnz 1f\n\tnop\n1:"
			 :
			 : "r"(0l)
			 : "eax", "memory");
}

/* The same for a division. */
static __attribute__((noinline)) void divide(void)
{
	signal(SIGFPE, on_signal);
	__asm__ volatile("movl $0x10000, %%esp\n\txorl %%ecx, %%ecx\n\txorl %%edx, %%edx\n"
			 ".globl at_divide\nat_divide: divl %%ecx\n\t"
			 "decl %%eax\n\tjnz 1f\n\tnop\n1:"
			 :
			 :
			 : "eax", "ecx", "edx");
}

static void *thread(void *arg)
{
	if (arg)
		null();
	for (;;)
		;
}

static void *execute(void *arg)
{
	execl("/proc/self/exe", "other name", "null", (char *)NULL);
	return arg;
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "";
	pthread_t t;
	int status;

	printf("null %lx\nfpe %lx\nill %lx\navx512 %lx\nafter %lx\nframe %lx\ndivide %lx\n",
	       (long)at_null, (long)at_fpe, (long)at_ill, (long)at_avx512, (long)at_after,
	       (long)at_frame, (long)at_divide);
	fflush(stdout);
	if (!strcmp(how, "null"))
		null();
	if (!strcmp(how, "fpe"))
		fpe();
	if (!strcmp(how, "ill"))
		ill();
	if (!strcmp(how, "avx512"))
		avx512();
	if (!strcmp(how, "frame"))
		frame();
	if (!strcmp(how, "divide-both"))
		signal(SIGSEGV, on_signal);
	if (!strncmp(how, "divide", 6))
		divide();
	if (!strcmp(how, "abort"))
		abort();
	if (!strcmp(how, "jump"))
		((void (*)(void))0x654321)();
	if (!strcmp(how, "thread")) {
		pthread_create(&t, NULL, thread, NULL);
		pthread_create(&t, NULL, thread, "die");
		pthread_join(t, NULL);
	}
	if (!strcmp(how, "loop")) {
		pthread_create(&t, NULL, thread, NULL);
		thread(NULL);
	}
	if (!strcmp(how, "fork")) {
		if (!fork())
			null();
		wait(&status);
		return WIFSIGNALED(status) ? 3 : 4;
	}
	if (!strcmp(how, "children")) {
		for (int i = 0; i < 40; i++) {
			pid_t child = fork();

			if (!child)
				thread(NULL);
			usleep(1000 + 100 * i);
			kill(child, SIGKILL);
			waitpid(child, &status, 0);
			if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGKILL)
				return 9;
		}
		return 10;
	}
	if (!strcmp(how, "forkers")) {
		/* a process that stays stopped keeps the pipe open */
		int ends[2];
		char c;

		if (pipe(ends))
			return 8;
		for (int i = 0; i < 30; i++) {
			pid_t forker = fork();

			while (!forker)
				if (!fork())
					_exit(0);
			usleep(1000 + 300 * i);
			kill(forker, SIGKILL);
			waitpid(forker, &status, 0);
		}
		close(ends[1]);
		return read(ends[0], &c, 1) ? 9 : 12;
	}
	if (!strcmp(how, "scribble")) {
		char path[64], line[512];
		unsigned long start;
		FILE *f;

		/* the maps file, by a path that qemu does not filter */
		snprintf(path, sizeof(path), "/proc/%d/task/%d/maps", getpid(), getpid());
		f = fopen(path, "r");
		while (fgets(line, sizeof(line), f))
			if (strstr(line, "memfd:auxtap-qemu") && sscanf(line, "%lx", &start) == 1) {
				memset((char *)start + 64, 0xa5, 20000);
				memset((char *)start + 0x400000, 0xff, 3000000);
				puts("scribbled");
			}
		return 11;
	}
	if (!strcmp(how, "exec")) {
		execl("/proc/self/exe", "other name", "null", (char *)NULL);
		return 5;
	}
	if (!strcmp(how, "exec-thread")) {
		pthread_create(&t, NULL, thread, NULL);
		usleep(10000);
		execl("/proc/self/exe", "other name", "null", (char *)NULL);
		return 5;
	}
	if (!strcmp(how, "exec-in-thread")) {
		pthread_create(&t, NULL, execute, NULL);
		pause();
	}
	if (!strcmp(how, "noexec")) {
		execl("/nonexistent", "x", (char *)NULL);
		if (errno != ENOENT)
			return 6;
		execl("/etc/passwd", "x", (char *)NULL);
		return errno == EACCES ? 7 : 8;
	}
	if (!strcmp(how, "name")) {
		char name[16];

		prctl(PR_GET_NAME, name);
		printf("%s %s\n", name, argv[0]);
	}
	return 0;
}
