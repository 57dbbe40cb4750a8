// SPDX-License-Identifier: BSD-2-Clause
/*
 * mutate COUNT SEED FILE...: COUNT random mutations of good files through a fuzz target,
 * in one process; the same seed gives the same mutations. Meant for asan and ubsan
 * builds. An input that takes too long, or leaks memory, fails; MUTATE_SAVE=PATH
 * keeps the last, MUTATE_FROM=N starts with the Nth.
 */
#include "fuzz.h"
#include "mutate.h"

#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define SECONDS_MAX 20.0	/* of CPU time for one input, on a slow machine under sanitizers */
#define GROWTH_MAX  (64L << 10) /* kB of peak memory above the largest so far at half time */

struct input {
	const char *name;
	unsigned char *data;
	size_t size;
};

static uint64_t state;

/* The current input, for the message of a run that crashes. */
static struct {
	unsigned long nr;
	const char *seed, *file;
} trying;

static void say(const char *text)
{
	if (write(STDERR_FILENO, text, strlen(text)) < 0)
		return;
}

static void say_where(void)
{
	char number[24], *at = number + sizeof(number) - 1;
	unsigned long nr = trying.nr;

	*at = '\0';
	do {
		*--at = (char)('0' + nr % 10);
	} while (nr /= 10);
	say("mutate: that was mutation ");
	say(at);
	say(" with seed ");
	say(trying.seed);
	say(", of ");
	say(trying.file);
	say(" (alone: MUTATE_FROM with that number, MUTATE_SAVE for the file)\n");
}

static void on_limit(int signo)
{
	(void)signo;
	say("mutate: it hangs\n");
	say_where();
	_exit(1);
}

static void on_fatal(int signo)
{
	say_where();
	signal(signo, SIG_DFL);
	raise(signo);
}

/* Options and death callback of the sanitizers; unused in a build without them. */
void __sanitizer_set_death_callback(void (*callback)(void)) __attribute__((weak));
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
	return "hard_rss_limit_mb=1024:max_allocation_size_mb=300:quarantine_size_mb=16";
}

const char *__ubsan_default_options(void);
const char *__ubsan_default_options(void)
{
	return "abort_on_error=1:print_stacktrace=1";
}

static void install_handlers(void)
{
	signal(SIGPROF, on_limit);
	signal(SIGABRT, on_fatal);
	if (__sanitizer_set_death_callback) {
		__sanitizer_set_death_callback(say_where);
		return;
	}
	signal(SIGSEGV, on_fatal);
	signal(SIGBUS, on_fatal);
	signal(SIGFPE, on_fatal);
}

static uint64_t rnd(uint64_t below)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return below ? (state * 0x2545f4914f6cdd1dULL >> 11) % below : 0;
}

static int load(struct input *in, const char *name)
{
	FILE *f = fopen(name, "r");
	long size;
	bool ok;

	if (!f || fseek(f, 0, SEEK_END) || (size = ftell(f)) < 0) {
		perror(name);
		if (f)
			fclose(f);
		return -1;
	}
	rewind(f);
	in->name = name;
	in->size = (size_t)size;
	in->data = malloc(in->size + 1);
	ok = in->data && fread(in->data, 1, in->size, f) == in->size;
	fclose(f);
	return ok ? 0 : -1;
}

uint64_t mutate_rnd(uint64_t below)
{
	return rnd(below);
}

/* Half of the changes are in the header and the first records, where the structure is. */
static size_t random_offset(size_t size)
{
	return rnd(2) ? rnd(size) : rnd(size < 2048 ? size : 2048);
}

uint64_t mutate_number(size_t file_size)
{
	const uint64_t numbers[] = {0,
				    1,
				    7,
				    8,
				    0x7f,
				    0xff,
				    0x7fff,
				    0xffff,
				    0x7fffffff,
				    0xffffffff,
				    INT64_MAX,
				    UINT64_MAX,
				    UINT64_MAX - 7,
				    file_size,
				    file_size - 8,
				    file_size + 1,
				    rnd(128),
				    rnd(0)};

	return numbers[rnd(sizeof(numbers) / sizeof(numbers[0]))];
}

static void put_number(unsigned char *data, size_t size)
{
	uint64_t number = mutate_number(size);
	size_t width = (size_t)1 << rnd(4), at;

	if (size < width)
		return;
	at = random_offset(size - width + 1);
	if (rnd(4))
		at &= ~(width - 1);
	memcpy(data + at, &number, width);
}

/* One change; returns the new size, at most the capacity. */
static size_t change(unsigned char *data, size_t size, size_t max)
{
	size_t at, len;

	if (!size)
		return 0;
	at = random_offset(size);
	len = 1 + rnd(rnd(8) ? 64 : 4096);
	if (len > size - at)
		len = size - at;
	switch (rnd(8)) {
	case 0:
	case 1:
		data[at] ^= (unsigned char)(1 << rnd(8));
		return size;
	case 2:
	case 3:
	case 4:
		put_number(data, size);
		return size;
	case 5: /* cut out */
		memmove(data + at, data + at + len, size - at - len);
		return size - len;
	case 6: /* double */
		if (size + len > max)
			return size;
		memmove(data + at + len, data + at, size - at);
		return size + len;
	default:
		if (!rnd(3))
			return at; /* truncate */
		for (size_t i = 0; i < len; i++)
			data[at + i] = rnd(2) ? (unsigned char)rnd(256) : 0;
		return size;
	}
}

static void save(const char *path, const unsigned char *data, size_t size)
{
	FILE *f = fopen(path, "w");

	if (!f || fwrite(data, 1, size, f) != size || fclose(f))
		perror(path);
}

static double cpu_time(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* An input that blocks uses no CPU time: the watchdog of the tests ends it. */
static void limit_cpu(time_t seconds)
{
	const struct itimerval limit = {.it_value.tv_sec = seconds};

	setitimer(ITIMER_PROF, &limit, NULL);
}

static long peak_kb(void)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	return usage.ru_maxrss;
}

/* asan keeps freed memory for a while, so the peak means nothing there. */
static bool grew(unsigned long count, long half_kb)
{
#if defined(__SANITIZE_ADDRESS__)
	(void)count;
	(void)half_kb;
	return false;
#else
	return count > 100 && peak_kb() - half_kb > GROWTH_MAX;
#endif
}

int main(int argc, char **argv)
{
	const char *path = getenv("MUTATE_SAVE"), *first = getenv("MUTATE_FROM");
	unsigned long count;
	struct input *in;
	unsigned char *data;
	size_t largest = 0, max;
	double slowest = 0;
	int nr = argc - 3;
	long half_kb = 0;
	int failed = 0;

	if (nr < 1) {
		fprintf(stderr, "usage: mutate COUNT SEED FILE...\n");
		return 2;
	}
	count = strtoul(argv[1], NULL, 0);
	in = calloc((size_t)nr, sizeof(*in));
	if (!in)
		return 3;
	for (int i = 0; i < nr; i++) {
		if (load(&in[i], argv[i + 3]))
			return 3;
		largest = in[i].size > largest ? in[i].size : largest;
	}
	max = largest + (1 << 16);
	data = malloc(max);
	if (!data)
		return 3;
	install_handlers();
	trying.seed = argv[2];
	for (unsigned long n = first ? strtoul(first, NULL, 0) : 0; n < count; n++) {
		const struct input *from = &in[n % (unsigned long)nr];
		size_t size = from->size;
		double start = cpu_time(), took;
		bool structured;

		/* Each mutation depends on seed and number alone. */
		state = (strtoull(argv[2], NULL, 0) + 1) * 0x9e3779b97f4a7c15ULL + n;
		state ^= state >> 31;
		state += !state;
		rnd(0);
		memcpy(data, from->data, size);
		/* A single change gets farthest into the decoder. */
		structured = size >= 8 && !memcmp(data, "PERFILE2", 8) && rnd(4);
		for (uint64_t changes = 1 + (rnd(2) ? rnd(8) : 0); changes; changes--)
			size = structured ? mutate_structure(data, size, max) :
					    change(data, size, max);
		if (path)
			save(path, data, size);
		trying.nr = n;
		trying.file = from->name;
		limit_cpu(2 * (time_t)SECONDS_MAX);
		LLVMFuzzerTestOneInput(data, size);
		limit_cpu(0);
		took = cpu_time() - start;
		slowest = took > slowest ? took : slowest;
		if (took > SECONDS_MAX) {
			printf("mutation %lu of %s took %.1f s of CPU time\n", n, from->name, took);
			failed = 1;
			break;
		}
		if (n == count / 2)
			half_kb = peak_kb();
	}
	printf("%lu mutations of %d files, seed %s, slowest %.2f s, peak memory %ld kB\n", count,
	       nr, argv[2], slowest, peak_kb());
	if (grew(count, half_kb)) {
		printf("memory grew from %ld kB at half time\n", half_kb);
		failed = 1;
	}
	for (int i = 0; i < nr; i++)
		free(in[i].data);
	free(in);
	free(data);
	return failed;
}
