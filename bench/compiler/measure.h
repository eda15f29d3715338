/* Included by the programs of this folder, which scripts/plugin_costs builds with and without an option. */
#include <stdint.h>
#include <stdio.h>
#include <time.h>

#define NOINLINE __attribute__((noinline))

typedef long loop(long n);

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

/* Prints what one of n rounds takes, the least of 60 runs, as "name<tab>nanoseconds". */
static void measure(const char* name, loop* go) {
  const long n = 200000;
  double least = 1e18;
  for (int run = 0; run < 60; ++run) {
    const double start = now();
    volatile long sum = go(n);
    (void)sum;
    const double taken = (now() - start) / (double)n;
    if (taken < least)
      least = taken;
  }
  printf("%s\t%.2f\n", name, least);
}
