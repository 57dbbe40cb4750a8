// SPDX-License-Identifier: BSD-2-Clause
/* See report_facts.h. */
#include "report_facts.h"
#include "perfdata/capture_lines.h"
#include "util/key_lines.h"
#include "util/vector.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

static int add_thread(struct report_facts *facts, const void *data, size_t size)
{
	struct report_thread *thread;

	if (size < sizeof(struct auxtap_crash_thread))
		return 0;
	if (vector_grow(facts->threads, facts->nr_threads, facts->max_threads))
		return -ENOMEM;
	thread = &facts->threads[facts->nr_threads++];
	memcpy(&thread->record, data, sizeof(struct auxtap_crash_thread));
	thread->record.comm[sizeof(thread->record.comm) - 1] = '\0';
	return 0;
}

static int add_memory(struct report_facts *facts, const void *data, size_t size)
{
	struct auxtap_crash_memory head;
	unsigned char *bytes;

	if (size < sizeof(head))
		return 0;
	memcpy(&head, data, sizeof(head));
	if (head.size < sizeof(head) || head.size > size)
		return 0;
	if (head.nr_bytes > size - head.size)
		head.nr_bytes = size - head.size;
	if (head.nr_bytes == 0 || head.addr + head.nr_bytes < head.addr)
		return 0;
	if (vector_grow(facts->memory, facts->nr_memory, facts->max_memory))
		return -ENOMEM;
	bytes = malloc(head.nr_bytes);
	if (!bytes)
		return -ENOMEM;
	memcpy(bytes, (const unsigned char *)data + head.size, head.nr_bytes);
	facts->memory[facts->nr_memory++] = (struct report_memory){.addr = head.addr,
								   .nr_bytes = head.nr_bytes,
								   .bytes = bytes};
	return 0;
}

/* Notes the earlier block that used the memory of a block which is in use. */
static void set_before(struct report_block *block, const struct auxtap_crash_block *before)
{
	const struct auxtap_crash_block *b = &block->record;

	if (!(b->flags & AUXTAP_BLOCK_FREED) && before->addr < b->addr + b->nr_bytes &&
	    b->addr < before->addr + before->nr_bytes)
		block->before = *before;
}

static void add_block(struct report_facts *facts, const void *data, size_t size)
{
	const uint32_t overrun = AUXTAP_BLOCK_OVERRUN | AUXTAP_BLOCK_AFTER_OVERRUN;
	struct report_block block = {.rank = 0};
	struct auxtap_crash_block *b = &block.record;

	/* older files have no after_end */
	if (size < offsetof(struct auxtap_crash_block, after_end))
		return;
	memcpy(b, data, size < sizeof(*b) ? size : sizeof(*b));
	if (!b->addr || b->addr + b->nr_bytes < b->addr)
		return;
	if (b->flags & AUXTAP_BLOCK_BEFORE) {
		if (facts->nr_blocks)
			set_before(&facts->blocks[facts->nr_blocks - 1], b);
		return;
	}
	if (!(b->flags & overrun)) {
		if (facts->nr_blocks < AUXTAP_MAX_BLOCKS)
			facts->blocks[facts->nr_blocks++] = block;
		return;
	}
	/* a block that follows one that was overrun belongs to it */
	if (facts->nr_overruns < AUXTAP_MAX_OVERRUNS &&
	    (b->flags & AUXTAP_BLOCK_OVERRUN ||
	     (facts->nr_overruns &&
	      facts->overruns[facts->nr_overruns - 1].record.flags & AUXTAP_BLOCK_OVERRUN)))
		facts->overruns[facts->nr_overruns++] = block;
}

static int add_block_call(struct report_facts *facts, const void *data, size_t size)
{
	struct auxtap_block_call call;

	if (size < sizeof(call) || facts->nr_block_calls == REPORT_MAX_BLOCK_CALLS)
		return 0;
	memcpy(&call, data, sizeof(call));
	if (call.call.nr_stack > sizeof(call.call.stack) ||
	    call.call.sp + call.call.nr_stack < call.call.sp)
		return 0;
	if (vector_grow(facts->block_calls, facts->nr_block_calls, facts->max_block_calls))
		return -ENOMEM;
	facts->block_calls[facts->nr_block_calls++] = call;
	return 0;
}

static int add_value_log(struct report_facts *facts, const void *data, size_t size)
{
	struct value_log log;
	int ret = value_log_read(&log, data, size);

	if (ret <= 0)
		return ret;
	if (vector_grow(facts->value_logs, facts->nr_value_logs, facts->max_value_logs)) {
		value_log_free(&log);
		return -ENOMEM;
	}
	facts->value_logs[facts->nr_value_logs++] = log;
	return 0;
}

/* One line of /proc/PID/maps: "start-end perms pgoff dev inode   name". */
static int add_map(struct report_facts *facts, char *line)
{
	struct report_map map = {0};
	char *at = line, *end;

	map.start = strtoull(at, &end, 16);
	if (end == at || *end != '-')
		return 0;
	at = end + 1;
	map.end = strtoull(at, &end, 16);
	if (end == at || *end != ' ' || map.end <= map.start || strlen(end) < 6)
		return 0;
	memcpy(map.perms, end + 1, 4);
	at = end + 5;
	map.pgoff = strtoull(at, &end, 16);
	at = end;
	for (int field = 0; field < 2; field++) { /* device, inode */
		at += strspn(at, " ");
		at += strcspn(at, " ");
	}
	at += strspn(at, " ");
	if (vector_grow(facts->maps, facts->nr_maps, facts->max_maps))
		return -ENOMEM;
	map.name = strdup(at);
	if (!map.name)
		return -ENOMEM;
	facts->maps[facts->nr_maps++] = map;
	return 0;
}

static int add_maps(struct report_facts *facts, const void *data, size_t size)
{
	char *text = strndup(data, size);
	char *save = NULL;
	int ret = 0;

	if (!text)
		return -ENOMEM;
	for (char *line = strtok_r(text, "\n", &save); line && !ret;
	     line = strtok_r(NULL, "\n", &save))
		ret = add_map(facts, line);
	free(text);
	return ret;
}

/* The file was packed, or recorded, without memory. */
static void note_redacted(struct report_facts *facts, const void *data, size_t size)
{
	struct auxtap_pack_header head;

	if (size < sizeof(head))
		return;
	memcpy(&head, data, sizeof(head));
	facts->redacted = facts->redacted || head.flags & AUXTAP_PACK_REDACTED;
}

int report_facts_add(struct report_facts *facts, uint32_t type, const void *data, size_t size)
{
	switch (type) {
	case AUXTAP_METADATA_CRASH:
		if (size < offsetof(struct auxtap_crash, limit_bytes))
			return 0;
		memcpy(&facts->crash, data,
		       size < sizeof(facts->crash) ? size : sizeof(facts->crash));
		facts->crash.comm[sizeof(facts->crash.comm) - 1] = '\0';
		facts->have_record = true;
		facts->have_crash =
			facts->crash.signo || facts->crash.flags & AUXTAP_CRASH_INTERRUPTED;
		return 0;
	case AUXTAP_METADATA_THREAD:
		return add_thread(facts, data, size);
	case AUXTAP_METADATA_MEMORY:
		return add_memory(facts, data, size);
	case AUXTAP_METADATA_HEAP_BLOCK:
		add_block(facts, data, size);
		return 0;
	case AUXTAP_METADATA_HEAP_BLOCK_CALL:
		return add_block_call(facts, data, size);
	case AUXTAP_METADATA_VALUES:
		return add_value_log(facts, data, size);
	case AUXTAP_METADATA_MAPS:
		return add_maps(facts, data, size);
	case AUXTAP_METADATA_CAPTURE:
		free(facts->capture);
		facts->capture = strndup(data, size);
		return facts->capture ? 0 : -ENOMEM;
	case AUXTAP_METADATA_MESSAGE:
		free(facts->message);
		facts->message = strndup(data, size);
		return facts->message ? 0 : -ENOMEM;
	case AUXTAP_METADATA_EXCEPTION:
		free(facts->exception);
		facts->exception = strndup(data, size);
		return facts->exception ? 0 : -ENOMEM;
	case AUXTAP_METADATA_CODE_NAMES:
		if (size >= sizeof(facts->code_names))
			memcpy(&facts->code_names, data, sizeof(facts->code_names));
		return 0;
	case AUXTAP_METADATA_CODE_DUMP:
		if (size >= sizeof(facts->code_dump))
			memcpy(&facts->code_dump, data, sizeof(facts->code_dump));
		return 0;
	case AUXTAP_METADATA_PACK:
		note_redacted(facts, data, size);
		return 0;
	default:
		return 0;
	}
}

static int add_metadata(void *ctx, uint32_t type, const void *data, size_t size)
{
	return report_facts_add(ctx, type, data, size);
}

int report_facts_read(struct report_facts *facts, struct auxtap_perfdata *pd,
		      struct auxtap_error *err)
{
	char yes[8];
	int ret;

	memset(facts, 0, sizeof(*facts));
	ret = auxtap_perfdata_metadata(pd, add_metadata, facts, err);
	if (report_facts_capture(facts, CAPTURE_LINE_REDACTED, yes, sizeof(yes)))
		facts->redacted = true;
	if (ret == -ENOMEM)
		auxtap_error_set(err, ret, auxtap_perfdata_path(pd), "out of memory");
	return ret;
}

void report_facts_free(struct report_facts *facts)
{
	for (size_t i = 0; i < facts->nr_memory; i++)
		free(facts->memory[i].bytes);
	for (size_t i = 0; i < facts->nr_maps; i++)
		free(facts->maps[i].name);
	free(facts->memory);
	free(facts->maps);
	free(facts->threads);
	free(facts->block_calls);
	for (size_t i = 0; i < facts->nr_value_logs; i++)
		value_log_free(&facts->value_logs[i]);
	free(facts->value_logs);
	free(facts->capture);
	free(facts->message);
	free(facts->exception);
	memset(facts, 0, sizeof(*facts));
}

const struct report_map *report_facts_map(const struct report_facts *facts, uint64_t addr)
{
	for (size_t i = 0; i < facts->nr_maps; i++) {
		if (addr >= facts->maps[i].start && addr < facts->maps[i].end)
			return &facts->maps[i];
	}
	return NULL;
}

bool report_facts_memory(const struct report_facts *facts, uint64_t addr, void *buf, size_t size)
{
	for (size_t i = 0; i < facts->nr_memory; i++) {
		const struct report_memory *m = &facts->memory[i];

		if (addr >= m->addr && size <= m->nr_bytes &&
		    addr - m->addr <= m->nr_bytes - size) {
			memcpy(buf, m->bytes + (addr - m->addr), size);
			return true;
		}
	}
	return false;
}

bool report_facts_capture(const struct report_facts *facts, const char *key, char *buf, size_t size)
{
	size_t len;
	const char *value =
		facts->capture ? key_lines_find(facts->capture, strlen(facts->capture), key, &len) :
				 NULL;

	if (!value)
		return false;
	snprintf(buf, size, "%.*s", (int)len, value);
	return true;
}
