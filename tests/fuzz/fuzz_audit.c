// SPDX-License-Identifier: BSD-2-Clause
/*
 * Fuzz target: any bytes as a recording, as an event log, and as the unit log of the recording
 * that AUXTAP_FUZZ_RECORDING names, through the auditor and all its output.
 */
#include "fuzz.h"
#include "perfdata/reader.h"

#include <auxtap/audit.h>

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

static FILE *nowhere;

static void print(struct auxtap_audit *audit)
{
	auxtap_audit_print_text(audit, "fuzz", nowhere);
	auxtap_audit_print_json(audit, "fu\"z\xff", nowhere);
	auxtap_audit_print_junit(audit, "fu<z\xff", nowhere);
	auxtap_audit_free(audit);
}

/* Against an undamaged recording; otherwise little would be compared. */
static void unit_log(const char *path, struct auxtap_audit_opts opts)
{
	static const char *recording;
	struct auxtap_error err = AUXTAP_ERROR_INIT;
	struct auxtap_perfdata *pd;
	struct auxtap_audit *audit;

	if (!recording)
		recording = getenv("AUXTAP_FUZZ_RECORDING");
	if (!recording)
		return;
	if (auxtap_perfdata_open(&pd, recording, &err))
		abort();
	opts.unit_logs = &path;
	opts.nr_unit_logs = 1;
	if (!auxtap_audit_perfdata(&audit, pd, &opts, &err))
		print(audit);
	auxtap_perfdata_close(pd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct auxtap_audit_opts opts = {.size = sizeof(opts)};
	struct auxtap_error err = AUXTAP_ERROR_INIT;
	struct auxtap_perfdata *pd;
	struct auxtap_audit *audit;
	int fd = memfd_create("fuzz", MFD_CLOEXEC);
	char path[32];

	if (!nowhere)
		nowhere = fopen("/dev/null", "w");
	if (!nowhere || fd < 0 || write(fd, data, size) != (ssize_t)size)
		abort();
	opts.aux_size = size % 3 ? 0 : 65536;
	opts.max_overshoot = size % 5;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (!auxtap_audit_log(&audit, path, &opts, &err))
		print(audit);
	unit_log(path, opts);
	if (pd_open_fd(&pd, fd, "fuzz", &err))
		return 0;
	if (!auxtap_audit_perfdata(&audit, pd, &opts, &err))
		print(audit);
	auxtap_perfdata_close(pd);
	return 0;
}
