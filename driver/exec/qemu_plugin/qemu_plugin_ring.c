// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The producer's side of the shared memory: thread records, and chunks into the one ring. A ticket
 * decides a chunk's position among all threads. qemu_ring.c is the consumer.
 */
#include "qemu_plugin.h"
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/*
 * The plugin's state is global: a qemu process has one plugin, and neither the callbacks of qemu
 * nor the functions of the C library that it replaces have an argument for a context.
 */
struct qp qp;
struct qemu_rec qp_no_rec;
struct qemu_rec qp_sink = {.limit = QEMU_CHUNK_LIMIT};
__thread struct qemu_rec *qp_rec = &qp_no_rec;
__thread union qemu_env *qp_env;

static void futex_wait(u32 *word, u32 value)
{
	/* every wait has a time limit: the process that should wake us may be dead */
	const struct timespec timeout = {.tv_nsec = 100 * 1000 * 1000};

	syscall(SYS_futex, word, FUTEX_WAIT, value, &timeout, NULL, 0);
}

static void futex_wake(u32 *word)
{
	syscall(SYS_futex, word, FUTEX_WAKE, 0x7fffffff, NULL, NULL, 0);
}

int qp_map(const char *path)
{
	struct qemu_shm *shm;
	struct stat st;
	int fd, err = 0;

	fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) || st.st_size != sizeof(*shm)) {
		err = -EPROTO;
		goto out;
	}
	shm = mmap(NULL, sizeof(*shm), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (shm == MAP_FAILED) {
		err = -errno;
		goto out;
	}
	if (shm->magic != QEMU_SHM_MAGIC || shm->version != QEMU_SHM_VERSION) {
		munmap(shm, sizeof(*shm));
		err = -EPROTO;
		goto out;
	}
	qp.shm = shm;
	qp.max_slots = shm->max_slots <= QEMU_NR_SLOTS ? shm->max_slots : QEMU_NR_SLOTS;
out:
	close(fd);
	return err;
}

static bool is_closed(void)
{
	return qemu_load(&qp.shm->closed);
}

/* The tracer of this thread; -1: unknown. */
static pid_t tracer(void)
{
	char text[1024], *at;
	int fd = open("/proc/thread-self/status", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);

	if (fd >= 0)
		close(fd);
	text[n > 0 ? n : 0] = 0;
	at = strstr(text, "TracerPid:");
	return at ? (pid_t)strtol(at + 10, NULL, 10) : -1;
}

/*
 * The consumer traces each of us, and we lose it as a tracer when it dies. Its pid alone is not
 * enough: it stays in use until the zombie is reaped, and may then be reused.
 */
static void check_consumer(void)
{
	pid_t pid = tracer();

	if (!qp.shm || pid == qp.shm->consumer_pid)
		return;
	if (pid >= 0 || (syscall(SYS_kill, qp.shm->consumer_pid, 0) && errno == ESRCH))
		qemu_store(&qp.shm->closed, 1);
}

struct qemu_rec *qp_rec_claim(void)
{
	pid_t tid = (pid_t)syscall(SYS_gettid);
	struct qemu_rec *rec;

	qp_env = NULL;
	if (is_closed())
		return qp_rec = &qp_sink;
	for (u32 i = 0; i < QEMU_NR_RECS; i++) {
		u32 expected = QEMU_REC_FREE;

		rec = &qp.shm->rec[((u32)tid + i) % QEMU_NR_RECS];
		if (!__atomic_compare_exchange_n(&rec->state, &expected,
						 QEMU_REC_CLAIMED | (u32)tid, false,
						 __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
			continue;
		rec->nr = 0;
		rec->limit = QEMU_CHUNK_LIMIT;
		rec->last_block = QEMU_MSG;
		rec->nr_flushes = 0;
		rec->pid = getpid();
		rec->tid = tid;
		rec->arch = qp.arch->arch;
		rec->api = (u32)qp_api_version();
		rec->reserving = 0;
		rec->ticket = 0;
		rec->env = 0;
		rec->values = 0;
		rec->heap = qp_heap_ring();
		rec->guest_base = qp.guest_base;
		rec->stack = qp.stack;
		rec->asked_core_limit = 0;
		rec->regs_valid = qp.regs_valid;
		rec->in_syscall = 0;
		rec->sent = 0;
		rec->dying = 0;
		rec->exception = 0;
		rec->no_frame = 0;
		rec->left_nr = rec->left_flushes = ~0u;
		rec->gate = 0;
		rec->native = 0;
		rec->text[0] = 0;
		qemu_store(&rec->state, QEMU_REC_USED);
		return qp_rec = rec;
	}
	/* the consumer reports the gap */
	__atomic_fetch_add(&qp.shm->nr_unrecorded, 1, __ATOMIC_RELAXED);
	return qp_rec = &qp_sink;
}

/*
 * Takes a ticket, and its slot as soon as there is space. NULL: the consumer gave the ticket up, as
 * it may when we did not run for long (for example, stopped by a signal), or a thread that did not
 * may still write to the slot, or the consumer has exited.
 */
static struct qemu_slot *reserve(struct qemu_rec *rec, u64 *number)
{
	struct qemu_shm *shm = qp.shm;
	struct qemu_slot *slot;
	u64 ticket, claim;

	/*
	 * If we are killed from here on, the consumer can determine the ticket: reserving without a
	 * ticket, we may own any ticket that no other thread claims; with one, exactly that.
	 */
	__atomic_store_n(&rec->ticket, 0, __ATOMIC_SEQ_CST);
	__atomic_store_n(&rec->reserving, 1, __ATOMIC_SEQ_CST);
	ticket = __atomic_fetch_add(&shm->tail, 1, __ATOMIC_SEQ_CST);
	__atomic_store_n(&rec->ticket, ticket + 1, __ATOMIC_SEQ_CST);
	/* signed: head may have passed a ticket that was given up */
	while ((s64)(ticket - qemu_load(&shm->head)) >= (s64)qp.max_slots) {
		u32 space = qemu_load(&shm->space);

		__atomic_fetch_add(&shm->nr_waiting, 1, __ATOMIC_SEQ_CST);
		if ((s64)(ticket - __atomic_load_n(&shm->head, __ATOMIC_SEQ_CST)) >=
			    (s64)qp.max_slots &&
		    !is_closed())
			futex_wait(&shm->space, space);
		__atomic_fetch_sub(&shm->nr_waiting, 1, __ATOMIC_SEQ_CST);
		check_consumer();
		if (is_closed())
			return NULL;
	}
	slot = &shm->slot[ticket & (qp.max_slots - 1)];
	claim = __atomic_load_n(&slot->claim, __ATOMIC_SEQ_CST);
	*number = ticket;
	return claim <= ticket &&
			       __atomic_compare_exchange_n(&slot->claim, &claim, ticket + 1, false,
							   __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST) ?
		       slot :
		       NULL;
}

/*
 * Prefetches the slot of a ticket that comes soon, which was last in the consumer's cache, while
 * the program runs. Otherwise the copy of the chunk would wait for its cache lines.
 */
static void prefetch_slot(u64 ticket)
{
#if defined(__x86_64__)
	const char *slot = (const char *)&qp.shm->slot[ticket & (qp.max_slots - 1)];

	for (size_t at = 0; at < sizeof(struct qemu_slot); at += 64)
		__asm__ volatile("prefetchw %0" : : "m"(slot[at]));
#else
	(void)ticket;
#endif
}

void qp_flush(struct qemu_rec *rec)
{
	struct qemu_shm *shm = qp.shm;
	struct qemu_slot *slot;
	/* the guest may have overwritten rec */
	u32 set = qemu_load(&rec->nr), nr = set < QEMU_CHUNK_WORDS ? set : QEMU_CHUNK_WORDS;
	u32 wake_at, last = nr ? rec->word[nr - 1] : QEMU_MSG;
	int tries = 64 + QEMU_NR_RECS; /* slots held by others, and tickets given up */
	u64 ticket;

	if (!nr)
		return;
	if (rec == &qp_sink)
		goto closed;
	do {
		if (is_closed() || !tries--)
			goto closed;
		slot = reserve(rec, &ticket);
	} while (!slot);
	slot->pid = rec->pid;
	slot->tid = rec->tid;
	slot->rec = (u32)(rec - shm->rec);
	slot->nr = nr;
	memcpy(slot->word, rec->word, nr * sizeof(u32));
	__atomic_store_n(&slot->seq, ticket + 1, __ATOMIC_SEQ_CST);
	/* the consumer may be reading rec: it must see seq before anything else changes there */
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	rec->last_block = last;
	qemu_store(&rec->nr_flushes, rec->nr_flushes + 1);
	qemu_store(&rec->nr, 0);
	qemu_store(&rec->ticket, 0);
	qemu_store(&rec->reserving, 0);
	prefetch_slot(ticket + 1);

	wake_at = __atomic_load_n(&shm->wake_at, __ATOMIC_SEQ_CST);
	if (wake_at && ticket + 1 - qemu_load(&shm->head) >= wake_at &&
	    __atomic_exchange_n(&shm->wake_at, 0, __ATOMIC_SEQ_CST)) {
		__atomic_fetch_add(&shm->wake, 1, __ATOMIC_SEQ_CST);
		futex_wake(&shm->wake);
	}
	return;
closed:
	if (tries < 0) /* the consumer never gives up that many tickets of one thread */
		qemu_store(&shm->damaged, 1);
	rec->nr = 0;
	qp_sink.nr = 0;
	qp_sink.limit = QEMU_CHUNK_LIMIT;
	qp_rec = &qp_sink;
}

void qp_message(struct qemu_rec *rec, enum qemu_msg type, const void *words, u32 nr)
{
	u32 at;

	if (rec == &qp_sink || rec == &qp_no_rec)
		return;
	if (rec->nr > QEMU_CHUNK_WORDS - nr - 3) {
		qp_flush(rec);
		if (qp_rec != rec)
			return;
	}
	at = rec->nr;
	if (at > QEMU_CHUNK_WORDS - nr - 3)
		return;
	rec->word[at] = QEMU_MSG_HEAD(type, nr);
	if (nr)
		memcpy(&rec->word[at + 1], words, nr * sizeof(u32));
	rec->word[at + 1 + nr] = QEMU_MSG;
	/* whole messages only: the consumer may read this after our death */
	qemu_store(&rec->nr, at + 2 + nr);
}

void qp_name(struct qemu_rec *rec, const char *name)
{
	size_t left = strlen(name);

	while (left) {
		u32 word[32] = {0};
		size_t part = left < sizeof(word) ? left : sizeof(word);

		memcpy(word, name, part);
		qp_message(rec, QEMU_MSG_NAME, word, (u32)(part + 3) / 4);
		name += part;
		left -= part;
	}
}

void qp_wait_for_tracer(struct qemu_rec *rec)
{
	while (!qemu_load(&rec->gate) && !is_closed()) {
		futex_wait(&rec->gate, 0);
		check_consumer();
	}
}
