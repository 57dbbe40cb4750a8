# SPDX-License-Identifier: BSD-2-Clause
# Functions and source lines of programs built by gcc and by clang, without and with optimisation
# and with LTO: the backtrace of the crash report equals gdb's of a core file (with inlined
# functions), functions and lines of every code address equal llvm-addr2line's, line numbers
# equal binutils' addr2line's. AUXTAP_LONG: every program in every build; else each in three or
# four.
. "$(dirname "$0")/lib.sh"
compare=$SRC/tests/cli/compare_frames.py
programs=$SRC/tests/cli/frames
for tool in gcc g++ clang clang++ ld.lld gdb addr2line llvm-addr2line objdump python3; do
	command -v $tool >/dev/null || skip "$tool is not installed"
done

# build COMPILER VARIANT NAME SOURCE...: to $WORK/COMPILER-VARIANT/NAME
build() {
	local cc=$1 variant=$2 out=$WORK/$1-$2/$3 flags=()
	shift 3
	mkdir -p "${out%/*}"
	case $variant in
	O0) flags=(-O0) ;;
	O2) flags=(-O2) ;;
	lto) flags=(-O2 -flto) && [ "$cc" = clang ] && flags+=(-fuse-ld=lld) ;;
	esac
	case $1 in *.cpp) [ "$cc" = gcc ] && cc=g++ || cc=clang++ ;; esac
	(cd "$programs" && "$cc" -g -no-pie -pthread -w "${flags[@]}" -o "$out" "$@") ||
		{ fail "$out: not built"; return 1; }
}

# If the stack continues elsewhere than above the stack pointer, the backtrace reaches main.
reaches_main() { # PROGRAM
	build gcc O0 "$1" "$1.c" && check "$WORK/gcc-O0/$1"
	sed -n '/^Backtrace/,/^$/p' "$WORK/c/data.report.txt" | grep -q ' main at .*/'"$1.c" ||
		fail "$1: no main: $(sed -n '/^Backtrace/,/^$/p' "$WORK/c/data.report.txt")"
}

# The same process in gdb, saved as a core: a live gdb omits inlined functions at their start.
gdb_backtrace() {
	gdb -nx -batch -ex 'set debuginfod enabled off' -ex 'set style enabled off' -ex 'set width 0' \
		-ex run \
		-ex 'generate-core-file core' "$1" >gdb.run 2>&1 </dev/null
	[ -e core ] || skip "gdb cannot run programs here: $(tail -n 2 gdb.run)"
	gdb -nx -batch -ex 'set debuginfod enabled off' -ex 'set style enabled off' -ex 'set width 0' \
		-ex 'set print frame-arguments none' -ex 'set print entry-values no' -ex 'bt 48' \
		"$1" core \
		>gdb.bt 2>gdb.err </dev/null
}

check() {
	local program=$1 name=${1#"$WORK/"} result compared
	rm -rf "$WORK/c" && mkdir "$WORK/c" && cd "$WORK/c" || exit 1
	"$AUXTAP" crash -o data -- "$program" >stdout 2>stderr </dev/null
	[ -s data.report.txt ] || { fail "$name: no report: $(tail -n 3 stderr)"; return; }
	gdb_backtrace "$program"
	result=$(python3 "$compare" backtrace data.report.txt gdb.bt) || fail "$name: gdb: $result"
	objdump -d --no-show-raw-insn -j .text "$program" |
		sed -nE 's/^ +([0-9a-f]+):.*/0x\1/p' >addresses
	"$TOOLS/print_frames" "$program" <addresses >ours || fail "$name: print_frames"
	# if an inlined function has no linkage name, LLVM prints its bare name; the source has the
	# namespace
	[ "$name" != gcc-O2/shapes ] || grep -qx 'shapes::clamp' ours || fail "$name: clamp has no namespace: $(grep -m 1 clamp ours)"
	llvm-addr2line -a -f -i -C -e "$program" <addresses >llvm
	addr2line -a -f -i -C -e "$program" <addresses >binutils
	compared="$name: $result frames"
	result=$(python3 "$compare" addresses ours llvm) || fail "$name: llvm-addr2line: $result"
	compared="$compared, $result addresses"
	result=$(python3 "$compare" lines ours binutils) || fail "$name: addr2line: $result"
	echo "$compared, $result lines"
}

program() { # COMPILER VARIANT NAME SOURCE...
	build "$@" && check "$WORK/$1-$2/$3"
}
while read -r cc variant names; do
	# all compilers are compared in the build without sanitizers
	case "$cc $variant" in "gcc O2" | "clang lto") ;; *) short_of_sanitizers && continue ;; esac
	[ -z "${AUXTAP_LONG:-}" ] || names="shapes tail workers divide noreturn"
	for name in $names; do
		case $name in
		shapes) program $cc $variant shapes shapes_a.cpp shapes_b.cpp ;;
		tail) program $cc $variant tail tail_a.c tail_b.c ;;
		workers) program $cc $variant workers workers.cpp ;;
		divide) program $cc $variant divide divide.c ;;
		noreturn)
			program $cc $variant noreturn noreturn.c
			sed -n '/^Backtrace/,/^$/p' "$WORK/c/data.report.txt" >frames
			grep -q '^  #[0-9]* *main at' frames || fail "noreturn: no main: $(cat frames)"
			;;
		esac
	done
done <<'LIST'
gcc O0 workers
gcc O2 shapes tail workers divide noreturn
gcc lto shapes tail divide
clang O0 shapes
clang O2 shapes tail divide noreturn
clang lto tail workers
LIST
# A call that belongs to no line (clang's, of a failed check): the line before it, and it says so.
mkdir -p "$WORK/clang-O2"
(cd "$programs" && clang -g -O2 -fstack-protector-all -no-pie -w -o "$WORK/clang-O2/smashed" \
	smashed.c) || fail "smashed: not built"
check "$WORK/clang-O2/smashed"
grep -q '^  #[0-9]*  format near /.*smashed\.c:[0-9]*$' "$WORK/c/data.report.txt" ||
	fail "smashed: $(sed -n '/^Backtrace/,/^$/p' "$WORK/c/data.report.txt")"
reaches_main altstack
reaches_main vla
# Frames of a stripped program: the return addresses that gdb prints (the last three digits: the
# program is at another address there).
cat >bare.c <<'C'
static int __attribute__((noinline)) inner(volatile int *at) { return *at + 1; }
static int __attribute__((noinline)) outer(volatile int *at) { return inner(at) * 3; }
int main(int argc, char **argv) { (void)argv; return outer((int *)(argc * 8l)) + 2; }
C
gcc -O0 -s -o bare bare.c || fail "bare.c: not built"
"$AUXTAP" crash -o bare.data -- ./bare >out 2>err </dev/null
gdb -batch -ex run -ex bt ./bare >gdb.out 2>&1 </dev/null
want=$(sed -n 's/^#\([0-2]\)  0x[0-9a-f]*\([0-9a-f]\{3\}\) in ?? .*/\1 \2/p' gdb.out)
got=$(sed -n 's/^  #\([0-2]\)  .*bare+0x[0-9a-f]*\([0-9a-f]\{3\}\)$/\1 \2/p' bare.data.report.txt)
[ "$(wc -l <<<"$want")" = 3 ] && [ "$got" = "$want" ] || fail "a stripped program: frames $got, gdb: $want"

# A library's constructor dies: the outermost code is the dynamic linker's, in assembly, without
# unwind information. The stack is whole.
cat >early.c <<'C'
static int *volatile nowhere;
static void __attribute__((constructor)) early(void) { *nowhere = 1; }
C
echo 'int main(void) { return 0; }' >late.c
gcc -g -shared -fPIC -o libearly.so early.c &&
	gcc -g -o late late.c -Wl,--no-as-needed ./libearly.so || fail "early.c: not built"
"$AUXTAP" crash -o early.data -- ./late >out 2>err </dev/null
sed -n '/^Backtrace/,/^$/p' early.data.report.txt >frames
grep -q '^  #0  early at' frames && grep -q '_dl_start_user\|ld-linux' frames &&
	! grep -q 'makes no sense' frames || fail "early: $(cat frames)"
grep -q '^  No unwind information describes that code' frames || fail "early: $(cat frames)"
finish
