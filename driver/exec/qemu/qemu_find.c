// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "qemu_find.h"
#include "qemu_arch.h"
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define TRY_SECONDS 20 /* a program that is not qemu may run forever */
#define TRY_OUTPUT  1024
#define BUILD_HINT  "run scripts/install-packages build"

/* State of the search. */
struct search {
	const struct qemu_arch *arch;
	const char *plugin;
	struct qemu_binary *engine;
	bool found;
	char refused[200]; /* the first candidate that was found but is unusable, and why */
};

int qemu_find_in_path(const char *name, const char *path, char *found)
{
	int result = -ENOENT;
	size_t len;

	if (!*name)
		return -ENOENT;
	if (strchr(name, '/')) {
		snprintf(found, PATH_MAX, "%s", name);
		return 0;
	}
	for (; path; path = path[len] ? path + len + 1 : NULL) {
		len = strcspn(path, ":");
		snprintf(found, PATH_MAX, "%.*s%s%s", (int)len, path, len ? "/" : "", name);
		if (!eaccess(found, X_OK))
			return 0;
		if (errno == EACCES)
			result = -EACCES;
	}
	return result;
}

/* ---- trying one ---- */

struct attempt {
	pid_t pid;
	int fd; /* its output */
	char text[TRY_OUTPUT];
};

static int attempt_begin(struct attempt *a, char *const *argv)
{
	int out[2];

	a->text[0] = 0;
	if (pipe2(out, O_CLOEXEC))
		return -errno;
	a->pid = fork();
	if (a->pid < 0) {
		close(out[0]);
		close(out[1]);
		return -errno;
	}
	if (!a->pid) {
		int null = open("/dev/null", O_RDONLY);
		sigset_t none;

		sigemptyset(&none);
		sigprocmask(SIG_SETMASK, &none, NULL);
		signal(SIGALRM, SIG_DFL);
		alarm(TRY_SECONDS);
		dup2(null, 0);
		dup2(out[1], 1);
		dup2(out[1], 2);
		unsetenv("LD_PRELOAD");
		execv(argv[0], argv);
		dprintf(1, "%s\n", strerror(errno));
		_exit(126);
	}
	close(out[1]);
	a->fd = out[0];
	return 0;
}

/* Returns the exit status; stores the output in text, as far as there is space. */
static int attempt_end(struct attempt *a)
{
	size_t size = 0;
	ssize_t got;
	int status;

	while (size < sizeof(a->text) - 1) {
		got = read(a->fd, a->text + size, sizeof(a->text) - 1 - size);
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			break;
		size += (size_t)got;
	}
	a->text[size] = 0;
	close(a->fd); /* if it keeps printing, it ends with SIGPIPE */
	while (waitpid(a->pid, &status, 0) < 0)
		if (errno != EINTR)
			return -1;
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* "… version 10.0.2 (Debian …)" */
static void take_version(const char *text, char *version, size_t size)
{
	const char *at = strstr(text, " version ");
	size_t len = 0;

	at = at ? at + 9 : "";
	while (len + 1 < size && (isalnum((unsigned char)at[len]) || strchr(".-_", at[len])) &&
	       at[len])
		len++;
	snprintf(version, size, "%.*s", (int)len, at);
}

/* Copies one line, without control characters: it comes from another program. */
static void take_line(const char *text, char *line, size_t size)
{
	size_t len = strcspn(text, "\n");

	snprintf(line, size, "%.*s", (int)(len < size ? len : size - 1), text);
	for (char *c = line; *c; c++)
		if (iscntrl((unsigned char)*c))
			*c = ' ';
}

/* Runs both queries at the same time, because this happens for every run. */
static bool try_engine(struct search *s, const char *qemu, char *why, size_t size)
{
	char option[PATH_MAX + 32], line[90];
	char *const ask_version[] = {(char *)qemu, "-version", NULL};
	char *const ask_plugin[] = {(char *)qemu, "-plugin", option, "/", NULL};
	struct attempt version = {.fd = -1}, plugin = {.fd = -1};
	const char *answer;
	int status, err;

	if (strchr(s->plugin, ',')) {
		snprintf(why, size, "the plugin's path contains a comma");
		return false;
	}
	snprintf(option, sizeof(option), "file=%s,try=1", s->plugin);
	err = attempt_begin(&version, ask_version);
	if (!err) {
		err = attempt_begin(&plugin, ask_plugin);
		attempt_end(&version);
	}
	if (err) {
		snprintf(why, size, "%s", strerror(-err));
		return false;
	}
	status = attempt_end(&plugin);
	take_version(version.text, s->engine->version, sizeof(s->engine->version));
	/* the plugin is not preloaded here; loading it resolves all functions that it needs */
	answer = strstr(plugin.text, "auxtap-plugin ");
	if (!status && answer && sscanf(answer, "auxtap-plugin %d", &s->engine->api) == 1)
		return true;
	take_line(plugin.text, line, sizeof(line));
	snprintf(why, size, "%s%s does not load plugins%s%s%s",
		 *s->engine->version ? "qemu " : "it", s->engine->version, *line ? " (" : "", line,
		 *line ? ")" : "");
	return false;
}

static void consider(struct search *s, const char *path, const char *named_by)
{
	char why[160];

	if (s->found)
		return;
	if (eaccess(path, X_OK))
		/* only a file that the user has named must exist */
		snprintf(why, sizeof(why), "%s", strerror(errno));
	else if (try_engine(s, path, why, sizeof(why))) {
		snprintf(s->engine->path, sizeof(s->engine->path), "%s", path);
		s->found = true;
		return;
	} else {
		named_by = named_by ? named_by : "";
	}
	if (named_by && !*s->refused)
		snprintf(s->refused, sizeof(s->refused), "%s%s%.80s: %.100s", named_by,
			 *named_by ? "=" : "", path, why);
}

/* ---- the candidates ---- */

static bool is_directory(const char *path)
{
	struct stat st;

	return !stat(path, &st) && S_ISDIR(st.st_mode);
}

/*
 * AUXTAP_QEMU: a directory, or a binary, whose directory also contains the one for the other
 * instruction set.
 */
static void consider_variables(struct search *s)
{
	const char *own = getenv(s->arch->variable), *set = getenv("AUXTAP_QEMU"), *slash;
	char path[PATH_MAX];

	if (own && *own && strcmp(s->arch->variable, "AUXTAP_QEMU")) {
		consider(s, own, s->arch->variable);
		return; /* the other variable is for programs of the other instruction set */
	}
	if (!set || !*set)
		return;
	slash = strrchr(set, '/');
	if (is_directory(set)) {
		snprintf(path, sizeof(path), "%s/%s", set, s->arch->binary);
		if (access(path, F_OK))
			snprintf(path, sizeof(path), "%s/bin/%s", set, s->arch->binary);
	} else if (strcmp(s->arch->variable, "AUXTAP_QEMU") && slash) {
		snprintf(path, sizeof(path), "%.*s/%s", (int)(slash - set), set, s->arch->binary);
		if (access(path, F_OK))
			return;
	} else {
		snprintf(path, sizeof(path), "%s", set);
	}
	consider(s, path, "AUXTAP_QEMU");
}

static int is_qemu(const struct dirent *entry)
{
	return !strncmp(entry->d_name, "qemu-", 5);
}

/* Considers what scripts/build-qemu has built; the newest version first. */
static void consider_cache(struct search *s)
{
	const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
	char directory[PATH_MAX - 300], path[PATH_MAX];
	struct dirent **names;
	int nr;

	if (cache && cache[0] == '/')
		snprintf(directory, sizeof(directory), "%s/auxtap", cache);
	else if (home && home[0] == '/')
		snprintf(directory, sizeof(directory), "%s/.cache/auxtap", home);
	else
		return;
	nr = scandir(directory, &names, is_qemu, versionsort);
	for (int i = nr - 1; i >= 0; i--) {
		snprintf(path, sizeof(path), "%s/%s/bin/%s", directory, names[i]->d_name,
			 s->arch->binary);
		consider(s, path, NULL);
		free(names[i]);
	}
	if (nr >= 0)
		free(names);
}

/* Path of a file in the directory of auxtap-emu, which is PREFIX/libexec/auxtap. */
static void libexec_path(const char *name, char *path)
{
	ssize_t size = readlink("/proc/self/exe", path, PATH_MAX - 32);
	char *slash;

	path[size > 0 ? size : 0] = 0;
	slash = strrchr(path, '/');
	strcpy(slash ? slash + 1 : path, name);
}

static void say_why(struct search *s)
{
	struct qemu_binary *e = s->engine;

	e->why[0] = 0;
	if (*s->refused)
		snprintf(e->why, sizeof(e->why), "%s", s->refused);
	else if (e->api == 1)
		snprintf(e->why, sizeof(e->why), "no qemu 10 is built; " BUILD_HINT);
}

int qemu_find(const struct qemu_arch *arch, struct qemu_binary *engine, char *plugin, char *why,
	      size_t size)
{
	struct search s = {.arch = arch, .plugin = plugin, .engine = engine};
	const char *set = getenv("AUXTAP_QEMU_PLUGIN");
	char path[PATH_MAX];
	int err;

	memset(engine, 0, sizeof(*engine));
	if (set)
		snprintf(plugin, PATH_MAX, "%s", set);
	else
		libexec_path("auxtap-qemu.so", plugin);
	if (access(plugin, R_OK)) {
		snprintf(why, size, "%.90s: %s", plugin,
			 errno == ENOENT ? "the plugin is missing" : strerror(errno));
		return -ENOPKG;
	}
	consider_variables(&s);
	consider_cache(&s);
	libexec_path(arch->binary, path);
	consider(&s, path, NULL);
	err = qemu_find_in_path(arch->binary, getenv("PATH"), path);
	if (err)
		err = qemu_find_in_path(arch->binary, "/usr/bin:/usr/local/bin", path);
	if (!err)
		consider(&s, path, NULL);
	if (s.found) {
		say_why(&s);
		return 0;
	}
	if (*s.refused)
		snprintf(why, size, "%s", s.refused);
	else if (err == -EACCES)
		snprintf(why, size, "%s: %s", arch->binary, strerror(EACCES));
	else
		snprintf(why, size, "%s not found; install the package qemu-user or " BUILD_HINT,
			 arch->binary);
	return -ENOPKG;
}

void qemu_find_print(void)
{
	static const u32 machines[] = {AUXTAP_ARCH_X86_64, AUXTAP_ARCH_AARCH64};

	for (size_t i = 0; i < sizeof(machines) / sizeof(*machines); i++) {
		const struct qemu_arch *arch = qemu_arch_of(machines[i]);
		char plugin[PATH_MAX], why[256] = "";
		struct qemu_binary engine;

		if (qemu_find(arch, &engine, plugin, why, sizeof(why)))
			printf("%s\t\t\t%s\n", arch->target, why);
		else
			printf("%s\t%s\t%s\t%s\n", arch->target, engine.version, engine.path,
			       engine.why);
	}
}
