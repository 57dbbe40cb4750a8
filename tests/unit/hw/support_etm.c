// SPDX-License-Identifier: BSD-2-Clause
#include "support_etm.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

/* OpenCSD's C interface keeps what it made for a decode tree. */
__attribute__((visibility("default"))) const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void)
{
	return "leak:libopencsd\n";
}

static void stream_write(void *ctx, const u8 *bytes, size_t nr_bytes)
{
	struct etm_stream *stream = ctx;

	if (stream->on_write)
		stream->on_write(stream->ctx, bytes, nr_bytes);
	if (stream->nr + nr_bytes > stream->max) {
		stream->max = 2 * (stream->nr + nr_bytes);
		stream->bytes = realloc(stream->bytes, stream->max);
		assert_non_null(stream->bytes);
	}
	memcpy(stream->bytes + stream->nr, bytes, nr_bytes);
	stream->nr += nr_bytes;
}

void etm_stream_init(struct etm_stream *stream)
{
	memset(stream, 0, sizeof(*stream));
	stream->sink.ctx = stream;
	stream->sink.write = stream_write;
}

void etm_stream_free(struct etm_stream *stream)
{
	free(stream->bytes);
	stream->bytes = NULL;
}

size_t etm_find_sync(const u8 *bytes, size_t nr, size_t from)
{
	static const u8 async[12] = {[11] = 0x80};
	const u8 *at;

	if (from >= nr)
		return nr;
	at = memmem(bytes + from, nr - from, async, sizeof(async));
	return at ? (size_t)(at - bytes) : nr;
}

static uint32_t on_memory(const void *ctx, const ocsd_vaddr_t addr,
			  const ocsd_mem_space_acc_t space, const uint32_t nr, uint8_t *bytes)
{
	const struct etm_reference *ref = ctx;

	(void)space;
	return ref->memory(ref->ctx, addr, nr, bytes);
}

static ocsd_datapath_resp_t on_element(const void *ctx, const ocsd_trc_index_t index,
				       const uint8_t id, const ocsd_generic_trace_elem *elem)
{
	const struct etm_reference *ref = ctx;

	(void)id;
	ref->element(ref->ctx, index, elem);
	return OCSD_RESP_CONT;
}

static void on_packet(const void *ctx, const ocsd_datapath_op_t op, const ocsd_trc_index_t index,
		      const void *packet, const uint32_t size, const uint8_t *data)
{
	const struct etm_reference *ref = ctx;

	if (op == OCSD_OP_DATA)
		ref->packet(ref->ctx, index, packet, data, size);
}

struct listener {
	const struct etm_reference *ref;
	char last[300];
};

static void on_message(const void *ctx, const char *text, const int len)
{
	struct listener *listener = (struct listener *)ctx;

	snprintf(listener->last, sizeof(listener->last), "%.*s", len, text);
	if (listener->ref->text && !strncmp(listener->last, "Idx:", 4))
		listener->ref->text(listener->ref->ctx, listener->last);
}

struct etm_registers etm_registers_of(const struct etm_unit *unit)
{
	return (struct etm_registers){
		.ete = unit->config.ete,
		.idr0 = etm_unit_read(unit, TRCIDR0),
		.idr1 = etm_unit_read(unit, TRCIDR0 + 4),
		.idr2 = etm_unit_read(unit, TRCIDR0 + 8),
		.idr8 = etm_unit_read(unit, TRCIDR8),
		.devarch = etm_unit_read(unit, TRCDEVARCH),
		.configr = etm_unit_read(unit, TRCCONFIGR),
		.traceidr = etm_unit_read(unit, TRCTRACEIDR),
	};
}

static ocsd_err_t create_decoder(dcd_tree_handle_t tree, const struct etm_registers *r, u8 *id)
{
	ocsd_etmv4_cfg etm = {
		.reg_idr0 = r->idr0,
		.reg_idr1 = r->idr1,
		.reg_idr2 = r->idr2,
		.reg_idr8 = r->idr8,
		.reg_configr = r->configr,
		.reg_traceidr = r->traceidr,
		.arch_ver = ARCH_V8r3,
		.core_prof = profile_CortexA,
	};
	ocsd_ete_cfg ete = {
		.reg_idr0 = r->idr0,
		.reg_idr1 = r->idr1,
		.reg_idr2 = r->idr2,
		.reg_idr8 = r->idr8,
		.reg_devarch = r->devarch,
		.reg_configr = r->configr,
		.reg_traceidr = r->traceidr,
		.arch_ver = ARCH_AA64,
		.core_prof = profile_CortexA,
	};

	if (r->ete)
		return ocsd_dt_create_decoder(tree, OCSD_BUILTIN_DCD_ETE,
					      OCSD_CREATE_FLG_FULL_DECODER, &ete, id);
	return ocsd_dt_create_decoder(tree, OCSD_BUILTIN_DCD_ETMV4I, OCSD_CREATE_FLG_FULL_DECODER,
				      &etm, id);
}

void etm_reference_run(const struct etm_reference *ref, const struct etm_registers *regs,
		       const u8 *bytes, size_t nr)
{
	dcd_tree_handle_t tree = ocsd_create_dcd_tree(OCSD_TRC_SRC_SINGLE, 0);
	static bool has_log;
	struct listener listener = {.ref = ref};
	size_t at = 0;
	u8 id;

	assert_true(tree != C_API_INVALID_TREE_HANDLE);
	if (!has_log) { /* one for all trees */
		assert_int_equal(ocsd_def_errlog_init(OCSD_ERR_SEV_WARN, 1), OCSD_OK);
		ocsd_def_errlog_config_output(C_API_MSGLOGOUT_FLG_NONE, NULL);
		has_log = true;
	}
	ocsd_def_errlog_set_strprint_cb(tree, &listener, (FnDefLoggerPrintStrCB)on_message);
	assert_int_equal(create_decoder(tree, regs, &id), OCSD_OK);
	assert_int_equal(ocsd_dt_add_callback_mem_acc(tree, 0, ~0ull, OCSD_MEM_SPACE_ANY, on_memory,
						      ref),
			 OCSD_OK);
	assert_int_equal(ocsd_dt_set_gen_elem_outfn(tree, on_element, ref), OCSD_OK);
	if (ref->packet && !regs->ete)
		assert_int_equal(ocsd_dt_attach_packet_callback(tree, id, OCSD_C_API_CB_PKT_MON,
								(void *)on_packet, ref),
				 OCSD_OK);
	if (ref->text)
		assert_int_equal(ocsd_dt_set_pkt_protocol_printer(tree, id, 1), OCSD_OK);
	while (at < nr) {
		u32 piece = nr - at > 65536 ? 65536 : (u32)(nr - at), used = 0;
		ocsd_datapath_resp_t resp;

		resp = ocsd_dt_process_data(tree, OCSD_OP_DATA, at, piece, bytes + at, &used);
		if (resp != OCSD_RESP_CONT || !used)
			fail_msg("offset %#zx: response %d, %s", at + used, resp, listener.last);
		at += used;
	}
	assert_int_equal(ocsd_dt_process_data(tree, OCSD_OP_EOT, at, 0, NULL, NULL),
			 OCSD_RESP_CONT);
	ocsd_destroy_dcd_tree(tree);
}
