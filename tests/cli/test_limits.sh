# SPDX-License-Identifier: BSD-2-Clause
# The user's limits: ulimit -f, ulimit -n, more threads than the emulator has CPUs. The program
# ends as it does natively; an untraced thread is reported by name and is a gap.
. "$(dirname "$0")/lib.sh"
command -v cc >/dev/null || skip "no C compiler"
cat >prog.c <<'C'
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <signal.h>
#include <unistd.h>
static pthread_barrier_t barrier;
static void *wait_all(void *arg)
{
	pthread_barrier_wait(&barrier);
	return arg;
}
static int many(int nr)
{
	pthread_t *t = calloc(nr, sizeof(*t));
	pthread_attr_t attr;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 65536);
	pthread_barrier_init(&barrier, NULL, nr + 1);
	for (int i = 0; i < nr; i++)
		if (pthread_create(&t[i], &attr, wait_all, NULL))
			return 9;
	pthread_barrier_wait(&barrier);
	for (int i = 0; i < nr; i++)
		pthread_join(t[i], NULL);
	printf("%d threads\n", nr);
	return 7;
}
int main(int argc, char **argv)
{
	struct rlimit files, size;
	struct sigaction act;

	if (argc > 2 && !strcmp(argv[1], "threads"))
		return many(atoi(argv[2]));
	if (argc > 2 && !strcmp(argv[1], "threads_die")) {
		many(atoi(argv[2]));
		*(volatile int *)8 = 1;
	}
	if (argc > 1 && !strcmp(argv[1], "die"))
		*(volatile int *)8 = 1;
	/* what the program was started with */
	getrlimit(RLIMIT_NOFILE, &files);
	getrlimit(RLIMIT_FSIZE, &size);
	sigaction(SIGXFSZ, NULL, &act);
	printf("%ld %ld %d\n", (long)files.rlim_cur, (long)size.rlim_cur,
	       act.sa_handler == SIG_DFL);
	return 3;
}
C
cc -g -O1 -static -pthread -w -o prog prog.c 2>cc.err || skip "cc -static does not work: $(tail -n 1 cc.err)"
sources=ptrace
command -v qemu-x86_64 >/dev/null && [ -e "$BIN/auxtap-qemu.so" ] && sources="ptrace qemu"

for source in $sources; do
	# the program keeps its own limits and dispositions
	(ulimit -Sn 200; ./prog) >want
	(ulimit -Sn 200; "$AUXTAP" record --source "$source" -m 8,16 -o data -- ./prog) >out \
		2>err </dev/null
	[ $? -eq 3 ] || fail "$source: $(tail -n 1 err)"
	cmp -s want out || fail "$source: the program's limits: $(cat out), not $(cat want)"
	(trap '' XFSZ; ./prog) >want
	(trap '' XFSZ; "$AUXTAP" record --source "$source" -m 8,16 -o data -- ./prog) >out 2>err \
		</dev/null
	cmp -s want out || fail "$source: SIGXFSZ: $(cat out), not $(cat want)"

	# file sizes: rings and recording; in blocks of 1024 bytes
	for blocks in 1 16 64 200 1024 4096 10240 32768; do
		for command in record crash; do
			rm -f data*
			(ulimit -f $blocks; "$AUXTAP" $command --source "$source" -m 8,1024 \
				-o data -- ./prog die) >out 2>err </dev/null
			status=$?
			grep -q 'emulat.* died of' err && fail "$command, $source, ulimit -f $blocks: $(grep 'emulat.* died of' err)"
			case $status in
			139) ;;
			125) grep -q '^auxtap: .*File too large.*; .*ulimit -f' err || fail "$command, $source, ulimit -f $blocks: $(tail -n 1 err)" ;;
			*) fail "$command, $source, ulimit -f $blocks: status $status: $(tail -n 1 err)" ;;
			esac
			[ ! -e data ] || "$AUXTAP" decode --summary data >out 2>err ||
				[ $? -eq 1 ] ||
				fail "$command, $source, ulimit -f $blocks: an unreadable file"
		done
	done
	[ $status -eq 139 ] || fail "$source: 32 MB are enough: $(tail -n 1 err)"

	# without privileges the limit holds for the rings as well
	if [ "$(id -u)" -eq 0 ] && setpriv --reuid 65534 --clear-groups test -x "$AUXTAP" \
		2>/dev/null &&
		chmod 755 . && mkdir -p other && chmod 777 other; then
		(cd other && ulimit -f 64 &&
			setpriv --reuid 65534 --clear-groups "$AUXTAP" record --source "$source" \
			-o data -- ../prog) >out 2>err </dev/null
		[ $? -eq 125 ] || fail "$source, ulimit -f 64, not root: $(tail -n 1 err)"
		grep -q '^auxtap: .*File too large; .*ulimit -f' err || fail "$source, ulimit -f 64, not root: $(tail -n 1 err)"
	else
		echo "skipped: ulimit -f without privileges (another user cannot run auxtap here)"
	fi

	# descriptors
	for files in 6 8 10 12 14 16 18 20 24 32 40; do
		rm -f data*
		(ulimit -n $files; "$AUXTAP" record --source "$source" -m 8,16 -o data \
			-- ./prog threads 12) >out 2>err </dev/null
		status=$?
		grep -q 'Cannot allocate memory\|status 126' err && fail "$source, ulimit -n $files: $(tail -n 1 err)"
		case $status in
		7) ;;
		125) grep -qi '^auxtap: .*too many open files\|^auxtap: .*ulimit -n' err || fail "$source, ulimit -n $files: $(tail -n 1 err)" ;;
		*) fail "$source, ulimit -n $files: status $status: $(tail -n 2 err)" ;;
		esac
	done
	[ $status -eq 7 ] || fail "$source: 40 descriptors: $(tail -n 1 err)"
	(ulimit -n 40; "$AUXTAP" record --source "$source" -m 8,16 -o data -- ./prog threads 30) \
		>out 2>err </dev/null
	[ $? -eq 7 ] && [ "$(cat out)" = "30 threads" ] || fail "$source: ulimit -n 40, 30 threads: $(cat out): $(tail -n 1 err)"
	grep -q '^auxtap: thread [0-9]*: not traced: .*Too many open files; .*ulimit -n' err ||
		fail "$source: $(cat err)"
	grep -q '^auxtap: [0-9]* threads were not traced; each is a gap' err || fail "$source: $(tail -n 2 err)"
	nr=$(sed -n 's/^auxtap: \([0-9]*\) threads were not.*/\1/p' err)
	[ "$("$AUXTAP" decode --events gap -F event,tid data 2>/dev/null | grep -c trace_off)" -eq "$nr" ] \
		|| fail "$source: not $nr gaps: $("$AUXTAP" decode --events gap -F event,tid data 2>&1 | head -n 3)"
done

# reading needs descriptors, too: complete output, or an error
"$AUXTAP" crash --source $source -m 8,16 -o dead -- ./prog die >out 2>err </dev/null
for command in "report dead" "decode --last 40 -F ip,sym,srcline dead"; do
	# shellcheck disable=SC2086
	"$AUXTAP" $command >want 2>err || fail "$command: $(tail -n 1 err)"
	for files in 4 5 6 7 8 9 10 12; do
		# shellcheck disable=SC2086
		(ulimit -n $files; exec "$AUXTAP" $command) >out 2>err </dev/null
		status=$?
		[ $status -ne 0 ] || cmp -s want out ||
			fail "$command, ulimit -n $files: exit 0, and $(diff want out | grep -c '^[<>]') lines differ"
		grep 'not found' out err && fail "$command, ulimit -n $files: existing files are not found"
	done
done

# more threads than CPUs: only under qemu, which is fast enough
if [ "${sources##* }" = qemu ]; then
	./prog threads 1500 >native.out
	if [ "$(cat native.out)" = "1500 threads" ]; then
		"$AUXTAP" record --source qemu -m 1,1 -o data -- ./prog threads 1500 \
			>out 2>err </dev/null
		[ $? -eq 7 ] || fail "1500 threads: $(tail -n 2 err)"
		[ "$(cat out)" = "1500 threads" ] || fail "1500 threads: $(cat out)"
		grep -q '^auxtap: thread [0-9]*: not traced: .*all 1024 emulated CPUs are taken by threads that are alive; run fewer' \
			err ||
			fail "1500 threads: $(head -n 3 err)"
		grep -q '^auxtap: 477 threads were not traced; each is a gap' err || fail "1500 threads: $(tail -n 2 err)"
		[ "$(grep -c '^auxtap: ' err)" -le 4 ] || fail "1500 threads: $(wc -l <err) lines"
		"$AUXTAP" crash --source qemu -m 1,1 -o dead -- ./prog threads_die 1500 \
			>out 2>err </dev/null
		[ $? -eq 139 ] || fail "1500 threads, then death: $(tail -n 2 err)"
		grep -q 'no gaps' dead.report.txt && fail "1500 threads, then death: 'no gaps'"
	else
		echo "skipped: 1500 threads (this machine does not start them)"
	fi
fi
finish
