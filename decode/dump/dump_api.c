// SPDX-License-Identifier: BSD-2-Clause
/* The public API of listings: see auxtap/dump.h. */
#include "util/sized.h"
#include "decode/flow/decoder_private.h"
#include "dump_family.h"

#include <auxtap/dump.h>

static int copy_opts(struct dump_opts *copy, const struct auxtap_dump_opts *given, FILE *out,
		     struct auxtap_error *err)
{
	struct auxtap_dump_opts opts;
	int ret =
		sized_copy_in(&opts, sizeof(opts), SIZED_UP_TO(struct auxtap_dump_opts, no_packets),
			      given, "struct auxtap_dump_opts", err);

	*copy = (struct dump_opts){.out = out, .packets = !opts.no_packets};
	return ret;
}

int auxtap_dump(struct auxtap_perfdata *pd, const struct auxtap_dump_opts *opts, FILE *out,
		struct auxtap_error *err)
{
	struct dump_opts copy;
	int ret = copy_opts(&copy, opts, out, err);

	return ret ? ret : dump_perfdata(pd, &copy, err);
}

int auxtap_dump_snapshot(const char *dir, const struct auxtap_dump_opts *opts, FILE *out,
			 struct auxtap_error *err)
{
	const struct trace_family *family;
	struct dump_opts copy;
	int ret = copy_opts(&copy, opts, out, err);

	if (ret)
		return ret;
	family = trace_family_of_snapshot(dir);
	if (!family || !family->dump || !family->dump->snapshot)
		return auxtap_error_set(err, -ENOENT, dir, "no snapshot.ini is there");
	return family->dump->snapshot(dir, &copy, err);
}

int auxtap_dump_raw(const char *path, const struct auxtap_raw_opts *raw, FILE *out,
		    struct auxtap_error *err)
{
	struct dump_opts copy = {.out = out, .packets = true};
	const struct trace_family *family;
	struct auxtap_raw_opts raw_copy;
	int ret = raw_opts_copy_in(&raw_copy, raw, err);

	if (ret)
		return ret;
	family = trace_family_of_raw(raw_copy.family);
	if (!family || !family->dump)
		return auxtap_error_set(err, -ENOTSUP, raw_copy.family,
					"no decoder for this trace family in this version");
	if (family->dump->raw)
		return family->dump->raw(path, &raw_copy, &copy, err);
	copy.family = family;
	return dump_raw(path, &copy, err);
}

int auxtap_dump_sideband(const char *path, uint64_t sample_type, FILE *out,
			 struct auxtap_error *err)
{
	const struct dump_opts copy = {.out = out};

	return dump_raw_sideband(path, sample_type, &copy, err);
}
