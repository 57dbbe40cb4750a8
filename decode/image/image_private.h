/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Declarations that the files of the image store share: image_set.c implements the public API,
 * image_file.c reads one file, image_find.c searches for it, image_space.c knows which process had
 * it mapped when, image_range.c finds the addresses and times for which a result is the same,
 * image_eh.c reads .eh_frame (ranges of code, landing pads); also symbols.c, srcline.c, disasm.c.
 * pt_memory.c hands the mapped files to libipt.
 */
#ifndef AUXTAP_IMAGE_PRIVATE_H
#define AUXTAP_IMAGE_PRIVATE_H

#include "perfdata/file_identity.h"
#include "util/hash_map.h"

#include <errno.h>
#include <auxtap/image.h>
#include <pthread.h>

#define IMAGE_KERNEL_PID (-1)

struct image_load {
	uint64_t off, filesz, vaddr;
	bool exec, write;
};

struct image_symbol {
	uint64_t start, end; /* ELF addresses, [start, end) */
	const char *name;    /* as in the file; owned by names or by the mapped file */
	char *demangled;     /* NULL until asked for; may equal name */
	uint8_t rank;	     /* of several symbols at an address the highest is shown */
	bool is_exported;    /* others can import it: it is in .dynsym, and global or weak */
	uint32_t aliases;    /* 1 + index of its first name in image->aliases; 0: it has one */
};

/* One of several names of an address. */
struct image_alias {
	const char *name; /* as in the file */
	char *demangled;  /* as in struct image_symbol */
	bool is_last;	  /* of those of its address */
	/* in the first one: which was chosen for the program with this number; NULL: none */
	uint64_t program_id;
	struct image_alias *chosen;
};

/* The names of .dynsym that the file does not define; owned by the mapped file. */
struct image_imports {
	const char **names; /* sorted */
	size_t nr;
	struct image_class *classes; /* of which it imports something; sorted */
	size_t nr_classes;
	bool read;
	uint64_t program_id; /* the last program that has listed the file */
};

struct packed_image; /* packed.h */
struct image_source;
struct image_use;

struct code_line;  /* code_names.c */
struct image_line; /* srcline.c: an address with its frames */
struct image_lines;

/* An FDE of .eh_frame. Both are ELF addresses. */
struct image_eh_entry {
	uint64_t start; /* first address of the code that it describes */
	uint64_t entry; /* the FDE itself */
};

struct auxtap_image {
	const struct auxtap_image_set *set;
	char *name, *path;
	enum auxtap_image_state state;
	uint8_t build_id[20], build_id_size;
	uint8_t found_build_id[20], found_build_id_size; /* of the file at path */
	uint64_t nr_insns, nr_gaps;
	const uint8_t *data; /* the whole file */
	size_t size;
	bool mapped;			   /* data is a file mapping; else malloc'ed (metadata) */
	bool embedded;			   /* data comes from the recording itself */
	const struct packed_image *packed; /* data has holes; NULL: it is a whole file */
	struct image_use *use;		   /* which parts were used; NULL: not tracked, or none */
	bool is_elf, is_64, is_rel;
	bool is_fixed; /* ET_EXEC: runs at its own addresses only */
	bool is_core;  /* ET_CORE: a dump of memory */
	uint16_t machine;
	struct image_load *loads;
	unsigned int nr_loads;
	int64_t kernel_bias; /* kernel (KASLR): run-time address minus ELF address */
	bool symbols_read;
	struct image_symbol *symbols;
	size_t nr_symbols;
	struct image_alias *aliases;
	size_t nr_aliases, max_aliases;
	struct image_imports imports;
	char **owned_names; /* "foo@plt", and of variables */
	size_t nr_owned_names, max_owned_names;
	struct image_eh_entry *eh; /* by start; only for files without a table in .eh_frame_hdr */
	size_t nr_eh;
	bool eh_listed;
	struct image_lines *lines;
	bool lines_tried;
	struct code_line *code_lines; /* code_names.c: of generated code, by address */
	size_t nr_code_lines, max_code_lines;
	/* bytes, symbols or lines were not read: out of memory or of file descriptors */
	bool no_memory;
	bool denied;		   /* the recording's owner may not read the file */
	struct file_identity file; /* as recorded, if no build-id was recorded */
	/* state DIFFERENT: another device or inode, or written after the recording */
	bool changed;
};

struct image_map {
	uint64_t time, start, end, pgoff;
	struct auxtap_image *image; /* NULL: an exec, which removes all earlier mappings */
	/* kernel text: an address is the ELF address plus image->kernel_bias */
	bool is_kernel_image;
	/* its symbols have run-time addresses; the bytes at an address may change */
	bool is_generated_code;
};

/*
 * A snapshot of an address space: what was mapped at one time; disjoint, sorted by start.
 * Immutable; reference counted.
 */
struct image_view {
	unsigned int refs;
	size_t nr_changes; /* it results from the first nr_changes changes of the space */
	size_t nr;
	struct image_map maps[];
};

/* The files, with imports, of one program that a process executes, in the order of their maps. */
struct image_program {
	size_t nr_changes; /* those of the space at that time: later ones may add files */
	size_t first, end; /* the changes from its exec to the next one, [first, end) */
	uint64_t id;	   /* another one for each list */
	struct auxtap_image **images;
	size_t nr, max;
};

#define IMAGE_SPACE_VIEWS 8

/* The address space of a process (or of the kernel) over time. */
struct image_space {
	pid_t pid;
	struct image_map *changes; /* sorted by time */
	size_t nr_changes, max_changes;
	/* the records do not contain what was mapped before the first change */
	bool start_unknown;
	struct image_view *views[IMAGE_SPACE_VIEWS]; /* recently used; may be NULL */
	unsigned int next_view;
	struct image_code *code;      /* image_code.c; NULL */
	struct image_program program; /* the last one that was asked for (symbol_aliases.c) */
};

struct image_build_id_entry {
	char *name;
	uint8_t id[20], size;
};

struct auxtap_image_set {
	pthread_mutex_t lock; /* workers of a decoder and its user share the set */
	char *sysroot, *vmlinux, *kcore;
	bool debuginfod;
	bool from_recording;		 /* the names of images come from a recording */
	uid_t owner;			 /* of that recording; (uid_t)-1: it came through a pipe */
	struct timespec recording_mtime; /* 0: unknown */
	bool no_memory;			 /* as in struct auxtap_image */
	struct auxtap_image **images;
	size_t nr_images, max_images;
	struct hash_map image_index; /* by name */
	struct image_space **spaces; /* sorted by pid */
	size_t nr_spaces, max_spaces;
	/* auxtap_image_set_add_file() (--image): used before all others, in every process; the last
	 * one wins */
	struct image_map *override_maps;
	size_t nr_override, max_override;
	/* kcore, memory dumps: used for addresses of which no other map has the bytes */
	struct image_map *fallback_maps;
	size_t nr_fallback, max_fallback;
	struct image_build_id_entry *ids; /* build-id table of the recording */
	size_t nr_ids, max_ids;
	struct packed_image **packed; /* embedded in a packed recording */
	size_t nr_packed, max_packed;
	bool tracks_use; /* remember which parts of images are used (image_use.c) */
	struct image_source *sources;
	size_t nr_sources, max_sources;
	uint64_t nr_programs;			/* that were listed: struct image_program */
	size_t capstone[AUXTAP_ISA_X86_32 + 1]; /* csh, by enum auxtap_isa; 0: not opened */
};

/*
 * libelf and libdw return less data when they run out of memory or of file descriptors; only errno
 * shows it (ENOMEM, EMFILE, ENFILE). So errno is cleared before such calls and tested after them;
 * then the caller's errno is restored.
 */
static inline void image_memory_begin(int *saved)
{
	*saved = errno;
	errno = 0;
}

static inline void image_memory_end(struct auxtap_image *image, int saved)
{
	if (errno == ENOMEM || errno == EMFILE || errno == ENFILE)
		image->no_memory = true;
	errno = saved;
}

/* image_file.c: 0 or -errno; on success data, size and the ELF facts are set. */
int image_file_map(struct auxtap_image *image, const char *path);
/* As image_file_map(), of an open file; closes fd. */
int image_file_map_fd(struct auxtap_image *image, int fd);
int image_file_adopt(struct auxtap_image *image, uint8_t *data, size_t size);
void image_file_close(struct auxtap_image *image);
/* Reads the build-id of an ELF file in memory. Returns its size; 0: the file has none. */
unsigned int image_elf_build_id(const uint8_t *data, size_t size, uint8_t id[20]);
/* ELF address of the first instruction; 0: not an ELF file. */
uint64_t image_elf_entry(const uint8_t *data, size_t size);
/* File offset to ELF address and back. -ENOENT: in no segment. */
int image_off_to_vaddr(const struct auxtap_image *image, uint64_t off, uint64_t *vaddr);
int image_vaddr_to_off(const struct auxtap_image *image, uint64_t vaddr, uint64_t *off,
		       uint64_t *left);

/* image_find.c: looks for the file named image->name; sets path, state and data. */
void image_find_file(const struct auxtap_image_set *set, struct auxtap_image *image);
const char *image_home(void);
/* Length of the name without the kernel symbol that perf appends after ']'. */
size_t image_base_len(const char *name);

/* disasm.c */
void image_disassembler_free(struct auxtap_image_set *set);

/* image_space.c */
struct image_space *image_space_get(struct auxtap_image_set *set, pid_t pid, bool create);
int image_space_add(struct image_space *space, const struct image_map *map);
/* How many changes had happened by then: equal results mean equal mappings. */
size_t image_space_changes_until(const struct image_space *space, uint64_t time);
/* The view after nr_changes changes; NULL: out of memory. Release it with image_view_put(). */
struct image_view *image_space_view(struct image_space *space, size_t nr_changes);
void image_view_put(struct image_view *view);
const struct image_map *image_view_find(const struct image_view *view, uint64_t addr);
void image_space_free(struct image_space *space);

/* image_code.c, with set->lock held */
struct image_code;
/*
 * The map of generated code that covers addr at that time, if the recorded 'map' is anonymous
 * memory; else map.
 */
const struct image_map *image_code_find(const struct image_space *space, uint64_t time,
					uint64_t addr, const struct image_map *map);
bool image_map_is_anonymous(const struct image_map *map);
/* NULL: the space has no generated code. */
const struct image_code *image_code_of(const struct image_space *space);
/*
 * Between two times with equal results, also of image_space_changes_until(), the code is the same.
 */
size_t image_code_changes_until(const struct image_space *space, uint64_t time);
/* Addresses [start, end) and times for which image_code_find() has the same result. */
struct image_code_range {
	uint64_t start, end, time_begin, time_last;
};
void image_code_range(const struct image_space *space, uint64_t time, uint64_t addr,
		      struct image_code_range *range);
/* Calls fn for each run of pages with code in an anonymous map; path and off: a file with them. */
void image_code_each_part(const struct image_code *code, const struct image_map *map,
			  void (*fn)(void *ctx, const char *path, uint64_t off, uint64_t size,
				     uint64_t addr),
			  void *ctx);
void image_code_free(struct image_code *code);
/*
 * The next two need no lock. The time since which the bytes are unchanged; 0: no page of them has
 * code; IMAGE_CODE_UNKNOWN: code is known for a part of them only.
 */
#define IMAGE_CODE_UNKNOWN UINT64_MAX
uint64_t image_code_since(const struct image_code *code, uint64_t addr, uint64_t size);
/* Reads the bytes, whatever their time. Returns how many are known. */
size_t image_code_read(const struct image_code *code, uint64_t addr, uint8_t *buf, size_t size);

/* image_set.c, all with set->lock held */
struct auxtap_image *image_add(struct auxtap_image_set *set, const char *name, const uint8_t *id,
			       unsigned int id_size);
/* The image takes over bytes that were embedded in the recording. */
void image_adopt_embedded(struct auxtap_image *image, uint8_t *bytes, size_t size);
const struct image_map *image_find_map(struct auxtap_image_set *set, pid_t pid, uint64_t time,
				       uint64_t addr);
struct auxtap_image *image_get(struct auxtap_image_set *set, const char *name, const uint8_t *id,
			       unsigned int id_size, const struct file_identity *file);
/* The file's bytes from addr on, *left of them; NULL: it has none. */
const uint8_t *image_map_bytes(const struct image_map *map, uint64_t addr, size_t *left);
/* ELF address (or file offset without ELF) of addr. */
uint64_t image_map_vaddr(const struct image_map *map, uint64_t addr);

/* image_constant.c: as auxtap_image_set_read_constant() */
ssize_t image_constant_read(struct auxtap_image_set *set, pid_t pid, uint64_t time, uint64_t addr,
			    void *buf, size_t size);

/* ---- for the rest of the library; these functions take the lock ---- */

/* As auxtap_image_set_add_mapping(); file: its device and inode. */
int image_set_add_map(struct auxtap_image_set *set, pid_t pid, uint64_t time, uint64_t addr,
		      uint64_t len, uint64_t pgoff, const char *name, const uint8_t *build_id,
		      unsigned int build_id_size, const struct file_identity *file);
/* An entry of the recording's build-id table. 0 or negative errno. */
int image_set_add_build_id(struct auxtap_image_set *set, const char *name, const uint8_t *id,
			   unsigned int size);
/* Adds a copy of a file's content that the recording embeds (vdso). */
int image_set_add_embedded(struct auxtap_image_set *set, const char *name, const void *data,
			   size_t size);
/* Adds an AUXTAP_METADATA_CODE; damaged data is ignored. 0 or -ENOMEM. */
int image_set_add_code(struct auxtap_image_set *set, const void *data, size_t size);
/*
 * Adds an AUXTAP_METADATA_CODE_NAMES or AUXTAP_METADATA_CODE_DUMP; call it after the code was
 * added.
 */
int image_set_add_code_names(struct auxtap_image_set *set, uint32_t type, const void *data,
			     size_t size);
/*
 * code_names.c: reads the image's symbols from the text of a /tmp/perf-PID.map, then from a
 * jitdump, which the image takes over. Both may be NULL. 0, or -1: out of memory.
 */
int code_names_read(struct auxtap_image *image, const char *text, uint8_t *dump, size_t dump_size);
/* Stores the source line at the address in *frame. False: unknown. */
bool code_names_line(const struct auxtap_image *image, uint64_t addr, struct auxtap_frame *frame);
/* image_between.c: the time is not known exactly, only that it is in (since, until]. */
struct image_between {
	pid_t pid;
	uint64_t since, until;
	/* no mapping is missing in the records: an exec without earlier ones is the first program's
	 */
	bool from_start;
};

/*
 * How many of the size bytes at addr were the same code from b->since to b->until, or unmapped
 * until that code was mapped.
 */
uint32_t image_set_bytes_unchanged(struct auxtap_image_set *set, const struct image_between *b,
				   uint64_t addr, uint32_t size);
/* Whether any mapping of the process may have changed in that time. */
bool image_set_may_have_changed(struct auxtap_image_set *set, const struct image_between *b);
/*
 * Whether the process has had other code at addr than at that time, since its last exec before it.
 */
bool image_set_had_other_code(struct auxtap_image_set *set, pid_t pid, uint64_t time,
			      uint64_t addr);
/* Returns how many execs there were in that time; times gets those of the first 'max'. */
size_t image_set_exec_times(struct auxtap_image_set *set, const struct image_between *b,
			    uint64_t *times, size_t max);
/*
 * Whether addr is the ELF entry point of a file that was mapped after an exec in that time and
 * before the next one.
 */
bool image_set_is_entry(struct auxtap_image_set *set, const struct image_between *b, uint64_t addr);
/* The recorder did not keep what the process had mapped before the first change. */
void image_set_mark_start_unknown(struct auxtap_image_set *set, pid_t pid);
/* Notes that something was not read: out of memory or of file descriptors. */
void image_set_note_oom(struct auxtap_image_set *set);
struct auxtap_perfdata;
/* The recording whose records name the images: their files are read with its owner's rights. */
void image_set_set_recording(struct auxtap_image_set *set, const struct auxtap_perfdata *pd);
/*
 * Adds a kcore as fallback map, unless the caller named one. No error if the file does not exist.
 */
int image_set_add_kcore(struct auxtap_image_set *set, const char *path, struct auxtap_error *err);
/*
 * Adds a memory dump as fallback map: up to len bytes of the file, from off on, were at addr.
 * *bytes, *size: the part that the file has; without such a file *bytes is NULL and *size is len.
 * 0 or -ENOMEM.
 */
int image_set_add_memory_dump(struct auxtap_image_set *set, const char *path, uint64_t off,
			      uint64_t len, uint64_t addr, const uint8_t **bytes, uint64_t *size);
/* Whether an image from --image covers addr. */
bool image_set_has_override(struct auxtap_image_set *set, uint64_t addr);
/* Adds vmlinux, at the addresses that it was linked to, if no record names the kernel. */
int image_set_add_vmlinux_unrelocated(struct auxtap_image_set *set);
/* A kernel mapping of an MMAP record: kernel text or a module. 0 or -ENOMEM. */
int image_set_add_kernel_map(struct auxtap_image_set *set, uint64_t time, uint64_t addr,
			     uint64_t len, uint64_t pgoff, const char *name, const uint8_t *id,
			     unsigned int id_size);

/* symbols.c: name, malloc'ed, lives as long as the image. -ENOMEM: it is still the caller's. */
int image_own_name(struct auxtap_image *image, char *name);
/* The symbol that covers an ELF address, or NULL. */
const struct image_symbol *image_symbol_find(struct auxtap_image *image, uint64_t vaddr);
/* The same; [*start, *end): the addresses around vaddr that have the same result. */
const struct image_symbol *image_symbol_range(struct auxtap_image *image, uint64_t vaddr,
					      uint64_t *start, uint64_t *end);
const char *image_symbol_name(struct auxtap_image *image, const struct image_symbol *sym);
void image_symbols_free(struct auxtap_image *image);
/*
 * symbol_aliases.c: keeps the names of the nr symbols of one address that others can import, unless
 * the first symbol's name is the only one; *index: for struct image_symbol. 0 or -1: out of memory.
 */
int image_aliases_add(struct auxtap_image *image, const struct image_symbol *same, size_t nr,
		      uint32_t *index);
/*
 * The name of a symbol of that map's image in a process: of several the one that the files which
 * the process executes then import. Call with set->lock held.
 */
const char *image_symbol_name_in(struct auxtap_image_set *set, pid_t pid, uint64_t time,
				 const struct image_map *map, const struct image_symbol *sym);
void image_aliases_free(struct auxtap_image *image);
/* Returns malloc'ed text; NULL: name is not mangled. */
char *image_demangle(const char *name);

/* A range of code that one FDE of .eh_frame describes: a function, or a part of one. */
struct image_range {
	uint64_t start, end; /* [start, end) */
	uint64_t lsda;	     /* ELF address of its LSDA (exception handling); 0: none */
	/* the frame is set up already at its first instruction: not the start of a function */
	bool is_part;
};

/* image_eh.c: ELF addresses; false: no FDE covers vaddr. */
bool image_eh_find(struct auxtap_image *image, uint64_t vaddr, struct image_range *range);
/*
 * The landing pad for exceptions that the call at that address throws; 0: there is none (the
 * exception leaves the function), or unknown.
 */
uint64_t image_eh_landing_pad(struct auxtap_image *image, uint64_t call);
/* The same for run-time addresses. */
bool image_set_find_range(struct auxtap_image_set *set, pid_t pid, uint64_t time, uint64_t addr,
			  struct image_range *range);
uint64_t image_set_landing_pad(struct auxtap_image_set *set, pid_t pid, uint64_t time,
			       uint64_t call);
/* image_rules.c: what the unwind information says of the stack at an address. */
enum image_stack {
	IMAGE_STACK_UNKNOWN,
	/* as at a function's entry: only the return address, if that, has been pushed */
	IMAGE_STACK_AS_AT_ENTRY,
	IMAGE_STACK_HAS_FRAME,
	IMAGE_STACK_BY_POINTER, /* has a frame that is found by a frame pointer */
};
/* *depth, if it is not NULL: bytes from the stack pointer to the canonical frame address; or 0. */
enum image_stack image_set_stack_at(struct auxtap_image_set *set, pid_t pid, uint64_t time,
				    uint64_t addr, uint64_t *depth);
/*
 * image_resolve.c: the image of the ELF file with code at addr; NULL: none. *bias: run-time address
 * minus ELF address. The caller holds the lock.
 */
struct auxtap_image *image_set_elf_at(struct auxtap_image_set *set, pid_t pid, uint64_t time,
				      uint64_t addr, uint64_t *bias);
/*
 * image_variable.c: the name of the variable at addr, of the image with code at ip. *off: of addr
 * in it; *size: of the variable, in bytes. NULL: unknown. The name lives as long as the image.
 */
const char *image_set_variable(struct auxtap_image_set *set, pid_t pid, uint64_t time, uint64_t ip,
			       uint64_t addr, uint64_t *off, uint64_t *size);

/*
 * image_resolve.c: where the code of the row of the line table begins that contains addr; 0: there
 * is none.
 */
uint64_t image_set_line_begin(struct auxtap_image_set *set, pid_t pid, uint64_t time,
			      uint64_t addr);

/* srcline.c: the same in an image. */
uint64_t image_line_begin(struct auxtap_image *image, uint64_t vaddr);
/*
 * The line of the function that begins at addr, of which loc was resolved: that of an inlined call
 * may be further below.
 */
void image_set_entry_line(struct auxtap_image_set *set, pid_t pid, uint64_t time, uint64_t addr,
			  struct auxtap_location *loc);
/* srcline.c: the same in an image whose lines were read. */
void image_entry_line(struct auxtap_image *image, uint64_t vaddr, struct auxtap_frame *frame);
/* srcline.c: fills frames[] (file, line, inlined names). Returns their number; 0: no debug info. */
unsigned int image_lines_find(struct auxtap_image *image, uint64_t vaddr,
			      struct auxtap_frame *frames, unsigned int max_frames);
/*
 * Calls fn for each function of the separate debug file; names live as long as the image. Stops
 * when fn returns non-zero.
 */
int image_debug_symbols(struct auxtap_image *image,
			int (*fn)(void *ctx, const char *name, uint64_t start, uint64_t size),
			void *ctx);
/* The path of the separate debug file that source lines were read from, malloc'ed; NULL: none. */
char *image_debug_path(struct auxtap_image *image);
void image_lines_free(struct auxtap_image *image);

#endif
