// SPDX-License-Identifier: BSD-2-Clause
/*
 * Writes the trace file of a session: its start, its records (with the vdso renamed and build-ids
 * looked up), its metadata and its end.
 */
#include "build_id.h"
#include "perfdata/capture_lines.h"
#include "pmu_family.h"
#include "session.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <unistd.h>

#define VDSO_MAX 65536u

/* Sets vdso_path to the absolute name of path + ".vdso": perf may run in another directory. */
static void set_vdso_path(struct trace_file *file)
{
	char dir[PATH_MAX], real[PATH_MAX], *slash;
	int n = -1;

	file->vdso_path[0] = '\0';
	if (snprintf(dir, sizeof(dir), "%s", file->path) >= (int)sizeof(dir))
		return;
	slash = strrchr(dir, '/');
	if (slash)
		slash[slash == dir] = '\0';
	if (realpath(slash ? dir : ".", real))
		n = snprintf(file->vdso_path, sizeof(file->vdso_path), "%s/%s.vdso",
			     strcmp(real, "/") ? real : "",
			     slash ? strrchr(file->path, '/') + 1 : file->path);
	if (n < 0 || n >= (int)sizeof(file->vdso_path))
		file->vdso_path[0] = '\0';
}

/* Must the records of the file name no CPU? */
static bool omits_cpu(const struct auxtap_session *s)
{
	return s->event.family && s->event.family->threads_without_cpu && !s->layout->per_cpu;
}

int trace_file_create(struct auxtap_session *s, struct trace_file *file, const char *path,
		      struct auxtap_error *err)
{
	int ret;

	memset(file, 0, sizeof(*file));
	if (snprintf(file->path, sizeof(file->path), "%s", path) >= (int)sizeof(file->path))
		return auxtap_error_set(err, -ENAMETOOLONG, path, "name too long");
	set_vdso_path(file);
	ret = auxtap_perfdata_writer_create(&file->writer, path, err);
	if (ret)
		return ret;
	for (int i = 0; i < s->nr_attrs; i++) {
		struct perf_event_attr attr = s->attrs[i];

		if (omits_cpu(s))
			attr.sample_type &= ~(uint64_t)PERF_SAMPLE_CPU;
		ret = auxtap_perfdata_writer_add_attr(file->writer, &attr,
						      i ? "dummy:u" : s->event.name);
		if (ret < 0) {
			auxtap_error_set(err, ret, path, "%s", strerror(-ret));
			trace_file_abort(file);
			return ret;
		}
	}
	if (s->opts.argc_cmdline)
		auxtap_perfdata_writer_cmdline(file->writer, s->opts.argc_cmdline,
					       s->opts.argv_cmdline);
	return 0;
}

int trace_file_begin(struct auxtap_session *s, struct trace_file *file,
		     const struct perf_event_mmap_page *page, struct auxtap_error *err)
{
	struct capture_rings rings = {
		.page = page,
		.snapshot = s->recorder->overwrite,
		.per_cpu = s->layout->per_cpu,
		.sched_switch = s->layout->sched_switch,
	};
	int ret;

	if (file->begun)
		return 0;
	ret = auxtap_perfdata_writer_begin(file->writer, err);
	if (ret)
		return ret;
	file->begun = true;
	if (!s->event.aux)
		return 0;
	return capture_write_auxtrace_info(file->writer, file->path, &s->event, s->be->perf,
					   s->be->perf_ctx, &rings, err);
}

void session_save_vdso(struct auxtap_session *s, const struct map_list *maps, pid_t pid)
{
	if (s->vdso)
		return;
	for (size_t i = 0; i < maps->nr; i++) {
		const struct map_entry *e = &maps->entries[i];
		size_t size = e->end - e->start;
		unsigned char *image;

		if (strcmp(e->name, "[vdso]") || !(e->prot & PROT_EXEC) || size > VDSO_MAX)
			continue;
		image = malloc(size);
		if (image && s->be->target->mem(s->be->target_ctx, pid, e->start, image, size) ==
				     (ssize_t)size) {
			s->vdso = image;
			s->vdso_size = size;
		} else {
			free(image);
		}
		return;
	}
}

/* A native program has the same vdso as this process. */
static void save_own_vdso(struct auxtap_session *s)
{
	FILE *f = fopen("/proc/self/maps", "re");
	unsigned long long start, end;
	char line[512];

	while (f && !s->vdso && fgets(line, sizeof(line), f)) {
		if (!strstr(line, "[vdso]") || sscanf(line, "%llx-%llx", &start, &end) != 2 ||
		    end - start > VDSO_MAX)
			continue;
		s->vdso = malloc(end - start);
		if (!s->vdso)
			break;
		memcpy(s->vdso, (const void *)(uintptr_t)start, end - start);
		s->vdso_size = end - start;
	}
	if (f)
		fclose(f);
}

/* Writes a copy beside the file for perf, and one into the metadata for auxtap. */
static bool write_vdso(struct auxtap_session *s, struct trace_file *file)
{
	uint32_t name_size = (uint32_t)strlen(file->vdso_path);
	unsigned char *record;
	bool done;
	int fd;

	if (file->vdso_written)
		return true;
	if (!s->vdso && s->be->target->native)
		save_own_vdso(s);
	if (!s->vdso || !*file->vdso_path)
		return false;
	unlink(file->vdso_path);
	fd = open(file->vdso_path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0)
		return false;
	done = write(fd, s->vdso, s->vdso_size) == (ssize_t)s->vdso_size;
	close(fd);
	record = malloc(sizeof(name_size) + name_size + s->vdso_size);
	if (!done || !record) {
		free(record);
		unlink(file->vdso_path);
		return false;
	}
	memcpy(record, &name_size, sizeof(name_size));
	memcpy(record + sizeof(name_size), file->vdso_path, name_size);
	memcpy(record + sizeof(name_size) + name_size, s->vdso, s->vdso_size);
	auxtap_perfdata_writer_metadata(file->writer, AUXTAP_METADATA_IMAGE, record,
					sizeof(name_size) + name_size + s->vdso_size);
	free(record);
	file->vdso_written = true;
	return true;
}

static void add_build_id(struct trace_file *file, const char *name, const uint8_t *bytes,
			 uint8_t size)
{
	struct auxtap_build_id id = {.pid = -1, .misc = PERF_RECORD_MISC_USER, .filename = name};

	if (!size || !string_set_add(&file->build_ids_seen, name))
		return;
	id.size = size;
	memcpy(id.id, bytes, size);
	auxtap_perfdata_writer_build_id(file->writer, &id);
}

/*
 * Adds the build-id of a mapped file to the build-id table, which has one entry per name. If
 * several files had the name, a copy of the record in s->rewritten has the build-id in place of the
 * inode, as the kernel writes it with attr.build_id. Returns the size of the copy; 0: keep the
 * record.
 */
static size_t add_file_build_id(struct auxtap_session *s, struct trace_file *file,
				const void *record, const struct mmap2_body *map)
{
	const struct mapped_id *mapped =
		map->filename[0] == '/' ? mapped_build_ids_get(&s->mapped_build_ids, map, false) :
					  NULL;
	struct perf_event_header *header = (void *)s->rewritten;
	unsigned char *out;

	if (!mapped || !mapped->size)
		return 0;
	if (!mapped->several) {
		add_build_id(file, map->filename, mapped->id, mapped->size);
		return 0;
	}
	memcpy(s->rewritten, record, ((const struct perf_event_header *)record)->size);
	header->misc |= PERF_RECORD_MISC_MMAP_BUILD_ID;
	out = s->rewritten + sizeof(*header) + offsetof(struct mmap2_body, maj);
	memset(out, 0, 24);
	out[0] = mapped->size;
	memcpy(out + 4, mapped->id, mapped->size);
	return header->size;
}

/* Copies the record to out, without the CPU in its trailer. Returns the size. */
static size_t remove_cpu(void *out, const void *record, size_t size)
{
	const struct trailer *trailer;
	size_t body_size, cpu, rest;

	if (!record_parts(record, &body_size, &trailer))
		return 0;
	cpu = (size_t)((const char *)&trailer->cpu - (const char *)record);
	rest = cpu + offsetof(struct trailer, id) - offsetof(struct trailer, cpu);
	if (out != record)
		memcpy(out, record, cpu);
	memmove((char *)out + cpu, (const char *)record + rest, size - rest);
	size -= rest - cpu;
	((struct perf_event_header *)out)->size = (uint16_t)size;
	return size;
}

int trace_file_record(struct auxtap_session *s, struct trace_file *file, const void *record,
		      struct auxtap_error *err)
{
	const struct perf_event_header *header = record;
	const struct mmap2_body *map = record_mmap2(record);
	const struct trailer *trailer;
	size_t size = header->size, body_size, rewritten_size;
	uint8_t id[20] = {0};

	if (map && (map->prot & PROT_EXEC)) {
		if (!strcmp(map->filename, "[vdso]") && write_vdso(s, file) &&
		    record_parts(record, &body_size, &trailer)) {
			/* For the name [vdso] perf would use its own vdso. */
			size = record_make(s->rewritten, sizeof(s->rewritten), header->type,
					   header->misc, map, sizeof(*map), file->vdso_path,
					   trailer);
			if (size)
				record = s->rewritten;
			else
				size = header->size;
			add_build_id(file, file->vdso_path, id,
				     (uint8_t)build_id_read(file->vdso_path, NULL, id));
		} else if ((rewritten_size = add_file_build_id(s, file, record, map))) {
			record = s->rewritten;
			size = rewritten_size;
		}
	}
	if (omits_cpu(s)) {
		size_t shorter =
			size <= sizeof(s->rewritten) ? remove_cpu(s->rewritten, record, size) : 0;

		if (!shorter)
			return auxtap_error_set(err, -EPROTO, file->path,
						"a record of type %u is malformed", header->type);
		record = s->rewritten;
		size = shorter;
	}
	s->stats.records++;
	file->open_round = true;
	return auxtap_perfdata_writer_record(file->writer, record, size, NULL, 0, err);
}

static void print_number(FILE *f, const char *key, uint64_t value)
{
	fprintf(f, "%s: %llu\n", key, (unsigned long long)value);
}

/* Crash mode: which memory of the program is in the file. */
static void print_memory(FILE *f, const struct auxtap_session *s, const struct trace_file *file)
{
	static const char *const names[] = {
		[AUXTAP_MEMORY_STACK] = CAPTURE_LINE_MEMORY_STACK,
		[AUXTAP_MEMORY_REACHABLE] = CAPTURE_LINE_MEMORY_REACH,
		[AUXTAP_MEMORY_NONE] = CAPTURE_LINE_MEMORY_NONE,
	};

	fprintf(f, CAPTURE_LINE_MEMORY ": %s\n",
		names[s->opts.redact ? AUXTAP_MEMORY_NONE : s->opts.memory]);
	if (file->memory_incomplete)
		print_number(f, CAPTURE_LINE_MEMORY_CUT, 1);
	if (s->opts.redact)
		print_number(f, CAPTURE_LINE_REDACTED, 1);
}

/* Writes "key: value" lines that say how the trace was captured. */
static void write_capture_lines(struct auxtap_session *s, struct trace_file *file)
{
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	if (!f)
		return;
	fputs("version: " AUXTAP_VERSION "\n", f);
	fprintf(f, CAPTURE_LINE_BACKEND ": %s\n", s->be->perf->name);
	fprintf(f, CAPTURE_LINE_SOURCE ": %s\n", s->be->target->name);
	fprintf(f, CAPTURE_LINE_DESCRIPTION ": %s\n", s->be->description);
	fprintf(f, "event: %s\n", s->event.name);
	fprintf(f, CAPTURE_LINE_MODE ": %s\n", s->recorder->name);
	print_number(f, CAPTURE_LINE_AUX_SIZE, s->aux_bytes);
	fprintf(f, "time: %s\n", s->be->perf->emulated ? "emulated" : "real");
	if (*s->be->slowdown)
		fprintf(f, "slowdown: %s\n", s->be->slowdown);
	print_number(f, CAPTURE_LINE_TRUNCATIONS, s->stats.truncations);
	print_number(f, CAPTURE_LINE_COLLISIONS, s->stats.collisions);
	print_number(f, CAPTURE_LINE_LOST_RECORDS, s->stats.lost_records);
	print_number(f, "untraced", s->stats.untraced);
	print_number(f, "mappings_dropped", s->processes.dropped);
	if (s->recorder->per_crash)
		print_memory(f, s, file);
	if (file->nr_exited_without_trace)
		print_number(f, CAPTURE_LINE_THREADS_ENDED, file->nr_exited_without_trace);
	/* Exact bytes; linear mode: written = sum of AUX sizes + skipped = last head. */
	if (s->unit_lines_len)
		fwrite(s->unit_lines, 1, s->unit_lines_len, f);
	if (s->nr_other_units)
		fprintf(f, "%llu more units: produced %llu written %llu dropped %llu\n",
			(unsigned long long)s->nr_other_units,
			(unsigned long long)s->other_units.nr_produced,
			(unsigned long long)s->other_units.nr_written,
			(unsigned long long)s->other_units.nr_dropped);
	if (!fclose(f) && text)
		auxtap_perfdata_writer_metadata(file->writer, AUXTAP_METADATA_CAPTURE, text, size);
	free(text);
}

int trace_file_finish(struct auxtap_session *s, struct trace_file *file, struct auxtap_error *err)
{
	int ret;

	if (!file->writer)
		return 0;
	write_capture_lines(s, file);
	if (file->nr_gaps > MAX_GAPS) {
		struct auxtap_gap sum = file->gap_sum;

		sum.cause = AUXTAP_GAP_UNKNOWN; /* of several causes */
		sum.cpu = -1;
		sum.pid = sum.tid = -1;
		auxtap_perfdata_writer_metadata(file->writer, AUXTAP_METADATA_GAP, &sum,
						sizeof(sum));
	}
	ret = auxtap_perfdata_writer_finish(file->writer, err);
	if (ret && file->vdso_written && access(file->path, F_OK))
		unlink(file->vdso_path);
	file->writer = NULL;
	string_set_free(&file->build_ids_seen);
	return ret;
}

void trace_file_abort(struct trace_file *file)
{
	if (!file->writer)
		return;
	auxtap_perfdata_writer_abort(file->writer);
	if (file->vdso_written)
		unlink(file->vdso_path);
	file->writer = NULL;
	string_set_free(&file->build_ids_seen);
}
