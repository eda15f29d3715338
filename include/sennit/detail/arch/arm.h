/* The switch on 32-bit ARM, version 7 or later, in Thumb and ARM state. Included by context.h only.
 *
 * A suspended context's record, at the lowest address of its stack in use; the handle points to it:
 *
 *      higher addresses
 *      | frame of the function that  |
 *      | switched (no red zone here) |
 *      +-----------------------------+ <- handle + 16
 *      | resume address, state bit   |   handle + 12
 *      | r11                         |   handle + 8    the frame pointer in ARM state
 *      | r7                          |   handle + 4    the frame pointer in Thumb state
 *      | r6                          |   handle + 0    clang's base pointer (over-aligned locals + alloca)
 *      +-----------------------------+ <- handle
 *
 * It is in the order in which one instruction stores or loads it.
 *
 * Registers at a switch: r5 = target on the way in; r0 = the leaver, r1 to r4 = the values, both ways. r4 is
 * no argument register: a first entry stores it as the fifth argument. The way out is `bx r12`. fpscr stays
 * as it is (the ABI's rule for a call). r9 is an ordinary register on Linux.
 *
 * Compilers make no unwind tables for functions that cannot throw, as one that only switches: backtraces end
 * there, unless it is compiled with -funwind-tables.
 */
#ifndef SENNIT_DETAIL_ARCH_ARM_H
#define SENNIT_DETAIL_ARCH_ARM_H

#if defined(__has_feature)
#if __has_feature(safe_stack)
#error "sennit: SafeStack is not switched; build without it"
#endif
#endif

#define SENNIT_RECORD_SIZE 16 /* src/arch/switch_arm.S uses the same number */

struct sennit_context_record {
  uintptr_t base; /* r6 */
#if defined(__thumb__)
  uintptr_t frame;  /* r7 */
  uintptr_t unused; /* r11 */
#else
  uintptr_t unused; /* r7 */
  uintptr_t frame;  /* r11 */
#endif
  void (*resume)(void);
};

/* The state bit of addresses in this code, and how far ahead of an instruction its pc is. */
#if defined(__thumb__)
#define SENNIT_ASM_STATE "orr r12, r12, #1\n\t"
#define SENNIT_ASM_AHEAD "4"
#else
#define SENNIT_ASM_STATE ""
#define SENNIT_ASM_AHEAD "8"
#endif

#define SENNIT_FROM "r0"
#define SENNIT_VALUE0 "r1"
#define SENNIT_VALUE1 "r2"
#define SENNIT_VALUE2 "r3"
#define SENNIT_VALUE3 "r4"
#define SENNIT_TARGET "r5"
#define SENNIT_CFI_RETURN_ADDRESS "14"

#define SENNIT_ASM_SAVE "adr r12, 1f\n\t" SENNIT_ASM_STATE "push {r6, r7, r11, r12}\n\t" SENNIT_CFI_AWAY

/* Three words: propagating exceptions are the third. */
#define SENNIT_ASM_TEST_EXCEPTIONS                        \
  "ldr r8, 3f\n\t"                                        \
  "mrc p15, 0, r9, c13, c0, 3\n" /* the thread pointer */ \
  "4:\tadd r8, pc\n\t"                                    \
  "ldr r8, [r8]\n\t"                                      \
  "ldr r8, [r9, r8]\n\t"                                  \
  "ldm r8, {r8, r9, r10}\n\t"                             \
  "orr r8, r8, r9\n\t"                                    \
  "orrs r8, r8, r10\n\t"                                  \
  "bne 2f\n\t"

#define SENNIT_ASM_TELL_SELF "mov r0, sp\n\t"
#define SENNIT_ASM_TELL_NOBODY "mov r0, #0\n\t"
#define SENNIT_ASM_STORE_SELF "str r0, [r2]\n\t"

#define SENNIT_ASM_ENTER            \
  "ldm r5!, {r6, r7, r11, r12}\n\t" \
  "mov sp, r5\n\t"                  \
  "bx r12\n\t"

#define SENNIT_ASM_JUMP(function) "b " function "\n\t"
#define SENNIT_ASM_BUSY(function) \
  "2:\n\tb " function             \
  "\n\t"                          \
  ".p2align 2\n"                  \
  "3:\t.word " SENNIT_THREAD "(gottpoff) + (. - 4b - " SENNIT_ASM_AHEAD ")\n\t"

#define SENNIT_ASM_RESUMED ".p2align 2\n1: " SENNIT_CFI_BACK

/* d16 to d31 are not in every FPU. Clang refuses their names if the file's target has none. In a function
 * that has them by its own target attribute, use sennit_swapstack_call then. */
#if !defined(__ARM_FP)
#define SENNIT_CLOBBER_VECTORS
#elif defined(__clang__) && !defined(__ARM_NEON)
#define SENNIT_CLOBBER_VECTORS SENNIT_CLOBBER_LOW_VECTORS
#else
#define SENNIT_CLOBBER_VECTORS                                                                             \
  SENNIT_CLOBBER_LOW_VECTORS, "d16", "d17", "d18", "d19", "d20", "d21", "d22", "d23", "d24", "d25", "d26", \
      "d27", "d28", "d29", "d30", "d31"
#endif
#define SENNIT_CLOBBER_LOW_VECTORS \
  , "d0", "d1", "d2", "d3", "d4", "d5", "d6", "d7", "d8", "d9", "d10", "d11", "d12", "d13", "d14", "d15"

#define SENNIT_CLOBBERS "r8", "r9", "r10", "r12", "lr", "cc", "memory" SENNIT_CLOBBER_VECTORS

#include "sennit/detail/arch/inline_verbs.h"

#endif
