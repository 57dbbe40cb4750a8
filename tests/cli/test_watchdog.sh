# SPDX-License-Identifier: BSD-2-Clause
# The watchdog that runs all tests: it ends every kind of hang; slowness is not a hang.
. "$(dirname "$0")/lib.sh"
watchdog=$TOOLS/watchdog
expect() { # STATUS PATTERN ARGUMENTS...: status, and a pattern of the output
	local status=$1 pattern=$2 got
	shift 2
	"$watchdog" "$@" >out 2>err
	got=$?
	[ "$got" -eq "$status" ] || fail "$*: status $got, not $status: $(cat err)"
	[ -z "$pattern" ] || grep -q "$pattern" err || fail "$*: '$(cat err)' lacks '$pattern'"
}
# the end of the command
expect 0 '' true
expect 3 '' sh -c 'exit 3'
expect 139 '' sh -c 'kill -SEGV $$'
expect 127 'No such file' ./missing
expect 125 usage --idle 0 true

# what it cost, of each command that ends
AUXTAP_TEST_TIMES=$PWD/times expect 3 '' sh -c 'i=0; while [ $i -lt 100000 ]; do i=$((i + 1)); done; exit 3'
AUXTAP_TEST_TIMES=$PWD/times expect 0 '' sleep 0.3
awk 'NR == 1 {ok = $1 > 0 && $3 == "sh"} NR == 2 {ok = ok && $1 < 0.2 && $2 >= 0.3 && $3 == "sleep"}
	END {exit !(ok && NR == 2)}' times || fail "AUXTAP_TEST_TIMES: $(cat times)"

# hangs: asleep, a child asleep, stopped, polling without success, spinning; no process is left
expect 124 'no progress for 2 s' --idle 2 sleep 1048571
grep -q '^watchdog: .* sleep 1048571' err || fail "the process is not listed: $(cat err)"
expect 124 'no progress for 2 s' --idle 2 sh -c 'sleep 1048572 & wait'
expect 124 'no progress for 2 s' --idle 2 sh -c 'kill -STOP $$'
expect 124 'no progress for 5 s' --idle 5 python3 -c 'import time
while True: time.sleep(0.1)'
expect 124 'more than 1 s of CPU time' --cpu 1 sh -c 'while :; do :; done'
ps -e -o args= | grep -q '^sleep 104857[12]$' && fail "a hanging child was left"

# slowness, as on a busy machine: it runs for a moment, then pauses for longer. It wants 20 ms of
# CPU time in the 1.6 s that are left of 4: on a busy machine that can take a while.
cat >slow.sh <<'S'
for _ in 1 2 3; do
	sleep 2.4
	(i=0; while [ $i -lt 40000 ]; do i=$((i + 1)); done)
done
S
expect 0 '' --idle 4 sh slow.sh

# other processes: until they end
sh slow.sh &
expect 0 '' --idle 4 --pid $!
sleep 1000 &
expect 124 'no progress' --idle 2 --pid $!
kill -0 $! || fail "--pid ended the process"
kill $!
finish
