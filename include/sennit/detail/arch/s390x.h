/* The switch on s390x. Included by context.h only.
 *
 * A suspended context's record, at the lowest address of its stack in use; the handle points to it:
 *
 *      higher addresses
 *      | frame of the function that  |
 *      | switched, or, if it has none, the 160 bytes in which its caller lets it save registers
 *      +-----------------------------+ <- handle + 32
 *      | r13                         |   handle + 24   gcc's pool of constants; it ignores a clobber of it
 *      | r12                         |   handle + 16   the table of offsets in position-independent code
 *      | r11                         |   handle + 8    the frame pointer
 *      | resume address              |   handle + 0
 *      +-----------------------------+ <- handle
 *
 * Registers at a switch: r7 = target on the way in; r2 = the leaver, r3 to r6 = the values, both ways. The
 * way out is `br %r14`. a0 and a1 are the thread's. fpc stays as it is (the ABI's rule for a call).
 *
 * A called function saves registers in 160 bytes above the stack pointer that it finds. The dynamic linker
 * does so, too, when it looks up a function that is reached through the procedure linkage table; with only a
 * record there, it would overwrite the frame. So we jump through the table of offsets, which is complete from
 * the start.
 */
#ifndef SENNIT_DETAIL_ARCH_S390X_H
#define SENNIT_DETAIL_ARCH_S390X_H

#if defined(__has_feature)
#if __has_feature(safe_stack)
#error "sennit: SafeStack is not switched; build without it"
#endif
#endif

#define SENNIT_RECORD_SIZE 32 /* src/arch/switch_s390x.S uses the same number */

struct sennit_context_record {
  void (*resume)(void);
  uintptr_t frame;     /* r11 */
  uintptr_t base;      /* r12 */
  uintptr_t constants; /* r13 */
};

#define SENNIT_FROM "r2"
#define SENNIT_VALUE0 "r3"
#define SENNIT_VALUE1 "r4"
#define SENNIT_VALUE2 "r5"
#define SENNIT_VALUE3 "r6"
#define SENNIT_TARGET "r7"
#define SENNIT_CFI_RETURN_ADDRESS "14"

#define SENNIT_ASM_SAVE                 \
  "larl %%r0, 1f\n\t"                   \
  "aghi %%r15, -32\n\t" SENNIT_CFI_AWAY \
  "stg %%r0, 0(%%r15)\n\t"              \
  "stmg %%r11, %%r13, 8(%%r15)\n\t"

#define SENNIT_ASM_TEST_EXCEPTIONS \
  "ear %%r8, %%a0\n\t"             \
  "sllg %%r8, %%r8, 32\n\t"        \
  "ear %%r8, %%a1\n\t"             \
  "larl %%r9, " SENNIT_THREAD      \
  "@indntpoff\n\t"                 \
  "lg %%r9, 0(%%r9)\n\t"           \
  "lg %%r9, 0(%%r9, %%r8)\n\t"     \
  "lg %%r8, 0(%%r9)\n\t"           \
  "og %%r8, 8(%%r9)\n\t"           \
  "jgne 2f\n\t"

#define SENNIT_ASM_TELL_SELF "lgr %%r2, %%r15\n\t"
#define SENNIT_ASM_TELL_NOBODY "lghi %%r2, 0\n\t"
#define SENNIT_ASM_STORE_SELF "stg %%r2, 0(%%r4)\n\t"

#define SENNIT_ASM_ENTER          \
  "lg %%r14, 0(%%r7)\n\t"         \
  "lmg %%r11, %%r13, 8(%%r7)\n\t" \
  "la %%r15, 32(%%r7)\n\t"        \
  "br %%r14\n\t"

#define SENNIT_ASM_JUMP(function) \
  "larl %%r1, " function          \
  "@GOT\n\t"                      \
  "lg %%r1, 0(%%r1)\n\t"          \
  "br %%r1\n\t"
#define SENNIT_ASM_BUSY(function) "2:\n\t" SENNIT_ASM_JUMP(function)

#define SENNIT_ASM_RESUMED ".p2align 3\n1: " SENNIT_CFI_BACK

/* f0 to f15 stand for v0 to v15. */
#define SENNIT_CLOBBERS                                                                                    \
  "r0", "r1", "r8", "r9", "r10", "r14", "f0", "f1", "f2", "f3", "f4", "f5", "f6", "f7", "f8", "f9", "f10", \
      "f11", "f12", "f13", "f14", "f15", "v16", "v17", "v18", "v19", "v20", "v21", "v22", "v23", "v24",    \
      "v25", "v26", "v27", "v28", "v29", "v30", "v31", "cc", "memory"

#include "sennit/detail/arch/inline_verbs.h"

#endif
