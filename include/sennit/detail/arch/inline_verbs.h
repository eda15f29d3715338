/* The inline verbs, for instruction sets whose registers a compiler lets us choose by name. Included by their
 * headers, which define, all but the first group as strings of assembly that end in "\n\t":
 *
 *   SENNIT_FROM, SENNIT_VALUE0 to SENNIT_VALUE3, SENNIT_TARGET
 *                               names of registers: the leaver and the words, both ways; the target
 *   SENNIT_ASM_SAVE             suspend: write our record, whose resume address is label 1, and lower the
 *                               stack pointer to it
 *   SENNIT_ASM_TEST_EXCEPTIONS  go to label 2 when the exception globals are not zero
 *   SENNIT_ASM_TELL_SELF        FROM = our record; SENNIT_ASM_TELL_NOBODY: null
 *   SENNIT_ASM_STORE_SELF       store FROM where VALUE1 points
 *   SENNIT_ASM_ENTER            resume TARGET; what the asm has nowhere else to put (literals) goes after it
 *   SENNIT_ASM_JUMP(function)   jump to a function of src/arch/switch_<isa>.S
 *   SENNIT_ASM_BUSY(function)   label 2, and the jump
 *   SENNIT_ASM_RESUMED          label 1, where we resume
 *   SENNIT_CLOBBERS             what else changes
 *   SENNIT_VALUE4 to SENNIT_VALUE7, SENNIT_CLOBBERS_OF_8
 *                               if there are registers for eight words, which a call preserves and the slow
 *                               path does not use: these, and the clobbers without them
 *   SENNIT_CFI_RETURN_ADDRESS   the unwinder's number of the return address
 *
 * SENNIT_ASM_SAVE has SENNIT_CFI_AWAY after its write to the stack pointer, and SENNIT_ASM_RESUMED has
 * SENNIT_CFI_BACK at label 1: in between, a backtrace from a signal handler ends.
 *
 * The registers are those of the C ABI's first five arguments, in their order, so that a first entry needs no
 * moves, and TARGET any other.
 */
#ifndef SENNIT_DETAIL_ARCH_INLINE_VERBS_H
#define SENNIT_DETAIL_ARCH_INLINE_VERBS_H

/* DW_CFA_remember_state and DW_CFA_undefined; DW_CFA_restore_state. */
#define SENNIT_CFI_AWAY SENNIT_CFI("0x0a, 0x07, " SENNIT_CFI_RETURN_ADDRESS) "\n\t"
#define SENNIT_CFI_BACK SENNIT_CFI("0x0b")

SENNIT_ALWAYS_INLINE sennit_transfer sennit_swapstack(sennit_context target, uintptr_t value) {
  sennit_transfer out;
  register uintptr_t from __asm__(SENNIT_FROM);
  register uintptr_t value0 __asm__(SENNIT_VALUE0) = value;
  register sennit_context to __asm__(SENNIT_TARGET) = target;
  __asm__ volatile(
      SENNIT_ASM_SAVE SENNIT_ASM_TEST_EXCEPTIONS SENNIT_ASM_TELL_SELF SENNIT_ASM_ENTER SENNIT_ASM_BUSY(
          "sennit_swapstack_busy") SENNIT_ASM_RESUMED
      : "=&r"(from), "+r"(value0), "+r"(to)
      :
      : SENNIT_VALUE1, SENNIT_VALUE2, SENNIT_VALUE3, SENNIT_CLOBBERS);
  out.from = (sennit_context)from;
  out.value = value0;
  return out;
}

SENNIT_ALWAYS_INLINE sennit_transfer sennit_swapstack_raw(sennit_context target, uintptr_t value) {
  sennit_transfer out;
  register uintptr_t from __asm__(SENNIT_FROM);
  register uintptr_t value0 __asm__(SENNIT_VALUE0) = value;
  register sennit_context to __asm__(SENNIT_TARGET) = target;
  __asm__ volatile(SENNIT_ASM_SAVE SENNIT_ASM_TELL_SELF SENNIT_ASM_ENTER SENNIT_ASM_RESUMED
                   : "=&r"(from), "+r"(value0), "+r"(to)
                   :
                   : SENNIT_VALUE1, SENNIT_VALUE2, SENNIT_VALUE3, SENNIT_CLOBBERS);
  out.from = (sennit_context)from;
  out.value = value0;
  return out;
}

SENNIT_ALWAYS_INLINE sennit_transfer4 sennit_swapstack4(sennit_context target, uintptr_t value0,
                                                        uintptr_t value1, uintptr_t value2,
                                                        uintptr_t value3) {
  sennit_transfer4 out;
  register uintptr_t from __asm__(SENNIT_FROM);
  register uintptr_t v0 __asm__(SENNIT_VALUE0) = value0;
  register uintptr_t v1 __asm__(SENNIT_VALUE1) = value1;
  register uintptr_t v2 __asm__(SENNIT_VALUE2) = value2;
  register uintptr_t v3 __asm__(SENNIT_VALUE3) = value3;
  register sennit_context to __asm__(SENNIT_TARGET) = target;
  __asm__ volatile(
      SENNIT_ASM_SAVE SENNIT_ASM_TEST_EXCEPTIONS SENNIT_ASM_TELL_SELF SENNIT_ASM_ENTER SENNIT_ASM_BUSY(
          "sennit_swapstack_busy") SENNIT_ASM_RESUMED
      : "=&r"(from), "+r"(v0), "+r"(v1), "+r"(v2), "+r"(v3), "+r"(to)
      :
      : SENNIT_CLOBBERS);
  out.from = (sennit_context)from;
  out.value[0] = v0;
  out.value[1] = v1;
  out.value[2] = v2;
  out.value[3] = v3;
  return out;
}

#if defined(SENNIT_VALUE7)
#define SENNIT_HAS_SWAPSTACK8 1
SENNIT_ALWAYS_INLINE sennit_transfer8 sennit_swapstack8(sennit_context target, uintptr_t value0,
                                                        uintptr_t value1, uintptr_t value2, uintptr_t value3,
                                                        uintptr_t value4, uintptr_t value5, uintptr_t value6,
                                                        uintptr_t value7) {
  sennit_transfer8 out;
  register uintptr_t from __asm__(SENNIT_FROM);
  register uintptr_t v0 __asm__(SENNIT_VALUE0) = value0;
  register uintptr_t v1 __asm__(SENNIT_VALUE1) = value1;
  register uintptr_t v2 __asm__(SENNIT_VALUE2) = value2;
  register uintptr_t v3 __asm__(SENNIT_VALUE3) = value3;
  register uintptr_t v4 __asm__(SENNIT_VALUE4) = value4;
  register uintptr_t v5 __asm__(SENNIT_VALUE5) = value5;
  register uintptr_t v6 __asm__(SENNIT_VALUE6) = value6;
  register uintptr_t v7 __asm__(SENNIT_VALUE7) = value7;
  register sennit_context to __asm__(SENNIT_TARGET) = target;
  __asm__ volatile(
      SENNIT_ASM_SAVE SENNIT_ASM_TEST_EXCEPTIONS SENNIT_ASM_TELL_SELF SENNIT_ASM_ENTER SENNIT_ASM_BUSY(
          "sennit_swapstack_busy") SENNIT_ASM_RESUMED
      : "=&r"(from), "+r"(v0), "+r"(v1), "+r"(v2), "+r"(v3), "+r"(v4), "+r"(v5), "+r"(v6), "+r"(v7), "+r"(to)
      :
      : SENNIT_CLOBBERS_OF_8);
  out.from = (sennit_context)from;
  out.value[0] = v0;
  out.value[1] = v1;
  out.value[2] = v2;
  out.value[3] = v3;
  out.value[4] = v4;
  out.value[5] = v5;
  out.value[6] = v6;
  out.value[7] = v7;
  return out;
}
#endif

/* `forget`: the code that hides the leaver from the target. */
#define SENNIT_DEFINE_SAVING(verb, forget)                                                                  \
  SENNIT_ALWAYS_INLINE sennit_transfer verb(sennit_context target, uintptr_t value, sennit_context* self) { \
    sennit_transfer out;                                                                                    \
    register uintptr_t from __asm__(SENNIT_FROM);                                                           \
    register uintptr_t value0 __asm__(SENNIT_VALUE0) = value;                                               \
    register sennit_context* place __asm__(SENNIT_VALUE1) = self;                                           \
    register sennit_context to __asm__(SENNIT_TARGET) = target;                                             \
    __asm__ volatile(SENNIT_ASM_SAVE SENNIT_ASM_TEST_EXCEPTIONS SENNIT_ASM_TELL_SELF SENNIT_ASM_STORE_SELF  \
                         forget SENNIT_ASM_ENTER SENNIT_ASM_BUSY(#verb "_busy") SENNIT_ASM_RESUMED          \
                     : "=&r"(from), "+r"(value0), "+r"(place), "+r"(to)                                     \
                     :                                                                                      \
                     : SENNIT_VALUE2, SENNIT_VALUE3, SENNIT_CLOBBERS);                                      \
    out.from = (sennit_context)from;                                                                        \
    out.value = value0;                                                                                     \
    return out;                                                                                             \
  }

SENNIT_DEFINE_SAVING(sennit_swapstack_linking, "")
SENNIT_DEFINE_SAVING(sennit_swapstack_filed, SENNIT_ASM_TELL_NOBODY)

SENNIT_ALWAYS_INLINE uintptr_t sennit_suspend(void* stack, sennit_scheduler_step step, void* argument) {
  register uintptr_t value0 __asm__(SENNIT_VALUE0) = (uintptr_t)argument;
  register void* place __asm__(SENNIT_VALUE1) = stack;
  register sennit_scheduler_step scheduler_step __asm__(SENNIT_TARGET) = step;
  __asm__ volatile(SENNIT_ASM_SAVE SENNIT_ASM_TEST_EXCEPTIONS SENNIT_ASM_JUMP("sennit_suspend_dispatch")
                       SENNIT_ASM_BUSY("sennit_suspend_busy") SENNIT_ASM_RESUMED
                   : "+r"(value0), "+r"(place), "+r"(scheduler_step)
                   :
                   : SENNIT_FROM, SENNIT_VALUE2, SENNIT_VALUE3, SENNIT_CLOBBERS);
  return value0;
}

SENNIT_ALWAYS_INLINE __attribute__((noreturn)) void sennit_leave(sennit_context target, uintptr_t value) {
  register uintptr_t value0 __asm__(SENNIT_VALUE0) = value;
  register sennit_context to __asm__(SENNIT_TARGET) = target;
  __asm__ volatile(SENNIT_CFI_AWAY SENNIT_ASM_TELL_NOBODY SENNIT_ASM_ENTER SENNIT_CFI_BACK
                   :
                   : "r"(value0), "r"(to)
                   : "memory");
  __builtin_unreachable();
}

#endif
