// SPDX-License-Identifier: BSD-2-Clause
/* See raw_options.h. */
#include "raw_options.h"
#include "cli.h"
#include "util/number.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const struct option_row raw_option_rows[] = {
	{RAW_OPT_RAW, "raw", "pt|spe|etm"},
	{RAW_OPT_IMAGE, "image", "FILE"},
	{RAW_OPT_SIDEBAND, "sideband", "FILE"},
	{RAW_OPT_SAMPLE_TYPE, "sample-type", "X"},
	{RAW_OPT_TIME_CONV, "time-conv", "SHIFT,MULT,ZERO"},
	{RAW_OPT_TSC_OFFSET, "tsc-offset", "TICKS"},
	{RAW_OPT_MTC_FREQ, "mtc-freq", "N"},
	{RAW_OPT_NOM_FREQ, "nom-freq", "RATIO"},
	{RAW_OPT_CPUID_0X15, "cpuid-0x15", "EAX,EBX"},
	{RAW_OPT_ETM_CONFIG, "etm-config", "FILE"},
	{RAW_OPT_ETM_FORMAT, "etm-format",
	 "source_data|coresight|dstream_coresight|tpiu|tpiu_hsync"},
	{0},
};

const char raw_options_help[] =
	"Raw traces (FILE is a raw stream of Intel PT, Arm SPE or CoreSight):\n"
	"  --raw pt[:cpu=FAMILY/MODEL/STEPPING]\n"
	"                    Intel PT; apply the known errata of this CPU\n"
	"  --raw spe         Arm SPE\n"
	"  --image FILE[:OFF-END]@ADDR\n"
	"                    load bytes OFF to END of FILE at ADDR; an ELF file without a\n"
	"                    range: all segments, the page of the first at ADDR (@0: at\n"
	"                    their link addresses); at the same address the last one wins\n"
	"  --sideband FILE   raw perf records; the first file is of the traced CPU; with\n"
	"                    --sample-type X, as in perf_event_attr\n"
	"  --time-conv SHIFT,MULT,ZERO, --tsc-offset TICKS\n"
	"                    convert timestamps to perf's time, after adding TICKS\n"
	"  --mtc-freq N, --nom-freq RATIO, --cpuid-0x15 EAX,EBX\n"
	"                    IA32_RTIT_CTL[17:14], MSR_PLATFORM_INFO[15:8] and the ratio of\n"
	"                    TSC and crystal clock: for times between timestamps\n"
	"  --raw etm         CoreSight; requires --etm-config FILE, the registers of the trace\n"
	"                    unit in the form of a CoreSight snapshot's .ini: [device]\n"
	"                    type=ETE or ETM4 …, [regs] TRCCONFIGR=0x… and so on; one FILE\n"
	"                    per unit in frames\n"
	"  --etm-format WHAT source_data: the bytes of one unit (default); coresight: 16-byte\n"
	"                    frames; dstream_coresight, tpiu, tpiu_hsync\n";

int cli_bad_value(const char *option, const char *value, const char *expected)
{
	cli_errorf(option, NULL, "'%s' is not %s", value, expected);
	return CLI_USAGE;
}

bool cli_number(const char *s, uint64_t max, uint64_t *value)
{
	return number_parse(s, max, value);
}

static int parse_raw(struct raw_options *ro, const char *arg)
{
	static const char form[] = "pt[:cpu=FAMILY/MODEL/STEPPING]";
	size_t len = strcspn(arg, ":");
	const char *at = arg + len;
	char name[16];
	uint64_t cpu[3] = {0};

	ro->is_raw = true;
	if (len >= sizeof(name))
		return cli_bad_value("--raw", arg, "a trace family");
	memcpy(name, arg, len);
	name[len] = '\0';
	ro->family = auxtap_family_of_raw(name);
	if (!ro->family) {
		cli_errorf("--raw", "use --raw pt, --raw spe or --raw etm", "no trace family '%s'",
			   name);
		return CLI_USAGE;
	}
	ro->raw.family = ro->family->raw_name;
	if (!*at)
		return 0;
	if (!ro->family->raw_takes_cpu_model) {
		cli_errorf("--raw",
			   ro->family->raw_needs_units ? "its type is in the trace unit's "
							 "registers: --etm-config FILE" :
							 "remove it",
			   "'%s': %s takes no CPU", arg, name);
		return CLI_USAGE;
	}
	if (strncmp(at, ":cpu=", 5) || !number_prefix(at + 5, &at, &cpu[0]) || *at++ != '/' ||
	    !number_prefix(at, &at, &cpu[1]) || *at++ != '/' || !number_prefix(at, &at, &cpu[2]) ||
	    *at || cpu[0] > UINT16_MAX || cpu[1] > UINT8_MAX || cpu[2] > UINT8_MAX)
		return cli_bad_value("--raw", arg, form);
	ro->raw.cpu_family = (int)cpu[0];
	ro->raw.cpu_model = (int)cpu[1];
	ro->raw.cpu_stepping = (int)cpu[2];
	return 0;
}

static int parse_time_conv(struct raw_options *ro, const char *arg)
{
	struct auxtap_raw_opts *raw = &ro->raw;
	const char *at = arg;

	if (!number_prefix(at, &at, &raw->time_shift) || *at++ != ',' ||
	    !number_prefix(at, &at, &raw->time_mult) || *at++ != ',' ||
	    !number_prefix(at, &at, &raw->time_zero) || *at || !raw->time_mult ||
	    raw->time_shift > 63)
		return cli_bad_value("--time-conv", arg, "SHIFT,MULT,ZERO");
	return 0;
}

static int parse_cpuid(struct raw_options *ro, const char *arg)
{
	uint64_t eax, ebx;
	const char *at = arg;

	if (!number_prefix(at, &at, &eax) || *at++ != ',' || !number_prefix(at, &at, &ebx) || *at ||
	    !eax || !ebx || eax > UINT32_MAX || ebx > UINT32_MAX)
		return cli_bad_value("--cpuid-0x15", arg, "EAX,EBX, two numbers above 0");
	ro->raw.cpuid_0x15_eax = (uint32_t)eax;
	ro->raw.cpuid_0x15_ebx = (uint32_t)ebx;
	return 0;
}

void raw_options_init(struct raw_options *ro)
{
	memset(ro, 0, sizeof(*ro));
	ro->raw.size = sizeof(ro->raw);
	ro->raw.sideband = ro->sideband;
	ro->raw.etm_configs = ro->etm_configs;
}

int raw_options_parse(struct raw_options *ro, int opt, const char *arg)
{
	static const char *const formats[] = {"source_data", "coresight", "dstream_coresight",
					      "tpiu", "tpiu_hsync"};
	uint64_t value;

	ro->given |= 1u << (opt - RAW_OPT_FIRST);
	switch (opt) {
	case RAW_OPT_RAW:
		return parse_raw(ro, arg);
	case RAW_OPT_IMAGE:
		if (ro->nr_images == RAW_MAX_IMAGES)
			return cli_bad_value("--image", arg, "accepted: at most 256 images");
		ro->images[ro->nr_images++].arg = arg;
		return 0;
	case RAW_OPT_SIDEBAND:
		if (ro->raw.nr_sideband == RAW_MAX_SIDEBAND)
			return cli_bad_value("--sideband", arg, "accepted: at most 64 files");
		ro->sideband[ro->raw.nr_sideband++] = arg;
		return 0;
	case RAW_OPT_SAMPLE_TYPE:
		if (!cli_number(arg, UINT64_MAX, &ro->raw.sample_type))
			return cli_bad_value("--sample-type", arg, "a number");
		return 0;
	case RAW_OPT_TIME_CONV:
		return parse_time_conv(ro, arg);
	case RAW_OPT_TSC_OFFSET:
		if (!cli_number(arg, UINT64_MAX, &ro->raw.tsc_offset))
			return cli_bad_value("--tsc-offset", arg, "a number of ticks");
		return 0;
	case RAW_OPT_MTC_FREQ:
		if (!cli_number(arg, 15, &value))
			return cli_bad_value("--mtc-freq", arg, "a number from 0 to 15");
		ro->raw.mtc_freq = (uint8_t)value;
		return 0;
	case RAW_OPT_NOM_FREQ:
		if (!cli_number(arg, 255, &value) || !value)
			return cli_bad_value("--nom-freq", arg, "a number from 1 to 255");
		ro->raw.nom_freq = (uint8_t)value;
		return 0;
	case RAW_OPT_CPUID_0X15:
		return parse_cpuid(ro, arg);
	case RAW_OPT_ETM_CONFIG:
		if (ro->raw.nr_etm_configs == RAW_MAX_CONFIGS)
			return cli_bad_value("--etm-config", arg, "accepted: at most 111 files");
		ro->etm_configs[ro->raw.nr_etm_configs++] = arg;
		return 0;
	case RAW_OPT_ETM_FORMAT:
		for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++)
			if (!strcmp(arg, formats[i])) {
				ro->raw.etm_format = arg;
				return 0;
			}
		return cli_bad_value(
			"--etm-format", arg,
			"source_data, coresight, dstream_coresight, tpiu or tpiu_hsync");
	default:
		return CLI_USAGE;
	}
}

static uint32_t option_bit(int opt)
{
	return 1u << (opt - RAW_OPT_FIRST);
}

/* Checks that the options belong to the trace family. */
static int check_family(const struct raw_options *ro)
{
	static const struct {
		int opt;
		const char *name;
	} pt_only[] = {{RAW_OPT_SIDEBAND, "--sideband"},
		       {RAW_OPT_SAMPLE_TYPE, "--sample-type"},
		       {RAW_OPT_MTC_FREQ, "--mtc-freq"},
		       {RAW_OPT_NOM_FREQ, "--nom-freq"},
		       {RAW_OPT_CPUID_0X15, "--cpuid-0x15"}};
	bool frames = ro->raw.etm_format && strcmp(ro->raw.etm_format, "source_data") != 0;

	if (!ro->family->raw_needs_units) {
		if (!(ro->given &
		      (option_bit(RAW_OPT_ETM_CONFIG) | option_bit(RAW_OPT_ETM_FORMAT))))
			return 0;
		cli_errorf(ro->given & option_bit(RAW_OPT_ETM_CONFIG) ? "--etm-config" :
									"--etm-format",
			   NULL, "requires --raw etm");
		return CLI_USAGE;
	}
	for (size_t i = 0; i < sizeof(pt_only) / sizeof(pt_only[0]); i++) {
		if (!(ro->given & option_bit(pt_only[i].opt)))
			continue;
		cli_errorf(pt_only[i].name, "remove it", "has no effect on CoreSight trace");
		return CLI_USAGE;
	}
	if (!ro->raw.nr_etm_configs) {
		cli_errorf("--raw etm", "use --etm-config FILE",
			   "raw trace cannot be decoded without the registers of its trace unit");
		return CLI_USAGE;
	}
	if (ro->raw.nr_etm_configs > 1 && !frames) {
		cli_errorf("--etm-config", "for frames use --etm-format coresight",
			   "%u trace units, but source_data contains only one",
			   ro->raw.nr_etm_configs);
		return CLI_USAGE;
	}
	return 0;
}

int raw_options_check(const struct raw_options *ro, const char *command, bool has_file)
{
	int ret = ro->is_raw ? check_family(ro) : 0;

	if (ret)
		return ret;
	if (!ro->is_raw && ro->given) {
		cli_errorf(command, "add --raw pt for a raw trace",
			   "--image, --sideband and the options for CPU, clock and trace "
			   "unit require --raw");
		return CLI_USAGE;
	}
	if (ro->is_raw && !has_file) {
		cli_errorf(command, "put it after the options", "no trace file given");
		return CLI_USAGE;
	}
	return 0;
}

static int parse_image(struct raw_image *image)
{
	const char *arg = image->arg, *at = strrchr(arg, '@'), *colon, *end;
	uint64_t to = 0;

	if (!at || !number_prefix(at + 1, &end, &image->addr) || *end || at == arg)
		return cli_bad_value("--image", arg, "FILE[:OFF-END]@ADDR");
	image->path_len = (size_t)(at - arg);
	colon = memrchr(arg, ':', image->path_len);
	if (!colon || !number_prefix(colon + 1, &end, &image->from) || *end != '-' ||
	    !number_prefix(end + 1, &end, &to) || end != at) {
		image->from = image->size = 0;
		return 0;
	}
	if (to <= image->from) {
		cli_errorf("--image", NULL, "'%s': the range is empty", arg);
		return CLI_USAGE;
	}
	image->path_len = (size_t)(colon - arg);
	image->size = to - image->from;
	return 0;
}

int raw_options_parse_images(struct raw_options *ro)
{
	int ret = 0;

	for (unsigned int i = 0; !ret && i < ro->nr_images; i++)
		ret = parse_image(&ro->images[i]);
	return ret;
}

static int add_image(struct auxtap_image_set *images, const struct raw_image *image,
		     struct auxtap_error *err)
{
	char path[4096];

	if (image->path_len >= sizeof(path))
		return auxtap_error_set(err, -ENAMETOOLONG, "--image", "the path is too long");
	memcpy(path, image->arg, image->path_len);
	path[image->path_len] = '\0';
	return auxtap_image_set_add_file(images, path, image->from, image->size, image->addr, err);
}

int raw_options_add_images(const struct raw_options *ro, struct auxtap_image_set *images,
			   struct auxtap_error *err)
{
	int ret = 0;

	for (unsigned int i = 0; !ret && i < ro->nr_images; i++)
		ret = add_image(images, &ro->images[i], err);
	return ret;
}
