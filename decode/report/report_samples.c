// SPDX-License-Identifier: BSD-2-Clause
/*
 * The report of a file with samples of Arm SPE: what was sampled, where loaded data came from,
 * in which functions the time went, in cycles of latency.
 */
#include "report.h"
#include "report_out.h"
#include "decode/spe/spe_sources.h"
#include "util/vector.h"

#include <errno.h>
#include <inttypes.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>

#define NR_FUNCTIONS 20
#define MAX_CPUS     4096
/* Buckets of a histogram: 16 of width 1, then 16 for each power of 2 up to 16 bits. */
#define STEPS	   16
#define NR_BUCKETS (STEPS * 13)

struct latency {
	uint64_t nr, total, issue, xlat; /* sums, in cycles */
	unsigned int max;
	uint32_t buckets[NR_BUCKETS];
};

/* Samples of one function, or with data from one source. */
struct group {
	const char *image, *name; /* a function: strings of the image set, compared by pointer */
	uint64_t source;	  /* a data source: its number */
	bool is_source;
	uint64_t nr, nr_l1_access, nr_l1_miss, nr_tlb_access, nr_tlb_walk;
	struct latency latency;
};

struct sampled {
	struct report_out ro;
	struct auxtap_perfdata *pd; /* NULL: a raw trace */
	const char *path;
	struct auxtap_decode_summary sum;
	void *tree;			     /* of groups */
	struct group **functions, **sources; /* of tree */
	size_t nr_functions, nr_sources, max_functions, max_sources;
	uint64_t nr_loads, nr_stores, nr_branches, nr_mispredicted, nr_others;
	uint64_t nr_gaps, nr_lost;
	struct {
		bool known;
		uint64_t midr;
	} cpus[MAX_CPUS];
};

/* ---- latencies ---- */

static unsigned int bucket_of(unsigned int value)
{
	unsigned int shift;

	if (value < STEPS)
		return value;
	shift = 27 - (unsigned int)__builtin_clz(value); /* leaves 5 bits */
	return STEPS * (1 + shift) + ((value >> shift) - STEPS);
}

static unsigned int least_of(unsigned int bucket)
{
	if (bucket < STEPS)
		return bucket;
	return (STEPS + bucket % STEPS) << (bucket / STEPS - 1);
}

static void latency_add(struct latency *l, const struct auxtap_event *ev)
{
	if (!(ev->spe_has & AUXTAP_SPE_HAS_LAT_TOTAL))
		return;
	l->nr++;
	l->total += ev->lat_total;
	l->issue += ev->lat_issue;
	l->xlat += ev->lat_xlat;
	if (ev->lat_total > l->max)
		l->max = ev->lat_total;
	l->buckets[bucket_of(ev->lat_total)]++;
}

/* The value that 'percent' percent of the samples do not exceed, less up to 6 %. */
static unsigned int percentile(const struct latency *l, unsigned int percent)
{
	uint64_t below = 0, want = (l->nr * percent + 99) / 100;

	for (unsigned int i = 0; i < NR_BUCKETS; i++) {
		below += l->buckets[i];
		if (below >= want && below)
			return least_of(i);
	}
	return l->max;
}

static double mean(uint64_t sum, uint64_t nr)
{
	return nr ? (double)sum / (double)nr : 0;
}

static double share(uint64_t part, uint64_t whole)
{
	return whole ? 100.0 * (double)part / (double)whole : 0;
}

/* ---- groups ---- */

static int compare(const void *a, const void *b)
{
	const struct group *x = a, *y = b;

	if (x->is_source != y->is_source)
		return x->is_source ? 1 : -1;
	if (x->source != y->source)
		return x->source < y->source ? -1 : 1;
	if (x->image != y->image)
		return x->image < y->image ? -1 : 1;
	return x->name < y->name ? -1 : x->name > y->name;
}

/* Finds the group of key, or makes one; NULL: no memory. */
static struct group *group_of(struct sampled *s, const struct group *key)
{
	struct group ***list = key->is_source ? &s->sources : &s->functions;
	size_t *nr = key->is_source ? &s->nr_sources : &s->nr_functions;
	size_t *max = key->is_source ? &s->max_sources : &s->max_functions;
	struct group **found = tfind(key, &s->tree, compare), *made;

	if (found)
		return *found;
	made = calloc(1, sizeof(*made));
	if (!made)
		return NULL;
	made->image = key->image;
	made->name = key->name;
	made->source = key->source;
	made->is_source = key->is_source;
	if (vector_grow(*list, *nr, *max))
		goto no_memory;
	if (!tsearch(made, &s->tree, compare))
		goto no_memory;
	(*list)[(*nr)++] = made;
	return made;
no_memory:
	free(made);
	return NULL;
}

static uint64_t midr_of(struct sampled *s, int cpu)
{
	size_t at = cpu >= 0 && cpu < MAX_CPUS - 1 ? (size_t)cpu : MAX_CPUS - 1;

	if (!s->pd)
		return 0;
	if (!s->cpus[at].known) {
		s->cpus[at].known = true;
		s->cpus[at].midr = spe_midr(s->pd, cpu);
	}
	return s->cpus[at].midr;
}

static void group_add(struct group *group, const struct auxtap_event *ev)
{
	group->nr++;
	group->nr_l1_access += ev->spe_events >> AUXTAP_SPE_EV_L1D_ACCESS & 1;
	group->nr_l1_miss += ev->spe_events >> AUXTAP_SPE_EV_L1D_REFILL & 1;
	group->nr_tlb_access += ev->spe_events >> AUXTAP_SPE_EV_TLB_ACCESS & 1;
	group->nr_tlb_walk += ev->spe_events >> AUXTAP_SPE_EV_TLB_WALK & 1;
	latency_add(&group->latency, ev);
}

static int add_function(struct sampled *s, const struct auxtap_event *ev)
{
	struct auxtap_location loc = {.size = sizeof(loc)};
	struct group key = {0}, *group;

	if (ev->has_ip &&
	    !auxtap_image_set_symbol(s->ro.images, ev->pid, ev->time ? ev->time : UINT64_MAX,
				     ev->ip, &loc)) {
		key.image = loc.image;
		key.name = loc.image && loc.nr_frames ? loc.frames[loc.nr_frames - 1].symbol : NULL;
	}
	group = group_of(s, &key);
	if (!group)
		return -ENOMEM;
	group_add(group, ev);
	return 0;
}

static int add_source(struct sampled *s, const struct auxtap_event *ev)
{
	struct group key = {.is_source = true, .source = ev->source}, *group;

	/* the same number means different things on different CPUs */
	key.name = auxtap_spe_source_name(midr_of(s, ev->cpu), ev->source);
	group = group_of(s, &key);
	if (!group)
		return -ENOMEM;
	group_add(group, ev);
	return 0;
}

static int add(struct sampled *s, const struct auxtap_event *ev)
{
	int ret;

	if (ev->type == AUXTAP_EVENT_GAP) {
		s->nr_gaps++;
		s->nr_lost += ev->gap->nr_bytes;
		return 0;
	}
	if (!(ev->spe_has & AUXTAP_SPE_HAS_OP) || ev->op_class == AUXTAP_SPE_OTHER) {
		s->nr_others++;
	} else if (ev->op_class == AUXTAP_SPE_BRANCH) {
		s->nr_branches++;
		s->nr_mispredicted += ev->spe_events >> AUXTAP_SPE_EV_MISPREDICTED & 1;
	} else {
		s->nr_stores += ev->op & 1;
		s->nr_loads += !(ev->op & 1);
	}
	ret = add_function(s, ev);
	if (!ret && ev->spe_has & AUXTAP_SPE_HAS_SOURCE)
		ret = add_source(s, ev);
	return ret;
}

/* ---- printing ---- */

static void title(const struct sampled *s, const char *text)
{
	fprintf(s->ro.out, "\n%s%s%s\n", s->ro.style->title, text, s->ro.style->off);
}

static void print_rate(const struct sampled *s, uint64_t part, uint64_t whole)
{
	if (whole)
		fprintf(s->ro.out, " %6.1f%%", share(part, whole));
	else
		fprintf(s->ro.out, " %7s", "-");
}

static void print_latency(const struct sampled *s, const struct latency *l)
{
	if (!l->nr) {
		fprintf(s->ro.out, " %7s %6s %6s %6s %7s %7s", "-", "-", "-", "-", "-", "-");
		return;
	}
	fprintf(s->ro.out, " %7.1f %6u %6u %6u %7.1f %7.1f", mean(l->total, l->nr),
		percentile(l, 50), percentile(l, 90), l->max, mean(l->issue, l->nr),
		mean(l->xlat, l->nr));
}

#define LATENCY_HEADER "    mean median    p90    max   issue    xlat"

static int by_number(const void *a, const void *b)
{
	const struct group *x = *(struct group *const *)a, *y = *(struct group *const *)b;

	return x->nr != y->nr ? (x->nr < y->nr ? 1 : -1) : compare(x, y);
}

/* Sorts by cycles of latency, the most first. */
static int by_latency(const void *a, const void *b)
{
	const struct group *x = *(struct group *const *)a, *y = *(struct group *const *)b;

	if (x->latency.total != y->latency.total)
		return x->latency.total < y->latency.total ? 1 : -1;
	return by_number(a, b);
}

static void print_sources(const struct sampled *s)
{
	bool unnamed = false;
	uint64_t nr = 0;

	for (size_t i = 0; i < s->nr_sources; i++)
		nr += s->sources[i]->nr;
	title(s, "Where the data came from (latency in cycles)");
	if (!nr) {
		fputs("  no sample contains its data source\n", s->ro.out);
		return;
	}
	fprintf(s->ro.out, "    samples   share%s  source\n", LATENCY_HEADER);
	qsort(s->sources, s->nr_sources, sizeof(struct group *), by_number);
	for (size_t i = 0; i < s->nr_sources; i++) {
		const struct group *g = s->sources[i];

		fprintf(s->ro.out, "  %9" PRIu64, g->nr);
		print_rate(s, g->nr, nr);
		print_latency(s, &g->latency);
		if (g->name)
			fprintf(s->ro.out, "  %s\n", g->name);
		else
			fprintf(s->ro.out, "  0x%" PRIx64 "\n", g->source);
		unnamed |= !g->name;
	}
	if (unnamed)
		fputs("  Numbers without a name are specific to this CPU; auxtap has no names for them.\n",
		      s->ro.out);
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static void print_functions(const struct sampled *s)
{
	uint64_t total = 0;

	for (size_t i = 0; i < s->nr_functions; i++)
		total += s->functions[i]->latency.total;
	title(s, "Functions, by their share of all latency (in cycles)");
	fprintf(s->ro.out, "    samples   share%s L1 miss TLB walk  function\n", LATENCY_HEADER);
	qsort(s->functions, s->nr_functions, sizeof(struct group *), by_latency);
	for (size_t i = 0; i < s->nr_functions && i < NR_FUNCTIONS; i++) {
		const struct group *g = s->functions[i];

		fprintf(s->ro.out, "  %9" PRIu64, g->nr);
		print_rate(s, g->latency.total, total);
		print_latency(s, &g->latency);
		print_rate(s, g->nr_l1_miss, g->nr_l1_access);
		fputc(' ', s->ro.out);
		print_rate(s, g->nr_tlb_walk, g->nr_tlb_access);
		if (!g->image)
			fputs("  [unknown]\n", s->ro.out);
		else
			fprintf(s->ro.out, "  %s%s%s (%s)\n", s->ro.style->name,
				g->name ? report_text(&s->ro, g->name) : "[no symbol]",
				s->ro.style->off, report_text(&s->ro, base_name(g->image)));
	}
	if (s->nr_functions > NR_FUNCTIONS)
		fprintf(s->ro.out, "  and %zu more\n", s->nr_functions - NR_FUNCTIONS);
}

static void print_missing(const struct sampled *s)
{
	struct auxtap_image_info info = {.size = sizeof(info)};
	bool any = false;

	for (size_t i = 0; i < auxtap_image_set_count(s->ro.images); i++) {
		if (auxtap_image_set_info(s->ro.images, i, &info) ||
		    info.state == AUXTAP_IMAGE_FOUND || info.name[0] != '/')
			continue;
		if (!any)
			title(s, "Images");
		any = true;
		fprintf(s->ro.out, "  %s%s:%s %s\n", s->ro.style->bad,
			info.denied			   ? "denied" :
			info.state == AUXTAP_IMAGE_MISSING ? "missing" :
							     "different",
			s->ro.style->off, report_text(&s->ro, info.name));
	}
	if (any)
		fputs("  Give a directory with them: --sysroot DIR\n", s->ro.out);
}

static void print(const struct sampled *s)
{
	uint64_t nr = s->nr_loads + s->nr_stores + s->nr_branches + s->nr_others;

	fprintf(s->ro.out, "%s%s%s: samples of Arm SPE\n", s->ro.style->title,
		report_text(&s->ro, s->path), s->ro.style->off);
	title(s, "What was sampled");
	fprintf(s->ro.out,
		"  %" PRIu64 " operations: %" PRIu64 " loads, %" PRIu64 " stores, %" PRIu64
		" branches, %" PRIu64 " others\n",
		nr, s->nr_loads, s->nr_stores, s->nr_branches, s->nr_others);
	if (s->nr_branches)
		fprintf(s->ro.out, "  %" PRIu64 " of the branches mispredicted (%.1f%%)\n",
			s->nr_mispredicted, share(s->nr_mispredicted, s->nr_branches));
	fprintf(s->ro.out, "  from %" PRIu64 " bytes of trace, %" PRIu64 " thread%s", s->sum.bytes,
		s->sum.threads, s->sum.threads == 1 ? "" : "s");
	if (s->sum.time_end > s->sum.time_begin)
		fprintf(s->ro.out, ", %.6f s", (double)(s->sum.time_end - s->sum.time_begin) / 1e9);
	fputc('\n', s->ro.out);
	if (s->pd && spe_is_emulated(s->pd))
		fputs("  the unit is emulated: latencies, mispredictions, misses and data sources are a "
		      "model's,\n  not measured; addresses and operations are the program's\n",
		      s->ro.out);
	if (!s->nr_gaps)
		fputs("  no gaps\n", s->ro.out);
	else
		fprintf(s->ro.out,
			"  %" PRIu64 " gap%s, %" PRIu64 " bytes known to be lost; "
			"'auxtap decode --events gap' lists them\n",
			s->nr_gaps, s->nr_gaps == 1 ? "" : "s", s->nr_lost);
	if (nr) {
		print_sources(s);
		print_functions(s);
	}
	print_missing(s);
	if (s->pd) {
		title(s, "Next");
		fprintf(s->ro.out,
			"  auxtap decode -F time,tid,ip,sym,addr,lat_total,source,spe_events %s\n",
			s->path);
	}
}

int report_samples(struct auxtap_perfdata *pd, const char *path, const struct auxtap_raw_opts *raw,
		   struct auxtap_image_set *images, const struct auxtap_report_opts *opts,
		   FILE *out, struct auxtap_error *err)
{
	struct auxtap_decode_opts decode_opts = {.size = sizeof(decode_opts),
						 .events = AUXTAP_EVENT_INSN | AUXTAP_EVENT_GAP};
	struct report_text_ring text_ring = {.next = 0};
	struct sampled *s = calloc(1, sizeof(*s));
	struct auxtap_decoder *dec = NULL;
	struct auxtap_event ev = {.size = sizeof(ev)};
	int ret;

	if (!s)
		return auxtap_error_set(err, -ENOMEM, path, "out of memory");
	if (opts->format != AUXTAP_REPORT_TEXT) {
		ret = auxtap_error_set(err, -EOPNOTSUPP, path,
				       "the report of samples is text only");
		auxtap_error_hint(err, "use --format text, or 'auxtap decode --format jsonl'");
		goto out;
	}
	s->ro.out = out;
	s->ro.style = opts->colour ? &report_coloured : &report_plain;
	s->ro.images = images;
	s->ro.text_ring = &text_ring;
	s->pd = pd;
	s->path = path;
	ret = raw ? auxtap_decoder_open_raw(&dec, path, raw, images, &decode_opts, err) :
		    auxtap_decoder_open(&dec, pd, images, &decode_opts, err);
	if (ret)
		goto out;
	while ((ret = auxtap_decoder_next(dec, &ev, err)) == 1) {
		ret = add(s, &ev);
		if (ret) {
			auxtap_error_set(err, ret, path, "out of memory");
			break;
		}
	}
	s->sum.size = sizeof(s->sum);
	auxtap_decoder_summary(dec, &s->sum);
	print(s);
	if (!ret && ferror(out))
		ret = auxtap_error_set(err, -EIO, "report", "it could not be written");
out:
	auxtap_decoder_close(dec);
	tdestroy(s->tree, free);
	free(s->functions);
	free(s->sources);
	free(s);
	return ret;
}
