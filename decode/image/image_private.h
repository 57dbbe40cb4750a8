/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the files of the image store share: image_file.c (one file), image_find.c (where it
 * is), image_space.c (who had it mapped when), image_range.c (how far an answer holds), symbols.c,
 * image_eh.c (ranges of code and landing pads),
 * srcline.c, disasm.c and image_set.c, the public face. pt_memory.c hands the mapped files to
 * libipt.
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
	uint8_t rank;	     /* between symbols of one address the higher is shown */
};

struct packed_image; /* packed.h */
struct image_source;
struct image_use;

struct code_line;  /* code_names.c */
struct image_line; /* srcline.c: an address with its frames */
struct image_lines;

/* An entry (FDE) of .eh_frame. ELF addresses. */
struct image_eh_entry {
	uint64_t start; /* of the code that it describes */
	uint64_t entry;
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
	bool saved;			   /* came with the trace */
	const struct packed_image *packed; /* data has holes; NULL: it is a whole file */
	struct image_use *use;		   /* NULL: not noted, or not used */
	bool is_elf, is_64, is_rel;
	bool is_fixed; /* ET_EXEC: runs at its own addresses only */
	bool is_core;  /* ET_CORE: memory as it was */
	uint16_t machine;
	struct image_load *loads;
	unsigned int nr_loads;
	int64_t slide; /* kernel: run-time address minus ELF address */
	bool symbols_read;
	struct image_symbol *symbols;
	size_t nr_symbols;
	char **owned_names; /* "foo@plt" */
	size_t nr_owned_names, max_owned_names;
	struct image_eh_entry *eh; /* by start; of files without a search table */
	size_t nr_eh;
	bool eh_listed;
	struct image_lines *lines;
	bool lines_tried;
	struct code_line *code_lines; /* code_names.c: of generated code, by address */
	size_t nr_code_lines, max_code_lines;
	/* its bytes, symbols or lines were not read for that reason, or no descriptors */
	bool no_memory;
	bool denied;		   /* to the owner of the recording */
	struct file_identity file; /* as recorded, where no build-id was */
	/* DIFFERENT: the file there is another one, or was written later */
	bool changed;
};

struct image_map {
	uint64_t time, start, end, pgoff;
	struct auxtap_image *image; /* NULL: an exec, everything before is gone */
	/* the kernel: addresses are those of the ELF file, moved by its slide */
	bool by_vaddr;
	bool at_address; /* generated code: its symbols are those of addresses; may change */
};

/* What was mapped at one time: disjoint, sorted by start. Immutable; reference counted. */
struct image_view {
	unsigned int refs;
	size_t nr_changes; /* of the space, that went into it */
	size_t nr;
	struct image_map maps[];
};

#define IMAGE_SPACE_VIEWS 8

struct image_space {
	pid_t pid;
	struct image_map *changes; /* by time */
	size_t nr_changes, max_changes;
	/* what was mapped before the first change is not in the records */
	bool cut;
	struct image_view *views[IMAGE_SPACE_VIEWS]; /* recently used; NULL */
	unsigned int next_view;
	struct image_code *code; /* image_code.c; NULL */
};

struct image_known_id {
	char *name;
	uint8_t id[20], size;
};

struct auxtap_image_set {
	pthread_mutex_t lock; /* workers of a decoder and its user share the set */
	char *sysroot, *vmlinux, *kcore;
	bool debuginfod;
	bool of_file;		  /* the names of images come from a recording */
	uid_t owner;		  /* of that file; (uid_t)-1: it came through a pipe */
	struct timespec recorded; /* that file was last written; 0: unknown */
	bool no_memory;		  /* as of an image */
	struct auxtap_image **images;
	size_t nr_images, max_images;
	struct hash_map image_numbers; /* by name */
	struct image_space **spaces;   /* sorted by pid */
	size_t nr_spaces, max_spaces;
	struct image_map *raw; /* given by hand, for every process; the last holds */
	size_t nr_raw, max_raw;
	struct image_map *spare; /* kcore: where nothing else has bytes */
	size_t nr_spare, max_spare;
	struct image_known_id *ids; /* build-id table of the file */
	size_t nr_ids, max_ids;
	struct packed_image **packed; /* came with the trace */
	size_t nr_packed, max_packed;
	bool notes_use; /* which parts of images are looked up */
	struct image_source *sources;
	size_t nr_sources, max_sources;
	size_t capstone[4]; /* csh, by enum auxtap_isa; 0: not opened */
};

/*
 * libelf and libdw go on with less where memory is short, and only errno shows it: 0 before,
 * ENOMEM after (or EMFILE, ENFILE). The caller's errno is put back.
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
/* The same; closes fd. */
int image_file_map_fd(struct auxtap_image *image, int fd);
int image_file_adopt(struct auxtap_image *image, uint8_t *data, size_t size);
void image_file_close(struct auxtap_image *image);
/* Build-id of an ELF in memory: its size, 0 without. */
unsigned int image_elf_build_id(const uint8_t *data, size_t size, uint8_t id[20]);
/* ELF address of the first instruction; 0: not an ELF file. */
uint64_t image_elf_entry(const uint8_t *data, size_t size);
/* File offset to ELF address and back. -ENOENT: in no segment. */
int image_off_to_vaddr(const struct auxtap_image *image, uint64_t off, uint64_t *vaddr);
int image_vaddr_to_off(const struct auxtap_image *image, uint64_t vaddr, uint64_t *off,
		       uint64_t *left);

/* image_find.c: look for image->name; sets path, state and data. */
void image_find(const struct auxtap_image_set *set, struct auxtap_image *image);
const char *image_home(void);
size_t image_plain_name(const char *name);

/* disasm.c */
void image_disassembler_free(struct auxtap_image_set *set);

/* image_space.c */
struct image_space *image_space_get(struct auxtap_image_set *set, pid_t pid, bool create);
int image_space_add(struct image_space *space, const struct image_map *map);
size_t image_space_epoch(const struct image_space *space, uint64_t time);
struct image_view *image_space_view(struct image_space *space, size_t nr_changes);
void image_view_put(struct image_view *view);
const struct image_map *image_view_find(const struct image_view *view, uint64_t addr);
void image_space_free(struct image_space *space);

/* image_code.c, with set->lock held */
struct image_code;
/* What addr is in at that time where the records say map: code that was generated, or map. */
const struct image_map *image_code_find(const struct image_space *space, uint64_t time,
					uint64_t addr, const struct image_map *map);
bool image_map_is_anonymous(const struct image_map *map);
/* NULL: the space has none. */
const struct image_code *image_code_of(const struct image_space *space);
/* As long as it and image_space_epoch() stay the same, so does the code. */
size_t image_code_epoch(const struct image_space *space, uint64_t time);
/* Addresses [start, end) and times for which image_code_find() finds the same. */
struct image_code_range {
	uint64_t start, end, time_begin, time_last;
};
void image_code_range(const struct image_space *space, uint64_t time, uint64_t addr,
		      struct image_code_range *range);
/* Pages with code in the map, if it is anonymous, as parts of a file. */
void image_code_each_part(const struct image_code *code, const struct image_map *map,
			  void (*fn)(void *ctx, const char *path, uint64_t off, uint64_t size,
				     uint64_t addr),
			  void *ctx);
void image_code_free(struct image_code *code);
/*
 * The next two also without the lock. Since when the bytes have been as they are; 0 where no page
 * has code.
 */
#define IMAGE_CODE_UNKNOWN UINT64_MAX
uint64_t image_code_since(const struct image_code *code, uint64_t addr, uint64_t size);
/* The bytes, whatever their time; how many are known. */
size_t image_code_read(const struct image_code *code, uint64_t addr, uint8_t *buf, size_t size);

/* image_set.c, all with set->lock held */
struct auxtap_image *image_add(struct auxtap_image_set *set, const char *name, const uint8_t *id,
			       unsigned int id_size);
/* Bytes that came with the recording become the image's. */
void image_take_saved(struct auxtap_image *image, uint8_t *bytes, size_t size);
const struct image_map *image_lookup(struct auxtap_image_set *set, pid_t pid, uint64_t time,
				     uint64_t addr);
struct auxtap_image *image_get(struct auxtap_image_set *set, const char *name, const uint8_t *id,
			       unsigned int id_size, const struct file_identity *file);
/* Bytes of the file from addr on; NULL without any. *left: how many. */
const uint8_t *image_map_bytes(const struct image_map *map, uint64_t addr, size_t *left);
/* ELF address (or file offset without ELF) of addr. */
uint64_t image_map_vaddr(const struct image_map *map, uint64_t addr);

/* image_constant.c: as auxtap_image_set_read_constant() */
ssize_t image_constant_read(struct auxtap_image_set *set, pid_t pid, uint64_t time, uint64_t addr,
			    void *buf, size_t size);

/* The same for the rest of the library; they take the lock. */
/* As auxtap_image_set_map(); file: its device and inode. */
int auxtap_image_set_map_file(struct auxtap_image_set *set, pid_t pid, uint64_t time, uint64_t addr,
			      uint64_t len, uint64_t pgoff, const char *name,
			      const uint8_t *build_id, unsigned int build_id_size,
			      const struct file_identity *file);
int auxtap_image_set_known_id(struct auxtap_image_set *set, const char *name, const uint8_t *id,
			      unsigned int size);
/* A file's content saved with the trace (vdso); copies. */
int auxtap_image_set_embedded(struct auxtap_image_set *set, const char *name, const void *data,
			      size_t size);
/* An AUXTAP_METADATA_CODE; what is damaged is ignored. 0 or -ENOMEM. */
int auxtap_image_set_code(struct auxtap_image_set *set, const void *data, size_t size);
/* An AUXTAP_METADATA_CODE_NAMES or AUXTAP_METADATA_CODE_DUMP, after the code. */
int auxtap_image_set_code_names(struct auxtap_image_set *set, uint32_t type, const void *data,
				size_t size);
/*
 * code_names.c: the image's symbols from the text of a /tmp/perf-PID.map, then from the records of
 * a jitdump, which the image takes. Both may be NULL. 0, or -1: no memory
 */
int code_names_read(struct auxtap_image *image, const char *text, uint8_t *dump, size_t dump_size);
/* The source line at the address, into the frame. False: unknown. */
bool code_names_line(const struct auxtap_image *image, uint64_t addr, struct auxtap_frame *frame);
/* image_between.c: a process's code, at a time that lies after 'since' and not after 'until'. */
struct image_between {
	pid_t pid;
	uint64_t since, until;
	bool from_start; /* the records contain all that the process had mapped from 'since' on */
};

/*
 * So many of size bytes at addr are the same code at all of that time, or were not mapped before.
 */
uint32_t auxtap_image_set_certain(struct auxtap_image_set *set, const struct image_between *b,
				  uint64_t addr, uint32_t size);
/* May any code be in doubt? */
bool auxtap_image_set_changed(struct auxtap_image_set *set, const struct image_between *b);
/* How many execs there are, and the times of the first ones. */
size_t auxtap_image_set_execs(struct auxtap_image_set *set, const struct image_between *b,
			      uint64_t *times, size_t max);
/*
 * Is addr the first instruction of a file that was mapped after an exec at that time, before the
 * next?
 */
bool auxtap_image_set_is_entry(struct auxtap_image_set *set, const struct image_between *b,
			       uint64_t addr);
/* The recorder did not keep what the process had mapped before the first change. */
void auxtap_image_set_cut(struct auxtap_image_set *set, pid_t pid);
/* Something was not read for lack of memory or descriptors. */
void auxtap_image_set_short(struct auxtap_image_set *set);
struct auxtap_perfdata;
/* The recording that names the images: they are read with its owner's rights. */
void auxtap_image_set_of_file(struct auxtap_image_set *set, const struct auxtap_perfdata *pd);
/* A core of the kernel's memory, if the caller named none. A file that is not there is no error. */
int auxtap_image_set_kcore(struct auxtap_image_set *set, const char *path,
			   struct auxtap_error *err);
/*
 * Memory as a snapshot has it, where nothing else is: len bytes of the file from off on at addr, or
 * what the file has. *bytes, *size: what became of it; NULL, and size as asked for: no such file.
 * 0 or -ENOMEM.
 */
int auxtap_image_set_dump(struct auxtap_image_set *set, const char *path, uint64_t off,
			  uint64_t len, uint64_t addr, const uint8_t **bytes, uint64_t *size);
/* Does an image given by hand cover addr? */
bool auxtap_image_set_by_hand(struct auxtap_image_set *set, uint64_t addr);
/* vmlinux at the addresses it was linked to, where no record names the kernel. */
int auxtap_image_set_kernel_unmoved(struct auxtap_image_set *set);
int auxtap_image_set_kernel_map(struct auxtap_image_set *set, uint64_t time, uint64_t addr,
				uint64_t len, uint64_t pgoff, const char *name, const uint8_t *id,
				unsigned int id_size);

/* symbols.c: the symbol that covers an ELF address, or NULL. */
const struct image_symbol *image_symbol_find(struct auxtap_image *image, uint64_t vaddr);
/* The same, and the addresses [start, end) around it of which the answer is the same. */
const struct image_symbol *image_symbol_range(struct auxtap_image *image, uint64_t vaddr,
					      uint64_t *start, uint64_t *end);
const char *image_symbol_name(struct auxtap_image *image, const struct image_symbol *sym);
void image_symbols_free(struct auxtap_image *image);
/* malloc'ed, or NULL when name is not mangled. */
char *image_demangle(const char *name);

/* A range of code that one entry of .eh_frame describes: a function, or a part of one. */
struct image_range {
	uint64_t start, end; /* [start, end) */
	uint64_t lsda;	     /* ELF address of what its calls do with exceptions; 0: nothing */
	/* at its first instruction the frame is set up already: no function begins there */
	bool is_part;
};

/* image_eh.c: ELF addresses; false where no entry covers vaddr. */
bool image_eh_find(struct auxtap_image *image, uint64_t vaddr, struct image_range *range);
/*
 * Where an exception lands that leaves the call at that address; 0: it leaves the function, or
 * unknown.
 */
uint64_t image_eh_landing_pad(struct auxtap_image *image, uint64_t call);
/* The same for run-time addresses. */
bool auxtap_image_set_eh(struct auxtap_image_set *set, pid_t pid, uint64_t time, uint64_t addr,
			 struct image_range *range);
uint64_t auxtap_image_set_landing_pad(struct auxtap_image_set *set, pid_t pid, uint64_t time,
				      uint64_t call);

/* srcline.c: fills frames[] (file, line, inlined names); the count, 0 without debug information. */
unsigned int image_lines_find(struct auxtap_image *image, uint64_t vaddr,
			      struct auxtap_frame *frames, unsigned int max_frames);
/*
 * Calls fn for each function of the separate debug file; names live as long as the image. Stops at
 * fn's non-zero.
 */
int image_debug_symbols(struct auxtap_image *image,
			int (*fn)(void *ctx, const char *name, uint64_t start, uint64_t size),
			void *ctx);
/* The path of the separate debug file that lines were read from, malloc'ed; NULL: none. */
char *image_debug_path(struct auxtap_image *image);
void image_lines_free(struct auxtap_image *image);

#endif
