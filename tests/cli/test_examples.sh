# SPDX-License-Identifier: BSD-2-Clause
# The examples, built like an external program: against the installed library, with pkg-config.
. "$(dirname "$0")/lib.sh"
installed
flags=$(installed_flags --cflags --libs libauxtap)
for example in record count_records audit_file; do
	# shellcheck disable=SC2086
	${CC:-cc} -std=c11 -pedantic-errors -Wall -Wextra -Werror $SANITIZER -o "$example" \
		"$SRC/examples/$example.c" $flags || fail "$example does not build"
done
decode=
if [ -e "$LIBDIR/libauxtap-decode.so" ]; then
	decode=$(installed_flags --cflags --libs libauxtap-decode)
	for example in decode_file decode_raw crash_report; do
		# shellcheck disable=SC2086
		${CC:-cc} -std=c11 -pedantic-errors -Wall -Wextra -Werror $SANITIZER -o "$example" \
			"$SRC/examples/$example.c" $decode || fail "$example does not build"
	done
fi
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
	# a program keeps the size that exported data had when it was linked: tables are functions
	data=$(nm -D --defined-only "$library" | awk '$2 != "T" && $3 ~ /^auxtap_/ {print $3}')
	[ -z "$data" ] || fail "${library##*/} exports data: $data"
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
# an audit: what the command finds, in a good and in a damaged recording
audits() {
	"$AUXTAP" audit --format json "$1" >report.json
	want=$?
	python3 -c '
import json
for f in json.load(open("report.json"))["findings"]:
    off = f.get("offset")
    print(f["name"], *([] if off is None else [hex(off)]), f["text"])' >wanted || fail "$1: JSON"
	./audit_file "$1" >got
	status=$?
	[ "$status" -eq "$want" ] || fail "audit_file $1: exit $status, not $want"
	cmp -s got wanted || { diff got wanted | head -n 5; fail "audit_file $1"; }
}
audits trace.data
[ "$status" -eq 0 ] || fail "audit_file: a violation in a good recording"
"$TOOLS/damage_aux" trace.data damaged.data hole 0 64 || fail "damage"
audits damaged.data
[ "$status" -eq 1 ] || fail "audit_file: no violation in a damaged recording"
./audit_file missing.data 2>log && fail "audit_file: a missing file"
grep -q '^audit_file: missing.data: ' log || fail "audit_file: $(cat log)"

if [ -n "$decode" ]; then
	# a recording: each branch and gap that the command prints, also of one thread alone
	"$AUXTAP" decode --events branch,gap -F tid,event,ip,addr --format csv trace.data |
		sed -nE -e 's/^(.*),branch,0x(.*),0x(.*),$/\1 \2 \3/p' \
			-e 's/^(.*),branch,0x(.*),,$/\1 \2 ?/p' \
			-e 's/^(.*),gap,,,"?([a-z_]+).*$/\1 gap \2/p' >wanted
	[ "$(wc -l <wanted)" -gt 1000 ] || fail "only $(wc -l <wanted) branches"
	tid=$(awk 'END {print $1}' wanted)
	./decode_file trace.data >all || fail "decode_file"
	sed -E 's/ gap ([a-z_]+):.*/ gap \1/' all >got
	cmp -s got wanted || { diff got wanted | head -n 5; fail "decode_file: other lines"; }
	grep "^$tid " all >wanted
	./decode_file trace.data "$tid" 1 | cmp - wanted || fail "decode_file: a list of threads"
	[ -z "$(./decode_file trace.data 0)" ] || fail "decode_file: thread 0 is not 'all'"
	# a bare buffer. 1000: nop; nop; jne 1000; call 1010; 1009: jmp *%rax; … 1010: nop; ret
	printf '\x90\x90\x75\xfc\xe8\x07\x00\x00\x00\xff\xe0\xeb\xfe\x90\x90\x90' >code
	printf '\x90\xc3' >>code
	psb='\x02\x82\x02\x82\x02\x82\x02\x82\x02\x82\x02\x82\x02\x82\x02\x82'
	printf "$psb"'\x99\x01\x7d\x00\x10\x00\x00\x00\x00\x02\x23\x0c' >pt
	printf "$psb"'\x99\x01\x7d\x10\x10\x00\x00\x00\x00\x02\x23\x6d\x00\x50\x00\x00' >>pt
	printf '\x00\x00\x06' >>pt
	./decode_raw pt code 1000 >got 2>log || fail "decode_raw"
	"$AUXTAP" decode --raw pt --image code@0x1000 --events insn -F ip pt >wanted
	cmp got wanted && [ "$(tail -n 1 got)" = 1011 ] || fail "decode_raw: $(head -n 3 got)"
	grep -q '^gap: no_image: ' log || fail "decode_raw: no gap: $(cat log)"
	# the report of a crash
	"$AUXTAP" crash -o crash.data -- "$FIXTURES/null_deref" >log 2>&1 </dev/null
	[ -s crash.data ] || { cat log; fail "no snapshot of a crash"; }
	./crash_report crash.data >got || fail "crash_report"
	"$AUXTAP" report crash.data >wanted
	cmp got wanted || fail "crash_report: another text"
	grep -q ' died of SIGSEGV' got || { head -n 3 got; fail "crash_report: no crash"; }
	./crash_report bad.data 2>log && fail "crash_report: a missing file"
fi

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
