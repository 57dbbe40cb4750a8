/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The report's internal interfaces: facts of the death (report_facts.h), why it happened (fault.c),
 * backtrace (unwind.c, report_frames.c, report_vars.c, report_tails.c), calls that led there
 * (report_calls.c, report_code.c), last branches (report_branches.c), printing (report.c,
 * report_print.c, report_tree.c), what is missing (report_cover.c); report_samples.c reports
 * samples instead of a flow.
 */
#ifndef AUXTAP_REPORT_H
#define AUXTAP_REPORT_H

#include "decode/flow/callstack.h"
#include "decode/image/image_frame.h"
#include "report_callers.h"
#include "report_facts.h"
#include "report_slice.h"

#include <auxtap/crash.h>
#include <auxtap/decode.h>
#include <stdio.h>

/* ---- registers (report_regs.c) ---- */

/* False: the register is unknown. */
bool report_regs_ip(const struct auxtap_regs *regs, uint64_t *ip);
bool report_regs_sp(const struct auxtap_regs *regs, uint64_t *sp);
void report_regs_move(struct auxtap_regs *regs, uint64_t ip);
/* Writes an object "registers" of those that are known. */
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
	uint64_t failed; /* address of the first byte that cannot be accessed */
	unsigned int nr_bytes;
	bool or_more;	  /* nr_bytes is a minimum: the instruction alone does not say how many */
	bool masked;	  /* a mask selects which of the bytes are accessed */
	char base_reg[8]; /* the register that addr is computed from; "": none, or several */
	uint64_t base;
	bool constant;	    /* addr is in the instruction; no register is used */
	char both_regs[64]; /* base and index with their values, if both are in use */
	/* the register that may contain bytes of a text instead of a pointer; "": none */
	char text_reg[8];
	uint64_t text_value;
	bool stack_segment; /* x86: by rsp or rbp */
};

struct fault {
	char why[1024];		/* one sentence */
	bool bad_ip;		/* ip itself cannot be executed */
	bool has_insn;		/* the instruction at insn_ip caused the signal */
	uint64_t insn_ip;	/* the ip, or the address of the instruction before it */
	unsigned int insn_size; /* of the instruction, if it is the one before the ip */
	char where[192];	/* bad_ip: what is known of the memory there */
	bool bad_return;	/* the return at ip goes to a non-canonical address */
	/* where the return address is that was overwritten, if that is proved; 0: not proved */
	uint64_t overwritten_return;
	bool no_frame; /* no fault: the kernel could not write a signal handler's frame */
	bool uncaught; /* abort() because an exception had no handler, or could not leave */
	struct fault_access access;
};

/* Explains the death from the signal, registers, the instruction's bytes and the maps. */
void fault_explain(const struct report_facts *facts, const struct auxtap_regs *regs,
		   const uint8_t *insn, size_t insn_size, struct fault *fault);
/* "SIGSEGV"; NULL: the signal has no name. */
const char *fault_signal_name(int signo);
const char *fault_signal_text(int signo); /* "segmentation fault" */
/* The same of the signal of the death; "the emulator itself crashed", if the program did not. */
const char *fault_death_text(const struct auxtap_crash *crash);

/* ---- backtrace ---- */

#define UNWIND_MAX_FRAMES 48
#define UNWIND_MAX_TAILS  (4 * UNWIND_MAX_FRAMES)

/*
 * A function that left its frame by a tail call to the function of 'frame', or to that of the
 * previous tail frame.
 */
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
	uint64_t call_mask;   /* bit n: pcs[n] is in the call, one byte before the return address */
	uint64_t signal_mask; /* bit n: frame n is the restorer of a signal handler */
	/*
	 * The first frame that was found by frame pointers alone, because no unwind information
	 * describes the code before it: calls may be missing between the two; 0: none.
	 */
	int by_pointers;
	/*
	 * The first frame whose registers were saved in a frame that the program has overwritten,
	 * as its stack protector has found; those of the frames after it were, too. 0: none.
	 */
	int overwritten;
	bool complete; /* the outermost frame was reached */
	/* by the trace the last function was called from elsewhere: report_frames_check() */
	bool contradicted;
	/* bit n: the function of frame n was entered in its middle: its variables are not known */
	uint64_t within_mask;
	bool code_32bit;     /* not unwound: the first frame is all there is */
	bool entered_within; /* a wrong address led into the middle of the last function */
	bool not_called;     /* no call returns to the last frame, a function's first instruction */
	/* why it ends: the next return address, where no code is; 0: not the reason */
	uint64_t bad_return_addr;
	bool no_info;	      /* no unwind information describes the last frame's code */
	bool no_file;	      /* no file that may describe it could be read */
	uint64_t unread_addr; /* why it ends: memory that is not in the file; 0: not the reason */
};

/* What the trace knows of the end of the thread; 0: unknown. */
struct unwind_trace {
	uint64_t last_call_returns_to;
	uint64_t open_call_returns_to; /* the innermost call that has not returned yet */
	uint64_t bad_jump;	       /* the jump that went to where no code is */
	bool bad_return;	       /* a return went there */
};

/*
 * Unwinds the stack by unwind information, as far as the stack makes sense. trace may be NULL.
 */
void unwind_backtrace(const struct report_facts *facts, struct auxtap_image_set *images,
		      const struct auxtap_regs *regs, const struct unwind_trace *trace,
		      struct unwind_frames *frames);

/* report_abort.c: finds who called abort() in the backtrace, and sets 'why' and 'uncaught'. */
struct report_out;
bool report_abort(const struct report_out *ro, const struct report_facts *facts,
		  const struct unwind_frames *frames, struct fault *fault);
/* report_exception.c: prints the C++ exception that the dying thread handled, and who threw it. */
void report_exception_print(const struct report_out *ro, const struct report_facts *facts,
			    const struct auxtap_regs *regs, bool uncaught);
/*
 * For a death by abort(): adds the calls on the stack, innermost first, that the program itself may
 * have made. Called before the trace is decoded; uses the maps of the snapshot. opts: how to find
 * images.
 */
struct report_branches_at_calls;
void report_abort_calls(const struct report_facts *facts, const struct auxtap_regs *regs,
			const struct auxtap_image_set_opts *opts, struct auxtap_perfdata *pd,
			struct report_branches_at_calls *at_calls);

/* ---- printing ---- */

struct report_style {
	const char *title, *bad, *dim, *name, *off;
};
extern const struct report_style report_plain, report_coloured;

#define REPORT_TEXT_RING 8
#define REPORT_TEXT_SIZE 4096

/* The newest strings that report_text() returned. */
struct report_text_ring {
	char text[REPORT_TEXT_RING][REPORT_TEXT_SIZE];
	unsigned int next;
};

#define REPORT_NAME_WIDTH 60 /* longer names of functions are shortened */
/* a name that is still longer without its template arguments and parameters is truncated to this */
#define REPORT_NAME_MAX 100

/* short_name.c: the short names that a report has used so far. NULL: no memory. */
struct report_names *report_names_new(void);
void report_names_free(struct report_names *names);
/*
 * Shortens a name to REPORT_NAME_WIDTH by "<...>" for template arguments and "(...)" for
 * parameters, no more of them than necessary: always the same way for one function, and different
 * for different ones. False if the name is short enough, or cannot be made different.
 */
bool report_short_name(struct report_names *names, const char *full, char *out, size_t size);

struct report_out {
	FILE *out;
	struct report_text_ring *text_ring;
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
	/* records of forks, execs, starts of tracing and exits, by time */
	struct life_event *life_events;
	size_t nr_life_events, max_life_events;
	uint64_t last_record;	 /* time of the newest record; 0: no record has a time */
	const char *library;	 /* the decoder library; NULL: none */
	bool branches_only;	 /* the trace has no instructions between branches */
	bool enable_on_exec;	 /* the recorder's events were enabled by exec, not before */
	bool of_threads;	 /* each buffer is of one thread, on whatever CPU */
	bool of_unknown_offsets; /* a snapshot whose first bytes may follow overwritten ones */
	bool from_start;	 /* report_cover_has_start() is true for each thread with trace */
	/* each thread with trace exits; of a crash: the end of the dead thread's flow is known */
	bool to_end;
	size_t nr_without; /* threads without trace */
	bool cut_short;	   /* the dead thread's flow does not end where it died */
	bool from_handler; /* the flow ends with rt_sigreturn() */
	uint64_t flow_end, death_ip;
};

/* Notes one record of the file, in order of time. 0, or -1 without memory. */
int report_cover_record(struct report_cover *cover, const struct auxtap_record *rec);
/*
 * Takes from the file (NULL: a raw trace) what report_cover_has_start() and _has_end() need. ours:
 * auxtap wrote the file.
 */
void report_cover_file(struct report_cover *cover, struct auxtap_perfdata *pd, bool ours);
/*
 * Does the file prove that the trace of tid, whose first event is of first_time (0: unknown),
 * starts where the thread starts?
 */
bool report_cover_has_start(const struct report_cover *cover, int32_t tid, uint64_t first_time);
/* Does the file prove that tid exits after its newest event, which is of last_time? */
bool report_cover_has_end(const struct report_cover *cover, int32_t tid, uint64_t last_time);
/* The number of threads (of pid; -1: of all) that records name and that have no trace. */
size_t report_cover_without_trace(const struct report_cover *cover, int32_t pid,
				  bool (*has_trace)(const void *ctx, int32_t tid), const void *ctx);
/* Counts a gap. */
void report_cover_event(struct report_cover *cover, const struct auxtap_event *ev);
/* Is the file's time emulated: one instruction is one ns? */
bool report_cover_emulated(const struct report_facts *facts);
/* The time that the trace spans, in ns; 0: unknown. */
uint64_t report_cover_duration(const struct report_facts *facts, const struct report_cover *cover);
/* Did code run between the end of the dead thread's flow and its death that is unknown? */
bool report_cover_end_lost(const struct report_cover *cover);
void report_cover_print(const struct report_out *ro, const struct report_facts *facts,
			const struct report_cover *cover);
void report_cover_free(struct report_cover *cover);

/* ---- calls ---- */

/*
 * A call, or equal calls that returned (call_fold.c): it counts all of them, and the calls that
 * they made. Three calls of f, each of which called g twice, are f x 3 with g x 6 in it.
 */
struct call_node {
	uint64_t addr;		   /* entry of the called function; 0: unknown */
	uint64_t site;		   /* the calling instruction */
	uint64_t last_ip;	   /* the last instruction known to have run in it */
	uint64_t nr_insns;	   /* in the function itself */
	uint64_t nr_dropped_insns; /* in calls that were dropped, and lazy binding */
	uint64_t inclusive_insns;  /* report_hottest.c: in it and its children */
	uint64_t time;
	uint64_t newest; /* of several calls: the time of the last one; 0: it is one call */
	struct call_node *parent, *first, *last;
	struct call_node *prev, *next; /* older and newer sibling */
	uint64_t nr_children;	       /* calls that it made, including dropped ones */
	uint64_t nr_dropped;	       /* calls that it made and that were dropped */
	uint64_t repeat;	       /* number of calls; of a group: of rounds */
	uint64_t hash;		       /* the same for equal calls; 0: equal to no other */
	uint32_t nr_below;	       /* of a call that returned: nodes below it */
	uint32_t nr_items;	       /* of a group: nodes */
	uint32_t code_generation;      /* tree->code_generation when it was entered */
	uint64_t nr_above; /* open calls between its parent and it that are unknown or not shown */
	uint64_t depth;	   /* open calls that its row stands for; above 1: a recursion */
	uint64_t insns_in_recursion; /* in those of them that have no row of their own */
	uint64_t calls_in_recursion; /* calls that these made */
	uint64_t insns_in_those;     /* in these calls and their callees */
	unsigned int period; /* of the outermost row of a recursion: functions in its cycle */
	uint32_t chain;	     /* number of tail calls in a row that lead to it, in one frame */
	uint32_t counted_at; /* call_counts.c: its entry there, plus 1; 0: none */
	bool returned;
	bool lost;	    /* open when a gap began: whether it returned is unknown */
	bool null_target;   /* the function called is at address 0 */
	bool known_caller;  /* entered by a call that was traced */
	bool gap;	    /* not a call: a gap in the trace, described by text */
	bool exec;	    /* with gap: not a gap but an exec */
	bool loses_callers; /* with gap: which calls were open before it is unknown after it */
	bool in_recursion;  /* report_hottest.c: counted in the row of an outer call of the function
			     */
	bool group;	    /* not a call: the calls below it were made repeatedly, in this order */
	bool mixed;	    /* with group: their order is not kept */
	bool varies;	    /* in a group: not always one call per round */
	bool async;	    /* entered by a signal or interrupt */
	/* with async: the handler has returned to the restorer; only rt_sigreturn() is left */
	bool only_sigreturn_left;
	bool by_tail_call; /* entered by a tail call: it returns to where its parent would */
	bool by_return;	   /* entered by a return that matches no call: of another stack */
	/* entered by a jump that is not proven to be a tail call: it may have switched stacks */
	bool by_jump;
	bool by_fallthrough; /* with by_tail_call: no branch from the parent to it */
	bool is_open;	     /* an open call when the rows were chosen */
	bool in_library;     /* in a library, for the choice of the rows */
	bool shown;	     /* chosen to be printed */
	char *text;
};

struct call_tree; /* of one thread */

/* Properties of the code at an address. */
struct call_code {
	uint64_t start;	    /* entry of the function around it, by its symbol; 0: no symbol */
	bool plt_stub;	    /* a PLT entry, or the resolver: it only jumps to the called function */
	bool plt_jump;	    /* without a symbol: a jump instruction as in a PLT entry */
	bool in_linker;	    /* in the dynamic linker */
	uint64_t fde_start; /* start of the range of the FDE that describes it; 0: none */
	/* start or fde_start is that of a part split off a function (f.cold): no call enters it */
	bool cold_part;
};

struct call_code_ops {
	void (*look_up)(void *ctx, uint64_t addr, struct call_code *code); /* *code is zero */
	/* The landing pad of the call instruction at 'call'; 0: none, or unknown. */
	uint64_t (*landing_pad)(void *ctx, uint64_t call);
	/* Are both in one function by the names of its symbols, which is split ("f", "f.cold")? */
	bool (*is_same_function)(void *ctx, uint64_t from, uint64_t to);
	/* Is it proven that the code in [begin, end) does not switch to another stack? */
	bool (*keeps_stack)(void *ctx, uint64_t begin, uint64_t end);
	/* Is the code at addr the same as at that time? */
	bool (*same_code)(void *ctx, uint64_t addr, uint64_t time);
	/* Number of instructions in [begin, end); 0: unknown. */
	uint32_t (*nr_insns)(void *ctx, enum auxtap_isa isa, uint64_t begin, uint64_t end);
};

/* report_code.c: answers from images. */
struct report_code {
	struct auxtap_image_set *images;
	pid_t pid;
	uint64_t time;
};
extern const struct call_code_ops report_code_ops; /* ctx: a struct report_code */

/* ops: NULL if no images are known. */
struct call_tree *call_tree_new(const struct call_code_ops *ops, void *ctx);
/* The thread's process executed another program: all calls before are over. */
int call_tree_exec(struct call_tree *tree, const char *text);
void call_tree_free(struct call_tree *tree);
/* From here on other code may be at the same addresses. */
void call_tree_code_changed(struct call_tree *tree);
int call_tree_event(struct call_tree *tree, const struct auxtap_event *ev);
/* After the last event: the thread died at ip. 0 or -ENOMEM. */
int call_tree_died(struct call_tree *tree, uint64_t ip);
/* The root of the tree, which is not a call. NULL: the tree is empty. */
struct call_node *call_tree_root(struct call_tree *tree);
/* Instructions in node and in all that it called, including dropped calls. */
uint64_t call_node_insns(const struct call_node *node);
/*
 * When the rows have been chosen: how many calls made in it, and signal handlers, have no row, and
 * the instructions executed in these, and by the dynamic linker to find functions.
 */
uint64_t call_node_hidden_calls(const struct call_node *node);
uint64_t call_node_hidden_insns(const struct call_node *node);
/* How many calls the node stands for. */
uint64_t call_node_calls(const struct call_node *node);
/*
 * Folds the calls in node until they need about max rows. Calls of one function count as equal
 * whatever they called; frequent calls become one [mixed] group; rare ones stay. The result may
 * need more rows.
 */
void call_node_fit(struct call_tree *tree, struct call_node *node, unsigned int max);
/* Has the newest gap in the node left its callers known: were only calls in it not counted? */
static inline bool call_node_is_uncounted(const struct call_node *node)
{
	return node->last && node->last->gap && !node->last->loses_callers;
}

/* An open call, one that has not returned. There may be no node for it. */
struct call_open {
	struct call_node *node; /* NULL: it has none */
	uint64_t addr, site, last_ip, time, nr_insns;
	uint64_t nr_inside;    /* calls that it made and that returned */
	uint64_t insns_inside; /* in these, and in lazy binding by the dynamic linker */
	bool known_caller, async, by_tail_call;
	bool is_proven; /* with by_tail_call: the jump was its caller's last act */
	bool by_return, by_jump, by_fallthrough, null_target; /* as in the node */
};

/*
 * Lists the open calls, innermost first, starting with 'from'. The caller frees *open. Returns
 * their number; 0 without memory.
 */
size_t call_tree_open_calls(struct call_tree *tree, struct call_node *from,
			    struct call_open **open);
/*
 * Finds the rows of open calls, innermost first, and marks their nodes is_open. fold: a recursion
 * has one row for each of its functions, which stands for 'depth' calls. Returns the number of
 * rows.
 */
size_t call_open_fold(struct call_tree *tree, struct call_open *open, size_t nr, bool fold,
		      struct call_node **rows);
/*
 * Number of functions that call each other in a cycle from the call at 'at' outwards; *len is the
 * number of calls in whole cycles. 0: it is not a recursion.
 */
size_t call_open_period(const struct call_open *open, size_t nr, size_t at, size_t *len);
/* The number of its nodes at present. */
size_t call_tree_size(const struct call_tree *tree);
/*
 * Number of callers of the outermost node that were forgotten because there were too many; *is_max:
 * some of them may have returned.
 */
size_t call_tree_forgotten(const struct call_tree *tree, bool *is_max);
/* How many of them are certainly open. */
size_t call_tree_forgotten_min(const struct call_tree *tree);
/* The newest gap that lost the callers: unknown calls may be open there. NULL: no such gap. */
const char *call_tree_gap(const struct call_tree *tree);
/* The function that ran last; NULL: none is known to be open. */
struct call_node *call_tree_current(struct call_tree *tree);

/* The counts of one function, over all its calls (call_counts.c). */
struct call_function {
	uint64_t addr;	/* its start, or where it was entered; 0: functions beyond the limit */
	uint64_t time;	/* when it was first entered; selects the image that was mapped there */
	uint64_t own;	/* instructions of the function itself */
	uint64_t insns; /* including its callees; each counts once, however deep it recurses */
	uint64_t calls; /* traced ones, not what was running at the start or after a gap */
};
/* To be called before the first event: counts functions. 0 or -ENOMEM. */
int call_tree_count(struct call_tree *tree);
/* The current counts of function number i; false: i is out of range. */
bool call_tree_function(const struct call_tree *tree, size_t i, struct call_function *function);
/* Are the counts incomplete because there were too many open calls or functions? */
bool call_tree_count_cut(const struct call_tree *tree);

/* ---- names and the tree of calls ---- */

/*
 * A copy of ro that looks up addr as of that time; if that is 0, or nothing was mapped there then,
 * as of ro->time.
 */
struct report_out report_at(const struct report_out *ro, uint64_t time, uint64_t addr);
/* A name from a file, made safe to print; valid for the next REPORT_TEXT_RING - 1 calls. */
const char *report_text(const struct report_out *ro, const char *text);
/* The same for the name of a function, which is shortened. */
const char *report_symbol(const struct report_out *ro, const char *symbol);
/* The part after the last slash. */
const char *report_base_name(const char *path);
/* Names an address without a symbol by its offset in the image. */
void report_offset(const struct report_out *ro, const char *image, uint64_t off, char *name,
		   size_t name_size);
/* The entry of the function around addr by its symbol; 0: unknown. */
uint64_t report_function_start(const struct report_out *ro, uint64_t addr);
/* Name "age_of"; location, which may be NULL, receives "null_deref.c:29". */
void report_name(const struct report_out *ro, uint64_t addr, char *name, size_t name_size,
		 char *location, size_t location_size);
/* The same for the call before a return address, which is shown if the function has no name. */
void report_caller_name(const struct report_out *ro, uint64_t return_addr, char *name,
			size_t name_size, char *location, size_t location_size);
/*
 * The same for the function that was called, not one inlined into it: the instruction at an entry
 * address may be one of an inlined function.
 */
void report_function_name(const struct report_out *ro, uint64_t addr, char *name, size_t name_size,
			  char *location, size_t location_size);
/*
 * Prints "age_of at null_deref.c:29", or "age_of in PROGRAM" if no source line is known.
 */
void report_print_location(const struct report_out *ro, uint64_t addr);
/* The same for a caller: one of the functions inlined there, or a level that is negative. */
void report_print_caller(const struct report_out *ro, struct report_caller caller);
/* The same for the function that was called, not one inlined into it. */
void report_print_outermost(const struct report_out *ro, uint64_t addr);
#define REPORT_SOURCE_AROUND 3 /* lines before, and after, at most */

/* Lines of a source file around one. */
struct report_source {
	unsigned int first, nr;
	bool newer; /* the file is newer than the program: its lines may have changed */
	struct report_source_line {
		size_t len;
		char text[1024]; /* as in the file, but truncated */
	} lines[2 * REPORT_SOURCE_AROUND + 1];
};

/*
 * report_source.c: reads the line of the frame, which is in that image, and 'around' lines on
 * either side. False if the owner of the recording, or of the image, which names the source file,
 * may not read that file; or if the recording is a packed file.
 */
bool report_source_read(const struct report_out *ro, const char *image_name,
			const struct auxtap_frame *frame, unsigned int around,
			struct report_source *source);
/* The line of the frame from a packed file; false: it does not contain the line. */
bool report_source_packed(const struct report_out *ro, const struct auxtap_frame *frame,
			  struct report_source *source);
/* Prints the source line at loc if report_source_read(), or a packed file, provides it. */
void report_source_line(const struct report_out *ro, const struct auxtap_location *loc);

/* One row of the tree of calls: a call, or equal siblings. */
struct report_call_row {
	const struct call_node *node; /* the oldest of them */
	unsigned int depth;
	uint64_t repeat, hidden; /* hidden: calls made by all of them that have no row */
	uint64_t hidden_insns;	 /* in these, and in lazy binding by the dynamic linker */
	uint64_t own_insns;	 /* in the functions themselves */
	uint64_t insns;		 /* including their callees; 0: they have not returned */
	bool current;		 /* the function that ran last */
};
typedef void report_call_fn(void *ctx, const struct report_call_row *row);

/* The rows that show a tree of calls. */
struct report_calls {
	struct call_tree *tree;
	struct shown_calls *shown;
	size_t nr_outer;   /* open calls farther out than the rows */
	bool outer_is_max; /* nr_outer is a maximum: some of them may have returned */
	const char *gap;   /* unknown calls may have been open before this gap; NULL: none */
	bool gap_shown;	   /* the gap has a row */
};

/* Was node called through a PLT entry of that name, "f@plt"? Then f was called. */
bool report_call_through_stub(const struct report_out *ro, const struct call_node *node,
			      const char *name);
/*
 * Chooses nr_rows rows, or as many as there are; 0: at most 40, without the runtime's start-up.
 * hottest: the calls that executed most, instead of the newest. Folds the tree to that size. 0, or
 * -1 without memory; then there is nothing to free. calls->shown is NULL if no calls were traced.
 */
int report_calls_choose(const struct report_out *ro, struct call_tree *tree, unsigned int nr_rows,
			bool hottest, struct report_calls *calls);
void report_calls_each(const struct report_calls *calls, report_call_fn *fn, void *ctx);
void report_calls_free(struct report_calls *calls);

/* Prints the rows that report_calls_choose() chooses. */
void report_tree_print(const struct report_out *ro, struct call_tree *tree, unsigned int nr_rows,
		       const char *end);
/* The same for the hottest calls. */
void report_hot_calls_print(const struct report_out *ro, struct call_tree *tree,
			    unsigned int nr_rows, const char *end);
/*
 * report_hottest.c: folds the tree to nr_rows, and lists the nodes of calls that are not open,
 * hottest first, callers before their callees. The caller frees the list; NULL: no memory.
 */
struct call_node **report_hottest(struct call_tree *tree, unsigned int nr_rows, size_t *nr);

/* Calls fn for the last nr calls of the program's own functions (report_last_calls.c). */
typedef void report_last_call_fn(void *ctx, const struct call_node *node);
void report_last_calls_each(const struct report_out *ro, struct call_tree *tree, unsigned int nr,
			    report_last_call_fn *fn, void *ctx);
void report_last_calls_print(const struct report_out *ro, struct call_tree *tree, unsigned int nr);

/* ---- memory (report_memory.c) ---- */

/* Says which memory of the program the file contains, as a part of a sentence. */
void report_memory_text(const struct report_facts *facts, char *text, size_t size);
/* Prints the same as the report's last line. */
void report_memory_print(const struct report_out *ro, const struct report_facts *facts);

/* ---- blocks of the heap (report_blocks.c) ---- */

struct report_origin;
/*
 * Drops the blocks that have nothing to do with the death, and sorts the others by their distance
 * from the fault. regs: of the dying thread, or NULL; insn: the text of the faulting instruction,
 * or "".
 */
void report_blocks_choose(const struct report_out *ro, struct report_facts *facts,
			  const struct auxtap_regs *regs, const char *insn,
			  const struct unwind_frames *frames, const struct report_origin *origin);
void report_blocks_print(const struct report_out *ro, const struct report_facts *facts,
			 const struct auxtap_regs *regs);
/* True if the block was freed before, not just now, by a call that returned. */
bool report_block_was_freed(const struct report_block *block);
/*
 * report_block_vars.c: finds the variables that point into freed blocks. is_null: the fault is that
 * of a null pointer.
 */
void report_block_variables(const struct report_out *ro, struct report_facts *facts,
			    const struct unwind_frames *frames, bool is_null);

/* The bytes of a word as text; false: they are not at least four printable ones, then zeros. */
bool report_word_text(uint64_t word, char text[9]);
/* Prints a line of the report's head about blocks that were written past their end, if any were. */
void report_overrun_line(const struct report_out *ro, const struct report_facts *facts,
			 const struct auxtap_regs *regs);
/* Prints all blocks that were written past their end. */
void report_overruns_print(const struct report_out *ro, const struct report_facts *facts,
			   const struct auxtap_regs *regs);

/* ---- images (report_images.c) ---- */

void report_images_print(const struct report_out *ro, const struct report_facts *facts);
/* Bytes of executable anonymous memory that the snapshot contains. */
uint64_t report_generated_bytes(const struct report_facts *facts);

/* ---- backtrace (report_frames.c) ---- */

/* How the backtrace ends. */
enum report_frames_end {
	REPORT_FRAMES_OUTERMOST, /* with the outermost frame */
	REPORT_FRAMES_TOO_MANY,
	REPORT_FRAMES_NOT_CALLED,
	REPORT_FRAMES_NO_CODE,	       /* at frames->bad_return_addr */
	REPORT_FRAMES_NOT_IN_SNAPSHOT, /* the stack at frames->unread_addr */
	REPORT_FRAMES_NO_FILE,
	REPORT_FRAMES_NO_INFO,
	REPORT_FRAMES_OVERWRITTEN,  /* the saved registers that lead to the next frame */
	REPORT_FRAMES_CONTRADICTED, /* by the trace, which has another call */
	REPORT_FRAMES_ENTERED_WITHIN,
	REPORT_FRAMES_32BIT, /* which is not unwound */
	REPORT_FRAMES_SENSELESS,
};
enum report_frames_end report_frames_end(const struct report_out *ro,
					 const struct report_facts *facts,
					 const struct unwind_frames *frames);
void report_frames_print(const struct report_out *ro, const struct report_facts *facts,
			 const struct unwind_frames *frames);

/* report_outer.c: callers of the last frame of the backtrace that the trace shows. */
struct report_outer {
	struct call_open *open; /* malloc'ed; from 'at' on */
	size_t nr, at;
	bool perhaps_more; /* there may be others, which were called before the trace began */
	size_t nr_more;	   /* others that the trace shows, too many to be kept */
	bool more_is_max;  /* nr_more is a maximum */
};

/* False: the trace shows none; nothing is to be freed. To be called before the tree is folded. */
bool report_outer_find(const struct report_out *ro, const struct report_facts *facts,
		       struct call_tree *tree, const struct unwind_frames *frames,
		       struct report_outer *outer);
struct report_outer_row {
	const struct call_open *call; /* of a recursion the innermost one */
	size_t depth;		      /* number of calls of a recursion */
	size_t nr_between;	      /* rows left out before it */
	size_t calls_between;	      /* calls of these rows */
	bool other_places; /* not all of these calls are at the same instruction as the innermost */
	/* each of them has left the stack: its last act was to jump to the call next farther in */
	bool is_tail;
};
typedef void report_outer_fn(void *ctx, const struct report_outer_row *row);
/*
 * Calls fn for each, innermost first: of a recursion one row for each function; of more than 'most'
 * rows only for the innermost and the outermost ones.
 */
void report_outer_each(const struct report_outer *outer, size_t most, report_outer_fn *fn,
		       void *ctx);
void report_outer_print(const struct report_out *ro, const struct report_facts *facts,
			struct call_tree *tree, const struct unwind_frames *frames);

/* report_tails.c: adds the tail frames that the trace proves. */
void report_tails_find(const struct report_out *ro, struct call_tree *tree,
		       struct unwind_frames *frames);

/* ---- arguments and local variables (report_vars.c) ---- */

typedef void report_var_fn(void *ctx, const struct image_variable *var);
/*
 * Calls fn for the arguments of one of the functions at frame nr; with 'locals' then for the local
 * variables.
 */
void report_vars_each(const struct report_out *ro, const struct report_facts *facts,
		      const struct unwind_frames *frames, int nr, unsigned int level, bool locals,
		      report_var_fn *fn, void *ctx);
/* Prints them, in lines of their own below the function. */
void report_vars_print(const struct report_out *ro, const struct report_facts *facts,
		       const struct unwind_frames *frames, int nr, unsigned int level, bool locals);

/* ---- last branches (report_branches.c) ---- */

#define REPORT_BRANCHES 64

struct report_branch {
	uint64_t from, to;
	enum auxtap_branch_kind kind;
	bool async, has_from, has_to;
	/* more like it followed; an endless loop of direct branches generates no packets */
	bool uncounted;
	unsigned int repeat;
	uint64_t time;
	int gap; /* cause of the gap before it (enum auxtap_gap_cause); -1: none */
};

/* The newest branches of a thread. */
struct report_branches {
	struct report_branch at[REPORT_BRANCHES];
	unsigned int nr; /* since the start; at[] contains the newest */
	bool after_gap;	 /* there was no branch since the newest gap */
	enum auxtap_gap_cause gap;
};

/* The branches of a thread up to a call that has not returned. */
struct report_branches_at_call {
	uint64_t return_addr;
	unsigned int nr_open; /* calls with it that have not returned; 0: none is known */
	struct report_branches branches; /* up to the outermost of them */
};

#define REPORT_MAX_AT_CALLS 12

/* The same for several calls. */
struct report_branches_at_calls {
	struct report_branches_at_call at[REPORT_MAX_AT_CALLS];
	int nr;
};

/* Notes an event of the thread. */
void report_branches_add(struct report_branches *branches, const struct auxtap_event *ev);
/* To be called after report_branches_add(). At most nr branches are kept for each call. */
void report_branches_at_calls_add(struct report_branches_at_calls *at_calls,
				  const struct report_branches *branches, unsigned int nr,
				  const struct auxtap_event *ev);
/* The branches up to the call that would return to return_addr; NULL: none is known to be open. */
const struct report_branches *
report_branches_at_calls_find(const struct report_branches_at_calls *at_calls,
			      uint64_t return_addr);
/*
 * An ETM leaves out the two lowest bits of an address: completes the addresses where the thread
 * died by pc, which is from the registers.
 */
void report_branches_complete(struct report_branches *branches, uint64_t pc);
/* The newest branch that the program itself took, if it is one of the last two; else NULL. */
const struct report_branch *report_branches_last(const struct report_branches *branches);
/* "call", "cond", ... */
const char *report_branch_kind(const struct report_branch *b);
/* Is it a call, or a jump to the beginning of a function? */
bool report_branch_enters(const struct report_out *ro, const struct report_branch *b);
/* The address of the newest branch, if it is an indirect jump that went to pc; else 0. */
uint64_t report_branches_jump_to(const struct report_branches *branches, uint64_t pc);
/*
 * Prints at most nr of them. before: the call that they lead to; NULL: the trace ends there.
 * signal: the name of the signal that followed them, or of another end; NULL: none. unloaded:
 * nothing is mapped any more where they end.
 */
void report_branches_print(const struct report_out *ro, const struct report_branches *branches,
			   unsigned int nr, const char *before, const char *signal, bool unloaded);

/* ---- how the thread came to where no code is (report_jump.c) ---- */

/* The calls of a thread that have not returned, and its last return. */
struct report_return_addrs {
	struct callstack calls; /* their return addresses; 0 for a signal handler */
	uint64_t last_call;	/* the return address of the last call; gaps do not change it */
	uint64_t from, to;	/* the last return */
	uint64_t expected;	/* the return address of its call; 0: unknown */
	bool unmatched;		/* it returned to none of the calls */
	uint64_t trace_off_ip;	/* where tracing last went off */
	bool trace_off_async;
};

/* Notes an event of the thread. 0, or -1 without memory. */
int report_return_addrs_add(struct report_return_addrs *returns, const struct auxtap_event *ev);
/*
 * For a death at an ip that cannot be executed (bad_ip), or at a return to a non-canonical address:
 * writes fault->why by what the trace shows. last: the branch that went to ip; NULL: unknown.
 */
void report_jump_explain(const struct report_out *ro, const struct report_facts *facts,
			 const struct auxtap_regs *regs, const struct report_return_addrs *returns,
			 const struct report_branch *last, uint64_t ip, struct fault *fault);

/*
 * Does the stack, from a little below sp on, have the return address of a call elsewhere than in
 * 'slot'? back is how many of the calls that have not returned are newer.
 */
bool report_return_addr_elsewhere(const struct report_facts *facts,
				  const struct report_return_addrs *returns, size_t back,
				  uint64_t sp, uint64_t slot);
/* Does the stack below 'slot' have the return address of the newest call? */
bool report_return_addr_below(const struct report_facts *facts,
			      const struct report_return_addrs *returns, uint64_t slot);

/* Is nothing mapped at addr where an image was before? */
bool report_was_unloaded(const struct report_out *ro, const struct report_facts *facts,
			 uint64_t addr);

/* Is the instruction before addr the system call of rt_sigreturn()? */
bool report_ends_handler(const struct report_out *ro, const struct auxtap_regs *regs,
			 uint64_t addr);
/*
 * For a death by a signal that was sent while the handler of a fault ran, at the faulting
 * instruction: explains why that faults again with the registers of the death; false: it may not.
 */
bool report_first_fault(const struct report_out *ro, const struct report_facts *facts,
			const struct auxtap_regs *regs, struct fault *fault);

/* ---- the head of the report (report_headline.c) ---- */

/* The innermost function that is the program's own. */
struct report_own_frame {
	int frame;		 /* -1: none; for a tail frame the frame before it */
	struct report_caller at; /* for a tail frame, the jump */
	bool tail;		 /* it left its frame by a tail call */
};
struct report_own_frame report_own_frame(const struct report_out *ro,
					 const struct unwind_frames *frames);

enum report_origin_kind {
	REPORT_ORIGIN_UNKNOWN,
	REPORT_ORIGIN_READ,	/* from memory */
	REPORT_ORIGIN_RETURNED, /* by a function */
	REPORT_ORIGIN_SET,	/* to a constant */
};

/* report_origin.c: where the dying thread got the pointer from that it used. */
struct report_origin {
	enum report_origin_kind kind;
	bool is_code; /* it called the pointer, or jumped there */
	bool has_value;
	uint64_t value; /* the pointer, before constants were added to it */
	uint64_t ip;	/* of the instruction that read it, returned or set it */
	bool in_call;	/* ... or of a call: a function of a library's header that was called did it
			 */
	bool has_addr;
	uint64_t addr; /* that it was read from */
	bool is_local; /* ... in the frame of the function that read it */
	/* a function of a library has run since: it may have allocated or freed what was there */
	bool library_ran;
	const char *variable; /* ... which is there; NULL: unknown. Belongs to the images */
	uint64_t variable_off, variable_size;
};

struct report_headline {
	const struct auxtap_regs *regs; /* of the thread that died; NULL: unknown */
	uint64_t ip;			/* with regs: of the instruction that caused the signal */
	struct fault *fault;
	const struct unwind_frames *frames;
	struct report_own_frame own_frame;
	const struct report_branches *branches;	   /* of the thread; NULL: it has no trace */
	const struct report_return_addrs *returns; /* the same */
	bool is_wrong_value; /* it died of a wrong pointer, index, address or heap */
	bool unknown_insn;   /* SIGILL of bytes that the disassembler does not know either */
	bool flow_end_known;
	uint64_t flow_end;		  /* the next address of the flow, if flow_end_known */
	const struct report_branch *last; /* the branch that went to ip; NULL: unknown */
	struct report_origin origin;
	struct report_slice slice;
};

/* Finds head->origin. */
void report_origin_find(const struct report_out *ro, const struct report_facts *facts,
			struct report_headline *head);
/* Was the pointer read from this block of the heap? */
bool report_origin_is_in(const struct auxtap_crash_block *block,
			 const struct report_origin *origin);
/*
 * Drops an origin that says nothing new: read from a local variable; or, in the line of the fault,
 * set, or read from memory that has no name and is in none of the blocks to be printed.
 */
void report_origin_check(const struct report_out *ro, const struct report_facts *facts,
			 struct report_headline *head);
void report_origin_print(const struct report_out *ro, const struct report_facts *facts,
			 const struct report_origin *origin);

/*
 * report_handled.c: for a death in the handler of a fault, or by a signal sent there: explains the
 * fault that was handled. False: unknown.
 */
bool report_handled_fault(const struct report_out *ro, const struct report_facts *facts,
			  const struct report_headline *head, struct fault *fault);

/* Finds head->last, and completes head->fault->why by what the trace shows. */
void report_headline_explain(const struct report_out *ro, const struct report_facts *facts,
			     struct report_headline *head);
void report_headline_print(const struct report_out *ro, const struct report_facts *facts,
			   const struct report_headline *head);

/* report_samples.c: prints the report of Arm SPE samples; either raw or pd is NULL. */
int report_samples(struct auxtap_perfdata *pd, const char *path, const struct auxtap_raw_opts *raw,
		   struct auxtap_image_set *images, const struct auxtap_report_opts *opts,
		   FILE *out, struct auxtap_error *err);
/* Is it a C or C++ library, or the dynamic linker, which rarely contains the bug? */
bool report_is_runtime(const char *image);
bool report_is_linker(const char *image); /* the dynamic linker */
/* Is it a library's function, even if statically linked? frame may be NULL. */
bool report_is_library(const char *image, const struct auxtap_frame *frame);
/* Is the function at this level of those inlined at loc a library's? */
bool report_is_library_function(const struct auxtap_location *loc, unsigned int level);
/* The level of the innermost function inlined at loc that is the program's own; -1: none. */
int report_own_level(const struct auxtap_location *loc);
/* Is it a function that the compiler adds to each program, not the program's own? */
bool report_is_helper(const struct auxtap_location *loc);

/* auxtap_report() with the caller's images; opts is complete, those for images are unused. */
int report_recording(struct auxtap_perfdata *pd, struct auxtap_image_set *images,
		     const struct auxtap_report_opts *opts, FILE *out, struct auxtap_error *err);

#endif
