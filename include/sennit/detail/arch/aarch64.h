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
 * Registers at a switch: x5 = target on the way in; x0 = the leaver, x1 to x4 = the values, both ways. Those
 * are the argument registers of the C ABI in their order, so a first entry needs no moves. Four more values
 * are in x25 to x28, which the slow path's calls preserve. The way out is `br x16`: with branch target
 * identification every resume address holds a `bti j`. FPCR and FPSR stay as they are (the ABI's rule for a
 * call). x18 is named as changed; under -ffixed-x18 no code keeps anything of its own in it, and the name
 * does nothing.
 *
 * Not ours to save, and refused: shadow call stacks keep a second stack pointer in x18 (gcc has no macro that
 * shows it). Not to be called in streaming mode or with a live ZA (SME).
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
#define SENNIT_LANDING "\n\thint #36" /* bti j, as older assemblers spell it */
#else
#define SENNIT_LANDING ""
#endif

#define SENNIT_FROM "x0"
#define SENNIT_VALUE0 "x1"
#define SENNIT_VALUE1 "x2"
#define SENNIT_VALUE2 "x3"
#define SENNIT_VALUE3 "x4"
#define SENNIT_TARGET "x5"
#define SENNIT_VALUE4 "x25"
#define SENNIT_VALUE5 "x26"
#define SENNIT_VALUE6 "x27"
#define SENNIT_VALUE7 "x28"

#define SENNIT_CFI_RETURN_ADDRESS "30"

/* x6 to x15 are free. */
#define SENNIT_ASM_SAVE                 \
  "adr x9, 1f\n\t"                      \
  "sub sp, sp, #32\n\t" SENNIT_CFI_AWAY \
  "stp x9, x29, [sp]\n\t"               \
  "str x19, [sp, #16]\n\t"

/* A conditional branch reaches 1 MiB only, and no linker extends it: hence label 2. */
#define SENNIT_ASM_TEST_EXCEPTIONS                \
  "mrs x10, tpidr_el0\n\t"                        \
  "adrp x11, :gottprel:" SENNIT_THREAD            \
  "\n\t"                                          \
  "ldr x11, [x11, #:gottprel_lo12:" SENNIT_THREAD \
  "]\n\t"                                         \
  "ldr x10, [x10, x11]\n\t"                       \
  "ldp x10, x11, [x10]\n\t"                       \
  "orr x10, x10, x11\n\t"                         \
  "cbnz x10, 2f\n\t"

#define SENNIT_ASM_TELL_SELF "mov x0, sp\n\t"
#define SENNIT_ASM_TELL_NOBODY "mov x0, xzr\n\t"
#define SENNIT_ASM_STORE_SELF "str x0, [x2]\n\t"

#define SENNIT_ASM_ENTER   \
  "ldp x16, x29, [x5]\n\t" \
  "ldr x19, [x5, #16]\n\t" \
  "add sp, x5, #32\n\t"    \
  "br x16\n\t"

#define SENNIT_ASM_JUMP(function) "b " function "\n\t"
#define SENNIT_ASM_BUSY(function) "2:\n\tb " function "\n\t"

#define SENNIT_ASM_RESUMED ".p2align 4\n1: " SENNIT_ASM_MARK SENNIT_CFI_BACK SENNIT_LANDING

#if defined(__clang__)
#define SENNIT_CLOBBER_FFR /* has no name for it, and keeps nothing in it */
#else
#define SENNIT_CLOBBER_FFR , "ffr"
#endif

/* A v register stands for the whole z register; p registers count only in functions that have SVE. */
#define SENNIT_CLOBBERS "x25", "x26", "x27", "x28", SENNIT_CLOBBERS_OF_8
#define SENNIT_CLOBBERS_OF_8                                                                                \
  "x6", "x7", "x8", "x9", "x10", "x11", "x12", "x13", "x14", "x15", "x16", "x17", "x18", "x20", "x21",      \
      "x22", "x23", "x24", "x30", "v0", "v1", "v2", "v3", "v4", "v5", "v6", "v7", "v8", "v9", "v10", "v11", \
      "v12", "v13", "v14", "v15", "v16", "v17", "v18", "v19", "v20", "v21", "v22", "v23", "v24", "v25",     \
      "v26", "v27", "v28", "v29", "v30", "v31", "p0", "p1", "p2", "p3", "p4", "p5", "p6", "p7", "p8", "p9", \
      "p10", "p11", "p12", "p13", "p14", "p15", "cc", "memory" SENNIT_CLOBBER_FFR

#include "sennit/detail/arch/inline_verbs.h"

#endif
