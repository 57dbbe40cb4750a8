# SPDX-License-Identifier: BSD-2-Clause
# Our own recordings, split: decode --raw of the raw stream, with images by range, as whole ELF
# files or from sideband, lists what decode lists of the recording, times included. A stream that
# starts anywhere lists the end of it, from its first synchronisation point on.
. "$(dirname "$0")/lib.sh"
source=ptrace
command -v qemu-x86_64 >/dev/null && source=qemu

apart() { # name, event, command...: records and splits; sets DIR and TID of the first thread
	DIR=$WORK/$1
	local event=$2
	shift 2
	mkdir "$DIR"
	"$AUXTAP" record --source "$source" -e "$event" -o "$DIR/data" \
		-- "$@" >/dev/null 2>"$DIR/err" </dev/null
	"$TOOLS/extract_raw" "$DIR/data" "$DIR/raw" || { fail "$DIR: not split"; return 1; }
	TID=$(basename "$(ls "$DIR"/raw/*.pt | head -n 1)" .pt)
}
same() { # name, expected file, options and stream of decode --raw
	local name=$1 want=$2
	shift 2
	"$AUXTAP" decode --raw pt "$@" >got 2>err
	[ $? -eq 0 ] || fail "$name: $(tail -n 2 err)"
	cmp -s got "$want" || fail "$name: $(cmp got "$want" 2>&1)"
}

for event in intel_pt//u intel_pt/cyc,mtc/u intel_pt/cyc,mtc,noretcomp/u; do
	name=$(tr -c 'a-z\n' _ <<<"$event")
	apart "$name" "$event" /bin/true || continue
	pt=$DIR/raw/$TID.pt
	read -r -a clock <"$DIR/raw/options"
	"$AUXTAP" decode --events insn,trace,gap -F comm,pid,tid,time,event,ip "$DIR/data" >want
	[ "$(grep -c insn want)" -gt 10000 ] || fail "$name: only $(wc -l <want) events"
	grep -q gap want && fail "$name: gaps in the recording"
	same "$name, sideband" want "${clock[@]}" --sideband "$DIR/raw/sideband" \
		--events insn,trace,gap -F comm,pid,tid,time,event,ip "$pt"
	same "$name, sideband, blocks" <("$AUXTAP" decode "$DIR/data") "${clock[@]}" \
		--sideband "$DIR/raw/sideband" "$pt"
	"$AUXTAP" decode --events insn,gap -F event,ip "$DIR/data" >want
	ranges=() files=()
	while read -r _ addr off end file; do
		size=$(stat -c %s "$file")
		[ "$end" -le "$size" ] || end=$size
		ranges+=(--image "$file:$off-$end@$addr")
		# the text of a position-independent file is at the same offset from its start as in
		# the file
		files+=(--image "$file@$((addr - off))")
	done < <(sort -u "$DIR/raw/images")
	same "$name, ranges" want "${ranges[@]}" --events insn,gap -F event,ip "$pt"
	same "$name, whole files" want "${files[@]}" --events insn,gap -F event,ip "$pt"
	# started in the middle of packets
	for skip in 1 7 1001 20011; do
		[ "$skip" -lt "$(stat -c %s "$pt")" ] || continue
		tail -c +$((skip + 1)) "$pt" >late
		"$AUXTAP" decode --raw pt "${ranges[@]}" --events insn,gap -F event,ip late \
			>got 2>err
		[ $? -eq 0 ] || fail "$name from $skip: $(tail -n 2 err)"
		head -n 1 got | grep -q gap || fail "$name from $skip: no gap first"
		tail -n +2 got >rest
		grep -q gap rest && fail "$name from $skip: more gaps: $(grep gap rest | head -n 3)"
		tail -n "$(wc -l <rest)" want | cmp -s - rest || fail "$name from $skip: not the end of the whole listing"
	done
done
finish
