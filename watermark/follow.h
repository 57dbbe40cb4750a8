/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Replays a real machine's run in the model: the same transactions in the same order, each ended
 * where the real one ended. Compares the run with the model: thresholds, records and their flags,
 * skipped bytes, wakeups, and when the event is disabled.
 */
#ifndef AUXTAP_WATERMARK_FOLLOW_H
#define AUXTAP_WATERMARK_FOLLOW_H

#include <auxtap/watermark.h>

struct follow;

/* An AUX record, and the model's prediction for its transaction. Positions are absolute. */
struct follow_record {
	uint64_t offset, nr_bytes, flags;
	uint64_t threshold,
		limit; /* of its transaction; UINT64_MAX: none, or not ahead of the head */
	/* an interrupt ended it: it ends at or after its threshold, or at its limit */
	bool by_interrupt;
	uint64_t overshoot; /* if by_interrupt: bytes after the first of threshold and limit */
	bool agrees;
	char text[200]; /* why it does not agree */
};

/*
 * Starts the model with the event enabled. NULL: see err, or *refused: why the model refuses this
 * configuration.
 */
struct follow *follow_open(const struct auxtap_watermark_config *config, char *refused, size_t size,
			   struct auxtap_error *err);
void follow_close(struct follow *f);

/*
 * The real reader's actions, in its order. follow_drained(): the data ring was empty, so all
 * records so far have been passed to follow_record(); the transactions of later records begin with
 * a tail at least as new as the newest so far. off: the event has been disabled, so the last
 * transaction may have ended anywhere.
 */
void follow_record(struct follow *f, struct follow_record *record, bool off);
void follow_read(struct follow *f, uint64_t tail);
void follow_drained(struct follow *f);
/* DISABLE and ENABLE. */
void follow_enable(struct follow *f);

/* Whether, with one of the possible tails, trace is off in the model until the next enable. */
bool follow_may_be_off(struct follow *f);
uint64_t follow_wakeups(const struct follow *f);
/* Whether another record must come, whichever tail the last transaction began with. */
bool follow_expects(struct follow *f, struct follow_record *first);
/* The first invariant that the model itself violates; NULL: none. */
const char *follow_violation(const struct follow *f);

#endif
