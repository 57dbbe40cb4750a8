/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Replays a real machine's run in the model: the same transactions in their order, each ended where
 * the real one ended. The run is compared with what the model says then: where the threshold was,
 * the records with their flags, what is skipped, who is woken, when the event is disabled.
 */
#ifndef AUXTAP_WATERMARK_FOLLOW_H
#define AUXTAP_WATERMARK_FOLLOW_H

#include <auxtap/watermark.h>

struct follow;

/* An AUX record, and what was expected of it. Positions are absolute. */
struct follow_record {
	uint64_t offset, nr_bytes, flags;
	uint64_t threshold, limit; /* of its transaction; UINT64_MAX: none, or not ahead of it */
	/* it ended at its threshold or after it, or at its limit: by an interrupt */
	bool by_interrupt;
	uint64_t overshoot; /* then: bytes past the first of them */
	bool agrees;
	char text[200]; /* why not */
};

/*
 * The event has been enabled. NULL: see err, or *refused is why the model does not take this
 * configuration.
 */
struct follow *follow_open(const struct auxtap_watermark_config *config, char *refused, size_t size,
			   struct auxtap_error *err);
void follow_close(struct follow *f);

/*
 * What the reader does and sees, in its order. drained: it looked for records, and all that
 * were there then have been handed in: the transactions of later ones begin with a tail at least as
 * new as the newest so far. off: the event has been switched off, so the last transaction may have
 * ended anywhere.
 */
void follow_record(struct follow *f, struct follow_record *record, bool off);
void follow_read(struct follow *f, uint64_t tail);
void follow_drained(struct follow *f);
/* DISABLE and ENABLE. */
void follow_enable(struct follow *f);

/* Of the model, as far as it has come: trace is off, for all that is known, until it is enabled. */
bool follow_may_be_off(struct follow *f);
uint64_t follow_wakeups(const struct follow *f);
/* There must be another record, with whatever tail the last transaction began. */
bool follow_expects(struct follow *f, struct follow_record *first);
/* The first invariant that the model itself violates; NULL: none. */
const char *follow_violation(const struct follow *f);

#endif
