# SPDX-License-Identifier: BSD-2-Clause
# Deaths by abort(): the headline names the program's own call that led there, also where the C
# library is part of the program and where that call is in a header; the branches shown are those
# before it.
. "$(dirname "$0")/lib.sh"
command -v g++ >/dev/null || skip "g++ is not installed"
source=$SRC/tests/cli/frames/aborts.cpp
g++ -g -O1 -w -o dynamic "$source" || { fail "aborts: not built"; finish; }
g++ -g -O1 -w -static -o static "$source" || { fail "aborts: not built statically"; finish; }

# dies PROGRAM WAY STATUS FUNCTION BEFORE: BEFORE is what follows "Last branches before"
dies() {
	local line branches status from
	line=$(grep -n "way: $2 " "$source" | cut -d: -f1)
	rm -f data*
	"$AUXTAP" crash "${options[@]}" -o data -- "./$1" "$2" >stdout 2>stderr </dev/null
	status=$?
	[ "$status" -eq 134 ] || fail "$1 $2: status $status: $(tail -n 2 stderr)"
	[ -s data.report.txt ] || { fail "$1 $2: no report: $(tail -n 3 stderr)"; return; }
	from="^  (reached|called) from $3(\(.*\))?( \(inlined\))? at aborts.cpp:$line\$"
	sed -n 2p data.report.txt | grep -qE "$from" ||
		fail "$1 $2: the head: $(sed -n '1,/^$/p' data.report.txt)"
	sed -n '/^Last branches/,/^$/p' data.report.txt >branches
	grep -qxF "Last branches before $4 (newest last)" branches ||
		fail "$1 $2: $(head -n 1 branches)"
	# the program's call is the last one; before it, the program's own branches
	branches=$(sed '$d' branches | tail -n 1)
	case $branches in
	'  call '*"aborts.cpp:$line) "* | '  call '*'stl_vector.h:'*) ;;
	*) fail "$1 $2: the last branch: $branches" ;;
	esac
	[ "$2" = handler ] || [ "$2" = sort ] ||
		grep -q '^  return .* -> .*(aborts.cpp:' branches ||
		fail "$1 $2: no branch of the program before: $(cat branches)"
	echo "$1 $2: line $line"
}

# message TEXT: the report has the C library's message, as the program printed it
message() {
	grep '^  Its message: ' data.report.txt | grep -qF "$1" && grep -qF "$1" stderr ||
		fail "$program message '$1': $(sed -n '1,/^$/p' data.report.txt)"
}

abort='the call that led to abort()'
options=(--source qemu)
for program in dynamic static; do
	dies $program abort give_up "$abort"
	! grep 'Its message' data.report.txt || fail "abort: the C library printed no message"
	dies $program assert check "$abort"
	message 'Assertion `n > 100 && "too small"'"' failed."
	dies $program throw refuse "$abort"
	grep -qx '  Its exception: std::runtime_error; what(): too small' data.report.txt ||
		fail "$program throw: $(sed -n '1,/^$/p' data.report.txt)"
	dies $program header element "$abort"
	dies $program free twice "$abort"
	message 'double free or corruption'
	# what is shown is what was before the second call, not before the first
	[ "$(grep -c '^  return .* -> twice' branches)" -ge 2 ] ||
		fail "$program free: $(cat branches)"
	dies $program raise send 'the call that sent SIGABRT'
done
dies dynamic sort compare "$abort"
dies dynamic handler restore "$abort"
grep -q '^  the C++ library called abort(), from __cxa_throw: ' data.report.txt &&
	fail "handler: no exception was thrown"
options=(--source ptrace)
dies static assert check "$abort"
program=ptrace message 'Assertion `n > 100 && "too small"'"' failed."

# another thread sent the signal: no call of this one did
cat >watch.c <<'C'
#include <pthread.h>
#include <signal.h>
#include <unistd.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static void *watchdog(void *arg)
{
	usleep(20000);
	pthread_kill(*(pthread_t *)arg, SIGABRT);
	return 0;
}
__attribute__((noinline)) static void wait_for_ever(void)
{
	pthread_mutex_lock(&lock);
	pthread_mutex_lock(&lock);
}
int main(void)
{
	pthread_t self = pthread_self(), thread;
	pthread_create(&thread, 0, watchdog, &self);
	wait_for_ever();
	return 0;
}
C
gcc -g -O0 -w -pthread -o watch watch.c || fail "watch: not built"
rm -f data*
"$AUXTAP" crash --source qemu -o data -- ./watch >stdout 2>stderr </dev/null
grep -q '^  reached from wait_for_ever at ' data.report.txt &&
	grep -q '^Last branches (newest last)$' data.report.txt ||
	fail "watch: $(sed -n '1,3p; /^Last/p' data.report.txt)"

# a destructor of thread-specific data frees it by a tail call: free() failed, not the C library's
# function that called the destructor
cat >tail.c <<'C'
#include <pthread.h>
#include <stdlib.h>
static pthread_key_t key;
static void destroy(void *data) { free(data); }
static void *thread(void *data)
{
	free(data);
	pthread_setspecific(key, data);
	return NULL;
}
int main(void)
{
	pthread_t id;
	pthread_key_create(&key, destroy);
	pthread_create(&id, NULL, thread, malloc(100));
	return pthread_join(id, NULL);
}
C
gcc -g -O2 -w -pthread -o tail tail.c || fail "tail.c: not built"
guard "$AUXTAP" crash --backend emulated -o data -- ./tail >stdout 2>stderr </dev/null
grep -q 'destroy (tail call)' data.report.txt &&
	grep -qE '^  the C library called abort\(\), from (__libc_free|c?free): ' data.report.txt ||
	fail "tail: $(sed -n '1,/^$/p' data.report.txt)"

# as many as the user asks for
"$AUXTAP" report --branches 3 data >few && sed -n '/^Last branches/,/^$/p' few >branches
[ "$(wc -l <branches)" = 5 ] || fail "--branches 3: $(cat branches)"
finish
