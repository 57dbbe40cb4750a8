// SPDX-License-Identifier: BSD-2-Clause
#include "support_engine.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool engine_find(const char *target, struct engine *engine)
{
	char line[8192];
	FILE *f = popen(AUXTAP_BIN "/auxtap-emu engines", "r");

	memset(engine, 0, sizeof(*engine));
	while (f && fgets(line, sizeof(line), f)) {
		char *rest = line, *part[4];

		line[strcspn(line, "\n")] = 0;
		for (int i = 0; i < 4; i++)
			part[i] = rest ? strsep(&rest, "\t") : NULL;
		if (!part[3] || strcmp(part[0], target))
			continue;
		snprintf(engine->version, sizeof(engine->version), "%s", part[1]);
		snprintf(engine->path, sizeof(engine->path), "%s", part[2]);
		snprintf(engine->why, sizeof(engine->why), "%s", part[3]);
		engine->major = atoi(engine->version);
	}
	if (f)
		pclose(f);
	return engine->path[0];
}

bool engine_skip(const char *target)
{
	const char *packaged = getenv("AUXTAP_TEST_PACKAGED"), *set = getenv("AUXTAP_QEMU");
	struct engine engine, other;
	char *copy;
	bool same;

	if (!engine_find(target, &engine)) {
		printf("skipped: %s\n", engine.why);
		return true;
	}
	if (!packaged || !set)
		return false;
	if (strncmp(engine.path, set, strlen(set))) {
		printf("skipped: %s\n", engine.why);
		return true;
	}
	copy = strdup(set);
	unsetenv("AUXTAP_QEMU");
	same = engine_find(target, &other) && !strcmp(engine.path, other.path);
	setenv("AUXTAP_QEMU", copy, 1);
	free(copy);
	if (same)
		printf("skipped: qemu %s is also what is found first, and tested as that\n",
		       engine.version);
	return same;
}
