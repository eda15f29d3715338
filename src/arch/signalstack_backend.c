/* The switch on sigaltstack, a signal and sigsetjmp: ISO C and POSIX, and no word about any machine.
 *
 * A jump buffer is opaque: the only one that leads onto a new stack is one that sigsetjmp filled there. The
 * one way of POSIX onto another stack is a signal handler's. So a context is made like this; the numbers are
 * the steps of the source:
 *
 *      the creator                              on the new stack
 *   1  block all signals
 *   2  our handler for the worker signal (one thread at a time makes steps 2 to 6)
 *   3  the new stack as the signal stack
 *   4  raise the worker signal, sigsuspend     -> trampoline: 5  sigsetjmp; return from the handler
 *   6  put signal stack and handler back      <-
 *   7  sigsetjmp
 *   8  siglongjmp to 5                        -> trampoline, which is no signal handler any more:
 *                                                9  call begin, for a sound frame
 *                                               10  (signal masks are not of contexts here)
 *                                               11  take entry and top into the frame
 *                                               12  sigsetjmp: from here on the context can be entered
 *  14  put the signal mask back, return       <- 13  siglongjmp to 7
 *
 * What the source leaves to the reader, its section 3.5 and threads:
 *
 * - The signal goes to the calling thread (raise), and the description of the new context is in a
 *   thread-local variable. A handler belongs to the whole process, so one thread at a time makes steps 2 to
 *   6. A fork waits for them: the child has the handlers of the program, and a free lock.
 * - All signals are blocked from 1 to 14, and sigsuspend lets one instance of the worker signal in: no other
 *   handler runs on the new stack, none finds the lock held by the thread that it interrupted.
 * - The worker signal is a real-time signal. The program may use it, too: instances are queued, never merged.
 *   One that comes to another thread meanwhile is passed on to the program's own action. One that comes to
 * the creator may be taken for ours; then ours is delivered after step 14, in its stead.
 * - The handler is left by returning, as in the source: kernels that remember being on the signal stack are
 *   out of it. The frame that step 5 captured has returned then; but nothing runs on that stack until step 8
 *   goes back into it, which calls another function at once.
 * - longjmps that refuse to go up the stack: POSIX's do not look; the one of _FORTIFY_SOURCE does, and is not
 *   used. No frame of this file has unwind tables (room.cmake), so that backtraces end at `begin`, and do not
 *   continue through the signal's frame into the creator's former stack; an exception that leaves an entry
 *   function finds no handler and terminates the program.
 * - sigsuspend is a cancellation point: cancellation is off meanwhile.
 * - Signals, jump buffers and threads: POSIX does not say that a thread may jump to what another one saved.
 *   All libcs whose jump buffers hold no thread pointer allow it; tests say which.
 *
 * Rejected:
 *
 * - sigstack(2), for systems without sigaltstack: POSIX removed it in 2004, glibc in 2017, and Linux never
 * had it.
 * - the doubled stack, its remedy for stacks that grow up: sigaltstack is given the whole stack and knows the
 *   direction itself.
 * - changing the stack pointer and program counter inside a jmp_buf: it must know each libc's layout, on each
 *   CPU, and glibc keeps both mangled.
 * - leaving the handler by siglongjmp (one jump less): the kernel then still delivers on that stack.
 * - SIGUSR1: programs use it, and its instances merge.
 */
#undef _FORTIFY_SOURCE /* before the first header: its longjmp refuses to leave for another stack */

#include "sennit/detail/arch/signalstack_backend.h"

#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sennit/detail/arch/slow_state.h"

/* In the frame of the function that switches. Whoever resumes us fills in the transfer. */
struct record {
  sigjmp_buf place;
  sennit_transfer4 transfer;
};

SENNIT_UNSANITIZED static struct record* record_of(sennit_context handle) {
  return (struct record*)handle;
}

SENNIT_UNSANITIZED static sennit_context handle_of(struct record* r) {
  return (sennit_context)r;
}

/* The data that the creator and the new context exchange. */
struct creation {
  sennit_entry entry; /* null: rounds */
  void* top;
  struct record* made;
  sigjmp_buf trampoline; /* step 5 */
  sigjmp_buf creator;    /* step 7 */
};

/* The creation that this thread's next worker signal, or siglongjmp, belongs to. Read in handlers of other
 * threads, too, where a lazy allocation would be out of place. */
static _Thread_local struct creation* volatile wanted __attribute__((tls_model("initial-exec")));

/* Held from step 2 to 6. */
static pthread_mutex_t one_at_a_time = PTHREAD_MUTEX_INITIALIZER;

/* The program's own actions, one for each signal: a handler of another thread may still run when the next
 * creation takes another signal. One changes at a creation only if the program changed it before; handlers of
 * other threads read it without the lock. */
static struct sigaction earlier_actions[_NSIG];

static void lock(void) {
  pthread_mutex_lock(&one_at_a_time);
}

static void unlock(void) {
  pthread_mutex_unlock(&one_at_a_time);
}

static pthread_once_t forks_are_known = PTHREAD_ONCE_INIT;

static void know_of_forks(void) {
  pthread_atfork(lock, unlock, unlock);
}

/* A worker signal that is not of a creation. */
static void pass_on(int signal, siginfo_t* info, void* context) {
  struct sigaction const* const earlier = &earlier_actions[signal];
  if (earlier->sa_flags & SA_SIGINFO) {
    earlier->sa_sigaction(signal, info, context);
  } else if (earlier->sa_handler == SIG_DFL) {
    sigaction(signal, earlier, NULL);
    raise(signal); /* blocked until this handler returns; it then ends the process */
  } else if (earlier->sa_handler != SIG_IGN) {
    earlier->sa_handler(signal);
  }
}

/* The context's first frame. */
SENNIT_UNSANITIZED static void begin(void) {
  struct record self;
  sennit_entry const entry = wanted->entry;
  void* const top = wanted->top;
  wanted->made = &self;
  if (sigsetjmp(self.place, 0) == 0)
    siglongjmp(wanted->creator, 1);
  if (entry != NULL)
    entry(self.transfer.from, self.transfer.value[0], self.transfer.value[1], self.transfer.value[2],
          self.transfer.value[3]);
  else
    for (;;) {
      sennit_decision const decision = ((sennit_round*)top)[1](top);
      struct record* const to = record_of(decision.target);
      to->transfer.from = NULL;
      to->transfer.value[0] = decision.value;
      if (sigsetjmp(self.place, 0) == 0)
        siglongjmp(to->place, 1);
    }
  abort(); /* an entry function does not return */
}

/* Called through this, it is never a part of the trampoline. */
static void (*volatile call_begin)(void) = begin;

/* Others sent it, with a value. (One without a value counts as ours if it comes first: ours then is theirs.)
 */
static int has_value(const siginfo_t* info) {
  return info->si_code == SI_QUEUE || info->si_code == SI_TIMER || info->si_code == SI_MESGQ ||
         info->si_code == SI_ASYNCIO;
}

/* The worker signal's handler, and the second time an ordinary function on the new stack. */
SENNIT_UNSANITIZED static void trampoline(int signal, siginfo_t* info, void* context) {
  if (wanted == NULL || has_value(info)) {
    pass_on(signal, info, context);
    return;
  }
  if (sigsetjmp(wanted->trampoline, 0) == 0) {
    wanted = NULL;
    return;
  }
  call_begin();
}

/* A signal of which none is pending: those that are, with their values, stay so. 0: there is none such. */
static int free_signal(void) {
  sigset_t pending;
  int signal;
  sigpending(&pending);
  for (signal = SENNIT_SIGNALSTACK_SIGNAL; signal <= SIGRTMAX; ++signal)
    if (!sigismember(&pending, signal))
      return signal;
  return 0;
}

/* Steps 2 to 6. */
static int reach_new_stack(struct creation* creation, void* stack, size_t size) {
  struct sigaction ours;
  struct sigaction* earlier;
  int worker;
  stack_t altstack, earlier_altstack;
  sigset_t all_but_worker;
  int error = 0;
  memset(&ours, 0, sizeof ours);
  memset(&altstack, 0, sizeof altstack);
  lock();
  worker = free_signal();
  if (worker == 0) {
    unlock();
    return EAGAIN;
  }
  earlier = &earlier_actions[worker]; /* step 2 */
  sigaction(worker, NULL, earlier);
  ours.sa_sigaction = trampoline;
  ours.sa_flags = SA_SIGINFO | SA_ONSTACK | (earlier->sa_flags & SA_RESTART);
  sigfillset(&ours.sa_mask);
  sigaction(worker, &ours, NULL);
  altstack.ss_sp = stack; /* step 3 */
  altstack.ss_size = size;
  if (sigaltstack(&altstack, &earlier_altstack) != 0) {
    error = errno;
  } else {
    sigfillset(&all_but_worker); /* step 4 */
    sigdelset(&all_but_worker, worker);
    wanted = creation;
    if (raise(worker) == 0)
      while (wanted != NULL)
        sigsuspend(&all_but_worker);
    else
      error = errno;
    sigaltstack(&earlier_altstack, NULL); /* step 6 */
  }
  sigaction(worker, earlier, NULL);
  unlock();
  return error;
}

/* Steps 7 and 8; a function of its own, so that sigsetjmp can spoil no other variables. */
SENNIT_UNSANITIZED static void bootstrap(struct creation* creation) {
  wanted = creation;
  if (sigsetjmp(creation->creator, 0) == 0)
    siglongjmp(creation->trampoline, 1);
  wanted = NULL;
}

static int make(sennit_context* made, void* stack, size_t size, sennit_entry entry, void* top) {
  struct creation creation;
  sigset_t all, mask;
  int error, cancellation;
  int const errno_before = errno;
  pthread_once(&forks_are_known, know_of_forks);
  creation.entry = entry;
  creation.top = top;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &mask); /* step 1 */
  pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancellation);
  error = reach_new_stack(&creation, stack, size);
  pthread_setcancelstate(cancellation, &cancellation);
  if (error == 0) {
    bootstrap(&creation);
    *made = handle_of(creation.made);
  }
  pthread_sigmask(SIG_SETMASK, &mask, NULL);
  errno = errno_before;
  return error;
}

int sennit_signalstack_make(sennit_context* made, void* stack, size_t size, sennit_entry entry) {
  if (stack == NULL)
    return EINVAL;
  return size < sennit_signalstack_least() ? ENOMEM : make(made, stack, size, entry, NULL);
}

size_t sennit_signalstack_least(void) {
  int const errno_before = errno;
  long least = MINSIGSTKSZ;
#if defined(_SC_MINSIGSTKSZ)
  if (sysconf(_SC_MINSIGSTKSZ) > least)
    least = sysconf(_SC_MINSIGSTKSZ);
#endif
  errno = errno_before;                                    /* where sysconf does not know it */
  return (size_t)least + 2 * sizeof(struct record) + 1024; /* the trampoline's frame, and begin's */
}

static sennit_context make_at(void* top, sennit_entry entry) {
  /* The kernel looks whether a signal's frame finds room in this, and at nothing else: where the stack ends
   * is not ours to know. */
  size_t const nominal_size = 65536;
  sennit_context made;
  if (make(&made, (char*)top - nominal_size, nominal_size, entry, top) != 0)
    abort();
  return made;
}

sennit_context sennit_signalstack_newstack(void* top, sennit_entry entry) {
  return make_at(top, entry);
}

sennit_context sennit_signalstack_newlinked(sennit_context* top, sennit_entry entry) {
  *top = NULL;
  return make_at(top, entry);
}

sennit_context sennit_signalstack_newrounds(void* top) {
  return make_at(top, NULL);
}

SENNIT_UNSANITIZED static void swap(struct record* self, sennit_context target, sennit_transfer4 transfer) {
  struct record* const to = record_of(target);
  to->transfer = transfer;
  if (sigsetjmp(self->place, 0) == 0)
    siglongjmp(to->place, 1);
}

/* Stores our context at `place` unless that is null. `passes_self`: whether the target gets our context. */
SENNIT_UNSANITIZED static sennit_transfer4 swap_with_exceptions(sennit_context target,
                                                                sennit_transfer4 transfer,
                                                                sennit_context* place, int passes_self) {
  struct record self;
  struct sennit_slow_state saved;
  if (place != NULL)
    *place = handle_of(&self);
  sennit_slow_state_save(&saved);
  transfer.from = passes_self ? handle_of(&self) : NULL;
  swap(&self, target, transfer);
  sennit_slow_state_restore(&saved);
  return self.transfer;
}

SENNIT_UNSANITIZED static sennit_transfer4 words(uintptr_t value0, uintptr_t value1, uintptr_t value2,
                                                 uintptr_t value3) {
  sennit_transfer4 out;
  out.from = NULL;
  out.value[0] = value0;
  out.value[1] = value1;
  out.value[2] = value2;
  out.value[3] = value3;
  return out;
}

SENNIT_UNSANITIZED static sennit_transfer first_of(sennit_transfer4 in) {
  sennit_transfer out;
  out.from = in.from;
  out.value = in.value[0];
  return out;
}

SENNIT_UNSANITIZED sennit_transfer sennit_signalstack_swapstack(sennit_context target, uintptr_t value) {
  return first_of(swap_with_exceptions(target, words(value, 0, 0, 0), NULL, 1));
}

SENNIT_UNSANITIZED sennit_transfer4 sennit_signalstack_swapstack4(sennit_context target, uintptr_t value0,
                                                                  uintptr_t value1, uintptr_t value2,
                                                                  uintptr_t value3) {
  return swap_with_exceptions(target, words(value0, value1, value2, value3), NULL, 1);
}

SENNIT_UNSANITIZED sennit_transfer sennit_signalstack_swapstack_raw(sennit_context target, uintptr_t value) {
  struct record self;
  sennit_transfer4 transfer = words(value, 0, 0, 0);
  transfer.from = handle_of(&self);
  swap(&self, target, transfer);
  return first_of(self.transfer);
}

SENNIT_UNSANITIZED sennit_transfer sennit_signalstack_swapstack_linking(sennit_context target,
                                                                        uintptr_t value,
                                                                        sennit_context* self) {
  return first_of(swap_with_exceptions(target, words(value, 0, 0, 0), self, 1));
}

SENNIT_UNSANITIZED sennit_transfer sennit_signalstack_swapstack_filed(sennit_context target, uintptr_t value,
                                                                      sennit_context* self) {
  return first_of(swap_with_exceptions(target, words(value, 0, 0, 0), self, 0));
}

SENNIT_UNSANITIZED void sennit_signalstack_leave(sennit_context target, uintptr_t value) {
  struct record* const to = record_of(target);
  to->transfer = words(value, 0, 0, 0);
  siglongjmp(to->place, 1);
}
