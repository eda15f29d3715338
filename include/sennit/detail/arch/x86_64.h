/* The switch on x86-64. Included by context.h only.
 *
 * A suspended context's record, at the lowest address of its stack in use; the handle points to it:
 *
 *      higher addresses
 *      | frame of the function that  |
 *      | switched                    |
 *      | its red zone, 128 bytes     |   needed by the inline forms only
 *      +-----------------------------+ <- handle + 24
 *      | rbx                         |   handle + 16   clang's base pointer (over-aligned locals + alloca);
 *      |                             |                 clang does not save it when asked to (LLVM 58528)
 *      | rbp                         |   handle + 8    gcc refuses to save it, clang ignores the clobber
 *      | resume address              |   handle + 0
 *      +-----------------------------+ <- handle
 *
 * A leaver lowers rsp first and then writes its record, so that a signal handler can never write over one. It
 * keeps its rsp as long as possible. The resumed context finds that rsp, with its own handle in rax. It loads
 * rbp and rbx and only then sets rsp to handle + 152 (24 + the red zone). So the two sides share only one
 * landing. It also keeps each side short: the number of 64-byte lines that a loop is fetched from determines
 * its speed.
 *
 * Registers at a switch: rax = the target; rdi = the leaver, rsi, rdx, rcx, r8 = the values, both ways.
 * Those are the argument registers of the C ABI in their order, so a first entry needs no moves. Four more
 * values are in r12 to r15, which the slow path's calls preserve.
 * The way out is a jump: a `ret` would go to an address that the return predictor does not expect.
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

/* From the first write to rsp until it is ours again, the compiler's rule finds no caller. So a backtrace
 * from a signal handler ends there. But the landing's first instruction is also the place where another
 * context's backtrace finds us suspended, and continues. rsp tells the two apart: for a suspended context it
 * is 152 more than its handle, which is in rax in both cases (CFI_CALLER_IN_RECORD in
 * src/arch/switch_x86_64.S). So the return address is
 *
 *   suspended = rsp == rax + 152
 *   DW_CFA_val_expression rip: *((CFA - 8 - rsp) * suspended + rsp) * suspended
 *
 * and 0 ends a backtrace. Valgrind reads these rules, too, and complains of branches in them. The operations:
 * lit8, minus, breg7 0, minus, breg7 0, breg0 152, eq, mul, breg7 0, plus, deref, breg7 0, breg0 152, eq,
 * mul. Afterwards: DW_CFA_offset rip -8. (libgcc takes DW_CFA_restore for "same value", whatever the first
 * rule was.) */
#define SENNIT_CFI_AWAY                                                                                    \
  SENNIT_CFI(                                                                                              \
      "0x16, 16, 23, 0x38, 0x1c, 0x77, 0, 0x1c, 0x77, 0, 0x70, 0x98, 1, 0x29, 0x1e, 0x77, 0, 0x22, 0x06, " \
      "0x77, 0, "                                                                                          \
      "0x70, 0x98, 1, 0x29, 0x1e")                                                                         \
  "\n\t"
#define SENNIT_CFI_BACK SENNIT_CFI("0x80 | 16, 1")

/* Suspend: the record goes below the red zone, and rdi points to it. r9-r11 are free. Nothing reads rsp after
 * a push, for that would cost the CPU one more step. */
#define SENNIT_ASM_SAVE                     \
  "leaq 1f(%%rip), %%r9\n\t"                \
  "leaq -152(%%rsp), %%rdi\n\t"             \
  "addq $24-152, %%rsp\n\t" SENNIT_CFI_AWAY \
  "pushq %%rbx\n\t"                         \
  "pushq %%rbp\n\t"                         \
  "pushq %%r9\n\t"

/* Go to 2, which leaves by the busy path, when the exception globals are not zero. A sum can stand for the
 * pair: a pointer plus a count is never zero unless both are. */
#define SENNIT_ASM_TEST_EXCEPTIONS        \
  SENNIT_ASM_LOAD_OF_THREAD("0", "%%r10") \
  "movq (%%r10), %%r11\n\t"               \
  "addq 8(%%r10), %%r11\n\t"              \
  "jnz 2f\n\t"

#define SENNIT_ASM_BUSY(busy) "2:\tjmp " busy "@PLT\n\t"

/* Resume rax, with rdi as the leaver. */
#define SENNIT_ASM_ENTER "jmpq *(%%rax)\n\t"

#define SENNIT_ASM_LANDING             \
  "1: " SENNIT_ASM_MARK SENNIT_LANDING \
  "movq 8(%%rax), %%rbp\n\t"           \
  "movq 16(%%rax), %%rbx\n\t"          \
  "leaq 152(%%rax), %%rsp\n\t" SENNIT_CFI_BACK

/* Aligned to a line, so that the short code between two switches of a loop is mostly in one with the landing.
 * A scheduler's is longer than a line anyhow: padding takes it more lines, and the functions of one template
 * often lie at distances that share few sets of the caches.
 */
#define SENNIT_ASM_RESUMED ".p2align 6\n" SENNIT_ASM_LANDING
#define SENNIT_ASM_RESUMED_BY_SCHEDULER ".p2align 4\n" SENNIT_ASM_LANDING

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

#define SENNIT_CLOBBERS_OF_8                                                                          \
  "r9", "r10", "r11", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", \
      "xmm10", "xmm11", "xmm12", "xmm13", "xmm14", "xmm15", "st", "st(1)", "st(2)", "st(3)", "st(4)", \
      "st(5)", "st(6)", "st(7)", "cc", "memory" SENNIT_CLOBBER_AVX512
#define SENNIT_CLOBBERS "r12", "r13", "r14", "r15", SENNIT_CLOBBERS_OF_8

SENNIT_ALWAYS_INLINE sennit_transfer sennit_swapstack(sennit_context target, uintptr_t value) {
  sennit_transfer out;
  __asm__ volatile(SENNIT_ASM_SAVE SENNIT_ASM_TEST_EXCEPTIONS SENNIT_ASM_ENTER SENNIT_ASM_BUSY(
                       "sennit_swapstack_busy") SENNIT_ASM_RESUMED
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
  __asm__ volatile(SENNIT_ASM_SAVE SENNIT_ASM_TEST_EXCEPTIONS SENNIT_ASM_ENTER SENNIT_ASM_BUSY(
                       "sennit_swapstack_busy") SENNIT_ASM_RESUMED
                   : "+a"(target), "=&D"(out.from), "+S"(value0), "+d"(value1), "+c"(value2), "+r"(r8)
                   :
                   : SENNIT_CLOBBERS);
  out.value[0] = value0;
  out.value[1] = value1;
  out.value[2] = value2;
  out.value[3] = r8;
  return out;
}

#define SENNIT_HAS_SWAPSTACK8 1
SENNIT_ALWAYS_INLINE sennit_transfer8 sennit_swapstack8(sennit_context target, uintptr_t value0,
                                                        uintptr_t value1, uintptr_t value2, uintptr_t value3,
                                                        uintptr_t value4, uintptr_t value5, uintptr_t value6,
                                                        uintptr_t value7) {
  sennit_transfer8 out;
  register uintptr_t r8 __asm__("r8") = value3;
  register uintptr_t r12 __asm__("r12") = value4;
  register uintptr_t r13 __asm__("r13") = value5;
  register uintptr_t r14 __asm__("r14") = value6;
  register uintptr_t r15 __asm__("r15") = value7;
  __asm__ volatile(SENNIT_ASM_SAVE SENNIT_ASM_TEST_EXCEPTIONS SENNIT_ASM_ENTER SENNIT_ASM_BUSY(
                       "sennit_swapstack_busy") SENNIT_ASM_RESUMED
                   : "+a"(target), "=&D"(out.from), "+S"(value0), "+d"(value1), "+c"(value2), "+r"(r8),
                     "+r"(r12), "+r"(r13), "+r"(r14), "+r"(r15)
                   :
                   : SENNIT_CLOBBERS_OF_8);
  out.value[0] = value0;
  out.value[1] = value1;
  out.value[2] = value2;
  out.value[3] = r8;
  out.value[4] = r12;
  out.value[5] = r13;
  out.value[6] = r14;
  out.value[7] = r15;
  return out;
}

/* `self` stays where it is: in most loops rbx or rbp, which nothing changes on the way out. `forget`: the
 * code that hides the leaver from the target. */
#define SENNIT_DEFINE_SAVING(verb, busy, forget, resumed)                                                   \
  SENNIT_ALWAYS_INLINE sennit_transfer verb(sennit_context target, uintptr_t value, sennit_context* self) { \
    sennit_transfer out;                                                                                    \
    sennit_context* rdx;                                                                                    \
    __asm__ volatile(SENNIT_ASM_SAVE SENNIT_ASM_TEST_EXCEPTIONS                                             \
                     "movq %%rdi, (%[self])\n\t" forget SENNIT_ASM_ENTER                                    \
                     "2:\tmovq %[self], %%rdx\n\t"                                                          \
                     "jmp " busy "@PLT\n\t" resumed                                                         \
                     : "+a"(target), "=&D"(out.from), "+S"(value), "=d"(rdx)                                \
                     : [self] "r"(self)                                                                     \
                     : "rcx", "r8", SENNIT_CLOBBERS);                                                       \
    out.value = value;                                                                                      \
    return out;                                                                                             \
  }

SENNIT_DEFINE_SAVING(sennit_swapstack_linking, "sennit_swapstack_linking_busy", "", SENNIT_ASM_RESUMED)
SENNIT_DEFINE_SAVING(sennit_swapstack_scheduling, "sennit_swapstack_linking_busy", "",
                     SENNIT_ASM_RESUMED_BY_SCHEDULER)
SENNIT_DEFINE_SAVING(sennit_swapstack_filed, "sennit_swapstack_filed_busy", "xorl %%edi, %%edi\n\t",
                     SENNIT_ASM_RESUMED)
#define SENNIT_HAS_SWAPSTACK_SCHEDULING 1

SENNIT_ALWAYS_INLINE uintptr_t sennit_suspend(void* stack, sennit_scheduler_step step, void* argument) {
  uintptr_t value = (uintptr_t)argument;
  __asm__ volatile(SENNIT_ASM_SAVE "jmp sennit_suspend_dispatch@PLT\n\t" SENNIT_ASM_RESUMED_BY_SCHEDULER
                   : "+a"(step), "+d"(stack), "+S"(value)
                   :
                   : "rdi", "rcx", "r8", SENNIT_CLOBBERS);
  return value;
}

SENNIT_ALWAYS_INLINE __attribute__((noreturn)) void sennit_leave(sennit_context target, uintptr_t value) {
  __asm__ volatile("jmpq *(%%rax)" : : "a"(target), "D"(0L), "S"(value) : "memory");
  __builtin_unreachable();
}

#endif
