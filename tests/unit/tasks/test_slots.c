// SPDX-License-Identifier: BSD-2-Clause
/*
 * A thread that is stopped for long while it copies its chunk to a slot of the shared ring: the
 * ring goes on without it, nothing is lost or read twice, and its late copy damages no other chunk.
 */
// clang-format off
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
// clang-format on
#include "emu/emu_state.h"
#include "exec/qemu/qemu.h"
#include <string.h>
#include <sys/mman.h>

#define NR_SLOTS 2u
#define LONG_NS	 1000000000ull /* longer than the ring waits */

static struct emu emu;
static struct qemu_engine q;
static struct qemu_process process;
static struct qemu_thread slow, other;

static int setup(void **state)
{
	(void)state;
	memset(&q, 0, sizeof(q));
	process = (struct qemu_process){.pid = 100};
	other = (struct qemu_thread){.tid = 102, .process = &process, .rec = 1};
	slow = (struct qemu_thread){.tid = 101, .process = &process, .rec = 0, .next = &other};
	q.emu = &emu;
	q.threads = &slow;
	q.max_slots = NR_SLOTS;
	q.shm = mmap(NULL, sizeof(*q.shm), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		     0);
	assert_true(q.shm != MAP_FAILED);
	for (int i = 0; i < 2; i++) {
		q.shm->rec[i].state = QEMU_REC_USED;
		q.shm->rec[i].pid = process.pid;
		q.shm->rec[i].tid = i ? other.tid : slow.tid;
	}
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	return munmap(q.shm, sizeof(*q.shm));
}

/* A chunk in the thread's record: a message that appends text to its name. */
static void execute(const struct qemu_thread *t, const char *text)
{
	struct qemu_rec *rec = &q.shm->rec[t->rec];

	memset(rec->word, 0, 3 * sizeof(u32));
	rec->word[0] = QEMU_MSG_HEAD(QEMU_MSG_NAME, 1);
	memcpy(&rec->word[1], text, strlen(text));
	rec->word[2] = QEMU_MSG;
	rec->nr = 3;
}

/* As reserve() in qemu_plugin_ring.c, for a ring with space. NULL: the ticket is given up. */
static struct qemu_slot *reserve(const struct qemu_thread *t, u64 *ticket)
{
	struct qemu_rec *rec = &q.shm->rec[t->rec];
	struct qemu_slot *slot;

	*ticket = q.shm->tail++;
	slot = &q.shm->slot[*ticket & (NR_SLOTS - 1)];
	rec->reserving = 1;
	rec->ticket = *ticket + 1;
	if (slot->claim > *ticket)
		return NULL;
	slot->claim = *ticket + 1;
	return slot;
}

static void publish(const struct qemu_thread *t, struct qemu_slot *slot, u64 ticket)
{
	struct qemu_rec *rec = &q.shm->rec[t->rec];

	slot->pid = rec->pid;
	slot->tid = rec->tid;
	slot->rec = (u32)t->rec;
	slot->nr = rec->nr;
	memcpy(slot->word, rec->word, rec->nr * sizeof(u32));
	slot->seq = ticket + 1;
	rec->nr = rec->reserving = 0;
	rec->ticket = 0;
}

/* A thread that is not stopped transfers a chunk; number of tickets that it needed. */
static int transfer(const struct qemu_thread *t, const char *text)
{
	struct qemu_slot *slot;
	u64 ticket;

	execute(t, text);
	for (int tries = 1; tries < 5; tries++) {
		slot = reserve(t, &ticket);
		if (slot) {
			publish(t, slot, ticket);
			return tries;
		}
		qemu_ring_consume(&q, 100);
	}
	return 0;
}

static void stop_while_copying(struct qemu_slot **slot, u64 *ticket)
{
	execute(&slow, "a");
	*slot = reserve(&slow, ticket);
	assert_non_null(*slot);
	assert_false(qemu_ring_consume(&q, 100)); /* it gets some time */
	assert_string_equal(slow.name, "");
	q.stuck_ns -= LONG_NS;
	assert_true(qemu_ring_consume(&q, 100));
	assert_string_equal(slow.name, "a");
	assert_int_equal(q.head, 1);
}

static void continues(void **state)
{
	struct qemu_slot *held;
	u64 ticket;

	(void)state;
	stop_while_copying(&held, &ticket);
	/* others use the other slot only, while the thread may still write to its own */
	assert_int_equal(transfer(&other, "x"), 1);
	assert_true(qemu_ring_consume(&q, 100));
	assert_int_equal(transfer(&other, "y"), 2);
	assert_true(qemu_ring_consume(&q, 100));
	assert_string_equal(other.name, "xy");
	assert_true(held->claim & QEMU_SLOT_HELD);
	/* it finishes: its chunk is not read again, and soon the slot is free */
	publish(&slow, held, ticket);
	assert_int_equal(transfer(&slow, "b"), 2);
	assert_true(qemu_ring_consume(&q, 100));
	assert_int_equal(transfer(&slow, "c"), 1);
	assert_int_equal(transfer(&slow, "d"), 1);
	assert_true(qemu_ring_consume(&q, 100));
	assert_string_equal(slow.name, "abcd");
	assert_string_equal(other.name, "xy");
	assert_false(qemu_ring_consume(&q, 100));
	assert_int_equal(q.head, q.shm->tail);
}

/* It dies instead of finishing. */
static void dies(void **state)
{
	struct qemu_slot *held;
	u64 ticket;

	(void)state;
	stop_while_copying(&held, &ticket);
	slow.frozen = true; /* it is asked to stop, and may run a moment longer */
	assert_int_equal(transfer(&other, "v"), 1);
	assert_int_equal(transfer(&other, "w"), 2);
	assert_true(held->claim & QEMU_SLOT_HELD);
	slow.stopped = true;
	qemu_ring_drain(&q, &slow);
	assert_string_equal(slow.name, "a");
	assert_int_equal(transfer(&other, "x"), 2); /* the first of them frees the slot */
	assert_int_equal(transfer(&other, "y"), 1);
	assert_true(qemu_ring_consume(&q, 100));
	assert_int_equal(transfer(&other, "z"), 1);
	assert_true(qemu_ring_consume(&q, 100));
	assert_string_equal(other.name, "vwxyz");
	assert_string_equal(slow.name, "a");
}

/* It was stopped between its last check and this one: the slot is read, not the record. */
static void finishes_in_time(void **state)
{
	struct qemu_slot *slot;
	u64 ticket;

	(void)state;
	execute(&slow, "a");
	slot = reserve(&slow, &ticket);
	assert_non_null(slot);
	assert_false(qemu_ring_consume(&q, 100));
	q.stuck_ns -= LONG_NS;
	publish(&slow, slot, ticket);
	execute(&slow, "b");
	assert_true(qemu_ring_consume(&q, 100));
	assert_string_equal(slow.name, "a");
	assert_false(slot->claim & QEMU_SLOT_HELD);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(continues, setup, teardown),
		cmocka_unit_test_setup_teardown(dies, setup, teardown),
		cmocka_unit_test_setup_teardown(finishes_in_time, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
