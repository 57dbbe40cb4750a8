// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "qemu_exec.h"
#include "exec/elf_sanitizer.h"
#include "qemu_arch.h"
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAX_INTERPRETERS 5 /* as in the kernel: a longer chain of scripts is ELOOP */

static size_t vector_len(char *const *vector)
{
	size_t nr = 0;

	while (vector && vector[nr])
		nr++;
	return nr;
}

void qemu_exec_free_vector(char **vector)
{
	for (size_t i = 0; vector && vector[i]; i++)
		free(vector[i]);
	free(vector);
}

void qemu_exec_free(struct qemu_exec *exec)
{
	qemu_exec_free_vector(exec->argv);
	free(exec->program);
	exec->argv = NULL;
	exec->program = NULL;
}

static int append(char **vector, size_t *nr, const char *text)
{
	vector[*nr] = strdup(text);
	return vector[(*nr)++] ? 0 : -ENOMEM;
}

static void fail(struct qemu_exec *exec, int error)
{
	exec->verdict = QEMU_EXEC_FAIL;
	exec->error = error;
}

static void set_native(struct qemu_exec *exec, const char *why)
{
	exec->verdict = QEMU_EXEC_NATIVE;
	snprintf(exec->why, sizeof(exec->why), "%s", why);
}

/* "#!interpreter [one argument]" replaces argv[0] by interpreter, argument, script. */
static int apply_script(struct qemu_exec *exec, char *line)
{
	size_t nr = 0, old = vector_len(exec->argv);
	char *interpreter, *argument, *end;
	char **argv;

	end = strchr(line, '\n');
	if (end)
		*end = 0;
	interpreter = line + 2 + strspn(line + 2, " \t");
	argument = interpreter + strcspn(interpreter, " \t");
	if (*argument) {
		*argument++ = 0;
		argument += strspn(argument, " \t");
		end = argument + strlen(argument);
		while (end > argument && (end[-1] == ' ' || end[-1] == '\t'))
			*--end = 0;
	}
	if (!*interpreter) {
		fail(exec, ENOEXEC);
		return 0;
	}
	argv = calloc(old + 4, sizeof(*argv));
	if (!argv)
		return -ENOMEM;
	if (append(argv, &nr, interpreter) || (*argument && append(argv, &nr, argument)) ||
	    append(argv, &nr, exec->program))
		goto out_of_memory;
	for (size_t i = 1; i < old; i++)
		if (append(argv, &nr, exec->argv[i]))
			goto out_of_memory;
	qemu_exec_free_vector(exec->argv);
	exec->argv = argv;
	free(exec->program);
	exec->program = strdup(interpreter);
	return exec->program ? 0 : -ENOMEM;
out_of_memory:
	qemu_exec_free_vector(argv);
	return -ENOMEM;
}

static void check_elf(struct qemu_exec *exec, const unsigned char *head, const struct stat *st)
{
	const Elf64_Ehdr *eh = (const void *)head;

	exec->arch = qemu_arch_of_machine(eh->e_machine);
	if ((st->st_mode & S_ISUID && st->st_uid != geteuid()) ||
	    ((st->st_mode & (S_ISGID | S_IXGRP)) == (S_ISGID | S_IXGRP) && st->st_gid != getegid()))
		set_native(exec, "gains privileges by its set-id bit");
	else if (head[EI_CLASS] != ELFCLASS64 || head[EI_DATA] != ELFDATA2LSB || !exec->arch)
		set_native(exec, "not a program for 64-bit x86 or AArch64");
	else if (eh->e_type != ET_EXEC && eh->e_type != ET_DYN)
		fail(exec, ENOEXEC);
	else
		exec->verdict = QEMU_EXEC_RUN;
	if (exec->verdict == QEMU_EXEC_RUN)
		exec->sanitizer = elf_sanitizer(exec->program);
}

void qemu_exec_refuse_sanitizer(struct qemu_exec *exec)
{
	char why[80];

	if (exec->verdict != QEMU_EXEC_RUN || !exec->sanitizer)
		return;
	snprintf(why, sizeof(why), "%s needs qemu 10 or newer", exec->sanitizer);
	set_native(exec, why);
}

int qemu_exec_resolve(const char *path, char *const *argv, struct qemu_exec *exec)
{
	const char *base;
	size_t nr = 0;

	memset(exec, 0, sizeof(*exec));
	exec->argv = calloc(vector_len(argv) + 2, sizeof(*exec->argv));
	exec->program = strdup(path);
	base = strrchr(path, '/');
	snprintf(exec->comm, sizeof(exec->comm), "%s", base ? base + 1 : path);
	if (!exec->argv || !exec->program)
		return -ENOMEM;
	for (; argv && argv[nr];)
		if (append(exec->argv, &nr, argv[nr]))
			return -ENOMEM;
	/* as Linux since 5.18: no program runs with an empty argument vector */
	if (!nr && append(exec->argv, &nr, ""))
		return -ENOMEM;

	for (int depth = 0;; depth++) {
		unsigned char head[257] __attribute__((aligned(8))) = {0};
		struct stat st;
		ssize_t size;
		int fd, err;

		if (depth > MAX_INTERPRETERS) {
			fail(exec, ELOOP);
			return 0;
		}
		if (stat(exec->program, &st)) {
			fail(exec, errno);
			return 0;
		}
		if (!S_ISREG(st.st_mode) || eaccess(exec->program, X_OK)) {
			fail(exec, EACCES);
			return 0;
		}
		fd = open(exec->program, O_RDONLY | O_CLOEXEC);
		if (fd < 0) {
			set_native(exec, "may be executed but not read");
			return 0;
		}
		size = read(fd, head, sizeof(head) - 1);
		close(fd);
		if (size >= (ssize_t)sizeof(Elf64_Ehdr) && !memcmp(head, ELFMAG, SELFMAG)) {
			check_elf(exec, head, &st);
			return 0;
		}
		if (size < 2 || head[0] != '#' || head[1] != '!') {
			fail(exec, ENOEXEC);
			return 0;
		}
		err = apply_script(exec, (char *)head);
		if (err || exec->verdict == QEMU_EXEC_FAIL)
			return err;
	}
}

/* qemu's option syntax: a comma inside a value is doubled. */
static void append_escaped(char *to, const char *from)
{
	to += strlen(to);
	for (; *from; from++) {
		if (*from == ',')
			*to++ = ',';
		*to++ = *from;
	}
	*to = 0;
}

char **qemu_exec_command(const char *qemu, const char *plugin, const char *shm, const char *sysroot,
			 const struct qemu_exec *exec)
{
	size_t nr = 0, nr_args = vector_len(exec->argv);
	char **argv = calloc(nr_args + 16, sizeof(*argv));
	char found[PATH_MAX];
	const char *root = qemu_exec_sysroot(exec, sysroot, plugin, found, sizeof(found));
	char *option = calloc(1, 2 * (strlen(plugin) + strlen(shm) + strlen(sysroot) +
				      strlen(root) + strlen(exec->program) + sizeof(exec->comm)) +
					 96);
	char *program = calloc(1, strlen(exec->program) + 3);
	int err = 0;

	if (!argv || !option || !program)
		goto out_of_memory;
	strcpy(option, "file=");
	append_escaped(option, plugin);
	strcat(option, ",shm=");
	append_escaped(option, shm);
	strcat(option, ",comm=");
	append_escaped(option, exec->comm);
	strcat(option, ",sysroot=");
	append_escaped(option, sysroot);
	strcat(option, ",root=");
	append_escaped(option, root);
	/* the name may look like an option */
	sprintf(program, "%s%s", exec->program[0] == '-' ? "./" : "", exec->program);
	/*
	 * qemu 10.0 does not report the program's path: its qemu_plugin_path_to_binary() is not
	 * built
	 */
	strcat(option, ",program=");
	append_escaped(option, program);
	err |= append(argv, &nr, qemu);
	err |= append(argv, &nr, "-cpu");
	err |= append(argv, &nr, exec->arch->cpu);
	if (*root && exec->arch->sysroot) {
		err |= append(argv, &nr, "-L");
		err |= append(argv, &nr, root);
	}
	if (exec->api == QEMU_PLUGIN_API_4) {
		err |= append(argv, &nr, "-t");
		err |= append(argv, &nr, QEMU_RTSIG_MAP);
	}
	err |= append(argv, &nr, "-plugin");
	err |= append(argv, &nr, option);
	err |= append(argv, &nr, "-0");
	err |= append(argv, &nr, exec->argv[0]);
	err |= append(argv, &nr, program);
	for (size_t i = 1; i < nr_args; i++)
		err |= append(argv, &nr, exec->argv[i]);
	if (err)
		goto out_of_memory;
	free(option);
	free(program);
	return argv;
out_of_memory:
	qemu_exec_free_vector(argv);
	free(option);
	free(program);
	return NULL;
}

/* Variables that the dynamic linker and libc read before main(). */
static int is_hidden(const char *entry)
{
	return !strncmp(entry, "LD_", 3) || !strncmp(entry, "GLIBC_TUNABLES=", 15) ||
	       !strncmp(entry, "MALLOC_", 7) ||
	       !strncmp(entry, QEMU_EXEC_HIDE, strlen(QEMU_EXEC_HIDE));
}

char **qemu_exec_environ(char *const *envp, const char *plugin)
{
	size_t nr_env = vector_len(envp);
	char **out = calloc(nr_env + 2, sizeof(*out));

	if (!out || asprintf(&out[0], "LD_PRELOAD=%s", plugin) < 0)
		goto out_of_memory;
	for (size_t i = 0; i < nr_env; i++) {
		out[i + 1] = NULL;
		if (asprintf(&out[i + 1], "%s%s", is_hidden(envp[i]) ? QEMU_EXEC_HIDE : "",
			     envp[i]) < 0) {
			out[i + 1] = NULL;
			goto out_of_memory;
		}
	}
	return out;
out_of_memory:
	qemu_exec_free_vector(out);
	return NULL;
}
