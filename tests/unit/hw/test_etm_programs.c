// SPDX-License-Identifier: BSD-2-Clause
/*
 * AArch64 programs run under qemu, one instruction at a time; the logged addresses go through a
 * trace unit, and OpenCSD decodes the stream to the same addresses: static programs with the ELF
 * file's code, dynamic ones with the code that qemu logged. auxtap decodes the static ones, too.
 */
#include "support_etm.h"
#include <elf.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#define NR_SLOTS    (1u << 18)
#define MAX_THREADS 8

struct slot {
	u64 addr;
	u32 code;
};

/* In qemu's log the instruction before an exception may not have retired. */
struct thread {
	u64 *executed;
	size_t nr_executed, max_executed;
};

struct program {
	struct thread threads[MAX_THREADS]; /* by qemu's CPU numbers */
	struct slot *code;		    /* by address */
	u8 *elf;			    /* static: the file; else NULL */
	size_t elf_size;
	bool has_signals;
};

struct run {
	const struct program *program;
	const struct thread *thread;
	struct etm_unit unit;
	struct etm_stream stream;
	u64 clock;
	u64 *truth, *returns;
	size_t nr_truth, nr_exceptions, nr_faults;
	/* decoder state */
	size_t at, exception, nr_timestamps, nr_counts;
};

/* ---- qemu's log ---- */

static struct slot *slot_of(const struct program *p, u64 addr)
{
	u32 i = (u32)(addr >> 2) * 2654435761u >> 14;

	while (p->code[i].addr && p->code[i].addr != addr)
		i = (i + 1) % NR_SLOTS;
	return &p->code[i];
}

static void add_executed(struct thread *t, u64 addr)
{
	if (t->nr_executed == t->max_executed) {
		t->max_executed = 2 * t->max_executed + 65536;
		t->executed = realloc(t->executed, t->max_executed * sizeof(*t->executed));
		assert_non_null(t->executed);
	}
	t->executed[t->nr_executed++] = addr;
}

static void read_line(struct program *p, const char *line)
{
	unsigned long long addr;
	unsigned int cpu;
	u32 code;

	if (sscanf(line, "Trace %u: %*x [%*x/%llx/", &cpu, &addr) == 2) {
		assert_true(cpu < MAX_THREADS);
		add_executed(&p->threads[cpu], addr);
	} else if (sscanf(line, "0x%llx: %x ", &addr, &code) == 2) {
		struct slot *slot = slot_of(p, addr);

		slot->addr = addr;
		slot->code = code;
	}
}

/*
 * The cross compiler's libraries serve where arm64's own are not installed; but with Debian's
 * 2.36-8cross1 pthread_create does not return under qemu, even without tracing.
 */
static bool has_libraries(void)
{
	return !access("/lib/ld-linux-aarch64.so.1", R_OK);
}

static char dir[] = "/tmp/auxtap_etm_XXXXXX";

static void program_trace(struct program *p, const char *file, const char *mode)
{
	char command[400], line[400];
	FILE *pipe;

	p->code = calloc(NR_SLOTS, sizeof(*p->code));
	assert_non_null(p->code);
	snprintf(command, sizeof(command),
		 AUXTAP_BIN "/../tests/watchdog qemu-aarch64 %s -singlestep "
			    "-d exec,nochain,in_asm -D /dev/fd/3 %s/%s %s 3>&1 >/dev/null 2>&1",
		 has_libraries() ? "" : "-L /usr/aarch64-linux-gnu", dir, file, mode);
	pipe = popen(command, "r");
	assert_non_null(pipe);
	while (fgets(line, sizeof(line), pipe))
		read_line(p, line);
	pclose(pipe);
	assert_true(p->threads[0].nr_executed > 1000);
}

static void program_load(struct program *p, const char *file)
{
	char path[100];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", dir, file);
	f = fopen(path, "r");
	assert_non_null(f);
	fseek(f, 0, SEEK_END);
	p->elf_size = (size_t)ftell(f);
	rewind(f);
	p->elf = malloc(p->elf_size);
	assert_non_null(p->elf);
	assert_int_equal(fread(p->elf, 1, p->elf_size, f), p->elf_size);
	fclose(f);
}

static void program_free(struct program *p)
{
	for (int i = 0; i < MAX_THREADS; i++)
		free(p->threads[i].executed);
	free(p->code);
	free(p->elf);
	memset(p, 0, sizeof(*p));
}

static u32 read_elf(const struct program *p, u64 addr, u32 nr, u8 *bytes)
{
	const Elf64_Ehdr *ehdr = (const void *)p->elf;
	const Elf64_Phdr *phdr = (const void *)(p->elf + ehdr->e_phoff);

	for (int i = 0; i < ehdr->e_phnum; i++, phdr++) {
		u64 off = addr - phdr->p_vaddr;

		if (phdr->p_type != PT_LOAD || off >= phdr->p_filesz)
			continue;
		if (nr > phdr->p_filesz - off)
			nr = (u32)(phdr->p_filesz - off);
		memcpy(bytes, p->elf + phdr->p_offset + off, nr);
		return nr;
	}
	return 0;
}

static u32 on_memory(void *ctx, u64 addr, u32 nr, u8 *bytes)
{
	const struct run *run = ctx;
	u32 at = run->program->elf ? read_elf(run->program, addr, nr, bytes) : 0;

	if (at)
		return at;
	/* even a static program has the kernel's page for the return from signals */
	for (; at + 4 <= nr; at += 4) {
		const struct slot *slot = slot_of(run->program, addr + at);

		if (!slot->addr)
			break;
		memcpy(bytes + at, &slot->code, 4);
	}
	return at;
}

/* ---- through the unit ---- */

static void retired(struct run *run, u64 addr)
{
	run->truth[run->nr_truth++] = addr;
	run->clock++;
}

static void leave(struct run *run, enum etm_exception type, u64 preferred_return, u64 next)
{
	etm_unit_exception(&run->unit, type, preferred_return);
	run->returns[run->nr_exceptions++] = preferred_return;
	run->nr_faults += type != ETM_CALL;
	run->clock += 200;
	if (next)
		etm_unit_enter(&run->unit, 0, next);
}

/* True if the instruction at addr can lead to next without an exception. */
static bool may_go(struct a64_insn insn, u64 addr, u64 next)
{
	if (a64_is_indirect(insn.cls))
		return true;
	if (a64_is_direct(insn.cls) && next == addr + (s64)insn.disp)
		return true;
	return next == addr + 4 && insn.cls != A64_B && insn.cls != A64_BL;
}

static void run_insn(struct run *run, u64 addr, u64 next)
{
	struct a64_insn insn = a64_insn_decode(slot_of(run->program, addr)->code);

	if (insn.cls == A64_SVC) {
		retired(run, addr);
		etm_unit_retire(&run->unit, 1, addr + 4);
		leave(run, ETM_CALL, addr + 4, next);
	} else if (!next || insn.cls == A64_TRAP || !may_go(insn, addr, next)) {
		leave(run, ETM_DATA_FAULT, addr, next); /* it has not retired */
	} else if (insn.cls == A64_PLAIN) {
		retired(run, addr);
		etm_unit_retire(&run->unit, 1, next);
	} else {
		retired(run, addr);
		etm_unit_branch(&run->unit, insn.cls, addr, next);
	}
}

static void run_all(struct run *run, u32 configr)
{
	const struct thread *p = run->thread;
	/* clang-format off */
	const u32 writes[][2] = {
		{ TRCCONFIGR, configr }, { TRCTRACEIDR, 0x10 }, { TRCSYNCPR, 12 },
		{ TRCVICTLR, 1u | TRCVICTLR_SSSTATUS | 6u << TRCVICTLR_EXLEVEL_NS_SHIFT },
		{ TRCCCCTLR, 20 }, { TRCPRGCTLR, TRCPRGCTLR_EN },
	};
	/* clang-format on */

	for (size_t i = 0; i < sizeof(writes) / sizeof(writes[0]); i++)
		assert_int_equal(etm_unit_write(&run->unit, writes[i][0], writes[i][1]), 0);
	run->truth = malloc(p->nr_executed * sizeof(*run->truth));
	run->returns = malloc(p->nr_executed * sizeof(*run->returns));
	assert_true(run->truth && run->returns);
	etm_unit_enter(&run->unit, 0, p->executed[0]);
	for (size_t i = 0; i < p->nr_executed; i++)
		run_insn(run, p->executed[i], i + 1 < p->nr_executed ? p->executed[i + 1] : 0);
	assert_int_equal(etm_unit_write(&run->unit, TRCPRGCTLR, 0), 0);
}

/* ---- OpenCSD ---- */

static void on_element(void *ctx, u64 offset, const ocsd_generic_trace_elem *elem)
{
	struct run *run = ctx;

	(void)offset;
	switch (elem->elem_type) {
	case OCSD_GEN_TRC_ELEM_INSTR_RANGE:
		for (u64 addr = elem->st_addr; addr < elem->en_addr; addr += 4, run->at++) {
			assert_true(run->at < run->nr_truth);
			if (addr != run->truth[run->at])
				fail_msg("instruction %zu: %llx decoded, %llx executed", run->at,
					 (unsigned long long)addr,
					 (unsigned long long)run->truth[run->at]);
		}
		break;
	case OCSD_GEN_TRC_ELEM_EXCEPTION:
		assert_true(run->exception < run->nr_exceptions);
		assert_int_equal(elem->en_addr, run->returns[run->exception++]);
		break;
	case OCSD_GEN_TRC_ELEM_TIMESTAMP:
		run->nr_timestamps++;
		break;
	case OCSD_GEN_TRC_ELEM_CYCLE_COUNT:
		run->nr_counts++;
		break;
	case OCSD_GEN_TRC_ELEM_ADDR_NACC:
		fail_msg("instruction %zu: no code at %llx", run->at,
			 (unsigned long long)elem->st_addr);
		break;
	default:
		break;
	}
}

/* ---- auxtap decode: a snapshot directory, as a debugger would write it ---- */

static FILE *snapshot_file(const char *name)
{
	char path[100];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	f = fopen(path, "w");
	assert_non_null(f);
	return f;
}

static void write_snapshot(const struct run *run, const struct etm_registers *r)
{
	const Elf64_Ehdr *ehdr = (const void *)run->program->elf;
	const Elf64_Phdr *phdr = (const void *)(run->program->elf + ehdr->e_phoff);
	FILE *f = snapshot_file("stream");

	assert_int_equal(fwrite(run->stream.bytes, 1, run->stream.nr, f), run->stream.nr);
	fclose(f);
	f = snapshot_file("snapshot.ini");
	fputs("[snapshot]\nversion=1.0\n[device_list]\ndevice0=cpu.ini\ndevice1=unit.ini\n"
	      "[trace]\nmetadata=trace.ini\n",
	      f);
	fclose(f);
	f = snapshot_file("trace.ini");
	fputs("[trace_buffers]\nbuffers=buffer1\n[buffer1]\nname=ETB\nfile=stream\n"
	      "format=source_data\n[source_buffers]\nunit=ETB\n[core_trace_sources]\ncpu=unit\n",
	      f);
	fclose(f);
	f = snapshot_file("unit.ini");
	fprintf(f, "[device]\nname=unit\nclass=trace_source\ntype=%s\n[regs]\n",
		r->ete ? "ETE" : "ETM4");
	fprintf(f, "TRCCONFIGR=%#x\nTRCTRACEIDR=%#x\nTRCDEVARCH=%#x\n", r->configr, r->traceidr,
		r->devarch);
	fprintf(f, "TRCIDR0=%#x\nTRCIDR1=%#x\nTRCIDR2=%#x\nTRCIDR8=%#x\n", r->idr0, r->idr1,
		r->idr2, r->idr8);
	fclose(f);
	f = snapshot_file("cpu.ini");
	fputs("[device]\nname=cpu\nclass=core\ntype=Cortex-A53\n", f);
	for (int i = 0; i < ehdr->e_phnum; i++, phdr++)
		if (phdr->p_type == PT_LOAD && phdr->p_flags & PF_X)
			fprintf(f,
				"[dump1]\nfile=static\noffset=%#llx\naddress=%#llx\nlength=%#llx\n",
				(unsigned long long)phdr->p_offset,
				(unsigned long long)phdr->p_vaddr,
				(unsigned long long)phdr->p_filesz);
	fclose(f);
}

static void reference_snapshot(const struct run *run, const struct etm_registers *r)
{
	char command[400], line[200];
	size_t nr = 0;
	FILE *pipe;

	write_snapshot(run, r);
	snprintf(command, sizeof(command), AUXTAP_BIN "/auxtap decode %s --events insn -F ip", dir);
	pipe = popen(command, "r");
	assert_non_null(pipe);
	for (; fgets(line, sizeof(line), pipe); nr++) {
		assert_true(nr < run->nr_truth);
		if (strtoull(line, NULL, 16) != run->truth[nr])
			fail_msg("instruction %zu: auxtap decode: %s, %llx executed", nr, line,
				 (unsigned long long)run->truth[nr]);
	}
	assert_int_equal(pclose(pipe), 0);
	assert_int_equal(nr, run->nr_truth);
}

static void reference_run(const struct program *p, const struct thread *t, bool ete, u32 configr,
			  size_t *nr_bytes, size_t *nr_faults)
{
	struct run run = {.program = p, .thread = t};
	struct etm_unit_config config = {.clock = &run.clock, .ete = ete};
	struct etm_reference ref = {on_memory, on_element, NULL, NULL, &run};
	struct etm_registers regs;

	etm_stream_init(&run.stream);
	etm_unit_init(&run.unit, &config, &run.stream.sink);
	run_all(&run, configr);
	regs = etm_registers_of(&run.unit);
	etm_reference_run(&ref, &regs, run.stream.bytes, run.stream.nr);
	assert_int_equal(run.at, run.nr_truth);
	assert_int_equal(run.exception, run.nr_exceptions);
	assert_int_equal(!!run.nr_timestamps, !!(configr & TRCCONFIGR_TS));
	assert_int_equal(!!run.nr_counts, !!(configr & TRCCONFIGR_CCI));
	/* the page for the return from signals is in no file */
	if (p->elf && !p->has_signals && configr & TRCCONFIGR_RS &&
	    !access(AUXTAP_BIN "/auxtap", X_OK))
		reference_snapshot(&run, &regs);
	*nr_bytes = run.stream.nr;
	*nr_faults = run.nr_faults;
	etm_stream_free(&run.stream);
	free(run.truth);
	free(run.returns);
}

static void reference_thread(const struct program *p, const struct thread *t, size_t min_faults,
			     size_t max_faults)
{
	static const u32 configs[] = {0,
				      TRCCONFIGR_RS,
				      TRCCONFIGR_TS | TRCCONFIGR_RS,
				      TRCCONFIGR_CCI,
				      TRCCONFIGR_CCI | TRCCONFIGR_TS | TRCCONFIGR_RS,
				      TRCCONFIGR_BB};
	size_t nr_bytes[6], nr_faults = 0;

	for (int ete = 0; ete < 2; ete++) {
		for (size_t i = 0; i < sizeof(configs) / sizeof(configs[0]); i++) {
			reference_run(p, t, ete, configs[i], &nr_bytes[i], &nr_faults);
			assert_in_range(nr_faults, min_faults, max_faults);
		}
		assert_true(nr_bytes[1] < nr_bytes[0] && nr_bytes[0] < nr_bytes[5]);
	}
	print_message("%zu instructions, %zu bytes, %zu with return stack, %zu faults\n",
		      t->nr_executed, nr_bytes[0], nr_bytes[1], nr_faults);
}

static void reference_program(const char *file, const char *mode, int nr_threads, size_t min_faults,
			      size_t max_faults)
{
	struct program p = {0};

	p.has_signals = !strcmp(mode, "signals");
	program_trace(&p, file, mode);
	if (!strcmp(file, "static"))
		program_load(&p, file);
	for (int i = 0; i < MAX_THREADS; i++) {
		assert_int_equal(!!p.threads[i].nr_executed, i < nr_threads);
		if (p.threads[i].nr_executed)
			reference_thread(&p, &p.threads[i], min_faults, max_faults);
	}
	program_free(&p);
}

/* ---- */

static int setup(void **state)
{
	char command[400];

	(void)state;
	if (system("aarch64-linux-gnu-gcc --version >/dev/null 2>&1") ||
	    system("qemu-aarch64 --version >/dev/null 2>&1")) {
		print_message("skipped: no aarch64-linux-gnu-gcc or qemu-aarch64\n");
		exit(77);
	}
	if (!mkdtemp(dir))
		return -1;
	snprintf(command, sizeof(command),
		 "cd %s && for how in static dynamic; do "
		 "case $how in static) o=-static ;; *) o=-pie ;; esac; "
		 "aarch64-linux-gnu-gcc -O1 -fno-builtin $o -o $how " AUXTAP_SOURCE
		 "/tests/unit/hw/programs/flow.c || exit 1; done",
		 dir);
	return system(command) ? -1 : 0;
}

static int teardown(void **state)
{
	char command[100];

	(void)state;
	snprintf(command, sizeof(command), "rm -r %s", dir);
	return system(command) ? -1 : 0;
}

static void test_recursion(void **state)
{
	(void)state;
	reference_program("static", "recursion", 1, 0, 0);
}

static void test_calls(void **state)
{
	(void)state;
	reference_program("static", "calls", 1, 0, 0);
	reference_program("dynamic", "calls", 1, 0, 0);
}

static void test_signals(void **state)
{
	(void)state;
	/* five rounds of four; plus a timer's signals between two instructions */
	reference_program("static", "signals", 1, 20, 100000);
	reference_program("dynamic", "signals", 1, 20, 100000);
}

static void test_threads(void **state)
{
	(void)state;
	/* qemu may log an instruction twice if it waits for another thread or runs exclusively */
	reference_program("static", "threads", 4, 0, 1000);
	if (has_libraries())
		reference_program("dynamic", "threads", 4, 0, 1000);
	else
		print_message("no arm64 libraries: dynamic program skipped\n");
}

static void test_crash(void **state)
{
	(void)state;
	reference_program("static", "crash", 1, 1, 1);
}

int main(void)
{
	/* clang-format off */
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_recursion),
		cmocka_unit_test(test_calls),
		cmocka_unit_test(test_signals),
		cmocka_unit_test(test_threads),
		cmocka_unit_test(test_crash),
	};
	/* clang-format on */

	return cmocka_run_group_tests(tests, setup, teardown);
}
