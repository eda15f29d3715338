/* The switch on RISC-V 64. Included by context.h only.
 *
 * A suspended context's record, at the lowest address of its stack in use; the handle points to it:
 *
 *      higher addresses
 *      | frame of the function that  |
 *      | switched (no red zone here) |
 *      +-----------------------------+ <- handle + 32
 *      | unused: sp is 16-aligned    |   handle + 24
 *      | s1                          |   handle + 16   clang's base pointer (over-aligned locals + alloca)
 *      | s0                          |   handle + 8    the frame pointer, which cannot be named as changed
 *      | resume address              |   handle + 0
 *      +-----------------------------+ <- handle
 *
 * Registers at a switch: a5 = target on the way in; a0 = the leaver, a1 to a4 = the values, both ways. The
 * way out is `jr t2`: the CPU takes a jump through ra or t0 for a return, and landing pads (Zicfilp) are not
 * required of a jump through t2. gp and tp are the program's and the thread's, and never touched. fcsr stays
 * as it is (the ABI's rule for a call).
 *
 * Not ours to save, and refused: shadow stacks.
 */
#ifndef SENNIT_DETAIL_ARCH_RISCV64_H
#define SENNIT_DETAIL_ARCH_RISCV64_H

#if defined(__riscv_shadow_stack)
#error "sennit: shadow stacks are not switched; build without them"
#endif
#if defined(__has_feature)
#if __has_feature(shadow_call_stack) || __has_feature(safe_stack)
#error "sennit: SafeStack and shadow call stacks are not switched; build without them"
#endif
#endif

#define SENNIT_RECORD_SIZE 32 /* src/arch/switch_riscv64.S uses the same number */

struct sennit_context_record {
  void (*resume)(void);
  uintptr_t frame; /* s0 */
  uintptr_t base;  /* s1 */
  uintptr_t unused;
};

#define SENNIT_FROM "a0"
#define SENNIT_VALUE0 "a1"
#define SENNIT_VALUE1 "a2"
#define SENNIT_VALUE2 "a3"
#define SENNIT_VALUE3 "a4"
#define SENNIT_TARGET "a5"
#define SENNIT_CFI_RETURN_ADDRESS "1"

#define SENNIT_ASM_SAVE                  \
  "lla t0, 1f\n\t"                       \
  "addi sp, sp, -32\n\t" SENNIT_CFI_AWAY \
  "sd t0, 0(sp)\n\t"                     \
  "sd s0, 8(sp)\n\t"                     \
  "sd s1, 16(sp)\n\t"

#define SENNIT_ASM_TEST_EXCEPTIONS \
  "la.tls.ie t0, " SENNIT_THREAD   \
  "\n\t"                           \
  "add t0, t0, tp\n\t"             \
  "ld t0, 0(t0)\n\t"               \
  "ld t1, 0(t0)\n\t"               \
  "ld t0, 8(t0)\n\t"               \
  "or t0, t0, t1\n\t"              \
  "bnez t0, 2f\n\t"

#define SENNIT_ASM_TELL_SELF "mv a0, sp\n\t"
#define SENNIT_ASM_TELL_NOBODY "li a0, 0\n\t"
#define SENNIT_ASM_STORE_SELF "sd a0, 0(a2)\n\t"

#define SENNIT_ASM_ENTER \
  "ld t2, 0(a5)\n\t"     \
  "ld s0, 8(a5)\n\t"     \
  "ld s1, 16(a5)\n\t"    \
  "addi sp, a5, 32\n\t"  \
  "jr t2\n\t"

#define SENNIT_ASM_JUMP(function) "tail " function "\n\t" /* by way of t1 */
#define SENNIT_ASM_BUSY(function) "2:\n\ttail " function "\n\t"

#define SENNIT_ASM_RESUMED ".p2align 2\n1: " SENNIT_CFI_BACK

/* gcc has names for the vector registers since 13. */
#if defined(__clang__) || __GNUC__ >= 13
#define SENNIT_CLOBBER_VECTORS                                                                            \
  , "v0", "v1", "v2", "v3", "v4", "v5", "v6", "v7", "v8", "v9", "v10", "v11", "v12", "v13", "v14", "v15", \
      "v16", "v17", "v18", "v19", "v20", "v21", "v22", "v23", "v24", "v25", "v26", "v27", "v28", "v29",   \
      "v30", "v31"
#else
#define SENNIT_CLOBBER_VECTORS
#endif

#define SENNIT_CLOBBERS                                                                                    \
  "a6", "a7", "t0", "t1", "t2", "t3", "t4", "t5", "t6", "s2", "s3", "s4", "s5", "s6", "s7", "s8", "s9",    \
      "s10", "s11", "ra", "ft0", "ft1", "ft2", "ft3", "ft4", "ft5", "ft6", "ft7", "ft8", "ft9", "ft10",    \
      "ft11", "fs0", "fs1", "fs2", "fs3", "fs4", "fs5", "fs6", "fs7", "fs8", "fs9", "fs10", "fs11", "fa0", \
      "fa1", "fa2", "fa3", "fa4", "fa5", "fa6", "fa7", "memory" SENNIT_CLOBBER_VECTORS

#include "sennit/detail/arch/inline_verbs.h"

#endif
