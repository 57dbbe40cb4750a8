# SPDX-License-Identifier: BSD-2-Clause
# In the guest: see test_crash.sh. Runs the crash programs; what they leave goes home.
# FIXTURES and SRC are set by a line in front of this.
bad=0
complain() {
	echo "crash: $*"
	bad=1
}

# where programs and sources were built, which may be below a folder mounted here
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

rm -f /tmp/c/*
auxtap crash --backend kernel -o data -- true 2>stderr || complain "true: status $?"
[ ! -e data ] || complain 'true: a snapshot was left'
grep -q 'no crash' stderr || complain "true: nothing was said: $(cat stderr)"
exit $bad
