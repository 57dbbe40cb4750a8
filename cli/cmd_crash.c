// SPDX-License-Identifier: BSD-2-Clause
/* auxtap crash: runs a program with a flight recorder; reports each process that crashes. */
#include "capture_options.h"
#include "cli.h"
#include "cli/report/report_page.h"
#include "util/vector.h"

#include <auxtap/capture.h>
#include <auxtap/crash.h>
#include <auxtap/decode.h>
#include <auxtap/pack.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static const char help[] =
	"usage: auxtap crash [OPTION]... [--] PROGRAM [ARGUMENT]...\n"
	"       auxtap crash [OPTION]... --backend emulated -p PID\n"
	"\n"
	"Runs PROGRAM with a flight recorder. For each of its processes that dies of a signal that\n"
	"dumps core, writes a snapshot of its last moments and a report: the first to FILE, later\n"
	"ones to FILE.PID. The report goes to standard error and to the snapshot's name with\n"
	".report.txt appended. Without a crash no file is written. auxtap does not touch the\n"
	"program's input and output. SIGUSR2 takes a snapshot of each process that runs; if auxtap\n"
	"attached to it, so does Ctrl-C, and both detach from it.\n"
	"\n"
	"  --keep N              keep N snapshots: the first, and the newest ones (default: 8)\n"
	"  --core[=SIZE]         write a core file of at most SIZE bytes to FILE.core, for gdb (default:\n"
	"                        as the program's ulimit -c allows)\n"
	"  --memory WHICH        memory in the snapshot: stack, none, or reachable: what stacks point to\n"
	"                        in two steps, and the program's data (default: stack;\n"
	"                        with --values: reachable)\n"
	"  --values[=SIZE]       emulation: record what each thread writes to memory and its registers,\n"
	"                        in a ring of SIZE bytes, so that gdb shows values of the past and\n"
	"                        'watch' works backwards; x86-64 programs, qemu 10 (default: 4M)\n"
	"  --redact              keep flow, names and registers; no memory, arguments, environment\n"
	"  --pack                pack each snapshot, as 'auxtap pack' does: it decodes anywhere; requires\n"
	"                        --redact, or --with-memory to keep memory of the program\n"
	"  --format FORMAT       format of the report in the file: text; json: .report.json is appended; or\n"
	"                        html: .report.html, one page for a browser (default: text)\n"
	"  --error-exitcode N    exit with N (1 to 255) if any traced process died of a signal that\n"
	"                        dumps core, regardless of the program's own exit status\n"
	"  -e, --event EVENT     trace this event, as in intel_pt/cyc,noretcomp/u (default:\n"
	"                        intel_pt//u; for an AArch64 program, which is emulated, cs_etm//u)\n"
	"  -m, --mmap-pages DATA,AUX\n"
	"                        sizes of data ring and AUX area, in pages or with suffix K, M or G;\n"
	"                        powers of two (default: 128,1024)\n"
	"  -S[SIZE], --snapshot[=SIZE]\n"
	"                        keep the newest SIZE bytes of each thread (default: the whole area)\n"
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
	"  --aux-watermark BYTES accepted as by record; no effect on a snapshot\n"
	"  --truth FILE          emulation: write every executed address as a little-endian u64 to\n"
	"                        FILE.TID: a gigabyte for 134 million instructions\n"
	"  -h, --help            print help\n"
	"\n"
	"Exit status: the program's; 128 + signal if a signal killed it, or the process that auxtap\n"
	"attached to; the N of --error-exitcode;\n"
	"125 if auxtap failed; 126 if the program cannot be executed; 127 if it is not found.\n";

/* AUXTAP_SYSROOT contains the program's libraries and perhaps their debug information. */
static struct auxtap_image_set_opts image_opts(void)
{
	const char *sysroot = getenv("AUXTAP_SYSROOT");

	return (struct auxtap_image_set_opts){.size = sizeof(struct auxtap_image_set_opts),
					      .sysroot = sysroot && *sysroot ? sysroot : NULL};
}

/* Writes a report in that format. Returns 0 or a negative errno. */
static int write_report(struct auxtap_perfdata *pd, const struct auxtap_report_opts *opts,
			enum report_output format, FILE *out, struct auxtap_error *err)
{
	FILE *page;
	int ret;

	if (format != REPORT_OUTPUT_HTML)
		return auxtap_report(pd, opts, out, err);
	page = report_page_open(out);
	if (!page)
		return auxtap_error_set(err, -ENOMEM, "report", "no memory for the page");
	ret = auxtap_report(pd, opts, page, err);
	if (fclose(page) && !ret)
		ret = auxtap_error_set(err, -ENOMEM, "report", "no memory for the page");
	return ret;
}

/* Returns the report, which the caller frees, or NULL and sets *err. */
static char *make_report_in_process(const char *path, enum report_output format, bool colour,
				    struct auxtap_error *err)
{
	struct auxtap_image_set_opts images = image_opts();
	struct auxtap_report_opts opts = {.size = sizeof(opts),
					  .colour = colour,
					  .images = &images,
					  .format = report_output_format(format)};
	struct auxtap_perfdata *pd;
	char *text = NULL;
	size_t size;
	FILE *out;
	int ret;

	if (auxtap_perfdata_open(&pd, path, err))
		return NULL;
	out = open_memstream(&text, &size);
	if (!out) {
		auxtap_error_set(err, -errno, path, "%m");
		auxtap_perfdata_close(pd);
		return NULL;
	}
	ret = write_report(pd, &opts, format, out, err);
	fclose(out);
	auxtap_perfdata_close(pd);
	if (!ret)
		return text;
	/* a partial report is better than none */
	if (ret == -ENOMEM && text && *text) {
		cli_error(err);
		return text;
	}
	free(text);
	return NULL;
}

static bool write_all(int fd, const void *data, size_t size)
{
	while (size) {
		ssize_t n = write(fd, data, size);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		data = (const char *)data + n;
		size -= (size_t)n;
	}
	return true;
}

#define READ_CHUNK 65536

/* Reads to the end of file and appends a NUL; NULL: out of memory. */
static char *read_all(int fd, size_t *size)
{
	size_t space = 0;
	char *data = NULL;

	for (*size = 0;;) {
		ssize_t n;

		if (vector_grow_by(data, *size, READ_CHUNK, space)) {
			free(data);
			return NULL;
		}
		n = read(fd, data + *size, space - *size - 1);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		*size += (size_t)n;
	}
	data[*size] = '\0';
	return data;
}

/*
 * Makes the report in a child process: a library may abort it if memory is short, but auxtap must
 * exit with the program's status. The child sends the error (code 0: success), then the text.
 */
static char *make_report(const char *path, enum report_output format, bool colour,
			 struct auxtap_error *err)
{
	struct auxtap_error none = AUXTAP_ERROR_INIT;
	char *data, *text = NULL;
	int ends[2], status = 0;
	size_t size = 0;
	pid_t child;

	fflush(NULL);
	if (pipe2(ends, O_CLOEXEC)) {
		auxtap_error_set(err, -errno, path, "the report: pipe: %s", strerror(errno));
		return NULL;
	}
	child = fork();
	if (!child) {
		text = make_report_in_process(path, format, colour, err);
		fflush(NULL);
		_exit(!(write_all(ends[1], text ? &none : err, sizeof(*err)) &&
			(!text || write_all(ends[1], text, strlen(text)))));
	}
	close(ends[1]);
	if (child < 0) {
		auxtap_error_set(err, -errno, path, "the report: fork: %s", strerror(errno));
		close(ends[0]);
		return NULL;
	}
	data = read_all(ends[0], &size);
	close(ends[0]);
	while (waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	if (!data) {
		auxtap_error_set(err, -ENOMEM, path, "no memory for the report");
	} else if (WIFSIGNALED(status)) {
		auxtap_error_set(err, -ENOMEM, path,
				 "writing the report ended with %s, perhaps because "
				 "memory is short",
				 cli_signal_name(WTERMSIG(status)));
		auxtap_error_hint(err, "use 'auxtap report' on the snapshot");
	} else if (size < sizeof(*err) || WEXITSTATUS(status)) {
		auxtap_error_set(err, -EIO, path, "writing the report ended with status %d",
				 WEXITSTATUS(status));
		auxtap_error_hint(err, "use 'auxtap report' on the snapshot");
	} else {
		memcpy(err, data, sizeof(*err));
		if (!err->code)
			text = strdup(data + sizeof(*err));
	}
	free(data);
	return text;
}

#define REPORT_NAME_SIZE 4200

/* older: the report of the previous snapshot with this name */
static void report_name(char name[REPORT_NAME_SIZE], const char *path, bool older,
			enum report_output format)
{
	snprintf(name, REPORT_NAME_SIZE, "%s%s.report.%s", path, older ? ".old" : "",
		 report_output_suffix(format));
}

/*
 * An older report in any format is renamed, as was its snapshot, to FILE.old. Reports of FILE.old
 * in other formats belong to a snapshot that no longer exists, and are removed.
 */
static void rename_older(const char *path)
{
	char name[REPORT_NAME_SIZE], old[REPORT_NAME_SIZE];
	bool older = false;

	for (int i = 0; i < REPORT_NR_OUTPUTS; i++) {
		report_name(name, path, false, (enum report_output)i);
		older |= !faccessat(AT_FDCWD, name, F_OK, AT_SYMLINK_NOFOLLOW);
	}
	for (int i = 0; older && i < REPORT_NR_OUTPUTS; i++) {
		report_name(name, path, false, (enum report_output)i);
		report_name(old, path, true, (enum report_output)i);
		if (rename(name, old))
			unlink(errno == ENOENT ? old : name);
	}
}

/* Returns false after printing an error. */
static bool save_report(const char *path, enum report_output format, const char *text)
{
	char name[REPORT_NAME_SIZE];
	FILE *out;
	int fd;

	report_name(name, path, false, format);
	/* The report shows memory contents, so it gets the same mode as the snapshot. */
	fd = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	out = fd < 0 ? NULL : fdopen(fd, "w");
	if (!out) {
		cli_errorf(name, NULL, "%s", strerror(errno));
		if (fd >= 0)
			close(fd);
		return false;
	}
	/* A partial report may mislead: remove it. Standard error has the whole text. */
	if ((fputs(text, out) == EOF) | (fclose(out) != 0)) {
		cli_errorf(name, "use 'auxtap report' on the snapshot", "%s", strerror(errno));
		unlink(name);
		return false;
	}
	return true;
}

/* Packs the snapshot in a child process, for the same reason as make_report(). */
static void pack_snapshot(const struct capture_options *o, const char *path)
{
	int status = 0;
	pid_t child;

	fflush(NULL);
	child = fork();
	if (!child) {
		struct auxtap_image_set_opts images = image_opts();
		struct auxtap_pack_opts opts = {.size = sizeof(opts),
						.redact = o->session.redact,
						.images = &images};

		status = cli_pack(path, path, &opts);
		fflush(NULL);
		_exit(status);
	}
	if (child < 0) {
		cli_errorf(path, "use 'auxtap pack' on it", "fork: %s", strerror(errno));
		return;
	}
	while (waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	if (WIFSIGNALED(status))
		cli_errorf(path, "use 'auxtap pack' on it", "packing it ended with %s",
			   cli_signal_name(WTERMSIG(status)));
}

/* Saves the report in the requested format. text is the report as text. */
static void save_in_format(const char *path, enum report_output format, const char *text)
{
	struct auxtap_error err = AUXTAP_ERROR_INIT;
	char *report, name[REPORT_NAME_SIZE];

	if (format == REPORT_OUTPUT_TEXT) {
		save_report(path, format, text);
		return;
	}
	report = make_report(path, format, false, &err);
	if (!report) {
		cli_error(&err);
		return;
	}
	report_name(name, path, false, format);
	if (save_report(path, format, report)) {
		cli_say("auxtap: the same report is in %s", name);
		fputc('\n', stderr);
	}
	free(report);
}

static void on_snapshot(void *ctx, const char *path, const struct auxtap_crash *crash)
{
	struct auxtap_error err = AUXTAP_ERROR_INIT;
	bool colour = isatty(STDERR_FILENO) && !getenv("NO_COLOR");
	char *plain, *coloured = NULL;
	const struct capture_options *o = ctx;

	rename_older(path);
	plain = make_report(path, REPORT_OUTPUT_TEXT, false, &err);
	if (!plain) {
		if (crash->flags & AUXTAP_CRASH_INTERRUPTED)
			cli_say("auxtap: process %d: its snapshot is %s", crash->pid, path);
		else
			cli_say("auxtap: process %d died of %s; its snapshot is %s", crash->pid,
				cli_signal_name(crash->signo), path);
		fputc('\n', stderr);
		cli_error(&err);
		return;
	}
	if (colour)
		coloured = make_report(path, REPORT_OUTPUT_TEXT, true, &err);
	fputs(coloured ? coloured : plain, stderr);
	fflush(stderr);
	save_in_format(path, o->report, plain);
	if (o->pack)
		pack_snapshot(o, path);
	free(coloured);
	free(plain);
}

static void on_core(void *ctx, const struct auxtap_core *core, const struct auxtap_error *why)
{
	(void)ctx;
	if (why) {
		cli_errorf(core->path, "use --core=SIZE for another limit, or -o for another disk",
			   "no core file was written: %s", why->why);
		return;
	}
	cli_say("auxtap: core file %s: %llu KiB", core->path,
		(unsigned long long)(core->nr_bytes + 1023) / 1024);
	if (core->cut)
		fprintf(stderr, "; cut by %s: %u mapping%s incomplete",
			core->cut == AUXTAP_CORE_CUT_DISK ? "the space on the disk" : "its limit",
			core->nr_cut, core->nr_cut == 1 ? " is" : "s are");
	fputc('\n', stderr);
}

int cmd_crash(int argc, char **argv)
{
	static const struct cli_capture kind = {
		.name = "crash",
		.help = help,
		.crash = true,
		.on_snapshot = on_snapshot,
		.on_core = on_core,
	};

	return cli_capture(&kind, argc, argv);
}
