// SPDX-License-Identifier: BSD-2-Clause
/* Objects that the client reads in parts: qXfer:OBJECT:read:ANNEX:OFFSET,LENGTH. */
#include "gdb_private.h"
#include "gdb_regs.h"

#include <auxtap/text.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool write_features(struct gdb_session *s, FILE *out)
{
	fputs(gdb_regs_description(s->rec.arch), out);
	return true;
}

/* Writes a name from the recording as the value of an XML attribute. */
static void put_attribute(FILE *out, const char *text)
{
	char safe[4096];

	auxtap_text_escape(safe, sizeof(safe), text, strlen(text));
	for (const char *c = safe; *c; c++) {
		switch (*c) {
		case '<':
			fputs("&lt;", out);
			break;
		case '>':
			fputs("&gt;", out);
			break;
		case '&':
			fputs("&amp;", out);
			break;
		case '"':
			fputs("&quot;", out);
			break;
		case '\'':
			fputs("&apos;", out);
			break;
		default:
			fputc(*c, out);
		}
	}
}

static bool write_threads(struct gdb_session *s, FILE *out)
{
	int32_t tid;

	fputs("<?xml version=\"1.0\"?>\n<threads>\n", out);
	for (size_t i = 0; (tid = gdb_thread_listed(s, i)); i++) {
		fprintf(out, "<thread id=\"%" PRIx32 "\" name=\"", (uint32_t)tid);
		put_attribute(out, gdb_thread_name(s, tid));
		fputs("\"/>\n", out);
	}
	fputs("</threads>\n", out);
	return true;
}

static bool write_exec_file(struct gdb_session *s, FILE *out)
{
	const struct recording_program *program = recording_program(&s->rec);

	if (!program || !auxtap_text_is_safe(program->name, strlen(program->name)))
		return false;
	fputs(program->name, out);
	return true;
}

/*
 * Writes the siginfo of the thread that died; without a core file only for a fault: for other
 * signals the recording does not contain all that the kernel wrote.
 */
static bool write_siginfo(struct gdb_session *s, FILE *out)
{
	const struct auxtap_crash *crash = &s->rec.facts.crash;
	uint8_t info[128] = {0};
	int32_t words[3] = {crash->signo, 0, crash->si_code};

	if (!s->rec.has_crash || gdb_current(s, s->general_tid) != crash->tid || !gdb_at_end(s))
		return false;
	if (s->has_core && s->core.siginfo)
		return fwrite(s->core.siginfo, CORE_SIGINFO, 1, out) == 1;
	if (!(crash->flags & AUXTAP_CRASH_ADDR_VALID))
		return false;
	memcpy(info, words, sizeof(words));
	memcpy(info + 16, &crash->fault_addr, sizeof(crash->fault_addr));
	fwrite(info, sizeof(info), 1, out);
	return true;
}

static const struct object {
	const char *name;
	bool (*write)(struct gdb_session *s, FILE *out);
} objects[] = {
	{"features:read:target.xml:", write_features},
	{"threads:read::", write_threads},
	{"exec-file:read:", write_exec_file},
	{"auxv:read::", gdb_write_auxv},
	{"siginfo:read::", write_siginfo},
	{"libraries-svr4:read:", gdb_write_libraries},
	{"btrace:read:all:", gdb_write_btrace},
	{"btrace:read:new:", gdb_write_no_btrace},
	{"btrace:read:delta:", gdb_write_no_btrace},
	{"btrace-conf:read::", gdb_write_btrace_conf},
};

/* Stores the object as it is now. */
static bool begin_object(struct gdb_session *s, const struct object *object)
{
	FILE *out;
	bool known;

	free(s->object);
	s->object = NULL;
	s->object_size = 0;
	out = open_memstream(&s->object, &s->object_size);
	if (!out)
		return false;
	known = object->write(s, out);
	if (fclose(out) || !s->object)
		known = false;
	snprintf(s->object_name, sizeof(s->object_name), "%s", object->name);
	return known;
}

static void put_part(struct gdb_session *s, uint64_t off, uint64_t size)
{
	const uint64_t most = GDB_PACKET_MAX / 2 - 16; /* each byte may need an escape */

	if (off > s->object_size)
		off = s->object_size;
	if (size > most)
		size = most;
	if (size >= s->object_size - off) {
		size = s->object_size - off;
		gdb_reply_text(&s->reply, "l");
	} else {
		gdb_reply_text(&s->reply, "m");
	}
	gdb_reply_binary(&s->reply, s->object + off, size);
}

void gdb_xfer(struct gdb_session *s, const char *args)
{
	for (size_t i = 0; i < sizeof(objects) / sizeof(objects[0]); i++) {
		size_t len = strlen(objects[i].name);
		const char *numbers = strrchr(args, ':');
		uint64_t off, size;

		if (strncmp(args, objects[i].name, len) != 0)
			continue;
		numbers++;
		if (!gdb_take_hex_until(&numbers, ',', &off) || !gdb_take_hex(&numbers, &size) ||
		    *numbers)
			break;
		if ((!off || !s->object || strcmp(s->object_name, objects[i].name) != 0) &&
		    !begin_object(s, &objects[i])) {
			s->object_name[0] = '\0';
			gdb_reply_text(&s->reply, "E01");
			return;
		}
		put_part(s, off, size);
		return;
	}
	if (strstr(args, ":read:") && !strncmp(args, "features:", 9))
		gdb_reply_text(&s->reply, "E00");
}
