# SPDX-License-Identifier: BSD-2-Clause
# Which qemu executes programs: the search order, which ones are refused and why, what 'list'
# prints. And what only a newer one than 7.2 does right: the stack of signal handlers,
# sanitizers, signals from outside.
. "$(dirname "$0")/lib.sh"
command -v cc >/dev/null || skip "no C compiler"
engine() { "$BIN/auxtap-emu" engines | awk -F '\t' -v target="${1:-x86_64}" -v field="$2" '$1 == target { print $field }'; }
qemu=$(engine x86_64 3)
[ -n "$qemu" ] || skip "$(engine x86_64 4)"
version=$(engine x86_64 2)
[ -n "$version" ] || fail "$qemu has no version"

# ---- search order ----

mkdir -p named/bin cache/auxtap/qemu-9.9/bin cache/auxtap/qemu-10.9/bin cache/auxtap/qemu-10.1/bin \
	plain
cat >refuses.c <<'C'
#include <stdio.h>
int main(void) { fputs("unknown option 'plugin'\n", stderr); return 1; }
C
cc -static -o refuses refuses.c || skip "cc -static does not work"
ln -s "$qemu" named/bin/qemu-x86_64
for v in 9.9 10.1 10.9; do ln -s "$qemu" cache/auxtap/qemu-$v/bin/qemu-x86_64; done
found() { # WHAT WANTED-PATH NOTE-PATTERN ENVIRONMENT...
	local what=$1 wanted=$2 note=$3 path why
	shift 3
	path=$(env "$@" "$BIN/auxtap-emu" engines | awk -F '\t' '$1 == "x86_64" { print $3 }')
	why=$(env "$@" "$BIN/auxtap-emu" engines | awk -F '\t' '$1 == "x86_64" { print $4 }')
	[ "$path" = "$wanted" ] || fail "$what: $path, not $wanted"
	[[ $why == $note ]] || fail "$what: says '$why', not '$note'"
}
found "a directory" "$WORK/named/bin/qemu-x86_64" '*' AUXTAP_QEMU="$WORK/named"
found "its bin" "$WORK/named/bin/qemu-x86_64" '*' AUXTAP_QEMU="$WORK/named/bin"
found "a binary" "$WORK/named/bin/qemu-x86_64" '*' AUXTAP_QEMU="$WORK/named/bin/qemu-x86_64"
found "the cache: the newest" "$WORK/cache/auxtap/qemu-10.9/bin/qemu-x86_64" '*' -u AUXTAP_QEMU \
	XDG_CACHE_HOME="$WORK/cache"
mkdir home && ln -s "$WORK/cache" home/.cache
found "the cache in the home directory" "$WORK/home/.cache/auxtap/qemu-10.9/bin/qemu-x86_64" '*' \
	-u AUXTAP_QEMU -u XDG_CACHE_HOME HOME="$WORK/home"
found "the variable before the cache" "$WORK/named/bin/qemu-x86_64" '*' AUXTAP_QEMU="$WORK/named" \
	XDG_CACHE_HOME="$WORK/cache"
# a static qemu-user without plugins, as Debian 13's: the next one is used, and a message says so
cp refuses plain/qemu-x86_64
found "one without plugins" "$WORK/cache/auxtap/qemu-10.9/bin/qemu-x86_64" \
	"AUXTAP_QEMU=$WORK/plain/qemu-x86_64: it does not load plugins (unknown option 'plugin')" \
	AUXTAP_QEMU="$WORK/plain" XDG_CACHE_HOME="$WORK/cache"
found "one that is not there" "$WORK/cache/auxtap/qemu-10.9/bin/qemu-x86_64" \
	"AUXTAP_QEMU=/nowhere/qemu: No such file or directory" AUXTAP_QEMU=/nowhere/qemu \
	XDG_CACHE_HOME="$WORK/cache"
rm cache/auxtap/qemu-10.9/bin/qemu-x86_64 && cp refuses cache/auxtap/qemu-10.9/bin/qemu-x86_64
found "in the cache one without" "$WORK/cache/auxtap/qemu-10.1/bin/qemu-x86_64" \
	"$WORK/cache/auxtap/qemu-10.9/bin/qemu-x86_64: it does not load plugins*" -u AUXTAP_QEMU \
	XDG_CACHE_HOME="$WORK/cache"
# the qemu of a directory runs both instruction sets, or only its own
found "one for AArch64 alone" "$WORK/cache/auxtap/qemu-10.1/bin/qemu-x86_64" '*' \
	-u AUXTAP_QEMU AUXTAP_QEMU_AARCH64=/bin/false XDG_CACHE_HOME="$WORK/cache"

"$AUXTAP" list >out
grep -qxF "  qemu: available: $version ($qemu)$(engine x86_64 4 | sed 's/^./; &/')" out || fail "list: $(grep qemu out)"
AUXTAP_QEMU=$WORK/plain "$AUXTAP" list >out
grep -q "qemu: available: .*AUXTAP_QEMU=$WORK/plain/qemu-x86_64: it does not load plugins" out ||
	fail "list, one refused: $(grep qemu out)"
AUXTAP_QEMU_PLUGIN=/nowhere.so "$AUXTAP" list >out
grep -qx '  qemu: no: /nowhere.so: the plugin is missing' out || fail "list, no plugin: $(grep qemu out)"
grep -q 'record selects: backend emulated, engine ptrace' out || fail "list, no plugin: $(grep selects out)"

# ---- a run names its engine, and falls back ----

"$AUXTAP" record -o data -- true 2>err || fail "true: $(cat err)"
grep -q "^auxtap: backend emulated, engine qemu $version[, ]" err || fail "announced: $(head -n 1 err)"
AUXTAP_QEMU=$WORK/plain "$AUXTAP" record -o data -- true 2>err || fail "refused: $(cat err)"
grep -q "engine qemu .* (AUXTAP_QEMU=$WORK/plain/qemu-x86_64: it does not load plugins" err ||
	fail "refused: $(cat err)"
echo 'int main(void) { return 6; }' >tiny.c
cc -static -o tiny tiny.c
AUXTAP_QEMU_PLUGIN=/nowhere.so "$AUXTAP" record -o data -- ./tiny 2>err
[ $? -eq 6 ] || fail "without a plugin: $(cat err)"
grep -q 'engine ptrace (no qemu: /nowhere.so: the plugin is missing)' err || fail "without a plugin: $(cat err)"
AUXTAP_QEMU_PLUGIN=/nowhere.so "$AUXTAP" record --source qemu -o data -- ./tiny 2>err
[ $? -eq 125 ] || fail "--source qemu without a plugin: $(cat err)"
grep -qx 'auxtap: engine qemu: /nowhere.so: the plugin is missing' err || fail "--source qemu without a plugin: $(cat err)"

# ---- what requires a newer one than 7.2 ----

[ "${version%%.*}" -ge 10 ] || {
	echo "SKIP: handlers and sanitizers: found is qemu $version, not 10 (scripts/install-packages build)"
	[ "$failures" -eq 0 ] || finish
	exit 77
}
cat >handler.c <<'C'
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static volatile sig_atomic_t nr;
static char line[64];
static void on_alarm(int signo)
{
	snprintf(line, sizeof(line), "%.2f %d", signo * 1.5,
		 (int)(((unsigned long)__builtin_frame_address(0) + 8) & 15));
	nr++;
}
int main(void)
{
	signal(SIGALRM, on_alarm);
	for (int i = 0; i < 3; i++) {
		alarm(1);
		while (nr <= i)
			pause();
	}
	puts(line);
	return 5;
}
C
cc -O1 -g -fno-omit-frame-pointer -o handler handler.c
./handler >want
rm -f data
"$AUXTAP" crash -o data -- ./handler >out 2>err
status=$?
[ $status -eq 5 ] || fail "handler: status $status: $(grep auxtap err | tail -n 2)"
cmp -s want out || fail "handler: $(cat out), not $(cat want)"
[ ! -e data ] || fail "handler: a snapshot of a healthy program"

cat >healthy.c <<'C'
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static void *work(void *arg)
{
	char *p = malloc(1000);

	memset(p, *(int *)arg, 1000);
	*(int *)arg = p[999];
	free(p);
	return NULL;
}
int main(void)
{
	int arg[3] = { 1, 2, 3 };
	pthread_t t[3];

	for (int i = 0; i < 3; i++)
		pthread_create(&t[i], NULL, work, &arg[i]);
	for (int i = 0; i < 3; i++)
		pthread_join(t[i], NULL);
	printf("%d\n", arg[0] + arg[1] + arg[2]);
	return 4;
}
C
if cc -g -fsanitize=address -pthread -o healthy healthy.c 2>/dev/null; then
	ASAN_OPTIONS=detect_leaks=0 "$AUXTAP" crash -o data -- ./healthy >out 2>err
	status=$?
	[ $status -eq 4 ] && [ "$(cat out)" = 6 ] || fail "AddressSanitizer: status $status: $(cat out) $(tail -n 3 err)"
fi

# the program executes code of its vdso
cat >clock.c <<'C'
#include <time.h>
int main(void)
{
	struct timespec now;

	for (int i = 0; i < 10; i++)
		clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec < 0;
}
C
cc -O1 -o clock clock.c
"$AUXTAP" record -o clocked -- ./clock 2>err || fail "clock: $(tail -n 2 err)"
"$AUXTAP" decode --events insn,gap -F dso clocked >out 2>err || fail "clock: $(cat err)"
[ "$(grep -c 'clocked\.vdso' out)" -ge 10 ] || fail "clock: no code of the vdso: $(sort out | uniq -c)"
grep -q gap out && fail "clock: $(grep -m 1 gap out)"

# signals from outside keep their numbers; SIGABRT reaches the program's handler
cat >signals.c <<'C'
#include <signal.h>
#include <stdio.h>
#include <unistd.h>
static volatile sig_atomic_t got[65], nr;
static void on(int signo, siginfo_t *info, void *context)
{
	(void)context;
	got[signo] = info->si_pid == getpid() ? 1 : 2;
	nr++;
}
int main(void)
{
	static const int signals[] = { SIGABRT, 34, 40, 60 };
	struct sigaction act = { .sa_sigaction = on, .sa_flags = SA_SIGINFO };

	for (int i = 0; i < 4; i++)
		sigaction(signals[i], &act, NULL);
	printf("%d\n", getpid());
	fflush(stdout);
	while (nr < 4)
		usleep(1000);
	for (int i = 0; i < 4; i++)
		printf("%d %d\n", signals[i], got[signals[i]]);
	return 3;
}
C
cc -o signals signals.c
rm -f out
"$AUXTAP" crash -o data -- ./signals >out 2>err &
recorder=$!
until [ -s out ] 2>/dev/null || ! kill -0 $recorder 2>/dev/null; do sleep 0.05; done
pid=$(head -n 1 out)
for signal in ABRT 34 40 60; do kill -s $signal "$pid"; done
wait $recorder
status=$?
[ $status -eq 3 ] || fail "signals: status $status: $(tail -n 2 err)"
[ "$(sed 1d out | tr '\n' ' ')" = '6 2 34 2 40 2 60 2 ' ] || fail "signals: $(tr '\n' ' ' <out)"
finish
