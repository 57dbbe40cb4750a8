#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# A file without some AUXTRACE records, or AUX records too, of Arm SPE or CoreSight: each such part
# is one gap with its bytes in decode and report, and a violation in audit. (Intel PT:
# test_report_cover.sh)
. "$(dirname "$0")/lib.sh"
programs=$FIXTURES/a64
command -v qemu-aarch64 >/dev/null && [ -x "$programs/threads4_static" ] ||
	skip "qemu-aarch64 or a compiler for AArch64 is not installed"
command -v python3 >/dev/null || skip "python3 is not installed"

# record FILE EVENT AREA PROGRAM [WATERMARK]: AREA: the pages of the data and AUX areas
record() {
	"$AUXTAP" record --backend emulated --source qemu -e "$2" -m "$3" --aux-watermark "${5:-4096}" \
		-o "$1" -- "$programs/$4" >stdout 2>err ||
		fail "record: $(tail -n 2 err)"
	[ "$(gaps "$1")" = "$(stops "$1")" ] || fail "$1: gaps before anything was removed"
	"$AUXTAP" audit "$1" >out || fail "$1: audit: $(cat out)"
	"$AUXTAP" dump "$1" | grep -a '\] AUX' >"$1.dump"
}
gaps() { "$AUXTAP" decode --summary "$1" | sed -n 's/^gaps: //p'; }
# A TRBE that has stopped at its limit is a gap with another cause, one for each record.
stops() { "$AUXTAP" decode --events gap "$1" | grep -cvE 'gap: unknown'; }
cut_records() { python3 "$SRC/tests/tools/cut_perfdata.py" "$@" || fail "the records were not removed: $*"; }
# bytes FILE N: size of the Nth AUXTRACE record (from 1; $: the last), with up to 7 of padding
bytes() { sed -n 's/.* AUXTRACE: size \(0x[0-9a-f]*\) .*/\1/p' "$1.dump" | sed -n "$2p"; }
# number FILE TYPE PATTERN: index (from 0) of the only record of that type with the pattern
number() { grep "\] $2[ :]" "$1.dump" | awk -v want="$3" 'index($0, want) { print NR - 1; exit }'; }

# aux_of FILE first|last: the AUX records of the trace in the first or last AUXTRACE record, one or,
# where the recorder waited for a CPU, several: "AUX:0,AUX:1"
aux_of() {
	local begin=0 end=$((0x7fffffffffffffff)) nr=0 found=
	if [ "$2" = first ]; then
		end=$(($(bytes "$1" 1)))
	else
		begin=$(sed -n 's/.* AUXTRACE: .* offset \(0x[0-9a-f]*\) .*/\1/p' "$1.dump" |
			tail -n 1)
	fi
	while read -r offset; do
		[ $((offset)) -lt $((begin)) ] || [ $((offset)) -ge $end ] || found+=,AUX:$nr
		nr=$((nr + 1))
	done < <(sed -n 's/.* AUX [0-9]*\/[0-9]* .*offset \([0-9a-fx]*\) size .*/\1/p' "$1.dump")
	echo "${found#,}"
}

# lacks NAME LEAST MOST: one gap, of so many bytes, in decode and in report
lacks() {
	local text
	text=$("$AUXTAP" decode --events gap "$1")
	[ "$(gaps "$1")" = $((1 + $(stops "$1"))) ] || fail "$1: $(gaps "$1") gaps in decode: $text"
	text=$(sed -n 's/.*gap: unknown, \(at least \)\?\([0-9]*\) bytes lost.*/\2/p' <<<"$text")
	[ "${text:-0}" -ge $(($2)) ] && [ "${text:-0}" -le $(($3)) ] || fail "$1: gap of '$text' bytes, not $(($2)) to $(($3))"
	"$AUXTAP" report "$1" >out 2>err
	grep -qE '1 gap(:|,)' out || fail "$1: report has no gap: $(sed -n '/covers/,/^$/p' out)$(cat err)"
	found=$("$AUXTAP" audit "$1")
	[ $? = 1 ] || fail "$1: audit: $found"
	case $1 in
	*-trace) grep -q '^VIOLATION bytes-missing' <<<"$found" ;;
	*) grep -q '^VIOLATION noted-bytes-missing' <<<"$found" ;;
	esac || fail "$1: audit: $found"
	! grep -q 'no gaps' out || fail "$1: report says that there are no gaps"
}

# Arm SPE skips less than a record (64 bytes) at the end of a page.
record spe arm_spe_0/period=256/ 16,8 recursion_static
cut_records spe spe-first-trace=AUXTRACE:0 "spe-first=$(aux_of spe first),AUXTRACE:0" \
	spe-last-trace=AUXTRACE:-1 "spe-last=$(aux_of spe last),AUXTRACE:-1"
first=$(bytes spe 1)
last=$(bytes spe '$')
lacks spe-first-trace "$first - 72" "$first"
lacks spe-first "$first - 72" "$first"
lacks spe-last-trace "$last - 72" "$last"
lacks spe-last "$last - 512" "$last"
# cut_thread FILE: FILE-thread-trace and FILE-thread lack the newest thread's records; its number
# and bytes
cut_thread() {
	thread=$(sed -n 's/.* AUX [0-9]*\/\([0-9]*\) .*/\1/p' "$1.dump" | sort -n | tail -n 1)
	local trace
	trace=AUXTRACE:$(number "$1" AUXTRACE "tid $thread ")
	cut_records "$1" "$1-thread-trace=$trace" \
		"$1-thread=$trace,AUX:$(number "$1" AUX "/$thread ")"
	whole=$(sed -n "s/.* AUXTRACE: size \(0x[0-9a-f]*\) .*tid $thread .*/\1/p" "$1.dump")
}
record spe-threads arm_spe_0/period=256/ 16,64 threads4_static
cut_thread spe-threads
lacks spe-threads-thread-trace "$whole - 7" "$whole"
lacks spe-threads-thread "$whole - 7" "$whole"
# The kernel's record of a dying thread names no thread, and no recorder noted what its unit wrote;
# only its event's identifier remains.
python3 - "$thread" spe-threads-thread-trace spe-threads-dying-trace <<'END' || fail 'no record without a thread was made'
import struct, sys
tid, source, out = int(sys.argv[1]), *sys.argv[2:]
data = bytearray(open(source, "rb").read())
at, size = struct.unpack_from("<QQ", data, 40)
end, patched = at + size, 0
while at < end:
    kind, _, size = struct.unpack_from("<IHH", data, at)
    if kind == 11 and struct.unpack_from("<i", data, at + 36)[0] == tid:
        struct.pack_into("<ii", data, at + 32, -1, -1)
        patched += 1
    if kind == 71:
        size += struct.unpack_from("<Q", data, at + 8)[0]
    at += size
assert patched
open(out, "wb").write(data.replace(b"\nunit ", b"\nnote "))
END
text=$("$AUXTAP" decode --events gap spe-threads-dying-trace)
grep -qE "^[^ ]* +$thread .*gap: unknown, [0-9]+ bytes lost: the file lacks trace that AUX records report" \
	<<<"$text" ||
	fail "a dying thread's trace is missing, and no gap: $text"
# a thread that the caller excludes is not a gap of the others
other=$(sed -n 's/.* AUX [0-9]*\/\([0-9]*\) .*/\1/p' spe-threads.dump | grep -v "^$thread\$" |
	head -n 1)
[ -z "$("$AUXTAP" decode --tid "$other" --events gap spe-threads-thread)" ] || fail 'a gap of another thread'

# CoreSight: the TRBE may skip the rest of a page, and the file lacks at least the reported bytes.
# A recorder that waited for a CPU takes both records of the TRBE at once: then the first part of
# the file is all of the trace, and what lacks is two gaps, before and after the TRBE's stop.
for _ in $(seq 50); do
	record cs cs_etm// 16,16 recursion_static
	[ -z "$(bytes cs 2)" ] || break
done
cut_records cs cs-first-trace=AUXTRACE:0 "cs-first=$(aux_of cs first),AUXTRACE:0" \
	cs-last-trace=AUXTRACE:-1 "cs-last=$(aux_of cs last),AUXTRACE:-1"
first=$(bytes cs 1)
last=$(bytes cs '$')
lacks cs-first-trace "$first - 4096" "$first"
lacks cs-first "$first - 4096" "$first"
lacks cs-last-trace "$last - 4096" "$last"
lacks cs-last 1 "$last"
record cs-threads cs_etm// 16,64 threads4_static 65536
cut_thread cs-threads
lacks cs-threads-thread-trace "$whole - 7" "$whole"
lacks cs-threads-thread "$whole - 7" "$whole"
"$AUXTAP" report cs-threads-thread | grep -q 'no trace of 1 other thread' || fail 'report does not count the thread'

# Snapshots keep the newest trace: bytes before their offsets are not a gap.
"$AUXTAP" crash --backend emulated --source qemu -e arm_spe_0/period=256/ -m 16,2 -o snapshot \
	-- "$programs/null_deref_static" >stdout 2>err
[ -s snapshot ] || fail "no snapshot: $(tail -n 2 err)"
"$AUXTAP" decode --events gap snapshot | grep 'unknown.*lost' && fail 'overwritten trace of a snapshot counts as missing'
finish
