// SPDX-License-Identifier: BSD-2-Clause
/* Names and rules of the invariants, names of the causes of loss, and the verdict of a run. */
#include <auxtap/watermark.h>

_Static_assert(AUXTAP_NR_INVARIANTS <= AUXTAP_WM_MAX_INVARIANTS, "by_invariant[] of a result");
_Static_assert(AUXTAP_NR_LOSSES <= AUXTAP_WM_MAX_LOSSES, "lost[] of a result");

/* clang-format off */
#define INFO(...) {sizeof(struct auxtap_invariant_info), __VA_ARGS__}

static const struct auxtap_invariant_info infos[AUXTAP_NR_INVARIANTS] = {
	[AUXTAP_INV_UNREAD_KEPT] = INFO("unread-kept", "D5 H4 I3 J2",
		"trace that the reader has not read is not written over"),
	[AUXTAP_INV_LIMIT_KEPT] = INFO("limit-kept", "H4 I3 J1",
		"the unit writes inside an open transaction, and not beyond its STOP or limit"),
	[AUXTAP_INV_IRQ_AT_THRESHOLD] = INFO("interrupt-at-threshold", "H4 H7 I4 J2",
		"the interrupt line goes up at the threshold, within the delay (--skid)"),
	[AUXTAP_INV_IRQ_IN_TIME] = INFO("interrupt-in-time", "H13 I11 J1",
		"an interrupt reaches the driver within its latency and jitter"),
	[AUXTAP_INV_IRQ_HAS_CAUSE] = INFO("interrupt-has-cause", "H4 I10 J1",
		"each threshold that is reached raises one interrupt, and nothing else does"),
	[AUXTAP_INV_WAKEUP_AT_WATERMARK] = INFO("wakeup-at-watermark", "D11 D16 D18",
		"an end or a skip that passes a watermark, and a truncation, wake the reader once"),
	[AUXTAP_INV_WAKEUP_AHEAD] = INFO("wakeup-ahead", "D5 D18",
		"the next wakeup is ahead of the head"),
	[AUXTAP_INV_OVERWRITE_SILENT] = INFO("overwrite-silent", "D7 D18",
		"an area in snapshot (overwrite) mode has no watermark and never wakes the reader"),
	[AUXTAP_INV_BYTES_ADD_UP] = INFO("bytes-add-up", "D11 D12 D15 F3",
		"written = recorded + skipped + lost with their records = head, to the byte"),
	[AUXTAP_INV_RECORDS_TRUE] = INFO("records-true", "D12 D14 H10 I9 J5",
		"a record covers the bytes that the unit stored, where it stored them"),
	[AUXTAP_INV_CONTENTS_TRUE] = INFO("contents-true", "I2 I12 J2 J6",
		"the reader finds what the unit produced, and padding between"),
	[AUXTAP_INV_LOSS_FLAGGED] = INFO("loss-flagged", "H8 H12 I10 J4",
		"trace that is lost is flagged, where a kernel has a flag for it"),
	[AUXTAP_INV_FLAG_HAS_CAUSE] = INFO("flag-has-cause", "D9 H6 H8 I5 J4",
		"a flag has a cause"),
	[AUXTAP_INV_TRUNCATED_DISABLED] = INFO("truncated-disabled", "D6 D16 D21",
		"a truncated event is disabled, where its kernel does that"),
	[AUXTAP_INV_PROGRESS] = INFO("progress", "D21 H13 I11 J8",
		"trace is stored, and resumes when the reader has freed space; each loss is explained"),
	[AUXTAP_INV_FREED_ONCE] = INFO("freed-once", "B18 D2",
		"the AUX pages are freed once, after the last user, and never by a transaction"),
	[AUXTAP_INV_NO_WARNING] = INFO("no-warning", "D10 D17",
		"kernel and driver print no warning"),
};
/* clang-format on */

enum auxtap_watermark_verdict auxtap_watermark_get_verdict(const struct auxtap_watermark_result *r)
{
	if (r->refused)
		return AUXTAP_WM_NOT_RUN;
	if (!r->nr_violations)
		return AUXTAP_WM_PASS;
	if (r->by_invariant[AUXTAP_INV_PROGRESS] == r->nr_violations ||
	    (r->by_invariant[AUXTAP_INV_PROGRESS] && !r->stored))
		return AUXTAP_WM_NO_PROGRESS;
	return AUXTAP_WM_FAIL;
}

const struct auxtap_invariant_info *
auxtap_watermark_get_invariant(enum auxtap_watermark_invariant inv)
{
	return (unsigned int)inv < AUXTAP_NR_INVARIANTS ? &infos[inv] : NULL;
}

const char *auxtap_watermark_loss_name(enum auxtap_watermark_loss loss)
{
	static const char *const names[AUXTAP_NR_LOSSES] = {
		[AUXTAP_LOSS_STOPPED] = "stopped at the limit",
		[AUXTAP_LOSS_NO_SPACE] = "no space",
		[AUXTAP_LOSS_FAULT] = "the unit's fault",
	};

	return (unsigned int)loss < AUXTAP_NR_LOSSES ? names[loss] : "?";
}
