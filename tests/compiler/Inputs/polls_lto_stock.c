/* Compiled without checks. */
int stock_count_to(volatile int* most);
int stock_inlined(volatile int* most);

__attribute__((noinline)) int stock_count_to(volatile int* most) {
  int i = 0;
  while (i < *most * 2)
    ++i;
  return i;
}

int stock_inlined(volatile int* most) {
  int i = 0;
  while (i < 2 * *most)
    ++i;
  return i;
}
