# SPDX-License-Identifier: BSD-2-Clause
# Blocks of the heap in crash reports: who allocated and freed what the registers of the dying
# thread point to. The lines that are expected are found in the source by their comments. A block
# is not called freed after it was allocated again, nor by what the C library does as a thread ends.
. "$(dirname "$0")/lib.sh"
needs_qemu_10
command -v g++ >/dev/null || skip "no C++ compiler"
cat >heap.cc <<'C'
#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#define NOINLINE __attribute__((noinline, noclone))
struct object {
	virtual ~object() {}
	long value = 7;
};
volatile long sink;
/* Dies with the pointer in a register. */
NOINLINE void die(void *at)
{
	sink = (long)at;
	asm volatile("" : "+r"(at));
	*(volatile int *)8 = 1;
	asm volatile("" : : "r"(at));
}
NOINLINE void *plain(size_t size)
{
	void *at = malloc(size); /* plain */
	sink++;
	return at;
}
NOINLINE void release(void *at)
{
	free(at); /* release */
	sink++;
}
NOINLINE object *make(void)
{
	object *made = new object; /* make */
	sink++;
	return made;
}
NOINLINE void *destroys(void *at)
{
	delete[] (char *)at; /* destroys */
	sink++;
	return at;
}
int main(int, char **argv)
{
	const char *what = argv[1];
	char *at = NULL;
	pthread_t t;

	if (!strcmp(what, "live"))
		die(plain(100));
	if (!strcmp(what, "inside"))
		die((char *)plain(100) + 24);
	if (!strcmp(what, "freed")) {
		at = (char *)plain(100);
		release(at);
		die(at + 24);
	}
	if (!strcmp(what, "new"))
		die(make());
	if (!strcmp(what, "again")) { /* the same block, of another size and caller */
		at = (char *)plain(40);
		release(at);
		char *next = (char *)operator new(33); /* reused */
		sink++;
		if (next == at)
			die(next);
	}
	if (!strcmp(what, "twice")) {
		at = (char *)plain(100);
		release(at);
		sink++;
		free(at); /* second */
		sink++;
	}
	if (!strcmp(what, "thread")) {
		at = new char[50]; /* for the thread */
		sink++;
		pthread_create(&t, NULL, destroys, at);
		pthread_join(t, NULL);
		die(at);
	}
	if (!strcmp(what, "realloc")) {
		at = (char *)plain(30);
		sink += (long)calloc(3, 11);
		char *more = (char *)realloc(at, 3000); /* realloc */
		sink++;
		if (more != at)
			die(at);
	}
	if (!strcmp(what, "failed")) { /* realloc() leaves the block as it is */
		at = (char *)plain(30);
		void *more = realloc(at, (size_t)1 << 60);
		sink++;
		if (!more)
			die(at);
	}
	if (!strcmp(what, "moved twice")) {
		at = (char *)plain(30);
		sink += (long)calloc(3, 11);
		sink += (long)realloc(at, 3000); /* first move */
		free(at); /* after the move */
		sink++;
	}
	if (!strcmp(what, "jump")) { /* calloc() leaves with a jump to memset() */
		for (int i = 0; i < 2; i++) {
			at = (char *)calloc(1, 2000); /* jump */
			sink++;
			free(at);
			sink++;
		}
		at = (char *)calloc(1, 2000);
		sink++;
		die(at);
	}
	if (!strcmp(what, "smashed")) { /* found while the block is freed: it is in use */
		at = (char *)plain(2000);
		char *next = (char *)plain(2000);
		sink++;
		memset(at, 1, 2016);
		free(next); /* being freed */
		sink++;
	}
	if (!strcmp(what, "thrown")) { /* operator new that did not return */
		for (size_t size = (size_t)1 << 60; !at; size = 100)
			try {
				at = new char[size]; /* thrown */
			} catch (...) {
				sink++;
			}
		die(at);
	}
	if (!strcmp(what, "part")) { /* of what was a larger block */
		char *large = (char *)plain(2000);
		release(large);
		at = (char *)plain(40);
		release(at);
		at = (char *)plain(100);
		die(at + 100);
	}
	if (!strcmp(what, "stack")) {
		free(&t); /* stack */
		sink++;
	}
	if (!strcmp(what, "past")) {
		/*
		 * A page without access follows, in what malloc has left at the heap's end: else
		 * the loop may destroy much of qemu's memory.
		 */
		at = (char *)plain(100000);
		char *after = at + 100000 + 4096;
		mprotect(after - (size_t)after % 4096, 4096, PROT_NONE);
		for (size_t i = 0;; i++) {
			asm volatile("" : "+r"(at), "+r"(i)); /* in registers */
			((volatile char *)at)[i] = 1;
		}
	}
	if (!strcmp(what, "calloc")) {
		at = (char *)calloc(3, 11); /* calloc */
		die(at);
	}
	if (!strcmp(what, "aligned")) {
		void *block;
		if (!posix_memalign(&block, 256, 300)) /* aligned */
			die(block);
	}
	if (!strcmp(what, "mapped")) { /* the kernel gets it back, and gives it to another */
		at = (char *)plain(1 << 24);
		char *page = (char *)((unsigned long)at & ~4095ul);
		release(at);
		if (mmap(page, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) ==
		    page)
			die(at);
	}
	if (!strcmp(what, "abort")) { /* the registers are those of abort() */
		release(plain(100));
		abort();
	}
	if (!strcmp(what, "middle")) { /* free() itself finds it */
		at = (char *)plain(100);
		sink++;
		free(at + 8); /* middle */
		sink++;
	}
	if (!strcmp(what, "buffer")) { /* the C library's own */
		setvbuf(stdout, NULL, _IOFBF, 5000);
		puts("buffered");
		char *buffer = stdout->_IO_buf_base;
		sink++;
		die(buffer);
	}
	if (!strncmp(what, "map", 3)) {
		const int prot = PROT_READ | PROT_WRITE, flags = MAP_PRIVATE | MAP_ANONYMOUS;
		at = (char *)mmap(NULL, 8192, prot, flags, -1, 0); /* mapping */
		sink++;
		if (!strcmp(what, "map"))
			die(at + 1);
		if (!strcmp(what, "map protected"))
			mprotect(at + 4096, 4096, PROT_READ);
		if (!strcmp(what, "map end")) /* the next page is of another mapping, or of none */
			munmap(at + 4096, 4096);
		if (!strcmp(what, "map gone"))
			munmap(at, 8192); /* unmapping */
		if (!strcmp(what, "map shrunk")) {
			at = (char *)mremap(at, 8192, 4096, 0);
			sink++;
			die(at);
		}
		if (!strcmp(what, "map moved"))
			at = (char *)mremap(at, 8192, 1 << 24, MREMAP_MAYMOVE); /* moving */
		sink++;
		if (!strcmp(what, "map moved"))
			die(at);
		at[4096] = 1;
	}
	if (!strcmp(what, "forked")) {
		at = (char *)plain(100);
		if (fork()) {
			wait(NULL);
			return 0;
		}
		die(at);
	}
#ifdef __x86_64__
#define CLEAR \
	"xor %%ebx, %%ebx; xor %%ecx, %%ecx; xor %%edx, %%edx; xor %%esi, %%esi;" \
	"xor %%ebp, %%ebp; xor %%r8d, %%r8d; xor %%r10d, %%r10d; xor %%r11d, %%r11d;" \
	"xor %%r12d, %%r12d; xor %%r13d, %%r13d; xor %%r14d, %%r14d; xor %%r15d, %%r15d;"
	if (!strncmp(what, "left", 4)) { /* by calls before, in a register that nothing uses */
		at = (char *)plain(100);
		release(at);
		asm volatile("mov %0, %%r9; mov %1, %%rax; xor %%edi, %%edi;" CLEAR
			     "movl $1, 8(%%rax)" : : "r"(at), "r"(what[4] ? 0x123456780000 : 0l));
	}
	if (!strcmp(what, "header")) { /* in a mapping that malloc made, in no block */
		at = (char *)plain(1 << 24) - 16;
		asm volatile("mov %0, %%rdi; xor %%eax, %%eax; xor %%r9d, %%r9d;" CLEAR
			     "movl $1, 0x7fff0000(%%rdi, %%rdi)" : : "r"(at));
	}
	if (!strcmp(what, "operand")) { /* its block comes first, though rax comes before rdi */
		at = (char *)plain(100);
		char *other = (char *)plain(200);
		release(at);
		release(other);
		asm volatile("mov %0, %%rdi; mov %1, %%rax; xor %%r9d, %%r9d;" CLEAR
			     "movl $1, 0x7fff0000(%%rdi, %%rdi)" : : "r"(at), "r"(other));
	}
#endif
	if (!strcmp(what, "unknown")) { /* how large: nothing can be said of what is past it */
		at = (char *)plain(128);
		for (int i = 0; i < 40000; i++)
			release(plain(2000));
		release(at);
		for (size_t i = 0;; i++) {
			asm volatile("" : "+r"(at), "+r"(i));
			((volatile char *)at)[i] = 1;
		}
	}
	if (!strcmp(what, "many")) { /* more than are kept */
		char *old = (char *)plain(64), *freed = (char *)plain(128);
		for (int i = 0; i < 40000; i++)
			release(plain(2000));
		release(freed);
		if (argv[2])
			die(old);
		die(freed);
	}
	return 0;
}
C
# Who called the functions that allocate and free.
cat >callers.cc <<'C'
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>
#define OWN __attribute__((noinline, noclone)) static
volatile long sink;
struct item {
	std::string name;
	item *next;
};
OWN void die(void *at, long how)
{
#ifdef __x86_64__
	register void *reg asm("rbx") = at;
#else
	register void *reg asm("x19") = at;
#endif
	asm volatile("" : "+r"(reg));
	*(volatile long *)how = 0;
	asm volatile("" : "+r"(reg));
}
OWN char *copy(const char *text)
{
	char *to = strdup(text); /* copied */
	sink++;
	return to;
}
OWN void *xmalloc(size_t size)
{
	void *at = malloc(size); /* wrapped */
	sink++;
	return at;
}
OWN item *make_item(void)
{
	item *i = new item; /* made */
	sink++;
	return i;
}
OWN void *deep(int n)
{
	void *at = n ? deep(n - 1) : xmalloc(40); /* deep */
	sink++;
	return at;
}
OWN void release(item *i)
{
	delete i; /* deleted */
	sink++;
}
OWN int *grow(std::vector<int> &v)
{
	int *first = &v[0];
	for (int i = 0; i < 100; i++)
		v.push_back(i); /* grown */
	sink++;
	return first;
}
/* the next one is called from the same place; free() is a jump */
OWN void drop(void *at, void *freed)
{
	if (freed)
		die(freed, 0);
	free(at);
}
/* the same with delete, which jumps from one function to the next */
struct one {
	long member[8];
	one() { member[0] = sink; }
};
OWN void drop_one(one *o, void *freed)
{
	if (freed)
		die(freed, 0);
	delete o;
}
/* what is farther out is not in what is kept of the stack */
OWN void *wide(void)
{
	volatile char large[2000];
	large[0] = 1;
	void *at = xmalloc(50); /* wide */
	large[1999] = 1;
	sink++;
	return at;
}
int main(int argc, char **argv)
{
	const char *what = argv[1];
	if (!strcmp(what, "copy")) {
		char *text = copy("a text"); /* copying */
		sink++;
		free(text); /* freeing */
		sink++;
		die(text, 0);
	}
	if (!strcmp(what, "item")) {
		item *i = make_item(); /* making */
		sink++;
		release(i); /* releasing */
		sink++;
		die(i, 0);
	}
	if (!strcmp(what, "deep")) {
		void *at = deep(2); /* descending */
		sink++;
		die(at, 0);
	}
	if (!strcmp(what, "wide")) {
		void *at = wide(); /* widest */
		sink++;
		die(at, 0);
	}
	if (!strcmp(what, "loop")) {
		void *at[] = {malloc(60), malloc(70)};
		sink++;
		for (volatile int i = 0; i < 2; i++)
			drop(at[i], i ? at[0] : NULL);
	}
	if (!strcmp(what, "delete")) {
		one *at[] = {new one, new one};
		sink++;
		for (volatile int i = 0; i < 2; i++)
			drop_one(at[i], i ? at[0] : NULL);
	}
	if (!strcmp(what, "vector")) {
		std::vector<int> v(4); /* filled */
		int *first = grow(v); /* growing */
		sink++;
		die(first, 0);
	}
	return 0;
}
C
source_line() { grep -n "/\* $1 \*/" callers.cc | cut -d : -f 1; }
# callers LINE... -- PROGRAM WHAT: the lines of its one block's calls; "@LABEL" as for is()
callers() {
	local wanted='' have
	while [ "$1" != -- ]; do
		wanted+="${1%@*}at callers.cc:$(source_line "${1#*@}")"$'\n'
		shift
	done
	shift
	blocks "$@" || return
	have=$(sed '1,2d;/^$/d;s/^ *//' section | tr -s ' ')
	[ "$have" = "${wanted%$'\n'}" ] || fail "$*: not '$wanted' but: $have"
}
line() { grep -n "/\* $1 \*/" heap.cc | cut -d : -f 1; }
# blocks PROGRAM WHAT [ARG]: the section of its report in $got, addresses masked
blocks() {
	rm -f data*
	guard "$AUXTAP" crash --source qemu -o data -- "$@" >out 2>err </dev/null
	[ -s data.report.txt ] || { fail "$*: no report: $(cat err)"; return 1; }
	sed -n '/^Memory involved/,/^$/p' data.report.txt >section
	got=$(sed -e '1d' -e '/^$/d' -e '/^      from /d' -e 's/0x[0-9a-f]*/0xX/' -e 's/: .*//' -e 's/, by thread .*//' \
		section | tr -s ' ' | sed 's/^ //')
}
# is LINE... -- PROGRAM WHAT...: a block with these lines is in it; "@LABEL": a place in the source
is() {
	local wanted=''
	while [ "$1" != -- ]; do
		[[ $1 != *@* ]] || set -- "${1%@*}at heap.cc:$(line "${1#*@}")" "${@:2}"
		wanted+=$1$'\n'
		shift
	done
	shift
	blocks "$@" || return
	[[ $'\n'$got$'\n' == *$'\n'$wanted* ]] || fail "$*: not '$wanted' but: $got"
}
plain=('block of 100 bytes at 0xX' 'allocated plain(unsigned long) @plain')
for build in '-O1 -no-pie' '-O2 -static' '-O2 -static-pie'; do
	# shellcheck disable=SC2086
	g++ -g -w $build -pthread -o heap heap.cc 2>cc.err || {
		echo "no $build: $(tail -n 1 cc.err)"
		continue
	}
	built=$((${built:-0} + 1))
	is "${plain[@]}" -- ./heap live
	[[ $got != *freed* ]] || fail "live: $got"
	is "${plain[@]}" -- ./heap inside
	grep -q '(byte 24)' section || fail "inside: $(cat section)"
	is 'freed block of 100 bytes at 0xX' 'freed release(void*) @release' \
		'allocated plain(unsigned long) @plain' -- ./heap freed
	"$AUXTAP" pack --redact -o packed data 2>err || fail "pack: $(cat err)"
	mv heap heap.away
	"$AUXTAP" report packed 2>err | sed -n '/^Memory involved/,/^$/p' >inside
	mv heap.away heap
	# no callers of callers, which are unwound, and no variables
	sed '/^      from /d; s/: at of die(void\*) (byte 24), /: /' section | cmp -s - inside ||
		fail "redacted: $(diff section inside)"
	"$AUXTAP" pack --with-memory -o packed data 2>err || fail "pack: $(cat err)"
	mv heap heap.away
	"$AUXTAP" report packed 2>err | sed -n '/^Memory involved/,/^$/p' >inside
	mv heap.away heap
	cmp -s section inside || fail "packed: $(diff section inside)"
	is 'block of 16 bytes at 0xX' 'allocated make() @make' -- ./heap new
	is 'block of 33 bytes at 0xX' 'allocated main @reused' -- ./heap again
	[[ $got != *"block of 40 "* ]] || fail "again: $got"
	is 'freed block of 100 bytes at 0xX' 'freed again main @second' \
		'freed release(void*) @release' 'allocated plain(unsigned long) @plain' -- \
		./heap twice
	is 'freed block of 50 bytes at 0xX' 'freed destroys(void*) @destroys' \
		'allocated main @for the thread' -- ./heap thread
	grep -q 'freed .*, by thread [0-9]*$' section || fail "thread: $(cat section)"
	is 'freed block of 30 bytes at 0xX' 'freed main @realloc' \
		'allocated plain(unsigned long) @plain' -- ./heap realloc
	blocks ./heap failed
	[[ $got != *freed* ]] || fail "failed: $got"
	is 'freed block of 30 bytes at 0xX' 'freed again main @after the move' \
		'freed main @first move' 'allocated plain(unsigned long) @plain' -- \
		./heap 'moved twice'
	is 'block of 33 bytes at 0xX' 'allocated main @calloc' -- ./heap calloc
	is 'block of 2000 bytes at 0xX' 'allocated main at heap.cc:'"$(($(line jump) + 5))" -- \
		./heap jump
	[[ $got != *freed* ]] || fail "jump: $got"
	is 'block of 2000 bytes at 0xX' 'being freed main @being freed' \
		'allocated plain(unsigned long) @plain' -- ./heap smashed
	is 'block of 100 bytes at 0xX' 'allocated main @thrown' -- ./heap thrown
	is "${plain[@]}" -- ./heap part
	grep -q '(at its end)' section && [[ $got != *freed* ]] || fail "part: $(cat section)"
	is 'memory not known to be allocated, at 0xX' 'being freed main @stack' -- ./heap stack
	is 'block of 100000 bytes at 0xX' 'allocated plain(unsigned long) @plain' -- ./heap past
	grep -q "the fault's address ([0-9]* bytes past its end)" section ||
		fail "past: $(cat section)"
	is 'block of 300 bytes at 0xX' 'allocated main @aligned' -- ./heap aligned
	blocks ./heap abort
	[ -z "$got" ] || fail "abort: $got"
	is 'block of 100 bytes at 0xX' 'invalid free (byte 8) main @middle' \
		'allocated plain(unsigned long) @plain' -- ./heap middle
	blocks ./heap buffer
	[ -z "$got" ] || fail "buffer: $got"
	is 'mapped memory of 8192 bytes at 0xX' 'mapped main @mapping' -- ./heap map
	is 'mapped memory of 8192 bytes at 0xX' 'mapped main @mapping' -- ./heap 'map protected'
	grep -q "the fault's address (byte 4096)" section || fail "map protected: $(cat section)"
	is 'unmapped memory of 8192 bytes at 0xX' 'unmapped main @unmapping' \
		'mapped main @mapping' -- ./heap 'map gone'
	is 'unmapped memory of 4096 bytes at 0xX' 'unmapped main at heap.cc:'"$(($(line unmapping) - 2))" \
		'mapped main @mapping' -- ./heap 'map end'
	grep -q '  mapped memory of 8192 bytes' section && fail "map end: $(cat section)"
	is 'mapped memory of 4096 bytes at 0xX' 'mapped main @mapping' -- ./heap 'map shrunk'
	is 'mapped memory of 16777216 bytes at 0xX' 'mapped main @moving' -- ./heap 'map moved'
	blocks ./heap mapped
	[[ $got != *16777216* ]] || fail "mapped: $got"
	if [[ $build != *static* ]]; then # there the C library is the program's own code
		blocks ./heap header
		[ -z "$got" ] || fail "header: $got"
	fi
	is "${plain[@]::1}" -- ./heap forked
	grep -q 'allocated .*, before the process was forked$' section || fail "forked: $(cat section)"
	blocks ./heap left
	[ -z "$got" ] || fail "left: $got"
	is 'freed block of 100 bytes at 0xX' 'freed release(void*) @release' -- ./heap left.far
	blocks ./heap operand
	[[ $got == 'freed block of 100 '*'freed block of 200 '* ]] || fail "operand: $got"
	is 'memory not known to be allocated, at 0xX' 'freed release(void*) @release' -- \
		./heap unknown
	! grep -q 'past its end' section || fail "unknown: $(cat section)"
	is 'memory not known to be allocated, at 0xX' 'freed release(void*) @release' -- ./heap many
	blocks ./heap many old
	[[ $got != *"64 bytes"* ]] || fail "many: older than what is kept: $got"
done
[ "${built:-0}" -gt 0 ] || skip "g++ does not work: $(tail -n 1 cc.err)"
# all_callers PROGRAM [LINE]: that follows wide(): AArch64 saves registers lowest in a frame
all_callers() {
	callers 'freed main @freeing' 'allocated copy(char const*) @copied' 'from main @copying' \
		-- "$1" copy
	callers 'freed release(item*) @deleted' 'from main @releasing' \
		'allocated make_item() @made' 'from main @making' -- "$1" item
	callers 'allocated xmalloc(unsigned long) @wrapped' 'from deep(int) @deep' \
		'from deep(int) @deep' 'from deep(int) @deep' 'from main @descending' -- "$1" deep
	callers 'allocated xmalloc(unsigned long) @wrapped' 'from wide() @wide' "${@:2}" \
		-- "$1" wide
	blocks "$1" loop
	[[ $got == 'freed block of 60 bytes at 0xX'*$'\n''freed '* ]] || fail "$1 loop: $got"
	blocks "$1" delete
	[[ $got == 'freed block of 64 bytes at 0xX'*$'\n''freed '* ]] || fail "$1 delete: $got"
	callers 'freed grow(std::vector<int, std::allocator<int> >&) @grown' 'from main @growing' \
		'allocated main @filled' -- "$1" vector
}
for level in O0 O2; do
	g++ -g -w -$level -o callers.$level callers.cc && all_callers ./callers.$level
	"$AUXTAP" report --format json data | python3 -c '
import json, sys
for c in json.load(sys.stdin)["pointed_memory"][0]["freed"]["callers"]:
	print(c["function"].split("(")[0], c["line"])' >got
	printf 'grow %s\nmain %s\n' "$(source_line grown)" "$(source_line growing)" >want
	cmp -s want got || fail "$level: JSON: $(cat got)"
	guard "$AUXTAP" crash --source qemu --memory none -o none -- \
		./callers.$level item >out 2>err
	! "$AUXTAP" report none | grep -q '^      from ' || fail "$level: memory none: callers"
done
if command -v aarch64-linux-gnu-g++ >/dev/null && command -v qemu-aarch64 >/dev/null; then
	aarch64-linux-gnu-g++ -g -w -O1 -static -pthread -o heap64 heap.cc ||
		fail "not built for AArch64"
	is 'freed block of 100 bytes at 0xX' 'freed release(void*) @release' \
		'allocated plain(unsigned long) @plain' -- ./heap64 freed
	is 'block of 300 bytes at 0xX' 'allocated main @aligned' -- ./heap64 aligned
	aarch64-linux-gnu-g++ -g -w -O1 -static -o callers64 callers.cc &&
		all_callers ./callers64 'from main @widest'
fi
finish
