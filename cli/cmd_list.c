// SPDX-License-Identifier: BSD-2-Clause
/* auxtap list: shows this machine's trace units, the user's permissions, and record's defaults. */
#include "cli.h"
#ifdef AUXTAP_HAVE_DECODE
#include <auxtap/decode.h>
#endif

#include <auxtap/capture.h>
#include <auxtap/text.h>
#include <dirent.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PMUS "/sys/bus/event_source/devices"

static const char help[] =
	"usage: auxtap list\n"
	"\n"
	"Lists the PMUs of this machine that have an AUX area, with their capabilities; what you\n"
	"may do with them and which settings allow more; the execution engines for emulation;\n"
	"what 'auxtap record' selects.\n";

/* PMU and file names come from sysfs and the environment. */
AUXTAP_PRINTF(1, 2) static void say(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vfprintf(cli_safe_output(), fmt, args);
	va_end(args);
}

/* Reads the first line of a file, escaped. */
static int read_line(const char *path, char *buf, size_t size)
{
	FILE *f = fopen(path, "re");
	char raw[256];
	size_t n;

	if (!f)
		return -1;
	n = fread(raw, 1, sizeof(raw) - 1, f);
	fclose(f);
	raw[n] = '\0';
	auxtap_text_escape(buf, size, raw, strcspn(raw, "\n"));
	return 0;
}

static void show_dir(const char *pmu, const char *dir)
{
	char path[600], value[128];
	struct dirent **names;
	int nr;

	snprintf(path, sizeof(path), PMUS "/%s/%s", pmu, dir);
	nr = scandir(path, &names, NULL, alphasort);
	if (nr < 0)
		return;
	say("    %s:", dir);
	for (int i = 0; i < nr; i++) {
		if (names[i]->d_name[0] != '.') {
			snprintf(path, sizeof(path), PMUS "/%s/%s/%.200s", pmu, dir,
				 names[i]->d_name);
			if (!read_line(path, value, sizeof(value)))
				say(" %s=%s", names[i]->d_name, value);
		}
		free(names[i]);
	}
	free(names);
	say("\n");
}

static int show_pmus(void)
{
	char path[600], type[32];
	struct dirent **names;
	int nr = scandir(PMUS, &names, NULL, alphasort), found = 0;

	for (int i = 0; i < nr; i++) {
		const char *pmu = names[i]->d_name;

		snprintf(path, sizeof(path), PMUS "/%.200s/type", pmu);
		if (auxtap_pmu_has_aux(pmu) && !read_line(path, type, sizeof(type))) {
			say("  %s (type %s)\n", pmu, type);
			show_dir(pmu, "caps");
			show_dir(pmu, "format");
			found++;
		}
		free(names[i]);
	}
	if (nr >= 0)
		free(names);
	return found;
}

static void show_permissions(const struct auxtap_probe *p)
{
	bool root = geteuid() == 0;

	say("permissions:\n");
	if (p->paranoid == 100)
		say("  this kernel has no perf events\n");
	else
		say("  kernel.perf_event_paranoid is %d%s\n", p->paranoid,
		    root	     ? " (you are root: no limit)" :
		    p->paranoid > 2  ? ": users may not trace; 2 lets them trace the user mode "
				       "of their programs, 1 kernel mode too, 0 whole CPUs" :
		    p->paranoid == 2 ? ": users may trace the user mode of their programs; 1 "
				       "lets them trace kernel mode too, 0 whole CPUs" :
		    p->paranoid == 1 ? ": users may trace their programs; 0 lets them trace "
				       "whole CPUs" :
		    p->paranoid == 0 ? ": users may trace programs and whole CPUs" :
				       ": users may trace everything; ring size not limited");
	if (p->mlock_kb)
		say("  ring memory: %llu KiB a CPU (kernel.perf_event_mlock_kb)%s\n",
		    (unsigned long long)p->mlock_kb,
		    root ? " (you are root: no limit)" : "; more counts against ulimit -l");
	if (p->memlock_kb == UINT64_MAX)
		say("  locked memory (ulimit -l): unlimited\n");
	else
		say("  locked memory (ulimit -l): %llu KiB%s\n", (unsigned long long)p->memlock_kb,
		    root ? "" : "; 'ulimit -l unlimited' or limits.conf for more");
}

static void show_emulation(const struct auxtap_probe *p)
{
	say("execution engines for emulation:\n");
	if (!p->emulated) {
		say("  none: %s\n", p->emulated_why);
		return;
	}
	say("  qemu: %s%s\n",
	    p->qemu ? "available: " : "no: ", p->qemu ? p->qemu_engine : p->qemu_why);
	say("  qemu, for AArch64 programs: %s%s\n", p->qemu_a64 ? "available: " : "no: ",
	    p->qemu_a64 ? p->qemu_a64_engine : p->qemu_a64_why);
	if (p->ptrace)
		say("  ptrace: available; attaching: %s%s\n",
		    p->ptrace_attach ? "permitted" : "no: ", p->ptrace_why);
	else
		say("  ptrace: no: %s\n", p->ptrace_why);
}

static void show_libraries(void)
{
#ifdef AUXTAP_HAVE_DECODE
	say("decoders:");
	for (unsigned int i = 0; auxtap_decode_library(i); i++)
		say("%s %s", i ? "," : "", auxtap_decode_library(i));
	say("\n");
#endif
}

int cmd_list(int argc, char **argv)
{
	struct auxtap_probe probe = {.size = sizeof(probe)};

	if (cli_wants_help(argc, argv)) {
		fputs(help, stdout);
		return CLI_OK;
	}
	if (argc > 1) {
		cli_errorf(argv[1], "see 'auxtap list --help'", "list takes no argument");
		return CLI_USAGE;
	}
	auxtap_probe_machine(&probe);
	say("PMUs with an AUX area:\n");
	if (!show_pmus())
		say("  none\n");
	show_permissions(&probe);
	show_emulation(&probe);
	show_libraries();
	if (probe.kernel)
		say("record selects: backend kernel, event %s\n", probe.kernel_event);
	else if (probe.emulated && (probe.qemu || probe.ptrace))
		say("record selects: backend emulated, engine %s, event intel_pt//u (%s)\n",
		    probe.qemu ? "qemu" : "ptrace", probe.kernel_why);
	else
		say("record selects: nothing, no backend is usable (%s%s%s)\n", probe.kernel_why,
		    *probe.ptrace_why ? "; " : "", probe.ptrace_why);
	if (probe.emulated && probe.qemu_a64)
		say("  for AArch64 programs: backend emulated, engine qemu, event cs_etm//u\n");
	return CLI_OK;
}
