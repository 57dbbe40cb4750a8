/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Images: the bytes, symbols and lines of the mappings of a traced process, over time.
 *
 * Thread safety: an image set belongs to one thread at a time; struct auxtap_image pointers
 * stay valid until the set is freed.
 */
#ifndef AUXTAP_IMAGE_H
#define AUXTAP_IMAGE_H

#include <auxtap/error.h>
#include <stdbool.h>
#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

struct auxtap_image; /* one file (or raw memory dump); opaque */
struct auxtap_image_set;

enum auxtap_image_state {
	AUXTAP_IMAGE_FOUND,
	AUXTAP_IMAGE_MISSING,
	AUXTAP_IMAGE_DIFFERENT, /* a file was found that is not the recorded one; not used */
};

struct auxtap_image_info {
	size_t size;
	const char *name; /* as recorded */
	const char *path; /* where it was found; NULL */
	enum auxtap_image_state state;
	uint8_t build_id[20], build_id_size; /* as recorded, or else as found */
	uint8_t found_build_id[20], found_build_id_size;
	uint64_t nr_insns; /* executed in it, as decoded so far */
	uint64_t nr_gaps;  /* gaps because it is missing */
	bool denied;	   /* missing: the owner of the recording may not read the file */
	/* different: no build-id was recorded; another inode, or written later */
	bool changed;
};

struct auxtap_image_set_opts {
	size_t size;
	const char *sysroot;
	const char *vmlinux, *kcore;
	bool debuginfod; /* ask the servers in DEBUGINFOD_URLS for images and debug information */
};

AUXTAP_API int auxtap_image_set_new(struct auxtap_image_set **set,
				    const struct auxtap_image_set_opts *opts,
				    struct auxtap_error *err);
AUXTAP_API void auxtap_image_set_free(struct auxtap_image_set *set);
/*
 * Whether bytes, symbols or lines of an image were not read for lack of memory: the output so far
 * may lack them.
 */
AUXTAP_API bool auxtap_image_set_no_memory(const struct auxtap_image_set *set);

/*
 * Adds a mapping of pid from 'time' on (0: from the start): [addr, addr+len) maps name from pgoff
 * on.
 */
AUXTAP_API int auxtap_image_set_add_mapping(struct auxtap_image_set *set, pid_t pid, uint64_t time,
					    uint64_t addr, uint64_t len, uint64_t pgoff,
					    const char *name, const uint8_t *build_id,
					    unsigned int build_id_size);
/* Maps raw bytes of a file at addr in every process (--image). */
AUXTAP_API int auxtap_image_set_add_file(struct auxtap_image_set *set, const char *path,
					 uint64_t file_off, uint64_t len, uint64_t addr,
					 struct auxtap_error *err);
AUXTAP_API int auxtap_image_set_fork(struct auxtap_image_set *set, pid_t parent, pid_t child,
				     uint64_t time);
AUXTAP_API int auxtap_image_set_exec(struct auxtap_image_set *set, pid_t pid, uint64_t time);

/* Reads code bytes. Returns their count; 0: nothing is mapped; -ENOENT: the image is missing. */
AUXTAP_API ssize_t auxtap_image_set_read(struct auxtap_image_set *set, pid_t pid, uint64_t time,
					 uint64_t addr, void *buf, size_t size);

/*
 * The same for bytes that the process cannot have changed: of segments without permission to write,
 * those without code too, which are found by those with it. Returns their count, which may be 0.
 */
AUXTAP_API ssize_t auxtap_image_set_read_constant(struct auxtap_image_set *set, pid_t pid,
						  uint64_t time, uint64_t addr, void *buf,
						  size_t size);

/* Where code of an image was mapped. */
struct auxtap_mapping {
	size_t size; /* of this library's struct */
	uint64_t start, end;
	size_t image;  /* its index, as of auxtap_image_set_info() */
	bool has_bias; /* an ELF file that was found */
	uint64_t bias; /* an address minus this is its ELF address */
};
/*
 * Calls fn for each mapping of code that a process had at a time (UINT64_MAX: the last ones), by
 * address; a non-zero result of fn ends it and is returned. -ENOMEM.
 */
AUXTAP_API int auxtap_image_set_mappings(struct auxtap_image_set *set, pid_t pid, uint64_t time,
					 int (*fn)(void *ctx, const struct auxtap_mapping *mapping),
					 void *ctx);
/*
 * The whole file of an image, owned by the set. -ENOENT: it is missing or different; -EINVAL: index
 * is out of range.
 */
AUXTAP_API int auxtap_image_set_bytes(const struct auxtap_image_set *set, size_t index,
				      const void **data, size_t *size);

/* One inlining level or function of an address. Strings are owned by the set. */
struct auxtap_frame {
	const char *symbol; /* demangled; NULL: no symbol covers the address */
	uint64_t symbol_off;
	const char *file; /* source file; NULL */
	unsigned int line;
	bool inlined; /* this frame was inlined into the next one */
	/*
	 * Where 'line' is 0 because the compiler made the instruction for no line: that of the code
	 * before it in the same function; NULL, 0: not known.
	 */
	const char *near_file;
	unsigned int near_line;
};

/* The image of code that a process wrote at run time; offsets in it are addresses. */
#define AUXTAP_GENERATED_CODE "[generated code]"

struct auxtap_location {
	size_t size;
	const char *image;		/* name; NULL: unknown mapping */
	uint64_t image_off;		/* ELF address in the image, for "module+offset" */
	unsigned int nr_frames;		/* at least 1 when image is set; innermost first */
	struct auxtap_frame frames[64]; /* if there are more: the innermost 63 and the outermost */
};

AUXTAP_API int auxtap_image_set_resolve(struct auxtap_image_set *set, pid_t pid, uint64_t time,
					uint64_t addr, struct auxtap_location *loc);
/* The same without debug information: symbol and offset only, one frame; much faster. */
AUXTAP_API int auxtap_image_set_symbol(struct auxtap_image_set *set, pid_t pid, uint64_t time,
				       uint64_t addr, struct auxtap_location *loc);

/*
 * The result of auxtap_image_set_symbol() for an address, and the range for which it is the same:
 * addresses in [start, end), times from time_begin to time_last. Strings are owned by the set.
 */
struct auxtap_range {
	size_t size;
	uint64_t start, end;
	uint64_t time_begin, time_last;
	const char *image;    /* name; NULL: unknown mapping */
	const char *symbol;   /* demangled; NULL: no symbol covers the address */
	uint64_t image_base;  /* an address minus this is its image_off */
	uint64_t symbol_base; /* an address minus this is its symbol_off */
};

AUXTAP_API int auxtap_image_set_range(struct auxtap_image_set *set, pid_t pid, uint64_t time,
				      uint64_t addr, struct auxtap_range *range);

/* Instruction sets. */
enum auxtap_isa {
	AUXTAP_ISA_X86, /* 64-bit */
	AUXTAP_ISA_A64,
	AUXTAP_ISA_A32,
	AUXTAP_ISA_T32,
	AUXTAP_ISA_X86_32,
};

/* Disassembles bytes: x86 as auxtap_image_set_disassemble(), Arm in Arm's syntax. */
AUXTAP_API int auxtap_disassemble_as(struct auxtap_image_set *set, enum auxtap_isa isa,
				     uint64_t addr, const void *code, size_t code_size, char *buf,
				     size_t size);
/* The same for x86. */
AUXTAP_API int auxtap_disassemble(struct auxtap_image_set *set, uint64_t addr, const void *code,
				  size_t code_size, char *buf, size_t size);
/*
 * "mov (%rax),%eax"; AT&T syntax as objdump's default. Returns the length of the instruction or
 * -errno: -ENOSYS if capstone's library, which is loaded at the first call, cannot be loaded (it is
 * not installed, or memory is short); buf says so.
 */
AUXTAP_API int auxtap_image_set_disassemble(struct auxtap_image_set *set, pid_t pid, uint64_t time,
					    uint64_t addr, char *buf, size_t size);
AUXTAP_API size_t auxtap_image_set_count(const struct auxtap_image_set *set);
AUXTAP_API int auxtap_image_set_info(const struct auxtap_image_set *set, size_t index,
				     struct auxtap_image_info *info);

#ifdef __cplusplus
}
#endif
#endif
