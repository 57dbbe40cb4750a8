#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# cs_etm and its TRBE by our driver in a distribution's arm64 kernel, auxtap's recorder and stock
# perf of arm64 as clients. The bytes that the trace unit replays arrive; where some are missing,
# an AUX record says so (rules J). Trace of the emulated unit decodes to what was executed, by
# auxtap and by stock perf with OpenCSD, which reads the emulation's own file, too; of real units
# (AUXTAP_TRACES) to the same packets.
set -euo pipefail
export ARCH=arm64
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
auxtap=$BIN/auxtap
aux_bytes="python3 $SRC/tests/tools/aux_bytes.py"
cd "$work"
bad=0
complain() {
	echo "test_trbe: $*" >&2
	bad=1
}
cross=$SRC/build/aarch64/bin/auxtap
[ -x "$cross" ] || {
	echo "no recorder for arm64: $cross (cmake --preset aarch64)"
	exit 77
}
files=(--file "$cross:/usr/bin/auxtap" --file "$work/noise:/noise")
python3 -c '
import random, sys
random.seed(4)
sys.stdout.buffer.write(random.randbytes(600007))' >noise

# trace of a program by the emulated unit, and what the program executed
program=$(realpath "$BIN/../fixtures/a64/recursion_static")
if command -v qemu-aarch64 >/dev/null && [ -x "$program" ]; then
	"$auxtap" record -e cs_etm//u --backend emulated --source qemu -m 128,8192 \
		--truth truth -o host.data -- \
		"$program" >/dev/null 2>record.log
	$aux_bytes host.data bytes emulated
	od -An -v -t x8 -w8 truth.* | sed 's/^ *0*//' >executed
	files+=(--file "$work/emulated:/emulated" --file "$program:/recursion_static"
		--file "$work/host.data:/host.data" --file "$program:/symbols$program")
else
	echo "without emulated trace: no qemu-aarch64, or no compiler for AArch64"
fi

# trace of real units, and its packets
traces=${AUXTAP_TRACES:-${AUXTAP_TRACES_DEFAULT:-}}
packets() { # of a dump: offset, bytes and meaning, without padding; the trace ID differs
	sed -n '/I_IGNORE/d; s/^\([0-9a-f]\{8\}\)  [0-9a-f][0-9a-f]  /\1 /p'
}
mkdir units
if [ -d "$traces/ete-snapshot" ]; then
	for name in 001-ack_test tme_test maxspec0_commopt1; do
		from=$traces/ete-snapshot/$name
		register() {
			sed -n "s/\r//; s/^$1=\(0x[0-9A-Fa-f]*\).*/\1/p" "$from"/ETE_0_s1.ini
		}
		mkdir "units/$name"
		cp "$from/session1.bin" "units/$name/bytes"
		echo "$(register TRCIDR0),$(register TRCIDR1),$(register TRCIDR2),$(register TRCIDR8),0xcf,$(register TRCDEVARCH)" \
			>"units/$name/registers"
		"$auxtap" dump "$from" | packets >"$name.packets"
	done
	from=$traces/coresight-perfdata/ete-loop-raw-v1/perf.data
	mkdir units/phone
	$aux_bytes "$from" bytes units/phone/bytes
	$aux_bytes "$from" registers >units/phone/registers
	"$auxtap" dump "$from" | packets >phone.packets
	# another kind of unit, and long: compares only bytes
	mkdir units/etm
	$aux_bytes "$traces/coresight-perfdata/etm-loop-v0-4cpu/perf.data" bytes units/etm/bytes
	echo 0x28000ea1,0x4100f421,0x20001088,0,0xcc,0 >units/etm/registers
else
	echo "without real units' trace: no '$traces' (set AUXTAP_TRACES)"
fi

aarch64-linux-gnu-gcc -D_GNU_SOURCE -static -O1 -Wall -Wextra -Werror -o vectors "$SRC/tests/guest/arm64/programs/vectors.c"
files+=(--file "$work/vectors:/vectors" --file "$SRC/tests/guest/in/replaying.sh:/replaying.sh")
rc=0
"$SRC/tests/guest/run" --kernel "$KERNEL" --module --timeout 500 --file "$work/units:/units" "${files[@]}" \
	-o out "$SRC/tests/guest/in/trbe.sh" || rc=$?
[ $rc = 0 ] || exit $rc
cat out/trbe.log

# NAME BYTES: each AUX record's bytes follow those of its predecessor, unless one of the two has a
# flag that reports a loss. Σ sizes is what the unit wrote.
follows() {
	local written skip=${SKIP:-0}
	written=$(awk '{s += $6} END {print s}' "out/$1.counts")
	PAD=0x70 $aux_bytes "out/$1.data" bytes got || complain "$1: its AUX area"
	python3 - "$2" "$skip" "$written" "${WHOLE:-1}" got \
		<(PAD=0x70 $aux_bytes "out/$1.data" records) <<'PY' || complain "$1: see above"
import sys
played, got = open(sys.argv[1], 'rb').read(), open(sys.argv[5], 'rb').read()
skip, written, whole = int(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])
at, pos, lossy, holes, total, bad = 0, {}, {}, 0, 0, 0
flags = {}
for line in open(sys.argv[6]):
    cpu, off, nr, flag = line.split()
    nr, flag = int(nr, 0), int(flag, 0)
    flags[flag] = flags.get(flag, 0) + 1
    part = got[at:at + nr]
    at += nr
    if skip and nr:
        if part[:skip] != b'\x70' * skip:
            print('the record at %s does not begin with padding' % off); bad = 1
        part = part[skip:]
    total += len(part)
    if part:
        expected = pos.get(cpu, 0)
        found = played.find(part, expected)
        nr_before = 0
        if found < 0 and flag & 8: # something was lost within
            while part[nr_before] == played[expected + nr_before]:
                nr_before += 1
            found = played.find(part[nr_before:], expected) - nr_before
        if found < 0:
            print('the record at %s has bytes that were not played, or not then' % off); bad = 1
            continue
        if found != expected:
            holes += 1
            if not lossy.get(cpu) and not flag & 8:
                print('no flag for %d missing bytes before %s' % (found - expected, off)); bad = 1
        pos[cpu] = found + len(part)
        lossy[cpu] = False
    if flag & 0xd: # TRUNCATED, PARTIAL, COLLISION
        lossy[cpu] = True
    if not flag & 0x100 or flag & 0x2:
        print('flags %#x' % flag); bad = 1
if whole and total != written:
    print('%d bytes in records, %d were written' % (total, written)); bad = 1
shown = ' '.join('%#x:%d' % f for f in sorted(flags.items()))
print('%d bytes, %d holes, flags %s' % (total, holes, shown))
sys.exit(bad)
PY
}
flags() { # NAME PATTERN: of all records
	$aux_bytes "out/$1.data" records | awk '{print $4}' | sort -u | paste -sd' '
}
dropped() {
	awk '{s += $8} END {print s}' "out/$1.counts"
}
expect() { # expected value, actual value
	[ "$2" = "$3" ] || complain "$1: '$3', not '$2'"
}

if [ -s emulated ]; then
	mkdir -p root && cp "$program" root/
	for name in emulated perf; do
		$aux_bytes "out/$name.data" bytes got
		cmp emulated got || {
			complain "$name: other bytes, $(wc -c <got) of $(wc -c <emulated); its records:"
			$aux_bytes "out/$name.data" records
			cat "out/$name.counts"
			tail -c +$(($(wc -c <emulated) + 1)) got | od -A d -t x1 | head -n 20
		} >&2
		"$auxtap" decode --sysroot root --events insn -F ip "out/$name.data" >list
		cmp executed list || complain "$name: decodes to something else than what was executed"
	done
	for name in perf host; do
		sed 's/^ *//; /^$/d' out/$name.list | cmp executed - ||
			complain "stock perf lists other instructions of $name.data than were executed"
	done
	echo "emulated: $(wc -l <executed) instructions, by us of both files, by stock perf of its own and of the emulation's"
fi
for name in bulk0 bulk1; do
	follows $name noise
	cmp noise got || complain "$name: other bytes"
	expect $name 0 "$(dropped $name)"
done
for name in skid delay; do
	follows $name noise
	[ "$(dropped $name)" -gt 0 ] || complain "$name: nothing is dropped"
	case " $(flags $name) " in
	*' 0x108 '*) ;;
	*) complain "$name: no COLLISION: $(flags $name)" ;;
	esac
done
follows fast noise
case " $(flags fast) " in *' 0x101 '*) ;; *) complain "fast: no TRUNCATED: $(flags fast)" ;; esac
expect 'fast: a truncation has no bytes (J4)' 0x0 \
	"$($aux_bytes out/fast.data records | awk '$4 == "0x101" {print $3}' | sort -u)"
[ "$("$auxtap" decode --events gap out/fast.data | grep -c truncated)" -gt 0 ] || complain 'fast: no gap'
follows wide noise
SKIP=256 follows errata noise
[ "$(dropped errata)" -gt 0 ] || complain 'errata: nothing is dropped'

# the snapshot: an AUXTRACE whose bytes are contiguous in what was played, of the area's length
# except padding
python3 - out/snap.data noise <<'PY' || complain 'snap: see above'
import struct, sys
data, played = open(sys.argv[1], 'rb').read(), open(sys.argv[2], 'rb').read()
at, size = struct.unpack_from('<2Q', data, 40)
end, got = at + size, []
while at < end:
    kind, _, length = struct.unpack_from('<IHH', data, at)
    if kind == 71:
        nr, = struct.unpack_from('<Q', data, at + 8)
        got.append(data[at + length:at + length + nr])
        at += nr
    at += length
best = max(got, key=len, default=b'')
# two extents at most: a run of padding where the unit was switched on again
pieces = [p for p in best.replace(b'\0' * 8, b'').split(b'\x70' * 8) if len(p) > 64]
where = [played.find(p.strip(b'\x70')[:32]) for p in pieces]
print('snap: %d bytes of %d, pieces from %s' % (sum(map(len, pieces)), len(best), where))
sys.exit(len(best) < 60000 or sum(map(len, pieces)) < 50000 or -1 in where or
         where != sorted(where))
PY

follows spurious noise
cmp noise got || complain 'spurious: other bytes'
follows unknown noise
expect unknown '0x100 0x108' "$(flags unknown)"
for name in stage1 stage2 abort trigger; do # J4: the number of bytes is unknown
	WHOLE=0 follows $name noise
	expect "$name: a truncation of no bytes" "0x0 1" \
		"$($aux_bytes out/$name.data records | awk '$4 == "0x101" {n++; print $3, n}' | tail -n 1)"
	[ "$(grep -c "trbe: CPU 1: status" out/dmesg)" -ge 4 ] || complain "$name: the kernel's log does not report it"
done
for unit in units/*/; do
	[ -e "$unit/bytes" ] || continue
	name=$(basename "$unit")
	follows "$name" "units/$name/bytes"
	cmp "units/$name/bytes" got || complain "$name: other bytes"
	[ -e "$name.packets" ] || continue
	"$auxtap" dump "out/$name.data" | packets >packets
	cmp "$name.packets" packets || complain "$name: other packets: $(diff "$name.packets" packets | head -n 3)"
	echo "$name: $(wc -l <packets) packets"
done
# offsets, flags, limits (J2, to the page) and padding follow the rules
for data in out/*.data; do
	[ -d "$data" ] || "$auxtap" audit --page 4K "$data" >audit ||
		complain "$data: audit: $(sed -n '/^VIOLATION/,+2p' audit)"
done
# J4: a late interrupt is a collision, and the unit stopped at the page anyway
"$auxtap" audit --page 4K --aux-size 64K out/skid.data >audit &&
	grep -q 'known loss collision' audit &&
	grep -q 'bytes past the watermark: none [1-9][0-9]*$' audit || complain "skid: audit: $(cat audit)"
exit $bad
