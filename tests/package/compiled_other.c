/* A part of that program which is compiled without. */
int keeps_values(int (*call)(int), int n);

int keeps_values(int (*call)(int), int n) {
  int a = n + 1, b = n + 2, c = n + 3, d = n + 4;
  __asm__ volatile("" : "+r"(a), "+r"(b), "+r"(c), "+r"(d));
  int sum = call(n);
  sum += call(a);
  return sum + a + b + c + d + 2 * n;
}
