// SPDX-License-Identifier: BSD-2-Clause
/* Each finding of recordings, at the size where it begins and one before it. */
#include "support_recording.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

struct recording_case {
	const char *found, *lines;
	uint64_t aux_size, page_size, max_overshoot;
};

#define RAW  "0x100" /* TRBE's format */
#define SPE  "family 4\n"
#define TRBE "family 3\n"

static const struct recording_case files[] = {
	{"", "aux 0 100 0 4096\naux 0 200 4096 10\ntrace 0 0 4106", 0, 0, 0},
	{"file-damaged", "aux 0 100 0 4096\ntrace 0 0 4096\ndamage\naux 0 200 9000 10", 0, 0, 0},
	{"file-damaged no-aux-records", "damage", 0, 0, 0},
	{"file-unfinished", "aux 0 100 0 4096\ntrace 0 0 4096\nunfinished", 0, 0, 0},
	{"no-aux-records", "", 0, 0, 0},
	{"no-aux-records bytes-without-record", "trace 0 0 4096", 0, 0, 0},
	/* a file that ends early lacks the end of what its records cover */
	{"file-damaged", "aux 0 100 0 4096\naux 0 200 4096 10\ntrace 0 0 4096\ndamage", 0, 0, 0},
	{"file-damaged bytes-missing",
	 "aux 0 100 0 4096\naux 0 200 4096 10\ntrace 0 4096 10\ndamage", 0, 0, 0},
	/* stock perf saves records twice; auxtap never */
	{"record-repeated", "aux 0 100 0 64\naux 0 100 0 64\ntrace 0 0 64", 0, 0, 0},
	{"aux-overlap", "aux 0 100 0 64\naux 0 101 0 64\ntrace 0 0 64", 0, 0, 0},
	{"aux-overlap", "capture backend: kernel\naux 0 100 0 64\naux 0 100 0 64\ntrace 0 0 64", 0,
	 0, 0},
};

static const struct recording_case offsets[] = {
	{"aux-range", "aux 0 100 0xffffffffffffff00 0x100\ntrace 0 0 0\nfamily 1", 0, 0, 0},
	{"aux-order bytes-missing", "aux 0 100 8192 4096\naux 0 200 0 4096\ntrace 0 8192 4096", 0,
	 0, 0},
	{"aux-overlap", "aux 0 100 0 4096\naux 0 200 4095 4096\ntrace 0 0 8191", 0, 0, 0},
	/* PT skips nothing; SPE up to two pages, CoreSight up to four */
	{"aux-hole", "aux 0 100 0 4096\naux 0 200 4097 63\ntrace 0 0 4160", 0, 0, 0},
	{"record-lost", "aux 0 100 0 4096\nlost 0 150 1\naux 0 200 8192 64\ntrace 0 0 8256", 0, 0,
	 0},
	{"aux-hole record-lost",
	 "aux 0 100 0 64\nlost 0 150 1\naux 0 200 128 64\naux 0 300 256 64\ntrace 0 0 320", 0, 0,
	 0},
	/* SPE up to two pages, CoreSight up to four */
	{"skipped",
	 SPE "aux 0 100 0 64\naux 0 200 8255 64\ntrace 0 0 64\ntrace 0 64 8191 0\n"
	     "trace 0 8255 64",
	 0, 4096, 0},
	{"aux-hole", SPE "aux 0 100 0 64\naux 0 200 8256 64\ntrace 0 0 8320", 0, 4096, 0},
	{"skipped",
	 TRBE "aux 0 100 0 64\naux 0 200 16447 64\ntrace 0 0 64\n"
	      "trace 0 64 16383 0x70\ntrace 0 16447 64",
	 0, 4096, 0},
	{"aux-hole", TRBE "aux 0 100 0 64\naux 0 200 16448 64\ntrace 0 0 16512", 0, 4096, 0},
	{"skipped padding-missing", SPE "aux 0 100 0 64\naux 0 200 4096 64\ntrace 0 0 4160", 0,
	 4096, 0},
	{"time-back", "aux 0 200 0 64\naux 0 199 64 64\ntrace 0 0 128", 0, 0, 0},
	{"", "aux 0 200 0 64\naux 0 200 64 64\ntrace 0 0 128", 0, 0, 0},
	/* D5: one byte stays free; PT may fill all */
	{"", "watermark 8192\naux 0 100 0 8192\ntrace 0 0 8192", 8192, 0, 0},
	{"larger-than-buffer", "watermark 8192\naux 0 100 0 8193\ntrace 0 0 8193", 8192, 0, 0},
	{"", SPE "watermark 8192\naux 0 100 0 8191\ntrace 0 0 8191", 8192, 4096, 0},
	{"larger-than-buffer", SPE "watermark 8192\naux 0 100 0 8192\ntrace 0 0 8192", 8192, 4096,
	 0},
};

static const struct recording_case flags[] = {
	{"empty-record", "aux 0 100 0 64\naux 0 200 64 0\ntrace 0 0 64", 0, 0, 0},
	{"empty-format", TRBE "aux 0 100 0 64 " RAW "\naux 0 200 64 0 " RAW "\ntrace 0 0 64", 0, 0,
	 0},
	{"flag-unknown", "aux 0 100 0 64 0x10\ntrace 0 0 64", 0, 0, 0},
	{"flag-unknown", "aux 0 100 0 64 0x10000\ntrace 0 0 64", 0, 0, 0},
	{"flag-format", SPE "aux 0 100 0 64 " RAW "\ntrace 0 0 64", 0, 0, 0},
	{"flag-format", TRBE "aux 0 100 0 64 " RAW "\naux 0 200 64 64\ntrace 0 0 128", 0, 0, 0},
	{"", "family 0\naux 0 100 0 64 " RAW "\ntrace 0 0 64", 0, 0, 0},
	{"flag-format", "family 5\naux 0 100 0 64 " RAW "\ntrace 0 0 64", 0, 0, 0},
	/* H12: PT's driver has no collision; H8: it stops at the end of a page */
	{"flag-foreign collision", "aux 0 100 0 64 8\ntrace 0 0 64", 0, 0, 0},
	{"collision", SPE "aux 0 100 0 64 8\ntrace 0 0 64", 0, 0, 0},
	{"partial", "aux 0 100 0 64 4\ntrace 0 0 64", 0, 0, 0},
	{"truncated", "aux 0 100 0 4096 1\ntrace 0 0 4096", 0, 0, 0},
	{"truncated-inside truncated", "aux 0 100 0 4095 1\ntrace 0 0 4095", 0, 0, 0},
	{"truncated-inside truncated", "osrelease 4.12.0\naux 0 100 0 4095 1\ntrace 0 0 4095", 0, 0,
	 0},
	{"truncated", "osrelease 4.11.9\naux 0 100 0 4095 1\ntrace 0 0 4095", 0, 0, 0},
	{"truncated", "aux 0 100 0 64\naux 0 200 64 0 1\ntrace 0 0 64", 0, 0, 0},
	/* D12, D13: one record of the other kind */
	{"mode-mixed", "aux 0 100 0 64\naux 0 200 64 64\naux 0 300 128 64 2\ntrace 0 0 192", 0, 0,
	 0},
	/* it makes no snapshot of them: the hole is one */
	{"aux-hole mode-mixed",
	 "aux 0 100 0 64\naux 0 200 64 64\naux 0 300 256 64 2\ntrace 0 0 320", 0, 0, 0},
	{"mode-mixed:2", "aux 0 100 64 64 2\naux 0 200 128 64\naux 0 300 192 64 2\ntrace 0 0 192",
	 0, 0, 0},
	/* D21, K1: a second without a record */
	{"truncated not-resumed",
	 "aux 0 100 0 4096 1\naux 1 1000000100 0 64\ntrace 0 0 4096\ntrace 1 0 64", 0, 0, 0},
	{"truncated", "aux 0 100 0 4096 1\naux 1 1000000099 0 64\ntrace 0 0 4096\ntrace 1 0 64", 0,
	 0, 0},
	{"truncated", "aux 0 100 0 4096 1\naux 0 2000000000 4096 64\ntrace 0 0 4160", 0, 0, 0},
	/* J4 */
	{"collision-unflagged", TRBE "watermark 4096\naux 0 100 0 4096 " RAW "\ntrace 0 0 4096", 0,
	 4096, 0},
	{"collision-unflagged",
	 TRBE "aux 0 100 0 4096 " RAW "\naux 0 200 4096 4096 " RAW "\naux 0 300 8192 4096 " RAW
	      "\ntrace 0 0 12288",
	 0, 0, 0},
	{"", TRBE "aux 0 100 0 4096 " RAW "\naux 0 200 4096 4096 " RAW "\ntrace 0 0 8192", 0, 0, 0},
	{"collision", TRBE "watermark 4096\naux 0 100 0 4096 0x108\ntrace 0 0 4096", 0, 4096, 0},
	{"", TRBE "watermark 4096\naux 0 100 0 4095 " RAW "\ntrace 0 0 4095", 0, 4096, 0},
};

static const struct recording_case bytes[] = {
	{"trace-overlap", "aux 0 100 0 128\ntrace 0 0 64\ntrace 0 56 72", 0, 0, 0},
	/* K1: up to seven bytes of padding */
	{"", "aux 0 100 0 121\ntrace 0 0 57\ntrace 0 57 64", 0, 0, 0},
	{"trace-hole bytes-missing", "aux 0 100 0 128\ntrace 0 0 56\ntrace 0 64 64", 0, 0, 0},
	{"file-damaged trace-cut", "aux 0 100 0 64\ntrace 0 0 64 0xa5 8", 0, 0, 0},
	{"bytes-missing", "aux 0 100 0 72\ntrace 0 0 64", 0, 0, 0},
	{"bytes-without-record", "aux 0 100 8 64\ntrace 0 0 72", 0, 0, 0},
	{"bytes-without-record", "aux 0 100 0 64\ntrace 0 0 72", 0, 0, 0},
	{"", "aux 0 100 0 65\ntrace 0 0 65", 0, 0, 0},
	{"record-lost", "lost 0 50 1\naux 0 100 8 64\ntrace 0 0 72", 0, 0, 0},
	{"record-lost", "aux 0 100 0 64\nlost 0 200 1\ntrace 0 0 72", 0, 0, 0},
	{"skipped", SPE "aux 0 100 0 64\ntrace 0 0 64\ntrace 0 64 64 0", 0, 4096, 0},
	{"skipped padding-missing", SPE "aux 0 100 0 64\ntrace 0 0 64\ntrace 0 64 64 1", 0, 4096,
	 0},
	/* the zeros up to a multiple of 8 are the reader's */
	{"skipped", TRBE "aux 0 100 0 64\ntrace 0 0 64\ntrace 0 64 60 0x70", 0, 4096, 0},
	{"skipped", SPE "aux 0 100 0 64\ntrace 0 0 64\ntrace 0 64 8192 0", 0, 4096, 0},
	{"bytes-without-record", SPE "aux 0 100 0 64\ntrace 0 0 64\ntrace 0 64 8200 0", 0, 4096, 0},
	/* two rings are two streams */
	{"", "aux 0 100 0 64\naux 1 100 0 64\ntrace 0 0 64\ntrace 1 0 64", 0, 0, 0},
	{"", "aux t5 100 0 64\naux t6 100 0 64\ntrace t5 0 64\ntrace t6 0 64", 0, 0, 0},
	{"bytes-missing bytes-without-record", "aux 0 100 0 64\ntrace 1 0 64", 0, 0, 0},
	/* ID_INDEX decides whose ring a record is of */
	{"", "id 9 3 -1\naux 0 100 0 64 0 9\ntrace 3 0 64", 0, 0, 0},
	/* more of them are announced than there are */
	{"", "id-count 0x400000000000000\nid 9 3 -1\naux 0 100 0 64 0 9\ntrace 3 0 64", 0, 0, 0},
	{"", "id 9 -1 7\naux 0 100 0 64 0 9\ntrace t7 0 64", 0, 0, 0},
};

static const struct recording_case watermarks[] = {
	/* I4: SPE and TRBE stop at the page of the watermark */
	{"", SPE "watermark 6000\naux 0 100 0 8192\ntrace 0 0 8192", 0, 4096, 0},
	{"past-limit", SPE "watermark 6000\naux 0 100 0 8193\ntrace 0 0 8193", 0, 4096, 0},
	{"", SPE "watermark 8192\naux 0 100 0 8192\ntrace 0 0 8192", 0, 4096, 0},
	{"past-limit", SPE "watermark 8192\naux 0 100 0 8193\ntrace 0 0 8193", 0, 4096, 0},
	{"past-limit", TRBE "watermark 4096\naux 0 100 0 4100 " RAW "\ntrace 0 0 4100", 0, 4096, 0},
	/* another sink of CoreSight has no such limit */
	{"", TRBE "watermark 4096\naux 0 100 0 4100\ntrace 0 0 4100", 0, 4096, 0},
	/* H5: PT at powers of two of pages */
	{"", "watermark 4096\naux 0 100 4000 4191\ntrace 0 4000 4191", 0, 0, 0},
	{"missed-interrupt", "watermark 4096\naux 0 100 4000 4192\ntrace 0 4000 4192", 0, 0, 0},
	{"odd-watermark", "watermark 12288\naux 0 100 0 40960\ntrace 0 0 40960", 0, 0, 0},
	{"odd-watermark", "watermark 2048\naux 0 100 0 40960\ntrace 0 0 40960", 0, 0, 0},
	{"", "watermark 4096\naux 0 100 0 4196\ntrace 0 0 4196", 0, 0, 100},
	{"late-interrupt", "watermark 4096\naux 0 100 0 4197\ntrace 0 0 4197", 0, 0, 100},
	/* C2: half of the area */
	{"", "aux 0 100 0 16383\ntrace 0 0 16383", 16384, 0, 0},
	{"missed-interrupt", "aux 0 100 0 16384\ntrace 0 0 16384", 16384, 0, 0},
};

static const struct recording_case progress[] = {
	/* D5, D16: seven truncated records in a row after everything was read, then eight */
	{"truncated:8",
	 "aux 0 100 0 4096 1\ntrace 0 0 4096\naux 0 101 4096 0 1\naux 0 102 4096 0 1\n"
	 "aux 0 103 4096 0 1\naux 0 104 4096 0 1\naux 0 105 4096 0 1\naux 0 106 4096 0 1\n"
	 "aux 0 107 4096 0 1\naux 0 108 4096 64\ntrace 0 4096 64",
	 0, 0, 0},
	{"truncated:9 no-progress",
	 "aux 0 100 0 4096 1\ntrace 0 0 4096\naux 0 101 4096 0 1\naux 0 102 4096 0 1\n"
	 "aux 0 103 4096 0 1\naux 0 104 4096 0 1\naux 0 105 4096 0 1\naux 0 106 4096 0 1\n"
	 "aux 0 107 4096 0 1\naux 0 108 4096 0 1\naux 0 109 4096 64\ntrace 0 4096 64",
	 0, 0, 0},
	/* D21: truncated, then three times more before anything is read */
	{"truncated:3",
	 "osrelease 6.18.0\naux 1 100 0 4096 1\naux 1 101 4096 0 1\naux 1 102 4096 0 1\n"
	 "trace 1 0 4096",
	 0, 0, 0},
	{"truncated:4 truncated-again",
	 "osrelease 6.18.0\naux 1 100 0 4096 1\naux 1 101 4096 0 1\naux 1 102 4096 0 1\n"
	 "aux 1 103 4096 0 1\ntrace 1 0 4096",
	 0, 0, 0},
	{"truncated:4 not-disabled",
	 "osrelease 6.11.0\naux 1 100 0 4096 1\naux 1 101 4096 0 1\naux 1 102 4096 0 1\n"
	 "aux 1 103 4096 0 1\ntrace 1 0 4096",
	 0, 0, 0},
	{"truncated:4 truncated-again",
	 "osrelease 6.16.0\naux 1 100 0 4096 1\naux 1 101 4096 0 1\naux 1 102 4096 0 1\n"
	 "aux 1 103 4096 0 1\ntrace 1 0 4096",
	 0, 0, 0},
	{"truncated:4 truncated-again",
	 "osrelease 6.10.0\naux 1 100 0 4096 1\naux 1 101 4096 0 1\naux 1 102 4096 0 1\n"
	 "aux 1 103 4096 0 1\ntrace 1 0 4096",
	 0, 0, 0},
	{"truncated:4 not-disabled",
	 "osrelease 6.10.0\naux 0 100 0 4096 1\naux 0 101 4096 0 1\naux 0 102 4096 0 1\n"
	 "aux 0 103 4096 0 1\ntrace 0 0 4096",
	 0, 0, 0},
	/* several tasks' events in one ring: their records do not say which one */
	{"truncated:4",
	 "osrelease 6.18.0\ninherit\naux 1:5 100 0 4096 1\naux 1:5 101 4096 0 1\n"
	 "aux 1:6 102 4096 0 1\naux 1:6 103 4096 0 1\ntrace 1:5 0 4096",
	 0, 0, 0},
};

#define WAKEUPS "aux 0 100 0 4096\ntrace 0 0 4096\nreader 65536 16384 4096\n"
static const struct recording_case noted[] = {
	/* D18: the head passes a watermark, and poll() says so, at once or at the next return */
	{"", WAKEUPS "wakeup 4096 0 100 1\nwakeup 4096 4096 100 4", 0, 0, 0},
	{"wakeup-missing",
	 WAKEUPS "wakeup 4096 0 100 0\nwakeup 4096 0 100 0\nwakeup 4096 4096 100 4", 0, 0, 0},
	{"", WAKEUPS "wakeup 4095 0 100 0\nwakeup 4095 0 100 0\nwakeup 4096 4096 100 4", 0, 0, 0},
	{"", WAKEUPS "wakeup 4096 0 100 0\nwakeup 4096 0 100 1\nwakeup 4096 4096 100 4", 0, 0, 0},
	{"wakeup-without-cause", WAKEUPS "wakeup 4095 0 100 1\nwakeup 4096 4096 100 4", 0, 0, 0},
	{"", WAKEUPS "wakeup 4095 0 100 3\nwakeup 4096 4096 100 4", 0, 0, 0}, /* a truncation */
	/* E6: more than half of the data ring */
	{"", WAKEUPS "wakeup 4095 0 8193 1\nwakeup 4096 4096 8200 4", 0, 0, 0},
	{"wakeup-without-cause", WAKEUPS "wakeup 4095 0 8192 1\nwakeup 4096 4096 8200 4", 0, 0, 0},
	/* whether the last return was followed by a wakeup is not known */
	{"", WAKEUPS "wakeup 4096 0 100 0", 0, 0, 0},
	/* what has woken may have come after the return before */
	{"", WAKEUPS "wakeup 4096 0 100 1\nwakeup 8192 4096 100 1\nwakeup 8200 8192 100 1", 0, 0,
	 0},
	{"wakeup-without-cause",
	 WAKEUPS "wakeup 4096 0 100 1\nwakeup 8192 4096 100 1\nwakeup 8200 8192 100 1\n"
		 "wakeup 8300 8200 100 1",
	 0, 0, 0},
	/* D6: no space */
	{"", "aux 0 100 0 4096\ntrace 0 0 4096\nreader 16384 16384 1048576\nwakeup 16383 0 100 1",
	 0, 0, 0},
	{"wakeup-without-cause",
	 "aux 0 100 0 4096\ntrace 0 0 4096\nreader 16384 16384 1048576\nwakeup 16382 0 100 1", 0, 0,
	 0},
	/* the emulation's wakeups may be read late */
	{"",
	 "aux 0 100 0 4096\ntrace 0 0 4096\nreader 16384 16384 1048576 1 1\nwakeup 16382 0 100 1",
	 0, 0, 0},
	{"wakeups-unnoted",
	 "aux 0 100 0 4096\ntrace 0 0 4096\nreader 65536 16384 4096 3\n"
	 "wakeup 4096 0 100 1\nwakeup 4096 4096 100 4",
	 0, 0, 0},
	/* D7: an overwritten area has no wakeups */
	{"wakeup-without-cause",
	 "aux 0 100 65536 65536 2\ntrace 0 0 65536\nreader 65536 16384 4096\n"
	 "wakeup 4096 0 100 1\nwakeup 4096 4096 100 4",
	 0, 0, 0},
	/* gaps that the recorder noted */
	{"noted-loss", "aux 0 100 0 64\ntrace 0 0 64\ngap 5 0 -1 100 77 1", 0, 0, 0},
	{"truncation-unflagged noted-loss", "aux 0 100 0 64\ntrace 0 0 64\ngap 1 0 -1 100 77 1", 0,
	 0, 0},
	{"noted-loss", "aux 0 100 0 64\ntrace 0 0 64\ngap 1 0 -1 101 77 1", 0, 0, 0},
	{"noted-loss", "aux 0 100 0 64\ntrace 0 0 64\ngap 1 1 -1 100 77 1", 0, 0, 0},
	{"truncation-unflagged noted-loss", "aux t7 100 0 64\ntrace t7 0 64\ngap 1 -1 7 100 77 1",
	 0, 0, 0},
	/* counts of the recorder, of a full trace */
	{"truncation-unflagged",
	 "aux 0 100 0 64\ntrace 0 0 64\ncapture mode: full\ncapture truncations: 1", 0, 0, 0},
	{"truncated",
	 "aux 0 100 0 4096 1\ntrace 0 0 4096\ncapture mode: full\ncapture truncations: 1", 0, 0, 0},
	/* F3: it may have been the lost one */
	{"",
	 "lost 0 50 1\naux 0 100 0 64\ntrace 0 0 64\ncapture mode: full\ncapture truncations: 1", 0,
	 0, 0},
	{"",
	 "aux 0 100 0 64\ntrace 0 0 64\ncapture mode: full\ncapture truncations: 1\n"
	 "capture lost_records: 1",
	 0, 0, 0},
	/* D6: a full area was counted, too */
	{"",
	 "watermark 8192\naux 0 100 0 8192\ntrace 0 0 8192\ncapture mode: full\n"
	 "capture truncations: 1\ncapture aux_bytes_per_ring: 8193",
	 0, 0, 0},
	{"truncation-unflagged",
	 "watermark 8192\naux 0 100 0 8192\ntrace 0 0 8192\ncapture mode: full\n"
	 "capture truncations: 1\ncapture aux_bytes_per_ring: 8194",
	 0, 0, 0},
	{"", "aux 0 100 0 64\ntrace 0 0 64\ncapture mode: snapshot\ncapture truncations: 1", 0, 0,
	 0},
	{"collision-unflagged",
	 "aux 0 100 0 64\ntrace 0 0 64\ncapture mode: full\ncapture collisions: 1", 0, 0, 0},
	{"noted-bytes-missing",
	 "aux t5 100 0 64\ntrace t5 0 64\ncapture mode: full\n"
	 "capture unit 5: produced 65 written 65 dropped 0",
	 0, 0, 0},
	{"",
	 "aux t5 100 0 64\ntrace t5 0 64\ncapture mode: full\n"
	 "capture unit 5: produced 65 written 64 dropped 1",
	 0, 0, 0},
	{"noted-bytes-missing", /* a number that two threads had */
	 "aux t5 100 0 64\ntrace t5 0 64\ncapture mode: full\n"
	 "capture unit 5: produced 40 written 40 dropped 0\n"
	 "capture unit 5: produced 40 written 40 dropped 0",
	 0, 0, 0},
	{"noted-bytes-missing", /* a ring that is not there */
	 "aux t5 100 0 64\ntrace t5 0 64\ncapture mode: full\n"
	 "capture unit 4: produced 1 written 1 dropped 0",
	 0, 0, 0},
};

static void check(const struct recording_case *cases, size_t nr)
{
	bool passed = true;

	for (size_t i = 0; i < nr; i++) {
		struct auxtap_audit_opts opts = {
			.size = sizeof(opts),
			.aux_size = cases[i].aux_size,
			.page_size = cases[i].page_size,
			.max_overshoot = cases[i].max_overshoot,
		};
		struct auxtap_audit *audit = audit_recording(cases[i].lines, &opts);

		passed &= audit_found(audit, cases[i].found, cases[i].lines);
		auxtap_audit_free(audit);
	}
	assert_true(passed);
}

#define TEST(name)                                           \
	static void test_##name(void **state)                \
	{                                                    \
		(void)state;                                 \
		check(name, sizeof(name) / sizeof(name[0])); \
	}
TEST(files)
TEST(offsets)
TEST(flags)
TEST(bytes)
TEST(watermarks)
TEST(progress)
TEST(noted)

static void test_nothing_to_audit(void **state)
{
	struct auxtap_error err = AUXTAP_ERROR_INIT;

	(void)state;
	assert_int_equal(audit_recording_error("family 0\nstart 0 100", NULL, &err), -ENODATA);
	assert_true(*err.why);
}

/* ---- what a finding contains ---- */

static void test_finding(void **state)
{
	struct auxtap_audit *audit = audit_recording(
		"aux 0 100 0 64\naux 3 50 0 4096\naux 3 150 5000 64\ntrace 0 0 64\ntrace 3 0 5064",
		NULL);
	const struct auxtap_finding *f = audit_first(audit, "aux-hole");

	(void)state;
	assert_int_equal(f->cpu, 3);
	assert_int_equal(f->tid, -1);
	assert_int_equal(f->time_ns, 150);
	assert_int_equal(f->nr_bytes, 904);
	assert_null(f->log);
	/* header, attribute, AUXTRACE_INFO, two AUX records */
	assert_int_equal(f->file_off, 104 + 8 + 128 + 16 + 152 + 2 * 64);
	assert_int_equal(f->invariant->severity, AUXTAP_VIOLATION);
	assert_true(auxtap_audit_at_fault(audit));
	assert_null(auxtap_audit_get_finding(audit, 1));
	auxtap_audit_free(audit);

	audit = audit_recording("aux t7 100 0 4096 1\ntrace t7 0 4096", NULL);
	f = audit_first(audit, "truncated");
	assert_int_equal(f->tid, 7);
	assert_int_equal(f->cpu, -1);
	assert_false(auxtap_audit_at_fault(audit));
	auxtap_audit_free(audit);
}

/* Findings past the limit are counted only. */
static void test_kept(void **state)
{
	struct auxtap_audit *audit;
	char *lines, *at;
	size_t nr = 0;

	(void)state;
	at = lines = malloc(1100 * 64);
	assert_non_null(lines);
	for (unsigned int i = 0; i < 1005; i++)
		at += sprintf(at, "aux 0 %u %u 64 4\n", 100 + i, 64 * i);
	sprintf(at, "trace 0 0 %u\n", 64 * 1005);
	audit = audit_recording(lines, NULL);
	assert_true(audit_found(audit, "partial:1005", "1005 records"));
	while (auxtap_audit_get_finding(audit, nr))
		nr++;
	assert_int_equal(nr, AUXTAP_AUDIT_KEPT);
	auxtap_audit_free(audit);
	free(lines);
}

/* ---- sums and facts ---- */

static void test_ring_sums(void **state)
{
	struct auxtap_audit *audit = audit_recording(
		SPE "watermark 4096\nstart 2 90\naux 2 100 64 4032 1\naux 2 350 4096 4097 4\n"
		    "lost 2 400 3\naux 2 500 12288 64 9\n"
		    "aux 2 600 12352 64\ntrace 2 64 4032\ntrace 2 4096 8192\n"
		    "trace 2 12288 128",
		&(struct auxtap_audit_opts){.size = sizeof(struct auxtap_audit_opts),
					    .page_size = 4096});
	const struct auxtap_audit_ring *r = auxtap_audit_get_ring(audit, 0);

	(void)state;
	assert_null(auxtap_audit_get_ring(audit, 1));
	assert_int_equal(r->cpu, 2);
	assert_int_equal(r->tid, -1);
	assert_null(r->log);
	assert_false(r->overwrite);
	assert_int_equal(r->nr_records, 4);
	assert_int_equal(r->nr_bytes, 4032 + 4097 + 128);
	assert_int_equal(r->first_off, 64);
	assert_int_equal(r->last_end, 12416);
	assert_int_equal(r->nr_reads, 3);
	assert_int_equal(r->nr_read_bytes, 4032 + 8192 + 128);
	assert_int_equal(r->largest_unread, 8192);
	assert_int_equal(r->nr_truncated, 2);
	assert_int_equal(r->nr_partial, 1);
	assert_int_equal(r->nr_collision, 1);
	assert_int_equal(r->nr_lost_records, 3);
	assert_int_equal(r->nr_skipped_bytes, 0);
	assert_int_equal(r->nr_starts, 1);
	assert_int_equal(r->off_ns, 250 + 100);
	/* 0 bytes past the first watermark, 1 byte past the next */
	assert_int_equal(r->nr_passed, 2);
	assert_int_equal(r->overshoots[0], 1);
	assert_int_equal(r->overshoots[1], 1);
	auxtap_audit_free(audit);
}

/* A skip passes watermarks, too, and is summed. */
static void test_skips(void **state)
{
	struct auxtap_audit *audit = audit_recording(
		SPE "watermark 4096\naux 0 100 0 3000\naux 0 200 4099 64\ntrace 0 0 3000\n"
		    "trace 0 3000 1099 0\ntrace 0 4099 64",
		&(struct auxtap_audit_opts){.size = sizeof(struct auxtap_audit_opts),
					    .page_size = 4096});
	const struct auxtap_audit_ring *r = auxtap_audit_get_ring(audit, 0);

	(void)state;
	assert_true(audit_found(audit, "skipped", "a skip"));
	assert_int_equal(r->nr_skipped_bytes, 1099);
	assert_int_equal(r->nr_passed, 1);
	assert_int_equal(r->overshoots[2], 1); /* three bytes */
	auxtap_audit_free(audit);

	/* up to the watermark, with wrong bytes */
	audit = audit_recording(
		SPE "watermark 4096\naux 0 100 0 3000\naux 0 200 4096 64\ntrace 0 0 4160",
		&(struct auxtap_audit_opts){.size = sizeof(struct auxtap_audit_opts),
					    .page_size = 4096});
	r = auxtap_audit_get_ring(audit, 0);
	assert_int_equal(r->nr_passed, 1);
	assert_int_equal(r->overshoots[0], 1);
	assert_int_equal(audit_first(audit, "padding-missing")->nr_bytes, 1096);
	assert_non_null(
		strstr(audit_first(audit, "padding-missing")->text, "first at 0xbb8: 0xa5"));
	auxtap_audit_free(audit);
}

static const struct auxtap_audit_facts *facts_of(const char *lines, uint64_t aux_size,
						 uint64_t page_size, struct auxtap_audit **audit)
{
	struct auxtap_audit_opts opts = {.size = sizeof(opts),
					 .aux_size = aux_size,
					 .page_size = page_size};

	*audit = audit_recording(lines, &opts);
	return auxtap_audit_get_facts(*audit);
}

static void test_units(void **state)
{
	static const struct {
		const char *lines, *unit;
		uint64_t page_size;
	} cases[] = {
		{"family 0\naux 0 100 0 64\ntrace 0 0 64", "unknown", 4096},
		{"family 1\naux 0 100 0 64\ntrace 0 0 64", "intel_pt", 4096},
		{"family 2\naux 0 100 0 64\ntrace 0 0 64", "intel_bts", 4096},
		{"family 3\naux 0 100 0 64\ntrace 0 0 64", "cs_etm", 65536},
		{"family 4\naux 0 100 0 64\ntrace 0 0 64", "arm_spe", 65536},
		{"family 5\naux 0 100 0 64\ntrace 0 0 64", "unknown", 4096},
	};
	struct auxtap_audit *audit;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct auxtap_audit_facts *facts = facts_of(cases[i].lines, 0, 0, &audit);

		assert_string_equal(facts->unit, cases[i].unit);
		assert_int_equal(facts->page_size, cases[i].page_size);
		assert_false(facts->of_log);
		auxtap_audit_free(audit);
	}
}

static void test_facts(void **state)
{
	const char *lines = "watermark 4096\nlost-samples 5\nhw-id\nhw-id\naux 0 200 0 64\n"
			    "aux 0 300 64 64\ntrace 0 0 128";
	struct auxtap_audit *audit;
	const struct auxtap_audit_facts *facts = facts_of(lines, 32768, 0, &audit);

	(void)state;
	assert_int_equal(facts->aux_size, 32768);
	assert_int_equal(facts->watermark, 4096);
	assert_false(facts->watermark_default);
	assert_int_equal(facts->nr_hw_ids, 2);
	assert_int_equal(facts->nr_lost_samples, 5);
	assert_int_equal(facts->time_begin, 200);
	assert_int_equal(facts->time_end, 300);
	auxtap_audit_free(audit);
	/* C2: half of the area; pages are so small that two of them fit */
	facts = facts_of(SPE "aux 0 200 0 64\ntrace 0 0 64", 32768, 0, &audit);
	assert_true(facts->watermark_default);
	assert_int_equal(facts->watermark, 16384);
	assert_int_equal(facts->page_size, 16384);
	auxtap_audit_free(audit);
	facts = facts_of(SPE "aux 0 200 0 64\ntrace 0 0 64", 65536, 0, &audit);
	assert_int_equal(facts->page_size, 16384);
	auxtap_audit_free(audit);
	facts = facts_of(SPE "aux 0 200 0 64\ntrace 0 0 64", 4096, 0, &audit);
	assert_int_equal(facts->page_size, 4096);
	auxtap_audit_free(audit);
	facts = facts_of(SPE "aux 0 200 0 64\ntrace 0 0 64\ncapture mode: full\n"
			     "capture backend: emulated",
			 0, 0, &audit);
	assert_int_equal(facts->page_size, 4096);
	auxtap_audit_free(audit);
	/* from the wakeup log */
	facts = facts_of(WAKEUPS "wakeup 4096 0 100 1\nwakeup 4096 4096 100 4", 0, 0, &audit);
	assert_int_equal(facts->aux_size, 65536);
	assert_int_equal(facts->nr_wakeups_noted, 2);
	auxtap_audit_free(audit);
}

static void test_overwrite(void **state)
{
	struct auxtap_audit *audit =
		audit_recording("aux 0 100 64 4096 2\naux 0 200 32 4096 3\ntrace 0 0 4096", NULL);

	(void)state;
	/* H11: offset and size are no range, and a truncation inside a page is none */
	assert_true(audit_found(audit, "truncated", "a snapshot"));
	assert_true(auxtap_audit_get_ring(audit, 0)->overwrite);
	auxtap_audit_free(audit);
}

/* ---- options ---- */

static void test_options(void **state)
{
	const char *lines = "watermark 8192\naux 0 100 0 8193\ntrace 0 0 8193";
	struct {
		struct auxtap_audit_opts opts;
		uint64_t newer;
	} longer = {.opts = {.size = sizeof(longer), .aux_size = 8192}};
	struct auxtap_audit_opts opts = {
		.size = offsetof(struct auxtap_audit_opts, max_delay),
		.aux_size = 8192,
		.max_delay = 1, /* not taken: the struct ends before it */
	};
	struct auxtap_error err = AUXTAP_ERROR_INIT;
	struct auxtap_audit *audit;

	(void)state;
	audit = audit_recording(lines, &opts);
	assert_true(audit_found(audit, "larger-than-buffer", "a shorter struct"));
	auxtap_audit_free(audit);
	audit = audit_recording(lines, &longer.opts);
	assert_true(audit_found(audit, "larger-than-buffer", "a longer struct"));
	auxtap_audit_free(audit);
	longer.newer = 1;
	assert_int_equal(audit_recording_error(lines, &longer.opts, &err), -E2BIG);
	opts.size = 8;
	assert_int_equal(audit_recording_error(lines, &opts, &err), -EINVAL);
	opts.size = 0;
	assert_int_equal(audit_recording_error(lines, &opts, &err), -EINVAL);
	auxtap_audit_free(NULL);
}

static void test_table(void **state)
{
	const struct auxtap_invariant *inv;
	size_t nr = 0;

	(void)state;
	for (; (inv = auxtap_audit_get_invariant(nr)); nr++) {
		assert_int_equal(inv->size, sizeof(*inv));
		assert_true(*inv->name && *inv->what);
		assert_false(inv->of_log && inv->of_both);
		assert_ptr_equal(audit_invariant_by_name(inv->name), inv);
	}
	assert_true(nr > 60);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_files),	   cmocka_unit_test(test_offsets),
		cmocka_unit_test(test_flags),	   cmocka_unit_test(test_bytes),
		cmocka_unit_test(test_watermarks), cmocka_unit_test(test_progress),
		cmocka_unit_test(test_noted),	   cmocka_unit_test(test_nothing_to_audit),
		cmocka_unit_test(test_finding),	   cmocka_unit_test(test_kept),
		cmocka_unit_test(test_ring_sums),  cmocka_unit_test(test_skips),
		cmocka_unit_test(test_units),	   cmocka_unit_test(test_facts),
		cmocka_unit_test(test_overwrite),  cmocka_unit_test(test_options),
		cmocka_unit_test(test_table),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
