# SPDX-License-Identifier: BSD-2-Clause
# Names of generated code from /tmp/perf-PID.map: of the process's own file only, the newest line
# where lines overlap, by the process's number in its own namespace.
. "$(dirname "$0")/lib.sh"
command -v cc >/dev/null || skip "no C compiler"
[ "$(uname -m)" = x86_64 ] || skip "the program writes x86-64 code"
"$AUXTAP" list | grep -q 'qemu: available' || skip "qemu is not available"
cat >names.c <<'EOF'
#define _GNU_SOURCE
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* call *%rdi; ret, and after it: movl $0, 0; ret. How the file is written: argv[1]. */
int main(int argc, char **argv)
{
	static const unsigned char call[] = {0x53, 0xff, 0xd7, 0x5b, 0xc3};
	static const unsigned char fault[] = {0xc7, 4, 0x25, 0, 0, 0, 0, 0, 0, 0, 0, 0xc3};
	unsigned char *code = mmap(0, 4096, 7, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	const char *how = argc > 1 ? argv[1] : "own";
	char name[64], other[64];
	FILE *f;

	memcpy(code, call, sizeof(call));
	memcpy(code + 64, fault, sizeof(fault));
	snprintf(name, sizeof(name), "/tmp/perf-%d.map", (int)getpid());
	snprintf(other, sizeof(other), "%s.other", name);
	f = fopen(!strcmp(how, "link") ? other : name, "w");
	if (!f)
		return 2;
	puts(name);
	puts(other);
	fflush(stdout);
	fprintf(f, "%lx 80 older_name\n", (long)code);
	fprintf(f, "%lx 40 LazyCompile:*outer /a b.js:1:2\n", (long)code);
	fprintf(f, "not a line\n%lx 0 empty\n", (long)code + 64);
	fprintf(f, "0x%lx 0x20 inner<int>\n%lx 20 half a li", (long)code + 64, (long)code + 64);
	fclose(f);
	if (!strcmp(how, "link") && symlink(other, name))
		return 2;
	if (!strcmp(how, "hard") && link(name, other))
		return 2;
	if (!strcmp(how, "fifo") && (unlink(name) || mkfifo(name, 0600)))
		return 2;
	if (!strcmp(how, "other") && chown(name, 12345, 12345))
		return 3;
	((void (*)(void *))code)(code + 64);
	return 0;
}
EOF
cc -g -O1 -o names names.c || skip "cc failed"

# run HOW: its report, and the names that it has
run() {
	guard "$AUXTAP" crash --source qemu -o data -- ./names "$1" >out 2>err
	status=$?
	sed -n '/^The calls/,/^Last branches/p' data.report.txt >calls
	grep '^/tmp/perf-[0-9]*\.map' out | xargs rm -f
	[ $status -eq 139 ]
}

run own || fail "own: $(tail -n 2 err)"
grep -q 'LazyCompile:\*outer /a b.js:1:2 ' calls &&
	grep -q ' inner<int> .*<- SIGSEGV here$' calls ||
	fail "own: $(cat calls)"
grep -qE 'older_name|half a li|empty' data.report.txt && fail "own: $(cat calls)"
grep -q 'names of generated code' data.report.txt && fail "own: the file was read"
"$AUXTAP" pack --redact -o packed data >/dev/null 2>err || fail "pack: $(cat err)"
"$AUXTAP" report packed 2>err | grep -q 'LazyCompile:\*outer /a b.js:1:2 ' || fail "packed: no names"

for how in link hard fifo other; do
	if ! run $how; then
		[ $how = other ] && continue # chown needs root
		fail "$how: $(tail -n 2 err)"
		continue
	fi
	grep -q 'outer' calls && fail "$how: names were taken from it"
	why='it is no file of the process.s user'
	case $how in link | hard) why='it is a link, or has several names' ;; esac
	said="names of generated code: /tmp/perf-[0-9]*.map not read: $why"
	grep -q "^  $said\$" data.report.txt ||
		fail "$how: $(sed -n '/^Images/,/^$/p' data.report.txt)"
done

# in a PID namespace the file has the process's own number
if unshare -rpf --mount-proc true 2>/dev/null; then
	guard unshare -rpf --mount-proc "$AUXTAP" crash --source qemu -o data -- \
		./names own >out 2>err
	[ $? -eq 139 ] || fail "namespace: $(tail -n 2 err)"
	grep -q 'LazyCompile:\*outer' data.report.txt || fail "namespace: no names"
	grep '^/tmp/perf-[0-9]*\.map' out | xargs rm -f
fi
finish
