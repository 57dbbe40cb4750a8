/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The layout of perf.data files: magics, file header, sections, feature numbers, and auxtap's
 * metadata. Shared by the reader and the writer, private to perfdata/.
 */
#ifndef PERFDATA_LAYOUT_H
#define PERFDATA_LAYOUT_H

#include <linux/perf_event.h>
#include <stdint.h>

#define PD_MAGIC_V2 0x32454c4946524550ULL /* "PERFILE2" in a little-endian file */
#define PD_MAGIC_V1 0x454c494646524550ULL /* "PERFFILE" */

struct pd_section {
	uint64_t offset;
	uint64_t size;
};

struct pd_file_header {
	uint64_t magic;
	uint64_t size;	    /* of this header: 104; in a pipe 16, and nothing below exists */
	uint64_t attr_size; /* of an entry of attrs: the attribute, and pd_section of its ids */
	struct pd_section attrs;
	struct pd_section data;
	struct pd_section event_types; /* unused since Linux 3.12 */
	uint64_t features[4];
};

#define PD_HEADER_SIZE	    104
#define PD_OLD_HEADER_SIZE  72 /* without features */
#define PD_PIPE_HEADER_SIZE 16

_Static_assert(sizeof(struct pd_file_header) == PD_HEADER_SIZE, "no padding in a file format");

/* Feature numbers. The table of their sections follows the data: a pd_section for each bit set. */
enum pd_feature {
	PD_FEAT_TRACING_DATA = 1,
	PD_FEAT_BUILD_ID = 2,
	PD_FEAT_HOSTNAME = 3,
	PD_FEAT_OSRELEASE = 4,
	PD_FEAT_VERSION = 5,
	PD_FEAT_ARCH = 6,
	PD_FEAT_NRCPUS = 7,
	PD_FEAT_CPUDESC = 8,
	PD_FEAT_CPUID = 9,
	PD_FEAT_TOTAL_MEM = 10,
	PD_FEAT_CMDLINE = 11,
	PD_FEAT_EVENT_DESC = 12,
	PD_FEAT_CPU_TOPOLOGY = 13,
	PD_FEAT_NUMA_TOPOLOGY = 14,
	PD_FEAT_BRANCH_STACK = 15,
	PD_FEAT_PMU_MAPPINGS = 16,
	PD_FEAT_GROUP_DESC = 17,
	PD_FEAT_AUXTRACE = 18,
	PD_FEAT_STAT = 19,
	PD_FEAT_CACHE = 20,
	PD_FEAT_SAMPLE_TIME = 21,
	PD_FEAT_MEM_TOPOLOGY = 22,
	PD_FEAT_CLOCKID = 23,
	PD_FEAT_DIR_FORMAT = 24,
	PD_FEAT_BPF_PROG_INFO = 25,
	PD_FEAT_BPF_BTF = 26,
	PD_FEAT_COMPRESSED = 27,
	PD_FEAT_CPU_PMU_CAPS = 28,
	PD_FEAT_CLOCK_DATA = 29,
	PD_FEAT_HYBRID_TOPOLOGY = 30,
	PD_FEAT_PMU_CAPS = 31,
	PD_FEAT_END = 256
};

/* Strings of features: u32 length of the padded string, then the string, zero padded. */
#define PD_STRING_ALIGN 64

/* An entry of the AUXTRACE feature: the file offset of the record, and its header.size. */
struct pd_auxtrace_entry {
	uint64_t offset;
	uint64_t size;
};

/* This misc bit of a BUILD_ID record says that the 21st byte of the id is its size. */
#define PD_MISC_BUILD_ID_SIZE (1 << 15)

/*
 * Metadata of auxtap: pd_metadata records, each padded to 8 bytes, come after everything that the
 * header refers to, and the last bytes of the file are a pd_metadata_trailer, which refers to them.
 *
 *	header | attributes | data | features | metadata record ... | trailer
 */
#define PD_METADATA_MAGIC 0x314e504154585541ULL /* "AUXTAPN1" in a little-endian file */

struct pd_metadata {
	uint32_t type;
	uint32_t reserved;
	uint64_t size; /* of the data that follows, without padding */
};

struct pd_metadata_trailer {
	uint64_t offset; /* of the first metadata record in the file */
	uint64_t size;	 /* from there to the trailer */
	uint64_t nr;
	uint64_t magic;
};

/* The first metadata record of a packed file begins with this; its offset is a multiple of 8. */
#define PD_PACK_MAGIC	0x314b504154585541ULL /* "AUXTAPK1" */
#define PD_PACK_VERSION 1

static inline uint64_t pd_align8(uint64_t size)
{
	return (size + 7) & ~7ULL;
}

#endif
