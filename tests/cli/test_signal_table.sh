# SPDX-License-Identifier: BSD-2-Clause
# Signals to auxtap, to its process group and to auxtap-emu: the program gets what it would get
# natively, once, from the process that sent it; status and snapshot are the program's; no process
# of auxtap ends before it, and none is left when auxtap or auxtap-emu is killed.
. "$(dirname "$0")/lib.sh"
command -v cc >/dev/null || skip "no C compiler"
command -v setsid >/dev/null || skip "no setsid command"
cat >program.c <<'C'
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const int caught[] = {SIGHUP, SIGINT, SIGQUIT, SIGUSR1, SIGTERM, SIGCONT};
#define NR (sizeof(caught) / sizeof(*caught))
static volatile sig_atomic_t count[65], sender[65];

static void on_signal(int signo, siginfo_t *info, void *context)
{
	(void)context;
	if (!sender[signo] || sender[signo] == info->si_pid)
		sender[signo] = info->si_pid;
	else
		sender[signo] = -1;
	count[signo]++;
}

static void *asleep(void *arg)
{
	for (;;)
		pause();
	return arg;
}

/* As servers do: blocked in all threads, taken by one of them without a handler. */
static void *waits(void *arg)
{
	siginfo_t info;

	for (;;)
		if (sigwaitinfo(arg, &info) > 0)
			on_signal(info.si_signo, &info, NULL);
	return arg;
}

/* program counts|waits|plain|dies CHILDREN: until there is a file "end" */
int main(int argc, char **argv)
{
	struct sigaction act = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO | SA_RESTART};
	int last = 0, children = argc > 2 ? atoi(argv[2]) : 0;
	struct stat st;
	sigset_t set;
	pthread_t t;

	setvbuf(stdout, NULL, _IONBF, 0);
	alarm(600);
	for (size_t i = 0; i < NR && !strcmp(argv[1], "counts"); i++)
		sigaction(caught[i], &act, NULL);
	if (!strcmp(argv[1], "waits")) {
		sigemptyset(&set);
		for (size_t i = 0; i < NR; i++)
			sigaddset(&set, caught[i]);
		sigprocmask(SIG_BLOCK, &set, NULL);
		pthread_create(&t, NULL, waits, &set);
	}
	if (!strcmp(argv[1], "dies"))
		pthread_create(&t, NULL, asleep, NULL);
	printf("ready %d\n", getpid());
	while (stat("end", &st)) {
		char line[256] = "got";
		int now[NR], sum = 0;

		/* Each instruction may be a single step; a handled signal ends the sleep. */
		usleep(100000);
		for (size_t i = 0; i < NR; i++)
			sum += now[i] = count[caught[i]];
		if (sum == last)
			continue;
		last = sum;
		for (size_t i = 0; i < NR; i++)
			snprintf(line + strlen(line), 40, " %s=%d", sigabbrev_np(caught[i]),
				 now[i]);
		puts(line);
	}
	if (!strcmp(argv[1], "dies")) {
		while (children--) {
			pid_t pid = fork();

			if (!pid)
				*(volatile int *)0 = 1;
			printf("child %d\n", pid);
		}
		*(volatile int *)0 = 1;
	}
	printf("senders");
	for (size_t i = 0; i < NR; i++)
		if (count[caught[i]])
			printf(" %d", (int)sender[caught[i]]);
	puts("\nend");
	return 9;
}
C
cc -O1 -static -pthread -o program program.c 2>cc.err || skip "cc -static does not work: $(tail -n 1 cc.err)"
engines=ptrace
command -v qemu-x86_64 >/dev/null && [ -e "$BIN/auxtap-qemu.so" ] && engines="qemu ptrace"

# until COMMAND...: a watchdog, not a measure of speed. It and what it mostly waits for start no
# processes: thousands of them used more CPU time than auxtap.
until_true() {
	local tries
	for ((tries = 0; tries < 6000; tries++)); do
		"$@" >/dev/null 2>&1 && return 0
		nap 0.05
	done
	fail "$where: still false: $*"
	kill -s KILL -- -$auxtap 2>/dev/null
	finish # each of the many waits that follow would fail, too
}
state() { # PID: in $state; empty: there is no such process
	state=
	read -r state 2>/dev/null <"/proc/$1/stat"
	state=${state##*) } state=${state%% *}
}
gone() { state "$1"; case $state in "" | Z | X) ;; *) return 1 ;; esac; }
stopped() { state "$1"; case $state in T | t) ;; *) return 1 ;; esac; }
running() { ! gone "$1" && ! stopped "$1"; }
ready() { # sets $program
	local line
	while read -r line; do
		program=${line#ready }
		[ "$program" = "$line" ] || return 0
	done <out
	return 1
}
got() { # SIGNAL COUNT
	local line
	while read -r line; do
		[[ "$line " == got*" $1=$2 "* ]] && return 0
	done <out
	return 1
}
count_of() { # SIGNAL: how many came, in $count
	local line
	count=
	while read -r line; do
		[[ $line == got*" $1="* ]] || continue
		count=${line##*" $1="} count=${count%% *}
	done <out
}
more_than() { count_of "$1"; [ "${count:-0}" -gt "$2" ]; }

# start MODE [CHILDREN]: in a process group of its own; $auxtap, $emu, $program
start() {
	rm -rf data* out err end
	: >out
	# a shell without job control makes background commands ignore these two
	env --default-signal=INT,QUIT setsid "$AUXTAP" $command --source $engine -m 8,16 -o data \
		-- ./program "$@" >out 2>err </dev/null &
	auxtap=$!
	until_true ready
	emu=$(pgrep -P $auxtap auxtap-emu)
}
target() {
	case $1 in
	auxtap) echo $auxtap ;;
	group) echo -$auxtap ;;
	emulator) echo "$emu" ;;
	esac
}
# settled SIGNAL: how many came, in $count, when no more come for a second
settled() {
	local n=-1
	count_of "$1"
	while [ "$n" != "$count" ]; do
		n=$count
		nap 1
		count_of "$1"
	done
}
# once_while_stopped SECONDS: a signal to the group that auxtap receives later than the others; a
# second copy would arrive after SECONDS
once_while_stopped() {
	local n began _
	for _ in $(seq 20); do
		settled TERM
		n=$count
		began=${EPOCHREALTIME%.*}
		kill -s STOP $auxtap
		until_true stopped $auxtap
		kill -s TERM -- -$auxtap
		until_true more_than TERM "$n"
		nap 1.5 # auxtap-emu waits a second if auxtap does not have it yet
		kill -s CONT $auxtap
		nap "$1"
		count_of TERM
		[ "$count" -ne $((n + 1)) ] || return 0
		# after five seconds auxtap's receipt counts as another signal: a busy machine
		[ $((${EPOCHREALTIME%.*} - began)) -ge 4 ] || break
	done
	fail "$where: one TERM while auxtap was stopped, after $n: $(tail -n 1 out)"
}
# ends WANTED: auxtap's status at its end, and the processes that must be gone then
ends() {
	wait $auxtap
	local status=$?
	[ $status -eq "$1" ] || fail "$where: status $status, not $1: $(tail -n 2 err)"
	gone "$program" || fail "$where: the program is left"
	until_true gone "$emu"
}

for engine in $engines; do
	for command in record crash; do
		# with the sanitizers each engine and each command once
		if short_of_sanitizers && [ "$engines" != ptrace ]; then
			case "$engine $command" in "qemu record" | "ptrace crash") continue ;; esac
		fi
		echo "$SECONDS s: $engine, $command"
		# handlers: each signal once to each process, and twice in a row
		where="$engine, $command, handlers"
		start counts
		n=0
		for place in auxtap group emulator; do
			n=$((n + 1))
			for signal in TERM INT HUP QUIT USR1 CONT; do
				kill -s $signal -- "$(target $place)"
				until_true got $signal $n || fail "$where: $signal to $place"
			done
			nap 0.3 # two equal signals of one sender within 0.1 s may count as one
		done
		# a second copy would still be on its way
		nap 0.5
		tail -n 1 out | grep -q 'got HUP=3 INT=3 QUIT=3 USR1=3 TERM=3 CONT=3$' ||
			fail "$where: not each once: $(tail -n 1 out)"
		for place in auxtap group emulator; do
			for signal in TERM INT HUP QUIT USR1; do
				count_of $signal
				n=$count
				kill -s $signal -- "$(target $place)"
				kill -s $signal -- "$(target $place)"
				until_true more_than $signal "$n"
			done
			nap 0.3
		done
		nap 0.5
		# also natively two simultaneous signals are one or two
		for signal in TERM INT HUP QUIT USR1; do
			count_of $signal
			[ "$count" -ge 6 ] && [ "$count" -le 9 ] ||
				fail "$where: 6 to 9 $signal were due, $count came"
		done
		running $auxtap && running "$emu" || fail "$where: ended before the program"
		once_while_stopped 0.5
		: >end
		ends 9
		[ "$(sed -n 's/^senders//p' out | tr ' ' '\n' | sort -u | tr -d '\n')" = $$ ] ||
			fail "$where: not all from $$: $(grep senders out)"

		# received without a stop that the tracer sees
		where="$engine, $command, sigwait"
		start waits
		for place in group auxtap emulator; do
			count_of USR1
			n=$((${count:-0} + 1))
			for signal in TERM INT HUP QUIT USR1; do
				kill -s $signal -- "$(target $place)"
				# each waits a second for auxtap's copy
				[ $place = emulator ] && continue
				until_true got $signal $n || fail "$where: $signal to $place"
			done
			for signal in TERM INT HUP QUIT USR1; do
				until_true got $signal $n || fail "$where: $signal to $place"
			done
			nap 1.5
			tail -n 1 out | grep -q "got HUP=$n INT=$n QUIT=$n USR1=$n TERM=$n CONT=0\$" \
				|| fail "$where, $place: not each $n times: $(tail -n 1 out)"
		done
		once_while_stopped 1.5
		: >end
		ends 9

		# no handlers: the program dies of it, whichever process got it
		# (single steps are slow: all of them with AUXTAP_LONG)
		signals="TERM QUIT"
		[ $engine = qemu ] && [ $command = crash ] || [ -n "${AUXTAP_LONG:-}" ] && signals="TERM INT HUP QUIT USR1"
		for signal in $signals; do
			for place in auxtap group emulator; do
				where="$engine, $command, $signal to $place"
				start plain
				kill -s $signal -- "$(target $place)"
				ends $((128 + $(kill -l $signal)))
				if [ $command = record ]; then
					"$AUXTAP" decode --summary data >summary 2>&1
					grep -q '^errors: 0$' summary &&
						grep -q '^instructions: [1-9]' summary ||
						fail "$where: $(tr '\n' ' ' <summary)"
				elif [ $signal = QUIT ]; then
					head -n 1 data.report.txt | grep -q 'died of SIGQUIT' ||
						fail "$where: no report: $(tail -n 2 err)"
				else
					grep -q "ended by SIG$signal; no crash, no snapshot" err ||
						fail "$where: $(tail -n 1 err)"
					[ -e data ] && fail "$where: a snapshot"
				fi
			done
		done

		for place in auxtap group emulator; do
			where="$engine, $command, STOP and CONT to $place"
			start counts
			kill -s STOP -- "$(target $place)"
			case $place in
			auxtap) until_true stopped $auxtap ;;
			group) until_true stopped "$program" && until_true stopped $auxtap ;;
			emulator) until_true stopped "$emu" ;;
			esac
			kill -s CONT -- "$(target $place)"
			until_true got CONT 1
			kill -s USR1 $auxtap
			until_true got USR1 1
			: >end
			ends 9
			got CONT 2 && fail "$where: SIGCONT came twice"
		done

		where="$engine, $command, KILL to auxtap"
		start counts
		kill -s KILL $auxtap
		wait $auxtap 2>/dev/null
		until_true gone "$emu"
		kill -s USR1 "$program"
		until_true got USR1 1 # it continues
		: >end
		until_true gone "$program"
		tail -n 1 out | grep -q '^end' || fail "$where: the program did not end as it would alone"

		where="$engine, $command, KILL to the group"
		start counts
		kill -s KILL -- -$auxtap
		wait $auxtap 2>/dev/null
		until_true gone "$emu"
		until_true gone "$program"

		where="$engine, $command, KILL to the emulator"
		start counts
		kill -s USR1 "$program"
		until_true got USR1 1
		kill -s KILL "$emu"
		if [ $engine = qemu ]; then # a stepped program cannot continue by itself
			until_true grep -q 'the emulator was killed' err
			kill -s TERM $auxtap
			until_true got TERM 1
			running $auxtap || fail "$where: auxtap ended before the program"
			: >end
		fi
		ends 125
		grep -q 'auxtap: auxtap-emu: the emulator was killed; ' err || fail "$where: $(tail -n 1 err)"
		[ $engine = ptrace ] || tail -n 1 out | grep -q '^end' || fail "$where: the program did not continue"
		"$AUXTAP" decode --summary data >summary 2>&1
		grep -q '^errors: 0$' summary && grep -q '^gaps: [1-9]' summary ||
			fail "$where: $(tr '\n' ' ' <summary)"
		# a full trace has all bytes drained or about to be; a flight recorder all but the
		# overwritten ones
		[ $command = record ] || grep -q '^instructions: [1-9]' summary ||
			fail "$where: no trace of the rings: $(tr '\n' ' ' <summary)"

		for place in auxtap emulator; do
			for children in 0 8; do
				where="$engine, $command, KILL to $place while the program and $children children die"
				start dies $children
				kill -s STOP $auxtap # so each death waits for auxtap
				until_true stopped $auxtap
				: >end
				until_true eval "[ \$(grep -c child out) -eq $children ]"
				until_true stopped "$program"
				kill -s KILL "$(target $place)"
				kill -s CONT $auxtap 2>/dev/null
				wait $auxtap 2>/dev/null
				for pid in "$program" "$emu" $(sed -n 's/^child //p' out); do
					until_true gone "$pid"
				done
			done
		done
	done
done
finish
