# SPDX-License-Identifier: BSD-2-Clause
# Several faults went to the program's own handler, which repaired them, left by siglongjmp(), or
# ended the program: the report names the one whose handler is in the backtrace, the outermost; else
# the newest of the thread. Not one of before the process executed another program.
. "$(dirname "$0")/lib.sh"
source=$SRC/tests/cli/frames/several_faults.c
command -v gcc >/dev/null || skip "gcc is not installed"
gcc -g -O1 -static -pthread -w -o several "$source" || { fail "several: not built"; finish; }
targets=('qemu ./several')
"$AUXTAP" list 2>/dev/null | grep -q 'ptrace: available' && targets+=('ptrace ./several')
command -v aarch64-linux-gnu-gcc >/dev/null &&
	aarch64-linux-gnu-gcc -g -O1 -static -pthread -w -o several_a64 "$source" &&
	targets+=('qemu ./several_a64')

# check HOW FUNCTION NUMBER CAUSE: the line about the fault that was handled, and the one after it.
# "null": the number is unknown. HOW may have two words.
check() {
	local want
	rm -f data*
	# shellcheck disable=SC2086
	guard "$AUXTAP" crash --backend emulated --source "${target%% *}" -o data -- \
		"${target#* }" $1 >stdout 2>stderr </dev/null
	[ -s data.report.txt ] || { fail "$target $1: no report: $(tail -n 2 stderr)"; return; }
	sed '/^$/q' data.report.txt | grep -A 1 '^  Before, ' >said
	if [ -z "$2" ]; then
		[ ! -s said ] || fail "$target $1: '$(cat said)', want nothing"
		return
	fi
	want="^  Before, a SIG[A-Z]* at $2 at several_faults.c:[0-9]* went to the program's own handler"
	want="$want${3#null}\.\$"
	head -n 1 said | grep -q -e "$want" || fail "$target $1: '$(head -n 1 said)', want '$want'"
	sed -n '2s/^  The frame of that handler says: //p' said | cut -d' ' -f1-4 >cause
	[ "$(cat cause)" = "$4" ] || fail "$target $1: cause '$(cat cause)', want '$4'"
	"$AUXTAP" report --format json data >data.json || fail "$target $1: no JSON"
	python3 - "$2" "$3" "$4" <<'PY' || fail "$target $1: JSON: $(grep -A 6 handled_fault data.json)"
import json, re, sys
function, number, cause = sys.argv[1:]
fault = json.load(open('data.json'))['crash']['handled_fault']
order = re.search(r'first|newest|one', number)
count = re.search(r'\d+', number)
assert fault['location']['function'] == function
if number != 'null':
    assert '*' in number or fault['nr_faults'] == int(count[0] if count else 1)
    assert fault['order'] == {'one': 'other'}.get(order and order[0], order[0] if order else 'first')
else:
    assert fault['nr_faults'] is fault['order'] is None
assert (fault['cause'] or '').startswith(cause) and bool(cause) == bool(fault['cause'])
PY
}

for target in "${targets[@]}"; do
	check left fatal ' (the newest of 3 faults that did)' 'it wrote to 0x2'
	check end probed ' (the newest of 2 faults that did)' ''
	check many fatal ' (one of 25 faults that did)' 'it wrote to 0x2'
	check nested fatal ' (the first of 2 faults that did)' 'it wrote to 0x2'
	check thread fatal ' (the first of 2 faults that did)' 'it wrote to 0x2'
	# one address, two faults: the frame does not say which of them it was
	check same writes ' (one of 2 faults that did)' 'it wrote to 0x5'
	check same-repaired writes ' (one of 2 faults that did)' 'it wrote to 0x5'
	# the handler in the backtrace is that of another signal, where the fault had been repaired
	check late repaired '' ''
	[ "${target#* }" = ./several_a64 ] || check late-division divides '' ''
	# more of them than the backtrace reaches
	check recursive fatal ' (the first of [0-9]* faults that did)' ''
	sed -n '/^Last branches/,/^$/p' data.report.txt | grep -q '^  interrupt  fatal ' ||
		fail "$target recursive: $(grep -A 16 '^Last branches' data.report.txt)"
	# a handler that begins where it faults: each of its faults counts
	"$AUXTAP" report --format json data >data.json
	python3 - <<'PY' || fail "$target recursive: $(grep '"count"' data.json | tail -n 2)"
import json
report = json.load(open('data.json'))
assert report['branches'][-1]['count'] > 1000 or report['crash']['name'].endswith('_a64')
PY
	# the second fault is that of the handler's first instruction
	check traps fatal ' (the first of 2 faults that did)' 'it wrote to 0x2'
	check many-others probed ' (one of 27 faults that did)' ''
	check default fatal '' ''
	grep -q '^ *[0-9]* *fatal  .* <- SIGSEGV here$' data.report.txt ||
		fail "$target default: $(grep 'SIGSEGV here' data.report.txt)"
	check 'exec many' fatal 'null' 'it wrote to 0x2'
	check busy fatal ' (one of 25 faults that did)' 'it wrote to 0x2'
	check others probed ' (one of 3 faults that did)' ''
	check exec '' '' ''
done
finish
