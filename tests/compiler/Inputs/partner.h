/* The other side of a switch: hands back what it is handed, and leaves nothing in any register that it may
 * change. `partner` is where to go; calls on it nest as deep as the caller likes. */
#include <stdalign.h>

#include "sennit/detail/arch/context.h"

#define NOINLINE __attribute__((noinline))

static sennit_context partner;

static inline void trash(void) {
#if defined(__x86_64__)
  __asm__ volatile("movq $-1, %%rbx; movq $-2, %%r12; movq $-3, %%r13; movq $-4, %%r14; movq $-5, %%r15" ::
                       : "rbx", "r12", "r13", "r14", "r15", "rsi", "rdi", "rcx", "rdx", "r8", "r9", "r10",
                         "r11", "memory");
#else
  __asm__ volatile(
      "mov x19, #-1; mov x20, #-2; mov x21, #-3; mov x22, #-4; mov x23, #-5; mov x24, #-6; mov x25, #-7;"
      "mov x26, #-8; mov x27, #-9; mov x28, #-10; fmov d8, xzr; fmov d9, xzr; fmov d15, xzr" ::
          : "x19", "x20", "x21", "x22", "x23", "x24", "x25", "x26", "x27", "x28", "v8", "v9", "v15",
            "memory");
#endif
}

static void echo(sennit_context from, uintptr_t value, uintptr_t value1, uintptr_t value2, uintptr_t value3) {
  (void)value1, (void)value2, (void)value3;
  for (;;) {
    trash();
    sennit_transfer got = sennit_swapstack(from, value);
    from = got.from;
    value = got.value;
  }
}

static inline void make_partner(void) {
  alignas(64) static char stack[65536];
  partner = sennit_newstack(stack + sizeof stack, echo);
}

/* There and back. */
static inline long ask(long value) {
  sennit_transfer got = sennit_swapstack(partner, (uintptr_t)value);
  partner = got.from;
  return (long)got.value;
}
