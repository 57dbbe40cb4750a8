# SPDX-License-Identifier: BSD-2-Clause
# A fault whose handler ends the program (raise(), abort(), a fault of its own, on a stack of its
# own): the report says of it what it says where there is no handler. By each engine, and AArch64.
# AUXTAP_LONG: each fault with each end; else each fault with one, and one with each.
. "$(dirname "$0")/lib.sh"
source=$SRC/tests/cli/frames/handled.c
command -v gcc >/dev/null || skip "gcc is not installed"
gcc -g -O1 -static -w -o handled "$source" || { fail "handled: not built"; finish; }
targets=('qemu ./handled')
"$AUXTAP" list 2>/dev/null | grep -q 'ptrace: available' && targets+=('ptrace ./handled')
command -v aarch64-linux-gnu-gcc >/dev/null &&
	aarch64-linux-gnu-gcc -g -O1 -static -w -o handled_a64 "$source" &&
	targets+=('qemu ./handled_a64')

# run ENGINE PROGRAM HOW WHICH: to head, the report's text before its first empty line
run() {
	rm -f data*
	guard "$AUXTAP" crash --backend emulated --source "$1" -o data -- "$2" "$3" "$4" \
		>stdout 2>stderr </dev/null
	[ -s data.report.txt ] || { fail "$*: no report: $(tail -n 2 stderr)"; return 1; }
	sed '/^$/q' data.report.txt >head
}

for target in "${targets[@]}"; do
	kinds='beyond read'
	[ -z "${AUXTAP_LONG:-}" ] && [ "$target" != 'qemu ./handled' ] ||
		kinds='read write divide beyond trap'
	for which in $kinds; do
		# its division by zero is no fault on AArch64
		[ "$target $which" = 'qemu ./handled_a64 divide' ] && continue
		run $target plain "$which" || continue
		sed -n '2s/^  //p' head >plain
		[ -s plain ] || fail "$target plain $which: no cause: $(cat head)"
		for how in raise abort fault stack; do
			[ "${target%% *} $how" = 'ptrace stack' ] && continue # as under qemu
			[ -n "${AUXTAP_LONG:-}" ] || [ $how = raise ] ||
				[ "$target $which" = 'qemu ./handled read' ] || continue
			run $target "$how" "$which" || continue
			sed -n 's/^  The frame of that handler says: //p' head >said
			# qemu's frame has no address of a SIGBUS
			if [ "${target%% *} $which" = 'qemu beyond' ]; then
				[ ! -s said ] || fail "$target $how $which: '$(cat said)'"
				continue
			fi
			# a mapped file is named like the case, and mapped anywhere
			sed "s/\\<$how\\>/plain/g; s/0x7[0-9a-f]\{11\}/ADDRESS/" said >said.plain
			sed 's/0x7[0-9a-f]\{11\}/ADDRESS/' plain | cmp -s - said.plain ||
				fail "$target $how $which: '$(cat said)', without one '$(cat plain)'"
		done
	done
done
"$AUXTAP" report --format json data >data.json
said=$(sed -n 's/^  The frame of that handler says: //p' head)
python3 - "$said" <<'PY' || fail "JSON: $(grep -A 8 handled_fault data.json)"
import json, sys
report = json.load(open('data.json'))
sys.exit(report['crash']['handled_fault']['cause'] != sys.argv[1])
PY
finish
