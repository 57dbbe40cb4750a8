#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# auxtap decode on a raw trace of five instructions: whole output in each format, options, exit
# statuses.
. "$(dirname "$0")/lib.sh"

# 1000: nop; nop; jne 1000; call 1010; 1009: jmp *%rax; ... 1010: nop; ret
printf '\x90\x90\x75\xfc\xe8\x07\x00\x00\x00\xff\xe0\xeb\xfe\x90\x90\x90\x90\xc3' >code
psb='\x02\x82\x02\x82\x02\x82\x02\x82\x02\x82\x02\x82\x02\x82\x02\x82'
# PSB+ at 1000; taken, not taken; then PSB+ at 1010; TIP 5000
{
	printf "$psb"'\x99\x01\x7d\x00\x10\x00\x00\x00\x00\x02\x23\x0c'
	printf "$psb"'\x99\x01\x7d\x10\x10\x00\x00\x00\x00\x02\x23\x6d\x00\x50\x00\x00\x00\x00'
	printf '\x06'
} >trace
# one instruction is known to have run: the PSB+ of 1001 confirms it
printf "$psb"'\x99\x01\x7d\x00\x10\x00\x00\x00\x00\x02\x23'"$psb"'\x99\x01\x7d\x01\x10\x00\x00\x00\x00\x02\x23' \
	>one
raw=(decode --raw pt --image "$WORK/code@0x1000")

same() { # name, expected text, arguments...
	local name=$1 want=$2 got
	shift 2
	got=$("$AUXTAP" "$@" 2>&1)
	[ "$got" = "$want" ] || fail "$name: got
$got
instead of
$want"
}
status() { # expected, arguments...
	local want=$1 got
	shift
	"$AUXTAP" "$@" >out 2>err
	got=$?
	[ $got -eq "$want" ] || fail "$*: status $got instead of $want: $(head -3 err)"
	[ "$want" -eq 0 ] || grep -q '^auxtap: .*: .*' err || grep -q '^usage' err || fail "$*: no message"
}

same ip $'1000\n1001\n1002\n1000\n1001\n1002\n1004\n1010\n1011' "${raw[@]}" --events insn -F ip \
	trace
same last $'1010\n1011' "${raw[@]}" --events insn -F ip --last 2 trace
for nr in 1 3 4 5 7 8 9 10; do # of nine events
	same "last $nr" "$("$AUXTAP" "${raw[@]}" --events insn -F ip trace | tail -n $nr)" \
		"${raw[@]}" --events insn -F ip --last $nr trace
done
same jobs $'1000\n1001\n1002\n1000\n1001\n1002\n1004\n1010\n1011' "${raw[@]}" --events insn -F ip \
	-j 2 trace
same csv 'event,ip,addr,flags,gap
branch,0x1002,0x1000,jcc,
branch,0x1004,0x1010,call,
branch,0x1011,0x5000,return,
gap,,,,"no_image, 1 bytes not decoded: no mapping known at 5000"' \
	"${raw[@]}" --events branch,gap -F event,ip,addr,flags --format csv trace
same jsonl 'auxtap: trace: this file contains Intel PT trace, so no memory samples
{"event":"call","ip":"1004","addr":"1010","insn":"e8 07 00 00 00",'\
'"insnlen":5,"asm":"callq 0x1010","phys":null}
{"event":"gap","ip":null,"addr":null,"insn":null,"insnlen":null,"asm":null,"phys":null,'\
'"cause":"no_image","nr_bytes":1,"exact":true,"detail":"no mapping known at 5000"}' \
	"${raw[@]}" --events call,gap -F event,ip,addr,insn,insnlen,asm,phys --format jsonl trace
# capstone's library is loaded for the disassembly alone, and its lack is stated
mkdir without
library=libcapstone.so.$(sed -n 's/^#define CS_API_MAJOR //p' /usr/include/capstone/capstone.h)
: >"without/$library"
export LD_LIBRARY_PATH=$PWD/without
same "no capstone" "($library cannot be loaded)" "${raw[@]}" --events call -F asm trace
same "no capstone needed" 1004 "${raw[@]}" --events call -F ip trace
unset LD_LIBRARY_PATH
same summary 'instructions: 9
branches: 3
gaps: 1
errors: 0
bytes: 63
threads: 1
span: 0.000000000' "${raw[@]}" --summary --events insn trace
# names: UTF-8 unchanged, an invalid byte as \xNN
name=$(printf 'c\303\266de\377')
cp code "$name"
same utf8-jsonl "{\"ip\":\"1000\",\"dso\":\"$(printf 'c\303\266de')\\\\xff\"}" decode --raw pt \
	--image "$name@0x1000" \
	--events insn -F ip,dso --format jsonl one
same utf8-csv "ip,dso
0x1000,$(printf 'c\303\266de')\\xff" decode --raw pt --image "$name@0x1000" --events insn \
	-F ip,dso --format csv one
# a range of the file: only the first two bytes
same range '1000
1001
---- gap: no_image, 9 bytes not decoded: no mapping known at 1002 ----' decode --raw pt \
	--image "$WORK/code:0-2@0x1000" --events insn,gap -F ip trace

# two adjacent causes: both are kept, each with its size
{ printf '\x19\x19\x19'; cat trace; } >both
same touching \
	'---- gap: overwritten, at least 3 bytes lost: '\
'3 bytes before the first synchronisation point at offset 0x3 ----
---- gap: no_image, 9 bytes not decoded: no mapping known at 1000 ----' decode --raw pt \
	--events insn,gap -F ip both
"$AUXTAP" report --raw pt both >out
grep -q '^  1 gap: overwritten' out && grep -q '^  1 gap: no_image, .* bytes not decoded$' out ||
	fail "report: two adjacent causes: $(sed -n '/^What/,/^$/p' out)"

same mem 'auxtap: trace: this file contains Intel PT trace, so no memory samples' "${raw[@]}" \
	--events mem trace
# report and dump take the same options
"$AUXTAP" report "${raw[@]:1}" trace >out || fail "report --raw: status $?"
grep -q '^  9 instructions, 3 branches in 1 thread' out || fail "report --raw: $(cat out)"
grep -q '^  1 gap: no_image' out || fail "report --raw: no gap reported"
"$AUXTAP" dump "${raw[@]:1}" trace >out 2>err || fail "dump --raw: status $?"
[ "$(wc -l <out)" -eq 11 ] || fail "dump --raw: $(cat out)"
grep -q '^auxtap: --image: .*no effect' err || fail "dump does not say that --image changes nothing"
# sideband, from a ring: COMM exec and ITRACE_START with sample id (TID, TIME, CPU)
{
	printf \
		'\x03\0\0\0\0\x20\x30\0''\x07\0\0\0\x08\0\0\0prog\0\0\0\0'\
'\x07\0\0\0\x08\0\0\0''\x64\0\0\0\0\0\0\0''\x02\0\0\0\0\0\0\0'
	printf \
		'\x0c\0\0\0\0\0\x28\0''\x07\0\0\0\x08\0\0\0'\
'\x07\0\0\0\x08\0\0\0''\x65\0\0\0\0\0\0\0''\x02\0\0\0\0\0\0\0'
} >sideband
same sideband 'prog                   8             1000' decode --raw pt --image "$WORK/code@0x1000" \
	--sideband sideband --sample-type 0x86 --events insn -F comm,tid,ip one
"$AUXTAP" dump --raw pt:cpu=6/85/4 --sideband sideband --sample-type 0x86 one >out || fail "dump --sideband: status $?"
grep -q 'COMM 7/8 cpu 2 time 0.000000100: 7/8 exec prog' out || fail "dump --sideband: $(cat out)"
# Switches of a CPU whose number is in no record (TID, TIME): they count. Thread 8 runs, then 9 from
# time 5000 on; the trace has its timestamps at 0x1000 and 0x2000.
ids() { printf "\\x$1\\0\\0\\0\\x$1\\0\\0\\0\\x$2\\x$3\\0\\0\\0\\0\\0\\0"; }
# out, to $1
switch() { printf '\x0f\0\0\0\x00\x20\x20\0'"\\x$1\\0\\0\\0\\x$1\\0\\0\\0"; ids "$2" "$3" "$4"; }
comm() { printf '\x03\0\0\0\0\0\x28\0'"\\x$1\\0\\0\\0\\x$1\\0\\0\\0"'task\0\0\0\0'; ids "$1" \
	01 00; }
# TSC; not taken, call
stamped() { printf "$psb"'\x19\x00'"\\x$1"'\0\0\0\0\0\x99\x01\x7d\x00\x10\x00\x00\x00\x00\x02\x23\x04'; }
{ stamped 10; printf '\x01'; stamped 20; printf '\x01'; } >two
{ comm 08; comm 09; switch 08 01 02 00; switch 09 08 88 13; } >switches
clock=(--time-conv 0,1,0)
one_cpu=(decode --raw pt --image "$WORK/code@0x1000" --sideband switches --sample-type)
want=$(printf '%s\n' '8 1000' '9 1000')
got=$("$AUXTAP" "${one_cpu[@]}" 0x6 "${clock[@]}" --events insn -F tid,ip two |
	sed -E 's/^ +//; s/ +/ /g' | grep ' 1000$')
[ "$got" = "$want" ] || fail "switches of a CPU without a number: $got"
# without a common clock the running thread is unknown, even with the first thread's exec in the
# sideband
{ comm 08 | sed 's/^\x03\x00\x00\x00\x00\x00/\x03\x00\x00\x00\x00\x20/'; comm 09; switch 08 01 \
	02 00; switch 09 08 88 13; } >switches
got=$("$AUXTAP" "${one_cpu[@]}" 0x6 --events insn -F tid,ip two | sed -E 's/^ +//; s/ +/ /g' |
	grep ' 1000$' | sort -u)
[ "$got" = '-1 1000' ] || [ "$got" = '- 1000' ] || fail "switches without a clock: $got"
# to the idle task, which has no user code
{ comm 08; switch 08 01 02 00; switch 00 08 88 13; } >switches
got=$("$AUXTAP" "${one_cpu[@]}" 0x6 "${clock[@]}" --events insn -F tid,ip two |
	sed -E 's/^ +//; s/ +/ /g' | grep ' 1000$')
[ "$got" = $'8 1000\n-1 1000' ] || [ "$got" = $'8 1000\n- 1000' ] || fail "user code of the idle task: $got"
head -c 60 sideband >cut
status 1 dump --raw pt --sideband cut --sample-type 0x86 one
{
	cat sideband
	printf 'abc'
} >tail
status 1 dump --raw pt --sideband tail --sample-type 0x86 one
grep -q 'tail: cut off in the record at offset' err || fail "three bytes after the last record: $(cat err)"
grep -q '^[0-9a-f]\{16\} .* psbend' out || fail "after damaged sideband no packets are listed"

for command in decode report dump; do
	status 2 $command --raw pt:cpu=6/85 trace
	status 2 $command --raw pt:cpu=6/-1/4 trace
	status 2 $command --raw pt:cpu=6/85/4x trace
	status 2 $command --raw pt --mtc-freq 16 trace
	status 2 $command --raw pt --nom-freq 0 trace
	status 2 $command --raw pt --cpuid-0x15 2 trace
	status 2 $command --raw pt --cpuid-0x15 0,308 trace
	status 2 $command --raw pt --time-conv 64,1,0 trace
	status 2 $command --raw pt --tsc-offset x trace
	status 2 $command --mtc-freq 3 trace
	status 2 $command --raw pt
	status 3 $command --raw pt nowhere
done
cp code ./--image
for command in decode report; do
	status 2 $command --raw pt --image code trace
	[ "$(cat err)" = "auxtap: --image: 'code' is not FILE[:OFF-END]@ADDR" ] ||
		fail "$command, --image: $(cat err)"
	status 2 $command --raw pt --image code:4-4@0x1000 trace
	[ "$(cat err)" = "auxtap: --image: 'code:4-4@0x1000': the range is empty" ] ||
		fail "$command, --image: $(cat err)"
	# the value is right, the file of that name is too short
	status 3 $command --raw pt --image=--image:0-999@0x1000 trace
done
status 2 decode --no-such-option trace
status 2 decode --events nonsense trace
status 2 decode -F nonsense trace
status 2 decode --format xml trace
status 2 decode -j 0 trace
status 2 decode --time 5 trace
status 2 decode --last x trace
status 2 decode --raw etm9 trace
status 2 decode --image "$WORK/code@0" trace
status 2 decode a b
status 3 decode --raw pt --image "$WORK/nowhere@0x1000" trace
status 3 decode --raw pt nowhere
status 3 decode nowhere
status 3 decode code
: >empty
status 3 decode --raw pt empty
status 3 decode empty
status 0 decode --help
if [ -w /dev/full ]; then
	"$AUXTAP" "${raw[@]}" --events insn -F ip trace >/dev/full 2>err
	[ $? -eq 3 ] || fail "a full disk is not reported"
fi
# 32-bit code is disassembled so, also where an event comes before the first instruction of the
# trace: MODE.Exec, TIP.PGE 1000, FUP 1000 and TIP.PGD for an interrupt at the first instruction
printf '\xa1\x78\x56\x34\x12\x90\x90\x90\x90\x90' >code32
ip='\x00\x10\x00\x00\x00\x00'
printf "$psb"'\x02\x23\x99\x02\x71'"$ip"'\x7d'"$ip"'\x01' >trace32
printf "$psb"'\x02\x23\x99\x01\x71'"$ip"'\x7d'"$ip"'\x01' >trace64
same bits32 'event,ip,asm
async,0x1000,"movl 0x12345678, %eax"' decode --raw pt --image "$WORK/code32@0x1000" \
	--events async --format csv -F event,ip,asm trace32
same bits64 'event,ip,asm
async,0x1000,"movabsl 0x9090909012345678, %eax"' decode --raw pt \
	--image "$WORK/code32@0x1000" --events async --format csv -F event,ip,asm trace64
# of a branch, whose target a later packet has
printf '\xff\xe0\x90\x90\x90\x90\x90\x90\x90\x90' >jump32
printf "$psb"'\x02\x23\x99\x02\x71'"$ip"'\x6d\x00\x50\x00\x00\x00\x00' >trace32
same branch32 'event,ip,asm
branch,0x1000,jmpl *%eax' decode --raw pt --image "$WORK/jump32@0x1000" \
	--events branch --format csv -F event,ip,asm trace32
finish
