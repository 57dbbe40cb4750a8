// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The first block of a program: checks that qemu's CPU state is at the expected address, reports
 * the files that qemu's loader mapped, and waits until capture is ready.
 */
#include "qemu_plugin.h"
#include <elf.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#define PAGE_DOWN(x) ((x) & ~(QEMU_PAGE - 1))
#define PAGE_UP(x)   PAGE_DOWN((x) + QEMU_PAGE - 1)

void qp_map_message(struct qemu_rec *rec, u64 addr, u64 len, u64 pgoff, u32 prot,
		    const struct stat *st, const char *name)
{
	u64 words[6] = {addr, len, pgoff, st ? st->st_ino : 0};
	u32 *word = (u32 *)&words[4];

	word[0] = prot;
	word[1] = st ? major(st->st_dev) : 0;
	word[2] = st ? minor(st->st_dev) : 0;
	qp_name(rec, name);
	qp_message(rec, QEMU_MSG_MAP, words, 11);
}

/* Reports the segments of an ELF file; its entry, or for an interpreter its base, is at 'at'. */
static void report_image(struct qemu_rec *rec, const char *path, u64 at, bool is_base, char *interp)
{
	char real[PATH_MAX];
	Elf64_Ehdr eh;
	struct stat st;
	u64 bias;
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return;
	if (fstat(fd, &st) || pread(fd, &eh, sizeof(eh), 0) != sizeof(eh) ||
	    memcmp(eh.e_ident, ELFMAG, SELFMAG) || eh.e_phentsize != sizeof(Elf64_Phdr) ||
	    !realpath(path, real))
		goto out;
	bias = is_base ? at : at - eh.e_entry;
	for (int i = 0; i < eh.e_phnum; i++) {
		Elf64_Phdr ph;
		u64 start, file_end, end;
		u32 prot = 0;

		if (pread(fd, &ph, sizeof(ph), (off_t)(eh.e_phoff + i * sizeof(ph))) != sizeof(ph))
			break;
		if (ph.p_type == PT_INTERP && interp && ph.p_filesz < PATH_MAX) {
			ssize_t got = pread(fd, interp, ph.p_filesz, (off_t)ph.p_offset);

			interp[got > 0 ? got : 0] = 0;
		}
		if (ph.p_type != PT_LOAD)
			continue;
		prot |= ph.p_flags & PF_R ? 1 : 0;
		prot |= ph.p_flags & PF_W ? 2 : 0;
		prot |= ph.p_flags & PF_X ? 4 : 0;
		start = PAGE_DOWN(bias + ph.p_vaddr);
		file_end = PAGE_UP(bias + ph.p_vaddr + ph.p_filesz);
		end = PAGE_UP(bias + ph.p_vaddr + ph.p_memsz);
		if (ph.p_filesz)
			qp_map_message(rec, start, file_end - start, PAGE_DOWN(ph.p_offset), prot,
				       &st, real);
		else
			file_end = start;
		if (end > file_end)
			qp_map_message(rec, file_end, end - file_end, 0, prot, NULL, "");
	}
	qp_heap_hook_image(fd, bias);
out:
	close(fd);
}

/* The stack ends with the file's name, as the kernel sets it up; qemu may map more after it. */
static u64 stack_end(u64 execfn)
{
	char *name = execfn ? qp_read_string(execfn, PATH_MAX) : NULL;
	u64 end = name ? PAGE_UP(execfn + strlen(name) + 1) : ~0ull;

	free(name);
	return end;
}

/*
 * Reports what qemu mapped itself: the stack, and its vdso. qemu 7.2 has no vdso, but for AArch64 a
 * page with the restorer of signal handlers. qemu maps code readable, not executable.
 */
static void report_own(struct qemu_rec *rec, u64 sp, u64 top, u64 vdso)
{
	char line[PATH_MAX + 128];
	FILE *f = fopen("/proc/self/maps", "re");

	if (!f)
		return;
	while (fgets(line, sizeof(line), f)) {
		unsigned long long start, end, inode;
		char perms[5];
		u64 code;

		if (sscanf(line, "%llx-%llx %4s %*s %*s %llu", &start, &end, perms, &inode) != 4)
			continue;
		start -= qp.guest_base;
		end -= qp.guest_base;
		if (qp.regs_valid && sp >= start && sp < end)
			qp_map_message(rec, start, (end < top ? end : top) - start, 0, 3, NULL,
				       "[stack]");
		else if (vdso && start == vdso && !inode)
			qp_map_message(rec, start, end - start, 0, 5, NULL, "[vdso]");
		else if (qp.arch->sigreturn && end - start == QEMU_PAGE && !inode &&
			 !strncmp(perms, "r--", 3) && !qp_read(start, &code, sizeof(code)) &&
			 code == qp.arch->sigreturn)
			qp_map_message(rec, start, end - start, 0, 5, NULL, "[vdso]");
	}
	fclose(f);
}

void qp_start(struct qemu_rec *rec, const union qemu_env *env, u64 ip)
{
	u64 word[2], argc = 0, sp = qp.arch->sp(env), entry = 0, base = 0, vdso = 0, execfn = 0;
	char interp[PATH_MAX] = "";

	qp.started = true;
	qp_take_core_signals();
	rec->guest_base = qp.guest_base;
	if (!qp_read(sp, &argc, 8))
		qp.regs_valid = qp.arch->plausible(env, ip, argc);
	rec->regs_valid = qp.regs_valid;
	/* set the name as the kernel would; the program, and ps, may read it */
	prctl(PR_SET_NAME, qp.comm);
	rec->stack = qp.stack = qp.regs_valid ? sp : 0;
	if (qp.regs_valid) {
		bool environment_done = false;

		sp += 8 * (argc + 2);
		while (!environment_done && !qp_read(sp, word, 8)) {
			environment_done = !word[0];
			sp += 8;
		}
		for (int i = 0; i < 64 && !qp_read(sp, word, 16) && word[0]; i++, sp += 16) {
			if (word[0] == AT_ENTRY)
				entry = word[1];
			else if (word[0] == AT_BASE)
				base = word[1];
			else if (word[0] == AT_SYSINFO_EHDR)
				vdso = word[1];
			else if (word[0] == AT_EXECFN)
				execfn = word[1];
		}
	}
	if (!entry && qemu_plugin_entry_code)
		entry = qemu_plugin_entry_code();
	if (entry)
		report_image(rec, qp.program, entry, false, interp);
	if (base && interp[0]) {
		char there[2 * PATH_MAX];

		/* like qemu, take the interpreter in its sysroot, if it exists */
		snprintf(there, sizeof(there), "%s%s", qp.arch->sysroot ? qp.root : "", interp);
		report_image(rec, access(there, R_OK) ? interp : there, base, true, NULL);
	}
	report_own(rec, qp.arch->sp(env), stack_end(execfn), vdso);
	qp_message(rec, QEMU_MSG_START, NULL, 0);
	qp_flush(rec);
	if (qp_rec == rec)
		qp_wait_for_tracer(rec);
}
