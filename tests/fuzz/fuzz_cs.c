// SPDX-License-Identifier: BSD-2-Clause
/*
 * Fuzz target: CoreSight, as a perf.data file or as a snapshot whose files are concatenated
 * ("CSSNAP\n", then for each "NAME SIZE\n" and its bytes), decoded and listed over bytes that are
 * not the traced code (this program's own). For libFuzzer, and called by mutate.c.
 */
#include "fuzz.h"

#include <auxtap/dump.h>
#include <cli/crash_guard.h>

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* A decoder that lists more than this from so few bytes would not end. */
#define MAX_EVENTS (64u << 20)
#define CODE_SIZE  (64u << 10)

static uint64_t sum;

static struct auxtap_image_set *code(void)
{
	/* the code addresses of the mutated captures */
	static const uint64_t bases[] = {0,	     0x1000000,	 0x629b293000,	    0x582b2b1000,
					 0xfffeb000, 0x80000000, 0xffffff9a5dc00000};
	struct auxtap_image_set_opts opts = {.size = sizeof(opts)};
	struct auxtap_error err = AUXTAP_ERROR_INIT;
	struct auxtap_image_set *images;

	if (auxtap_image_set_new(&images, &opts, &err))
		abort();
	for (size_t i = 0; i < sizeof(bases) / sizeof(bases[0]); i++)
		if (auxtap_image_set_add_file(images, "/proc/self/exe", 0x1000, CODE_SIZE, bases[i],
					      &err))
			abort();
	return images;
}

static void drain(struct auxtap_decoder *dec, struct auxtap_image_set *images)
{
	struct auxtap_error err = AUXTAP_ERROR_INIT;
	struct auxtap_event ev = {.size = sizeof(ev)};
	char text[128];
	uint32_t nr = 0;

	while (auxtap_decoder_next(dec, &ev, &err) == 1) {
		if (++nr > MAX_EVENTS)
			abort();
		if (!(nr % 1024) && ev.insn_size)
			auxtap_disassemble_as(images, ev.isa, ev.ip, ev.insn, ev.insn_size, text,
					      sizeof(text));
		sum += ev.ip + ev.nr_insns;
	}
	auxtap_decoder_close(dec);
}

static void decode(const char *path, bool snapshot, uint32_t events)
{
	struct auxtap_decode_opts opts = {.size = sizeof(opts), .events = events, .jobs = 1};
	struct auxtap_error err = AUXTAP_ERROR_INIT;
	struct auxtap_image_set *images = code();
	struct auxtap_perfdata *pd = NULL;
	struct auxtap_decoder *dec;

	if (snapshot) {
		if (!auxtap_decoder_open_snapshot(&dec, path, images, &opts, &err))
			drain(dec, images);
	} else if (!auxtap_perfdata_open(&pd, path, &err)) {
		if (!auxtap_decoder_open(&dec, pd, images, &opts, &err))
			drain(dec, images);
	}
	auxtap_perfdata_close(pd);
	auxtap_image_set_free(images);
}

static void list(const char *path, bool snapshot)
{
	static FILE *null;
	struct auxtap_dump_opts opts = {.size = sizeof(opts)};
	struct auxtap_error err = AUXTAP_ERROR_INIT;
	struct auxtap_perfdata *pd;

	if (!null)
		null = fopen("/dev/null", "w");
	if (!null)
		abort();
	if (snapshot) {
		auxtap_dump_snapshot(path, &opts, null, &err);
	} else if (!auxtap_perfdata_open(&pd, path, &err)) {
		auxtap_dump(pd, &opts, null, &err);
		auxtap_perfdata_close(pd);
	}
}

static void all(const char *path, bool snapshot)
{
	decode(path, snapshot,
	       AUXTAP_EVENT_BRANCH | AUXTAP_EVENT_CALL | AUXTAP_EVENT_RETURN | AUXTAP_EVENT_ASYNC |
		       AUXTAP_EVENT_TRACE | AUXTAP_EVENT_GAP);
	decode(path, snapshot, AUXTAP_EVENT_INSN | AUXTAP_EVENT_GAP);
	list(path, snapshot);
}

/* Writes the packed files into dir; skips a name that a mutation made invalid. */
static void unpack(const char *dir, const char *data, size_t size)
{
	size_t at = 0;

	while (at < size) {
		const char *end = memchr(data + at, '\n', size - at);
		char line[128] = "", name[64], path[160];
		size_t nr;
		int fd;

		if (!end || (size_t)(end - data) - at >= sizeof(line))
			return;
		memcpy(line, data + at, (size_t)(end - data) - at);
		at = (size_t)(end - data) + 1;
		if (sscanf(line, "%63s %zu", name, &nr) != 2 || strchr(name, '/') || *name == '.')
			return;
		if (nr > size - at)
			nr = size - at;
		snprintf(path, sizeof(path), "%s/%s", dir, name);
		fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
		if (fd >= 0) {
			if (write(fd, data + at, nr) != (ssize_t)nr)
				abort();
			close(fd);
		}
		at += nr;
	}
}

static void empty(const char *dir)
{
	DIR *d = opendir(dir);
	struct dirent *entry;

	while (d && (entry = readdir(d)))
		if (*entry->d_name != '.')
			unlinkat(dirfd(d), entry->d_name, 0);
	if (d)
		closedir(d);
	rmdir(dir);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char head[] = "CSSNAP\n";
	char path[64] = "/dev/shm/fuzz_cs.XXXXXX";
	int fd;

	signal(SIGSEGV, SIG_DFL); /* as in the command: OpenCSD 1.3.3 does crash */
	crash_guard_install("fuzz");
	if (size > sizeof(head) && !memcmp(data, head, sizeof(head) - 1)) {
		if (!mkdtemp(path))
			abort();
		unpack(path, (const char *)data + sizeof(head) - 1, size - sizeof(head) + 1);
		all(path, true);
		empty(path);
		return 0;
	}
	fd = memfd_create("fuzz", MFD_CLOEXEC);
	if (fd < 0 || write(fd, data, size) != (ssize_t)size)
		abort();
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	all(path, false);
	close(fd);
	return 0;
}
