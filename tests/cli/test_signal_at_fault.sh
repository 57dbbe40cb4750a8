# SPDX-License-Identifier: BSD-2-Clause
# A timer's signal comes at the moment of a fault: its handler runs first, and then that of the
# fault starts. The instructions after the fault were not executed, and each fault counts once. The
# program counts both.
. "$(dirname "$0")/lib.sh"
command -v gcc >/dev/null || skip "gcc is not installed"
"$AUXTAP" list | grep -q 'qemu: available' || skip "no qemu"
cat >timer.c <<'C'
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
static sigjmp_buf env;
static volatile int ticks, faults, after, repairs, calls;
static char *page;
static void on_tick(int signo)
{
	ticks++;
}
static void on_fault(int signo)
{
	faults++;
	if (!repairs)
		siglongjmp(env, 1);
	mprotect(page, 65536, PROT_READ | PROT_WRITE);
}
__attribute__((noinline)) void was_read(int value)
{
	after += 1 + value;
}
/* the handler, which the program also calls: it faults in its first block */
__attribute__((noinline)) void reads_info(int signo, siginfo_t *info, void *context)
{
	int value = calls;

	value += *(volatile int *)info;

	if (signo) {
		faults++;
		siglongjmp(env, 1);
	}
	after += 1 + value;
}
__attribute__((noinline)) int probe(volatile char *at)
{
	if (sigsetjmp(env, 1))
		return 0;
	if (calls)
		reads_info(0, (siginfo_t *)at, NULL);
	was_read(*at);
	return 1;
}
int main(int argc, char **argv)
{
	struct itimerval often = {{0, 150}, {0, 150}}, never = {{0}};
	struct sigaction action;

	memset(&action, 0, sizeof(action));
	repairs = argc > 1 && !strcmp(argv[1], "repairs");
	calls = argc > 1 && !repairs;
	action.sa_handler = on_fault;
	if (calls) {
		action.sa_flags = SA_SIGINFO;
		action.sa_sigaction = reads_info;
	}
	sigaction(SIGSEGV, &action, NULL);
	action.sa_flags = SA_RESTART;
	action.sa_handler = on_tick;
	sigaction(SIGALRM, &action, NULL);
	page = mmap(NULL, 65536, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	setitimer(ITIMER_REAL, &often, NULL);
	for (int i = 0; i < 2000 || (ticks < 200 && i < 200000); i++) {
		if (repairs)
			mprotect(page, 65536, PROT_NONE);
		probe(page);
	}
	setitimer(ITIMER_REAL, &never, NULL);
	printf("%d ticks, %d faults, %d after\n", ticks, faults, after);
	fflush(stdout);
	abort();
}
C
programs=
for cc in gcc aarch64-linux-gnu-gcc; do
	command -v $cc >/dev/null || continue
	$cc -g -O1 -static -w -o timer.$cc timer.c && programs+=" timer.$cc"
done
[ -n "$programs" ] || fail "no program was built"
for program in $programs; do
	for how in leaves repairs calls; do
		rm -f data*
		[ $how = leaves ] && set -- || set -- $how
		guard "$AUXTAP" crash --source qemu -m 16,4096 -o data -- "./$program" "$@" \
			>stdout 2>err
		read -r ticks _ faults _ after _ <stdout
		[ "$ticks" -ge 100 ] || fail "$program $how: too few ticks: $(cat stdout err)"
		"$AUXTAP" decode --events insn,gap -F event,sym,symoff data >events 2>err
		grep '^gap' events && fail "$program $how: a gap"
		nr=$(grep -c ' was_read+0x0$' events)
		[ "$nr" -eq "$after" ] || fail "$program $how: $nr calls after a fault, in truth $after"
		handler=on_fault
		[ $how != calls ] || handler=reads_info
		nr=$(grep -c " $handler+0x0\$" events)
		[ $how != calls ] || nr=$((nr / 2)) # it was also called
		[ "$nr" -eq "$faults" ] || fail "$program $how: $nr faults, in truth $faults"
		grep -q "(the newest of $faults faults that did)" data.report.txt ||
			fail "$program $how: not $faults faults: $(sed '/^$/q' data.report.txt)"
	done
done
finish
