// SPDX-License-Identifier: BSD-2-Clause
/*
 * Capture a program with libauxtap: record FILE PROGRAM [ARGUMENT]...
 * Stock 'perf script -i FILE' and 'auxtap decode FILE' read the result.
 */
#include <auxtap/capture.h>
#include <stdio.h>
#include <sys/wait.h>

static int fail(const struct auxtap_error *err)
{
	fprintf(stderr, "record: %s: %s%s%s\n", err->what, err->why, *err->hint ? "; " : "",
		err->hint);
	return 125;
}

int main(int argc, char **argv)
{
	struct auxtap_probe probe = {.size = sizeof(probe)};
	struct auxtap_session_opts opts = {.size = sizeof(opts)};
	struct auxtap_error err = AUXTAP_ERROR_INIT;
	const struct auxtap_session_stats *stats;
	struct auxtap_backend backend = {.size = sizeof(backend)};
	struct auxtap_session *session;
	int ret, status;

	if (argc < 3) {
		fprintf(stderr, "usage: record FILE PROGRAM [ARGUMENT]...\n");
		return 125;
	}
	/* The trace unit of this machine if there is one, else an emulated one. */
	auxtap_probe_machine(&probe);
	ret = probe.kernel ? auxtap_backend_open_kernel(&backend, &err) :
			     auxtap_backend_open_emulated(&backend, AUXTAP_ENGINE_AUTO, &err);
	if (ret)
		return fail(&err);
	opts.output = argv[1];
	opts.argv = argv + 2;
	ret = auxtap_session_open(&session, &backend, &opts, &err);
	if (ret)
		goto close_backend;
	ret = auxtap_session_run(session, NULL, &err);
	stats = auxtap_session_get_stats(session);
	status = stats->exit_status;
	fprintf(stderr, "record: %s, %llu bytes of trace, %llu times truncated\n",
		backend.description, (unsigned long long)stats->aux_bytes,
		(unsigned long long)stats->truncations);
	if (ret)
		auxtap_session_close(session, NULL);
	else
		ret = auxtap_session_close(session, &err);
close_backend:
	auxtap_backend_close(&backend);
	if (ret)
		return fail(&err);
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}
