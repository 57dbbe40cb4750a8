# SPDX-License-Identifier: BSD-2-Clause
# longjmp() to a function that has returned, whose frame others have used since: a variable of it
# was set; what it returns to, which is no code, is in the tree of calls, and below that function.
. "$(dirname "$0")/lib.sh"
command -v gcc >/dev/null || skip "gcc is not installed"
"$AUXTAP" list | grep -q 'qemu: available' || skip "no qemu"
source=$SRC/tests/cli/frames/left_frame.c

gcc -g -O0 -fno-stack-protector -w -o left "$source" || fail "left: not built"
guard "$AUXTAP" crash --values --source qemu -o data -- ./left >stdout 2>stderr </dev/null
head -n 1 data.report.txt | grep -q ' in opens at left_frame.c:' ||
	fail "left: $(head -n 3 data.report.txt stderr)"
grep 'never set' data.report.txt && fail "left: the parameter was set"

if command -v aarch64-linux-gnu-gcc >/dev/null; then
	aarch64-linux-gnu-gcc -g -O2 -DFILL=-1L -w -o left_a64 "$source" || fail "left_a64: not built"
	rm -f data*
	guard "$AUXTAP" crash -o data -- ./left_a64 >stdout 2>stderr </dev/null
	sed -n 2p data.report.txt >why
	grep -q '^  it returned to 0xffffffffffffffff, which is no address at all' why ||
		fail "left_a64: $(head -n 3 data.report.txt stderr)"
	grep 'the call was from' why && fail "left_a64: longjmp() did not call it"
	sed -n '/^The calls/,/^Last/s/^ *[0-9]*\( .*[^ ]\)   .*/\1/p' data.report.txt >entered
	outer=$(sed -n 's/^\( *\)\[by jump\] opens$/\1/p' entered)
	inner=$(sed -n 's/^\( *\)\[by return\] 0xffffffffffffffff$/\1/p' entered)
	[ -n "$outer" ] && [ ${#inner} -gt ${#outer} ] || fail "left_a64: $(cat entered)"
fi
finish
