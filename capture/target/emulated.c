// SPDX-License-Identifier: BSD-2-Clause
/*
 * Controls a program that auxtap-emu executes with ptrace or qemu; the messages are the same for
 * both. auxtap-emu is the tracer.
 */
#include "util/sized.h"
#include "emulated.h"
#include "util/vector.h"
#include "driver/exec/qemu/qemu_heap.h"
#include "driver/exec/qemu/qemu_values.h"

#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

extern char **environ;

static int add_pid(struct emu_link *link, pid_t pid)
{
	for (size_t i = 0; i < link->nr_pids; i++) {
		if (link->pids[i] == pid)
			return 0;
	}
	if (vector_grow(link->pids, link->nr_pids, link->max_pids))
		return -ENOMEM;
	link->pids[link->nr_pids++] = pid;
	return 0;
}

static void remove_pid(struct emu_link *link, pid_t pid)
{
	for (size_t i = 0; i < link->nr_pids; i++) {
		if (link->pids[i] == pid)
			link->pids[i--] = link->pids[--link->nr_pids];
	}
}

/* The PID of a thread's process; tid itself if the thread has exited. */
static pid_t pid_of_thread(pid_t tid)
{
	char path[64], line[256];
	pid_t pid = tid;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/status", tid);
	f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f)) {
		if (!strncmp(line, "Tgid:", 5))
			pid = (pid_t)strtol(line + 5, NULL, 10);
	}
	if (f)
		fclose(f);
	return pid;
}

static bool append_string(char *buf, size_t max, size_t *at, const char *s)
{
	size_t n = strlen(s) + 1;

	if (max - *at < n)
		return false;
	memcpy(buf + *at, s, n);
	*at += n;
	return true;
}

/*
 * Builds the SPAWN message: u32 argc, envc; cwd, argv, envp, ground-truth path. Returns its size;
 * 0: too long.
 */
static size_t spawn_message(char *buf, size_t max, const struct auxtap_spawn *spawn,
			    const char *cwd)
{
	uint32_t counts[2] = {0, 0};
	size_t at = sizeof(counts);

	while (spawn->argv[counts[0]])
		counts[0]++;
	while (environ && environ[counts[1]])
		counts[1]++;
	memcpy(buf, counts, sizeof(counts));
	if (!append_string(buf, max, &at, cwd))
		return 0;
	for (uint32_t i = 0; i < counts[0]; i++) {
		if (!append_string(buf, max, &at, spawn->argv[i]))
			return 0;
	}
	for (uint32_t i = 0; i < counts[1]; i++) {
		if (!append_string(buf, max, &at, environ[i]))
			return 0;
	}
	if (!append_string(buf, max, &at, spawn->truth_path ? spawn->truth_path : ""))
		return 0;
	return at;
}

/* Sets *err. The data of a failed call's reply is auxtap-emu's message. */
static int set_call_error(struct emu_link *link, const char *what, int code,
			  const struct emu_call_args *args, const char *text,
			  struct auxtap_error *err)
{
	if (link->dead)
		return auxtap_error_set(err, code, what, "%s", link->death);
	if (args->out_size)
		return auxtap_error_set(err, code, what, "%.*s", (int)args->out_size, text);
	return auxtap_error_set(err, code, what, "%s", strerror(-code));
}

/* Reads from the reply which engine executes the program. The texts may lack a NUL. */
static int parse_spawn_reply(struct emu_link *link, const void *data, size_t size)
{
	struct emu_spawned engine;

	if (size != sizeof(engine))
		return -EPROTO;
	memcpy(&engine, data, sizeof(engine));
	snprintf(link->engine_version, sizeof(link->engine_version), "%.*s",
		 (int)sizeof(engine.version) - 1, engine.version);
	snprintf(link->engine_reason, sizeof(link->engine_reason), "%.*s",
		 (int)sizeof(engine.why) - 1, engine.why);
	return 0;
}

/* The ptrace engine cannot execute programs of another architecture. */
static bool ptrace_can_run(const char *program)
{
#ifdef __aarch64__
	(void)program;
	return true;
#else
	return auxtap_program_machine(program) != EM_AARCH64;
#endif
}

static int spawn_stopped(struct emu_link *link, const struct auxtap_spawn *spawn, pid_t *pid,
			 struct auxtap_error *err)
{
	const int stdio[3] = {0, 1, 2};
	char *cwd = getcwd(NULL, 0);
	char *buf = malloc(EMU_DATA_MAX);
	char reply[512], line[512];
	struct emu_call_args args = {
		.call = EMU_SPAWN,
		.data = buf,
		.fds = stdio,
		.nr_fds = 3,
		.out = reply,
		.out_max = sizeof(reply) - 1,
	};
	int64_t ret;
	int code;

	if (!buf || !cwd) {
		code = auxtap_error_set(err, buf ? -errno : -ENOMEM, "working directory", "%m");
		goto out;
	}
	args.data_size = spawn_message(buf, EMU_DATA_MAX, spawn, cwd);
	if (!args.data_size) {
		code = auxtap_error_set(err, -E2BIG, spawn->argv[0],
					"arguments and environment exceed %d bytes", EMU_DATA_MAX);
		goto out;
	}
	ret = emu_link_call(link, &args);
	if (ret == -ENOPKG && *link->value_log)
		ret = -EOPNOTSUPP; /* no other engine has a value log */
	if (ret == -ENOPKG && link->may_fall_back && link->engine == AUXTAP_ENGINE_QEMU &&
	    ptrace_can_run(spawn->argv[0])) {
		/* No event is open yet: start again with the other engine. */
		snprintf(line, sizeof(line), "no qemu: %.*s", (int)args.out_size, reply);
		emu_link_stop(link);
		code = emu_link_start(link, AUXTAP_ENGINE_PTRACE, err);
		if (code)
			goto out;
		ret = emu_link_call(link, &args);
		snprintf(link->engine_reason, sizeof(link->engine_reason), "%.200s", line);
	} else if (ret >= 0) {
		code = parse_spawn_reply(link, reply, args.out_size);
		if (code) {
			auxtap_error_set(err, code, "auxtap-emu", "malformed reply");
			goto out;
		}
	}
	if (ret < 0) {
		code = set_call_error(link, ret == -ENOPKG ? "engine qemu" : spawn->argv[0],
				      (int)ret, &args, reply, err);
		if (ret != -ENOPKG && !link->dead)
			auxtap_error_set_subject(err, AUXTAP_ERROR_PROGRAM);
		if (ret == -EPERM)
			auxtap_error_hint(err, "allow ptrace: kernel.yama.ptrace_scope below 3, "
					       "and in a container --cap-add SYS_PTRACE");
		else if (ret == -EFBIG)
			auxtap_error_hint(
				err, "the limit of file sizes applies to the engine's shared "
				     "memory, too: raise it (ulimit -f), or use --source ptrace");
		else if (ret == -EMFILE)
			auxtap_error_hint(err, "raise the limit of open files (ulimit -n)");
		goto out;
	}
	*pid = (pid_t)ret;
	code = add_pid(link, *pid);
out:
	free(buf);
	free(cwd);
	return code;
}

static int emulated_spawn(void *ctx, const struct auxtap_spawn *spawn, pid_t *pid,
			  struct auxtap_error *err)
{
	struct auxtap_spawn copy;
	int ret = backend_copy_spawn(&copy, spawn, err);

	return ret ? ret : spawn_stopped(ctx, &copy, pid, err);
}

static int emulated_attach(void *ctx, pid_t pid, bool one_thread, const char *truth_path,
			   struct auxtap_error *err)
{
	struct emu_link *link = ctx;
	char reply[512], what[32];
	struct emu_call_args args = {
		.call = EMU_ATTACH,
		.arg = {(uint64_t)pid, one_thread},
		.data = truth_path,
		.data_size = truth_path ? strlen(truth_path) + 1 : 0,
		.out = reply,
		.out_max = sizeof(reply) - 1,
	};
	pid_t process = pid_of_thread(pid);
	int64_t ret = emu_link_call(link, &args);
	int code;

	if (ret >= 0) {
		link->only_tid = one_thread ? pid : 0;
		return add_pid(link, process);
	}
	snprintf(what, sizeof(what), "process %d", pid);
	code = set_call_error(link, what, (int)ret, &args, reply, err);
	if (code == -EPERM)
		auxtap_error_hint(err, "run as its user or with CAP_SYS_PTRACE (root), set "
				       "kernel.yama.ptrace_scope to 0, end other debuggers");
	return code;
}

static int emulated_fd(void *ctx)
{
	return ((struct emu_link *)ctx)->epoll_fd;
}

static int emulated_wait(void *ctx, struct auxtap_target_event *ev)
{
	struct auxtap_target_event event;
	struct emu_link *link = ctx;
	int ret =
		sized_check(ev, sizeof(event), SIZED_UP_TO(struct auxtap_target_event, frame_signo),
			    "struct auxtap_target_event", NULL);

	if (ret)
		return ret;
	ret = emu_link_next_event(link, &event);
	if (ret == 1) {
		sized_copy_out(ev, &event, sizeof(event));
		if (ev->type == AUXTAP_TARGET_FORK || ev->type == AUXTAP_TARGET_THREAD)
			add_pid(link, ev->pid);
		else if (ev->type == AUXTAP_TARGET_PROCESS_EXIT ||
			 (ev->type == AUXTAP_TARGET_THREAD_EXIT && ev->tid == link->only_tid))
			remove_pid(link, ev->pid);
		return 1;
	}
	if (!link->nr_pids)
		return -ECHILD;
	return ret;
}

/* Makes a call with a tid or pid whose reply has exactly size bytes of data. */
static int fixed_size_call(void *ctx, uint32_t call, pid_t id, void *out, size_t size)
{
	struct emu_call_args args = {.call = call,
				     .arg = {(uint64_t)id},
				     .out = out,
				     .out_max = size};
	int64_t ret = emu_link_call(ctx, &args);

	if (ret < 0)
		return (int)ret;
	return args.out_size == size ? 0 : -EPROTO;
}

static int emulated_regs(void *ctx, pid_t tid, struct auxtap_regs *regs)
{
	return fixed_size_call(ctx, EMU_REGS, tid, regs, sizeof(*regs));
}

static int emulated_siginfo(void *ctx, pid_t tid, void *info)
{
	return fixed_size_call(ctx, EMU_SIGINFO, tid, info, sizeof(siginfo_t));
}

static int emulated_regset(void *ctx, pid_t tid, int type, void *buf, size_t *size)
{
	struct emu_call_args args = {.call = EMU_REGSET,
				     .arg = {(uint64_t)tid, (uint64_t)type},
				     .out = buf,
				     .out_max = *size};
	int64_t ret = emu_link_call(ctx, &args);

	*size = args.out_size;
	return ret < 0 ? (int)ret : 0;
}

/* Load base, initial stack pointer and core limit of the emulated process. */
static int qemu_facts(void *ctx, pid_t tid, struct auxtap_target_facts *facts)
{
	struct auxtap_target_facts reply;
	int ret = sized_check(facts, sizeof(reply),
			      SIZED_UP_TO(struct auxtap_target_facts, has_core_limit),
			      "struct auxtap_target_facts", NULL);

	if (!ret)
		ret = fixed_size_call(ctx, EMU_FACTS, tid, &reply, sizeof(reply));
	if (!ret)
		sized_copy_out(facts, &reply, sizeof(reply));
	return ret;
}

#define MAPS_MAX (64u << 20)
#define CODE_MAX (256u << 20)

/* Repeats the call until the reply is complete, and appends a NUL. */
static int call_all_parts(void *ctx, uint32_t call, pid_t pid, size_t limit, char **text,
			  size_t *size)
{
	size_t max = 0, len = 0;
	char *buf = NULL;

	for (;;) {
		struct emu_call_args args = {.call = call, .arg = {(uint64_t)pid, len}};
		int64_t ret;

		if (len > limit || vector_grow_by(buf, len, EMU_DATA_MAX + 1, max)) {
			free(buf);
			return -ENOMEM;
		}
		args.out = buf + len;
		args.out_max = max - len - 1; /* a NUL comes last */
		ret = emu_link_call(ctx, &args);
		if (ret < 0) {
			free(buf);
			return (int)ret;
		}
		if (!args.out_size)
			break;
		len += args.out_size;
	}
	buf[len] = '\0';
	*text = buf;
	*size = len;
	return 0;
}

static int emulated_maps(void *ctx, pid_t pid, char **text)
{
	size_t size;

	return call_all_parts(ctx, EMU_MAPS, pid, MAPS_MAX, text, &size);
}

/* Code that was generated at run time: records of struct auxtap_crash_code and code. */
static int emulated_code(void *ctx, pid_t pid, char **records, size_t *size)
{
	return call_all_parts(ctx, EMU_CODE, pid, CODE_MAX, records, size);
}

/* Reads size bytes with as many calls as needed. Returns the number, or a negative errno. */
static ssize_t read_parts(struct emu_link *link, uint32_t call, pid_t id, uint64_t addr, void *buf,
			  size_t size)
{
	size_t done = 0;

	while (done < size) {
		size_t want = size - done < EMU_DATA_MAX ? size - done : EMU_DATA_MAX;
		struct emu_call_args args = {
			.call = call,
			.arg = {(uint64_t)id, addr + done, want},
			.out = (char *)buf + done,
			.out_max = want,
		};
		int64_t ret = emu_link_call(link, &args);

		if (ret < 0)
			return done ? (ssize_t)done : (ssize_t)ret;
		if (!args.out_size)
			break;
		done += args.out_size;
	}
	return (ssize_t)done;
}

static ssize_t emulated_mem(void *ctx, pid_t pid, uint64_t addr, void *buf, size_t size)
{
	return read_parts(ctx, EMU_MEM, pid, addr, buf, size);
}

static int emulated_threads(void *ctx, pid_t pid, pid_t *tids, int max)
{
	int32_t *list = malloc(EMU_DATA_MAX);
	struct emu_call_args args = {
		.call = EMU_THREADS,
		.arg = {(uint64_t)pid},
		.out = list,
		.out_max = EMU_DATA_MAX,
	};
	int64_t ret = list ? emu_link_call(ctx, &args) : -ENOMEM;
	int nr = (int)(args.out_size / sizeof(*list));

	for (int i = 0; ret >= 0 && i < nr && i < max; i++)
		tids[i] = list[i];
	free(list);
	return ret < 0 ? (int)ret : nr;
}

static int simple_call(void *ctx, uint32_t call, uint64_t arg0, uint64_t arg1)
{
	struct emu_call_args args = {.call = call, .arg = {arg0, arg1}};
	int64_t ret = emu_link_call(ctx, &args);

	return ret < 0 ? (int)ret : 0;
}

static int emulated_resume(void *ctx, pid_t tid)
{
	return simple_call(ctx, EMU_RESUME, (uint64_t)tid, 0);
}

static int emulated_signal(void *ctx, pid_t pid, int signo)
{
	return simple_call(ctx, EMU_SIGNAL, (uint64_t)pid, (uint64_t)signo);
}

static int emulated_forward(void *ctx, pid_t pid, const void *siginfo)
{
	const siginfo_t *info = siginfo;
	struct emu_call_args args = {
		.call = EMU_FORWARD,
		.arg = {(uint64_t)info->si_signo, (uint64_t)info->si_pid, info->si_uid},
	};
	struct emu_link *link = ctx;
	int64_t ret;

	/* auxtap-emu has died: send the signal directly. */
	if (link->dead)
		return kill(pid, info->si_signo) ? -errno : 0;
	ret = emu_link_call(link, &args);
	return ret < 0 ? (int)ret : 0;
}

static int emulated_detach(void *ctx, pid_t pid)
{
	int ret;

	pid = pid_of_thread(pid);
	ret = simple_call(ctx, EMU_DETACH, (uint64_t)pid, 0);

	if (!ret)
		remove_pid(ctx, pid);
	return ret;
}

/* Reads a part of the value log, which is in the program's memory. 0 or a negative errno. */
static int read_value_log(struct emu_link *link, pid_t tid, uint64_t off, void *buf, size_t size)
{
	ssize_t nr = read_parts(link, EMU_VALUES, tid, off, buf, size);

	return nr < 0 ? (int)nr : (size_t)nr < size ? -ENODATA : 0;
}

/* Builds the record: struct auxtap_values, then the words of the log, oldest first. */
static int qemu_values(void *ctx, pid_t pid, pid_t tid, void **record, size_t *size)
{
	struct auxtap_values head = {.size = sizeof(head),
				     .arch = AUXTAP_ARCH_X86_64,
				     .pid = pid,
				     .tid = tid};
	struct auxtap_target_facts facts = {.size = sizeof(facts)};
	uint64_t begin, first;
	struct qemu_values v;
	char *bytes;
	int ret = read_value_log(ctx, tid, 0, &v, sizeof(v));

	if (ret)
		return ret;
	if (v.magic != QEMU_VALUES_MAGIC || !v.capacity || v.capacity & (v.capacity - 1) ||
	    v.capacity > VALUE_LOG_MAX / sizeof(uint64_t))
		return -ENODATA; /* the program overwrote it */
	ret = read_value_log(ctx, tid, v.lost_until, &head.lost_until, sizeof(head.lost_until));
	if (!ret)
		ret = qemu_facts(ctx, tid, &facts);
	if (ret)
		return ret;
	head.flags = (v.threads ? AUXTAP_VALUES_THREADS : 0) |
		     (v.busy ? AUXTAP_VALUES_BAD_REGS : 0) |
		     (facts.is_cut_off ? AUXTAP_VALUES_CUT_OFF : 0) |
		     (v.head <= v.capacity ? AUXTAP_VALUES_WHOLE : 0);
	memcpy(head.regs, v.regs, sizeof(head.regs));
	head.nr_words = v.head < v.capacity ? v.head : v.capacity;
	*size = sizeof(head) + head.nr_words * sizeof(uint64_t);
	bytes = malloc(*size);
	if (!bytes)
		return -ENOMEM;
	memcpy(bytes, &head, sizeof(head));
	begin = (v.head - head.nr_words) & (v.capacity - 1);
	first = v.capacity - begin < head.nr_words ? v.capacity - begin : head.nr_words;
	ret = read_value_log(ctx, tid, sizeof(v) + begin * sizeof(uint64_t), bytes + sizeof(head),
			     first * sizeof(uint64_t));
	if (!ret)
		ret = read_value_log(ctx, tid, sizeof(v),
				     bytes + sizeof(head) + first * sizeof(uint64_t),
				     (head.nr_words - first) * sizeof(uint64_t));
	if (ret) {
		free(bytes);
		return ret;
	}
	*record = bytes;
	return 0;
}

static int read_heap(struct emu_link *link, pid_t tid, uint64_t off, void *buf, size_t size)
{
	ssize_t nr = read_parts(link, EMU_HEAP, tid, off, buf, size);

	return nr < 0 ? (int)nr : (size_t)nr < size ? -ENODATA : 0;
}

static int qemu_heap(void *ctx, pid_t tid, struct auxtap_heap_event **events, size_t *nr)
{
	const size_t head = offsetof(struct qemu_heap_log, event);
	uint64_t count, begin, first;
	struct auxtap_heap_event *all;
	struct qemu_heap_ring ring;
	int ret = read_heap(ctx, tid, 0, &ring, sizeof(ring));

	if (ret)
		return ret;
	if (ring.magic != QEMU_HEAP_MAGIC || !ring.head)
		return -ENODATA; /* the program overwrote it, or it is empty */
	count = ring.head < QEMU_HEAP_EVENTS ? ring.head : QEMU_HEAP_EVENTS;
	begin = (ring.head - count) % QEMU_HEAP_EVENTS;
	first = QEMU_HEAP_EVENTS - begin < count ? QEMU_HEAP_EVENTS - begin : count;
	all = malloc(count * sizeof(*all));
	if (!all)
		return -ENOMEM;
	ret = read_heap(ctx, tid, head + begin * sizeof(*all), all, first * sizeof(*all));
	if (!ret && first < count)
		ret = read_heap(ctx, tid, head, all + first, (count - first) * sizeof(*all));
	if (ret) {
		free(all);
		return ret;
	}
	/* recorded before the fork, by threads of the parent: no TIDs of this process */
	for (uint64_t i = 0, old = ring.head - count; i < count && old + i < ring.forked; i++)
		all[i].tid = 0;
	*events = all;
	*nr = count;
	return 0;
}

static int qemu_heap_call(void *ctx, pid_t tid, size_t nth, const struct auxtap_heap_event *event,
			  struct auxtap_heap_call *call)
{
	struct auxtap_heap_event now;
	struct qemu_heap_ring ring;
	int ret = read_heap(ctx, tid, 0, &ring, sizeof(ring));

	if (ret)
		return ret;
	if (ring.magic != QEMU_HEAP_MAGIC || ring.head <= nth || nth >= QEMU_HEAP_EVENTS)
		return -ENODATA;
	nth = (ring.head - 1 - nth) % QEMU_HEAP_EVENTS;
	ret = read_heap(ctx, tid, offsetof(struct qemu_heap_log, call) + nth * sizeof(*call), call,
			sizeof(*call));
	if (!ret) /* read after the call, because threads may still run */
		ret = read_heap(ctx, tid, offsetof(struct qemu_heap_log, event) + nth * sizeof(now),
				&now, sizeof(now));
	if (ret)
		return ret;
	if (now.addr != event->addr || now.caller != event->caller || now.kind != event->kind)
		return -ENODATA;
	return call->sp && call->nr_stack <= sizeof(call->stack) ? 0 : -ENODATA;
}

#define EMULATED_OPS                                                                     \
	.size = sizeof(struct auxtap_target_ops), .spawn = emulated_spawn,               \
	.attach = emulated_attach, .fd = emulated_fd, .wait = emulated_wait,             \
	.regs = emulated_regs, .siginfo = emulated_siginfo, .maps = emulated_maps,       \
	.code = emulated_code, .mem = emulated_mem, .threads = emulated_threads,         \
	.resume = emulated_resume, .signal = emulated_signal, .detach = emulated_detach, \
	.forward = emulated_forward, .regset = emulated_regset

const struct auxtap_target_ops target_ptrace_ops = {.name = "ptrace",
						    .host_arch_only = true,
						    EMULATED_OPS};
const struct auxtap_target_ops target_qemu_ops = {.name = "qemu",
						  .facts = qemu_facts,
						  .values = qemu_values,
						  .heap = qemu_heap,
						  .heap_call = qemu_heap_call,
						  EMULATED_OPS};
