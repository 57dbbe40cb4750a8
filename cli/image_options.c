// SPDX-License-Identifier: BSD-2-Clause
/* See image_options.h. */
#include "image_options.h"

const char image_options_help[] =
	"Where images are:\n"
	"  --sysroot DIR    look for programs and libraries under DIR first\n"
	"  --vmlinux FILE, --kcore FILE\n"
	"                   the kernel's image; vmlinux is relocated to the recorded\n"
	"                   address of _text\n"
	"  --debuginfod     ask the servers in DEBUGINFOD_URLS for missing images\n";

const struct option_row image_option_rows[] = {
	{IMAGE_OPT_SYSROOT, "sysroot", "DIR"},
	{IMAGE_OPT_VMLINUX, "vmlinux", "FILE"},
	{IMAGE_OPT_KCORE, "kcore", "FILE"},
	{IMAGE_OPT_DEBUGINFOD, "debuginfod", NULL},
	{0},
};

bool image_options_parse(struct auxtap_image_set_opts *opts, int opt, const char *value)
{
	switch (opt) {
	case IMAGE_OPT_SYSROOT:
		opts->sysroot = value;
		return true;
	case IMAGE_OPT_VMLINUX:
		opts->vmlinux = value;
		return true;
	case IMAGE_OPT_KCORE:
		opts->kcore = value;
		return true;
	case IMAGE_OPT_DEBUGINFOD:
		opts->debuginfod = true;
		return true;
	default:
		return false;
	}
}
