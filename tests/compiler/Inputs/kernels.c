// Loops of all kinds, each with a result that depends on everything it keeps in registers.
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { size = 200 };
static float floats[size];
static double doubles[size];
static int ints[size];
static unsigned char bytes[size];

static __attribute__((noinline)) double dot(const double* a, const double* b, int n) {
  double sum = 0;
  for (int i = 0; i < n; ++i)
    sum += a[i] * b[i];
  return sum;
}

static __attribute__((noinline)) int many(const int* p, int n, int a, int b, int c, int d, int e, int f) {
  int g = 1, h = 2, i = 3, j = 4, k = 5, l = 6;
  for (int x = 0; x < n; ++x) {
    a += p[x] ^ b, b += c * 3, c ^= d + x, d -= e, e += f ^ x, f += g, g ^= h, h += i, i -= j, j += k ^ a;
    k += l, l ^= a + x;
  }
  return a ^ b ^ c ^ d ^ e ^ f ^ g ^ h ^ i ^ j ^ k ^ l;
}

static __attribute__((noinline)) void saxpy(float* y, const float* x, float a, int n) {
  for (int i = 0; i < n; ++i)
    y[i] = y[i] * 0.5f + a * x[i];
}

static __attribute__((noinline)) int conditional_max(const int* p, const unsigned char* mask, int n) {
  int best = -1;
  for (int i = 0; i < n; ++i)
    if (mask[i] & 1)
      best = p[i] > best ? p[i] : best;
  return best;
}

static __attribute__((noinline)) double matrix(int n) {
  double a[8][8], b[8][8], c[8][8];
  for (int i = 0; i < 8; ++i)
    for (int j = 0; j < 8; ++j)
      a[i][j] = i + j * 0.5, b[i][j] = i - j * 0.25, c[i][j] = 0;
  for (int round = 0; round < n; ++round)
    for (int i = 0; i < 8; ++i)
      for (int j = 0; j < 8; ++j)
        for (int k = 0; k < 8; ++k)
          c[i][j] += a[i][k] * b[k][j];
  return c[3][5] + c[7][1];
}

static __attribute__((noinline)) long double series(int n) {
  long double sum = 0, term = 1;
  for (int i = 1; i < n; ++i) {
    term = term * 0.9L + 1.0L / i;
    sum += term;
  }
  return sum;
}

// The carry lives in the flags from one step to the next, where the compiler keeps it there.
static __attribute__((noinline)) void add_long(uint64_t* a, const uint64_t* b, int words) {
  unsigned char carry = 0;
  for (int i = 0; i < words; ++i) {
    unsigned long long out;
#if defined(__x86_64__)
    carry = __builtin_ia32_addcarryx_u64(carry, a[i], b[i], &out);
#else
    unsigned long long next;
    out = __builtin_addcll(a[i], b[i], carry, &next);
    carry = (unsigned char)next;
#endif
    a[i] = out;
  }
}

// It does for certain here: there is no place where the flags are dead.
static __attribute__((noinline)) uint64_t flags_live(uint64_t* a, const uint64_t* b, uint64_t words) {
  uint64_t i = 0, carry = 0;
  int below;
#if defined(__x86_64__)
  __asm__ volatile("clc" : "=@ccb"(below));
#else
  __asm__ volatile("adds xzr, xzr, xzr" : "=@cccs"(below));
#endif
  do {
#if defined(__x86_64__)
    __asm__ volatile(
        "btq $0, %[carry]\n\tmovq (%[b],%[i],8), %%r8\n\tadcq %%r8, (%[a],%[i],8)\n\tsetb %b[carry]"
        : [carry] "+r"(carry)
        : [a] "r"(a), [b] "r"(b), [i] "r"(i)
        : "r8", "cc", "memory");
#else
    uint64_t sum, added;
    __asm__ volatile(
        "cmp %[carry], #1\n\tldr %[sum], [%[a],%[i],lsl #3]\n\tldr %[added], [%[b],%[i],lsl #3]\n\t"
        "adcs %[sum], %[sum], %[added]\n\tstr %[sum], [%[a],%[i],lsl #3]\n\tcset %[carry], cs"
        : [carry] "+r"(carry), [sum] "=&r"(sum), [added] "=&r"(added)
        : [a] "r"(a), [b] "r"(b), [i] "r"(i)
        : "cc", "memory");
#endif
  } while (++i != words);
  return carry + (unsigned)below;
}

static __attribute__((noinline)) int sum_of(int n, ...) {
  va_list list;
  va_start(list, n);
  int sum = 0;
  while (n-- > 0)
    sum = sum * 3 + (n % 2 ? (int)va_arg(list, double) : va_arg(list, int));
  va_end(list);
  return sum;
}

static __attribute__((noinline)) int red_zone(int n) {
  volatile int local[20];
  for (int i = 0; i < 20; ++i)
    local[i] = i * n;
  int sum = 0;
  for (int i = 0; i < 20; ++i)
    sum = sum * 5 + local[i];
  return sum;
}

static __attribute__((noinline)) int on_stack(int n) {
  int variable[n];
  _Alignas(64) int aligned[32];
  for (int i = 0; i < n; ++i)
    variable[i] = i ^ n;
  for (int i = 0; i < 32; ++i)
    aligned[i] = variable[i % n];
  int sum = (uintptr_t)aligned % 64 == 0;
  for (int i = 0; i < 32; ++i)
    sum = sum * 7 + aligned[i];
  return sum;
}

static __attribute__((noinline)) unsigned ackermann(unsigned m, unsigned n) {
  return m == 0 ? n + 1 : n == 0 ? ackermann(m - 1, 1) : ackermann(m - 1, ackermann(m, n - 1));
}

static int is_odd(unsigned n);
static __attribute__((noinline)) int is_even(unsigned n) {
  return n == 0 ? 1 : is_odd(n - 1);
}
static __attribute__((noinline)) int is_odd(unsigned n) {
  return n == 0 ? 0 : is_even(n - 1);
}

static __attribute__((noinline)) double fibonacci(double n) {
  return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
}

// A cycle with two entries.
static __attribute__((noinline)) int irreducible(int n, int begin_inside) {
  int sum = 0;
  if (begin_inside)
    goto inside;
outside:
  sum = sum * 3 + n;
inside:
  sum ^= n * 5;
  if (--n > 0) {
    if (n % 3)
      goto outside;
    goto inside;
  }
  return sum;
}

static __attribute__((noinline)) int threaded(const unsigned char* code, int steps) {
  static void* const labels[] = {&&add, &&shift, &&flip, &&next};
  int at = 0, value = 1;
#define STEP                                      \
  do {                                            \
    if (steps-- == 0)                             \
      return value;                               \
    goto* labels[code[at = (at + 1) % size] % 4]; \
  } while (0)
  STEP;
add:
  value += at;
  STEP;
shift:
  value = (int)((unsigned)value << 1 | (unsigned)value >> 31);
  STEP;
flip:
  value ^= 0x1234;
  STEP;
next:
  at += 3;
  STEP;
}

static __attribute__((noinline)) int jumps(int n) {
  jmp_buf back;
  volatile int sum = 0;
  if (setjmp(back) < n) {
    for (int i = 0; i < n; ++i)
      sum = sum * 3 + i;
    longjmp(back, sum % 100 < 0 ? n : n);
  }
  return sum;
}

static int by_value(const void* one, const void* other) {
  return *(const int*)one - *(const int*)other;
}

static __attribute__((noinline)) uint32_t crc(const unsigned char* p, int n) {
  uint32_t value = ~0u;
  for (int i = 0; i < n; ++i) {
    value ^= p[i];
    for (int bit = 0; bit < 8; ++bit)
      value = value >> 1 ^ (0xedb88320 & -(value & 1));
  }
  return ~value;
}

int main(void) {
  for (int i = 0; i < size; ++i) {
    ints[i] = (int)((unsigned)i * 2654435761u >> 7) % 1000;
    floats[i] = (float)i / 7;
    doubles[i] = i * 0.37;
    bytes[i] = (unsigned char)(i * 37 + i / 5);
  }
  printf("%.17g\n", dot(doubles, doubles, size));
  printf("%d\n", many(ints, size, 1, 2, 3, 4, 5, 6));
  for (int i = 0; i < 20; ++i)
    saxpy(floats, floats, 0.25f, size - i);
  printf("%.9g %.9g\n", floats[3], floats[size - 1]);
  printf("%d\n", conditional_max(ints, bytes, size));
  printf("%.17g\n", matrix(5));
  printf("%.19Lg\n", series(200));
  uint64_t a[9], b[9];
  for (unsigned i = 0; i < 9; ++i)
    a[i] = ~0ull - i, b[i] = 0x123456789abcdefull * (i + 1);
  add_long(a, b, 9);
  const unsigned long long carry = flags_live(a, b, 9);
  printf("%llx %llx %llu\n", (unsigned long long)a[4], (unsigned long long)a[8], carry);
  printf("%d\n", sum_of(6, 1.0, 2, 3.0, 4, 5.0, 6));
  printf("%d %d\n", red_zone(7), on_stack(13));
  printf("%u %d %g\n", ackermann(2, 3), is_even(101), fibonacci(14));
  printf("%d %d\n", irreducible(50, 0), irreducible(50, 1));
  printf("%d %d\n", threaded(bytes, 500), jumps(5));
  qsort(ints, size, sizeof *ints, by_value);
  printf("%d %d %08x\n", ints[0], ints[size / 2], crc(bytes, size));
  return 0;
}
