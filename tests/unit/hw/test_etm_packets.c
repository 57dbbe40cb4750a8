// SPDX-License-Identifier: BSD-2-Clause
/*
 * Every packet form by hand: its bytes, and OpenCSD's reading of them; the registers.
 */
#include "support_etm.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

/* OpenCSD's text of the packets after A-Sync and Trace Info, a line each. */
struct lines {
	char text[64][300];
	size_t nr;
	size_t nr_all;
	ocsd_etmv4_i_pkt last; /* ETMv4 */
	void (*packet)(void *ctx, const ocsd_etmv4_i_pkt *packet);
	void *ctx;
};

static u32 on_memory(void *ctx, u64 addr, u32 nr, u8 *bytes)
{
	(void)ctx;
	(void)addr;
	(void)nr;
	(void)bytes;
	return 0;
}

static void on_element(void *ctx, u64 offset, const ocsd_generic_trace_elem *elem)
{
	(void)ctx;
	(void)offset;
	(void)elem;
}

static void on_packet(void *ctx, u64 offset, const ocsd_etmv4_i_pkt *packet, const u8 *bytes,
		      u32 nr)
{
	struct lines *lines = ctx;

	(void)offset;
	(void)bytes;
	(void)nr;
	lines->last = *packet;
	if (lines->packet)
		lines->packet(lines->ctx, packet);
}

static void on_text(void *ctx, const char *line)
{
	struct lines *lines = ctx;
	const char *bytes = strchr(line, '[');

	if (lines->nr_all++ >= 2 && bytes && lines->nr < 64)
		snprintf(lines->text[lines->nr++], sizeof(lines->text[0]), "%s", bytes);
}

static struct etm_registers registers(const struct etm_format *f)
{
	static const u64 clock;
	struct etm_unit_config config = {.clock = &clock,
					 .ete = f->ete,
					 .ete_minor = f->ete,
					 .max_spec = f->max_spec,
					 .cycle_bits = f->cycle_bits};
	struct etm_sink sink = {NULL, NULL};
	struct etm_registers regs;
	struct etm_unit unit;

	etm_unit_init(&unit, &config, &sink);
	etm_unit_write(&unit, TRCTRACEIDR, 0x10);
	etm_unit_write(&unit, TRCCONFIGR,
		       (f->cycles ? TRCCONFIGR_CCI : 0) | (f->contextid ? TRCCONFIGR_CID : 0) |
			       (f->vmid ? TRCCONFIGR_VMID : 0));
	regs = etm_registers_of(&unit);
	if (!f->commit_mode_1)
		regs.idr0 &= ~(1u << 29);
	return regs;
}

static struct etm_encoder enc;
static struct etm_burst burst;
static struct lines lines;

static void begin(const struct etm_format *format)
{
	etm_encoder_init(&enc, format);
	etm_burst_begin(&burst);
	etm_put_async(&enc, &burst);
	etm_put_trace_info(&enc, &burst);
}

/* Text, or the library's own structure (ETMv4): the library has one callback for both. */
static void reference_bytes(const u8 *bytes, size_t nr, bool text)
{
	struct etm_reference ref = {on_memory, on_element, text ? NULL : on_packet,
				    text ? on_text : NULL, &lines};
	struct etm_registers regs = registers(&enc.format);

	lines.nr = lines.nr_all = 0;
	etm_reference_run(&ref, &regs, bytes, nr);
}

static void end(bool text)
{
	assert_true(etm_burst_nr_bytes(&burst) <= sizeof(burst.bytes));
	reference_bytes(burst.bytes, etm_burst_nr_bytes(&burst), text);
}

/* Lines of "[bytes ];\tTEXT"; the first 'nr' must start like these. */
static void expect(const char *const *expected, size_t nr)
{
	end(true);
	for (size_t i = 0; i < nr; i++) {
		const char *bytes = strchr(expected[i], ']'), *text = bytes + 2;
		const char *got = lines.text[i];

		if (i >= lines.nr || strncmp(got, expected[i], bytes - expected[i]) ||
		    !strstr(got, text))
			fail_msg("packet %zu: %s, not %s", i, i < lines.nr ? got : "none",
				 expected[i]);
	}
	assert_int_equal(lines.nr, nr);
}

#define EXPECT(...)                                                          \
	do {                                                                 \
		static const char *const expected_[] = {__VA_ARGS__};        \
		expect(expected_, sizeof(expected_) / sizeof(expected_[0])); \
	} while (0)

static const struct etm_format etm = {.cycle_bits = 12, .commit_mode_1 = true};
static const struct etm_format ete = {.ete = true, .cycle_bits = 12, .commit_mode_1 = true};

static u64 seed = 88172645463325252ull;

static u64 next_random(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed >> 11;
}

/* ---- atoms ---- */

static void put_pattern(const char *atoms)
{
	for (; *atoms; atoms++)
		etm_put_atom(&enc, &burst, *atoms == 'E');
}

static void test_atoms(void **state)
{
	(void)state;
	begin(&etm);
	put_pattern("EEEEEEEEEEEEEEEEEEEEEEEE"
		    "EEEEEEEEEEEEEEEEEEEEEEEN"
		    "EEEEN");
	put_pattern("NNNNN"
		    "NEEEE"
		    "NENEN"
		    "ENENE");
	put_pattern("NEEE"
		    "NNEE"
		    "N"
		    "NENE");
	etm_put_atoms(&enc, &burst);
	put_pattern("EN");
	etm_put_atoms(&enc, &burst);
	put_pattern("E");
	etm_put_atoms(&enc, &burst);
	etm_put_atoms(&enc, &burst);
	EXPECT("[0xd4 ] I_ATOM_F6 : Atom format 6.; EEEEEEEEEEEEEEEEEEEEEEEE\n",
	       "[0xf4 ] I_ATOM_F6 : Atom format 6.; EEEEEEEEEEEEEEEEEEEEEEEN\n",
	       "[0xe1 ] I_ATOM_F6 : Atom format 6.; EEEEN\n",
	       "[0xd5 ] I_ATOM_F5 : Atom format 5.; NNNNN\n",
	       "[0xf5 ] I_ATOM_F5 : Atom format 5.; NEEEE\n",
	       "[0xd6 ] I_ATOM_F5 : Atom format 5.; NENEN\n",
	       "[0xd7 ] I_ATOM_F5 : Atom format 5.; ENENE\n",
	       "[0xdc ] I_ATOM_F4 : Atom format 4.; NEEE\n",
	       "[0xfc ] I_ATOM_F3 : Atom format 3.; NNE\n",
	       "[0xf9 ] I_ATOM_F3 : Atom format 3.; ENN\n",
	       "[0xfd ] I_ATOM_F3 : Atom format 3.; ENE\n",
	       "[0xd9 ] I_ATOM_F2 : Atom format 2.; EN\n",
	       "[0xf7 ] I_ATOM_F1 : Atom format 1.; E\n");
}

struct atoms {
	u64 bits;
	unsigned int nr;
};

static void one_packet(void *ctx, const ocsd_etmv4_i_pkt *packet)
{
	struct atoms *atoms = ctx;

	atoms->bits = packet->atom.En_bits;
	atoms->nr = packet->atom.num;
}

/* Each byte of an atom packet, from the atoms that OpenCSD reads in it. */
static void test_all_atom_bytes(void **state)
{
	unsigned int nr = 0;

	(void)state;
	for (unsigned int byte = 0xc0; byte <= 0xff; byte++) {
		struct atoms atoms = {0};

		if (byte >= 0xf5 ? false : (byte & 0x1f) > 0x14 && byte > 0xe0)
			continue;
		begin(&etm);
		*burst.at++ = (u8)byte;
		lines.packet = one_packet;
		lines.ctx = &atoms;
		end(false);
		lines.packet = NULL;
		assert_in_range(atoms.nr, 1, ETM_MAX_ATOMS);
		begin(&etm);
		for (unsigned int i = 0; i < atoms.nr; i++)
			etm_put_atom(&enc, &burst, atoms.bits >> i & 1);
		etm_put_atoms(&enc, &burst);
		if (burst.at[-1] != byte || etm_burst_nr_bytes(&burst) != 12 + 3 + 1)
			fail_msg("byte %02x: %02x", byte, burst.at[-1]);
		nr++;
	}
	assert_int_equal(nr, 64);
}

struct sequence {
	u8 atoms[4096];
	size_t nr, at;
};

static void all_packets(void *ctx, const ocsd_etmv4_i_pkt *packet)
{
	struct sequence *s = ctx;

	if (packet->type < ETM4_PKT_I_ATOM_F6)
		return;
	for (int i = 0; i < packet->atom.num; i++)
		assert_int_equal(packet->atom.En_bits >> i & 1, s->atoms[s->at++]);
}

static void test_random_atoms(void **state)
{
	static struct sequence s;
	static u8 bytes[8192];
	size_t nr_bytes = 0;

	(void)state;
	for (unsigned int chance = 1; chance < 100; chance += 7) {
		s.at = s.nr = 0;
		begin(&etm);
		nr_bytes = 0;
		while (s.nr < sizeof(s.atoms)) {
			bool taken = next_random() % 100 < chance;

			s.atoms[s.nr++] = taken;
			etm_put_atom(&enc, &burst, taken);
			memcpy(bytes + nr_bytes, burst.bytes, etm_burst_nr_bytes(&burst));
			nr_bytes += etm_burst_nr_bytes(&burst);
			etm_burst_begin(&burst);
		}
		etm_put_atoms(&enc, &burst);
		memcpy(bytes + nr_bytes, burst.bytes, etm_burst_nr_bytes(&burst));
		nr_bytes += etm_burst_nr_bytes(&burst);
		lines.packet = all_packets;
		lines.ctx = &s;
		reference_bytes(bytes, nr_bytes, false);
		lines.packet = NULL;
		assert_int_equal(s.at, s.nr);
		assert_true(nr_bytes < s.nr / 2);
	}
}

/* ---- addresses ---- */

static void test_addresses(void **state)
{
	(void)state;
	begin(&etm);
	etm_put_context(&enc, &burst, &(struct etm_context){.sf = true});
	etm_put_address(&enc, &burst, 0x400580, ETM_IS0);
	etm_put_address(&enc, &burst, 0x400780, ETM_IS0);
	etm_put_address(&enc, &burst, 0x400604, ETM_IS0);
	etm_put_address(&enc, &burst, 0x41fffc, ETM_IS0);
	etm_put_address(&enc, &burst, 0x420000, ETM_IS0);
	etm_put_address(&enc, &burst, 0xffff81234564, ETM_IS0);
	etm_put_address(&enc, &burst, 0x420000, ETM_IS0);
	etm_put_address(&enc, &burst, 0x420000, ETM_IS0);
	etm_put_address(&enc, &burst, 0xffff81234564, ETM_IS0);
	etm_put_address(&enc, &burst, 0xffff00000000, ETM_IS0);
	EXPECT("[0x81 0x10 ] I_CTXT",
	       "[0x9a 0x60 0x02 0x40 0x00 ] I_ADDR_L_32IS0 : Address, Long, 32 bit, IS0.; Addr=0x0000000000400580",
	       "[0x95 0xe0 0x03 ] I_ADDR_S_IS0 : Address, Short, IS0.; Addr=0x0000000000400780",
	       "[0x95 0x01 ] I_ADDR_S_IS0 : Address, Short, IS0.; Addr=0x0000000000400604",
	       "[0x95 0xff 0xff ] I_ADDR_S_IS0 : Address, Short, IS0.; Addr=0x000000000041FFFC",
	       "[0x9a 0x00 0x00 0x42 0x00 ] I_ADDR_L_32IS0 : Address, Long, 32 bit, IS0.; Addr=0x0000000000420000",
	       "[0x9d 0x59 0x22 0x23 0x81 0xff 0xff 0x00 0x00 ] I_ADDR_L_64IS0 : Address, Long, 64 bit, IS0.; Addr=0x0000FFFF81234564",
	       "[0x91 ] I_ADDR_MATCH : Exact Address Match., [1]; Addr=0x0000000000420000",
	       "[0x90 ] I_ADDR_MATCH : Exact Address Match., [0]; Addr=0x0000000000420000",
	       "[0x92 ] I_ADDR_MATCH : Exact Address Match., [2]; Addr=0x0000FFFF81234564",
	       "[0x9a 0x00 0x00 0x00 0x00 ] I_ADDR_L_32IS0 : Address, Long, 32 bit, IS0.; Addr=0x0000FFFF00000000");
	/* Trace Info clears them */
	etm_burst_begin(&burst);
	etm_put_async(&enc, &burst);
	etm_put_trace_info(&enc, &burst);
	etm_put_address(&enc, &burst, 0xffff00000000, ETM_IS0);
	EXPECT("[0x9d 0x00 0x00 0x00 0x00 0xff 0xff 0x00 0x00 ] I_ADDR_L_64IS0 : Address, Long, 64 bit, IS0.; Addr=0x0000FFFF00000000");
}

static void test_t32_addresses(void **state)
{
	(void)state;
	begin(&etm);
	etm_put_address(&enc, &burst, 0x10802, ETM_IS1);
	etm_put_address(&enc, &burst, 0x10806, ETM_IS1);
	etm_put_address(&enc, &burst, 0x1fffe, ETM_IS1);
	etm_put_address(&enc, &burst, 0x1fffc, ETM_IS0);
	etm_put_address(&enc, &burst, 0x1fffc, ETM_IS1);
	etm_put_address(&enc, &burst, 0x20000, ETM_IS1);
	etm_put_address(&enc, &burst, 0x100000ffe, ETM_IS1);
	EXPECT("[0x9b 0x01 0x08 0x01 0x00 ] I_ADDR_L_32IS1 : Address, Long, 32 bit, IS1.; Addr=0x0000000000010802",
	       "[0x96 0x03 ] I_ADDR_S_IS1 : Address, Short, IS1.; Addr=0x0000000000010806",
	       "[0x96 0xff 0xff ] I_ADDR_S_IS1 : Address, Short, IS1.; Addr=0x000000000001FFFE",
	       "[0x95 0x7f ] I_ADDR_S_IS0 : Address, Short, IS0.; Addr=0x000000000001FFFC",
	       "[0x96 0x7e ] I_ADDR_S_IS1 : Address, Short, IS1.; Addr=0x000000000001FFFC",
	       "[0x9b 0x00 0x00 0x02 0x00 ] I_ADDR_L_32IS1 : Address, Long, 32 bit, IS1.; Addr=0x0000000000020000",
	       "[0x9e 0x7f 0x0f 0x00 0x00 0x01 0x00 0x00 0x00 ] I_ADDR_L_64IS1 : Address, Long, 64 bit, IS1.; Addr=0x0000000100000FFE");
}

struct addresses {
	u64 addr[1000];
	size_t nr, at;
};

static void addr_packet(void *ctx, const ocsd_etmv4_i_pkt *packet)
{
	struct addresses *a = ctx;

	if (packet->type >= ETM4_PKT_I_ADDR_MATCH && packet->type <= ETM4_PKT_I_ADDR_L_64IS1)
		assert_int_equal(packet->v_addr.val, a->addr[a->at++]);
}

static void test_random_addresses(void **state)
{
	static struct addresses a;
	static u8 bytes[16384];
	size_t nr_bytes;
	u64 addr = 0;

	(void)state;
	begin(&etm);
	etm_put_context(&enc, &burst, &(struct etm_context){.sf = true});
	nr_bytes = etm_burst_nr_bytes(&burst);
	memcpy(bytes, burst.bytes, nr_bytes);
	while (a.nr < 1000) {
		u8 is = next_random() % 4 == 0;

		addr ^= next_random() >> (next_random() % 53);
		if (a.nr > 4 && next_random() % 4 == 0)
			addr = a.addr[a.nr - 1 - next_random() % 4];
		addr &= is ? ~1ull : ~3ull;
		a.addr[a.nr++] = addr;
		etm_burst_begin(&burst);
		etm_put_address(&enc, &burst, addr, is);
		memcpy(bytes + nr_bytes, burst.bytes, etm_burst_nr_bytes(&burst));
		nr_bytes += etm_burst_nr_bytes(&burst);
	}
	lines.packet = addr_packet;
	lines.ctx = &a;
	reference_bytes(bytes, nr_bytes, false);
	lines.packet = NULL;
	assert_int_equal(a.at, a.nr);
}

static void test_context(void **state)
{
	struct etm_format format = etm;
	struct etm_context c = {.sf = true, .ns = true};

	(void)state;
	begin(&etm);
	etm_put_context(&enc, &burst, &c);
	etm_put_context(&enc, &burst, &c);
	c.el = 1;
	etm_put_address_context(&enc, &burst, 0x1000, ETM_IS0, &c);
	etm_put_context(&enc, &burst, &c);
	EXPECT("[0x81 0x30 ] I_CTXT : Context Packet.; Ctxt: AArch64,EL0, NS",
	       "[0x80 ] I_CTXT : Context Packet.; Ctxt: Same",
	       "[0x82 0x00 0x08 0x00 0x00 0x31 ] I_ADDR_CTXT_L_32IS0 : Address & Context, Long, 32 bit, IS0.; Addr=0x0000000000001000; Ctxt: AArch64,EL1, NS",
	       "[0x80 ] I_CTXT : Context Packet.; Ctxt: Same");
	format.contextid = format.vmid = true;
	format.vmid_bytes = 4;
	begin(&format);
	c = (struct etm_context){.contextid = 0x12345, .vmid = 7};
	etm_put_address_context(&enc, &burst, 0xffffaaaabbb2, ETM_IS1, &c);
	c.contextid = 0x777;
	etm_put_address_context(&enc, &burst, 0xffffaaaabbc2, ETM_IS1, &c);
	c.vmid = 8;
	c.sf = true;
	etm_put_address_context(&enc, &burst, 0xfffeaaaabbc0, ETM_IS0, &c);
	etm_put_context(&enc, &burst, &c);
	EXPECT("[0x86 0x59 0xbb 0xaa 0xaa 0xff 0xff 0x00 0x00 0xc0 0x07 0x00 0x00 0x00 0x45 0x23 0x01 0x00 ] I_ADDR_CTXT_L_64IS1 : Address & Context, Long, 64 bit, IS1.; Addr=0x0000FFFFAAAABBB2; Ctxt: AArch32, EL0, S; CID=0x00012345; VMID=0x0007",
	       "[0x83 0x61 0xbb 0xaa 0xaa 0x80 0x77 0x07 0x00 0x00 ] Addr=0x00000000AAAABBC2; Ctxt: AArch32, EL0, S; CID=0x00000777",
	       "[0x85 0x70 0x5d 0xaa 0xaa 0xfe 0xff 0x00 0x00 0x50 0x08 0x00 0x00 0x00 ] I_ADDR_CTXT_L_64IS0 : Address & Context, Long, 64 bit, IS0.; Addr=0x0000FFFEAAAABBC0; Ctxt: AArch64,EL0, S; VMID=0x0008",
	       "[0x80 ] I_CTXT");
}

/* ---- exceptions ---- */

static void test_exceptions(void **state)
{
	(void)state;
	begin(&etm);
	put_pattern("EN");
	etm_put_exception(&enc, &burst, ETM_CALL, 0x1058c, ETM_IS0, false);
	etm_put_exception(&enc, &burst, ETM_IRQ, 0x1058c, ETM_IS0, false);
	etm_put_exception(&enc, &burst, ETM_DATA_FAULT, 0x10590, ETM_IS0, true);
	etm_put_exception(&enc, &burst, ETM_INST_FAULT, 0x10590, ETM_IS0, true);
	etm_put_exception(&enc, &burst, 0x2a5, 0x10594, ETM_IS0, false);
	etm_put_exception_return(&enc, &burst);
	EXPECT("[0xd9 ] I_ATOM_F2 : Atom format 2.; EN",
	       "[0x06 0x05 ] I_EXCEPT : Exception.;  Call; Ret Addr Follows;",
	       "[0x9a 0x63 0x02 0x01 0x00 ] I_ADDR_L_32IS0 : Address, Long, 32 bit, IS0.; Addr=0x000000000001058C",
	       "[0x06 0x1d ] I_EXCEPT : Exception.;  IRQ; Ret Addr Follows;",
	       "[0x90 ] I_ADDR_MATCH : Exact Address Match., [0]",
	       "[0x06 0x58 ] I_EXCEPT : Exception.;  Data Fault; Ret Addr Follows, Match Prev;",
	       "[0x95 0x64 ] I_ADDR_S_IS0 : Address, Short, IS0.; Addr=0x0000000000010590",
	       "[0x06 0x56 ] I_EXCEPT : Exception.;  Inst Fault; Ret Addr Follows, Match Prev;",
	       "[0x90 ] I_ADDR_MATCH : Exact Address Match., [0]",
	       "[0x06 0x8b 0x15 ] I_EXCEPT : Exception.;  Reserved",
	       "[0x95 0x65 ] I_ADDR_S_IS0 : Address, Short, IS0.; Addr=0x0000000000010594",
	       "[0x07 ] I_EXCEPT_RTN : Exception Return.");
}

/* ---- time ---- */

static void test_timestamps(void **state)
{
	static const u64 values[] = {0x5,
				     0x7f,
				     0x80,
				     0x81,
				     0x3fff,
				     0x123456,
				     0x123456,
				     0x3ffffffffff,
				     0x40000000000,
				     0x1ffffffffffff,
				     0x4000000000000,
				     0xf000000000000001,
				     0xf000800000000001,
				     0x8000000000000000,
				     0};
	const size_t nr = sizeof(values) / sizeof(values[0]);

	(void)state;
	for (int order = 0; order < 3; order++) {
		for (size_t i = 0; i < nr; i++) {
			u64 value = values[order == 1 ? nr - 1 - i : i];

			if (order == 2)
				value = next_random() << 11 >> next_random() % 64;
			if (!i)
				begin(&etm);
			etm_put_timestamp(&enc, &burst, value, 0);
			end(false);
			assert_int_equal(lines.last.ts.timestamp, value);
		}
	}
	begin(&ete);
	etm_put_timestamp_marker(&enc, &burst);
	etm_put_timestamp(&enc, &burst, 0xfffffffff0006592, 0);
	etm_put_timestamp(&enc, &burst, 0xfffffffff0006593, 0);
	EXPECT("[0x88 ] I_TS_MARKER",
	       "[0x02 0x92 0xcb 0x81 0x80 0xff 0xff 0xff 0xff 0xff ] I_TIMESTAMP : Timestamp.; Updated val = 0xfffffffff0006592",
	       "[0x02 0x13 ] I_TIMESTAMP : Timestamp.; Updated val = 0xfffffffff0006593");
}

static void test_cycles(void **state)
{
	struct etm_format format = etm;

	(void)state;
	format.cycles = true;
	format.threshold = 0x16;
	begin(&format);
	etm_put_cycles(&enc, &burst, ETM_CYCLES_UNKNOWN);
	etm_put_cycles(&enc, &burst, 0x16);
	etm_put_cycles(&enc, &burst, 0x19);
	etm_put_cycles(&enc, &burst, 0x1a);
	etm_put_cycles(&enc, &burst, 0x25);
	etm_put_cycles(&enc, &burst, 0x26);
	put_pattern("E");
	etm_put_atom_cycles(&enc, &burst, false, 0xfff);
	etm_put_cycles(&enc, &burst, 0x1000);
	etm_put_timestamp(&enc, &burst, 0x1234, 0x300);
	etm_put_timestamp(&enc, &burst, 0x1235, ETM_CYCLES_UNKNOWN);
	EXPECT("[0x0f ] I_CCNT_F1 : Cycle Count format 1.; Count=0x0",
	       "[0x10 ] I_CCNT_F3 : Cycle Count format 3.; Count=0x16",
	       "[0x13 ] I_CCNT_F3 : Cycle Count format 3.; Count=0x19",
	       "[0x0d 0xf4 ] I_CCNT_F2 : Cycle Count format 2.; Count=0x1a",
	       "[0x0d 0xff ] I_CCNT_F2 : Cycle Count format 2.; Count=0x25",
	       "[0x0e 0x10 ] I_CCNT_F1 : Cycle Count format 1.; Count=0x26",
	       "[0xf7 ] I_ATOM_F1 : Atom format 1.; E",
	       "[0x0e 0xe9 0x1f ] I_CCNT_F1 : Cycle Count format 1.; Count=0xfff",
	       "[0xf6 ] I_ATOM_F1 : Atom format 1.; N",
	       "[0x0f ] I_CCNT_F1 : Cycle Count format 1.; Count=0x0",
	       "[0x03 0xb4 0x24 0x80 0x06 ] I_TIMESTAMP : Timestamp.; Updated val = 0x1234; CC=0x300",
	       "[0x02 0x35 ] I_TIMESTAMP : Timestamp.; Updated val = 0x1235");
}

/* Commit mode 0: the count commits that many P0 elements. */
static void commits(const char *atoms, u64 cycles, u32 commit, u32 nr_bytes)
{
	struct etm_format format = {.cycle_bits = 20,
				    .cycles = true,
				    .threshold = 0x100,
				    .max_spec = 40};
	size_t before;

	begin(&format);
	for (; atoms[1]; atoms++) {
		etm_put_atom(&enc, &burst, *atoms == 'E');
		assert_int_equal(etm_burst_nr_bytes(&burst), 12 + 5);
	}
	before = etm_burst_nr_bytes(&burst);
	etm_put_atom_cycles(&enc, &burst, *atoms == 'E', cycles);
	assert_int_equal(etm_burst_nr_bytes(&burst) - before, 1 + nr_bytes);
	end(false);
	assert_int_equal(lines.last.cycle_count, cycles >> 20 ? 0 : cycles);
	assert_int_equal(lines.last.commit_elements, commit);
	assert_int_equal(enc.nr_uncommitted, 0);
}

static void test_commit_mode_0(void **state)
{
	(void)state;
	commits("E", 0x100, 1, 1);
	commits("NENE", 0x103, 4, 1);
	commits("EEEEE", 0x102, 5, 2);
	commits("EEEEEEEEEEEEEEEE", 0x104, 16, 2);
	commits("EEEEEEEEEEEEEEEEE", 0x104, 17, 3);
	commits("EE", 0x110, 2, 3);
	commits("EE", 0xfffff, 2, 5);
	commits("EE", 0x100000, 2, 2);
	commits("EEE", ETM_CYCLES_UNKNOWN, 3, 2);
}

/* ---- the rest ---- */

static void test_rest(void **state)
{
	struct etm_format format = etm;

	(void)state;
	begin(&etm);
	etm_put_trace_on(&enc, &burst);
	put_pattern("E");
	etm_put_event(&enc, &burst, 0x5);
	etm_put_event(&enc, &burst, 0xf);
	etm_put_event(&enc, &burst, 0);
	etm_put_ignore(&burst);
	EXPECT("[0x04 ] I_TRACE_ON : Trace On.", "[0xf7 ] I_ATOM_F1 : Atom format 1.; E",
	       "[0x75 ] I_EVENT : Trace Event", "[0x7f ] I_EVENT : Trace Event",
	       "[0x70 ] I_IGNORE : Ignore");
	begin(&etm);
	put_pattern("EN");
	etm_put_overflow(&enc, &burst);
	EXPECT("[0x00 0x05 ] I_OVERFLOW : Overflow.");
	begin(&etm);
	put_pattern("EN");
	etm_put_discard(&enc, &burst);
	EXPECT("[0x00 0x03 ] I_DISCARD : Discard.");
	format.max_spec = 8;
	begin(&format);
	put_pattern("EEEEEEEEE");
	etm_put_exception(&enc, &burst, ETM_FIQ, 0x1000, ETM_IS0, false);
	EXPECT("[0xc4 ] I_ATOM_F6 : Atom format 6.; EEEEEEEE",
	       "[0x2d 0x08 ] I_COMMIT : Commit; Commit(8)", "[0xf7 ] I_ATOM_F1 : Atom format 1.; E",
	       "[0x2d 0x01 ] I_COMMIT : Commit; Commit(1)",
	       "[0x06 0x1f ] I_EXCEPT : Exception.;  FIQ; Ret Addr Follows;",
	       "[0x9a 0x00 0x08 0x00 0x00 ] I_ADDR_L_32IS0",
	       "[0x2d 0x01 ] I_COMMIT : Commit; Commit(1)");
}

static void test_ete(void **state)
{
	(void)state;
	begin(&ete);
	etm_put_source_address(&enc, &burst, 0x606c4, ETM_IS0);
	put_pattern("E");
	etm_put_address(&enc, &burst, 0x60524, ETM_IS0);
	etm_put_source_address(&enc, &burst, 0x606c4, ETM_IS0);
	etm_put_source_address(&enc, &burst, 0x606c8, ETM_IS1);
	etm_put_source_address(&enc, &burst, 0xffff00000000, ETM_IS0);
	etm_put_pe_reset(&enc, &burst);
	etm_put_ignore(&burst);
	EXPECT("[0xb6 0x31 0x03 0x06 0x00 ] I_SCR_ADDR_L_32IS0 : Source Address, Long, 32 bit, IS0.; Addr=0x00000000000606C4",
	       "[0xf7 ] I_ATOM_F1",
	       "[0x95 0xc9 0x02 ] I_ADDR_S_IS0 : Address, Short, IS0.; Addr=0x0000000000060524",
	       "[0xb1 ] I_SRC_ADDR_MATCH : Exact Source Address Match.",
	       "[0xb5 0x64 ] I_SRC_ADDR_S_IS1 : Source Address, Short, IS1.; Addr=0x00000000000606C8",
	       "[0xb8 0x00 0x00 0x00 0x00 0xff 0xff 0x00 0x00 ] I_SRC_ADDR_L_64IS0 : Source Address, Long, 64 bit, IS0.; Addr=0x0000FFFF00000000",
	       "[0x06 0x01 0x70 ] I_PE_RESET", "[0x70 ] I_IGNORE");
}

/* Trace Info: with and without cycle counts, for both architectures. */
static void test_trace_info(void **state)
{
	static const u8 info[][5] = {{1, 1, 0}, {1, 0}, {1, 9, 1, 0x16}, {1, 9, 1, 0x80, 0x1f}};
	static const size_t nr[] = {3, 2, 4, 5};
	struct etm_format formats[4] = {etm, ete, ete, etm};

	(void)state;
	formats[2].cycles = formats[3].cycles = true;
	formats[2].threshold = 0x16;
	formats[3].threshold = 0xf80;
	for (int i = 0; i < 4; i++) {
		begin(&formats[i]);
		assert_int_equal(etm_burst_nr_bytes(&burst), 12 + nr[i]);
		assert_memory_equal(burst.bytes + 12, info[i], nr[i]);
	}
	end(false);
	assert_int_equal(lines.last.cc_threshold, 0xf80);
	assert_true(lines.last.trace_info.bits.cc_enabled);
}

/* ---- registers ---- */

static void test_registers(void **state)
{
	u64 clock = 0;
	struct etm_unit_config config = {.clock = &clock,
					 .max_spec = 9,
					 .cycle_bits = 20,
					 .wfx_branch = true};
	struct etm_stream stream;
	struct etm_unit unit;

	(void)state;
	etm_stream_init(&stream);
	etm_unit_init(&unit, &config, &stream.sink);
	assert_int_equal(etm_unit_read(&unit, TRCIDR0), 0x28000ea1);
	assert_int_equal(etm_unit_read(&unit, TRCIDR0 + 4), 0x4100f430);
	assert_int_equal(etm_unit_read(&unit, TRCIDR0 + 8), 0x90001088);
	assert_int_equal(etm_unit_read(&unit, TRCIDR8), 9);
	assert_int_equal(etm_unit_read(&unit, TRCDEVARCH), 0x47734a13);
	assert_int_equal(etm_unit_read(&unit, TRCSTATR), TRCSTATR_IDLE | TRCSTATR_PMSTABLE);
	assert_int_equal(etm_unit_write(&unit, TRCIDR0, 0), -1);
	assert_int_equal(etm_unit_write(&unit, 0x7fc, 0), -1);
	assert_int_equal(etm_unit_write(&unit, TRCCONFIGR, ~0u), 0);
	assert_int_equal(etm_unit_read(&unit, TRCCONFIGR), 0x18d8);
	assert_int_equal(etm_unit_write(&unit, TRCCONFIGR, 0), 0);
	assert_int_equal(etm_unit_write(&unit, TRCCCCTLR, 1), 0);
	assert_int_equal(etm_unit_read(&unit, TRCCCCTLR), 4); /* CCITMIN */
	assert_int_equal(etm_unit_write(&unit, TRCTRACEIDR, 0x95), 0);
	assert_int_equal(etm_unit_read(&unit, TRCTRACEIDR), 0x15);
	/* while it runs it can only be stopped */
	assert_int_equal(etm_unit_write(&unit, TRCVICTLR, 1 | TRCVICTLR_SSSTATUS), 0);
	assert_int_equal(etm_unit_write(&unit, TRCPRGCTLR, TRCPRGCTLR_EN), 0);
	assert_int_equal(etm_unit_read(&unit, TRCSTATR), 0);
	assert_int_equal(etm_unit_write(&unit, TRCVICTLR, 0), -1);
	assert_int_equal(etm_unit_read(&unit, TRCVICTLR), 1 | TRCVICTLR_SSSTATUS);
	etm_unit_enter(&unit, 0, 0x1000);
	etm_unit_branch(&unit, A64_B, 0x1000, 0x1000);
	assert_int_equal(stream.nr, 12 + 3 + 1 + 6); /* up to the address; an atom is pending */
	assert_int_equal(etm_unit_write(&unit, TRCPRGCTLR, 0), 0);
	assert_int_equal(stream.nr, 12 + 3 + 1 + 6 + 3); /* that atom and its commit */
	etm_unit_branch(&unit, A64_B, 0x1000, 0x1000);
	assert_int_equal(unit.nr_produced, stream.nr);
	/* switched on in the middle of the program */
	assert_int_equal(etm_unit_write(&unit, TRCPRGCTLR, TRCPRGCTLR_EN), 0);
	assert_int_equal(stream.nr, 2 * (12 + 3 + 1 + 6) + 3);
	/* without SSSTATUS, or with another event than 'always', nothing */
	for (u32 victlr = 0; victlr < 3; victlr++) {
		assert_int_equal(etm_unit_write(&unit, TRCPRGCTLR, 0), 0);
		assert_int_equal(etm_unit_write(&unit, TRCVICTLR,
						victlr == 1 ? 1 : victlr | TRCVICTLR_SSSTATUS),
				 0);
		assert_int_equal(etm_unit_write(&unit, TRCPRGCTLR, TRCPRGCTLR_EN), 0);
		assert_int_equal(stream.nr, 2 * (12 + 3 + 1 + 6) + 3);
	}
	etm_stream_free(&stream);
	config = (struct etm_unit_config){.clock = &clock,
					  .ete = true,
					  .ete_minor = 1,
					  .max_spec = 9};
	etm_unit_init(&unit, &config, &stream.sink);
	assert_int_equal(etm_unit_read(&unit, TRCIDR0), 0x28800ea1);
	assert_int_equal(etm_unit_read(&unit, TRCIDR0 + 4), 0x4100fff0);
	assert_int_equal(etm_unit_read(&unit, TRCIDR8), 0);
	assert_int_equal(etm_unit_read(&unit, TRCDEVARCH), 0x47715a13);
}

int main(void)
{
	/* clang-format off */
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_atoms),	     cmocka_unit_test(test_all_atom_bytes),
		cmocka_unit_test(test_random_atoms), cmocka_unit_test(test_addresses),
		cmocka_unit_test(test_t32_addresses), cmocka_unit_test(test_random_addresses),
		cmocka_unit_test(test_context),	     cmocka_unit_test(test_exceptions),
		cmocka_unit_test(test_timestamps),   cmocka_unit_test(test_cycles),
		cmocka_unit_test(test_commit_mode_0), cmocka_unit_test(test_rest),
		cmocka_unit_test(test_ete),	     cmocka_unit_test(test_trace_info),
		cmocka_unit_test(test_registers),
	};
	/* clang-format on */

	return cmocka_run_group_tests(tests, NULL, NULL);
}
