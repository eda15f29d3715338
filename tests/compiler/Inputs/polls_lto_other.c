/* Compiled with checks: functions that the link sees from the first unit. */
#if defined(DATA_ALONE)
int table[4] = {1, 2, 3, 4};
#elif defined(DEAD)
int in_dead_unit = 1;
static __attribute__((unused)) int never_called(int n) {
  return n + in_dead_unit;
}
int called_by_nobody(int n);
int called_by_nobody(int n) {
  return never_called(n);
}
#else
int count_to(volatile int* most);
int bounded(volatile int* cells);
int calls_bounded(volatile int* cells);

int count_to(volatile int* most) {
  int i = 0;
  while (i < *most)
    ++i;
  return i;
}

__attribute__((noinline)) int bounded(volatile int* cells) {
  int sum = 0;
  for (int i = 0; i < 20; ++i)
    sum += cells[i] + 1;
  return sum;
}

__attribute__((noinline)) int calls_bounded(volatile int* cells) {
  return bounded(cells);
}
#endif
