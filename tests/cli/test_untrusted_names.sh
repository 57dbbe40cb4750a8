# SPDX-License-Identifier: BSD-2-Clause
# Names from files are input: a source file that debug information names is shown only if it is a
# regular file that the recording's owner may read; control characters in names of threads,
# images, functions and files do not reach the output; endless streams, FIFOs and links in place
# of files are refused; debuginfod is not used without the user's option.
. "$(dirname "$0")/lib.sh"
# the address sanitizer maps terabytes: no limit of address space there
limited=yes
sanitized && limited=
command -v gcc >/dev/null || skip "gcc is not installed"
limit=(timeout 120)

# build NAME SOURCE-FILE LINE
build() {
	gcc -g -O0 -w -DLINE="$3" -DSOURCE="\"$2\"" -o "$1" "$SRC/tests/cli/frames/named.c" ||
		{ fail "$1: not built"; return; }
	LC_ALL=C sed -i 's/fnAB31mname/fn\x1b[31mname/g' "$1"
}
# The report of a crash of it, with a memory limit against endless reads.
report() {
	"${limit[@]}" "$AUXTAP" crash -o "$1.data" -- "./$1" >stdout 2>stderr </dev/null
	[ -s "$1.data" ] || { fail "$1: no snapshot: $(tail -n 2 stderr)"; return; }
	([ -z "$limited" ] || ulimit -v 4000000; "${limit[@]}" "$AUXTAP" report "${@:2}" "$1.data") \
		>"$1.report" 2>stderr </dev/null ||
		fail "$1: report ended with $?: $(tail -n 2 stderr)"
}
# shown NAME TEXT, hidden NAME TEXT: the text is, or is not, in the report
shown() { grep -qF -- "$2" "$1.report" || fail "$1: '$2' is not shown"; }
hidden() { ! grep -qF -- "$2" "$1.report" || fail "$1: '$2' is shown"; }
# No control character but newlines; the test's are ESC.
clean() {
	! LC_ALL=C grep -nP '[\x00-\x08\x0b-\x1f\x7f]' "$1" >/dev/null || fail "$1: $2 contains control characters"
	! LC_ALL=C grep -nP '\xc2[\x80-\x9f]' "$1" >/dev/null || fail "$1: $2 contains C1 characters"
}

# ---- source files ----
printf 'first\n\tsecond \033[31mline\n' >plain.c
build plain "$WORK/plain.c" 2 && report plain
shown plain '2 | second \x1b[31mline'
build device /dev/zero 1 && report device
hidden device '1 | '
mkfifo fifo && build fifo_source "$WORK/fifo" 1 && report fifo_source
hidden fifo_source '1 | '
ln -s plain.c link.c && build link "$WORK/link.c" 1 && report link
shown link '1 | first'
head -c 300000 /dev/zero | tr '\0' x >long.c
build long "$WORK/long.c" 1 && report long
[ "$(wc -L <long.report)" -lt 1000 ] || fail "long: a line of $(wc -L <long.report) columns"

if [ "$(id -u)" -eq 0 ]; then
	# root reads another user's recording: only files that this user may read
	chmod 755 "$WORK" && mkdir closed && echo secret >closed/open.c && echo secret >closed.c
	chmod 700 closed && chmod 600 closed.c && chmod 644 plain.c closed/open.c
	for source in closed.c closed/open.c plain.c; do
		name=of_${source//[\/.]/_}
		build "$name" "$WORK/$source" 1 && report "$name"
		"$AUXTAP" report "$name.data" >"$name.report" 2>&1
		[ "$source" = plain.c ] || shown "$name" '1 | secret'
		chown 65534 "$name.data" && "$AUXTAP" report "$name.data" >"$name.report" 2>&1
		[ "$source" = plain.c ] || hidden "$name" secret
		# and of a program of another user
		chown 0 "$name.data" && chown 65534 "$name" &&
			"$AUXTAP" report "$name.data" >"$name.report" 2>&1
		[ "$source" = plain.c ] || hidden "$name" secret
		# a recording from a pipe has no known owner
		chown 0 "$name" && cat "$name.data" | "$AUXTAP" report - >"$name.report" 2>&1
		[ "$source" = plain.c ] || hidden "$name" secret
	done
	shown of_plain_c '1 | first'

	# the code of a mapped file as well: it shows the file's content
	cat >jumps.c <<'C'
#include <fcntl.h>
#include <sys/mman.h>
int main(int argc, char **argv)
{
	void *p = mmap(0, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, open(argv[1], O_RDONLY), 0);

	((void (*)(void))p)();
	return 0;
}
C
	printf '\220\364secret' >code # nop, hlt
	chmod 644 code && gcc -o jumps jumps.c && "$AUXTAP" crash -o jumps.data -- ./jumps ./code \
		>stdout 2>stderr </dev/null
	chown 65534 jumps.data && "$AUXTAP" report jumps.data >jumps.report && shown jumps hlt
	chmod 600 code && "$AUXTAP" report jumps.data >jumps.report 2>&1
	# (the instruction that faulted is in the snapshot itself)
	shown jumps "denied: $WORK/code (build-id unknown), the recording's owner may not read it"
	"$AUXTAP" decode -F ip,asm --last 5 jumps.data 2>stderr | grep -q nop && fail "decode shows code that is not the owner's"
	grep -q "$WORK/code: the recording's owner may not read it; 1 gap" stderr || fail "decode: $(cat stderr)"
	cat jumps.data | "$AUXTAP" decode -F ip,asm --last 5 - 2>stderr | grep -q nop &&
		fail "decode of a pipe shows code that is not the owner's"
	grep -q 'may not read it\|only what all may read' stderr || fail "decode of a pipe: $(cat stderr)"
	chown 0 jumps.data && "$AUXTAP" report jumps.data >jumps.report && shown jumps hlt
	# a program in a closed directory is still the recorded program
	cp jumps closed && chmod 644 code && "$AUXTAP" crash -o program.data \
		-- closed/jumps ./code >stdout 2>stderr </dev/null
	cat program.data | "$AUXTAP" report - >program.report 2>&1
	hidden program 'denied:'
	chown 65534 program.data && "$AUXTAP" report program.data >program.report 2>&1
	shown program "denied: $WORK/closed/jumps"
else
	echo "not root: no recordings of other users"
fi

# ---- control characters ----
mkdir 'im'$'\033''[35mage' && cp plain 'im'$'\033''[35mage/pro'$'\302\233''gram'
"$AUXTAP" crash -o names.data -- ./im*age/pro*gram >stdout 2>crash.err </dev/null
[ -s names.data ] || fail "names: no snapshot: $(tail -n 2 crash.err)"
clean crash.err "the crash's report"
clean names.data.report.txt "the crash's report"
for format in text csv jsonl; do
	"$AUXTAP" decode --format $format -F comm,tid,ip,sym,dso,srcline,addr --last 200 \
		names.data >"decode.$format" ||
		fail "decode --format $format"
	clean "decode.$format" "decode --format $format"
	grep -q 'fn.*\[31mname' "decode.$format" || fail "decode --format $format: the function is missing"
	grep -q 'co.*\[2Jmm' "decode.$format" || fail "decode --format $format: the thread is missing"
done
grep -qF 'fn\x1b[31mname' decode.text || fail "decode: the function's name is not escaped"
grep -qF 'pro\xc2\x9bgram' decode.csv || fail "decode: the image's name is not escaped"
"$AUXTAP" report names.data >names.report || fail "report: $?"
clean names.report "the report"
grep -qF 'co\x1b[2Jmm' names.report || fail "report: the thread's name is not escaped"
"$AUXTAP" report --color always names.data | sed 's/\x1b\[[0-9;]*m//g' >names.coloured
clean names.coloured "the report in colours"
"$AUXTAP" dump names.data >dump.txt || fail "dump: $?"
clean dump.txt dump
grep -qF '[35mage' dump.txt || fail "dump: the image is missing"
"$AUXTAP" audit names.data >audit.txt
clean audit.txt audit
cp names.data 'na'$'\033''[2Jme' && "$AUXTAP" audit 'na'$'\033''[2Jme' >audit.txt 2>&1
clean audit.txt audit
"$AUXTAP" decode $'no\033[31mfile' 2>decode.err
clean decode.err "an error"
mkdir -p pmus/intel_pt/caps $'pmus/arm_spe_\033x/caps'
for pmu in pmus/*; do echo 6 >"$pmu/type"; done
echo 1 >$'pmus/intel_pt/caps/psb\033[2Jcyc'
if unshare -m mount --bind pmus /sys/bus/event_source/devices 2>stderr; then
	AUXTAP_QEMU=$'/no\033[31mthing' unshare -m sh -c \
		'mount --bind pmus /sys/bus/event_source/devices && exec "$0" list' "$AUXTAP" \
		>list.txt || fail "list: $?"
	clean list.txt list
	grep -qF 'arm_spe_\x1bx' list.txt && grep -qF 'psb\x1b[2Jcyc=1' list.txt &&
		grep -qF '/no\x1b[31mthing' list.txt ||
		fail "list: $(cat list.txt)"
else
	echo "skipped: list (PMUs of our own cannot be mounted: $(cat stderr))"
fi
AUXTAP_QEMU=$'/no\033[31mthing' "$AUXTAP" record -o $'re\033[2Jcord' -- true 2>record.err || fail "record: $?"
clean record.err record
grep -qF 're\x1b[2Jcord: ' record.err || fail "record: $(cat record.err)"

# ---- streams, FIFOs and links ----
for command in decode report audit dump; do
	(ulimit -f 100000; "${limit[@]}" "$AUXTAP" $command - </dev/zero >stdout 2>stderr)
	grep -q 'not a perf.data file' stderr || fail "$command - of zeros: $(tail -n 1 stderr)"
done
cat names.data | "$AUXTAP" report - >piped.report || fail "report - of a recording"
grep -q 'died of SIGSEGV' piped.report || fail "report - of a recording: $(head -n 2 piped.report)"
mkdir records && mkfifo records/data
"${limit[@]}" "$AUXTAP" decode records >stdout 2>stderr
[ $? -eq 3 ] || fail "a directory with a FIFO 'data': $(tail -n 1 stderr)"
rm records/data && ln -s ../names.data records/data && "$AUXTAP" decode records >stdout 2>stderr &&
	fail "a directory whose 'data' is a link is read"

snapshot() {
	rm -rf snapshot && mkdir snapshot
	printf '[snapshot]\nversion=1.0\n\n[device_list]\ndevice0=cpu.ini\n\n[trace]\nmetadata=trace.ini\n' \
		>snapshot/snapshot.ini
	printf '[device]\nname=cpu_0\nclass=core\ntype=Cortex-A53\n' >snapshot/cpu.ini
	printf '[trace_buffers]\nbuffers=buffer0\n\n[buffer0]\nname=ETB\nfile=trace.bin\nformat=coresight\n' \
		>snapshot/trace.ini
	head -c 64 /dev/zero >snapshot/trace.bin
}
for file in snapshot.ini cpu.ini trace.ini trace.bin; do
	snapshot && mv snapshot/$file elsewhere && ln -s ../elsewhere snapshot/$file
	"${limit[@]}" "$AUXTAP" dump snapshot >stdout 2>stderr
	[ $? -ne 0 ] || fail "a snapshot whose $file is a link is read"
	grep -q 'link is not followed' stderr || fail "$file is a link: $(tail -n 1 stderr)"
	rm -f elsewhere && snapshot && rm snapshot/$file && mkfifo snapshot/$file
	"${limit[@]}" "$AUXTAP" dump snapshot >stdout 2>stderr
	[ $? -ne 124 ] || fail "a snapshot whose $file is a FIFO is waited for"
	grep -q 'regular files only' stderr || fail "$file is a FIFO: $(tail -n 1 stderr)"
done

# ---- files that debug information names, replaced by a FIFO ----
cat >stores.c <<'C'
static __attribute__((noinline)) void function_that_stores(volatile int *p) { *p = 1; }
int main(void) { function_that_stores((int *)8); return 0; }
C
# waits_for FIFO PROGRAM OPTION...: 'report OPTION...' must end with it
waits_for() {
	"$AUXTAP" crash -o "$2.data" -- "./$2" >stdout 2>stderr </dev/null
	rm -f "$1" && mkfifo "$1"
	"${limit[@]}" "$AUXTAP" report "${@:3}" "$2.data" >"$2.report" 2>stderr || fail "$1 is a FIFO: report ends with $?"
	shown "$2" 'died of SIGSEGV'
}
gcc -g -gsplit-dwarf -c stores.c -o stores.o && gcc -o split stores.o && waits_for stores.dwo split
gcc -g -o linked stores.c && objcopy --only-keep-debug linked linked.debug && strip linked &&
	objcopy --add-gnu-debuglink=linked.debug linked || fail "objcopy"
for option in '' --debuginfod; do
	# shellcheck disable=SC2086
	waits_for linked.debug linked $option
done
# a name from another file's debug information (DW_FORM_GNU_strp_alt, as dwz makes them)
gcc -g -S -dA -o stores.s stores.c && sed -i '/(DW_AT_name)/{n;s/uleb128 0xe\b/uleb128 0x1f21/}' \
	stores.s
{ printf '%s\0' "$WORK/other"; printf '%020d' 0; } >section
if grep -q 0x1f21 stores.s; then
	gcc -o alternate stores.s && objcopy --add-section .gnu_debugaltlink=section alternate &&
		waits_for other alternate
else
	echo "skipped: .gnu_debugaltlink (this compiler's assembly has no such form)"
fi

# ---- debuginfod ----
if command -v python3 >/dev/null; then
	python3 - >asked 2>port.err <<-'SERVER' &
		import http.server, sys
		class Handler(http.server.BaseHTTPRequestHandler):
		    def do_GET(self):
		        print(self.path, flush=True)
		        self.send_error(404)
		    def log_message(self, *args):
		        pass
		server = http.server.HTTPServer(("127.0.0.1", 0), Handler)
		print(server.server_port, file=sys.stderr, flush=True)
		server.serve_forever()
	SERVER
	server=$!
	while ! [ -s port.err ] && kill -0 $server; do sleep 0.1; done
	export DEBUGINFOD_URLS=http://127.0.0.1:$(cat port.err) DEBUGINFOD_CACHE_PATH=$WORK/cache
	strip -o stripped plain && "$AUXTAP" crash -o stripped.data \
		-- ./stripped >stdout 2>stderr </dev/null
	"$AUXTAP" report stripped.data >stdout 2>stderr
	"$AUXTAP" decode -F ip,sym,srcline --last 50 stripped.data >stdout 2>stderr
	[ -s asked ] && fail "debuginfod was asked: $(head -n 1 asked)"
	mv stripped moved
	"$AUXTAP" report stripped.data >stdout 2>stderr
	[ -s asked ] && fail "debuginfod was asked for a program: $(head -n 1 asked)"
	mv moved stripped
	if ldconfig -p | grep -q libdebuginfod; then
		"$AUXTAP" decode --debuginfod -F ip,sym,srcline --last 50 stripped.data \
			>stdout 2>stderr
		[ -s asked ] || fail "decode --debuginfod asked nothing"
	else
		echo "libdebuginfod is not installed"
	fi
	kill $server
fi
finish
