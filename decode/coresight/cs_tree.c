// SPDX-License-Identifier: BSD-2-Clause
/* See cs_tree.h. */
#include "cs_tree.h"
#include "cs_guard.h"

#include <opencsd/c_api/opencsd_c_api.h>
#if __has_include(<opencsd/itm/trc_pkt_types_itm.h>)
#include <opencsd/itm/trc_pkt_types_itm.h> /* the C interface does not include it */
#endif

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The library has one record of the last error and one registry of decoders for all trees. */
static pthread_mutex_t library_lock = PTHREAD_MUTEX_INITIALIZER;
static bool logger_ready;
static dcd_tree_handle_t log_tree; /* never freed: gets the logger's lines while no tree prints */

struct attached {
	struct cs_tree *tree;
	const struct cs_unit *unit;
	ocsd_trace_protocol_t protocol;
	uint8_t id;	  /* as the library numbers the decoder */
	uint8_t shown_id; /* the trace ID */
	bool by_line;	  /* its packets come as printed lines, to on_line() */
};

struct cs_tree {
	struct cs_tree_opts opts;
	dcd_tree_handle_t handle;
	struct attached units[CS_NR_IDS];
	size_t nr;
	uint64_t feed_off; /* offset of the bytes being fed */
	bool broken;
	bool printed; /* a unit has by_line set */
};

/* The library's index may have only 32 bits: extends it by the offset of the bytes being fed. */
static uint64_t offset_of(const struct cs_tree *tree, ocsd_trc_index_t index)
{
	if (index == OCSD_BAD_TRC_INDEX)
		return tree->feed_off;
	return tree->feed_off +
	       (uint64_t)(int64_t)(int32_t)((uint32_t)index - (uint32_t)tree->feed_off);
}

/* ---- callbacks ---- */

#define SHORT_TEXT 160

static void on_packet(const void *ctx, const ocsd_datapath_op_t op, const ocsd_trc_index_t index,
		      const void *packet, const uint32_t size, const uint8_t *data)
{
	const struct attached *unit = ctx;
	char text[1024];
	struct cs_packet pkt = {
		.off = offset_of(unit->tree, index),
		.id = unit->shown_id,
		.bytes = data,
		.size = size,
		.text = text,
	};

	if (op != OCSD_OP_DATA || !packet)
		return;
	/* the library clears the whole buffer: give it more only for the few long texts */
	text[0] = '\0';
	ocsd_pkt_str(unit->protocol, packet, text, SHORT_TEXT);
	text[SHORT_TEXT - 1] = '\0';
	if (strlen(text) == SHORT_TEXT - 1)
		ocsd_pkt_str(unit->protocol, packet, text, sizeof(text));
	text[sizeof(text) - 1] = '\0';
	unit->tree->opts.packet(unit->tree->opts.ctx, &pkt);
}

/*
 * The C interface of OpenCSD 1.3 has no callback for packets of ETE, but prints them:
 * "Idx:12; ID:0; [0x01 0x00 ];<tab>I_TRACE_INFO : ...". The library's messages come here, too.
 */
static void on_line(const void *ctx, const char *line, const int len)
{
	struct cs_tree *tree = (struct cs_tree *)ctx;
	struct cs_packet pkt = {.id = CS_ID_NONE};
	uint8_t bytes[256];
	unsigned int index, id, value;
	char text[1024];
	int at = 0, used;
	size_t size;

	(void)len;
	if (sscanf(line, "Idx:%u; ID:%x;%n", &index, &id, &at) != 2 || !at)
		return;
	for (size_t i = 0; i < tree->nr; i++)
		if (tree->units[i].by_line && tree->units[i].id == id)
			pkt.id = tree->units[i].shown_id;
	if (pkt.id == CS_ID_NONE)
		return;
	line += at + strspn(line + at, " [");
	while (sscanf(line, "0x%2x%n", &value, &used) == 1) {
		if (pkt.size < sizeof(bytes))
			bytes[pkt.size] = (uint8_t)value;
		pkt.size++;
		line += used + (line[used] == ' ');
	}
	if (pkt.size > sizeof(bytes))
		pkt.size = sizeof(bytes);
	line += strspn(line, "]; \t");
	snprintf(text, sizeof(text), "%s", line);
	size = strlen(text);
	if (size && text[size - 1] == '\n')
		text[size - 1] = '\0';
	pkt.off = offset_of(tree, index);
	pkt.bytes = bytes;
	pkt.text = text;
	tree->opts.packet(tree->opts.ctx, &pkt);
}

static enum auxtap_isa isa_of(ocsd_isa isa)
{
	return isa == ocsd_isa_arm    ? AUXTAP_ISA_A32 :
	       isa == ocsd_isa_thumb2 ? AUXTAP_ISA_T32 :
					AUXTAP_ISA_A64;
}

static enum auxtap_branch_kind branch_of(const ocsd_generic_trace_elem *elem)
{
	bool indirect = elem->last_i_type == OCSD_INSTR_BR_INDIRECT;

	if (!elem->last_instr_exec || (elem->last_i_type != OCSD_INSTR_BR && !indirect))
		return AUXTAP_BRANCH_NONE;
	switch (elem->last_i_subtype) {
	case OCSD_S_INSTR_BR_LINK:
		return indirect ? AUXTAP_BRANCH_CALL_INDIRECT : AUXTAP_BRANCH_CALL;
	case OCSD_S_INSTR_V8_RET:
	case OCSD_S_INSTR_V7_IMPLIED_RET:
		return AUXTAP_BRANCH_RETURN;
	case OCSD_S_INSTR_V8_ERET:
		return AUXTAP_BRANCH_FAR;
	default:
		if (indirect)
			return AUXTAP_BRANCH_JUMP_INDIRECT;
		return elem->last_instr_cond ? AUXTAP_BRANCH_COND : AUXTAP_BRANCH_JUMP;
	}
}

/* The memory space in which the library will read code for this context; 0: any. */
static uint32_t space_of(const ocsd_pe_context *context)
{
	bool secure = context->security_level == ocsd_sec_secure;

	if (!secure && context->security_level != ocsd_sec_nonsecure)
		return 0;
	if (!context->el_valid)
		return secure ? CS_SPACE_S : CS_SPACE_N;
	switch (context->exception_level) {
	case ocsd_EL0:
	case ocsd_EL1:
		return secure ? CS_SPACE_EL1S : CS_SPACE_EL1N;
	case ocsd_EL2:
		return secure ? CS_SPACE_EL2S : CS_SPACE_EL2;
	case ocsd_EL3:
		return CS_SPACE_EL3;
	default:
		return 0;
	}
}

static int32_t tid_of(const struct cs_unit *unit, const ocsd_pe_context *context)
{
	uint32_t id;

	switch (cs_unit_thread_register(unit)) {
	case 1:
		if (!context->ctxt_id_valid)
			return -1;
		id = context->context_id;
		break;
	case 2:
		if (!context->vmid_valid)
			return -1;
		id = context->vmid;
		break;
	default:
		return -1;
	}
	return id <= INT32_MAX ? (int32_t)id : -1;
}

static void range_step(struct flow_step *step, const ocsd_generic_trace_elem *elem)
{
	step->kind = FLOW_BLOCK;
	step->ip = elem->st_addr;
	step->isa = (uint8_t)isa_of(elem->isa);
	if (elem->en_addr <= elem->st_addr)
		return;
	step->nr_insns = elem->num_instr_range;
	step->size = elem->last_instr_sz == 2 ? 2 : 4;
	step->last_ip = elem->en_addr - step->size;
	step->branch = (uint8_t)branch_of(elem);
}

static void lost_step(struct flow_step *step, enum flow_loss loss)
{
	step->kind = FLOW_LOST;
	step->loss = (uint8_t)loss;
}

static void no_sync_step(struct flow_step *step, const ocsd_generic_trace_elem *elem)
{
	switch (elem->unsync_eot_info) {
	case UNSYNC_OVERFLOW:
		lost_step(step, FLOW_LOSS_OVERFLOW);
		break;
	case UNSYNC_BAD_PACKET:
		lost_step(step, FLOW_LOSS_PACKET);
		step->why = "OpenCSD: unexpected packet";
		break;
	case UNSYNC_INIT_DECODER:
	case UNSYNC_EOT:
		step->kind = FLOW_SYNC;
		break;
	default:
		lost_step(step, FLOW_LOSS_RESET);
		break;
	}
}

static void exception_step(struct flow_step *step, const struct cs_unit *unit,
			   const ocsd_generic_trace_elem *elem)
{
	step->kind = FLOW_ASYNC;
	step->has_ip = elem->excep_ret_addr;
	step->ip = elem->en_addr;
	step->calls = cs_exception_is_call(unit->protocol, elem->exception_number);
}

/* False: the element is not part of the flow. */
static bool step_of(struct flow_step *step, const struct cs_unit *unit,
		    const ocsd_generic_trace_elem *elem)
{
	switch (elem->elem_type) {
	case OCSD_GEN_TRC_ELEM_INSTR_RANGE:
		range_step(step, elem);
		return true;
	case OCSD_GEN_TRC_ELEM_I_RANGE_NOPATH:
		lost_step(step, FLOW_LOSS_NO_PATH);
		step->ip = elem->st_addr;
		step->has_ip = true;
		step->nr_insns = elem->num_instr_range;
		return true;
	case OCSD_GEN_TRC_ELEM_ADDR_NACC:
		lost_step(step, FLOW_LOSS_NO_CODE);
		step->ip = elem->st_addr;
		step->has_ip = true;
		return true;
	case OCSD_GEN_TRC_ELEM_ADDR_UNKNOWN:
		lost_step(step, FLOW_LOSS_NO_ADDRESS);
		return true;
	case OCSD_GEN_TRC_ELEM_EXCEPTION:
		exception_step(step, unit, elem);
		return !elem->excep_data_marker;
	case OCSD_GEN_TRC_ELEM_TRACE_ON:
		step->kind = FLOW_ON;
		step->loss = elem->trace_on_reason == TRACE_ON_OVERFLOW ? FLOW_LOSS_OVERFLOW :
									  FLOW_LOSS_NONE;
		return true;
	case OCSD_GEN_TRC_ELEM_NO_SYNC:
		no_sync_step(step, elem);
		return true;
	case OCSD_GEN_TRC_ELEM_TIMESTAMP:
		step->kind = FLOW_TIME;
		step->tsc = elem->timestamp;
		return true;
	case OCSD_GEN_TRC_ELEM_PE_CONTEXT:
		step->kind = FLOW_CONTEXT;
		step->tid = tid_of(unit, &elem->context);
		step->space = space_of(&elem->context);
		return true;
	default:
		return false;
	}
}

static uint32_t mode_of(const ocsd_pe_context *context)
{
	return (uint32_t)context->exception_level << 8 | ((uint32_t)context->security_level & 0xff);
}

static ocsd_datapath_resp_t on_element(const void *ctx, const ocsd_trc_index_t index,
				       const uint8_t id, const ocsd_generic_trace_elem *elem)
{
	struct cs_tree *tree = (struct cs_tree *)ctx;
	struct flow_step step = {.on = true, .pos = offset_of(tree, index)};

	(void)id; /* a tree that decodes the flow has only one unit */
	if (step_of(&step, tree->units[0].unit, elem))
		tree->opts.step(tree->opts.ctx, &step,
				step.kind == FLOW_CONTEXT ? mode_of(&elem->context) : 0);
	return OCSD_RESP_CONT;
}

static uint32_t on_read(const void *ctx, const ocsd_vaddr_t addr, const ocsd_mem_space_acc_t space,
			const uint32_t size, uint8_t *buf)
{
	const struct cs_tree *tree = ctx;

	return tree->opts.read(tree->opts.ctx, addr, space, size, buf);
}

/* ---- calls of the library: each do_...() runs under cs_guard() ---- */

static void ignore_line(const void *ctx, const char *line, const int len)
{
	(void)ctx;
	(void)line;
	(void)len;
}

struct call {
	struct cs_tree *tree;
	const struct cs_unit *unit;
	ocsd_datapath_op_t op;
	const uint8_t *data;
	uint32_t size, used;
	int ret;
};

static void do_create(void *arg)
{
	struct call *call = arg;
	struct cs_tree *tree = call->tree;
	enum cs_format format = tree->opts.format;
	uint32_t flags =
		format == CS_FORMAT_FRAMES ? OCSD_DFRMTR_FRAME_MEM_ALIGN :
		format == CS_FORMAT_HSYNC  ? OCSD_DFRMTR_HAS_FSYNCS | OCSD_DFRMTR_HAS_HSYNCS :
					     OCSD_DFRMTR_HAS_FSYNCS;

	/* drivers write four FSYNCs, the barrier packet, where their buffer lost bytes */
	if (format == CS_FORMAT_FRAMES)
		flags |= OCSD_DFRMTR_RESET_ON_4X_FSYNC;
	if (!logger_ready) { /* one logger for all trees: each call of the library makes another */
		ocsd_def_errlog_init(OCSD_ERR_SEV_ERROR, 1);
		ocsd_def_errlog_config_output(C_API_MSGLOGOUT_FLG_NONE, NULL);
		log_tree = ocsd_create_dcd_tree(OCSD_TRC_SRC_SINGLE, 0);
		ocsd_def_errlog_set_strprint_cb(log_tree, NULL, ignore_line);
		logger_ready = true;
	}
	tree->handle =
		ocsd_create_dcd_tree(format == CS_FORMAT_SOURCE ? OCSD_TRC_SRC_SINGLE :
								  OCSD_TRC_SRC_FRAME_FORMATTED,
				     format == CS_FORMAT_SOURCE ? 0 : flags);
	if (tree->handle == C_API_INVALID_TREE_HANDLE) {
		call->ret = OCSD_ERR_MEM;
		return;
	}
}

/* The library sets these callbacks in existing decoders only, so this comes after do_unit(). */
static void do_memory(void *arg)
{
	struct call *call = arg;

	call->ret = ocsd_dt_set_gen_elem_outfn(call->tree->handle, on_element, call->tree);
	if (!call->ret)
		call->ret = ocsd_dt_add_callback_mem_acc(call->tree->handle, 0, UINT64_MAX,
							 OCSD_MEM_SPACE_ANY, on_read, call->tree);
}

static void do_destroy(void *arg)
{
	struct call *call = arg;

	/* the logger must not print to this tree any more */
	if (call->tree->printed)
		ocsd_def_errlog_set_strprint_cb(log_tree, NULL, ignore_line);
	/* after a C++ exception or a crash in the library, its tree may not be safe to free */
	if (call->tree->handle && !call->tree->broken)
		ocsd_destroy_dcd_tree(call->tree->handle);
}

/* ---- units ---- */

static const struct {
	const char *name; /* NULL: this version has no decoder */
	ocsd_trace_protocol_t protocol;
} decoders[] = {
	[CS_PROTOCOL_ETMV3] = {OCSD_BUILTIN_DCD_ETMV3, OCSD_PROTOCOL_ETMV3},
	[CS_PROTOCOL_PTM] = {OCSD_BUILTIN_DCD_PTM, OCSD_PROTOCOL_PTM},
	[CS_PROTOCOL_ETMV4] = {OCSD_BUILTIN_DCD_ETMV4I, OCSD_PROTOCOL_ETMV4I},
	[CS_PROTOCOL_ETE] = {OCSD_BUILTIN_DCD_ETE, OCSD_PROTOCOL_ETE},
	[CS_PROTOCOL_STM] = {OCSD_BUILTIN_DCD_STM, OCSD_PROTOCOL_STM},
#ifdef OCSD_BUILTIN_DCD_ITM
	[CS_PROTOCOL_ITM] = {OCSD_BUILTIN_DCD_ITM, OCSD_PROTOCOL_ITM},
#else
	[CS_PROTOCOL_ITM] = {NULL, OCSD_PROTOCOL_UNKNOWN},
#endif
};

bool cs_tree_decodes(enum cs_protocol protocol)
{
	return decoders[protocol].name != NULL;
}

_Static_assert(CS_SPACE_EL1S == OCSD_MEM_SPACE_EL1S && CS_SPACE_EL1N == OCSD_MEM_SPACE_EL1N &&
		       CS_SPACE_EL2 == OCSD_MEM_SPACE_EL2 && CS_SPACE_EL3 == OCSD_MEM_SPACE_EL3 &&
		       CS_SPACE_EL2S == OCSD_MEM_SPACE_EL2S,
	       "spaces are handed to the library as they are");

union config {
	ocsd_etmv3_cfg etmv3;
	ocsd_ptm_cfg ptm;
	ocsd_etmv4_cfg etmv4;
	ocsd_ete_cfg ete;
	ocsd_stm_cfg stm;
#ifdef OCSD_BUILTIN_DCD_ITM
	ocsd_itm_cfg itm;
#endif
};

static ocsd_arch_version_t arch_of(const struct cs_unit *unit)
{
	static const ocsd_arch_version_t archs[] = {
		[CS_ARCH_UNKNOWN] = ARCH_UNKNOWN, [CS_ARCH_V7] = ARCH_V7,
		[CS_ARCH_V8] = ARCH_V8,		  [CS_ARCH_V8R3] = ARCH_V8r3,
		[CS_ARCH_AA64] = ARCH_AA64,
	};

	return archs[unit->arch];
}

static ocsd_core_profile_t profile_of(const struct cs_unit *unit)
{
	static const ocsd_core_profile_t profiles[] = {
		[CS_PROFILE_UNKNOWN] = profile_Unknown,
		[CS_PROFILE_A] = profile_CortexA,
		[CS_PROFILE_R] = profile_CortexR,
		[CS_PROFILE_M] = profile_CortexM,
	};

	return profiles[unit->profile];
}

static void configure_etmv4(ocsd_etmv4_cfg *c, const struct cs_unit *unit)
{
	const struct cs_regs *r = &unit->regs;

	c->reg_configr = r->configr;
	c->reg_traceidr = r->traceidr;
	c->reg_idr0 = r->idr0;
	c->reg_idr1 = r->idr1;
	c->reg_idr2 = r->idr2;
	c->reg_idr8 = r->idr8;
	c->reg_idr9 = r->idr9;
	c->reg_idr10 = r->idr10;
	c->reg_idr11 = r->idr11;
	c->reg_idr12 = r->idr12;
	c->reg_idr13 = r->idr13;
	c->arch_ver = arch_of(unit);
	c->core_prof = profile_of(unit);
}

static void configure_ete(ocsd_ete_cfg *c, const struct cs_unit *unit)
{
	const struct cs_regs *r = &unit->regs;

	c->reg_configr = r->configr;
	c->reg_traceidr = r->traceidr;
	c->reg_idr0 = r->idr0;
	c->reg_idr1 = r->idr1;
	c->reg_idr2 = r->idr2;
	c->reg_idr8 = r->idr8;
	c->reg_devarch = r->devarch;
	c->arch_ver = arch_of(unit);
	c->core_prof = profile_of(unit);
}

static void configure(union config *c, const struct cs_unit *unit)
{
	const struct cs_regs *r = &unit->regs;

	memset(c, 0, sizeof(*c));
	switch (unit->protocol) {
	case CS_PROTOCOL_ETMV3:
		c->etmv3 = (ocsd_etmv3_cfg){r->idr,	 r->ctrl,	r->ccer,
					    r->traceidr, arch_of(unit), profile_of(unit)};
		break;
	case CS_PROTOCOL_PTM:
		c->ptm = (ocsd_ptm_cfg){r->idr,	     r->ctrl,	    r->ccer,
					r->traceidr, arch_of(unit), profile_of(unit)};
		break;
	case CS_PROTOCOL_ETMV4:
		configure_etmv4(&c->etmv4, unit);
		break;
	case CS_PROTOCOL_ETE:
		configure_ete(&c->ete, unit);
		break;
	case CS_PROTOCOL_STM:
		c->stm.reg_tcsr = r->tcr;
		c->stm.reg_feat3r = r->feat3r;
		c->stm.reg_devid = r->devid;
		break;
#ifdef OCSD_BUILTIN_DCD_ITM
	case CS_PROTOCOL_ITM:
		c->itm.reg_tcr = r->tcr;
		break;
#endif
	default:
		break;
	}
}

/*
 * Attaches the decoder of one unit, under cs_guard(): OpenCSD may throw or fault. call->ret stays
 * NO_PROTOCOL if this version has no decoder for it. The unit counts before its callback is set, so
 * that a failure after that fails the whole tree.
 */
static void do_unit(void *arg)
{
	struct call *call = arg;
	struct cs_tree *tree = call->tree;
	const struct cs_unit *unit = call->unit;
	struct attached *attached = &tree->units[tree->nr];
	unsigned char id = 0;
	union config config;

	call->ret = OCSD_ERR_NO_PROTOCOL;
	if (!cs_tree_decodes(unit->protocol))
		return;
	configure(&config, unit);
	call->ret = ocsd_dt_create_decoder(tree->handle, decoders[unit->protocol].name,
					   tree->opts.step ? OCSD_CREATE_FLG_FULL_DECODER :
							     OCSD_CREATE_FLG_PACKET_PROC,
					   &config, &id);
	if (call->ret)
		return;
	attached->tree = tree;
	attached->unit = unit;
	attached->protocol = decoders[unit->protocol].protocol;
	attached->id = id;
	/* in a tree for a single source, the library looks its decoder up as number 0 */
	attached->shown_id = id;
	if (tree->opts.format == CS_FORMAT_SOURCE)
		attached->id = id = 0;
	tree->nr++;
	if (!tree->opts.packet)
		return;
	call->ret = ocsd_dt_attach_packet_callback(tree->handle, id, OCSD_C_API_CB_PKT_MON,
						   (void *)(uintptr_t)on_packet, attached);
	if (call->ret != OCSD_ERR_NO_PROTOCOL)
		return;
	attached->by_line = tree->printed = true;
	call->ret = ocsd_dt_set_pkt_protocol_printer(tree->handle, id, 1);
}

static void do_data(void *arg)
{
	struct call *call = arg;

	if (call->tree->printed) /* the library has one print callback for all trees */
		ocsd_def_errlog_set_strprint_cb(call->tree->handle, call->tree, on_line);
	call->ret = (int)ocsd_dt_process_data(call->tree->handle, call->op,
					      (ocsd_trc_index_t)call->tree->feed_off, call->size,
					      call->data, &call->used);
}

static void do_memory_changed(void *arg)
{
	struct call *call = arg;
	struct cs_tree *tree = call->tree;

	/* the library caches the code it read until the accessor is removed */
	ocsd_dt_remove_mem_acc(tree->handle, 0, OCSD_MEM_SPACE_ANY);
	call->ret = ocsd_dt_add_callback_mem_acc(tree->handle, 0, UINT64_MAX, OCSD_MEM_SPACE_ANY,
						 on_read, tree);
}

static int run_guarded(struct cs_tree *tree, void (*fn)(void *arg), struct call *call, char *why,
		       size_t size)
{
	int ret;

	call->tree = tree;
	cs_guard_set_offset(tree->feed_off);
	ret = cs_guard(fn, call, why, size);
	if (ret)
		tree->broken = true;
	return ret;
}

static void error_text(int code, char *why, size_t size)
{
	char text[128] = "";

	ocsd_err_str((ocsd_err_t)code, text, sizeof(text));
	snprintf(why, size, "OpenCSD: %s", text);
}

/* ---- interface (cs_tree.h) ---- */

const char *cs_tree_version(void)
{
	return ocsd_get_version_str();
}

uint32_t cs_tree_version_number(void)
{
	return ocsd_get_version();
}

void cs_tree_name(char *text, size_t size)
{
	snprintf(text, size, "OpenCSD %s", cs_tree_version());
}

int cs_tree_new(struct cs_tree **out, const struct cs_tree_opts *opts,
		const struct cs_unit *const *units, size_t nr, struct auxtap_error *err)
{
	struct cs_tree *tree = calloc(1, sizeof(*tree));
	struct call call = {0};
	char why[192] = "there is no trace unit for it";
	int ret;

	*out = NULL;
	if (!tree)
		return auxtap_error_set(err, -ENOMEM, "CoreSight", "out of memory");
	tree->opts = *opts;
	pthread_mutex_lock(&library_lock);
	ret = run_guarded(tree, do_create, &call, why, sizeof(why));
	if (!ret && call.ret)
		ret = -EIO;
	if (call.ret)
		error_text(call.ret, why, sizeof(why));
	for (size_t i = 0; !ret && i < nr && tree->nr < CS_NR_IDS; i++) {
		call = (struct call){.unit = units[i]};
		ret = run_guarded(tree, do_unit, &call, why, sizeof(why));
		if (call.ret)
			error_text(call.ret, why, sizeof(why));
		if (tree->nr && call.ret) /* this unit's trace would be missing without notice */
			ret = ret ? ret : -EIO;
	}
	if (!ret && tree->nr && tree->opts.step) {
		call = (struct call){0};
		ret = run_guarded(tree, do_memory, &call, why, sizeof(why));
		if (call.ret) {
			error_text(call.ret, why, sizeof(why));
			ret = ret ? ret : -EIO;
		}
	}
	pthread_mutex_unlock(&library_lock);
	if (!ret && !tree->nr)
		ret = -ENOTSUP;
	if (ret) {
		cs_tree_free(tree);
		return auxtap_error_set(err, ret, "CoreSight", "%s", why);
	}
	*out = tree;
	return 0;
}

void cs_tree_free(struct cs_tree *tree)
{
	struct call call = {0};
	char why[96];

	if (!tree)
		return;
	pthread_mutex_lock(&library_lock);
	run_guarded(tree, do_destroy, &call, why, sizeof(why));
	pthread_mutex_unlock(&library_lock);
	free(tree);
}

size_t cs_tree_granularity(enum cs_format format)
{
	switch (format) {
	case CS_FORMAT_FRAMES:
		return CS_FRAME;
	case CS_FORMAT_DSTREAM:
	case CS_FORMAT_FSYNC:
		return 4;
	case CS_FORMAT_HSYNC:
		return 2;
	default:
		return 1;
	}
}

static void last_error(char *why, size_t size)
{
	char text[160] = "";
	ocsd_trc_index_t index;
	uint8_t id;
	size_t len;

	if (ocsd_get_last_err(&index, &id, text, sizeof(text)) == OCSD_OK || !*text)
		snprintf(text, sizeof(text), "cannot go on");
	text[sizeof(text) - 1] = '\0';
	len = strlen(text);
	while (len && (text[len - 1] == '\n' || text[len - 1] == ' '))
		text[--len] = '\0';
	for (size_t i = 0; i < len; i++)
		if ((unsigned char)text[i] < ' ')
			text[i] = ' ';
	snprintf(why, size, "OpenCSD: %s", text);
}

static int run_operation(struct cs_tree *tree, ocsd_datapath_op_t op, char *why, size_t size)
{
	struct call call = {.op = op};
	int ret;

	if (tree->broken) {
		snprintf(why, size, "OpenCSD failed before");
		return -EIO;
	}
	ret = run_guarded(tree, do_data, &call, why, size);
	if (!ret && OCSD_DATA_RESP_IS_FATAL(call.ret)) {
		last_error(why, size);
		ret = -EBADMSG;
	}
	return ret;
}

int cs_tree_feed(struct cs_tree *tree, uint64_t off, const uint8_t *data, size_t size, size_t *used,
		 char *why, size_t why_size)
{
	size_t grain = cs_tree_granularity(tree->opts.format);
	char ignored[96];
	int ret = 0;

	*used = 0;
	if (tree->broken) {
		snprintf(why, why_size, "OpenCSD failed before");
		return -EIO;
	}
	while (!ret && *used < size) {
		struct call call = {.op = OCSD_OP_DATA,
				    .data = data + *used,
				    .size = (uint32_t)(size - *used)};

		tree->feed_off = off + *used;
		ret = run_guarded(tree, do_data, &call, why, why_size);
		if (ret)
			break;
		if (call.used > call.size)
			call.used = call.size;
		*used += call.used;
		if (!OCSD_DATA_RESP_IS_FATAL(call.ret) && call.used)
			continue;
		last_error(why, why_size);
		if (call.used < grain)
			*used +=
				grain - call.used < size - *used ? grain - call.used : size - *used;
		*used -= *used < size ? *used % grain : 0;
		tree->feed_off = off + *used;
		ret = run_operation(tree, OCSD_OP_RESET, ignored, sizeof(ignored));
		if (!ret)
			ret = -EBADMSG;
	}
	return ret;
}

int cs_tree_reset(struct cs_tree *tree, char *why, size_t why_size)
{
	return run_operation(tree, OCSD_OP_RESET, why, why_size);
}

int cs_tree_end(struct cs_tree *tree, char *why, size_t why_size)
{
	return run_operation(tree, OCSD_OP_EOT, why, why_size);
}

void cs_tree_memory_changed(struct cs_tree *tree)
{
	struct call call = {0};
	char why[96];

	if (tree->opts.step && !tree->broken)
		run_guarded(tree, do_memory_changed, &call, why, sizeof(why));
}
