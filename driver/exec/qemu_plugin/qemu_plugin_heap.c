// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Logs who allocated and freed blocks of the heap, and who threw C++ exceptions. The functions are
 * found by their names in the symbol tables of the files that the program maps. qemu starts a
 * translation block (TB) at each call target, so a hook runs when the TB at the function's start is
 * entered. The call has returned when the TB at its return address is entered with the caller's
 * stack pointer, even if the function ended with a tail call. Mappings are logged by their system
 * calls; the hooks of mmap() and others find the caller.
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
#define MAX_WRAPPER_STACK 256
/* the same between __throw_out_of_range_fmt(), which formats its text there, and __cxa_throw() */
#define MAX_THROWER_STACK 65536
#define MAX_TABLE	  (32u << 20)  /* bytes of a symbol or string table */
#define RING_DISTANCE	  (1ull << 38) /* of the log below mmap's area */

enum hook_kind {
	HOOK_NONE,
	HOOK_FREE,
	HOOK_MALLOC,	     /* size: argument 1 */
	HOOK_CALLOC,	     /* size: argument 1 times argument 2 */
	HOOK_MEMALIGN,	     /* size: argument 2 */
	HOOK_REALLOC,	     /* old block: argument 1; size: argument 2 */
	HOOK_POSIX_MEMALIGN, /* size: argument 3; argument 1 points to the result */
	HOOK_MAPPING,	     /* wrapper of a system call */
	HOOK_THROW,	     /* exception object: argument 1 */
	HOOK_THROWER,	     /* calls a HOOK_THROW function, and has a large frame */
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
	{"malloc", HOOK_MALLOC},
	{"calloc", HOOK_CALLOC},
	{"realloc", HOOK_REALLOC},
	{"memalign", HOOK_MEMALIGN},
	{"aligned_alloc", HOOK_MEMALIGN},
	{"posix_memalign", HOOK_POSIX_MEMALIGN},
	{"valloc", HOOK_MALLOC},
	{"pvalloc", HOOK_MALLOC},
	{"_Znwm", HOOK_MALLOC},
	{"_Znam", HOOK_MALLOC},
	{"_ZnwmRKSt9nothrow_t", HOOK_MALLOC},
	{"_ZnamRKSt9nothrow_t", HOOK_MALLOC},
	{"_ZnwmSt11align_val_t", HOOK_MALLOC},
	{"_ZnamSt11align_val_t", HOOK_MALLOC},
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

/* Written under hooks_lock, or before there are threads; a start of 0: not used any more. */
static struct hook {
	u64 start;
	enum hook_kind kind;
} hooks[MAX_HOOKS];
static u32 nr_hooks, hooks_lock;
static u64 nr_changes; /* system calls that change mappings */
static struct qemu_heap_log *heap_log;

/* A call that has not returned; it may never do so (an exception, longjmp()). */
struct pending {
	u64 sp, first_arg, nr_bytes, caller;
	u64 event; /* number of its FREED event, plus 1; 0: none */
	enum hook_kind kind;
};
struct calls {
	struct pending call[MAX_PENDING]; /* the newest last */
	/* page that was readable when nr_changes was page_changes; next_page: the page after it */
	u64 readable_page, page_changes;
	enum { NEXT_UNKNOWN, NEXT_READABLE, NEXT_NOT } next_page;
	/*
	 * saved_call: the caller's state at the last HOOK_MAPPING or HOOK_THROWER call. At most one
	 * of mapping_caller and thrower_caller is not 0, and says which. One buffer serves both,
	 * because TLS for plugins is scarce.
	 */
	u64 mapping_caller, thrower_caller;
	u64 saved_sp;
	struct auxtap_heap_call saved_call;
};
static __thread struct calls calls __attribute__((tls_model("initial-exec")));
__thread u32 qp_heap_pending;

u64 qp_heap_ring(void)
{
	return (u64)(uintptr_t)heap_log;
}

/* Starts an event, which put() completes; number may be NULL. */
static struct auxtap_heap_event *begin_event(struct auxtap_heap_call **call, u64 *number)
{
	const u64 nr = __atomic_fetch_add(&heap_log->ring.head, 1, __ATOMIC_RELAXED);
	const u64 at = nr & (QEMU_HEAP_EVENTS - 1);

	qemu_store(&heap_log->event[at].kind, AUXTAP_HEAP_NONE);
	*call = &heap_log->call[at];
	(*call)->sp = 0;
	(*call)->returned = 0;
	if (number)
		*number = nr;
	return &heap_log->event[at];
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

/* Registers at the entry of a hooked function. */
struct entry_regs {
	u64 arg[3], sp, caller;
};

/*
 * Reads the word that the call has just pushed. A safe read by the kernel takes longer than
 * malloc() itself, so it is made once per page, and again when any mapping may have changed.
 */
static bool read_pushed(u64 sp, u64 *word)
{
	const u64 page = sp & ~(QEMU_PAGE - 1), changes = qemu_load(&nr_changes);

	if (calls.readable_page != page || calls.page_changes != changes || sp & 7) {
		if (qp_read(sp, word, sizeof(*word)))
			return false;
		calls.readable_page = page;
		calls.page_changes = changes;
		calls.next_page = NEXT_UNKNOWN;
		return true;
	}
	memcpy(word, (const void *)(uintptr_t)(qp.guest_base + sp), sizeof(*word));
	return true;
}

/* The number of bytes of the stack from sp on that can be read, at most AUXTAP_CALL_STACK. */
static u32 readable_stack(u64 sp)
{
	const u64 end = (sp & ~(QEMU_PAGE - 1)) + QEMU_PAGE;
	u64 word;

	if ((sp & 7) || !read_pushed(sp, &word))
		return 0;
	if (sp + AUXTAP_CALL_STACK <= end)
		return AUXTAP_CALL_STACK;
	if (calls.next_page == NEXT_UNKNOWN)
		calls.next_page = qp_read(end, &word, sizeof(word)) ? NEXT_NOT : NEXT_READABLE;
	return calls.next_page == NEXT_READABLE ? AUXTAP_CALL_STACK : (u32)(end - sp);
}

/* Saves the caller's state, with sp: callee-saved registers still have the caller's values. */
static void fill_call(struct auxtap_heap_call *call, const union qemu_env *env, u64 sp)
{
	static const u8 x86_regs[] = {3, 5, 12, 13, 14, 15}; /* rbx rbp r12-r15 */

	if (qp.arch->arch == AUXTAP_ARCH_AARCH64)
		memcpy(call->reg, &env->a64.xregs[19], sizeof(call->reg));
	else
		for (size_t i = 0; i < sizeof(x86_regs); i++)
			call->reg[i] = env->x86.regs[x86_regs[i]];
	call->nr_stack = readable_stack(sp);
	memcpy(call->stack, (const void *)(uintptr_t)(qp.guest_base + sp), call->nr_stack);
	call->sp = sp;
}

/* The caller's sp: on x86-64 above the pushed return address. */
static u64 caller_sp(u64 sp)
{
	return qp.arch->arch == AUXTAP_ARCH_AARCH64 ? sp : sp + 8;
}

static const union qemu_env *current_env(void)
{
	if (!heap_log || !qp_recording() || !qp_rec->regs_valid)
		return NULL;
	return qp_env;
}

static bool read_entry_regs(struct entry_regs *s)
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
	s->arg[0] = env->x86.regs[7]; /* rdi */
	s->arg[1] = env->x86.regs[6]; /* rsi */
	s->arg[2] = env->x86.regs[2]; /* rdx */
	return read_pushed(s->sp, &s->caller);
}

static bool is_free(const struct pending *p)
{
	return p->kind == HOOK_FREE || p->kind == HOOK_REALLOC;
}

/*
 * Can this call have been made from within the pending one, which then has not been abandoned
 * (longjmp, an exception)? On x86 the return address of that one is still in the stack.
 */
static bool is_inside(const struct entry_regs *s, const struct pending *p)
{
	u64 word;

	if (p->sp == s->sp)
		return p->caller == s->caller; /* a tail call */
	return p->sp > s->sp && (qp.arch->arch == AUXTAP_ARCH_AARCH64 ||
				 (!qp_read(p->sp, &word, sizeof(word)) && word == p->caller));
}

/* True if a pending call frees the same block: this free() is called by operator delete. */
static bool is_nested_free(const struct entry_regs *s)
{
	for (u32 i = 0; i < qp_heap_pending; i++)
		if (is_free(&calls.call[i]) && calls.call[i].first_arg == s->arg[0] &&
		    is_inside(s, &calls.call[i]))
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
 * A pending call of the same kind with the same sp and caller did not return: it was abandoned
 * (longjmp, an exception), or it tail-called this function, as operator delete does with free():
 * then its event is that of this call.
 */
static struct pending *add_call(const struct entry_regs *s, enum hook_kind kind)
{
	u64 event = 0;

	for (u32 i = 0; i < qp_heap_pending; i++) {
		const struct pending *p = &calls.call[i];

		if (p->sp == s->sp && p->caller == s->caller && p->kind == kind) {
			event = p->first_arg == s->arg[0] ? p->event : 0;
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

/*
 * Logs a throw. If __cxa_throw() was called by a HOOK_THROWER, whose frame is larger than
 * AUXTAP_CALL_STACK, the thrower's caller is logged instead, as unwinding could not find it.
 */
static void put_thrown(const struct entry_regs *s)
{
	const bool by_thrower = calls.thrower_caller && calls.saved_sp > s->sp &&
				calls.saved_sp - s->sp < MAX_THROWER_STACK;
	struct auxtap_heap_call *call;
	struct auxtap_heap_event *e = begin_event(&call, NULL);

	if (by_thrower)
		*call = calls.saved_call;
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
	struct entry_regs s;
	u64 number = 0;

	(void)cpu;
	if (!read_entry_regs(&s) || (hook->kind == HOOK_FREE && !s.arg[0]))
		return;
	if (hook->kind == HOOK_MAPPING) {
		calls.mapping_caller = s.caller;
		calls.thrower_caller = 0;
		calls.saved_sp = s.sp;
		fill_call(&calls.saved_call, current_env(), caller_sp(s.sp));
		return;
	}
	if (hook->kind == HOOK_THROWER) {
		calls.thrower_caller = s.caller;
		calls.mapping_caller = 0;
		calls.saved_sp = s.sp;
		fill_call(&calls.saved_call, current_env(), caller_sp(s.sp));
		return;
	}
	if (hook->kind == HOOK_THROW) {
		put_thrown(&s);
		return;
	}
	/* log it now: another thread may get the block before free() returns */
	if ((hook->kind == HOOK_FREE || hook->kind == HOOK_REALLOC) && s.arg[0] &&
	    !is_nested_free(&s)) {
		e = begin_event(&call, &number);
		fill_call(call, current_env(), caller_sp(s.sp));
		put(e, AUXTAP_HEAP_FREED, s.arg[0], 0, s.caller);
		number++;
	}
	p = add_call(&s, hook->kind);
	p->first_arg = s.arg[0];
	if (number)
		p->event = number;
	switch (hook->kind) {
	case HOOK_CALLOC:
		p->nr_bytes = s.arg[0] * s.arg[1];
		break;
	case HOOK_MEMALIGN:
	case HOOK_REALLOC:
		p->nr_bytes = s.arg[1];
		break;
	case HOOK_POSIX_MEMALIGN:
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

	if (p->event && qemu_load(&heap_log->ring.head) - p->event < QEMU_HEAP_EVENTS)
		heap_log->call[(p->event - 1) & (QEMU_HEAP_EVENTS - 1)].returned = 1;
	if (p->kind == HOOK_FREE)
		return;
	if (p->kind == HOOK_POSIX_MEMALIGN) {
		if (result)
			return;
		if (qp_read(p->first_arg, &addr, sizeof(addr))) {
			put_missed();
			return;
		}
	} else if (p->kind == HOOK_REALLOC && p->first_arg && !result && p->nr_bytes) {
		put(begin_event(&call, NULL), AUXTAP_HEAP_KEPT, p->first_arg, 0, p->caller);
	}
	if (addr) {
		e = begin_event(&call, NULL);
		fill_call(call, env, caller_sp(p->sp));
		put(e, AUXTAP_HEAP_ALLOCATED, addr, p->nr_bytes, p->caller);
	}
}

/* Of calls that tail-called each other, the innermost returns first. */
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

	if (!heap_log || !qemu_plugin_tb_n_insns(tb))
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
		heap_log->ring.magic = 0; /* the log is useless if some free() is not hooked */
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

/* has_global: whether a global symbol of each of functions[] has been found in the file. */
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

/*
 * In a static-pie program they may be local symbols. A local symbol with the name of a global one
 * is a different function.
 */
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

/* Adds the functions of the dynamic symbol table; without one, of the full symbol table. */
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
	while (__atomic_exchange_n(&hooks_lock, 1, __ATOMIC_ACQUIRE))
		usleep(100);
}

static void unlock(void)
{
	__atomic_store_n(&hooks_lock, 0, __ATOMIC_RELEASE);
}

/*
 * Maps the log with a guard page on each side, against stray writes of the program. It is far below
 * mmap's area, so that the program's mappings get the same addresses as without it.
 */
static void make_ring(void)
{
	const size_t size = (sizeof(*heap_log) + QEMU_PAGE - 1) & ~(QEMU_PAGE - 1);
	const int flags = MAP_PRIVATE | MAP_ANONYMOUS;
	char *all = mmap(NULL, size + 2 * QEMU_PAGE, PROT_NONE, flags, -1, 0);

	if (all != MAP_FAILED && (uintptr_t)all > RING_DISTANCE) {
		munmap(all, size + 2 * QEMU_PAGE);
		all = mmap(all - RING_DISTANCE, size + 2 * QEMU_PAGE, PROT_NONE, flags, -1, 0);
	}
	if (all == MAP_FAILED)
		return;
	if (mprotect(all + QEMU_PAGE, size, PROT_READ | PROT_WRITE)) {
		munmap(all, size + 2 * QEMU_PAGE);
		return;
	}
	heap_log = (struct qemu_heap_log *)(all + QEMU_PAGE);
	heap_log->ring.magic = QEMU_HEAP_MAGIC;
}

/* fd: the program, or its interpreter. */
void qp_heap_hook_image(int fd, u64 bias)
{
	Elf64_Ehdr eh;

	if (!heap_log && !qp.is_old && qp_recording()) {
		make_ring();
		qemu_store(&qp_rec->heap, qp_heap_ring());
	}
	if (heap_log && read_header(fd, &eh))
		add_file(fd, &eh, bias);
}

void qp_heap_hook_mapped_file(int fd, u64 addr, u64 pgoff)
{
	Elf64_Ehdr eh;

	if (!heap_log || !read_header(fd, &eh) || eh.e_phentsize != sizeof(Elf64_Phdr))
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

void qp_heap_mappings_change(void)
{
	__atomic_fetch_add(&nr_changes, 1, __ATOMIC_SEQ_CST);
}

static void drop_hooks(u64 addr, u64 len)
{
	if (!heap_log || !len)
		return;
	lock();
	for (u32 i = 0; i < nr_hooks; i++)
		if (hooks[i].start >= addr && hooks[i].start - addr < len)
			qemu_store(&hooks[i].start, 0);
	unlock();
}

/* The caller of the function that made this system call; 0: unknown. */
static u64 mapping_caller(void)
{
	const union qemu_env *env = qp_env;
	u64 caller = calls.mapping_caller, sp;

	calls.mapping_caller = 0;
	if (!caller || !env || !qp_rec->regs_valid)
		return 0;
	sp = qp.arch->sp(env);
	return sp <= calls.saved_sp && calls.saved_sp - sp < MAX_WRAPPER_STACK ? caller : 0;
}

static void put_mapping(enum auxtap_heap_kind kind, u64 addr, u64 len, u64 caller)
{
	struct auxtap_heap_call *call;
	struct auxtap_heap_event *e = begin_event(&call, NULL);

	if (caller)
		*call = calls.saved_call;
	put(e, kind, addr, len, caller);
}

void qp_heap_log_mapping(u64 old, u64 old_len, u64 addr, u64 len)
{
	const u64 caller = heap_log && qp_recording() ? mapping_caller() : 0;

	if (heap_log && qp_recording()) {
		if (old_len)
			put_mapping(AUXTAP_HEAP_UNMAPPED, old, old_len, caller);
		if (len)
			put_mapping(AUXTAP_HEAP_MAPPED, addr, len, caller);
	}
	drop_hooks(old, old_len);
	drop_hooks(addr, len);
}

/* In the child: the events until now are the parent's, and of none of the child's threads. */
void qp_heap_forked(void)
{
	hooks_lock = 0;
	if (heap_log)
		heap_log->ring.forked = heap_log->ring.head;
}
