// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Control of the traced program: translates messages into operations of the execution engine. The
 * engine reports operations that it does not support; this file only checks the messages.
 */
#include "emu_state.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define WHY_SIZE 384

/* The next NUL-terminated string of a message, or NULL. */
static char *next_string(const u8 *data, size_t size, size_t *at)
{
	char *s = (char *)(uintptr_t)data + *at;
	size_t len;

	if (*at >= size)
		return NULL;
	len = strnlen(s, size - *at);
	if (len == size - *at)
		return NULL;
	*at += len + 1;
	return s;
}

static char **strings(const u8 *data, size_t size, size_t *at, u32 nr)
{
	char **list;

	if (nr > size)
		return NULL;
	list = calloc((size_t)nr + 1, sizeof(*list));
	for (u32 i = 0; list && i < nr; i++) {
		list[i] = next_string(data, size, at);
		if (!list[i]) {
			free(list);
			return NULL;
		}
	}
	return list;
}

static int set_truth(struct emu *emu, const char *path, char *why)
{
	char *copy = path && *path ? strdup(path) : NULL;

	if (path && *path && !copy)
		return -ENOMEM;
	if (copy) {
		/* check now, before the program runs, that files can be created next to it */
		char *slash = strrchr(copy, '/');
		int ret = 0;

		if (slash)
			*slash = '\0';
		if (access(slash ? (slash == copy ? "/" : copy) : ".", W_OK | X_OK)) {
			ret = -errno;
			snprintf(why, WHY_SIZE, "ground truth file %s: %s", path, strerror(errno));
		}
		if (slash)
			*slash = '/';
		if (ret) {
			free(copy);
			return ret;
		}
	}
	free(emu->truth_path);
	emu->truth_path = copy;
	return 0;
}

static int explain(struct emu *emu, struct emu_answer *answer, int ret, const char *why)
{
	answer->data_size = (u32)strlen(why);
	memcpy(emu->answer, why, answer->data_size);
	return ret;
}

static int call_spawn(struct emu *emu, const struct emu_request *req, const u8 *data,
		      const int *fds, int nr_fds, struct emu_answer *answer)
{
	char **argv = NULL, **envp = NULL;
	struct emu_spawned engine = {0};
	char why[WHY_SIZE] = "";
	const char *cwd, *truth;
	size_t at = 2 * sizeof(u32);
	u32 nr[2];
	pid_t pid = -1;
	int ret = -EINVAL;

	if (nr_fds != 3 || req->data_size < sizeof(nr))
		return explain(emu, answer, -EINVAL, "malformed request");
	memcpy(nr, data, sizeof(nr));
	cwd = next_string(data, req->data_size, &at);
	argv = strings(data, req->data_size, &at, nr[0]);
	envp = argv ? strings(data, req->data_size, &at, nr[1]) : NULL;
	truth = envp ? next_string(data, req->data_size, &at) : NULL;
	if (!cwd || !argv || !nr[0] || !envp || !truth) {
		strcpy(why, "malformed request");
		goto out;
	}
	ret = set_truth(emu, truth, why);
	if (ret)
		goto out;
	emu->route.own.nr_done = emu->route.own.nr; /* received before there was a program */
	emu->quiet_new = true;
	ret = emu->engine->spawn(emu, argv, envp, cwd, fds, &pid, &engine, why);
	emu->quiet_new = false;
out:
	free(argv);
	free(envp);
	if (ret)
		return explain(emu, answer, ret, why);
	memcpy(emu->answer, &engine, sizeof(engine));
	answer->data_size = sizeof(engine);
	answer->result = pid;
	emu->route.pid = pid;
	return 0;
}

static int call_attach(struct emu *emu, const struct emu_request *req, const u8 *data,
		       struct emu_answer *answer)
{
	char why[WHY_SIZE] = "";
	size_t at = 0;
	int ret;

	if (!emu->engine->attach)
		return explain(emu, answer, -EOPNOTSUPP, "this engine cannot attach");
	ret = set_truth(emu, next_string(data, req->data_size, &at), why);
	if (!ret) {
		emu_memory_attached(emu);
		ret = emu->engine->attach(emu, (pid_t)req->arg[0], req->arg[1], why);
	}
	return ret ? explain(emu, answer, ret, why) : 0;
}

/* The data of EMU_MAPS and EMU_CODE: generated for the request with offset 0, sent in parts. */
static int call_maps(struct emu *emu, const struct emu_request *req, struct emu_answer *answer)
{
	const struct emu_engine_ops *engine = emu->engine;
	pid_t pid = (pid_t)req->arg[0];
	u64 offset = req->arg[1];
	ssize_t n;

	if (req->call == EMU_CODE && !engine->code)
		return -ENODATA;
	if (!offset || !emu->maps_text) {
		free(emu->maps_text);
		emu->maps_text = NULL;
		n = req->call == EMU_CODE ? engine->code(emu, pid, &emu->maps_text) :
					    engine->maps(emu, pid, &emu->maps_text);
		if (n < 0)
			return (int)n;
		emu->maps_size = (size_t)n;
	}
	if (offset < emu->maps_size) {
		size_t left = emu->maps_size - offset;

		answer->data_size = (u32)(left < EMU_DATA_MAX ? left : EMU_DATA_MAX);
		memcpy(emu->answer, emu->maps_text + offset, answer->data_size);
	}
	answer->result = answer->data_size;
	return 0;
}

static int call_threads(struct emu *emu, pid_t pid, struct emu_answer *answer)
{
	struct emu_task *task = NULL;
	int32_t tid;

	while ((task = emu_task_next(emu, pid, task)) &&
	       answer->data_size + sizeof(tid) <= EMU_DATA_MAX) {
		tid = task->core.tid;
		memcpy(emu->answer + answer->data_size, &tid, sizeof(tid));
		answer->data_size += sizeof(tid);
	}
	if (!answer->data_size)
		return -ESRCH;
	answer->result = answer->data_size / (u32)sizeof(tid);
	return 0;
}

static int call_regs(const struct emu_engine_ops *engine, struct emu_task *task,
		     const struct emu_request *req, u8 *data, u32 *size)
{
	struct auxtap_target_facts facts = {.size = sizeof(facts)};
	struct auxtap_regs regs;
	size_t nr = EMU_DATA_MAX;
	siginfo_t info;
	int ret;

	switch (req->call) {
	case EMU_REGS:
		memset(&regs, 0, sizeof(regs));
		ret = engine->regs(task, &regs);
		nr = sizeof(regs);
		memcpy(data, &regs, nr);
		break;
	case EMU_SIGINFO:
		memset(&info, 0, sizeof(info));
		ret = engine->siginfo(task, &info);
		nr = sizeof(info);
		memcpy(data, &info, nr);
		break;
	case EMU_REGSET:
		ret = engine->regset ? engine->regset(task, (int)req->arg[1], data, &nr) : -ENODATA;
		break;
	default:
		ret = engine->facts ? engine->facts(task, &facts) : -ENODATA;
		nr = sizeof(facts);
		memcpy(data, &facts, nr);
		break;
	}
	if (!ret)
		*size = (u32)nr;
	return ret;
}

int emu_call_target(struct emu *emu, const struct emu_request *req, const u8 *data, const int *fds,
		    int nr_fds, struct emu_answer *answer)
{
	const struct emu_engine_ops *engine = emu->engine;
	struct emu_task *task;
	ssize_t n;

	switch (req->call) {
	case EMU_SPAWN:
		return call_spawn(emu, req, data, fds, nr_fds, answer);
	case EMU_ATTACH:
		return call_attach(emu, req, data, answer);
	case EMU_MAPS:
	case EMU_CODE:
		return call_maps(emu, req, answer);
	case EMU_MEM:
		n = engine->mem(emu, (pid_t)req->arg[0], req->arg[1], emu->answer,
				req->arg[2] < EMU_DATA_MAX ? req->arg[2] : EMU_DATA_MAX);
		if (n < 0)
			return (int)n;
		answer->data_size = (u32)n;
		answer->result = n;
		return 0;
	case EMU_THREADS:
		return call_threads(emu, (pid_t)req->arg[0], answer);
	case EMU_SIGNAL:
		return engine->signal(emu, (pid_t)req->arg[0], (int)req->arg[1]);
	case EMU_DETACH:
		return engine->detach(emu, (pid_t)req->arg[0]);
	case EMU_FORWARD:
		if (!emu->route.pid || req->arg[0] < 1 || req->arg[0] >= EMU_NR_SIGNALS)
			return -EINVAL;
		emu_received_signal_add(&emu->route.capture, (int)req->arg[0], (pid_t)req->arg[1],
					(uid_t)req->arg[2]);
		emu_route_run(emu);
		return 0;
	case EMU_REGS:
	case EMU_SIGINFO:
	case EMU_REGSET:
	case EMU_FACTS:
	case EMU_VALUES:
	case EMU_HEAP:
	case EMU_RESUME:
		break;
	default:
		return -ENOSYS;
	}
	task = emu_task_find(emu, (pid_t)req->arg[0]);
	if (!task)
		return -ESRCH;
	if (req->call == EMU_RESUME)
		return engine->resume(task);
	if (req->call == EMU_VALUES || req->call == EMU_HEAP) {
		ssize_t (*const read)(struct emu_task *, u64, void *, size_t) =
			req->call == EMU_HEAP ? engine->heap : engine->values;

		n = read ? read(task, req->arg[1], emu->answer,
				req->arg[2] < EMU_DATA_MAX ? req->arg[2] : EMU_DATA_MAX) :
			   -ENODATA;
		answer->data_size = n < 0 ? 0 : (u32)n;
		return n < 0 ? (int)n : 0;
	}
	return call_regs(engine, task, req, emu->answer, &answer->data_size);
}
