/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What it takes to run a program under qemu with the plugin, as execve would have run it:
 * scripts resolved, arguments, environment. Used by auxtap-emu (spawn) and by the plugin
 * (the program's own execve).
 */
#ifndef AUXTAP_QEMU_EXEC_H
#define AUXTAP_QEMU_EXEC_H

#include <stddef.h>

/* Prefix of variables that must not act on qemu's own start. */
#define QEMU_EXEC_HIDE "AUXTAP_GUEST_"

enum qemu_exec_verdict {
	QEMU_EXEC_RUN,	  /* program and argv are what qemu shall run */
	QEMU_EXEC_NATIVE, /* can run, but not under qemu; why says why */
	QEMU_EXEC_FAIL,	  /* error: what execve would return */
};

struct qemu_arch;

struct qemu_exec {
	enum qemu_exec_verdict verdict;
	const struct qemu_arch *arch; /* QEMU_EXEC_RUN */
	int error; /* positive errno */
	char why[112];
	char comm[16]; /* the task's name: of the file asked for, be it a script */
	char *program; /* malloc'd, as argv and its strings */
	char **argv;
};

/* 0 or -ENOMEM. Free with qemu_exec_free() in any case. */
int qemu_exec_resolve(const char *path, char *const *argv, struct qemu_exec *exec);
void qemu_exec_free(struct qemu_exec *exec);

/* Command line and environment of qemu itself (of the binary that exec->arch names); malloc'd vectors with malloc'd strings, or NULL. */
/*
 * sysroot: where programs of another architecture than the host's find their files, as the user
 * says; "" if he does not: where this program's are (qemu_exec_sysroot).
 */
char **qemu_exec_command(const char *qemu, const char *plugin, const char *shm,
			 const char *sysroot, const struct qemu_exec *exec);
/* said, if it is not empty. Else "", if on this machine itself; else where they usually are. May use root. */
const char *qemu_exec_sysroot(const struct qemu_exec *exec, const char *said, const char *plugin,
			      char *root, size_t size);
char **qemu_exec_environ(char *const *envp, const char *plugin);
void qemu_exec_free_vector(char **vector);

#endif
