// SPDX-License-Identifier: BSD-2-Clause
/* Asks auxtap-emu which engine it would use, so that the user sees the one that will run. */
#include "emulated.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* Removes the text before the next tab or the end of the line, and returns it. */
static char *next_field(char **line)
{
	char *start = *line, *end = start + strcspn(start, "\t\n");

	*line = *end == '\t' ? end + 1 : end;
	*end = '\0';
	return start;
}

int emu_link_engine(const char *target, struct emu_engine *engine)
{
	struct auxtap_error err = AUXTAP_ERROR_INIT;
	char program[PATH_MAX], line[PATH_MAX + 512];
	int out[2], status, ret = -ENOENT;
	pid_t pid;
	FILE *f;

	memset(engine, 0, sizeof(*engine));
	if (emu_link_find(program, sizeof(program), &err)) {
		snprintf(engine->why, sizeof(engine->why), "%.200s", err.why);
		return -ENOENT;
	}
	if (pipe(out))
		return -errno;
	pid = fork();
	if (pid < 0) {
		ret = -errno;
		close(out[0]);
		close(out[1]);
		return ret;
	}
	if (!pid) {
		dup2(out[1], 1);
		close(out[0]);
		close(out[1]);
		execl(program, program, "engines", (char *)NULL);
		_exit(127);
	}
	close(out[1]);
	f = fdopen(out[0], "r");
	while (f && fgets(line, sizeof(line), f)) {
		char *at = line;

		if (strcmp(next_field(&at), target))
			continue;
		snprintf(engine->version, sizeof(engine->version), "%s", next_field(&at));
		snprintf(engine->path, sizeof(engine->path), "%s", next_field(&at));
		snprintf(engine->why, sizeof(engine->why), "%s", next_field(&at));
		ret = *engine->path ? 0 : -ENOENT;
	}
	if (f)
		fclose(f);
	else
		close(out[0]);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return ret;
}
