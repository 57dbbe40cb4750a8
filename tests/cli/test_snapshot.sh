# SPDX-License-Identifier: BSD-2-Clause
# Snapshots: the newest bytes, the whole area or -S SIZE of them; several in one file overlap, and
# neither decode nor stock perf lists an instruction twice.
. "$(dirname "$0")/lib.sh"
command -v qemu-x86_64 >/dev/null || skip "qemu-x86_64 is not installed"

executed() { od -An -v -t x8 -w8 "$1" | sed 's/^ *0*//'; }
listed() { "$AUXTAP" decode --tid "$1" --events insn -F ip "$2" 2>>err; }
perf_listed() {
	perf script -i "$2" --tid "$1" --itrace=i1i -F ip 2>/dev/null |
		sed '/^ *[0-9a-f][0-9a-f]*$/!d; s/^ *//'
}
# offset and size of each AUXTRACE of a thread
areas() {
	"$AUXTAP" dump "$2" | sed -n 's/.* AUXTRACE.*/&/p' | grep -w "tid $1" |
		sed -E 's/.*size (0x[0-9a-f]+|[0-9]+).*offset (0x[0-9a-f]+|[0-9]+).*/\2 \1/'
}
written() { "$AUXTAP" dump "$2" | sed -n "s/^ *unit $1: .* written \([0-9]*\) .*/\1/p"; }

# one snapshot, at the exit: exactly the end of the ground truth, for every thread
tail_of() { # NAME SIZE-OF-SNAPSHOT OPTIONS -- COMMAND...
	local name=$1 size=$2 options=() truth tid nr area end
	shift 2
	while [ "$1" != -- ]; do options+=("$1"); shift; done
	shift
	"$AUXTAP" record --source qemu -o "$name.data" --truth "$name.truth" "${options[@]}" \
		-- "$@" >out 2>err </dev/null || { fail "$name: $(tail -n 1 err)"; return; }
	for truth in "$name".truth.*; do
		tid=${truth##*.}
		executed "$truth" >truth
		listed "$tid" "$name.data" >got
		nr=$(wc -l <got)
		[ "$nr" -gt 100 ] || fail "$name, thread $tid: only $nr instructions"
		tail -n "$nr" truth | cmp -s - got || fail "$name, thread $tid: not the end of the ground truth"
		if command -v perf >/dev/null; then
			perf_listed "$tid" "$name.data" >perf
			cmp -s got perf || fail "$name, thread $tid: perf lists $(wc -l <perf) instructions, not $nr"
		fi
		end=$(written "$tid" "$name.data")
		area=$(areas "$tid" "$name.data")
		if [ "$end" -gt "$size" ]; then
			wrapped=$((wrapped + 1))
			[ $((${area#* })) -eq "$size" ] || fail "$name, thread $tid: $area is not the newest $size bytes of $end"
			[ $((${area% *} + size)) -eq "$end" ] || fail "$name, thread $tid: $area does not end at $end"
			[ "$nr" -lt "$(wc -l <truth)" ] || fail "$name, thread $tid: complete in $size bytes"
		else
			[ "$nr" -eq "$(wc -l <truth)" ] || fail "$name, thread $tid: nothing was overwritten, but $nr of $(wc -l <truth)"
		fi
	done
	echo "$name: the last $nr of $(wc -l <truth) instructions (last thread)"
}

head -c 30000 /bin/bash >input
wrapped=0
tail_of gzip $((4 * 4096)) -S -m 8,4 -- gzip -c input
tail_of one-page 4096 -S -m 8,1 -- gzip -c input
tail_of clipped 5000 -S5000 -m 8,4 -- gzip -c input
tail_of threads4 4096 -S -m 8,1 -- "$FIXTURES/threads4"
tail_of fits $((256 * 4096)) -S -m 8,256 -- "$FIXTURES/threads4"
[ "$wrapped" -ge 4 ] || fail "only $wrapped areas wrapped"

# several in one file, with almost no time between them: they overlap
mkfifo keys
snapshots() { "$AUXTAP" dump --no-packets "$1" 2>/dev/null | grep -c '] AUXTRACE: '; }
# quiet PID: neither the process nor a descendant runs. The emulated kernel processes what qemu has
# executed; once it sleeps, it is up to date.
quiet() {
	local _
	for _ in 1 2 3; do
		ps -eLo pid=,ppid=,stat= | awk -v root="$1" '
			{ parent[$1] = $2; state[$1] = state[$1] $3 }
			END {
				for (pid in parent) {
					for (p = pid; p > 1 && p != root; p = parent[p])
						;
					if (p == root && state[pid] ~ /[RD]/)
						exit 1
				}
			}' || return 1
	done
}
ticks=1234567890 # one for each byte
several() { # NAME ROUNDS OPTIONS...
	local name=$1 rounds=$2 pid tid nr
	shift 2
	"$AUXTAP" record --source qemu -o "$name.data" --truth "$name.truth" "$@" \
		-- "$FIXTURES/ticks" "$rounds" >"$name.out" 2>err <keys &
	pid=$!
	exec 3>keys
	wait_for test -s "$name.out"
	wait_for quiet $pid
	for nr in 1 2 3 4; do
		printf '%s' "$ticks" >&3
		wait_for quiet $pid
		kill -USR2 $pid
		wait_for eval '[ "$(snapshots "$name.data")" -ge $nr ]'
	done
	exec 3>&-
	wait $pid || fail "$name: record: $(tail -n 1 err)"
	grep -q '5 snapshots' err || fail "$name: $(tail -n 1 err)"
	tid=$(ls "$name".truth.*)
	tid=${tid##*.}
	nr=$(areas "$tid" "$name.data" | wc -l)
	[ "$nr" -eq 5 ] || fail "$name: $nr AUXTRACE records"
	areas "$tid" "$name.data" | while read -r offset size; do
		[ -z "${end:-}" ] || [ $((offset)) -lt "$end" ] || echo "at $offset, after $end"
		end=$((offset + size))
	done >apart
	[ ! -s apart ] || fail "$name: snapshots do not overlap: $(cat apart)"
	"$AUXTAP" decode --tid "$tid" --events insn,gap -F event,ip "$name.data" >got 2>err
	if ! "$TOOLS/compare_ground_truth" "$name.truth.$tid" --gaps <got >result 2>&1; then
		fail "$name: $(tail -n 2 result)"
	fi
	# overwritten before the first, paused during a snapshot; no other gaps
	grep '^gap' got | grep -v ' overwritten\| paused' >other
	[ ! -s other ] || fail "$name: $(head -n 2 other)"
	listed "$tid" "$name.data" >got
	[ "$(wc -l <got)" -gt 100 ] || fail "$name: only $(wc -l <got) instructions"
	if command -v perf >/dev/null; then
		perf_listed "$tid" "$name.data" >perf
		cmp -s got perf || fail "$name: perf lists $(wc -l <perf) instructions, decode $(wc -l <got)"
	fi
	echo "$name: $(cat result)"
}
several overlap 4 -S -m 8,16
several overlap-whole 1 -S -m 8,1024
several overlap-clipped 10 -S20000 -m 8,16
# with no time between them
ticks=
several still 4 -S -m 8,16
several still-clipped 10 -S20000 -m 8,16
finish
