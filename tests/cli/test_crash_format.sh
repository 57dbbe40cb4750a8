#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# auxtap crash --format: the report beside the snapshot is what 'auxtap report' prints in that
# format; standard error has the text; an older report stays with its snapshot, --keep removes it.
. "$(dirname "$0")/lib.sh"
command -v python3 >/dev/null || skip "python3 is not installed"

crash() {
	guard "$AUXTAP" crash "$@" -- "$FIXTURES/null_deref" >stdout 2>stderr </dev/null
	[ $? -eq 139 ] || fail "$*: exit $?: $(tail -n 2 stderr)"
}
crash -o text --format text
crash -o plain
for name in text plain; do
	head -n 1 $name.report.txt | grep -q '^null_deref (pid .* died of SIGSEGV' ||
		fail "$name: $(head -n 1 $name.report.txt)"
done
for format in json html; do
	crash -o $format --format $format
	[ "$(stat -c %a $format.report.$format)" = 600 ] || fail "$format: mode"
	[ ! -e $format.report.txt ] || fail "$format: the text is beside it, too"
	"$AUXTAP" report --format $format $format | cmp - $format.report.$format ||
		fail "$format: another report"
	tail -n 1 stderr | grep -qx "auxtap: the same report is in $format.report.$format" ||
		fail "$format: $(tail -n 1 stderr)"
	grep -v '^auxtap: ' stderr | cmp -s - <("$AUXTAP" report $format) ||
		fail "$format: standard error is not the text: $(cat stderr)"
done
python3 -c 'import json; assert json.load(open("json.report.json"))["kind"] == "crash"' || fail "no JSON"
tail -n 1 html.report.html | grep -qx '</body></html>' || fail "the page does not end"

# of the files there is the report of each, whatever its format
left() { ls | grep '^run' | grep -v 'vdso$' | tr '\n' ' '; }
crash -o run --format html
crash -o run --format json
[ "$(left)" = "run run.old run.old.report.html run.report.json " ] || fail "second run: $(left)"
"$AUXTAP" report --format html run.old >page
python3 - <<'END' || fail "run.old.report.html does not belong to run.old"
import json, re

def report(name):
    text = open(name).read()
    return json.loads(re.search('id="data">(.*?)</script>', text, re.S)[1])
old, new = report('run.old.report.html'), report('page')
assert old.pop('file') == 'run' and new.pop('file') == 'run.old'
commands = [['run' if word == 'run.old' else word for word in words] for words in new.pop('next')]
assert old.pop('next') == commands
assert old == new
END
crash -o run
[ "$(left)" = "run run.old run.old.report.json run.report.txt " ] || fail "third run: $(left)"

# --keep: what is removed is removed with its report
cat >children.c <<'EOF_C'
#include <sys/wait.h>
#include <unistd.h>

int main(void)
{
	for (int i = 0; i < 4; i++) {
		if (!fork())
			*(volatile int *)0 = i;
		wait(0);
	}
	return 0;
}
EOF_C
gcc -g -w -o children children.c || fail "children: not built"
for format in json html; do
	guard "$AUXTAP" crash --format $format --keep 2 -o "kept.$format" -- ./children \
		>stdout 2>stderr </dev/null
	[ "$(ls | grep -c "^kept\.$format.*\.report\.$format\$")" -eq 2 ] &&
		[ "$(ls | grep "^kept\.$format" | grep -vc 'vdso$')" -eq 4 ] || fail "--keep, $format: $(ls)"
	[ "$(grep -c ' died of SIGSEGV' stderr)" -eq 4 ] || fail "--keep: not 4 reports"
done

"$AUXTAP" crash --format yaml -- true >stdout 2>stderr
[ $? -eq 125 ] && grep -q "unknown format 'yaml'; give text, json or html" stderr ||
	fail "yaml: $(cat stderr)"
"$AUXTAP" record --format json -- true >stdout 2>stderr
[ $? -eq 125 ] && grep -q "is an option of 'auxtap crash'" stderr || fail "record: $(cat stderr)"
finish
