# SPDX-License-Identifier: BSD-2-Clause
# In the arm64 guest: shared by spe.sh and trbe.sh: units that replay bytes (unit: spe,
# trbe).
replay=/sys/kernel/debug/auxtap/$unit/replay
inject=/sys/kernel/debug/auxtap/$unit/inject
bad=0
name=loading
complain() {
	echo "$unit: $name: $*"
	bad=1
}
# The program: runs in user mode until all is replayed, at most so many seconds.
cat >/tmp/spin <<S
end=\$((\$(cut -d. -f1 /proc/uptime) + \$1))
while [ -e /tmp/hold ] || [ "\$(cat $replay/left)" != 0 ]; do
	[ "\$(cut -d. -f1 /proc/uptime)" -lt \$end ] || exit 0
	i=0
	while [ \$i -lt 300 ]; do i=\$((i + 1)); done
done
S
all_played() {
	[ "$(cat $replay/left)" = 0 ] || complain "$(cat $replay/left) bytes are left"
}
played_below() { # BYTES: waits until at most that many are left, half a minute at most
	tries=0
	until [ "$(cat $replay/left)" -lt $1 ] || [ $tries = 300 ]; do
		tries=$((tries + 1))
		sleep 0.1
	done
	[ $tries -lt 300 ]
}
# WORDS RECORDER...: a management event in the middle of it, however long a busy machine takes
during() {
	words=$1
	shift
	touch /tmp/hold
	echo $((size / 2)) >$replay/limit
	taskset 2 "$@" -- sh /tmp/spin 60 >/tmp/log 2>&1 &
	played_below 1 || complain 'the first half is not played'
	taskset 2 sh -c "echo $words >$inject" || complain 'is not injected'
	echo $size >$replay/limit
	rm /tmp/hold
	wait $! || complain "$1 record: $(cat /tmp/log)"
	all_played
}
