// SPDX-License-Identifier: BSD-2-Clause
// clang-format off
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
// clang-format on
#include "support_engine.h"
#include "support_qemu_reference.h"
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/wait.h>
#include <unistd.h>

const struct qemu_reference reference_x86 = {.target = "x86_64", .cpu = "max"};
const struct qemu_reference reference_a64 = {
	.target = "aarch64",
	.cpu = "max,pauth-impdef=on",
	.sysroot = "/usr/aarch64-linux-gnu",
	.variable = "AUXTAP_QEMU_AARCH64",
	.reserve = "0x10000000000",
};

char truth_path[64];

/* Small and the same for both runs; qemu 7.2 itself passes variables in reverse order. */
char *const env_of_run[] = {"PATH=/usr/bin:/bin", "LANG=C", "HOME=/", NULL};
static char *const env_of_reference[] = {"HOME=/", "LANG=C", "PATH=/usr/bin:/bin", NULL};

void forget_truth(const struct client_run *run)
{
	char name[128];

	for (int i = 0; i < run->nr_tids; i++) {
		snprintf(name, sizeof(name), "%s.%d", truth_path, (int)run->tids[i]);
		unlink(name);
	}
}

/*
 * qemu 10 lets the kernel choose the addresses of the guest's mappings, so two runs differ in
 * their pages. Maps every page of the log to one page of the ground truth, one to one.
 */
#define NR_PAGES    4096
#define PAGE_OF(ip) ((ip) >> 12)

struct renaming {
	uint64_t judged[NR_PAGES], page[NR_PAGES];
	size_t nr;
	size_t last;
};

static bool same_location(struct renaming *r, uint64_t truth, uint64_t judged)
{
	size_t i = r->last;

	if ((truth ^ judged) & 0xfff)
		return false;
	if (!r->nr || r->judged[i] != PAGE_OF(judged))
		for (i = 0; i < r->nr && r->judged[i] != PAGE_OF(judged); i++)
			;
	if (i == r->nr) {
		for (size_t k = 0; k < r->nr; k++)
			if (r->page[k] == PAGE_OF(truth))
				return false;
		assert_true(r->nr < NR_PAGES);
		r->judged[i] = PAGE_OF(judged);
		r->page[i] = PAGE_OF(truth);
		r->nr++;
	}
	r->last = i;
	return r->page[i] == PAGE_OF(truth);
}

static bool is_fault(struct renaming *pages, const struct client_run *run, uint64_t ip)
{
	for (int i = 0; i < run->nr_faults; i++)
		if (same_location(pages, run->fault_ip[i], ip))
			return true;
	return run->nr_dying && same_location(pages, run->dying.ip, ip);
}

FILE *reference_start(const struct qemu_reference *qemu_reference, char *const *argv, pid_t *pid)
{
	const char *arg[32] = {"qemu",	       "-cpu", qemu_reference->cpu, "-d",
			       "exec,nochain", "-D",   "/proc/self/fd/9",   "-0"};
	int fds[2], nr = 8;
	struct engine engine;
	char program[256];

	snprintf(program, sizeof(program), "%s%s", strchr(argv[0], '/') ? "" : "/usr/bin/",
		 argv[0]);
	assert_true(engine_find(qemu_reference->target, &engine));
	arg[nr++] = argv[0];
	arg[nr++] = engine.major < 8 ? "-singlestep" : "-one-insn-per-tb";
	if (qemu_reference->reserve && engine.major >= 8) {
		arg[nr++] = "-R";
		arg[nr++] = qemu_reference->reserve;
	}
	if (qemu_reference->sysroot) {
		arg[nr++] = "-L";
		arg[nr++] = qemu_reference->sysroot;
	}
	arg[nr++] = program;
	for (int i = 1; argv[i]; i++)
		arg[nr++] = argv[i];
	assert_int_equal(pipe(fds), 0);
	*pid = fork();
	if (!*pid) {
		/* isatty() and fstat() must give the same results as in the run */
		dup2(open("/dev/null", O_RDONLY), 0);
		dup2(memfd_create("stdout", 0), 1);
		dup2(memfd_create("stderr", 0), 2);
		dup2(fds[1], 9);
		close(fds[0]);
		close(fds[1]);
		personality(ADDR_NO_RANDOMIZE); /* as auxtap-emu: programs branch on addresses */
		execve(engine.path, (char **)(uintptr_t)arg,
		       engine.major < 8 ? env_of_reference : env_of_run);
		_exit(127);
	}
	close(fds[1]);
	return fdopen(fds[0], "r");
}

bool reference_next(FILE *log, uint64_t *ip, int *cpu)
{
	static char line[4096];

	while (fgets(line, sizeof(line), log)) {
		const char *at = strncmp(line, "Trace ", 6) ? NULL : strchr(line, '[');

		at = at ? strchr(at, '/') : NULL;
		if (at) {
			*ip = strtoull(at + 1, NULL, 16);
			if (cpu)
				*cpu = atoi(line + 6);
			return true;
		}
	}
	return false;
}

/* Makes a qemu that always has the option -R, for the run. Returns false if there is none. */
static bool wrap_engine(const struct qemu_reference *qemu_reference, char wrapper[96],
			char real[104])
{
	struct engine engine;

	assert_true(engine_find(qemu_reference->target, &engine));
	if (!qemu_reference->reserve || engine.major < 8)
		return false;
	snprintf(wrapper, 96, "%s.qemu", truth_path);
	snprintf(real, 104, "%s.real", wrapper);
	assert_int_equal(symlink(AUXTAP_BIN "/../tests/qemu_reserve", wrapper), 0);
	assert_int_equal(symlink(engine.path, real), 0);
	setenv(qemu_reference->variable, wrapper, 1);
	return true;
}

/* Compares one run of the reference with the ground truth. Prints differences. */
static bool compare_once(const struct qemu_reference *qemu_reference, char *const *argv,
			 const struct client_run *run, const uint64_t *truth, size_t nr,
			 int removed)
{
	static struct renaming pages;
	uint64_t ip, before = 0;
	int nr_removed = 0, status;
	bool same = true;
	size_t at = 0;
	pid_t pid;
	FILE *log = reference_start(qemu_reference, argv, &pid);

	assert_non_null(log);
	memset(&pages, 0, sizeof(pages));
	while (reference_next(log, &ip, NULL)) {
		if (ip == before || !same)
			continue; /* read to its end: the reference must not die of a closed
				     pipe */
		before = ip;
		if (at < nr && same_location(&pages, truth[at], ip)) {
			at++;
			continue;
		}
		same = is_fault(&pages, run, ip);
		nr_removed++;
		if (!same)
			fprintf(stderr,
				"%s: instruction %zu of %zu is %#llx, the reference has %#llx\n",
				argv[0], at, nr, at < nr ? (unsigned long long)truth[at] : 0,
				(unsigned long long)ip);
	}
	fclose(log);
	waitpid(pid, &status, 0);
	if (same && (at != nr || nr_removed != removed)) {
		same = false;
		fprintf(stderr, "%s: %zu of %zu instructions, %d removed, not %d\n", argv[0], at,
			nr, nr_removed, removed);
	}
	return same;
}

/*
 * Without reserved addresses the kernel places mappings between those of qemu itself, in
 * an order that varies from run to run, and the dynamic linker of glibc sorts the loaded
 * objects by address (_dl_find_object): run and reference may rightly differ. So both are
 * repeated then; a ground truth that is always wrong equals no reference.
 */
#define PAIRS 6

static bool compare_pair(const struct qemu_reference *qemu_reference, char *const *argv,
			 struct client_run *run, int removed)
{
	char wrapper[96], real[104];
	uint64_t *truth;
	bool wrapped, same;
	size_t nr;
	int err;

	run->truth = truth_path;
	run->envp = env_of_run;
	wrapped = wrap_engine(qemu_reference, wrapper, real);
	err = client_run(run, argv);
	if (wrapped) {
		unsetenv(qemu_reference->variable);
		unlink(wrapper);
		unlink(real);
	}
	assert_int_equal(err, 0);
	assert_string_equal(run->why, "");
	truth = client_truth(truth_path, run->pid, &nr);
	assert_non_null(truth);
	assert_true(nr > 100);
	same = compare_once(qemu_reference, argv, run, truth, nr, removed);
	free(truth);
	forget_truth(run);
	return same;
}

void reference_compare(const struct qemu_reference *qemu_reference, char *const *argv,
		       struct client_run *run, int removed)
{
	const struct client_run fresh = *run;
	int left = qemu_reference->reserve ? 1 : PAIRS;
	bool same = false;

	while (left-- && !same) {
		*run = fresh;
		same = compare_pair(qemu_reference, argv, run, removed);
	}
	assert_true(same);
}
