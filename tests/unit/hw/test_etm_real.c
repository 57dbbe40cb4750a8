// SPDX-License-Identifier: BSD-2-Clause
/*
 * Real traces of Arm's units and models, as packet listings: given the same addresses and atoms,
 * the encoder makes the same packets, or packets that contain more.
 */
#include "hw/etm_encoder.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#define NR_IDS 128

struct stream {
	struct etm_encoder enc; /* addresses */
	bool synced;
	char atoms[4096]; /* between two other packets */
	u8 bytes[4096];
	size_t nr_atoms, nr_bytes;
};

struct listing {
	struct stream streams[NR_IDS];
	size_t nr_addresses, nr_same_addresses, nr_longer_addresses;
	size_t nr_runs, nr_same_runs, nr_longer_runs;
};

static const struct etm_format format = {.cycle_bits = 12, .commit_mode_1 = true};

/* Encodes consecutive atoms. */
static void end_run(struct listing *l, struct stream *s)
{
	struct etm_encoder enc;
	u8 bytes[4096];
	size_t nr = 0;

	if (!s->nr_atoms)
		return;
	etm_encoder_init(&enc, &format);
	for (size_t i = 0; i <= s->nr_atoms; i++) {
		struct etm_burst burst;

		etm_burst_begin(&burst);
		if (i < s->nr_atoms)
			etm_put_atom(&enc, &burst, s->atoms[i] == 'E');
		else
			etm_put_atoms(&enc, &burst);
		memcpy(bytes + nr, burst.bytes, etm_burst_nr_bytes(&burst));
		nr += etm_burst_nr_bytes(&burst);
	}
	l->nr_runs++;
	l->nr_same_runs += nr == s->nr_bytes && !memcmp(bytes, s->bytes, nr);
	l->nr_longer_runs += nr > s->nr_bytes;
	s->nr_atoms = s->nr_bytes = 0;
}

static void read_atoms(struct stream *s, const u8 *bytes, const char *text)
{
	const char *at = strrchr(text, ';') + 2;

	assert_true(s->nr_bytes < sizeof(s->bytes) && s->nr_atoms + 32 < sizeof(s->atoms));
	s->bytes[s->nr_bytes++] = bytes[0];
	while (*at == 'E' || *at == 'N')
		s->atoms[s->nr_atoms++] = *at++;
}

/* Header and address; the context is not compared. */
static void read_address(struct listing *l, struct stream *s, const char *type, const u8 *bytes,
			 size_t nr, const char *text)
{
	static const struct etm_context context = {.sf = true};
	const char *value = strstr(text, "Addr=0x");
	struct etm_burst burst;
	size_t nr_ours;
	u64 addr;
	u8 is;

	assert_non_null(value);
	addr = strtoull(value + 5, NULL, 16);
	is = strstr(type, "IS1") != NULL;
	etm_burst_begin(&burst);
	if (strstr(type, "CTXT")) {
		etm_put_address_context(&s->enc, &burst, addr, is, &context);
		nr = bytes[0] < 0x85 ? 5 : 9;
		burst.at = burst.bytes + (burst.bytes[0] < 0x85 ? 5 : 9);
	} else if (strstr(type, "MATCH")) {
		is = s->enc.history_is[bytes[0] & 3];
		etm_put_address(&s->enc, &burst, addr, is);
	} else if (bytes[0] >= 0xb0) {
		etm_put_source_address(&s->enc, &burst, addr, is);
	} else {
		etm_put_address(&s->enc, &burst, addr, is);
	}
	nr_ours = etm_burst_nr_bytes(&burst);
	l->nr_addresses++;
	l->nr_same_addresses += nr_ours == nr && !memcmp(burst.bytes, bytes, nr);
	l->nr_longer_addresses += nr_ours > nr;
}

/* "Idx:N; ID:XX; [0x.. 0x.. ];\tI_TYPE : TEXT" */
static void read_line(struct listing *l, const char *line)
{
	const char *at = strchr(line, '['), *text = strstr(line, "];\tI_");
	struct stream *s;
	char type[32];
	unsigned int id, value;
	size_t nr = 0;
	u8 bytes[64];
	int used;

	if (sscanf(line, "Idx:%*d; ID:%x;", &id) != 1 || id >= NR_IDS || !at || !text)
		return;
	for (at++; nr < sizeof(bytes) && sscanf(at, " 0x%2x%n", &value, &used) == 1; at += used)
		bytes[nr++] = (u8)value;
	assert_int_equal(sscanf(text, "];\t%31s", type), 1);
	s = &l->streams[id];
	if (!strncmp(type, "I_ATOM", 6)) {
		read_atoms(s, bytes, text);
		return;
	}
	end_run(l, s);
	if (!strcmp(type, "I_TRACE_INFO")) {
		etm_encoder_init(&s->enc, &format);
		s->synced = true;
	} else if (s->synced && strstr(type, "ADDR")) {
		read_address(l, s, type, bytes, nr, text);
	}
}

static const char *traces(void)
{
	const char *dir = getenv("AUXTAP_TRACES");

	return dir ? dir : AUXTAP_TRACES_DEFAULT;
}

static struct listing *read_listing(const char *name)
{
	struct listing *l = calloc(1, sizeof(*l));
	char command[600], line[4096];
	FILE *pipe;

	assert_non_null(l);
	snprintf(command, sizeof(command), "xz -dcf '%s/%s'", traces(), name);
	pipe = popen(command, "r");
	assert_non_null(pipe);
	while (fgets(line, sizeof(line), pipe))
		read_line(l, line);
	assert_int_equal(pclose(pipe), 0);
	for (int i = 0; i < NR_IDS; i++)
		end_run(l, &l->streams[i]);
	print_message(
		"%s: %zu of %zu addresses the same, %zu longer; atoms: %zu of %zu runs, %zu\n",
		name, l->nr_same_addresses, l->nr_addresses, l->nr_longer_addresses,
		l->nr_same_runs, l->nr_runs, l->nr_longer_runs);
	return l;
}

/* Arm's ETE model: the same packets for every address. */
static void test_model(void **state)
{
	static const char *const names[] = {"001-ack_test", "ete_mem", "src_addr",
					    "trace_file_cid_vmid"};
	char name[100];

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		struct listing *l;

		snprintf(name, sizeof(name), "ete-snapshot/%s/expected/decode.ppl.xz", names[i]);
		l = read_listing(name);
		assert_true(l->nr_addresses > 300);
		assert_int_equal(l->nr_same_addresses, l->nr_addresses);
		/* the model sometimes ends packets earlier */
		assert_true(l->nr_same_runs * 10 > l->nr_runs * 8);
		assert_int_equal(l->nr_longer_runs, 0);
		free(l);
	}
}

/*
 * Juno's Cortex-A53 and A57: 64 bits for the first addresses after Trace Info, even where 32
 * would do; four Es that nothing follows are sent as three and one. Else the same.
 */
static void test_juno(void **state)
{
	static const char *const names[] = {"juno_r1_1", "juno-uname-002", "juno-uname-001"};
	char name[100];

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		struct listing *l;

		snprintf(name, sizeof(name), "coresight-snapshot/%s/expected/decode.ppl.xz",
			 names[i]);
		l = read_listing(name);
		assert_true(l->nr_addresses > 5000);
		assert_true(l->nr_same_addresses * 100 > l->nr_addresses * 99);
		assert_int_equal(l->nr_longer_addresses, 0);
		assert_true(l->nr_same_runs * 100 > l->nr_runs * 95);
		assert_int_equal(l->nr_longer_runs, 0);
		free(l);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_model),
		cmocka_unit_test(test_juno),
	};
	char path[400];

	snprintf(path, sizeof(path), "%s/ete-snapshot", traces());
	if (access(path, R_OK)) {
		print_message("skipped: no real traces in %s\n", traces());
		return 77;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
