/* The switch on x86-64. Included by context.h only.
 *
 * A suspended context's record, at the lowest address of its stack in use; the handle points to it:
 *
 *      higher addresses
 *      | frame of the function that  |
 *      | switched                    |
 *      | its red zone, 128 bytes     |   only the inline forms know it is there
 *      +-----------------------------+ <- handle + 24
 *      | rbx                         |   handle + 16   clang's base pointer (over-aligned locals + alloca);
 *      |                             |                 clang does not save it when asked to (LLVM 58528)
 *      | rbp                         |   handle + 8    gcc refuses to save it, clang says yes and does not
 *      | resume address              |   handle + 0
 *      +-----------------------------+ <- handle
 *
 * A resumer loads the three words first and only then raises rsp to handle + 152 (24 + the red zone), so
 * that a signal handler can never write over a record that is still needed; a leaver lowers rsp first.
 *
 * Registers at a switch: rax = target on the way in; rdi = who left, rsi, rdx, rcx, r8 = the values, both
 * ways. Those are the argument registers of the C ABI in their order, so a first entry needs no moves.
 * The way out is a jump: a `ret` would go to a place the return predictor does not expect.
 * The x87 and SSE control words and the direction flag stay as they are (the ABI's rule for a call).
 *
 * Not ours to save, and refused: SafeStack and the shadow call stack keep a second stack pointer; APX adds
 * registers r16-r31 that this clobber list cannot name yet. AMX tiles and their configuration are as over a
 * call, but only a call makes compilers save them: sennit_swapstack_call in functions that hold tiles.
 */
#ifndef SENNIT_DETAIL_ARCH_X86_64_H
#define SENNIT_DETAIL_ARCH_X86_64_H

#if defined(__APX_F__)
#error "sennit: APX registers r16-r31 are not switched yet; build without -mapxf"
#endif
#if defined(__has_feature)
#if __has_feature(safe_stack) || __has_feature(shadow_call_stack)
#error "sennit: SafeStack and shadow call stacks are not switched; build without them"
#endif
#endif

#define SENNIT_RECORD_SIZE 152 /* 24 + the red zone; src/arch/switch_x86_64.S uses the same number */

struct sennit_context_record {
  void (*resume)(void);
  uintptr_t frame; /* rbp */
  uintptr_t base;  /* rbx */
};

#if defined(__CET__) && (__CET__ & 1)
#define SENNIT_LANDING "endbr64\n\t"
#else
#define SENNIT_LANDING ""
#endif

/* Suspend: the record goes below the red zone. r9-r11 are free. */
#define SENNIT_ASM_SAVE         \
  "leaq 1f(%%rip), %%r9\n\t"    \
  "leaq -152(%%rsp), %%rsp\n\t" \
  "movq %%r9, (%%rsp)\n\t"      \
  "movq %%rbp, 8(%%rsp)\n\t"    \
  "movq %%rbx, 16(%%rsp)\n\t"

/* Leave by `busy` when the exception globals are not zero. A sum can stand for the pair: a pointer plus a
 * count is never zero unless both are. */
#define SENNIT_ASM_TEST_EXCEPTIONS(busy)          \
  "movq sennit_thread@gottpoff(%%rip), %%r10\n\t" \
  "movq %%fs:(%%r10), %%r10\n\t"                  \
  "movq (%%r10), %%r11\n\t"                       \
  "addq 8(%%r10), %%r11\n\t"                      \
  "jnz " busy "@PLT\n\t"

/* Resume rax. */
#define SENNIT_ASM_ENTER       \
  "movq %%rsp, %%rdi\n\t"      \
  "movq (%%rax), %%r9\n\t"     \
  "movq 8(%%rax), %%rbp\n\t"   \
  "movq 16(%%rax), %%rbx\n\t"  \
  "leaq 152(%%rax), %%rsp\n\t" \
  "jmpq *%%r9\n\t"

/* Aligned: the resume address is the target of an indirect jump on every round. */
#define SENNIT_ASM_RESUMED ".p2align 4\n1:\n\t" SENNIT_LANDING

/* clang lets us name AVX-512's registers even where the file's baseline lacks them, and counts them as
 * changed when the switch is inlined into a function that has them by its own target attribute. gcc refuses
 * to. */
#if defined(__AVX512F__) || defined(__clang__)
#define SENNIT_CLOBBER_AVX512                                                                          \
  , "xmm16", "xmm17", "xmm18", "xmm19", "xmm20", "xmm21", "xmm22", "xmm23", "xmm24", "xmm25", "xmm26", \
      "xmm27", "xmm28", "xmm29", "xmm30", "xmm31", "k0", "k1", "k2", "k3", "k4", "k5", "k6", "k7"
#else
#define SENNIT_CLOBBER_AVX512
#endif

#define SENNIT_CLOBBERS                                                                                     \
  "r9", "r10", "r11", "r12", "r13", "r14", "r15", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6",   \
      "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12", "xmm13", "xmm14", "xmm15", "st", "st(1)", "st(2)", \
      "st(3)", "st(4)", "st(5)", "st(6)", "st(7)", "cc", "memory" SENNIT_CLOBBER_AVX512

SENNIT_ALWAYS_INLINE sennit_transfer sennit_swapstack(sennit_context target, uintptr_t value) {
  sennit_transfer out;
  __asm__ volatile(SENNIT_ASM_SAVE SENNIT_ASM_TEST_EXCEPTIONS("sennit_swapstack_busy")
                       SENNIT_ASM_ENTER SENNIT_ASM_RESUMED
                   : "+a"(target), "=&D"(out.from), "+S"(value)
                   :
                   : "rdx", "rcx", "r8", SENNIT_CLOBBERS);
  out.value = value;
  return out;
}

SENNIT_ALWAYS_INLINE sennit_transfer sennit_swapstack_raw(sennit_context target, uintptr_t value) {
  sennit_transfer out;
  __asm__ volatile(SENNIT_ASM_SAVE SENNIT_ASM_ENTER SENNIT_ASM_RESUMED
                   : "+a"(target), "=&D"(out.from), "+S"(value)
                   :
                   : "rdx", "rcx", "r8", SENNIT_CLOBBERS);
  out.value = value;
  return out;
}

SENNIT_ALWAYS_INLINE sennit_transfer4 sennit_swapstack4(sennit_context target, uintptr_t value0,
                                                        uintptr_t value1, uintptr_t value2,
                                                        uintptr_t value3) {
  sennit_transfer4 out;
  register uintptr_t r8 __asm__("r8") = value3;
  __asm__ volatile(SENNIT_ASM_SAVE SENNIT_ASM_TEST_EXCEPTIONS("sennit_swapstack_busy")
                       SENNIT_ASM_ENTER SENNIT_ASM_RESUMED
                   : "+a"(target), "=&D"(out.from), "+S"(value0), "+d"(value1), "+c"(value2), "+r"(r8)
                   :
                   : SENNIT_CLOBBERS);
  out.value[0] = value0;
  out.value[1] = value1;
  out.value[2] = value2;
  out.value[3] = r8;
  return out;
}

SENNIT_ALWAYS_INLINE uintptr_t sennit_swapstack_saving(sennit_context target, uintptr_t value,
                                                       sennit_context* self) {
  __asm__ volatile(
      SENNIT_ASM_SAVE SENNIT_ASM_TEST_EXCEPTIONS(
          "sennit_swapstack_saving_busy") "movq %%rsp, (%%rdx)\n\t" SENNIT_ASM_ENTER SENNIT_ASM_RESUMED
      : "+a"(target), "+S"(value), "+d"(self)
      :
      : "rdi", "rcx", "r8", SENNIT_CLOBBERS);
  return value;
}

SENNIT_ALWAYS_INLINE uintptr_t sennit_suspend(void* stack, sennit_decider decide, void* argument) {
  uintptr_t value = (uintptr_t)argument;
  __asm__ volatile(SENNIT_ASM_SAVE SENNIT_ASM_TEST_EXCEPTIONS(
                       "sennit_suspend_busy") "jmp sennit_suspend_decide@PLT\n\t" SENNIT_ASM_RESUMED
                   : "+a"(decide), "+d"(stack), "+S"(value)
                   :
                   : "rdi", "rcx", "r8", SENNIT_CLOBBERS);
  return value;
}

SENNIT_ALWAYS_INLINE __attribute__((noreturn)) void sennit_leave(sennit_context target, uintptr_t value) {
  __asm__ volatile(
      "movq (%%rax), %%r9\n\t"
      "movq 8(%%rax), %%rbp\n\t"
      "movq 16(%%rax), %%rbx\n\t"
      "leaq 152(%%rax), %%rsp\n\t"
      "jmpq *%%r9"
      :
      : "a"(target), "D"(0L), "S"(value)
      : "memory");
  __builtin_unreachable();
}

#endif
