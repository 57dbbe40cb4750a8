// SPDX-License-Identifier: BSD-2-Clause
/* The listing's public face: see auxtap/dump.h. */
#include "util/sized.h"
#include "decode/flow/decoder_private.h"
#include "dump_family.h"

#include <auxtap/dump.h>

static int take(struct dump_opts *known, const struct auxtap_dump_opts *given, FILE *out,
		struct auxtap_error *err)
{
	struct auxtap_dump_opts opts;
	int ret = sized_take(&opts, sizeof(opts), SIZED_UP_TO(struct auxtap_dump_opts, no_packets),
			     given, "struct auxtap_dump_opts", err);

	*known = (struct dump_opts){.out = out, .packets = !opts.no_packets};
	return ret;
}

int auxtap_dump(struct auxtap_perfdata *pd, const struct auxtap_dump_opts *opts, FILE *out,
		struct auxtap_error *err)
{
	struct dump_opts known;
	int ret = take(&known, opts, out, err);

	return ret ? ret : dump_perfdata(pd, &known, err);
}

int auxtap_dump_snapshot(const char *dir, const struct auxtap_dump_opts *opts, FILE *out,
			 struct auxtap_error *err)
{
	const struct trace_family *family;
	struct dump_opts known;
	int ret = take(&known, opts, out, err);

	if (ret)
		return ret;
	family = trace_family_of_snapshot(dir);
	if (!family || !family->dump || !family->dump->snapshot)
		return auxtap_error_set(err, -ENOENT, dir, "no snapshot.ini is there");
	return family->dump->snapshot(dir, &known, err);
}

int auxtap_dump_raw(const char *path, const struct auxtap_raw_opts *raw, FILE *out,
		    struct auxtap_error *err)
{
	struct dump_opts known = {.out = out, .packets = true};
	const struct trace_family *family;
	struct auxtap_raw_opts taken;
	int ret = raw_opts_copy_in(&taken, raw, err);

	if (ret)
		return ret;
	family = trace_family_of_raw(taken.family);
	if (!family || !family->dump)
		return auxtap_error_set(err, -ENOTSUP, taken.family,
					"no decoder for this trace family in this version");
	if (family->dump->raw)
		return family->dump->raw(path, &taken, &known, err);
	known.family = family;
	return dump_raw(path, &known, err);
}

int auxtap_dump_sideband(const char *path, uint64_t sample_type, FILE *out,
			 struct auxtap_error *err)
{
	const struct dump_opts known = {.out = out};

	return dump_raw_sideband(path, sample_type, &known, err);
}
