# SPDX-License-Identifier: BSD-2-Clause
# Under memory limits (ulimit -v) report and decode print complete output, or end with an error:
# no line is missing with exit 0.
. "$(dirname "$0")/lib.sh"
grep -q 'CMAKE_C_FLAGS:STRING=.*-fsanitize' "$BIN/../CMakeCache.txt" && skip "a sanitizer's shadow memory exceeds every limit"
source=ptrace
command -v qemu-x86_64 >/dev/null && [ -e "$BIN/auxtap-qemu.so" ] && source=qemu
"$AUXTAP" crash --source $source -m 8,64 -o data -- "$FIXTURES/cxx_uncaught" >out 2>err </dev/null
[ -e data ] || { fail "no snapshot: $(tail -n 1 err)"; finish; }
"$AUXTAP" report data >report 2>err || fail "report: $(tail -n 1 err)"
"$AUXTAP" decode --events call -F ip,sym,srcline data >calls 2>err || fail "decode: $(tail -n 1 err)"

whole=0 short=0 by_libdw=0
limited() { # LIMIT WHOLE COMMAND...
	local limit=$1 whole_output=$2 status
	shift 2
	{ (ulimit -c 0; ulimit -v "$limit"; exec "$AUXTAP" "$@") >out 2>err; } 2>/dev/null
	status=$?
	if [ $status -eq 0 ]; then
		whole=$((whole + 1))
		cmp -s out "$whole_output" ||
			fail "$1, ulimit -v $limit: exit 0, and $(diff "$whole_output" out | grep -c '^[<>]') lines differ"
	elif [ $status -eq 139 ] || [ $status -eq 134 ] ||
		grep -q 'libdw: Cannot allocate' err; then
		by_libdw=$((by_libdw + 1)) # libdw 0.188 ends the process, or follows a null pointer
	elif [ $status -ne 127 ]; then # the loader itself
		short=$((short + 1))
		grep -qi '^auxtap: .*: .*\(memory\|unavailable\)' err || fail "$1, ulimit -v $limit: status $status: $(tail -n 1 err)"
	fi
}
for limit in $(seq 20000 2000 150000); do
	limited "$limit" report report data
	limited "$limit" calls decode -j 1 --events call -F ip,sym,srcline data
done
# auxtap is short of memory, not the program: its status must not look like the program's.
cat >dies.c <<'C'
int main(void)
{
	volatile int *at = (int *)8;

	return *at;
}
C
# static, if possible: the steps of the ptrace engine are not spent in ld.so
build() { cc -g -static -o "$1" "$1.c" 2>cc.err || cc -g -o "$1" "$1.c" 2>cc.err; }
if build dies; then
	for limit in $(seq 20000 20000 200000); do
		{ (ulimit -c 0; ulimit -v "$limit"; exec "$AUXTAP" crash --source ptrace -m 8,64 \
			-o died -- ./dies) >out 2>err </dev/null; } 2>/dev/null
		status=$?
		[ $status -eq 125 ] || [ $status -eq 127 ] || [ -e died ] ||
			fail "crash, ulimit -v $limit: status $status and no snapshot: $(tail -n 2 err)"
		[ $status -ne 139 ] || grep -q 'died of SIGSEGV' err ||
			fail "crash, ulimit -v $limit: status 139, and not of the program: $(tail -n 2 err)"
		rm -f died*
		[ $source = qemu ] || continue
		{ (ulimit -c 0; ulimit -v "$limit"; exec "$AUXTAP" crash --source qemu -m 8,64 \
			-o died -- ./dies) >out 2>err </dev/null; } 2>/dev/null
		status=$?
		[ $status -ne 126 ] || fail "crash, ulimit -v $limit: the program can be executed: $(tail -n 1 err)"
		rm -f died*
	done
fi
# At each of the limits above the library may end the process first; here only dwfl_begin() fails,
# and auxtap could continue without it.
cat >less.c <<'C'
#include <errno.h>
#include <stddef.h>
/* in the place of libdw's */
void *dwfl_begin(const void *callbacks)
{
	(void)callbacks;
	errno = ENOMEM;
	return NULL;
}
C
if cc -shared -fPIC -o less.so less.c 2>cc.err; then
	for command in report "decode -j 1 --events call -F ip,sym,srcline"; do
		# shellcheck disable=SC2086
		env LD_PRELOAD="$WORK/less.so" "$AUXTAP" $command data >out 2>err
		[ $? -eq 3 ] && grep -q '^auxtap: data: out of memory' err || fail "$command, libdw without memory: $(cat err)"
	done
fi
# The report is made in a separate process: whatever a library does to that one, auxtap's status
# is the program's, and the snapshot stays.
cat >ends.c <<'C'
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>
/* in the place of libdw's */
void *dwfl_begin(const void *callbacks)
{
	(void)callbacks;
	if (getenv("LIBDW_EXITS"))
		_exit(0);
	raise(SIGSEGV);
	return NULL;
}
C
printf '#include <stdlib.h>\nint main(void) { abort(); }\n' >aborts.c
if build aborts && cc -shared -fPIC -o ends.so ends.c 2>cc.err; then
	for variable in LIBDW_EXITS=1 LIBDW_DIES=1; do
		rm -f died*
		env LD_PRELOAD="$WORK/ends.so" $variable "$AUXTAP" crash --source ptrace -m 8,64 \
			-o died -- ./aborts >out 2>err </dev/null
		status=$?
		[ $status -eq 134 ] || fail "$variable: status $status, not the program's: $(tail -n 2 err)"
		grep -q 'died of SIGABRT; its snapshot is died' err &&
			grep -q 'writing the report ended with' err ||
			fail "$variable: $(tail -n 2 err)"
		"$AUXTAP" report died >out 2>err || fail "$variable: the snapshot: $(tail -n 1 err)"
	done
fi
echo "$whole complete, $short ended with an error, $by_libdw ended by libdw"
[ $whole -gt 0 ] && [ $short -gt 0 ] || fail "the limits do not reach both cases"
finish
