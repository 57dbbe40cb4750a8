# SPDX-License-Identifier: BSD-2-Clause
# The examples, built as a stranger would: against the installed library, through pkg-config.
. "$(dirname "$0")/lib.sh"
command -v pkg-config >/dev/null || skip "pkg-config is not installed"
build=$(cd "$BIN/.." && pwd)
prefix=$WORK/prefix
cmake --install "$build" --prefix "$prefix" >install.log 2>&1 || {
	tail -n 5 install.log
	fail "cmake --install"
	finish
}
pc=$(find "$prefix" -name libauxtap.pc | head -n 1)
[ -n "$pc" ] || { fail "libauxtap.pc is not installed"; finish; }
# The .pc names the configured prefix; pkg-config is told where the files are now.
export PKG_CONFIG_PATH=${pc%/*}
libdir=${pc%/pkgconfig/libauxtap.pc}
flags=$(pkg-config --define-variable=prefix="$prefix" --cflags --libs libauxtap) || fail "pkg-config"
sanitizer=
grep -q 'CMAKE_C_FLAGS:STRING=.*-fsanitize=address' "$build/CMakeCache.txt" && sanitizer=-fsanitize=address,undefined
grep -q 'CMAKE_C_FLAGS:STRING=.*-fsanitize=thread' "$build/CMakeCache.txt" && sanitizer=-fsanitize=thread
for example in record count_records; do
	# shellcheck disable=SC2086
	${CC:-cc} -std=c11 -D_GNU_SOURCE -Wall -Wextra -Werror $sanitizer -o "$example" \
		"$SRC/examples/$example.c" $flags || fail "$example does not build"
done
# all headers at once, for C and C++
for header in "$prefix"/include/auxtap/*.h; do
	echo "#include <auxtap/${header##*/}>"
done >all.c
cp all.c all.cc
# shellcheck disable=SC2086
${CC:-cc} -std=c11 -D_GNU_SOURCE -Wall -Wextra -Werror -fsyntax-only all.c $flags || fail "the headers together"
# shellcheck disable=SC2086
${CXX:-c++} -std=c++17 -D_GNU_SOURCE -Wall -Wextra -Werror -fsyntax-only all.cc $flags || fail "the headers together, in C++"
[ "$failures" -eq 0 ] || finish
export LD_LIBRARY_PATH=$libdir AUXTAP_EMU=$prefix/libexec/auxtap/auxtap-emu
[ -x "$AUXTAP_EMU" ] || fail "auxtap-emu is not in libexec"
./record trace.data /bin/sh -c 'exit 7' </dev/null 2>log
status=$?
[ "$status" -eq 7 ] || { cat log; fail "record ended with $status, not 7"; }
./count_records trace.data >counts || fail "count_records"
for kind in COMM MMAP2 AUX AUXTRACE_INFO AUXTRACE EXIT; do
	grep -q "^$kind: [1-9]" counts || { cat counts; fail "no $kind record"; }
done
grep -q '^bytes of trace: [1-9][0-9][0-9]' counts || fail "no trace"
printf 'not a trace' >bad
./count_records bad 2>/dev/null && fail "count_records takes anything"
finish
