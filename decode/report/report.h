/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The report's own parts: facts of the death (report_facts.h), why it happened (fault.c),
 * backtrace (unwind.c, report_frames.c, report_vars.c, report_tails.c), calls that led there
 * (report_calls.c, report_code.c), last branches (report_branches.c), printing (report.c,
 * report_print.c, report_tree.c), what is missing (report_cover.c); report_samples.c: of samples
 * instead of a flow. Nothing here is public.
 */
#ifndef AUXTAP_REPORT_H
#define AUXTAP_REPORT_H

#include "decode/flow/callstack.h"
#include "decode/image/image_frame.h"
#include "report_facts.h"

#include <auxtap/crash.h>
#include <auxtap/decode.h>
#include <stdio.h>

/* ---- registers (report_regs.c) ---- */

/* False where they are not known. */
bool report_regs_ip(const struct auxtap_regs *regs, uint64_t *ip);
bool report_regs_sp(const struct auxtap_regs *regs, uint64_t *sp);
void report_regs_move(struct auxtap_regs *regs, uint64_t ip);
/* An object "registers" of those that are known. */
struct json_out;
void report_regs_json(struct json_out *j, const struct auxtap_regs *regs);
/*
 * The register at index i in the order of printing; false: i is too large. *name is NULL if its
 * value is unknown, or is no pointer to data (ip, flags, sp).
 */
bool report_regs_pointer(const struct auxtap_regs *regs, int i, const char **name, uint64_t *value);
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
	bool constant;	    /* addr is in the instruction; no register is used */
	char both_regs[64]; /* base and index with their values, if both are in use */
	/* the register that may have the bytes of a text instead of a pointer; "": none */
	char text_reg[8];
	uint64_t text_value;
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
	bool uncaught; /* abort() because an exception had no handler, or could not leave */
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
#define UNWIND_MAX_TAILS  32

/* A function that left its frame with a jump to the function of 'frame', or to the tail before. */
struct unwind_tail {
	int frame;
	uint64_t site; /* the jump */
};

struct unwind_frames {
	/* ip, then the calls: where to look up functions and lines */
	uint64_t pcs[UNWIND_MAX_FRAMES];
	struct image_frame frames[UNWIND_MAX_FRAMES];
	int nr;
	struct unwind_tail tails[UNWIND_MAX_TAILS]; /* by frame, innermost first */
	int nr_tails;
	uint64_t calls;	  /* bit n: pcs[n] is in the call, one byte before the return address */
	uint64_t signals; /* bit n: frame n is what a signal handler returns to */
	/*
	 * From this frame on found by frame pointers alone, because no unwind information describes
	 * the code before it: calls may be missing between the two; 0: none
	 */
	int by_pointers;
	/*
	 * The registers of this frame and of those after it were saved in a frame that the program
	 * has overwritten, as the check of its stack protector says; 0: none
	 */
	int overwritten;
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

/* report_abort.c: who called abort(), if the backtrace has it: sets 'why' and 'uncaught'. */
struct report_out;
bool report_abort(const struct report_out *ro, const struct report_facts *facts,
		  const uint64_t *pcs, int nr, struct fault *fault);
/* report_exception.c: the C++ exception that the dying thread handled, and who threw it. */
void report_exception_print(const struct report_out *ro, const struct report_facts *facts,
			    const struct auxtap_regs *regs, bool uncaught);
/*
 * For a death by abort(): the calls on the stack, innermost first, that the program may have made.
 * Called before the trace is decoded; uses the maps of the snapshot. opts: how to find images.
 */
struct report_untils;
void report_abort_calls(const struct report_facts *facts, const struct auxtap_regs *regs,
			const struct auxtap_image_set_opts *opts, struct auxtap_perfdata *pd,
			struct report_untils *untils);

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

#define REPORT_NAME_WIDTH 60  /* longer names of functions are shortened */
#define REPORT_NAME_MAX	  100 /* they are cut where without what is in brackets they are longer */

/* short_name.c: the short names that a report has given. NULL: no memory. */
struct report_names *report_names_new(void);
void report_names_free(struct report_names *names);
/*
 * A name with "<...>" for template arguments and "(...)" for parameters, as little as fits into
 * REPORT_NAME_WIDTH: always the same for one function, and different for different ones. False
 * where the name is short enough, or cannot be made different.
 */
bool report_short_name(struct report_names *names, const char *full, char *out, size_t size);

struct report_out {
	FILE *out;
	struct report_clean *clean;
	struct report_names *names; /* NULL: names are not shortened */
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
/* Is its time emulated: one instruction is one ns? */
bool report_cover_emulated(const struct report_facts *facts);
/* Time that it spans, in ns; 0: not known. */
uint64_t report_cover_duration(const struct report_facts *facts, const struct report_cover *cover);
/* Is what ran between the end of the dead thread's flow and its death not known? */
bool report_cover_end_lost(const struct report_cover *cover);
void report_cover_print(const struct report_out *ro, const struct report_facts *facts,
			const struct report_cover *cover);
void report_cover_free(struct report_cover *cover);

/* ---- calls ---- */

/*
 * A call, or equal calls that returned (call_fold.c): it counts all of them, and what they called.
 * Calls within one are summed: three calls of f, each of which called g twice, are f x 3
 * with g x 6 in it.
 */
struct call_node {
	uint64_t addr;		   /* entry of the called function; 0: not known */
	uint64_t site;		   /* the calling instruction */
	uint64_t last_ip;	   /* last instruction seen running in it */
	uint64_t nr_insns;	   /* in the function itself */
	uint64_t nr_dropped_insns; /* in its children no longer kept */
	uint64_t insns_in;	   /* report_hottest.c: in it and its children */
	uint64_t time;
	uint64_t newest; /* of several: the time of the last one; 0: of one */
	struct call_node *parent, *first, *last;
	struct call_node *prev, *next; /* elder and younger sibling */
	uint64_t nr_children;	       /* calls ever, kept or not */
	uint64_t nr_dropped;	       /* calls no longer kept */
	uint64_t repeat;	       /* number of calls; of a group: of rounds */
	uint64_t hash;		       /* equal calls have the same; 0: it equals none */
	uint32_t nr_below;	       /* of a call that returned: nodes below it */
	uint32_t nr_items;	       /* of a group: nodes */
	uint32_t code_generation;      /* counts the changes of the code that its address is of */
	uint64_t nr_above; /* open calls between its parent and it that are not known, or not shown
			    */
	/* of a recursion, with all that is open of it: calls, instructions, what these called */
	uint64_t depth, deep_insns, calls_in_recursion;
	unsigned int period; /* of its outermost row: functions that call each other */
	uint32_t chain;	     /* number of tail calls in a row that lead to it, in one frame */
	uint32_t counted_at; /* call_counts.c: its entry there, plus 1; 0: none */
	bool returned;
	bool lost;	   /* it was open when a gap began: whether it returned is not known */
	bool null;	   /* the function called is at address 0 */
	bool known_caller; /* entered by a call that was traced */
	bool gap;	   /* not a call: a gap in the trace, described by text */
	bool exec;	   /* with gap: no gap but an exec */
	bool ends;	   /* with gap: calls before it and after it have no known relation */
	bool folded;	   /* report_hottest.c: a recursion, within a line of the same function */
	bool group;	   /* not a call: the calls below it, in this order, again and again */
	bool mixed;	   /* with group: in no order that repeats */
	bool varies;	   /* in a group: not always one call a round */
	bool async;	   /* entered by a signal or interrupt */
	bool handled;	   /* with async: only the system call that ends the handler is left */
	bool tail;	   /* entered by a jump: it returns to where its parent would */
	bool by_return;	   /* entered by a return that goes back to no call: another stack's */
	/* the same by a jump; or, with tail, not known to be a call of the end */
	bool by_jump;
	bool by_fall;	 /* with tail: by no branch, the parent ran on into it */
	bool is_open;	 /* a call that is open, where the shown ones were chosen */
	bool in_library; /* of a library's function, for the choice of what is printed */
	bool shown;	 /* chosen to be printed */
	char *text;
};

struct call_tree; /* of one thread */

/* What is known of the code at an address. */
struct call_code {
	uint64_t start; /* entry of the function around it by a symbol; 0: no symbol */
	bool stub;	/* it only jumps to the function meant (PLT, resolver) */
	bool link;	/* without a symbol: a jump as PLTs have them */
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
	/* Is what was at addr at that time the same as what is there now? */
	bool (*same_code)(void *ctx, uint64_t addr, uint64_t time);
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
/* How many calls the node stands for. */
uint64_t call_node_calls(const struct call_node *node);
/*
 * So that about max rows, or more if they cannot be fewer, show what node called: calls of one
 * function are equal whatever they called, and what is called often, in whatever order, is one
 * group. Calls that were made seldom stay.
 */
void call_node_fit(struct call_tree *tree, struct call_node *node, unsigned int max);
/* An open call, for which there may be no node. */
struct call_open {
	struct call_node *node; /* NULL: it has none */
	uint64_t addr, site, last_ip, time, nr_insns;
	uint64_t nr_inside; /* calls that it made, and that returned */
	bool known_caller, async, tail;
};

/*
 * The open calls, from the innermost on, which is that node. The caller frees *open. Their number;
 * 0 without memory.
 */
size_t call_tree_open_calls(struct call_tree *tree, struct call_node *from,
			    struct call_open **open);
/*
 * The rows of open calls, from the innermost on. fold: with one for each function of a recursion,
 * which is 'depth' calls. The nodes of the calls are marked is_open. Returns the number of rows.
 */
size_t call_open_fold(struct call_tree *tree, struct call_open *open, size_t nr, bool fold,
		      struct call_node **rows);
/*
 * How many functions call each other in a cycle, from the call at 'at' outwards, and *len, in how
 * many calls; 0: it is no recursion.
 */
size_t call_open_period(const struct call_open *open, size_t nr, size_t at, size_t *len);
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

/* What one function executed, in all its calls (call_counts.c). */
struct call_function {
	uint64_t addr; /* its start, or where it was entered; 0: functions beyond the limit */
	uint64_t time; /* when it was entered first: what was mapped there then */
	uint64_t own;
	uint64_t insns; /* with what it called, each instruction once, however deep it recurses */
	uint64_t calls; /* traced ones; what ran when the trace or a gap ended was not called */
};
/* To be called before the first event: counts functions. 0 or -ENOMEM. */
int call_tree_count(struct call_tree *tree);
/* Function number i of those counted, as of now; false: i is out of range. */
bool call_tree_function(const struct call_tree *tree, size_t i, struct call_function *function);
/* Were more calls open at once, or more functions entered, than are counted? */
bool call_tree_count_cut(const struct call_tree *tree);

/* ---- names and the tree of calls ---- */

/* The same output for what was at addr at that time; 0, or nothing known of then: as ro says. */
struct report_out report_at(const struct report_out *ro, uint64_t time, uint64_t addr);
/* A name from a file, safe to print; the result is valid until REPORT_CLEAN calls later. */
const char *report_text(const struct report_out *ro, const char *text);
/* The same of a function, shortened. */
const char *report_symbol(const struct report_out *ro, const char *symbol);
/* What follows the last slash. */
const char *report_base_name(const char *path);
/* An address of an image for which no symbol is known, by its offset there. */
void report_offset(const struct report_out *ro, const char *image, uint64_t off, char *name,
		   size_t name_size);
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
/* The same of one of the functions inlined there: 0 is the innermost. */
void report_print_level(const struct report_out *ro, uint64_t addr, int level);
/* The same of the function that was called, not of those inlined into it. */
void report_print_outermost(const struct report_out *ro, uint64_t addr);
#define REPORT_SOURCE_AROUND 3 /* lines before, and after, at most */

/* Lines of a source file around one. */
struct report_source {
	unsigned int first, nr;
	bool newer; /* the file is newer than the program: its lines may be others */
	struct report_source_line {
		size_t len;
		char text[1024]; /* as in the file, but cut */
	} lines[2 * REPORT_SOURCE_AROUND + 1];
};

/*
 * The line of the frame, which is of that image, and 'around' lines on either side
 * (report_source.c), if the owners of the recording and of the image, who chose the name of the
 * source file, may read it; false otherwise. Not of a packed file.
 */
bool report_source_read(const struct report_out *ro, const char *image_name,
			const struct auxtap_frame *frame, unsigned int around,
			struct report_source *source);
/* The line of the frame that a packed file has; false: it does not have it. */
bool report_source_packed(const struct report_out *ro, const struct auxtap_frame *frame,
			  struct report_source *source);
/*
 * Prints the line of the source at loc if report_source_read() may; a packed file has some lines.
 */
void report_source_line(const struct report_out *ro, const struct auxtap_location *loc);
/* One line of the tree of calls: a call, or equal siblings. */
struct report_call_row {
	const struct call_node *node; /* the eldest of them */
	unsigned int depth;
	uint64_t repeat, hidden; /* hidden: calls in all of them that have no lines */
	uint64_t own_insns;	 /* in the functions themselves */
	uint64_t insns;		 /* with what they called; 0: they have not returned */
	bool current;		 /* the function running last */
};
typedef void report_call_fn(void *ctx, const struct report_call_row *row);

/* Which lines show a tree of calls. */
struct report_calls {
	struct call_tree *tree;
	struct shown *shown;
	size_t nr_outer;    /* open calls farther out than the lines */
	bool outer_at_most; /* not all of these may still be open */
	const char *gap;    /* before it calls may be open that nothing is known of; NULL */
	bool gap_shown;	    /* it has a line */
};

/* Was node called through a PLT entry of that name, "f@plt"? Then f is meant. */
bool report_call_through_stub(const struct report_out *ro, const struct call_node *node,
			      const char *name);
/*
 * nr_lines lines, or as many as there are; 0: at most 40, without the runtime's start-up; hottest:
 * of the calls in which most was executed, instead of the newest. The tree is folded for them. 0,
 * or -1 without memory; then there is nothing to free. calls->shown is NULL if no calls were
 * traced.
 */
int report_calls_choose(const struct report_out *ro, struct call_tree *tree, unsigned int nr_lines,
			bool hottest, struct report_calls *calls);
void report_calls_each(const struct report_calls *calls, report_call_fn *fn, void *ctx);
void report_calls_free(struct report_calls *calls);

/*
 * nr_lines lines of calls, or as many as there are; 0: at most 40, without the runtime's start-up.
 */
void report_tree_print(const struct report_out *ro, struct call_tree *tree, unsigned int nr_lines,
		       const char *end);
/* The same of the calls in which most was executed, instead of the newest. */
void report_hot_calls_print(const struct report_out *ro, struct call_tree *tree,
			    unsigned int nr_lines, const char *end);
/*
 * report_hottest.c: the nodes of calls that are not open, hottest first, callers before
 * what they called. The tree is folded to nr_lines. The caller frees them; NULL: no memory.
 */
struct call_node **report_hottest(struct call_tree *tree, unsigned int nr_lines, size_t *nr);

/* The last nr calls of the program's own functions (report_last_calls.c). */
typedef void report_last_call_fn(void *ctx, const struct call_node *node);
void report_last_calls_each(const struct report_out *ro, struct call_tree *tree, unsigned int nr,
			    report_last_call_fn *fn, void *ctx);
void report_last_calls_print(const struct report_out *ro, struct call_tree *tree, unsigned int nr);
/* ---- memory (report_memory.c) ---- */

/* Which memory of the program the file contains: part of a sentence. */
void report_memory_text(const struct report_facts *facts, char *text, size_t size);
/* The same as the last line. */
void report_memory_print(const struct report_out *ro, const struct report_facts *facts);

/* ---- blocks of the heap (report_blocks.c) ---- */

struct report_origin;
/*
 * Drops those that have nothing to do with the death, and puts those first that are nearest to the
 * fault. regs: of the dying thread, or NULL; insn: the text of the faulting instruction, or "".
 */
void report_blocks_choose(const struct report_out *ro, struct report_facts *facts,
			  const struct auxtap_regs *regs, const char *insn,
			  const struct unwind_frames *frames, const struct report_origin *origin);
void report_blocks_print(const struct report_out *ro, const struct report_facts *facts,
			 const struct auxtap_regs *regs);
/* report_block_vars.c: of freed blocks, which variable points there. is_null: a null pointer
 * failed. */
void report_block_variables(const struct report_out *ro, struct report_facts *facts,
			    const struct unwind_frames *frames, bool is_null);

/* The bytes of a word as text, if they are printable: at least four of them, then zeros. */
bool report_word_text(uint64_t word, char text[9]);
/* Blocks that were written past their end: a line of the head, nothing if there are none; all. */
void report_overrun_line(const struct report_out *ro, const struct report_facts *facts,
			 const struct auxtap_regs *regs);
void report_overruns_print(const struct report_out *ro, const struct report_facts *facts,
			   const struct auxtap_regs *regs);

#define REPORT_MAX_CALLERS 6

/* Functions of the program, innermost first: pc is in the call, level of those inlined there. */
struct report_callers {
	struct report_caller {
		uint64_t pc;
		int level;
	} at[REPORT_MAX_CALLERS];
	int nr;
};

/*
 * report_block_calls.c: from where a block was allocated or freed, by the function that returns to
 * return_addr. At least one: if none is the program's own, the one that is returned to.
 */
void report_block_callers(const struct report_out *ro, const struct report_facts *facts,
			  uint32_t arch, const struct auxtap_crash_block *block,
			  enum auxtap_block_action action, uint64_t return_addr,
			  struct report_callers *callers);

/* ---- images (report_images.c) ---- */

void report_images_print(const struct report_out *ro, const struct report_facts *facts);
/* Bytes of executable anonymous memory that the snapshot has. */
uint64_t report_generated_bytes(const struct report_facts *facts);

/* ---- backtrace (report_frames.c) ---- */

/* How the backtrace ends. */
enum report_frames_end {
	REPORT_FRAMES_OUTERMOST, /* with the outermost frame */
	REPORT_FRAMES_TOO_MANY,
	REPORT_FRAMES_NOT_CALLED,
	REPORT_FRAMES_NO_CODE,	       /* at frames->no_code */
	REPORT_FRAMES_NOT_IN_SNAPSHOT, /* the stack at frames->unread */
	REPORT_FRAMES_NO_FILE,
	REPORT_FRAMES_NO_INFO,
	REPORT_FRAMES_OVERWRITTEN, /* what says where the next frame is */
	REPORT_FRAMES_SENSELESS,
};
enum report_frames_end report_frames_end(const struct report_out *ro,
					 const struct report_facts *facts,
					 const struct unwind_frames *frames);
void report_frames_print(const struct report_out *ro, const struct report_facts *facts,
			 const struct unwind_frames *frames);

/* report_outer.c: frames farther out than those, as far as the trace knows them. */
struct report_outer {
	struct call_open *open; /* malloc'ed; from 'at' on */
	size_t nr, at;
	bool perhaps_more; /* from before what the trace contains */
};

/* False: it knows none, and there is nothing to free. To be called before the tree is folded. */
bool report_outer_find(const struct report_out *ro, const struct report_facts *facts,
		       struct call_tree *tree, const struct unwind_frames *frames,
		       struct report_outer *outer);
/* depth: number of calls of a recursion; nr_between: rows left out before it. */
typedef void report_outer_fn(void *ctx, const struct call_open *call, size_t depth,
			     size_t nr_between);
/*
 * From the innermost on, of a recursion one for each function; of more than 'most' rows only the
 * innermost and the outermost ones.
 */
void report_outer_each(const struct report_outer *outer, size_t most, report_outer_fn *fn,
		       void *ctx);
void report_outer_print(const struct report_out *ro, const struct report_facts *facts,
			struct call_tree *tree, const struct unwind_frames *frames);

/* report_tails.c: what the trace proves of functions that left by a tail call. */
void report_tails_find(const struct report_out *ro, struct call_tree *tree,
		       struct unwind_frames *frames);

/* ---- arguments and local variables (report_vars.c) ---- */

typedef void report_var_fn(void *ctx, const struct image_variable *var);
/*
 * The arguments of one of the functions at frame nr; with 'locals' then the local variables.
 * Nothing where none are known.
 */
void report_vars_each(const struct report_out *ro, const struct report_facts *facts,
		      const struct unwind_frames *frames, int nr, unsigned int level, bool locals,
		      report_var_fn *fn, void *ctx);
/* The same as text: each in lines of their own below the function. */
void report_vars_print(const struct report_out *ro, const struct report_facts *facts,
		       const struct unwind_frames *frames, int nr, unsigned int level, bool locals);

/* ---- last branches (report_branches.c) ---- */

#define REPORT_BRANCHES 64

struct report_branch {
	uint64_t from, to;
	enum auxtap_branch_kind kind;
	bool async, has_from, has_to;
	bool uncounted; /* more of them followed, of which the trace has no packets */
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

/* The branches of a thread up to a call that has not returned. */
struct report_until {
	uint64_t back;			 /* the call's return address */
	unsigned int nr_open;		 /* calls there that have not returned; 0: not seen */
	struct report_branches branches; /* up to the outermost of them */
};

#define REPORT_UNTILS 12

/* The same for several calls. */
struct report_untils {
	struct report_until at[REPORT_UNTILS];
	int nr;
};

/* Takes an event of the thread. */
void report_branches_add(struct report_branches *branches, const struct auxtap_event *ev);
/* The same, after it. Of each call at most nr branches are kept. */
void report_untils_add(struct report_untils *untils, const struct report_branches *branches,
		       unsigned int nr, const struct auxtap_event *ev);
/* Those up to the call that would return to 'back'; NULL: it is not known to be open. */
const struct report_branches *report_untils_find(const struct report_untils *untils, uint64_t back);
/* The last that the program itself took, if that is one of the last two; NULL. */
/*
 * An ETM leaves out the two lowest bits of an address: where the thread died the registers have
 * them.
 */
void report_branches_complete(struct report_branches *branches, uint64_t pc);
const struct report_branch *report_branches_last(const struct report_branches *branches);
/* "call", "cond", ... */
const char *report_branch_kind(const struct report_branch *b);
/* Is it a call, or a jump to the beginning of a function? */
bool report_branch_enters(const struct report_out *ro, const struct report_branch *b);
/* The indirect jump, the newest branch, that went to pc; 0: it is not one. */
uint64_t report_branches_jump_to(const struct report_branches *branches, uint64_t pc);
/*
 * At most nr of them; nothing if there are none. before: what came after them, if it was not the
 * end of the trace; NULL. signo: the signal that ended them; 0. unloaded: where they ended nothing
 * is mapped any more.
 */
void report_branches_print(const struct report_out *ro, const struct report_branches *branches,
			   unsigned int nr, const char *before, int signo, bool unloaded);

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
int report_returns_add(struct report_returns *returns, const struct auxtap_event *ev);
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
 * For a death by a signal that was sent while the handler of a fault ran, at the instruction of the
 * fault: why that one faults again with the registers of the death; false where it need not.
 */
bool report_first_fault(const struct report_out *ro, const struct report_facts *facts,
			const struct auxtap_regs *regs, struct fault *fault);

/* ---- the head of the report (report_headline.c) ---- */

/* The innermost function that is the program's own. */
struct report_own_frame {
	int frame;   /* -1: not one; of a tail frame that before it */
	int level;   /* of the functions inlined there */
	uint64_t pc; /* where it is; of a tail frame the jump */
	bool tail;   /* it left by a jump */
};
struct report_own_frame report_own_frame(const struct report_out *ro,
					 const struct unwind_frames *frames);

enum report_origin_kind {
	REPORT_ORIGIN_UNKNOWN,
	REPORT_ORIGIN_READ,	/* from memory, at addr */
	REPORT_ORIGIN_RETURNED, /* by a function */
};

/* report_origin.c: where the pointer came from that the dying thread used. */
struct report_origin {
	enum report_origin_kind kind;
	bool is_code; /* it called, or jumped, there */
	bool has_value;
	uint64_t value; /* the pointer, before constants were added to it */
	uint64_t ip;	/* of the instruction that read it, or returned */
	uint64_t addr;
};

struct report_headline {
	const struct auxtap_regs *regs; /* of the thread that died; NULL: not known */
	uint64_t ip;			/* of the instruction that the signal is about, with regs */
	struct fault *fault;
	const struct unwind_frames *frames;
	struct report_own_frame own_frame;
	const struct report_branches *branches; /* of the thread; NULL: it left no trace */
	const struct report_returns *returns;	/* the same */
	bool flow_end_known;
	uint64_t flow_end;		  /* where the flow would go on, if that is known */
	const struct report_branch *last; /* the branch that went to ip; NULL: not known */
	struct report_origin origin;
};

/* Finds head->origin. */
void report_origin_find(const struct report_out *ro, const struct report_facts *facts,
			struct report_headline *head);
/* Was it read from this block of the heap? */
bool report_origin_is_in(const struct auxtap_crash_block *block,
			 const struct report_origin *origin);
/* A pointer that was read from memory stays only if one of the blocks to be printed contains it. */
void report_origin_check(const struct report_facts *facts, struct report_origin *origin);
void report_origin_print(const struct report_out *ro, const struct report_facts *facts,
			 const struct report_origin *origin);

/*
 * report_handled.c: of a death in the handler of a fault, or by a signal sent there: why that fault
 * happened. False: not known.
 */
bool report_handled_fault(const struct report_out *ro, const struct report_facts *facts,
			  const struct report_headline *head, struct fault *fault);

/* Finds head->last, and completes head->fault->why by what the trace shows. */
void report_headline_explain(const struct report_out *ro, const struct report_facts *facts,
			     struct report_headline *head);
void report_headline_print(const struct report_out *ro, const struct report_facts *facts,
			   const struct report_headline *head);

/* report_samples.c: the report of samples of Arm SPE; raw is NULL or pd is. */
int report_samples(struct auxtap_perfdata *pd, const char *path, const struct auxtap_raw_opts *raw,
		   struct auxtap_image_set *images, const struct auxtap_report_opts *opts,
		   FILE *out, struct auxtap_error *err);
/* A C or C++ library, or the dynamic linker: rarely where a bug is. */
bool report_is_runtime(const char *image);
/* Is it a library's function, in a library or linked statically? frame may be NULL. */
bool report_is_library(const char *image, const struct auxtap_frame *frame);
/* Is one of the functions inlined at loc not the program's own, but a library's? */
bool report_is_library_function(const struct auxtap_location *loc, unsigned int level);
/* The innermost of the functions inlined at loc that is the program's own; -1: not one. */
int report_own_level(const struct auxtap_location *loc);
/* Is it a function that the compiler adds to each program, not the program's own? */
bool report_is_helper(const struct auxtap_location *loc);

/* auxtap_report() with images of the caller; opts are complete, those for images have no effect. */
int report_recording(struct auxtap_perfdata *pd, struct auxtap_image_set *images,
		     const struct auxtap_report_opts *opts, FILE *out, struct auxtap_error *err);

#endif
