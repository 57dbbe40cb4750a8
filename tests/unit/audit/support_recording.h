/* SPDX-License-Identifier: BSD-2-Clause */
/* Recordings and event logs made of lines of text, and their audit. */
#ifndef TEST_AUDIT_SUPPORT_RECORDING_H
#define TEST_AUDIT_SUPPORT_RECORDING_H

#include <auxtap/audit.h>

/*
 * A perf.data file, written line by line. RING is a CPU (0), a thread (t5), or a CPU while a task
 * runs, whose trace names it (0:7). Numbers as strtoull() reads them.
 *
 *	family N		AUXTRACE_INFO's type; by default 1, PT; 0: no AUXTRACE_INFO
 *	watermark N		attr.aux_watermark
 *	inherit			attr.inherit
 *	osrelease TEXT		by default the file does not contain the kernel's version
 *	aux RING TIME OFF SIZE [FLAGS [ID]]
 *	trace RING OFF SIZE [FILL [CUT]]	the last CUT bytes are not in the file
 *	lost RING TIME N
 *	start RING TIME
 *	id ID CPU TID		a line of ID_INDEX
 *	id-count N		how many lines ID_INDEX announces
 *	lost-samples N
 *	hw-id			AUX_OUTPUT_HW_ID
 *	damage			a record of no size
 *	unfinished		the header does not contain the size of the data
 *	capture TEXT		a line of the recorder's text
 *	gap CAUSE CPU TID TIME BYTES EXACT
 *	reader AUX-SIZE DATA-SIZE AUX-WATERMARK [WAKEUPS [EMULATED]]	wakeup log of CPU 0
 *	wakeup AUX-HEAD AUX-TAIL DATA-HEAD FLAGS
 */
struct auxtap_audit *audit_recording(const char *lines, const struct auxtap_audit_opts *opts);
/* The same with an error that is expected; its code is returned. */
int audit_recording_error(const char *lines, const struct auxtap_audit_opts *opts,
			  struct auxtap_error *err);
/* Writes the text to a new file; the caller frees its path after unlink(). */
char *audit_file(const char *text);
struct auxtap_audit *audit_log_text(const char *text, const struct auxtap_audit_opts *opts);
/*
 * All that was found, notes included, in the order of the invariants: "truncated aux-hole:2".
 * Prints the findings' texts if others were found; what names the case.
 */
bool audit_found(const struct auxtap_audit *audit, const char *found, const char *what);
/* The first finding of a name, which must be there. */
const struct auxtap_finding *audit_first(const struct auxtap_audit *audit, const char *name);
const struct auxtap_invariant *audit_invariant_by_name(const char *name);

#endif
