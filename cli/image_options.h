/* SPDX-License-Identifier: BSD-2-Clause */
/* The options that locate images: the same for decode, report, pack, gdb and gdbserver. */
#ifndef AUXTAP_IMAGE_OPTIONS_H
#define AUXTAP_IMAGE_OPTIONS_H

#include "util/options.h"

#include <auxtap/image.h>

enum {
	IMAGE_OPT_FIRST = 2048,
	IMAGE_OPT_SYSROOT = IMAGE_OPT_FIRST,
	IMAGE_OPT_VMLINUX,
	IMAGE_OPT_KCORE,
	IMAGE_OPT_DEBUGINFOD,
};

/* Rows for the command's tables; see util/options.h. */
extern const struct option_row image_option_rows[];
extern const char image_options_help[];

/* True if it is one of these options; *opts then points to its value. */
bool image_options_parse(struct auxtap_image_set_opts *opts, int opt, const char *value);

#endif
