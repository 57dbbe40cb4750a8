/* SPDX-License-Identifier: BSD-2-Clause */
/* A small, complete Intel PT recording made by the writer: code, trace and sideband by
 * hand. */
#ifndef TEST_SUPPORT_PTFILE_H
#define TEST_SUPPORT_PTFILE_H

#include <auxtap/perfdata.h>

#define PTFILE_BASE	0x400000ULL
#define PTFILE_PID	4242
#define PTFILE_PMU	10 /* a PMU number */
#define PTFILE_ID_PT	100
#define PTFILE_ID_DUMMY 200

/* Executed addresses, relative to PTFILE_BASE. */
extern const unsigned int ptfile_executed[];
extern const unsigned int ptfile_nr_executed;

struct ptfile {
	char dir[64];
	char code[128]; /* path of the executed bytes */
	char data[128]; /* path of the recording */
	struct auxtap_perfdata_writer *w;
	uint64_t time;
	uint64_t aux_head;
};

/* Makes the directory and the code; creates data with both attributes, begins, writes the
 * sideband. */
void ptfile_begin(struct ptfile *pt);
/* One execution of the code: AUXTRACE, AUX. */
void ptfile_run(struct ptfile *pt);
void ptfile_round(struct ptfile *pt);
/* Removes the directory with its files. */
void ptfile_remove(struct ptfile *pt);
/* Runs a shell command; *out is its output (malloc'd); returns its exit status. */
int run_command(char **out, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* True if the command exists in PATH. */
int have_command(const char *name);

#endif
