/* Dolan 2013, section 3.4: what a compiler that knows the switch makes of values that live across it. */
#include "sennit/detail/arch/context.h"

extern int some_condition;
extern long global_var;
extern long global_var_two;
extern long global_var_three;
extern void other_function(int x);

#define LARGE_CONST 0x0123456789abcdefL

/* The paper's function. x is not used in the loop: one spill before it, one restore after it. */
void foo(int x, sennit_context other);
void foo(int x, sennit_context other) {
  while (some_condition) {
    long local = LARGE_CONST;
    global_var = local;
    other = sennit_swapstack(other, 0).from; /* yield; */
    global_var = local;
  }
  other_function(x);
}

/* The paper's switch keeps no register, so the paper's constant is loaded anew after it. Ours keeps two (rbx
 * and rbp, which compilers cannot be trusted with): of three constants, at least one must be loaded anew. */
void foo_three(int x, sennit_context other);
void foo_three(int x, sennit_context other) {
  while (some_condition) {
    long local = LARGE_CONST;
    long local_two = LARGE_CONST ^ 0x1111111111111111L;
    long local_three = LARGE_CONST ^ 0x2222222222222222L;
    global_var = local;
    global_var_two = local_two;
    global_var_three = local_three;
    other = sennit_swapstack(other, 0).from;
    global_var = local;
    global_var_two = local_two;
    global_var_three = local_three;
  }
  other_function(x);
}

extern double global_double;

/* No floating-point register outlives a switch: the constant is loaded anew, and not from our frame. */
void foo_double(int x, sennit_context other);
void foo_double(int x, sennit_context other) {
  while (some_condition) {
    double local = 3.14159;
    global_double = local;
    other = sennit_swapstack(other, 0).from;
    global_double = local;
  }
  other_function(x);
}

extern sennit_context next_context;
extern sennit_context own_context;

/* The same by the switch that stores who left. */
void foo_saving(int x);
void foo_saving(int x) {
  while (some_condition) {
    global_var = LARGE_CONST;
    sennit_swapstack_saving(next_context, 0, &own_context);
    global_var = LARGE_CONST;
  }
  other_function(x);
}
