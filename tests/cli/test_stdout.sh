# SPDX-License-Identifier: BSD-2-Clause
# Standard output that cannot be written: each command reports it, once, and its status is a
# failure. A reader that has exited is not a failure.
. "$(dirname "$0")/lib.sh"
[ -w /dev/full ] || skip "no /dev/full"
quick_program
"$AUXTAP" record --backend emulated --source ptrace -m 8,64 -o data -- "$QUICK" 2>err </dev/null ||
	fail "record: $(tail -n 1 err)"

full() { # STATUS COMMAND...
	local want=$1 got
	shift
	"$AUXTAP" "$@" >/dev/full 2>err </dev/null
	got=$?
	[ $got -eq "$want" ] || fail "$*: status $got, not $want"
	[ "$(grep -c '^auxtap: standard output: cannot write.*; the output is incomplete$' \
		err)" -eq 1 ] ||
		fail "$*: $(grep -v '^Check' err | head -n 3)"
}
full 3 --help
full 3 --version
commands=$("$AUXTAP" --help | sed -nE 's/^  ([a-z]+) .*/\1/p')
for command in $commands; do
	case $command in record | crash) full 125 $command --help ;; *) full 3 $command --help ;;
		esac
done
for command in $("$AUXTAP" watermark --help | sed -nE 's/^  ([a-z]+) .*/\1/p'); do
	full 3 watermark "$command" --help
done
full 3 list
full 3 audit data
full 3 audit --format json data
full 3 watermark sim
full 3 watermark sim --format json
full 3 watermark sim --format html
full 3 watermark sim -o - --format html
full 3 watermark sim --events
full 3 watermark faults --list
full 3 watermark advise --driver intel_pt --rate 1M --irq-latency 1us --reader-latency 1us \
	--transactions 1000
full 3 watermark sweep --every 20000 -j 1
if [[ $commands == *decode* ]]; then
	full 3 decode data
	full 3 decode -j 2 --format jsonl data
	full 3 decode --summary data
	full 3 dump data
	full 3 report data
fi

# '-o -' of a page is standard output
"$AUXTAP" watermark sim --format html -o - >page || fail "sim -o -: status $?"
grep -q '^<!DOCTYPE html>' page && grep -q '^</body></html>' page || fail "sim -o -: no page"
[ -e ./- ] && fail "sim -o -: a file of that name"

# closed from the start; a program's own output is not auxtap's
"$AUXTAP" list >&- 2>err
[ $? -eq 3 ] || fail "closed: status $?"
"$AUXTAP" record --backend emulated --source ptrace -m 8,64 -o more -- "$QUICK" >&- 2>err || fail "record, closed: $(cat err)"

# a reader that has exited: SIGPIPE ignored, as under Python
for command in list "watermark sim --events" "dump data" "watermark faults --list"; do
	[[ $command == dump* && $commands != *dump* ]] && continue
	# shellcheck disable=SC2086
	{ (trap '' PIPE; sleep 0.2; "$AUXTAP" $command; echo $? >status) 2>err | true; }
	[ "$(cat status)" -le 1 ] || fail "$command | true: status $(cat status): $(cat err)"
	[ -s err ] && fail "$command | true: $(head -n 1 err)"
done
finish
