# SPDX-License-Identifier: BSD-2-Clause
# A crash session from beginning to end: many deaths and --keep, attaching to a process that then
# dies or ends, handled faults, signals, the terminal, threads that ended before, old files, a
# killed recorder, a full disk.
. "$(dirname "$0")/lib.sh"
command -v cc >/dev/null || skip "no C compiler"
cat >programs.c <<'C'
/* One program, static: single steps go into the matter, not into the linker. */
#define _GNU_SOURCE
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile sig_atomic_t got, continued;
static sigjmp_buf back;
static volatile int sink;

static void on_signal(int signo) { got = signo; }
static void on_cont(int signo) { (void)signo; continued++; }
static void on_segv(int signo) { (void)signo; siglongjmp(back, 1); }
static __attribute__((noinline)) void fatal_store(volatile int *p) { *p = 1; }

/* N children one after another; the third lives. */
static int children(int nr)
{
	for (int i = 0; i < nr; i++) {
		pid_t pid = fork();
		int status;

		if (!pid) {
			if (i == 2)
				_exit(3);
			fatal_store(NULL);
		}
		waitpid(pid, &status, 0);
		printf("child %d %x\n", i, status);
		fprintf(stderr, "pid %d\n", pid);
	}
	return 7;
}

static int handled(void)
{
	signal(SIGSEGV, on_segv);
	for (int i = 0; i < 3; i++) {
		if (!sigsetjmp(back, 1))
			fatal_store((volatile int *)(long)(i * 16));
	}
	puts("survived");
	return 6;
}

/* Runs until SIGUSR1 (or the terminal's SIGINT); then dies, or ends. */
static int until(const char *what)
{
	signal(SIGUSR1, on_signal);
	signal(SIGINT, on_signal);
	signal(SIGCONT, on_cont);
	puts("ready");
	while (!got)
		usleep(2000);
	if (!strcmp(what, "die"))
		fatal_store(NULL);
	printf("continued %d\n", (int)continued);
	return 5;
}

static int plain(void) /* dies of whatever signal it gets */
{
	puts("ready");
	for (;;)
		usleep(2000);
}

static volatile pid_t worker;

static void *short_work(void *arg)
{
	worker = gettid();
	prctl(PR_SET_NAME, "short-work");
	for (int i = 0; i < 50; i++)
		sink += i;
	return arg;
}

static void *lasting_work(void *arg)
{
	for (;;)
		pause();
	return arg;
}

static void *dies_if_null(void *arg)
{
	fatal_store(arg);
	return arg;
}

/* each has its thread's state at the same place in qemu */
static int workers(int nr)
{
	static int number;
	pthread_t t;

	while (nr--) {
		pthread_create(&t, NULL, dies_if_null, nr ? &number : NULL);
		pthread_join(t, NULL);
	}
	return 0;
}

static int threads(int nr)
{
	pthread_t t;

	pthread_create(&t, NULL, lasting_work, NULL);
	pthread_setname_np(t, "by-another"); /* by a file in /proc */
	while (nr--) {
		pthread_create(&t, NULL, short_work, NULL);
		pthread_join(t, NULL);
		/* joined, it may still be about to end; polls fill the ring */
		for (int us = 100; !tgkill(getpid(), worker, 0); us *= 2)
			usleep(us);
	}
	fatal_store(NULL);
	return 0;
}

static void *dying_thread(void *arg)
{
	printf("tid %d\n", gettid());
	until("die");
	return arg;
}

static int in_thread(void)
{
	pthread_t t;

	pthread_create(&t, NULL, dying_thread, NULL);
	for (;;)
		pause();
}

static int churn(void) /* trace without end */
{
	printf("ready %d\n", getpid());
	for (unsigned i = 0;; i++)
		sink = (int)(i * 2654435761u) < 0 ? sink + 1 : sink ^ 3;
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	int n = argc > 2 ? atoi(argv[2]) : 0;

	setvbuf(stdout, NULL, _IONBF, 0);
	alarm(6000);
	if (!strcmp(what, "children"))
		return children(n);
	if (!strcmp(what, "handled"))
		return handled();
	if (!strcmp(what, "until"))
		return until(argv[2]);
	if (!strcmp(what, "plain"))
		return plain();
	if (!strcmp(what, "threads"))
		return threads(n);
	if (!strcmp(what, "workers"))
		return workers(n);
	if (!strcmp(what, "in_thread"))
		return in_thread();
	if (!strcmp(what, "churn"))
		return churn();
	fatal_store(NULL); /* with no arguments */
	return 0;
}
C
cc -g -O1 -static -pthread -o programs programs.c 2>cc.err || skip "cc -static does not work: $(tail -n 1 cc.err)"
sources=ptrace
command -v qemu-x86_64 >/dev/null && [ -e "$BIN/auxtap-qemu.so" ] && sources="ptrace qemu"
fast=${sources##* }

crash() { "$AUXTAP" crash -m 8,16 "$@" </dev/null; }
started() { # in the background; its number in $recorder
	rm -f out # of the run before: it already contains "ready"
	# a shell without job control makes background commands ignore these two
	env --default-signal=INT,QUIT "$AUXTAP" crash -m 8,16 "$@" >out 2>err </dev/null &
	recorder=$!
}
status_is() { # WHAT GOT WANTED STDERR
	[ "$2" -eq "$3" ] || fail "$1: status $2, not $3: $(tail -n 3 "$4")"
}
stopped() { case $(sed 's/.*) //; s/ .*//' "/proc/$1/stat") in T | t) ;; *) return 1 ;; esac; }
mode_of() { stat -c %a "$1"; }

section() { echo "$SECONDS s: $*"; }

for source in $sources; do
	section "--keep: the first in FILE, later ones in FILE.PID; it and the newest stay"
	mkdir "keep.$source" && cd "keep.$source" || exit 1
	crash --source "$source" --keep 2 -o data -- ../programs children 6 >out 2>err
	status_is "keep, $source" $? 7 err
	for i in 0 1 2 3 4 5; do
		[ $i -eq 2 ] && echo "child 2 300" || echo "child $i b"
	done | cmp -s - out || fail "keep, $source: the program's output: $(cat out)"
	pid=$(sed -n 's/^pid //p' err | tail -n 1)
	printf '%s\n' data data.report.txt "data.$pid" "data.$pid.report.txt" | sort >want
	ls | grep '^data' | grep -v '\.vdso$' | sort >left
	cmp -s want left || fail "keep, $source: left $(tr '\n' ' ' <left), not $(tr '\n' ' ' <want)"
	for file in data*.vdso; do
		[ ! -e "$file" ] || [ -e "${file%.vdso}" ] || fail "keep, $source: $file lost its snapshot"
	done
	[ "$(grep -c 'died of SIGSEGV' err)" -eq 5 ] || fail "keep, $source: not 5 reports"
	for file in $(cat left); do
		[ "$(mode_of "$file")" = 600 ] || fail "keep, $source: mode of $file"
	done
	cd ..
	mkdir "first.$source" && cd "first.$source" || exit 1
	crash --source "$source" -o data -- ../programs children 2 >out 2>err
	pid=$(sed -n 's/^pid //p' err | tail -n 1)
	[ "$(ls | grep -v '\.vdso$' | tr '\n' ' ')" = "data data.$pid data.$pid.report.txt data.report.txt err out " ] \
		|| fail "names, $source: $(ls | tr '\n' ' ')"
	head -n 1 data.report.txt | grep -q "pid $(sed -n 's/^pid //p' err | head -n 1)" ||
		fail "names, $source: the first is not in FILE: $(head -n 1 data.report.txt)"
	cd ..

	section "a fault that the program handles is not a crash, but is reported"
	crash --source "$source" -o handled -- ./programs handled >out 2>err
	status_is "handled, $source" $? 6 err
	[ "$(cat out)" = survived ] || fail "handled, $source: $(cat out)"
	[ -e handled ] && fail "handled, $source: a snapshot"
	grep -v '^auxtap: backend' err >lines
	[ "$(wc -l <lines)" -eq 1 ] || fail "handled, $source: not one line: $(cat lines)"
	ip=$(sed -n 's/.*no crash, no snapshot.*first fault, SIGSEGV at ip 0x\([0-9a-f]*\) .*/\1/p' \
		lines)
	[ -n "$ip" ] || fail "handled, $source: $(cat lines)"
	if command -v addr2line >/dev/null; then
		addr2line -f -e programs "$ip" | grep -q '^fatal_store' ||
			fail "handled, $source: $ip is not in fatal_store"
	fi

	section "signals are forwarded; the program decides what happens"
	for signal in TERM INT HUP; do
		started --source "$source" -o sig -- ./programs plain
		wait_for grep -q ready out
		kill -s $signal $recorder
		wait $recorder
		status_is "$signal, $source" $? $((128 + $(kill -l $signal))) err
		grep -q "ended by SIG$signal; no crash, no snapshot" err || fail "$signal, $source: $(tail -n 1 err)"
		[ -e sig ] && fail "$signal, $source: a clean stop left a snapshot"
	done
	# SIGQUIT dumps core: a death with a report, but without a fault
	started --source "$source" -o quit -- ./programs plain
	wait_for grep -q ready out
	kill -s QUIT $recorder
	wait $recorder
	status_is "QUIT, $source" $? 131 err

	section "threads that had ended: their newest trace, their names"
	crash --source "$source" -o threads -- ./programs threads 5 >out 2>err
	status_is "threads, $source" $? 139 err
	grep -qE '^  by-another +[0-9]+ ' threads.report.txt ||
		fail "threads, $source: its name: $(sed -n '/^The other threads/,/^Images/p' threads.report.txt)"
	grep -q '^  no gaps: complete from the first instruction$' threads.report.txt ||
		fail "threads, $source: $(sed -n '/^What the trace/,/^Images/p' threads.report.txt)"
	[ "$(grep -cE '^  short-work +[0-9]+ +[0-9]+ instructions, last in .*; it had ended$' \
		threads.report.txt)" -eq 5 ] ||
		fail "threads, $source: $(sed -n '/^The other threads/,/^Images/p' threads.report.txt)"
	[ "$(grep -cE '^ +-[0-9]+  short_work \(programs.c:' threads.report.txt)" -eq 5 ] ||
		fail "threads, $source: their calls: $(sed -n '/^The other threads/,/^Images/p' threads.report.txt)"
	grep -q ' instructions, .* branches in 7 threads, ' threads.report.txt ||
		fail "threads, $source: $(grep ' branches in ' threads.report.txt)"
	if command -v perf >/dev/null; then
		# an ended thread's branches are those of the others that did the same
		for tid in $(sed -nE 's/^  short-work +([0-9]+) .*/\1/p' threads.report.txt); do
			perf script -i threads --tid "$tid" --itrace=b -F ip,sym 2>perf.err >"of.$tid"
			grep -q short_work "of.$tid" || fail "perf, $source: $tid: $(tail -n 1 perf.err)"
		done
	fi
done
head -n 1 quit.report.txt | grep -q 'died of SIGQUIT' || fail "QUIT: $(head -n 1 quit.report.txt)"

section "a thread that is about to exit: not where the next one died, which has its state"
for run in $(seq 40); do
	taskset -c 0 "$AUXTAP" crash --source "$fast" -o about -- ./programs workers 4 \
		>out 2>err </dev/null
	[ -s about.report.txt ] || { fail "about to exit: no report: $(cat err)"; break; }
	sed -n '/^The other threads/,/^Images/p' about.report.txt >others
	! grep 'instructions, last in fatal_store' others || { fail "run $run: see above"; break; }
done

section "of many threads that had ended the trace of the newest; the others are a gap, named once"
crash --source "$fast" -o many -- ./programs threads 70 >out 2>err
status_is "many threads" $? 139 err
grep -qE '^  1 gap: discarded, at least [0-9]+ bytes lost \(no trace is kept of the 6 threads that had ended\)$' \
	many.report.txt || fail "many threads: $(sed -n '/^What the trace/,/^Images/p' many.report.txt)"
grep -q 'no gaps' many.report.txt && fail "many threads: 'no gaps' with six traces lost"
grep -q ' branches in 66 threads, ' many.report.txt || fail "many: $(grep ' branches in ' many.report.txt)"
[ "$("$AUXTAP" decode --events gap -F event,tid many | grep -c discarded)" -eq 1 ] ||
	fail "many threads: gaps: $("$AUXTAP" decode --events gap many)"

section "AArch64: threads that had ended"
if "$AUXTAP" list | grep -q 'AArch64 programs: available' &&
	aarch64-linux-gnu-gcc -g -O1 -static -pthread -o programs.a64 programs.c 2>cc.err; then
	crash --source qemu -o threads.a64 -- ./programs.a64 threads 3 >out 2>err
	status_is "threads, AArch64" $? 139 err
	[ "$(grep -cE '^ +-[0-9]+  short_work \(programs.c:' threads.a64.report.txt)" -eq 3 ] ||
		fail "AArch64: $(sed -n '/^The other threads/,/^Images/p' threads.a64.report.txt)"
	grep -q '^  no gaps: complete from the first instruction$' threads.a64.report.txt ||
		fail "AArch64: $(sed -n '/^What the trace/,/^Images/p' threads.a64.report.txt)"
	# trace that the recorder did not keep is one gap, not two
	crash --source qemu -o many.a64 -- ./programs.a64 threads 70 >out 2>err
	status_is "many threads, AArch64" $? 139 err
	grep -qE '^  1 gap: discarded, ' many.a64.report.txt || fail "AArch64: no gap for ended threads"
	grep -qE '^  [0-9]+ gaps?: unknown, ' many.a64.report.txt &&
		fail "AArch64: $(sed -n '/^What the trace/,/^Images/p' many.a64.report.txt)"
	summary=$("$AUXTAP" decode --summary many.a64 | sed -n 's/^gaps: //p')
	listed=$("$AUXTAP" decode --events gap many.a64 | wc -l)
	[ "$summary" -eq "$listed" ] || fail "AArch64: $summary gaps in the summary, $listed listed"
fi

section "the old file stays as .old, private; its report too"
for run in 1 2 3; do
	(umask 000 && crash --source "$fast" -o again -- ./programs >out 2>err)
	status_is "run $run" $? 139 err
	cp again "copy.$run"
done
cmp -s again.old copy.2 || fail "again.old is not the second run's file"
for file in again again.old again.report.txt again.old.report.txt; do
	[ "$(mode_of $file)" = 600 ] || fail "mode of $file: $(mode_of $file)"
done
"$AUXTAP" report again.old >out
head -n 1 again.old.report.txt | cmp -s - <(head -n 1 out) || fail "again.old.report.txt does not belong to again.old"
"$AUXTAP" report again.old | head -n 1 | grep -q 'died of SIGSEGV' || fail "again.old gives no report"

section "attached to a program that dies, that ends"
for what in die end; do
	rm -f target.out
	./programs until $what >target.out &
	target=$!
	wait_for grep -q ready target.out
	started --backend emulated -p $target -o "attach.$what"
	wait_for grep -q backend err
	wait_for grep -q "^TracerPid:.[1-9]" /proc/$target/status
	sleep 0.3
	kill -USR1 $target
	wait $recorder
	status_is "attached, $what" $? "$([ $what = die ] && echo 139 || echo 0)" err
	wait $target 2>/dev/null
	status=$?
	if [ $what = die ]; then
		[ $status -eq 139 ] || fail "attached: the program ended with $status"
		head -n 3 attach.die.report.txt | grep -q 'fatal_store' || fail "attached: $(head -n 3 attach.die.report.txt)"
	else
		[ $status -eq 5 ] || fail "attached: the program ended with $status"
		[ -e attach.end ] && fail "attached, clean end: a snapshot"
		grep -q 'ended with status 5; no crash, no snapshot' err || fail "attached, clean end: $(tail -n 1 err)"
	fi
done
# detached while it runs
rm -f target.out
./programs until end >target.out &
target=$!
wait_for grep -q ready target.out
started --backend emulated -p $target -o attach.go
wait_for grep -q backend err
sleep 0.3
kill -s INT $recorder
wait $recorder
status_is "detached" $? 0 err
grep -q 'detached; no crash$' err || fail "detached: $(tail -n 1 err)"
kill -USR1 $target
wait $target
[ $? -eq 5 ] || fail "detached: the program ended with $?"

section "one thread"
rm -f target.out
./programs in_thread >target.out &
target=$!
wait_for grep -q ready target.out
tid=$(sed -n 's/^tid //p' target.out)
started --backend emulated -t "$tid" -o one
wait_for grep -q "^TracerPid:.[1-9]" "/proc/$target/task/$tid/status"
grep -q "^TracerPid:.0" "/proc/$target/task/$target/status" || fail "-t: the other thread is traced too"
sleep 0.3
kill -USR1 $target
wait $recorder
status_is "-t" $? 139 err
wait $target 2>/dev/null
[ $? -eq 139 ] || fail "-t: the program did not die as it would alone"
grep -q 'fatal_store' one.report.txt || fail "-t: $(tail -n 3 err)"

section "a recorder that is killed: auxtap and perf read the written part"
rm -f out
"$AUXTAP" record --source "$fast" -m 8,64 -o killed -- ./programs churn >out 2>err </dev/null &
recorder=$!
wait_for grep -q ready out
wait_for eval '[ "$(stat -c %s killed)" -gt 200000 ]'
kill -KILL $recorder
wait $recorder 2>/dev/null
sleep 0.5
kill -0 "$(sed -n 's/^ready //p' out)" || fail "killed: the program did not continue"
kill -KILL "$(sed -n 's/^ready //p' out)"
"$AUXTAP" decode --last 5 killed >out 2>err
status=$?
[ $status -le 1 ] || fail "killed: decode: status $status: $(tail -n 1 err)"
[ "$(wc -l <out)" -ge 5 ] || fail "killed: decode lists $(wc -l <out) lines"
"$AUXTAP" decode --summary killed >out 2>err
[ "$(sed -n 's/^bytes: //p' out)" -gt 100000 ] || fail "killed: $(tr '\n' ' ' <out)"
[ "$(sed -n 's/^instructions: //p' out)" -gt 100000 ] || fail "killed: $(tr '\n' ' ' <out)"
"$AUXTAP" report killed >out 2>&1
[ $? -le 1 ] || fail "killed: report: $(tail -n 1 out)"
"$AUXTAP" dump --no-packets killed >out 2>err
[ $? -le 1 ] || fail "killed: dump: $(tail -n 1 err)"
grep -q AUXTRACE out || fail "killed: dump lists no AUXTRACE"
if command -v perf >/dev/null; then
	perf script -i killed --itrace=i1i -F ip 2>perf.err | head -n 1000 | grep -c '[0-9a-f]' >nr
	[ "$(cat nr)" -eq 1000 ] || fail "killed: perf lists $(cat nr): $(tail -n 1 perf.err)"
fi

section "a full disk: the report is still printed, the data that fits is kept"
mkdir small
trap 'umount small 2>/dev/null; rm -rf "$WORK"' EXIT
if [ "$(id -u)" -eq 0 ] && mount -t tmpfs -o size=128k tmpfs small 2>/dev/null; then
	"$AUXTAP" record --source "$fast" -m 8,16 -o small/data -- ./programs children 3 \
		>out 2>err </dev/null
	grep -q 'child 2 300' out || fail "full disk: the program's own output: $(cat out)"
	"$AUXTAP" record --source "$fast" -m 8,4 -o small/data -- timeout 2 ./programs churn \
		>out 2>err </dev/null
	status_is "full disk" $? 125 err
	[ "$(grep -c 'No space left on device; trace up to offset 0x[0-9a-f]* is kept; ' err)" -eq \
		1 ] || fail "full disk: $(cat err)"
	"$AUXTAP" decode --summary small/data >out 2>err
	[ $? -le 1 ] || fail "full disk: decode: $(tail -n 1 err)"
	[ "$(sed -n 's/^instructions: //p' out)" -gt 1000 ] || fail "full disk: $(tr '\n' ' ' <out)"
	if command -v perf >/dev/null; then
		perf script -i small/data --itrace=i1i -F ip 2>perf.err | head -n 1000 |
			grep -c '[0-9a-f]' >nr
		[ "$(cat nr)" -eq 1000 ] || fail "full disk: perf lists $(cat nr): $(tail -n 1 perf.err)"
	fi
	rm small/*
	head -c 120000 /dev/zero >small/ballast
	crash --source "$fast" -o small/crash -- ./programs threads 1 >out 2>err
	status_is "crash on a full disk" $? 125 err
	grep -q 'No space left on device' err || fail "crash on a full disk: $(tail -n 2 err)"
	[ "$(grep -c 'died of SIGSEGV in thread [0-9]*; no snapshot was written' err)" -eq 1 ] ||
		fail "crash on a full disk: the death is not reported: $(cat err)"
	# the recorder continues: the next one fits
	[ -e small/crash ] && fail "crash on a full disk: a useless file was left"
	cat >room.sh <<-'S'
		./programs
		rm small/ballast
		./programs
	S
	"$AUXTAP" crash --source "$fast" -m 8,1 -o small/crash -- sh room.sh >out 2>err </dev/null
	status_is "crash, room again" $? 125 err
	ls small/crash.*.report.txt >/dev/null 2>&1 || fail "crash, space again: no second snapshot: $(grep ^auxtap err)"
	umount small
else
	echo "skipped: the full disk (cannot mount a tmpfs here)"
fi

section "a terminal: progress, stop and continue; a pipe: no progress"
rm -f out
env --default-signal=INT "$AUXTAP" record --source "$fast" -m 8,16 -o pipe.data \
	-- ./programs until end >out 2>err </dev/null &
recorder=$!
wait_for grep -q ready out
sleep 2.6
kill -s INT $recorder
wait $recorder
status_is "pipe" $? 5 err
grep -q '[0-9] s, ' err && fail "progress in a pipe"
if ! script -qc true /dev/null </dev/null >/dev/null 2>&1; then
	echo "skipped: the terminal (no script command, or no pseudo-terminal)"
elif mkfifo keys; then
	cat >job.sh <<-'J'
		set -m
		"$AUXTAP" crash --source "$1" -m 8,16 -o tty.data -- ./programs until end
		echo "stopped: $?"
		ps -o stat=,comm= --ppid $$ >states
		fg >/dev/null
		echo "ended: $?"
	J
	for source in $sources; do
		rm -f tty.out
		(
			exec 3>keys
			wait_for grep -q ready tty.out
			wait_for grep -q 'auxtap: [0-9.]* s, 1 thread' tty.out
			printf '\032' >&3
			wait_for grep -q 'stopped: 148' tty.out
			sleep 1
			printf '\003' >&3
			wait_for grep -q 'ended:' tty.out
		) >driver.out &
		AUXTAP=$AUXTAP guard script -qfec "bash job.sh $source" /dev/null \
			<keys >tty.out 2>&1
		wait $!
		cat driver.out
		grep -q FAIL driver.out && failures=$((failures + 1))
		grep -q 'ended: 5' tty.out || fail "terminal, $source: $(tail -n 4 tty.out)"
		grep -q 'continued 1' tty.out || fail "terminal, $source: not exactly one SIGCONT: $(tail -n 4 tty.out)"
		grep -q '^T' states || fail "terminal, $source: auxtap was not stopped: $(cat states)"
		[ -e tty.data ] && fail "terminal, $source: a snapshot"
	done
fi

section "invalid options and programs: one line and the right status"
for arguments in '125 -m 8,3' '125 -m 12,4' '125 -S1X' '125 -S128K'; do
	set -- $arguments
	crash --source "$fast" "${@:2}" -o bad -- ./programs >out 2>err
	status_is "crash ${*:2}" $? "$1" err
	[ "$(grep -vc '^auxtap: backend' err)" -eq 1 ] || fail "crash ${*:2}: $(cat err)"
done
for size in 4096 5000 8K; do
	crash --source "$fast" -S$size -o "S$size" -- ./programs >out 2>err
	status_is "-S$size" $? 139 err
	"$AUXTAP" decode --summary "S$size" >out 2>&1
	[ "$(sed -n 's/^bytes: //p' out)" -le $((${size%K} * (${#size} > 2 ? 1 : 1024))) ] ||
		fail "-S$size: $(tr '\n' ' ' <out)"
done
finish
