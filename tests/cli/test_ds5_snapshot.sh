#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# decode of CoreSight snapshots of boards compared with another decoder than OpenCSD: Arm's DS-5
# listings of the same trace (ETMv3, PTM, ETMv4; A64, A32, T32). Every instruction with an opcode in
# the listing, in order. With incomplete images DS-5 writes '?', and it omits the last instructions
# before an 'eret' to such an address.
source "$(dirname "$0")/lib.sh"
traces=$AUXTAP_TRACES/coresight-snapshot
[ -d "$traces" ] || skip "no real traces in '$AUXTAP_TRACES' (set AUXTAP_TRACES)"
all=0

text()
{
	case $1 in *.xz) xz -dc "$1" ;; *) cat "$1" ;; esac | tr -d '\r'
}

# addresses of one line for each instruction, in lower case without leading zeros
addresses()
{
	grep -Ei '^[^:]*:0x[0-9a-f]+	(0x)?[0-9a-f]{4,8}	' |
		sed 's/^[^:]*:0x0*\([0-9A-Fa-f]*\)	.*/\1/' | tr A-F a-f
}

# same SNAPSHOT LISTING CPU [MOST]: decode lists exactly the listing's instructions, or with MOST
# the first MOST
same()
{
	local nr
	text "$traces/$1/$2" | sed -n 's/^Instruction	[0-9]*	//;/^[A-Z0-9]*:/p' |
		addresses >listed
	"$AUXTAP" decode --events insn -F ip --cpu "$3" "$traces/$1" 2>err | sed 's/^ *//' >ours
	nr=$(wc -l <listed)
	[ -z "${4:-}" ] || { [ "$nr" = "$4" ] || fail "$1/$2: $nr listed"; head -n "$4" ours \
		>first; mv first ours; }
	[ "$nr" -gt 1000 ] || fail "$1/$2: only $nr listed"
	cmp -s listed ours || fail "$1/$2: $nr instructions listed, $(wc -l <ours) decoded: $(cmp listed ours 2>&1)"
	echo "$1 CPU $3: $nr instructions"
	all=$((all + nr))
}

# within SNAPSHOT LISTING CPU MORE: decode lists all of the listing; its additional instructions,
# at most MORE, are before an eret
within()
{
	local nr more
	text "$traces/$1/$2" | addresses >listed
	"$AUXTAP" decode --events insn -F ip,asm --cpu "$3" "$traces/$1" 2>err | sed 's/^ *//' >asm
	sed 's/ .*//' asm >ours
	nr=$(wc -l <listed)
	diff --unchanged-line-format= --old-line-format='%L' --new-line-format= listed ours >missing
	[ -s missing ] && fail "$1/$2: $(wc -l <missing) are missing, $(head -1 missing) first"
	diff --unchanged-line-format= --old-line-format= --new-line-format='%dn
' listed ours >more
	awk 'NR == FNR { line[FNR] = $0; next } last && $1 != last + 1 { print line[last] } { last = $1 } END { print line[last] }' \
		asm more | grep -v ' eret$' >other && fail "$1/$2: $(head -1 other) is additional, and no eret"
	more=$(wc -l <more)
	[ "$more" -le "$4" ] || fail "$1/$2: $more additional instructions"
	echo "$1 CPU $3: $nr instructions, $more additional"
	all=$((all + nr))
}

same TC2 ds5-dumps/etmv3_0x10.txt.xz 0
same TC2 ds5-dumps/etmv3_0x11.txt.xz 1
same TC2 ds5-dumps/etmv3_0x12.txt 2
same TC2 ds5-dumps/ptmv1_0x13.txt.xz 3
same tc2-ptm-rstk-t32 ds-5_trace_dump/a15_rs.txt.xz 0 10000 # it ends there
within juno_r1_1 ds-5-dumps/Trace_Report_0x10_cpu_0_2015Sep17_104900.txt.xz 0 441
within juno_r1_1 ds-5-dumps/Trace_Report_0x11_cpu_1_2015Sep17_104748.txt 1 9
within juno_r1_1 ds-5-dumps/Trace_Report_0x13_cpu_3_2015Sep17_104147.txt 3 9
within juno_r1_1 ds-5-dumps/Trace_Report_0x15_cpu_5_2015Sep17_105126.txt 5 27
[ $all = 75931 ] || fail "$all instructions"
finish
