// SPDX-License-Identifier: BSD-2-Clause
/* auxtap record, and the code shared with crash: choice of the backend, signals, exit status. */
#include "capture_options.h"

#include <elf.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static const char help[] =
	"usage: auxtap record [OPTION]... [--] PROGRAM [ARGUMENT]...\n"
	"       auxtap record [OPTION]... -p PID | -t TID | -a | -C CPUS\n"
	"\n"
	"Records a trace of every instruction into FILE. Stock 'perf script' reads it too.\n"
	"\n"
	"  -e, --event EVENT     trace this event, as in intel_pt/cyc,noretcomp/u (default:\n"
	"                        intel_pt//u; for an AArch64 program, which is emulated, cs_etm//u)\n"
	"  -m, --mmap-pages DATA,AUX\n"
	"                        sizes of data ring and AUX area, in pages or with suffix K, M or G;\n"
	"                        powers of two (default: 128,1024)\n"
	"  -S[SIZE], --snapshot[=SIZE]\n"
	"                        snapshot: keep only the newest SIZE bytes (default: the whole area),\n"
	"                        written at SIGUSR2 and at each exit\n"
	"  -p, --pid PID, -t, --tid TID\n"
	"                        attach to a process, or to one thread\n"
	"  -a, --all-cpus, -C, --cpu CPUS\n"
	"                        trace all CPUs, or those in a list like 0,2-3 (kernel backend)\n"
	"  -o, --output FILE     write to FILE (default: auxtap.data); an old file becomes FILE.old\n"
	"  --backend WHICH       kernel, emulated, or auto: kernel if a trace unit may be used\n"
	"                        (default: auto); attaching under emulation requires 'emulated'\n"
	"  --source WHICH        execution engine under emulation: qemu, ptrace, or auto: qemu to\n"
	"                        run a program if it is installed, ptrace to attach (default: auto)\n"
	"  --trace-unit WHICH    trace unit of emulated Arm CPUs, for cs_etm events: ete or etmv4\n"
	"                        (default: ete)\n"
	"  --max-memory SIZE     emulation: kill the largest process when all processes together use\n"
	"                        more; suffix K, M or G (default: half of the available memory)\n"
	"  --aux-watermark BYTES wake up after BYTES of trace (default: a quarter of the area)\n"
	"  --truth FILE          emulation: write every executed address as a little-endian u64 to\n"
	"                        FILE.TID: a gigabyte for 134 million instructions\n"
	"  -h, --help            print help\n"
	"\n"
	"Exit status: the program's; 128 + signal if a signal killed it; 125 if auxtap failed; 126\n"
	"if the program cannot be executed; 127 if it is not found.\n";

/* ---- signals ---- */

static struct auxtap_session *volatile running_session;
static volatile pid_t untraced_program; /* the program that outlived the emulator; 0: none */
static volatile sig_atomic_t stop;
static bool attached;
/* False: SIGUSR2 ends the session, as Ctrl-C does (crash attached to a process). */
static bool snapshot_on_sigusr2;

/* Signals that arrived before a session could forward them. */
#define EARLY_SIGNALS_MAX 8
static siginfo_t early_signals[EARLY_SIGNALS_MAX];
static volatile sig_atomic_t nr_early_signals;

static void on_signal(int signo, siginfo_t *info, void *context)
{
	int saved = errno;

	(void)context;
	if (signo == SIGUSR2 && snapshot_on_sigusr2) {
		if (running_session)
			auxtap_session_request_snapshot(running_session);
	} else if (attached) {
		stop = 1;
	} else if (info->si_code > 0) {
		/* The terminal sent it to the program, too, which is in the same process group. */
	} else if (running_session) {
		auxtap_session_forward_siginfo(running_session, info);
	} else if (untraced_program) {
		kill(untraced_program, signo);
	} else if (nr_early_signals < EARLY_SIGNALS_MAX) {
		early_signals[nr_early_signals] = *info;
		nr_early_signals = nr_early_signals + 1;
	}
	errno = saved;
}

/* Caught, not ignored, so that exec resets it to the default action in the program. */
static void on_file_limit(int signo)
{
	(void)signo;
}

/* With SIGXFSZ caught, a write beyond ulimit -f fails with EFBIG, and the program continues. */
static void catch_file_limit(void)
{
	struct sigaction act = {.sa_handler = on_file_limit, .sa_flags = SA_RESTART}, old;

	sigemptyset(&act.sa_mask);
	if (!sigaction(SIGXFSZ, NULL, &old) && old.sa_handler == SIG_DFL)
		sigaction(SIGXFSZ, &act, NULL);
}

/* Catches the signals that end a program by default or that programs commonly handle. */
static void catch_signals(void)
{
	static const int caught[] = {SIGINT,  SIGTERM, SIGHUP,	SIGQUIT,
				     SIGUSR2, SIGUSR1, SIGALRM, SIGCONT};
	struct sigaction act = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO}, old;
	size_t nr = sizeof(caught) / sizeof(caught[0]);

	/* The last three are not caught if auxtap attached to a process. */
	if (attached)
		nr -= 3;
	sigemptyset(&act.sa_mask);
	for (size_t i = 0; i < nr; i++)
		sigaddset(&act.sa_mask, caught[i]);
	for (size_t i = 0; i < nr; i++) {
		/* keep ignoring signals that nohup or a shell ignores */
		if (!sigaction(caught[i], NULL, &old) && old.sa_handler == SIG_IGN)
			continue;
		sigaction(caught[i], &act, NULL);
	}
}

static void start_forwarding(struct auxtap_session *s)
{
	sigset_t all, old;

	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, &old);
	running_session = s;
	for (int i = 0; i < nr_early_signals; i++)
		auxtap_session_forward_siginfo(s, &early_signals[i]);
	nr_early_signals = 0;
	sigprocmask(SIG_SETMASK, &old, NULL);
}

/* The emulator died, but the program is running: auxtap must not exit before it. */
static void wait_for_program(pid_t pid)
{
	struct pollfd ended = {.fd = (int)syscall(SYS_pidfd_open, pid, 0), .events = POLLIN};

	if (ended.fd < 0)
		return;
	while (poll(&ended, 1, -1) < 0 && errno == EINTR)
		;
	close(ended.fd);
}

const char *cli_signal_name(int signo)
{
	static char name[32];
	const char *abbrev = sigabbrev_np(signo);

	if (abbrev)
		snprintf(name, sizeof(name), "SIG%s", abbrev);
	else
		snprintf(name, sizeof(name), "signal %d", signo);
	return name;
}

/* ---- callbacks of the session ---- */

static void on_progress(void *ctx, uint64_t elapsed_ms, const struct auxtap_session_stats *stats,
			unsigned int nr_rings)
{
	const struct capture_options *o = ctx;

	if (!nr_rings && !elapsed_ms) {
		fputs("\r\033[K", stderr);
		return;
	}
	fprintf(stderr, "\r\033[Kauxtap: %llu.%llu s, ", (unsigned long long)elapsed_ms / 1000,
		(unsigned long long)elapsed_ms / 100 % 10);
	/* A flight recorder writes nothing before a crash. */
	if (stats->aux_bytes || !(o->session.snapshot || o->session.crash))
		fprintf(stderr, "%llu KiB of trace, ", (unsigned long long)stats->aux_bytes / 1024);
	fprintf(stderr, "%u thread%s", nr_rings, nr_rings == 1 ? "" : "s");
	fflush(stderr);
}

static void on_notice(void *ctx, pid_t pid, enum auxtap_target_notice kind, const char *why)
{
	char what[32];

	(void)ctx;
	snprintf(what, sizeof(what), "process %d", pid);
	switch (kind) {
	case AUXTAP_NOTICE_TRUTH_ENDED:
		cli_errorf("--truth", "the trace goes on; use a larger disk, or trace less", "%s",
			   why);
		break;
	case AUXTAP_NOTICE_REQUEST_REFUSED:
		cli_errorf(what, "use --source ptrace", "%s", why);
		break;
	case AUXTAP_NOTICE_UNPRIVILEGED:
		cli_errorf(what, NULL, "%s", why);
		break;
	case AUXTAP_NOTICE_UNTRACED:
		cli_errorf(what, NULL, "not traced from here on: %s",
			   *why ? why : "the tracer lost it");
		break;
	}
}

static void on_refused(void *ctx, pid_t tid, const struct auxtap_error *why)
{
	char what[32];

	(void)ctx;
	snprintf(what, sizeof(what), "thread %d", tid);
	cli_errorf(what, why->hint, "not traced: %s: %s", why->what, why->why);
}

static void on_no_snapshot(void *ctx, const char *path, const struct auxtap_crash *crash,
			   const struct auxtap_error *why)
{
	(void)ctx;
	(void)path;
	cli_say("auxtap: process %d (%s) died of %s", crash->pid, crash->comm,
		cli_signal_name(crash->signo));
	if (crash->tid)
		fprintf(stderr, " in thread %d", crash->tid);
	fputs("; no snapshot was written:\n", stderr);
	cli_error(why);
}

/* ---- the run ---- */

/* Is it an AArch64 program on another machine, whose trace unit cannot trace it? */
static bool is_foreign_program(const struct capture_options *o)
{
#ifdef __aarch64__
	(void)o;
	return false;
#else
	return o->session.argv && auxtap_program_machine(o->session.argv[0]) == EM_AARCH64;
#endif
}

static int open_backend(struct auxtap_backend *be, const struct capture_options *o)
{
	struct auxtap_probe probe = {.size = sizeof(probe)};
	struct auxtap_error err = AUXTAP_ERROR_INIT;
	bool attach = !o->session.argv, kernel = o->backend == BACKEND_KERNEL;
	enum auxtap_engine engine = o->engine;
	struct auxtap_emulation emulation = {.size = sizeof(emulation),
					     .trace_unit = o->trace_unit,
					     .max_memory = o->max_memory,
					     .values = o->values};

	if (o->backend == BACKEND_AUTO && !o->engine_given && !o->trace_unit && !o->max_memory &&
	    !o->values && !o->session.truth_path) {
		auxtap_probe_machine(&probe);
		kernel = probe.kernel && !is_foreign_program(o);
		if (!kernel && (o->session.all_cpus || o->session.cpus)) {
			cli_errorf(o->session.cpus ? "-C" : "-a",
				   "trace a program instead: auxtap record -- PROGRAM", "%s",
				   probe.kernel_why);
			return -1;
		}
		if (!kernel && attach) {
			cli_errorf(o->session.pid ? "-p" : "-t",
				   "use --backend emulated if a far slower run is acceptable", "%s",
				   probe.kernel_why);
			return -1;
		}
	} else if (o->backend == BACKEND_AUTO && attach) {
		cli_errorf("attach", "use --backend emulated",
			   "under emulation the process runs far slower, so auto does not do it");
		return -1;
	}
	if (kernel) {
		if (!auxtap_backend_open_kernel(be, &err))
			return 0;
	} else {
		/* qemu starts programs; a running process can only be stepped. */
		if (attach && engine == AUXTAP_ENGINE_QEMU) {
			cli_errorf("--source", "use --source ptrace",
				   "qemu cannot attach to a running process");
			return -1;
		}
		if (attach)
			engine = AUXTAP_ENGINE_PTRACE;
		emulation.engine = engine;
		if (!auxtap_backend_open_emulation(be, &emulation, &err))
			return 0;
	}
	cli_error(&err);
	return -1;
}

static void print_slowdown(const struct auxtap_backend *be, const char *event)
{
	if (!*be->slowdown)
		return;
	cli_say("auxtap: backend %s, event %s: expect it %s than native", be->description, event,
		be->slowdown);
	fputc('\n', stderr);
}

static int program_status(int status)
{
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

static void print_end(const struct capture_options *o, const struct auxtap_session_stats *st)
{
	const char *name = o->session.argv ? o->session.argv[0] :
			   o->session.tid  ? "the thread" :
					     "the process";
	char how[64];

	if (st->threads_refused > 1)
		fprintf(stderr, "auxtap: %llu threads were not traced; each is a gap\n",
			(unsigned long long)st->threads_refused);
	if (st->exit_status < 0)
		snprintf(how, sizeof(how), st->ended ? "ended" : "detached");
	else if (WIFSIGNALED(st->exit_status))
		snprintf(how, sizeof(how), "ended by %s",
			 cli_signal_name(WTERMSIG(st->exit_status)));
	else
		snprintf(how, sizeof(how), "ended with status %d", WEXITSTATUS(st->exit_status));
	if (st->memory_limit)
		fprintf(stderr,
			"auxtap: %s: killed a process: all processes together used more than "
			"%llu MiB; raise --max-memory\n",
			name, (unsigned long long)st->memory_limit >> 20);
	if (!o->session.crash) {
		cli_say("auxtap: %s: %llu bytes of trace", o->session.output,
			(unsigned long long)st->aux_bytes);
		if (st->snapshots)
			fprintf(stderr, ", %llu snapshot%s", (unsigned long long)st->snapshots,
				st->snapshots == 1 ? "" : "s");
		if (st->truncations)
			fprintf(stderr, ", truncated %llu times (a larger -m loses less)",
				(unsigned long long)st->truncations);
		if (st->collisions)
			fprintf(stderr,
				", %llu collision%s (small losses: 'auxtap decode --events gap')",
				(unsigned long long)st->collisions, st->collisions == 1 ? "" : "s");
		if (st->lost_records)
			fprintf(stderr, ", %llu records lost",
				(unsigned long long)st->lost_records);
		fputc('\n', stderr);
		return;
	}
	if (st->crashes)
		return;
	if (st->requested) {
		cli_say("auxtap: %s: %s; no crash", name, how);
		fputc('\n', stderr);
		return;
	}
	if (st->fault_signo)
		cli_say("auxtap: %s: %s; no crash, no snapshot (its first fault, %s at ip 0x%llx in "
			"thread %d, went to a handler of its own)",
			name, how, cli_signal_name(st->fault_signo),
			(unsigned long long)st->fault_ip, st->fault_tid);
	else
		cli_say("auxtap: %s: %s; no crash, no snapshot", name, how);
	fputc('\n', stderr);
}

/* Reports if all processes were ones that the trace unit cannot trace. */
static bool report_no_trace(const struct capture_options *o, const char *event,
			    const struct auxtap_session_stats *stats)
{
	if (o->session.crash || stats->aux_bytes || !stats->untraced)
		return false;
	cli_errorf(
		o->session.output,
		"x86-64 programs: -e intel_pt//u; AArch64 programs: -e cs_etm//u or arm_spe_0//u",
		"no trace: no code ran that %s can trace", event);
	return true;
}

/*
 * LeakSanitizer attaches to its own process with ptrace. That fails under a tracer, and would end a
 * correct program with an error: turns it off, unless the user has set detect_leaks.
 */
static void disable_leak_check(const struct auxtap_backend *be, const struct capture_options *o)
{
	const char *asan = getenv("ASAN_OPTIONS"), *lsan = getenv("LSAN_OPTIONS"), *built;
	bool traced = o->session.crash || be->perf->emulated;
	char options[4096];

	if (!traced || !o->session.argv || (asan && strstr(asan, "detect_leaks")) ||
	    (lsan && strstr(lsan, "detect_leaks")))
		return;
	built = auxtap_program_sanitizer(o->session.argv[0]);
	if (!built || strcmp(built, "AddressSanitizer") != 0 ||
	    snprintf(options, sizeof(options), "%s%sdetect_leaks=0", asan ? asan : "",
		     asan && *asan ? ":" : "") >= (int)sizeof(options))
		return;
	setenv("ASAN_OPTIONS", options, 1);
	cli_say("auxtap: %s: LeakSanitizer cannot run under a tracer: detect_leaks=0 is added to "
		"ASAN_OPTIONS",
		o->session.argv[0]);
	fputc('\n', stderr);
}

/* A missing interpreter, or a file that is not a program, is noticed only by exec. */
static int failure_status(const struct auxtap_error *err)
{
	if (err->subject != AUXTAP_ERROR_PROGRAM)
		return CLI_RUN_FAILED;
	if (err->code == -ENOENT)
		return CLI_NOT_FOUND;
	return err->code == -EACCES || err->code == -ENOEXEC ? CLI_NOT_EXECUTABLE : CLI_RUN_FAILED;
}

static int run(struct auxtap_backend *be, struct capture_options *o)
{
	char event[128];
	struct auxtap_error err = AUXTAP_ERROR_INIT;
	struct auxtap_session_stats stats;
	struct auxtap_session *s;
	int ret, failed, status = CLI_OK;

	attached = !o->session.argv;
	snapshot_on_sigusr2 = !o->session.crash || !attached;
	catch_signals();
	if (auxtap_session_open(&s, be, &o->session, &err)) {
		cli_error(&err);
		return failure_status(&err);
	}
	snprintf(event, sizeof(event), "%s", auxtap_session_event(s));
	print_slowdown(be, event);
	start_forwarding(s);
	failed = auxtap_session_run(s, &stop, &err);
	stats = *auxtap_session_get_stats(s);
	if (failed)
		status = failure_status(&err);
	if (failed && !stats.error_reported)
		cli_error(&err);
	if (stats.emulator_died && stats.exit_status < 0)
		untraced_program = stats.program_pid;
	running_session = NULL;
	signal(SIGUSR2, SIG_IGN);
	ret = auxtap_session_close(s, &err);
	if (untraced_program > 0)
		wait_for_program(untraced_program);
	if (ret && !failed)
		cli_error(&err);
	if (!failed && !ret)
		print_end(o, &stats);
	if (status)
		return status;
	if (ret || stats.truth_failed || report_no_trace(o, event, &stats))
		return CLI_RUN_FAILED;
	if (o->error_exitcode && stats.crashes)
		return o->error_exitcode;
	if (attached && stats.crash_signo)
		return 128 + stats.crash_signo;
	/* The exit status of an attached process is not that of the command. */
	if (attached || stats.exit_status < 0)
		return CLI_OK;
	return program_status(stats.exit_status);
}

static int report_program_error(const char *name, int code)
{
	struct stat st = {0};

	if (code == -ENOENT) {
		cli_errorf(name, strchr(name, '/') ? NULL : "give its path if it is not in PATH",
			   "no such program");
		return CLI_NOT_FOUND;
	}
	if (stat(name, &st) && errno == EACCES)
		cli_errorf(name, "give this user search permission for its directories", "%s",
			   strerror(EACCES));
	else if (S_ISDIR(st.st_mode))
		cli_errorf(name, "name a program", "is a directory");
	else if (code == -EACCES)
		cli_errorf(name, "make it executable: chmod +x", "%s", strerror(-code));
	else
		cli_errorf(name, NULL, "%s", strerror(-code));
	return CLI_NOT_EXECUTABLE;
}

/* Checked at the start, because at a crash it would be too late. */
static bool can_create_output(const char *output)
{
	const char *slash = strrchr(output, '/');
	char dir[4096];
	struct stat st;

	if (!stat(output, &st) && S_ISDIR(st.st_mode)) {
		cli_errorf(output, "name a file with -o", "is a directory, not a file");
		return false;
	}
	snprintf(dir, sizeof(dir), "%.*s", slash ? (int)(slash - output) + 1 : 1,
		 slash ? output : ".");
	if (!access(dir, W_OK | X_OK))
		return true;
	cli_errorf(output, "name another file with -o", "cannot create: %s", strerror(errno));
	return false;
}

/* The old file at 'output' would be renamed: is it the program? */
static bool is_program(const char *output, const char *program)
{
	struct stat a, b;

	if (stat(output, &a) || stat(program, &b) || a.st_dev != b.st_dev || a.st_ino != b.st_ino)
		return false;
	cli_errorf(output, "name another file with -o", "is the program that is to be traced");
	return true;
}

int cli_capture(const struct cli_capture *kind, int argc, char **argv)
{
	struct auxtap_backend be = {.size = sizeof(be)};
	struct capture_options o;
	char path[4096];
	int ret = capture_options_parse(&o, kind, argc, argv);

	if (ret)
		return ret > 0 ? CLI_OK : CLI_RUN_FAILED;
	if (o.session.argv) {
		ret = auxtap_find_program(o.session.argv[0], path, sizeof(path));
		if (ret)
			return report_program_error(o.session.argv[0], ret);
		if (is_program(o.session.output, path))
			return CLI_RUN_FAILED;
	}
	if (kind->crash && !can_create_output(o.session.output))
		return CLI_RUN_FAILED;
	catch_file_limit();
	if (open_backend(&be, &o))
		return CLI_RUN_FAILED;
	o.session.argc_cmdline = argc + 1;
	if (o.session.redact && o.session.argv) /* omit the program's arguments */
		o.session.argc_cmdline = (int)(o.session.argv - argv) + 2;
	o.session.argv_cmdline = argv - 1; /* main()'s argv: "auxtap", "record", … */
	o.session.progress = isatty(STDERR_FILENO);
	o.session.on_progress = on_progress;
	o.session.ctx = &o;
	o.session.on_notice = on_notice;
	o.session.on_refused = on_refused;
	o.session.on_snapshot = kind->on_snapshot;
	o.session.on_core = kind->on_core;
	o.session.on_no_snapshot = on_no_snapshot;
	disable_leak_check(&be, &o);
	ret = run(&be, &o);
	auxtap_backend_close(&be);
	return ret;
}

int cmd_record(int argc, char **argv)
{
	static const struct cli_capture kind = {.name = "record", .help = help};

	return cli_capture(&kind, argc, argv);
}
