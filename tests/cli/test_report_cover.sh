#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# "no gaps: complete from the first instruction" is printed only if it is proved.
. "$(dirname "$0")/lib.sh"
all='no gaps: complete from the first instruction'

# covers NAME PATTERN ARGUMENTS...: the report's section has a line with PATTERN, and no false
# claim.
covers() {
	local name=$1 want=$2
	shift 2
	"$AUXTAP" report "$@" >out 2>err
	sed -n '/^What the trace covers/,/^$/p' out >section
	grep -q -- "$want" section || fail "$name: not '$want': $(cat section)"
	[ "$want" = "$all" ] || ! grep -q "$all" section || fail "$name: claims to have all of it"
}

# from exec on, with threads and with a child: proved
"$AUXTAP" record -o whole -- "$FIXTURES/threads4" >stdout 2>err || fail "record: $(tail -n 2 err)"
covers threads "$all" whole

# Recursion without packets: decode lists a beginning of the ground truth, not all of it.
"$AUXTAP" crash --truth truth -o deep -- "$FIXTURES/deep_calls" >stdout 2>err
[ -s deep ] || fail "no snapshot: $(tail -n 2 err)"
shown=$("$AUXTAP" decode --summary deep | sed -n 's/^instructions: //p')
executed=$(($(stat -c %s truth.* | head -n 1) / 8))
[ "$executed" -gt $((2 * shown)) ] || fail "deep_calls: $shown of $executed instructions are shown: the case does not occur"
covers deep_calls '1 gap: uncounted' deep
# that time is an instruction a ns, and continues without packets; system calls take time, too
sed -n 's/^  \([0-9.]*\) s of emulated time .*/\1/p' section | awk -v executed="$executed" '
	{ n++; ns = $1 * 1e9 }
	END { exit n != 1 || ns < executed - 1000 || ns > executed * 1.01 + 1000 }' ||
	fail "deep_calls: $executed instructions, but $(grep 'emulated time' section)"
# the last branch in the packets is not the last one that was taken
sed -n '/^Last branches/,/^$/p' deep.report.txt | tail -n 4 >branches
sed -n 1p branches | grep -q '^  call .* -> down (deep_calls.c:[0-9]*)$' &&
	sed -n 2p branches | grep -qx '  -- gap: uncounted --' &&
	sed -n 3p branches | grep -q '^  SIGSEGV ' || fail "deep_calls: $(cat branches)"
"$AUXTAP" decode --events async,gap deep >out
tail -n 2 out | head -n 1 | grep -q 'gap: uncounted' || fail "deep_calls: no gap before the fault: $(cat out)"
sed -n '/^The calls/,/^$/p' deep.report.txt | grep -q ' down .*SIGSEGV here' || fail "deep_calls: the callers are missing"

# The flow ends elsewhere than the thread died: the registers have another instruction pointer.
"$AUXTAP" crash -o died -- "$FIXTURES/null_deref" >stdout 2>err
covers null_deref "$all" died
before=$("$AUXTAP" decode --events insn -F ip --last 1 died | tr -d ' ')
last=$("$AUXTAP" report died | sed -n '/^Faulting instruction/{n;s/^  0x\([0-9a-f]*\) .*/\1/p}')
python3 - $((16#$before)) $((16#$last)) <<'END'
import struct, sys
before, last = (struct.pack("<Q", int(ip)) for ip in sys.argv[1:])
data = open("died", "rb").read()
open("moved", "wb").write(data.replace(last, before))
END
cmp -s died moved && fail "the snapshot contains no instruction pointer $last"
covers moved "the flow of the dead thread ends at 0x$last, but the thread died at 0x$before: what ran between" \
	moved

# attached: it ran before
sleep 30 &
pid=$!
if "$AUXTAP" record --backend emulated -p $pid -o attached >stdout 2>err & then
	recorder=$!
	for _ in $(seq 100); do
		grep -q "^TracerPid:.[1-9]" /proc/$pid/status && break
		sleep 0.1
	done
	sleep 0.5
	kill $pid
	wait $recorder
fi
if [ -s attached ]; then
	covers attached 'what ran before it starts.* is not known' attached
else
	echo "attaching was not tested: $(tail -n 1 err)"
fi

# one thread that existed before: the recorder synthesises its FORK
cat >loops.py <<'END'
import threading, time
def loop():
    while True:
        time.sleep(0.01)
threading.Thread(target=loop).start()
loop()
END
python3 loops.py &
pid=$!
for _ in $(seq 100); do
	tid=$(ls /proc/$pid/task | sed -n 2p)
	[ -z "$tid" ] || break
	sleep 0.1
done
"$AUXTAP" record --backend emulated -t "$tid" -o thread >stdout 2>err &
recorder=$!
for _ in $(seq 100); do
	grep -q "^TracerPid:.[1-9]" "/proc/$pid/task/$tid/status" && break
	sleep 0.1
done
sleep 1
kill $pid
wait $recorder
if [ -s thread ]; then
	covers 'attached thread' 'what ran before it starts.* is not known' thread
else
	echo "attaching to a thread was not tested: $(tail -n 1 err)"
fi

# Missing parts of the file: trace at its start, at its end, of a whole thread; the ends of
# threads.
"$AUXTAP" record -m 16,4096 --aux-watermark 65536 -o parts -- "$FIXTURES/ticks" 10 \
	</dev/null >stdout 2>err || fail "record: $(tail -n 2 err)"
covers parts "$all" parts
python3 "$SRC/tests/tools/cut_perfdata.py" parts first-trace=AUXTRACE:0 first=AUX:0,AUXTRACE:0 \
	last-trace=AUXTRACE:-1 \
	last=AUX:-1,AUXTRACE:-1 ends=EXIT:0 || fail "the parts were not cut"
python3 "$SRC/tests/tools/cut_perfdata.py" whole thread=AUX:-1,AUXTRACE:-1 \
	thread-trace=AUXTRACE:-1 || fail "the threads were not cut"
for name in first-trace first last-trace last thread thread-trace; do
	covers $name '1 gap: unknown, [1-9][0-9]* bytes lost' $name
	[ "$("$AUXTAP" decode --summary $name | sed -n 's/^gaps: //p')" = 1 ] || fail "$name: decode has no gap"
done
for name in parts whole; do
	"$AUXTAP" audit $name >out || fail "$name: audit: $(cat out)"
done
for name in first last thread; do
	"$AUXTAP" audit $name >out
	[ $? = 1 ] && grep -q '^VIOLATION noted-bytes-missing' out || fail "$name: audit: $(cat out)"
done
covers ends 'what ran after it ends is not known' ends
covers thread 'no trace of 1 other thread: what it ran is not known' thread

# a killed recorder leaves the written part; the program continues
mkfifo ticks
rm -f stdout # the recorder opens it only when the pipe has a writer
"$AUXTAP" record -m 16,4096 --aux-watermark 65536 -o killed -- "$FIXTURES/ticks" 30 \
	<ticks >stdout 2>err &
recorder=$!
exec 9>ticks
wait_for grep -q ready stdout
kill -KILL $recorder
exec 9>&-
wait $recorder 2>/dev/null
covers killed 'what ran after it ends is not known' killed

# no trace, no instructions
cat >none.py <<'END'
import struct, sys
attr = struct.pack("<IIQQQQ", 1, 128, 1, 1, 0x7, 0).ljust(128, b"\0") + struct.pack("<QQ", 0, 0)
record = struct.pack("<IHHII8s", 3, 0, 24, 7, 7, b"prog")
sys.stdout.buffer.write(b"PERFILE2" +
    struct.pack("<QQQQQQQQQ", 104, len(attr), 104, len(attr), 104 + len(attr), len(record), 0, 0, 0)
    + bytes(24) + attr + record)
END
python3 none.py >none && covers none 'no trace in this file: what ran is not known' none
if [ -d "$AUXTAP_TRACES/coresight-snapshot/stm_only" ]; then
	covers stm_only 'no instructions in this trace: what ran is not known' "$AUXTAP_TRACES/coresight-snapshot/stm_only"
	covers a57 'what ran before it starts and after it ends is not known' "$AUXTAP_TRACES/coresight-snapshot/a57_single_step"
else
	echo "no real traces in '$AUXTAP_TRACES': STM is not tested"
fi
finish
