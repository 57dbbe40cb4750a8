// SPDX-License-Identifier: BSD-2-Clause
/*
 * The C++ exception that a thread handles as its process dies: std::terminate() has made the one
 * without a handler the current exception. GCC's C++ library alone: the list of caught exceptions
 * is thread-local and found by the code of __cxa_get_globals(); the layouts are those of the
 * Itanium C++ ABI. what() is taken from memory only where the object's own what() is that of
 * std::runtime_error or std::logic_error, which keep the text. All that is read is the program's
 * own and untrusted; what is not certain is not recorded.
 */
#include "dead_symbols.h"

#include <string.h>

#define GCC_CLASS      0x474e5543432b2b00ull /* "GNUCC++" and 0 */
#define GCC_DEPENDENT  0x474e5543432b2b01ull /* made by std::rethrow_exception() */
#define MAX_CODE       64
#define MAX_BASES      16
#define MAX_TYPE       1024u
#define MAX_WHAT       4096u
#define SLOT_WHAT      2  /* of the virtual table of std::exception: two destructors come first */
#define VTABLE_ADDRESS 16 /* where objects point, after the start of the table */

struct cxa_exception {
	uint64_t type; /* of a dependent one: the object */
	uint64_t destructor, unexpected, terminate, next;
	int32_t handlers, switch_value;
	uint64_t action, language_data, catch_temp, adjusted;
	uint64_t class, cleanup, private[2]; /* the unwinder's header; then the object */
};

struct type_info {
	uint64_t vptr, name;
};

/* What type_info objects and what() are recognised by. */
struct cxx_library {
	struct dead dead;
	const struct map_entry *program, *library; /* NULL: the library is part of the program */
};

/* As the dynamic linker finds it: the program's own first. */
static uint64_t cxx_symbol(const struct cxx_library *cxx, const char *name)
{
	const struct dead *d = &cxx->dead;
	uint64_t at = cxx->program ? dead_dynamic_symbol(d, cxx->program, name) : 0;

	if (!at && cxx->library)
		at = dead_dynamic_symbol(d, cxx->library, name);
	else if (!at && cxx->program)
		at = dead_file_symbol(cxx->program, name);
	return at;
}

static bool read_word(const struct dead *d, uint64_t addr, uint64_t *word)
{
	return dead_read(d, addr, word, sizeof(*word));
}

/* Up to the 0 that ends it; false if there is none within size. */
static bool read_text(const struct dead *d, uint64_t addr, char *text, size_t size)
{
	for (size_t at = 0, nr; at < size; at += nr) {
		nr = 64 - (addr + at) % 64; /* never over the end of a page */
		if (nr > size - at)
			nr = size - at;
		if (!dead_read(d, addr + at, text + at, nr))
			return false;
		if (memchr(text + at, 0, nr))
			return true;
	}
	return false;
}

/* What __tls_get_addr() returns in glibc, for a block that the thread has. */
static bool tls_address(const struct dead *d, uint64_t fs, uint64_t index, uint64_t *addr)
{
	uint64_t want[2], table, nr, block; /* module and offset */

	if (!dead_read(d, index, want, sizeof(want)) || !read_word(d, fs + 8, &table) ||
	    !read_word(d, table - 16, &nr) || !want[0] || want[0] > nr ||
	    !read_word(d, table + 16 * want[0], &block) || block + 1 <= 1)
		return false;
	*addr = block + want[1];
	return true;
}

/* The state of the few instructions that compute the address of a thread-local variable. */
struct tls_code {
	const struct dead *dead;
	uint64_t fs, rax, rdi;
	bool has_rax, has_rdi;
};

static int32_t immediate(const unsigned char *code)
{
	int32_t value;

	memcpy(&value, code, sizeof(value));
	return value;
}

/* Does the instruction at ip; its size, 0: another one than is known here. */
static size_t tls_step(struct tls_code *t, const unsigned char *code, uint64_t ip)
{
	static const unsigned char load_fs[] = {0x64, 0x48, 0x8b, 0x04, 0x25, 0, 0, 0, 0};
	static const unsigned char endbr[] = {0xf3, 0x0f, 0x1e, 0xfa};
	size_t at = 0;

	if (!memcmp(code, endbr, sizeof(endbr)))
		return sizeof(endbr);
	if (code[0] == 0x48 && code[1] == 0x83 && (code[2] == 0xec || code[2] == 0xc4))
		return 4; /* sub, add: rsp */
	while (at < 3 && code[at] == 0x66)
		at++; /* fills the space that the linker may need */
	if (!memcmp(code + at, load_fs, sizeof(load_fs))) {
		t->rax = t->fs;
		t->has_rax = true;
		return at + sizeof(load_fs);
	}
	if (code[at] == 0x48 && code[at + 1] == 0x8d && code[at + 2] == 0x3d) { /* lea, rdi */
		t->rdi = ip + at + 7 + (uint64_t)(int64_t)immediate(code + at + 3);
		t->has_rdi = true;
		return at + 7;
	}
	if (code[at] == 0x48 && code[at + 1] == 0xe8)
		at++;
	if (code[at] == 0xe8 && t->has_rdi) { /* call: __tls_get_addr */
		t->has_rax = tls_address(t->dead, t->fs, t->rdi, &t->rax);
		t->has_rdi = false;
		return t->has_rax ? at + 5 : 0;
	}
	if (!t->has_rax)
		return 0;
	if (code[0] == 0x48 && code[1] == 0x05) { /* add, rax */
		t->rax += (uint64_t)(int64_t)immediate(code + 2);
		return 6;
	}
	if (code[0] == 0x48 && code[1] == 0x8d && code[2] == 0x80) { /* lea, rax */
		t->rax += (uint64_t)(int64_t)immediate(code + 3);
		return 7;
	}
	return 0;
}

/* What __cxa_get_globals() returns in the thread. */
static bool cxa_globals(const struct cxx_library *cxx, uint64_t fs, uint64_t *globals)
{
	unsigned char code[MAX_CODE + 16] = {0};
	struct tls_code t = {.dead = &cxx->dead, .fs = fs};
	uint64_t start = cxx_symbol(cxx, "__cxa_get_globals");

	if (!start || !dead_read(&cxx->dead, start, code, MAX_CODE))
		return false;
	for (size_t at = 0, nr; at < MAX_CODE; at += nr) {
		if (code[at] == 0xc3) { /* ret */
			*globals = t.rax;
			return t.has_rax;
		}
		nr = tls_step(&t, code + at, start + at);
		if (!nr)
			break;
	}
	return false;
}

/* The object and its type; false: no exception is current, or none of GCC's. */
static bool current_exception(const struct cxx_library *cxx, uint64_t fs, uint64_t *object,
			      uint64_t *type)
{
	const struct dead *d = &cxx->dead;
	struct cxa_exception e;
	uint64_t globals, at;

	if (!cxa_globals(cxx, fs, &globals) || !read_word(d, globals, &at) || !at ||
	    !dead_read(d, at, &e, sizeof(e)) || !e.handlers)
		return false;
	if (e.class == GCC_DEPENDENT) {
		at = e.type - sizeof(e);
		if (!dead_read(d, at, &e, sizeof(e)))
			return false;
	}
	*object = at + sizeof(e);
	*type = e.type;
	return e.class == GCC_CLASS;
}

static bool type_name(const struct dead *d, uint64_t type, char *name, size_t size)
{
	struct type_info info;

	if (!dead_read(d, type, &info, sizeof(info)) || !read_text(d, info.name, name, size))
		return false;
	/* a star says that the name is not unique, and is no part of it */
	if (name[0] == '*')
		memmove(name, name + 1, strlen(name));
	for (const char *c = name; *c; c++)
		if (*c <= ' ' || *c > '~')
			return false;
	return name[0];
}

/* The type that an object of this one begins with, as its first base class that is not virtual. */
static bool first_base(const struct cxx_library *cxx, uint64_t *type)
{
	uint64_t single = cxx_symbol(cxx, "_ZTVN10__cxxabiv120__si_class_type_infoE");
	uint64_t several = cxx_symbol(cxx, "_ZTVN10__cxxabiv121__vmi_class_type_infoE");
	/* name; then of a single base its type; of several flags and number, type and place of each
	 */
	uint64_t words[5];

	if (!dead_read(&cxx->dead, *type, words, 3 * sizeof(*words)))
		return false;
	if (single && words[0] == single + VTABLE_ADDRESS) {
		*type = words[2];
		return true;
	}
	/* in 'place' bit 0 is set of a virtual base, and the offset begins at bit 8 */
	if (!several || words[0] != several + VTABLE_ADDRESS ||
	    !dead_read(&cxx->dead, *type, words, sizeof(words)) || words[4] >> 8 || words[4] & 1)
		return false;
	*type = words[3];
	return true;
}

/* The text that what() of the object returns; false: not known. */
static bool what_text(const struct cxx_library *cxx, uint64_t object, uint64_t type, char *text,
		      size_t size)
{
	static const struct {
		const char *type, *what;
	} known[] = {
		{"St13runtime_error", "_ZNKSt13runtime_error4whatEv"},
		{"St11logic_error", "_ZNKSt11logic_error4whatEv"},
	};
	const struct dead *d = &cxx->dead;
	uint64_t words[2], what; /* of the object: virtual table, text */
	char name[32];

	for (int depth = 0; depth < MAX_BASES; depth++) {
		for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
			if (!type_name(d, type, name, sizeof(name)) ||
			    strcmp(name, known[i].type) != 0)
				continue;
			return dead_read(d, object, words, sizeof(words)) &&
			       read_word(d, words[0] + 8 * SLOT_WHAT, &what) && what &&
			       what == cxx_symbol(cxx, known[i].what) &&
			       read_text(d, words[1], text, size);
		}
		if (!first_base(cxx, &type))
			break;
	}
	return false;
}

void session_write_exception(struct auxtap_session *s, struct trace_file *file, pid_t pid,
			     pid_t tid, const struct map_list *maps)
{
	struct cxx_library cxx = {.dead = {.s = s, .pid = pid, .maps = maps}};
	char text[MAX_TYPE + 1 + MAX_WHAT];
	struct auxtap_regs regs;
	uint64_t object, type;
	size_t len;

	if (s->be->target->regs(s->be->target_ctx, tid, &regs) || regs.arch != AUXTAP_ARCH_X86_64 ||
	    !(regs.valid & (1ull << AUXTAP_X86_FS)))
		return;
	cxx.program = dead_program(&cxx.dead);
	cxx.library = dead_library(&cxx.dead, "libstdc++.so.6");
	if (!current_exception(&cxx, regs.reg[AUXTAP_X86_FS], &object, &type) ||
	    !type_name(&cxx.dead, type, text, MAX_TYPE))
		return;
	len = strlen(text);
	if (what_text(&cxx, object, type, text + len + 1, MAX_WHAT)) {
		text[len] = '\n';
		len = strlen(text);
	}
	auxtap_perfdata_writer_metadata(file->writer, AUXTAP_METADATA_EXCEPTION, text, len);
	session_write_throw_call(s, file, tid, object);
}
