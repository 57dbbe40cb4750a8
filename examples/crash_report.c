// SPDX-License-Identifier: BSD-2-Clause
/*
 * The report of a crash as text in memory, for a program that mails it or shows it in a window:
 * crash_report FILE. FILE is a snapshot that 'auxtap crash' has written; the text is the same as
 * that of 'auxtap report FILE'.
 */
#define _POSIX_C_SOURCE 200809L /* open_memstream() */
#include <auxtap/decode.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

/* The caller frees *text. 0 or negative errno. */
static int report(const char *path, char **text, size_t *size, struct auxtap_error *err)
{
	struct auxtap_perfdata *pd;
	FILE *memory;
	int ret;

	*text = NULL;
	ret = auxtap_perfdata_open(&pd, path, err);
	if (ret)
		return ret;
	memory = open_memstream(text, size);
	if (memory) {
		ret = auxtap_report(pd, NULL, memory, err);
		if (fclose(memory) && !ret)
			ret = auxtap_error_set(err, -ENOMEM, path, "out of memory");
	} else {
		ret = auxtap_error_set(err, -ENOMEM, path, "out of memory");
	}
	auxtap_perfdata_close(pd);
	return ret;
}

int main(int argc, char **argv)
{
	struct auxtap_error err = AUXTAP_ERROR_INIT;
	size_t size = 0;
	char *text;
	int ret;

	if (argc != 2) {
		fprintf(stderr, "usage: crash_report FILE\n");
		return 2;
	}
	ret = report(argv[1], &text, &size, &err);
	if (ret < 0)
		fprintf(stderr, "crash_report: %s: %s\n", err.what, err.why);
	else if (fwrite(text, 1, size, stdout) != size)
		ret = -1;
	free(text);
	return ret < 0;
}
