/* Whether libc's makecontext works: some libcs have had one that only fails. Exit status 0: it does. */
#include <ucontext.h>

static ucontext_t home, other;
static char stack[65536];
static int steps;

static void enter(int first, int second) {
  if (first == 0x12345678 && second == -2)
    steps = 1;
  if (swapcontext(&other, &home) != 0)
    steps = 0;
  steps *= 2; /* and returns to `home` */
}

int main(void) {
  if (getcontext(&other) != 0)
    return 1;
  other.uc_stack.ss_sp = stack;
  other.uc_stack.ss_size = sizeof stack;
  other.uc_link = &home;
  makecontext(&other, (void (*)(void))enter, 2, 0x12345678, -2);
  if (swapcontext(&home, &other) != 0 || steps != 1)
    return 2;
  if (swapcontext(&home, &other) != 0 || steps != 2)
    return 3;
  return 0;
}
