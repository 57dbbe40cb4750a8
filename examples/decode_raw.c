// SPDX-License-Identifier: BSD-2-Clause
/*
 * Print the addresses of the instructions that a bare Intel PT buffer contains, without perf.data
 * around it: decode_raw TRACE IMAGE ADDRESS, where IMAGE is the code that was mapped at ADDRESS.
 * The same lines as 'auxtap decode --raw pt --image IMAGE@ADDRESS --events insn -F ip TRACE'.
 */
#include <auxtap/decode.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
	const struct auxtap_raw_opts raw = {.size = sizeof(raw), .family = "pt"};
	const struct auxtap_decode_opts opts = {.size = sizeof(opts),
						.events = AUXTAP_EVENT_INSN | AUXTAP_EVENT_GAP};
	struct auxtap_event ev = {.size = sizeof(ev)};
	struct auxtap_error err = AUXTAP_ERROR_INIT;
	struct auxtap_image_set *images = NULL;
	struct auxtap_decoder *dec = NULL;
	int ret;

	if (argc != 4) {
		fprintf(stderr, "usage: decode_raw TRACE IMAGE ADDRESS\n");
		return 2;
	}
	ret = auxtap_image_set_new(&images, NULL, &err);
	if (!ret)
		ret = auxtap_image_set_add_file(images, argv[2], 0, 0, strtoull(argv[3], NULL, 16),
						&err);
	if (!ret)
		ret = auxtap_decoder_open_raw(&dec, argv[1], &raw, images, &opts, &err);
	while (!ret && (ret = auxtap_decoder_next(dec, &ev, &err)) == 1) {
		if (ev.type == AUXTAP_EVENT_GAP)
			fprintf(stderr, "gap: %s: %s\n", auxtap_gap_cause_name(ev.gap->cause),
				ev.text);
		else
			printf("%llx\n", (unsigned long long)ev.ip);
		ret = 0;
	}
	auxtap_decoder_close(dec);
	auxtap_image_set_free(images);
	if (!ret)
		return 0;
	fprintf(stderr, "decode_raw: %s: %s\n", err.what, err.why);
	return 1;
}
