// SPDX-License-Identifier: BSD-2-Clause
/*
 * Explains deaths that no instruction caused: who sent the signal, or which system call was
 * refused.
 */
#include "fault.h"
#include "report_regs.h"

#include <errno.h>
#include <signal.h>
#include <string.h>

#define CODE_SECCOMP  1 /* SYS_SECCOMP */
#define CODE_DISPATCH 2 /* SYS_USER_DISPATCH */

/* The size of the system call instruction directly before ip; 0: it is another instruction. */
static unsigned int syscall_before(const struct report_facts *facts, const struct auxtap_regs *regs,
				   uint64_t ip)
{
	uint8_t b[4];

	if (regs->arch == AUXTAP_ARCH_AARCH64)
		return report_facts_memory(facts, ip - 4, b, 4) && (b[0] & 0x1f) == 1 &&
				       !(b[2] & 0xe0) && b[3] == 0xd4 ?
			       4 :
			       0;
	if (!report_facts_memory(facts, ip - 2, b, 2))
		return 0;
	return (b[0] == 0x0f && (b[1] == 0x05 || b[1] == 0x34)) || (b[0] == 0xcd && b[1] == 0x80) ?
		       2 :
		       0;
}

bool fault_after_call(const struct report_facts *facts, const struct auxtap_regs *regs)
{
	uint64_t ip = 0;

	return report_regs_ip(regs, &ip) && syscall_before(facts, regs, ip);
}

/* Before it sends this signal the kernel restores the registers as of the system call. */
static bool syscall_nr(const struct auxtap_regs *regs, uint64_t *nr)
{
	unsigned int reg = regs->arch == AUXTAP_ARCH_AARCH64 ? AUXTAP_A64_X0 + 8 : AUXTAP_X86_AX;

	*nr = (uint32_t)regs->reg[reg];
	return regs->valid & (1ull << reg);
}

void fault_system_call(const struct report_facts *facts, const struct auxtap_regs *regs,
		       struct fault *fault)
{
	const struct auxtap_crash *c = &facts->crash;
	const char *name = NULL;
	char call[64];
	uint64_t ip = 0, nr;
	uint8_t b[2] = {0};

	if (c->si_code != CODE_SECCOMP && c->si_code != CODE_DISPATCH) {
		if (c->si_code == SI_KERNEL)
			snprintf(fault->why, sizeof(fault->why), "the kernel ended it");
		return;
	}
	report_regs_ip(regs, &ip);
	fault->insn_size = syscall_before(facts, regs, ip);
	fault->has_insn = fault->insn_size;
	fault->insn_ip = ip - fault->insn_size;
	if (!syscall_nr(regs, &nr)) {
		snprintf(call, sizeof(call), "a system call");
	} else if (fault->insn_size == 2 && report_facts_memory(facts, fault->insn_ip, b, 2) &&
		   b[0] == 0xcd) {
		snprintf(call, sizeof(call), "the 32-bit system call %llu", (unsigned long long)nr);
	} else {
		name = fault_syscall_name(regs->arch, nr);
		snprintf(call, sizeof(call), "the system call %s%s%llu%s", name ? name : "",
			 name ? " (" : "", (unsigned long long)nr, name ? ")" : "");
	}
	snprintf(fault->why, sizeof(fault->why), "%s %s",
		 c->si_code == CODE_SECCOMP ? "a seccomp filter does not allow" :
					      "syscall user dispatch intercepted",
		 call);
}

/*
 * For a write beyond RLIMIT_FSIZE, or into a pipe without a reader, the kernel sends a signal with
 * the process itself as the sender, as if by kill(). The system call then returns this error.
 */
static int errno_of_kernel_signal(int signo)
{
	return signo == SIGXFSZ ? EFBIG : signo == SIGPIPE ? EPIPE : 0;
}

static const char *describe_self_sent(const struct report_facts *facts,
				      const struct auxtap_regs *regs)
{
	const struct auxtap_crash *c = &facts->crash;
	unsigned int reg = regs->arch == AUXTAP_ARCH_AARCH64 ? AUXTAP_A64_X0 : AUXTAP_X86_AX;
	int error = errno_of_kernel_signal(c->signo);
	uint64_t ip = 0;

	if (c->si_code != SI_USER || !error)
		return "the program sent it to itself";
	report_regs_ip(regs, &ip);
	if (!(regs->valid & (1ull << reg)) || (int64_t)regs->reg[reg] != -error ||
	    !syscall_before(facts, regs, ip))
		return c->signo == SIGXFSZ ?
			       "the program sent it to itself, or the kernel did for a write beyond the "
			       "limit of file size (RLIMIT_FSIZE)" :
			       "the program sent it to itself, or the kernel did for a write without a "
			       "reader";
	return c->signo == SIGXFSZ ?
		       "the kernel sent it: the last system call would have made a file larger than "
		       "its limit (RLIMIT_FSIZE)" :
		       "the kernel sent it: the last system call wrote where no process reads";
}

void fault_sender(const struct report_facts *facts, const struct auxtap_regs *regs,
		  struct fault *fault)
{
	const struct auxtap_crash *c = &facts->crash;
	const char *text = NULL;

	if (c->si_code == SI_TIMER)
		text = "a timer of the program sent it";
	else if (c->si_code != SI_USER && c->si_code != SI_TKILL && c->si_code != SI_QUEUE)
		return;
	else if (c->sender_pid == c->pid)
		text = describe_self_sent(facts, regs);
	else if (!c->sender_pid)
		text = "sent by a process outside of its PID namespace";
	if (text)
		snprintf(fault->why, sizeof(fault->why), "%s", text);
	else
		snprintf(fault->why, sizeof(fault->why), "sent by process %d", c->sender_pid);
}

void fault_by_kernel(const struct auxtap_crash *c, struct fault *fault)
{
	const char *text = "the kernel sent it";

	if (c->si_code != SI_KERNEL)
		return;
	if (c->signo == SIGXCPU)
		text = "the kernel sent it: the limit of processor time is reached (RLIMIT_CPU, or "
		       "RLIMIT_RTTIME of a real-time thread)";
	snprintf(fault->why, sizeof(fault->why), "%s", text);
}
