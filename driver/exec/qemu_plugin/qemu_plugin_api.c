// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The differences between versions of qemu's plugin interface. qemu reads the version from the
 * variable below before it calls the plugin; qemu 7.2 accepts at most 1, qemu 10 at least 2. The
 * plugin is preloaded, so it runs before that and sets the variable to a supported value.
 */
#include "qemu_plugin.h"
#include <string.h>

#define PLUGIN_EXPORT __attribute__((visibility("default")))

PLUGIN_EXPORT extern int qemu_plugin_version;
PLUGIN_EXPORT int qemu_plugin_version = QEMU_PLUGIN_API_FIRST;

/* Added by version 4. The function is not called: its address shows which qemu this is. */
__attribute__((weak)) bool qemu_plugin_read_memory_vaddr(uint64_t addr, void *data, size_t len);
/* (insn) returns the code's address up to version 2; (insn, code, max) copies in later ones. */
void qemu_plugin_insn_data(void);

typedef const void *insn_data_fn(const struct qemu_plugin_insn *insn);
typedef size_t insn_copy_fn(const struct qemu_plugin_insn *insn, void *code, size_t max);

bool qp_api_in_qemu(void)
{
	return qemu_plugin_insn_size;
}

int qp_api_version(void)
{
	return qemu_plugin_read_memory_vaddr ? QEMU_PLUGIN_API_4 : QEMU_PLUGIN_API_FIRST;
}

__attribute__((constructor)) static void choose_version(void)
{
	qemu_plugin_version = qp_api_version();
}

size_t qp_api_insn_code(const struct qemu_plugin_insn *insn, uint8_t *code, size_t max)
{
	insn_data_fn *data = (insn_data_fn *)qemu_plugin_insn_data;
	insn_copy_fn *copy = (insn_copy_fn *)qemu_plugin_insn_data;
	size_t len = qemu_plugin_insn_size(insn);

	if (len > max)
		return 0;
	if (qp_api_version() == QEMU_PLUGIN_API_4)
		return copy(insn, code, len);
	memcpy(code, data(insn), len);
	return len;
}
