// SPDX-License-Identifier: BSD-2-Clause
/*
 * dumped HOW: writes three functions at run time, and ./jit-PID.dump with their names and lines:
 * outer_fn, which calls inner_fn, which the dump first has elsewhere, and loop_fn. Then it calls
 * loop_fn ("loop": many times), and outer_fn, which dies. HOW says what is wrong with the file.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#ifndef SOURCE
#define SOURCE "./program.lang"
#endif

static const uint8_t outer[] = {0x53, 0xff, 0xd7, 0x5b, 0xc3}; /* push; call *%rdi; pop; ret */
static const uint8_t inner[] = {0x90, 0xc7, 4, 0x25, 0, 0, 0, 0, 0, 0, 0, 0, 0xc3}; /* 0 = 0 */
/* 1: dec %edi; jne 1b; ret */
static const uint8_t loop[] = {0xff, 0xcf, 0x75, 0xfc, 0xc3};

static FILE *f;
static uint64_t nr;

static void put(const void *bytes, size_t size)
{
	fwrite(bytes, size, 1, f);
}

static void put32(uint32_t value)
{
	put(&value, sizeof(value));
}

static void put64(uint64_t value)
{
	put(&value, sizeof(value));
}

static uint64_t now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static void record(uint32_t id, size_t size)
{
	put32(id);
	put32((uint32_t)size + 16);
	put64(now());
}

static void header(uint32_t magic)
{
	put32(magic);
	put32(1);  /* version */
	put32(40); /* its size */
	put32(62); /* EM_X86_64 */
	put32(0);
	put32((uint32_t)getpid());
	put64(now());
	put64(0);
}

static void load(const uint8_t *at, const void *code, size_t size, const char *name)
{
	record(0, 40 + strlen(name) + 1 + size);
	put32((uint32_t)getpid());
	put32((uint32_t)gettid());
	put64((uint64_t)at);
	put64((uint64_t)at);
	put64(size);
	put64(nr++);
	put(name, strlen(name) + 1);
	put(code, size);
}

static void line(const uint8_t *at, uint32_t number, const char *file)
{
	put64((uint64_t)at);
	put32(number);
	put32(0);
	put(file, strlen(file) + 1);
}

static void lines(const uint8_t *at, uint64_t nr_lines, size_t size)
{
	record(2, 16 + size);
	put64((uint64_t)at);
	put64(nr_lines);
}

static void move(const uint8_t *from, const uint8_t *to, size_t size, uint64_t number)
{
	record(1, 48);
	put32((uint32_t)getpid());
	put32((uint32_t)gettid());
	put64((uint64_t)to);
	put64((uint64_t)from);
	put64((uint64_t)to);
	put64(size);
	put64(number);
}

static void dump(uint8_t *code, const char *how)
{
	/* "garbled": as V8 does, whose names of files are not there any more */
	const char *source = strcmp(how, "garbled") ? SOURCE : "\xe3\x8a\x03";

	header(strcmp(how, "magic") ? 0x4a695444 : 0x4454694a);
	load(code, code, 128, "older_fn");
	lines(code, 3, 16 + sizeof(SOURCE) + 2 * (16 + 2));
	line(code, 3, SOURCE);
	line(code + 1, 4, "\xff"); /* the same file */
	line(code + 3, 5, "\xff");
	load(code, outer, sizeof(outer), "outer_fn");
	record(4, 24); /* unwinding information: none */
	put64(0);
	put64(0);
	put64(0);
	lines(code + 512, 2, 2 * (16 + strlen(source) + 1));
	line(code + 512, 9, source);
	line(code + 512 + 1, 10, source);
	load(code + 512, inner, sizeof(inner), "inner_fn");
	move(code + 512, code + 64, sizeof(inner), 2);
	load(code + 128, loop, sizeof(loop), "loop_fn");
	if (!strcmp(how, "close"))
		record(3, 0);
	if (strcmp(how, "loop")) { /* perf takes no half record */
		load(code + 64, inner, sizeof(inner), "late_fn");
		if (strcmp(how, "close"))
			fseek(f, -20, SEEK_CUR);
	}
	fflush(f);
	if (strcmp(how, "loop") && strcmp(how, "close") && ftruncate(fileno(f), ftell(f)))
		_exit(2);
}

int main(int argc, char **argv)
{
	uint8_t *code = mmap((void *)0x10000000, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
			     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	const char *how = argc > 1 ? argv[1] : "own";
	int protection = strcmp(how, "unmarked") ? PROT_READ | PROT_EXEC : PROT_READ;
	int rounds = strcmp(how, "loop") ? 1 : 300;
	char name[64], other[96];

	if (code == MAP_FAILED)
		return 2;
	memcpy(code, outer, sizeof(outer));
	memcpy(code + 64, inner, sizeof(inner));
	memcpy(code + 128, loop, sizeof(loop));
	snprintf(name, sizeof(name), "jit-%d.dump", (int)getpid());
	snprintf(other, sizeof(other), "%s.other", name);
	f = fopen(name, "w+");
	if (!f)
		return 2;
	dump(code, how);
	if (mmap(NULL, 4096, protection, MAP_PRIVATE, fileno(f), 0) == MAP_FAILED)
		return 2;
	if (!strcmp(how, "link") && (rename(name, other) || symlink(other, name)))
		return 2;
	if (!strcmp(how, "hard") && link(name, other))
		return 2;
	if (!strcmp(how, "other") && chown(name, 12345, 12345))
		return 3;
	for (int i = 0; i < rounds; i++)
		((void (*)(int))(code + 128))(rounds > 1 ? 10000000 : 5);
	if (!strcmp(how, "loop"))
		return 0;
	((void (*)(void *))code)(code + 64);
	return 0;
}
