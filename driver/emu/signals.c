// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Signals of auxtap-emu itself. It acts as the kernel: no signal that can be caught ends it. A
 * signal that it receives was meant for the program, which gets it unless it received it already
 * (signal_route.c). The program is started with the dispositions that auxtap-emu was started with.
 */
#include "emu_state.h"
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

static struct emu *signalled_emu; /* global because a signal handler has no argument */
/* SIGALRM is our timer's, and EMU_DOORBELL is sent by the kernel and capture. */
static const int caught[] = {EMU_DOORBELL, SIGALRM, SIGHUP,  SIGINT, SIGQUIT,
			     SIGUSR1,	   SIGUSR2, SIGTERM, SIGCONT};

void emu_ring_doorbell_after(u64 ns)
{
	const struct itimerval timer = {.it_value = {.tv_usec = (suseconds_t)(ns / 1000)}};

	setitimer(ITIMER_REAL, &timer, NULL);
}

static void on_signal(int signo, siginfo_t *info, void *context)
{
	int saved = errno;

	(void)context;
	/* si_code > 0: from the terminal; then the program receives it, too */
	if (info->si_code <= 0 && signo != EMU_DOORBELL)
		emu_received_signal_add(&signalled_emu->route.own, signo, info->si_pid,
					info->si_uid);
	if (signo != SIGALRM || info->si_code <= 0 || signalled_emu->route.waiting)
		signalled_emu->doorbell = 1;
	/*
	 * A signal between the check of the flag and waitpid() would be missed: repeat it every
	 * 2 ms until emu_serve() has run.
	 */
	if (signalled_emu->doorbell)
		emu_ring_doorbell_after(2000000);
	errno = saved;
}

/*
 * The kernel sends the doorbell signal, too: for a request, for space in the event socket, and when
 * the other side has closed the socket.
 */
static int ring_on_io(int fd)
{
	if (fcntl(fd, F_SETOWN, getpid()) || fcntl(fd, F_SETSIG, EMU_DOORBELL) ||
	    fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_ASYNC | O_NONBLOCK) ||
	    fcntl(fd, F_SETFD, FD_CLOEXEC))
		return -errno;
	return 0;
}

int emu_signals_init(struct emu *emu)
{
	static const int ignored[] = {SIGTSTP, SIGTTIN, SIGTTOU, SIGPIPE,
				      SIGXFSZ /* ulimit -f: an errno is enough */};
	struct sigaction act;
	sigset_t none;
	int err;

	signalled_emu = emu;
	for (int i = 1; i < EMU_NR_SIGNALS; i++)
		if (sigaction(i, NULL, &emu->old_actions[i]))
			emu->old_actions[i].sa_handler = SIG_ERR; /* used by the C library */
	sigemptyset(&none);
	if (sigprocmask(SIG_SETMASK, &none, &emu->old_mask))
		return -errno;
	memset(&act, 0, sizeof(act));
	act.sa_handler = SIG_IGN;
	for (size_t i = 0; i < sizeof(ignored) / sizeof(*ignored); i++)
		sigaction(ignored[i], &act, NULL);
	/* waitpid() must work, whatever disposition of SIGCHLD was inherited */
	act.sa_handler = SIG_DFL;
	sigaction(SIGCHLD, &act, NULL);
	act.sa_sigaction = on_signal;
	act.sa_flags = SA_SIGINFO; /* no SA_RESTART: waitpid() must return */
	sigemptyset(&act.sa_mask);
	for (size_t i = 0; i < sizeof(caught) / sizeof(*caught); i++)
		sigaddset(&act.sa_mask, caught[i]);
	for (size_t i = 0; i < sizeof(caught) / sizeof(*caught); i++) {
		bool is_ours = caught[i] == EMU_DOORBELL || caught[i] == SIGALRM;

		/* keep dispositions set by nohup and similar */
		if (!is_ours && emu->old_actions[caught[i]].sa_handler == SIG_IGN)
			continue;
		if (sigaction(caught[i], &act, NULL))
			return -errno;
	}
	err = ring_on_io(emu->request_fd);
	return err ? err : ring_on_io(emu->event_fd);
}

/*
 * Call before emu is freed: from now on requests of capture and signals of the sockets are not
 * served.
 */
void emu_signals_end(void)
{
	const struct itimerval off = {.it_value = {0}};

	for (size_t i = 0; i < sizeof(caught) / sizeof(*caught); i++)
		signal(caught[i], SIG_IGN);
	setitimer(ITIMER_REAL, &off, NULL);
}

/*
 * Each traced thread needs three descriptors here, and rings are files in memory, to which the
 * limit on file sizes should not apply. The program keeps its own limits.
 */
void emu_raise_limits(struct emu *emu)
{
	struct rlimit most;

	for (int i = 0; i < EMU_NR_LIMITS; i++) {
		struct emu_limit *l = &emu->old_limits[i];

		l->resource = i ? RLIMIT_FSIZE : RLIMIT_NOFILE;
		l->known = !getrlimit(l->resource, &l->value);
		if (!l->known)
			continue;
		most = l->value;
		if (l->resource == RLIMIT_FSIZE)
			most.rlim_cur = most.rlim_max = RLIM_INFINITY;
		else
			most.rlim_cur = most.rlim_max;
		if (!setrlimit(l->resource, &most))
			continue;
		/* without privileges: up to the hard limit */
		most.rlim_cur = most.rlim_max = l->value.rlim_max;
		setrlimit(l->resource, &most);
	}
}

void emu_restore_signals(const struct emu *emu)
{
	const struct itimerval off = {.it_value = {0}};

	setitimer(ITIMER_REAL, &off, NULL);
	for (int i = 0; i < EMU_NR_LIMITS; i++)
		if (emu->old_limits[i].known)
			setrlimit(emu->old_limits[i].resource, &emu->old_limits[i].value);
	for (int i = 1; i < EMU_NR_SIGNALS; i++)
		if (emu->old_actions[i].sa_handler != SIG_ERR)
			sigaction(i, &emu->old_actions[i], NULL);
	sigprocmask(SIG_SETMASK, &emu->old_mask, NULL);
}
