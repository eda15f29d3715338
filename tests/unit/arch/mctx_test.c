/* sennit/mctx.h from strict C11. Checked by mctx_check_test.cpp: each function returns 0, or the line that is
 * wrong. */
#define _POSIX_C_SOURCE 200809L
#include "sennit/mctx.h"

#include <errno.h>
#include <fenv.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "sennit/fp_control.h"

#define EXPECT(condition) \
  do {                    \
    if (!(condition))     \
      return __LINE__;    \
  } while (0)

static _Alignas(16) char stacks[3][1 << 16];
static struct sennit_mctx home;
static struct sennit_mctx mctx[3];

int mctx_switches(void);
int mctx_saves(void);
int mctx_saved_on_other_stacks(void);
int mctx_masks(void);
int mctx_fp_control(void);
int mctx_errno(void);
int mctx_keeps_queued_signals(void);
int mctx_errors(void);
void mctx_return_from_start(void);
void mctx_restore_running(void);
void mctx_switch_to_running(void);
void mctx_restore_nothing(void);
void* mctx_suspend(void);
int mctx_resume(void* suspended);

static void count(void* argument) {
  for (int* number = argument;; ++*number)
    sennit_mctx_switch(&mctx[0], &home);
}

int mctx_switches(void) {
  int number = 40;
  EXPECT(sennit_mctx_create(&mctx[0], count, &number, stacks[0], sizeof stacks[0], 0) == 0);
  for (int i = 0; i < 1000; ++i) {
    EXPECT(number == 40 + (i == 0 ? 0 : i - 1));
    sennit_mctx_switch(&home, &mctx[0]);
  }
  /* A misaligned stack of an odd size does, too; `mctx` is made anew over one that is suspended. */
  EXPECT(sennit_mctx_create(&mctx[0], count, &number, stacks[0] + 3, sizeof stacks[0] - 8, 0) == 0);
  number = 0;
  sennit_mctx_switch(&home, &mctx[0]);
  sennit_mctx_switch(&home, &mctx[0]);
  EXPECT(number == 1);
  return 0;
}

static int again;

static void restore_home(void* argument) {
  ++*(int*)argument;
  sennit_mctx_restore(&home);
}

/* A saved context is resumed as often as one likes: from deeper frames, by restore and by switch. */
int mctx_saves(void) {
  static int ended;
  again = ended = 0;
  if (sennit_mctx_save(&home) == 0)
    EXPECT(again == 0);
  else
    EXPECT(again > 0);
  if (again++ < 10)
    sennit_mctx_restore(&home);
  EXPECT(again == 11);
  if (sennit_mctx_save(&home) != 0)
    EXPECT(ended == again - 11);
  if (again++ < 20) {
    EXPECT(sennit_mctx_create(&mctx[0], restore_home, &ended, stacks[0], sizeof stacks[0], 0) == 0);
    sennit_mctx_restore(&mctx[0]);
  }
  EXPECT(ended == 9);
  return 0;
}

/* Saves itself, and reports each time how often it was resumed there. */
static void save_and_count(void* argument) {
  static int times;
  times = 0;
  sennit_mctx_save(&mctx[1]);
  *(int*)argument = times++;
  sennit_mctx_switch(&mctx[2], &home);
  *(int*)argument = -1;
  sennit_mctx_restore(&home);
}

int mctx_saved_on_other_stacks(void) {
  int times = -1;
  EXPECT(sennit_mctx_create(&mctx[0], save_and_count, &times, stacks[0], sizeof stacks[0], 0) == 0);
  sennit_mctx_switch(&home, &mctx[0]);
  EXPECT(times == 0);
  for (int i = 1; i < 10; ++i) {
    sennit_mctx_switch(&home, &mctx[1]); /* home is saved by the library, once */
    EXPECT(times == i);
  }
  sennit_mctx_switch(&home, &mctx[2]);
  EXPECT(times == -1);
  return 0;
}

static int blocked(int signal) {
  sigset_t mask;
  pthread_sigmask(SIG_SETMASK, NULL, &mask);
  return sigismember(&mask, signal);
}

static int change(int how, int signal) {
  sigset_t mask;
  sigemptyset(&mask);
  sigaddset(&mask, signal);
  return pthread_sigmask(how, &mask, NULL);
}

static int seen;

static void change_mask(void* unused) {
  (void)unused;
  for (;;) {
    seen = blocked(SIGUSR1) * 10 + blocked(SIGUSR2);
    change(SIG_BLOCK, SIGUSR2);
    change(SIG_UNBLOCK, SIGUSR1);
    sennit_mctx_switch(&mctx[0], &home);
  }
}

int mctx_masks(void) {
  struct sennit_mctx zeroed = {0};
#if defined(SENNIT_BACKEND_UCONTEXT)
  int own = 1; /* every context has one */
#else
  int own = 0;
#endif
  for (; own < 2; ++own) {
    home = zeroed;
    change(SIG_BLOCK, SIGUSR1);
    EXPECT(sennit_mctx_create(&mctx[0], change_mask, NULL, stacks[own], sizeof stacks[own],
                              own ? SENNIT_MCTX_MASK : 0) == 0);
    change(SIG_UNBLOCK, SIGUSR1);
    sennit_mctx_switch(&home, &mctx[0]);
    EXPECT(seen == (own ? 10 : 0)); /* its creator's mask; or its resumer's */
    EXPECT(blocked(SIGUSR2) == !own && !blocked(SIGUSR1));
    sennit_mctx_switch(&home, &mctx[0]);
    EXPECT(seen == 1); /* its own setting; without a mask, the one that was not restored */
    change(SIG_UNBLOCK, SIGUSR2);
  }
  /* Saved and restored with its mask. */
  if (sennit_mctx_save(&home) == 0) {
    change(SIG_BLOCK, SIGUSR1);
    sennit_mctx_restore(&home);
  }
  EXPECT(!blocked(SIGUSR1));
  home = zeroed;
  return 0;
}

#if defined(FE_TOWARDZERO) && defined(FE_UPWARD)
static void change_rounding(void* seen_rounding) {
  for (;;) {
    *(int*)seen_rounding = fegetround();
    fesetround(FE_UPWARD);
    sennit_mctx_switch(&mctx[0], &home);
  }
}
#endif

/* As masks; nothing, where sennit/fp_control.h knows nothing of the CPU. */
int mctx_fp_control(void) {
#if defined(FE_TOWARDZERO) && defined(FE_UPWARD)
  struct sennit_mctx zeroed = {0};
  int rounding = -1;
  uint64_t const usual = sennit_fp_control_get();
  EXPECT(fesetround(FE_TOWARDZERO) == 0);
  if (sennit_fp_control_get() != usual) {
    home = zeroed;
    EXPECT(sennit_mctx_create(&mctx[0], change_rounding, &rounding, stacks[0], sizeof stacks[0],
                              SENNIT_MCTX_FP_CONTROL) == 0);
    fesetround(FE_TONEAREST);
    sennit_mctx_switch(&home, &mctx[0]);
    EXPECT(rounding == FE_TOWARDZERO && fegetround() == FE_TONEAREST); /* its creator's */
    sennit_mctx_switch(&home, &mctx[0]);
    EXPECT(rounding == FE_UPWARD && fegetround() == FE_TONEAREST);
    EXPECT(!blocked(SIGUSR1) && mctx[0].keeps == SENNIT_MCTX_FP_CONTROL);
    if (sennit_mctx_save(&home) == 0) {
      fesetround(FE_UPWARD);
      sennit_mctx_restore(&home);
    }
    EXPECT(fegetround() == FE_TONEAREST);
    home = zeroed;
  }
  sennit_fp_control_set(usual);
  EXPECT(fesetround(FE_TONEAREST) == 0 && sennit_fp_control_get() == usual);
#endif
  return 0;
}

static void count_errno(void* argument) {
  for (;;) {
    *(int*)argument = errno;
    ++errno;
    sennit_mctx_switch(&mctx[0], &home);
  }
}

int mctx_errno(void) {
  int found = 0;
  memset(&home, 0, sizeof home);
  for (int own = 0; own <= 1; ++own) {
    errno = 100;
    EXPECT(sennit_mctx_create(&mctx[0], count_errno, &found, stacks[0], sizeof stacks[0],
                              own ? SENNIT_MCTX_ERRNO : 0) == 0);
    EXPECT(errno == 100);
    for (int i = 0; i < 3; ++i) {
      errno = 200;
      sennit_mctx_switch(&home, &mctx[0]);
      EXPECT(found == (own ? 100 + i : 200) && errno == (own ? 200 : 201));
    }
  }
  memset(&home, 0, sizeof home);
  return 0;
}

static int queued_values[3];
static int queued_count;

static void note_value(int signal, siginfo_t* info, void* context) {
  (void)signal, (void)context;
  if (queued_count < 3)
    queued_values[queued_count++] = info->si_code == SI_QUEUE ? info->si_value.sival_int : -1;
}

/* What the signal stack backend makes contexts by may be pending, with values. */
int mctx_keeps_queued_signals(void) {
  const int number = SIGRTMIN + 5;
  struct sigaction noting, before;
  sigset_t these, mask;
  memset(&noting, 0, sizeof noting);
  noting.sa_sigaction = note_value;
  noting.sa_flags = SA_SIGINFO;
  EXPECT(sigaction(number, &noting, &before) == 0);
  sigemptyset(&these);
  sigaddset(&these, number);
  pthread_sigmask(SIG_BLOCK, &these, &mask);
  queued_count = 0;
  for (int i = 42; i <= 43; ++i)
    EXPECT(sigqueue(getpid(), number, (union sigval){.sival_int = i}) == 0);
  EXPECT(sennit_mctx_create(&mctx[0], count, &queued_count, stacks[0], sizeof stacks[0], 0) == 0);
  EXPECT(queued_count == 0);
  pthread_sigmask(SIG_SETMASK, &mask, NULL);
  EXPECT(queued_count == 2 && queued_values[0] == 42 && queued_values[1] == 43);
  EXPECT(sigaction(number, &before, NULL) == 0);
  return 0;
}

int mctx_errors(void) {
  char* const stack = stacks[0];
  const size_t size = sizeof stacks[0];
  EXPECT(sennit_mctx_create(NULL, count, NULL, stack, size, 0) == -EINVAL);
  EXPECT(sennit_mctx_create(&mctx[0], NULL, NULL, stack, size, 0) == -EINVAL);
  EXPECT(sennit_mctx_create(&mctx[0], count, NULL, NULL, size, 0) == -EINVAL);
  EXPECT(sennit_mctx_create(&mctx[0], count, NULL, stack, size, 8) == -EINVAL);
  EXPECT(sennit_mctx_create(&mctx[0], count, NULL, stack, sennit_mctx_least_stack() - 1, 0) == -EINVAL);
  EXPECT(sennit_mctx_create(&mctx[0], count, NULL, stack, sennit_mctx_least_stack(), 0) == 0);
  return 0;
}

static void do_nothing(void* unused) {
  (void)unused;
}

void mctx_return_from_start(void) {
  if (sennit_mctx_create(&mctx[0], do_nothing, NULL, stacks[0], sizeof stacks[0], 0) == 0)
    sennit_mctx_switch(&home, &mctx[0]);
}

static void resume_itself(void* restore) {
  if (*(int*)restore)
    sennit_mctx_restore(&mctx[0]);
  sennit_mctx_switch(&home, &mctx[0]);
}

static void resume_running(int restore) {
  if (sennit_mctx_create(&mctx[0], resume_itself, &restore, stacks[0], sizeof stacks[0], 0) == 0)
    sennit_mctx_switch(&home, &mctx[0]);
}

void mctx_restore_running(void) {
  resume_running(1);
}

void mctx_switch_to_running(void) {
  resume_running(0);
}

void mctx_restore_nothing(void) {
  struct sennit_mctx nothing = {0};
  sennit_mctx_restore(&nothing);
}

static int moved;

void* mctx_suspend(void) {
  moved = 7;
  if (sennit_mctx_create(&mctx[0], count, &moved, stacks[0], sizeof stacks[0], 0) != 0)
    return NULL;
  sennit_mctx_switch(&home, &mctx[0]);
  return &mctx[0];
}

int mctx_resume(void* suspended) {
  sennit_mctx_switch(&home, suspended);
  return moved;
}
