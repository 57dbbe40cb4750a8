#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# decode of CoreSight snapshots lists exactly the instructions of the ranges that OpenCSD 1.8's
# lister lists, and exactly those that a model logged as executed, if there is such a log.
source "$(dirname "$0")/lib.sh"
[ -d "$AUXTAP_TRACES/coresight-snapshot" ] || skip "no real traces in '$AUXTAP_TRACES' (set AUXTAP_TRACES)"
command -v python3 >/dev/null || skip "no python3"
ppl=$SRC/tests/tools/ppl.py

version=$("$AUXTAP" dump --no-packets "$AUXTAP_TRACES/ete-snapshot/event_test" | sed -n '1s/.*OpenCSD //p')
old=
case $version in 1.[0-7].*) old=yes ;; esac
nr=0 instructions=0 nr_split=0

for dir in "$AUXTAP_TRACES"/coresight-snapshot/*/ "$AUXTAP_TRACES"/ete-snapshot/*/; do
	name=$(basename "$dir") expected=
	for file in decode-multi_session.ppl decode.ppl; do
		for form in "$dir/expected/$file" "$dir/expected/$file.xz"; do
			[ -e "$form" ] && { expected=$form; break 2; }
		done
	done
	[ -n "$expected" ] || continue
	# the lister reads the buffers in the order of their sections
	if [ "$name" = ete-ite-instr ]; then
		cp -r "$dir" "$WORK/$name"
		chmod -R u+w "$WORK/$name"
		dir=$WORK/$name
		sed -i 's/^buffers=buffer1,buffer2/buffers=buffer2,buffer1/' "$dir/trace.ini"
	fi
	mapfile -t cpus < <("$AUXTAP" dump --no-packets "$dir" |
		sed -n 's/^unit .*, trace ID 0x\([0-9a-f]*\), CPU \([0-9]*\), in .*/\1=\2/p' |
		sort -u)
	"$AUXTAP" decode --events insn --format csv -F cpu,ip,insnlen "$dir" \
		>"$WORK/csv" 2>"$WORK/err" ||
		fail "$name: exit status $?: $(head -3 "$WORK/err")"
	result=$(python3 "$ppl" flow "$expected" "$WORK/csv" "${cpus[@]}")
	case $old$name=$result in
	yesarmv8_1m_branches=range* | yesete-ite-instr=range* | yespauth_lr=range*)
		same=${result#range } same=${same%%,*}
		[ "$same" -ge 5 ] || fail "$name: $result"
		"$AUXTAP" decode --events insn,gap --format csv -F event,ip,insnlen "$dir" >"$WORK/csv"
		grep -q '^gap' "$WORK/csv" || fail "$name: the library does not know all instructions, but there is no gap"
		result=$(python3 "$ppl" gaps "$expected" "$WORK/csv") || fail "$name: $result"
		echo "$name: $result, the first $same ranges without a gap; OpenCSD $version does not know all instructions" ;;
	*"=all "*)
		nr=$((nr + 1)) instructions=$((instructions + ${result#all })) ;;
	*) fail "$name: $result" ;;
	esac
done
# the same with ranges split at each atom's address (-src_addr_n)
for expected in "$AUXTAP_TRACES"/ete-snapshot/*/expected/decode-src_addr_n.ppl*; do
	dir=${expected%/expected/*}
	mapfile -t cpus < <("$AUXTAP" dump --no-packets "$dir" |
		sed -n 's/^unit .*, trace ID 0x\([0-9a-f]*\), CPU \([0-9]*\), in .*/\1=\2/p' |
		sort -u)
	"$AUXTAP" decode --events insn --format csv -F cpu,ip,insnlen "$dir" >"$WORK/csv" 2>"$WORK/err"
	result=$(python3 "$ppl" flow "$expected" "$WORK/csv" "${cpus[@]}")
	case $(basename "$dir")=$result in
	002-ack_test_scr="all 5146" | ete_ip="all 15742" | src_addr="all 12625") \
		nr_split=$((nr_split + 1)) ;;
	*) fail "$expected: $result" ;;
	esac
done
[ $nr_split = 3 ] || fail "$nr_split listings of split ranges"
echo "$instructions instructions of $nr snapshots are the same, OpenCSD $version"
[ $nr -ge 27 ] && [ $instructions -ge 589000 ] || fail "only $instructions instructions of $nr snapshots"

# the instructions that the model executed
dir=$AUXTAP_TRACES/ete-snapshot/002-ack_test_scr
"$AUXTAP" decode --events insn -F ip "$dir" >"$WORK/ips"
result=$(python3 "$ppl" tarmac "$dir/test_TARMAC.xz" "$WORK/ips") || fail "the model's log: $result"
[ "$result" = "5146 of 5146" ] || fail "the model's log: $result"

# events: kinds by flags, disassembly, the depth of calls
"$AUXTAP" decode --events insn -F ip,insn,asm "$dir" | head -3 | sed -E "s/ +/ /g" >"$WORK/out"
diff - "$WORK/out" <<'END' || fail "disassembly of A64"
 a10c8 c0 03 5f d6 ret
 381d4 fd 7b c1 a8 ldp x29, x30, [sp], #0x10
 381d8 e0 03 9f d6 eret
END

# report accepts the directory, too, with decode's counts
"$AUXTAP" report "$dir" >"$WORK/out" 2>"$WORK/err" || fail "report: status $?: $(head -1 "$WORK/err")"
grep -q '^  5146 instructions, 680 branches in 1 thread, from 921 bytes of trace$' "$WORK/out" ||
	fail "report: $(head -5 "$WORK/out")"
grep -q '^  6 found, none missing$' "$WORK/out" ||
	fail "report: images: $(grep -A3 Images "$WORK/out")"
grep -q 'perf script' "$WORK/out" && fail "report: perf reads no snapshots"
"$AUXTAP" report --mtc-freq 1 "$dir" 2>"$WORK/err" >"$WORK/out"
[ $? = 2 ] && [ ! -s "$WORK/out" ] || fail "report --mtc-freq of a snapshot: $(cat "$WORK/err")"

# without its dumps: a gap with that cause; with the same files as options: the same flow
cp -r "$dir" "$WORK/bare"
chmod -R u+w "$WORK/bare"
sed -i '/^\[dump/,$d' "$WORK/bare/cpu_0.ini"
"$AUXTAP" decode --events insn,gap "$WORK/bare" >"$WORK/out" 2>&1
grep -q 'gap: no_image: no mapping known at a10c8' "$WORK/out" ||
	fail "no dump: $(head -2 "$WORK/out")"
"$AUXTAP" report --image "$dir/bindir/OTHERS_exec@0x10000" "$WORK/bare" >"$WORK/out" 2>&1
grep -q 'gaps*: no_image' "$WORK/out" && grep -q '^  1 found' "$WORK/out" ||
	fail "report --image: $(head -9 "$WORK/out")"
b=$dir/bindir
"$AUXTAP" decode --events insn -F ip "$WORK/bare" --image "$b/OTHERS_exec@0x10000" --image "$b/code_9_0_exec@0x1000000" \
	--image "$b/VAL_NON_DET_CODE_exec@0x90000" --image "$b/code_a_1_exec@0x1000090" \
	--image "$b/code_b_0_exec@0x10000ac" --image "$b/checkpoint_c_0_exec@0x2f00000" >"$WORK/by_hand"
cmp "$WORK/ips" "$WORK/by_hand" || fail "images as options: another flow"
rm "$WORK/bare/bindir/OTHERS_exec"
cp "$dir/cpu_0.ini" "$WORK/bare/"
"$AUXTAP" decode --events insn,gap "$WORK/bare" >"$WORK/out" 2>&1
grep -q 'gap: no_image: no image ' "$WORK/out" ||
	fail "a dump's file is missing: $(grep gap "$WORK/out" | head -2)"

# trace of an unknown unit is a gap with its bytes
cp -r "$AUXTAP_TRACES/coresight-snapshot/a57_single_step" "$WORK/id"
chmod -R u+w "$WORK/id"
sed -i 's/^TRCTRACEIDR.*/TRCTRACEIDR=0x11/' "$WORK"/id/device*.ini
"$AUXTAP" decode "$WORK/id" >"$WORK/out" 2>&1
grep -q 'gap: unknown, [0-9]* bytes lost: trace ID 0x10 belongs to no known trace' "$WORK/out" ||
	fail "an unknown ID: $(cat "$WORK/out")"
finish
