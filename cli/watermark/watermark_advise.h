/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Finds the smallest AUX area and its watermark: the arithmetic (watermark_advise_sum.c), the
 * search by simulation (watermark_advise_find.c), and their output (watermark_advise.c).
 */
#ifndef AUXTAP_CLI_WATERMARK_ADVISE_H
#define AUXTAP_CLI_WATERMARK_ADVISE_H

#include <auxtap/watermark.h>
#include <stdbool.h>

/* Runs with the given jitter; one more has all latencies at their maximum. */
#define ADVISE_SEEDS 4
#define ADVISE_TRIES 128 /* watermarks of one area */
#define ADVISE_AREAS 32
/* Doublings of the area for which the loss of an Arm unit at its limits is simulated. */
#define ADVISE_LARGER 3

struct advise_request {
	struct auxtap_watermark_config c; /* the machine; the search sets watermark and area */
	const uint64_t *watermarks;	  /* only these; NULL: all candidates */
	size_t nr_watermarks;
	uint64_t max_bytes;	  /* largest area */
	uint64_t nr_transactions; /* length of each confirming run */
};

/* Trace that must fit into the area for one watermark, in bytes. */
struct advise_need {
	uint64_t watermark;
	uint64_t overshoot;    /* generated between the threshold and the driver's handler */
	uint64_t while_asleep; /* generated while the reader sleeps */
	uint64_t copy_ns;      /* how long the reader copies */
	uint64_t copied;       /* how much it copies */
	uint64_t until_read;   /* generated from the wakeup until the reader frees the space */
	uint64_t nr_passed;    /* watermarks that are reached in that time */
	uint64_t unread;       /* maximum at the start of a transaction */
	uint64_t need;	       /* size of the area: PT needs more than this, others at least this */
};

/* The result of simulating one area with several watermarks. */
struct advise_area {
	uint64_t nr_bytes;
	unsigned int nr_tried,
		nr_good;	     /* good: without loss, except at the limits of an Arm unit */
	uint64_t good_min, good_max; /* the smallest and largest good watermark */
	uint64_t best;		     /* the watermark with the smallest loss */
	uint64_t lost, produced;     /* bytes with that watermark */
	uint64_t stopped;	     /* the part of lost that is lost at the limit */
	char refusal[160];	     /* why the machine was refused; empty: it was not */
};

struct advise {
	bool arm;	      /* the unit stops at each threshold */
	bool reader_too_slow; /* the reader is slower than the trace, on average */
	bool found;
	uint64_t mean_rate;
	struct auxtap_watermark_config c; /* the result, with all latencies at their maximum */
	struct advise_need sum;
	struct advise_area areas[ADVISE_AREAS]; /* from the smallest on; the last is the result */
	unsigned int nr_areas;
	struct advise_area larger[ADVISE_LARGER];
	unsigned int nr_larger;
	/* the confirming runs: first c, then with jitter and seeds 1, 2, … */
	struct auxtap_watermark_config runs[1 + ADVISE_SEEDS];
	struct auxtap_watermark_result results[1 + ADVISE_SEEDS];
	/* with the watermark of stock perf, which has no option for it: */
	uint64_t perf_area;	 /* the smallest area; 0: none is large enough */
	struct advise_area perf; /* in the area of the result */
};

/* The maximum trace that is generated within time_ns; the average per second. */
uint64_t advise_bytes_in(const struct auxtap_watermark_config *c, uint64_t time_ns);
uint64_t advise_mean_rate(const struct auxtap_watermark_config *c);
void advise_compute_need(const struct auxtap_watermark_config *c, uint64_t watermark,
			 struct advise_need *sum);
/* The watermark of stock perf for an area. */
uint64_t advise_perf_watermark(const char *driver, uint64_t area);

/* Returns 0, found or not, or a negative errno and sets *err. */
int advise_find(const struct advise_request *request, struct advise *a, struct auxtap_error *err);

#endif
