// SPDX-License-Identifier: BSD-2-Clause
/* Shared by all files of the auditor: the table of invariants, findings, rings. */
#include "util/sized.h"
#include "audit_private.h"
#include "util/vector.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* clang-format off */
#define CHECK(...) {sizeof(struct auxtap_invariant), __VA_ARGS__}

static const struct auxtap_invariant invariants[INV_NR] = {
	[INV_FILE_DAMAGED] = CHECK("file-damaged", AUXTAP_VIOLATION, "",
		"the file can be read to its end"),
	[INV_FILE_UNFINISHED] = CHECK("file-unfinished", AUXTAP_VIOLATION, "",
		"the recorder came to its end"),
	[INV_NO_AUX_RECORDS] = CHECK("no-aux-records", AUXTAP_VIOLATION, "D14",
		"an AUX event leaves AUX records"),
	[INV_AUX_RANGE] = CHECK("aux-range", AUXTAP_VIOLATION, "F",
		"offset and size of a record fit into 64 bits"),
	[INV_AUX_ORDER] = CHECK("aux-order", AUXTAP_VIOLATION, "D12",
		"records come in the order of their bytes"),
	[INV_AUX_OVERLAP] = CHECK("aux-overlap", AUXTAP_VIOLATION, "D12",
		"no byte is covered by two AUX records"),
	[INV_AUX_HOLE] = CHECK("aux-hole", AUXTAP_VIOLATION, "D12 F3",
		"a record begins where the one before ended"),
	[INV_RECORD_LOST] = CHECK("record-lost", AUXTAP_KNOWN_LOSS, "F3 E8",
		"an AUX record was lost where LOST says so"),
	[INV_TIME_BACK] = CHECK("time-back", AUXTAP_VIOLATION, "D15",
		"time does not go back within a ring"),
	[INV_REPEATED] = CHECK("record-repeated", AUXTAP_NOTE, "",
		"stock perf may save a record twice; it is counted once"),
	[INV_EMPTY_RECORD] = CHECK("empty-record", AUXTAP_VIOLATION, "D14",
		"a record has bytes or a flag"),
	[INV_EMPTY_FORMAT] = CHECK("empty-format", AUXTAP_NOTE, "L2",
		"records with nothing but a format (6.12, 6.18)"),
	[INV_FLAG_UNKNOWN] = CHECK("flag-unknown", AUXTAP_VIOLATION, "F",
		"flags are those that the kernel has"),
	[INV_FLAG_FORMAT] = CHECK("flag-format", AUXTAP_VIOLATION, "F J3",
		"the format flag is CoreSight's, and does not change"),
	[INV_FLAG_FOREIGN] = CHECK("flag-foreign", AUXTAP_VIOLATION, "H8 H12",
		"a flag is one that the unit's driver sets"),
	[INV_TRUNCATED_INSIDE] = CHECK("truncated-inside", AUXTAP_VIOLATION, "H8",
		"PT stops at the end of a page"),
	[INV_TRUNCATION_UNFLAGGED] = CHECK("truncation-unflagged", AUXTAP_VIOLATION, "D16 H8",
		"a truncation that auxtap's recorder noted has a flag"),
	[INV_COLLISION_UNFLAGGED] = CHECK("collision-unflagged", AUXTAP_VIOLATION, "J4",
		"a TRBE that has stopped at its limit has a flag"),
	[INV_MODE_MIXED] = CHECK("mode-mixed", AUXTAP_VIOLATION, "D12 D13",
		"all records of a ring are linear, or all are overwrite"),
	[INV_LARGER_THAN_BUFFER] = CHECK("larger-than-buffer", AUXTAP_VIOLATION, "D5 H4",
		"one byte stays free in a linear ring (PT: none)"),
	[INV_TRUNCATED] = CHECK("truncated", AUXTAP_KNOWN_LOSS, "D6 D16 H6 H8 I5 J4",
		"the unit stopped, no space was left"),
	[INV_PARTIAL] = CHECK("partial", AUXTAP_KNOWN_LOSS, "H12 I10",
		"trace is incomplete within a record"),
	[INV_COLLISION] = CHECK("collision", AUXTAP_KNOWN_LOSS, "I10 J4",
		"trace was lost while it was written"),
	[INV_NOT_RESUMED] = CHECK("not-resumed", AUXTAP_KNOWN_LOSS, "D21 K1",
		"tracing goes on after a truncation"),
	[INV_TRACE_OVERLAP] = CHECK("trace-overlap", AUXTAP_VIOLATION, "K1",
		"the reader saves no byte twice"),
	[INV_TRACE_HOLE] = CHECK("trace-hole", AUXTAP_VIOLATION, "K1",
		"the reader saves all bytes up to the head"),
	[INV_TRACE_CUT] = CHECK("trace-cut", AUXTAP_VIOLATION, "",
		"the trace bytes are in the file"),
	[INV_BYTES_MISSING] = CHECK("bytes-missing", AUXTAP_VIOLATION, "D15 K1",
		"every byte that a record covers is in the file"),
	[INV_BYTES_WITHOUT_RECORD] = CHECK("bytes-without-record", AUXTAP_VIOLATION, "D14 F3",
		"every trace byte is covered by an AUX record"),
	[INV_PAST_LIMIT] = CHECK("past-limit", AUXTAP_VIOLATION, "I4 J2",
		"no record goes past the page of its watermark"),
	[INV_MISSED_INTERRUPT] = CHECK("missed-interrupt", AUXTAP_VIOLATION, "H4 H5 D18",
		"no record passes two watermarks"),
	[INV_LATE_INTERRUPT] = CHECK("late-interrupt", AUXTAP_VIOLATION, "H4 H7",
		"the overshoot past a watermark is within its limit"),
	[INV_NOTED_LOSS] = CHECK("noted-loss", AUXTAP_KNOWN_LOSS, "",
		"a loss that auxtap's recorder noted"),
	[INV_NOTED_MISSING] = CHECK("noted-bytes-missing", AUXTAP_VIOLATION, "D12 D14",
		"AUX records cover all bytes that auxtap's recorder noted"),
	[INV_ODD_WATERMARK] = CHECK("odd-watermark", AUXTAP_NOTE, "H5",
		"the unit can interrupt where the watermark is"),
	[INV_SKIPPED] = CHECK("skipped", AUXTAP_NOTE, "D11 I2 I5 J2",
		"padding that no record covers"),
	[INV_PADDING_MISSING] = CHECK("padding-missing", AUXTAP_VIOLATION, "I2 I12 J2",
		"what was skipped is padding"),
	[INV_NO_PROGRESS] = CHECK("no-progress", AUXTAP_VIOLATION, "D16 D21 H13 I11",
		"where there is space, transactions move bytes"),
	[INV_WAKEUP_MISSING] = CHECK("wakeup-missing", AUXTAP_VIOLATION, "D11 D16 D18",
		"a watermark that is passed wakes the reader"),
	[INV_WAKEUP_CAUSE] = CHECK("wakeup-without-cause", AUXTAP_VIOLATION, "D7 D18",
		"nothing but watermarks and truncations wakes the reader"),
	[INV_WAKEUPS_UNNOTED] = CHECK("wakeups-unnoted", AUXTAP_NOTE, "",
		"the wakeup log covers all wakeups of the reader"),
	[INV_TRUNCATED_AGAIN] = CHECK("truncated-again", AUXTAP_VIOLATION, "D16 D21 H6",
		"a truncated event is disabled until the reader has read"),
	[INV_NOT_DISABLED] = CHECK("not-disabled", AUXTAP_KNOWN_LOSS, "D21 L1",
		"as truncated-again, on kernels known for it"),
	[INV_LOG_DAMAGED] = CHECK("log-damaged", AUXTAP_VIOLATION, "",
		"each line is an event", .of_log = true),
	[INV_LOG_TIME_BACK] = CHECK("log-time-back", AUXTAP_VIOLATION, "",
		"time does not go back", .of_log = true),
	[INV_LOG_POINTER_BACK] = CHECK("pointer-back", AUXTAP_VIOLATION, "H10 I9",
		"the write pointer goes forward", .of_log = true),
	[INV_LOG_PAST_LIMIT] = CHECK("write-past-limit", AUXTAP_VIOLATION, "H4 I3 J1",
		"nothing is written past the limit", .of_log = true),
	[INV_LOG_OVERWRITTEN] = CHECK("unread-overwritten", AUXTAP_VIOLATION, "D5",
		"unread bytes are not overwritten", .of_log = true),
	[INV_LOG_LIMIT_AHEAD] = CHECK("limit-ahead", AUXTAP_VIOLATION, "D5 I3",
		"the limit protects what is unread", .of_log = true),
	[INV_LOG_TAIL_AHEAD] = CHECK("tail-ahead", AUXTAP_VIOLATION, "D5 K1",
		"the reader reads what was written", .of_log = true),
	[INV_LOG_EARLY] = CHECK("interrupt-early", AUXTAP_VIOLATION, "H4 I4",
		"no interrupt comes before its threshold", .of_log = true),
	[INV_LOG_LATE] = CHECK("interrupt-late", AUXTAP_VIOLATION, "H4 H7",
		"the overshoot of an interrupt is within its limit", .of_log = true),
	[INV_LOG_MISSING] = CHECK("interrupt-missing", AUXTAP_VIOLATION, "H4 I4 J1",
		"a threshold that was passed raises an interrupt", .of_log = true),
	[INV_LOG_DOUBLED] = CHECK("interrupt-doubled", AUXTAP_VIOLATION, "H4 H13",
		"a threshold raises one interrupt", .of_log = true),
	[INV_LOG_LOST] = CHECK("lost", AUXTAP_KNOWN_LOSS, "D16 J4",
		"bytes that the unit says it lost", .of_log = true),
	[INV_LOG_STOPPED] = CHECK("interrupt-stopped", AUXTAP_VIOLATION, "H13 I11",
		"a unit that is off raises no interrupt", .of_log = true),
	[INV_LOG_GAP] = CHECK("log-gap", AUXTAP_KNOWN_LOSS, "",
		"events that the log says are missing", .of_log = true),
	[INV_LOG_THRESHOLD_LATE] = CHECK("threshold-late", AUXTAP_VIOLATION, "D18 H5 I4 J2",
		"an interrupt is due for the next watermark", .of_log = true),
	[INV_LOG_NO_WAKEUP] = CHECK("wakeup-not-sent", AUXTAP_VIOLATION, "D11 D16 D18",
		"a head that passes a watermark wakes the reader", .of_log = true),
	[INV_LOG_WAKEUP] = CHECK("wakeup-overwrite", AUXTAP_VIOLATION, "D7 D18",
		"an area in snapshot (overwrite) mode never wakes the reader", .of_log = true),
	[INV_LOG_GOES_ON] = CHECK("truncated-goes-on", AUXTAP_VIOLATION, "D6 D16 D21",
		"a truncated event is disabled", .of_log = true),
	[INV_LOG_FREED] = CHECK("freed-in-transaction", AUXTAP_VIOLATION, "B18 D2",
		"an area is freed when no transaction has it", .of_log = true),
	[INV_LOG_LOST_WITH_SPACE] = CHECK("lost-with-space", AUXTAP_VIOLATION, "H4 H13 I11 J8",
		"a unit that is on and has space stores", .of_log = true),
	[INV_NOT_WRITTEN] = CHECK("bytes-not-written", AUXTAP_VIOLATION, "H10 I9 J5",
		"records cover only what the unit wrote", .of_both = true),
	[INV_UNIT_BYTES_UNRECORDED] = CHECK("unit-bytes-unrecorded", AUXTAP_VIOLATION, "D12 H10 J5",
		"every byte the unit wrote is covered by a record", .of_both = true),
	[INV_LOSS_UNFLAGGED] = CHECK("loss-unflagged", AUXTAP_VIOLATION, "H8 H12 J4",
		"a loss of the unit has a flag", .of_both = true),
	[INV_LOSS_SILENT] = CHECK("loss-silent", AUXTAP_KNOWN_LOSS, "I10",
		"a loss for which the unit has no flag", .of_both = true),
	[INV_FLAG_CAUSE] = CHECK("flag-without-cause", AUXTAP_VIOLATION, "D9 H6 H8 J4",
		"a flag has a cause", .of_both = true),
	[INV_RING_UNLOGGED] = CHECK("ring-unlogged", AUXTAP_NOTE, "",
		"each ring's unit has a log", .of_both = true),
};
/* clang-format on */

const struct auxtap_invariant *auxtap_audit_get_invariant(size_t index)
{
	return index < INV_NR ? &invariants[index] : NULL;
}

struct auxtap_audit *audit_new(const struct auxtap_audit_opts *opts, struct auxtap_error *err)
{
	struct auxtap_audit *audit = calloc(1, sizeof(*audit));

	if (!audit) {
		auxtap_error_set(err, -ENOMEM, "audit", "out of memory");
		return NULL;
	}
	if (sized_copy_in(&audit->opts, sizeof(audit->opts),
			  SIZED_UP_TO(struct auxtap_audit_opts, max_overshoot), opts,
			  "struct auxtap_audit_opts", err)) {
		free(audit);
		return NULL;
	}
	audit->facts.size = sizeof(audit->facts);
	audit->facts.aux_size = audit->opts.aux_size;
	audit->facts.page_size = audit->opts.page_size;
	audit->facts.unit = audit->unit;
	audit->family = audit_family_of(0);
	return audit;
}

void auxtap_audit_free(struct auxtap_audit *audit)
{
	if (!audit)
		return;
	free((void *)audit->by_time);
	free(audit->entries);
	free(audit->skips);
	free(audit->noted.units);
	audit_unit_free(&audit->units);
	free(audit->findings);
	free(audit->rings);
	free(audit);
}

struct auxtap_audit_ring *audit_add_ring(struct auxtap_audit *audit, int32_t cpu, int32_t tid)
{
	struct auxtap_audit_ring *ring;

	if (vector_grow(audit->rings, audit->nr_rings, audit->max_rings)) {
		audit->no_memory = true;
		return NULL;
	}
	ring = &audit->rings[audit->nr_rings++];
	memset(ring, 0, sizeof(*ring));
	ring->size = sizeof(*ring);
	ring->cpu = cpu;
	ring->tid = tid;
	return ring;
}

void audit_add_finding(struct auxtap_audit *audit, enum invariant inv,
		       const struct auxtap_audit_ring *ring, const struct entry *at,
		       uint64_t nr_bytes, const char *fmt, ...)
{
	struct auxtap_finding *finding;
	va_list args;

	if (audit->counts[inv]++ >= AUXTAP_AUDIT_KEPT)
		return;
	if (vector_grow(audit->findings, audit->nr_findings, audit->max_findings)) {
		audit->no_memory = true;
		return;
	}
	finding = &audit->findings[audit->nr_findings++];
	memset(finding, 0, sizeof(*finding));
	finding->size = sizeof(*finding);
	finding->invariant = &invariants[inv];
	finding->file_off = at ? at->file_off : AUXTAP_OFFSET_NONE;
	finding->cpu = ring ? ring->cpu : -1;
	finding->tid = ring ? ring->tid : -1;
	finding->time_ns = at ? at->time : 0;
	finding->nr_bytes = nr_bytes;
	finding->log = at ? at->log_path : NULL;
	va_start(args, fmt);
	vsnprintf(finding->text, sizeof(finding->text), fmt, args);
	va_end(args);
}

void audit_count_overshoot(struct auxtap_audit_ring *ring, uint64_t nr_bytes)
{
	unsigned int n = nr_bytes ? 64 - (unsigned int)__builtin_clzll(nr_bytes) : 0;

	ring->overshoots[n < AUXTAP_AUDIT_OVERSHOOTS ? n : AUXTAP_AUDIT_OVERSHOOTS - 1]++;
}

bool auxtap_audit_at_fault(const struct auxtap_audit *audit)
{
	for (int i = 0; i < INV_NR; i++)
		if (audit->counts[i] && invariants[i].severity == AUXTAP_VIOLATION)
			return true;
	return false;
}

const struct auxtap_finding *auxtap_audit_get_finding(const struct auxtap_audit *audit,
						      size_t index)
{
	return index < audit->nr_findings ? &audit->findings[index] : NULL;
}

const struct auxtap_audit_ring *auxtap_audit_get_ring(const struct auxtap_audit *audit,
						      size_t index)
{
	return index < audit->nr_rings ? &audit->rings[index] : NULL;
}

const struct auxtap_audit_facts *auxtap_audit_get_facts(const struct auxtap_audit *audit)
{
	return &audit->facts;
}

uint64_t auxtap_audit_count(const struct auxtap_audit *audit, const struct auxtap_invariant *inv)
{
	return audit->counts[inv - invariants];
}
