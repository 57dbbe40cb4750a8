/* SPDX-License-Identifier: BSD-2-Clause */
/* Several threads format events in chunks; the lines are written in order. */
#ifndef AUXTAP_DECODE_JOBS_H
#define AUXTAP_DECODE_JOBS_H

#include "decode_print.h"

struct decode_jobs;

/*
 * nr is the number of threads that format lines, including the caller; the others start at the
 * first full chunk. Lines have the format of printer and are written to its output, after the lines
 * that it has printed; it must not be used before decode_jobs_finish(). NULL: out of memory.
 */
struct decode_jobs *decode_jobs_new(struct decode_printer *printer, unsigned int nr);
/* Space for the next event; decode_jobs_add() then queues it for printing. */
struct auxtap_event *decode_jobs_slot(struct decode_jobs *jobs);
void decode_jobs_add(struct decode_jobs *jobs);
/* Prints the queued events and joins the threads. */
void decode_jobs_finish(struct decode_jobs *jobs);

#endif
