// SPDX-License-Identifier: BSD-2-Clause
/* A function that runs on a stack of its own (makecontext) is resumed, and dies in a call. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <ucontext.h>

static ucontext_t main_context, own_context;
static int *volatile wrong;

static __attribute__((noinline)) void pause_here(void)
{
	swapcontext(&own_context, &main_context);
}

static __attribute__((noinline)) void die(void)
{
	*wrong = 1;
}

static void produce(void)
{
	pause_here();
	die();
	pause_here();
}

int main(void)
{
	getcontext(&own_context);
	own_context.uc_stack.ss_size = 64 << 10;
	own_context.uc_stack.ss_sp = malloc(own_context.uc_stack.ss_size);
	own_context.uc_link = &main_context;
	makecontext(&own_context, produce, 0);
	swapcontext(&main_context, &own_context);
	swapcontext(&main_context, &own_context);
	return 0;
}
