/* SPDX-License-Identifier: BSD-2-Clause */
/* The options of record and crash; they are named as in perf. */
#ifndef AUXTAP_CAPTURE_OPTIONS_H
#define AUXTAP_CAPTURE_OPTIONS_H

#include "cli.h"
#include "cli/report/report_output.h"

#include <auxtap/capture.h>

enum backend_choice {
	BACKEND_AUTO,
	BACKEND_KERNEL,
	BACKEND_EMULATED,
};

struct capture_options {
	struct auxtap_session_opts session;
	enum backend_choice backend;
	enum auxtap_engine engine;
	bool engine_given;
	const char *trace_unit; /* NULL: not given */
	uint64_t max_memory;	/* bytes; 0: not given */
	uint64_t values;	/* bytes of the value log; 0: none */
	bool pack; /* crash: pack each snapshot; requires session.redact or with_memory */
	bool with_memory;
	bool memory_given;	   /* session.memory is the user's choice */
	enum report_output report; /* crash: format of the report that is saved beside a snapshot */
	int error_exitcode;	   /* crash: exit status after any crash; 0: not given */
};

/* Returns 0 to continue, 1 if it printed help, -1 if it printed a usage error. */
int capture_options_parse(struct capture_options *o, const struct cli_capture *kind, int argc,
			  char **argv);

#endif
