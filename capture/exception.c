// SPDX-License-Identifier: BSD-2-Clause
/*
 * Finds the C++ exception that a thread handles as its process dies: if an exception has no
 * handler, std::terminate() makes it the current one. Only GCC's C++ library is supported: the list
 * of caught exceptions is thread-local, and its address follows from the code of
 * __cxa_get_globals(); the layouts are those of the Itanium C++ ABI. The text of what() is read
 * from memory only if the object's what() is that of std::runtime_error or std::logic_error, which
 * store the text. All data is the program's and untrusted; nothing is recorded that is not certain.
 */
#include "dead_symbols.h"

#include <string.h>

#define GCC_CLASS      0x474e5543432b2b00ull /* "GNUCC++" and 0 */
#define GCC_DEPENDENT  0x474e5543432b2b01ull /* thrown by std::rethrow_exception() */
#define MAX_CODE       64
#define MAX_BASES      16
#define MAX_TYPE       1024u
#define MAX_WHAT       4096u
#define SLOT_WHAT      2  /* index in the vtable of std::exception: after two destructors */
#define VTABLE_ADDRESS 16 /* objects point this far after the start of the vtable */

struct cxa_exception {
	uint64_t type; /* in a dependent exception: the primary one's object */
	uint64_t destructor, unexpected, terminate, next;
	int32_t handlers, switch_value;
	uint64_t action, language_data, catch_temp, adjusted;
	uint64_t class, cleanup, private[2]; /* struct _Unwind_Exception; the object follows */
};

struct type_info {
	uint64_t vptr, name;
};

/* Where the symbols are that identify type_info objects and what(). */
struct cxx_library {
	struct dead_process process;
	const struct map_entry *program, *library; /* NULL: the library is part of the program */
};

/* Looks up a symbol as the dynamic linker does: first in the program. */
static uint64_t cxx_symbol(const struct cxx_library *cxx, const char *name)
{
	const struct dead_process *d = &cxx->process;
	uint64_t at = cxx->program ? dead_dynamic_symbol(d, cxx->program, name) : 0;

	if (!at && cxx->library)
		at = dead_dynamic_symbol(d, cxx->library, name);
	else if (!at && cxx->program)
		at = dead_file_symbol(cxx->program, name);
	return at;
}

static bool read_word(const struct dead_process *d, uint64_t addr, uint64_t *word)
{
	return dead_read(d, addr, word, sizeof(*word));
}

/* Reads a NUL-terminated string; false if it does not fit. */
static bool read_text(const struct dead_process *d, uint64_t addr, char *text, size_t size)
{
	for (size_t at = 0, nr; at < size; at += nr) {
		nr = 64 - (addr + at) % 64; /* a read never crosses a page boundary */
		if (nr > size - at)
			nr = size - at;
		if (!dead_read(d, addr + at, text + at, nr))
			return false;
		if (memchr(text + at, 0, nr))
			return true;
	}
	return false;
}

/* The result of glibc's __tls_get_addr(), if the thread has allocated the TLS block. */
static bool tls_address(const struct dead_process *d, uint64_t fs, uint64_t index, uint64_t *addr)
{
	uint64_t want[2], table, nr, block; /* module and offset */

	if (!dead_read(d, index, want, sizeof(want)) || !read_word(d, fs + 8, &table) ||
	    !read_word(d, table - 16, &nr) || !want[0] || want[0] > nr ||
	    !read_word(d, table + 16 * want[0], &block) || block + 1 <= 1)
		return false;
	*addr = block + want[1];
	return true;
}

/* The state that the instructions computing the address of a thread-local variable use. */
struct tls_code {
	const struct dead_process *process;
	uint64_t fs, rax, rdi;
	bool has_rax, has_rdi;
};

static int32_t immediate(const unsigned char *code)
{
	int32_t value;

	memcpy(&value, code, sizeof(value));
	return value;
}

/* Executes the instruction at ip. Returns its size; 0: an unsupported instruction. */
static size_t tls_execute(struct tls_code *t, const unsigned char *code, uint64_t ip)
{
	static const unsigned char load_fs[] = {0x64, 0x48, 0x8b, 0x04, 0x25, 0, 0, 0, 0};
	static const unsigned char endbr[] = {0xf3, 0x0f, 0x1e, 0xfa};
	size_t at = 0;

	if (!memcmp(code, endbr, sizeof(endbr)))
		return sizeof(endbr);
	if (code[0] == 0x48 && code[1] == 0x83 && (code[2] == 0xec || code[2] == 0xc4))
		return 4; /* sub, add: rsp */
	while (at < 3 && code[at] == 0x66)
		at++; /* padding for the linker's TLS relaxation */
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
		t->has_rax = tls_address(t->process, t->fs, t->rdi, &t->rax);
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

/* The result of __cxa_get_globals() in the thread. */
static bool cxa_globals(const struct cxx_library *cxx, uint64_t fs, uint64_t *globals)
{
	unsigned char code[MAX_CODE + 16] = {0};
	struct tls_code t = {.process = &cxx->process, .fs = fs};
	uint64_t start = cxx_symbol(cxx, "__cxa_get_globals");

	if (!start || !dead_read(&cxx->process, start, code, MAX_CODE))
		return false;
	for (size_t at = 0, nr; at < MAX_CODE; at += nr) {
		if (code[at] == 0xc3) { /* ret */
			*globals = t.rax;
			return t.has_rax;
		}
		nr = tls_execute(&t, code + at, start + at);
		if (!nr)
			break;
	}
	return false;
}

/* The current exception's object and type; false: no exception, or not one of GCC's. */
static bool current_exception(const struct cxx_library *cxx, uint64_t fs, uint64_t *object,
			      uint64_t *type)
{
	const struct dead_process *d = &cxx->process;
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

static bool type_name(const struct dead_process *d, uint64_t type, char *name, size_t size)
{
	struct type_info info;

	if (!dead_read(d, type, &info, sizeof(info)) || !read_text(d, info.name, name, size))
		return false;
	/* a star marks a name that is not unique; it is not part of the name */
	if (name[0] == '*')
		memmove(name, name + 1, strlen(name));
	for (const char *c = name; *c; c++)
		if (*c <= ' ' || *c > '~')
			return false;
	return name[0];
}

/* Replaces the type by its first base class, if that is not virtual and has offset 0. */
static bool first_base(const struct cxx_library *cxx, uint64_t *type)
{
	uint64_t single = cxx_symbol(cxx, "_ZTVN10__cxxabiv120__si_class_type_infoE");
	uint64_t several = cxx_symbol(cxx, "_ZTVN10__cxxabiv121__vmi_class_type_infoE");
	/* vtable, name; single base: its type; several: flags and count, then type and offset */
	uint64_t words[5];

	if (!dead_read(&cxx->process, *type, words, 3 * sizeof(*words)))
		return false;
	if (single && words[0] == single + VTABLE_ADDRESS) {
		*type = words[2];
		return true;
	}
	/* offset_flags: bit 0 marks a virtual base, the offset starts at bit 8 */
	if (!several || words[0] != several + VTABLE_ADDRESS ||
	    !dead_read(&cxx->process, *type, words, sizeof(words)) || words[4] >> 8 || words[4] & 1)
		return false;
	*type = words[3];
	return true;
}

/* The text that the object's what() returns; false: unknown. */
static bool what_text(const struct cxx_library *cxx, uint64_t object, uint64_t type, char *text,
		      size_t size)
{
	static const struct {
		const char *type, *what;
	} texts[] = {
		{"St13runtime_error", "_ZNKSt13runtime_error4whatEv"},
		{"St11logic_error", "_ZNKSt11logic_error4whatEv"},
	};
	const struct dead_process *d = &cxx->process;
	uint64_t words[2], what; /* words of the object: vtable, text */
	char name[32];

	for (int depth = 0; depth < MAX_BASES; depth++) {
		for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
			if (!type_name(d, type, name, sizeof(name)) ||
			    strcmp(name, texts[i].type) != 0)
				continue;
			return dead_read(d, object, words, sizeof(words)) &&
			       read_word(d, words[0] + 8 * SLOT_WHAT, &what) && what &&
			       what == cxx_symbol(cxx, texts[i].what) &&
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
	struct cxx_library cxx = {.process = {.s = s, .pid = pid, .maps = maps}};
	char text[MAX_TYPE + 1 + MAX_WHAT];
	struct auxtap_regs regs;
	uint64_t object, type;
	size_t len;

	if (s->be->target->regs(s->be->target_ctx, tid, &regs) || regs.arch != AUXTAP_ARCH_X86_64 ||
	    !(regs.valid & (1ull << AUXTAP_X86_FS)))
		return;
	cxx.program = dead_program(&cxx.process);
	cxx.library = dead_library(&cxx.process, "libstdc++.so.6");
	if (!current_exception(&cxx, regs.reg[AUXTAP_X86_FS], &object, &type) ||
	    !type_name(&cxx.process, type, text, MAX_TYPE))
		return;
	len = strlen(text);
	if (what_text(&cxx, object, type, text + len + 1, MAX_WHAT)) {
		text[len] = '\n';
		len = strlen(text);
	}
	auxtap_perfdata_writer_metadata(file->writer, AUXTAP_METADATA_EXCEPTION, text, len);
	session_write_throw_call(s, file, tid, object);
}
