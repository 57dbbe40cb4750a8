#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# What the text report of a crash says, the JSON has, section by section: of each crash program.
. "$(dirname "$0")/lib.sh"
python3 -c 'import jsonschema' 2>/dev/null || skip "python3-jsonschema is not installed"

# a fault goes to the program's own handler, which sends a signal: it would fault again
gcc -g -O1 -fno-stack-protector -w -o jumps "$SRC/tests/cli/frames/jumps.c" -ldl || skip "no C compiler"
# the last frame left by a jump
cat >tail.c <<'EOF_C'
static int *volatile nowhere;
static volatile int calls;
__attribute__((noinline)) static int inner(int x)
{
	calls++;
	*nowhere = x;
	return x + calls;
}
__attribute__((noinline)) static int outer(int x)
{
	calls += 2;
	return inner(x * 3);
}
int main(int argc, char **argv)
{
	return outer(argc) + (argv != 0);
}
EOF_C
programs=(null_deref thread_crash stack_overflow abort_assert bad_pointer dlopen_crash handler_crash
	heap_overflow illegal_insn second_fault stack_smash use_after_free cxx_uncaught div_zero)
gcc -g -O2 -w -o tail tail.c && programs+=("$PWD/tail" "$PWD/jumps")
for program in "${programs[@]}"; do
	name=$(basename "$program")
	[ -x "$program" ] || program=$FIXTURES/$name
	guard "$AUXTAP" crash -o "$name.data" -- "$program" raise >stdout 2>stderr </dev/null
	[ -s "$name.data" ] || { fail "$name: no snapshot: $(tail -n 2 stderr)"; continue; }
	"$AUXTAP" report --calls 60 "$name.data" >"$name.txt" 2>stderr &&
		"$AUXTAP" report --calls 60 --format json "$name.data" >"$name.json" 2>stderr ||
		fail "$name: exit $?: $(cat stderr)"
done
guard "$AUXTAP" crash --redact -o redacted.data -- "$FIXTURES/null_deref" >stdout 2>&1 </dev/null
"$AUXTAP" report --calls 60 redacted.data >redacted.txt
"$AUXTAP" report --calls 60 --format json redacted.data >redacted.json || fail "redacted: exit $?"
# a packed file has the lines that its text report shows
"$AUXTAP" pack --with-memory -o packed.data null_deref.data >stdout 2>stderr || fail "pack: $(cat stderr)"
"$AUXTAP" report --calls 60 packed.data >packed.txt
"$AUXTAP" report --calls 60 --format json packed.data >packed.json || fail "packed: exit $?"

python3 -B "$SRC/tests/tools/report_text_json.py" "$SRC/docs/report.schema.json" ./*.json ||
	fail "see above"
python3 - <<'END' || fail "see above"
import json

def report(name):
    return json.load(open(name + '.json'))

again = report('jumps')['crash']['handled_fault']
assert again['signal']['name'] == 'SIGSEGV' and again['location']['source'], again
assert again['faults_again'].startswith('it wrote to 0x60 (1 byte); nothing is mapped there'), again
frames = report('tail')['backtrace']['frames']
tails = [f['function'] for t in frames[0]['tail_frames'] for f in t['functions']]
assert tails == ['outer'] and frames[0]['functions'][0]['function'] == 'inner', frames[0]
assert frames[0]['tail_frames'][0]['functions'][0]['line'] == 12, frames[0]
redacted = report('redacted')
assert redacted['memory']['redacted']
assert not any('arguments' in f or 'locals' in f for frame in redacted['backtrace']['frames']
               for f in frame['functions'])
args = report('null_deref')['backtrace']['frames'][0]['functions'][0]['arguments']
assert [a['name'] for a in args] and not redacted['crash']['message'], args
source = report('packed')['crash']['instruction']['location']['source']
assert len(source['lines']) == 1 and 'crash: null_deref' in source['lines'][0], source
END
finish
