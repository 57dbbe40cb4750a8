// SPDX-License-Identifier: BSD-2-Clause
/* Prints events as lines: see decode_print.h. */
#include "decode_print.h"
#include "decode_number.h"
#include "util/json_text.h"
#include "util/vector.h"

#include <auxtap/spe.h>
#include <auxtap/text.h>

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* clang-format off */
static const char *const field_names[NR_FIELDS] = {
	"comm",	"pid",	"tid",	   "cpu",	"time",	     "event",	 "ip",	       "sym",
	"symoff", "dso",	"srcline", "addr",	"insn",	     "insnlen",	 "asm",	       "flags",
	"phys",	"lat_total", "lat_issue", "lat_xlat", "spe_events", "source", "op",
};
/* clang-format on */

/* Longer than any field is. */
#define LINE_MAX_BYTES 8192
#define PRINT_BUFFER   (256u << 10)

int decode_fields_parse(struct decode_printer *p, const char *list, char bad[32])
{
	p->nr_fields = 0;
	p->has = 0;
	p->addr_first = false;
	while (*list) {
		size_t len = strcspn(list, ",");
		unsigned int f;

		for (f = 0; f < NR_FIELDS; f++)
			if (strlen(field_names[f]) == len && !memcmp(field_names[f], list, len))
				break;
		if (f == NR_FIELDS) {
			snprintf(bad, 32, "%.*s", (int)(len < 31 ? len : 31), list);
			return -1;
		}
		if (!(p->has & 1u << f))
			p->fields[p->nr_fields++] = (enum decode_field)f;
		if (1u << f & (1u << FIELD_SYM | 1u << FIELD_SYMOFF | 1u << FIELD_DSO |
			       1u << FIELD_SRCLINE) &&
		    p->has & 1u << FIELD_ADDR)
			p->addr_first = true;
		p->has |= 1u << f;
		list += len + (list[len] == ',');
	}
	if (p->nr_fields)
		return 0;
	bad[0] = '\0';
	return -1;
}

static void write_out(struct decode_printer *p)
{
	if (p->nr && fwrite(p->buf, 1, p->nr, p->out) != p->nr)
		p->failed = true;
	p->nr = 0;
}

void decode_print_flush(struct decode_printer *p)
{
	write_out(p);
	if (fflush(p->out))
		p->failed = true;
}

void decode_print_free(struct decode_printer *p)
{
	free(p->buf);
	p->buf = NULL;
	p->nr = p->size = 0;
}

int decode_print_reserve(struct decode_printer *p, size_t need)
{
	if (p->size - p->nr >= need)
		return 0;
	if (p->out && p->size) {
		write_out(p);
		if (p->size >= need)
			return 0;
	}
	if (vector_grow_by(p->buf, p->nr, need > PRINT_BUFFER ? need : PRINT_BUFFER, p->size)) {
		p->failed = true;
		return -1;
	}
	return 0;
}

static void put_char(struct decode_printer *p, char c)
{
	if (decode_print_reserve(p, 1))
		return;
	p->buf[p->nr++] = c;
}

static void put_text(struct decode_printer *p, const char *text, size_t len)
{
	if (len > LINE_MAX_BYTES)
		len = LINE_MAX_BYTES;
	if (decode_print_reserve(p, len))
		return;
	memcpy(p->buf + p->nr, text, len);
	p->nr += len;
}

/* These append a NUL to the number. */
static void hex_text(char *out, uint64_t v)
{
	*number_hex(out, v) = '\0';
}

static void decimal_text(char *out, uint64_t v)
{
	*number_decimal(out, v) = '\0';
}

/* Returns the copied length; truncates like snprintf(). */
static size_t copy_text(char *out, size_t size, const char *text)
{
	size_t n = strlen(text);

	if (n >= size)
		n = size - 1;
	memcpy(out, text, n);
	out[n] = '\0';
	return n;
}

static void print_formatted(struct decode_printer *p, const char *fmt, ...) AUXTAP_PRINTF(2, 3);
static void print_formatted(struct decode_printer *p, const char *fmt, ...)
{
	va_list args;
	int n;

	if (decode_print_reserve(p, LINE_MAX_BYTES))
		return;
	va_start(args, fmt);
	n = vsnprintf(p->buf + p->nr, LINE_MAX_BYTES, fmt, args);
	va_end(args);
	if (n > 0)
		p->nr += (size_t)n < LINE_MAX_BYTES ? (size_t)n : LINE_MAX_BYTES - 1;
}

/* ---- values of an event, as strings ---- */

static const char *event_name(const struct auxtap_event *ev)
{
	switch (ev->type) {
	case AUXTAP_EVENT_INSN:
		return "insn";
	case AUXTAP_EVENT_BRANCH:
		return "branch";
	case AUXTAP_EVENT_CALL:
		return "call";
	case AUXTAP_EVENT_RETURN:
		return "return";
	case AUXTAP_EVENT_ASYNC:
		return "async";
	case AUXTAP_EVENT_TRACE:
		return ev->trace_on ? "trace_on" : "trace_off";
	case AUXTAP_EVENT_GAP:
		return "gap";
	case AUXTAP_EVENT_MEM:
		return "mem";
	default:
		return "block";
	}
}

static const char *flags_text(const struct auxtap_event *ev)
{
	/* clang-format off */
	static const char *const kinds[] = {
		[AUXTAP_BRANCH_NONE] = "",
		[AUXTAP_BRANCH_COND] = "jcc",
		[AUXTAP_BRANCH_JUMP] = "jmp",
		[AUXTAP_BRANCH_JUMP_INDIRECT] = "jmp indirect",
		[AUXTAP_BRANCH_CALL] = "call",
		[AUXTAP_BRANCH_CALL_INDIRECT] = "call indirect",
		[AUXTAP_BRANCH_RETURN] = "return",
		[AUXTAP_BRANCH_SYSCALL] = "syscall",
		[AUXTAP_BRANCH_FAR] = "far",
		[AUXTAP_BRANCH_INT] = "int",
	};
	/* clang-format on */

	if (ev->type == AUXTAP_EVENT_ASYNC)
		return "async";
	if (ev->type == AUXTAP_EVENT_TRACE)
		return ev->trace_on ? "tr strt" : "tr end";
	return kinds[ev->kind];
}

/* Writes "+0x" and up to 16 digits, or nothing if the buffer is too small. */
static void offset_text(char *out, size_t size, uint64_t off)
{
	if (size < 20)
		return;
	strcpy(out, "+0x");
	hex_text(out + 3, off);
}

/* Writes the symbol; without one, the image and the offset in it. */
static void symbol_text(const struct location *location, uint64_t addr, char *buf, size_t size)
{
	size_t n;

	if (!location)
		return;
	n = copy_text(buf, size, location->name);
	if (!location->range.symbol)
		offset_text(buf + n, size - n, addr - location->base);
}

static void srcline_text(const struct location *location, char *buf, size_t size)
{
	const char *base;

	if (!location || !location->file)
		return;
	base = strrchr(location->file, '/');
	snprintf(buf, size, "%s:%u", base ? base + 1 : location->file, location->line);
}

static void insn_text(const struct auxtap_event *ev, char *buf, size_t size)
{
	size_t at = 0;

	buf[0] = '\0';
	for (unsigned int i = 0; i < ev->insn_size && i < 15 && at + 4 < size; i++)
		at += (size_t)snprintf(buf + at, size - at, "%s%02x", i ? " " : "", ev->insn[i]);
}

static void asm_text(struct decode_printer *p, const struct auxtap_event *ev, char *buf,
		     size_t size)
{
	uint8_t code[sizeof(ev->insn)];
	ssize_t nr = ev->insn_size;

	buf[0] = '\0';
	if (!ev->has_ip)
		return;
	if (nr)
		memcpy(code, ev->insn, (size_t)nr);
	else /* an SPE sample contains only the address */
		nr = auxtap_image_set_read(p->images, ev->pid, ev->time ? ev->time : UINT64_MAX,
					   ev->ip, code, sizeof(code));
	if (nr > 0)
		auxtap_disassemble_as(p->images, ev->isa, ev->ip, code, (size_t)nr, buf, size);
}

/* Formats the fields that only Arm SPE samples have. */
static void sample_value(struct decode_printer *p, const struct auxtap_event *ev,
			 enum decode_field field, bool *number, char *buf, size_t size)
{
	size_t len;

	switch (field) {
	case FIELD_PHYS:
		if (ev->spe_has & AUXTAP_SPE_HAS_PHYS)
			hex_text(buf, ev->phys);
		break;
	case FIELD_LAT_TOTAL:
		*number = true;
		if (ev->spe_has & AUXTAP_SPE_HAS_LAT_TOTAL)
			decimal_text(buf, ev->lat_total);
		break;
	case FIELD_LAT_ISSUE:
		*number = true;
		if (ev->spe_has & AUXTAP_SPE_HAS_LAT_ISSUE)
			decimal_text(buf, ev->lat_issue);
		break;
	case FIELD_LAT_XLAT:
		*number = true;
		if (ev->spe_has & AUXTAP_SPE_HAS_LAT_XLAT)
			decimal_text(buf, ev->lat_xlat);
		break;
	case FIELD_SPE_EVENTS:
		if (ev->spe_has & AUXTAP_SPE_HAS_EVENTS)
			copy_text(buf, size, location_events(&p->locations, ev->spe_events, &len));
		break;
	case FIELD_SOURCE:
		*number = true;
		if (ev->spe_has & AUXTAP_SPE_HAS_SOURCE)
			decimal_text(buf, ev->source);
		break;
	case FIELD_OP:
		if (ev->spe_has & AUXTAP_SPE_HAS_OP)
			copy_text(buf, size,
				  location_op(&p->locations, ev->op_class, ev->op, &len));
		break;
	default:
		break;
	}
}

void decode_value(struct decode_printer *p, const struct auxtap_event *ev, enum decode_field field,
		  const struct location *location, bool *number, char *buf, size_t size)
{
	*number = false;
	buf[0] = '\0';
	switch (field) {
	case FIELD_COMM:
		copy_text(buf, size, ev->comm ? ev->comm : "");
		break;
	case FIELD_PID:
	case FIELD_TID:
		*number = true;
		if (ev->tid >= 0)
			*number_signed(buf, field == FIELD_PID ? ev->pid : ev->tid) = '\0';
		break;
	case FIELD_CPU:
		*number = true;
		if (ev->cpu >= 0)
			*number_signed(buf, ev->cpu) = '\0';
		break;
	case FIELD_TIME:
		*number = true;
		if (ev->time)
			*number_seconds(buf, ev->time) = '\0';
		break;
	case FIELD_EVENT:
		copy_text(buf, size, event_name(ev));
		break;
	case FIELD_IP:
		if (ev->has_ip)
			hex_text(buf, ev->ip);
		break;
	case FIELD_ADDR:
		if (ev->has_addr)
			hex_text(buf, ev->addr);
		break;
	case FIELD_SYM:
		symbol_text(location, ev->ip, buf, size);
		break;
	case FIELD_SYMOFF:
		*number = true;
		if (location && location->range.symbol)
			decimal_text(buf, ev->ip - location->base);
		break;
	case FIELD_DSO:
		copy_text(buf, size, location ? location->range.image : "");
		break;
	case FIELD_SRCLINE:
		srcline_text(location, buf, size);
		break;
	case FIELD_INSN:
		insn_text(ev, buf, size);
		break;
	case FIELD_INSNLEN:
		*number = true;
		if (ev->insn_size)
			decimal_text(buf, ev->insn_size);
		break;
	case FIELD_ASM:
		asm_text(p, ev, buf, size);
		break;
	case FIELD_FLAGS:
		copy_text(buf, size, flags_text(ev));
		break;
	default: /* fields of Arm SPE */
		if (ev->spe_has)
			sample_value(p, ev, field, number, buf, size);
		break;
	}
}

int decode_event_keep(struct auxtap_event *ev)
{
	size_t len;
	struct auxtap_gap *gap;

	if (!ev->gap)
		return 0;
	len = strlen(ev->text) + 1;
	gap = malloc(sizeof(*gap) + len);
	if (!gap)
		return -1;
	*gap = *ev->gap;
	ev->gap = gap;
	ev->text = memcpy(gap + 1, ev->text, len);
	return 0;
}

void decode_event_release(struct auxtap_event *ev)
{
	free((void *)ev->gap);
	ev->gap = NULL;
}

void decode_gap_text(const struct auxtap_event *ev, char *buf, size_t size)
{
	const struct auxtap_gap *gap = ev->gap;
	char bytes[64] = "", span[64] = "";

	if (gap->nr_bytes || gap->exact)
		snprintf(bytes, sizeof(bytes), ", %s%llu bytes %s", gap->exact ? "" : "at least ",
			 (unsigned long long)gap->nr_bytes,
			 auxtap_gap_is_undecoded(gap) ? "not decoded" : "lost");
	if (gap->time_begin && gap->time_end > gap->time_begin)
		snprintf(span, sizeof(span), ", %.6f ms",
			 (double)(gap->time_end - gap->time_begin) / 1e6);
	snprintf(buf, size, "%s%s%s%s%s", auxtap_gap_cause_name(gap->cause), bytes, span,
		 ev->text[0] ? ": " : "", ev->text);
}

/* ---- escaped text for CSV ---- */

/* Prints one valid UTF-8 sequence, or one other byte as the four characters \xNN. */
static unsigned int put_utf8(struct decode_printer *p, const char *s)
{
	unsigned int n = auxtap_text_printable(s, strnlen(s, 4));

	if (!n) {
		print_formatted(p, "\\x%02x", (unsigned char)*s);
		return 1;
	}
	for (unsigned int i = 0; i < n; i++)
		put_char(p, s[i]);
	return n;
}

/* ---- JSON lines ---- */

static void json_string(struct decode_printer *p, const char *s)
{
	char buf[JSON_CHAR_SIZE];

	put_char(p, '"');
	while (*s) {
		s += json_text_char(s, buf);
		for (const char *at = buf; *at; at++)
			put_char(p, *at);
	}
	put_char(p, '"');
}

static void print_json(struct decode_printer *p, const struct auxtap_event *ev,
		       const struct location *location)
{
	bool number, gap = ev->type == AUXTAP_EVENT_GAP;
	char buf[4096];

	put_char(p, '{');
	for (unsigned int i = 0; i < p->nr_fields; i++) {
		decode_value(p, ev, p->fields[i], location, &number, buf, sizeof(buf));
		if (i)
			put_char(p, ',');
		put_char(p, '"');
		put_text(p, field_names[p->fields[i]], strlen(field_names[p->fields[i]]));
		put_text(p, "\":", 2);
		if (!buf[0])
			put_text(p, "null", 4);
		else if (number)
			put_text(p, buf, strlen(buf));
		else
			json_string(p, buf);
	}
	if (gap) {
		if (!(p->has & 1u << FIELD_EVENT))
			print_formatted(p, ",\"event\":\"gap\"");
		print_formatted(p, ",\"cause\":\"%s\",\"nr_bytes\":",
				auxtap_gap_cause_name(ev->gap->cause));
		if (ev->gap->nr_bytes || ev->gap->exact)
			print_formatted(p, "%llu", (unsigned long long)ev->gap->nr_bytes);
		else
			print_formatted(p, "null");
		print_formatted(p, ",\"exact\":%s,\"detail\":", ev->gap->exact ? "true" : "false");
		json_string(p, ev->text);
	}
	put_text(p, "}\n", 2);
}

/* ---- CSV ---- */

/* A spreadsheet reads "4011e6" as 4011000000: addresses get the prefix 0x. */
static bool csv_is_hex(enum decode_field field)
{
	return field == FIELD_IP || field == FIELD_ADDR || field == FIELD_PHYS;
}

static void csv_string(struct decode_printer *p, const char *s)
{
	bool quoted = strpbrk(s, ",\"\r\n");

	if (quoted)
		put_char(p, '"');
	while (*s) {
		if (*s == '"')
			put_char(p, '"');
		s += put_utf8(p, s);
	}
	if (quoted)
		put_char(p, '"');
}

static void print_csv(struct decode_printer *p, const struct auxtap_event *ev,
		      const struct location *location)
{
	char buf[4096];
	bool number;

	for (unsigned int i = 0; i < p->nr_fields; i++) {
		if (i)
			put_char(p, ',');
		decode_value(p, ev, p->fields[i], location, &number, buf, sizeof(buf));
		if (buf[0] && csv_is_hex(p->fields[i]))
			put_text(p, "0x", 2);
		csv_string(p, buf);
	}
	if (p->events & AUXTAP_EVENT_GAP) {
		put_char(p, ',');
		if (ev->type == AUXTAP_EVENT_GAP) {
			decode_gap_text(ev, buf, sizeof(buf));
			csv_string(p, buf);
		}
	}
	put_char(p, '\n');
}

void decode_print_begin(struct decode_printer *p)
{
	if (p->format != FORMAT_CSV)
		return;
	for (unsigned int i = 0; i < p->nr_fields; i++)
		print_formatted(p, "%s%s", i ? "," : "", field_names[p->fields[i]]);
	print_formatted(p, "%s\n", p->events & AUXTAP_EVENT_GAP ? ",gap" : "");
}

void decode_print(struct decode_printer *p, const struct auxtap_event *ev)
{
	const uint32_t symbolic =
		1u << FIELD_SYM | 1u << FIELD_SYMOFF | 1u << FIELD_DSO | 1u << FIELD_SRCLINE;
	const struct location *of_ip = NULL;
	struct location location;

	if (p->has & symbolic && ev->has_ip) {
		of_ip = p->has & 1u << FIELD_SRCLINE ?
				location_line(&p->locations, p->images, ev->pid, ev->time, ev->ip) :
				location_find(&p->locations, p->images, ev->pid, ev->time, ev->ip);
		if (of_ip->name && p->has & 1u << FIELD_ADDR && p->addr_first) {
			location = *of_ip; /* looking up addr first may overwrite *of_ip */
			of_ip = &location;
		}
		if (!of_ip->name)
			of_ip = NULL;
	}
	if (p->format == FORMAT_TEXT)
		decode_print_text(p, ev, of_ip);
	else if (p->format == FORMAT_JSONL)
		print_json(p, ev, of_ip);
	else
		print_csv(p, ev, of_ip);
}
