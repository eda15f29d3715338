/* A unit between two functions of another: only the link sees who calls whom. */
#include <stdalign.h>

__attribute__((noinline)) long middle(long value);
__attribute__((noinline)) long in_dynamic_frame(long value);
long switches(long value);
long switches_too(long value);

long middle(long value) {
  return switches(value) + 1;
}

/* Inlined at the link into a function that had no base pointer when it was compiled. */
__attribute__((always_inline)) inline long with_base_pointer(long value) {
  alignas(64) volatile char aligned[64];
  volatile char* dynamic = __builtin_alloca((unsigned long)value);
  aligned[value] = 1;
  dynamic[value - 1] = 2;
  const long answer = switches_too(value);
  return answer + aligned[value] + dynamic[value - 1];
}
long in_dynamic_frame(long value) {
  return with_base_pointer(value);
}
