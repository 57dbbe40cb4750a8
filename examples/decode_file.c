// SPDX-License-Identifier: BSD-2-Clause
/*
 * Print the branches and gaps of a recording: decode_file FILE [TID]...
 * The same lines, in other words, as 'auxtap decode --events branch,gap FILE'.
 */
#include <auxtap/decode.h>
#include <stdio.h>
#include <stdlib.h>

static void print(const struct auxtap_event *ev)
{
	if (ev->type == AUXTAP_EVENT_GAP)
		printf("%d gap %s: %s\n", (int)ev->tid, auxtap_gap_cause_name(ev->gap->cause),
		       ev->text);
	else if (ev->has_addr)
		printf("%d %llx %llx\n", (int)ev->tid, (unsigned long long)ev->ip,
		       (unsigned long long)ev->addr);
	else /* the trace does not say where it went */
		printf("%d %llx ?\n", (int)ev->tid, (unsigned long long)ev->ip);
}

/* Decodes an open file; images are those that its sideband names. */
static int decode(struct auxtap_perfdata *pd, const struct auxtap_decode_opts *opts,
		  struct auxtap_error *err)
{
	struct auxtap_event ev = {.size = sizeof(ev)};
	struct auxtap_image_set *images;
	struct auxtap_decoder *dec;
	int ret;

	ret = auxtap_image_set_new(&images, NULL, err);
	if (ret)
		return ret;
	ret = auxtap_decoder_open(&dec, pd, images, opts, err);
	if (!ret) {
		while ((ret = auxtap_decoder_next(dec, &ev, err)) == 1)
			print(&ev);
		auxtap_decoder_close(dec);
	}
	auxtap_image_set_free(images);
	return ret;
}

int main(int argc, char **argv)
{
	struct auxtap_decode_opts opts = {.size = sizeof(opts)};
	struct auxtap_error err = AUXTAP_ERROR_INIT;
	struct auxtap_perfdata *pd;
	int32_t tids[64];
	int ret;

	if (argc < 2 || argc > 2 + 64) {
		fprintf(stderr, "usage: decode_file FILE [TID]...\n");
		return 2;
	}
	for (int i = 2; i < argc; i++)
		tids[i - 2] = (int32_t)strtol(argv[i], NULL, 10);
	opts.events = AUXTAP_EVENT_BRANCH | AUXTAP_EVENT_GAP;
	opts.tids = tids; /* none: all threads */
	opts.nr_tids = (size_t)argc - 2;
	ret = auxtap_perfdata_open(&pd, argv[1], &err);
	if (!ret) {
		ret = decode(pd, &opts, &err);
		auxtap_perfdata_close(pd);
	}
	if (!ret)
		return 0;
	fprintf(stderr, "decode_file: %s: %s\n", err.what, err.why);
	return 1;
}
