// SPDX-License-Identifier: BSD-2-Clause
/* See cs_exec.h. */
#include "cs_exec.h"

#include <errno.h>
#include <stdlib.h>

struct scan {
	struct cs_starts *starts;
	enum cs_protocol protocol;
	bool called, on; /* a system call was seen; then tracing went on again */
	uint64_t ret;	 /* the address after the call */
	uint64_t on_off;
	bool no_memory;
};

bool cs_exception_is_call(enum cs_protocol protocol, uint32_t number)
{
	switch (protocol) {
	case CS_PROTOCOL_ETMV4:
	case CS_PROTOCOL_ETE:
		return number == 2;
	case CS_PROTOCOL_ETMV3:
	case CS_PROTOCOL_PTM:
		return number == 2 || number == 3 || number == 10;
	default:
		return false;
	}
}

static void add(struct scan *scan, uint64_t addr)
{
	struct cs_starts *starts = scan->starts;

	if (addr == scan->ret)
		return;
	if (!starts->wanted(starts->ctx, addr)) {
		starts->elsewhere = true;
		starts->elsewhere_off = scan->on_off;
		return;
	}
	if (starts->nr == starts->max) {
		size_t max = starts->max ? 2 * starts->max : 16;
		struct cs_start *grown = realloc(starts->list, max * sizeof(*grown));

		if (!grown) {
			scan->no_memory = true;
			return;
		}
		starts->list = grown;
		starts->max = max;
	}
	starts->list[starts->nr++] = (struct cs_start){scan->on_off, addr};
}

static void on_element(void *ctx, uint64_t off, uint8_t id, const ocsd_generic_trace_elem *elem)
{
	struct scan *scan = ctx;
	bool called;

	(void)id;
	switch (elem->elem_type) {
	case OCSD_GEN_TRC_ELEM_EXCEPTION:
		called = cs_exception_is_call(scan->protocol, elem->exception_number);
		/* a fault at the first instruction: nothing ran yet */
		if (scan->called && scan->on && !called && elem->excep_ret_addr)
			add(scan, elem->en_addr);
		scan->starts->lost |= called && !elem->excep_ret_addr;
		scan->called = called;
		scan->ret = elem->en_addr;
		scan->on = false;
		break;
	case OCSD_GEN_TRC_ELEM_TRACE_ON:
		scan->starts->lost |= elem->trace_on_reason == TRACE_ON_OVERFLOW;
		scan->on = true;
		scan->on_off = off;
		break;
	case OCSD_GEN_TRC_ELEM_ADDR_NACC:
		if (scan->called && scan->on)
			add(scan, elem->st_addr);
		scan->called = false;
		break;
	case OCSD_GEN_TRC_ELEM_NO_SYNC:
		scan->starts->lost |= elem->unsync_eot_info != UNSYNC_INIT_DECODER &&
				      elem->unsync_eot_info != UNSYNC_EOT;
		scan->called = false;
		break;
	case OCSD_GEN_TRC_ELEM_INSTR_RANGE:
	case OCSD_GEN_TRC_ELEM_ADDR_UNKNOWN:
		scan->starts->lost |= scan->called;
		scan->called = false;
		break;
	default:
		break;
	}
}

static uint32_t no_code(void *ctx, uint64_t addr, uint32_t space, uint32_t size, uint8_t *buf)
{
	(void)ctx;
	(void)addr;
	(void)space;
	(void)size;
	(void)buf;
	return 0;
}

/* What cannot be read or decoded is reported when the flow is followed. */
static void feed(struct scan *scan, struct cs_tree *tree, struct cs_bytes *bytes, uint64_t off)
{
	uint64_t at;
	ssize_t got;
	char why[192];

	while ((got = cs_bytes_next(bytes, &at)) > 0) {
		for (size_t done = 0, used; done < (size_t)got; done += used) {
			int ret = cs_tree_feed(tree, off + at + done, bytes->buf + done,
					       (size_t)got - done, &used, why, sizeof(why));

			scan->starts->lost |= ret != 0;
			if ((ret && ret != -EBADMSG) || !used)
				return;
		}
	}
	scan->starts->lost |= got < 0 || bytes->at < bytes->size;
	if (cs_tree_end(tree, why, sizeof(why)))
		scan->starts->lost = true;
}

int cs_starts_find(struct cs_starts *starts, const struct cs_unit *unit, struct cs_bytes *bytes,
		   uint64_t off)
{
	struct scan scan = {.starts = starts, .protocol = unit->protocol};
	const struct cs_tree_opts opts = {.format = CS_FORMAT_SOURCE,
					  .element = on_element,
					  .read = no_code,
					  .ctx = &scan};
	struct auxtap_error err = AUXTAP_ERROR_INIT;
	struct cs_tree *tree;
	int ret = cs_tree_new(&tree, &opts, &unit, 1, &err);

	if (ret)
		return ret == -ENOMEM ? ret : 0;
	feed(&scan, tree, bytes, off);
	starts->open = scan.called;
	cs_tree_free(tree);
	return scan.no_memory ? -ENOMEM : 0;
}
