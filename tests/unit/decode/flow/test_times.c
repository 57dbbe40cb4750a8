// SPDX-License-Identifier: BSD-2-Clause
/*
 * Times against the emulated TSC: one tick an instruction, more for the emulated kernel's and
 * the recorder's work meanwhile, so time minus instructions never falls.
 *
 * The MTC period is one CTC tick, 40 TSC ticks, and an MTC sends the pending TNT bits: a packet
 * that gives a time is at most 40 ticks and the block B in which the change fell away from the
 * next. An instruction has the time of the last packet that the flow needed: too late by what
 * a TNT covers (40 + B) or too early by the longest run R without a packet-consuming branch.
 * The test compares two times, each with that error, so 40 + B + R. In gzip and ld.so B is 69
 * and R is 76; 94 to 119 ticks were measured, in any environment. (More was measured while
 * CYC counted past the time of its MTC: libipt's calibration then used a few cycles for a
 * whole period.)
 */
#define BOUND (40 + 69 + 76)

#include <auxtap/decode.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

static char dir[] = "/tmp/auxtap-times-XXXXXX";

static int enter(void **state)
{
	(void)state;
	return mkdtemp(dir) ? 0 : -1;
}

static int leave(void **state)
{
	char cmd[128];

	(void)state;
	snprintf(cmd, sizeof(cmd), "rm -r %s", dir);
	return system(cmd);
}

/*
 * The unit's ratios (80 : 2, and 10), in case the recording does not contain them: no decoder can
 * use MTC without them.
 */
static void state_ratios(const char *path)
{
	static const struct {
		enum auxtap_pt_info index;
		uint64_t value;
	} ratios[] = {{AUXTAP_PT_INFO_TSC_CTC_N, 80},
		      {AUXTAP_PT_INFO_TSC_CTC_D, 2},
		      {AUXTAP_PT_INFO_MAX_NONTURBO_RATIO, 10}};
	struct auxtap_perfdata *pd;
	struct auxtap_record rec = {.size = sizeof(rec)};
	FILE *file = fopen(path, "r+b");

	assert_non_null(file);
	assert_int_equal(auxtap_perfdata_open(&pd, path, NULL), 0);
	while (auxtap_perfdata_next(pd, &rec, NULL) == 1) {
		if (rec.header->type != AUXTAP_RECORD_AUXTRACE_INFO)
			continue;
		for (size_t i = 0; i < sizeof(ratios) / sizeof(ratios[0]); i++) {
			/* header, type and a reserved word come before the array */
			fseek(file, (long)rec.offset + 16 + 8 * (long)ratios[i].index, SEEK_SET);
			assert_int_equal(fwrite(&ratios[i].value, 8, 1, file), 1);
		}
	}
	auxtap_perfdata_close(pd);
	fclose(file);
}

static void check(const char *event, uint64_t bound)
{
	struct auxtap_decode_opts opts = {.size = sizeof(opts),
					  .jobs = 1,
					  .events = AUXTAP_EVENT_INSN | AUXTAP_EVENT_TRACE |
						    AUXTAP_EVENT_GAP};
	struct auxtap_image_set_opts image_opts = {.size = sizeof(image_opts)};
	struct auxtap_image_set *images;
	struct auxtap_perfdata *pd;
	struct auxtap_decoder *dec;
	struct auxtap_event ev = {.size = sizeof(ev)};
	uint64_t nr = 0, starts = 0, last = 0;
	int64_t kernel = 0, worst = 0;
	char cmd[1024];

	snprintf(cmd, sizeof(cmd),
		 "seq 300 >%s/in; %s/auxtap record --source qemu -e %s -o %s/data -- gzip -c %s/in "
		 ">%s/out 2>&1",
		 dir, AUXTAP_BIN, event, dir, dir, dir);
	assert_int_equal(system(cmd), 0);
	snprintf(cmd, sizeof(cmd), "%s/data", dir);
	state_ratios(cmd);
	assert_int_equal(auxtap_image_set_new(&images, &image_opts, NULL), 0);
	assert_int_equal(auxtap_perfdata_open(&pd, cmd, NULL), 0);
	assert_int_equal(auxtap_decoder_open(&dec, pd, images, &opts, NULL), 0);
	while (auxtap_decoder_next(dec, &ev, NULL) == 1) {
		int64_t off;

		assert_int_not_equal(ev.type, AUXTAP_EVENT_GAP);
		assert_true(ev.time >= last);
		last = ev.time;
		if (ev.type == AUXTAP_EVENT_TRACE) {
			starts += ev.trace_on;
			continue;
		}
		nr++;
		/* ticks that the kernel's work adds stay in the difference */
		if ((int64_t)(ev.time - nr) > kernel)
			kernel = (int64_t)(ev.time - nr);
		off = kernel - (int64_t)(ev.time - nr);
		if (off > worst)
			worst = off;
	}
	assert_true(nr > 100000);
	assert_in_range(worst, 0, bound);
	assert_in_range(kernel, 0, 1000 + 20 * starts);
	auxtap_decoder_close(dec);
	auxtap_perfdata_close(pd);
	auxtap_image_set_free(images);
}

static void cyc_and_mtc(void **state)
{
	(void)state;
	check("intel_pt/cyc,mtc/u", BOUND);
}

static void mtc_alone(void **state)
{
	(void)state;
	check("intel_pt/mtc/u", BOUND);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cyc_and_mtc),
		cmocka_unit_test(mtc_alone),
	};

	return cmocka_run_group_tests(tests, enter, leave);
}
