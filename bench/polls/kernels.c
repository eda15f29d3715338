// Loops whose run time is compared, with checks and without. Prints a line for each: its name, and how long
// it took, in ns, the least of many times; argv[1]: how many ms each of these lasts, which is more than a
// period of what makes it give way. argv[1], argv[2]: runs the kernel of that name so
// often, to be counted.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { size = 4096 };
static double doubles[size], others[size];
static int ints[size];
static unsigned char bytes[size];
static volatile double sink;

static double dot(void) {
  double sum = 0;
  for (int i = 0; i < size; ++i)
    sum += doubles[i] * others[i];
  return sum;
}

static double add_ints(void) {
  int sum = 0;
  for (int i = 0; i < size; ++i)
    sum += ints[i] * 3;
  return sum;
}

static double crc(void) {
  uint32_t value = ~0u;
  for (int i = 0; i < size; ++i) {
    value ^= bytes[i];
    for (int bit = 0; bit < 8; ++bit)
      value = value >> 1 ^ (0xedb88320 & -(value & 1));
  }
  return value;
}

static double matrix(void) {
  static double product[32][32];
  for (int i = 0; i < 32; ++i)
    for (int j = 0; j < 32; ++j) {
      double sum = 0;
      for (int k = 0; k < 32; ++k)
        sum += doubles[i * 32 + k] * others[k * 32 + j];
      product[i][j] = sum;
    }
  return product[3][5];
}

static double sieve(void) {
  memset(bytes, 1, size);
  int primes = 0;
  for (int i = 2; i < size; ++i)
    if (bytes[i]) {
      ++primes;
      for (int j = 2 * i; j < size; j += i)
        bytes[j] = 0;
    }
  return primes;
}

static double find(void) {
  const int wanted = size - 1;
  int i = 0;
  while (i < size && ints[i] != wanted)
    ++i;
  return i;
}

static struct node {
  struct node* next;
} nodes[size];

static double list(void) {
  int length = 0;
  for (const struct node* each = nodes; each != NULL; each = each->next)
    ++length;
  return length;
}

static __attribute__((noinline)) unsigned fibonacci_of(unsigned n) {
  return n < 2 ? n : fibonacci_of(n - 1) + fibonacci_of(n - 2);
}
static double fibonacci(void) {
  return fibonacci_of(18);
}

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

int main(int argc, char** argv) {
  const double long_enough = (argc == 2 ? atof(argv[1]) : 2) * 1e6;
  static const struct {
    const char* name;
    double (*run)(void);
  } kernels[] = {{"dot", dot},     {"add_ints", add_ints}, {"crc", crc},   {"matrix", matrix},
                 {"sieve", sieve}, {"find", find},         {"list", list}, {"fibonacci", fibonacci}};
  for (int i = 0; i < size; ++i) {
    doubles[i] = i * 0.5;
    others[i] = size - i;
    ints[i] = i;
    bytes[i] = (unsigned char)i;
    nodes[i].next = i + 1 < size ? &nodes[i + 1] : NULL;
  }
  for (unsigned k = 0; k < sizeof kernels / sizeof *kernels; ++k) {
    double (*volatile run)(void) = kernels[k].run;
    if (argc == 3) {
      for (int round = strcmp(argv[1], kernels[k].name) == 0 ? atoi(argv[2]) : 0; round > 0; --round)
        sink = run();
      continue;
    }
    double least = 1e18;
    long count = 1;
    for (int round = 0; round < 20;) {
      const double begin = now();
      for (long i = 0; i < count; ++i)
        sink = run();
      const double taken = now() - begin;
      if (taken < long_enough) {
        count = 2 * count;
        continue;
      }
      ++round;
      least = taken / (double)count < least ? taken / (double)count : least;
    }
    printf("%s %.1f\n", kernels[k].name, least);
  }
  return 0;
}
