// SPDX-License-Identifier: BSD-2-Clause
/*
 * libipt as a flow decoder (flow_ops.h): its instruction decoder if the caller wants single
 * instructions, else its block decoder. Its packet decoder is used in pt_reader.c, and pt_loop.c
 * looks for loops; no other file uses its types.
 *
 * Where libipt gives up, the decode continues at the next packet that has an address. An
 * instruction that libipt is known to misread ends a block, and is reported as an error.
 */
#include "pt_blocks.h"
#include "pt_loop.h"
#include "pt_libipt.h"
#include "pt_limits.h"
#include "pt_memory.h"
#include "pt_scan.h"

#include <intel-pt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* pt_library_version() returns no patch level, so this cannot be checked at run time */
#if LIBIPT_VERSION_MAJOR < 2 || (LIBIPT_VERSION == 0x200 && LIBIPT_VERSION_PATCH < 4)
#error "this libipt takes uiret for another instruction; build with 2.0.4 or newer"
#endif

/* Limit of the unused sections that libipt keeps mapped, with their block caches. */
#define SECTION_CACHE_BYTES (96ull << 20)
/* libipt's block cache takes 4 bytes for each byte of a section: small sections keep it small. */
#define SECTION_MAX (1ull << 20)
/* Number of images (a process at some time) that a flow caches. */
#define MAX_EPOCHS 4
/* A call of libipt that neither executes nor consumes anything must not be repeated forever. */
#define MAX_EMPTY_STEPS 64
/* Blocks that one call of next() returns; after them may come LOST and SYNC, or END. */
#define MAX_BLOCKS 16
#define MAX_STEPS  (MAX_BLOCKS + 3)

/* Shared by all flows. */
struct libipt {
	struct auxtap_image_set *images;
	struct pt_image_section_cache *sections;
	struct pt_config config; /* without begin and end */
	bool insns;
	unsigned int version; /* PT_VERSION() */
};

/* The code of a process, for as long as its mappings do not change. */
struct image {
	struct pt_image *image;
	struct pt_epoch epoch;
	uint64_t last_used;
};

struct libipt_flow {
	struct libipt *lib;
	struct pt_block_decoder *blk; /* one of the two, while there are bytes */
	struct pt_insn_decoder *insn;
	int status;		     /* returned by the last call of libipt */
	unsigned int nr_status_left; /* status events of the segment's own PSB+ still to come */
	struct flow_bytes bytes;     /* the part of them that libipt has now */
	bool begun, over;
	bool enabled;
	bool bits_32; /* of the last block */
	uint64_t tsc;
	uint32_t empty_steps;
	struct pt_memory mem;
	struct pt_image *image;
	struct image images[MAX_EPOCHS];
	uint64_t lru_clock;
	struct flow_step steps[MAX_STEPS];
	unsigned int nr_steps;
	union {
		struct pt_block block;
		struct pt_insn insn;
	} last;		/* steps point into it */
	bool held;	/* last.block was read, but no step was made of it yet */
	size_t last_at; /* where its packets begin; set only if the process generates code */
	struct pt_blocks blocks;
};

static struct libipt_flow *to_libipt(struct flow *flow)
{
	return (struct libipt_flow *)flow;
}

/* ---- all flows ---- */

static void version(char *text, size_t size)
{
	struct pt_version v = pt_library_version();

	snprintf(text, size, "libipt %u.%u.%u", v.major, v.minor, v.patch);
}

static void *open_libipt(const void *arg)
{
	const struct pt_flow_config *from = arg;
	const struct pt_source_cpu *cpu = &from->cpu;
	struct libipt *lib = calloc(1, sizeof(*lib));
	struct pt_config *config;

	if (!lib)
		return NULL;
	lib->images = from->images;
	lib->insns = from->insns;
	lib->version = PT_VERSION(pt_library_version().major, pt_library_version().minor);
	lib->sections = pt_iscache_alloc(NULL);
	if (!lib->sections) {
		free(lib);
		return NULL;
	}
	pt_iscache_set_limit(lib->sections, SECTION_CACHE_BYTES);
	config = &lib->config;
	pt_config_init(config);
	config->mtc_freq = cpu->mtc_freq;
	config->nom_freq = cpu->nom_freq;
	config->cpuid_0x15_eax = cpu->cpuid_0x15_eax;
	config->cpuid_0x15_ebx = cpu->cpuid_0x15_ebx;
	if (cpu->family) {
		config->cpu.vendor = pcv_intel;
		config->cpu.family = (uint16_t)cpu->family;
		config->cpu.model = (uint8_t)cpu->model;
		config->cpu.stepping = (uint8_t)cpu->stepping;
		pt_cpu_errata(&config->errata, &config->cpu);
	}
	/*
	 * Erratum BDM70: a PSB+ may contain a FUP although tracing is off, right before TIP.PGE. No
	 * CPU writes these packets with tracing on, so libipt may check for it on every CPU.
	 */
	config->errata.bdm70 = 1;
	config->flags.variant.block.end_on_call = !lib->insns;
	config->flags.variant.block.end_on_jump = !lib->insns;
	return lib;
}

static void close_libipt(void *shared)
{
	struct libipt *lib = shared;

	pt_iscache_free(lib->sections);
	free(lib);
}

static struct flow *create(void *shared, const void *source)
{
	struct libipt_flow *f = calloc(1, sizeof(*f));

	(void)source;
	if (!f)
		return NULL;
	f->lib = shared;
	pt_memory_init(&f->mem, f->lib->images);
	pt_blocks_init(&f->blocks, &f->mem, f->lib->version);
	return (struct flow *)f;
}

static void stop(struct flow *flow)
{
	struct libipt_flow *f = to_libipt(flow);

	if (f->insn)
		pt_insn_free_decoder(f->insn);
	if (f->blk)
		pt_blk_free_decoder(f->blk);
	f->insn = NULL;
	f->blk = NULL;
	f->over = true;
}

static void destroy(struct flow *flow)
{
	struct libipt_flow *f = to_libipt(flow);

	stop(flow);
	for (unsigned int i = 0; i < MAX_EPOCHS; i++)
		if (f->images[i].image)
			pt_image_free(f->images[i].image);
	free(f);
}

/* ---- code ---- */

/* Reads what is not in a file (an embedded vdso), or was mapped slightly after the trace's time. */
static int read_callback(uint8_t *buffer, size_t size, const struct pt_asid *asid, uint64_t ip,
			 void *context)
{
	struct pt_memory *mem = context;
	ssize_t got = auxtap_image_set_read(mem->set, mem->pid, mem->time, ip, buffer, size);

	(void)asid;
	return got > 0 ? (int)got : -pte_nomap;
}

struct new_image {
	struct libipt *lib;
	struct pt_image *image;
};

/* Adds a file as sections of the image, because libipt caches decoded blocks for these. */
static void add_file(void *ctx, const char *path, uint64_t off, uint64_t size, uint64_t addr)
{
	const struct new_image *new = ctx;
	while (size) {
		uint64_t part = size < SECTION_MAX ? size : SECTION_MAX;
		int isid = pt_iscache_add_file(new->lib->sections, path, off, part, addr);

		/* What cannot be added is read through the callback. */
		if (isid > 0)
			pt_image_add_cached(new->image, new->lib->sections, isid, NULL);
		off += part;
		addr += part;
		size -= part;
	}
}

/* The caller holds the lock of the set. */
static struct pt_image *new_image(struct libipt_flow *f, const struct pt_epoch *epoch)
{
	struct new_image new = {f->lib, pt_image_alloc(NULL)};

	if (!new.image)
		return NULL;
	pt_memory_each_file(f->mem.set, epoch, add_file, &new);
	pt_image_set_callback(new.image, read_callback, &f->mem);
	return new.image;
}

/* The image for f->mem, from a cache of the MAX_EPOCHS most recently used ones. */
static struct pt_image *current_image(struct libipt_flow *f)
{
	struct image *slot = &f->images[0];
	struct pt_epoch now;

	pthread_mutex_lock(&f->mem.set->lock);
	now = pt_memory_epoch(&f->mem);
	for (unsigned int i = 0; i < MAX_EPOCHS; i++) {
		struct image *known = &f->images[i];

		if (known->image && pt_epoch_same(&known->epoch, &now)) {
			slot = known;
			goto out;
		}
		if (known->last_used < slot->last_used)
			slot = known;
	}
	if (slot->image)
		pt_image_free(slot->image);
	slot->epoch = now;
	slot->image = new_image(f, &now);
out:
	slot->last_used = ++f->lru_clock;
	pthread_mutex_unlock(&f->mem.set->lock);
	return slot->image;
}

static void use_image(struct libipt_flow *f)
{
	if (f->insn)
		pt_insn_set_image(f->insn, f->image);
	else if (f->blk)
		pt_blk_set_image(f->blk, f->image);
}

static bool set_code(struct flow *flow, int32_t pid, uint64_t time)
{
	struct libipt_flow *f = to_libipt(flow);
	struct pt_image *image;

	f->mem.pid = pid;
	f->mem.time = time;
	image = current_image(f);
	if (image == f->image)
		return false;
	f->image = image;
	pt_blocks_code_changed(&f->blocks);
	use_image(f);
	return true;
}

/* ---- steps ---- */

static uint8_t isa_of(bool bits_32)
{
	return bits_32 ? AUXTAP_ISA_X86_32 : AUXTAP_ISA_X86;
}

static struct flow_step *add_step(struct libipt_flow *f, enum flow_kind kind)
{
	struct flow_step *step = &f->steps[f->nr_steps++];

	memset(step, 0, sizeof(*step));
	step->kind = (uint8_t)kind;
	step->on = f->enabled;
	step->isa = isa_of(f->bits_32);
	return step;
}

static void add_end(struct libipt_flow *f)
{
	stop((struct flow *)f);
	add_step(f, FLOW_END);
}

static uint64_t tsc_now(struct libipt_flow *f)
{
	uint64_t tsc = 0;
	int ret = f->insn ? pt_insn_time(f->insn, &tsc, NULL, NULL) :
			    pt_blk_time(f->blk, &tsc, NULL, NULL);

	return ret < 0 ? 0 : tsc;
}

static uint64_t note_tsc(struct libipt_flow *f, uint64_t tsc)
{
	if (tsc > f->tsc)
		f->tsc = tsc;
	return tsc;
}

static size_t position(struct libipt_flow *f)
{
	uint64_t off = 0;
	int ret = f->insn ? pt_insn_get_offset(f->insn, &off) : pt_blk_get_offset(f->blk, &off);

	/* libipt is not synchronised: continue after the PSB */
	if (ret < 0)
		return f->bytes.total < 16 ? f->bytes.total : 16;
	return off < f->bytes.total ? (size_t)off : f->bytes.total;
}

/* ---- start, and restart after an error ---- */

/* Creates a decoder of libipt at the start of f->bytes. */
static int begin_decode(struct libipt_flow *f)
{
	struct pt_config config = f->lib->config;
	struct pt_psb_plus psb_plus;
	int ret;

	stop((struct flow *)f);
	config.begin = f->bytes.data;
	config.end = f->bytes.data + f->bytes.total;
	pt_psb_plus_read(f->bytes.data, f->bytes.total, &psb_plus);
	f->over = f->held = false;
	f->nr_status_left = psb_plus.nr_status;
	f->enabled = psb_plus.has_fup;
	if (f->lib->insns) {
		f->insn = pt_insn_alloc_decoder(&config);
		ret = f->insn ? pt_insn_sync_set(f->insn, 0) : -pte_nomem;
	} else {
		f->blk = pt_blk_alloc_decoder(&config);
		ret = f->blk ? pt_blk_sync_set(f->blk, 0) : -pte_nomem;
	}
	f->status = ret;
	if (f->image)
		use_image(f);
	pt_blocks_progress(&f->blocks);
	f->empty_steps = 0;
	return ret < 0 ? ret : 0;
}

static void add_sync(struct libipt_flow *f, size_t pos, bool failed)
{
	struct flow_step *step = add_step(f, FLOW_SYNC);

	step->pos = f->bytes.off + pos;
	step->tsc = failed ? 0 : note_tsc(f, tsc_now(f));
}

static bool is_readable(void *ctx, uint64_t ip)
{
	struct libipt_flow *f = ctx;

	return pt_memory_readable(&f->mem, ip, false);
}

/*
 * The flow is lost at 'pos'. Restarts libipt after the next packet that has an address whose code
 * is readable: as libipt can start only at a PSB, a small PSB+ with this address is written over
 * the bytes before. If there is no such packet, the bytes end here. Returns the stream offset where
 * the flow continues.
 */
static uint64_t resume(struct libipt_flow *f, size_t pos)
{
	uint64_t end = f->bytes.off + f->bytes.size;
	struct pt_restart r = {.tsc = f->tsc};

	do {
		pos = pt_scan_move(&f->bytes, pos, &r, is_readable, f);
		if (!pos) {
			add_end(f);
			return end;
		}
	} while (begin_decode(f));
	add_sync(f, pos, false);
	return f->bytes.off + pos;
}

/* has_ip: the flow was lost at ip, else after the last block */
static void add_lost_from(struct libipt_flow *f, size_t pos, int code, bool has_ip, uint64_t ip)
{
	struct flow_step *step = add_step(f, FLOW_LOST);

	step->loss = code == -pte_nomap ? FLOW_LOSS_NO_CODE :
		     code == -pte_eos	? FLOW_LOSS_CUT :
		     code == -pte_nomem ? FLOW_LOSS_NO_MEMORY :
					  FLOW_LOSS_ERROR;
	step->why = pt_errstr(pt_errcode(code));
	step->has_ip = has_ip;
	step->ip = ip;
	step->pos = f->bytes.off + pos;
	step->next = resume(f, pos);
}

static void add_lost(struct libipt_flow *f, int code, bool has_ip, uint64_t ip)
{
	add_lost_from(f, position(f), code, has_ip, ip);
}

/* ---- events ---- */

/*
 * Whether the event is from the PSB+ of the next segment, so that these bytes end here. Status
 * events of the segment's own PSB+ come first, nr_status_left of them, and only repeat the state.
 * Those of the next PSB+ count if they are bound to an address: libipt reports them when the flow
 * has reached that PSB+'s FUP. Without an address tracing was off there.
 */
static bool is_next_psb(struct libipt_flow *f, const struct pt_event *ev)
{
	if (!ev->status_update)
		return false;
	if (f->nr_status_left) {
		f->nr_status_left--;
		return false;
	}
	return ev->type == ptev_exec_mode || ev->type == ptev_tsx ||
	       ev->type == ptev_async_paging || ev->type == ptev_async_vmcs;
}

static enum pt_loop loop_at(struct libipt_flow *f, uint64_t ip)
{
	return pt_loop_find(&f->lib->config, f->image, &f->mem, ip, f->bits_32);
}

static void set_loop(struct flow_step *step, enum pt_loop loop)
{
	step->loops = loop == PT_LOOP_YES;
	step->may_loop = loop == PT_LOOP_UNKNOWN;
}

static void add_async(struct libipt_flow *f, bool on, uint64_t ip, uint64_t to, bool has_to)
{
	enum pt_loop loop = loop_at(f, ip);
	struct flow_step *step = add_step(f, FLOW_ASYNC);

	step->on = on;
	step->has_ip = true;
	step->ip = ip;
	step->has_to = has_to;
	step->to = to;
	set_loop(step, loop);
}

static void add_event(struct libipt_flow *f, const struct pt_event *ev)
{
	struct flow_step *step;

	switch (ev->type) {
	case ptev_enabled:
		f->enabled = true;
		step = add_step(f, FLOW_ON);
		step->has_ip = true;
		step->ip = ev->variant.enabled.ip;
		break;
	case ptev_disabled:
		f->enabled = false;
		step = add_step(f, FLOW_OFF);
		step->has_to = !ev->ip_suppressed;
		step->to = ev->variant.disabled.ip;
		break;
	case ptev_async_disabled:
		f->enabled = false;
		add_async(f, false, ev->variant.async_disabled.at, ev->variant.async_disabled.ip,
			  !ev->ip_suppressed);
		break;
	case ptev_async_branch:
		add_async(f, true, ev->variant.async_branch.from, ev->variant.async_branch.to,
			  !ev->ip_suppressed);
		break;
	case ptev_overflow:
		f->enabled = !ev->ip_suppressed;
		add_step(f, FLOW_OVERFLOW);
		break;
	case ptev_paging:
	case ptev_async_paging:
		add_step(f, FLOW_CONTEXT);
		break;
	default:
		add_step(f, FLOW_TIME);
		break;
	}
}

static void take_event(struct libipt_flow *f)
{
	struct pt_event ev;
	uint64_t tsc;

	f->status = f->insn ? pt_insn_event(f->insn, &ev, sizeof(ev)) :
			      pt_blk_event(f->blk, &ev, sizeof(ev));
	if (f->status < 0) {
		/* With tracing off, the next PSB+ ends the bytes; libipt may report an error. */
		if (!f->enabled && position(f) >= f->bytes.size)
			add_end(f);
		else
			add_lost(f, f->status, false, 0);
		return;
	}
	if (ev.type == ptev_exec_mode)
		f->bits_32 = ev.variant.exec_mode.mode == ptem_32bit;
	tsc = note_tsc(f, ev.has_tsc ? ev.tsc : tsc_now(f));
	pt_blocks_progress(&f->blocks);
	if (is_next_psb(f, &ev)) {
		bool has_ip = ev.type == ptev_exec_mode && !ev.ip_suppressed && f->enabled;
		uint64_t ip = has_ip ? ev.variant.exec_mode.ip : 0;
		enum pt_loop loop = has_ip ? loop_at(f, ip) : PT_LOOP_NO;

		add_end(f);
		f->steps[0].has_ip = has_ip;
		f->steps[0].ip = ip;
		set_loop(&f->steps[0], loop);
	} else {
		add_event(f, &ev);
	}
	f->steps[0].tsc = tsc;
}

/* ---- instructions ---- */

static void set_class(struct pt_run *run, enum pt_insn_class iclass)
{
	run->may_have_time = iclass != ptic_other;
	run->branches = run->may_have_time && iclass != ptic_ptwrite;
}

static void next_insn(struct libipt_flow *f, struct pt_run *run)
{
	struct pt_insn *insn = &f->last.insn;

	if (f->mem.code)
		f->last_at = position(f);
	f->status = pt_insn_next(f->insn, insn, sizeof(*insn));
	run->ip = run->end_ip = insn->ip;
	set_class(run, insn->iclass);
	run->nr_insns = insn->iclass != ptic_error && insn->size;
	run->bits_32 = insn->mode == ptem_32bit;
	run->size = insn->size <= 15 ? insn->size : 15;
	run->raw = insn->raw;
}

static inline void libipt_block(struct libipt_flow *f)
{
	if (f->mem.code)
		f->last_at = position(f);
	f->status = pt_blk_next(f->blk, &f->last.block, sizeof(f->last.block));
}

static void next_block(struct libipt_flow *f, struct pt_run *run)
{
	struct pt_block *block = &f->last.block;

	if (!f->held)
		libipt_block(f);
	f->held = false;
	run->ip = block->ip;
	run->end_ip = block->end_ip;
	set_class(run, block->iclass);
	run->nr_insns = block->ninsn;
	run->bits_32 = block->mode == ptem_32bit;
	run->size = block->size <= 15 ? block->size : 15;
	run->raw = block->truncated ? block->raw : NULL;
}

static void next_run(struct libipt_flow *f, struct pt_run *run)
{
	if (f->insn)
		next_insn(f, run);
	else
		next_block(f, run);
}

/* b: the branch at the end of the block; NULL: none */
static inline struct flow_step *add_block(struct libipt_flow *f, uint64_t ip, uint64_t last_ip,
					  uint32_t nr_insns, const struct pt_branch *b)
{
	static const struct flow_step block = {.kind = FLOW_BLOCK, .on = true};
	struct flow_step *step = &f->steps[f->nr_steps++];

	*step = block;
	step->isa = isa_of(f->bits_32);
	step->nr_insns = nr_insns;
	step->ip = ip;
	step->last_ip = last_ip;
	if (b) {
		step->branch = (uint8_t)b->insn.kind;
		step->size = b->insn.size;
		step->fetches_ip = b->insn.direct && !b->insn.disp;
		step->code = b->raw;
	}
	f->empty_steps = 0;
	return step;
}

static void add_run(struct libipt_flow *f, const struct pt_run *run, const struct pt_branch *b)
{
	struct flow_step *step;

	f->bits_32 = run->bits_32;
	step = add_block(f, run->ip, run->end_ip, run->nr_insns, b);
	if (!b && run->raw) {
		step->code = run->raw;
		step->size = run->size;
	}
	/* The packets that were just read have the time of the branch. */
	if (run->may_have_time)
		step->tsc = note_tsc(f, tsc_now(f));
}

static void run_error(struct libipt_flow *f, const struct pt_run *run)
{
	if (f->status == -pte_eos && (f->bytes.total == f->bytes.size || !f->enabled))
		add_end(f);
	else if (f->status == -pte_nomap && run->nr_insns && f->blk)
		f->status =
			0; /* libipt reports the error again, with the address that has no code */
	else
		add_lost(f, f->status, true, run->nr_insns ? run->end_ip : run->ip);
}

static void take_run(struct libipt_flow *f)
{
	const struct pt_branch *b = NULL;
	enum pt_cut cut = PT_CUT_NOTHING;
	struct pt_run run;
	uint64_t at = 0;

	next_run(f, &run);
	if (run.nr_insns)
		cut = pt_blocks_cut(&f->blocks, &run, f->insn != NULL, &at);
	if (run.nr_insns) {
		if (cut == PT_CUT_NOTHING)
			b = pt_blocks_branch(&f->blocks, &run);
		add_run(f, &run, b);
	}
	if (cut == PT_CUT_UNKNOWN)
		add_lost_from(f, f->last_at, -pte_nomap, true, at);
	else if (cut == PT_CUT_MISREAD)
		add_lost(f, -pte_bad_insn, true, run.end_ip);
	else if (f->status < 0)
		run_error(f, &run);
	else if (run.nr_insns ? pt_blocks_spins(&f->blocks, b) : ++f->empty_steps > MAX_EMPTY_STEPS)
		add_lost(f, -pte_bad_query, true, run.ip);
}

/*
 * The fast path. Most blocks end with a cached branch or without one; their steps point only into
 * the cache, so that one call can return several of them. Any other block is held back for
 * take_run() in the next call, as that may overwrite cache entries that these steps point to.
 */
static void take_blocks(struct libipt_flow *f)
{
	const struct pt_block *block = &f->last.block;

	do {
		const struct pt_branch *b = NULL;
		struct flow_step *step;
		bool may_have_time, branches;

		libipt_block(f);
		may_have_time = block->iclass != ptic_other;
		branches = may_have_time && block->iclass != ptic_ptwrite;
		if (branches)
			b = pt_blocks_cached_branch(&f->blocks, block->end_ip);
		if (f->status < 0 || !block->ninsn || block->truncated || (branches && !b) ||
		    !pt_blocks_checked(&f->blocks, block->ip, block->end_ip)) {
			f->held = true;
			return;
		}
		if (b && !b->valid)
			b = NULL;
		f->bits_32 = block->mode == ptem_32bit;
		step = add_block(f, block->ip, block->end_ip, block->ninsn, b);
		if (may_have_time)
			step->tsc = note_tsc(f, tsc_now(f));
		if (pt_blocks_spins(&f->blocks, b)) {
			add_lost(f, -pte_bad_query, true, block->ip);
			return;
		}
	} while (!(f->status & (pts_event_pending | pts_eos)) && f->nr_steps < MAX_BLOCKS);
}

/* No packets are left, so the flow ends at the target of the last branch. */
static void end_of_packets(struct libipt_flow *f)
{
	struct pt_run run = {.ip = 0};

	if (f->enabled)
		next_run(f, &run);
	add_end(f);
	f->steps[0].has_ip = run.ip != 0;
	f->steps[0].ip = run.ip;
}

/* ---- the flow ---- */

static void start(struct flow *flow, const struct flow_bytes *bytes)
{
	struct libipt_flow *f = to_libipt(flow);

	stop(flow);
	f->bytes = *bytes;
	f->tsc = bytes->tsc;
	f->begun = f->over = f->held = false;
}

static void first_step(struct libipt_flow *f)
{
	int ret = begin_decode(f);

	f->begun = true;
	add_sync(f, 0, ret != 0);
}

static void failed_start(struct libipt_flow *f)
{
	if (f->status == -pte_eos)
		add_end(f); /* the bytes are only a PSB+ */
	else
		add_lost(f, f->status, true, 0);
}

static size_t next(struct flow *flow, const struct flow_step **steps)
{
	struct libipt_flow *f = to_libipt(flow);

	f->nr_steps = 0;
	while (!f->nr_steps && !f->over) {
		if (f->held)
			take_run(f);
		else if (!f->begun)
			first_step(f);
		else if (f->status < 0)
			failed_start(f);
		else if (f->status & pts_event_pending)
			take_event(f);
		else if (f->status & pts_eos || !f->enabled)
			end_of_packets(f);
		else if (f->blk)
			take_blocks(f);
		else
			take_run(f);
	}
	*steps = f->steps;
	return f->nr_steps;
}

const struct flow_ops pt_libipt = {
	.name = "libipt",
	.version = version,
	.open = open_libipt,
	.close = close_libipt,
	.create = create,
	.destroy = destroy,
	.set_code = set_code,
	.start = start,
	.next = next,
	.stop = stop,
};
