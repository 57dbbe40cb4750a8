// SPDX-License-Identifier: BSD-2-Clause
/*
 * Files of other recorders (kernels 3.2 to 6.12, simpleperf; file, pipe, zstd, damaged):
 * the header's facts and counts, and every record's offset, size, type, time, CPU, pid
 * and tid agree with the listings next to them.
 */
#include "support_ptfile.h"
#include "support_traces.h"

#include <errno.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static struct trace_case *cases;
static size_t nr_cases;

#define INVALID "perfdata/simpleperf-invalid_perf"
#define ZERO	"perfdata/quipper-piped.corrupted.zero_size_sample-3.2"

/* The value of "key=value" in text, or "". */
static const char *value(const char *text, const char *key, char *buf, size_t size)
{
	size_t len = strlen(key);

	buf[0] = '\0';
	for (const char *p = text; p; p = strchr(p, '\n') ? strchr(p, '\n') + 1 : NULL) {
		if (strncmp(p, key, len) || p[len] != '=')
			continue;
		snprintf(buf, size, "%.*s", (int)strcspn(p + len + 1, "\n"), p + len + 1);
		break;
	}
	return buf;
}

static void check_header(const struct trace_case *c, struct auxtap_perfdata *pd, const char *counts)
{
	const struct auxtap_perfdata_info *info = auxtap_perfdata_get_info(pd);
	char buf[512], ours[512];
	size_t used = 0;

	value(counts, "mode", buf, sizeof(buf));
	if (!strcmp(buf, "pipe")) {
		assert_int_equal(info->form, AUXTAP_PERFDATA_PIPE);
		return;
	}
	assert_string_equal(buf, "file");
	assert_int_equal(info->form, AUXTAP_PERFDATA_FILE);
	assert_int_equal(info->nr_attrs, atoi(value(counts, "attr_count", buf, sizeof(buf))));
	assert_int_equal(info->data_off, atoll(value(counts, "data_offset", buf, sizeof(buf))));
	assert_int_equal(info->data_size, atoll(value(counts, "data_size", buf, sizeof(buf))));
	assert_int_equal(info->size, sizeof(*info));
	assert_int_equal(auxtap_perfdata_get_attr(pd, 0)->size,
			 sizeof(struct auxtap_perfdata_attr));
	assert_int_equal(auxtap_perfdata_get_attr(pd, 0)->file_size + 16,
			 atoi(value(counts, "attr_entry_size", buf, sizeof(buf))));
	ours[0] = '\0';
	for (unsigned int i = 0; i < 256; i++) {
		const void *data;
		size_t size;

		if (!(info->features[i / 64] & 1ULL << (i % 64)))
			continue;
		used += (size_t)snprintf(ours + used, sizeof(ours) - used, used ? ",%u" : "%u", i);
		if (auxtap_perfdata_feature(pd, i, &data, &size))
			fail_msg("%s: feature %u cannot be read", c->name, i);
	}
	assert_string_equal(ours, value(counts, "features", buf, sizeof(buf)));
}

static void check_counts(const struct trace_case *c, const char *counts, const uint64_t *ours)
{
	uint64_t number, type, total = 0, expected = 0;

	for (const char *p = counts; p; p = strchr(p, '\n') ? strchr(p, '\n') + 1 : NULL) {
		char name[64];

		if (sscanf(p, "record.%63[A-Z0-9_](%" SCNu64 ")=%" SCNu64, name, &type, &number) !=
		    3)
			continue;
		if (!auxtap_record_name((uint32_t)type) ||
		    strcmp(auxtap_record_name((uint32_t)type), name))
			fail_msg("%s: type %" PRIu64 " is not called %s", c->name, type, name);
		if (ours[type] != number)
			fail_msg("%s: %" PRIu64 " records of %s, expected %" PRIu64, c->name,
				 ours[type], name, number);
		expected += number;
	}
	for (type = 0; type < 65536; type++)
		total += ours[type];
	assert_int_equal(total, expected);
	assert_true(total > 0);
}

/* pid and tid in a record's body, if it has them. */
static bool who_in_body(const struct auxtap_record *rec, uint32_t *pid, uint32_t *tid)
{
	const uint32_t *word = (const void *)(rec->header + 1);

	switch (rec->header->type) {
	case PERF_RECORD_SAMPLE:
		*pid = rec->pid;
		*tid = rec->tid;
		return rec->fields & AUXTAP_REC_PID_TID;
	case PERF_RECORD_FORK:
	case PERF_RECORD_EXIT:
		*pid = word[0];
		*tid = word[2];
		return rec->body_size >= 24;
	default:
		*pid = word[0];
		*tid = word[1];
		return rec->body_size >= 8;
	}
}

static void check_fields(const struct trace_case *c, const struct listed *l,
			 const struct auxtap_record *rec)
{
	uint32_t pid, tid;

	if (l->time && l->time != UINT64_MAX &&
	    (!(rec->fields & AUXTAP_REC_TIME) || rec->time != l->time))
		fail_msg("%s: time of the record at 0x%" PRIx64 " is %" PRIu64 ", listed %" PRIu64,
			 c->name, l->offset, rec->time, l->time);
	/* -1 as u32: the event has no CPU in its sample_type. */
	if (l->has_cpu && l->cpu > 0 &&
	    (l->cpu == UINT32_MAX ?
		     (rec->fields & AUXTAP_REC_CPU) != 0 :
		     !(rec->fields & AUXTAP_REC_CPU) || rec->cpu != (uint64_t)l->cpu))
		fail_msg("%s: CPU of the record at 0x%" PRIx64, c->name, l->offset);
	if (l->has_who && (!who_in_body(rec, &pid, &tid) || pid != l->pid || tid != l->tid))
		fail_msg("%s: pid/tid of the record at 0x%" PRIx64 ": %s", c->name, l->offset,
			 l->text);
}

static struct listed *find(struct listed *list, size_t nr, const struct auxtap_record *rec,
			   uint64_t base)
{
	const char *name = auxtap_record_name(rec->header->type);
	size_t low = 0, high = nr;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (list[mid].offset + base < rec->offset)
			low = mid + 1;
		else
			high = mid;
	}
	for (; low < nr && list[low].offset + base == rec->offset; low++) {
		struct listed *l = &list[low];

		if (!l->shown && l->size == rec->file_size && name && !strcmp(l->name, name) &&
		    (!rec->decompressed || !l->time || l->time == rec->time))
			return l;
	}
	return NULL;
}

/* Compares the file with the counts and, if there is one, the listing. Returns next()'s
 * last result. */
static int check_records(const struct trace_case *c, const char *listing, struct auxtap_error *err)
{
	static uint64_t counts[65536];
	struct auxtap_perfdata *pd;
	struct auxtap_record rec = {.size = sizeof(rec)};
	struct listed *list = NULL;
	size_t nr = 0, missing = 0;
	uint64_t base;
	char *text;
	int ret;

	memset(counts, 0, sizeof(counts));
	ret = auxtap_perfdata_open(&pd, c->data, err);
	if (ret)
		fail_msg("%s does not open: %s", c->name, err->why);
	base = auxtap_perfdata_get_info(pd)->form == AUXTAP_PERFDATA_PIPE ? 16 : 0;
	if (listing && (text = traces_text(c->expected, listing))) {
		nr = traces_listing(text, &list);
		free(text);
	}
	while ((ret = auxtap_perfdata_next(pd, &rec, err)) > 0) {
		struct listed *l;

		if (!rec.decompressed)
			counts[rec.header->type & 0xffff]++;
		if (!nr)
			continue;
		l = find(list, nr, &rec, base);
		if (l) {
			l->shown = true;
			check_fields(c, l, &rec);
			continue;
		}
		missing++;
		/* perf does not list compressed records, nor those that only simpleperf
		 * knows. */
		if (rec.header->type != AUXTAP_RECORD_COMPRESSED &&
		    rec.header->type != AUXTAP_RECORD_COMPRESSED2 && rec.header->type < 32768)
			fail_msg("%s: %s at 0x%" PRIx64 " [0x%x] is not in %s", c->name,
				 auxtap_record_name(rec.header->type), rec.offset, rec.file_size,
				 listing);
	}
	for (size_t i = 0; i < nr; i++)
		/* In file mode perf -D makes up an ATTR at 0, where the header is. */
		if (!list[i].shown && (list[i].offset || base))
			fail_msg("%s: listed, but not found: 0x%" PRIx64 " [0x%" PRIx64 "] %s",
				 c->name, list[i].offset, list[i].size, list[i].text);
	text = traces_text(c->expected, "counts.txt");
	assert_non_null(text);
	check_header(c, pd, text);
	check_counts(c, text, counts);
	free(text);
	free(list);
	auxtap_perfdata_close(pd);
	printf("  %s: %zu records compared, %zu not in the listing\n", c->name, nr, missing);
	return ret;
}

static const char *listing_of(const struct trace_case *c)
{
	static const char *const names[] = {"records.perf-7.2.txt", "records.txt"};

	for (size_t i = 0; i < 2; i++) {
		char *text = traces_text(c->expected, names[i]);

		free(text);
		if (text)
			return names[i];
	}
	return NULL;
}

static void test_all(void **state)
{
	struct auxtap_error err = AUXTAP_ERROR_INIT;
	int ret;

	(void)state;
	assert_true(nr_cases >= 40);
	for (size_t i = 0; i < nr_cases; i++) {
		if (!strcmp(cases[i].name, INVALID) || !strcmp(cases[i].name, ZERO))
			continue;
		ret = check_records(&cases[i], listing_of(&cases[i]), &err);
		if (ret)
			fail_msg("%s: %s", cases[i].name, err.why);
	}
}

static const struct trace_case *the_case(const char *name)
{
	for (size_t i = 0; i < nr_cases; i++)
		if (!strcmp(cases[i].name, name))
			return &cases[i];
	fail_msg("no case %s", name);
	return NULL;
}

static void test_invalid(void **state)
{
	struct auxtap_error err = AUXTAP_ERROR_INIT;
	struct auxtap_perfdata *pd;

	(void)state;
	assert_int_equal(auxtap_perfdata_open(&pd, the_case(INVALID)->data, &err), -EINVAL);
	assert_null(pd);
	assert_int_equal(err.offset, 0);
	assert_non_null(strstr(err.why, "offset 0"));
	assert_non_null(strstr(err.why, "not a perf.data file"));
}

static void test_zero_size(void **state)
{
	struct auxtap_error err = AUXTAP_ERROR_INIT;

	(void)state;
	assert_int_equal(check_records(the_case(ZERO), "records.txt", &err), -EBADMSG);
	assert_int_equal(err.offset, 49104);
	assert_non_null(strstr(err.why, "offset 49104"));
	assert_non_null(strstr(err.why, "size 0"));
}

/* The same records in order of time, none lost; then rewound. */
static void test_sorted(void **state)
{
	(void)state;
	for (size_t i = 0; i < nr_cases; i++) {
		struct auxtap_error err = AUXTAP_ERROR_INIT;
		uint64_t nr = 0, sum = 0, nr_sorted = 0, sum_sorted = 0, last = 0;
		struct auxtap_perfdata *pd;
		struct auxtap_record rec = {.size = sizeof(rec)};

		if (!strcmp(cases[i].name, INVALID))
			continue;
		assert_int_equal(auxtap_perfdata_open(&pd, cases[i].data, &err), 0);
		while (auxtap_perfdata_next(pd, &rec, &err) > 0) {
			if (rec.header->type >= 64)
				continue;
			nr++;
			sum += rec.offset * 31 + rec.decompressed_off * 7 + rec.time +
			       rec.body_size;
		}
		for (int again = 0; again < 2; again++) {
			nr_sorted = sum_sorted = last = 0;
			while (auxtap_perfdata_next_sorted(pd, &rec, &err) > 0) {
				uint64_t time = rec.fields & AUXTAP_REC_TIME ? rec.time : 0;

				assert_true(time >= last);
				last = time;
				nr_sorted++;
				sum_sorted += rec.offset * 31 + rec.decompressed_off * 7 +
					      rec.time + rec.body_size;
			}
			assert_int_equal(nr_sorted, nr);
			assert_int_equal(sum_sorted, sum);
			auxtap_perfdata_rewind_sorted(pd);
		}
		auxtap_perfdata_close(pd);
	}
}

static void test_details(void **state)
{
	const struct trace_case *c = the_case("intel-pt-perfdata/intel_pt-4.14");
	struct auxtap_error err = AUXTAP_ERROR_INIT;
	const struct auxtap_perfdata_aux *aux;
	const struct auxtap_build_id *ids;
	struct auxtap_perfdata *pd;
	const uint64_t *priv;
	size_t nr, nr_ids;
	uint32_t type;

	(void)state;
	assert_int_equal(auxtap_perfdata_open(&pd, c->data, &err), 0);
	assert_int_equal(auxtap_perfdata_auxtraces(pd, &aux, &nr, &err), 0);
	assert_int_equal(nr, 2);
	assert_int_equal(aux[0].auxtrace.cpu, 0);
	assert_int_equal(aux[1].auxtrace.cpu, 3);
	assert_int_equal(aux[1].auxtrace.tid, 3174);
	assert_int_equal(aux[1].auxtrace.idx, 3);
	assert_int_equal(aux[1].auxtrace.header.size, 0x30);
	assert_int_equal(aux[1].auxtrace.size, 0x21a00);
	assert_int_equal(aux[1].trace_off, 0x7788 + 0x30);
	assert_int_equal(aux[0].trace_size, aux[0].auxtrace.size);
	assert_int_equal(auxtap_perfdata_auxtrace_info(pd, &type, &priv, &nr), 0);
	assert_int_equal(type, AUXTAP_AUXTRACE_INTEL_PT);
	assert_true(nr >= AUXTAP_PT_INFO_FILTER_STR_LEN);
	assert_int_equal(priv[AUXTAP_PT_INFO_PER_CPU_MMAPS], 1);
	assert_int_equal(auxtap_perfdata_build_ids(pd, &ids, &nr_ids), 0);
	assert_true(nr_ids > 0);
	for (size_t i = 0; i < nr_ids; i++) {
		assert_int_equal(ids[i].size, 20);
		assert_true(ids[i].filename[0] == '/' || ids[i].filename[0] == '[');
	}
	assert_non_null(auxtap_perfdata_get_attr(pd, 0)->name);
	assert_non_null(strstr(auxtap_perfdata_get_attr(pd, 0)->name, "intel_pt"));
	auxtap_perfdata_close(pd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_all),	  cmocka_unit_test(test_invalid),
		cmocka_unit_test(test_zero_size), cmocka_unit_test(test_sorted),
		cmocka_unit_test(test_details),
	};
	const char *root = traces_root();

	if (!root || !have_command("xz"))
		return 77;
	nr_cases = traces_cases(root, &cases);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
