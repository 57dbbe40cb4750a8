# SPDX-License-Identifier: BSD-2-Clause
# Intel BTS: the branches of an emulated recording of Intel PT, written as a recording of BTS
# (tests/tools/bts_file.c). Decoded they are those that stock perf lists; calls and returns are
# those of the recording of PT. What is cut off is a gap.
. "$(dirname "$0")/lib.sh"
command -v perf >/dev/null || skip "perf is not installed"
[ -x "$TOOLS/bts_file" ] || skip "bts_file is not built (AUXTAP_DECODE is off)"

for program in recursion threads4; do
	guard "$AUXTAP" record --backend emulated -o pt -- "$FIXTURES/$program" >stdout 2>err ||
		fail "$program: record: $(cat err)"
	"$TOOLS/bts_file" pt bts || fail "$program: bts_file"
	# perf writes 0 where tracing is off
	perf script -i bts --itrace=b -F tid,ip,addr 2>perf.err | awk '{print $1, $2, $4}' |
		sort -s -n -k 1,1 >want
	"$AUXTAP" decode --events branch,trace,async -F tid,ip,addr bts 2>err |
		awk '{print $1, $2 == "-" ? 0 : $2, $4 ~ /^[0-9a-f]+$/ ? $4 : 0}' |
		sort -s -n -k 1,1 >got
	[ -s err ] && fail "$program: $(cat err)"
	[ "$(wc -l <want)" -gt 5000 ] || fail "$program: perf lists $(wc -l <want) branches: $(cat perf.err)"
	cmp want got || fail "$program: not perf's branches: $(diff want got | head -n 5)"
	nr_threads=$(cut -d ' ' -f 1 want | sort -u | wc -l)
	for events in call return trace; do
		"$AUXTAP" decode --events $events -F tid,ip,addr,sym pt 2>/dev/null |
			sort -s -n -k 1,1 >want
		"$AUXTAP" decode --events $events -F tid,ip,addr,sym bts 2>/dev/null |
			sort -s -n -k 1,1 >got
		[ -s want ] && cmp want got || fail "$program: $events: $(diff want got | head -n 5)"
	done
	"$AUXTAP" decode --summary bts >summary || fail "$program: --summary: status $?"
	grep -qx "threads: $nr_threads" summary &&
		grep -qx 'gaps: 0' summary && grep -qx 'instructions: 0' summary ||
		fail "$program: $(cat summary)"
done

# a record that the buffer ends within, and what the file lacks after it
"$TOOLS/bts_file" pt cut 8 || fail 'bts_file: cut'
"$AUXTAP" decode --events gap cut >gaps || fail "cut: status $?"
grep -q 'incomplete record' gaps && grep -q 'not in the file' gaps || fail "cut: $(cat gaps)"
[ "$(grep -c 'incomplete record' gaps)" -ge "$nr_threads" ] || fail "cut: $(cat gaps)"
# each in its place: branches of the same thread come before and after what the file lacks
"$AUXTAP" decode --events branch,gap cut | awk '
	/not in the file/ { gap[$2] = branches[$2] }
	!/-- gap/ { branches[$2]++; if (gap[$2]) found = 1 }
	END { exit !found }' || fail "cut: no branches after a gap: $(cat gaps)"
"$AUXTAP" decode --events branch -F tid,ip,addr cut | wc -l >nr
"$AUXTAP" decode --events branch -F tid,ip,addr bts | wc -l >all
[ "$(cat nr)" -lt "$(cat all)" ] && [ "$(cat nr)" -gt $(($(cat all) - 20)) ] ||
	fail "cut: $(cat nr) of $(cat all) branches"

# what is not in such a trace
"$AUXTAP" decode --events insn bts >out 2>err || fail "insn: status $?"
[ ! -s out ] && grep -q 'branches of Intel BTS, so no insn' err || fail "insn: $(cat err)"
"$AUXTAP" decode --events branch -F ip,phys bts >out 2>err || fail "phys: status $?"
grep -q 'branches of Intel BTS, so no insn, block and mem events' err || fail "phys: $(cat err)"
"$AUXTAP" decode --events branch -F ip bts 2>&1 >out | grep . && fail "branch: a message"
"$AUXTAP" decode --raw bts pt >out 2>err && fail '--raw bts: status 0'
"$AUXTAP" report bts >report 2>err || fail "report: status $?: $(cat err)"
grep -q 'Intel BTS: taken branches' report && ! grep -q 'decoded by\|no gaps' report ||
	fail "report: $(cat report)"
grep -q 'perf script -i bts --itrace=b -F tid,ip,sym,addr$' report || fail "report: $(tail -n 2 report)"
"$AUXTAP" dump bts >dump 2>err || fail "dump: status $?: $(cat err)"
grep -q 'type 2 (intel_bts), 0x' dump || fail "dump: $(grep AUXTRACE_INFO dump)"
grep -q '(packets of this trace family are not listed)' dump ||
	fail "dump: $(grep -A 1 AUXTRACE dump)"
"$AUXTAP" dump --no-packets pt >dump 2>err || fail "dump: status $?: $(cat err)"
grep -q 'type 1 (intel_pt), pmu_type 0x.* max_nonturbo_ratio 0x[^,]*, filter_str_len 0x0$' dump ||
	fail "dump: $(grep AUXTRACE_INFO dump)"
finish
