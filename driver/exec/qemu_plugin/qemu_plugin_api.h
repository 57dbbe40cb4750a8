/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The functions of qemu's plugin interface that we call: version 1 (qemu 7.2) and version 4
 * (qemu 9.2 and 10). One plugin serves both; where the versions differ, qp_api_*() does. The
 * header itself is not packaged; these declarations are our own.
 */
#ifndef AUXTAP_QEMU_PLUGIN_API_H
#define AUXTAP_QEMU_PLUGIN_API_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "exec/qemu/qemu_exec.h" /* the versions */

typedef uint64_t qemu_plugin_id_t; /* qemu's own name */

struct qemu_plugin_tb;
struct qemu_plugin_insn;
struct qemu_info; /* target_name first, then the range of versions: see qemu_plugin_install() */

enum qemu_plugin_cb_flags {
	QEMU_PLUGIN_CB_NO_REGS,
	QEMU_PLUGIN_CB_R_REGS,
	QEMU_PLUGIN_CB_RW_REGS,
};

void qemu_plugin_register_vcpu_tb_trans_cb(qemu_plugin_id_t id,
					   void (*cb)(qemu_plugin_id_t id,
						      struct qemu_plugin_tb *tb));
void qemu_plugin_register_vcpu_tb_exec_cb(struct qemu_plugin_tb *tb,
					  void (*cb)(unsigned int cpu, void *arg),
					  enum qemu_plugin_cb_flags flags, void *arg);
enum qemu_plugin_mem_rw {
	QEMU_PLUGIN_MEM_R = 1,
	QEMU_PLUGIN_MEM_W,
	QEMU_PLUGIN_MEM_RW,
};

typedef uint32_t qemu_plugin_meminfo_t; /* qemu's own name */

void qemu_plugin_register_vcpu_mem_cb(struct qemu_plugin_insn *insn,
				      void (*cb)(unsigned int cpu, qemu_plugin_meminfo_t info,
						 uint64_t addr, void *arg),
				      enum qemu_plugin_cb_flags flags, enum qemu_plugin_mem_rw rw,
				      void *arg);
unsigned int qemu_plugin_mem_size_shift(qemu_plugin_meminfo_t info);
bool qemu_plugin_mem_is_store(qemu_plugin_meminfo_t info);
void qemu_plugin_register_vcpu_insn_exec_cb(struct qemu_plugin_insn *insn,
					    void (*cb)(unsigned int cpu, void *arg),
					    enum qemu_plugin_cb_flags flags, void *arg);
void qemu_plugin_register_flush_cb(qemu_plugin_id_t id, void (*cb)(qemu_plugin_id_t id));
void qemu_plugin_register_vcpu_syscall_cb(qemu_plugin_id_t id,
					  void (*cb)(qemu_plugin_id_t id, unsigned int cpu,
						     int64_t nr, uint64_t a1, uint64_t a2,
						     uint64_t a3, uint64_t a4, uint64_t a5,
						     uint64_t a6, uint64_t a7, uint64_t a8));
void qemu_plugin_register_vcpu_syscall_ret_cb(qemu_plugin_id_t id,
					      void (*cb)(qemu_plugin_id_t id, unsigned int cpu,
							 int64_t nr, int64_t result));
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *tb);
uint64_t qemu_plugin_tb_vaddr(const struct qemu_plugin_tb *tb);
struct qemu_plugin_insn *qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *tb, size_t i);
__attribute__((weak)) size_t qemu_plugin_insn_size(const struct qemu_plugin_insn *insn);
uint64_t qemu_plugin_insn_vaddr(const struct qemu_plugin_insn *insn);
void *qemu_plugin_insn_haddr(const struct qemu_plugin_insn *insn);
/* qemu_plugin_api.c: the version that the running qemu offers, of those that we support. */
int qp_api_version(void);
/* False: a script that AUXTAP_QEMU names as qemu preloads us into its shell as well. */
bool qp_api_in_qemu(void);
/* Up to max bytes of the instruction's code; 0: no code. */
size_t qp_api_insn_code(const struct qemu_plugin_insn *insn, uint8_t *code, size_t max);
/* qemu 10.0 declares it, but its build omits it. */
__attribute__((weak)) uint64_t qemu_plugin_entry_code(void);

#endif
