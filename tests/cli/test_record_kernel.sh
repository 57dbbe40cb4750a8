# SPDX-License-Identifier: BSD-2-Clause
# The kernel backend as far as possible without a trace unit: a software dummy event per
# CPU, inherited, enabled at exec; its sideband in a file that stock perf reads.
. "$(dirname "$0")/lib.sh"
"$AUXTAP" record --backend kernel -e dummy:u -o data -- /bin/sh -c '/bin/true; exit 3' 2>err
status=$?
grep -q 'perf_event_open' err && skip "$(cat err)"
[ "$status" -eq 3 ] || fail "status $status, not 3: $(cat err)"
"$AUXTAP" dump data >dump || fail "dump"
[ "$(grep -c 'COMM.*true' dump)" -ge 1 ] || fail "no COMM of the child"
grep -q 'MMAP2.*/data\.vdso' dump || fail "the vdso has no file name"
[ -s data.vdso ] || fail "no copy of the vdso"
if command -v perf >/dev/null; then
	perf script -i data --show-mmap-events --show-task-events >script 2>/dev/null
	[ "$(grep -c PERF_RECORD_EXIT script)" -ge 2 ] || fail "perf sees $(grep -c PERF_RECORD_EXIT script) EXIT records"
	perf buildid-list -i data 2>/dev/null | grep -q '^[0-9a-f]\{40\} .*libc' || fail "no build-id of libc"
fi
finish
