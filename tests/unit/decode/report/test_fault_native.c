// SPDX-License-Identifier: BSD-2-Clause
/*
 * Whether the report calls an access a read or a write, compared with the processor: each
 * instruction runs here and faults, and the kernel reports the processor's error code of that
 * page fault.
 */
#include "decode/report/report_facts.h"
#include "decode/report/report_fault.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <string.h>
#include <sys/ucontext.h>
#include <cmocka.h>

#ifdef __x86_64__
#define BAD                                                                            \
	0x123400ul  /* unmapped: below the addresses that the kernel gives to programs \
		     */
#define ERR_WRITE 2 /* of the error code of a page fault (Intel SDM, volume 3, 4.7) */

enum { BAD_OPERAND, BAD_SOURCE, BAD_STACK, BAD_FRAME };

struct snippet {
	const void *code;
	const char *text;
	uint64_t bad; /* bits of the registers that are bad */
};

#define SNIPPET(bad, text)                                             \
	".pushsection .text; 10:" text "; ret; .popsection\n"          \
	".pushsection .rodata; 11: .asciz \"" text "\"; .popsection\n" \
	".pushsection snippets, \"aw\"; .quad 10b, 11b, " #bad "; .popsection\n"

/* clang-format off */
__asm__(
	SNIPPET(0, "movdqa %xmm0,(%rax)")
	SNIPPET(0, "movdqu %xmm0,(%rax)")
	SNIPPET(0, "movaps %xmm0,(%rax)")
	SNIPPET(0, "movupd %xmm0,(%rax)")
	SNIPPET(0, "movntdq %xmm0,(%rax)")
	SNIPPET(0, "movntps %xmm0,(%rax)")
	SNIPPET(0, "movq %xmm0,(%rax)")
	SNIPPET(0, "movd %xmm0,(%rax)")
	SNIPPET(0, "movss %xmm0,(%rax)")
	SNIPPET(0, "movsd %xmm0,(%rax)")
	SNIPPET(0, "movlps %xmm0,(%rax)")
	SNIPPET(0, "movhps %xmm0,(%rax)")
	SNIPPET(0, "movhpd %xmm0,(%rax)")
	SNIPPET(0, "vmovdqa %ymm0,(%rax)")
	SNIPPET(0, "vmovdqu %ymm0,(%rax)")
	SNIPPET(0, "vmovdqa %xmm0,(%rax)")
	SNIPPET(0, "vmovups %ymm0,(%rax)")
	SNIPPET(0, "vmovntdq %ymm0,(%rax)")
	SNIPPET(0, "vextracti128 $1,%ymm0,(%rax)")
	SNIPPET(0, "vextractf128 $1,%ymm0,(%rax)")
	SNIPPET(0, "vmovq %xmm0,(%rax)")
	SNIPPET(0, "vmovd %xmm0,(%rax)")
	SNIPPET(0, "vmovhps %xmm0,(%rax)")
	SNIPPET(0, "vmovss %xmm0,(%rax)")
	SNIPPET(0, "movnti %rcx,(%rax)")
	SNIPPET(0, "pextrw $1,%xmm0,(%rax)")
	SNIPPET(0, "pextrb $1,%xmm0,(%rax)")
	SNIPPET(0, "pextrq $1,%xmm0,(%rax)")
	SNIPPET(0, "extractps $1,%xmm0,(%rax)")
	SNIPPET(0, "movq %mm0,(%rax)")
	SNIPPET(0, "movntq %mm0,(%rax)")
	SNIPPET(0, "setne (%rax)")
	SNIPPET(0, "movb $1,(%rax)")
	SNIPPET(0, "movw $1,(%rax)")
	SNIPPET(0, "movq $1,(%rax)")
	SNIPPET(0, "fstpl (%rax)")
	SNIPPET(0, "fstpt (%rax)")
	SNIPPET(0, "fistpll (%rax)")
	SNIPPET(0, "fstps (%rax)")
	SNIPPET(0, "fnstcw (%rax)")
	SNIPPET(0, "stmxcsr (%rax)")
	SNIPPET(0, "fnstenv (%rax)")
	SNIPPET(0, "stosb")
	SNIPPET(0, "stosq")
	SNIPPET(0, "rep stosb")
	SNIPPET(0, "movsb")
	SNIPPET(0, "rep movsb")
	SNIPPET(0, "scasb")
	SNIPPET(0, "repe cmpsw")
	SNIPPET(0, "repne scasb")
	SNIPPET(0, "popq (%rax)")
	SNIPPET(0, "pushq (%rax)")
	SNIPPET(0, "call *(%rax)")
	SNIPPET(0, "jmp *(%rax)")
	SNIPPET(0, "xchg %rcx,(%rax)")
	SNIPPET(0, "lock xadd %ecx,(%rax)")
	SNIPPET(0, "lock incl (%rax)")
	SNIPPET(0, "negw (%rax)")
	SNIPPET(0, "shll $3,(%rax)")
	SNIPPET(0, "orb $1,(%rax)")
	SNIPPET(0, "bts $3,(%rax)")
	SNIPPET(0, "adcq %rcx,(%rax)")
	SNIPPET(0, "notb (%rax)")
	SNIPPET(0, "subq %rcx,(%rax)")
	SNIPPET(0, "shld $3,%rcx,(%rax)")
	SNIPPET(0, "bt $3,(%rax)")
	SNIPPET(0, "testl $1,(%rax)")
	SNIPPET(0, "cmpb $1,(%rax)")
	SNIPPET(0, "mulq (%rax)")
	SNIPPET(0, "idivl (%rax)")
	SNIPPET(0, "imul (%rax),%rcx")
	SNIPPET(0, "cvtsi2sdl (%rax),%xmm0")
	SNIPPET(0, "movzwl (%rax),%ecx")
	SNIPPET(0, "movslq (%rax),%rcx")
	SNIPPET(0, "fldl (%rax)")
	SNIPPET(0, "fldt (%rax)")
	SNIPPET(0, "fildll (%rax)")
	SNIPPET(0, "fildl (%rax)")
	SNIPPET(0, "fldcw (%rax)")
	SNIPPET(0, "ldmxcsr (%rax)")
	SNIPPET(0, "movdqa (%rax),%xmm0")
	SNIPPET(0, "lddqu (%rax),%xmm0")
	SNIPPET(0, "movd (%rax),%xmm0")
	SNIPPET(0, "movq (%rax),%xmm0")
	SNIPPET(0, "movhps (%rax),%xmm0")
	SNIPPET(0, "movsldup (%rax),%xmm0")
	SNIPPET(0, "movddup (%rax),%xmm0")
	SNIPPET(0, "vbroadcastss (%rax),%ymm0")
	SNIPPET(0, "vpmovzxbw (%rax),%ymm0")
	SNIPPET(0, "pmovzxbd (%rax),%xmm0")
	SNIPPET(0, "pinsrw $1,(%rax),%xmm0")
	SNIPPET(0, "vinserti128 $1,(%rax),%ymm0,%ymm0")
	SNIPPET(0, "vmovdqu (%rax),%ymm0")
	SNIPPET(0, "movntdqa (%rax),%xmm0")
	SNIPPET(0, "pshufb (%rax),%xmm0")
	SNIPPET(0, "addss (%rax),%xmm0")
	SNIPPET(0, "addsd (%rax),%xmm0")
	SNIPPET(0, "addpd (%rax),%xmm0")
	SNIPPET(0, "comisd (%rax),%xmm0")
	SNIPPET(0, "cvtss2sd (%rax),%xmm0")
	SNIPPET(0, "popcnt (%rax),%rcx")
	SNIPPET(0, "crc32b (%rax),%ecx")
	SNIPPET(0, "crc32l (%rax),%ecx")
	SNIPPET(0, "movbe %rcx,(%rax)")
	SNIPPET(0, "movbe (%rax),%ecx")
	SNIPPET(0, "andn (%rax),%rcx,%rcx")
	SNIPPET(0, "rorx $3,(%rax),%rcx")
	SNIPPET(0, "mulx (%rax),%rcx,%rdx")
	SNIPPET(0, "shlx %rcx,(%rax),%rdx")
	SNIPPET(0, "bextr %rcx,(%rax),%rdx")
	SNIPPET(0, "vpbroadcastb (%rax),%xmm1")
	SNIPPET(0, "vpmaskmovd %xmm1,%xmm2,(%rax)")
	SNIPPET(0, "vpmaskmovd (%rax),%xmm2,%xmm1")
	SNIPPET(0, "maskmovdqu %xmm1,%xmm0")
	SNIPPET(0, "fxsave (%rdi)")
	SNIPPET(0, "fxrstor (%rdi)")
	SNIPPET(0, "xlat")
	SNIPPET(0, "cmovne (%rax),%rcx")
	SNIPPET(0, "lsl (%rax),%ecx")
	SNIPPET(0, "rclb $1,(%rax)")
	SNIPPET(0, "sarq %cl,(%rax)")
	SNIPPET(0, "fiaddl (%rax)")
	SNIPPET(0, "fisttpll (%rax)")
	SNIPPET(0, "fistps (%rax)")
	SNIPPET(0, "fbstp (%rax)")
	SNIPPET(0, "fnsave (%rax)")
	SNIPPET(0, "frstor (%rax)")
	SNIPPET(0, "fnstsw (%rax)")
	SNIPPET(0, "xsave (%rdi)")
	SNIPPET(0, "lock cmpxchg %rcx,(%rdi)")
	SNIPPET(0, "cmpxchg16b (%rdi)")
	SNIPPET(0, "lock btsl $3,(%rax)")
	SNIPPET(0, "rep movsq")
	SNIPPET(0, "cmpsb")
	SNIPPET(0, "movsl")
	SNIPPET(0, "vmovntps %ymm0,(%rax)")
	SNIPPET(0, "vcvtps2ph $0,%ymm0,(%rax)")
	SNIPPET(1, "lodsb")
	SNIPPET(1, "lodsq")
	SNIPPET(1, "movsl")
	SNIPPET(1, "rep movsq")
	SNIPPET(1, "cmpsw")
	SNIPPET(1, "cmpsq")
	SNIPPET(2, "push %rcx")
	SNIPPET(2, "pop %rcx")
	SNIPPET(2, "ret")
	SNIPPET(2, "pushfq")
	SNIPPET(2, "enter $16,$0")
	SNIPPET(2, "call 1f; 1:")
	SNIPPET(3, "leave")
	SNIPPET(0, "movabs 0x123400,%al")
	SNIPPET(0, "movabs %eax,0x123400")
);
/* clang-format on */

extern const struct snippet __start_snippets[], __stop_snippets[];

static sigjmp_buf back;
static volatile sig_atomic_t signal_seen;
static gregset_t faulted;
static uint64_t fault_addr;
static uint8_t bytes[15];
static uint8_t readable[256] __attribute__((aligned(64)));

static void on_signal(int signo, siginfo_t *info, void *context)
{
	const ucontext_t *uc = context;

	signal_seen = signo;
	memcpy(&faulted, &uc->uc_mcontext.gregs, sizeof(faulted));
	fault_addr = (uint64_t)(uintptr_t)info->si_addr;
	memcpy(bytes, (const void *)(uintptr_t)faulted[REG_RIP], sizeof(bytes));
	siglongjmp(back, 1);
}

static void run(const struct snippet *s)
{
	uint64_t operand = s->bad == BAD_OPERAND ? BAD : (uint64_t)(uintptr_t)readable;
	uint64_t source = s->bad == BAD_SOURCE ? BAD : (uint64_t)(uintptr_t)readable;
	uint64_t frame = s->bad == BAD_FRAME ? BAD : (uint64_t)(uintptr_t)readable + 128;
	uint64_t stack = s->bad == BAD_STACK ? BAD : 0;

	if (sigsetjmp(back, 1))
		return;
	__asm__ volatile("mov %[frame], %%r8\n\tmov %[stack], %%r9\n\t"
			 "push %%rbp\n\tpush %%rbx\n\tmov %%rax, %%rbx\n\t"
			 "mov %%r8, %%rbp\n\tmov $-1, %%r10\n\tmovq %%r10, %%xmm2\n\t"
			 "movlhps %%xmm2, %%xmm2\n\tmovdqa %%xmm2, %%xmm1\n\t"
			 "test %%r9, %%r9\n\tjz 1f\n\tmov %%r9, %%rsp\n\tjmp *%[code]\n"
			 "1:\tcall *%[code]\n\tpop %%rbx\n\tpop %%rbp"
			 :
			 : "a"(operand), "D"(operand), "S"(source), "c"(1ul),
			   "d"(0ul), [code] "r"(s->code), [frame] "m"(frame), [stack] "m"(stack)
			 : "memory", "cc", "r8", "r9", "r10", "xmm0", "xmm1", "xmm2");
}

static struct auxtap_regs registers(void)
{
	/* clang-format off */
	static const int gregs[] = {
		[AUXTAP_X86_AX] = REG_RAX, [AUXTAP_X86_BX] = REG_RBX,
		[AUXTAP_X86_CX] = REG_RCX, [AUXTAP_X86_DX] = REG_RDX,
		[AUXTAP_X86_SI] = REG_RSI, [AUXTAP_X86_DI] = REG_RDI,
		[AUXTAP_X86_BP] = REG_RBP, [AUXTAP_X86_SP] = REG_RSP,
		[AUXTAP_X86_IP] = REG_RIP, [AUXTAP_X86_FLAGS] = REG_EFL,
	};
	/* clang-format on */
	struct auxtap_regs regs = {.arch = AUXTAP_ARCH_X86_64};

	for (size_t i = 0; i < sizeof(gregs) / sizeof(gregs[0]); i++) {
		regs.valid |= 1ull << i;
		regs.reg[i] = (uint64_t)faulted[gregs[i]];
	}
	return regs;
}

static void compare(const struct snippet *s)
{
	bool write = faulted[REG_ERR] & ERR_WRITE;
	struct report_facts facts = {.have_crash = true};
	struct auxtap_regs regs = registers();
	struct fault fault;

	facts.crash.signo = SIGSEGV;
	facts.crash.si_code = SEGV_MAPERR;
	facts.crash.flags = AUXTAP_CRASH_ADDR_VALID;
	facts.crash.fault_addr = fault_addr;
	fault_explain(&facts, &regs, bytes, sizeof(bytes), &fault);
	if (!fault.access.known || fault.access.write != write)
		fail_msg("%s: %s; the processor: a %s", s->text, fault.why,
			 write ? "write" : "read");
	if (fault_addr - fault.access.addr >= fault.access.nr_bytes)
		fail_msg("%s: %s; the processor: 0x%llx", s->text, fault.why,
			 (unsigned long long)fault_addr);
}

static void as_the_processor(void **state)
{
	static uint8_t stack[65536];
	const stack_t alternate = {.ss_sp = stack, .ss_size = sizeof(stack)};
	struct sigaction act = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO | SA_ONSTACK};
	struct sigaction old[3];
	stack_t old_stack;
	unsigned int compared = 0;

	(void)state;
	assert_return_code(sigaltstack(&alternate, &old_stack), 0);
	sigaction(SIGSEGV, &act, &old[0]);
	sigaction(SIGILL, &act, &old[1]);
	sigaction(SIGBUS, &act, &old[2]);
	for (const struct snippet *s = __start_snippets; s < __stop_snippets; s++) {
		signal_seen = 0;
		run(s);
		if (signal_seen == SIGILL) { /* not supported by this processor */
			print_message("not compared: %s\n", s->text);
			continue;
		}
		if (signal_seen != SIGSEGV)
			fail_msg("%s: signal %d", s->text, (int)signal_seen);
		compare(s);
		compared++;
	}
	sigaction(SIGSEGV, &old[0], NULL);
	sigaction(SIGILL, &old[1], NULL);
	sigaction(SIGBUS, &old[2], NULL);
	sigaltstack(&old_stack, NULL);
	assert_true(compared > 90);
}
#endif

int main(void)
{
	const struct CMUnitTest tests[] = {
#ifdef __x86_64__
		cmocka_unit_test(as_the_processor),
#endif
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
