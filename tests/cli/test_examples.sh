# SPDX-License-Identifier: BSD-2-Clause
# The examples, built like an external program: against the installed library, with pkg-config.
. "$(dirname "$0")/lib.sh"
installed
flags=$(installed_flags --cflags --libs libauxtap)
for example in record count_records; do
	# shellcheck disable=SC2086
	${CC:-cc} -std=c11 -D_GNU_SOURCE -Wall -Wextra -Werror $SANITIZER -o "$example" \
		"$SRC/examples/$example.c" $flags || fail "$example does not build"
done
# the simulator's library, shared and static
lab=$(installed_flags --cflags --libs libauxtap-watermark)
# shellcheck disable=SC2086
${CC:-cc} -std=c11 -D_GNU_SOURCE -Wall -Wextra -Werror $SANITIZER -o watermark_sim \
	"$SRC/examples/watermark_sim.c" $lab || fail "watermark_sim does not build"
# shellcheck disable=SC2046,SC2086
${CC:-cc} -std=c11 -D_GNU_SOURCE -Wall -Wextra -Werror $SANITIZER -o watermark_sim_static \
	"$SRC/examples/watermark_sim.c" $(installed_flags --cflags libauxtap-watermark) \
	"$LIBDIR/libauxtap-watermark.a" "$LIBDIR/libauxtap.a" -lzstd || fail "watermark_sim does not build statically"
for library in "$LIBDIR"/libauxtap*.so; do
	foreign=$(nm -D --defined-only "$library" | awk '$2 != "A" && $3 !~ /^auxtap_|^__|^_fini$|^_init$/ {print $3}')
	[ -z "$foreign" ] || fail "${library##*/} exports $foreign"
done
# all headers at once, for C and C++
for header in "$PREFIX"/include/auxtap/*.h; do
	echo "#include <auxtap/${header##*/}>"
done >all.c
cp all.c all.cc
# shellcheck disable=SC2086
${CC:-cc} -std=c11 -D_GNU_SOURCE -Wall -Wextra -Werror -fsyntax-only all.c $flags || fail "the headers together"
# shellcheck disable=SC2086
${CXX:-c++} -std=c++17 -D_GNU_SOURCE -Wall -Wextra -Werror -fsyntax-only all.cc $flags || fail "the headers together, in C++"
[ "$failures" -eq 0 ] || finish
export LD_LIBRARY_PATH=$LIBDIR
# The library finds auxtap-emu from where it is installed itself, not from the program's directory.
emu=$PREFIX/libexec/auxtap/auxtap-emu
[ -x "$emu" ] || fail "auxtap-emu is not in libexec"
printf '#!/bin/sh\ntouch "%s/wrong"\nexit 1\n' "$WORK" >auxtap-emu
chmod +x auxtap-emu
./record trace.data /bin/sh -c 'exit 7' </dev/null 2>log
status=$?
[ "$status" -eq 7 ] || { cat log; fail "record ended with $status, not 7"; }
[ ! -e wrong ] || fail "record started the auxtap-emu beside the program"
configured=$(sed -n 's/^CMAKE_INSTALL_PREFIX:PATH=//p' "$BIN/../CMakeCache.txt")
if [ ! -e "$configured/libexec/auxtap/auxtap-emu" ]; then
	mv "$emu" "$emu.away"
	./record no.data /bin/true </dev/null >log 2>&1 && fail "record without auxtap-emu"
	grep -qF "looked in $(realpath "$LIBDIR")," log || { cat log; fail "where it looked"; }
	mv "$emu.away" "$emu"
fi
./count_records trace.data >counts || fail "count_records"
for kind in COMM MMAP2 AUX AUXTRACE_INFO AUXTRACE EXIT; do
	grep -q "^$kind: [1-9]" counts || { cat counts; fail "no $kind record"; }
done
grep -q '^bytes of trace: [1-9][0-9][0-9]' counts || fail "no trace"
# the same machine by the library and by the command: equal to the byte
for machine in "intel_pt 16384 50000" "arm_spe 8192 400000" "trbe 16384 2000000"; do
	# shellcheck disable=SC2086
	set -- $machine
	"$AUXTAP" watermark sim --driver "$1" --watermark "$2" --reader-latency "$3" \
		--events >wanted || fail "$machine: sim"
	for program in watermark_sim watermark_sim_static; do
		./$program "$@" >got || fail "$program $machine: exit $?"
		[ "$(grep -c ' ns: ' got)" -eq "$(grep -c '^ *[0-9]* ns  lost ' wanted)" ] || fail "$program $machine: losses"
		sums=$(sed -nE 's/^[0-9]+ losses, ([0-9]+) bytes of ([0-9]+) stored, ([0-9]+) wakeups$/\1 \2 \3/p' \
			got)
		want=$(sed -nE 's/^  in .* ([0-9]+) wakeups.*/\1/p' wanted)
		want="$(sed -nE 's/^  bytes +([0-9]+) produced = ([0-9]+) stored.*/\2 \1/p' wanted) $want"
		[ -n "$sums" ] && [ "$sums" = "$want" ] || fail "$program $machine: '$sums', not '$want'"
	done
done
grep -qE ' ns: [0-9]{5,} bytes, stopped at the limit$' got || fail "trbe: no long loss: $(head -n 3 got)"
[ "$(./watermark_sim nothing 1 1 2>&1)" = "nothing: no such driver" ] || fail "watermark_sim: no such driver"
printf 'not a trace' >bad
./count_records bad 2>/dev/null && fail "count_records accepts a bad file"
finish
