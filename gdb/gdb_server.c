// SPDX-License-Identifier: BSD-2-Clause
/* The session with a client: its packets, and which function answers each. See auxtap/gdb.h. */
#include "gdb_private.h"
#include "core_check.h"
#include "gdb_regs.h"

#include <auxtap/text.h>
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "util/sized.h"

#define HISTORY_BYTES (1ull << 30)
#define KEEP_ALIVE_NS 1000000000ull
#define READ_ONLY     "E.a recording cannot be changed"

/* ---- sending ---- */

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

static void put_bytes(struct gdb_session *s, const void *bytes, size_t size)
{
	while (size) {
		ssize_t nr = write(s->opts.out, bytes, size);

		if (nr < 0 && errno == EINTR)
			continue;
		if (nr <= 0) {
			s->done = true; /* the client is gone */
			return;
		}
		bytes = (const uint8_t *)bytes + nr;
		size -= (size_t)nr;
	}
	s->last_sent_ns = now_ns();
}

void gdb_send(struct gdb_session *s, const struct gdb_reply *reply)
{
	struct gdb_reply error;

	gdb_reply_reset(&error);
	gdb_reply_text(&error, "E.the reply is too long");
	s->nr_sent = gdb_reply_frame(reply->cut ? &error : reply, s->sent, sizeof(s->sent));
	put_bytes(s, s->sent, s->nr_sent);
}

void gdb_keep_alive(struct gdb_session *s)
{
	if (now_ns() - s->last_sent_ns >= KEEP_ALIVE_NS)
		put_bytes(s, "+", 1); /* clients skip it, and keep waiting */
}

void gdb_console(struct gdb_session *s, const char *fmt, ...)
{
	char line[1024], safe[4 * sizeof(line)];
	struct gdb_reply reply;
	va_list args;
	size_t len;

	va_start(args, fmt);
	vsnprintf(line, sizeof(line), fmt, args);
	va_end(args);
	len = strlen(line);
	if (len && line[len - 1] == '\n')
		len--;
	len = auxtap_text_escape(safe, sizeof(safe) - 1, line, len);
	safe[len++] = '\n';
	gdb_reply_reset(&reply);
	gdb_reply_text(&reply, "O");
	gdb_reply_hex(&reply, safe, len);
	gdb_send(s, &reply);
}

/* ---- packets ---- */

static void reply_ok(struct gdb_session *s)
{
	gdb_reply_text(&s->reply, "OK");
}

static void reply_error(struct gdb_session *s)
{
	gdb_reply_text(&s->reply, "E01");
}

static void do_supported(struct gdb_session *s, const char *args, size_t size)
{
	(void)args;
	(void)size;
	gdb_reply_text(&s->reply,
		       "PacketSize=%x;QStartNoAckMode+;swbreak+;hwbreak+;ReverseStep+;"
		       "ReverseContinue+;qXfer:features:read+;qXfer:threads:read+;"
		       "qXfer:auxv:read+;qXfer:exec-file:read+;qXfer:siginfo:read+;"
		       "qXfer:libraries-svr4:read+",
		       GDB_PACKET_MAX);
	if (s->opts.btrace)
		gdb_reply_text(&s->reply, ";qXfer:btrace:read+;qXfer:btrace-conf:read+;"
					  "Qbtrace:off+");
}

static void do_no_acks(struct gdb_session *s, const char *args, size_t size)
{
	(void)args;
	(void)size;
	s->no_acks = true;
	reply_ok(s);
}

static void do_halt_reason(struct gdb_session *s, const char *args, size_t size)
{
	(void)args;
	(void)size;
	if (!gdb_thread_exists(s, s->stopped_tid))
		gdb_reply_text(&s->reply, "W00");
	else
		gdb_put_stop(s);
}

static void do_read_regs(struct gdb_session *s, const char *args, size_t size)
{
	(void)args;
	(void)size;
	gdb_put_regs(s, gdb_current(s, s->general_tid));
}

static void do_read_reg(struct gdb_session *s, const char *args, size_t size)
{
	uint64_t number;

	(void)size;
	if (!gdb_take_hex(&args, &number) || *args ||
	    !gdb_put_reg(s, gdb_current(s, s->general_tid), number))
		reply_error(s);
}

static void do_refuse(struct gdb_session *s, const char *args, size_t size)
{
	(void)args;
	(void)size;
	gdb_reply_text(&s->reply, READ_ONLY);
}

static void do_read_memory(struct gdb_session *s, const char *args, size_t size)
{
	uint8_t bytes[GDB_PACKET_MAX / 2];
	uint64_t addr, wanted;
	size_t nr;

	(void)size;
	if (!gdb_take_hex_until(&args, ',', &addr) || !gdb_take_hex(&args, &wanted) || *args) {
		reply_error(s);
		return;
	}
	if (wanted > sizeof(bytes))
		wanted = sizeof(bytes);
	nr = gdb_read_memory(s, addr, bytes, wanted);
	if (!nr && wanted)
		reply_error(s);
	gdb_reply_hex(&s->reply, bytes, nr);
}

/* Parses a thread of packets H and T: -1 all, 0 any. */
static bool take_thread(const char *text, int32_t *tid)
{
	uint64_t value;

	*tid = -1;
	if (!strcmp(text, "-1"))
		return true;
	if (!gdb_take_hex(&text, &value) || *text || value > INT32_MAX)
		return false;
	*tid = (int32_t)value;
	return true;
}

static void do_set_thread(struct gdb_session *s, const char *args, size_t size)
{
	int32_t tid;

	if (!size || !take_thread(args + 1, &tid) || (tid > 0 && !gdb_thread_exists(s, tid))) {
		reply_error(s);
		return;
	}
	if (args[0] == 'g')
		s->general_tid = tid;
	else
		s->cont_tid = tid;
	if (args[0] == 'g' && tid > 0)
		s->any_tid = tid;
	reply_ok(s);
}

/* A packet of unwinder.py, not of gdb: the user has selected a thread. */
static void do_select_thread(struct gdb_session *s, const char *args, size_t size)
{
	int32_t tid;

	(void)size;
	if (!take_thread(args, &tid) || tid <= 0 || !gdb_thread_exists(s, tid)) {
		reply_error(s);
		return;
	}
	s->any_tid = tid;
	reply_ok(s);
}

static void do_alive(struct gdb_session *s, const char *args, size_t size)
{
	int32_t tid;

	(void)size;
	if (take_thread(args, &tid) && gdb_thread_exists(s, tid))
		reply_ok(s);
	else
		reply_error(s);
}

static void do_current(struct gdb_session *s, const char *args, size_t size)
{
	(void)args;
	(void)size;
	gdb_reply_text(&s->reply, "QC%" PRIx32, (uint32_t)gdb_current(s, s->general_tid));
}

static void do_thread_list(struct gdb_session *s, const char *args, size_t size)
{
	int32_t tid;

	(void)args;
	(void)size;
	for (size_t i = 0; (tid = gdb_thread_listed(s, i)) && s->reply.size < GDB_PACKET_MAX - 16;
	     i++)
		gdb_reply_text(&s->reply, "%c%" PRIx32, i ? ',' : 'm', (uint32_t)tid);
	if (!s->reply.size)
		gdb_reply_text(&s->reply, "l");
}

static void do_thread_list_end(struct gdb_session *s, const char *args, size_t size)
{
	(void)args;
	(void)size;
	gdb_reply_text(&s->reply, "l");
}

static void do_attached(struct gdb_session *s, const char *args, size_t size)
{
	(void)args;
	(void)size;
	gdb_reply_text(&s->reply, "1");
}

static void do_xfer(struct gdb_session *s, const char *args, size_t size)
{
	(void)size;
	gdb_xfer(s, args);
}

static void do_btrace(struct gdb_session *s, const char *args, size_t size)
{
	(void)size;
	gdb_btrace(s, args);
}

static void do_monitor(struct gdb_session *s, const char *args, size_t size)
{
	gdb_monitor(s, args, size);
}

static void do_reverse_step(struct gdb_session *s, const char *args, size_t size)
{
	(void)args;
	(void)size;
	gdb_resume(s, true, false);
}

static void do_reverse_continue(struct gdb_session *s, const char *args, size_t size)
{
	(void)args;
	(void)size;
	gdb_resume(s, true, true);
}

static void do_step(struct gdb_session *s, const char *args, size_t size)
{
	(void)args;
	(void)size;
	gdb_resume(s, false, false);
}

static void do_continue(struct gdb_session *s, const char *args, size_t size)
{
	(void)args;
	(void)size;
	gdb_resume(s, false, true);
}

/*
 * Watchpoints need the recorded memory writes ('auxtap crash --values'). Without them the reply is
 * empty: unsupported packet.
 */
static void watchpoint(struct gdb_session *s, const char *args, uint64_t addr, bool set)
{
	uint64_t nr_bytes;

	if (!gdb_values_memory(s))
		return;
	if (!gdb_take_hex(&args, &nr_bytes)) {
		reply_error(s);
		return;
	}
	if (!set)
		gdb_watch_remove(s, addr, nr_bytes);
	else if (!gdb_watch_set(s, addr, nr_bytes)) {
		reply_error(s);
		return;
	}
	reply_ok(s);
}

/* Z and z: "type,addr,kind" */
static void breakpoint(struct gdb_session *s, const char *args, bool set)
{
	uint64_t type, addr;

	if (!gdb_take_hex_until(&args, ',', &type) || !gdb_take_hex_until(&args, ',', &addr)) {
		reply_error(s);
		return;
	}
	if (type > 2)
		return; /* read watchpoints are unsupported: reads are not recorded */
	if (gdb_decode(s)) {
		reply_error(s);
		return;
	}
	if (type == 2) {
		watchpoint(s, args, addr, set);
		return;
	}
	if (!set)
		replay_breakpoint_remove(&s->replay, addr);
	else if (replay_breakpoint_add(&s->replay, addr)) {
		reply_error(s);
		return;
	}
	reply_ok(s);
}

static void do_set_breakpoint(struct gdb_session *s, const char *args, size_t size)
{
	(void)size;
	breakpoint(s, args, true);
}

static void do_remove_breakpoint(struct gdb_session *s, const char *args, size_t size)
{
	(void)size;
	breakpoint(s, args, false);
}

static void do_detach(struct gdb_session *s, const char *args, size_t size)
{
	(void)args;
	(void)size;
	s->done = true;
	reply_ok(s);
}

static void do_kill(struct gdb_session *s, const char *args, size_t size)
{
	(void)args;
	(void)size;
	s->done = true; /* 'k' has no reply; nothing is sent for an empty one */
}

struct command {
	const char *name;
	bool whole; /* the packet is the name alone */
	void (*run)(struct gdb_session *s, const char *args, size_t size);
};

/* The first command that matches is run. An unknown packet gets an empty reply. */
static const struct command commands[] = {
	{"qSupported", false, do_supported},
	{"QStartNoAckMode", true, do_no_acks},
	{"qXfer:", false, do_xfer},
	{"Qbtrace:", false, do_btrace},
	{"QAuxtapThread:", false, do_select_thread},
	{"qfThreadInfo", true, do_thread_list},
	{"qsThreadInfo", true, do_thread_list_end},
	{"qC", true, do_current},
	{"qAttached", false, do_attached},
	{"qRcmd,", false, do_monitor},
	{"vFile:", false, gdb_file},
	{"vKill", false, do_detach},
	{"bs", true, do_reverse_step},
	{"bc", true, do_reverse_continue},
	{"?", true, do_halt_reason},
	{"g", true, do_read_regs},
	{"p", false, do_read_reg},
	{"m", false, do_read_memory},
	{"G", false, do_refuse},
	{"P", false, do_refuse},
	{"M", false, do_refuse},
	{"X", false, do_refuse},
	{"H", false, do_set_thread},
	{"T", false, do_alive},
	{"s", false, do_step},
	{"S", false, do_step},
	{"c", false, do_continue},
	{"C", false, do_continue},
	{"Z", false, do_set_breakpoint},
	{"z", false, do_remove_breakpoint},
	{"D", false, do_detach},
	{"k", true, do_kill},
};

static void answer(struct gdb_session *s, const struct gdb_packet *packet)
{
	gdb_reply_reset(&s->reply);
	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
		size_t len = strlen(commands[i].name);

		if (strncmp(packet->data, commands[i].name, len) != 0 ||
		    (commands[i].whole && packet->size != len))
			continue;
		commands[i].run(s, packet->data + len, packet->size - len);
		if (commands[i].run == do_kill)
			return;
		break;
	}
	gdb_send(s, &s->reply);
}

/* ---- the session ---- */

/* Handles one item of the input. Returns the number of bytes it took; 0: more are needed. */
static size_t take_input(struct gdb_session *s, const uint8_t *in, size_t size,
			 struct gdb_packet *packet)
{
	size_t used;
	bool acks = !s->no_acks;

	switch (gdb_packet_take(in, size, &used, packet)) {
	case GDB_INPUT_MORE:
		return 0;
	case GDB_INPUT_PACKET:
		if (acks)
			put_bytes(s, "+", 1);
		answer(s, packet);
		break;
	case GDB_INPUT_NAK:
		put_bytes(s, s->sent, s->nr_sent);
		break;
	case GDB_INPUT_DAMAGED:
		if (acks)
			put_bytes(s, "-", 1);
		break;
	case GDB_INPUT_ACK:
	case GDB_INPUT_BREAK: /* a resume ends by itself */
		break;
	}
	return used;
}

static int serve_packets(struct gdb_session *s)
{
	size_t max = 4 * GDB_PACKET_MAX, nr = 0;
	struct gdb_packet *packet = malloc(sizeof(*packet));
	uint8_t *in = malloc(max);
	int ret = in && packet ? 0 : -ENOMEM;

	while (!ret && !s->done && !s->error) {
		ssize_t got = read(s->opts.in, in + nr, max - nr);
		size_t at = 0, used;

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0) {
			ret = got < 0 ? -errno : 0;
			break;
		}
		nr += (size_t)got;
		while (!s->done && (used = take_input(s, in + at, nr - at, packet)))
			at += used;
		memmove(in, in + at, nr - at);
		nr -= at;
	}
	free(in);
	free(packet);
	if (ret)
		auxtap_error_set(s->err, ret, "gdb", "cannot read its packets: %s", strerror(-ret));
	return ret ? ret : s->error;
}

/* The program counter at the end of a thread's history. False: unknown. */
static bool end_of(const struct gdb_session *s, int32_t tid, uint64_t *pc)
{
	int thread = gdb_thread_index(s, tid);

	if (thread < 0 || !s->history.threads[thread].end_known)
		return false;
	*pc = s->history.threads[thread].end_ip;
	return true;
}

/* Opens the core file of the death, if one was given, and checks that it matches. */
static int take_core(struct gdb_session *s)
{
	uint64_t pc, end;
	int ret;

	if (!s->opts.core)
		return 0;
	ret = core_dump_open(&s->core, s->opts.core, s->err);
	s->has_core = !ret;
	/* without registers only the trace shows where the process died */
	if (!ret && !recording_pc(recording_regs(&s->rec, s->core.threads[0].tid), &pc))
		ret = gdb_decode(s);
	if (!ret)
		ret = core_check(&s->core, &s->rec,
				 end_of(s, s->core.threads[0].tid, &end) ? &end : NULL, s->err);
	if (!ret && recording_take_core(&s->rec, &s->core))
		ret = auxtap_error_set(s->err, -ENOMEM, s->opts.core, "out of memory");
	return ret;
}

static bool died_in_32bit_code(const struct gdb_session *s)
{
	const struct report_facts *facts = &s->rec.facts;

	for (size_t i = 0; s->rec.has_crash && i < facts->nr_threads; i++)
		if (facts->threads[i].record.tid == facts->crash.tid)
			return auxtap_regs_32bit(&facts->threads[i].record.regs);
	return false;
}

/* Opens what the session needs, and selects the thread that is shown first. */
static int session_start(struct gdb_session *s)
{
	struct auxtap_decode_opts opts = {.size = sizeof(opts), .events = HISTORY_EVENTS};
	const char *path = auxtap_perfdata_path(s->rec.pd);
	int ret;

	if (!gdb_regs_description(s->rec.arch))
		return auxtap_error_set(s->err, -ENOTSUP, path,
					"the gdb server supports only recordings of x86-64 (Intel "
					"PT) and AArch64 (CoreSight)");
	if (died_in_32bit_code(s))
		return auxtap_error_set(
			s->err, -ENOTSUP, path,
			"the program died in 32-bit code, which the gdb server does not "
			"support");
	ret = auxtap_decoder_open(&s->decoder, s->rec.pd, s->rec.images, &opts, s->err);
	/* without a crash only the trace shows which threads there are */
	if (!ret && !s->rec.has_crash)
		ret = gdb_decode(s);
	if (!ret)
		ret = take_core(s);
	if (ret)
		return ret;
	s->stopped_tid = s->rec.has_crash ? s->rec.facts.crash.tid : gdb_thread_listed(s, 0);
	if (!gdb_thread_exists(s, s->stopped_tid))
		s->stopped_tid = gdb_thread_listed(s, 0);
	s->any_tid = s->stopped_tid;
	if (!s->stopped_tid)
		return auxtap_error_set(s->err, -ENODATA, path, "it has no trace of %s",
					s->opts.pid ? "that process" : "any process");
	return 0;
}

static void session_free(struct gdb_session *s)
{
	auxtap_decoder_close(s->decoder);
	for (size_t i = 0; i < s->nr_values; i++)
		values_free(&s->values[i]);
	free(s->values);
	replay_free(&s->replay);
	history_free(&s->history);
	recording_free(&s->rec);
	if (s->has_core)
		core_dump_close(&s->core);
	free(s->object);
	free(s);
}

int auxtap_gdb_serve(struct auxtap_perfdata *pd, struct auxtap_image_set *images,
		     const struct auxtap_gdb_opts *opts, struct auxtap_error *err)
{
	struct auxtap_error unused = AUXTAP_ERROR_INIT;
	struct gdb_session *s = calloc(1, sizeof(*s));
	int ret;

	if (!s)
		return auxtap_error_set(err, -ENOMEM, "gdb", "out of memory");
	s->err = err ? err : &unused;
	s->last_sent_ns = now_ns();
	gdb_code_init(s);
	ret = sized_copy_in(&s->opts, sizeof(s->opts), SIZED_UP_TO(struct auxtap_gdb_opts, memory),
			    opts, "struct auxtap_gdb_opts", s->err);
	history_init(&s->history, s->opts.memory ? s->opts.memory : HISTORY_BYTES, &s->code);
	if (!ret)
		ret = recording_read(&s->rec, pd, images, s->err);
	s->btrace = s->opts.btrace;
	if (!ret && s->opts.pid)
		recording_choose(&s->rec, s->opts.pid);
	if (!ret)
		ret = session_start(s);
	if (!ret)
		ret = serve_packets(s);
	session_free(s);
	return ret;
}
