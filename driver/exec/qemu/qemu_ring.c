// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The consumer's side of the shared memory: chunks strictly in the order of their tickets.
 * Producers may be killed at any instruction, and may be hostile; neither may block us.
 * qemu_plugin_ring.c is the producer; qemu_stream.c decodes the chunks.
 */
#include "qemu.h"
#include <errno.h>
#include <linux/futex.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define STUCK_NS 500000000ull /* the longest that the ring waits for a missing ticket */

static u32 *wake_word; /* for a signal handler, which has no argument */

static u32 tunable(const char *name, u32 value, u32 max)
{
	const char *text = getenv(name);
	unsigned long set = text ? strtoul(text, NULL, 10) : 0;

	return set && set <= max ? (u32)set : value;
}

int qemu_ring_open(struct qemu_engine *q)
{
	struct qemu_shm *shm;
	int fd, err;

	fd = memfd_create("auxtap-qemu", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (fd < 0)
		return -errno;
	if (ftruncate(fd, sizeof(*shm)))
		goto fail;
	shm = mmap(NULL, sizeof(*shm), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (shm == MAP_FAILED)
		goto fail;
	q->block = calloc(QEMU_MAX_BLOCKS, sizeof(*q->block));
	if (!q->block) {
		munmap(shm, sizeof(*shm));
		close(fd);
		return -ENOMEM;
	}
	shm->magic = QEMU_SHM_MAGIC;
	shm->version = QEMU_SHM_VERSION;
	shm->consumer_pid = getpid();
	shm->values = emu_values(q->emu);
	/* tests make the tables small, to exercise full ones */
	shm->max_blocks = tunable("AUXTAP_QEMU_BLOCKS", QEMU_MAX_BLOCKS, QEMU_MAX_BLOCKS);
	shm->max_slots = tunable("AUXTAP_QEMU_SLOTS", QEMU_NR_SLOTS, QEMU_NR_SLOTS);
	while (shm->max_slots & (shm->max_slots - 1))
		shm->max_slots &= shm->max_slots - 1;
	q->max_slots = shm->max_slots;
	q->shm = shm;
	q->shm_fd = fd;
	wake_word = &shm->wake;
	return 0;
fail:
	err = -errno;
	close(fd);
	return err;
}

static void futex_wake(u32 *word)
{
	syscall(SYS_futex, word, FUTEX_WAKE, 0x7fffffff, NULL, NULL, 0);
}

void qemu_ring_wake(void)
{
	if (wake_word)
		__atomic_fetch_add(wake_word, 1, __ATOMIC_SEQ_CST);
}

void qemu_ring_close(struct qemu_engine *q)
{
	q->closed = true;
	if (!q->shm)
		return;
	qemu_store(&q->shm->closed, 1);
	__atomic_fetch_add(&q->shm->space, 1, __ATOMIC_SEQ_CST);
	futex_wake(&q->shm->space);
	for (u32 i = 0; i < QEMU_NR_RECS; i++) {
		if (qemu_load(&q->shm->rec[i].state) != QEMU_REC_USED)
			continue;
		qemu_store(&q->shm->rec[i].gate, 1);
		futex_wake(&q->shm->rec[i].gate);
	}
}

void qemu_ring_free(struct qemu_engine *q)
{
	wake_word = NULL; /* a SIGCHLD may still come */
	if (!q->shm)
		return;
	munmap(q->shm, sizeof(*q->shm));
	close(q->shm_fd);
}

struct qemu_rec *qemu_ring_rec(struct qemu_engine *q, struct qemu_thread *t)
{
	for (u32 i = 0; t->rec < 0 && t->process && i < QEMU_NR_RECS; i++) {
		u32 at = ((u32)t->tid + i) % QEMU_NR_RECS;
		struct qemu_rec *rec = &q->shm->rec[at];

		if (qemu_load(&rec->state) == QEMU_REC_USED && rec->tid == t->tid &&
		    rec->pid == t->process->pid)
			t->rec = (int)at;
	}
	return t->rec < 0 ? NULL : &q->shm->rec[t->rec];
}

void qemu_ring_free_rec(struct qemu_engine *q, struct qemu_thread *t)
{
	struct qemu_rec *rec = qemu_ring_rec(q, t);

	/* was it killed while it claimed one? */
	for (u32 i = 0; !rec && i < QEMU_NR_RECS; i++)
		if (qemu_load(&q->shm->rec[i].state) == (QEMU_REC_CLAIMED | (u32)t->tid))
			qemu_store(&q->shm->rec[i].state, QEMU_REC_FREE);
	if (!rec)
		return;
	q->rec_thread[t->rec] = NULL;
	t->rec = -1;
	qemu_store(&rec->state, QEMU_REC_FREE);
}

/* Executes no more: not one that was only asked to stop, which may run a moment longer. */
static bool is_dead(const struct qemu_thread *t)
{
	return t->frozen && (t->stopped || t->exited || t->gone || t->todo == QEMU_TODO_GONE);
}

/*
 * Finds the holder of a ticket that is not published. True: a running thread, which may still
 * publish it. *owner: the certain holder, dead or alive, or NULL.
 */
static bool owner_runs(struct qemu_engine *q, u64 ticket, struct qemu_thread **owner)
{
	bool alive = false;

	*owner = NULL;
	for (struct qemu_thread *t = q->threads; t; t = t->next) {
		/* include threads without a task: a program's start is sent before it has one */
		struct qemu_rec *rec = t->exited ? NULL : qemu_ring_rec(q, t);
		u64 claimed;

		if (!rec || !__atomic_load_n(&rec->reserving, __ATOMIC_SEQ_CST))
			continue;
		claimed = __atomic_load_n(&rec->ticket, __ATOMIC_SEQ_CST);
		if (claimed == ticket + 1)
			*owner = t;
		if (!is_dead(t) && (!claimed || claimed == ticket + 1))
			alive = true;
	}
	return alive;
}

/* only: the process that lost blocks; NULL: any of them may have. */
static void report_lost(struct qemu_engine *q, const struct qemu_process *only, const char *why)
{
	for (const struct qemu_process *p = q->processes; p; p = p->next)
		if (!only || p == only)
			emu_report_problem(q->emu, p->pid, why);
}

/*
 * Takes the chunk of a thread that has not finished copying it to its slot from where it copies it.
 * Until it has, no other producer may fill the slot. False: it has just finished.
 */
static bool take_from_record(struct qemu_engine *q, struct qemu_thread *t, struct qemu_slot *slot,
			     u64 ticket)
{
	struct qemu_rec *rec = &q->shm->rec[t->rec]; /* owner_runs() has found it */
	u64 claim = ticket + 1;
	u32 word[QEMU_CHUNK_WORDS];
	u32 nr = qemu_load(&rec->nr);

	if (nr > QEMU_CHUNK_WORDS)
		nr = QEMU_CHUNK_WORDS;
	memcpy(word, rec->word, nr * sizeof(u32));
	/* what was copied is the chunk if the thread has not published it: then it changes rec */
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	if (qemu_load(&slot->seq) == ticket + 1)
		return false;
	__atomic_compare_exchange_n(&slot->claim, &claim, QEMU_SLOT_HELD | (ticket + 1), false,
				    __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
	t->taken = ticket + 1;
	qemu_stream(q, t, word, nr);
	return true;
}

/* May the thread that holds the slot still write to it? */
static bool is_held(struct qemu_engine *q, const struct qemu_slot *slot, u64 claim)
{
	u64 held = claim & ~QEMU_SLOT_HELD;

	if (!held || qemu_load(&slot->seq) == held)
		return false;
	for (struct qemu_thread *t = q->threads; t; t = t->next) {
		const struct qemu_rec *rec = t->taken == held ? qemu_ring_rec(q, t) : NULL;

		if (rec)
			return !is_dead(t) && __atomic_load_n(&rec->reserving, __ATOMIC_SEQ_CST) &&
			       __atomic_load_n(&rec->ticket, __ATOMIC_SEQ_CST) == held;
	}
	return false;
}

/*
 * The ticket at head is taken and its chunk is missing. Its holder gets some time; then the ticket
 * is given up, whatever the holder's state. A producer that has not started to copy takes a new
 * ticket when it runs again, and nothing is lost. True: given up, or its chunk was taken.
 */
static bool give_up(struct qemu_engine *q, struct qemu_slot *slot, u64 ticket)
{
	u64 now = qemu_now_ns(), claim;
	struct qemu_thread *owner;
	bool alive = owner_runs(q, ticket, &owner), late;

	if (qemu_load(&slot->seq) == ticket + 1)
		return false;
	if (q->stuck_head != ticket + 1) {
		q->stuck_head = ticket + 1;
		q->stuck_ns = now;
	}
	late = now - q->stuck_ns > STUCK_NS;
	claim = __atomic_load_n(&slot->claim, __ATOMIC_SEQ_CST);
	if (claim & QEMU_SLOT_HELD) {
		/* the producer of this ticket may not fill it, and takes another */
		if (!owner && alive && !late)
			return false;
		if (!is_held(q, slot, claim))
			__atomic_store_n(&slot->claim, ticket + 1, __ATOMIC_SEQ_CST);
		if (owner)
			owner->skipped = ticket + 1;
		return true;
	}
	if (alive && !late)
		return false;
	if (claim <= ticket && __atomic_compare_exchange_n(&slot->claim, &claim, ticket + 1, false,
							   __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) {
		/* the contents of a dead one's open chunk */
		if (owner)
			owner->skipped = ticket + 1;
		return true;
	}
	/* it is being copied by a thread that we do not know yet, or that does not get the CPU */
	if (claim == ticket + 1 && !(owner && is_dead(owner)) && !late)
		return false;
	if (qemu_load(&slot->seq) == ticket + 1)
		return false;
	if (owner && !is_dead(owner))
		return take_from_record(q, owner, slot, ticket);
	if (owner)
		owner->skipped = ticket + 1;
	else
		report_lost(q, NULL,
			    "an unknown thread stopped while it transferred its executed blocks");
	return true;
}

static struct qemu_thread *thread_of_slot(struct qemu_engine *q, const struct qemu_slot *slot)
{
	struct qemu_thread *t;
	u32 rec = slot->rec;

	if (rec >= QEMU_NR_RECS)
		return NULL;
	t = q->rec_thread[rec];
	if (t && t->tid == slot->tid)
		return t;
	t = qemu_thread_find(q, slot->tid);
	if (t && t->process && t->process->pid == slot->pid) {
		q->rec_thread[rec] = t;
		t->rec = (int)rec;
		return t;
	}
	return NULL;
}

static void release_slot(struct qemu_engine *q, u64 head)
{
	struct qemu_shm *shm = q->shm;

	q->head = head;
	__atomic_store_n(&shm->head, head, __ATOMIC_SEQ_CST);
	if (__atomic_load_n(&shm->nr_waiting, __ATOMIC_SEQ_CST)) {
		__atomic_fetch_add(&shm->space, 1, __ATOMIC_SEQ_CST);
		/* do not wake for each slot, but when a good part of the ring is free */
		if (!(head & (q->max_slots / 4 - (q->max_slots >= 4))) ||
		    head == qemu_load(&shm->tail))
			futex_wake(&shm->space);
	}
}

bool qemu_ring_consume(struct qemu_engine *q, u32 max_chunks)
{
	struct qemu_shm *shm = q->shm;
	u64 head = q->head;
	bool worked = false;

	while (shm && max_chunks-- && !q->closed) {
		u64 tail = __atomic_load_n(&shm->tail, __ATOMIC_SEQ_CST);
		struct qemu_slot *slot = &shm->slot[head & (q->max_slots - 1)];
		struct qemu_thread *t;
		u32 nr;

		if (head == tail)
			break;
		if (qemu_load(&shm->damaged) || tail - head > (u64)q->max_slots + QEMU_NR_RECS) {
			/* each thread holds at most one ticket: the counter was overwritten */
			for (struct qemu_process *p = q->processes; p; p = p->next)
				emu_report_problem(
					q->emu, p->pid,
					"the program overwrote the memory shared with qemu");
			qemu_ring_close(q);
			break;
		}
		if (qemu_load(&slot->seq) != head + 1) {
			if (!give_up(q, slot, head))
				break;
			release_slot(q, ++head);
			worked = true;
			if (emu_has_requests(q->emu))
				break;
			continue;
		}
		t = thread_of_slot(q, slot);
		if (!t) {
			/* ptrace has not reported this thread yet, or it has exited */
			if (q->stuck_head != head + 1) {
				q->stuck_head = head + 1;
				q->stuck_ns = qemu_now_ns();
			}
			if ((!syscall(SYS_tgkill, slot->pid, slot->tid, 0) || errno != ESRCH) &&
			    qemu_now_ns() - q->stuck_ns < STUCK_NS)
				break;
			report_lost(q, qemu_process_find(q, slot->pid),
				    "an unknown thread executed code");
			release_slot(q, ++head);
			worked = true;
			continue;
		}
		nr = qemu_load(&slot->nr); /* once: a hostile program may change it */
		qemu_stream(q, t, slot->word, nr < QEMU_CHUNK_WORDS ? nr : QEMU_CHUNK_WORDS);
		release_slot(q, ++head);
		worked = true;
		if (emu_has_requests(q->emu))
			break;
	}
	return worked;
}

void qemu_ring_drain(struct qemu_engine *q, struct qemu_thread *t)
{
	struct qemu_rec *rec = qemu_ring_rec(q, t);
	u32 nr;

	if (!rec)
		return;
	/* killed while it published: check whether the chunk was read, here or from its slot */
	if (rec->reserving && rec->ticket && rec->ticket == t->taken)
		return;
	if (rec->reserving && rec->ticket && rec->ticket != t->skipped &&
	    q->shm->slot[(rec->ticket - 1) & (q->max_slots - 1)].seq >= rec->ticket)
		return;
	nr = qemu_load(&rec->nr);
	qemu_stream(q, t, rec->word, nr < QEMU_CHUNK_WORDS ? nr : QEMU_CHUNK_WORDS);
	rec->nr = 0;
}

void qemu_ring_sleep(struct qemu_engine *q, u32 idle)
{
	struct qemu_shm *shm = q->shm;
	/* during activity let chunks accumulate; after that wake at the first one */
	bool deep = idle > 8;
	const struct timespec timeout = {.tv_nsec = deep ? 50000000 : 1000000};
	u32 seen = qemu_load(&shm->wake);
	u64 head = q->head;

	__atomic_store_n(&shm->wake_at, deep ? 1 : q->max_slots / 8 + 1, __ATOMIC_SEQ_CST);
	if (__atomic_load_n(&shm->tail, __ATOMIC_SEQ_CST) - head <
	    (deep ? 1 : q->max_slots / 8 + 1))
		syscall(SYS_futex, &shm->wake, FUTEX_WAIT, seen, &timeout, NULL, 0);
	__atomic_store_n(&shm->wake_at, 0, __ATOMIC_SEQ_CST);
}
