/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The smallest AUX area and its watermark: the arithmetic (watermark_advise_sum.c), the search by
 * simulation (watermark_advise_find.c), and their output (watermark_advise.c).
 */
#ifndef AUXTAP_CLI_WATERMARK_ADVISE_H
#define AUXTAP_CLI_WATERMARK_ADVISE_H

#include <auxtap/watermark.h>
#include <stdbool.h>

#define ADVISE_SEEDS 4	 /* runs with the given jitter; one more has all times at their latest */
#define ADVISE_TRIES 128 /* watermarks */
#define ADVISE_AREAS 32
#define ADVISE_LARGER                                                               \
	3 /* doublings for which the loss of an Arm unit at its limits is simulated \
	   */

struct advise_ask {
	struct auxtap_watermark_config c; /* the machine; the search sets watermark and area */
	const uint64_t *watermarks;	  /* only these; NULL: all candidates */
	size_t nr_watermarks;
	uint64_t max_bytes;	  /* largest area */
	uint64_t nr_transactions; /* of each confirming run */
};

/* Trace that must fit into the area for one watermark, in bytes. */
struct advise_sum {
	uint64_t watermark;
	uint64_t overshoot; /* come between the threshold and the driver's handler */
	uint64_t asleep;    /* … while the reader sleeps */
	uint64_t copy_ns;   /* it copies for this time, … */
	uint64_t copied;    /* … this much */
	uint64_t away;	    /* come from its wakeup until it has released the space */
	uint64_t nr_passed; /* watermarks that are reached meanwhile */
	uint64_t unread;    /* at most, when a transaction begins */
	uint64_t need;	    /* the area: larger than this for PT, at least this for the others */
};

/* The result of simulating one area with several watermarks. */
struct advise_area {
	uint64_t nr_bytes;
	unsigned int nr_tried, nr_good; /* good: no loss, except at the limits of an Arm unit */
	uint64_t good_min, good_max;	/* watermarks */
	uint64_t best;			/* the watermark that loses least: … */
	uint64_t lost, produced;	/* … lost of produced bytes */
	uint64_t stopped;		/* of lost: at the limit */
	char refusal[160];		/* or why the machine was refused */
};

struct advise {
	bool arm;      /* its unit stops at each threshold */
	bool hopeless; /* the reader is slower than the trace, on average */
	bool found;
	uint64_t mean_rate;
	struct auxtap_watermark_config c; /* the answer, all times at their latest */
	struct advise_sum sum;
	struct advise_area areas[ADVISE_AREAS]; /* from the smallest; the last is the answer */
	unsigned int nr_areas;
	struct advise_area larger[ADVISE_LARGER];
	unsigned int nr_larger;
	/* the confirming runs: c, then c with jitter and seeds 1, 2, … */
	struct auxtap_watermark_config runs[1 + ADVISE_SEEDS];
	struct auxtap_watermark_result results[1 + ADVISE_SEEDS];
	/* with the watermark of stock perf, which has no option for it */
	uint64_t perf_area;	 /* the smallest; 0: none */
	struct advise_area perf; /* in the area of the answer */
};

/* The most trace that comes within time_ns; the average per second. */
uint64_t advise_bytes_in(const struct auxtap_watermark_config *c, uint64_t time_ns);
uint64_t advise_mean_rate(const struct auxtap_watermark_config *c);
void advise_sum(const struct auxtap_watermark_config *c, uint64_t watermark,
		struct advise_sum *sum);
/* The watermark of stock perf for an area. */
uint64_t advise_perf_watermark(const char *driver, uint64_t area);

/* 0 (found or not), or negative: see err. */
int advise_find(const struct advise_ask *ask, struct advise *a, struct auxtap_error *err);

#endif
