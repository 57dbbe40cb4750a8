# SPDX-License-Identifier: BSD-2-Clause
# CoreSight against OpenCSD's own lister, which is as plain as a program on that library can be, on
# the same real snapshot with its buffer repeated: megabytes of formatted trace a second, in
# alternation. dump and 'trc_pkt_lister' list the same packets; with -decode_only the lister prints
# the library's elements, decode prints our events, with and without lines. CPU seconds of all
# threads; instructions by callgrind, startup subtracted.
. "$SRC/tests/cli/lib.sh"
command -v trc_pkt_lister >/dev/null || skip 'no trc_pkt_lister (Debian: libopencsd-bin)'
real=$AUXTAP_TRACES/coresight-snapshot/juno-uname-002
[ -d "$real" ] || skip "no real trace in $real"
repeated() { # DIR TIMES
	cp -r "$real" "$1" && chmod -R u+w "$1" && rm "$1/trace.bin" || exit 1
	for ((i = 0; i < $2; i++)); do cat "$real/trace.bin"; done >"$1/trace.bin"
}
repeated big 20
repeated one 2
repeated two 4
size=$(stat -c %s big/trace.bin)

seconds() { # COMMAND...
	{ TIMEFORMAT='%U %S'; time "$@" >/dev/null 2>&1; } 2>&1 | awk '{print $1 + $2}'
}
for turn in 1 2 3 4 5; do
	seconds trc_pkt_lister -ss_dir big -logfilename /dev/null >>lister
	seconds "$AUXTAP" dump big >>dump
	seconds trc_pkt_lister -ss_dir big -decode_only -logfilename /dev/null >>lister-decode
	seconds "$AUXTAP" decode big >>decode
	seconds "$AUXTAP" decode --events insn -F ip big >>decode-insn
	seconds "$AUXTAP" decode --summary big >>decode-summary
done
trc_pkt_lister -ss_dir big -logfilename packets >/dev/null 2>&1
listed=$(grep -c '^Idx:' packets) ours=$("$AUXTAP" dump big | grep -c '^[0-9a-f]\{8,\}  ')
[ "$listed" = "$ours" ] || fail "lists $listed packets, we $ours"
for name in lister dump lister-decode decode decode-insn decode-summary; do
	sort -n $name | sed -n 3p | awk -v size="$size" -v name=$name '{
		printf "coresight-%s-megabytes-per-second: %.2f\n", name, size / $1 / 1e6 }'
done
ratio() { # NAME OURS THEIRS
	paste <(sort -n "$3" | sed -n 3p) <(sort -n "$2" | sed -n 3p) | awk -v name="$1" '{
		printf "coresight-%s-over-lister: %.2f\n", name, $1 / $2 }'
}
ratio dump dump lister
ratio decode decode lister-decode

command -v valgrind >/dev/null || finish
insns() { # COMMAND...: instructions executed, by all threads
	valgrind --tool=callgrind --callgrind-out-file=cg "$@" 2>&1 >/dev/null | awk '/Collected/ {print $4}'
}
extra=$((2 * $(stat -c %s "$real/trace.bin")))
echo "coresight-lister-instructions-per-byte: $((($(insns trc_pkt_lister -ss_dir two \
	-logfilename /dev/null) -
	$(insns trc_pkt_lister -ss_dir one -logfilename /dev/null)) / extra))"
echo "coresight-dump-instructions-per-byte: $((($(insns "$AUXTAP" dump two) - $(insns "$AUXTAP" dump one)) / extra))"
echo "coresight-lister-decode-instructions-per-byte: $((($(insns trc_pkt_lister -ss_dir two \
	-decode_only -logfilename /dev/null) -
	$(insns trc_pkt_lister -ss_dir one -decode_only -logfilename /dev/null)) / extra))"
echo "coresight-decode-instructions-per-byte: $((($(insns "$AUXTAP" decode -j1 two) -
	$(insns "$AUXTAP" decode -j1 one)) / extra))"
finish
