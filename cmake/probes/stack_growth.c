/* In which direction stacks grow. Exit status 0: down; 1: up. */
#include <stdint.h>

static int is_above(volatile char* caller) {
  volatile char here = 0;
  return (uintptr_t)&here > (uintptr_t)caller;
}

static int (*volatile call)(volatile char*) = is_above; /* so that it has a frame of its own */

int main(void) {
  volatile char here = 0;
  return call(&here);
}
