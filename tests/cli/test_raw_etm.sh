# SPDX-License-Identifier: BSD-2-Clause
# --raw etm: raw CoreSight trace with its units' registers decodes like the snapshot or perf.data
# file that it was extracted from; unsuitable input is refused in one clear line.
source "$(dirname "$0")/lib.sh"

# refused STATUS PATTERN COMMAND...: exactly one line
refused()
{
	local status=$1 pattern=$2 got
	shift 2
	"$AUXTAP" "$@" >out 2>err
	got=$?
	[ $got = "$status" ] || fail "$*: status $got, not $status: $(head -1 err)"
	[ "$(wc -l <err)" = 1 ] && grep -q -- "$pattern" err || fail "$*: '$(cat err)' lacks '$pattern'"
	[ -s out ] && fail "$*: prints $(head -1 out)"
}

printf '[device]\nname=ETE_3\ntype=ETE\n[regs]\nTRCCONFIGR=0x1\nTRCTRACEIDR=0x2\nTRCIDR0=0x8000aa1\nTRCIDR2=0xc0001088\n' \
	>ete.ini
sed 's/^TRCIDR0.*//' ete.ini >lacks.ini
sed 's/^TRCIDR0.*/TRCIDR0=x/' ete.ini >no_number.ini
sed 's/^type.*//' ete.ini >no_type.ini
sed 's/^type.*/type=LPT1/' ete.ini >foreign.ini
printf '\0\0\0\0\0\0\0\0\0\0\0\200\1\0' >some.bin
: >empty.bin
for command in decode dump report; do
	refused 2 'without the registers of its trace unit; use --etm-config FILE' $command \
		--raw etm some.bin
	refused 2 'etm takes no CPU' $command --raw etm:cpu=6/1/1 --etm-config ete.ini some.bin
	refused 2 "no trace family 'etmx'" $command --raw etmx some.bin
	refused 2 'requires --raw etm' $command --raw pt --etm-config ete.ini some.bin
	refused 2 'requires --raw etm' $command --raw spe --etm-format coresight some.bin
	refused 2 'require --raw' $command --etm-config ete.ini some.bin
	refused 2 "'frames' is not source_data" $command --raw etm --etm-config ete.ini \
		--etm-format frames some.bin
	refused 2 'source_data contains only one' $command --raw etm --etm-config ete.ini \
		--etm-config ete.ini some.bin
	refused 2 'has no effect on CoreSight trace' $command --raw etm --etm-config ete.ini \
		--mtc-freq 3 some.bin
	refused 3 'no_such.ini' $command --raw etm --etm-config no_such.ini some.bin
	refused 3 'no_such.bin' $command --raw etm --etm-config ete.ini no_such.bin
	for ini in 'lacks.ini:TRCIDR0 is missing' 'no_number.ini:TRCIDR0 is not a number' \
		'no_type.ini:names no type of trace unit' 'foreign.ini:its protocol is not known'; \
		do
		refused 3 "${ini%%:*}: .*${ini#*:}" $command --raw etm --etm-config "${ini%%:*}" \
			some.bin
	done
	[ $command = report ] && damaged=1 || damaged=3
	refused $damaged 'the trace is empty' $command --raw etm --etm-config ete.ini empty.bin
done

# what such trace never has, by its own name
"$AUXTAP" decode --raw etm --etm-config ete.ini --events mem some.bin >out 2>err
[ "$(cat err)" = 'auxtap: some.bin: this file contains CoreSight trace, so no memory samples' ] ||
	fail "--events mem: $(cat err)"

# real trace: the same as from its snapshot
traces=$AUXTAP_TRACES
if [ -d "$traces/ete-snapshot" ]; then
	dir=$traces/ete-snapshot/002-ack_test_scr
	mapfile -t images < <(sed -n '/^\[dump/,$p' "$dir/cpu_0.ini" | tr -d '\r' |
		awk -F= -v dir="$dir" '/^file/ { file = $2 } /^address/ { print "--image"; print dir "/" file "@" $2 }')
	"$AUXTAP" decode --raw etm --etm-config "$dir/ETE_0_s1.ini" "${images[@]}" --events insn \
		-F ip "$dir/session1.bin" >bare
	"$AUXTAP" decode --events insn -F ip "$dir" >snapshot
	[ "$(wc -l <bare)" = 5146 ] && cmp -s bare snapshot || fail "002-ack_test_scr: $(wc -l <bare) instructions"
	"$AUXTAP" dump --raw etm --etm-config "$dir/ETE_0_s1.ini" "$dir/session1.bin" |
		sed 1,4d >bare
	"$AUXTAP" dump "$dir" | sed 1,4d | diff - bare >diff || fail "002-ack_test_scr: dump: $(head -2 diff)"
	[ "$(wc -l <bare)" -gt 100 ] || fail "002-ack_test_scr: $(wc -l <bare) lines"
	"$AUXTAP" report --raw etm --etm-config "$dir/ETE_0_s1.ini" "${images[@]}" "$dir/session1.bin" \
		>bare 2>err ||
		fail "report: status $?: $(head -1 err)"
	grep -q '5146 instructions' bare || fail "report: $(head -5 bare)"

	# frames of six units
	dir=$traces/coresight-snapshot/juno_r1_1 configs=()
	for ini in "$dir"/device_*.ini; do
		grep -q '^type=ETM4' "$ini" && configs+=(--etm-config "$ini")
	done
	[ ${#configs[@]} = 12 ] || fail "juno: ${#configs[@]}"
	address=$(sed -n 's/^address=//p' "$dir/cpu_0.ini" | head -1 | tr -d '\r')
	file=$(sed -n 's/^file=//p' "$dir/cpu_0.ini" | head -1 | tr -d '\r')
	"$AUXTAP" decode --raw etm --etm-format coresight "${configs[@]}" --image "$dir/$file@$address" \
		--events insn \
		-F cpu,ip "$dir/cstrace.bin" 2>err | sort -s -k1,1 >bare
	"$AUXTAP" decode --events insn -F cpu,ip "$dir" 2>err | sort -s -k1,1 >snapshot
	[ "$(wc -l <bare)" -gt 1000 ] && cmp -s bare snapshot ||
		fail "juno: $(wc -l <bare) instructions, $(wc -l <snapshot) of the snapshot"

	# a trace port's, of an STM32: the owner of the bytes is reported, nothing is decoded
	printf '[device]\nname=ETM_0\ntype=ETM3.5\ncore=Cortex-M3\n[regs]\nETMIDR=0x4114f250\nETMCR=0x0\nETMCCER=0x18541800\nETMTRACEIDR=0x2\n' \
		>etm3.ini
	file=$traces/coresight-raw/stm32-etm_itm_tpiu/trace.bin
	"$AUXTAP" decode --raw etm --etm-format tpiu --etm-config etm3.ini "$file" >out 2>err ||
		fail "stm32: $(head -1 err)"
	grep -q 'gap: unknown, 55455 bytes lost: trace ID 0x01 belongs to no known trace' out ||
		fail "stm32: $(head -2 out)"
	for format in tpiu tpiu_hsync coresight source_data; do
		"$AUXTAP" dump --raw etm --etm-format $format --etm-config etm3.ini "$file" \
			>out 2>err
		status=$?
		[ $status -le 3 ] && ! [ -s core ] || fail "stm32: $format: status $status"
		[ $status = 0 ] || [ -s err ] || fail "stm32: $format: status $status without a message"
	done
else
	echo "no real traces in '$traces'"
fi

# emulated trace, extracted from a file: with the clock conversion the same times
fixtures=$FIXTURES/a64
if command -v qemu-aarch64 >/dev/null && [ -x "$fixtures/recursion_static" ] &&
	command -v python3 >/dev/null; then
	"$AUXTAP" record -e cs_etm/timestamp/u --backend emulated --source qemu -o data \
		-- "$fixtures/recursion_static" >out 2>err ||
		fail "record: $(tail -1 err)"
	python3 "$SRC/tests/tools/etm_snapshot.py" data ss || fail "no snapshot"
	"$AUXTAP" decode --events insn -F time,ip data >file
	"$AUXTAP" decode --raw etm --etm-config ss/*/unit_0.ini --image "$fixtures/recursion_static@0" \
		--time-conv 0,1,0 \
		--events insn -F time,ip ss/*/trace.bin >bare
	[ "$(wc -l <bare)" -gt 20000 ] && cmp -s bare file || fail "recorded: $(cmp bare file 2>&1)"
else
	echo "not tested: emulated trace"
fi
finish
