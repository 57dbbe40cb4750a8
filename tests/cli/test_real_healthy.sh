# SPDX-License-Identifier: BSD-2-Clause
# AUXTAP_LONG: healthy programs of other projects, busy with signal handlers, sanitizers or
# python3's own tests, behave under crash as natively: status, output, the files that they write.
# They leave no snapshot. Redis handles its own death, as it does natively. Programs that are
# missing are named ('scripts/install-packages programs').
. "$(dirname "$0")/lib.sh"
[ -n "${AUXTAP_LONG:-}" ] || skip "only with AUXTAP_LONG"
sanitized && skip "not with sanitizers: they test what is smaller"

# compare NAME COMMAND...: natively and under crash, each in a directory of its own. The output is
# compared, and the files. may_crash=1: children may die.
compare() {
	local name=$1 native status
	shift
	mkdir -p "$name/native" "$name/crash"
	(cd "$name/native" && guard "$@") >"$name.native.out" 2>"$name.native.err" </dev/null
	native=$?
	(cd "$name/crash" && guard "$AUXTAP" crash -o "$WORK/$name.data" -- "$@") \
		>"$name.crash.out" 2>"$name.crash.err" </dev/null
	status=$?
	[ $status -eq $native ] ||
		fail "$name: status $status, natively $native: $(tail -n 3 "$name.crash.err")"
	[ -n "${may_crash:-}" ] || [ ! -e "$name.data" ] ||
		fail "$name: a snapshot of a healthy program: $(head -n 3 "$name.data.report.txt")"
	cmp -s "$name.native.out" "$name.crash.out" ||
		fail "$name: prints other lines: $(diff "$name.native.out" "$name.crash.out" | head -n 6)"
	diff -rq "$name/native" "$name/crash" >"$name.files" ||
		fail "$name: writes other files: $(cat "$name.files")"
}

# ---- busy signal handlers ----

if has perl; then
	compare perl perl -MTime::HiRes=setitimer,ITIMER_REAL -e '
		my $ticks = 0;
		$SIG{ALRM} = sub { $ticks++; my $s = sprintf("%.3f", sqrt($ticks)); };
		setitimer(ITIMER_REAL, 0.002, 0.002);
		my %words;
		$words{$_ % 977} .= chr(65 + $_ % 26) for 1 .. 60000;
		1 while $ticks < 50;
		setitimer(ITIMER_REAL, 0);
		print join(",", map { length $words{$_} } sort { $a <=> $b } keys %words), "\n";
		open my $file, ">", "words" or die;
		print $file "$_ $words{$_}\n" for sort keys %words;
		exit 5;'
fi
if has python3; then
	compare python python3 -c '
import signal, sys
ticks = 0
def on_tick(signo, frame):
    global ticks
    ticks += 1
    "%.3f" % (ticks ** 0.5)
signal.signal(signal.SIGPROF, on_tick)
signal.setitimer(signal.ITIMER_PROF, 0.002, 0.002)
table = {}
for i in range(60000):
    table.setdefault(i % 977, []).append(i * i)
while ticks < 50:
    pass
signal.setitimer(signal.ITIMER_PROF, 0)
print(sum(map(sum, table.values())))
open("table", "w").write(repr(table))
sys.exit(6)'
fi
compare bash bash -c '
	ticks=0
	trap "ticks=\$((ticks + 1))" USR1
	(while kill -USR1 $$ 2>/dev/null; do sleep 0.005; done) &
	while [ $ticks -lt 30 ]; do sum=$((sum + 1)); done
	trap "" USR1
	kill $!
	wait
	seq 1 2000 | sort -r >sorted
	echo the end
	exit 7'
if has node; then
	compare node node -e '
		let ticks = 0;
		process.on("SIGUSR2", () => { ticks++; });
		const timer = setInterval(() => {
			process.kill(process.pid, "SIGUSR2");
			if (ticks >= 30) {
				clearInterval(timer);
				const divides = n => d => n % d === 0;
				const numbers = [...Array(2000).keys()].slice(2);
				const primes = numbers.filter(
					n => !numbers.slice(0, n - 2).some(divides(n)));
				require("fs").writeFileSync("primes", primes.join());
				console.log("the end");
				process.exitCode = 8;
			}
		}, 3);'
fi
# the C library's profiler: a handler of SIGPROF, a hundred times a second
cat >profiled.c <<'C'
#include <stdio.h>
#include <stdlib.h>
static int ascending(const void *a, const void *b)
{
	return *(const int *)a < *(const int *)b ? -1 : *(const int *)a > *(const int *)b;
}
int main(void)
{
	static int numbers[200000];
	unsigned int x = 1;

	for (int turn = 0; turn < 4; turn++) {
		for (int i = 0; i < 200000; i++)
			numbers[i] = (int)((x = x * 1103515245 + 12345) >> 8);
		qsort(numbers, 200000, sizeof(*numbers), ascending);
	}
	printf("%d %d\n", numbers[0], numbers[199999]);
	return 9;
}
C
if cc -pg -O1 -o with-gmon profiled.c 2>cc.err; then
	compare profiled sh -c '"$0"; status=$?; gprof -b -p "$0" gmon.out >/dev/null || exit 1
		rm gmon.out; exit $status' "$WORK/with-gmon"
else
	missing+=("cc -pg")
fi

# ---- sanitizers ----

cat >sane.c <<'C'
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static volatile sig_atomic_t ticks;
static long sum;

static void on_tick(int signo)
{
	(void)signo;
	ticks++;
}

static void *add(void *arg)
{
	char *text = malloc(64);

	for (int i = 0; i < 20000; i++) {
		pthread_mutex_lock(&lock);
		snprintf(text, 64, "%.2f", (double)i);
		sum += (long)strlen(text);
		pthread_mutex_unlock(&lock);
	}
	free(text);
	return arg;
}

int main(void)
{
	const struct itimerval often = {{0, 3000}, {0, 3000}}, never = {{0, 0}, {0, 0}};
	pthread_t t[4];
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGALRM);
	pthread_sigmask(SIG_BLOCK, &set, NULL); /* the other threads do not handle it */
	signal(SIGALRM, on_tick);
	setitimer(ITIMER_REAL, &often, NULL);
	for (int i = 0; i < 4; i++)
		pthread_create(&t[i], NULL, add, NULL);
	pthread_sigmask(SIG_UNBLOCK, &set, NULL);
	for (int i = 0; i < 4; i++)
		pthread_join(t[i], NULL);
	while (ticks < 20) /* the thread sanitizer calls handlers in system calls */
		usleep(100);
	setitimer(ITIMER_REAL, &never, NULL);
	printf("%ld\n", sum);
	return 3;
}
C
for build in "gcc address" "gcc undefined" "gcc thread" "clang address,undefined" "clang memory" \
	"clang thread"; do
	read -r compiler kind <<<"$build"
	has "$compiler" || continue
	program=$WORK/sane-$compiler-$kind
	if "$compiler" -g -O1 -pthread "-fsanitize=$kind" -o "$program" sane.c 2>cc.err; then
		compare "$compiler-$kind" "$program"
	else
		missing+=("$compiler -fsanitize=$kind")
	fi
done

# ---- python3's own tests, redis ----

# Debian's are in a package of their own. They let children die, which are recorded.
if has python3 && python3 -c 'import test.test_json' 2>/dev/null; then
	for module in test_signal test_threadsignals test_json test_struct test_zlib; do
		may_crash=1 compare "$module" sh -c '
			PYTHONDONTWRITEBYTECODE=1 python3 -m test "$0" >log 2>&1
			status=$?
			grep -E "^(Result: |[0-9]+ tests? (OK|failed|skipped))" log
			[ $status -eq 0 ] || tail -n 40 log >&2
			rm -f log
			exit $status' "$module"
	done
else
	missing+=("python3 -m test (libpython3.11-testsuite)")
fi
# It handles SIGSEGV itself, writes a report, and dies of the signal again.
if has redis-server redis-cli; then
	for how in native crash; do
		run=()
		[ $how = native ] || run=("$AUXTAP" crash -o "$WORK/redis.data" --)
		guard "${run[@]}" redis-server --port 0 --unixsocket "$WORK/redis.socket" \
			--save '' --enable-debug-command yes --dir "$WORK" \
			>redis.$how.out 2>redis.$how.err </dev/null &
		wait_for test -S redis.socket
		guard redis-cli -s "$WORK/redis.socket" set key value >/dev/null
		guard redis-cli -s "$WORK/redis.socket" debug segfault >/dev/null 2>&1
		wait $!
		echo $? >redis.$how.status
		rm -f redis.socket
		# without numbers, which differ in any two runs: times, addresses, sizes
		sed -n '/REDIS BUG REPORT START/,$p' redis.$how.out |
			grep -E '^(===|------ [A-Z ]+|[0-9]+:M .* crashed by signal: |# [A-Z])' |
			sed -E 's/^[0-9]+:M .* # /M # /' >redis.$how.report
	done
	cmp -s redis.native.status redis.crash.status ||
		fail "redis: status $(cat redis.crash.status), natively $(cat redis.native.status)"
	[ -s redis.native.report ] || fail "redis: no report natively: $(tail -n 3 redis.native.out)"
	cmp -s redis.native.report redis.crash.report ||
		fail "redis: $(diff redis.native.report redis.crash.report | head -n 6)"
	[ -s redis.data.report.txt ] || fail "redis: its death is not recorded"
fi

[ ${#missing[@]} -eq 0 ] || echo "not here: ${missing[*]}"
finish
