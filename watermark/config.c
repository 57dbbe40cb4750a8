// SPDX-License-Identifier: BSD-2-Clause
/* A configuration's defaults, and the check of its values. */
#include "util/sized.h"
#include "sim.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define FIRST_SIZE SIZED_UP_TO(struct auxtap_watermark_config, contents)
#define WHAT	   "struct auxtap_watermark_config"

static void set_u64(uint64_t *value, uint64_t otherwise)
{
	if (!*value)
		*value = otherwise;
}

static void set_u32(uint32_t *value, uint32_t otherwise)
{
	if (!*value)
		*value = otherwise;
}

/* Replaces zeros by the defaults. Then data_pages is 0 only if there is no data ring. */
static void set_defaults(struct auxtap_watermark_config *c)
{
	const struct sim_driver *d;

	if (!c->driver)
		c->driver = "intel_pt";
	if (!c->kernel)
		c->kernel = core_kernels[0]->name;
	set_u64(&c->page_size, 4096);
	set_u64(&c->nr_pages, 16);
	set_u64(&c->data_pages, 16);
	if (c->no_data_ring)
		c->data_pages = 0;
	set_u64(&c->rate, 100000000);
	if (!c->max_transactions && !c->max_ns)
		set_u64(&c->max_bytes, 16 << 20);
	d = sim_driver_find(c->driver);
	if (!d)
		return;
	set_u32(&c->setup.align, d->setup.align);
	set_u32(&c->setup.record_bytes, d->setup.record_bytes);
	set_u32(&c->setup.max_record, d->setup.max_record);
}

void config_typical(struct auxtap_watermark_config *c, const char *driver)
{
	*c = (struct auxtap_watermark_config){
		.size = sizeof(*c),
		.driver = driver,
		.cpu = 1,
		.irq_latency_ns = 2000,
		.irq_jitter_ns = 500,
		.reader_latency_ns = 50000,
		.reader_jitter_ns = 10000,
		.reader_rate = 2000000000,
		.seed = 1,
	};
	set_defaults(c);
}

int config_copy_out(struct auxtap_watermark_config *given,
		    const struct auxtap_watermark_config *copy)
{
	int ret = sized_check(given, sizeof(*copy), FIRST_SIZE, WHAT, NULL);

	if (!ret)
		sized_copy_out(given, copy, sizeof(*copy));
	return ret;
}

int auxtap_watermark_typical(struct auxtap_watermark_config *config, const char *driver)
{
	struct auxtap_watermark_config copy;

	config_typical(&copy, driver);
	return config_copy_out(config, &copy);
}

const char *auxtap_watermark_kernel(unsigned int n)
{
	for (const struct core_kernel *const *k = core_kernels; *k; k++)
		if (!n--)
			return (*k)->name;
	return NULL;
}

static bool power_of_2(u64 x)
{
	return x && !(x & (x - 1));
}

static int bad(struct auxtap_error *err, const char *what, const char *why, const char *hint)
{
	auxtap_error_set(err, -EINVAL, what, "%s", why);
	auxtap_error_hint(err, "%s", hint);
	return -EINVAL;
}

static int check_kernel(const struct auxtap_watermark_config *c, struct auxtap_error *err)
{
	char names[128] = "";

	if (core_kernel_find(c->kernel))
		return 0;
	for (const struct core_kernel *const *k = core_kernels; *k; k++)
		snprintf(names + strlen(names), sizeof(names) - strlen(names), "%s%s",
			 *names ? ", " : "", (*k)->name);
	return bad(err, c->kernel, "unknown kernel", names);
}

static int check_area(const struct auxtap_watermark_config *c, const struct sim_driver *d,
		      struct auxtap_error *err)
{
	if (!power_of_2(c->page_size) || c->page_size < 4096 || c->page_size > d->max_page)
		return bad(err, "page size", "not supported",
			   "use 4096 (Arm drivers: also 16384, 65536)");
	if (!power_of_2(c->nr_pages) || c->nr_pages > 1 << 20)
		return bad(err, "pages of the AUX area", "the kernel takes powers of two only (B8)",
			   "1, 2, 4, … 1048576");
	if (c->data_pages && !power_of_2(c->data_pages))
		return bad(err, "pages of the data ring",
			   "the kernel takes powers of two only (B4)", "0, 1, 2, 4, …");
	if (c->max_alloc_pages && !power_of_2(c->max_alloc_pages))
		return bad(err, "largest allocation", "the kernel allocates powers of two (C5)",
			   "1, 2, 4, … pages, or 0 for any");
	if (c->watermark > UINT32_MAX)
		return bad(err, "watermark", "attr.aux_watermark has 32 bits",
			   "0 (the kernel's choice: half of the area) to 4294967295 bytes");
	if (c->contents && c->nr_pages * c->page_size > 64 << 20)
		return bad(err, "contents", "every byte is kept twice",
			   "at most 64 MiB of AUX area");
	if (c->cpu < 0 || c->cpu > 7)
		return bad(err, "CPU", "number out of range", "use 0 to 7");
	return 0;
}

static int check_unit(const struct auxtap_watermark_config *c, const struct sim_driver *d,
		      struct auxtap_error *err)
{
	const struct auxtap_unit_setup *s = &c->setup;

	if (!s->record_bytes || s->record_bytes > 2048)
		return bad(err, "record size", "out of range", "use 1 to 2048 bytes");
	if (!power_of_2(s->align) || s->align > 2048)
		return bad(err, "alignment", "not a supported power of two", "use 1 to 2048 bytes");
	if (d->flags & DRIVER_TRACE_IS_RECORDS &&
	    (!power_of_2(s->max_record) || s->max_record < 16 || s->max_record > 2048 ||
	     s->record_bytes > s->max_record))
		return bad(err, "largest record", "SPE has 16 to 2048 bytes (I1)",
			   "a power of two, not less than the record size");
	if (s->errata && !d->errata)
		return bad(err, "errata", "only the TRBE has errata", "--driver trbe");
	if (s->errata & ~d->errata)
		return bad(err, "errata", "no such erratum", "overwrite, beyond");
	if (s->irq_delay_bytes > 1 << 20)
		return bad(err, "skid", "out of range", "use at most 1 MiB");
	return 0;
}

static int check_time(const struct auxtap_watermark_config *c, struct auxtap_error *err)
{
	if (c->rates) {
		if (!c->nr_rates)
			return bad(err, "rates", "empty list", "give at least one");
		for (size_t i = 1; i < c->nr_rates; i++)
			if (c->rates[i].time_ns <= c->rates[i - 1].time_ns)
				return bad(err, "rates", "times do not increase",
					   "sort them by time");
	} else if (!c->rate || c->rate > 1000000000000) {
		return bad(err, "rate", "out of range", "use 1 byte to 1 TB a second");
	}
	return 0;
}

/* Checks a trace unit that is not built in. */
static int check_model(const struct auxtap_watermark_config *c, struct auxtap_error *err)
{
	const struct auxtap_trace_unit *u = c->unit;
	struct auxtap_trace_unit copy;
	int ret =
		sized_copy_in(&copy, sizeof(copy), SIZED_UP_TO(struct auxtap_trace_unit, irq_level),
			      u, "trace unit", err);

	if (ret)
		return ret;
	if (!u->name || !u->driver || !u->create || !u->destroy || !u->reg_read || !u->reg_write ||
	    !u->produce)
		return bad(err, u->name ? u->name : "trace unit", "incomplete trace unit",
			   "only irq_level may be NULL");
	if (strcmp(u->driver, c->driver) != 0) {
		auxtap_error_set(err, -EINVAL, u->name, "it has the registers of '%s', not of '%s'",
				 u->driver, c->driver);
		auxtap_error_hint(err,
				  "the unit's driver must be the run's: intel_pt, arm_spe, trbe");
		return -EINVAL;
	}
	return 0;
}

static int check(const struct auxtap_watermark_config *c, struct auxtap_error *err)
{
	const struct sim_driver *d = sim_driver_find(c->driver);
	int ret;

	if (!d)
		return bad(err, c->driver, "no such driver", "intel_pt, arm_spe, trbe");
	ret = c->unit ? check_model(c, err) : 0;
	if (!ret)
		ret = check_kernel(c, err);
	if (!ret)
		ret = check_area(c, d, err);
	if (!ret)
		ret = check_unit(c, d, err);
	return ret ? ret : check_time(c, err);
}

int config_copy_in(struct auxtap_watermark_config *copy,
		   const struct auxtap_watermark_config *given, struct auxtap_error *err)
{
	int ret = sized_copy_in(copy, sizeof(*copy), FIRST_SIZE, given, WHAT, err);

	if (!ret)
		set_defaults(copy);
	return ret;
}

int config_copy_in_valid(struct auxtap_watermark_config *copy,
			 const struct auxtap_watermark_config *given, struct auxtap_error *err)
{
	int ret = config_copy_in(copy, given, err);

	return ret ? ret : check(copy, err);
}
