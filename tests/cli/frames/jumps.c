// SPDX-License-Identifier: BSD-2-Clause
/*
 * jumps WHICH [PLUGIN]: dies as WHICH names, at an address whose code is gone or never existed;
 * built with -DPLUGIN -shared it is PLUGIN, which is unloaded while it runs.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#ifdef PLUGIN
static volatile int events;

void plugin_event(void (*callback)(void))
{
	callback();
	events++;
}
#else
static void *handle, *page;

/* alone in their pages */
__attribute__((noinline, aligned(4096), section(".text.a"))) static int price(int x)
{
	return 3 * x + 1;
}

__attribute__((noinline, aligned(4096), section(".text.b"))) static int no_longer(int protection)
{
	mprotect((void *)((uintptr_t)price & ~4095ul), 8192, protection);
	return price(protection);
}

__attribute__((noinline, aligned(4096), section(".text.c"))) static void unload(void)
{
	dlclose(handle);
}

static void unmap(void)
{
	munmap(page, 4096);
}

static void bad_context(void)
{
	static char stack[65536] __attribute__((aligned(16)));
	ucontext_t context;

	memset(&context, 0, sizeof(context));
	getcontext(&context);
	context.uc_mcontext.gregs[REG_RIP] = 0x5550;
	context.uc_mcontext.gregs[REG_RSP] = (long)stack + 60000;
	setcontext(&context);
}

/* The compiler, and so the unwind information, does not know of the push. */
__attribute__((noinline)) static void push_and_return(void)
{
	__asm__ volatile("pushq $0x5550\n\tret");
}

static void run(const unsigned char *code, size_t size, void (*callback)(void))
{
	page = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
		    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	memcpy(page, code, size);
	((void (*)(void (*)(void)))page)(callback);
}

static void by_default(int signo)
{
	signal(signo, SIG_DFL);
	raise(signo);
}

__attribute__((noinline)) static void store(volatile char *at)
{
	*at = 7;
}

/* store() with a return address without code. */
__attribute__((noinline)) static void into_the_middle(void)
{
	__asm__ volatile("xorl %%edi, %%edi\n\tpushq $0x5550\n\tjmp *%0" : : "r"(store) : "rdi");
}

/* An interpreter whose next instruction is none: a jump, out of a function with a frame. */
__attribute__((noinline)) static int interpret(int x)
{
	static void *const labels[] = {&&more, &&end, (void *)0x5550};
	static const unsigned char program[] = {0, 0, 2, 1};
	volatile int steps[40] = {x};
	const unsigned char *at = program;

more:
	steps[x++ % 40]++;
	goto *labels[*at++];
end:
	return steps[0];
}

static int (*volatile missing)(int) = (int (*)(int))0x5550;

/* Has left its frame when it jumps. */
__attribute__((noinline, optimize("optimize-sibling-calls"))) static int tail(int x)
{
	return missing(price(x));
}

__attribute__((noinline)) static int before_tail(int x)
{
	return tail(x) + 1;
}

int main(int argc, char **argv)
{
	/* sub $8, %rsp; call *%rdi; add $8, %rsp; ret */
	static const unsigned char calls_back[] = {0x48, 0x83, 0xec, 8,	   0xff, 0xd7,
						   0x48, 0x83, 0xc4, 8,	   0xc3};
	/* xor %eax, %eax; movl $1, (%rax); ret */
	static const unsigned char stores[] = {0x31, 0xc0, 0xc7, 0, 1, 0, 0, 0, 0xc3};
	const char *which = argc > 1 ? argv[1] : "";

	if (!strcmp(which, "noexec"))
		no_longer(PROT_READ);
	if (!strcmp(which, "data")) {
		mprotect((void *)((uintptr_t)price & ~4095ul), 4096, PROT_READ | PROT_WRITE);
		return price(argc);
	}
	if (!strcmp(which, "unload") && argc > 2) {
		handle = dlopen(argv[2], RTLD_NOW);
		((void (*)(void (*)(void)))dlsym(handle, "plugin_event"))(unload);
	}
	if (!strcmp(which, "context"))
		bad_context();
	if (!strcmp(which, "push"))
		push_and_return();
	if (!strcmp(which, "middle"))
		into_the_middle();
	if (!strcmp(which, "goto"))
		return interpret(argc) + 1;
	if (!strcmp(which, "tail"))
		return before_tail(argc) + 1;
	if (!strcmp(which, "unmap"))
		run(calls_back, sizeof(calls_back), unmap);
	if (!strcmp(which, "generated"))
		run(stores, sizeof(stores), NULL);
	if (!strcmp(which, "raise")) {
		signal(SIGSEGV, by_default);
		store((char *)96);
	}
	return 0;
}
#endif
