/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The backtrace: frames (unwind.c), how it is shown (report_frames.c), callers that only the trace
 * shows (report_outer.c), tail calls (report_tails.c), variables (report_vars.c).
 */
#ifndef AUXTAP_REPORT_FRAMES_H
#define AUXTAP_REPORT_FRAMES_H

#include "decode/image/image_frame.h"
#include "report_facts.h"

#include <auxtap/decode.h>

struct call_open;
struct call_tree;
struct report_out;

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

/* report_vars.c: arguments and local variables. */
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

#endif
