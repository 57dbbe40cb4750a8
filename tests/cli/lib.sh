# SPDX-License-Identifier: BSD-2-Clause
# Shared by the tests of whole programs. BIN and SRC come from CTest; run by hand:
#   BIN=build/release/bin SRC=. bash tests/cli/test_….sh
set -u
: "${BIN:?the directory of the auxtap binary}" "${SRC:?the checkout}"
BIN=$(cd "$BIN" && pwd)
SRC=$(cd "$SRC" && pwd)
FIXTURES=$(dirname "$BIN")/fixtures
TOOLS=$(dirname "$BIN")/tests
AUXTAP=$BIN/auxtap
AUXTAP_TRACES=${AUXTAP_TRACES:-${AUXTAP_TRACES_DEFAULT:-$SRC/../shared/traces}}
# Programs get few variables: at its start the C library looks at each of them, in 500 instructions,
# which the ptrace engine executes as single steps.
for name in $(compgen -e); do
	case $name in
	PATH | HOME | TMPDIR | LANG | LC_* | LD_* | *SAN_OPTIONS | AUXTAP_* | XDG_* | CC | CXX | \
		CCACHE_* | CMAKE_*) ;;
	*) export -n "$name" ;;
	esac
done
unset name
WORK=$(mktemp -d)
trap 'rm -rf "$WORK"' EXIT
cd "$WORK" || exit 1
failures=0
# The packaged python3: another may be a shim (pyenv's starts 20 processes each time).
case $(command -v python3) in
/usr/bin/python3 | "") ;;
*)
	[ ! -x /usr/bin/python3 ] || {
		mkdir "$WORK/.bin" && ln -s /usr/bin/python3 "$WORK/.bin" && PATH=$WORK/.bin:$PATH
	}
	;;
esac

# True for a build with the address sanitizer. (Symbols do not show it: auxtap itself contains the
# names that it looks for in programs.)
sanitized() { grep -q '^CMAKE_C_FLAGS:.*-fsanitize=address' "$BIN/../CMakeCache.txt" 2>/dev/null; }
# Such a build runs less if other tests or builds cover the rest, unless AUXTAP_LONG is set.
short_of_sanitizers() { [ -z "${AUXTAP_LONG:-}" ] && sanitized; }

# True if the engine is qemu 7: its plugin has no registers within blocks.
old_qemu() { "$AUXTAP" list | grep -q '^  qemu.*: available: 7[.]'; }

skip() { echo "SKIP: $*"; exit 77; }
fail() { echo "FAIL: $*"; failures=$((failures + 1)); }
# the engine that knows registers within blocks, and so who allocated and freed
needs_qemu_10() {
	command -v qemu-x86_64 >/dev/null && [ -e "$BIN/auxtap-qemu.so" ] ||
		skip "the engine qemu is missing"
	old_qemu && skip "qemu 7 has no registers within blocks"
}
finish() {
	[ "$failures" -eq 0 ] && { echo "ok"; exit 0; }
	echo "$failures failed"
	exit 1
}

# guard COMMAND...: ends the command, with status 124, if it makes no progress or uses more than
# ten minutes of CPU time. (Not 'timeout': on a busy machine everything is slow.)
guard() { "$TOOLS/watchdog" --cpu 600 "$@"; }

# $QUICK: a program that ends at once. Static, if possible: 'true' takes five times as many single
# steps, nearly all of them in ld.so.
quick_program() {
	QUICK=true
	command -v cc >/dev/null || return 0
	echo 'int main(void) { return 0; }' >quick.c
	cc -static -o quick quick.c 2>/dev/null && QUICK=$PWD/quick
	return 0
}

# has PROGRAM...: all are there, and counted in 'tried'; else the first that is not is added to
# 'missing'.
missing=() tried=0
has() {
	local program
	for program; do
		command -v "$program" >/dev/null && continue
		missing+=("$program")
		return 1
	done
	tried=$((tried + 1))
}

# nap SECONDS: sleeps without a process, which would cost up to 10 ms of CPU time.
nap() {
	[ -p "$WORK/.never" ] || mkfifo "$WORK/.never"
	read -rt "$1" <>"$WORK/.never"
	true
}

# wait_for COMMAND...: repeats it until it succeeds. Fails when the background jobs have ended or
# make no progress; in a subshell without jobs, when the whole test does.
wait_for() {
	local watcher pids
	"$@" >/dev/null 2>&1 && return 0
	pids=$(jobs -pr)
	# shellcheck disable=SC2086
	"$TOOLS/watchdog" --cpu 300 --pid ${pids:-$$} >/dev/null 2>watchdog.err &
	watcher=$!
	until "$@" >/dev/null 2>&1; do
		if ! kill -0 "$watcher" 2>/dev/null; then
			"$@" >/dev/null 2>&1 && break
			fail "still false: $*: $(cat watchdog.err)"
			return 1
		fi
		nap 0.05
	done
	# not TERM: a subshell that has not yet executed the watchdog would run this one's EXIT trap
	kill -KILL "$watcher" 2>/dev/null
	wait "$watcher" 2>/dev/null
	true
}

# The build as it is installed, for programs built against it. Sets PREFIX, LIBDIR and SANITIZER
# (the build's sanitizer flag, or empty); 'installed_flags --cflags --libs LIBRARY' prints
# pkg-config's flags for LIBRARY.
installed() {
	local build pc
	command -v pkg-config >/dev/null || skip "pkg-config is not installed"
	build=$(cd "$BIN/.." && pwd)
	PREFIX=$WORK/prefix
	cmake --install "$build" --prefix "$PREFIX" >install.log 2>&1 || {
		tail -n 5 install.log
		fail "cmake --install"
		finish
	}
	pc=$(find "$PREFIX" -name libauxtap.pc | head -n 1)
	[ -n "$pc" ] || { fail "libauxtap.pc is not installed"; finish; }
	LIBDIR=${pc%/pkgconfig/libauxtap.pc}
	export PKG_CONFIG_PATH=${pc%/*}
	SANITIZER=
	grep -q 'CMAKE_C_FLAGS:STRING=.*-fsanitize=address' "$build/CMakeCache.txt" &&
		SANITIZER=-fsanitize=address,undefined
	grep -q 'CMAKE_C_FLAGS:STRING=.*-fsanitize=thread' "$build/CMakeCache.txt" &&
		SANITIZER=-fsanitize=thread
	true
}
# The .pc names the configured prefix; this passes the actual one to pkg-config.
installed_flags() { pkg-config --define-variable=prefix="$PREFIX" "$@" || fail "pkg-config $*"; }

# exact NAME OPTIONS -- COMMAND...: records with the ground truth; then decode and stock perf must
# list what was executed, thread by thread. Sets NR_INSNS and NR_THREADS.
exact() {
	local name=$1 options=() dir tid status
	shift
	while [ "$1" != -- ]; do options+=("$1"); shift; done
	shift
	dir=$WORK/$name
	mkdir -p "$dir"
	"$AUXTAP" record -o "$dir/data" --truth "$dir/truth" "${options[@]}" -- "$@" \
		>"$dir/stdout" 2>"$dir/stderr" </dev/null
	status=$?
	if [ "$status" -ge 125 ] && [ "${EXPECT_STATUS:-0}" != "$status" ]; then
		fail "$name: record ended with $status: $(tail -n 3 "$dir/stderr")"
		return 1
	fi
	NR_THREADS=0 NR_INSNS=0
	for truth in "$dir"/truth.*; do
		[ -e "$truth" ] || { fail "$name: no ground truth was written"; return 1; }
		tid=${truth##*.}
		NR_THREADS=$((NR_THREADS + 1))
		if ! "$AUXTAP" decode --tid "$tid" --events insn -F ip "$dir/data" 2>"$dir/err" |
			"$TOOLS/compare_ground_truth" "$truth" >"$dir/result" 2>&1; then
			fail "$name: decode, thread $tid: $(tail -n 2 "$dir/result" "$dir/err" | tr '\n' ' ')"
			return 1
		fi
		NR_INSNS=$((NR_INSNS + $(awk '{print $2}' "$dir/result")))
		if [ -z "${NO_PERF:-}" ] && command -v perf >/dev/null; then
			if ! perf script -i "$dir/data" --tid "$tid" --itrace=i1i -F ip \
				2>"$dir/err" |
				sed '/^ *[0-9a-f][0-9a-f]*$/!d' |
				"$TOOLS/compare_ground_truth" "$truth" >"$dir/result" 2>&1; then
				fail "$name: perf script, thread $tid: $(tail -n 2 "$dir/result" \
					"$dir/err" | tr '\n' ' ')"
				return 1
			fi
		fi
	done
	echo "$name: $NR_INSNS instructions, $NR_THREADS thread(s), exact"
	[ -n "${KEEP:-}" ] || rm -rf "$dir"
}

# gapped NAME OPTIONS -- COMMAND...: small areas that truncate: decode must list the ground truth
# with runs left out, each replaced by a gap. Sets NR_GAPS.
gapped() {
	local name=$1 options=() dir tid
	shift
	while [ "$1" != -- ]; do options+=("$1"); shift; done
	shift
	dir=$WORK/$name
	mkdir -p "$dir"
	"$AUXTAP" record -o "$dir/data" --truth "$dir/truth" "${options[@]}" -- "$@" \
		>"$dir/stdout" 2>"$dir/stderr" </dev/null
	NR_GAPS=0 NR_INSNS=0
	for truth in "$dir"/truth.*; do
		[ -e "$truth" ] || {
			fail "$name: no ground truth was written: $(tail -n 3 "$dir/stderr")"; \
				return 1; }
		tid=${truth##*.}
		if ! "$AUXTAP" decode --tid "$tid" --events insn,gap -F event,ip "$dir/data" \
			2>"$dir/err" |
			"$TOOLS/compare_ground_truth" "$truth" --gaps >"$dir/result" 2>&1; then
			fail "$name: decode, thread $tid: $(tail -n 3 "$dir/result" "$dir/err" | tr '\n' ' ')"
			return 1
		fi
		NR_INSNS=$((NR_INSNS + $(awk '{print $2}' "$dir/result")))
		NR_GAPS=$((NR_GAPS + $(awk '{print $6}' "$dir/result")))
		cat "$dir/result"
	done
	echo "$name: $NR_INSNS instructions, $NR_GAPS gap(s), consistent"
	[ -n "${KEEP:-}" ] || rm -rf "$dir"
}
