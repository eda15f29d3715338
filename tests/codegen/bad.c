/* What the check must not let pass. */
#include "sennit/detail/arch/context.h"

extern int some_condition;
extern long global_var;
extern long global_var_two;
extern void other_function(int x);

#define LARGE_CONST 0x0123456789abcdefL

/* A switch behind a call. */
void calls(int x, sennit_context other);
void calls(int x, sennit_context other) {
  while (some_condition) {
    other = sennit_swapstack_call(other, 0).from;
    other = sennit_swapstack(other, 0).from;
  }
  other_function(x);
}

/* A switch with no loop of its own: the loop is in the caller. */
sennit_context __attribute__((noinline)) wrapped(sennit_context other);
sennit_context __attribute__((noinline)) wrapped(sennit_context other) {
  return sennit_swapstack(other, 0).from;
}

/* x is kept in memory, and touched in each round. */
void spills_in_loop(int x, sennit_context other);
void spills_in_loop(int x, sennit_context other) {
  volatile int kept = x;
  while (some_condition) {
    other = sennit_swapstack(other, 0).from;
    kept = kept;
  }
  other_function(x);
}

/* Something is saved in each round that nobody reads. */
void spills_dead_value(int x, sennit_context other);
void spills_dead_value(int x, sennit_context other) {
  __attribute__((unused)) volatile long dead;
  while (some_condition) {
    dead = 5;
    other = sennit_swapstack(other, 0).from;
  }
  other_function(x);
}

/* A constant that the compiler may not compute again. */
void constant_in_memory(int x, sennit_context other);
void constant_in_memory(int x, sennit_context other) {
  long one = LARGE_CONST, two = LARGE_CONST + 1, three = LARGE_CONST + 2;
  __asm__("" : "+r"(one), "+r"(two), "+r"(three));
  while (some_condition) {
    global_var = one;
    other = sennit_swapstack(other, 0).from;
    global_var = two;
    global_var_two = three;
  }
  other_function(x);
}

/* Leaves by a return. */
#undef SENNIT_ASM_ENTER
#define SENNIT_ASM_ENTER  \
  "movq %%rax, %%rsp\n\t" \
  "ret\n\t"

void leaves_by_return(int x, sennit_context target);
void leaves_by_return(int x, sennit_context target) {
  while (some_condition) {
    uintptr_t value = 0;
    sennit_context from;
    __asm__ volatile(SENNIT_ASM_SAVE SENNIT_ASM_TEST_EXCEPTIONS SENNIT_ASM_ENTER SENNIT_ASM_BUSY(
                         "sennit_swapstack_busy") SENNIT_ASM_RESUMED
                     : "+a"(target), "=&D"(from), "+S"(value)
                     :
                     : "rdx", "rcx", "r8", SENNIT_CLOBBERS);
    target = from;
  }
  other_function(x);
}
