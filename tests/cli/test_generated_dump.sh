# SPDX-License-Identifier: BSD-2-Clause
# Names and lines of generated code from a jitdump: what the newest records say, as stock perf's
# 'inject --jit' does; of the process's own file only, and only if an executable mapping marks it.
. "$(dirname "$0")/lib.sh"
command -v cc >/dev/null || skip "no C compiler"
[ "$(uname -m)" = x86_64 ] || skip "the program writes x86-64 code"
cc -g -O1 "-DSOURCE=\"$PWD/program.lang\"" -o jitdump "$SRC/tests/cli/frames/dumped.c" ||
	skip "cc failed"
for i in 1 2 3 4 5 6 7 8 9 10; do echo "text of line $i"; done >program.lang
chmod 755 . # of files that a jitdump names only those are shown that everybody may read

# run ENGINE HOW: its report, and the calls in it
run() {
	rm -f data* jit-*.dump*
	guard "$AUXTAP" crash --source "$1" -o data -- ./jitdump "$2" >out 2>err
	[ $? -eq 139 ] || return 1
	sed -n '/^The calls/,/^Last branches/p' data.report.txt >calls
}

# named WHAT REPORT: outer_fn, inner_fn, which moved, and its line
named() {
	grep -q ' outer_fn ' "$2" && grep -q ' inner_fn .*<- SIGSEGV here$' "$2" ||
		fail "$1: $(cat "$2")"
	grep -qE 'older_fn|late_fn' "$2" && fail "$1: a name that is not valid: $(cat "$2")"
}

for engine in ptrace qemu; do
	"$AUXTAP" list | grep -q "$engine: available" || continue
	used=$engine
	run $engine own || fail "$engine: $(tail -n 2 err)"
	named $engine calls
	grep -q 'names of generated code' data.report.txt && fail "$engine: the file was read"
	# the line of the instruction after the first one, where the code moved to
	grep -q 'program.lang:10' data.report.txt || fail "$engine: no line: $(cat data.report.txt)"
	grep -q 'text of line 10' data.report.txt || fail "$engine: no source"
	"$AUXTAP" decode --events branch -F event,ip,sym,srcline data 2>err >branches ||
		fail "$engine: $(cat err)"
	grep -qE '^branch +10000001 outer_fn program.lang:4 ' branches ||
		fail "$engine: the second line of outer_fn: $(grep outer_fn branches)"
done
engine=$used
"$AUXTAP" pack --redact -o packed data >/dev/null 2>err || fail "pack: $(cat err)"
"$AUXTAP" report packed >packed.txt 2>err || fail "packed: $(cat err)"
sed -n '/^The calls/,/^Last branches/p' packed.txt >calls
named packed calls
grep -q 'program.lang:10' packed.txt || fail "packed: no line"

run $engine close && grep -q ' inner_fn ' calls || fail "close: $(tail -n 2 err) $(cat calls)"
grep -q late_fn calls && fail "close: a record after the end: $(cat calls)"
# lines that cannot be right
run $engine garbled && grep -q ' inner_fn ' calls || fail "garbled: $(tail -n 2 err)"
grep -qE ':(9|10)$' data.report.txt && fail "garbled: $(grep -E ':(9|10)$' data.report.txt)"
# without the mapping that marks it, perf would not know of it either
run $engine unmarked || fail "unmarked: $(tail -n 2 err)"
grep -qE 'outer_fn|inner_fn|names of generated code' data.report.txt && fail "unmarked: it was read"

for how in link hard other magic; do
	if ! run $engine $how; then
		[ $how = other ] && continue # chown needs root
		fail "$how: $(tail -n 2 err)"
		continue
	fi
	grep -q 'outer_fn' calls && fail "$how: names were taken from it"
	case $how in
	hard) why='it is a link, or has several names' ;;
	link) continue ;; # the mapping has the file's own name, which is another one
	other) why="it is no file of the process's user" ;;
	magic) why='it is no jitdump of this byte order' ;;
	esac
	grep -q "^  names of generated code: jit-[0-9]*.dump not read: $why\$" data.report.txt ||
		fail "$how: $(sed -n '/^Images/,/^$/p' data.report.txt)"
done

# in a PID namespace the file has the process's own number
if unshare -rpf --mount-proc true 2>/dev/null; then
	rm -f data*
	guard unshare -rpf --mount-proc "$AUXTAP" crash --source $engine -o data -- \
		./jitdump own >out 2>err
	[ $? -eq 139 ] || fail "namespace: $(tail -n 2 err)"
	grep -q ' outer_fn ' data.report.txt || fail "namespace: no names"
fi

# which address has which name, by stock perf
run $engine own || fail "$engine: $(tail -n 2 err)"
rm -f jit-*.dump*
if command -v perf >/dev/null &&
	perf record -k mono -e cpu-clock -o perf.data ./jitdump loop >out 2>&1 &&
	perf inject --jit -i perf.data -o perf.jit >out 2>&1; then
	perf script -i perf.jit -F ip,sym 2>/dev/null |
		sed -nE 's/^ *(100000[0-9a-f]{2}) ([^ ]+).*/\1 \2/p' | sort -u >perf.names
	"$AUXTAP" decode --events insn -F event,ip,sym data 2>/dev/null |
		sed -nE 's/^insn +(0x)?0*(100000[0-9a-f]{2}) ([^ ]+).*/\2 \3/p' | sort -u >names
	join perf.names names |
		awk '{ nr++; if ($2 != $3) { print; bad = 1 } } END { exit bad || !nr }' >differ ||
		fail "not as perf: $(cat differ; head -n 3 perf.names names)"
else
	echo "without perf's names: perf cannot record here"
fi
finish
