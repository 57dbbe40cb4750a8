#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Arm SPE on any machine: the samples of AArch64 programs are exactly the instructions that ran
# there, with the program's data addresses and the targets that ran next.
set -u
fixtures=$BIN/../fixtures/a64
if ! command -v qemu-aarch64 >/dev/null || [ ! -x "$fixtures/qemu_a64" ]; then
	echo "skipped: qemu-aarch64 or a compiler for AArch64 is not installed"
	exit 77
fi
PATH=$BIN:$PATH
guard() { "$BIN/../tests/watchdog" --cpu 600 "$@"; }
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
failures=0

fail()
{
	echo "FAILED: $*"
	failures=$((failures + 1))
}

# sample EVENT COMMAND...: records; $dir/truth.TID, $dir/samples.TID: ip, address, operation
sample()
{
	local event=$1 truth tid
	shift
	rm -f "$dir"/*
	guard auxtap record -e "$event" --backend emulated --source qemu --truth "$dir/raw" -o "$dir/data" \
		-- "$@" >"$dir/out" 2>"$dir/err" || fail "$event $*: status $?: $(tail -1 "$dir/err")"
	for truth in "$dir"/raw.*; do
		tid=${truth##*.}
		od -An -v -t x8 -w8 "$truth" | sed 's/^ *0*//' >"$dir/truth.$tid"
		# addresses are in mem and branch events; times identify their
		# sample
		auxtap decode --events mem,branch -F time,addr --tid "$tid" --format csv \
			"$dir/data" | sed 's/\<0x//g' >"$dir/addresses"
		auxtap decode --events insn -F time,ip,op --tid "$tid" --format csv "$dir/data" |
			sed 's/\<0x//g' |
			awk -F, 'NR == FNR { addr[$1] = $2; next }
				FNR > 1 { print $2, $1 in addr ? addr[$1] : "-", $3 }' \
				"$dir/addresses" - >"$dir/samples.$tid"
	done
	auxtap decode --events gap -F tid "$dir/data" >"$dir/gaps"
	[ -s "$dir/gaps" ] && fail "$event $*: gaps: $(head -1 "$dir/gaps")"
}

# spaced TID MIN MAX: samples are MIN to MAX instructions apart, the first at most 600 later
spaced()
{
	awk -v min="$2" -v max="$3" '
	NR == FNR { want[++n] = $1; next }
	{ ran[FNR] = $1; last = FNR }
	END {
		at = 0
		for (i = 1; i <= n; i++) {
			from = at + min; to = at + max
			if (i == 1) to += 600
			found = 0
			for (k = from; k <= to && k <= last; k++)
				if (ran[k] == want[i]) { found = k; break }
			# an address that runs often may have its first match in the window too
			# early; exact intervals have only one match, except for the first
			if (i == 1 && min == max) {
				for (; k <= to && k <= last; k++) {
					good = 1
					for (j = 2; j <= n && good; j++)
						good = ran[k + (j - 1) * min] == want[j]
					if (good) { found = k; break }
				}
			}
			if (!found) {
				print "sample " i " of " n " (" want[i] ") did not run between " \
					from " and " to
				exit 1
			}
			at = found
			if (min == max) print found >places
		}
		if (min == max && last - at >= max) {
			print "the last is " last - at " before the end"; exit 1 }
	}' places="$dir/places.$1" "$dir/samples.$1" "$dir/truth.$1" ||
		fail "thread $1"
}

# checked STATUS PERIOD IMAGES COMMAND...: qemu's own log of registers (of code in these images;
# empty: of all) is the reference: samples are instructions that ran, with the addresses that the
# registers give
checked()
{
	local expected=$1 period=$2 images=$3 status tid slack=0 nr=0 filter='' ranges=() qemu one
	shift 3
	rm -f "$dir"/*
	qemu=$("$BIN/auxtap-emu" engines | awk -F '\t' '$1 == "aarch64" { print $3 }')
	one=-one-insn-per-tb
	"$qemu" -help | grep -q -e "$one" || one=-singlestep # before 8.1
	printf '#!/bin/sh\nexec %s "$@"\n' "$qemu" >"$dir/qemu"
	chmod +x "$dir/qemu"
	export AUXTAP_QEMU_AARCH64=$dir/qemu
	if [ -n "$images" ]; then # they are at the same address each time
		auxtap record -e arm_spe_0// --backend emulated --source qemu -o "$dir/data" \
			-- "$@" >"$dir/out" 2>"$dir/err"
		mapfile -t ranges < <(auxtap dump "$dir/data" | grep MMAP2 | grep -E "$images" |
			sed 's/.*\[\(0x[0-9a-f]*\)(\(0x[0-9a-f]*\)).*/\1+\2/' | sort -u)
		[ ${#ranges[@]} -gt 0 ] || fail "no image is $images"
		filter="-dfilter $(IFS=,; echo "${ranges[*]}")"
	fi
	# (the probes before the run leave no log: they end before anything is executed)
	printf '#!/bin/sh\nexec %s %s -d cpu,nochain,tid %s -D %s/log-%%d "$@"\n' \
		"$qemu" "$one" "$filter" "$dir" >"$dir/qemu"
	guard auxtap record -e "arm_spe_0/period=$period/" --backend emulated \
		--source qemu --truth "$dir/raw" -o "$dir/data" -- "$@" >"$dir/out" 2>"$dir/err"
	status=$?
	unset AUXTAP_QEMU_AARCH64
	[ $status = "$expected" ] || fail "$*: status $status, not $expected: $(tail -1 "$dir/err")"
	[ "$expected" = 0 ] || slack=2
	auxtap decode --events gap -F tid "$dir/data" >"$dir/gaps"
	[ -s "$dir/gaps" ] && fail "$*: gaps: $(head -1 "$dir/gaps")"
	for truth in "$dir"/raw.*; do
		tid=${truth##*.}
		auxtap decode --events mem,branch -F time,addr --tid "$tid" --format csv \
			"$dir/data" | sed 's/\<0x//g' >"$dir/addresses"
		auxtap decode --events insn -F time,ip,op,asm --tid "$tid" --format csv \
			"$dir/data" | sed 's/^\([0-9.]*\),0x/\1,/' |
			awk 'NR == FNR { split($0, f, ","); addr[f[1]] = f[2]; next }
				FNR > 1 { split($0, f, ","); sub(/^[^,]*,[^,]*,/, "")
					print f[2] "," (f[1] in addr ? addr[f[1]] : "-") "," $0 }' \
				"$dir/addresses" - >"$dir/samples.$tid"
		python3 "$SRC/tests/tools/a64_samples.py" "$dir/log-$tid" "$truth" "$dir/samples.$tid" \
			"$period" \
			$slack "${ranges[@]}" >"$dir/verdict" 2>&1 ||
			fail "${1##*/}: thread $tid: $(tail -1 "$dir/verdict")"
		echo "${1##*/}: $(cat "$dir/verdict")"
		nr=$((nr + 1))
	done
	[ $nr -gt 0 ] || fail "$*: no threads"
}

if command -v python3 >/dev/null; then
	checked 0 256 '' "$fixtures/qemu_a64" touch
	checked 0 512 '' "$fixtures/recursion_static"
	checked 0 512 '' "$fixtures/recursion"
	[ -x "$fixtures/exceptions" ] && checked 0 512 'exceptions$|libgcc' "$fixtures/exceptions"
	checked 0 256 '' "$fixtures/threads4_static"
	checked 139 256 '' "$fixtures/null_deref"
else
	echo "not compared with registers: no python3"
fi

# exactly every 1024th instruction
for program in recursion_static recursion exceptions; do
	[ -x "$fixtures/$program" ] || continue
	sample arm_spe_0/period=1024/ "$fixtures/$program"
	for truth in "$dir"/truth.*; do
		tid=${truth##*.}
		spaced "$tid" 1024 1024
		echo "$program: $(wc -l <"$dir/samples.$tid") samples"
		[ -s "$dir/samples.$tid" ] || fail "$program: no samples"
		# a branch's target is the next executed instruction
		awk '
		NR == FNR { ran[FNR] = $1; next }
		FILENAME ~ /places/ { place[++n] = $1; next }
		{ i++ }
		$3 == "B" {
			nr++
			if ($2 != ran[place[i] + 1]) {
				print "branch at " $1 " went to " ran[place[i] + 1] ", not " $2
				exit 1
			}
		}
		END { if (!nr) { print "no branches"; exit 1 } }
		' "$dir/truth.$tid" "$dir/places.$tid" "$dir/samples.$tid" || fail "$program: branches"
	done
done

# four threads, each its own unit
sample arm_spe_0/period=512/ "$fixtures/threads4_static"
[ "$(ls "$dir"/samples.* | wc -l)" = 5 ] || fail "threads4: $(ls "$dir")"
for truth in "$dir"/truth.*; do
	spaced "${truth##*.}" 512 512
done

# data addresses: round i of the program reads and writes at the printed addresses
sample arm_spe_0/period=256/ "$fixtures/qemu_a64" touch
tid=$(ls "$dir" | sed -n 's/^truth.//p')
spaced "$tid" 256 256
read -r _ reading table < <(grep reading "$dir/out")
read -r _ writing pairs < <(grep writing "$dir/out")
awk -v reading="$reading" -v writing="$writing" -v table=$((0x$table)) -v pairs=$((0x$pairs)) '
	NR == FNR { if ($1 == reading) round++; round_at[FNR] = round; next }
	FILENAME ~ /places/ { place[++n] = $1; next }
	{
		i++
		r = round_at[place[i]] - 1
		if ($1 == reading) { nr_read++; want = table + r * 7 % 1024 * 8; op = "LD" }
		else if ($1 == writing) { nr_write++; want = pairs + r * 5 % 512 * 16; op = "ST" }
		else next
		if ($2 != sprintf("%x", want) || $3 != op) {
			print "round " r ": " $0 ", not " sprintf("%x", want); exit 1 }
	}
	END { print nr_read " reads, " nr_write " writes"; exit !(nr_read > 20 && nr_write > 20) }
' "$dir/truth.$tid" "$dir/places.$tid" "$dir/samples.$tid" || fail "data addresses"

# jitter: 256 to 511 apart
sample arm_spe_0/period=256,jitter/ "$fixtures/recursion_static"
for truth in "$dir"/truth.*; do
	tid=${truth##*.}
	nr=$(wc -l <"$dir/samples.$tid")
	all=$(wc -l <"$truth")
	echo "jitter: $nr samples of $all"
	[ "$nr" -ge $((all / 420)) ] && [ "$nr" -le $((all / 340)) ] || fail "jitter: $nr samples of $all"
done

# filters: only loads
sample arm_spe_0/period=256,load_filter/ "$fixtures/recursion_static"
cut -d' ' -f3 "$dir"/samples.* | sort -u >"$dir/kinds"
[ "$(cat "$dir/kinds")" = LD ] || fail "load_filter: $(cat "$dir/kinds")"

# ---- metadata of the recording ----
# the report: a model's latencies are not measured ones, and its data sources have names
auxtap record -e arm_spe_0/period=1024/ --backend emulated -o "$dir/said" \
	-- "$fixtures/threads4_static" >"$dir/out" 2>"$dir/err" || fail "record: $(cat "$dir/err")"
auxtap report "$dir/said" >"$dir/report" 2>"$dir/err" || fail "report: $(cat "$dir/err")"
grep -q 'the unit is emulated: latencies, .* are a model' "$dir/report" ||
	fail "report does not say that the unit is a model: $(head -n 9 "$dir/report")"
sed -n '/^Where the data/,/^Functions/p' "$dir/report" >"$dir/sources"
grep -qE ' (L1 data cache|DRAM)$' "$dir/sources" ||
	fail "sources have no names: $(cat "$dir/sources")"
grep -qE ' 0x[0-9a-f]+$|bare number' "$dir/sources" &&
	fail "a source without a name: $(cat "$dir/sources")"
# it does not say so for hardware
"$BIN/../tests/spe_file" "$dir/hardware" 1000 3 midr && auxtap report "$dir/hardware" >"$dir/report"
[ -s "$dir/report" ] && grep emulated "$dir/report" && fail 'recorded by hardware, but called emulated'

# a program that the unit cannot sample at all: an error, not an empty file and status 0; a shell
# that starts one that it can
auxtap record -e arm_spe_0// --backend emulated -o "$dir/none" -- /bin/true >"$dir/out" 2>"$dir/err"
[ $? = 125 ] || fail "x86-64 program: not 125: $(cat "$dir/err")"
grep -q 'x86-64 code, which arm_spe_0 does not trace' "$dir/err" || fail "$(cat "$dir/err")"
grep -q '^auxtap: .*/none: no trace: no code ran that arm_spe_0// can trace; .*intel_pt' \
	"$dir/err" || fail "x86-64 program: $(cat "$dir/err")"
auxtap record -e arm_spe_0/period=1024/ --backend emulated -o "$dir/some" -- sh -c "$fixtures/threads4_static; exit 4" \
	>"$dir/out" 2>"$dir/err"
status=$?
[ $status = 4 ] || fail "a shell with an AArch64 child: status $status: $(cat "$dir/err")"
grep 'no code ran' "$dir/err" && fail 'traced, but reported as not traced'

# periods that the unit does not support
refused() { # PERIOD TEXT
	rm -f "$dir/refused"
	auxtap record -e "arm_spe_0/period=$1/" --backend emulated -o "$dir/refused" \
		-- "$fixtures/threads4_static" >"$dir/out" 2>"$dir/err"
	[ $? = 125 ] || fail "period $1: not refused"
	grep -q "^auxtap: period: arm_spe_0 cannot sample every $1 operations; $2" "$dir/err" ||
		fail "period $1: $(cat "$dir/err")"
	[ ! -e "$dir/refused" ] || fail "period $1: a file"
}
least=$(sed -n 's/.*least period is \([0-9]*\)$/\1/p' \
	<(auxtap record -e arm_spe_0/period=1/ --backend emulated -o "$dir/x" -- true 2>&1))
[ "${least:-0}" -ge 256 ] || fail "the least period is '$least'"
refused 0 "its least period is $least"
refused 10 "its least period is $least"
refused $((least - 1)) "its least period is $least"
refused 1000 'use a multiple of 256: 768 or 1024'
refused 4294967296 'its largest period is 4294967040'

[ $failures = 0 ] || exit 1
