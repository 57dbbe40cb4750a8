// SPDX-License-Identifier: BSD-2-Clause
/*
 * Usage: conform [--seed N] [--ops N] [--set NAME] [--show] [--section-o] [SCRIPT...]
 *   --ops N     random scripts until N operations were played (default 200000, with no SCRIPT)
 *   --seed N    of the first; the following ones have the following numbers
 *   --set NAME  the model's switches, instead of those of the running kernel
 *   --show      prints the script of --seed and ends
 *   --section-o checks the rules that the model cannot keep, on the kernel only
 * Exit: 0 no difference, 1 a difference (its script, reduced, is printed), 77 not possible here, 3
 * other.
 */
#include "conform.h"
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>

static void print_difference(const struct script *script, const char *text, int at)
{
	printf("difference: %s\n  at operation %d: ", text, at + 1);
	if (at >= 0 && at < script->nr)
		op_print(&script->ops[at], stdout);
	else
		printf("the end\n");
}

/* A disturbance: its cause, the operation, and what differed. */
static struct disturbance {
	enum cause cause;
	enum opcode code; /* NR_OPCODES: at the end */
	const char *what;
	unsigned int nr;
} disturbances[256];

static void note_disturbance(const struct script *script, int at, enum cause cause,
			     const char *what)
{
	enum opcode code = at >= 0 && at < script->nr ? script->ops[at].code : NR_OPCODES;
	struct disturbance *d = disturbances;

	stats.disturbed++;
	stats.unrepeated += cause == UNREPEATED;
	for (; d < disturbances + 255 && d->nr; d++)
		if (d->cause == cause && d->code == code && d->what == what)
			break;
	*d = (struct disturbance){cause, code, what, d->nr + 1};
}

static void list_disturbances(void)
{
	static const char *const causes[NR_CAUSES] = {
		[BY_SWITCH] = "another task ran",
		[BY_TASK] = "another task came or went",
		[UNREPEATED] = "no cause seen, and not repeated",
	};

	for (const struct disturbance *d = disturbances; d->nr; d++) {
		const char *end = strstr(d->what, ": kernel");

		printf("  disturbed %u times: %s; at %s: %.*s\n", d->nr, causes[d->cause],
		       d->code < NR_OPCODES ? op_name(d->code) : "the end",
		       end ? (int)(end - d->what) : 80, d->what);
	}
}

/*
 * Repeats until a play is undisturbed. If a play differs and other tasks are seen to run, it proves
 * nothing: it is repeated, and does not count. If every play is disturbed, that is a difference.
 */
#define MAX_PLAYS 8
static enum verdict play_undisturbed(const struct script *script, const char *name, char *text,
				     size_t size, int *at)
{
	struct stats before = stats;
	enum verdict verdict;

	for (int i = 0; i < MAX_PLAYS; i++) {
		verdict = play(script, text, size, at);
		if (verdict != DISTURBED)
			return verdict;
		before.disturbed = stats.disturbed;
		stats = before;
		note_disturbance(script, *at, play_cause(), play_differed_in());
		before = stats;
		if (getenv("CONFORM_VERBOSE")) {
			printf("%s: disturbed: ", name);
			print_difference(script, text, *at);
		}
	}
	printf("%s: disturbed each of %d times\n", name, MAX_PLAYS);
	return DIFFERENT;
}

/* true: both sides differ every time. */
static bool check_script(struct script *script, const char *name)
{
	struct stats before = stats;
	const char *what;
	char text[512];
	int at = 0, first_at;

	if (play_undisturbed(script, name, text, sizeof(text), &at) == SAME)
		return false;
	printf("%s: ", name);
	print_difference(script, text, at);
	what = play_differed_in();
	first_at = at;
	for (int i = 0; i < 3; i++) {
		before.disturbed = stats.disturbed;
		stats = before;
		if (play_undisturbed(script, name, text, sizeof(text), &at) == DIFFERENT)
			continue;
		printf("(not repeated)\n");
		note_disturbance(script, first_at, UNREPEATED, what);
		return false;
	}
	script_reduce(script);
	play(script, text, sizeof(text), &at);
	print_difference(script, text, at);
	printf("---- script ----\n");
	script_print(script, stdout);
	printf("---- end ----\n");
	return true;
}

static void exchange_cpus(struct script *script)
{
	struct script other = {0};
	struct op op = {.code = OP_CPU, .arg = {1}};

	script_add(&other, &op); /* a script starts on CPU 0 */
	for (int i = 0; i < script->nr; i++) {
		op = script->ops[i];
		if (op.code == OP_CPU)
			op.arg[0] = !op.arg[0];
		if (op.code == OP_OPEN && op.arg[A_CPU] >= 0)
			op.arg[A_CPU] = !op.arg[A_CPU];
		script_add(&other, &op);
	}
	memcpy(other.only, script->only, sizeof(other.only));
	script_free(script);
	*script = other;
}

static int run_files(char **files, const char *set)
{
	struct script script;
	int bad = 0, nr = 0;

	for (; *files; files++) {
		if (script_read(&script, *files))
			return 3;
		/* as written, and with the CPUs exchanged (D21) */
		for (int turn = 0; turn < 2; turn++) {
			if (strncmp(set, script.only, strlen(script.only)) != 0)
				continue;
			nr++;
			if (check_script(&script, *files)) {
				printf("%s: differs\n", *files);
				bad = 1;
				break;
			}
			exchange_cpus(&script);
		}
		script_free(&script);
	}
	printf("%d scripts played (each on CPU 0 and on CPU 1), %llu operations, %llu plays disturbed\n",
	       nr, (unsigned long long)stats.ops, (unsigned long long)stats.disturbed);
	list_disturbances();
	return bad || stats.unrepeated;
}

static int run_random(uint64_t seed, uint64_t nr_ops)
{
	struct script script;
	char name[32];

	while (stats.ops < nr_ops) {
		script_generate(&script, seed);
		snprintf(name, sizeof(name), "seed %llu", (unsigned long long)seed);
		if (check_script(&script, name)) {
			printf("%s differs\n", name);
			return 1;
		}
		script_free(&script);
		seed++;
	}
	return 0;
}

static int report(void)
{
	printf("%llu scripts, %llu operations; as planned/done:", (unsigned long long)stats.scripts,
	       (unsigned long long)stats.ops);
	for (int i = 0; i < NR_OPCODES; i++)
		printf(" %s %llu/%llu", op_name((enum opcode)i), (unsigned long long)stats.ok[i],
		       (unsigned long long)stats.done[i]);
	printf("\n%llu bytes of records compared (%llu records forward: %llu AUX, %llu LOST, %llu "
	       "ITRACE_START); %llu wakeups, %llu begins without space or ring, %llu chunks, "
	       "%llu operations with a switch, %llu changes of thread with other tasks between, %llu contexts that swapped (Q3), %llu events in "
	       "error (Q5), %llu mappings refused by limits (B11), %llu plays disturbed\n",
	       (unsigned long long)stats.bytes, (unsigned long long)stats.records,
	       (unsigned long long)stats.aux_records, (unsigned long long)stats.lost_records,
	       (unsigned long long)stats.itrace_records, (unsigned long long)stats.wakeups,
	       (unsigned long long)stats.no_space, (unsigned long long)stats.chunks,
	       (unsigned long long)stats.switches, (unsigned long long)stats.between,
	       (unsigned long long)stats.swaps, (unsigned long long)stats.errors,
	       (unsigned long long)stats.refused, (unsigned long long)stats.disturbed);
	list_disturbances();
	if (stats.unrepeated) {
		printf("%llu differences were not repeatable, without another task running\n",
		       (unsigned long long)stats.unrepeated);
		return 1;
	}
	if (stats.disturbed > 2 && stats.disturbed * 2000 > stats.ops) {
		printf("too many scripts were disturbed\n");
		return 1;
	}
	if (stats.ops >= 100000 &&
	    (stats.aux_records < stats.ops / 100 || stats.lost_records < stats.ops / 5000 ||
	     stats.wakeups < stats.ops / 1000 || !stats.itrace_records || !stats.swaps ||
	     !stats.errors || !stats.refused)) {
		printf("the scripts cover too little: too few records, losses, wakeups, swaps, "
		       "errors or refusals\n");
		return 1;
	}
	return 0;
}

int main(int argc, char **argv)
{
	/* clang-format off */
	static const struct option options[] = {
		{ "seed", required_argument, NULL, 's' }, { "ops", required_argument, NULL, 'o' },
		{ "set", required_argument, NULL, 'k' },  { "show", no_argument, NULL, 'p' },
		{ "section-o", no_argument, NULL, 'm' },
		{ NULL, 0, NULL, 0 },
	};
	/* clang-format on */
	uint64_t seed = (uint64_t)time(NULL) * 1000, nr_ops = 200000;
	const struct core_kernel *set = kernel_set();
	struct script script;
	struct utsname uts;
	bool show = false, only_kernel = false;
	int c, ret;

	while ((c = getopt_long(argc, argv, "", options, NULL)) != -1) {
		switch (c) {
		case 's':
			seed = strtoull(optarg, NULL, 0);
			break;
		case 'o':
			nr_ops = strtoull(optarg, NULL, 0);
			break;
		case 'k':
			set = core_kernel_find(optarg);
			break;
		case 'm':
			only_kernel = true;
			break;
		case 'p':
			show = true;
			break;
		default:
			return 3;
		}
	}
	if (!set) {
		fprintf(stderr, "conform: unknown set of switches\n");
		return 3;
	}
	if (show) {
		script_generate(&script, seed);
		script_print(&script, stdout);
		return 0;
	}
	setvbuf(stdout, NULL, _IOLBF, 0);
	ret = kernel_possible();
	if (ret)
		return ret;
	if (only_kernel)
		return section_o();
	if (model_init(set))
		return 3;
	uname(&uts);
	printf("reference: Linux %s; model: %s\n", uts.release, set->name);
	if (optind < argc)
		return run_files(argv + optind, set->name);
	printf("seed %llu\n", (unsigned long long)seed);
	ret = run_random(seed, nr_ops);
	return ret ? ret : report();
}
