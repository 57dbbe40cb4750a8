// SPDX-License-Identifier: BSD-2-Clause
/* Prints feature sections: the content of simple ones, else name and size. */
#include "dump_private.h"

#include <inttypes.h>
#include <string.h>

/* The unread rest of a section. A string in it is a u32 length and that many bytes. */
struct section {
	const unsigned char *p, *end;
};

static bool section_get(struct section *s, void *value, size_t size)
{
	if ((size_t)(s->end - s->p) < size)
		return false;
	memcpy(value, s->p, size);
	s->p += size;
	return true;
}

static bool put_string(struct section *s, FILE *out)
{
	uint32_t len;

	if (!section_get(s, &len, sizeof(len)) || (size_t)(s->end - s->p) < len)
		return false;
	dump_text(out, s->p, len);
	s->p += len;
	return true;
}

static void put_strings(struct section *s, FILE *out)
{
	uint32_t nr;

	if (!section_get(s, &nr, sizeof(nr)))
		return;
	for (uint32_t i = 0; i < nr; i++) {
		if (s->p >= s->end)
			return;
		fputc(' ', out);
		if (!put_string(s, out))
			return;
	}
}

static void put_event_desc(struct section *s, FILE *out)
{
	uint32_t nr, attr_size, nr_ids;

	if (!section_get(s, &nr, 4) || !section_get(s, &attr_size, 4))
		return;
	for (uint32_t i = 0; i < nr; i++) {
		if ((size_t)(s->end - s->p) < attr_size)
			return;
		s->p += attr_size;
		if (!section_get(s, &nr_ids, 4))
			return;
		fputs(i ? ", " : " ", out);
		if (!put_string(s, out) || (size_t)(s->end - s->p) / 8 < nr_ids)
			return;
		fprintf(out, " (%u ids)", nr_ids);
		s->p += (size_t)nr_ids * 8;
	}
}

static void put_pmu_mappings(struct section *s, FILE *out)
{
	uint32_t nr, type;

	if (!section_get(s, &nr, 4))
		return;
	for (uint32_t i = 0; i < nr && section_get(s, &type, 4); i++) {
		fputs(i ? ", " : " ", out);
		if (!put_string(s, out))
			return;
		fprintf(out, " = %u", type);
	}
}

static void put_build_ids(struct auxtap_perfdata *pd, FILE *out)
{
	const struct auxtap_build_id *ids;
	size_t nr;

	if (auxtap_perfdata_build_ids(pd, &ids, &nr))
		return;
	fprintf(out, " %zu", nr);
	for (size_t i = 0; i < nr; i++) {
		fputs("\n    ", out);
		for (unsigned int j = 0; j < ids[i].size; j++)
			fprintf(out, "%02x", ids[i].id[j]);
		fputc(' ', out);
		dump_text(out, ids[i].filename, SIZE_MAX);
	}
}

static void put_numbers(struct section *s, size_t size, unsigned int nr, FILE *out)
{
	for (unsigned int i = 0; i < nr; i++) {
		uint64_t value = 0;

		if (!section_get(s, &value, size))
			return;
		fprintf(out, " %" PRIu64, value);
	}
}

static void put_feature(struct auxtap_perfdata *pd, unsigned int feature, struct section *s,
			FILE *out)
{
	switch (feature) {
	case 2: /* build_id */
		put_build_ids(pd, out);
		break;
	case 3: /* hostname */
	case 4: /* osrelease */
	case 5: /* version */
	case 6: /* arch */
	case 8: /* cpudesc */
	case 9: /* cpuid */
		fputc(' ', out);
		put_string(s, out);
		break;
	case 7: /* nrcpus: available, online */
		put_numbers(s, 4, 2, out);
		break;
	case 10: /* total_mem, kB */
		put_numbers(s, 8, 1, out);
		fputs(" kB", out);
		break;
	case 11: /* cmdline */
		put_strings(s, out);
		break;
	case 12: /* event_desc */
		put_event_desc(s, out);
		break;
	case 16: /* pmu_mappings */
		put_pmu_mappings(s, out);
		break;
	case 18: /* auxtrace: number of entries */
		put_numbers(s, 8, 1, out);
		fputs(" AUXTRACE records", out);
		break;
	case 21: /* sample_time: first, last */
		put_numbers(s, 8, 2, out);
		fputs(" ns", out);
		break;
	default:
		fprintf(out, " %zu bytes", (size_t)(s->end - s->p));
		break;
	}
}

void dump_features(struct auxtap_perfdata *pd, FILE *out)
{
	const struct auxtap_perfdata_info *info = auxtap_perfdata_get_info(pd);

	for (unsigned int i = 0; i < 256; i++) {
		const char *name = auxtap_perfdata_feature_name(i);
		struct section s;
		const void *data;
		size_t size;
		int ret;

		if (!(info->features[i / 64] & 1ULL << (i % 64)))
			continue;
		fprintf(out, "feature %u %s:", i, name ? name : "unknown");
		ret = auxtap_perfdata_feature(pd, i, &data, &size);
		if (ret) {
			fputs(" cannot be read: it does not lie inside the file\n", out);
			continue;
		}
		s.p = data;
		s.end = s.p + size;
		put_feature(pd, i, &s, out);
		fputc('\n', out);
	}
}
