# SPDX-License-Identifier: BSD-2-Clause
# The auditor: recordings of hardware and of the emulated kernel are clean; each kind of damage is
# found by its name, at its record, and nothing else is; event logs; machine-readable output;
# options.
. "$(dirname "$0")/lib.sh"
. "$SRC/tests/cli/audit.sh"

# damaged NAMES STATUS FILE KIND N [VALUE]
damaged() {
	local names=$1 status=$2
	shift 2
	"$TOOLS/damage_aux" "$1" damaged.data "${@:2}" || fail "damage: $*"
	audit "$status" "$names" ${OPTIONS:-} damaged.data
}

# made here: two CPUs, consecutive buffers, one of them truncated
"$TOOLS/spe_file" spe.data 3000 1 || fail 'no file'
audit 0 truncated spe.data
python3 -c 'import json
a = json.load(open("json"))
r = a["rings"]
assert a["verdict"] == "clean" and a["unit"] == "arm_spe" and len(r) == 2, a
assert r[0]["bytes"] == r[0]["read_bytes"] == r[0]["last_end"] > 100000, r
assert r[1]["truncated"] == 1, r
f = a["findings"][0]
assert f["name"] == "truncated" and f["cpu"] == 1 and f["offset"] == 0x14d28, f' ||
	fail 'json of spe.data'
# I4: 5000 bytes at a time do not stop at the page after a watermark of 8192
OPTIONS='--page 4096' damaged 'past-limit truncated' 1 spe.data watermark 0 8192
OPTIONS='--page 4096' damaged 'past-limit truncated' 1 spe.data watermark 0 6000
# the unit's own padding is not a hole: one page may be skipped, two may not
OPTIONS='--page 4096' damaged 'padding-missing truncated' 1 spe.data hole 6 4095
OPTIONS='--page 256' damaged 'aux-hole truncated' 1 spe.data hole 6 512
damaged 'flag-format truncated' 1 spe.data flags 6 0x100
damaged 'bytes-missing trace-hole truncated' 1 spe.data drop-trace 6
damaged 'bytes-missing trace-hole trace-overlap truncated' 1 spe.data trace-overlap 6 16
damaged 'collision truncated' 0 spe.data flags 6 8
audit 1 'larger-than-buffer past-limit truncated' --aux-size 4096 --page 4096 spe.data

# ---- files made line by line ----
# I5, I7: a slow reader: the end of a page is padding, over two reads, and at the end of the
# file
cat >made.txt <<'EOF'
aux 0 100 0 8192
aux 0 200 8192 4096
aux 0 300 16383 0 1
trace 0 0 12800 0xa5 @12288-12800=0
trace 0 12800 3583 0
aux 0 400 16384 5000
trace 0 16383 5017 0xa5 @16383=0 @21384-21400=0
EOF
KIND='spe 8192' OPTIONS='--page 4096'
made truncated 0 ''
made 'padding-missing truncated' 1 's/@12288-/@12289-/'
python3 -c 'import json
f = [f for f in json.load(open("json"))["findings"] if f["name"] == "padding-missing"][0]
assert f["bytes"] == 1 and "0x3000: 0xa5" in f["text"] and f["time_ns"] == 300, f' || fail "$(cat json)"
made 'padding-missing truncated' 1 's/12800 3583 0/& @16382=1/'
made 'padding-missing truncated' 1 's/@16383=0/@16383=1/'
made 'padding-missing truncated' 1 's/@21384-/@21390-/'
# TRBE has another byte of padding
KIND='etm 8192'
sed -i 's/\(@[^=]*=\)0/\10x70/g; s/3583 0$/3583 0x70/' made.txt
made truncated 0 ''
made 'padding-missing truncated' 1 's/3583 0x70/3583 0/'
# D5: after a complete read there is space
cat >made.txt <<'EOF'
aux 0 100 0 16384 1
aux 0 110 16384 0 1
aux 0 120 16384 0 1
trace 0 0 16384
aux 0 140 16384 0 1
aux 0 150 16384 0 1
aux 0 160 16384 0 1
aux 0 170 16384 0 1
aux 0 180 16384 0 1
aux 0 190 16384 0 1
aux 0 200 16384 0 1
aux 0 210 16384 100
trace 0 16384 100
EOF
KIND='pt 16384' OPTIONS=
made truncated 0 ''
made 'no-progress truncated' 1 's/^aux 0 200.*/&\naux 0 201 16384 0 1/'
made truncated 0 's/^aux 0 190.*/aux 0 190 16384 100\ntrace 0 16384 100\naux 0 195 16484 0 1/; s/ 200 16384/ 200 16484/; s/ 210 16384/ 210 16484/; $s/16384/16484/'
# D21: a truncated event is off until the reader has read; the driver's immediate retry does not
# count
cat >made.txt <<'EOF'
aux 0 100 0 16384 1
aux 0 110 16384 0 1
aux 0 120 16384 0 1
aux 0 130 16384 0 1
trace 0 0 16384
EOF
made 'truncated truncated-again' 1 ''
made truncated 0 '/ 130 /d'
made truncated 0 '1,2s/ 1$//; 2s/$/ 1/' # truncated at begin: not disabled (D21)
made truncated 0 's/^aux 0 110.*/trace 0 0 16384\n&/; $d'
made truncated 0 '/ 120 /s/16384 0/16384 4096/; / 130 /s/16384/20480/; $s/16384/20480/'
echo 'osrelease 6.1.0-22-amd64' >>made.txt
made 'not-disabled truncated' 0 ''
sed -i '/^osrelease/!s/ 0 / 1 /' made.txt
sed -i 's/^trace 1 1/trace 1 0 1/; s/^trace 1 0$/trace 1 0 16384/' made.txt
made 'truncated truncated-again' 1 ''
made 'not-disabled truncated' 0 's/6.1.0-22/6.12.95+deb13/'
# ... one event in the ring of a CPU, several in that of a command's tasks
cat >made.txt <<'EOF'
aux 1:100 100 0 16384 1
aux 1:100 110 16384 0 1
aux 1:101 120 16384 0 1
aux 1:101 130 16384 0 1
trace 1 0 16384
EOF
made 'truncated truncated-again' 1 ''
made 'truncated truncated-again' 1 '1s/^/inherit\n/' # perf -a
made 'truncated truncated-again' 1 '1s/^/capture backend: kernel\n/' # auxtap -a
made truncated 0 '1s/^/inherit\ncapture backend: kernel\n/'
sed -i '1s/^/inherit\n/; s/^trace 1/&:100/' made.txt
made truncated 0 ''
made truncated 0 's/:101 120/:100 120/; $s/^/aux 1:100 140 16384 0 1\n/'
made 'truncated truncated-again' 1 's/:101/:100/'
OPTIONS=

# stock perf saves a few records twice; auxtap does not
cat >made.txt <<'EOF'
aux 0 100 0 16384
lost 0 110 1
aux 0 120 20480 4096 1
trace 0 0 24576
aux 0 100 0 16384
lost 0 110 1
aux 0 120 20480 4096 1
aux 0 130 24576 100
trace 0 24576 100
EOF
made 'record-lost truncated' 0 ''
python3 -c 'import json
a = json.load(open("json"))
f = [f for f in a["findings"] if f["name"] == "record-repeated"]
assert len(f) == a["counts"]["record-repeated"] == 3, f
assert f[2]["cpu"] == 0 and f[2]["bytes"] == 4096, f
r = a["rings"][0]
assert r["records"] == 3 and r["bytes"] == 20580 and r["truncated"] == 1, r' ||
	fail 'records that perf saved twice'
made 'aux-overlap record-lost truncated' 1 '7s/ 120 / 121 /'
made 'aux-order aux-overlap record-lost time-back truncated' 1 '1s/^/capture backend: kernel\n/'

# a 32-bit head wraps to 0 at 4 GiB
cat >made.txt <<'EOF'
aux 0 100 0xfffff000 4096
aux 0 200 0x100000000 4096
trace 0 0xfffff000 8192
EOF
made '' 0 ''
made 'aux-order bytes-missing bytes-without-record' 1 's/0x100000000/0/'

# wakeups from the recorder's log. Data rings also wake at half their size
cat >made.txt <<'EOF'
reader 65536 16384 4096
wait 4200 0 100 1
wait 8200 4200 200 0
wait 8200 4200 200 1
wait 9000 8200 8193 1
wait 9100 9000 8300 3
wait 9200 9100 8400 1
wait 16384 9200 8500 3
wait 16384 16384 8500 4
aux 0 100 0 16384
trace 0 0 16384
EOF
KIND='pt 4096' OPTIONS='--aux-size 64K'
missed='missed-interrupt ' # one record, for short
made "${missed% }" 1 ''
grep -q '"wakeups_noted": 8' json || fail "wakeups: $(cat json)"
grep -q 'wakeups-unnoted' json && fail "all are noted: $(cat json)"
made "${missed% }" 1 's/^reader.*/& 8/'
grep -q 'wakeups-unnoted' json && fail "all are noted: $(cat json)"
made "${missed% }" 1 's/^reader.*/& 9/'
grep -q '8 of 9 wakeups' json || fail "one was not noted: $(cat json)"
made "${missed}wakeup-missing" 1 's/^wait 8200 4200 200 1/wait 8200 4200 200 0/'
made "${missed}wakeup-missing" 1 's/^wait 4200 0 100 1/&\nwait 8191 8191 100 0\nwait 8192 4200 150 0\nwait 8192 4200 160 0/'
made "${missed}wakeup-without-cause" 1 's/^wait 8200 4200 200 1/&\nwait 8300 8200 300 1/'
# a wakeup may come after the return of the poll() before it
made "${missed% }" 1 '/^wait 8200 4200 200 0/d; s/^wait 8200 4200 200 1/&\nwait 8300 8200 300 1/'
data='s/^wait 9100 9000 8300 3/wait 9100 9000 8195 1/; s/^wait 9200 9100 8400 1/wait 9200 9100 8196 3/'
made "${missed% }" 1 "$data"
made "${missed}wakeup-without-cause" 1 "$data; s/ 8193 1/ 8192 1/; s/ 819[56] / 8192 /"
made "${missed}wakeup-without-cause" 1 's/^wait 16384 9200 8500 3/wait 16384 9200 8500 1/'
# D6: no space at all
full='s/^reader.*/reader 16384 16384 1048576/; /^wait [89]/d; /8500/d; s/^wait 4200/wait 16383/'
made "${missed% }" 1 "$full"
made "${missed}wakeup-without-cause" 1 "$full; s/16383/16382/"
# D7: snapshots
sed -i 's/^aux.*/aux 0 100 16384 65536 2/' made.txt
made wakeup-without-cause 1 ''
made '' 0 '/ [13]$/{ /8193/!d; }'
OPTIONS=

# cut in the middle: audited up to the cut, and reported
for size in 70000 200000 $(($(stat -c %s spe.data) - 6000)); do
	head -c "$size" spe.data >cut.data
	"$AUXTAP" audit --format json cut.data >json 2>err
	[ $? = 1 ] || fail "cut at $size: status"
	[[ " $(names) " == *" file-damaged "* || " $(names) " == *" file-unfinished "* ]] ||
		fail "cut at $size: $(names)"
	[[ " $(names) " != *missing* && " $(names) " != *hole* &&
		" $(names) " != *without-record* ]] ||
		fail "cut at $size: $(names)"
done

# an emulated recording with a reader that keeps up, one with a stop, a snapshot
if "$AUXTAP" record -m 64,16 --aux-watermark 8192 -o mark.data -- /bin/ls / >/dev/null 2>err; then
	# on a busy machine the reader may be late
	"$AUXTAP" audit --format json --aux-size 64K mark.data >json || fail "mark.data: $(cat json)"
	python3 -c 'import json
r = json.load(open("json"))["rings"]
assert sum(x["past_watermark"] for x in r) >= 2, r
assert sum(s["count"] for x in r for s in x["overshoots"] if s["below"] <= 4096) >= 2, r' ||
		fail 'overshoots of mark.data'
	# H4: the recording has interrupts there; at half of the positions it has none
	"$TOOLS/damage_aux" mark.data damaged.data watermark 0 4096
	"$AUXTAP" audit damaged.data >text
	[ $? = 1 ] && [ "$(grep ^VIOLATION text | cut -d' ' -f2)" = missed-interrupt ] || fail "half of the positions: $(cat text)"
	"$AUXTAP" audit --max-skid 1 mark.data | grep -q 'VIOLATION late-interrupt' || fail 'late-interrupt'
	"$AUXTAP" record -S -o snapshot.data -- /bin/ls / >/dev/null 2>err
	audit 0 '' snapshot.data
	# H5: three pages: PT stops at the end of the ring
	"$AUXTAP" record -m 64,4 --aux-watermark 12288 -o odd.data -- /bin/ls / >/dev/null 2>err
	"$AUXTAP" audit odd.data >text || fail "odd.data: $(cat text)"
	grep -q 'note odd-watermark' text && grep -q 'known loss truncated' text || fail "odd.data: $(cat text)"
	grep -q 'known loss noted-loss' text && grep -q 'truncated: [0-9]* bytes' text || fail "odd.data: no bytes: $(cat text)"
else
	echo "no emulated recording here: $(tail -n 1 err)"
fi

# hardware, by stock perf and others
if [ -d "$AUXTAP_TRACES/intel-pt-perfdata" ]; then
	pt=$AUXTAP_TRACES/intel-pt-perfdata/intel_pt-4.14/perf.data
	audit 0 '' "$pt"
	for dir in "$AUXTAP_TRACES"/coresight-perfdata/*/; do
		case $dir in
		*missing-aux*) audit 1 bytes-missing "$dir/perf.data" ;;
		*kernel*) audit 0 truncated "$dir/perf.data" ;;
		*) audit 0 '' "$dir/perf.data" ;;
		esac
	done
	damaged '' 0 "$pt" none 0
	damaged aux-overlap 1 "$pt" overlap 3 16
	damaged aux-hole 1 "$pt" hole 3 64
	damaged aux-hole 1 "$pt" drop-aux 3
	damaged record-lost 0 "$pt" lost 3
	damaged 'aux-hole aux-order time-back' 1 "$pt" order 3
	damaged 'aux-hole aux-range' 1 "$pt" range 3
	damaged 'aux-hole empty-record' 1 "$pt" empty 3
	damaged flag-unknown 1 "$pt" flags 3 0x20
	damaged flag-format 1 "$pt" flags 3 0x100
	damaged mode-mixed 1 "$pt" flags 3 2
	damaged 'truncated truncated-inside' 1 "$pt" flags 3 1
	damaged 'collision flag-foreign' 1 "$pt" flags 3 8
	damaged partial 0 "$pt" flags 3 4
	damaged time-back 1 "$pt" time 3 200000
	damaged bytes-missing 1 "$pt" drop-trace 0
	damaged missed-interrupt 1 "$pt" watermark 0 4096
	damaged bytes-without-record 1 "$pt" drop-aux 0
	"$AUXTAP" audit "$AUXTAP_TRACES/perfdata/zstd-sleep/perf.data" 2>err
	[ $? = 3 ] && grep -q 'nothing to audit' err || fail "no trace: $(cat err)"
fi

# ---- event logs ----
good=$SRC/tests/cli/audit/unit.csv
audit 0 '' --log "$good"
python3 -c 'import json
a = json.load(open("json"))
r = a["rings"][0]
assert a["unit"] == "example" and r["bytes"] == 14000, a
assert r["past_watermark"] == 3 and r["interrupts"] == 3 and r["starts"] == 0, a
assert [s["count"] for s in r["overshoots"]] == [1, 1, 1] and r["largest_unread"] == 4112, r' ||
	fail "log: $(cat json)"
# edit SED NAMES STATUS
edited() {
	sed "$1" "$good" >log.csv
	cmp -s log.csv "$good" && fail "sed '$1' changes nothing"
	audit "$3" "$2" --log log.csv
}
edited '/^520,irq/d; /^600,mark/d; /^930,irq/d' interrupt-missing 1
edited 's/^520,irq.*/&\n540,irq/' interrupt-doubled 1
edited 's/^500,write.*/490,write,8000\n491,irq\n&/; /^520,irq/d' interrupt-early 1
edited 's/^515,write,8200/515,write,8300/; s/^650,tail.*/650,tail,8300/' interrupt-late 1
edited 's/^520,irq/1100,irq/; s/^600,mark/1101,mark/; /^6[56]0,/d; /^9[0-9]*,/d; /^1200/d' \
	interrupt-late 1
edited 's/^1200,write,14000/1200,write,30000/' 'interrupt-missing unread-overwritten write-past-limit' \
	1
edited 's/^900,write.*/&\n910,write,12000/' pointer-back 1
edited 's/^320,limit,20480/320,limit,20500/' limit-ahead 1
edited 's/^940,tail,12288/940,tail,12289/' tail-ahead 1
edited 's/^660,/640,/' log-time-back 1
edited 's/^940,tail.*/&\n945,nonsense,1/' log-damaged 1
# what the kernel does, if the log contains it: D18, D7, D21
edited 's/^300,mark/270,head,4000\n271,head,4112\n272,wakeup\n&/' '' 0
edited 's/^300,mark/270,head,4000\n271,head,4112\n&/' wakeup-not-sent 1
edited 's/^300,mark/270,head,4000\n271,head,4090\n&/' '' 0
edited 's/^# page/# mode: overwrite\n&/; s/^300,mark/272,wakeup\n&/' wakeup-overwrite 1
again='270,truncated,7\n280,truncated,7\n290,truncated,7'
edited "s/^300,mark/$again\n&/" truncated-goes-on 1
edited "s/^300,mark/${again/280,truncated,7/280,truncated,8}\n&/" '' 0
edited "s/^300,mark/${again/280,/280,tail,4000\\n280,}\n&/" '' 0
edited 's/^200,write/110,truncated,7\n120,truncated,7\n130,truncated,7\n&/' '' 0
# B18, D2: a new area after its end
edited '$s/$/\n1300,freed/' '' 0
edited '$s/$/\n1300,freed,0\n1400,begin,0\n1401,tail,0\n1402,limit,16384\n1403,write,100\n1404,end/' \
	'' 0
edited '$s/$/\n1300,freed,1/' freed-in-transaction 1
edited 's/^0,limit/0,begin,0\n&/; $s/$/\n1300,end\n1310,freed/' '' 0
edited 's/^0,limit/0,begin,0\n&/; $s/$/\n1300,freed\n1310,end/' freed-in-transaction 1
edited '$s/$/\n1300,freed\n1400,write,100/' '' 0
edited 's/^0,limit/0,begin,0\n&/; s/^0,mark/0,mark/; /^[3-9]..,/d; /^1...,/d; /^250,irq/d; s/^245,.*/245,write,4200\n246,end\n247,freed/' \
	interrupt-missing 1
# ... and at the drivers' interrupt threshold: the page of the next watermark
edited 's/^0,limit/0,begin,0\n&/' '' 0
edited 's/^0,limit/0,begin,0\n&/; s/^0,mark,4096/0,mark,8192/' 'interrupt-early threshold-late' 1
edited 's/^# watermark.*/# watermark: 8000/; s/^0,limit/0,begin,0\n&/; s/^0,mark,4096/0,mark,8192/' \
	interrupt-early 1
edited 's/^940,tail.*/&\n945,lost,77/' lost 0
python3 -c 'import json
f = json.load(open("json"))["findings"][0]
assert f["bytes"] == 77 and open("log.csv").read()[f["offset"]:].startswith("945,lost"), f' ||
	fail 'offset of a line'
"$AUXTAP" audit --log "$SRC/README.md" 2>err
[ $? = 3 ] && grep -q 'TIME,EVENT,VALUE' err || fail "no log: $(cat err)"

# ---- a recording and the log of its unit ----
# held NAMES STATUS SED-OF-RECORDING SED-OF-LOG: audits both files, edited; a SED may be empty
held() {
	sed "$3" "$SRC/tests/cli/audit/$UNIT.txt" >held.txt
	sed "$4" "$SRC/tests/cli/audit/$UNIT.csv" >held.csv
	[ -z "$3" ] || ! cmp -s held.txt "$SRC/tests/cli/audit/$UNIT.txt" || fail "sed '$3' changes nothing"
	[ -z "$4" ] || ! cmp -s held.csv "$SRC/tests/cli/audit/$UNIT.csv" || fail "sed '$4' changes nothing"
	aux_file held.data "$UNIT" 16384 <held.txt
	audit "$2" "$1" held.data --unit-log held.csv ${OPTIONS:-}
}
UNIT=pt
held 'lost truncated' 0 '' ''
# the record and the file contain 16 bytes more, or less, than the unit wrote
held 'bytes-not-written lost truncated' 1 's/ 6000$/ 6016/' ''
python3 -c 'import json
f = [f for f in json.load(open("json"))["findings"] if f["name"] == "bytes-not-written"][0]
assert f["bytes"] == 16 and f["log"] is None and f["cpu"] == 1, f
assert f["offset"] > 0x4000 and "0x5770" in f["text"], f' ||
	fail "where: $(cat json)"
held 'lost truncated unit-bytes-unrecorded' 1 's/ 6000$/ 5984/' ''
python3 -c 'import json
f = [f for f in json.load(open("json"))["findings"] if f["name"] == "unit-bytes-unrecorded"][0]
assert f["bytes"] == 16 and f["log"] == "held.csv", f
assert open("held.csv").read()[f["offset"]:].startswith("3020,write"), f' ||
	fail "where: $(cat json)"
# the unit writes on a page beyond the end of the area, and the driver believes it
held 'bytes-not-written interrupt-late lost truncated' 1 's/ 6000$/ 10096/' \
	's/^3020,.*/3015,jump,20480\n3020,write,20600/; s/^3035,write.*/3035,write,20700/; s/22384/26480/; s/^3000,limit.*/3000,limit,32768/'
# a record and its bytes are missing
held 'truncated unit-bytes-unrecorded' 1 '/ 0 4112/d' 's/^1910,lost.*//; s/^2000,end/2000,end,16384/'
held 'lost record-lost truncated' 0 's/^aux 1 1100.*/lost 1 1500 1/' ''
held 'loss-unflagged lost' 1 's/12272 1$/12272/' ''
# a stopped unit loses bytes until its interrupt: the interrupt is late, too
held 'interrupt-late lost truncated' 1 '' 's/^1910,lost,60/1910,lost,65/'
held 'loss-unflagged lost lost-with-space truncated' 1 '' 's/^3040.*/&\n3050,lost,7/'
held 'loss-unflagged lost lost-with-space truncated' 1 '' 's/^1200,begin.*/1150,begin,4112\n1150,limit,16384\n1160,lost,7\n1170,end\n&/'
held 'flag-without-cause lost truncated truncated-inside' 1 's/ 6000$/ 6000 1/' ''
# only a hole is PARTIAL
held 'lost partial truncated' 0 's/^aux.*6000$/& 4/' 's/^3040.*/&\n3050,hole/'
held 'flag-without-cause lost truncated truncated-inside' 1 's/^aux.*6000$/& 1/' 's/^3040.*/&\n3050,hole/'
held 'loss-unflagged lost truncated' 1 '' 's/^3040.*/&\n3050,hole/'
# H6: a begin with too little space leaves an empty record; the unit was not on
held 'lost truncated' 0 's/^trace 1 4112.*/aux 1 2200 16384 0 1\n&/' ''
# D14: nothing was written, the transaction leaves no record
held 'lost truncated' 0 '' 's/^3000,begin/2900,begin,16384\n2910,end\n&/'
# interrupts: while the unit is off; a due one may come then; twice; a page off; none
held 'interrupt-stopped lost truncated' 1 '' 's/^3060,end/&\n3070,irq/'
held 'lost truncated' 0 '' 's/^1950,irq//; s/^2000,end/1950,end\n1960,irq/'
held 'interrupt-doubled lost truncated' 1 '' 's/^1080,end/1075,irq\n&/'
held 'interrupt-early lost truncated' 1 '' 's/^3000,mark.*/&\n3001,irq/'
held 'interrupt-late lost truncated' 1 '' '/^3030,irq/d; s/^3040,write.*/&\n3041,irq/'
OPTIONS='--max-delay 5ns' held 'interrupt-late lost truncated' 1 '' ''
held 'interrupt-missing lost truncated' 1 '' '/^3030,irq/d'
held 'lost truncated write-past-limit' 1 '' 's/^3000,limit,32768/3000,limit,22000/'
# missing events excuse only the findings next to them
held 'log-gap lost' 0 's/12272 1$/12272/' 's/^1950,irq/1950,gap/'
held 'bytes-not-written log-gap lost truncated' 1 's/ 6000$/ 6016/' 's/^1950,irq/1950,gap/'
held 'log-gap truncated' 0 's/ 6000$/ 6016/' 's/^1900,.*/1900,gap/; /^19[15]0,/d; /^[23]...,/d'
held 'bytes-not-written log-gap truncated' 1 's/ 6000$/ 6016/' 's/^1900,.*/1900,gap/; /^19[15]0,/d; /^2...,/d'
# another CPU's log: this CPU's unit is unknown, and that unit's bytes are in no record
held 'lost truncated unit-bytes-unrecorded' 1 '' 's/^# cpu: 1/# cpu: 3/'
grep -q '"ring-unlogged": 1' json || fail "another CPU: $(cat json)"
# rings of threads: one thread, seen by two units
sed 's/ 1 / t77 /' "$SRC/tests/cli/audit/pt.txt" | aux_file thread.data pt 16384
{
	grep '^#' "$SRC/tests/cli/audit/pt.csv"
	echo '900,ring,77'
	sed -n '/^1000,/,/^1080,/p; /^3000,/,/^3060,/p' "$SRC/tests/cli/audit/pt.csv"
} >unit1.csv
{
	grep '^#' "$SRC/tests/cli/audit/pt.csv" | sed 's/cpu: 1/cpu: 0/'
	echo '1150,ring,77'
	sed -n '/^1200,/,/^2000,/p' "$SRC/tests/cli/audit/pt.csv"
} >unit0.csv
audit 0 'lost truncated' thread.data --unit-log unit0.csv --unit-log unit1.csv
audit 1 'bytes-not-written truncated' thread.data --unit-log unit1.csv
# a log without its CPU; a file that is not a log; a file that is not a recording
{ cat "$SRC/tests/cli/audit/pt.txt"; echo 'aux 0 100 0 8'; echo 'trace 0 0 8'; } |
	aux_file two.data pt 16384
sed '/^# cpu/d' "$SRC/tests/cli/audit/pt.csv" >no_cpu.csv
"$AUXTAP" audit two.data --unit-log no_cpu.csv 2>err
[ $? = 3 ] && grep -q '# cpu: N' err || fail "log without a CPU: $(cat err)"
"$AUXTAP" audit two.data --unit-log "$SRC/README.md" 2>err
[ $? = 3 ] && grep -q 'README.md.*TIME,EVENT,VALUE' err || fail "no log: $(cat err)"
held 'lost truncated' 0 '' '/^# cpu/d'
"$AUXTAP" audit held.data --unit-log held.csv --format junit >junit.xml || fail 'junit: status'
python3 -c 'import xml.etree.ElementTree as x
names = [c.get("name") for c in x.parse("junit.xml").getroot()[0].findall("testcase")]
assert {"unit-bytes-unrecorded", "interrupt-stopped", "aux-hole"} <= set(names), names
assert len(set(names)) == len(names), names' ||
	fail 'junit of both'

# ---- for CI systems ----
sed '/^520,irq/d; /^600,mark/d; /^930,irq/d' "$good" >'a <log> & "b".csv'
"$AUXTAP" audit --log --format junit 'a <log> & "b".csv' >junit.xml
python3 - <<'PY' || fail 'junit'
import xml.etree.ElementTree as x
suite = x.parse("junit.xml").getroot()[0]
assert suite.get("failures") == "1" and 'a <log> & "b".csv' in suite.get("name"), suite.attrib
cases = suite.findall("testcase")
assert len(cases) == int(suite.get("tests")) == 20, len(cases)
bad = [c.get("name") for c in cases if c.find("failure") is not None]
assert bad == ["interrupt-missing"], bad
assert "0x2000" in suite.find(".//failure").text
PY

# ---- usage ----
for options in '--format xml' '--aux-size 1X' '--aux-size 17179869184G' '--page 3000' \
	'--max-skid 0' '--max-delay 1h' '--log --unit-log a b' '--nonsense' 'a b' '--log'; do
	"$AUXTAP" audit $options >out 2>err
	[ $? = 2 ] && [ -s err ] && [ ! -s out ] || fail "$options: $(cat err)"
done
"$AUXTAP" audit /nonexistent 2>err
[ $? = 3 ] || fail 'a missing file'
"$AUXTAP" audit spe.data >/dev/full 2>err
[ $? = 3 ] && grep -q 'cannot write' err || fail "disk full: $(cat err)"

# a finding for each of very many records costs no more than the first thousand
"$AUXTAP" audit --aux-size 4096 spe.data >text
grep -q 'VIOLATION larger-than-buffer.* 7[0-9] times' text && grep -q '    and 6[0-9] more' text ||
	fail "many: $(cat text)"
finish
