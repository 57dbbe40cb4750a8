# SPDX-License-Identifier: BSD-2-Clause
# C++ exceptions that a program dies with: the report names the type, and the text of what() where
# that is certain. The reference is the line that the C++ library prints.
. "$(dirname "$0")/lib.sh"
command -v g++ >/dev/null || skip "g++ is not installed"
source=$SRC/tests/cli/frames/uncaught.cpp
build() { g++ -g -O1 -pthread -w "${@:2}" -o "$1" "$source" || fail "$1: not built"; }
build dynamic
build fixed -no-pie -fno-pic
build own -static-libstdc++ -static-libgcc
build static -static

# dies PROGRAM WAY [OPTION...]
dies() {
	local status
	rm -f data*
	guard "$AUXTAP" crash "${@:3}" -o data -- "./$1" "$2" >stdout 2>stderr </dev/null
	status=$?
	[ "$status" -eq 134 ] || fail "$1 $2: status $status: $(tail -n 2 stderr)"
	[ -s data.report.txt ] || { fail "$1 $2: no report: $(tail -n 3 stderr)"; return 1; }
	sed -n '2,/^$/p' data.report.txt >head
}

# thrown PROGRAM WAY TYPE [TEXT]: what the report and the C++ library say; TEXT as in the report,
# which has no what() without it
thrown() {
	local line="  Its exception: $3${4+; what(): $4}"
	dies "$1" "$2" "${options[@]}" || return
	grep -qF "terminate called after throwing an instance of '$3'" \
		stderr || fail "$1 $2: the library says: $(grep -a terminate stderr)"
	[ $# -lt 4 ] || grep -qF "  what():  ${4%%\\x0a*}" stderr || fail "$1 $2: $(grep -a what stderr)"
	grep -qxF -- "$line" head || fail "$1 $2: '$line' is not in: $(cat head)"
	grep -q 'The exception being handled' head && fail "$1 $2: $(cat head)"
	echo "$1 $2: $3"
}

# handled PROGRAM WAY [TEXT]: an exception is current, but it is not why the program died; without
# TEXT there is none
handled() {
	dies "$1" "$2" "${options[@]}" || return
	grep -q 'Its exception' head && fail "$1 $2: $(cat head)"
	grep 'The exception being handled' head >lines
	[ "$(cat lines)" = "${3:+  The exception being handled: $3}" ] || fail "$1 $2: $(cat head)"
	grep -q 'or there was none' head && [ "$2" != nothing ] && fail "$1 $2: $(cat head)"
	echo "$1 $2: ${3:-none}"
}

options=(--source qemu)
command -v qemu-x86_64 >/dev/null || options=(--source ptrace)
for program in dynamic fixed own static; do
	thrown $program derived bank::refused 'no such account'
	thrown $program number int
	thrown $program coded bank::coded
	thrown $program two bank::two 'of two bases'
done
thrown dynamic empty std::logic_error ''
thrown dynamic header std::out_of_range \
	'vector::_M_range_check: __n (which is 7) >= this->size() (which is 3)'
thrown dynamic plain bank::plain
thrown dynamic text 'char const*'
thrown dynamic alloc std::bad_alloc
thrown dynamic second bank::second
thrown dynamic shared bank::shared
thrown dynamic hidden '(anonymous namespace)::hidden' anonymous
thrown dynamic long std::runtime_error
thrown dynamic closed std::runtime_error 'out of noexcept'
thrown dynamic thread std::range_error 'in a thread'
thrown dynamic nested 'std::_Nested_exception<std::domain_error>' outer
thrown dynamic again bank::refused first
grep -q 'or there was none to throw again' head && fail "again: $(cat head)"
thrown dynamic kept bank::refused first
handled dynamic handling 'bank::refused; what(): first'
handled dynamic handling_two long
handled dynamic kept_handling 'bank::refused; what(): first'
handled dynamic at_end int
handled dynamic ended
handled dynamic no_throw
handled dynamic nothing
grep -q 'or there was none to throw again$' head || fail "nothing: $(cat head)"

# Where it was thrown, by gdb's stop at the last throw: also if the stack has been unwound since,
# and from within the C++ library
if [ "${options[*]}" = '--source qemu' ] && ! old_qemu && command -v gdb >/dev/null; then
	cat >throws.gdb <<'END'
set debuginfod enabled off
set width 0
catch throw
commands
bt
continue
end
END
	for way in derived number header plain alloc second hidden long closed thread again; do
		gdb -nx -batch -x throws.gdb -ex "run $way" ./dynamic >gdb.out 2>&1 </dev/null
		tac gdb.out | sed '/^#0 /q' | grep '^#.* at .*uncaught.cpp:' | tail -n 1 |
			sed 's/.*uncaught.cpp:/uncaught.cpp:/' >want
		[ -s want ] || { echo "$way: gdb: $(tail -n 1 gdb.out)"; continue; }
		dies dynamic $way "${options[@]}" || continue
		sed -n 's/^  It was thrown by [^,]* at \(uncaught.cpp:[0-9]*\).*/\1/p' head >got
		cmp -s want got || fail "$way: thrown at $(cat want): $(cat head)"
		echo "$way: thrown at $(cat got)"
		compared=$((${compared:-0} + 1))
	done
	[ "${compared:-0}" -ge 8 ] || fail "thrown: $compared compared"
fi

# control characters do no harm, in either form of the report
thrown dynamic runtime std::runtime_error 'two\x0alines\x1b[1m'
"$AUXTAP" report --format json data >json || fail "json: $?"
python3 -B - json <<'END' || fail "json: see above"
import json, sys
report = json.load(open(sys.argv[1]))
assert all(c['file'].endswith('uncaught.cpp') for c in report['crash']['exception'].pop('thrown_by'))
assert report['crash']['exception'] == {
    'type': 'std::runtime_error', 'what': 'two\nlines\x1b[1m', 'uncaught': True}, \
    report['crash']['exception']
END
"$AUXTAP" report --format html data >page && grep -q 'Its exception: ' page || fail "page: $?"
"$AUXTAP" dump data | grep -A 2 ' exception: ' >note
[ "$(sed -n 2p note)" = '  St13runtime_error' ] || fail "dump: $(cat note)"

# text of the program is no part of a file without its memory
dies dynamic derived "${options[@]}" --memory none && handled=$(grep -c exception: head)
[ "$handled" = 0 ] || fail "--memory none: $(cat head)"
dies dynamic derived "${options[@]}" && "$AUXTAP" pack --redact -o packed data >stdout 2>stderr ||
	fail "pack: $(cat stderr)"
grep -c 'no such account' packed && fail "redacted: the text is there"
"$AUXTAP" report packed | grep 'Its exception' && fail "redacted: the exception is there"
"$AUXTAP" pack --with-memory -o whole data >stdout 2>stderr
"$AUXTAP" report whole | grep -qx '  Its exception: bank::refused; what(): no such account' ||
	fail "packed: $("$AUXTAP" report whole | sed -n '1,/^$/p')"

# the unwinding takes millions of single steps
if [ -n "${AUXTAP_LONG:-}" ]; then
	echo '#include <stdexcept>
int main() { throw std::length_error("too long"); }' >small.cpp
	g++ -static -o small small.cpp || fail "small: not built"
	options=(--source ptrace)
	thrown small '' std::length_error 'too long'
fi
finish
