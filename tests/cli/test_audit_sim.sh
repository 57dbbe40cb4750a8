# SPDX-License-Identifier: BSD-2-Clause
# The auditor and the simulator agree: the recording that auxtap's recorder would have made of a
# simulated machine is clean without a fault, and shows those faults of the catalogue that a
# recording alone can show.
. "$(dirname "$0")/lib.sh"

area=65536
# simulated NAMES DRIVER WATERMARK OPTION...: NAMES are the violations that the audit finds in a
# recording of this machine
simulated() {
	local expected=$1 driver=$2 mark=$3 family names status=0
	shift 3
	case $driver in intel_pt) family=pt ;; arm_spe) family=spe ;; *) family=etm ;; esac
	"$AUXTAP" watermark sim --driver "$driver" --watermark "$mark" --bytes 2M --events "$@" \
		>events 2>err
	[ -s events ] || fail "$driver $*: $(cat err)"
	python3 "$SRC/tests/tools/sim_recording.py" $family $area "$mark" <events >lines &&
		python3 "$SRC/tests/tools/aux_file.py" sim.data $family "$mark" <lines || fail "$driver $*: no recording"
	"$AUXTAP" audit --page 4K sim.data >text || status=$?
	names=$(sed -n 's/^VIOLATION \([a-z-]*\) .*/\1/p' text | sort | tr '\n' ' ')
	[ "${names% }" = "$expected" ] || fail "$driver, watermark $mark, $*: '${names% }', not '$expected'"
	[ $status = "$([ -z "$expected" ]; echo $?)" ] || fail "$driver $*: status $status"
}
for driver in intel_pt arm_spe trbe; do
	for mark in 4096 16384 32768; do
		simulated '' $driver $mark
		simulated '' $driver $mark --reader-latency 3ms
	done
	simulated '' $driver 32768 --snapshot --switch 100us
	simulated 'wakeup-without-cause' $driver 4096 --fault overwrite-watermark
done
for driver in arm_spe trbe; do
	simulated '' $driver 6000 --reader-latency 3ms
	simulated 'past-limit wakeup-without-cause' $driver 1000 --fault wakeup-by-one
	simulated 'wakeup-missing' $driver 2048 --fault skip-without-wakeup
	simulated 'past-limit' $driver 16384 --fault past-limit
done
simulated 'missed-interrupt' intel_pt 16384 --fault interrupt-lost
simulated 'missed-interrupt' intel_pt 16384 --fault interrupt-late
finish
