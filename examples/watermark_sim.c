// SPDX-License-Identifier: BSD-2-Clause
/*
 * Run one machine of the watermark simulator and list its losses: how much is lost, and when, with
 * a reader of the given latency. Prints a line for each loss with its cause, then the sums.
 *
 *	cc -o watermark_sim watermark_sim.c $(pkg-config --cflags --libs libauxtap-watermark)
 *	./watermark_sim trbe 16384 2000000
 */
#include <auxtap/watermark.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

static void on_event(void *ctx, const struct auxtap_watermark_event *e)
{
	uint64_t *nr_losses = ctx;

	if (e->what != AUXTAP_WM_LOSS)
		return;
	++*nr_losses;
	printf("%" PRIu64 " ns: %" PRIu64 " bytes, %s\n", e->time_ns, e->a,
	       auxtap_watermark_loss_name((enum auxtap_watermark_loss)e->b));
}

int main(int argc, char **argv)
{
	struct auxtap_error err = AUXTAP_ERROR_INIT;
	struct auxtap_watermark_config config = {.size = sizeof(config)};
	struct auxtap_watermark_result r = {.size = sizeof(r)};
	uint64_t nr_losses = 0;

	if (argc != 4) {
		fprintf(stderr, "usage: %s intel_pt|arm_spe|trbe WATERMARK READER-LATENCY-NS\n",
			argv[0]);
		return 2;
	}
	auxtap_watermark_typical(&config, argv[1]);
	config.watermark = strtoull(argv[2], NULL, 0);
	config.reader_latency_ns = strtoull(argv[3], NULL, 0);
	if (auxtap_watermark_run(&config, on_event, &nr_losses, &r, &err)) {
		fprintf(stderr, "%s: %s\n", err.what, err.why);
		return 2;
	}
	if (r.refused) {
		printf("refused: %s\n", r.refusal);
		return 0;
	}
	printf("%" PRIu64 " losses, %" PRIu64 " bytes of %" PRIu64 " stored, %" PRIu64 " wakeups\n",
	       nr_losses, r.stored, r.produced, r.nr_wakeups);
	for (uint64_t i = 0; i < r.nr_kept; i++) /* invariants that were violated */
		printf("%s: %s\n", auxtap_watermark_get_invariant(r.violations[i].invariant)->name,
		       r.violations[i].text);
	return r.nr_violations != 0;
}
