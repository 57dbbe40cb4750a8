// SPDX-License-Identifier: BSD-2-Clause
/* auxtap crash: runs a program with a flight recorder; reports each process that dies. */
#include "cli.h"
#include "util/vector.h"

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
	"Runs PROGRAM with a flight recorder. For each of its processes that dies of a signal that\n"
	"dumps core, writes a snapshot of its last moments and a report: the first to FILE, later\n"
	"ones to FILE.PID. The report goes to standard error and to the snapshot's name with\n"
	".report.txt appended. Without a crash no file is written. auxtap does not touch the\n"
	"program's input and output.\n"
	"\n"
	"  --keep N              keep the newest N snapshots (default: 8)\n"
	"  --error-exitcode N    exit with N (1 to 255) if any traced process died of a signal that\n"
	"                        dumps core, regardless of the program's own exit status\n"
	"  -e PMU/TERMS/MODS     trace this event, as in intel_pt/cyc,noretcomp/u (default:\n"
	"                        intel_pt//u; for an AArch64 program, which is emulated, cs_etm//u)\n"
	"  -m DATA,AUX           sizes of data ring and AUX area, in pages or with suffix K, M or G;\n"
	"                        powers of two (default: 128,1024)\n"
	"  -S[SIZE]              keep the newest SIZE bytes of each thread (default: the whole area)\n"
	"  -p PID, -t TID        attach to a process, or to one thread\n"
	"  -a, -C CPUS           trace all CPUs, or those in a list like 0,2-3 (kernel backend)\n"
	"  -o FILE               write to FILE (default: auxtap.data); an old file becomes FILE.old\n"
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
	"Exit status: the program's; 128 + signal if a signal killed it; the N of --error-exitcode;\n"
	"125 if auxtap failed; 126 if the program cannot be executed; 127 if it is not found.\n";

/* The report as text, malloc'd; or NULL and *err. */
static char *make_report_here(const char *path, bool colour, struct auxtap_error *err)
{
	/* AUXTAP_SYSROOT has the program's libraries and may have their debug information, too */
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
	/* a partial report is better than none */
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

#define RECEIVE_CHUNK 65536

/* Reads to the end and appends a NUL; NULL: out of memory. */
static char *receive_all(int fd, size_t *size)
{
	size_t space = 0;
	char *data = NULL;

	for (*size = 0;;) {
		ssize_t n;

		if (vector_grow_by(data, *size, RECEIVE_CHUNK, space)) {
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
 * Runs in a process of its own: a library may abort it when memory is short, but auxtap must exit
 * with the program's status. That process sends the error (code 0 after success), then the text.
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
				 "writing the report ended with %s, perhaps because "
				 "memory is short",
				 cli_signal_name(WTERMSIG(status)));
		auxtap_error_todo(err, "use 'auxtap report' on the snapshot");
	} else if (size < sizeof(*err) || WEXITSTATUS(status)) {
		auxtap_error_set(err, -EIO, path, "writing the report ended with status %d",
				 WEXITSTATUS(status));
		auxtap_error_todo(err, "use 'auxtap report' on the snapshot");
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
	/* The older report is renamed together with its snapshot, which is FILE.old now. */
	snprintf(old, sizeof(old), "%s.old.report.txt", path);
	if (rename(name, old))
		unlink(name);
	/* The report shows memory contents: same mode as the snapshot. */
	fd = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	out = fd < 0 ? NULL : fdopen(fd, "w");
	if (!out) {
		cli_errorf(name, NULL, "%s", strerror(errno));
		if (fd >= 0)
			close(fd);
		return;
	}
	/* Part of a report can mislead, so remove it; standard error has the whole text. */
	if ((fputs(text, out) == EOF) | (fclose(out) != 0)) {
		cli_errorf(name, "use 'auxtap report' on the snapshot", "%s", strerror(errno));
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
