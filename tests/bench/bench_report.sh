# SPDX-License-Identifier: BSD-2-Clause
# Time from the fatal signal to the report, for a full snapshot of 4 MiB; goal: at most 2 s.
# The program prints the time just before it crashes; the report is complete when auxtap ends.
. "$SRC/tests/cli/lib.sh"
cat >crash_late.c <<'C'
#include <stdio.h>
#include <time.h>
int main(void)
{
	unsigned long x = 12345, sum = 0;
	struct timespec t;

	for (long i = 0; i < 120000000; i++) {
		x = x * 6364136223846793005ul + 1442695040888963407ul;
		if (x >> 63)
			sum += x;
	}
	clock_gettime(CLOCK_REALTIME, &t);
	printf("%ld.%09ld %lu\n", (long)t.tv_sec, t.tv_nsec, sum);
	fflush(stdout);
	*(volatile int *)8 = 1;
	return 0;
}
C
gcc -O1 -g crash_late.c -o crash_late
for run in 1 2 3; do
	"$AUXTAP" crash --source qemu -m 128,1024 -o data -- ./crash_late >out 2>err
	end=$(date +%s.%N)
	awk -v end="$end" '{printf "report-seconds: %.2f\n", end - $1}' out
done
echo "snapshot-bytes: $(stat -c %s data)"
grep -h 'instructions,' data.report.txt | head -n 1 | sed 's/^ */report-covers: /'
