/* C code that is compiled without unwind tables. */
#include "check.h"

void bare_park(void* argument) {
  (void)argument;
  sennit_self_park();
  sennit_self_yield(); /* no tail call above */
}
