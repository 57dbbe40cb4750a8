/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Finds the qemu that runs programs of an instruction set: in AUXTAP_QEMU, the cache, the directory
 * of auxtap-emu, PATH; each candidate is tried with the plugin before it is used.
 */
#ifndef AUXTAP_QEMU_FIND_H
#define AUXTAP_QEMU_FIND_H

#include <limits.h>
#include <stddef.h>

struct qemu_arch;

struct qemu_binary {
	char path[PATH_MAX];
	char version[32]; /* as qemu prints it: "10.0.2" */
	int api;	  /* of the plugin interface */
	/* why a candidate that comes earlier, or a newer one, is not used; "": there is none */
	char why[256];
};

/* 0; or -ENOPKG: none was found, see why. plugin, of PATH_MAX bytes: the one to load. */
int qemu_find(const struct qemu_arch *arch, struct qemu_binary *engine, char *plugin, char *why,
	      size_t size);

/* Like execvp: the first that can be executed; -EACCES only if nothing better is found. */
int qemu_find_in_path(const char *name, const char *path, char *found);

/* For 'auxtap list': prints a line for each engine: set, version, path, why, tab-separated. */
void qemu_find_print(void);

#endif
