/* The switch on AArch64. Included by context.h only.
 *
 * A suspended context's record, at the lowest address of its stack in use; the handle points to it:
 *
 *      higher addresses
 *      | frame of the function that  |
 *      | switched (no red zone here) |
 *      +-----------------------------+ <- handle + 32
 *      | unused: sp is 16-aligned    |   handle + 24
 *      | x19                         |   handle + 16   clang's base pointer (over-aligned locals + alloca)
 *      | x29                         |   handle + 8    gcc ignores a clobber of it without a word
 *      | resume address              |   handle + 0
 *      +-----------------------------+ <- handle
 *
 * Registers at a switch: x5 = target on the way in; x0 = who left, x1 to x4 = the values, both ways. Those
 * are the argument registers of the C ABI in their order, so a first entry needs no moves. The way out is
 * `br x16`: with branch target identification every resume address holds a `bti j`.
 * FPCR and FPSR stay as they are (the ABI's rule for a call). x18 is named as changed; under -ffixed-x18
 * nobody keeps anything of his own in it, and the name does nothing.
 *
 * Not ours to save, and refused: shadow call stacks keep a second stack pointer in x18 (gcc has no macro that
 * tells us so). Not to be called in streaming mode or with a live ZA (SME).
 */
#ifndef SENNIT_DETAIL_ARCH_AARCH64_H
#define SENNIT_DETAIL_ARCH_AARCH64_H

#if defined(__has_feature)
#if __has_feature(shadow_call_stack) || __has_feature(safe_stack)
#error "sennit: SafeStack and shadow call stacks are not switched; build without them"
#endif
#endif

#define SENNIT_RECORD_SIZE 32 /* src/arch/switch_aarch64.S uses the same number */

struct sennit_context_record {
  void (*resume)(void);
  uintptr_t frame; /* x29 */
  uintptr_t base;  /* x19 */
  uintptr_t unused;
};

#if defined(__ARM_FEATURE_BTI_DEFAULT)
#define SENNIT_LANDING "hint #36\n\t" /* bti j, as older assemblers spell it */
#else
#define SENNIT_LANDING ""
#endif

/* Suspend. x6 to x15 are free. */
#define SENNIT_ASM_SAVE   \
  "adr x9, 1f\n\t"        \
  "sub sp, sp, #32\n\t"   \
  "stp x9, x29, [sp]\n\t" \
  "str x19, [sp, #16]\n\t"

/* Go to 2, which leaves by the busy path, when the exception globals are not zero. A conditional branch
 * reaches 1 MiB only, and no linker extends it. */
#define SENNIT_ASM_TEST_EXCEPTIONS                    \
  "mrs x10, tpidr_el0\n\t"                            \
  "adrp x11, :gottprel:sennit_thread\n\t"             \
  "ldr x11, [x11, #:gottprel_lo12:sennit_thread]\n\t" \
  "ldr x10, [x10, x11]\n\t"                           \
  "ldp x10, x11, [x10]\n\t"                           \
  "orr x10, x10, x11\n\t"                             \
  "cbnz x10, 2f\n\t"

/* Resume x5, with x0 as who left. */
#define SENNIT_ASM_ENTER_FROM(from) \
  "ldp x16, x29, [x5]\n\t"          \
  "ldr x19, [x5, #16]\n\t"          \
  "mov x0, " from                   \
  "\n\t"                            \
  "add sp, x5, #32\n\t"             \
  "br x16\n\t"
#define SENNIT_ASM_ENTER SENNIT_ASM_ENTER_FROM("sp")

#define SENNIT_ASM_BUSY(busy) "2:\n\tb " busy "\n\t"

#define SENNIT_ASM_RESUMED ".p2align 4\n1:\n\t" SENNIT_LANDING

#if defined(__clang__)
#define SENNIT_CLOBBER_FFR /* has no name for it, and keeps nothing in it */
#else
#define SENNIT_CLOBBER_FFR , "ffr"
#endif

/* A v register stands for the whole z register; p registers count only in functions that have SVE. */
#define SENNIT_CLOBBERS                                                                                     \
  "x6", "x7", "x8", "x9", "x10", "x11", "x12", "x13", "x14", "x15", "x16", "x17", "x18", "x20", "x21",      \
      "x22", "x23", "x24", "x25", "x26", "x27", "x28", "x30", "v0", "v1", "v2", "v3", "v4", "v5", "v6",     \
      "v7", "v8", "v9", "v10", "v11", "v12", "v13", "v14", "v15", "v16", "v17", "v18", "v19", "v20", "v21", \
      "v22", "v23", "v24", "v25", "v26", "v27", "v28", "v29", "v30", "v31", "p0", "p1", "p2", "p3", "p4",   \
      "p5", "p6", "p7", "p8", "p9", "p10", "p11", "p12", "p13", "p14", "p15", "cc",                         \
      "memory" SENNIT_CLOBBER_FFR

SENNIT_ALWAYS_INLINE sennit_transfer sennit_swapstack(sennit_context target, uintptr_t value) {
  sennit_transfer out;
  register uintptr_t x0 __asm__("x0");
  register uintptr_t x1 __asm__("x1") = value;
  register sennit_context x5 __asm__("x5") = target;
  __asm__ volatile(SENNIT_ASM_SAVE SENNIT_ASM_TEST_EXCEPTIONS SENNIT_ASM_ENTER SENNIT_ASM_BUSY(
                       "sennit_swapstack_busy") SENNIT_ASM_RESUMED
                   : "=&r"(x0), "+r"(x1), "+r"(x5)
                   :
                   : "x2", "x3", "x4", SENNIT_CLOBBERS);
  out.from = (sennit_context)x0;
  out.value = x1;
  return out;
}

SENNIT_ALWAYS_INLINE sennit_transfer sennit_swapstack_raw(sennit_context target, uintptr_t value) {
  sennit_transfer out;
  register uintptr_t x0 __asm__("x0");
  register uintptr_t x1 __asm__("x1") = value;
  register sennit_context x5 __asm__("x5") = target;
  __asm__ volatile(SENNIT_ASM_SAVE SENNIT_ASM_ENTER SENNIT_ASM_RESUMED
                   : "=&r"(x0), "+r"(x1), "+r"(x5)
                   :
                   : "x2", "x3", "x4", SENNIT_CLOBBERS);
  out.from = (sennit_context)x0;
  out.value = x1;
  return out;
}

SENNIT_ALWAYS_INLINE sennit_transfer4 sennit_swapstack4(sennit_context target, uintptr_t value0,
                                                        uintptr_t value1, uintptr_t value2,
                                                        uintptr_t value3) {
  sennit_transfer4 out;
  register uintptr_t x0 __asm__("x0");
  register uintptr_t x1 __asm__("x1") = value0;
  register uintptr_t x2 __asm__("x2") = value1;
  register uintptr_t x3 __asm__("x3") = value2;
  register uintptr_t x4 __asm__("x4") = value3;
  register sennit_context x5 __asm__("x5") = target;
  __asm__ volatile(SENNIT_ASM_SAVE SENNIT_ASM_TEST_EXCEPTIONS SENNIT_ASM_ENTER SENNIT_ASM_BUSY(
                       "sennit_swapstack_busy") SENNIT_ASM_RESUMED
                   : "=&r"(x0), "+r"(x1), "+r"(x2), "+r"(x3), "+r"(x4), "+r"(x5)
                   :
                   : SENNIT_CLOBBERS);
  out.from = (sennit_context)x0;
  out.value[0] = x1;
  out.value[1] = x2;
  out.value[2] = x3;
  out.value[3] = x4;
  return out;
}

/* `left`: who left, as the target is told. */
#define SENNIT_DEFINE_SAVING(verb, left)                                                                    \
  SENNIT_ALWAYS_INLINE sennit_transfer verb(sennit_context target, uintptr_t value, sennit_context* self) { \
    sennit_transfer out;                                                                                    \
    register uintptr_t x0 __asm__("x0");                                                                    \
    register uintptr_t x1 __asm__("x1") = value;                                                            \
    register sennit_context* x2 __asm__("x2") = self;                                                       \
    register sennit_context x5 __asm__("x5") = target;                                                      \
    __asm__ volatile(SENNIT_ASM_SAVE SENNIT_ASM_TEST_EXCEPTIONS                                             \
                     "mov x16, sp\n\t"                                                                      \
                     "str x16, [x2]\n\t" SENNIT_ASM_ENTER_FROM(left) SENNIT_ASM_BUSY(#verb "_busy")         \
                         SENNIT_ASM_RESUMED                                                                 \
                     : "=&r"(x0), "+r"(x1), "+r"(x2), "+r"(x5)                                              \
                     :                                                                                      \
                     : "x3", "x4", SENNIT_CLOBBERS);                                                        \
    out.from = (sennit_context)x0;                                                                          \
    out.value = x1;                                                                                         \
    return out;                                                                                             \
  }

SENNIT_DEFINE_SAVING(sennit_swapstack_linking, "sp")
SENNIT_DEFINE_SAVING(sennit_swapstack_filed, "xzr")

SENNIT_ALWAYS_INLINE uintptr_t sennit_suspend(void* stack, sennit_decider decide, void* argument) {
  register uintptr_t x1 __asm__("x1") = (uintptr_t)argument;
  register void* x2 __asm__("x2") = stack;
  register sennit_decider x5 __asm__("x5") = decide;
  __asm__ volatile(SENNIT_ASM_SAVE SENNIT_ASM_TEST_EXCEPTIONS
                   "b sennit_suspend_decide\n\t" SENNIT_ASM_BUSY("sennit_suspend_busy") SENNIT_ASM_RESUMED
                   : "+r"(x1), "+r"(x2), "+r"(x5)
                   :
                   : "x0", "x3", "x4", SENNIT_CLOBBERS);
  return x1;
}

SENNIT_ALWAYS_INLINE __attribute__((noreturn)) void sennit_leave(sennit_context target, uintptr_t value) {
  register uintptr_t x1 __asm__("x1") = value;
  register sennit_context x5 __asm__("x5") = target;
  __asm__ volatile(
      "ldp x16, x29, [x5]\n\t"
      "ldr x19, [x5, #16]\n\t"
      "mov x0, xzr\n\t"
      "add sp, x5, #32\n\t"
      "br x16"
      :
      : "r"(x1), "r"(x5)
      : "memory");
  __builtin_unreachable();
}

#endif
