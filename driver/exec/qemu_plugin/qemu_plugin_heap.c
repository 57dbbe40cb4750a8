// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Who allocated and freed the blocks of the heap, and who threw C++ exceptions: the functions are
 * found by their names in the symbol tables of what the program maps. A call of one begins a block
 * of qemu's there. It has returned when the block at its return address is entered with the
 * caller's stack pointer: the function may have left by a jump to another. Mappings are known from
 * the system calls; the functions that make these say who wanted it.
 */
#include "qemu_plugin.h"
#include "exec/qemu/qemu_heap.h"
#include <elf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAX_HOOKS   64
#define MAX_PENDING 8
/* bytes of stack between a function of the C library and its system call */
#define MAX_WRAPPER 256
/* between __throw_out_of_range_fmt(), which makes the text on the stack, and __cxa_throw() */
#define MAX_THROWER 65536
#define MAX_TABLE   (32u << 20) /* bytes of a symbol or string table */
#define RING_BELOW  (1ull << 38)

enum hook_kind {
	HOOK_NONE,
	HOOK_FREE,
	HOOK_SIZE,    /* of as many bytes as the first argument says */
	HOOK_PRODUCT, /* first times second */
	HOOK_SECOND,  /* second */
	HOOK_REALLOC, /* of the block in the first, as many as the second says */
	HOOK_POSIX,   /* the third; the block's address is written where the first points to */
	HOOK_MAPPING, /* makes a system call at once */
	HOOK_THROW,   /* the exception object in the first */
	HOOK_THROWER, /* throws one, and has a large frame */
};

static const struct {
	const char *name;
	enum hook_kind kind;
} functions[] = {
	{"mmap", HOOK_MAPPING},
	{"mmap64", HOOK_MAPPING},
	{"munmap", HOOK_MAPPING},
	{"mremap", HOOK_MAPPING},
	{"__cxa_throw", HOOK_THROW},
	{"_ZSt24__throw_out_of_range_fmtPKcz", HOOK_THROWER}, /* vector::at() and others */
	{"free", HOOK_FREE},
	{"cfree", HOOK_FREE},
	{"malloc", HOOK_SIZE},
	{"calloc", HOOK_PRODUCT},
	{"realloc", HOOK_REALLOC},
	{"memalign", HOOK_SECOND},
	{"aligned_alloc", HOOK_SECOND},
	{"posix_memalign", HOOK_POSIX},
	{"valloc", HOOK_SIZE},
	{"pvalloc", HOOK_SIZE},
	{"_Znwm", HOOK_SIZE},
	{"_Znam", HOOK_SIZE},
	{"_ZnwmRKSt9nothrow_t", HOOK_SIZE},
	{"_ZnamRKSt9nothrow_t", HOOK_SIZE},
	{"_ZnwmSt11align_val_t", HOOK_SIZE},
	{"_ZnamSt11align_val_t", HOOK_SIZE},
	{"_ZdlPv", HOOK_FREE},
	{"_ZdaPv", HOOK_FREE},
	{"_ZdlPvm", HOOK_FREE},
	{"_ZdaPvm", HOOK_FREE},
	{"_ZdlPvSt11align_val_t", HOOK_FREE},
	{"_ZdaPvSt11align_val_t", HOOK_FREE},
	{"_ZdlPvmSt11align_val_t", HOOK_FREE},
	{"_ZdaPvmSt11align_val_t", HOOK_FREE},
};

#define NR_FUNCTIONS (sizeof(functions) / sizeof(functions[0]))

/* Written under 'busy' or before there are threads; a start of 0: not used any more. */
static struct hook {
	u64 start;
	enum hook_kind kind;
} hooks[MAX_HOOKS];
static u32 nr_hooks, busy;
static u64 nr_changes; /* system calls that change mappings */
static struct qemu_heap *heap;

/* Calls that have not returned, the newest last; some never will (an exception, longjmp()). */
struct pending {
	u64 sp, old, nr_bytes, caller;
	u64 event; /* the number of its FREED, plus 1; 0: none */
	enum hook_kind kind;
};
struct calls {
	struct pending call[MAX_PENDING];
	u64 page, changes; /* readable, as long as there are no more changes */
	enum { NEXT_UNKNOWN, NEXT_READABLE, NEXT_NOT } next; /* the page after it */
	/* one of the two is not 0: that the call is of (thread-local memory of a plugin is scarce)
	 */
	u64 mapping_caller, thrower_caller;
	u64 kept_sp;
	struct auxtap_heap_call kept;
};
static __thread struct calls calls __attribute__((tls_model("initial-exec")));
__thread u32 qp_heap_pending;

u64 qp_heap_ring(void)
{
	return (u64)(uintptr_t)heap;
}

/* Begins an event, which put() ends; number may be NULL. */
static struct auxtap_heap_event *begin_event(struct auxtap_heap_call **call, u64 *number)
{
	const u64 nr = __atomic_fetch_add(&heap->ring.head, 1, __ATOMIC_RELAXED);
	const u64 at = nr & (QEMU_HEAP_EVENTS - 1);

	qemu_store(&heap->event[at].kind, AUXTAP_HEAP_NONE);
	*call = &heap->call[at];
	(*call)->sp = 0;
	(*call)->returned = 0;
	if (number)
		*number = nr;
	return &heap->event[at];
}

static void put(struct auxtap_heap_event *e, enum auxtap_heap_kind kind, u64 addr, u64 nr_bytes,
		u64 caller)
{
	e->addr = addr;
	e->nr_bytes = nr_bytes;
	e->caller = caller;
	e->tid = qp_rec->tid;
	qemu_store(&e->kind, kind);
}

static void put_missed(void)
{
	struct auxtap_heap_call *call;

	put(begin_event(&call, NULL), AUXTAP_HEAP_MISSED, 0, 0, 0);
}

/* ---- the functions' calls ---- */

/* Its registers at a call. */
struct state {
	u64 arg[3], sp, caller;
};

/*
 * The word that the call has just pushed. Asking the kernel takes longer than malloc() itself, so
 * it is asked once for each page, and again when any mapping may have changed.
 */
static bool read_pushed(u64 sp, u64 *word)
{
	const u64 page = sp & ~(QEMU_PAGE - 1), changes = qemu_load(&nr_changes);

	if (calls.page != page || calls.changes != changes || sp & 7) {
		if (qp_read(sp, word, sizeof(*word)))
			return false;
		calls.page = page;
		calls.changes = changes;
		calls.next = NEXT_UNKNOWN;
		return true;
	}
	memcpy(word, (const void *)(uintptr_t)(qp.guest_base + sp), sizeof(*word));
	return true;
}

/* How many bytes of the stack from sp on can be read, at most AUXTAP_CALL_STACK. */
static u32 readable_stack(u64 sp)
{
	const u64 end = (sp & ~(QEMU_PAGE - 1)) + QEMU_PAGE;
	u64 word;

	if ((sp & 7) || !read_pushed(sp, &word))
		return 0;
	if (sp + AUXTAP_CALL_STACK <= end)
		return AUXTAP_CALL_STACK;
	if (calls.next == NEXT_UNKNOWN)
		calls.next = qp_read(end, &word, sizeof(word)) ? NEXT_NOT : NEXT_READABLE;
	return calls.next == NEXT_READABLE ? AUXTAP_CALL_STACK : (u32)(end - sp);
}

/* The state of the caller, whose stack pointer is sp: the other registers are as they were there.
 */
static void fill_call(struct auxtap_heap_call *call, const union qemu_env *env, u64 sp)
{
	static const u8 x86_regs[] = {3, 5, 12, 13, 14, 15};

	if (qp.arch->arch == AUXTAP_ARCH_AARCH64)
		memcpy(call->reg, &env->a64.xregs[19], sizeof(call->reg));
	else
		for (size_t i = 0; i < sizeof(x86_regs); i++)
			call->reg[i] = env->x86.regs[x86_regs[i]];
	call->nr_stack = readable_stack(sp);
	memcpy(call->stack, (const void *)(uintptr_t)(qp.guest_base + sp), call->nr_stack);
	call->sp = sp;
}

/* The word of the return address is not the caller's. */
static u64 caller_sp(u64 sp)
{
	return qp.arch->arch == AUXTAP_ARCH_AARCH64 ? sp : sp + 8;
}

static const union qemu_env *current_env(void)
{
	if (!heap || !qp_recording() || !qp_rec->regs_valid)
		return NULL;
	return qp_env;
}

static bool read_state(struct state *s)
{
	const union qemu_env *env = current_env();

	if (!env)
		return false;
	s->sp = qp.arch->sp(env);
	if (qp.arch->arch == AUXTAP_ARCH_AARCH64) {
		memcpy(s->arg, env->a64.xregs, sizeof(s->arg));
		s->caller = env->a64.xregs[30];
		return true;
	}
	s->arg[0] = env->x86.regs[7];
	s->arg[1] = env->x86.regs[6];
	s->arg[2] = env->x86.regs[2];
	return read_pushed(s->sp, &s->caller);
}

static bool is_free(const struct pending *p)
{
	return p->kind == HOOK_FREE || p->kind == HOOK_REALLOC;
}

/* One of another that is still open frees the same block: delete calls free. */
static bool is_inner(const struct state *s)
{
	for (u32 i = 0; i < qp_heap_pending; i++)
		if (is_free(&calls.call[i]) && calls.call[i].old == s->arg[0] &&
		    calls.call[i].sp >= s->sp)
			return true;
	return false;
}

static void drop_call(u32 at)
{
	qp_heap_pending--;
	memmove(&calls.call[at], &calls.call[at + 1],
		(qp_heap_pending - at) * sizeof(calls.call[0]));
}

/*
 * If the same call at the same depth is there already, it has been left without a return, and has
 * given nothing to the program; or by a jump to another that frees the same block.
 */
static struct pending *add_call(const struct state *s, enum hook_kind kind)
{
	u64 event = 0;

	for (u32 i = 0; i < qp_heap_pending; i++) {
		const struct pending *p = &calls.call[i];

		if (p->sp == s->sp && p->caller == s->caller && p->kind == kind) {
			event = p->old == s->arg[0] ? p->event : 0;
			drop_call(i);
			break;
		}
	}
	if (qp_heap_pending == MAX_PENDING) {
		if (calls.call[0].kind != HOOK_FREE)
			put_missed();
		drop_call(0);
	}
	calls.call[qp_heap_pending] =
		(struct pending){.sp = s->sp, .caller = s->caller, .event = event, .kind = kind};
	return &calls.call[qp_heap_pending++];
}

/* By the function that called the library's, if what that needs of the stack is more than is kept.
 */
static void put_thrown(const struct state *s)
{
	const bool by_thrower = calls.thrower_caller && calls.kept_sp > s->sp &&
				calls.kept_sp - s->sp < MAX_THROWER;
	struct auxtap_heap_call *call;
	struct auxtap_heap_event *e = begin_event(&call, NULL);

	if (by_thrower)
		*call = calls.kept;
	else
		fill_call(call, current_env(), caller_sp(s->sp));
	put(e, AUXTAP_HEAP_THROWN, s->arg[0], 0, by_thrower ? calls.thrower_caller : s->caller);
	calls.thrower_caller = 0;
}

static void on_call(unsigned int cpu, void *arg)
{
	const struct hook *hook = arg;
	struct auxtap_heap_call *call;
	struct auxtap_heap_event *e;
	struct pending *p;
	struct state s;
	u64 number = 0;

	(void)cpu;
	if (!read_state(&s) || (hook->kind == HOOK_FREE && !s.arg[0]))
		return;
	if (hook->kind == HOOK_MAPPING) {
		calls.mapping_caller = s.caller;
		calls.thrower_caller = 0;
		calls.kept_sp = s.sp;
		fill_call(&calls.kept, current_env(), caller_sp(s.sp));
		return;
	}
	if (hook->kind == HOOK_THROWER) {
		calls.thrower_caller = s.caller;
		calls.mapping_caller = 0;
		calls.kept_sp = s.sp;
		fill_call(&calls.kept, current_env(), caller_sp(s.sp));
		return;
	}
	if (hook->kind == HOOK_THROW) {
		put_thrown(&s);
		return;
	}
	/* before it returns, another thread may be given the block */
	if ((hook->kind == HOOK_FREE || hook->kind == HOOK_REALLOC) && s.arg[0] && !is_inner(&s)) {
		e = begin_event(&call, &number);
		fill_call(call, current_env(), caller_sp(s.sp));
		put(e, AUXTAP_HEAP_FREED, s.arg[0], 0, s.caller);
		number++;
	}
	p = add_call(&s, hook->kind);
	p->old = s.arg[0];
	if (number)
		p->event = number;
	switch (hook->kind) {
	case HOOK_PRODUCT:
		p->nr_bytes = s.arg[0] * s.arg[1];
		break;
	case HOOK_SECOND:
	case HOOK_REALLOC:
		p->nr_bytes = s.arg[1];
		break;
	case HOOK_POSIX:
		p->nr_bytes = s.arg[2];
		break;
	default:
		p->nr_bytes = s.arg[0];
		break;
	}
}

static void returned(const struct pending *p, u64 result, const union qemu_env *env)
{
	struct auxtap_heap_call *call;
	struct auxtap_heap_event *e;
	u64 addr = result;

	if (p->event && qemu_load(&heap->ring.head) - p->event < QEMU_HEAP_EVENTS)
		heap->call[(p->event - 1) & (QEMU_HEAP_EVENTS - 1)].returned = 1;
	if (p->kind == HOOK_FREE)
		return;
	if (p->kind == HOOK_POSIX) {
		if (result)
			return;
		if (qp_read(p->old, &addr, sizeof(addr))) {
			put_missed();
			return;
		}
	} else if (p->kind == HOOK_REALLOC && p->old && !result && p->nr_bytes) {
		put(begin_event(&call, NULL), AUXTAP_HEAP_KEPT, p->old, 0, p->caller);
	}
	if (addr) {
		e = begin_event(&call, NULL);
		fill_call(call, env, caller_sp(p->sp));
		put(e, AUXTAP_HEAP_ALLOCATED, addr, p->nr_bytes, p->caller);
	}
}

/* Where several calls jumped from one to the next, the innermost comes first. */
void qp_heap_entered(u64 ip)
{
	const union qemu_env *env = current_env();
	const bool a64 = qp.arch->arch == AUXTAP_ARCH_AARCH64;
	u64 sp;

	if (!env)
		return;
	sp = qp.arch->sp(env) - (a64 ? 0 : 8);
	for (u32 i = qp_heap_pending; i-- > 0;) {
		const struct pending p = calls.call[i];

		if (p.caller != ip || p.sp != sp)
			continue;
		drop_call(i);
		returned(&p, a64 ? env->a64.xregs[0] : env->x86.regs[0], env);
	}
}

void qp_heap_translate(struct qemu_plugin_tb *tb)
{
	u64 first;

	if (!heap || !qemu_plugin_tb_n_insns(tb))
		return;
	first = qemu_plugin_insn_vaddr(qemu_plugin_tb_get_insn(tb, 0));
	for (u32 i = 0; i < qemu_load(&nr_hooks) && i < MAX_HOOKS; i++)
		if (qemu_load(&hooks[i].start) == first)
			qemu_plugin_register_vcpu_tb_exec_cb(tb, on_call, QEMU_PLUGIN_CB_R_REGS,
							     &hooks[i]);
}

/* ---- where the functions are ---- */

static void add_hook(u64 start, enum hook_kind kind)
{
	u32 nr = nr_hooks, at;

	for (at = 0; at < nr; at++)
		if (hooks[at].start == start)
			return;
	for (at = 0; at < nr && hooks[at].start; at++)
		;
	if (at == MAX_HOOKS) {
		put_missed();
		heap->ring.magic = 0; /* what others free would not be seen */
		return;
	}
	hooks[at].kind = kind;
	qemu_store(&hooks[at].start, start);
	if (at == nr)
		qemu_store(&nr_hooks, nr + 1);
}

static void *read_table(int fd, const Elf64_Shdr *sh)
{
	char *table;

	if (sh->sh_size > MAX_TABLE)
		return NULL;
	table = malloc(sh->sh_size + 1);
	if (table && pread(fd, table, sh->sh_size, (off_t)sh->sh_offset) != (ssize_t)sh->sh_size) {
		free(table);
		return NULL;
	}
	if (table)
		table[sh->sh_size] = 0;
	return table;
}

/* has_global: of each of functions[], whether a global one has been found in the file. */
static void add_symbol(const Elf64_Sym *sym, const char *name, u64 bias, bool *has_global,
		       bool is_local)
{
	if (ELF64_ST_TYPE(sym->st_info) != STT_FUNC || sym->st_shndx == SHN_UNDEF ||
	    !sym->st_value || (ELF64_ST_BIND(sym->st_info) == STB_LOCAL) != is_local)
		return;
	for (size_t i = 0; i < NR_FUNCTIONS; i++) {
		if (strcmp(name, functions[i].name) != 0 || (is_local && has_global[i]))
			continue;
		add_hook(bias + sym->st_value, functions[i].kind);
		has_global[i] |= !is_local;
	}
}

/* A static-pie program may have them as local ones; if it has both, the local one is another. */
static void add_symbols(int fd, const Elf64_Shdr *symbols, const Elf64_Shdr *strings, u64 bias)
{
	Elf64_Sym *sym = read_table(fd, symbols);
	char *text = sym ? read_table(fd, strings) : NULL;
	bool has_global[NR_FUNCTIONS] = {0};

	for (int is_local = 0; is_local < 2; is_local++)
		for (size_t i = 0; text && i < symbols->sh_size / sizeof(*sym); i++)
			if (sym[i].st_name < strings->sh_size)
				add_symbol(&sym[i], text + sym[i].st_name, bias, has_global,
					   is_local);
	free(text);
	free(sym);
}

/* The dynamic symbols; of a file without them, all. */
static void add_file(int fd, const Elf64_Ehdr *eh, u64 bias)
{
	static const u32 types[] = {SHT_DYNSYM, SHT_SYMTAB};
	Elf64_Shdr *sh;
	size_t size = (size_t)eh->e_shnum * sizeof(*sh);
	bool found = false;

	if (eh->e_shentsize != sizeof(*sh) || !size)
		return;
	sh = malloc(size);
	if (sh && pread(fd, sh, size, (off_t)eh->e_shoff) == (ssize_t)size)
		for (size_t type = 0; type < 2 && !found; type++)
			for (size_t i = 0; i < eh->e_shnum; i++)
				if (sh[i].sh_type == types[type] && sh[i].sh_link < eh->e_shnum &&
				    sh[i].sh_size > sizeof(Elf64_Sym)) {
					add_symbols(fd, &sh[i], &sh[sh[i].sh_link], bias);
					found = true;
				}
	free(sh);
}

static bool read_header(int fd, Elf64_Ehdr *eh)
{
	return pread(fd, eh, sizeof(*eh), 0) == sizeof(*eh) &&
	       !memcmp(eh->e_ident, ELFMAG, SELFMAG) && eh->e_ident[EI_CLASS] == ELFCLASS64 &&
	       eh->e_machine == qp.arch->elf_machine;
}

static void lock(void)
{
	while (__atomic_exchange_n(&busy, 1, __ATOMIC_ACQUIRE))
		usleep(100);
}

static void unlock(void)
{
	__atomic_store_n(&busy, 0, __ATOMIC_RELEASE);
}

/*
 * Between two pages without access: a loop of the program past its own memory ends there. Far below
 * where the kernel places mappings, so that the program's are where they would be without it.
 */
static void make_ring(void)
{
	const size_t size = (sizeof(*heap) + QEMU_PAGE - 1) & ~(QEMU_PAGE - 1);
	const int flags = MAP_PRIVATE | MAP_ANONYMOUS;
	char *all = mmap(NULL, size + 2 * QEMU_PAGE, PROT_NONE, flags, -1, 0);

	if (all != MAP_FAILED && (uintptr_t)all > RING_BELOW) {
		munmap(all, size + 2 * QEMU_PAGE);
		all = mmap(all - RING_BELOW, size + 2 * QEMU_PAGE, PROT_NONE, flags, -1, 0);
	}
	if (all == MAP_FAILED)
		return;
	if (mprotect(all + QEMU_PAGE, size, PROT_READ | PROT_WRITE)) {
		munmap(all, size + 2 * QEMU_PAGE);
		return;
	}
	heap = (struct qemu_heap *)(all + QEMU_PAGE);
	heap->ring.magic = QEMU_HEAP_MAGIC;
}

/* A program's file, or its interpreter's. */
void qp_heap_image(int fd, u64 bias)
{
	Elf64_Ehdr eh;

	if (!heap && !qp.is_old && qp_recording()) {
		make_ring();
		qemu_store(&qp_rec->heap, qp_heap_ring());
	}
	if (heap && read_header(fd, &eh))
		add_file(fd, &eh, bias);
}

void qp_heap_mapped(int fd, u64 addr, u64 pgoff)
{
	Elf64_Ehdr eh;

	if (!heap || !read_header(fd, &eh) || eh.e_phentsize != sizeof(Elf64_Phdr))
		return;
	lock();
	for (int i = 0; i < eh.e_phnum; i++) {
		Elf64_Phdr ph;

		if (pread(fd, &ph, sizeof(ph), (off_t)(eh.e_phoff + (u64)i * sizeof(ph))) !=
		    sizeof(ph))
			break;
		if (ph.p_type != PT_LOAD || !(ph.p_flags & PF_X) ||
		    (ph.p_offset & ~(QEMU_PAGE - 1)) != pgoff)
			continue;
		add_file(fd, &eh, addr - (ph.p_vaddr & ~(QEMU_PAGE - 1)));
		break;
	}
	unlock();
}

void qp_heap_remaps(void)
{
	__atomic_fetch_add(&nr_changes, 1, __ATOMIC_SEQ_CST);
}

static void drop_hooks(u64 addr, u64 len)
{
	if (!heap || !len)
		return;
	lock();
	for (u32 i = 0; i < nr_hooks; i++)
		if (hooks[i].start >= addr && hooks[i].start - addr < len)
			qemu_store(&hooks[i].start, 0);
	unlock();
}

/* Who called the function that has made this system call; 0: none that is known. */
static u64 mapping_caller(void)
{
	const union qemu_env *env = qp_env;
	u64 caller = calls.mapping_caller, sp;

	calls.mapping_caller = 0;
	if (!caller || !env || !qp_rec->regs_valid)
		return 0;
	sp = qp.arch->sp(env);
	return sp <= calls.kept_sp && calls.kept_sp - sp < MAX_WRAPPER ? caller : 0;
}

static void put_mapping(enum auxtap_heap_kind kind, u64 addr, u64 len, u64 caller)
{
	struct auxtap_heap_call *call;
	struct auxtap_heap_event *e = begin_event(&call, NULL);

	if (caller)
		*call = calls.kept;
	put(e, kind, addr, len, caller);
}

void qp_heap_mapping(u64 old, u64 old_len, u64 addr, u64 len)
{
	const u64 caller = heap && qp_recording() ? mapping_caller() : 0;

	if (heap && qp_recording()) {
		if (old_len)
			put_mapping(AUXTAP_HEAP_UNMAPPED, old, old_len, caller);
		if (len)
			put_mapping(AUXTAP_HEAP_MAPPED, addr, len, caller);
	}
	drop_hooks(old, old_len);
	drop_hooks(addr, len);
}

/* In the child: its only thread has another number than the one that made the events. */
void qp_heap_forked(void)
{
	busy = 0;
	if (heap)
		heap->ring.forked = heap->ring.head;
}
