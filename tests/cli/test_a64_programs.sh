# SPDX-License-Identifier: BSD-2-Clause
# Ordinary AArch64 programs: dynamic ones with threads and forks, with all libraries from one
# directory; returns from signal handlers; names of the PLT's entries.
. "$(dirname "$0")/lib.sh"
programs=$FIXTURES/a64
command -v qemu-aarch64 >/dev/null && [ -x "$programs/threads4" ] ||
	skip "qemu-aarch64 or a compiler for AArch64 is not installed"
# other tests use perf's readers (libipt, OpenCSD) as reference
NO_PERF=1 KEEP=1

# These hang if loader and C library are from different directories.
exact threads --backend emulated -m 128,8192 -- "$programs/threads4"
[ "$NR_THREADS" = 5 ] || fail "threads4: $NR_THREADS threads"
if [ -e /usr/aarch64-linux-gnu/lib/libc.so.6 ]; then
	for variable in AUXTAP_SYSROOT QEMU_LD_PREFIX; do
		guard env $variable=/usr/aarch64-linux-gnu "$AUXTAP" record --backend emulated \
			-o named -- \
			"$programs/threads4" >out 2>err || fail "threads4, $variable: status $?"
	done
fi
if [ -x "$programs/cxx_threads" ]; then
	exact cxx --backend emulated -m 128,8192 -- "$programs/cxx_threads"
	[ "$NR_THREADS" = 5 ] || fail "cxx_threads: $NR_THREADS threads"
	# all libraries from the loader's directory
	"$AUXTAP" dump --no-packets "$WORK/cxx/data" |
		sed -n 's/.*MMAP2.* r-xp \(\/.*\)\/\(lib\|ld-\).*/\1/p' | sort -u >places
	[ "$(wc -l <places)" = 1 ] || fail "cxx_threads: libraries from several directories: $(tr '\n' ' ' <places)"
fi
guard "$AUXTAP" record --backend emulated -o fork -- "$programs/fork_child" >out 2>err || fail "fork_child: status $?"
grep -qx 'child died of signal 11' out || fail "fork_child: $(cat out)"

# The code that returns from a handler is decoded, and has the kernel's name.
exact signals --backend emulated -- "$programs/handler_return"
"$AUXTAP" decode --events gap "$WORK/signals/data" | grep . && fail "a gap at a return from a handler"
[ "$("$AUXTAP" decode --events insn -F sym "$WORK/signals/data" |
	grep -c __kernel_rt_sigreturn)" = 6 ] ||
	fail "three returns from a handler are not six instructions with a name"
rm "$WORK/signals/data.vdso"
"$AUXTAP" decode --events gap "$WORK/signals/data" | grep . && fail "the file lacks images that it needs"

# A full buffer stops the unit: reported, with a gap at each hole.
gapped small --backend emulated -m 128,8 -- "$programs/threads4"
nr=$("$AUXTAP" dump --no-packets "$WORK/small/data" | grep -c ' AUX .*flags.*COLLISION')
[ "$nr" -gt 0 ] || echo "no collision in a small area: not tested"
[ "$nr" -eq 0 ] || grep -q ", $nr collisions\{0,1\} (small losses" "$WORK/small/stderr" ||
	fail "$nr collisions: $(cat "$WORK/small/stderr")"

# The libraries' directory may also contain the debug information.
id=$(aarch64-linux-gnu-readelf -n "$programs/null_deref_static" 2>/dev/null | sed -n 's/.*Build ID: //p')
if [ -n "$id" ]; then
	mkdir -p "root/usr/lib/debug/.build-id/${id:0:2}"
	aarch64-linux-gnu-objcopy --only-keep-debug "$programs/null_deref_static" \
		"root/usr/lib/debug/.build-id/${id:0:2}/${id:2}.debug"
	aarch64-linux-gnu-strip -o stripped "$programs/null_deref_static"
	"$AUXTAP" crash --backend emulated -o bare -- ./stripped >out 2>&1
	grep -q 'null_deref.c:29' bare.report.txt && fail "a stripped program has lines"
	AUXTAP_SYSROOT=$WORK/root "$AUXTAP" crash --backend emulated -o named \
		-- ./stripped >out 2>&1
	head -n 1 named.report.txt | grep -q 'age_of at null_deref.c:29' || fail "debug information: $(head -n 1 named.report.txt)"
else
	echo "not tested: debug information (no build-id or no readelf for AArch64)"
fi

# Entries of the PLT, by objdump; two shapes of them.
command -v aarch64-linux-gnu-objdump >/dev/null || {
	echo "no objdump for AArch64: names are not compared"; finish; }
for program in recursion pac_plt; do
	"$AUXTAP" record --backend emulated -o data -- "$programs/$program" >out 2>err
	"$AUXTAP" decode --events insn -F ip,sym,dso data |
		sed -n "s/^ *[0-9a-f]*\([0-9a-f]\{3\}\) \(.*@plt\) (.*\/$program)$/\1 \2/p" |
		sort -u >named
	aarch64-linux-gnu-objdump -d -j .plt "$programs/$program" | awk '
		/>:$/ { name = substr($2, 2, length($2) - 3) }
		/^ +[0-9a-f]+:/ { sub(":", "", $1); print substr($1, length($1) - 2), name }' |
			sort -u >reference
	comm -23 named reference >wrong
	[ -s wrong ] && fail "$program: objdump names no such entry: $(head -n 3 wrong)"
	# (glibc knows no signed pointers of PLTs: pac_plt dies in its first call, and on
	# a
	# CPU with FEAT_FPAC, as qemu 10 has, already in the entry's authentication)
	[ "$(grep -c '__libc_start_main@plt' named)" -ge 3 ] || fail "$program: $(cat named)"
done
finish
