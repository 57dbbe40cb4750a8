# SPDX-License-Identifier: BSD-2-Clause
# The tree of calls, folded: loops are a line, or a line for each function that they call, and the
# one call among them that matters is there, however long before the crash. The numbers are those
# of the programs' source.
. "$(dirname "$0")/lib.sh"

calls() { "$AUXTAP" report "$@" | sed -n '/^The calls/,/^Last/p'; }
# What main called: the lines within it, without instructions and lines of the source.
in_main() {
	sed -n '/ main /,/^ *$/p' "$1" | sed 1d | sed -nE 's/^ +[0-9]+  (        )(.*)$/\2/p' |
		sed -E 's/ +[^ ]+:[0-9]+( |$)/ /; s/  \([0-9]+ calls? not shown\)//; s/  +/ /g; s/ +$//; s/^ //'
}

# snapshot ENGINE NAME COMMAND...: $NAME.data and $NAME.calls
snapshot() {
	local engine=$1 name=$2
	shift 2
	guard "$AUXTAP" crash --source "$engine" -o "$name.data" -- "$@" >stdout 2>stderr </dev/null
	[ -s "$name.data" ] || {
		fail "$name, $engine: no snapshot: $(tail -n 2 stderr)"
		return 1
	}
	calls "$name.data" >"$name.calls"
	[ "$(grep -cE '^ +[0-9]+  ' "$name.calls")" -le 40 ] || fail "$name, $engine: more than 40 lines"
}

engines=ptrace
command -v qemu-x86_64 >/dev/null && [ -e "$BIN/auxtap-qemu.so" ] && engines='qemu ptrace'
for engine in $engines; do
	snapshot $engine many "$FIXTURES/many_calls" || continue
	in_main many.calls >got
	diff -u - got >diff <<-'TREE' || fail "many_calls, $engine: $(cat diff)"
	load x 5
	corrupt
	step x 50
	[repeated] x 300
	take_lock x 300
	step x 300
	release_lock x 300
	locked x 20
	take_lock x 20
	add x 20
	release_lock x 20
	use <- SIGSEGV here
	TREE
	grep -qE '^  \[repeated\]: ' many.calls || fail "many_calls, $engine: [repeated] is not explained"
	# calls that are not shown: 0 + 1 + 2 + 3 of each four, and one of each seven
	grep -qE ' step  x 50  \(81 calls not shown\) ' many.calls || fail "many_calls, $engine: $(cat many.calls)"

	# found out by free(), when the trace has many more calls than lines or nodes
	nr=100000
	[ $engine = qemu ] || nr=300
	snapshot $engine heap "$FIXTURES/heap_overflow" $nr || continue
	in_main heap.calls | grep -vE '^\[|mem' | sed 's/_*libc_//; s/strtou*l.*/strtoul/' >got
	# main calls add() in half of the rounds, as its random numbers say
	add=0 seed=1
	for ((i = 0; i < nr; i++)); do
		seed=$(((seed * 1103515245 + 12345) & 0xffffffff)) add=$((add + (seed >> 20 & 1)))
	done
	grep -B 1 -A 3 '^fill$' got | tr '\n' ' ' >order
	both="(work x $nr add x $add|add x $add work x $nr)"
	grep -qE "^malloc x 2 fill $both _*(cfree|free) " order ||
		fail "heap_overflow, $engine: $(cat order; cat heap.calls)"
	grep -q '^  \[mixed\]: ' heap.calls || fail "heap_overflow, $engine: [mixed] is not explained"
done

finish
