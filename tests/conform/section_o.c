// SPDX-License-Identifier: BSD-2-Clause
/*
 * See conform.h. Section O of the rules, B14 and B17: the host model cannot keep them, because the
 * MMU and the kernel's VMAs enforce them. Checked on the running kernel only.
 */
#include "conform.h"
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define DATA_SIZE (3 * PAGE)
#define AUX_SIZE  (4 * PAGE)

static int nr_checks, nr_bad;
static sigjmp_buf bus;

static void check(bool holds, const char *rule, const char *what)
{
	nr_checks++;
	if (holds)
		return;
	nr_bad++;
	printf("section O: %s does not hold: %s (%s)\n", rule, what, strerror(errno));
}

static void on_bus(int sig)
{
	(void)sig;
	siglongjmp(bus, 1);
}

static bool write_faults(volatile unsigned char *at)
{
	if (sigsetjmp(bus, 1))
		return true;
	*at = 1;
	return false;
}

static bool einval(int ret)
{
	return ret == -1 && errno == EINVAL;
}

/* Whether a child has the page. */
static bool child_has(void *at)
{
	pid_t child = fork();
	unsigned char there;
	int status;

	if (!child)
		_exit(mincore(at, PAGE, &there) ? errno != ENOMEM : 1);
	if (child < 0 || waitpid(child, &status, 0) != child)
		abort();
	return !WIFEXITED(status) || WEXITSTATUS(status);
}

/* The flag of two letters in smaps. */
static bool has_flag(const void *at, const char *flag)
{
	FILE *f = fopen("/proc/self/smaps", "r");
	bool here = false, found = false;
	unsigned long from, to;
	char line[256];

	while (f && fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%lx-%lx ", &from, &to) == 2)
			here = from == (unsigned long)at;
		else if (here && !strncmp(line, "VmFlags:", 8))
			found = strstr(line, flag) != NULL;
	}
	if (f)
		fclose(f);
	return found;
}

static void check_area(unsigned char *base, uint64_t size, const char *name)
{
	char what[80];
#define WHAT(text) (snprintf(what, sizeof(what), "%s: %s", name, text), what)

	check(einval(munmap(base, PAGE)), "B14", WHAT("its first page is unmapped alone"));
	check(einval(munmap(base + size - PAGE, PAGE)), "B14",
	      WHAT("its last page is unmapped alone"));
	check(einval(mprotect(base + PAGE, PAGE, PROT_READ)), "B14",
	      WHAT("a page is protected alone"));
	check(mremap(base, size, size + PAGE, MREMAP_MAYMOVE) == MAP_FAILED, "B14",
	      WHAT("it can grow"));
	check(has_flag(base, " dc"), "B14", WHAT("not DONTCOPY"));
	check(has_flag(base, " de"), "B14", WHAT("not DONTEXPAND"));
	check(has_flag(base, " dd"), "B14", WHAT("not DONTDUMP"));
	check(!child_has(base), "B14", WHAT("a child inherits it"));
#undef WHAT
}

int section_o(void)
{
	struct perf_event_attr attr = {.size = sizeof(attr), .disabled = 1};
	struct sigaction action = {.sa_handler = on_bus}, was;
	unsigned char *data, *aux;
	struct perf_event_mmap_page *page;
	void *addr[2];

	kernel_side.begin(0, false);
	if (kernel_side.open(0, &attr, CONFORM_PLAIN, false, 0, -1) ||
	    kernel_side.map(0, 0, DATA_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, 0, &addr[0])) {
		printf("section O: no event, or no ring: %s\n", strerror(errno));
		return 1;
	}
	page = addr[0];
	page->aux_offset = DATA_SIZE;
	page->aux_size = AUX_SIZE;
	if (kernel_side.map(1, 0, AUX_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, DATA_SIZE,
			    &addr[1])) {
		printf("section O: no AUX area: %s\n", strerror(errno));
		return 1;
	}
	data = addr[0];
	aux = addr[1];
	check_area(data, DATA_SIZE, "data area");
	check_area(aux, AUX_SIZE, "AUX area");
	check(child_has(on_bus), "B14", "self-check: a child has our code");

	sigaction(SIGBUS, &action, &was);
	check(!write_faults(data + offsetof(struct perf_event_mmap_page, data_tail)), "B17",
	      "the control page cannot be written");
	for (uint64_t at = PAGE; at < DATA_SIZE; at += PAGE)
		check(write_faults(data + at), "B17", "a data page can be written");
	for (uint64_t at = 0; at < AUX_SIZE; at += PAGE)
		check(write_faults(aux + at), "B17", "an AUX page can be written");
	/* also after it was read, when it is mapped */
	check(data[PAGE] == 0 && write_faults(data + PAGE), "B17",
	      "a data page that was read can be written");
	check(aux[0] == 0 && write_faults(aux), "B17", "an AUX page that was read can be written");
	sigaction(SIGBUS, &was, NULL);
	kernel_side.end();
	printf("section O: %d checks of B14 and B17, %d do not hold\n", nr_checks, nr_bad);
	return nr_bad != 0;
}
