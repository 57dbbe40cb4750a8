// SPDX-License-Identifier: BSD-2-Clause
/*
 * Every option struct of the public API starts with its size. An impossible size is refused; a
 * shorter struct means the defaults for the missing members; an unknown option is refused.
 */
#include "util/sized.h"
#include <auxtap/audit.h>
#include <auxtap/capture.h>
#include <auxtap/decode.h>
#include <auxtap/image.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#define MISSING "/nonexistent/file"

static struct auxtap_image_set *images;
static FILE *sink;

static int use_decode(const void *opts, struct auxtap_error *err)
{
	const struct auxtap_raw_opts raw = {.size = sizeof(raw), .family = "pt"};
	struct auxtap_decoder *dec;

	return auxtap_decoder_open_raw(&dec, MISSING, &raw, images, opts, err);
}

static int use_decode_snapshot(const void *opts, struct auxtap_error *err)
{
	struct auxtap_decoder *dec;

	return auxtap_decoder_open_snapshot(&dec, MISSING, images, opts, err);
}

static int use_raw(const void *raw, struct auxtap_error *err)
{
	const struct auxtap_decode_opts opts = {.size = sizeof(opts)};
	struct auxtap_decoder *dec;

	return auxtap_decoder_open_raw(&dec, MISSING, raw, images, &opts, err);
}

static int use_raw_in_report(const void *raw, struct auxtap_error *err)
{
	const struct auxtap_report_opts opts = {.size = sizeof(opts)};

	return auxtap_report_raw(MISSING, raw, images, &opts, sink, err);
}

static int use_report(const void *opts, struct auxtap_error *err)
{
	const struct auxtap_raw_opts raw = {.size = sizeof(raw), .family = "pt"};

	return auxtap_report_raw(MISSING, &raw, images, opts, sink, err);
}

static int use_report_snapshot(const void *opts, struct auxtap_error *err)
{
	return auxtap_report_snapshot(MISSING, images, opts, sink, err);
}

static int use_images(const void *opts, struct auxtap_error *err)
{
	struct auxtap_image_set *set;
	int ret = auxtap_image_set_new(&set, opts, err);

	auxtap_image_set_free(set);
	return ret;
}

static int use_audit(const void *opts, struct auxtap_error *err)
{
	struct auxtap_audit *audit;

	return auxtap_audit_log(&audit, MISSING, opts, err);
}

static int use_session(const void *opts, struct auxtap_error *err)
{
	struct auxtap_session *s;
	struct auxtap_backend be = {.size = sizeof(be)};

	return auxtap_session_open(&s, &be, opts, err); /* nothing to trace */
}

static int use_emulation(const void *opts, struct auxtap_error *err)
{
	struct auxtap_backend be = {.size = sizeof(be)};
	int ret;

	setenv("AUXTAP_EMU", MISSING, 1);
	ret = auxtap_backend_open_emulation(&be, opts, err);
	unsetenv("AUXTAP_EMU");
	return ret;
}

#define OPTS(type, last, use)                                                   \
	{                                                                       \
#type, sizeof(struct type), SIZED_UP_TO(struct type, last), use \
	}
static const struct opts_case {
	const char *name;
	size_t size, first_size;
	int (*use)(const void *opts, struct auxtap_error *err);
} cases[] = {
	OPTS(auxtap_decode_opts, nr_cpus, use_decode),
	OPTS(auxtap_decode_opts, nr_cpus, use_decode_snapshot),
	OPTS(auxtap_raw_opts, time_zero, use_raw),
	OPTS(auxtap_raw_opts, time_zero, use_raw_in_report),
	OPTS(auxtap_report_opts, images, use_report),
	OPTS(auxtap_report_opts, images, use_report_snapshot),
	OPTS(auxtap_image_set_opts, kcore, use_images),
	OPTS(auxtap_audit_opts, max_overshoot, use_audit),
	OPTS(auxtap_session_opts, on_snapshot, use_session),
	OPTS(auxtap_emulation, trace_unit, use_emulation),
};

/* Options of 'size' bytes with the size field 'claimed'; all default but the last byte. */
static int use(const struct opts_case *c, size_t size, size_t claimed, unsigned char last,
	       struct auxtap_error *err)
{
	unsigned char *opts = calloc(1, size); /* exact size: the sanitizer sees reads beyond */
	int ret;

	assert_non_null(opts);
	opts[size - 1] = last;
	memcpy(opts, &claimed, sizeof(claimed));
	memset(err, 0, sizeof(*err));
	ret = c->use(opts, err);
	free(opts);
	return ret;
}

static void refused(const struct opts_case *c, size_t size, size_t claimed, unsigned char last,
		    int code)
{
	struct auxtap_error err;
	int ret = use(c, size, claimed, last, &err);
	char what[80];

	snprintf(what, sizeof(what), "struct %s", c->name);
	if (ret != code || err.code != code || strcmp(err.what, what) || !*err.hint)
		fail_msg("%s of %zu bytes: %d, not %d: %s: %s", c->name, claimed, ret, code,
			 err.what, err.why);
}

static void accepted(const struct opts_case *c, size_t size)
{
	struct auxtap_error err;

	use(c, size, size, 0, &err);
	if (!strncmp(err.what, "struct ", 7))
		fail_msg("%s of %zu bytes: %s", c->name, size, err.why);
}

/* No struct at all: the defaults. */
static void defaults(const struct opts_case *c)
{
	struct auxtap_error err = AUXTAP_ERROR_INIT;

	c->use(NULL, &err);
	if (!strncmp(err.what, "struct ", 7))
		fail_msg("%s: NULL: %s", c->name, err.why);
}

static void test_every_struct(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct opts_case *c = &cases[i];

		refused(c, c->size, 0, 0, -EINVAL);
		refused(c, c->size, 1, 0, -EINVAL);
		refused(c, c->size, c->first_size - 1, 0, -EINVAL);
		refused(c, c->size, SIZE_MAX, 0, -EINVAL);
		refused(c, c->size, 0x5a5a5a5a, 0, -EINVAL);
		refused(c, c->size + 16, c->size + 16, 1, -E2BIG);
		accepted(c, c->first_size);
		accepted(c, c->size);
		accepted(c, c->size + 16);
		defaults(c);
	}
}

/* Options of the first version take effect and are not only accepted. */
static void test_shorter_is_not_dropped(void **state)
{
	struct auxtap_image_set_opts opts = {.size = sizeof(opts), .vmlinux = MISSING};
	struct {
		struct auxtap_image_set_opts opts;
		uint64_t newer;
	} longer = {.opts = {.size = sizeof(longer), .vmlinux = MISSING}};
	struct auxtap_error err = AUXTAP_ERROR_INIT;

	(void)state;
	assert_int_equal(use_images(&opts, &err), -ENOENT);
	assert_int_equal(use_images(&longer, &err), -ENOENT);
	opts.size = offsetof(struct auxtap_image_set_opts, kcore);
	assert_int_equal(use_images(&opts, &err), -EINVAL);
}

struct newest {
	size_t size;
	uint32_t first;
	uint64_t second;
};

/* A count without its list is refused before anything is read. */
static void test_list_is_missing(void **state)
{
	const struct auxtap_decode_opts tids = {.size = sizeof(tids), .nr_tids = 1};
	const struct auxtap_decode_opts cpus = {.size = sizeof(cpus), .nr_cpus = 1};
	struct auxtap_error err = AUXTAP_ERROR_INIT;

	(void)state;
	assert_int_equal(use_decode(&tids, &err), -EINVAL);
	assert_non_null(strstr(err.why, "tids"));
	assert_int_equal(use_decode(&cpus, &err), -EINVAL);
	assert_non_null(strstr(err.why, "cpus"));
}

static void test_what_is_taken(void **state)
{
	struct newest given = {.first = 1, .second = 2}, known, given_to;
	const size_t first_size = SIZED_UP_TO(struct newest, first);

	(void)state;
	memset(&known, 0xff, sizeof(known));
	given.size = first_size;
	assert_int_equal(sized_copy_in(&known, sizeof(known), first_size, &given, "x", NULL), 0);
	assert_true(known.size == sizeof(known) && known.first == 1 && known.second == 0);
	given.size = sizeof(given);
	assert_int_equal(sized_copy_in(&known, sizeof(known), first_size, &given, "x", NULL), 0);
	assert_true(known.size == sizeof(known) && known.first == 1 && known.second == 2);
	/* an older library */
	memset(&known, 0xff, sizeof(known));
	assert_int_equal(sized_copy_in(&known, first_size, first_size, &given, "x", NULL), -E2BIG);
	given.second = 0;
	assert_int_equal(sized_copy_in(&known, first_size, first_size, &given, "x", NULL), 0);
	assert_true(known.size == first_size && known.first == 1 && known.second == UINT64_MAX);
	memset(&known, 0xff, sizeof(known));
	assert_int_equal(sized_copy_in(&known, sizeof(known), first_size, NULL, "x", NULL), 0);
	assert_true(known.size == sizeof(known) && known.first == 0 && known.second == 0);
	/* results */
	known.first = 1;
	known.second = 2;
	memset(&given_to, 0xff, sizeof(given_to));
	given_to.size = first_size;
	sized_copy_out(&given_to, &known, sizeof(known));
	assert_true(given_to.size == first_size && given_to.first == 1 &&
		    given_to.second == UINT64_MAX);
	given_to.size = sizeof(given_to);
	sized_copy_out(&given_to, &known, sizeof(known));
	assert_true(given_to.size == sizeof(given_to) && given_to.second == 2);
	/* an older library */
	sized_copy_out(&given_to, &known, first_size);
	assert_true(given_to.size == sizeof(given_to) && given_to.first == 1 &&
		    given_to.second == 0);
}

/* A result: an older caller gets the members that its struct has and no byte beyond. */
static void test_probe(void **state)
{
	struct auxtap_probe whole = {.size = sizeof(whole)};
	const size_t older = offsetof(struct auxtap_probe, qemu_a64);
	unsigned char *p = malloc(older);

	(void)state;
	assert_non_null(p);
	assert_int_equal(auxtap_probe_machine(&whole), 0);
	memcpy(p, &older, sizeof(older));
	assert_int_equal(auxtap_probe_machine((struct auxtap_probe *)p), 0);
	assert_memory_equal(p, &older, sizeof(older));
	assert_memory_equal(p + sizeof(older), (char *)&whole + sizeof(older),
			    older - sizeof(older));
	free(p);
	whole.size = 0;
	assert_int_equal(auxtap_probe_machine(&whole), -EINVAL);
	whole.size = SIZE_MAX;
	assert_int_equal(auxtap_probe_machine(&whole), -EINVAL);
}

/* ---- results: a raw trace of Arm SPE that is damaged has a gap, and so one event ---- */

static char trace[] = "/tmp/auxtap-sized-XXXXXX";

static struct auxtap_decoder *decoder(void)
{
	const struct auxtap_raw_opts raw = {.size = sizeof(raw), .family = "spe"};
	struct auxtap_decoder *dec;

	assert_int_equal(auxtap_decoder_open_raw(&dec, trace, &raw, images, NULL, NULL), 0);
	return dec;
}

static int fill_event(void *result)
{
	struct auxtap_decoder *dec = decoder();
	struct auxtap_event *ev = result;
	size_t size = ev->size;
	int ret = auxtap_decoder_next(dec, ev, NULL);

	if (size == sizeof(*ev) && ret == 1) {
		assert_int_equal(ev->type, AUXTAP_EVENT_GAP);
		assert_non_null(ev->gap);
		assert_true(*ev->text);
	}
	auxtap_decoder_close(dec);
	return ret == 1 ? 0 : ret;
}

static int fill_summary(void *result)
{
	struct auxtap_decoder *dec = decoder();
	int ret = auxtap_decoder_summary(dec, result);

	auxtap_decoder_close(dec);
	return ret;
}

static int fill_info(void *result)
{
	return auxtap_image_set_info(images, 0, result);
}

static int fill_location(void *result)
{
	return auxtap_image_set_resolve(images, 1, 0, 0x1000, result);
}

static int fill_symbol(void *result)
{
	return auxtap_image_set_symbol(images, 1, 0, 0x1000, result);
}

static int fill_range(void *result)
{
	return auxtap_image_set_range(images, 1, 0, 0x1000, result);
}

#define RESULT(type, last, fill)                                                 \
	{                                                                        \
#type, sizeof(struct type), SIZED_UP_TO(struct type, last), fill \
	}
static const struct result_case {
	const char *name;
	size_t size, first_size;
	int (*fill)(void *result);
} results[] = {
	RESULT(auxtap_event, source, fill_event),
	RESULT(auxtap_decode_summary, time_end, fill_summary),
	RESULT(auxtap_image_info, changed, fill_info),
	RESULT(auxtap_location, frames, fill_location),
	RESULT(auxtap_location, frames, fill_symbol),
	RESULT(auxtap_range, symbol_base, fill_range),
};

/* A result of 'size' bytes; what was in it before is 0xa5. The caller frees. */
static unsigned char *filled(const struct result_case *c, size_t size, size_t claimed, int code)
{
	unsigned char *result = malloc(size); /* exact size: the sanitizer sees writes beyond */
	int ret;

	assert_non_null(result);
	memset(result, 0xa5, size);
	memcpy(result, &claimed, sizeof(claimed));
	ret = c->fill(result);
	if (ret != code || memcmp(result, &claimed, sizeof(claimed)))
		fail_msg("%s of %zu bytes: %d, not %d, or another size", c->name, claimed, ret,
			 code);
	return result;
}

static void test_every_result(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(results) / sizeof(results[0]); i++) {
		const struct result_case *c = &results[i];
		const size_t wrong[] = {0, 1, c->first_size - 1, SIZE_MAX, 0x5a5a5a5a};
		unsigned char *same = filled(c, c->size, c->size, 0);
		unsigned char *longer = filled(c, c->size + 16, c->size + 16, 0);
		unsigned char *shorter = filled(c, c->first_size, c->first_size, 0);

		for (size_t k = c->size; k < c->size + 16; k++)
			assert_int_equal(longer[k], 0);
		/* where the first member stands: the same in all three, and not what was there */
		assert_memory_equal(longer + sizeof(size_t), same + sizeof(size_t), 8);
		assert_memory_equal(shorter + sizeof(size_t), same + sizeof(size_t), 8);
		free(same);
		free(longer);
		free(shorter);
		for (size_t k = 0; k < sizeof(wrong) / sizeof(wrong[0]); k++) {
			unsigned char *untouched = filled(c, c->size, wrong[k], -EINVAL);

			for (size_t b = sizeof(size_t); b < c->size; b++)
				assert_int_equal(untouched[b], 0xa5);
			free(untouched);
		}
	}
}

static int setup(void)
{
	static const char damage[64] = {0x01, 0x02, 0x03};
	int fd = mkstemp(trace);

	sink = fopen("/dev/null", "w");
	if (fd < 0 || write(fd, damage, sizeof(damage)) != sizeof(damage) || close(fd) || !sink ||
	    auxtap_image_set_new(&images, NULL, NULL))
		return 1;
	return auxtap_image_set_add_mapping(images, 1, 0, 0x1000, 0x1000, 0, MISSING, NULL, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_struct),
		cmocka_unit_test(test_shorter_is_not_dropped),
		cmocka_unit_test(test_list_is_missing),
		cmocka_unit_test(test_what_is_taken),
		cmocka_unit_test(test_probe),
		cmocka_unit_test(test_every_result),
	};
	int ret;

	if (setup())
		return 1;
	ret = cmocka_run_group_tests(tests, NULL, NULL);
	auxtap_image_set_free(images);
	fclose(sink);
	unlink(trace);
	return ret;
}
