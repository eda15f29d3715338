/* A program in C that is linked with a library of another build. */
#include "sennit/sennit.h"

int main(void) {
  return 0;
}
