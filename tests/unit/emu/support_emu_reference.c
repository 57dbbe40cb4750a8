// SPDX-License-Identifier: BSD-2-Clause
/*
 * The reference: libipt's instruction decoder over the drained stream, with the code that was
 * mapped at that time according to the sideband; the ground-truth files contain the addresses.
 */
#include "support_emu_client.h"
#include <fcntl.h>
#include <intel-pt.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

struct reference {
	const struct client *c;
	const struct client_trace *t;
	struct pt_insn_decoder *dec;
	uint64_t *ips;
	size_t nr, max;
	size_t *breaks; /* indices in ips at which a new run starts */
	size_t nr_breaks;
	uint64_t left_at; /* of the last asynchronous end */
	uint64_t astray;  /* times it continued elsewhere */
	char first_error[128];
	int nr_errors;
};

static int read_code(uint8_t *buf, size_t size, const struct pt_asid *asid, uint64_t ip, void *ctx)
{
	const struct reference *j = ctx;
	const struct client_map *best = NULL;
	uint64_t now = 0;
	ssize_t n;
	int fd;

	(void)asid;
	pt_insn_time(j->dec, &now, NULL, NULL);
	for (int i = 0; i < j->c->nr_maps; i++) {
		const struct client_map *m = &j->c->maps[i];

		if (m->pid != j->t->pid || m->time > now)
			continue;
		if (m->exec_marker)
			best = NULL;
		else if (ip >= m->addr && ip < m->addr + m->len)
			best = m;
	}
	if (!best)
		return -pte_nomap;
	if (size > best->addr + best->len - ip)
		size = best->addr + best->len - ip;
	if (best->bytes) {
		memcpy(buf, best->bytes + (ip - best->addr), size);
		return (int)size;
	}
	fd = open(best->name, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -pte_nomap;
	n = pread(fd, buf, size, (off_t)(ip - best->addr + best->pgoff));
	close(fd);
	return n > 0 ? (int)n : -pte_nomap;
}

static void add_ip(struct reference *j, uint64_t ip)
{
	if (j->nr == j->max) {
		j->max = j->max ? 2 * j->max : 65536;
		j->ips = realloc(j->ips, j->max * sizeof(*j->ips));
		assert_non_null(j->ips);
	}
	j->ips[j->nr++] = ip;
}

static void add_break(struct reference *j)
{
	j->breaks = realloc(j->breaks, (j->nr_breaks + 1) * sizeof(*j->breaks));
	j->breaks[j->nr_breaks++] = j->nr;
}

static void note(struct reference *j, const char *what, int err)
{
	uint64_t off = 0;

	pt_insn_get_offset(j->dec, &off);
	if (!j->nr_errors++)
		snprintf(j->first_error, sizeof(j->first_error), "%s at offset %#llx, insn %zu: %s",
			 what, (unsigned long long)off, j->nr, pt_errstr(pt_errcode(err)));
}

static void decode(struct reference *j)
{
	struct pt_config config;
	int status;

	pt_config_init(&config);
	config.begin = j->t->stream;
	config.end = j->t->stream + j->t->stream_size;
	config.mtc_freq = (j->c->config >> 14) & 15;
	config.nom_freq = 10;
	config.cpuid_0x15_eax = 2;
	config.cpuid_0x15_ebx = 80;
	j->dec = pt_insn_alloc_decoder(&config);
	assert_non_null(j->dec);
	struct pt_image *image = pt_image_alloc(NULL);

	pt_image_set_callback(image, read_code, j);
	pt_insn_set_image(j->dec, image);
	while ((status = pt_insn_sync_forward(j->dec)) >= 0) {
		add_break(j);
		for (;;) {
			struct pt_insn insn;

			while (status >= 0 && (status & pts_event_pending)) {
				struct pt_event ev;

				status = pt_insn_event(j->dec, &ev, sizeof(ev));
				if (status >= 0 && ev.type == ptev_async_disabled)
					j->left_at = ev.variant.async_disabled.at;
				if (status >= 0 && ev.type == ptev_disabled)
					j->left_at = 0;
				if (status >= 0 && ev.type == ptev_enabled && j->left_at &&
				    j->left_at != ev.variant.enabled.ip)
					j->astray++;
				if (status >= 0 &&
				    (ev.type == ptev_overflow || ev.type == ptev_enabled))
					add_break(j);
			}
			if (status < 0 || (status & pts_eos))
				break;
			memset(&insn, 0, sizeof(insn));
			status = pt_insn_next(j->dec, &insn, sizeof(insn));
			if (insn.iclass != ptic_error)
				add_ip(j, insn.ip);
			if (status < 0)
				break;
		}
		if (status < 0 && status != -pte_eos)
			note(j, "decode", status);
	}
	if (status != -pte_eos)
		note(j, "sync", status);
	pt_insn_free_decoder(j->dec);
	pt_image_free(image);
}

uint64_t *client_truth(struct client *c, pid_t tid, size_t *nr)
{
	char path[96];
	struct stat st;
	uint64_t *ips;
	int fd;

	snprintf(path, sizeof(path), "%s.%d", c->truth, tid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(fstat(fd, &st), 0);
	ips = malloc((size_t)st.st_size + 1);
	assert_int_equal(read(fd, ips, (size_t)st.st_size), st.st_size);
	close(fd);
	*nr = (size_t)st.st_size / sizeof(*ips);
	return ips;
}

static void compare(struct reference *j, const uint64_t *truth, size_t nr)
{
	size_t at = 0;

	while (at < nr && at < j->nr && truth[at] == j->ips[at])
		at++;
	if (at == nr && at == j->nr && !j->nr_errors)
		return;
	fprintf(stderr, "tid %d: %zu executed, %zu decoded, %d errors (%s); differ at %zu\n",
		j->t->tid, nr, j->nr, j->nr_errors, j->first_error, at);
	for (size_t i = at > 4 ? at - 4 : 0; i < at + 4; i++)
		fprintf(stderr, "  %zu: executed %#llx decoded %#llx\n", i,
			i < nr ? (unsigned long long)truth[i] : 0,
			i < j->nr ? (unsigned long long)j->ips[i] : 0);
	if (getenv("EMU_KEEP")) {
		FILE *f = fopen(getenv("EMU_KEEP"), "w");

		fwrite(j->t->stream, 1, j->t->stream_size, f);
		fclose(f);
	}
	fail_msg("tid %d: not what was executed", j->t->tid);
}

uint64_t client_verify(struct client *c)
{
	uint64_t total = 0;

	for (int i = 0; i < c->nr_traces; i++) {
		struct reference j = {.c = c, .t = &c->traces[i]};
		size_t nr;
		uint64_t *truth = client_truth(c, j.t->tid, &nr);

		assert_int_equal(j.t->lost, 0);
		decode(&j);
		compare(&j, truth, nr);
		c->astray += j.astray;
		assert_int_equal(j.t->stats.nr_insns, nr);
		total += nr;
		free(truth);
		free(j.ips);
		free(j.breaks);
	}
	return total;
}

uint64_t client_verify_lossy(struct client *c)
{
	uint64_t total = 0;

	for (int i = 0; i < c->nr_traces; i++) {
		struct reference j = {.c = c, .t = &c->traces[i]};
		size_t nr, at = 0;
		uint64_t *truth = client_truth(c, j.t->tid, &nr);

		decode(&j);
		for (size_t b = 0; b < j.nr_breaks; b++) {
			size_t end = b + 1 < j.nr_breaks ? j.breaks[b + 1] : j.nr;
			size_t len = end - j.breaks[b];

			/* the next position of this run in the ground truth */
			while (len && at + len <= nr &&
			       memcmp(&truth[at], &j.ips[j.breaks[b]], len * sizeof(*truth)))
				at++;
			if (len && at + len > nr)
				fail_msg("tid %d: a run of %zu at %zu was never executed", j.t->tid,
					 len, j.breaks[b]);
			at += len;
		}
		total += j.nr;
		free(truth);
		free(j.ips);
		free(j.breaks);
	}
	return total;
}
