/* SPDX-License-Identifier: BSD-2-Clause */
/* The options of record and crash, as perf spells them. */
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
	uint64_t values;	/* bytes; 0: none */
	bool pack;		/* crash: pack each snapshot; session.redact or with_memory */
	bool with_memory;
	bool memory_given;	   /* session.memory is the user's choice */
	enum report_output report; /* crash: what is saved beside a snapshot */
	int error_exitcode;	   /* crash: after any death; 0: not given */
};

/* 0: continue; 1: printed help; -1: printed a usage error. */
int capture_options_parse(struct capture_options *o, const struct cli_capture *kind, int argc,
			  char **argv);

#endif
