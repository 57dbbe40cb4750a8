# SPDX-License-Identifier: BSD-2-Clause
# Samples of Arm SPE: decode lists what stock perf lists of the same file, also for buffers that
# cut records, gaps included; real raw streams; options.
. "$(dirname "$0")/lib.sh"
"$TOOLS/spe_file" spe.data 3000 1 || fail 'no file'
"$TOOLS/spe_file" cut.data 3000 1 cut || fail 'no file with cut records'

# perf's fields in decode's form: 'tid [cpu] time: event: addr ip'
perf_lists() { # ITRACE EVENTS FIELDS
	perf script --ns -i spe.data --itrace="$1" -F "$3" 2>perf.err | awk -v events="$2" '
		{ event = $4; sub(/:$/, "", event) }
		index(" " events " ", " " event " ") {
			gsub(/[][]/, ""); sub(/:$/, "", $3); print $1, $2 + 0, $3, $5, $6, $7 }'
}
# simultaneous samples of two CPUs: decode sorts them by thread, perf by CPU
sorted() { sort "$1" >"$1.sorted"; }
same() { sorted "$1" && sorted "$2" && cmp "$1.sorted" "$2.sorted" ||
	fail "$1: $(diff "$1.sorted" "$2.sorted" | head -5)"; }
if command -v perf >/dev/null; then
	perf_lists i1i instructions tid,cpu,time,event,ip | awk '{print $1, $2, $3, $4}' >perf.insn
	"$AUXTAP" decode --events insn -F tid,cpu,time,ip spe.data |
		awk '{sub(/:$/, "", $3); print $1, $2, $3, $4}' >our.insn
	[ "$(wc -l <our.insn)" = 6000 ] || fail "insn: $(wc -l <our.insn) samples, not 6000"
	same perf.insn our.insn
	perf_lists iM memory tid,cpu,time,event,ip,addr,phys_addr |
		awk '{print $1, $2, $3, $5, $4, $6}' >perf.mem
	"$AUXTAP" decode --events mem -F tid,cpu,time,ip,addr,phys spe.data |
		awk '{sub(/:$/, "", $3); print $1, $2, $3, $4, $6, $7}' >our.mem
	[ "$(wc -l <our.mem)" -gt 2000 ] || fail "mem: only $(wc -l <our.mem) samples"
	same perf.mem our.mem
fi

all=comm,pid,tid,cpu,time,event,ip,addr,phys,lat_total,lat_issue,lat_xlat,spe_events,source,op
for format in text jsonl csv; do
	"$AUXTAP" decode --format $format --events insn,mem,branch -F $all spe.data \
		>whole.$format || fail "$format"
	"$AUXTAP" decode --format $format --events insn,mem,branch -F $all cut.data >cut.$format ||
		fail "$format: cut"
	[ -s whole.$format ] && cmp whole.$format cut.$format || fail "$format: buffers that cut records list other samples"
done
# the same lines for any number of threads; every thread handles a failed write
for format in text jsonl csv; do
	for threads in 1 2 5; do
		"$AUXTAP" decode -j $threads --format $format --events insn,mem,branch,gap -F $all \
			spe.data >threads.$threads ||
			fail "-j $threads"
		[ "$(wc -l <threads.$threads)" -gt 9000 ] && cmp threads.1 threads.$threads ||
			fail "-j $threads: other lines"
	done
done
for threads in 1 5; do
	"$AUXTAP" decode -j $threads spe.data >/dev/full 2>err
	[ $? = 3 ] && grep -q 'cannot write' err || fail "-j $threads, disk full: $(cat err)"
done
grep -q '"event":"mem".*"addr":"[0-9a-f]*","phys":"[0-9a-f]*","lat_total":[0-9]*,"lat_issue":[0-9]*,"lat_xlat":[0-9]*,"spe_events":"RETIRED.*","source":[0-9]*,"op":"[LS][DT] ' \
	whole.jsonl ||
	fail "jsonl: $(head -3 whole.jsonl)"
"$AUXTAP" decode spe.data >default || fail 'without options'
[ "$(grep -c 'gap: truncated' default)" = 1 ] || fail "gap: $(grep gap default)"
"$AUXTAP" decode --summary spe.data >summary || fail summary
grep -qx 'instructions: 6000' summary && grep -qx 'gaps: 1' summary &&
	grep -qx 'threads: 2' summary &&
	grep -qx 'errors: 0' summary || fail "summary: $(cat summary)"

# a repeated buffer is listed again, and reported
"$TOOLS/spe_file" again.data 3000 1 again || fail 'no file with a buffer twice'
"$AUXTAP" decode --events insn,gap -F ip again.data >again || fail again
[ "$(grep -vc gap again)" -gt 6000 ] && [ "$(grep -c 'begins before the end' again)" = 1 ] ||
	fail "again: $(grep -vc gap again) samples, $(grep gap again)"

# thread, CPU and time
for tid in 4242 4243; do
	"$AUXTAP" decode --tid $tid --events insn -F tid,ip spe.data >tid || fail "--tid $tid"
	[ "$(awk '{print $1}' tid | sort -u)" = $tid ] || fail "--tid $tid lists other threads"
	wc -l <tid >>tids
done
[ $(($(paste -sd+ tids))) = 6000 ] || fail "--tid: $(cat tids)"
[ "$("$AUXTAP" decode --cpu 1 --events insn -F cpu spe.data | sort | uniq -c |
	tr -s ' ')" = ' 3000 1' ] || fail '--cpu 1'
[ "$("$AUXTAP" decode --time 0.010,0.012 --events insn -F time spe.data | wc -l)" = \
	"$("$AUXTAP" decode --events insn -F time spe.data | awk '$1 + 0 >= 0.010 && $1 + 0 < 0.012' | wc -l)" ] \
	|| fail '--time'
"$AUXTAP" decode --events call spe.data 2>err && grep -q 'contains Arm SPE samples' err || fail "--events call: $(cat err)"

# damage: a byte in the middle loses its record, and this is reported
cp spe.data bad.data
printf '\xff' | dd of=bad.data bs=1 seek=$((0x11400)) conv=notrunc 2>/dev/null
"$AUXTAP" decode --events insn,gap -F ip bad.data >bad || fail "damaged: status $?"
[ "$(grep -c decode_error bad)" -ge 1 ] || fail 'damaged: no gap'
[ "$(grep -vc gap bad)" -ge 5990 ] || fail "damaged: only $(grep -vc gap bad) samples"

# a raw stream: perf made these samples of its mispredicted branches (and of two records that are
# not in it)
if [ -d "$AUXTAP_TRACES/arm-spe" ]; then
	"$AUXTAP" decode --raw spe --time-conv 0,1,0 -F time,ip,spe_events \
		"$AUXTAP_TRACES/arm-spe/kunpeng920-branch-16/spe.bin" |
		awk '/MISPRED/ {print substr($1, 1, index($1, ".") + 6) ":", $2}' >ours
	awk '!/7969.191782:|7969.191791:/ {print $4, $7}' "$AUXTAP_TRACES/arm-spe/kunpeng920-branch-16/expected/perf-script.txt" \
		>expected
	[ -z "$("$AUXTAP" decode --raw spe --cpu 0 \
		"$AUXTAP_TRACES/arm-spe/kunpeng920-branch-16/spe.bin")" ] ||
		fail 'raw: --cpu 0 lists samples of an unknown CPU'
	[ "$(wc -l <ours)" = 14 ] && cmp ours expected || fail "kunpeng920: $(diff ours expected | head -3)"
fi
finish
