// SPDX-License-Identifier: BSD-2-Clause
/* See support_pt.h. */
#include "support_pt.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

static const uint8_t program[] = {
	0x90, 0x90, 0x75, 0xfc, 0xe8, 0x07, 0x00, 0x00, 0x00, 0xff, 0xe0,
	0xeb, 0xfe, 0x90, 0x90, 0x90, 0x90, 0xc3, 0x0f, 0x05, 0x90,
};

static void byte(struct pt_bytes *pt, unsigned int b)
{
	assert_true(pt->nr < sizeof(pt->at));
	pt->at[pt->nr++] = (uint8_t)b;
}

void pt_raw(struct pt_bytes *pt, const char *hex)
{
	unsigned int b;
	int used;

	while (sscanf(hex, "%2x%n", &b, &used) == 1) {
		byte(pt, b);
		hex += used;
	}
}

static void ip_packet(struct pt_bytes *pt, unsigned int opcode, uint64_t ip)
{
	byte(pt, opcode | 3 << 5); /* 48 bits, sign extended */
	for (int i = 0; i < 6; i++)
		byte(pt, (unsigned int)(ip >> (8 * i)) & 0xff);
}

void pt_psb(struct pt_bytes *pt, uint64_t ip)
{
	pt_raw(pt, "02820282028202820282028202820282");
	if (ip) {
		pt_raw(pt, "9901");
		pt_fup(pt, ip);
	}
	pt_raw(pt, "0223");
}

void pt_tnt(struct pt_bytes *pt, const char *bits)
{
	unsigned int value = 1;

	for (; *bits; bits++)
		value = value << 1 | (*bits == '1');
	byte(pt, value << 1);
}

void pt_tip(struct pt_bytes *pt, uint64_t ip)
{
	ip_packet(pt, 0x0d, ip);
}

void pt_fup(struct pt_bytes *pt, uint64_t ip)
{
	ip_packet(pt, 0x1d, ip);
}

void pt_pge(struct pt_bytes *pt, uint64_t ip)
{
	pt_raw(pt, "9901");
	ip_packet(pt, 0x11, ip);
}

void pt_pgd(struct pt_bytes *pt)
{
	byte(pt, 0x01);
}

void pt_ovf(struct pt_bytes *pt)
{
	pt_raw(pt, "02f3");
}

static void write_file(const char *path, const void *data, size_t size)
{
	FILE *f = fopen(path, "wb");

	assert_non_null(f);
	assert_int_equal(fwrite(data, 1, size, f), size);
	fclose(f);
}

void pt_write_program(const char *path)
{
	write_file(path, program, sizeof(program));
}

static void line(const struct auxtap_event *ev, char *out, size_t size)
{
	static const char *const kinds[] = {"?",     "jcc", "jmp",     "ijmp", "call",
					    "icall", "ret", "syscall", "far"};
	unsigned long long ip = ev->ip, addr = ev->addr;

	switch (ev->type) {
	case AUXTAP_EVENT_INSN:
		snprintf(out, size, "i %llx\n", ip);
		break;
	case AUXTAP_EVENT_BRANCH:
		if (ev->has_addr)
			snprintf(out, size, "b %s %llx %llx\n", kinds[ev->kind], ip, addr);
		else
			snprintf(out, size, "b %s %llx ?\n", kinds[ev->kind], ip);
		break;
	case AUXTAP_EVENT_CALL:
		snprintf(out, size, "call %llx %llx depth %u\n", ip, addr, ev->depth);
		break;
	case AUXTAP_EVENT_RETURN:
		snprintf(out, size, "return %llx %llx depth %u\n", ip, addr, ev->depth);
		break;
	case AUXTAP_EVENT_ASYNC:
		snprintf(out, size, "async %llx\n", ip);
		break;
	case AUXTAP_EVENT_TRACE:
		snprintf(out, size, "%s %llx\n", ev->trace_on ? "on" : "off",
			 ev->trace_on ? addr : ip);
		break;
	case AUXTAP_EVENT_BLOCK:
		snprintf(out, size, "block %llx %llx %u\n", ip, addr, ev->nr_insns);
		break;
	default:
		snprintf(out, size, "gap %s\n", auxtap_gap_cause_name(ev->gap->cause));
		break;
	}
}

void pt_decode(const struct pt_bytes *pt, uint32_t events, unsigned int jobs, char *out,
	       size_t size)
{
	struct auxtap_decode_opts opts = {.size = sizeof(opts), .events = events, .jobs = jobs};
	struct auxtap_image_set_opts image_opts = {.size = sizeof(image_opts)};
	struct auxtap_raw_opts raw = {.size = sizeof(raw), .family = "pt"};
	struct auxtap_error err = AUXTAP_ERROR_INIT;
	char dir[] = "/tmp/auxtap-decode-XXXXXX", code[64], trace[64];
	struct auxtap_image_set *images;
	struct auxtap_decoder *dec;
	struct auxtap_event ev = {.size = sizeof(ev)};
	int ret, left = 100000;

	assert_non_null(mkdtemp(dir));
	snprintf(code, sizeof(code), "%s/code", dir);
	snprintf(trace, sizeof(trace), "%s/trace", dir);
	pt_write_program(code);
	write_file(trace, pt->at, pt->nr);
	assert_int_equal(auxtap_image_set_new(&images, &image_opts, &err), 0);
	assert_int_equal(auxtap_image_set_add_file(images, code, 0, 0, PROGRAM_BASE, &err), 0);
	assert_int_equal(auxtap_decoder_open_raw(&dec, trace, &raw, images, &opts, &err), 0);
	out[0] = '\0';
	while ((ret = auxtap_decoder_next(dec, &ev, &err)) == 1) {
		size_t have = strlen(out);

		assert_true(left-- > 0);
		line(&ev, out + have, size - have);
	}
	assert_int_equal(ret, 0);
	auxtap_decoder_close(dec);
	auxtap_image_set_free(images);
	unlink(code);
	unlink(trace);
	rmdir(dir);
}
