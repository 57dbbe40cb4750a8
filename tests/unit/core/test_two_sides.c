// SPDX-License-Identifier: BSD-2-Clause
/*
 * Writer and reader at the same time: in two processes over the memfd, and in two threads
 * (built with -fsanitize=thread this proves that acquire and release on the page's fields are
 * enough; so the threads share nothing else and wait without synchronising).
 */
#include "support_rig.h"
#include <pthread.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define NR_TRANSACTIONS 20000
#define AUX_PAGES	4
#define LAST		78 /* type of the final record */

struct side {
	struct perf_event_mmap_page *page;
	const unsigned char *data, *aux;
	/* what the reader found */
	u64 aux_bytes, aux_sizes, records, lost, wrong;
};

static unsigned char pattern(u64 at_abs)
{
	return (unsigned char)((at_abs * 0x9e3779b97f4a7c15ull) >> 56);
}

static void nap(void)
{
	struct timespec ts = {.tv_nsec = 20000};

	nanosleep(&ts, NULL);
}

static void read_everything(struct side *s)
{
	u64 data_abs = 0, aux_abs = 0, mask = s->page->data_size - 1;
	bool last = false;

	while (!last) {
		u64 head = __atomic_load_n(&s->page->data_head, __ATOMIC_ACQUIRE); /* C */
		u64 aux_head;

		if (data_abs == head)
			nap();
		while (data_abs != head) {
			const struct perf_event_header *h = (void *)(s->data + (data_abs & mask));
			u64 words[3] = {0};

			if (h->size < 8 || h->size % 8 || h->size > head - data_abs) {
				s->wrong++;
				return;
			}
			for (int i = 0; i < 3 && i * 8 + 8 < h->size; i++)
				memcpy(&words[i], s->data + ((data_abs + 8 + (u64)i * 8) & mask),
				       8);
			if (h->type == PERF_RECORD_LOST)
				s->lost += words[1];
			else if (h->type == PERF_RECORD_AUX)
				s->aux_sizes += words[1];
			last |= h->type == LAST;
			s->records += h->type != PERF_RECORD_LOST;
			data_abs += h->size;
		}
		__atomic_store_n(&s->page->data_tail, data_abs, __ATOMIC_RELEASE); /* D */
		if (!s->aux)
			continue;
		aux_head = __atomic_load_n(&s->page->aux_head, __ATOMIC_ACQUIRE);
		for (; aux_abs != aux_head; aux_abs++, s->aux_bytes++)
			s->wrong += s->aux[aux_abs & (AUX_PAGES * P - 1)] != pattern(aux_abs);
		__atomic_store_n(&s->page->aux_tail, aux_abs, __ATOMIC_RELEASE);
	}
}

static void *read_in_thread(void *arg)
{
	read_everything(arg);
	return NULL;
}

struct written {
	u64 bytes, failed; /* AUX records that found no space */
};

static struct written write_everything(struct rig *rig)
{
	unsigned char *aux = rig->aux->addr;
	struct written w = {0};
	u64 head = 0, r = 12345;

	for (int i = 0; i < NR_TRANSACTIONS;) {
		u64 n;

		if (!perf_aux_output_begin(&rig->handle, rig->event)) {
			nap();
			core_irq_work_run();
			core_event_ioctl(rig->event, PERF_EVENT_IOC_ENABLE, 0, NULL);
			continue;
		}
		r = r * 6364136223846793005ull + 1442695040888963407ull;
		n = 1 + (r >> 33) % 3000;
		if (n > rig->handle.size)
			n = rig->handle.size;
		for (u64 k = 0; k < n; k++)
			aux[(head + k) & (AUX_PAGES * P - 1)] = pattern(head + k);
		perf_aux_output_end(&rig->handle, n);
		head += n;
		i++;
		core_irq_work_run();
	}
	w.bytes = head;
	w.failed = rig->event->lost_samples;
	while (core_event_record(rig->event, LAST, 0, "", 0))
		nap();
	return w;
}

/* The data ring alone: only data_head and data_tail order the two. */
static struct written write_records(struct rig *rig)
{
	static const unsigned char body[256];
	struct written w = {0};

	for (int i = 0; i < NR_TRANSACTIONS; i++)
		if (core_event_record(rig->event, 77, 0, body, (size_t)(i * 7 % 250)))
			nap();
	w.failed = rig->event->lost_samples;
	while (core_event_record(rig->event, LAST, 0, "", 0))
		nap();
	return w;
}

static void start(struct rig *rig)
{
	struct perf_event_attr attr;

	rig_init(rig, 0);
	fake.manual = true;
	attr = rig_attr();
	rig_start(rig, &attr, 1, AUX_PAGES, RW);
	core_task_sched_in(&rig->task);
}

static void compare(const struct side *s, const struct written *w, struct rig *rig)
{
	assert_int_equal(s->wrong, 0);
	assert_int_equal(s->lost, rig->event->lost_samples);
	assert_int_equal(s->records, NR_TRANSACTIONS - w->failed + 1);
	assert_int_equal(s->aux_bytes, w->bytes);
	assert_true(w->failed && w->bytes ? s->aux_sizes < w->bytes : s->aux_sizes == w->bytes);
	assert_int_equal(rig->page->aux_head, w->bytes);
}

static void threads(struct written (*write_side)(struct rig *rig))
{
	struct side s = {0};
	struct written w;
	pthread_t thread;
	struct rig rig;

	start(&rig);
	s.page = rig.ring->addr; /* the same addresses, so the sanitizer sees both sides */
	s.data = (unsigned char *)rig.ring->addr + P;
	s.aux = write_side == write_everything ? rig.aux->addr : NULL;
	rig.page = NULL; /* the rig's clock would read what the reader writes */
	assert_int_equal(pthread_create(&thread, NULL, read_in_thread, &s), 0);
	w = write_side(&rig);
	pthread_join(thread, NULL);
	rig.page = rig.ring->addr;
	compare(&s, &w, &rig);
	rig_fini(&rig);
}

static void two_threads(void)
{
	threads(write_everything);
}

static void two_threads_data_only(void)
{
	threads(write_records);
}

/* The reader maps the descriptors itself; the two share no address. */
static void two_processes(void)
{
	struct written w;
	int pipes[2], status;
	struct side s = {0};
	struct rig rig;
	pid_t pid;

	start(&rig);
	assert_int_equal(pipe(pipes), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (!pid) {
		s.page = mmap(NULL, rig.ring->length, RW, MAP_SHARED, rig.ring->memfd,
			      (off_t)rig.ring->memfd_off);
		s.aux = mmap(NULL, rig.aux->length, PROT_READ, MAP_SHARED, rig.aux->memfd,
			     (off_t)rig.aux->memfd_off);
		if (s.page == MAP_FAILED || s.aux == MAP_FAILED)
			_exit(1);
		s.data = (unsigned char *)s.page + P;
		read_everything(&s);
		_exit(write(pipes[1], &s, sizeof(s)) == sizeof(s) ? 0 : 1);
	}
	w = write_everything(&rig);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_int_equal(read(pipes[0], &s, sizeof(s)), sizeof(s));
	close(pipes[0]);
	close(pipes[1]);
	compare(&s, &w, &rig);
	rig_fini(&rig);
}

int main(void)
{
	static const struct rig_test tests[] = {RIG_TEST(two_processes), RIG_TEST(two_threads),
						RIG_TEST(two_threads_data_only)};

	return RIG_RUN(tests);
}
