// SPDX-License-Identifier: BSD-2-Clause
/* Explains why the kernel refused an event or a mapping, and which value it would accept. */
#include "refusal.h"

#include "driver/emu/emu_abi.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#define NO_LEVEL 100 /* perf_event_paranoid does not exist */

static long read_number(const char *path, long missing)
{
	FILE *f = fopen(path, "re");
	long n = missing;

	if (!f)
		return missing;
	if (fscanf(f, "%ld", &n) != 1)
		n = missing;
	fclose(f);
	return n;
}

void limits_read(struct limits *limits)
{
	struct rlimit limit;
	long nr_cpus = sysconf(_SC_NPROCESSORS_ONLN);

	limits->paranoid = read_number("/proc/sys/kernel/perf_event_paranoid", NO_LEVEL);
	limits->mlock_kb = (uint64_t)read_number("/proc/sys/kernel/perf_event_mlock_kb", 0);
	limits->memlock_kb = UINT64_MAX;
	if (!getrlimit(RLIMIT_MEMLOCK, &limit) && limit.rlim_cur != RLIM_INFINITY)
		limits->memlock_kb = limit.rlim_cur / 1024;
	limits->nr_cpus = nr_cpus > 0 ? (unsigned int)nr_cpus : 1;
}

/* EACCES: because of perf_event_paranoid, or the task belongs to another user. */
static void explain_eacces(const char *event, const struct perf_event_attr *attr, pid_t tid,
			   int code, const struct limits *limits, struct auxtap_error *err)
{
	long need = tid < 0 ? 0 : attr->exclude_kernel ? 2 : 1;
	const char *what = tid < 0		? "tracing whole CPUs" :
			   attr->exclude_kernel ? "tracing your own programs" :
						  "tracing the kernel's side of your programs";
	char user_mode[128] = "";

	if (limits->paranoid == NO_LEVEL) {
		auxtap_error_set(err, code, event,
				 "perf_event_open: %s; this kernel shows no "
				 "kernel.perf_event_paranoid",
				 strerror(-code));
		auxtap_error_hint(err, "in a container allow perf_event_open and CAP_PERFMON");
	} else if (limits->paranoid > need) {
		auxtap_error_set(err, code, event,
				 "perf_event_open: %s: kernel.perf_event_paranoid is %ld, and %s "
				 "needs %ld or less",
				 strerror(-code), limits->paranoid, what, need);
		if (need == 1 && limits->paranoid == 2)
			snprintf(user_mode, sizeof(user_mode),
				 "; or trace user mode alone: -e %.*s//u", (int)strcspn(event, "/"),
				 event);
		auxtap_error_hint(err,
				  "sysctl kernel.perf_event_paranoid=%ld, or run as root "
				  "or with CAP_PERFMON%s",
				  need, user_mode);
	} else {
		auxtap_error_set(err, code, event,
				 "perf_event_open: %s, though kernel.perf_event_paranoid is %ld: "
				 "the process is another user's, or has privileges",
				 strerror(-code), limits->paranoid);
		auxtap_error_hint(err, "run as root");
	}
}

int refusal_open(const char *event, const struct perf_event_attr *attr, pid_t tid, int code,
		 const struct limits *limits, struct auxtap_error *err)
{
	struct auxtap_error local = AUXTAP_ERROR_INIT;

	if (!err)
		err = &local;
	auxtap_error_set(err, code, event, "perf_event_open: %s", strerror(-code));
	switch (code) {
	case -EACCES:
		explain_eacces(event, attr, tid, code, limits, err);
		break;
	case -EPERM: /* perf_event_open() itself returns EACCES */
		auxtap_error_hint(err, "a security policy refuses it; in a container allow "
				       "perf_event_open (seccomp) and CAP_PERFMON");
		break;
	case -EMFILE:
		auxtap_error_hint(err, "raise the limit of open files (ulimit -n)");
		break;
	case -EUSERS:
		auxtap_error_set(err, code, event,
				 "all %d emulated CPUs are taken by threads that are alive",
				 EMU_NR_CPUS);
		auxtap_error_hint(err, "run fewer threads at a time");
		break;
	case -EBUSY:
		auxtap_error_hint(err, "the trace unit is taken: whole CPUs and single programs "
				       "exclude each other, and so does a hypervisor or firmware "
				       "that uses it; end the other");
		break;
	case -EOPNOTSUPP:
		auxtap_error_hint(err, "this trace unit cannot do that; see 'auxtap list' for its "
				       "terms");
		break;
	default:
		break;
	}
	return code;
}

/* B11: what exceeds perf_event_mlock_kb counts as locked memory, both AUX and data. */
static bool fits_limits(uint64_t total_kb, const struct limits *l)
{
	uint64_t perf_kb = l->mlock_kb * l->nr_cpus;

	return l->memlock_kb == UINT64_MAX || total_kb <= perf_kb + l->memlock_kb;
}

static void hint_locked_memory(unsigned int nr_rings, uint64_t data_kb, uint64_t aux_kb,
			       const struct limits *l, struct auxtap_error *err)
{
	uint64_t total_kb = nr_rings * (data_kb + aux_kb), perf_kb = l->mlock_kb * l->nr_cpus;
	uint64_t page_kb = (uint64_t)sysconf(_SC_PAGESIZE) / 1024, smaller = aux_kb;
	char use[64] = "";

	/* The user's other rings and locked pages count, too; the kernel does not report them. */
	if (fits_limits(total_kb, l)) {
		auxtap_error_hint(err,
				  "other rings or locked memory of this user take their part; "
				  "end them, or raise 'ulimit -l' beyond %llu",
				  (unsigned long long)l->memlock_kb);
		return;
	}
	while (smaller && !fits_limits(nr_rings * (data_kb + smaller), l))
		smaller = smaller > page_kb ? smaller / 2 : 0;
	if (smaller)
		snprintf(use, sizeof(use), "-m ,%lluK; or ", (unsigned long long)smaller);
	auxtap_error_hint(err,
			  "%s'ulimit -l %llu'; or sysctl kernel.perf_event_mlock_kb=%llu; or "
			  "run as root or with CAP_IPC_LOCK",
			  use, (unsigned long long)(total_kb - perf_kb),
			  (unsigned long long)((total_kb - l->memlock_kb + l->nr_cpus - 1) /
					       l->nr_cpus));
}

int refusal_map(const char *what, uint64_t bytes, int code, unsigned int nr_rings, uint64_t data_kb,
		uint64_t aux_kb, const struct limits *limits, struct auxtap_error *err)
{
	uint64_t total_kb = nr_rings * (data_kb + aux_kb);
	uint64_t perf_kb = limits->mlock_kb * limits->nr_cpus;

	auxtap_error_set(err, code, what, "mmap of %llu KiB: %s", (unsigned long long)bytes / 1024,
			 strerror(-code));
	switch (code) {
	case -EPERM:
		auxtap_error_set(
			err, code, what,
			"mmap of %llu KiB: %s: %u rings take %llu KiB of locked memory; "
			"allowed are %llu (perf_event_mlock_kb, %u CPUs) and %llu (ulimit -l)",
			(unsigned long long)bytes / 1024, strerror(-code), nr_rings,
			(unsigned long long)total_kb, (unsigned long long)perf_kb, limits->nr_cpus,
			(unsigned long long)limits->memlock_kb);
		hint_locked_memory(nr_rings, data_kb, aux_kb, limits, err);
		break;
	case -EOPNOTSUPP:
		auxtap_error_hint(err, "this PMU has no AUX area; 'auxtap list' shows those that "
				       "have one");
		break;
	case -EMFILE:
		auxtap_error_hint(err, "raise the limit of open files (ulimit -n)");
		break;
	case -EFBIG:
		auxtap_error_hint(err, "the limit of file sizes applies to rings, too: raise it "
				       "(ulimit -f), or use a smaller -m");
		break;
	case -ENOMEM:
		/* one page is too small for TRBE and SPE */
		auxtap_error_hint(err, bytes > 4096 ?
					       "use a smaller -m" :
					       "use a larger -m; some trace units need two pages");
		break;
	default:
		break;
	}
	return code;
}
