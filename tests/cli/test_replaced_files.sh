# SPDX-License-Identifier: BSD-2-Clause
# A file that is not the one that ran is refused, with or without a build-id: replaced while it
# is mapped, replaced or rewritten before the report, removed. A source file that is newer than the
# program is shown with a warning.
. "$(dirname "$0")/lib.sh"
command -v gcc >/dev/null || skip "gcc is not installed"
source=$SRC/tests/cli/frames/replaced.c
gcc -g -O1 -w -o program "$source" -ldl || { fail "program: not built"; finish; }
for id in sha1 none; do
	gcc -g -O1 -w -shared -fPIC -Wl,--build-id=$id -DPAD=1 -DFUNCTION=first -o "first.$id" \
		"$source" &&
		gcc -g -O1 -w -shared -fPIC -Wl,--build-id=$id -DPAD=99 -DFUNCTION=second -o "second.$id" \
		"$source" ||
		fail "$id: not built"
done

# run COMMAND [FUNCTION]: lib.so is loaded, then COMMAND runs, then the library crashes
run() {
	rm -f data*
	"$AUXTAP" crash -o data -- ./program ./lib.so "${2:-first}" "$1" >stdout 2>stderr </dev/null
	[ $? -eq 139 ] && [ -s data.report.txt ] || fail "$1: no crash of the library: $(tail -n 3 stderr)"
}

# no_name WHAT REPORT: names no function of the library, and says that the file is different
no_name() {
	grep -q "  different: .*/lib.so (build-id " "$2" ||
		fail "$1: $(sed -n '/^Images/,/^$/p' "$2")"
	sed -n '/^Backtrace/,/^$/p' "$2" | grep '#0' | grep -q 'lib.so+0x' ||
		fail "$1: $(sed -n '/^Backtrace/,/^$/p' "$2")"
	# (under Next is the command, which has such words)
	sed '/^Next$/,$d' "$2" | grep -E '\b(first|second|other_code)\b' && fail "$1: a function of a file that did not run"
}

for id in sha1 none; do
	cp "first.$id" lib.so
	run :
	sed -n '/^Backtrace/,/^$/p' data.report.txt | grep -q '#0  first at .*replaced.c' ||
		fail "$id: unchanged: $(sed -n '/^Backtrace/,/^$/p' data.report.txt)"
	grep -q 'found, none missing' data.report.txt || fail "$id: unchanged: an image is missing"

	run "rm lib.so; cp second.$id lib.so"
	no_name "$id: replaced while mapped" data.report.txt

	# before the report is read: rewritten, replaced, removed
	cp "first.$id" lib.so
	run :
	cat "second.$id" >lib.so
	"$AUXTAP" report data >out 2>&1
	no_name "$id: rewritten" out
	cp "second.$id" new && mv new lib.so
	"$AUXTAP" report data >out 2>&1
	no_name "$id: replaced" out
	rm lib.so
	"$AUXTAP" report data >out 2>&1
	grep -q 'missing: .*/lib.so' out || fail "$id: removed: $(sed -n '/^Images/,/^$/p' out)"

	# two files of one name, each mapped while it existed
	cp "first.$id" lib.so
	rm -f two*
	"$AUXTAP" crash -o two -- sh -c "./program ./lib.so first :
		rm lib.so; cp second.$id lib.so
		./program ./lib.so second :; :" >stdout 2>stderr </dev/null
	named=$(cat two*.report.txt | grep -cE '^  #0  (first|other_code) at .*replaced.c')
	[ "$named" -eq 2 ] || fail "$id: two of one name: $(cat two*.report.txt | grep -A1 '^Backtrace')"
done

# the same in one recording: the newer file is the existing one
cp first.sha1 lib.so
"$AUXTAP" record -o both -- sh -c "./program ./lib.so first :
	rm lib.so; cp second.sha1 lib.so
	./program ./lib.so second :; :" >stdout 2>stderr </dev/null
"$AUXTAP" report both | grep -c '  different: .*/lib.so (build-id ' | grep -qx 1 ||
	fail "both: $("$AUXTAP" report both | sed -n '/^Images/,/^$/p')"
"$AUXTAP" decode --events call -F sym both 2>/dev/null | grep -q '^second' ||
	fail "both: no call to the function of the newer file"

# a source file that was changed after the program was built
cp "$source" changed.c
gcc -g -O1 -w -shared -fPIC -DPAD=1 -DFUNCTION=first -o lib.so changed.c || fail "changed: not built"
warning='the source file is newer than the program'
run :
grep -q ' | .*return \*p' data.report.txt || fail "source: its line is not shown"
grep -q "$warning" data.report.txt && fail "source: called newer than the program: $(cat data.report.txt)"
sed -i '1i // one' changed.c
"$AUXTAP" report data >out 2>&1
[ "$(grep -c ' | ' out)" -ge 1 ] && [ "$(grep -A1 ' | ' out | grep -c "$warning")" -ge 1 ] ||
	fail "source: no warning that it is newer: $(cat out)"
finish
