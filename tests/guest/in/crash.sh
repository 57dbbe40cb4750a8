# SPDX-License-Identifier: BSD-2-Clause
# In the guest: see test_crash.sh. Runs the crash programs and keeps what they leave.
# The caller prepends a line that sets FIXTURES and SRC.
bad=0
complain() {
	echo "crash: $*"
	bad=1
}

# where programs and sources were built, which may be below a directory mounted here
mkdir -p $FIXTURES $SRC/fixtures /tmp/c
cp -a /fixtures/. $FIXTURES/
cp -a /sources $SRC/fixtures/crash
cd /tmp/c || exit 1

crash() { # NAME COMMAND...: the report as the user gets it, and the exit status
	name=$1
	shift
	rm -f /tmp/c/*
	auxtap crash --backend kernel -o data -- "$@" >stdout 2>stderr </dev/null
	echo $? >/out/$name.status
	cp stderr /out/$name.stderr
	cp data.report.txt /out/$name.report || complain "$name: no report"
}

insmod /auxtap.ko name=intel_pt || exit 1
for name in null_deref use_after_free stack_smash bad_pointer cxx_uncaught div_zero thread_crash \
	fork_child handler_crash dlopen_crash illegal_insn stack_overflow second_fault; do
	crash $name $FIXTURES/$name
done
crash wrapper $FIXTURES/wrapper.sh

# two deaths in one session: each has its report, the second in FILE.PID
rm -f /tmp/c/*
auxtap crash --backend kernel -o data -- sh -c "$FIXTURES/null_deref; $FIXTURES/div_zero; exit 9" \
	>stdout 2>stderr </dev/null
[ $? = 9 ] || complain "two deaths: $(cat stderr)"
grep -q '^null_deref .* in age_of' data.report.txt || complain "two deaths: the first: $(cat stderr)"
grep -q '^div_zero .* in average' data.[0-9]*.report.txt || complain "two deaths: the second: $(cat stderr)"
for report in data.report.txt data.[0-9]*.report.txt; do
	sed -n '/^The calls/,/^Last/p' $report | grep -q 'SIG[A-Z]* here' || complain "two deaths: $report: $(cat $report)"
done

grep -q '^  no gaps' data.report.txt || complain "two deaths: the first: $(cat data.report.txt)"
# the shell has run untraced while the first one's snapshot was taken
grep -q '^  1 gap: paused$' data.[0-9]*.report.txt || complain "two deaths: no gap: $(cat data.[0-9]*.report.txt)"

# a process that runs already, until it becomes one that dies
rm -f /tmp/c/*
sh -c "while ! [ -e go ]; do sleep 0.1; done; exec $FIXTURES/null_deref" &
victim=$!
auxtap crash --backend kernel -o data -p $victim 2>stderr &
recorder=$!
tries=0
until [ "$(sed -n 's/^TracerPid:[^0-9]//p' /proc/$victim/status)" != 0 ] || [ $tries = 100 ]; do
	tries=$((tries + 1))
	sleep 0.1
done
sleep 1
touch go
wait $victim
[ $? = 139 ] || complain 'attached: the victim does not die of it'
wait $recorder
status=$?
[ $status = 139 ] || complain "attached: status $status: $(cat stderr)"
grep -q '^null_deref .* in age_of' data.report.txt || complain "attached: $(cat stderr)"
grep -q 'SIGSEGV here' data.report.txt || complain "attached: no calls: $(cat stderr)"

# without a death nothing is left
rm -f /tmp/c/*
auxtap crash --backend kernel -o data -- true 2>stderr || complain "true: status $?"
[ ! -e data ] || complain 'true: a snapshot was left'
grep -q 'no crash' stderr || complain "true: nothing was said: $(cat stderr)"
exit $bad
