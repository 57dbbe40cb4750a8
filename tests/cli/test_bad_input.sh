# SPDX-License-Identifier: BSD-2-Clause
# Bad input of every kind: the right exit status, one clear line, and everything usable is kept.
# (test_record_options.sh covers the options of record and crash.)
. "$(dirname "$0")/lib.sh"
source=ptrace
command -v qemu-x86_64 >/dev/null && source=qemu
record() { "$AUXTAP" record --source "$source" "$@" </dev/null; }

# expect STATUS PATTERN COMMAND...: status, and one line on stderr "auxtap: what: why" that matches
expect() {
	local status=$1 pattern=$2 got
	shift 2
	guard "$@" >out 2>err </dev/null
	got=$?
	[ "$got" -eq "$status" ] || fail "$*: status $got, not $status: $(tail -n 3 err)"
	grep -v '^auxtap: backend' err >lines
	[ "$(wc -l <lines)" -eq 1 ] || fail "$*: not one line: $(cat lines)"
	grep -q "^auxtap: .*: .*" lines && grep -q "^auxtap: .*$pattern" lines || fail "$*: '$(cat lines)' lacks '$pattern'"
}

# ---- files of the wrong kind ----
: >empty
echo hi >short
seq 1 1000 >text
head -c 4096 /dev/zero >zeros
mkdir directory
for command in decode report dump; do
	expect 3 'is empty' "$AUXTAP" $command empty
	expect 3 'is empty' "$AUXTAP" $command /dev/null
	expect 3 'not a perf.data file' "$AUXTAP" $command short
	expect 3 'not a perf.data file' "$AUXTAP" $command text
	expect 3 'not a perf.data file' "$AUXTAP" $command zeros
	expect 3 'not a perf.data file' "$AUXTAP" $command "$AUXTAP"
	expect 3 "directory without a file 'data'" "$AUXTAP" $command directory
	expect 3 'No such file' "$AUXTAP" $command missing
	expect 2 'no such option; see' "$AUXTAP" $command --bogus
done
expect 2 'no such option; see' "$AUXTAP" decode -Z text
expect 2 'option requires an argument; see' "$AUXTAP" decode --last
expect 2 'option requires an argument; see' "$AUXTAP" report --calls
expect 2 'no such command' "$AUXTAP" bogus

# ---- truncated: decoded up to the cut, which a gap or a line reports ----
cp "$FIXTURES/null_deref" program
record -o whole -- ./program >/dev/null 2>err
[ $? -eq 139 ] || fail "record: $(tail -n 2 err)"
"$AUXTAP" decode --events insn -F ip whole >all || fail "decode of the whole file"
"$AUXTAP" dump whole >listing || fail "dump of the whole file"
# in the trace bytes, and in a record before them
at=$(awk '/AUXTRACE/ && !/AUXTRACE_(INFO|ERROR)/ && /^ *0x/ { print $1; exit }' listing)
[ -n "$at" ] || fail "no AUXTRACE in the listing"
head -c $((at + 2048)) whole >cut_trace
head -c $((at - 20)) whole >cut_records
expect 1 "at offset [0-9]* is incomplete: [0-9]* bytes.*, [0-9]* there" "$AUXTAP" decode \
	--events insn -F ip cut_trace
[ -s out ] || fail "nothing of the truncated trace was decoded"
head -n "$(wc -l <out)" all | cmp -s - out || fail "the truncated trace is not the beginning of the whole one"
[ "$(wc -l <out)" -lt "$(wc -l <all)" ] || fail "truncation lost nothing"
expect 1 "at offset [0-9]* is incomplete: [0-9]* bytes.*, [0-9]* there" "$AUXTAP" dump cut_trace
for command in decode dump; do
	expect 1 "at offset [0-9]* is incomplete: [0-9]* bytes.*, [0-9]* there" "$AUXTAP" $command \
		cut_records
done
for command in decode report dump; do
	for size in 4 8 16 50 103 200; do
		head -c $size whole >cut
		expect 3 'file' "$AUXTAP" $command cut
	done
done

# ---- a recorder that was killed: all committed data is decoded, and the kill is reported ----
"$AUXTAP" record --source "$source" -m 32,4 -o killed -- sh -c 'echo $$ >program.pid; i=0; while :; do i=$((i + 1)); done' \
	>/dev/null 2>err </dev/null &
pid=$!
wait_for eval '[ "$(stat -c %s killed)" -gt 60000 ]'
kill -KILL "$pid"
wait "$pid" 2>/dev/null
kill -KILL "$(cat program.pid)" # it continues untraced
expect 1 'killed: the recorder did not finish this file' "$AUXTAP" decode --events insn -F ip killed
[ "$(wc -l <out)" -gt 10000 ] || fail "killed: $(wc -l <out) instructions decoded"
expect 1 'killed: the recorder did not finish this file' "$AUXTAP" report killed
grep -q 'What the trace covers' out || fail "killed: no report"
expect 1 'killed: the recorder did not finish this file' "$AUXTAP" dump killed
grep -q 'records of unknown kind: 0' out || fail "killed: not all records are listed"
expect 1 'killed: the recorder did not finish this file' "$AUXTAP" decode --summary killed
# stock perf leaves the size 0: read to the end of the file
cp whole size0
printf '\0\0\0\0\0\0\0\0' | dd of=size0 bs=1 seek=48 conv=notrunc status=none
"$AUXTAP" decode --events insn -F ip size0 >out 2>err
[ $? -eq 1 ] && cmp -s out all || fail "size 0: not what the whole file holds"
grep -q '^auxtap: size0: the recorder did not finish this file' err || fail "size 0: $(cat err)"
# requested, but not in an Intel PT file
expect 0 'this file contains Intel PT trace, so no memory samples' "$AUXTAP" decode \
	--events mem,insn -F ip,phys,lat_total,source,op whole

# ---- a changed or missing binary: named, the rest decoded, a gap, exit 0 ----
cp "$FIXTURES/div_zero" program
expect 0 "program: is not the file that ran.*no_image" "$AUXTAP" decode --events insn -F ip whole
[ "$(wc -l <out)" -gt 10000 ] || fail "changed binary: the rest was not decoded"
[ "$(wc -l <out)" -lt "$(wc -l <all)" ] || fail "changed binary: its code was decoded all the same"
"$AUXTAP" decode --events gap whole 2>/dev/null | grep -q 'gap: no_image.*program' || fail "changed binary: no gap"
"$AUXTAP" report whole >out 2>&1 || fail "report, changed binary: status $?"
grep -q 'different: .*/program (build-id [0-9a-f]*)' out || fail "report does not name the changed binary"
rm program
expect 0 "program: not found.*no_image.*sysroot" "$AUXTAP" decode --events insn -F ip whole
[ "$(wc -l <out)" -gt 10000 ] || fail "missing binary: the rest was not decoded"
"$AUXTAP" decode --events gap whole 2>/dev/null | grep -q 'gap: no_image.*program' || fail "missing binary: no gap"
"$AUXTAP" report whole 2>&1 | grep -q 'missing: .*/program' || fail "report does not name the missing binary"
mkdir -p "root$PWD" && cp "$FIXTURES/null_deref" "root$PWD/program"
"$AUXTAP" decode --sysroot root --events insn -F ip whole 2>err | cmp -s - all ||
	fail "--sysroot did not bring the binary back: $(cat err)"

# ---- programs that cannot run: test_record_options.sh covers the plain cases ----
cp /bin/true itself
for command in record crash; do
	expect 125 'itself: is the program that is to be traced; name another file' \
		"$AUXTAP" $command -o itself -- ./itself
	cmp -s itself /bin/true && [ ! -e itself.old ] || fail "$command: the program was replaced"
done
printf 'not a program\n' >plain
mkdir -p adir
printf '#!/no/such/interpreter\n' >script
chmod +x script
for command in record crash; do
	expect 127 'no such program' "$AUXTAP" $command -- ./missing
	expect 127 'no such program; give its path' "$AUXTAP" $command -- missing-program
	expect 126 'ermission denied; make it executable: chmod +x' "$AUXTAP" $command -- ./plain
	expect 126 'a directory' "$AUXTAP" $command -- ./adir
	expect 127 'No such file' "$AUXTAP" $command --source ptrace -- ./script
	[ "$source" = ptrace ] || expect 127 '/no/such/interpreter' "$AUXTAP" $command \
		--source qemu -- ./script
	# the output path is checked before the program runs
	expect 125 'cannot create: No such file.*-o' "$AUXTAP" $command -o no/such/directory/x \
		-- touch ran
	expect 125 'is a directory.*-o' "$AUXTAP" $command -o adir -- touch ran
	[ -e ran ] && fail "$command: the program ran without an output file"
	[ -e auxtap.data ] && fail "$command left a file of a program that never ran"
done

# ---- a full disk: the program runs to its end, the data that fits is kept, and the status is
# auxtap's ----
expect 125 'No space left' "$AUXTAP" record -o /dev/full -- true
mkdir small
if [ "$(id -u)" -eq 0 ] && mount -t tmpfs -o size=64k tmpfs small 2>/dev/null; then
	expect 125 'No space left on device; trace up to offset 0x[0-9a-f]* is kept; free some space' \
		"$AUXTAP" record --source "$source" -o small/data -- sh -c "ls -l /usr/bin >/dev/null; echo ended >$WORK/ended"
	[ "$(cat ended 2>/dev/null)" = ended ] || fail "full disk: the program did not run to its end"
	"$AUXTAP" dump --no-packets small/data >out 2>err || fail "full disk: the file is damaged: $(cat err)"
	grep -q MMAP2 out || fail "full disk: nothing was kept"
	"$AUXTAP" report small/data >out 2>&1 || fail "full disk: report fails: $(tail -n 1 out)"
	umount small
	# the list of executed addresses keeps a reserve; the trace is complete, and agrees with it
	# up to its end
	mount -t tmpfs -o size=2m tmpfs small
	"$AUXTAP" record --backend emulated --source qemu -m 128,8192 -o data --truth small/truth \
		-- \
		sh -c "i=0; while [ \$i -lt 2000 ]; do i=\$((i + 1)); done; echo ended >$WORK/ended2" \
		2>err
	[ $? -eq 125 ] || fail "truth, full disk: status is not 125: $(cat err)"
	[ "$(cat ended2 2>/dev/null)" = ended ] || fail "truth, full disk: the program did not run to its end"
	[ "$(grep -c '^auxtap: --truth: thread [0-9]*: ends here, the disk is nearly full; .*larger disk' \
		err)" -eq 1 ] ||
		fail "truth, full disk: $(cat err)"
	left=$(df --output=avail -k small | tail -n 1)
	[ "$left" -ge 204 ] && [ "$left" -lt 400 ] || fail "truth, full disk: $left KiB are left, not a tenth of it"
	nr=$(($(stat -c %s small/truth.*) / 8))
	od -An -v -t x8 -w8 small/truth.* | sed 's/^ *0*//' >expected
	"$AUXTAP" decode --events insn -F ip data 2>/dev/null >got
	head -n "$nr" got | cmp -s expected - || fail "truth, full disk: it is not the beginning of the trace"
	[ "$(wc -l <got)" -gt "$nr" ] || fail "truth, full disk: the trace ended, too"
	"$AUXTAP" decode --events gap data | grep . && fail "truth, full disk: a gap in the trace"
	umount small
else
	echo "skipped: the full disk (cannot mount a tmpfs here)"
fi

# ---- attaching ----
attach() { "$AUXTAP" "$1" --backend emulated --source ptrace -o attached -p "$2"; }
for command in record crash; do
	expect 125 'no such process' "$AUXTAP" $command --backend emulated -p 4194303
	[ -e attached ] && fail "$command: a file for a process that does not exist"
done
# A kernel thread, if one is visible
if [ "$(id -u)" -eq 0 ] && [ "$(ps -o comm= -p 2 2>/dev/null)" = kthreadd ]; then
	expect 125 'not permitted.*CAP_SYS_PTRACE' "$AUXTAP" record --backend emulated -p 2
fi
# Processes that end while, or right after, we attach: a short file or a refusal, never a hang
for delay in 0 0.005 0.01 0.02 0.03 0.05; do
	sleep "$delay" &
	pid=$!
	guard "$AUXTAP" record --backend emulated -o attached -p $pid >out 2>err </dev/null
	status=$?
	wait $pid
	case $status in
	0) "$AUXTAP" dump attached >/dev/null 2>&1 || fail "attach, ends in $delay s: damaged file" ;;
	125) grep -Eq '^auxtap: process [0-9]+: (no such process|it ended|.*ended)' err ||
		fail "attach, ends in $delay s: $(cat err)" ;;
	*) fail "attach, ends in $delay s: status $status: $(tail -n 2 err)" ;;
	esac
done
# Another user may not trace root's processes: the message says what to set; the process continues.
# The checkout may be below a directory that only root may enter, so that user runs a copy.
if [ "$(id -u)" -eq 0 ] && command -v setpriv >/dev/null; then
	other=(setpriv --reuid=65534 --regid=65534 --clear-groups)
	chmod 755 "$WORK"
	mkdir -m 777 open
	mkdir -m 755 copy closed
	mkdir -m 700 private
	for file in auxtap auxtap-emu auxtap-qemu.so; do
		[ ! -e "$BIN/$file" ] || install -m 755 "$BIN/$file" copy
	done
	cp copy/auxtap-emu private
	if "${other[@]}" copy/auxtap list >/dev/null 2>&1; then
		sleep 300 &
		pid=$!
		for command in record crash; do
			expect 125 'ptrace: .*; .*CAP_SYS_PTRACE.*kernel.yama.ptrace_scope' \
				"${other[@]}" copy/auxtap $command --backend emulated -o open/data \
				-p $pid
		done
		kill -0 $pid || fail "the process did not survive the refusal"
		kill $pid
		expect 125 'ermission denied; .*-o' "${other[@]}" copy/auxtap record \
			-o closed/data -- true
		expect 125 'ermission denied; .*-o' "${other[@]}" copy/auxtap crash -o closed/data \
			-- true
		# a file that this user may not read is not "not installed"
		expect 126 "private/auxtap-emu: Permission denied; give this user search" \
			"${other[@]}" copy/auxtap record -o open/data -- private/auxtap-emu
		expect 125 "private/auxtap-emu: Permission denied; let this user" \
			"${other[@]}" env AUXTAP_EMU=private/auxtap-emu copy/auxtap record \
			--backend emulated -o open/data -- true
		chmod 700 copy/auxtap-emu
		expect 125 "$WORK/copy/auxtap-emu: Permission denied; let this user" \
			"${other[@]}" copy/auxtap record --backend emulated -o open/data -- true
		"${other[@]}" copy/auxtap list >listed 2>&1
		grep -q 'copy/auxtap-emu: Permission denied' listed || fail "list does not say that access is denied: $(cat listed)"
		grep 'not installed' listed && fail "list: it is installed, and access is denied"
		rm copy/auxtap-emu
		expect 125 'not installed .*install it' "${other[@]}" copy/auxtap record \
			--backend emulated -o open/data -- true
	else
		echo "skipped: no permission (another user cannot execute a copy in $WORK:" \
			"$("${other[@]}" copy/auxtap list 2>&1 | head -n 1))"
	fi
else
	echo "skipped: no permission (needs root and setpriv)"
fi
finish
