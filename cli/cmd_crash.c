// SPDX-License-Identifier: BSD-2-Clause
/* auxtap crash: record with a flight recorder; each process that dies leaves its report. */
#include "cli.h"

#include <auxtap/crash.h>
#include <auxtap/decode.h>
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
	"Runs PROGRAM with a flight recorder. Each of its processes that dies of a signal that\n"
	"dumps core leaves a snapshot of its last moments and a report: the first in FILE, later\n"
	"ones in FILE.PID. The report goes to standard error and to the snapshot's name with\n"
	".report.txt. Without a crash nothing is left. The program's own input and output are\n"
	"untouched.\n"
	"\n"
	"  --keep N              how many snapshots to keep; the oldest goes (8)\n"
	"  --error-exitcode N    exit with N (1 to 255) if any traced process died of a signal that\n"
	"                        dumps core, however the program itself ended\n"
	"  -e PMU/TERMS/MODS     the event, as intel_pt/cyc,noretcomp/u. If not given: intel_pt//u;\n"
	"                        cs_etm//u for an AArch64 program, which is emulated\n"
	"  -m DATA,AUX           sizes of data ring and AUX area, in pages or with K, M, G;\n"
	"                        powers of two (128,1024)\n"
	"  -S[SIZE]              keep the newest SIZE bytes of each thread (all the area holds)\n"
	"  -p PID, -t TID        attach to a process, to one thread\n"
	"  -a, -C CPUS           whole CPUs, all or those of a list (kernel backend)\n"
	"  -o FILE               the file to write (auxtap.data); an old one becomes FILE.old\n"
	"  --backend WHICH       kernel, emulated, or auto: kernel if there is a trace unit that\n"
	"                        may be used (auto). Attaching under emulation must be asked for\n"
	"  --source WHICH        what executes the program under emulation: qemu, ptrace, or\n"
	"                        auto: qemu for a program if it is there, ptrace to attach (auto)\n"
	"  --trace-unit WHICH    of emulated Arm CPUs, for cs_etm events: ete or etmv4 (ete)\n"
	"  --max-memory SIZE     emulated: end the largest process when all of them together use\n"
	"                        more, in bytes or with K, M, G (half of what is available)\n"
	"  --aux-watermark BYTES no use in a snapshot; accepted as by record\n"
	"  --truth FILE          emulated: write every executed address, a little-endian u64\n"
	"                        each, into FILE.TID: a gigabyte for 134 million instructions\n"
	"  -h, --help            this text\n"
	"\n"
	"Exit status: the program's; 128 + signal if it died of one; the N of --error-exitcode; 125\n"
	"if auxtap failed; 126 if the program cannot be executed; 127 if it is not found.\n";

/* The report as text, malloc'd; or NULL and *err. */
static char *make_report_here(const char *path, bool colour, struct auxtap_error *err)
{
	/* where the program's libraries are may be what belongs to them, too */
	const char *sysroot = getenv("AUXTAP_SYSROOT");
	struct auxtap_report_opts opts = {.size = sizeof(opts),
					  .colour = colour,
					  .sysroot = sysroot && *sysroot ? sysroot : NULL};
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
	ret = auxtap_report(pd, &opts, out, err);
	fclose(out);
	auxtap_perfdata_close(pd);
	if (!ret)
		return text;
	/* what there was memory for is better than nothing */
	if (ret == -ENOMEM && text && *text) {
		cli_error(err);
		return text;
	}
	free(text);
	return NULL;
}

static bool send_all(int fd, const void *data, size_t size)
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

/* Reads to the end; NULL if there is no memory. A 0 follows the data. */
static char *receive_all(int fd, size_t *size)
{
	size_t space = 65536;
	char *data = malloc(space + 1);

	for (*size = 0; data;) {
		ssize_t n = read(fd, data + *size, space - *size);
		char *more;

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		*size += (size_t)n;
		if (*size < space)
			continue;
		space *= 2;
		more = realloc(data, space + 1);
		if (!more)
			free(data);
		data = more;
	}
	if (data)
		data[*size] = '\0';
	return data;
}

/*
 * In a process of its own: a library may end it, where memory is short, and auxtap's status is the
 * program's. That process sends the error (code 0 after success) and then the text.
 */
static char *make_report(const char *path, bool colour, struct auxtap_error *err)
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
		text = make_report_here(path, colour, err);
		fflush(NULL);
		_exit(!(send_all(ends[1], text ? &none : err, sizeof(*err)) &&
			(!text || send_all(ends[1], text, strlen(text)))));
	}
	close(ends[1]);
	if (child < 0) {
		auxtap_error_set(err, -errno, path, "the report: fork: %s", strerror(errno));
		close(ends[0]);
		return NULL;
	}
	data = receive_all(ends[0], &size);
	close(ends[0]);
	while (waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	if (!data) {
		auxtap_error_set(err, -ENOMEM, path, "no memory for the report");
	} else if (WIFSIGNALED(status)) {
		auxtap_error_set(err, -ENOMEM, path,
				 "making the report ended with %s, perhaps because "
				 "memory is short",
				 cli_signal_name(WTERMSIG(status)));
		auxtap_error_todo(err, "'auxtap report' makes it from the snapshot");
	} else if (size < sizeof(*err) || WEXITSTATUS(status)) {
		auxtap_error_set(err, -EIO, path, "making the report ended with status %d",
				 WEXITSTATUS(status));
		auxtap_error_todo(err, "'auxtap report' makes it from the snapshot");
	} else {
		memcpy(err, data, sizeof(*err));
		if (!err->code)
			text = strdup(data + sizeof(*err));
	}
	free(data);
	return text;
}

static void save_report(const char *path, const char *text)
{
	char name[4200], old[4200];
	FILE *out;
	int fd;

	snprintf(name, sizeof(name), "%s.report.txt", path);
	/* The report of the file that is FILE.old now stays with it. */
	snprintf(old, sizeof(old), "%s.old.report.txt", path);
	if (rename(name, old))
		unlink(name);
	/* As private as the snapshot: it shows memory. */
	fd = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	out = fd < 0 ? NULL : fdopen(fd, "w");
	if (!out) {
		cli_complain(name, NULL, "%s", strerror(errno));
		if (fd >= 0)
			close(fd);
		return;
	}
	/* Part of a report may say the wrong thing: standard error has all of it. */
	if ((fputs(text, out) == EOF) | (fclose(out) != 0)) {
		cli_complain(name, "'auxtap report' makes it again from the snapshot", "%s",
			     strerror(errno));
		unlink(name);
	}
}

static void on_snapshot(void *ctx, const char *path, const struct auxtap_crash *crash)
{
	struct auxtap_error err = AUXTAP_ERROR_INIT;
	bool colour = isatty(STDERR_FILENO) && !getenv("NO_COLOR");
	char *plain = make_report(path, false, &err), *coloured = NULL;

	(void)ctx;
	if (!plain) {
		cli_say("auxtap: process %d died of %s; its snapshot is %s", crash->pid,
			cli_signal_name(crash->signo), path);
		fputc('\n', stderr);
		cli_error(&err);
		return;
	}
	if (colour)
		coloured = make_report(path, true, &err);
	fputs(coloured ? coloured : plain, stderr);
	fflush(stderr);
	save_report(path, plain);
	free(coloured);
	free(plain);
}

int cmd_crash(int argc, char **argv)
{
	static const struct cli_capture kind = {
		.name = "crash",
		.help = help,
		.crash = true,
		.on_snapshot = on_snapshot,
	};

	return cli_capture(&kind, argc, argv);
}
