/* What every backend does on every CPU, in C: the program that scripts/portability builds for each cell of
 * its table. Prints a line per check; status 0 if none failed. `program times` prints what 10,000 creations
 * and 10,000 switches take instead. */
#undef _FORTIFY_SOURCE /* its longjmp refuses to leave for another stack */

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "sennit/detail/arch/signalstack_backend.h"
#include "sennit/mctx.h"
#include "sennit/swapstack.h"

#define EXPECT(condition) \
  do {                    \
    if (!(condition))     \
      return __LINE__;    \
  } while (0)

#define NOINLINE __attribute__((noinline))

/* Each check returns 0, or the line that is wrong. tests/unit/arch/mctx_test.c: */
int mctx_switches(void);
int mctx_saves(void);
int mctx_saved_on_other_stacks(void);
int mctx_masks(void);
int mctx_fp_control(void);
int mctx_errors(void);
void* mctx_suspend(void);
int mctx_resume(void* suspended);
/* exceptions.cpp: */
int exceptions_stay_in_their_contexts(void);

enum { stack_size = 1 << 18, contexts = 10000 };

static _Alignas(64) char stacks[3][stack_size];

/* Whichever way stacks grow. */
static sennit_context create(void* stack, size_t size, sennit_entry entry) {
#if defined(SENNIT_BACKEND_SIGNALSTACK)
  sennit_context made;
  return sennit_signalstack_make(&made, stack, size, entry) == 0 ? made : NULL;
#elif defined(SENNIT_BACKEND_UCONTEXT)
  return sennit_ucontext_make(stack, size, entry);
#else
  return sennit_newstack((char*)stack + size - 64, entry);
#endif
}

/* ---- Words are handed over, by every verb. ---- */

static void give_back(sennit_context from, uintptr_t a, uintptr_t b, uintptr_t c, uintptr_t d) {
  while (a != 0) {
    const sennit_transfer4 in = sennit_swapstack4(from, a + 1, b + 2, c + 3, d + 4);
    from = in.from;
    a = in.value[0], b = in.value[1], c = in.value[2], d = in.value[3];
  }
  for (int i = 0; i < 3; ++i) {
    const sennit_transfer in = i == 0   ? sennit_swapstack(from, b)
                               : i == 1 ? sennit_swapstack_call(from, b)
                                        : sennit_swapstack_raw(from, b);
    from = in.from;
    b = in.value * 3;
  }
  sennit_leave(from, b);
}

static int values(void) {
  const uintptr_t wide = (uintptr_t)0x89abcdef01234567;
  sennit_transfer4 in = {create(stacks[0], stack_size, give_back), {1, 2, 3, wide}};
  EXPECT(in.from != NULL);
  for (uintptr_t i = 1; i <= 1000; ++i) {
    in = sennit_swapstack4(in.from, in.value[0], in.value[1], in.value[2], in.value[3]);
    EXPECT(in.value[0] == 1 + i && in.value[1] == 2 + 2 * i && in.value[2] == 3 + 3 * i &&
           in.value[3] == wide + 4 * i);
  }
  in = sennit_swapstack4(in.from, 0, 7, 0, 0);
  EXPECT(in.value[0] == 7);
  sennit_transfer one = sennit_swapstack(in.from, 8);
  EXPECT(one.value == 24);
  one = sennit_swapstack_call(one.from, wide);
  EXPECT(one.value == wide * 3);
  one = sennit_swapstack_raw(one.from, 10);
  EXPECT(one.value == 30 && one.from == NULL);
  return 0;
}

/* ---- Larger values are handed over in the leaver's frame. ---- */

struct large {
  char text[200];
  uintptr_t number;
};

SENNIT_SWAPSTACK(give_large, struct large, struct large)

SENNIT_SWAPSTACK_ENTRY(increment, struct large) {
  for (;;) {
    ++value.number;
    value.text[199] = value.text[0];
    const give_large_transfer got = give_large(from, value);
    from = got.from;
    value = got.value;
  }
}

static int large_values(void) {
  struct large sent = {"a", 7};
  sennit_context c = create(stacks[0], stack_size, increment);
  EXPECT(c != NULL);
  for (int i = 0; i < 100; ++i) {
    sent.text[0] = (char)('a' + i % 26);
    const give_large_transfer got = give_large(c, sent);
    c = got.from;
    EXPECT(got.value.number == 8 + (uintptr_t)i && got.value.text[199] == sent.text[0] &&
           sent.text[199] == 0);
    sent.number = got.value.number;
  }
  return 0;
}

/* ---- Many contexts at once. ---- */

static struct sennit_mctx home;
static struct sennit_mctx* all;
static int entered, resumed;

static void enter_and_resume(void* mine) {
  ++entered;
  sennit_mctx_switch(mine, &home);
  ++resumed;
  sennit_mctx_restore(&home);
}

static int ten_thousand_contexts(void) {
  const size_t size = (sennit_mctx_least_stack() + 12288 + 16383) / 16384 * 16384;
  char* const memory =
      mmap(NULL, size * contexts, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  EXPECT(memory != MAP_FAILED);
  all = calloc(contexts, sizeof *all);
  EXPECT(all != NULL);
  entered = resumed = 0;
  for (int i = 0; i < contexts; ++i)
    EXPECT(sennit_mctx_create(&all[i], enter_and_resume, &all[i], memory + size * i, size, 0) == 0);
  for (int round = 0; round < 2; ++round)
    for (int i = 0; i < contexts; ++i)
      sennit_mctx_switch(&home, &all[i]);
  EXPECT(entered == contexts && resumed == contexts);
  free(all);
  munmap(memory, size * contexts);
  return 0;
}

/* ---- Deep recursion, with a switch at every depth. ---- */

enum { depth = 10000 };

static struct sennit_mctx deep;

static NOINLINE long recurse(long left) {
  sennit_mctx_switch(&deep, &home);
  return left == 0 ? 0 : left + recurse(left - 1);
}

static void begin_to_recurse(void* sum) {
  *(long*)sum = recurse(depth);
  sennit_mctx_restore(&home);
}

static int deep_recursion(void) {
  const size_t size = 16 << 20;
  long sum = 0;
  char* const memory = malloc(size);
  EXPECT(memory != NULL && sennit_mctx_create(&deep, begin_to_recurse, &sum, memory, size, 0) == 0);
  for (int i = 0; i <= depth + 1; ++i) {
    EXPECT(sum == 0);
    sennit_mctx_switch(&home, &deep);
  }
  EXPECT(sum == depth * (depth + 1L) / 2);
  free(memory);
  return 0;
}

/* ---- Floating-point and integer registers that calls preserve: the same bits as without switches. ---- */

struct numbers {
  double d[8];
  float f[4];
  long l[8];
};

static struct sennit_mctx computing[2];
static struct numbers results[2];
static int turn;

static NOINLINE void no_switch(void) {
  __asm__ volatile("" ::: "memory");
}

static NOINLINE void take_turns(void) {
  const int mine = turn;
  turn = 1 - mine;
  sennit_mctx_switch(&computing[mine], &computing[1 - mine]);
}

/* All of it alive across every call, so that the compiler puts what it can into registers that calls keep. */
static NOINLINE void compute(double seed, void (*go)(void), struct numbers* out) {
  double a = seed, b = seed * 3, c = seed / 7, d = 1 - seed, e = seed + 0.1, f = seed * seed, g = 2, h = 5;
  float p = (float)seed, q = p * 3, r = p / 7, s = 1 - p;
  long i = (long)(seed * 1000), j = i + 1, k = i * 3, l = ~i, m = i ^ 0x5a5a, n = 7, o = i - 9, t = 11;
  for (int step = 0; step < 1000; ++step) {
    go();
    a = 3.9 * (a - a * a), b = b / 3 + a, c = c * 0.5 + b, d = (d - c) / 3, e = e * 0.25 + d;
    f = (f + e) / 7, g = g / 2 + f, h = (h + g) * 0.3;
    go();
    p = p / 3 + (float)a, q = q / 2 + p, r = (r - q) / 7, s = s * 0.25f + r;
    i = i * 33 ^ j, j += k, k ^= l >> 3, l = l * 5 + m, m -= n, n ^= o, o += t, t = t * 3 + i;
  }
  const struct numbers result = {{a, b, c, d, e, f, g, h}, {p, q, r, s}, {i, j, k, l, m, n, o, t}};
  *out = result;
}

static void compute_in_turns(void* number) {
  const int mine = *(int*)number;
  compute(0.3 + mine * 0.2, take_turns, &results[mine]);
  turn = 1 - mine;
  if (mine == 0)
    sennit_mctx_restore(&computing[1]);
  sennit_mctx_restore(&home);
}

static int registers(void) {
  static int number[2] = {0, 1};
  struct numbers expected[2];
  for (int i = 0; i < 2; ++i) {
    compute(0.3 + i * 0.2, no_switch, &expected[i]);
    EXPECT(sennit_mctx_create(&computing[i], compute_in_turns, &number[i], stacks[i], stack_size, 0) == 0);
  }
  turn = 0;
  sennit_mctx_switch(&home, &computing[0]);
  for (int i = 0; i < 2; ++i) {
    EXPECT(memcmp(results[i].d, expected[i].d, sizeof expected[i].d) == 0);
    EXPECT(memcmp(results[i].f, expected[i].f, sizeof expected[i].f) == 0);
    EXPECT(memcmp(results[i].l, expected[i].l, sizeof expected[i].l) == 0);
  }
  return 0;
}

/* ---- Frames that compilers address by a register of their own: over-aligned, of a variable size. ---- */

static struct sennit_mctx framed;
static volatile int wrong;

#if defined(__clang__) && defined(__sparc__)
#define OVER_ALIGNED 16 /* clang 19 refuses an over-aligned local beside one of a variable size there */
#else
#define OVER_ALIGNED 64
#endif

static NOINLINE void switch_in_frame(int size) {
  _Alignas(OVER_ALIGNED) volatile char aligned[64];
  volatile char sized[size];
  memset((char*)aligned, 1, sizeof aligned);
  memset((char*)sized, size & 0x7f, (size_t)size);
  sennit_mctx_switch(&framed, &home);
  wrong += (uintptr_t)aligned % OVER_ALIGNED != 0;
  for (int i = 0; i < (int)sizeof aligned; ++i)
    wrong += aligned[i] != 1;
  for (int i = 0; i < size; ++i)
    wrong += sized[i] != (size & 0x7f);
}

static void frames_of_many_sizes(void* unused) {
  (void)unused;
  for (int size = 1; size <= 100; ++size)
    switch_in_frame(size);
  sennit_mctx_restore(&home);
}

static int frames(void) {
  wrong = 0;
  EXPECT(sennit_mctx_create(&framed, frames_of_many_sizes, NULL, stacks[0], stack_size, 0) == 0);
  for (int i = 0; i <= 100; ++i)
    sennit_mctx_switch(&home, &framed);
  EXPECT(wrong == 0);
  return 0;
}

/* ---- Threads. ---- */

static void* resume(void* suspended) {
  return mctx_resume(suspended) == 8 ? suspended : NULL;
}

static int resumed_on_another_thread(void) {
  pthread_t thread;
  void* answer;
  void* const suspended = mctx_suspend();
  EXPECT(suspended != NULL);
  EXPECT(pthread_create(&thread, NULL, resume, suspended) == 0);
  EXPECT(pthread_join(thread, &answer) == 0 && answer == suspended);
  EXPECT(mctx_resume(suspended) == 9);
  return 0;
}

struct pair {
  struct sennit_mctx home, other;
  int count;
};

static void count_in(void* argument) {
  struct pair* const mine = argument;
  for (;;) {
    ++mine->count;
    sennit_mctx_switch(&mine->other, &mine->home);
  }
}

static void* create_often(void* stack) {
  static struct pair zeroed;
  struct pair mine = zeroed;
  for (int i = 0; i < 300; ++i) {
    if (sennit_mctx_create(&mine.other, count_in, &mine, stack, stack_size, 0) != 0)
      return NULL;
    sennit_mctx_switch(&mine.home, &mine.other);
    sennit_mctx_switch(&mine.home, &mine.other);
  }
  return mine.count == 600 ? stack : NULL;
}

static int created_by_threads_at_once(void) {
  pthread_t threads[3];
  int failed = 0;
  for (int i = 0; i < 3; ++i)
    EXPECT(pthread_create(&threads[i], NULL, create_often, stacks[i]) == 0);
  for (int i = 0; i < 3; ++i) {
    void* answer;
    failed += pthread_join(threads[i], &answer) != 0 || answer != stacks[i];
  }
  EXPECT(failed == 0);
  return 0;
}

/* ---- Creation leaves the process's and the thread's signal state as it was. ---- */

static void handle(int signal) {
  (void)signal;
}

static int signal_state_is_kept(void) {
  static const int signals[] = {SIGUSR1, SIGUSR2, SIGALRM};
  struct sigaction action, now;
  sigset_t mask, mask_now;
  stack_t alternate, alternate_now;
  const int worker_signal = SENNIT_SIGNALSTACK_SIGNAL;
  struct pair mine;
  memset(&mine, 0, sizeof mine);
  memset(&action, 0, sizeof action);
  action.sa_handler = handle;
  EXPECT(sigaction(worker_signal, &action, NULL) == 0);
  memset(&alternate, 0, sizeof alternate);
  alternate.ss_sp = stacks[2];
  alternate.ss_size = stack_size;
  EXPECT(sigaltstack(&alternate, NULL) == 0);
  sigemptyset(&mask);
  for (int i = 0; i < 3; ++i)
    sigaddset(&mask, signals[i]);
  EXPECT(pthread_sigmask(SIG_SETMASK, &mask, NULL) == 0);
  EXPECT(sennit_mctx_create(&mine.other, count_in, &mine, stacks[0], stack_size, 0) == 0);
  sennit_mctx_switch(&mine.home, &mine.other);
  EXPECT(mine.count == 1);
  EXPECT(sigaction(worker_signal, NULL, &now) == 0 && now.sa_handler == handle);
  EXPECT(sigaltstack(NULL, &alternate_now) == 0 && alternate_now.ss_sp == alternate.ss_sp &&
         alternate_now.ss_size == alternate.ss_size && alternate_now.ss_flags == 0);
  EXPECT(pthread_sigmask(SIG_SETMASK, NULL, &mask_now) == 0);
  for (int signal = 1; signal < 32; ++signal)
    EXPECT(sigismember(&mask_now, signal) == sigismember(&mask, signal));
  sigemptyset(&mask);
  pthread_sigmask(SIG_SETMASK, &mask, NULL);
  alternate.ss_flags = SS_DISABLE;
  sigaltstack(&alternate, NULL);
  return 0;
}

/* ---- What it costs: the seconds of the source's Table 3. ---- */

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static double least(double a, double b) {
  return a < b ? a : b;
}

static int print_times(void) {
  double create = 1e9, go = 1e9;
  struct pair mine;
  memset(&mine, 0, sizeof mine);
  for (int round = 0; round < 5; ++round) {
    double start = now();
    for (int i = 0; i < 10000; ++i)
      EXPECT(sennit_mctx_create(&mine.other, count_in, &mine, stacks[0], stack_size, 0) == 0);
    create = least(create, now() - start);
    start = now();
    for (int i = 0; i < 5000; ++i)
      sennit_mctx_switch(&mine.home, &mine.other);
    go = least(go, now() - start);
  }
  EXPECT(mine.count == 25000);
  printf("create %.6f\nswitch %.6f\n", create, go);
  return 0;
}

/* ---- */

static const struct {
  const char* name;
  int (*run)(void);
} checks[] = {
    {"values", values},
    {"large values", large_values},
    {"10,000 contexts", ten_thousand_contexts},
    {"deep recursion", deep_recursion},
    {"registers", registers},
    {"frames", frames},
    {"mctx switch", mctx_switches},
    {"mctx save", mctx_saves},
    {"mctx save, other stacks", mctx_saved_on_other_stacks},
    {"mctx masks", mctx_masks},
    {"mctx fp control", mctx_fp_control},
    {"mctx errors", mctx_errors},
    {"another thread", resumed_on_another_thread},
    {"threads at once", created_by_threads_at_once},
    {"signal state", signal_state_is_kept},
#if !defined(PORTABILITY_NO_EXCEPTIONS)
    {"exceptions", exceptions_stay_in_their_contexts},
#endif
};

int main(int argc, char** argv) {
  int failed = 0;
#if defined(__ALTIVEC__)
  /* swapcontext keeps the vector registers that VRSAVE names. Linux names all of them at a program's first
   * vector instruction, qemu-user none. */
  __asm__ volatile("mtvrsave %0" ::"r"(-1L));
#endif
  if (argc > 1 && strcmp(argv[1], "times") == 0)
    return print_times() != 0;
  for (size_t i = 0; i < sizeof checks / sizeof checks[0]; ++i) {
    printf("%s: ", checks[i].name); /* also in the message of a crash */
    fflush(stdout);
    const int line = checks[i].run();
    failed += line != 0;
    if (line == 0)
      printf("ok\n");
    else
      printf("wrong, line %d\n", line);
  }
  printf("%d of %d checks failed\n", failed, (int)(sizeof checks / sizeof checks[0]));
  return failed != 0;
}
