#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# auxtap's recordings of AArch64 programs, written as snapshots, in OpenCSD's own lister: no
# errors, the same packets that dump lists for file and snapshot, the executed instructions, the
# same that decode lists for the snapshot.
# AUXTAP_LONG: everything also by an ETMv4; else that unit with no term, with all, and with
# broadcast branches.
source "$(dirname "$0")/lib.sh"
fixtures=$FIXTURES/a64
command -v qemu-aarch64 >/dev/null && [ -x "$fixtures/qemu_a64" ] ||
	skip "qemu-aarch64 or a compiler for AArch64 is not installed"
command -v trc_pkt_lister >/dev/null || skip "no trc_pkt_lister (libopencsd-bin)"
command -v python3 >/dev/null || skip "no python3"
bad='OCSD_ERR|I_BAD_SEQUENCE|I_RESERVED|I_NOT_SYNC|ELEM_ADDR_NACC|ELEM_ADDR_UNKNOWN'
nr=0 all=0

# listed UNIT TERMS STATUS COMMAND...
listed()
{
	local unit=$1 terms=$2 expected=$3 status tid directory packets result
	shift 3
	rm -rf data data.* truth.* ss
	"$AUXTAP" record -e "cs_etm/$terms/u" --backend emulated --source qemu --trace-unit "$unit" \
		-m 128,8192 --truth truth \
		-o data -- "$@" >out 2>err
	status=$?
	[ $status = "$expected" ] || fail "$*: status $status, not $expected: $(tail -1 err)"
	python3 "$SRC/tests/tools/etm_snapshot.py" data ss || fail "$unit/$terms $*: no snapshots"
	for directory in ss/*; do
		tid=${directory##*/}
		trc_pkt_lister -ss_dir "$directory" -decode -logstdout >lister.ppl 2>lister_err ||
			fail "$unit/$terms $*: the lister: status $?"
		grep -hE "$bad" lister.ppl lister_err >bad && fail "$unit/$terms $*: $(head -1 bad)"
		"$AUXTAP" dump "$directory" >dump 2>err || fail "dump $directory: $(head -1 err)"
		packets=$(python3 "$SRC/tests/tools/ppl.py" compare lister.ppl dump) || fail "$unit/$terms $*: $packets"
		"$AUXTAP" decode --events insn --format csv -F cpu,ip,insnlen "$directory" \
			>csv 2>err ||
			fail "decode $directory: $(head -1 err)"
		result=$(python3 "$SRC/tests/tools/ppl.py" flow lister.ppl csv "$(sed -n '2s/,.*//p' csv | sed 's/^/-1=/')")
		case $result in all*) ;; *) fail "$unit/$terms $*: $result" ;; esac
		od -An -v -t x8 -w8 "truth.$tid" | sed 's/^ *0*//' >ran
		tail -n +2 csv | cut -d, -f2 | sed 's/^0x//' | cmp -s ran - || fail "$unit/$terms $*: thread $tid: not what was executed"
		nr=$((nr + 1)) all=$((all + packets))
	done
	# the listing of the file itself
	"$AUXTAP" dump data >dump 2>err || fail "dump: $(head -1 err)"
	[ "$(ls ss | wc -l)" -gt 1 ] || python3 "$SRC/tests/tools/ppl.py" compare lister.ppl dump \
		>result ||
		fail "$unit/$terms $*: the file: $(cat result)"
	echo "$unit $terms ${1##*/}: $(ls ss | wc -l) threads, $packets packets, $result instructions of the last"
}

for unit in ete etmv4; do
	listed $unit '' 0 "$fixtures/recursion_static"
	if [ $unit = ete ] || [ -n "${AUXTAP_LONG:-}" ]; then
		listed $unit retstack 0 "$fixtures/recursion"
		listed $unit cycacc,timestamp,contextid1 0 "$fixtures/recursion_static"
		[ -x "$fixtures/exceptions" ] && listed $unit retstack,timestamp 0 "$fixtures/exceptions"
	fi
	listed $unit retstack,cycacc,timestamp,contextid1 0 "$fixtures/threads4_static"
	listed $unit timestamp,branch_broadcast 139 "$fixtures/null_deref"
done
[ $nr -ge 16 ] && [ $all -gt 100000 ] || fail "only $nr threads, $all packets"
finish
