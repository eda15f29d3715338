// Whatever a loop looks like, there is a check in it: these end only because one stops them.
// RUN: %stock_clang -O1 -c %s -o %t.runtime.o -DRUNTIME
// RUN: %sennit_clang -O0 %s %t.runtime.o -o %t -mllvm -sennit-polls && timeout 60 %t
// RUN: %sennit_clang -O2 %s %t.runtime.o -o %t -mllvm -sennit-polls && timeout 60 %t
// RUN: %sennit_clang -O2 %s %t.runtime.o -o %t -mllvm -sennit-polls -mllvm -sennit-polls-placement=ends && timeout 60 %t
// RUN: %sennit_clang -Os %s %t.runtime.o -o %t -mllvm -sennit-polls -mllvm -sennit-polls-placement=begin && timeout 60 %t
extern volatile int stop;
extern volatile int path;

#if defined(RUNTIME)
__thread volatile unsigned char sennit_yield_requested = 1;
volatile int stop, path;
void sennit_forced_yield(void) {
  stop = 1;
}
#else

static __attribute__((noinline)) void simple(void) {
  while (!stop) {
  }
}

static __attribute__((noinline)) void inner_only(void) {
  for (;;) {
    while (!stop) {
    }
    return;
  }
}

static __attribute__((noinline)) void around_an_inner_one(void) {
  for (int i = 0; !stop; ++i)
    for (int j = 0; j < path; ++j)  // of no rounds
      path = 0;
}

static __attribute__((noinline)) void two_ways_back(void) {
  for (;;) {
    if (stop)
      return;
    if (path == 1)
      continue;
    if (path == 2)
      path = 0;
  }
}

static __attribute__((noinline)) void two_entries(int inside) {
  if (inside)
    goto second;
first:
  if (stop)
    return;
  if (path == 3)
    path = 0;
second:
  if (stop)
    return;
  goto first;
}

static __attribute__((noinline)) void computed(void) {
  static void* const labels[] = {&&zero, &&one};
  goto* labels[path & 1];
zero:
  if (stop)
    return;
  goto* labels[path & 1];
one:
  if (stop)
    return;
  goto* labels[path & 1];
}

static __attribute__((noinline)) int tail(int n) {
  return stop ? n : tail(n + 1);
}

static __attribute__((noinline)) int from_assembly(void) {
  int sum = 0;
again:
  if (stop)
    return sum;
  __asm__ goto("" : : : : again);
  ++sum;
  goto again;
}

int main(void) {
  simple(), stop = 0;
  inner_only(), stop = 0;
  around_an_inner_one(), stop = 0;
  for (path = 0; path < 3; ++path)
    two_ways_back(), stop = 0;
  path = 0;
  two_entries(0), stop = 0;
  two_entries(1), stop = 0;
  computed(), stop = 0;
  path = 1;
  computed(), stop = 0;
  tail(0), stop = 0;
  from_assembly();
  return 0;
}
#endif
