# SPDX-License-Identifier: BSD-2-Clause
# The slice of a bad pointer, index or return address (crash --values): the report names the
# instructions that read and wrote it, and their callers; it names none where something else may
# have written.
. "$(dirname "$0")/lib.sh"
command -v gcc >/dev/null || skip "gcc is not installed"

# Comments name what the report has to name: one line for each step, then its caller.
cat >prog.c <<'C'
#define _GNU_SOURCE
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>
#define NOINLINE __attribute__((noinline, noclone))
struct node { long value; struct node *next; };
struct named { char name[16]; struct node *node; };
static struct named one, other;
static struct node *volatile shared_pointer;
static struct node *table[8];
static int fds[2];
static volatile long sink;

static NOINLINE long use(struct node *node) { return node->value; } /* use */
static NOINLINE long use_named(struct named *named)
{
	return use(named->node); /* use_named */
}
/* The system call writes zeros over zeros, too: it is not said that it wrote a part. */
static NOINLINE int status(void)
{
	union {
		struct stat status;
		struct node *node[sizeof(struct stat) / sizeof(struct node *)];
	} it;

	memset(&it, 0, sizeof(it));
	if (stat("prog.c", &it.status)) /* status */
		return 0;
	return (int)use(it.node[6]);
}
/* The read is the last instruction of a page, the next one in two pages. */
static NOINLINE long use_page(struct named *named)
{
	struct node *node;

	__asm__ volatile("jmp 1f\n\t.p2align 12\n\t.skip 4090, 0x90\n1:\t" /* use_page */
			 "mov 16(%1), %0\n\t.byte 0x0f, 0x1f, 0x44, 0, 0"
			 : "=r"(node)
			 : "S"(named));
	return node->value;
}
static NOINLINE void overflow(struct named *to, const char *from)
{
	strcpy(to->name, from); /* overflow */
}
static NOINLINE void store(struct named *to, uintptr_t value)
{
	to->node = (struct node *)value; /* store */
}
static NOINLINE void copy(struct named *to, const struct named *from)
{
	*to = *from; /* copy */
}
static NOINLINE void receive(struct named *to)
{
	if (read(fds[0], to, 24) != 24) /* receive */
		exit(1);
}
static NOINLINE void receive_parts(struct named *to)
{
	struct iovec part = {to, 24};

	if (readv(fds[0], &part, 1) != 24)
		exit(1);
}
/* calls that write elsewhere; 0: they all went well */
static NOINLINE int many_calls(void)
{
	struct pollfd poll_fd = {fds[0], POLLIN, 0};
	struct timeval none = {0, 0};
	struct epoll_event event = {EPOLLIN, {0}};
	struct rusage usage;
	struct sockaddr_un name;
	struct stat st;
	char part[2][4];
	struct iovec parts[2] = {{part[0], 4}, {part[1], 4}};
	struct msghdr msg = {.msg_iov = parts, .msg_iovlen = 2};
	socklen_t size = sizeof(name);
	int pair[2], bytes, status, value, epoll = epoll_create1(0);
	socklen_t value_size = sizeof(value);
	fd_set set;
	pid_t child;

	FD_ZERO(&set);
	FD_SET(fds[0], &set);
	if (poll(&poll_fd, 1, 0) != 1 || select(fds[0] + 1, &set, NULL, NULL, &none) != 1)
		return 1;
	event.data.fd = fds[0];
	if (epoll_ctl(epoll, EPOLL_CTL_ADD, fds[0], &event) ||
	    epoll_wait(epoll, &event, 1, 0) != 1)
		return 2;
	if (ioctl(fds[0], FIONREAD, &bytes) || bytes != 24 || getrusage(RUSAGE_SELF, &usage))
		return 3;
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) ||
	    getsockname(pair[0], (struct sockaddr *)&name, &size) ||
	    getsockopt(pair[0], SOL_SOCKET, SO_TYPE, &value, &value_size))
		return 4;
	if (write(pair[0], "12345678abcdefgh", 16) != 16 || readv(pair[1], parts, 2) != 8 ||
	    recvmsg(pair[1], &msg, 0) != 8 || memcmp(part[1], "efgh", 4))
		return 5;
	child = fork();
	if (!child)
		_exit(3);
	if (waitpid(child, &status, 0) != child || WEXITSTATUS(status) != 3)
		return 6;
	sigsetmask(0);
	return fstat(fds[0], &st) ? 7 : 0;
}
static NOINLINE void capitalise(char *text)
{
	int i = 0;

	while (text[i]) {
		text[i] = (char)(text[i] - 32);
		i++;
	}
}
static struct parts { unsigned char nr_max; int nr; } parts = {200, 3};
static NOINLINE void set_parts(int nr)
{
	parts.nr = nr & 3; /* set_parts */
}
static NOINLINE int share(int all)
{
	return all / parts.nr; /* share */
}
static NOINLINE void grow(int by)
{
	parts.nr_max += by; /* grow */
}
static NOINLINE int slot(int at)
{
	return at % parts.nr_max; /* slot */
}
static NOINLINE long unset_array(int how, int at)
{
	long *words;

	if (how)
		words = (long *)table;
	return words[at]; /* unset_array */
}
static NOINLINE int receive_option(struct named *to)
{
	socklen_t size = 4;
	int of = socket(AF_UNIX, SOCK_STREAM, 0);

	return getsockopt(of, SOL_SOCKET, SO_TYPE, &to->node, &size);
}
static NOINLINE int receive_text(struct named *to)
{
	int pair[2];

	return socketpair(AF_UNIX, SOCK_STREAM, 0, pair) ||
	       write(pair[0], "0123456789abcdefABCDEFGH", 24) != 24 ||
	       recv(pair[1], to, 24, 0) != 24; /* receive_text */
}
static NOINLINE void smash(const char *from)
{
	char text[8];

	strcpy(text, from); /* smash */
	sink = text[0];
} /* smashed */
static NOINLINE void put(char *to, int at)
{
	to[at] = (char)(0x40 + at); /* put */
}
static NOINLINE void creep(void)
{
	char *slot = (char *)__builtin_frame_address(0) + 8; /* the return address */

	for (int i = 0; i < 8; i++)
		put(slot, i); /* creep */
	sink++;
}
static NOINLINE void dirty(void)
{
	volatile long words[64];

	for (int i = 0; i < 64; i++)
		words[i] = 0x11111111l * i;
}
static NOINLINE long unset(int how)
{
	struct node *node;

	if (how)
		node = table[how];
	return node->value; /* unset */
}
static NOINLINE long unset_with_calls(int how)
{
	struct node *node;

	if (how)
		node = table[how];
	getppid();
	return node->value; /* unset_with_calls */
}
static NOINLINE void copy_unset(int how)
{
	struct node *node;

	if (how)
		node = table[how];
	one.node = node; /* copy_unset */
}
static NOINLINE int pick(int n)
{
	return n * 1000003; /* pick */
}
static NOINLINE long indexed(const long *words, int at)
{
	return words[at]; /* indexed */
}
static ucontext_t there, here;
static char stacks[2][32768];
static struct node **kept;
static NOINLINE void on_other_stack(void)
{
	struct node *node = (struct node *)0x1230; /* on_other_stack */

	kept = &node;
	swapcontext(&there, &here);
	sink = node->value; /* switched */
}
static void on_signal(int signo)
{
	shared_pointer = (struct node *)(uintptr_t)(0x1230 + signo); /* on_signal */
}
static NOINLINE long use_shared(void)
{
	return shared_pointer->value; /* use_shared */
}
static jmp_buf back;
static NOINLINE void jump(int depth)
{
	if (!depth)
		longjmp(back, 1);
	jump(depth - 1);
	sink++;
}
static NOINLINE void *work(void *arg)
{
	store(arg, 0x1230);
	return NULL;
}
static NOINLINE struct node *load(int i)
{
	return table[i]; /* load */
}
static NOINLINE long use_loaded(void)
{
	struct node *node = load(1);

	sink = 0;
	return node->value;
}
static NOINLINE int read_zeros(struct named *to)
{
	int zeros = open("/dev/zero", O_RDONLY);

	return (int)read(zeros, to, sizeof(*to)); /* read_zeros */
}
static NOINLINE long use_zeros(void)
{
	struct named named;

	return read_zeros(&named) > 0 ? use_named(&named) : 0; /* use_zeros */
}
static struct node **kept_local;
static NOINLINE void keep_local(void)
{
	struct node *local = table[0];

	kept_local = &local;
}
static NOINLINE long use_local(void)
{
	volatile char room[16];

	room[0] = 0;
	return (*kept_local)->value; /* use_local */
}
static NOINLINE long step_on(const long *words)
{
	for (long i = 6; i; i += 700)
		sink += words[i * 8]; /* step_on */
	return sink;
}
static NOINLINE void after_block(char *block)
{
	strcpy(block + 24, "overrun"); /* after_block */
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	struct named *shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
				    -1, 0);
	pthread_t thread;

	if (pipe(fds) || write(fds[1], "0123456789abcdefABCDEFGH", 24) != 24)
		return 1;
	one.node = other.node = (struct node *)&one;
	if (!strcmp(what, "overflow")) {
		overflow(&one, "a text that is longer than it may be"); /* main_overflow */
		return (int)use_named(&one); /* main_overflow_use */
	}
	if (!strcmp(what, "store")) {
		store(&one, 0x1230); /* main_store */
		return (int)use_named(&one); /* main_store_use */
	}
	if (!strcmp(what, "copy")) {
		store(&other, 0x1230); /* main_copy_store */
		copy(&one, &other); /* main_copy */
		return (int)use_named(&one); /* main_copy_use */
	}
	if (!strcmp(what, "receive")) {
		receive(&one); /* main_receive */
		return (int)use_named(&one); /* main_receive_use */
	}
	if (!strcmp(what, "parts")) {
		receive_parts(&one);
		return (int)use_named(&one); /* main_parts_use */
	}
	if (!strcmp(what, "calls")) {
		store(&one, 0x1230); /* main_calls */
		if (many_calls())
			return 1;
		return (int)use_named(&one);
	}
	if (!strcmp(what, "read_only")) {
		char *text = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
				  -1, 0);

		strcpy(text, "text");
		mprotect(text, 4096, PROT_READ);
		capitalise(text);
	}
	if (!strcmp(what, "page")) {
		store(&one, 0x1230); /* main_page */
		return (int)use_page(&one);
	}
	if (!strcmp(what, "status"))
		return status(); /* main_status */
	if (!strcmp(what, "divide")) {
		set_parts(argc + 2); /* main_divide */
		return share(100);
	}
	if (!strcmp(what, "narrow")) {
		grow(56); /* main_narrow */
		return slot(7);
	}
	if (!strcmp(what, "unset_array")) {
		dirty();
		return (int)unset_array(argc - 2, 5);
	}
	if (!strcmp(what, "option")) {
		store(&one, 0x1230);
		receive_option(&one);
		return (int)use_named(&one);
	}
	if (!strcmp(what, "text")) {
		if (receive_text(&one)) /* main_text */
			return 1;
		return (int)use_named(&one);
	}
	if (!strcmp(what, "smash"))
		smash("a text that is longer than it may be"); /* main_smash */
	if (!strcmp(what, "creep"))
		creep(); /* main_creep */
	if (!strcmp(what, "unset")) {
		dirty();
		return (int)unset(argc - 2);
	}
	if (!strcmp(what, "unset_with_calls")) {
		dirty();
		return (int)unset_with_calls(argc - 2);
	}
	if (!strcmp(what, "copy_unset")) {
		dirty();
		copy_unset(argc - 2); /* main_copy_unset */
		return (int)use_named(&one);
	}
	if (!strcmp(what, "index"))
		return (int)indexed((long *)table, pick(argc)); /* main_index */
	if (!strcmp(what, "switch")) {
		getcontext(&there);
		there.uc_stack.ss_sp = stacks[0];
		there.uc_stack.ss_size = sizeof(stacks[0]);
		makecontext(&there, on_other_stack, 0);
		swapcontext(&here, &there);
		dirty();
		swapcontext(&here, &there);
	}
	if (!strcmp(what, "signal")) {
		signal(SIGUSR1, on_signal);
		raise(SIGUSR1);
		return (int)use_shared();
	}
	if (!strcmp(what, "jump")) {
		store(&one, 0x1230); /* main_jump */
		if (!setjmp(back))
			jump(5);
		return (int)use_named(&one); /* main_jump_use */
	}
	if (!strcmp(what, "shared")) {
		volatile char *turn = shared->name;

		if (!fork()) { /* it writes last, the same value */
			while (!*turn)
				;
			store(shared, 0x1230);
			*turn = 2;
			_exit(0);
		}
		store(shared, 0x1230);
		*turn = 1;
		while (*turn == 1)
			;
		return (int)use_named(shared); /* main_shared_use */
	}
	if (!strcmp(what, "thread")) {
		pthread_create(&thread, NULL, work, &one);
		pthread_join(thread, NULL);
		return (int)use_named(&one);
	}
	if (!strcmp(what, "loaded")) {
		table[1] = (struct node *)0x1230; /* main_loaded */
		return (int)use_loaded();
	}
	if (!strcmp(what, "zeros"))
		return (int)use_zeros(); /* main_zeros */
	if (!strcmp(what, "local")) {
		keep_local();
		dirty();
		return (int)use_local();
	}
	if (!strcmp(what, "steps"))
		return (int)step_on((long *)table);
	if (!strcmp(what, "block")) {
		char *block = malloc(24);

		after_block(block); /* main_block */
		free(malloc(100));
		free(malloc(2000000));
		block = malloc(3000);
		return !block;
	}
	return 0;
}
C

# steps WHAT: the sentences of the slice, and the calls that led there
steps() {
	rm -f data*
	guard "$AUXTAP" crash --source qemu --values -o data -- ./prog "$1" >out 2>err </dev/null
	grep -q 'requires qemu 10' err && skip "no qemu 10: $(head -n 1 err)"
	[ -e data.report.txt ] || { fail "$cc $1: no crash: $(cat err)"; : >found; return; }
	sed -n '1,/^$/p' data.report.txt |
		sed -n -e '/^  \(The \|That \|Before[, ]\)/{s/^  //;s/, from byte.*//;s/, from the var.*//;p}' \
			-e 's/^    from /  /p' >found
}
place() { # COMMENT: "prog.c:12"
	printf 'prog.c:%s' "$(grep -n "/[*] $1 [*]/" prog.c | cut -d : -f 1)"
}
# says WHAT [LINE...]: exactly these; @NAME is the line with that comment
says() {
	local what=$1 text name
	shift
	steps "$what"
	for text; do
		while [[ $text == *@* ]]; do
			name=$(sed -n 's/[^@]*@\([a-z_]*\).*/\1/p' <<<"$text")
			text=${text/@$name/$(place "$name")}
		done
		printf '%s\n' "$text"
	done >due
	cmp -s due found || fail "$cc $what: '$(cat found)', not '$(cat due)': $(sed '/^Reg/,$d' data.report.txt)"
}
for cc in 'gcc -O0' 'gcc -O2' 'clang -O0' 'clang -O2'; do
	command -v "${cc%% *}" >/dev/null || continue
	$cc -g -w -fno-stack-protector -U_FORTIFY_SOURCE -pthread -o prog prog.c ||
		{ fail "$cc: not built"; continue; }
	read='The pointer was read by use_named at @use_named'
	says store "$read" 'Before, it was written by store at @store' '  main at @main_store'
	says copy "$read" 'Before, it was written by copy at @copy' '  main at @main_copy' \
		'Before, it was written by store at @store' '  main at @main_copy_store'
	says page 'The pointer was read by use_page at @use_page' \
		'Before, it was written by store at @store' '  main at @main_page'
	says status 'The pointer was written in a call from status at @status' \
		'  main at @main_status'
	says receive "$read" 'Before, it was written in a call from receive at @receive' \
		'  main at @main_receive'
	says jump "$read" 'Before, it was written by store at @store' '  main at @main_jump'
	says signal 'The pointer was read by use_shared at @use_shared' \
		'Before, it was written by on_signal at @on_signal'
	says calls "$read" 'Before, it was written by store at @store' '  main at @main_calls'
	says text "$read" 'Before, it was written in a call from receive_text at @receive_text' \
		'  main at @main_text'
	says divide 'The divisor was written by set_parts at @set_parts' '  main at @main_divide'
	says narrow 'The divisor was written by grow at @grow' '  main at @main_narrow'
	# the index is of memory that must not be written to: the pointer is wrong
	steps read_only
	! grep -i index found || fail "$cc read_only: $(cat found)"
	# what was written is not in the log
	says option "$read"
	says parts "$read"
	says shared "$read"
	# the log of a thread that has ended may still be there: test_slice_threads
	steps thread
	grep -q '^  What wrote it is not known: the process had other threads,' data.report.txt ||
		grep -q '^    from work at .*, in thread [0-9]*$' data.report.txt ||
		fail "$cc thread: $(sed -n '1,/^$/p' data.report.txt)"
	# compilers make the string functions calls, tail calls or stores
	steps overflow
	grep -A 1 '^Before' found | tr '\n' ' ' >written
	due='^Before, it was (partly )?written (by|in a call from) (overflow|main) at prog\.c:'
	{ grep -qE "$due" written && grep -qF "main at $(place main_overflow)" written; } || fail "$cc overflow: $(cat found)"
	steps switch # never: it was set before the switch
	! grep 'never set' found || fail "$cc switch: $(cat data.report.txt)"
	# zeros over zeros: the call wrote them
	steps zeros
	grep -qE '^Before, it was written in a call from (read|use)_zeros at' found ||
		fail "$cc zeros: $(cat found)"
	# a local variable of a function that has returned
	steps local
	! grep 'never set' found || fail "$cc local: $(cat found)"
	case $cc in
	*-O0)
		says copy_unset "$read" 'Before, it was written by copy_unset at @copy_unset' \
			'  main at @main_copy_unset' \
			'Before, it was read from a local variable that was never set, by copy_unset at @copy_unset'
		# a register adds up: where it began says nothing
		steps steps
		grep -qE '^The index was (computed|written) by step_on at' found ||
			fail "$cc steps: $(cat data.report.txt)"
		# "returned by load" comes first; what it was stored in then is no news
		steps loaded
		sed -n 2p found | grep -q "^Before, it was read by load at $(place load)$" ||
			fail "$cc loaded: $(cat found)"
		grep -A 1 'written' found | head -n 1 |
			grep -qxF "Before, it was written by main at $(place main_loaded)" ||
			fail "$cc loaded: $(cat found)"
		for what in unset unset_with_calls unset_array; do
			subject='The pointer'
			[ "$cc $what" = 'gcc -O0 unset_array' ] && # the operand is the sum
				subject+=', before a variable was added,'
			subject+=' was read from a local variable that was never set'
			says $what "$subject, by $what at @$what"
		done
		;;
	'clang -O2') continue ;; # it leaves out the rest
	esac
	says smash 'The return address was overwritten in a call from smash at @smash' \
		'  main at @main_smash'
	# the callers are those of the first byte, not of a return address that is half overwritten
	says creep 'The return address was overwritten by put at @put' '  creep at @creep' \
		'  main at @main_creep'
	says index 'The index was computed by pick at @pick' '  main at @main_index'
	steps block
	sed -i 1d found
	sed -i 's/in a call from after/by after/' found
	printf 'That was overwritten by after_block at %s\n  main at %s\n' "$(place after_block)" \
		"$(place main_block)" | cmp -s - found || fail "$cc block: $(cat found)"
done
# Who overwrote the value of the stack protector.
cp prog.c unprotected.c
cat >prog.c <<'C'
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#define NOINLINE __attribute__((noinline, noclone))
static int fds[2];
static volatile int sink;

static NOINLINE void put(char *to, const char *from, int n)
{
	for (int i = 0; i < n; i++)
		to[i] = from[i]; /* put */
}
static NOINLINE int parse(const char *what, const char *from, int n)
{
	char name[16];

	if (!strcmp(what, "put"))
		put(name, from, n); /* parse_put */
	else if (!strcmp(what, "copy"))
		strcpy(name, from); /* parse_copy */
	else
		n = (int)read(fds[0], name, n); /* parse_read */
	for (int i = 0; i < 16; i++)
		sink += name[i];
	return n;
}

int main(int argc, char **argv)
{
	const char *text = "a text that is longer than it may be";

	if (argc < 2 || pipe(fds) || write(fds[1], text, 36) != 36)
		return 1;
	sink = parse(argv[1], "short", 6);
	sink = parse(argv[1], text, 30); /* main_parse */
	return 0;
}
C
for cc in 'gcc -O0' 'gcc -O2' 'clang -O0' 'clang -O2'; do
	command -v "${cc%% *}" >/dev/null || continue
	$cc -g -w -fstack-protector-all -U_FORTIFY_SOURCE -o prog prog.c ||
		{ fail "$cc: not built"; continue; }
	by="The stack protector's value was overwritten"
	says put "$by by put at @put" '  parse at @parse_put' '  main at @main_parse'
	says copy "$by in a call from parse at @parse_copy" '  main at @main_parse'
	says read "$by in a call from parse at @parse_read" '  main at @main_parse'
done
cp prog.c protected.c
# a pointer that is another one and a variable, or a constant: the value before is another value
cat >prog.c <<'C'
#include <stdlib.h>
#include <string.h>
#define NOINLINE __attribute__((noinline, noclone))
typedef float vector __attribute__((vector_size(16)));
static NOINLINE void fill(char *at) { *(vector *)at = (vector){1, 2, 3, 4}; } /* fill */
static NOINLINE void fill_at(char *at, size_t by) { fill(at + by); }
struct pool { char *base; size_t used; };
static struct pool pool;
static char *volatile kept;
static NOINLINE void init(void) { pool.base = aligned_alloc(16, 4096); } /* init */
static NOINLINE void direct(size_t by) { *(vector *)(pool.base + by) = (vector){1}; }
static NOINLINE char *take(size_t nr)
{
	char *at = pool.base + pool.used; /* take */

	pool.used += nr;
	return at;
}
int main(int argc, char **argv)
{
	size_t eight = strtoul("8", NULL, 0);
	char *block = malloc(332); /* main_malloc */

	kept = block;
	init(); /* main_init */
	if (argc > 1 && !strcmp(argv[1], "variable"))
		fill_at(block, eight);
	if (argc > 1 && !strcmp(argv[1], "constant"))
		fill(block + 8);
	if (argc > 1 && !strcmp(argv[1], "direct"))
		direct(eight);
	fill(take(eight));
	fill(take(eight)); /* main_take */
	return 0;
}
C
for cc in 'gcc -O2' 'clang -O2'; do
	command -v "${cc%% *}" >/dev/null || continue
	$cc -g -w -o prog prog.c || { fail "$cc: not built"; continue; }
	for what in variable constant; do
		by='was written in a call from main at @main_malloc'
		says $what "The pointer, before a $what was added, $by"
	done
	says pool 'The pointer, before a variable was added, was read by take at @take' \
		'  main at @main_take' 'Before, it was written by init at @init' \
		'  main at @main_init'
done
gcc -g -w -O0 -o prog prog.c || fail "gcc -O0: not built"
# the read of the pointer, in the line of the fault, is not reported
says direct 'The pointer, before a variable was added, was written by init at @init' \
	'  main at @main_init'
cp prog added
cp unprotected.c prog.c
python3 -c 'import jsonschema' 2>/dev/null && {
	gcc -g -w -O0 -fno-stack-protector -pthread -o prog prog.c || fail "not built"
	for what in store copy smash unset index block divide thread; do
		steps $what
		"$AUXTAP" report --calls 60 data >$what.txt
		"$AUXTAP" report --calls 60 --format json data >$what.json
	done
	cp added prog
	steps variable
	"$AUXTAP" report --calls 60 data >variable.txt
	"$AUXTAP" report --calls 60 --format json data >variable.json
	grep -q '"is_summed": *true' variable.json || fail "JSON: nothing is added"
	gcc -g -w -O0 -fstack-protector-all -U_FORTIFY_SOURCE -o prog protected.c ||
		fail "not built"
	steps put
	"$AUXTAP" report --calls 60 data >protected.txt
	"$AUXTAP" report --calls 60 --format json data >protected.json
	python3 -B "$SRC/tests/tools/report_text_json.py" "$SRC/docs/report.schema.json" \
		./*.json || fail "JSON: see above"
}
finish
