/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The report's own parts: facts of the death (report_facts.c), why it happened (fault.c),
 * backtrace (unwind.c), calls that led there (report_calls.c, report_code.c), last branches
 * (report_branches.c), printing (report.c, report_print.c), what is missing (report_cover.c);
 * report_samples.c: of samples instead of a flow. Nothing here is public.
 */
#ifndef AUXTAP_REPORT_H
#define AUXTAP_REPORT_H

#include "decode/flow/callstack.h"

#include <auxtap/crash.h>
#include <auxtap/decode.h>
#include <stdio.h>

/* ---- facts ---- */

struct report_thread {
	struct auxtap_crash_thread note;
};

struct report_memory {
	uint64_t addr, nr_bytes;
	unsigned char *bytes;
};

struct report_map {
	uint64_t start, end, pgoff;
	char perms[5];
	char *name; /* "" for anonymous memory */
};

struct report_facts {
	bool have_crash; /* a CRASH note with a signal */
	struct auxtap_crash crash;
	struct report_thread *threads;
	size_t nr_threads, max_threads;
	struct report_memory *memory;
	size_t nr_memory, max_memory;
	struct report_map *maps;
	size_t nr_maps, max_maps;
	char *capture; /* "key: value" lines, or NULL */
};

int report_facts_read(struct report_facts *facts, struct auxtap_perfdata *pd,
		      struct auxtap_error *err);
void report_facts_free(struct report_facts *facts);
const struct report_map *report_facts_map(const struct report_facts *facts, uint64_t addr);
/* Copies what is known of the dead process' memory; false unless all size bytes are known. */
bool report_facts_memory(const struct report_facts *facts, uint64_t addr, void *buf, size_t size);
/* Value of a line of the capture note into buf; false if there is none. */
bool report_facts_capture(const struct report_facts *facts, const char *key, char *buf,
			  size_t size);

/* ---- registers (report_regs.c) ---- */

/* False where they are not known. */
bool report_regs_ip(const struct auxtap_regs *regs, uint64_t *ip);
bool report_regs_sp(const struct auxtap_regs *regs, uint64_t *sp);
void report_regs_move(struct auxtap_regs *regs, uint64_t ip);
void report_regs_print(FILE *out, const struct auxtap_regs *regs);

/* ---- fault ---- */

struct fault_access {
	bool known;
	bool write;
	uint64_t addr;
	uint64_t failed; /* the first byte of it that cannot be accessed */
	unsigned int nr_bytes;
	bool or_more;	  /* the instruction alone does not say how many */
	bool masked;	  /* a mask selects which of them are read */
	char base_reg[8]; /* the register that addr is computed from; "": none, or several */
	uint64_t base;
	char both_regs[64]; /* base and index with their values, if both are in use */
	bool stack_segment; /* x86: by rsp or rbp */
};

struct fault {
	char why[1024];		/* one sentence */
	bool bad_ip;		/* ip itself cannot be executed */
	bool has_insn;		/* an instruction did it: the one at insn_ip */
	uint64_t insn_ip;	/* the ip, or before it */
	unsigned int insn_size; /* of one before the ip */
	char where[192];	/* bad_ip: what is known of the memory there */
	bool bad_return;	/* the return at ip goes to no address */
	bool no_frame;		/* no fault: the kernel could not write a signal handler's frame */
	struct fault_access access;
};

/* Why the dying thread died: from signal, registers, the instruction's bytes and the maps. */
void fault_explain(const struct report_facts *facts, const struct auxtap_regs *regs,
		   const uint8_t *insn, size_t insn_size, struct fault *fault);
/* "SIGSEGV"; "signal 42" is the caller's business: NULL */
const char *fault_signal_name(int signo);
const char *fault_signal_text(int signo); /* "segmentation fault" */

/* ---- backtrace ---- */

#define UNWIND_MAX_FRAMES 48

struct unwind_frames {
	/* ip, then the calls: where to look up functions and lines */
	uint64_t pcs[UNWIND_MAX_FRAMES];
	int nr;
	uint64_t calls;	  /* bit n: pcs[n] is in the call, one byte before the return address */
	uint64_t signals; /* bit n: frame n is what a signal handler returns to */
	bool complete;	  /* the outermost frame was reached */
	bool not_called;  /* no call returns to the last frame, a function's first instruction */
	uint64_t no_code; /* the next return address, where no code is; 0: not for that */
	bool no_info;	  /* no unwind information describes the last frame's code */
	bool no_file;	  /* no file that may describe it could be read */
	uint64_t unread;  /* memory that the next frame would need; 0: not for lack of that */
};

/*
 * By unwind information. Stops where the stack makes no sense. Of the trace, 0 if not known:
 * last_call, the return address of the last call; jump, the jump that went to where no code is.
 */
void unwind_backtrace(const struct report_facts *facts, struct auxtap_image_set *images,
		      const struct auxtap_regs *regs, uint64_t last_call, uint64_t jump,
		      struct unwind_frames *frames);

/* report_abort.c: who called abort(), if the backtrace has it. */
struct report_out;
bool report_abort(const struct report_out *ro, const uint64_t *pcs, int nr, char *why, size_t size);

/* Does the unwind information say that the return address is at the top of the stack at addr? */
bool unwind_return_on_top(const struct report_facts *facts, struct auxtap_image_set *images,
			  const struct auxtap_regs *regs, uint64_t addr);

/* ---- printing ---- */

struct report_style {
	const char *title, *bad, *dim, *name, *off;
};
extern const struct report_style report_plain, report_coloured;

#define REPORT_CLEAN	  8
#define REPORT_CLEAN_SIZE 4096

/* What report_text() returned last. */
struct report_clean {
	char text[REPORT_CLEAN][REPORT_CLEAN_SIZE];
	unsigned int next;
};

struct report_out {
	FILE *out;
	struct report_clean *clean;
	const struct report_style *style;
	unsigned int width;
	struct auxtap_image_set *images;
	pid_t pid;
	uint64_t time;
	uid_t owner; /* of the recording; (uid_t)-1: unknown */
};

/* ---- what the trace covers (report_cover.c) ---- */

struct report_gap_count {
	uint64_t nr, nr_bytes;
	bool exact;
};

struct report_cover {
	struct auxtap_decode_summary sum;
	struct report_gap_count gaps[AUXTAP_GAP_NR_CAUSES];
	struct birth *births; /* records of forks, execs, starts of tracing and exits, by time */
	size_t nr_births, max_births;
	uint64_t last_record;	 /* time of the newest record; 0: none has one */
	const char *library;	 /* that decoded; NULL */
	bool branches_only;	 /* the trace has no instructions between branches */
	bool enable_on_exec;	 /* the recorder's events were enabled by exec, not before */
	bool of_threads;	 /* each buffer is of one thread, on whatever CPU */
	bool of_unknown_offsets; /* a snapshot whose first bytes may follow overwritten ones */
	bool from_start;	 /* each thread with trace: report_cover_born() */
	/* each thread with trace exits; of a crash: the dead thread's flow has an end */
	bool to_end;
	size_t nr_without; /* threads without trace */
	bool cut_short;	   /* the dead thread's flow does not end where it died */
	bool from_handler; /* it ends with the system call that returns from a signal handler */
	uint64_t flow_end, death_ip;
};

/* Takes one record of the file, in order of time. 0, or -1 without memory. */
int report_cover_record(struct report_cover *cover, const struct auxtap_record *rec);
/* What of the file itself (NULL: none) the proof rests on; ours: auxtap recorded it. */
void report_cover_file(struct report_cover *cover, struct auxtap_perfdata *pd, bool ours);
/*
 * Is it proved that the trace of tid, whose first event is of first_time (0: not known), starts
 * where tid starts?
 */
bool report_cover_born(const struct report_cover *cover, int32_t tid, uint64_t first_time);
/* Is it proved that tid, whose newest event is of last_time, exits? */
bool report_cover_ended(const struct report_cover *cover, int32_t tid, uint64_t last_time);
/* How many threads the file's records name (of pid only; -1: of all) that have no trace. */
size_t report_cover_without_trace(const struct report_cover *cover, int32_t pid,
				  bool (*has_trace)(const void *ctx, int32_t tid), const void *ctx);
/* Takes a gap. */
void report_cover_event(struct report_cover *cover, const struct auxtap_event *ev);
void report_cover_print(const struct report_out *ro, const struct report_facts *facts,
			const struct report_cover *cover);
void report_cover_free(struct report_cover *cover);

/* ---- calls ---- */

struct call_node {
	uint64_t addr;		   /* entry of the called function; 0: not known */
	uint64_t site;		   /* the calling instruction */
	uint64_t last_ip;	   /* last instruction seen running in it */
	uint64_t nr_insns;	   /* in the function itself */
	uint64_t nr_dropped_insns; /* in its children no longer kept */
	uint64_t time;
	struct call_node *parent, *first, *last, *next; /* next: younger sibling */
	uint32_t nr_children;				/* ever, kept or not */
	uint32_t nr_dropped;				/* children no longer kept */
	uint32_t chain; /* so many tail calls in a row lead to it, within one frame */
	/* collapsed equal siblings before this one */
	uint32_t repeat;
	bool returned;
	bool lost;	   /* it was open when a gap began: whether it returned is not known */
	bool null;	   /* the function called is at address 0 */
	bool known_caller; /* entered by a call that was traced */
	bool gap;	   /* not a call: a gap in the trace; text tells */
	bool exec;	   /* with gap: no gap but an exec */
	bool async;	   /* entered by a signal or interrupt */
	bool handled;	   /* with async: only the system call that ends the handler is left */
	bool tail;	   /* entered by a jump: it returns to where its parent would */
	bool by_return;	   /* entered by a return that goes back to no call: another stack's */
	/* the same by a jump; or, with tail, not known to be a call of the end */
	bool by_jump;
	bool by_fall; /* with tail: by no branch, the parent ran on into it */
	bool on_path; /* mark of the pruning */
	bool shown;   /* chosen to be printed */
	char *text;
};

struct call_tree; /* of one thread */

/* What is known of the code at an address. */
struct call_code {
	uint64_t start; /* entry of the function around it by a symbol; 0: no symbol */
	bool stub;	/* it only jumps to the function meant (linkage table, resolver) */
	bool link;	/* without a symbol: a jump as linkage tables have them */
	uint64_t range; /* begin of the code around it by unwind information; 0: not known */
	/* that begin, or the symbol's, is within a function's frame: no call enters it */
	bool part;
};

struct call_code_ops {
	void (*look_up)(void *ctx, uint64_t addr, struct call_code *code); /* *code is zero */
	/*
	 * Where an exception lands that leaves the call at that address; 0: nowhere, or not known.
	 */
	uint64_t (*landing_pad)(void *ctx, uint64_t call);
	/* Is it known that the code in [begin, end) does not switch to another stack? */
	bool (*keeps_stack)(void *ctx, uint64_t begin, uint64_t end);
	/* Instructions in [begin, end); 0: not known. */
	uint32_t (*nr_insns)(void *ctx, enum auxtap_isa isa, uint64_t begin, uint64_t end);
};

/* report_code.c: answers from images. */
struct report_code {
	struct auxtap_image_set *images;
	pid_t pid;
	uint64_t time;
};
extern const struct call_code_ops report_code_ops; /* ctx: a struct report_code */

/* ops: NULL where no images are known. */
struct call_tree *call_tree_new(const struct call_code_ops *ops, void *ctx);
/* The thread's process became another program: what was called before is over. */
int call_tree_exec(struct call_tree *tree, const char *text);
void call_tree_free(struct call_tree *tree);
/* From here on other code may be at the same addresses. */
void call_tree_code_changed(struct call_tree *tree);
int call_tree_event(struct call_tree *tree, const struct auxtap_event *ev);
/* After the last event: the thread died at ip. 0 or -ENOMEM. */
int call_tree_died(struct call_tree *tree, uint64_t ip);
/* The tree; its root is not a call. NULL: nothing was seen. */
struct call_node *call_tree_root(struct call_tree *tree);
/* Instructions in node and in all that was called from it, kept or not. */
uint64_t call_node_insns(const struct call_node *node);
/* How many nodes it has at present. */
size_t call_tree_size(const struct call_tree *tree);
/*
 * How many callers of the outermost node were forgotten because there were too many; *at_most: not
 * all of them may still be open.
 */
size_t call_tree_forgotten(const struct call_tree *tree, bool *at_most);
/* The gap before which calls may be open that nothing is known of; NULL: no such gap. */
const char *call_tree_gap(const struct call_tree *tree);
/* The function running last. */
struct call_node *call_tree_current(struct call_tree *tree);

/* ---- names and the tree of calls ---- */

/* The same output for what was at addr at that time; 0, or nothing known of then: as ro says. */
struct report_out report_at(const struct report_out *ro, uint64_t time, uint64_t addr);
/* A name from a file, safe to print; the result is valid until REPORT_CLEAN calls later. */
const char *report_text(const struct report_out *ro, const char *text);
/* "age_of (null_deref.c:29)"; place is NULL or receives "null_deref.c:29". */
void report_name(const struct report_out *ro, uint64_t addr, char *name, size_t name_size,
		 char *location, size_t location_size);
/*
 * The same of the function that was called, not of those inlined into it. What an entry address
 * begins with may be inlined, what a call enters is the function.
 */
void report_function_name(const struct report_out *ro, uint64_t addr, char *name, size_t name_size,
			  char *location, size_t location_size);
/*
 * Prints "age_of at null_deref.c:29", or "age_of in PROGRAM" where no line of the source is known.
 */
void report_print_location(const struct report_out *ro, uint64_t addr);
/*
 * The line of the source at loc (report_source.c), if the owners of the recording and of the image,
 * who chose the name of the source file, may read it. Nothing is printed otherwise.
 */
void report_source_line(const struct report_out *ro, const struct auxtap_location *loc);
/*
 * nr_lines lines of calls, or as many as there are; 0: at most 40, without the runtime's start-up.
 */
void report_calls_print(const struct report_out *ro, struct call_tree *tree, unsigned int nr_lines,
			const char *end);

/* ---- images (report_images.c) ---- */

void report_images_print(const struct report_out *ro, const struct report_facts *facts);

/* ---- backtrace (report_frames.c) ---- */

void report_frames_print(const struct report_out *ro, const struct report_facts *facts,
			 const struct unwind_frames *frames);

/* ---- last branches (report_branches.c) ---- */

#define REPORT_BRANCHES 64

struct report_branch {
	uint64_t from, to;
	enum auxtap_branch_kind kind;
	bool async, has_from, has_to;
	unsigned int repeat;
	uint64_t time;
	int gap; /* what gap is before it (enum auxtap_gap_cause); -1: none */
};

/* The newest ones of a thread. */
struct report_branches {
	struct report_branch at[REPORT_BRANCHES];
	unsigned int nr; /* ever */
	bool after_gap;	 /* nothing since the newest gap */
	enum auxtap_gap_cause gap;
};

/* Takes an event of the thread. */
void report_branches_note(struct report_branches *branches, const struct auxtap_event *ev);
/* The last that the program itself took, if that is one of the last two; NULL. */
/*
 * An ETM leaves out the two lowest bits of an address: where the thread died the registers have
 * them.
 */
void report_branches_complete(struct report_branches *branches, uint64_t pc);
const struct report_branch *report_branches_last(const struct report_branches *branches);
/* The indirect jump, the newest branch, that went to pc; 0: it is not one. */
uint64_t report_branches_jump_to(const struct report_branches *branches, uint64_t pc);
/*
 * At most nr of them; nothing if there are none. signo: the signal that ended them; 0. unloaded:
 * where they ended nothing is mapped any more.
 */
void report_branches_print(const struct report_out *ro, const struct report_branches *branches,
			   unsigned int nr, int signo, bool unloaded);

/* ---- how it came to where no code is (report_jump.c) ---- */

/* The calls of a thread that have not returned, and its last return. */
struct report_returns {
	struct callstack calls; /* 0 where a signal handler begins */
	uint64_t last_call;	/* the return address of the last call; gaps do not change it */
	uint64_t from, to;	/* the last return */
	uint64_t expected;	/* the return address of its call; 0: not known */
	bool unmatched;		/* it went to none of the calls */
	uint64_t off_ip;	/* where tracing went off last */
	bool off_async;
};

/* Takes an event of the thread. 0, or -1 without memory. */
int report_returns_note(struct report_returns *returns, const struct auxtap_event *ev);
/*
 * For a death at an ip that cannot be executed (bad_ip), or at a return that goes to no address:
 * writes fault->why by what the trace shows. last: the branch that went to ip; NULL: not known.
 */
void report_jump_explain(const struct report_out *ro, const struct report_facts *facts,
			 const struct auxtap_regs *regs, const struct report_returns *returns,
			 const struct report_branch *last, uint64_t ip, struct fault *fault);

/* Is nothing mapped at addr where an image was before? */
bool report_was_unloaded(const struct report_out *ro, const struct report_facts *facts,
			 uint64_t addr);

/* Is the instruction before addr the system call that returns from a signal handler? */
bool report_ends_handler(const struct report_out *ro, const struct auxtap_regs *regs,
			 uint64_t addr);
/*
 * Of a death by a signal that was sent while the handler of a fault ran, at the instruction of the
 * fault: why that one faults again with the registers of the death; false where it need not.
 */
bool report_first_fault(const struct report_out *ro, const struct report_facts *facts,
			const struct auxtap_regs *regs, struct fault *fault);

/* report_samples.c: the report of samples of Arm SPE; raw is NULL or pd is. */
int report_samples(struct auxtap_perfdata *pd, const char *path, const struct auxtap_raw_opts *raw,
		   struct auxtap_image_set *images, const struct auxtap_report_opts *opts,
		   FILE *out, struct auxtap_error *err);
/* A C or C++ library, or the dynamic linker: rarely where a bug is. */
bool report_is_runtime(const char *image);
/* Is it a function that the compiler adds to each program, not the program's own? */
bool report_is_helper(const struct auxtap_location *loc);

#endif
