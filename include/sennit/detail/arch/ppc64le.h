/* The switch on PowerPC 64, little-endian (ELFv2). Included by context.h only.
 *
 * A suspended context's record, at the lowest address of its stack in use; the handle points to it:
 *
 *      higher addresses
 *      | frame of the function that  |
 *      | switched                    |
 *      | its red zone, 288 bytes     |
 *      +-----------------------------+ <- handle + 32
 *      | r2                          |   handle + 24   its module's table of contents; no compiler saves it
 *      | r30                         |   handle + 16   clang's base pointer (over-aligned locals + alloca)
 *      | r31                         |   handle + 8    the frame pointer; clang ignores a clobber of it
 *      | resume address              |   handle + 0
 *      +-----------------------------+ <- handle
 *
 * Registers at a switch: r8 = target on the way in; r3 = the leaver, r4 to r7 = the values, both ways. The
 * way out is `bctr` with the address in r12 too, from which a function finds its module's table of contents.
 * Callers need not pass the table in r2 to functions that use none; so we find it ourselves, from our
 * address. fpscr and the vector status stay as they are (the ABI's rule for a call). r13 is the thread's.
 */
#ifndef SENNIT_DETAIL_ARCH_PPC64LE_H
#define SENNIT_DETAIL_ARCH_PPC64LE_H

#if defined(__has_feature)
#if __has_feature(safe_stack)
#error "sennit: SafeStack is not switched; build without it"
#endif
#endif

#define SENNIT_RECORD_SIZE 320 /* 32 + the red zone; src/arch/switch_ppc64le.S uses the same number */

struct sennit_context_record {
  void (*resume)(void);
  uintptr_t frame;    /* r31 */
  uintptr_t base;     /* r30 */
  uintptr_t contents; /* r2 */
};

#define SENNIT_FROM "r3"
#define SENNIT_VALUE0 "r4"
#define SENNIT_VALUE1 "r5"
#define SENNIT_VALUE2 "r6"
#define SENNIT_VALUE3 "r7"
#define SENNIT_TARGET "r8"
#define SENNIT_CFI_RETURN_ADDRESS "65"

/* This form of `bcl` asks where we are, and the CPU does not take it for a call. */
#define SENNIT_ASM_SAVE                 \
  "bcl 20, 31, 3f\n"                    \
  "3:\tmflr 11\n\t"                     \
  "addi 12, 11, 1f-3b\n\t"              \
  "addi 1, 1, -320\n\t" SENNIT_CFI_AWAY \
  "std 12, 0(1)\n\t"                    \
  "std 31, 8(1)\n\t"                    \
  "std 30, 16(1)\n\t"                   \
  "std 2, 24(1)\n\t"

/* r2, which is in our record, is our module's from here on. */
#define SENNIT_ASM_FIND_CONTENTS \
  "addis 2, 11, .TOC.-3b@ha\n\t" \
  "addi 2, 2, .TOC.-3b@l\n\t"

#define SENNIT_ASM_TEST_EXCEPTIONS \
  SENNIT_ASM_FIND_CONTENTS         \
  "addis 9, 2, " SENNIT_THREAD     \
  "@got@tprel@ha\n\t"              \
  "ld 9, " SENNIT_THREAD           \
  "@got@tprel@l(9)\n\t"            \
  "add 9, 9, " SENNIT_THREAD       \
  "@tls\n\t"                       \
  "ld 9, 0(9)\n\t"                 \
  "ld 10, 0(9)\n\t"                \
  "ld 9, 8(9)\n\t"                 \
  "or. 9, 9, 10\n\t"               \
  "bne- 0, 2f\n\t"

#define SENNIT_ASM_TELL_SELF "mr 3, 1\n\t"
#define SENNIT_ASM_TELL_NOBODY "li 3, 0\n\t"
#define SENNIT_ASM_STORE_SELF "std 3, 0(5)\n\t"

#define SENNIT_ASM_ENTER \
  "ld 12, 0(8)\n\t"      \
  "ld 31, 8(8)\n\t"      \
  "ld 30, 16(8)\n\t"     \
  "ld 2, 24(8)\n\t"      \
  "addi 1, 8, 320\n\t"   \
  "mtctr 12\n\t"         \
  "bctr\n\t"

#define SENNIT_ASM_JUMP(function) \
  "addis 12, 2, " function        \
  "@got@ha\n\t"                   \
  "ld 12, " function              \
  "@got@l(12)\n\t"                \
  "mtctr 12\n\t"                  \
  "bctr\n\t"
#define SENNIT_ASM_BUSY(function) "2:\n\t" SENNIT_ASM_JUMP(function)

#define SENNIT_ASM_RESUMED "1: " SENNIT_CFI_BACK

/* A floating-point register names the vector-scalar register of the same number. */
#define SENNIT_CLOBBERS                                                                                     \
  "r0", "r9", "r10", "r11", "r12", "r14", "r15", "r16", "r17", "r18", "r19", "r20", "r21", "r22", "r23",    \
      "r24", "r25", "r26", "r27", "r28", "r29", "fr0", "fr1", "fr2", "fr3", "fr4", "fr5", "fr6", "fr7",     \
      "fr8", "fr9", "fr10", "fr11", "fr12", "fr13", "fr14", "fr15", "fr16", "fr17", "fr18", "fr19", "fr20", \
      "fr21", "fr22", "fr23", "fr24", "fr25", "fr26", "fr27", "fr28", "fr29", "fr30", "fr31", "v0", "v1",   \
      "v2", "v3", "v4", "v5", "v6", "v7", "v8", "v9", "v10", "v11", "v12", "v13", "v14", "v15", "v16",      \
      "v17", "v18", "v19", "v20", "v21", "v22", "v23", "v24", "v25", "v26", "v27", "v28", "v29", "v30",     \
      "v31", "cr0", "cr1", "cr2", "cr3", "cr4", "cr5", "cr6", "cr7", "lr", "ctr", "xer", "memory"

#include "sennit/detail/arch/inline_verbs.h"

#endif
