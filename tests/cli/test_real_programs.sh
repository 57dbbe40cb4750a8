# SPDX-License-Identifier: BSD-2-Clause
# AUXTAP_LONG: programs of other projects crash, each in a way that is known, and the report
# says so: python3, perl, sqlite3, redis, nginx, node, java ('scripts/install-packages programs').
# What a report must contain is how the crash was made. Programs that are missing are named.
. "$(dirname "$0")/lib.sh"
[ -n "${AUXTAP_LONG:-}" ] || skip "only with AUXTAP_LONG"
sanitized && skip "not with sanitizers: they test what is smaller"

record() { # NAME COMMAND...: NAME.status is what a shell would see
	local name=$1
	shift
	guard "$AUXTAP" crash -o "$name" -- "$@" >"$name.out" 2>"$name.err" </dev/null
	echo $? >"$name.status"
}

status_is() { # NAME STATUS
	[ "$(cat "$1.status")" = "$2" ] ||
		fail "$1: status $(cat "$1.status"), not $2: $(tail -n 2 "$1.err")"
	[ -s "$1.report.txt" ] || fail "$1: no report"
}

crash() { # NAME STATUS COMMAND...
	local name=$1 status=$2
	shift 2
	record "$name" "$@"
	status_is "$name" "$status"
}

# says NAME REGEX...: the lines up to the registers
says() {
	local name=$1 regex
	shift
	for regex; do
		sed '/^Registers/,$d' "$name.report.txt" | grep -qE "$regex" ||
			fail "$name: not in the report: $regex: $(head -n 8 "$name.report.txt")"
	done
}

# frames NAME REGEX...: these are in the backtrace, in this order, the innermost first
frames() {
	local name=$1 regex at=0 line
	shift
	sed -n '/^Backtrace/,/^$/p' "$name.report.txt" >"$name.frames"
	for regex; do
		line=$(tail -n +$((at + 1)) "$name.frames" | grep -nE -m 1 "$regex" | cut -d: -f1)
		if [ -z "$line" ]; then
			fail "$name: no frame $regex after line $at: $(cat "$name.frames")"
			return
		fi
		at=$((at + line))
	done
}

# Nothing is missing of what the ring could keep: no code without an image, no error. (Of very
# many threads that had ended only the newest are kept.)
decoded() { # NAME
	sed -n '/^What the trace/,/^$/p' "$1.report.txt" >"$1.trace"
	grep -qE '^  [0-9]+ instructions, ' "$1.trace" ||
		fail "$1: no instructions: $(cat "$1.trace")"
	! grep -E '^  [0-9]+ gaps?: ' "$1.trace" | grep -qvE ': (overwritten|discarded)' &&
		! grep -q 'the flow of the dead thread ends at' "$1.trace" ||
		fail "$1: $(cat "$1.trace")"
}

if has python3; then
	# the program itself: what is first in the path may be a script that starts it
	python=$(python3 -c 'import sys; print(sys.executable)')
	crash python3 139 "$python" -c 'import ctypes; ctypes.string_at(0)'
	says python3 '^python3.* died of SIGSEGV: segmentation fault in .*strlen' \
		'^  it read from 0x0 .*a null pointer$'
	frames python3 'strlen' '_ctypes|libffi' ' ffi_call ' ' PyEval_EvalCode ' ' _start '
	decoded python3
fi

if has perl; then
	crash perl 139 perl -e 'kill SEGV => $$; sleep 1'
	says perl '^perl .* died of SIGSEGV: ' '^  the program sent it to itself$'
	frames perl ' kill ' ' Perl_apply ' ' Perl_runops_standard ' ' perl_run ' ' main ' ' _start '
	decoded perl
	# its own code: a string at address 16
	crash unpack 139 perl -e 'unpack("p", pack("J", 16))'
	says unpack '^perl .* died of SIGSEGV: ' '^  it read from 0x10 .*nothing is mapped there'
	frames unpack ' Perl_newSVpv' ' Perl_unpackstring ' ' Perl_pp_unpack ' ' perl_run '
	decoded unpack
fi

if has sqlite3 gcc; then
	cat >crashext.c <<'EOF'
static int *volatile nowhere;
__attribute__((noinline)) int poke(int *p) { return *p = 1; }
int sqlite3_crashext_init(void *db) { return db ? poke(nowhere) + 1 : 0; }
EOF
	gcc -g -O1 -shared -fPIC -o crashext.so crashext.c || fail "crashext.so: not built"
	crash sqlite3 139 sqlite3 :memory: '.load ./crashext.so'
	says sqlite3 '^sqlite3 .* died of SIGSEGV: segmentation fault in poke at crashext.c:2$' \
		'^  it wrote to 0x0 \(4 bytes\); a null pointer$'
	frames sqlite3 ' poke at ' 'args: p=0x0$' ' sqlite3_crashext_init at ' \
		' sqlite3_load_extension ' ' __libc_start_main '
	decoded sqlite3
fi

if has redis-server redis-cli; then
	record redis redis-server --port 0 --unixsocket "$WORK/redis.socket" --save '' \
		--enable-debug-command yes &
	wait_for test -S redis.socket
	guard redis-cli -s "$WORK/redis.socket" debug segfault >redis.cli 2>&1
	wait
	status_is redis 139
	decoded redis
	# its handler prints the registers, and sends the signal once more
	says redis '^redis-server .* died of SIGSEGV: ' '^  the program sent it to itself$' \
		'^  Before, a SIGSEGV at debugCommand .* went to the program.s own handler'
	frames redis ' kill ' ' bugReportEnd ' '<signal handler called>' ' debugCommand ' \
		' processCommand ' ' readQueryFromClient ' ' aeMain ' ' main '
	grep -q 'crashed by signal: 11' redis.out || fail "redis: its own report: $(tail -n 3 redis.out)"
fi

if has nginx curl; then
	mkdir nginx.d
	cat >nginx.d/nginx.conf <<EOF
user root;
daemon off;
worker_processes 1;
pid $WORK/nginx.d/pid;
error_log $WORK/nginx.d/error.log info;
events { worker_connections 16; }
http {
	access_log off;
	client_body_temp_path $WORK/nginx.d/body;
	proxy_temp_path $WORK/nginx.d/proxy;
	fastcgi_temp_path $WORK/nginx.d/fastcgi;
	uwsgi_temp_path $WORK/nginx.d/uwsgi;
	scgi_temp_path $WORK/nginx.d/scgi;
	server { listen unix:$WORK/nginx.d/socket; location / { return 200 "hello"; } }
}
EOF
	# a worker dies, and the master starts another: the status is the master's
	record nginx nginx -c "$WORK/nginx.d/nginx.conf" -e "$WORK/nginx.d/error.log" &
	wait_for grep -q 'start worker process ' nginx.d/error.log
	wait_for curl -s --unix-socket nginx.d/socket http://localhost/ -o hello
	[ "$(cat hello)" = hello ] || fail "nginx: it answered $(cat hello)"
	worker=$(sed -nE 's/.*start worker process ([0-9]+)$/\1/p' nginx.d/error.log | tail -n 1)
	kill -s SEGV "$worker"
	wait_for grep -q "worker process $worker exited on signal 11" nginx.d/error.log
	kill -s TERM "$(cat nginx.d/pid)"
	wait
	status_is nginx 0
	says nginx "^nginx \(pid $worker\) died of SIGSEGV: " "^  sent by process $$\$"
	frames nginx ' epoll_wait ' ' ngx_process_events_and_timers ' ' ngx_spawn_process ' \
		' ngx_master_process_cycle ' ' main ' ' _start '
	decoded nginx
fi

# JavaScript and Java make code at run time, of which nothing is decoded; what is around it is.
if has node; then
	crash node 134 node -e 'process.abort()'
	says node '^node .* died of SIGABRT: abort ' '^  the program called abort\(\)$'
	frames node ' raise ' ' abort ' ' node::Abort\('
fi

if has java javac; then
	cat >Crash.java <<'EOF'
public class Crash {
	public static void main(String[] arguments) throws Exception {
		var field = sun.misc.Unsafe.class.getDeclaredField("theUnsafe");
		field.setAccessible(true);
		((sun.misc.Unsafe) field.get(null)).putAddress(0, 0);
	}
}
EOF
	javac Crash.java 2>javac.err || fail "Crash.java: $(cat javac.err)"
	crash java 134 java -Xint -cp . Crash
	says java '^java .* died of SIGABRT: abort ' '^  the program called abort\(\)$' \
		'^  Before, a SIGSEGV at .* went to the program.s own handler'
	frames java ' raise ' ' abort ' ' os::abort' ' JVM_handle_linux_signal ' \
		'<signal handler called>' ' Unsafe_Put'
fi

[ ${#missing[@]} -eq 0 ] || echo "not installed, so not tried: ${missing[*]}"
[ "$tried" -gt 0 ] || skip "none of the programs is installed"
finish
