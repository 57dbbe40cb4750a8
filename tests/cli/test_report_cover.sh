#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# "no gaps: all of it, from the beginning" is said only where it is proved.
. "$(dirname "$0")/lib.sh"
all='no gaps: all of it, from the beginning'

# covers NAME PATTERN ARGUMENTS...: the report's section has a line with PATTERN, and no false claim.
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

# Recursion without packets: what decode lists is a beginning of the truth, and less than all.
"$AUXTAP" crash --truth truth -o deep -- "$FIXTURES/deep_calls" >stdout 2>err
[ -s deep ] || fail "no snapshot: $(tail -n 2 err)"
shown=$("$AUXTAP" decode --summary deep | sed -n 's/^instructions: //p')
executed=$(($(stat -c %s truth.* | head -n 1) / 8))
[ "$executed" -gt $((2 * shown)) ] || fail "deep_calls: $shown of $executed instructions are shown: not the case to test"
covers deep_calls '1 gap: uncounted' deep
# that time is an instruction a ns, and goes on where no packet says so; system calls take some, too
sed -n 's/^  \([0-9.]*\) s of emulated time .*/\1/p' section | awk -v executed="$executed" '
	{ n++; ns = $1 * 1e9 }
	END { exit n != 1 || ns < executed - 1000 || ns > executed * 1.01 + 1000 }' ||
	fail "deep_calls: $executed instructions, but $(grep 'emulated time' section)"
"$AUXTAP" decode --events async,gap deep >out
tail -n 2 out | head -n 1 | grep -q 'gap: uncounted' || fail "deep_calls: no gap before the fault: $(cat out)"
sed -n '/^The calls/,/^$/p' deep.report.txt | grep -q ' down .*SIGSEGV here' || fail "deep_calls: the callers are lost"

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
	covers attached 'what ran before it starts is not known' attached
else
	echo "attaching was not tried: $(tail -n 1 err)"
fi

# no trace, no instructions
cat >none.py <<'END'
import struct, sys
attr = struct.pack("<IIQQQQ", 1, 128, 1, 1, 0x7, 0).ljust(128, b"\0") + struct.pack("<QQ", 0, 0)
record = struct.pack("<IHHII8s", 3, 0, 24, 7, 7, b"prog")
sys.stdout.buffer.write(b"PERFILE2" + struct.pack("<QQQQQQQQQ", 104, len(attr), 104, len(attr), 104 + len(attr), len(record), 0, 0, 0)
    + bytes(24) + attr + record)
END
python3 none.py >none && covers none 'no trace in this file: what ran is not known' none
if [ -d "$AUXTAP_TRACES/coresight-snapshot/stm_only" ]; then
	covers stm_only 'no instructions in this trace: what ran is not known' "$AUXTAP_TRACES/coresight-snapshot/stm_only"
	covers a57 'what ran before it starts is not known' "$AUXTAP_TRACES/coresight-snapshot/a57_single_step"
else
	echo "no real traces in '$AUXTAP_TRACES': STM is not tried"
fi
finish
