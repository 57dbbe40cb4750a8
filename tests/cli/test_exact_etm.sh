#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# CoreSight on any machine: OpenCSD decodes the emulated trace of AArch64 programs, by an ETE and by
# an ETMv4, to exactly the instructions that each thread executed, at the emulated time.
# AUXTAP_LONG: every program with every term of the event, instead of with none and with all.
set -u
fixtures=$BIN/../fixtures/a64
if ! command -v qemu-aarch64 >/dev/null || [ ! -x "$fixtures/qemu_a64" ]; then
	echo "skipped: qemu-aarch64 or a compiler for AArch64 is not installed"
	exit 77
fi
PATH=$BIN:$PATH
guard() { "$BIN/../tests/watchdog" --cpu 600 "$@"; }
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
failures=0 tid=

fail()
{
	echo "FAILED: $*"
	failures=$((failures + 1))
}

# Debian's perf is built with OpenCSD; others may have none
perf=
if command -v perf >/dev/null && ldd "$(readlink -f "$(command -v perf)")" 2>/dev/null |
	grep -q libopencsd; then
	perf=yes
else
	echo "stock perf is missing, or has no OpenCSD: not compared with it"
fi

# same_in_perf TID: stock perf decodes the file to what that thread executed
same_in_perf()
{
	local itrace=i1i
	# perf 6.1 assigns no thread to trace with timestamps if the trace names none; Z: it ignores
	# the timestamps
	case $event in *timestamp*contextid1*) ;; *timestamp*) itrace=Zi1i ;; esac
	perf script -i "$dir/data" --tid "$1" --itrace=$itrace -F ip 2>"$dir/perf_err" |
		sed 's/^ *//' >"$dir/got"
	cmp -s "$dir/expected" "$dir/got" ||
		fail "$unit $event: perf, thread $1: $(wc -l <"$dir/expected") executed, $(wc -l \
		<"$dir/got") decoded: $(head -1 "$dir/perf_err")"
}

# exact STATUS UNIT EVENT COMMAND...: keeps $dir/data
exact()
{
	local expected=$1 unit=$2 event=$3 status truth nr=0 all=0
	shift 3
	rm -f "$dir"/*
	guard auxtap record -e "$event" --backend emulated --source qemu --trace-unit "$unit" \
		-m 128,8192 \
		--truth "$dir/raw" -o "$dir/data" -- "$@" >"$dir/out" 2>"$dir/err"
	status=$?
	[ $status = "$expected" ] || fail "$*: status $status, not $expected: $(tail -1 "$dir/err")"
	grep -q truncated "$dir/err" && fail "$*: truncated: use a larger -m"
	for truth in "$dir"/raw.*; do
		tid=${truth##*.}
		od -An -v -t x8 -w8 "$truth" | sed 's/^ *0*//' >"$dir/expected"
		auxtap decode --events insn -F ip --tid "$tid" "$dir/data" >"$dir/got" 2>"$dir/decode_err"
		cmp -s "$dir/expected" "$dir/got" ||
			fail "$unit $event $*: thread $tid: $(wc -l \
			<"$dir/expected") executed, $(wc -l <"$dir/got") decoded: $(cmp "$dir/expected" \
			"$dir/got" 2>&1)"
		[ -n "$perf" ] && [ "$(wc -l <"$dir/expected")" -lt 500000 ] && same_in_perf "$tid"
		[ -s "$dir/expected" ] || fail "$*: nothing was executed by thread $tid"
		nr=$((nr + 1))
		all=$((all + $(wc -l <"$dir/expected")))
	done
	auxtap decode --events gap "$dir/data" >"$dir/gaps"
	[ -s "$dir/gaps" ] && fail "$unit $event $*: $(head -1 "$dir/gaps")"
	echo "$unit $event ${1##*/}: $nr threads, $all instructions"
}

# packets KIND...: the trace has packets of these kinds
packets()
{
	local kind
	auxtap dump "$dir/data" >"$dir/dump"
	for kind; do
		grep -q "  I_$kind" "$dir/dump" || fail "no $kind in the trace"
	done
}

# metadata UNIT CONFIGR: the contents of AUXTRACE_INFO for each CPU, as perf writes it
metadata()
{
	local words=8 magic=4040404040404040 devarch='' i word
	[ "$1" = ete ] && words=9 magic=5050505050505050 devarch=0x47705a13
	auxtap dump "$dir/data" | sed -n 's/.*AUXTRACE_INFO: type 3 (cs_etm), //p' | tr -d ' ' |
		tr , '\n' >"$dir/info"
	mapfile -t info <"$dir/info"
	[ "${info[0]}" = 0x1 ] || fail "metadata: version ${info[0]}"
	[ $((info[1] & 0xffffffff)) -gt 1 ] || fail "metadata: ${info[1]}"
	[ ${#info[@]} = $((3 + (info[1] & 0xffffffff) * (3 + words))) ] || fail "metadata: ${#info[@]} words"
	i=3
	for ((cpu = 0; cpu < (info[1] & 0xffffffff); cpu++)); do
		word="${info[*]:i:3 + words}"
		case $word in
		"0x$magic "*" $2 "*" ${devarch:-0xcf} 0x1") ;;
		*) fail "metadata of CPU $cpu: $word"; return ;;
		esac
		[ $((info[i + 1])) = $cpu ] && [ $((info[i + 2])) = $words ] || {
			fail "metadata of CPU $cpu: $word"; return; }
		i=$((i + 3 + words))
	done
}

# read_by_perf: stock perf reads header and records, and dumps the same packets
read_by_perf()
{
	[ -n "$perf" ] || return 0
	perf script --header-only -i "$dir/data" >"$dir/perf" 2>"$dir/perf_err"
	grep -q '^# event : name = cs_etm/' "$dir/perf" &&
		grep -q '^# pmu mappings: .*cs_etm' "$dir/perf" ||
		fail "perf's header: $(head -1 "$dir/perf_err")"
	perf script -D -i "$dir/data" >"$dir/perf" 2>"$dir/perf_err" ||
		fail "perf script -D: $(head -1 "$dir/perf_err")"
	[ -s "$dir/perf_err" ] && fail "perf script -D: $(head -1 "$dir/perf_err")"
	for text in "Magic number.*$1" 'NR_TRC_PARAMS.*[89]$' "TRCCONFIGR.*1850" 'TRCTRACEIDR.*10$' \
		'TRCIDR1.*4100f' \
		'RECORD_TIME_CONV' 'RECORD_ITRACE_START pid' 'RECORD_AUX offset: 0 size: 0x.* flags: 0x100' \
		'RECORD_AUXTRACE size: 0x.* tid: '; do
		grep -q "$text" "$dir/perf" || fail "perf script -D lacks '$text'"
	done
	sed -n 's/^\tIdx:\([0-9]*\); ID:[0-9a-f]*;\t\(I_[^ ]*\).*/\1 \2/p' "$dir/perf" >"$dir/perf_packets"
	auxtap dump "$dir/data" | sed -n 's/^\(0[0-9a-f]*\)  [0-9a-f][0-9a-f]  .* \(I_[A-Z0-9_]*\) : .*/\1 \2/p' \
		| while read -r off text; do echo "$((16#$off)) $text"; done >"$dir/packets"
	[ "$(wc -l <"$dir/packets")" -gt 1000 ] || fail "only $(wc -l <"$dir/packets") packets"
	diff "$dir/perf_packets" "$dir/packets" >"$dir/diff" ||
		fail "perf's packets: $(head -3 "$dir/diff")"
}

# timed: the times that decode prints are those of emulated time, a tick an instruction: from
# timestamp to timestamp as many instructions as ticks, except for the kernel's events
timed()
{
	auxtap decode --events insn -F time "$dir/data" | awk -v most="$1" '
		function off() { return $1 * 1e9 - NR }
		NR == 1 { first = last = off() }
		$1 != before {
			nr++
			if (off() < last - 0.5) {
				print "line " NR ": time goes " last - off() " too slowly"
				exit bad = 1
			}
			last = off()
		}
		{ before = $1 }
		END {
			if (bad) exit 1
			if (last - first > most) { print "off by " last - first; exit 1 }
			if (nr < NR / 400) { print nr " times of " NR " instructions"; exit 1 }
		}' || fail "times"
}

# ordered: threads in order of time, each between its fork and its exit; --time selects by time
ordered()
{
	local from to
	auxtap decode --events insn -F time,tid,ip "$dir/data" | tr -d : >"$dir/order"
	awk '$1 < before { print "line " NR ": " $1 " after " before; exit 1 } { before = $1 }' \
		"$dir/order" ||
		fail "not in the order of time"
	auxtap dump "$dir/data" |
		sed -n 's/.*\(FORK\|EXIT\) .* time \([0-9.]*\) id [0-9]*: [0-9]*\/\([0-9]*\) .*/\1 \3 \2/p' \
		| awk 'NR == FNR { at[$1, $2] = $3; nr[$1]++; next }
			("FORK", $2) in at && $1 < at["FORK", $2] {
				print $0 " is before " at["FORK", $2]; exit 1 }
			("EXIT", $2) in at && $1 > at["EXIT", $2] {
				print $0 " is after " at["EXIT", $2]; exit 1 }
			END { if (nr["FORK"] < 4 || nr["EXIT"] < 4) {
				print nr["FORK"] " forks"; exit 1 } }' - "$dir/order" ||
		fail "a thread runs before its fork or after its exit"
	read -r from _ < <(sed -n "$(($(wc -l <"$dir/order") / 3))p" "$dir/order")
	read -r to _ < <(sed -n "$(($(wc -l <"$dir/order") / 2))p" "$dir/order")
	auxtap decode --events insn -F time,tid,ip --time "$from,$to" "$dir/data" | tr -d : >"$dir/part"
	awk -v from="$from" -v to="$to" '$1 >= from && $1 < to' "$dir/order" |
		cmp -s - "$dir/part" ||
		fail "--time $from,$to: $(wc -l <"$dir/part") of $(wc -l <"$dir/order") instructions"
	[ -s "$dir/part" ] || fail "--time $from,$to: nothing"
}

all=retstack,cycacc,timestamp,contextid1
for unit in ete etmv4; do
	for terms in '' retstack cycacc timestamp contextid1 branch_broadcast $all; do
		event=cs_etm/$terms/u
		exact 0 $unit "$event" "$fixtures/recursion_static"
		case $terms in
		'') metadata $unit 0x0 ;;
		cycacc) packets CCNT_F1 CCNT_F2 TRACE_INFO ;;
		timestamp)
			packets TIMESTAMP
			timed 20
			metadata $unit 0x800
			;;
		contextid1)
			auxtap dump "$dir/data" | grep -q "CID=0x$(printf %08x "$tid")" || fail "contextid1: not $tid"
			;;
		$all)
			metadata $unit 0x1850
			[ $unit = ete ] && read_by_perf 5050505050505050 ||
				read_by_perf 4040404040404040
			;;
		esac
		[ "$terms" = branch_broadcast ] && continue
		whole=${AUXTAP_LONG:-}
		case $terms in '' | $all) whole=1 ;; esac
		[ -n "$whole" ] && exact 0 $unit "$event" "$fixtures/recursion"
		[ -n "$whole" ] || [ "$terms" = retstack ] && [ -x "$fixtures/exceptions" ] &&
			exact 0 $unit "$event" "$fixtures/exceptions"
		exact 0 $unit "$event" "$fixtures/threads4_static"
		[ "$(ls "$dir"/raw.* | wc -l)" = 5 ] || fail "threads4: not five threads"
		[ "$terms" = timestamp ] && ordered
		case $terms in
		'' | $all)
			exact 0 $unit "$event" "$fixtures/threads4"
			[ "$(ls "$dir"/raw.* | wc -l)" = 5 ] || fail "threads4, dynamic: not five threads"
			# the first one goes to a handler
			exact 139 $unit "$event" "$fixtures/second_fault"
			;;
		esac
		[ -n "$whole" ] || continue
		exact 139 $unit "$event" "$fixtures/null_deref"
		exact 139 $unit "$event" "$fixtures/thread_crash_static"
	done
done
# a snapshot size that may contain no sync is refused; the smallest accepted one contains one
auxtap crash -e cs_etm//u --backend emulated -S4K -m 8,4 -o "$dir/data" \
	-- "$fixtures/stack_overflow_static" >"$dir/out" 2>"$dir/err"
[ $? = 125 ] && grep -q -- '-S: .* a synchronisation point every 4096 bytes' "$dir/err" ||
	fail "-S4K: $(head -1 "$dir/err")"
for unit in ete etmv4; do
	auxtap crash -e cs_etm//u --backend emulated --trace-unit $unit -S8K -m 8,4 -o "$dir/data" \
		-- "$fixtures/stack_overflow_static" >"$dir/out" 2>"$dir/err"
	[ $? = 139 ] || fail "-S8K: $(tail -1 "$dir/err")"
	nr=$(auxtap decode --events insn -F ip "$dir/data" 2>/dev/null | wc -l)
	[ "$nr" -gt 10000 ] || fail "-S8K, $unit: only $nr instructions"
done
exact 0 ete cs_etm// "$fixtures/recursion"
auxtap decode --events call -F sym "$dir/data" | grep -q '\$[xd]' && fail "mapping symbols used as names"

[ $failures = 0 ] || exit 1
