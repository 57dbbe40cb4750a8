/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The smallest AUX area and its watermark: the arithmetic (watermark_advise_sum.c), the
 * search by simulation (watermark_advise_find.c), and what is said of them
 * (watermark_advise.c).
 */
#ifndef AUXTAP_CLI_WATERMARK_ADVISE_H
#define AUXTAP_CLI_WATERMARK_ADVISE_H

#include <auxtap/watermark.h>
#include <stdbool.h>

#define ADVISE_SEEDS 4	 /* runs with the jitters as given; one more has everything at its latest */
#define ADVISE_TRIES 128 /* watermarks */
#define ADVISE_AREAS 32
#define ADVISE_LARGER                                                              \
	3 /* doublings that are looked at for what an Arm unit loses at its limits \
	   */

struct advise_ask {
	struct auxtap_watermark_config c; /* the machine; watermark and area are to be found */
	const uint64_t *watermarks;	  /* only these; NULL: all that are worth a try */
	size_t nr_watermarks;
	uint64_t max_bytes;	  /* largest area */
	uint64_t nr_transactions; /* of each run that confirms */
};

/* Bytes; what must fit for one watermark. */
struct advise_sum {
	uint64_t watermark;
	uint64_t overshoot; /* come between the mark and the driver's turn */
	uint64_t asleep;    /* … while the reader sleeps */
	uint64_t copy_ns;   /* it copies for so long, … */
	uint64_t copied;    /* … so many */
	uint64_t away;	    /* come from its wakeup until it has given room back */
	uint64_t nr_passed; /* watermarks that are passed meanwhile */
	uint64_t unread;    /* at the most, when a transaction begins */
	uint64_t need;	    /* the area: for PT more than that, for the others at least */
};

/* What the watermarks of one area have come to. */
struct advise_area {
	uint64_t nr_bytes;
	unsigned int nr_tried, nr_good; /* good: nothing lost but at an Arm unit's limits */
	uint64_t good_min, good_max;	/* watermarks */
	uint64_t best;			/* the watermark that loses least, … */
	uint64_t lost, produced;	/* … so much of so much */
	uint64_t stopped;		/* of lost: at the limit */
	char refusal[160];		/* or why there is none */
};

struct advise {
	bool arm;      /* its unit stops at each mark */
	bool hopeless; /* the reader is slower than the trace, on average */
	bool found;
	uint64_t mean_rate;
	struct auxtap_watermark_config c; /* the answer, everything at its latest */
	struct advise_sum sum;
	struct advise_area areas[ADVISE_AREAS]; /* from the smallest on; the last is the answer's */
	unsigned int nr_areas;
	struct advise_area larger[ADVISE_LARGER];
	unsigned int nr_larger;
	/* the runs that confirm: c, then c with jitters and seeds 1, 2, … */
	struct auxtap_watermark_config runs[1 + ADVISE_SEEDS];
	struct auxtap_watermark_result results[1 + ADVISE_SEEDS];
	/* with the watermark that stock perf takes, whatever is wanted */
	uint64_t perf_area;	 /* the smallest; 0: none */
	struct advise_area perf; /* of the answer's area */
};

/* The most trace that comes within so long, and on average in a second. */
uint64_t advise_bytes_in(const struct auxtap_watermark_config *c, uint64_t time_ns);
uint64_t advise_mean_rate(const struct auxtap_watermark_config *c);
void advise_sum(const struct auxtap_watermark_config *c, uint64_t watermark,
		struct advise_sum *sum);
/* The watermark of stock perf for an area. */
uint64_t advise_perf_watermark(const char *driver, uint64_t area);

/* 0 (found or not), or negative: see err. */
int advise_find(const struct advise_ask *ask, struct advise *a, struct auxtap_error *err);

#endif
