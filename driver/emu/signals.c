// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Signals of auxtap-emu itself. It stands in for the kernel, so the terminal's signals, meant
 * for the program, must not end it; the program gets back what auxtap-emu was started with.
 */
#include "emu_state.h"
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

static struct emu *rung;
static const int rung_by[] = { SIGUSR1, SIGALRM, SIGTERM };

/*
 * A doorbell that rings between the look at the flag and waitpid() would be slept over: ring
 * again every 2 ms until emu_serve() has heard it.
 */
static void again_soon(void)
{
	const struct itimerval in_2ms = { .it_value = { .tv_usec = 2000 } };

	setitimer(ITIMER_REAL, &in_2ms, NULL);
}

static void on_doorbell(int signo)
{
	int saved = errno;

	if (signo == SIGTERM)
		rung->terminate = 1;
	if (signo != SIGALRM)
		rung->doorbell = 1;
	if (rung->doorbell)
		again_soon();
	errno = saved;
}

/* The kernel rings as well, on a request, on room for an event, and when the other side is gone. */
static int rings(int fd)
{
	if (fcntl(fd, F_SETOWN, getpid()) || fcntl(fd, F_SETSIG, SIGUSR1) ||
	    fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_ASYNC | O_NONBLOCK) ||
	    fcntl(fd, F_SETFD, FD_CLOEXEC))
		return -errno;
	return 0;
}

int emu_signals_init(struct emu *emu)
{
	static const int ignored[] = { SIGINT,	SIGQUIT, SIGHUP,  SIGTSTP,
				       SIGTTIN, SIGTTOU, SIGPIPE, SIGUSR2 };
	struct sigaction act;
	sigset_t none;
	int err;

	rung = emu;
	for (int i = 1; i < EMU_NR_SIGNALS; i++)
		if (sigaction(i, NULL, &emu->old_actions[i]))
			emu->old_actions[i].sa_handler = SIG_ERR; /* the C library's own */
	/* capture starts us with it ignored, for a bell that rings early: not the program's affair */
	emu->old_actions[SIGUSR1].sa_handler = SIG_DFL;
	sigemptyset(&none);
	if (sigprocmask(SIG_SETMASK, &none, &emu->old_mask))
		return -errno;
	memset(&act, 0, sizeof(act));
	act.sa_handler = SIG_IGN;
	for (size_t i = 0; i < sizeof(ignored) / sizeof(*ignored); i++)
		sigaction(ignored[i], &act, NULL);
	/* children are waited for, whatever the starter did with SIGCHLD */
	act.sa_handler = SIG_DFL;
	sigaction(SIGCHLD, &act, NULL);
	act.sa_handler = on_doorbell; /* no SA_RESTART: waitpid() must return */
	sigemptyset(&act.sa_mask);
	for (size_t i = 0; i < sizeof(rung_by) / sizeof(*rung_by); i++)
		sigaddset(&act.sa_mask, rung_by[i]);
	for (size_t i = 0; i < sizeof(rung_by) / sizeof(*rung_by); i++)
		if (sigaction(rung_by[i], &act, NULL))
			return -errno;
	err = rings(emu->request_fd);
	return err ? err : rings(emu->event_fd);
}

/* Before emu is released: capture still asks, the sockets still ring, and nobody is at home. */
void emu_signals_end(void)
{
	const struct itimerval off = { .it_value = { 0 } };

	for (size_t i = 0; i < sizeof(rung_by) / sizeof(*rung_by); i++)
		signal(rung_by[i], SIG_IGN);
	setitimer(ITIMER_REAL, &off, NULL);
}

void emu_restore_signals(const struct emu *emu)
{
	const struct itimerval off = { .it_value = { 0 } };

	setitimer(ITIMER_REAL, &off, NULL);
	for (int i = 1; i < EMU_NR_SIGNALS; i++)
		if (emu->old_actions[i].sa_handler != SIG_ERR)
			sigaction(i, &emu->old_actions[i], NULL);
	sigprocmask(SIG_SETMASK, &emu->old_mask, NULL);
}
