// SPDX-License-Identifier: BSD-2-Clause
/*
 * compare_ground_truth TRUTH [--gaps]: are the addresses on standard input (hex, one a line) those
 * that were executed (TRUTH: u64, little-endian)? With --gaps the input may have lines that
 * begin with "gap": there, and only there, a run of executed addresses may be missing.
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct run {
	uint64_t *ips;
	size_t nr, max;
};

static int add(struct run *run, uint64_t ip)
{
	if (run->nr == run->max) {
		size_t max = run->max ? 2 * run->max : 1 << 16;
		uint64_t *grown = realloc(run->ips, max * sizeof(*grown));

		if (!grown)
			return -1;
		run->ips = grown;
		run->max = max;
	}
	run->ips[run->nr++] = ip;
	return 0;
}

static int read_truth(const char *path, struct run *truth)
{
	FILE *f = fopen(path, "rb");
	uint64_t ip;

	if (!f) {
		perror(path);
		return -1;
	}
	while (fread(&ip, sizeof(ip), 1, f) == 1) {
		if (add(truth, ip)) {
			fclose(f);
			return -1;
		}
	}
	fclose(f);
	return 0;
}

/* First position of run in truth at or after from: Knuth, Morris and Pratt. */
static size_t find(const struct run *truth, size_t from, const struct run *run)
{
	uint32_t *fail = calloc(run->nr + 1, sizeof(*fail));
	size_t at = 0, found = SIZE_MAX;

	if (!fail)
		return SIZE_MAX;
	for (size_t i = 1, k = 0; i < run->nr; i++) {
		while (k && run->ips[i] != run->ips[k])
			k = fail[k];
		if (run->ips[i] == run->ips[k])
			k++;
		fail[i + 1] = (uint32_t)k;
	}
	for (size_t i = from; i < truth->nr; i++) {
		while (at && truth->ips[i] != run->ips[at])
			at = fail[at];
		if (truth->ips[i] == run->ips[at])
			at++;
		if (at == run->nr) {
			found = i + 1 - run->nr;
			break;
		}
	}
	free(fail);
	return found;
}

int main(int argc, char **argv)
{
	struct run truth = {0}, run = {0};
	bool gaps = argc == 3 && !strcmp(argv[2], "--gaps");
	size_t at = 0, listed = 0, nr_gaps = 0, left_out = 0;
	bool after_gap = false, end = false;
	char *line = NULL;
	size_t line_size = 0;

	if (argc != 2 && !gaps) {
		fprintf(stderr, "usage: compare_ground_truth TRUTH [--gaps] < ADDRESSES\n");
		return 2;
	}
	if (read_truth(argv[1], &truth))
		return 2;
	while (!end) {
		bool is_gap = false;
		size_t found;

		run.nr = 0;
		for (;;) {
			char *text, *rest;

			if (getline(&line, &line_size, stdin) < 0) {
				end = true;
				break;
			}
			text = line + strspn(line, " ");
			if (!strncmp(text, "gap", 3)) {
				is_gap = true;
				break;
			}
			if (!strncmp(text, "insn", 4))
				text += 4;
			uint64_t ip = strtoull(text, &rest, 16);
			if (rest == text) {
				fprintf(stderr, "not an address: %s", line);
				return 1;
			}
			if (add(&run, ip))
				return 2;
		}
		if (is_gap && !gaps) {
			fprintf(stderr, "a gap after %zu instructions: %s", listed + run.nr, line);
			return 1;
		}
		nr_gaps += is_gap;
		listed += run.nr;
		if (run.nr) {
			if (after_gap) {
				found = find(&truth, at, &run);
			} else {
				size_t n = truth.nr - at < run.nr ? truth.nr - at : run.nr, i = 0;

				while (i < n && truth.ips[at + i] == run.ips[i])
					i++;
				found = i == run.nr ? at : SIZE_MAX;
				if (found == SIZE_MAX)
					fprintf(stderr,
						"instruction %zu: executed %" PRIx64
						", listed %" PRIx64 "\n",
						at + i, at + i < truth.nr ? truth.ips[at + i] : 0,
						run.ips[i]);
			}
			if (found == SIZE_MAX) {
				fprintf(stderr,
					"a run of %zu listed instructions (first %" PRIx64
					", last %" PRIx64
					") was not executed like that at or after instruction %zu of %zu\n",
					run.nr, run.ips[0], run.ips[run.nr - 1], at, truth.nr);
				return 1;
			}
			left_out += found - at;
			at = found + run.nr;
			after_gap = false;
		}
		after_gap |= is_gap;
	}
	if (at != truth.nr && !after_gap) {
		fprintf(stderr, "%zu executed instructions are missing at the end, without a gap\n",
			truth.nr - at);
		return 1;
	}
	left_out += truth.nr - at;
	free(line);
	free(run.ips);
	free(truth.ips);
	printf("executed %zu listed %zu gaps %zu left-out %zu\n", truth.nr, listed, nr_gaps,
	       left_out);
	if (truth.nr == 0) {
		fprintf(stderr, "the ground truth is empty\n");
		return 1;
	}
	return 0;
}
