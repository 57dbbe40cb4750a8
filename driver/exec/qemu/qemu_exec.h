/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Command line and environment that run a program under qemu with the plugin as execve would have
 * run it: scripts resolved, arguments, environment. Used by auxtap-emu (spawn) and by the plugin
 * (the program's own execve).
 */
#ifndef AUXTAP_QEMU_EXEC_H
#define AUXTAP_QEMU_EXEC_H

#include <signal.h>
#include <stddef.h>

/* Prefix of variables that must not affect qemu's own start. */
#define QEMU_EXEC_HIDE "AUXTAP_GUEST_"

/* Versions of the plugin interface that the plugin supports. */
#define QEMU_PLUGIN_API_FIRST 1 /* qemu 7.2 */
#define QEMU_PLUGIN_API_4     4 /* qemu 9.2, 10; from 3 on qemu_plugin_insn_data() copies */

/*
 * Host signals of an emulated process. qemu 10 renumbers SIGABRT and the two real-time signals of
 * the libc, and uses one itself; with this map they are the highest, and all others have the same
 * number for the program and the host.
 */
#define QEMU_RTSIG_MAP "32 61 2,34 34 27"
/* 63 is qemu's own; it assigns numbers that are not in the map in this order */
#define QEMU_HOST_SIGABRT 64
#define QEMU_HOST_SIGRT32 61

/* The program's number for a signal of the host; api: plugin interface of its qemu. */
static inline int qemu_exec_signal(int api, int signo)
{
	if (api == QEMU_PLUGIN_API_FIRST)
		return signo; /* not exact: real-time signals are shifted by 2 */
	if (signo == QEMU_HOST_SIGABRT)
		return SIGABRT;
	if (signo == QEMU_HOST_SIGRT32 || signo == QEMU_HOST_SIGRT32 + 1)
		return signo - QEMU_HOST_SIGRT32 + 32;
	return signo;
}

enum qemu_exec_verdict {
	QEMU_EXEC_RUN,	  /* qemu is to run program with argv */
	QEMU_EXEC_NATIVE, /* the program can run, but not under qemu; see why */
	QEMU_EXEC_FAIL,	  /* error: the errno of execve */
};

struct qemu_arch;

struct qemu_exec {
	enum qemu_exec_verdict verdict;
	const struct qemu_arch *arch; /* QEMU_EXEC_RUN */
	int error;		      /* positive errno */
	/* version of the plugin interface of the qemu that will run it; set by the caller */
	int api;
	const char *sanitizer; /* the program's sanitizer; NULL: none */
	char why[112];
	char comm[16]; /* the task's name: that of the requested file, even if it is a script */
	char *program; /* malloc'd, as argv and its strings */
	char **argv;
};

/* 0 or -ENOMEM. Free with qemu_exec_free() in any case. */
int qemu_exec_resolve(const char *path, char *const *argv, struct qemu_exec *exec);
void qemu_exec_free(struct qemu_exec *exec);
/*
 * qemu before 10 backs a sanitizer's terabytes with real memory: such a program becomes
 * QEMU_EXEC_NATIVE.
 */
void qemu_exec_refuse_sanitizer(struct qemu_exec *exec);

/*
 * Command line and environment of qemu itself (of the binary that exec->arch names); malloc'd
 * vectors with malloc'd strings, or NULL. sysroot: where programs of another architecture than the
 * host's find their files, as specified by the user; "": the default for this program
 * (qemu_exec_sysroot).
 */
char **qemu_exec_command(const char *qemu, const char *plugin, const char *shm, const char *sysroot,
			 const struct qemu_exec *exec);
/*
 * Returns said, if it is not empty; else "" if the libraries are on this machine itself, else their
 * usual path. The result may be in root.
 */
const char *qemu_exec_sysroot(const struct qemu_exec *exec, const char *said, const char *plugin,
			      char *root, size_t size);
char **qemu_exec_environ(char *const *envp, const char *plugin);
void qemu_exec_free_vector(char **vector);

#endif
