// SPDX-License-Identifier: BSD-2-Clause
/* SPE packets as text, in the words of stock perf, so that listings can be compared. */
#include "util/sized.h"
#include "spe_reader.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

struct text {
	char *at;
	size_t size, len;
};

static void __attribute__((format(printf, 2, 3))) put(struct text *t, const char *fmt, ...)
{
	va_list args;
	int nr;

	va_start(args, fmt);
	nr = vsnprintf(t->at + t->len, t->size - t->len, fmt, args);
	va_end(args);
	if (nr > 0)
		t->len += (size_t)nr < t->size - t->len ? (size_t)nr : t->size - t->len - 1;
}

struct bit_name {
	uint64_t mask, value;
	const char *text;
};

#define NR(array) (sizeof(array) / sizeof((array)[0]))

static void put_names(struct text *t, uint64_t bits, const struct bit_name *names, size_t nr)
{
	for (size_t i = 0; i < nr; i++) {
		if ((bits & names[i].mask) == names[i].value)
			put(t, " %s", names[i].text);
	}
}

#define FLAG(bit, text)                            \
	{                                          \
		1ull << (bit), 1ull << (bit), text \
	}

static void put_events(struct text *t, uint64_t events)
{
	static const struct bit_name names[] = {
		FLAG(AUXTAP_SPE_EV_EXCEPTION, "EXCEPTION-GEN"),
		FLAG(AUXTAP_SPE_EV_RETIRED, "RETIRED"),
		FLAG(AUXTAP_SPE_EV_L1D_ACCESS, "L1D-ACCESS"),
		FLAG(AUXTAP_SPE_EV_L1D_REFILL, "L1D-REFILL"),
		FLAG(AUXTAP_SPE_EV_TLB_ACCESS, "TLB-ACCESS"),
		FLAG(AUXTAP_SPE_EV_TLB_WALK, "TLB-REFILL"),
		FLAG(AUXTAP_SPE_EV_NOT_TAKEN, "NOT-TAKEN"),
		FLAG(AUXTAP_SPE_EV_MISPREDICTED, "MISPRED"),
		FLAG(AUXTAP_SPE_EV_LLC_ACCESS, "LLC-ACCESS"),
		FLAG(AUXTAP_SPE_EV_LLC_MISS, "LLC-REFILL"),
		FLAG(AUXTAP_SPE_EV_REMOTE_ACCESS, "REMOTE-ACCESS"),
		FLAG(AUXTAP_SPE_EV_MISALIGNED, "ALIGNMENT"),
		FLAG(AUXTAP_SPE_EV_TRANSACTIONAL, "TXN"),
		FLAG(AUXTAP_SPE_EV_PARTIAL_PREDICATE, "SVE-PARTIAL-PRED"),
		FLAG(AUXTAP_SPE_EV_EMPTY_PREDICATE, "SVE-EMPTY-PRED"),
		FLAG(AUXTAP_SPE_EV_L2D_ACCESS, "L2D-ACCESS"),
		FLAG(AUXTAP_SPE_EV_L2D_MISS, "L2D-MISS"),
		FLAG(AUXTAP_SPE_EV_DATA_MODIFIED, "HITM"),
		FLAG(AUXTAP_SPE_EV_RECENTLY_FETCHED, "LFB"),
		FLAG(AUXTAP_SPE_EV_SNOOPED, "SNOOPED"),
		FLAG(AUXTAP_SPE_EV_STREAMING_SVE, "STREAMING-SVE"),
		FLAG(AUXTAP_SPE_EV_SMCU, "SMCU"),
	};
	uint64_t rest = events;

	put(t, "EV");
	put_names(t, events, names, NR(names));
	for (size_t i = 0; i < NR(names); i++)
		rest &= ~names[i].mask;
	if (rest) /* IMPLEMENTATION DEFINED events */
		put(t, " 0x%" PRIx64, rest);
}

/* ---- operations ---- */

static void put_other(struct text *t, uint64_t op)
{
	static const struct bit_name sve[] = {FLAG(1, "FP"), FLAG(2, "PRED")};
	static const struct bit_name other[] = {FLAG(2, "ASE"), FLAG(1, "FP")};

	if ((op & 0x89) == 0x08) {
		put(t, "SVE-OTHER EVLEN %u", 32u << (op >> 4 & 7));
		put_names(t, op, sve, NR(sve));
	} else if ((op & 0x89) == 0x88) {
		/* the tile size is in bits 6 to 4, and bit 2 below them */
		put(t, "SME-OTHER ETS %u", 128u << ((op >> 4 & 7) << 1 | (op >> 2 & 1)));
		put_names(t, op, sve, 1);
	} else {
		put(t, "OTHER");
		if (!(op & 0xf8))
			put_names(t, op, other, NR(other));
		put(t, op & 1 ? " COND-SELECT" : " INSN-OTHER");
	}
}

static void put_load_store(struct text *t, uint64_t op)
{
	static const struct bit_name extended[] = {FLAG(2, "AT"), FLAG(3, "EXCL"), FLAG(4, "AR")};
	static const struct bit_name sve[] = {FLAG(2, "PRED"), FLAG(7, "SG")};
	/* clang-format off */
	static const struct bit_name subclasses[] = {
		{0xfe, 0x00, "GP-REG"},	 {0xfe, 0x04, "SIMD-FP"}, {0xfe, 0x10, "UNSPEC-REG"},
		{0xfe, 0x14, "MTE-TAG"}, {0xfe, 0x20, "MEMCPY"},  {0xff, 0x25, "MEMSET"},
		{0xfe, 0x30, "NV-SYSREG"}, {0xfa, 0x40, "GCS"},	  {0xfe, 0x44, "COMM"},
	};
	/* clang-format on */

	put(t, op & 1 ? "ST" : "LD");
	if ((op & 0xe2) == 0x02)
		put_names(t, op, extended, NR(extended));
	put_names(t, op, subclasses, NR(subclasses));
	if ((op & 0x0a) == 0x08) {
		put(t, " EVLEN %u", 32u << (op >> 4 & 7));
		put_names(t, op, sve, NR(sve));
	}
}

static void put_branch(struct text *t, uint64_t op)
{
	static const struct bit_name names[] = {
		FLAG(0, "COND"),       FLAG(1, "IND"),	       FLAG(2, "GCS"),
		{0x18, 0x08, "CR-BL"}, {0x18, 0x10, "CR-RET"}, {0x18, 0x18, "CR-NON-BL-RET"},
	};

	put(t, "B");
	put_names(t, op, names, NR(names));
}

static void put_operation(struct text *t, const struct auxtap_spe_packet *pkt)
{
	switch (pkt->index) {
	case AUXTAP_SPE_OTHER:
		put_other(t, pkt->payload);
		break;
	case AUXTAP_SPE_LDST:
		put_load_store(t, pkt->payload);
		break;
	case AUXTAP_SPE_BRANCH:
		put_branch(t, pkt->payload);
		break;
	default:
		put(t, "OP-TYPE 0x%" PRIx64 " (%u)", pkt->payload, pkt->index);
		break;
	}
}

/* ---- other packets ---- */

static void put_address(struct text *t, const struct auxtap_spe_packet *pkt)
{
	static const char *const names[] = {
		[AUXTAP_SPE_ADDR_PC] = "PC",
		[AUXTAP_SPE_ADDR_TARGET] = "TGT",
		[AUXTAP_SPE_ADDR_PREV_TARGET] = "PBT",
	};
	uint64_t addr = pkt->payload & ((1ull << 56) - 1);
	unsigned int ns = pkt->payload >> 63, top = (unsigned int)(pkt->payload >> 56);

	switch (pkt->index) {
	case AUXTAP_SPE_ADDR_PC:
	case AUXTAP_SPE_ADDR_TARGET:
	case AUXTAP_SPE_ADDR_PREV_TARGET:
		put(t, "%s 0x%" PRIx64 " el%u ns=%u", names[pkt->index], addr, top >> 5 & 3, ns);
		break;
	case AUXTAP_SPE_ADDR_VIRT:
		put(t, "VA 0x%" PRIx64, pkt->payload);
		break;
	case AUXTAP_SPE_ADDR_PHYS:
		put(t, "PA 0x%" PRIx64 " ns=%u ch=%u pat=%x", addr, ns, top >> 6 & 1, top & 0xf);
		break;
	default:
		put(t, "ADDR 0x%" PRIx64 " (%u)", pkt->payload, pkt->index);
		break;
	}
}

static void put_counter(struct text *t, const struct auxtap_spe_packet *pkt)
{
	static const char *const names[] = {"TOT", "ISSUE", "XLAT"};

	put(t, "LAT %" PRIu64, pkt->payload);
	if (pkt->index < NR(names))
		put(t, " %s", names[pkt->index]);
	else
		put(t, " (%u)", pkt->index);
}

size_t spe_packet_text(const struct auxtap_spe_packet *pkt, char *text, size_t size)
{
	struct text t = {text, size, 0};

	if (!size)
		return 0;
	*text = '\0';
	switch (pkt->type) {
	case AUXTAP_SPE_PAD:
		put(&t, "PAD");
		break;
	case AUXTAP_SPE_ALIGNMENT:
		put(&t, "ALIGNMENT %" PRIu64, pkt->payload);
		break;
	case AUXTAP_SPE_END:
		put(&t, "END");
		break;
	case AUXTAP_SPE_TIMESTAMP:
		put(&t, "TS %" PRIu64, pkt->payload);
		break;
	case AUXTAP_SPE_ADDRESS:
		put_address(&t, pkt);
		break;
	case AUXTAP_SPE_COUNTER:
		put_counter(&t, pkt);
		break;
	case AUXTAP_SPE_CONTEXT:
		put(&t, "CONTEXT 0x%" PRIx64 " el%u", pkt->payload, pkt->index);
		break;
	case AUXTAP_SPE_OPERATION:
		put_operation(&t, pkt);
		break;
	case AUXTAP_SPE_EVENTS:
		put_events(&t, pkt->payload);
		break;
	case AUXTAP_SPE_SOURCE:
		put(&t, "DATA-SOURCE %" PRIu64, pkt->payload);
		break;
	}
	return t.len;
}

size_t auxtap_spe_packet_text(const struct auxtap_spe_packet *pkt, char *text, size_t size)
{
	if (!sized_check(pkt, sizeof(*pkt), SIZED_UP_TO(struct auxtap_spe_packet, payload),
			 "struct auxtap_spe_packet", NULL))
		return spe_packet_text(pkt, text, size);
	if (size)
		*text = '\0';
	return 0;
}
