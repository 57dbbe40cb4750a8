// SPDX-License-Identifier: BSD-2-Clause
/*
 * Fuzz target: any bytes as a perf.data file, through the whole reader and the listing.
 * For libFuzzer (-DAUXTAP_FUZZ=ON), and called by mutate.c.
 */
#include "fuzz.h"
#include "decode/dump/dump_private.h"
#include "perfdata/reader.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

static FILE *nowhere;

static int on_metadata(void *ctx, uint32_t type, const void *data, size_t size)
{
	(void)type;
	*(uint64_t *)ctx += size ? ((const unsigned char *)data)[size - 1] : 0;
	return 0;
}

/* The reader's iterators that the listing does not use. */
static void read_records(struct auxtap_perfdata *pd)
{
	struct auxtap_error err = AUXTAP_ERROR_INIT;
	const struct auxtap_perfdata_aux *aux;
	const struct auxtap_build_id *ids;
	struct auxtap_record rec = {.size = sizeof(rec)};
	uint64_t sum = 0;
	size_t nr;

	while (auxtap_perfdata_next_sorted(pd, &rec, &err) > 0)
		sum += rec.body_size ?
			       ((const unsigned char *)(rec.header + 1))[rec.body_size - 1] :
			       rec.time;
	if (!auxtap_perfdata_build_ids(pd, &ids, &nr))
		for (size_t i = 0; i < nr; i++)
			sum += (unsigned char)ids[i].filename[0];
	if (!auxtap_perfdata_auxtraces(pd, &aux, &nr, &err))
		for (size_t i = 0; i < nr; i++)
			sum += aux[i].trace_size;
	auxtap_perfdata_metadata(pd, on_metadata, &sum, &err);
	fprintf(nowhere, "%lu\n", (unsigned long)sum);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct auxtap_error err = AUXTAP_ERROR_INIT;
	struct dump_opts opts = {.packets = true};
	struct auxtap_perfdata *pd;
	int fd = memfd_create("fuzz", MFD_CLOEXEC);

	if (!nowhere)
		nowhere = fopen("/dev/null", "w");
	if (!nowhere || fd < 0 || write(fd, data, size) != (ssize_t)size)
		abort();
	if (pd_open_fd(&pd, fd, "fuzz", &err))
		return 0;
	opts.out = nowhere;
	dump_perfdata(pd, &opts, &err);
	read_records(pd);
	auxtap_perfdata_close(pd);
	return 0;
}
