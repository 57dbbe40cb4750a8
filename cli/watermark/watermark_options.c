// SPDX-License-Identifier: BSD-2-Clause
/* See watermark_options.h. */
#include "cli/cli.h"
#include "watermark_driver.h"
#include "watermark_options.h"
#include "util/number.h"
#include "util/vector.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const struct option_row wm_option_rows[] = {
	{WM_OPT_DRIVER, "driver", "intel_pt|arm_spe|trbe"},
	{WM_OPT_KERNEL, "kernel", "6.1.192|6.12.95|6.18.44"},
	{WM_OPT_UNIT, "unit", "FILE"},
	{WM_OPT_FAULT, "fault", "NAME"},
	{WM_OPT_PAGES, "pages", "N"},
	{WM_OPT_PAGE_SIZE, "page-size", "4K|16K|64K"},
	{WM_OPT_WATERMARK, "watermark", "SIZE"},
	{WM_OPT_DATA_PAGES, "data-pages", "N"},
	{WM_OPT_SNAPSHOT, "snapshot", NULL},
	{WM_OPT_CPU, "cpu", "N"},
	{WM_OPT_ORDER, "order", "N"},
	{WM_OPT_SKID, "skid", "SIZE"},
	{WM_OPT_ALIGN, "align", "SIZE"},
	{WM_OPT_RECORD, "record", "SIZE"},
	{WM_OPT_MAX_RECORD, "max-record", "SIZE"},
	{WM_OPT_ERRATA, "errata", "overwrite|beyond"},
	{WM_OPT_RATE, "rate", "SIZE"},
	{WM_OPT_RATES, "rates", "FILE"},
	{WM_OPT_BURST, "burst", "ON,OFF"},
	{WM_OPT_IRQ_LATENCY, "irq-latency", "TIME"},
	{WM_OPT_IRQ_JITTER, "irq-jitter", "TIME"},
	{WM_OPT_READER_LATENCY, "reader-latency", "TIME"},
	{WM_OPT_READER_JITTER, "reader-jitter", "TIME"},
	{WM_OPT_READER_RATE, "reader-rate", "SIZE"},
	{WM_OPT_READ_SIZE, "read-size", "SIZE"},
	{WM_OPT_SWITCH, "switch", "TIME"},
	{WM_OPT_SEED, "seed", "N"},
	{WM_OPT_BYTES, "bytes", "SIZE"},
	{WM_OPT_TRANSACTIONS, "transactions", "N"},
	{WM_OPT_TIME, "time", "TIME"},
	{WM_OPT_CONTENTS, "contents", NULL},
	{0},
};

static bool parse_number(const char *text, double *value, const char **unit)
{
	char *end;

	if ((*text < '0' || *text > '9') && *text != '.')
		return false;
	*value = strtod(text, &end);
	*unit = end;
	return end != text && *value >= 0 && *value < 1.8e19;
}

bool wm_parse_size(const char *text, uint64_t *value)
{
	static const char units[] = "KMGT";
	uint64_t scale = 1;
	const char *unit, *at;
	double number;

	/* whole numbers are exact; 0x is allowed, too */
	if (number_parse(text, UINT64_MAX, value))
		return true;
	if (!parse_number(text, &number, &unit))
		return false;
	if (*unit && (at = strchr(units, *unit & ~0x20))) {
		scale = 1ull << 10 * (at - units + 1);
		unit++;
	}
	if (*unit == 'i')
		unit++;
	if (*unit == 'B')
		unit++;
	*value = (uint64_t)(number * (double)scale);
	return !*unit;
}

bool wm_parse_time(const char *text, uint64_t *value_ns)
{
	static const struct {
		const char *name;
		double ns;
	} units[] = {{"", 1}, {"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}};
	const char *unit;
	double number;

	if (!parse_number(text, &number, &unit))
		return false;
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
		if (!strcmp(units[i].name, unit)) {
			*value_ns = (uint64_t)(number * units[i].ns);
			return true;
		}
	return false;
}

static bool open_unit(struct wm_options *o, const char *path)
{
	void *before = o->unit_handle;
	char name[4096];

	/* a name without a slash is a file in this directory, not a system library */
	snprintf(name, sizeof(name), "%s%s", strchr(path, '/') ? "" : "./", path);
	o->unit_handle = dlopen(name, RTLD_NOW | RTLD_LOCAL);
	o->c.unit = o->unit_handle ? dlsym(o->unit_handle, "auxtap_trace_unit") : NULL;
	if (before)
		dlclose(before);
	return o->c.unit;
}

void wm_typical(struct auxtap_watermark_config *c, const char *driver)
{
	c->size = sizeof(*c);
	auxtap_watermark_typical(c, driver); /* fails only if size is not set */
}

uint64_t wm_data_pages(const struct auxtap_watermark_config *c)
{
	return c->no_data_ring ? 0 : c->data_pages;
}

int wm_max_order(const struct auxtap_watermark_config *c)
{
	return c->max_alloc_pages ? __builtin_ctzll(c->max_alloc_pages) : -1;
}

/*
 * Parses the options exactly as the command will, so that abbreviations, values that look like
 * options and "--" have the same meaning.
 */
void wm_options_find_first(struct wm_first_options *first, int argc, char **argv,
			   const struct option_row *const *tables)
{
	struct options o;
	int opt;

	memset(first, 0, sizeof(*first));
	options_start(&o, argc, argv, tables, false);
	while ((opt = options_next(&o))) {
		if (opt == WM_OPT_DRIVER)
			first->driver = o.value;
		else if (opt == WM_OPT_UNIT)
			first->unit = o.value;
		else if (opt == WM_OPT_FAULT)
			first->fault = o.value;
	}
}

void wm_options_init(struct wm_options *o, const struct wm_first_options *first)
{
	const struct auxtap_trace_unit *model = NULL;
	const char *driver = first->driver;

	memset(o, 0, sizeof(*o));
	/* The unit names its driver; parsing --unit reports errors in the unit. */
	if (!driver && first->unit && open_unit(o, first->unit) && o->c.unit->driver)
		model = auxtap_trace_unit_find(o->c.unit->driver);
	if (model)
		driver = model->driver;
	wm_typical(&o->c, driver ? driver : "intel_pt");
	/* a fault sets the configuration that shows it; options override that */
	o->fault = first->fault;
	if (o->fault)
		auxtap_watermark_fault_config(&o->c, o->fault, NULL);
}

/* Requested values: watermarks or pages. */
struct list {
	uint64_t **values;
	size_t *nr, *max;
	bool doubling; /* a range without a step doubles the value */
	uint64_t step;
};

static bool add_value(struct list *l, uint64_t value)
{
	if (*l->nr == WM_MAX_WATERMARKS || vector_grow(*l->values, *l->nr, *l->max))
		return false;
	(*l->values)[(*l->nr)++] = value;
	return true;
}

/* Parses A..B:STEP. */
static bool parse_range(struct list *l, char *item, char *dots)
{
	uint64_t from, to, step = l->step;
	char *colon;

	*dots = '\0';
	colon = strchr(dots + 2, ':');
	if (colon)
		*colon++ = '\0';
	if (!wm_parse_size(item, &from) || !wm_parse_size(dots + 2, &to) ||
	    (colon && !wm_parse_size(colon, &step)) || !step || to < from ||
	    (l->doubling && (colon || !from)))
		return false;
	for (uint64_t at = from; at <= to; at += l->doubling ? at : step)
		if (!add_value(l, at) || at > UINT64_MAX / 2)
			return false;
	return true;
}

static bool parse_list(struct list *l, const char *arg)
{
	char *copy = strdup(arg), *save = NULL, *dots;
	uint64_t value;
	bool ok = copy && *copy;

	for (char *item = copy ? strtok_r(copy, ",", &save) : NULL; item && ok;
	     item = strtok_r(NULL, ",", &save)) {
		dots = strstr(item, "..");
		if (dots)
			ok = parse_range(l, item, dots);
		else
			ok = wm_parse_size(item, &value) && add_value(l, value);
	}
	free(copy);
	return ok;
}

static bool parse_watermarks(struct wm_options *o, const char *arg)
{
	struct list l = {&o->watermarks, &o->nr_watermarks, &o->max_watermarks, false,
			 o->c.page_size};

	return parse_list(&l, arg);
}

/*
 * In a configuration zero means the default. So an option with the value 0 is rejected here; other
 * invalid values are rejected by the library.
 */
static bool check_not_zero(uint64_t value, const char *what, const char *why, const char *hint,
			   bool *reported)
{
	if (value)
		return true;
	cli_errorf(what, hint, "%s", why);
	*reported = true;
	return false;
}

static bool parse_pages(struct wm_options *o, const char *arg, bool *reported)
{
	struct list l = {&o->pages, &o->nr_pages, &o->max_pages, true, 1};

	o->nr_pages = 0;
	if (!parse_list(&l, arg))
		return false;
	for (size_t i = 0; i < o->nr_pages; i++)
		if (!check_not_zero(o->pages[i], "pages of the AUX area",
				    "the kernel takes powers of two only (B8)",
				    "1, 2, 4, … 1048576", reported))
			return false;
	o->c.nr_pages = o->pages[0];
	return true;
}

static bool parse_errata(struct wm_options *o, const char *arg)
{
	char copy[64], *save = NULL;

	snprintf(copy, sizeof(copy), "%s", arg);
	for (char *name = strtok_r(copy, ",", &save); name; name = strtok_r(NULL, ",", &save)) {
		if (!strcmp(name, "overwrite"))
			o->c.setup.errata |= AUXTAP_ERRATUM_OVERWRITE;
		else if (!strcmp(name, "beyond"))
			o->c.setup.errata |= AUXTAP_ERRATUM_BEYOND;
		else
			return false;
	}
	return true;
}

static bool parse_burst(struct wm_options *o, const char *arg)
{
	const char *comma = strchr(arg, ',');
	char on[32];

	if (!comma || comma - arg >= (long)sizeof(on))
		return false;
	snprintf(on, sizeof(on), "%.*s", (int)(comma - arg), arg);
	return wm_parse_time(on, &o->c.burst_ns) && wm_parse_time(comma + 1, &o->c.pause_ns) &&
	       o->c.burst_ns && o->c.pause_ns;
}

/* False: printed an error. */
static bool read_rates(struct wm_options *o, const char *path)
{
	char line[256], time[64], rate[64];
	unsigned int nr_lines = 0;
	FILE *f = fopen(path, "re");

	if (!f) {
		cli_errorf(path, NULL, "%s", strerror(errno));
		return false;
	}
	while (fgets(line, sizeof(line), f)) {
		struct auxtap_watermark_rate r;

		nr_lines++;
		if (line[strspn(line, " \t\n")] == '#' || !line[strspn(line, " \t\n")])
			continue;
		if (sscanf(line, "%63s %63s", time, rate) != 2 ||
		    !wm_parse_time(time, &r.time_ns) || !wm_parse_size(rate, &r.rate)) {
			cli_errorf(path,
				   "write lines of 'until-time bytes-per-second', as '20us 100M'",
				   "line %u is not a time and a rate", nr_lines);
			fclose(f);
			return false;
		}
		if (vector_grow(o->rates, o->c.nr_rates, o->max_rates))
			break;
		o->rates[o->c.nr_rates++] = r;
	}
	fclose(f);
	o->c.rates = o->rates;
	if (!o->c.nr_rates)
		cli_errorf(path, "write lines of 'until-time bytes-per-second'",
			   "contains no rates");
	return o->c.nr_rates > 0;
}

/* False: printed an error. */
static bool load_unit(struct wm_options *o, const char *path)
{
	if (open_unit(o, path))
		return true;
	if (!o->unit_handle)
		cli_errorf(path, "see docs/watermark.md on how to build a unit", "%s", dlerror());
	else
		cli_errorf(path, "define 'const struct auxtap_trace_unit auxtap_trace_unit'",
			   "contains no trace unit");
	return false;
}

static bool parse_int(const char *arg, int *value)
{
	uint64_t number;

	if (!wm_parse_size(arg, &number) || number > 1 << 20)
		return false;
	*value = (int)number;
	return true;
}

static bool parse_u32(const char *arg, uint32_t *value)
{
	uint64_t number;

	if (!wm_parse_size(arg, &number) || number > UINT32_MAX)
		return false;
	*value = (uint32_t)number;
	return true;
}

static bool parse_data_pages(struct auxtap_watermark_config *c, const char *arg)
{
	if (!wm_parse_size(arg, &c->data_pages))
		return false;
	c->no_data_ring = !c->data_pages;
	return true;
}

static bool parse_order(struct auxtap_watermark_config *c, const char *arg)
{
	int order;

	if (!parse_int(arg, &order))
		return false;
	c->max_alloc_pages = 1ull << (order < 63 ? order : 63);
	return true;
}

static bool parse_option(struct wm_options *o, int opt, const char *arg, bool *reported)
{
	struct auxtap_watermark_config *c = &o->c;

	switch (opt) {
	case WM_OPT_DRIVER:
	case WM_OPT_FAULT: /* wm_options_init() */
		return true;
	case WM_OPT_KERNEL:
		c->kernel = arg;
		return true;
	case WM_OPT_UNIT:
		*reported = true;
		return load_unit(o, arg);
	case WM_OPT_PAGES:
		return parse_pages(o, arg, reported);
	case WM_OPT_PAGE_SIZE:
		return wm_parse_size(arg, &c->page_size) &&
		       check_not_zero(c->page_size, "page size", "not supported",
				      "use 4096 (Arm drivers: also 16384, 65536)", reported);
	case WM_OPT_WATERMARK:
		return parse_watermarks(o, arg);
	case WM_OPT_DATA_PAGES:
		return parse_data_pages(c, arg);
	case WM_OPT_SNAPSHOT:
		c->snapshot = 1;
		return true;
	case WM_OPT_CPU:
		return parse_int(arg, &c->cpu);
	case WM_OPT_ORDER:
		return parse_order(c, arg);
	case WM_OPT_SKID:
		return wm_parse_size(arg, &c->setup.irq_delay_bytes);
	case WM_OPT_ALIGN:
		o->align_given = true;
		return parse_u32(arg, &c->setup.align) &&
		       check_not_zero(c->setup.align, "alignment", "not a supported power of two",
				      "use 1 to 2048 bytes", reported);
	case WM_OPT_RECORD:
		return parse_u32(arg, &c->setup.record_bytes) &&
		       check_not_zero(c->setup.record_bytes, "record size", "out of range",
				      "use 1 to 2048 bytes", reported);
	case WM_OPT_MAX_RECORD:
		o->max_record_given = true;
		return parse_u32(arg, &c->setup.max_record) &&
		       check_not_zero(c->setup.max_record, "largest record",
				      "SPE has 16 to 2048 bytes (I1)",
				      "a power of two, not less than the record size", reported);
	case WM_OPT_ERRATA:
		return parse_errata(o, arg);
	case WM_OPT_RATE:
		return wm_parse_size(arg, &c->rate) &&
		       check_not_zero(c->rate, "rate", "out of range",
				      "use 1 byte to 1 TB a second", reported);
	case WM_OPT_RATES:
		*reported = true;
		return read_rates(o, arg);
	case WM_OPT_BURST:
		return parse_burst(o, arg);
	case WM_OPT_IRQ_LATENCY:
		return wm_parse_time(arg, &c->irq_latency_ns);
	case WM_OPT_IRQ_JITTER:
		return wm_parse_time(arg, &c->irq_jitter_ns);
	case WM_OPT_READER_LATENCY:
		return wm_parse_time(arg, &c->reader_latency_ns);
	case WM_OPT_READER_JITTER:
		return wm_parse_time(arg, &c->reader_jitter_ns);
	case WM_OPT_READER_RATE:
		return wm_parse_size(arg, &c->reader_rate);
	case WM_OPT_READ_SIZE:
		return wm_parse_size(arg, &c->read_bytes);
	case WM_OPT_SWITCH:
		return wm_parse_time(arg, &c->switch_ns);
	case WM_OPT_SEED:
		return wm_parse_size(arg, &c->seed);
	case WM_OPT_BYTES:
		o->bytes_given = true;
		return wm_parse_size(arg, &c->max_bytes);
	case WM_OPT_TRANSACTIONS:
		if (!o->bytes_given)
			c->max_bytes = 0;
		return wm_parse_size(arg, &c->max_transactions);
	case WM_OPT_TIME:
		if (!o->bytes_given)
			c->max_bytes = 0;
		return wm_parse_time(arg, &c->max_ns);
	case WM_OPT_CONTENTS:
		c->contents = 1;
		return true;
	default:
		return false;
	}
}

bool wm_options_parse(struct wm_options *o, const struct options *from, int id, bool *bad)
{
	bool reported = false;
	char what[96];

	*bad = false;
	if (id < WM_OPT_FIRST || id >= WM_OPT_END)
		return false;
	if (parse_option(o, id, from->value, &reported))
		return true;
	*bad = true;
	if (!reported) {
		snprintf(what, sizeof(what), "%s %s", from->what, from->value ? from->value : "");
		cli_errorf(what,
			   "write sizes as 4096, 64K, 1.5M, times as 200, 20us, 3ms; see 'auxtap "
			   "watermark sim --help'",
			   "invalid value");
	}
	return true;
}

bool wm_options_finish(struct wm_options *o)
{
	struct auxtap_error err = AUXTAP_ERROR_INIT;
	struct auxtap_watermark_config c = o->c;

	if (o->fault && auxtap_watermark_fault_config(&c, o->fault, &err)) {
		cli_error(&err);
		return false;
	}
	/* reject options that the unit would ignore */
	if (o->max_record_given && !wm_driver(c.driver)->has_max_record) {
		cli_errorf("--max-record", "remove it, or use --driver arm_spe",
			   "only arm_spe has a maximum record size");
		return false;
	}
	if (o->align_given && !wm_driver(c.driver)->has_align) {
		cli_errorf("--align", "remove it, or use --driver arm_spe or trbe",
			   "intel_pt can start at any byte");
		return false;
	}
	if (!o->nr_watermarks) {
		struct list l = {&o->watermarks, &o->nr_watermarks, &o->max_watermarks, false, 0};

		if (!add_value(&l, o->c.watermark))
			return false;
	}
	if (!o->nr_pages) {
		struct list l = {&o->pages, &o->nr_pages, &o->max_pages, false, 0};

		return add_value(&l, o->c.nr_pages);
	}
	return true;
}

void wm_options_free(struct wm_options *o)
{
	free(o->watermarks);
	free(o->pages);
	free(o->rates);
	if (o->unit_handle)
		dlclose(o->unit_handle);
}

/* ---- from a configuration to its options ---- */

static void append_option(char *buf, size_t size, const char *name, uint64_t value, uint64_t plain)
{
	size_t len = strlen(buf);

	if (value != plain)
		snprintf(buf + len, size - len, " --%s %llu", name, (unsigned long long)value);
}

void wm_print_command(const struct auxtap_watermark_config *c, char *buf, size_t size)
{
	struct auxtap_watermark_config d;
	Dl_info info;
	size_t len;

	wm_typical(&d, c->driver);
	snprintf(buf, size, "auxtap watermark sim --driver %s", c->driver);
	len = strlen(buf);
	if (c->unit && dladdr(c->unit, &info)) {
		snprintf(buf + len, size - len, " --unit %s", info.dli_fname);
		len = strlen(buf);
	}
	if (c->fault) {
		auxtap_watermark_fault_config(&d, c->fault, NULL);
		snprintf(buf + len, size - len, " --fault %s", c->fault);
		len = strlen(buf);
	}
	if (strcmp(c->kernel, d.kernel) != 0)
		snprintf(buf + len, size - len, " --kernel %s", c->kernel);
	append_option(buf, size, "pages", c->nr_pages, d.nr_pages);
	append_option(buf, size, "page-size", c->page_size, d.page_size);
	append_option(buf, size, "watermark", c->watermark, d.watermark);
	append_option(buf, size, "data-pages", wm_data_pages(c), wm_data_pages(&d));
	if (c->snapshot && !d.snapshot)
		snprintf(buf + strlen(buf), size - strlen(buf), " --snapshot");
	append_option(buf, size, "cpu", (uint64_t)c->cpu, (uint64_t)d.cpu);
	if (c->max_alloc_pages)
		append_option(buf, size, "order", (uint64_t)wm_max_order(c), UINT64_MAX);
	append_option(buf, size, "skid", c->setup.irq_delay_bytes, d.setup.irq_delay_bytes);
	append_option(buf, size, "align", c->setup.align, d.setup.align);
	append_option(buf, size, "record", c->setup.record_bytes, d.setup.record_bytes);
	append_option(buf, size, "max-record", c->setup.max_record, d.setup.max_record);
	if (c->setup.errata)
		snprintf(buf + strlen(buf), size - strlen(buf), " --errata %s%s%s",
			 c->setup.errata & AUXTAP_ERRATUM_OVERWRITE ? "overwrite" : "",
			 c->setup.errata == 3 ? "," : "",
			 c->setup.errata & AUXTAP_ERRATUM_BEYOND ? "beyond" : "");
	append_option(buf, size, "rate", c->rate, d.rate);
	if (c->burst_ns)
		snprintf(buf + strlen(buf), size - strlen(buf), " --burst %llu,%llu",
			 (unsigned long long)c->burst_ns, (unsigned long long)c->pause_ns);
	append_option(buf, size, "irq-latency", c->irq_latency_ns, d.irq_latency_ns);
	append_option(buf, size, "irq-jitter", c->irq_jitter_ns, d.irq_jitter_ns);
	append_option(buf, size, "reader-latency", c->reader_latency_ns, d.reader_latency_ns);
	append_option(buf, size, "reader-jitter", c->reader_jitter_ns, d.reader_jitter_ns);
	append_option(buf, size, "reader-rate", c->reader_rate, d.reader_rate);
	append_option(buf, size, "read-size", c->read_bytes, d.read_bytes);
	append_option(buf, size, "switch", c->switch_ns, d.switch_ns);
	if (c->max_bytes) /* if one of the others is given, even the default must be printed */
		append_option(buf, size, "bytes", c->max_bytes,
			      c->max_transactions || c->max_ns ? 0 : d.max_bytes);
	if (c->max_transactions)
		append_option(buf, size, "transactions", c->max_transactions, d.max_transactions);
	if (c->max_ns)
		append_option(buf, size, "time", c->max_ns, d.max_ns);
	if (c->contents && !d.contents)
		snprintf(buf + strlen(buf), size - strlen(buf), " --contents");
	append_option(buf, size, "seed", c->seed, 0);
}
