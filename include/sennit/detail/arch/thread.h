/* What Sennit keeps per OS thread, and the accessors that no compiler can keep across a switch.
 *
 * A fiber may resume on another OS thread. A compiler that computed the address of a thread-local variable
 * before the switch may keep using it afterwards; `volatile` on the variable does not help. So all our
 * per-thread data is in one block. It is reached through sennit_thread_self(), whose volatile assembly reads
 * the thread pointer at each call.
 */
#ifndef SENNIT_DETAIL_ARCH_THREAD_H
#define SENNIT_DETAIL_ARCH_THREAD_H

#include <stdint.h>

#include "sennit/detail/arch/build.h"
#include "sennit/detail/arch/slow_state.h"

#ifdef __cplusplus
extern "C" {
#endif

struct sennit_worker; /* sched's */

/* A thread's idle coroutines, most recently used first (coro's). The list ends in one that is none. */
struct sennit_idle {
  struct sennit_idle* next; /* null in the last */
  uint32_t room;            /* for how many more above this one */
};

struct sennit_pool {
  struct sennit_idle* first; /* never null: without room before the first use, and when the thread ends */
};

/* Offsets 0 and (x86-64) 8 and 32 are read by assembly; the rest by name. */
struct sennit_thread_block {
  /* This thread's exception globals. Until the thread's first switch it points at a pair that looks busy,
   * so that the first test goes the slow way, which looks the real address up: no test for null. While a
   * context runs that keeps its floating-point control state, it points at its keeper, which looks busy, too.
   */
  struct sennit_exception_state* exceptions;
  struct sennit_worker* worker; /* the worker this thread is, or null */
  struct sennit_pool pool;
  /* As sennit_should_hold_no_lock, if the running fiber holds a lock; null if it holds none, or if that is
   * unknown (sched's; held_locks.hpp). */
  void (*report_held_locks)(const char* does, const char* reason);
  uintptr_t bias_number;  /* the worker's (sync's; biased_waiters.hpp), or 0 */
  void* taken_waiters;    /* that the thread has taken and not released yet (wait's; wait.hpp) */
  uint64_t select_choice; /* decides in which order a select tries its cases (sync's; try_order.hpp) */
};

/* Has a function called on every thread before its first switch, other than a raw one. One function, set
 * once; threads that have switched before are not looked at again. It must not switch. */
void sennit_before_first_switch(void (*prepare)(void));

extern __thread struct sennit_thread_block sennit_thread __asm__(SENNIT_THREAD)
    __attribute__((tls_model("initial-exec")));

/* Loads the word at `offset` in the calling thread's block. In an executable that the library is linked into,
 * the linker knows the distance from the thread pointer. (SENNIT_SHARED: the library is a shared one.) */
#if defined(__x86_64__) && defined(__LP64__)
#if !defined(SENNIT_SHARED) && (!defined(__PIC__) || defined(__PIE__))
#define SENNIT_ASM_LOAD_OF_THREAD(offset, to) "movq %%fs:" SENNIT_THREAD "@tpoff+" offset ", " to "\n\t"
#else
#define SENNIT_ASM_LOAD_OF_THREAD(offset, to)   \
  "movq " SENNIT_THREAD "@gottpoff(%%rip), " to \
  "\n\t"                                        \
  "movq %%fs:" offset "(" to "), " to "\n\t"
#endif
#endif

/* The calling thread's block, looked up again at every call. */
static inline __attribute__((always_inline, unused)) struct sennit_thread_block* sennit_thread_self(void) {
  struct sennit_thread_block* self;
#if defined(__x86_64__) && defined(__LP64__)
  __asm__ volatile(
      "movq %%fs:0, %0\n\t"
      "addq " SENNIT_THREAD "@gottpoff(%%rip), %0"
      : "=&r"(self)
      :
      : "cc");
#elif defined(__aarch64__) && defined(__LP64__)
  uintptr_t offset;
  __asm__ volatile(
      "mrs %0, tpidr_el0\n\t"
      "adrp %1, :gottprel:" SENNIT_THREAD
      "\n\t"
      "ldr %1, [%1, #:gottprel_lo12:" SENNIT_THREAD
      "]\n\t"
      "add %0, %0, %1"
      : "=&r"(self), "=&r"(offset));
#elif defined(__riscv) && defined(__LP64__)
  __asm__ volatile("la.tls.ie %0, " SENNIT_THREAD
                   "\n\t"
                   "add %0, %0, tp"
                   : "=&r"(self));
#elif defined(__s390x__)
  uintptr_t offset;
  __asm__ volatile(
      "ear %0, %%a0\n\t"
      "sllg %0, %0, 32\n\t"
      "ear %0, %%a1\n\t"
      "larl %1, " SENNIT_THREAD
      "@indntpoff\n\t"
      "ag %0, 0(%1)"
      : "=&a"(self), "=&a"(offset)
      :
      : "cc");
#else
  extern struct sennit_thread_block* sennit_thread_lookup(void) __attribute__((nothrow)); /* never inlined */
  self = sennit_thread_lookup();
#endif
  return self;
}

/* The calling thread's worker, looked up again at every call. */
static inline __attribute__((always_inline, unused)) struct sennit_worker* sennit_thread_worker(void) {
#if defined(__x86_64__) && defined(__LP64__)
  struct sennit_worker* worker;
  __asm__ volatile(SENNIT_ASM_LOAD_OF_THREAD("8", "%0") : "=r"(worker));
  return worker;
#else
  return sennit_thread_self()->worker;
#endif
}

/* Its bias number, or 0, looked up again at every call. */
static inline __attribute__((always_inline, unused)) uintptr_t sennit_thread_bias_number(void) {
#if defined(__x86_64__) && defined(__LP64__)
  uintptr_t number;
  __asm__ volatile(SENNIT_ASM_LOAD_OF_THREAD("32", "%0") : "=r"(number));
  return number;
#else
  return sennit_thread_self()->bias_number;
#endif
}

/* The fiber that runs is about to give its thread to others. `does`: how; `reason`: what it waits for, or
 * null. */
static inline __attribute__((always_inline, unused)) void sennit_should_hold_no_lock(const char* does,
                                                                                     const char* reason) {
#if defined(NDEBUG)
  (void)does;
  (void)reason;
#else
  void (*const report)(const char*, const char*) = sennit_thread_self()->report_held_locks;
  if (__builtin_expect(report != 0, 0))
    report(does, reason);
#endif
}

#ifdef __cplusplus
}
#endif
#endif
