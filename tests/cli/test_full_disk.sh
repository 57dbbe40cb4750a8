# SPDX-License-Identifier: BSD-2-Clause
# Full disks of 19 sizes (AUXTAP_LONG: 42): our decoder, report and stock perf read every file that
# a crash or a recording leaves; an incomplete file is reported as such; no other file is left.
. "$(dirname "$0")/lib.sh"
command -v cc >/dev/null || skip "no C compiler"
trap 'umount "$WORK/small" 2>/dev/null; rm -rf "$WORK"' EXIT
mkdir small
[ "$(id -u)" -eq 0 ] && mount -t tmpfs -o size=64k tmpfs small 2>/dev/null || skip "cannot mount a tmpfs here"
umount small
cat >prog.c <<'C'
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static volatile unsigned int sink;
static void *work(void *arg)
{
	for (int i = 0; i < 300000; i++)
		sink = (i * 2654435761u) & 64 ? sink + 1 : sink ^ 3;
	for (;;)
		pause();
	return arg;
}
int main(int argc, char **argv)
{
	pthread_t t;

	for (int i = 0; i < 3; i++)
		pthread_create(&t, NULL, work, NULL);
	for (int i = 0; i < 300000; i++)
		sink = (i * 2654435761u) & 64 ? sink + 1 : sink ^ 3;
	if (argc > 1)
		_exit(0);
	*(volatile int *)8 = 1;
	return 0;
}
C
cc -g -O1 -static -pthread -w -o prog prog.c 2>cc.err || skip "cc -static does not work: $(tail -n 1 cc.err)"
source=ptrace
command -v qemu-x86_64 >/dev/null && [ -e "$BIN/auxtap-qemu.so" ] && source=qemu

readable() { # WHAT FILE
	local status
	"$AUXTAP" decode --summary "$2" >sum 2>summary.err
	status=$?
	[ $status -le 1 ] || fail "$1: decode: status $status: $(tail -n 1 summary.err)"
	"$AUXTAP" report "$2" >out 2>report.err
	[ $? -le 1 ] && [ -s out ] || fail "$1: report: $(tail -n 1 report.err)"
	# the build without the sanitizers compares with perf
	! short_of_sanitizers && command -v perf >/dev/null || return 0
	perf script -i "$2" --itrace=b >perf.out 2>perf.err || fail "$1: perf: $(head -n 1 perf.err)"
}

# disk SIZE COMMAND...: runs it on that disk; its status in $status
disk() {
	local size=$1
	shift
	mount -t tmpfs -o size="$size" tmpfs small || { fail "mount size=$size"; return; }
	"$AUXTAP" "$@" >prog.out 2>err </dev/null
	status=$?
}

# By default those at which the files left on the disk change: no snapshot, one without a report,
# ...
crash_sizes="4k 32k 36k 40k 64k 104k 112k 128k 144k 208k 224k 240k 256k 288k 320k 352k 416k 448k 2m"
record_sizes="4k 36k 44k 96k 256k 320k 2m"
if [ -n "${AUXTAP_LONG:-}" ]; then
	crash_sizes="4k 8k 16k 24k 32k 36k 40k 44k 48k 52k 56k 60k 64k 72k 80k 88k 96k
		104k 112k 120k 128k 144k 160k 176k 192k 208k 224k 240k 256k 288k 320k 352k 384k
		416k 448k 480k 512k 576k 640k 768k 896k 2m"
	record_sizes="4k 36k 40k 44k 48k 64k 96k 128k 160k 192k 256k 320k 2m"
fi
nr=0 whole=0 part=0 absent=0
for size in $crash_sizes; do
	nr=$((nr + 1))
	disk $size crash --source $source -m 8,64 -o small/data -- ./prog
	if [ -e small/data ]; then
		readable "crash, $size" small/data
		head -n 1 out | grep -q 'died of SIGSEGV' || fail "crash, $size: the report: $(head -n 1 out)"
		grep -q 'died of SIGSEGV' err || fail "crash, $size: no report: $(tail -n 2 err)"
	else
		absent=$((absent + 1))
		grep -q 'died of SIGSEGV.*no snapshot was written' err || fail "crash, $size: $(tail -n 2 err)"
	fi
	if [ $status -eq 139 ]; then
		whole=$((whole + 1))
		[ -s small/data.report.txt ] || grep -q '^auxtap: small/data.report.txt: ' err ||
			fail "crash, $size: no report, and no message: $(ls -l small)"
	else
		[ $status -eq 125 ] || fail "crash, $size: status $status"
		grep -q '^auxtap: small/data.*No space left on device' err || fail "crash, $size: $(tail -n 2 err)"
		if [ -e small/data ]; then
			part=$((part + 1))
			grep -q 'trace up to offset 0x[0-9a-f]* is kept; free some space' err ||
				fail "crash, $size: $(grep ^auxtap: err)"
			"$AUXTAP" decode --events gap small/data 2>&1 | grep -q truncated || fail "crash, $size: no gap for the missing trace"
		fi
	fi
	[ ! -e small/data.report.txt ] || [ -s small/data.report.txt ] || fail "crash, $size: an empty report"
	[ -z "$(find small -name 'data.??????')" ] || fail "crash, $size: $(ls small)"
	umount small
done
echo "crash: $nr sizes: $whole complete, $part with a part of the trace, $absent without a snapshot"
[ $whole -gt 0 ] && [ $part -gt 0 ] && [ $absent -gt 0 ] || fail "not all kinds of full disks occurred"

whole=0 part=0 absent=0
for size in $record_sizes; do
	disk $size record --source $source -m 8,16 -o small/data -- ./prog end
	if [ -e small/data ]; then
		readable "record, $size" small/data
	else
		absent=$((absent + 1))
	fi
	if [ $status -eq 0 ]; then
		whole=$((whole + 1))
	else
		[ $status -eq 125 ] || fail "record, $size: status $status"
		if [ -e small/data ]; then
			part=$((part + 1))
			grep -q '^auxtap: small/data: .*No space left on device; trace up to offset 0x[0-9a-f]* is kept; free some space' \
				err ||
				fail "record, $size: $(tail -n 1 err)"
		else
			grep -q '^auxtap: small/data: .*No space left on device' err || fail "record, $size: $(tail -n 1 err)"
		fi
	fi
	umount small
done
echo "record: $whole complete, $part with a part, $absent without a file"
[ $whole -gt 0 ] && [ $part -gt 0 ] && [ $absent -gt 0 ] || fail "record: not all kinds of full disks occurred"
finish
