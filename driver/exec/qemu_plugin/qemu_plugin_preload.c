// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The plugin is also preloaded into qemu: a few of qemu's own calls of libc show what the plugin
 * interface does not (a signal is about to be delivered, or kills the program), and the guest's
 * environment must reach the guest, not qemu or its dynamic linker.
 */
#include "exec/qemu/qemu_exec.h"
#include "qemu_plugin.h"
#include <dlfcn.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#define INTERPOSED __attribute__((visibility("default")))

typedef void exit_fn(void *value);
typedef int sigaction_fn(int signo, const struct sigaction *act, struct sigaction *old);

extern char **environ;

#undef fprintf
INTERPOSED int sigprocmask(int how, const sigset_t *set, sigset_t *old);
INTERPOSED int kill(pid_t pid, int signo);
INTERPOSED int sigaction(int signo, const struct sigaction *act, struct sigaction *old);
INTERPOSED _Noreturn void pthread_exit(void *value);
INTERPOSED int fprintf(FILE *f, const char *format, ...);
INTERPOSED int __fprintf_chk(FILE *f, int flag, const char *format, ...);
INTERPOSED int getrlimit64(__rlimit_resource_t resource, struct rlimit64 *limit);
INTERPOSED char *getenv(const char *name);
INTERPOSED void *mmap64(void *addr, size_t len, int prot, int flags, int fd, off64_t off);

/* Before main(): undoes qemu_exec_environ(). qemu 7.2 reverses the order once more. */
__attribute__((constructor)) static void restore_environment(void)
{
	Dl_info info;
	char **from = environ, **to = environ, **last;
	bool seen_ours = false;

	if (!environ || !dladdr((void *)restore_environment, &info))
		return;
	snprintf(qp.plugin_path, sizeof(qp.plugin_path), "%s", info.dli_fname);
	if (!qp_api_in_qemu())
		return;
	for (; *from; from++) {
		if (!seen_ours && !strncmp(*from, "LD_PRELOAD=", 11)) {
			seen_ours = true;
			continue;
		}
		*to = *from;
		if (!strncmp(*to, QEMU_EXEC_HIDE, strlen(QEMU_EXEC_HIDE)))
			*to += strlen(QEMU_EXEC_HIDE);
		to++;
	}
	*to = NULL;
	if (qp_api_version() != QEMU_PLUGIN_API_FIRST)
		return;
	for (from = environ, last = to - 1; from < last; from++, last--) {
		char *entry = *from;

		*from = *last;
		*last = entry;
	}
}

/* Hides QEMU_… variables, which are the guest's, from qemu; it gets its options as arguments. */
char *getenv(const char *name)
{
	size_t len = strlen(name);

	if (!environ || !strncmp(name, "QEMU_", 5))
		return NULL;
	for (char **entry = environ; *entry; entry++)
		if (!strncmp(*entry, name, len) && (*entry)[len] == '=')
			return *entry + len + 1;
	return NULL;
}

/*
 * qemu reads the address of a handler twice: to check for one, and to enter it. If another thread
 * sets SIG_DFL or SIG_IGN in between, the thread continues at 0 or 1 and dies. A kernel reads it
 * once: so let the thread enter the handler that was set before. Only a delivery leads there
 * between two of these calls without a block executed and outside a system call (rt_sigreturn may
 * lead anywhere).
 */
static void fix_handler_race(struct qemu_rec *rec)
{
	static __thread bool was_in_code; /* ip was in code at the last call */
	union qemu_env *env = qp_env;
	struct qemu_frame frame;
	bool no_handler;

	if (!qp_recording() || !rec->regs_valid || !env)
		return;
	no_handler = qp.arch->ip(env) <= 1; /* SIG_DFL, SIG_IGN */
	if (no_handler && was_in_code && !rec->limit &&
	    !qp.arch->frame(env, qp.arch->sp(env), 0, qp_read, &frame) && frame.signo >= 1 &&
	    frame.signo <= 64 && qp.handler[frame.signo - 1])
		qp.arch->set_ip(env, qp.handler[frame.signo - 1]);
	was_in_code = !no_handler && !rec->in_syscall;
}

/*
 * qemu calls this around the delivery of signals and in no hot path. If a handler's frame was
 * built, the next block is the handler's: check there.
 */
int sigprocmask(int how, const sigset_t *set, sigset_t *old)
{
	fix_handler_race(qp_rec);
	qp_delivery();
	/* a static record may be shared by threads, but one check too many is harmless */
	qp_rec->limit = 0;
	return pthread_sigmask(how, set, old) ? -1 : 0;
}

/*
 * Signals that dump core but that qemu 10 leaves to the host by default: the host would kill qemu
 * anywhere, with the program's registers in an unknown place. With qemu's own handler they take
 * effect between two blocks, like SIGQUIT.
 */
static struct sigaction qemu_handler;

static bool is_left_to_host(int signo)
{
	return signo == SIGXCPU || signo == SIGXFSZ || signo == SIGSYS;
}

static int next_sigaction(int signo, const struct sigaction *act, struct sigaction *old)
{
	static sigaction_fn *next;

	if (!next)
		next = (sigaction_fn *)dlsym(RTLD_NEXT, "sigaction");
	return next(signo, act, old);
}

/* In a system call the program resets the default; outside one qemu does, to die. */
int sigaction(int signo, const struct sigaction *act, struct sigaction *old)
{
	if (act && act->sa_handler == SIG_DFL && is_left_to_host(signo) && qp_recording() &&
	    qp_rec->in_syscall && qemu_handler.sa_sigaction)
		act = &qemu_handler;
	return next_sigaction(signo, act, old);
}

static bool program_runs;

void qp_take_core_signals(void)
{
	static const int left_to_host[] = {SIGXCPU, SIGXFSZ, SIGSYS};
	struct sigaction now;

	program_runs = true;
	if (next_sigaction(SIGQUIT, NULL, &now) || !(now.sa_flags & SA_SIGINFO))
		return;
	qemu_handler = now;
	for (size_t i = 0; i < sizeof(left_to_host) / sizeof(left_to_host[0]); i++)
		if (!next_sigaction(left_to_host[i], NULL, &now) && now.sa_handler == SIG_DFL)
			next_sigaction(left_to_host[i], &qemu_handler, NULL);
}

/*
 * A kernel that cannot write the frame of a handler sends SIGSEGV. qemu intends to, but executes
 * the faulting instruction once more before it does, and dies of its second fault. If the program
 * also has a handler for SIGSEGV, a kernel would start that, if it can: that is unknown here.
 */
static int signal_of_death(struct qemu_rec *rec, int signo)
{
	const union qemu_env *env = qp_env;
	struct sigaction act = {.sa_handler = SIG_DFL};
	sigset_t segv;

	if (!rec->regs_valid || !env || !(qp.caught & 1ull << (signo - 1)) ||
	    !qp_left_restarted(qp.arch->ip(env)))
		return signo;
	qemu_store(&rec->no_frame, (u32)signo);
	if (signo == SIGSEGV || qp.caught & 1ull << (SIGSEGV - 1))
		return signo;
	sigemptyset(&segv);
	sigaddset(&segv, SIGSEGV);
	next_sigaction(SIGSEGV, &act, NULL);
	pthread_sigmask(SIG_UNBLOCK, &segv, NULL);
	return SIGSEGV;
}

/*
 * Before it dies of the program's signal, qemu asks whether to write a core file; not if a fault of
 * its own code kills it.
 */
static bool is_own_crash(const struct qemu_rec *rec, int signo)
{
	return (signo == SIGSEGV || signo == SIGBUS) && !rec->asked_core_limit;
}

/*
 * Outside a system call it is qemu that kills itself with the guest's signal, with all other
 * threads parked and all registers in memory. Sent to this thread, so that its stop is seen here.
 */
int kill(pid_t pid, int signo)
{
	struct qemu_rec *rec = qp_rec;

	if (qp_recording() && !rec->in_syscall && pid == getpid()) {
		qemu_store(&rec->is_own_crash, is_own_crash(rec, signo));
		signo = signal_of_death(rec, signo);
		qemu_store(&rec->exception, qp_left_by_exception());
		qemu_store(&rec->dying, (u32)signo);
		return (int)syscall(SYS_tgkill, pid, rec->tid, signo);
	}
	return (int)syscall(SYS_kill, pid, signo);
}

/*
 * The program's first thread ends before the others. qemu keeps its description of the program in
 * the frame of its main(), which its other threads read when one dies. pthread_exit() unwinds that
 * frame and overwrites it: qemu would crash, instead of dying of the program's signal.
 */
void pthread_exit(void *value)
{
	exit_fn *next;

	qp_thread_left();
	if (qp_api_in_qemu() && syscall(SYS_gettid) == getpid())
		for (;;)
			syscall(SYS_exit, 0);
	next = (exit_fn *)dlsym(RTLD_NEXT, "pthread_exit");
	next(value);
	__builtin_unreachable();
}

#define STACK_UNLIMITED ((uint64_t)1 << 30)

/* Outside a system call qemu asks whether to write a core file of its own format: no. */
int getrlimit64(__rlimit_resource_t resource, struct rlimit64 *limit)
{
	int err = (int)syscall(SYS_prlimit64, 0, resource, NULL, limit);

	if (!err && resource == RLIMIT_CORE && qp_recording() && !qp_rec->in_syscall) {
		qp_rec->core_limit = limit->rlim_cur;
		qemu_store(&qp_rec->asked_core_limit, 1);
		limit->rlim_cur = 0;
	}
	/* qemu reads the limit of the program's stack, and would use 8 MiB if there is none */
	if (!err && resource == RLIMIT_STACK && !program_runs && limit->rlim_cur == RLIM64_INFINITY)
		limit->rlim_cur = STACK_UNLIMITED;
	return err;
}

/*
 * The host places the program's stack right below its previous mapping: qemu's own memory, which
 * the program can write. A program that writes past the end of its stack would destroy qemu, which
 * then hangs, instead of dying at the first byte as on a kernel. qemu creates the stack before the
 * program runs, by a private anonymous mapping; each of these gets guard pages above it. Below it
 * the host would place the dynamic linker next, after a single guard page: a frame of more than a
 * page would reach over it. A kernel leaves at least 128 MiB there.
 */
#define STACK_GUARD (64 * 1024)
#define STACK_GAP   ((size_t)128 << 20)
#define STACK_MIN   (64 * 1024) /* smaller mappings are not stacks */

void *mmap64(void *addr, size_t len, int prot, int flags, int fd, off64_t off)
{
	bool guarded = !program_runs && !addr && prot == (PROT_READ | PROT_WRITE) &&
		       flags == (MAP_PRIVATE | MAP_ANONYMOUS) && len < SIZE_MAX - STACK_GUARD;
	size_t size = (len + QEMU_PAGE - 1) & ~(size_t)(QEMU_PAGE - 1);
	size_t gap;
	void *mem;

	if (!guarded)
		return (void *)syscall(SYS_mmap, addr, len, prot, flags, fd, off);
	/* retried without the gap if a limit of the address space forbids it */
	gap = size < STACK_MIN ? 0 : STACK_GAP;
	mem = (void *)syscall(SYS_mmap, NULL, gap + size + STACK_GUARD, prot, flags, -1, 0);
	if (mem == MAP_FAILED && gap) {
		gap = 0;
		mem = (void *)syscall(SYS_mmap, NULL, size + STACK_GUARD, prot, flags, -1, 0);
	}
	if (mem == MAP_FAILED)
		return mem;
	mprotect((char *)mem + gap + size, STACK_GUARD, PROT_NONE);
	if (gap)
		mprotect(mem, gap, PROT_NONE);
	return (char *)mem + gap;
}

static bool is_death_notice(const char *format)
{
	return !strncmp(format, "qemu: uncaught target signal", 28);
}

/* The program's stderr belongs to the program; auxtap reports its death. */
int fprintf(FILE *f, const char *format, ...)
{
	va_list args;
	int result;

	if (is_death_notice(format))
		return 0;
	va_start(args, format);
	result = vfprintf(f, format, args);
	va_end(args);
	return result;
}

int __fprintf_chk(FILE *f, int flag, const char *format, ...)
{
	va_list args;
	int result;

	(void)flag;
	if (is_death_notice(format))
		return 0;
	va_start(args, format);
	result = vfprintf(f, format, args);
	va_end(args);
	return result;
}
