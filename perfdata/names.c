// SPDX-License-Identifier: BSD-2-Clause
/* Names of record types and features, as stock perf and simpleperf call them. */
#include "layout.h"
#include <auxtap/perfdata.h>

static const char *const kernel_names[] = {
	[1] = "MMAP",
	[2] = "LOST",
	[3] = "COMM",
	[4] = "EXIT",
	[5] = "THROTTLE",
	[6] = "UNTHROTTLE",
	[7] = "FORK",
	[8] = "READ",
	[9] = "SAMPLE",
	[10] = "MMAP2",
	[11] = "AUX",
	[12] = "ITRACE_START",
	[13] = "LOST_SAMPLES",
	[14] = "SWITCH",
	[15] = "SWITCH_CPU_WIDE",
	[16] = "NAMESPACES",
	[17] = "KSYMBOL",
	[18] = "BPF_EVENT",
	[19] = "CGROUP",
	[20] = "TEXT_POKE",
	[21] = "AUX_OUTPUT_HW_ID",
	[22] = "CALLCHAIN_DEFERRED",
	[AUXTAP_RECORD_HEADER_ATTR] = "ATTR",
	[AUXTAP_RECORD_EVENT_TYPE] = "EVENT_TYPE",
	[AUXTAP_RECORD_TRACING_DATA] = "TRACING_DATA",
	[AUXTAP_RECORD_BUILD_ID] = "BUILD_ID",
	[AUXTAP_RECORD_FINISHED_ROUND] = "FINISHED_ROUND",
	[AUXTAP_RECORD_ID_INDEX] = "ID_INDEX",
	[AUXTAP_RECORD_AUXTRACE_INFO] = "AUXTRACE_INFO",
	[AUXTAP_RECORD_AUXTRACE] = "AUXTRACE",
	[AUXTAP_RECORD_AUXTRACE_ERROR] = "AUXTRACE_ERROR",
	[AUXTAP_RECORD_THREAD_MAP] = "THREAD_MAP",
	[AUXTAP_RECORD_CPU_MAP] = "CPU_MAP",
	[AUXTAP_RECORD_STAT_CONFIG] = "STAT_CONFIG",
	[AUXTAP_RECORD_STAT] = "STAT",
	[AUXTAP_RECORD_STAT_ROUND] = "STAT_ROUND",
	[AUXTAP_RECORD_EVENT_UPDATE] = "EVENT_UPDATE",
	[AUXTAP_RECORD_TIME_CONV] = "TIME_CONV",
	[AUXTAP_RECORD_HEADER_FEATURE] = "FEATURE",
	[AUXTAP_RECORD_COMPRESSED] = "COMPRESSED",
	[AUXTAP_RECORD_FINISHED_INIT] = "FINISHED_INIT",
	[AUXTAP_RECORD_COMPRESSED2] = "COMPRESSED2",
};

/* simpleperf's own records have types from 32768 on. */
/* clang-format off */
static const char *const simpleperf_names[] = {
	"SP_KERNEL_SYMBOL", "SP_DSO",      "SP_SYMBOL",    "SP_SPLIT",
	"SP_SPLIT_END",     "SP_EVENT_ID", "SP_CALLCHAIN", "SP_UNWINDING_RESULT",
	"SP_TRACING_DATA",
};
/* clang-format on */

static const char *const feature_names[] = {
	[PD_FEAT_TRACING_DATA] = "TRACING_DATA",
	[PD_FEAT_BUILD_ID] = "BUILD_ID",
	[PD_FEAT_HOSTNAME] = "HOSTNAME",
	[PD_FEAT_OSRELEASE] = "OSRELEASE",
	[PD_FEAT_VERSION] = "VERSION",
	[PD_FEAT_ARCH] = "ARCH",
	[PD_FEAT_NRCPUS] = "NRCPUS",
	[PD_FEAT_CPUDESC] = "CPUDESC",
	[PD_FEAT_CPUID] = "CPUID",
	[PD_FEAT_TOTAL_MEM] = "TOTAL_MEM",
	[PD_FEAT_CMDLINE] = "CMDLINE",
	[PD_FEAT_EVENT_DESC] = "EVENT_DESC",
	[PD_FEAT_CPU_TOPOLOGY] = "CPU_TOPOLOGY",
	[PD_FEAT_NUMA_TOPOLOGY] = "NUMA_TOPOLOGY",
	[PD_FEAT_BRANCH_STACK] = "BRANCH_STACK",
	[PD_FEAT_PMU_MAPPINGS] = "PMU_MAPPINGS",
	[PD_FEAT_GROUP_DESC] = "GROUP_DESC",
	[PD_FEAT_AUXTRACE] = "AUXTRACE",
	[PD_FEAT_STAT] = "STAT",
	[PD_FEAT_CACHE] = "CACHE",
	[PD_FEAT_SAMPLE_TIME] = "SAMPLE_TIME",
	[PD_FEAT_MEM_TOPOLOGY] = "MEM_TOPOLOGY",
	[PD_FEAT_CLOCKID] = "CLOCKID",
	[PD_FEAT_DIR_FORMAT] = "DIR_FORMAT",
	[PD_FEAT_BPF_PROG_INFO] = "BPF_PROG_INFO",
	[PD_FEAT_BPF_BTF] = "BPF_BTF",
	[PD_FEAT_COMPRESSED] = "COMPRESSED",
	[PD_FEAT_CPU_PMU_CAPS] = "CPU_PMU_CAPS",
	[PD_FEAT_CLOCK_DATA] = "CLOCK_DATA",
	[PD_FEAT_HYBRID_TOPOLOGY] = "HYBRID_TOPOLOGY",
	[PD_FEAT_PMU_CAPS] = "PMU_CAPS",
	[128] = "SP_FILE",
	[129] = "SP_META_INFO",
	[130] = "SP_DEBUG_UNWIND",
	[131] = "SP_DEBUG_UNWIND_FILE",
	[132] = "SP_FILE2",
};

#define NR(array) (sizeof(array) / sizeof((array)[0]))

const char *auxtap_record_name(uint32_t type)
{
	if (type < NR(kernel_names))
		return kernel_names[type];
	if (type >= 32768 && type - 32768 < NR(simpleperf_names))
		return simpleperf_names[type - 32768];
	return NULL;
}

const char *auxtap_perfdata_feature_name(unsigned int feature)
{
	return feature < NR(feature_names) ? feature_names[feature] : NULL;
}
