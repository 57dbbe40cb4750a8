# SPDX-License-Identifier: BSD-2-Clause
# In the guest: see test_samples.sh.
debug=/sys/kernel/debug/auxtap
bad=0
complain() {
	echo "samples: $name: $*"
	bad=1
}

# If the kernel's function is not found.
name=refused
insmod /auxtap.ko name=intel_pt aux_sample=0 || exit 1
/aux_samples refused || bad=1
perf record -vv -o data --aux-sample -e '{intel_pt//u,cpu-clock:u}' -- /fixed >out 2>err &&
	complain 'was taken'
grep -q 'failed, error -22' err || complain "$(tail -n 3 err)" # EINVAL
rmmod auxtap || complain 'the module does not unload'

name=rules
insmod /auxtap.ko name=intel_pt steps=4000000 || exit 1
[ "$(dmesg | grep -c 'perf_output_copy not found')" = 1 ] || complain "$(dmesg | grep auxtap)"
/aux_samples rules || bad=1

# On one CPU: the sample of a thread that moves to the other one and back lacks what it did there,
# without any sign of it.
for size in 4096 16384; do
	name="perf, $size bytes"
	# a guest that gets little of the host may spend every tick of the clock in the kernel: no
	# samples, nothing to compare
	tries=0 samples=0
	while [ "$samples" -lt 3 ] && [ $tries -lt 10 ]; do
		tries=$((tries + 1))
		echo >$debug/steps
		taskset 1 perf record -q -o data --aux-sample=$size -c 3000000 \
			-e '{intel_pt//u,cpu-clock:u}' -- /fixed threads >out 2>err || complain "$(cat err)"
		samples=$(perf script -i data --no-itrace -F event 2>/dev/null | grep -c cpu-clock)
	done
	cat $debug/steps >steps
	perf script -i data --itrace=i1i -F tid,event,ip >lines 2>errors
	compare_samples steps <lines >verdict || complain "$(cat verdict; head -n 3 errors)"
	# and auxtap decode lists the same as perf script, thread by thread
	awk '$2 ~ /^instructions/ {print $1, $3}' lines | sort -s -k 1,1 >by_perf
	auxtap decode --events insn -F tid,ip data 2>err | awk '{print $1, $2}' |
		sort -s -k 1,1 >by_auxtap
	cmp by_perf by_auxtap || complain "auxtap decode: $(wc -l <by_auxtap) instructions: $(head -n 3 err)"
	[ "$(auxtap decode --summary data | sed -n 's/^errors: //p')" = 0 ] || complain 'auxtap decode: errors'
	echo "$name: $(tail -n 1 verdict), recorded $tries times"
done
[ "$(cat $debug/steps_lost)" = 0 ] || { echo 'samples: the log of steps was too small'; bad=1; }
rmmod auxtap || { echo 'samples: the module does not unload'; bad=1; }
exit $bad
