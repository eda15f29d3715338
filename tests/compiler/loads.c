// The plugin loads, and without options changes nothing.
// RUN: %sennit_clang -O2 -S %s -o %t.with.s
// RUN: %stock_clang -O2 -S %s -o %t.without.s
// RUN: diff %t.with.s %t.without.s
int twice(int n) {
  int sum = 0;
  for (int i = 0; i < n; ++i)
    sum += i * n;
  return sum;
}
