// SPDX-License-Identifier: BSD-2-Clause
/* Events as lines: see decode_print.h. */
#include "decode_print.h"

#include <auxtap/spe.h>

#include <stdarg.h>
#include <string.h>

static const char *const field_names[NR_FIELDS] = {
	"comm",	"pid",	"tid",	   "cpu",	"time",	     "event",	 "ip",	       "sym",
	"symoff", "dso",	"srcline", "addr",	"insn",	     "insnlen",	 "asm",	       "flags",
	"phys",	"lat_total", "lat_issue", "lat_xlat", "spe_events", "source", "op",
};

/* More than any field can be. */
#define LINE_MAX_BYTES 8192

int decode_fields_parse(struct decode_printer *p, const char *list, char bad[32])
{
	p->nr_fields = 0;
	p->has = 0;
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
		p->has |= 1u << f;
		list += len + (list[len] == ',');
	}
	if (p->nr_fields)
		return 0;
	bad[0] = '\0';
	return -1;
}

void decode_print_flush(struct decode_printer *p)
{
	if (p->nr && fwrite(p->buf, 1, p->nr, p->out) != p->nr)
		p->failed = true;
	p->nr = 0;
	if (fflush(p->out))
		p->failed = true;
}

static void room(struct decode_printer *p, size_t need)
{
	if (p->nr + need <= PRINT_BUFFER)
		return;
	if (fwrite(p->buf, 1, p->nr, p->out) != p->nr)
		p->failed = true;
	p->nr = 0;
}

static void put_char(struct decode_printer *p, char c)
{
	room(p, 1);
	p->buf[p->nr++] = c;
}

static void put_text(struct decode_printer *p, const char *text, size_t len)
{
	if (len > LINE_MAX_BYTES)
		len = LINE_MAX_BYTES;
	room(p, len);
	memcpy(p->buf + p->nr, text, len);
	p->nr += len;
}

static void put_blanks(struct decode_printer *p, size_t nr)
{
	room(p, nr);
	memset(p->buf + p->nr, ' ', nr);
	p->nr += nr;
}

/* Numbers are most of what is printed: not by printf. All end with a NUL, all return the length. */
static size_t hex_text(char *out, uint64_t v)
{
	static const char digits[] = "0123456789abcdef";
	unsigned int n = v ? (67 - (unsigned int)__builtin_clzll(v)) / 4 : 1;

	out[n] = '\0';
	for (unsigned int i = n; i-- > 0; v >>= 4)
		out[i] = digits[v & 15];
	return n;
}

static size_t decimal_text(char *out, uint64_t v)
{
	char reverse[20];
	size_t n = 0;

	do {
		reverse[n++] = (char)('0' + v % 10);
		v /= 10;
	} while (v);
	for (size_t i = 0; i < n; i++)
		out[i] = reverse[n - 1 - i];
	out[n] = '\0';
	return n;
}

static size_t signed_text(char *out, int32_t v)
{
	if (v >= 0)
		return decimal_text(out, (uint64_t)v);
	*out = '-';
	return 1 + decimal_text(out + 1, -(uint64_t)v);
}

static size_t seconds_text(char *out, uint64_t ns)
{
	uint32_t rest = (uint32_t)(ns % 1000000000);
	size_t n = decimal_text(out, ns / 1000000000);

	out[n] = '.';
	for (size_t i = 9; i > 0; i--, rest /= 10)
		out[n + i] = (char)('0' + rest % 10);
	out[n + 10] = '\0';
	return n + 10;
}

/* Returns the length; what does not fit is left out, as with snprintf(). */
static size_t copy_text(char *out, size_t size, const char *text)
{
	size_t n = strlen(text);

	if (n >= size)
		n = size - 1;
	memcpy(out, text, n);
	out[n] = '\0';
	return n;
}

static void put_hex(struct decode_printer *p, uint64_t v)
{
	room(p, 17);
	p->nr += hex_text(p->buf + p->nr, v);
}

static void put(struct decode_printer *p, const char *fmt, ...) AUXTAP_PRINTF(2, 3);
static void put(struct decode_printer *p, const char *fmt, ...)
{
	va_list args;
	int n;

	room(p, LINE_MAX_BYTES);
	va_start(args, fmt);
	n = vsnprintf(p->buf + p->nr, LINE_MAX_BYTES, fmt, args);
	va_end(args);
	if (n > 0)
		p->nr += (size_t)n < LINE_MAX_BYTES ? (size_t)n : LINE_MAX_BYTES - 1;
}

/* ---- what an event says, as strings ---- */

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

static const char *flags_of(const struct auxtap_event *ev)
{
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
	};

	if (ev->type == AUXTAP_EVENT_ASYNC)
		return "async";
	if (ev->type == AUXTAP_EVENT_TRACE)
		return ev->trace_on ? "tr strt" : "tr end";
	return kinds[ev->kind];
}

/* The place of an address; strings are the image set's. */
struct place {
	struct auxtap_location loc;
	bool known;
};

static void find(struct decode_printer *p, const struct auxtap_event *ev, uint64_t addr,
		 bool lines, struct place *place)
{
	uint64_t time = ev->time ? ev->time : UINT64_MAX;
	int ret;

	ret = lines ? auxtap_image_set_resolve(p->images, ev->pid, time, addr, &place->loc)
		    : auxtap_image_set_symbol(p->images, ev->pid, time, addr, &place->loc);
	place->known = !ret && place->loc.image;
}

/* The function as the linker knows it: the outermost frame. */
static const struct auxtap_frame *outer(const struct place *place)
{
	return place->known && place->loc.nr_frames
		       ? &place->loc.frames[place->loc.nr_frames - 1]
		       : NULL;
}

/* "+0x" and 16 digits: all of it or, at the end of the room, nothing. */
static void offset_text(char *out, size_t size, uint64_t off)
{
	if (size < 20)
		return;
	strcpy(out, "+0x");
	hex_text(out + 3, off);
}

static void symbol_text(const struct place *place, bool with_off, char *buf, size_t size)
{
	const struct auxtap_frame *frame = outer(place);
	const char *base;
	size_t n;

	buf[0] = '\0';
	if (!frame)
		return;
	if (frame->symbol) {
		n = copy_text(buf, size, frame->symbol);
		if (with_off)
			offset_text(buf + n, size - n, frame->symbol_off);
	} else {
		base = strrchr(place->loc.image, '/');
		n = copy_text(buf, size, base ? base + 1 : place->loc.image);
		offset_text(buf + n, size - n, place->loc.image_off);
	}
}

static void srcline_text(const struct place *place, char *buf, size_t size)
{
	const char *file, *base;

	buf[0] = '\0';
	if (!place->known || !place->loc.nr_frames || !place->loc.frames[0].file)
		return;
	file = place->loc.frames[0].file;
	base = strrchr(file, '/');
	snprintf(buf, size, "%s:%u", base ? base + 1 : file, place->loc.frames[0].line);
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
	buf[0] = '\0';
	if (!ev->has_ip)
		return;
	if (ev->insn_size)
		auxtap_disassemble_as(p->images, ev->isa, ev->ip, ev->insn, ev->insn_size, buf, size);
	else
		auxtap_image_set_disassemble(p->images, ev->pid,
					     ev->time ? ev->time : UINT64_MAX, ev->ip, buf,
					     size);
}

/* What only a sample of Arm SPE has. */
static void sample_value(const struct auxtap_event *ev, enum decode_field field, bool *number,
			 char *buf, size_t size)
{
	struct auxtap_spe_packet op = {.type = AUXTAP_SPE_OPERATION,
				       .index = ev->op_class,
				       .payload = ev->op};
	struct auxtap_spe_packet events = {.type = AUXTAP_SPE_EVENTS, .payload = ev->spe_events};
	char text[512];

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
		auxtap_spe_packet_text(&events, text, sizeof(text));
		if (ev->spe_has & AUXTAP_SPE_HAS_EVENTS && strlen(text) > 3)
			copy_text(buf, size, text + 3); /* without "EV " */
		break;
	case FIELD_SOURCE:
		*number = true;
		if (ev->spe_has & AUXTAP_SPE_HAS_SOURCE)
			decimal_text(buf, ev->source);
		break;
	case FIELD_OP:
		if (ev->spe_has & AUXTAP_SPE_HAS_OP)
			auxtap_spe_packet_text(&op, buf, size);
		break;
	default:
		break;
	}
}

/* The value of a field as text; empty: it has none. *number: print without quotes. */
static void value(struct decode_printer *p, const struct auxtap_event *ev,
		  enum decode_field field, const struct place *place, bool *number, char *buf,
		  size_t size)
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
			signed_text(buf, field == FIELD_PID ? ev->pid : ev->tid);
		break;
	case FIELD_CPU:
		*number = true;
		if (ev->cpu >= 0)
			signed_text(buf, ev->cpu);
		break;
	case FIELD_TIME:
		*number = true;
		if (ev->time)
			seconds_text(buf, ev->time);
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
		symbol_text(place, p->has & 1u << FIELD_SYMOFF && p->format == FORMAT_TEXT, buf,
			    size);
		break;
	case FIELD_SYMOFF:
		*number = true;
		if (outer(place) && outer(place)->symbol)
			decimal_text(buf, outer(place)->symbol_off);
		break;
	case FIELD_DSO:
		copy_text(buf, size, place->known ? place->loc.image : "");
		break;
	case FIELD_SRCLINE:
		srcline_text(place, buf, size);
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
		copy_text(buf, size, flags_of(ev));
		break;
	default: /* other families have none of these facts */
		if (ev->spe_has)
			sample_value(ev, field, number, buf, size);
		break;
	}
}

/* ---- text ---- */

static void gap_words(const struct auxtap_event *ev, char *buf, size_t size)
{
	const struct auxtap_gap *gap = &ev->gap;
	char bytes[64] = "", span[64] = "";

	if (gap->nr_bytes || gap->exact)
		snprintf(bytes, sizeof(bytes), ", %s%llu bytes lost",
			 gap->exact ? "" : "at least ", (unsigned long long)gap->nr_bytes);
	if (gap->time_begin && gap->time_end > gap->time_begin)
		snprintf(span, sizeof(span), ", %.6f ms",
			 (double)(gap->time_end - gap->time_begin) / 1e6);
	snprintf(buf, size, "%s%s%s%s%s", auxtap_gap_cause_name(gap->cause), bytes, span,
		 ev->text[0] ? ": " : "", ev->text);
}

static const unsigned char text_width[NR_FIELDS] = {
	[FIELD_COMM] = 16, [FIELD_PID] = 7,    [FIELD_TID] = 7,	 [FIELD_CPU] = 3,
	[FIELD_TIME] = 20, [FIELD_EVENT] = 9,  [FIELD_IP] = 16,	 [FIELD_INSNLEN] = 2,
	[FIELD_FLAGS] = 13, [FIELD_INSN] = 23, [FIELD_SRCLINE] = 20, [FIELD_PHYS] = 16,
	[FIELD_LAT_TOTAL] = 5, [FIELD_LAT_ISSUE] = 5, [FIELD_LAT_XLAT] = 5, [FIELD_SOURCE] = 3,
	[FIELD_OP] = 12,
};

static void put_in_brackets(struct decode_printer *p, const char *text)
{
	put_char(p, '(');
	put_text(p, text, strlen(text));
	put_char(p, ')');
}

static void text_addr(struct decode_printer *p, const struct auxtap_event *ev)
{
	struct place place = {.known = false};
	char buf[1024];

	if (!ev->has_addr)
		return;
	put_text(p, " => ", 4);
	put_hex(p, ev->addr);
	if (p->has & (1u << FIELD_SYM | 1u << FIELD_DSO))
		find(p, ev, ev->addr, false, &place);
	if (p->has & 1u << FIELD_SYM && place.known) {
		symbol_text(&place, true, buf, sizeof(buf));
		put_char(p, ' ');
		put_text(p, buf, strlen(buf));
	}
	if (p->has & 1u << FIELD_DSO && place.known) {
		put_char(p, ' ');
		put_in_brackets(p, place.loc.image);
	}
}

/* Right-aligned numbers, left-aligned words; columns keep their place where a value is missing. */
static void text_column(struct decode_printer *p, enum decode_field field, const char *buf,
			bool first)
{
	size_t width = p->nr_fields == 1 ? 0 : text_width[field], len;

	if (!first)
		put_char(p, ' ');
	switch (field) {
	case FIELD_SYM:
		if (!buf[0])
			buf = "[unknown]";
		put_text(p, buf, strlen(buf));
		break;
	case FIELD_DSO:
		put_in_brackets(p, buf[0] ? buf : "[unknown]");
		break;
	case FIELD_PID:
	case FIELD_TID:
	case FIELD_CPU:
	case FIELD_TIME:
	case FIELD_IP:
	case FIELD_PHYS:
	case FIELD_LAT_TOTAL:
	case FIELD_LAT_ISSUE:
	case FIELD_LAT_XLAT:
	case FIELD_SOURCE:
		if (!buf[0])
			buf = "-";
		len = strlen(buf);
		put_blanks(p, len < width ? width - len : 0);
		put_text(p, buf, len);
		if (field == FIELD_TIME)
			put_char(p, ':');
		break;
	default:
		len = strlen(buf);
		put_text(p, buf, len);
		put_blanks(p, len < width ? width - len : 0);
		break;
	}
}

static void print_text(struct decode_printer *p, const struct auxtap_event *ev,
		       const struct place *place)
{
	bool first = true, gap = ev->type == AUXTAP_EVENT_GAP;
	char buf[4096];

	for (unsigned int i = 0; i < p->nr_fields; i++) {
		enum decode_field field = p->fields[i];
		bool number;

		if (field == FIELD_ADDR && !gap) {
			text_addr(p, ev);
			continue;
		}
		if (field == FIELD_SYMOFF && p->has & 1u << FIELD_SYM)
			continue; /* printed with the symbol */
		/* of a gap only who and when */
		if (gap && field > FIELD_EVENT)
			continue;
		if (!ev->has_ip && (field == FIELD_SYM || field == FIELD_DSO))
			continue;
		value(p, ev, field, place, &number, buf, sizeof(buf));
		text_column(p, field, buf, first);
		first = false;
	}
	if (gap) {
		gap_words(ev, buf, sizeof(buf));
		put(p, "%s---- gap: %s ----", first ? "" : " ", buf);
	} else if (ev->type == AUXTAP_EVENT_ASYNC && !(p->has & 1u << FIELD_EVENT)) {
		put(p, " [async]");
	} else if (ev->type == AUXTAP_EVENT_TRACE && !(p->has & 1u << FIELD_EVENT)) {
		put(p, " [trace %s]", ev->trace_on ? "on" : "off");
	}
	put_char(p, '\n');
}

/* Length of the UTF-8 sequence at s; 0: it is none (overlong ones and surrogates are none). */
static unsigned int utf8_length(const unsigned char *s)
{
	unsigned int n = s[0] < 0x80 ? 1 : s[0] < 0xc2 ? 0 : s[0] < 0xe0 ? 2 : s[0] < 0xf0 ? 3
								    : s[0] < 0xf5 ? 4 : 0;

	for (unsigned int i = 1; i < n; i++)
		if ((s[i] & 0xc0) != 0x80)
			return 0;
	if ((s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] > 0x9f) ||
	    (s[0] == 0xf0 && s[1] < 0x90) || (s[0] == 0xf4 && s[1] > 0x8f))
		return 0;
	return n;
}

/* Bytes of a sequence as they are; a byte of none as the four characters \xNN. */
static unsigned int put_utf8(struct decode_printer *p, const char *s, const char *backslash)
{
	unsigned int n = utf8_length((const unsigned char *)s);

	if (!n) {
		put(p, "%sx%02x", backslash, (unsigned char)*s);
		return 1;
	}
	for (unsigned int i = 0; i < n; i++)
		put_char(p, s[i]);
	return n;
}

/* ---- JSON lines ---- */

static void json_string(struct decode_printer *p, const char *s)
{
	put_char(p, '"');
	while (*s) {
		unsigned char c = (unsigned char)*s;

		if (c == '"' || c == '\\')
			put(p, "\\%c", c);
		else if (c < 0x20 || c == 0x7f)
			put(p, "\\u%04x", c);
		else {
			/* the backslash is text here, so JSON wants two */
			s += put_utf8(p, s, "\\\\");
			continue;
		}
		s++;
	}
	put_char(p, '"');
}

static void print_json(struct decode_printer *p, const struct auxtap_event *ev,
		       const struct place *place)
{
	bool number, gap = ev->type == AUXTAP_EVENT_GAP;
	char buf[4096];

	put_char(p, '{');
	for (unsigned int i = 0; i < p->nr_fields; i++) {
		value(p, ev, p->fields[i], place, &number, buf, sizeof(buf));
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
			put(p, ",\"event\":\"gap\"");
		put(p, ",\"cause\":\"%s\",\"nr_bytes\":", auxtap_gap_cause_name(ev->gap.cause));
		if (ev->gap.nr_bytes || ev->gap.exact)
			put(p, "%llu", (unsigned long long)ev->gap.nr_bytes);
		else
			put(p, "null");
		put(p, ",\"exact\":%s,\"detail\":", ev->gap.exact ? "true" : "false");
		json_string(p, ev->text);
	}
	put_text(p, "}\n", 2);
}

/* ---- CSV ---- */

static void csv_string(struct decode_printer *p, const char *s)
{
	bool quoted = strpbrk(s, ",\"\r\n");

	if (quoted)
		put_char(p, '"');
	while (*s) {
		if (*s == '"')
			put_char(p, '"');
		s += put_utf8(p, s, "\\");
	}
	if (quoted)
		put_char(p, '"');
}

static void print_csv(struct decode_printer *p, const struct auxtap_event *ev,
		      const struct place *place)
{
	char buf[4096];
	bool number;

	for (unsigned int i = 0; i < p->nr_fields; i++) {
		if (i)
			put_char(p, ',');
		value(p, ev, p->fields[i], place, &number, buf, sizeof(buf));
		csv_string(p, buf);
	}
	if (p->events & AUXTAP_EVENT_GAP) {
		put_char(p, ',');
		if (ev->type == AUXTAP_EVENT_GAP) {
			gap_words(ev, buf, sizeof(buf));
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
		put(p, "%s%s", i ? "," : "", field_names[p->fields[i]]);
	put(p, "%s\n", p->events & AUXTAP_EVENT_GAP ? ",gap" : "");
}

void decode_print(struct decode_printer *p, const struct auxtap_event *ev)
{
	const uint32_t symbolic = 1u << FIELD_SYM | 1u << FIELD_SYMOFF | 1u << FIELD_DSO |
				  1u << FIELD_SRCLINE;
	struct place place;

	if (p->has == 1u << FIELD_IP && p->format == FORMAT_TEXT &&
	    ev->type == AUXTAP_EVENT_INSN) {
		put_hex(p, ev->ip);
		put_char(p, '\n');
		return;
	}
	place.known = false;
	if (p->has & symbolic && ev->has_ip)
		find(p, ev, ev->ip, p->has & 1u << FIELD_SRCLINE, &place);
	if (p->format == FORMAT_TEXT)
		print_text(p, ev, &place);
	else if (p->format == FORMAT_JSONL)
		print_json(p, ev, &place);
	else
		print_csv(p, ev, &place);
}
