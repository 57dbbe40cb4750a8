// SPDX-License-Identifier: BSD-2-Clause
/*
 * The options of a comparison with this machine's PMU: their size, and the defaults of those that
 * are left out. The kernel is a fake whose trace unit generates nothing.
 */
#include "support_run.h"
#include <auxtap/capture.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

static void test_sizes(void **state)
{
	static const size_t wrong[] = {0, 1, sizeof(size_t), SIZE_MAX};
	struct {
		struct auxtap_live_opts opts;
		uint64_t newer;
	} longer = {.opts = {.size = sizeof(longer)}, .newer = 1};
	const struct auxtap_watermark_config c = {.size = sizeof(c)};
	struct auxtap_backend be = {.size = sizeof(be)};
	struct auxtap_live_result r = {.size = sizeof(r)};
	struct auxtap_error err = AUXTAP_ERROR_INIT;

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		struct auxtap_live_opts opts = {.size = wrong[i]};

		assert_int_equal(auxtap_watermark_live(&c, &be, &opts, &r, &err), -EINVAL);
		assert_string_equal(err.what, "struct auxtap_live_opts");
	}
	assert_int_equal(auxtap_watermark_live(&c, &be, &longer.opts, &r, &err), -E2BIG);
	assert_string_equal(err.what, "struct auxtap_live_opts");
	longer.newer = 0;
	assert_int_equal(auxtap_watermark_live(&c, &be, &longer.opts, &r, &err), -EINVAL);
	assert_string_equal(err.what, "struct auxtap_backend");
}

/* ---- a kernel that accepts every event ---- */

struct fake {
	unsigned int nr_mapped, nr_opened, nr_enabled, nr_disabled, nr_waits;
	uint64_t data_bytes, aux_bytes;
	uint32_t type;
};

static int fake_open(void *ctx, const struct perf_event_attr *attr, pid_t pid, int cpu,
		     int group_fd, unsigned long flags)
{
	struct fake *f = ctx;

	(void)cpu;
	(void)flags;
	assert_true(pid == -1 && group_fd == -1);
	f->type = attr->type;
	f->nr_opened++;
	return dup(STDIN_FILENO);
}

static void *fake_mmap(void *ctx, size_t length, int prot, int flags, int fd, off_t offset,
		       int *error)
{
	struct fake *f = ctx;
	void *at = mmap(NULL, length, prot, flags | MAP_ANONYMOUS, -1, 0);

	(void)fd;
	*error = -ENOMEM;
	*(offset ? &f->aux_bytes : &f->data_bytes) = length;
	f->nr_mapped++;
	return at == MAP_FAILED ? NULL : at;
}

static int fake_munmap(void *ctx, void *addr, size_t length)
{
	((struct fake *)ctx)->nr_mapped--;
	return munmap(addr, length);
}

static int fake_ioctl(void *ctx, int fd, unsigned long request, unsigned long arg)
{
	struct fake *f = ctx;

	(void)fd;
	(void)arg;
	f->nr_enabled += request == PERF_EVENT_IOC_ENABLE;
	f->nr_disabled += request == PERF_EVENT_IOC_DISABLE;
	return 0;
}

static int fake_poll(void *ctx, struct pollfd *fds, nfds_t nr, int timeout_ms)
{
	((struct fake *)ctx)->nr_waits += timeout_ms > 0;
	for (nfds_t i = 0; i < nr; i++)
		fds[i].revents = 0;
	usleep((useconds_t)timeout_ms * 1000);
	return 0;
}

static int fake_close(void *ctx, int fd)
{
	((struct fake *)ctx)->nr_opened--;
	return close(fd);
}

static ssize_t fake_pmu_attr(void *ctx, const char *pmu, const char *attr, char *buf, size_t size)
{
	static const char *const pmus[][2] = {{"intel_pt", "8"},
					      {"arm_spe_0", "9"},
					      {"cs_etm", "10"}};

	(void)ctx;
	for (size_t i = 0; i < sizeof(pmus) / sizeof(pmus[0]); i++)
		if (!strcmp(pmu, pmus[i][0]) && !strcmp(attr, "type"))
			return snprintf(buf, size, "%s", pmus[i][1]);
	return -ENOENT;
}

static const struct auxtap_perf_ops ops = {
	.size = sizeof(ops),
	.name = "fake",
	.open = fake_open,
	.mmap = fake_mmap,
	.munmap = fake_munmap,
	.ioctl = fake_ioctl,
	.poll = fake_poll,
	.close = fake_close,
	.pmu_attr = fake_pmu_attr,
};

/* No event, no end, no file: the driver's PMU, for a second, and nothing is written. */
static void test_defaults(void **state)
{
	static const uint32_t types[] = {8, 9, 10}; /* as run_drivers */

	(void)state;
	if (sysconf(_SC_PAGESIZE) != 4096) {
		print_message("skipped: PT's pages have 4096 bytes, this kernel's have others\n");
		skip();
	}
	for (int i = 0; run_drivers[i]; i++) {
		const struct auxtap_watermark_config c = {.size = sizeof(c),
							  .driver = run_drivers[i]};
		struct fake f = {0};
		struct auxtap_backend be = {.size = sizeof(be), .perf = &ops, .perf_ctx = &f};
		struct auxtap_live_result r = {.size = sizeof(r)};
		struct auxtap_error err = AUXTAP_ERROR_INIT;
		char event[32];

		snprintf(event, sizeof(event), "%s//u",
			 i == 1 ? "arm_spe_0" :
			 i == 2 ? "cs_etm" :
				  "intel_pt");
		assert_int_equal(auxtap_watermark_live(&c, &be, NULL, &r, &err), -ENODATA);
		assert_string_equal(err.what, event);
		assert_string_equal(err.why, "no AUX record in 1000 ms on CPU 0");
		assert_int_equal(f.type, types[i]);
		assert_int_equal(f.data_bytes, 17 * 4096);
		assert_int_equal(f.aux_bytes, 16 * 4096);
		assert_true(f.nr_enabled > 0 && f.nr_disabled > 0 && f.nr_waits > 0);
		assert_true(!f.nr_opened && !f.nr_mapped);
		assert_true(r.agrees && !r.refused && !r.nr_records);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sizes),
		cmocka_unit_test(test_defaults),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
