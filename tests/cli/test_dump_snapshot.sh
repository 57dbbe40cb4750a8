#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# dump of CoreSight snapshots lists the packets that OpenCSD 1.8's own lister lists: offset, trace
# ID, bytes and text. Packets unknown to an older library are excluded where named here.
source "$(dirname "$0")/lib.sh"
[ -d "$AUXTAP_TRACES/coresight-snapshot" ] || skip "no real traces in '$AUXTAP_TRACES' (set AUXTAP_TRACES)"
command -v python3 >/dev/null || skip "no python3"

version=$("$AUXTAP" dump --no-packets "$AUXTAP_TRACES/ete-snapshot/event_test" | sed -n '1s/.*OpenCSD //p')
[ -n "$version" ] || fail "the listing does not name the library's version"
old=
case $version in 1.[0-7].*) old=yes ;; esac
nr=0 packets=0

for dir in "$AUXTAP_TRACES"/coresight-snapshot/*/ "$AUXTAP_TRACES"/ete-snapshot/*/; do
	name=$(basename "$dir")
	options=() status=0
	for file in decode-multi_session.ppl decode.ppl raw.ppl; do
		for form in "$dir/expected/$file" "$dir/expected/$file.xz"; do
			[ -e "$form" ] && { expected=$form; break 2; }
		done
	done
	case $name in
	a55-test-tpiu) options=(--dstream) ;;
	# a buffer of unframed STM named as frames
	juno_r1_1 | infrastructure | stm_only-juno) status=1 ;;
	esac
	if [ -n "$old" ]; then
		case $name in
		ete-ite-instr | itm_only_raw)
			echo "$name: not compared: OpenCSD $version does not know its packets"
			continue ;;
		armv8_1m_branches) options=(--drop 'IS[01]\.') ;;
		rme_test) options=(--drop '(NS|S|Realm|Root);') ;;
		esac
	fi
	"$AUXTAP" dump "$dir" >"$WORK/dump" 2>"$WORK/err" ||
		{ got=$?; [ $got = $status ] || fail "$name: exit status $got: $(cat "$WORK/err")"; }
	if [ $status = 1 ] && [ "$name" != stm_only-juno ]; then
		sed -i '/^buffer ETB_1/,$d' "$WORK/dump" # the lister shows the first buffer
	fi
	if python3 "$SRC/tests/tools/ppl.py" compare "$expected" "$WORK/dump" "${options[@]}" \
		>"$WORK/result"; then
		nr=$((nr + 1)) packets=$((packets + $(cat "$WORK/result")))
	else
		fail "$name: $(cat "$WORK/result")"
	fi
done
echo "$packets packets of $nr snapshots compared, OpenCSD $version"
[ $nr -ge 28 ] && [ $packets -ge 230000 ] || fail "only $packets packets of $nr snapshots"

# an error in a snapshot is reported with the file's name
mkdir "$WORK/bad"
refused() {
	"$AUXTAP" dump "$WORK/bad" >"$WORK/out" 2>"$WORK/err"
	[ $? = 3 ] || fail "$1: not refused"
	grep -q "$1" "$WORK/err" || fail "expected '$1', got $(cat "$WORK/err")"
}
printf '[snapshot]\nversion=1.0\n' >"$WORK/bad/snapshot.ini"
refused "names no trace"
printf '[device_list]\nd=../x.ini\n[trace]\nmetadata=t.ini\n' >"$WORK/bad/snapshot.ini"
refused "only files in its own directory"
printf '[trace]\nmetadata=t.ini\nnonsense\n' >"$WORK/bad/snapshot.ini"
refused "line 3 is neither"
printf '[trace]\nmetadata=t.ini\n' >"$WORK/bad/snapshot.ini"
refused "t.ini: cannot open"

# a frame cut in half, a unit without its registers, an ID without a unit
cp -r "$AUXTAP_TRACES/coresight-snapshot/a57_single_step" "$WORK/cut"
chmod -R u+w "$WORK/cut"
truncate -s 120 "$WORK/cut/CSTMC_TRACE_FIFO.bin"
"$AUXTAP" dump "$WORK/cut" >"$WORK/out" 2>"$WORK/err"
[ $? = 1 ] || fail "half a frame: exit status"
grep -q '^00000070  error  the last 8 bytes are an incomplete frame' "$WORK/out" || fail "half a frame is not reported"
sed -i 's/^TRCTRACEIDR.*/TRCTRACEIDR=0x11/' "$WORK"/cut/device*.ini
"$AUXTAP" dump "$WORK/cut" >"$WORK/out" 2>"$WORK/err"
grep -q 'trace ID 0x10 belongs to no known trace unit: [0-9]* bytes' "$WORK/out" ||
	fail "an unknown ID is not reported: $(tail -3 "$WORK/out")"
sed -i '/^TRCTRACEIDR/d' "$WORK"/cut/device*.ini
"$AUXTAP" dump "$WORK/cut" >"$WORK/out" 2>"$WORK/err"
grep -q 'its register TRCTRACEIDR is missing' "$WORK/out" || fail "a missing register is not reported"
finish
