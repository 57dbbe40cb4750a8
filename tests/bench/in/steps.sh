# SPDX-License-Identifier: BSD-2-Clause
# In the guest: see guest_steps.sh.
. /bench.conf
insmod /auxtap.ko name=intel_pt || exit 1
stepped() { # BACKEND: number of instructions it stepped
	case "$1" in
	kernel) sed -n 's/^steps: //p' /sys/kernel/debug/auxtap/counts ;;
	emulated) auxtap decode --summary /tmp/steps.data 2>/dev/null | sed -n 's/^instructions: //p' ;;
	esac
}
hundredths() {
	tr -d . </proc/uptime | cut -d' ' -f1
}
measure() { # BACKEND LOOPS: steps a second; startup and exit included
	before=$(stepped $1)
	[ $1 = kernel ] || before=0
	from=$(hundredths)
	case "$1" in
	kernel) auxtap record --backend kernel -o /tmp/steps.data -e intel_pt//u -- /emu_program \
		loops $2 ;;
	emulated) auxtap record --backend emulated --source ptrace -o /tmp/steps.data \
		-- /emu_program loops $2 ;;
	esac >/tmp/record.log 2>&1 # the exit status is the program's and is ignored
	to=$(hundredths)
	steps=$(($(stepped $1) - before))
	[ $steps -gt $2 ] || { echo "steps: $1: only $steps: $(cat /tmp/record.log)" >&2; exit 1; }
	echo $((steps * 100 / (to - from)))
	rm -f /tmp/steps.data*
}
measure kernel 100 >/dev/null
trap=$(measure kernel $LOOPS) || exit 1
ptrace=$(measure emulated $PTRACE_LOOPS) || exit 1
echo "trap_steps_per_second: $trap"
echo "ptrace_steps_per_second: $ptrace"
awk -v a=$trap -v b=$ptrace 'BEGIN {printf "trap_to_ptrace: %.1f\n", a / b; exit a < 3 * b}'
