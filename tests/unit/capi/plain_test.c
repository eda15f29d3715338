/* C code that is compiled without -fexceptions: its frames are unwound, and nothing in them is cleaned up. */
#include "check.h"

static void count_cleanup(int** count) {
  ++**count;
}

void plain_park(void* argument) {
  int* count __attribute__((cleanup(count_cleanup), unused)) = (int*)argument;
  sennit_self_park();
}
