/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The options for raw traces: --raw and those that require it. They are the same for decode, report
 * and dump.
 */
#ifndef AUXTAP_RAW_OPTIONS_H
#define AUXTAP_RAW_OPTIONS_H

#include "util/options.h"

#include <auxtap/decode.h>

#define RAW_MAX_SIDEBAND 64
#define RAW_MAX_IMAGES	 256
#define RAW_MAX_CONFIGS	 111 /* the number of valid trace IDs */

enum {
	RAW_OPT_FIRST = 1024,
	RAW_OPT_RAW = RAW_OPT_FIRST,
	RAW_OPT_IMAGE,
	RAW_OPT_SIDEBAND,
	RAW_OPT_SAMPLE_TYPE,
	RAW_OPT_TIME_CONV,
	RAW_OPT_TSC_OFFSET,
	RAW_OPT_MTC_FREQ,
	RAW_OPT_NOM_FREQ,
	RAW_OPT_CPUID_0X15,
	RAW_OPT_ETM_CONFIG,
	RAW_OPT_ETM_FORMAT,
	RAW_OPT_END,
};

/* Rows for the command's tables; see util/options.h. */
extern const struct option_row raw_option_rows[];
extern const char raw_options_help[];

/* FILE[:OFF-END]@ADDR */
struct raw_image {
	const char *arg; /* its first path_len bytes are FILE */
	size_t path_len;
	uint64_t from, size, addr; /* size 0: the whole file */
};

struct raw_options {
	bool is_raw;
	uint32_t given; /* one bit per option, from RAW_OPT_FIRST on */
	struct auxtap_raw_opts raw;
	const struct auxtap_trace_family *family; /* that --raw names */
	const char *sideband[RAW_MAX_SIDEBAND];
	struct raw_image images[RAW_MAX_IMAGES];
	const char *etm_configs[RAW_MAX_CONFIGS];
	unsigned int nr_images;
};

void raw_options_init(struct raw_options *ro);
/* Parses the option if it is one of these. Returns 0, or prints an error and returns CLI_USAGE. */
int raw_options_parse(struct raw_options *ro, int opt, const char *arg);
/* To be called after the last option. Returns 0, or prints an error and returns CLI_USAGE. */
int raw_options_check(const struct raw_options *ro, const char *command, bool has_file);
/*
 * For commands that read images, after raw_options_check(): parses the values of --image. Returns
 * 0, or prints an error and returns CLI_USAGE.
 */
int raw_options_parse_images(struct raw_options *ro);
/* Adds the images of --image. Returns 0 or a negative errno. */
int raw_options_add_images(const struct raw_options *ro, struct auxtap_image_set *images,
			   struct auxtap_error *err);

/* Parses all of s as a decimal or 0x hexadecimal number up to max. */
bool cli_number(const char *s, uint64_t max, uint64_t *value);
/* Prints "auxtap: OPTION: 'VALUE' is not EXPECTED"; returns CLI_USAGE. */
int cli_bad_value(const char *option, const char *value, const char *expected);

#endif
