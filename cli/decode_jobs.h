/* SPDX-License-Identifier: BSD-2-Clause */
/* Lines of events made by several threads, a chunk of events each, and written in order. */
#ifndef AUXTAP_DECODE_JOBS_H
#define AUXTAP_DECODE_JOBS_H

#include "decode_print.h"

struct decode_jobs;

/*
 * nr: threads that make lines, the caller's among them; the others start when there is enough to
 * do. Lines look as printer's do and go where its lines go, behind those; it is the caller's again
 * after decode_jobs_finish(). NULL: no memory.
 */
struct decode_jobs *decode_jobs_new(struct decode_printer *printer, unsigned int nr);
/* Where the next event is put; then decode_jobs_add() prints it, sooner or later. */
struct auxtap_event *decode_jobs_slot(struct decode_jobs *jobs);
void decode_jobs_add(struct decode_jobs *jobs);
/* Prints what was added, ends the threads. */
void decode_jobs_finish(struct decode_jobs *jobs);

#endif
