// SPDX-License-Identifier: BSD-2-Clause
/* Names of the gap causes: see include/auxtap/gap.h. */
#include <auxtap/gap.h>

/* clang-format off */
static const char *const cause_names[AUXTAP_GAP_NR_CAUSES] = {
	[AUXTAP_GAP_UNKNOWN] = "unknown",
	[AUXTAP_GAP_TRUNCATED] = "truncated",
	[AUXTAP_GAP_COLLISION] = "collision",
	[AUXTAP_GAP_PARTIAL] = "partial",
	[AUXTAP_GAP_HW_OVERFLOW] = "hw_overflow",
	[AUXTAP_GAP_RECORD_LOST] = "record_lost",
	[AUXTAP_GAP_OVERWRITTEN] = "overwritten",
	[AUXTAP_GAP_PAUSED] = "paused",
	[AUXTAP_GAP_TRACE_OFF] = "trace_off",
	[AUXTAP_GAP_NO_IMAGE] = "no_image",
	[AUXTAP_GAP_DECODE_ERROR] = "decode_error",
	[AUXTAP_GAP_UNCOUNTED] = "uncounted",
	[AUXTAP_GAP_DISCARDED] = "discarded",
	[AUXTAP_GAP_MAPS_CHANGED] = "maps_changed",
};
/* clang-format on */

const char *auxtap_gap_cause_name(enum auxtap_gap_cause cause)
{
	if ((unsigned int)cause >= AUXTAP_GAP_NR_CAUSES)
		return "unknown";
	return cause_names[cause];
}
