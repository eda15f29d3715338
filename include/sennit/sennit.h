/* Sennit for C, and for languages that call C: fibers, synchronization, I/O and coroutines.
 * room: capi
 *
 *   static void serve(void* stream) {
 *     char bytes[512];
 *     ssize_t size;
 *     while ((size = sennit_tcp_stream_read(stream, bytes, sizeof bytes, SENNIT_NEVER)) > 0)
 *       if (sennit_tcp_stream_write_all(stream, bytes, (size_t)size, NULL, SENNIT_NEVER) != 0)
 *         break;
 *     sennit_tcp_stream_close(stream);
 *   }
 *
 * The C++ headers describe the same objects in more detail; examples/echo_server.c is a whole program. C11
 * or C++. Link with -lsennit -lstdc++ -pthread.
 *
 * Results. A function that returns int or ssize_t returns 0, or a count, or what its comment names. If it
 * fails, it returns a negated error number of <errno.h>. errno itself is not set. A result that is passed
 * through a pointer is set only on success. These errors are possible everywhere; comments name the other
 * ones:
 *
 * - -EINVAL: cheaply detected misuse, such as a null pointer, or a function that blocks called outside of a
 *   fiber
 * - -ENOMEM, -EMFILE, -ENFILE (file descriptors), -EAGAIN (threads) and other errors of the system if
 *   mappings are exhausted: from functions that make or start something
 * - -ETIMEDOUT: from functions with a deadline
 *
 * Other misuse is undefined; debug builds of the library assert.
 *
 * Time is int64_t nanoseconds. A deadline is a time of sennit_now(); SENNIT_NEVER waits without limit, and
 * 0 has always passed: the operation is then only an attempt. A wait that gives up returns -ETIMEDOUT.
 *
 * Threads. A local runtime, which has no workers of its own, and all that its fibers use belong to the
 * thread that runs it. The comments name the functions that other threads may call. Fibers of a parallel
 * runtime run on its workers, and move between them at each call that blocks or yields: do not hold a
 * pthread lock across such a call, nor keep the address of a thread-local variable, such as &errno.
 *
 * The runtime's end. A fiber that has not ended when its runtime is destroyed is unwound, and so is a
 * coroutine that is destroyed. The function in which it is suspended does not return. Its stack is unwound
 * through all callers, as by a C++ exception. Compile C code that fibers run with -fexceptions: the
 * cleanups of __attribute__((cleanup)) variables then run. They must not block. Without -fexceptions they
 * do not run, and what the frames owned is lost: memory, locks, file descriptors. Without unwind tables
 * (-fno-asynchronous-unwind-tables; x86-64 and AArch64 have them by default) the program is terminated.
 * None of this concerns a program whose fibers end before their runtime.
 *
 * Exceptions. No function here lets another exception out. If one leaves a C function that the library
 * called (from C++ beneath it), it becomes the result of the join, run or resume: the negated number if it
 * is a std::system_error of errno's category, -ENOMEM for std::bad_alloc, otherwise -ENOTRECOVERABLE.
 */
#ifndef SENNIT_SENNIT_H
#define SENNIT_SENNIT_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "sennit/detail/arch/sanitized.h"
#include "sennit/detail/capi/yield.h"
#include "sennit/no_yield.h"
#include "sennit/version.h"

#ifdef __cplusplus
extern "C" {
#endif

struct sennit_runtime;
struct sennit_fiber;
struct sennit_mutex;
struct sennit_condition;
struct sennit_semaphore;
struct sennit_channel;
struct sennit_port;
struct sennit_call;
struct sennit_upcall_pool;
struct sennit_exception_server;
struct sennit_coroutine;
struct sennit_tcp_stream;
struct sennit_tcp_listener;
struct sennit_signal_set;
struct sennit_readiness;
struct sennit_file;

/** The function of a fiber, a post or an offloaded call. */
typedef void (*sennit_function)(void* argument);
/** The function with which a fiber resumes after a wait without a stack (see sennit_become): it gets its
 * state, and how the wait has ended. That is what the form with a stack returns: 0, -ETIMEDOUT, and the
 * errors that its comment names.
 */
typedef void (*sennit_result_function)(void* state, int result);
/** Like sennit_result_function, for a wait that brings a value, such as an element of a channel. `value` is
 * null if there is none. It is aligned to 16 unless it has at most 8 bytes. Like the state, it belongs to
 * the function until that returns, or blocks in this way again.
 */
typedef void (*sennit_value_function)(void* state, int result, void* value);

/* ---- Errors and time. Any thread. ---- */

/** Returns the meaning of an error, negated or not, in English. Never null; the text is static. Any thread.
 */
const char* sennit_error_text(int error);

/** The result that stands for an error of getaddrinfo (EAI_NONAME, EAI_AGAIN, ...). It is outside the range
 * of errno.
 */
#define SENNIT_LOOKUP_ERROR(eai) (-4096 - ((eai) < 0 ? -(eai) : (eai)))

/** Returns the time of CLOCK_MONOTONIC in nanoseconds. Any thread. */
int64_t sennit_now(void);
/** The deadline that never passes. */
#define SENNIT_NEVER INT64_MAX

/* ---- Runtime: runs fibers on the thread that calls run(), or on worker threads of its own. ---- */

/** The order in which fibers run; see sennit/run_policy.hpp. */
enum sennit_policy { SENNIT_POLICY_FIFO = 0, SENNIT_POLICY_LIFO = 1, SENNIT_POLICY_HYBRID = 2 };

/** Options of a runtime. All members zero is the default. */
struct sennit_runtime_options {
  /** An enum sennit_policy. */
  int policy;
  /** Bytes, for fibers that do not set one; 0 means 64 KiB. */
  size_t stack_size;
  /** Nanoseconds, at least 100,000, after which a fiber yields that is compiled with checks
   * (docs/explanation/preemption.md). 0 means never. The thread that runs the runtime must then stay the
   * same. For exceptions see sennit/no_yield.h.
   */
  int64_t time_slice;
  /** Bytes, below the stacks of fibers that do not set it; 0 means 64 KiB. */
  size_t guard_size;
  /** Reports deadlocks and two other mistakes on standard error, as described in runtime.hpp. 1 reports
   * them, -1 does not. 0 reports certain ones if the library is a debug build.
   */
  int report_deadlock;
  /** The maximum number of fibers at a time; 0 means no limit. Fibers that have ended count until they are
   * joined or detached. Beyond it, functions that start a fiber return -EAGAIN, and posts wait.
   */
  size_t max_fibers;
  /** The number of worker threads, at most 64, or SENNIT_ALL_CPUS. They start and steal fibers from each
   * other, so that a fiber may resume on another thread. 0: the runtime has no threads, and runs on the
   * thread that calls run(): a local runtime. All others are parallel runtimes.
   */
  unsigned workers;
  /** Nanoseconds, only of parallel runtimes: reports on standard error that a worker has run one fiber for
   * this long. 0 means never.
   */
  int64_t report_stuck_after;
};
/** A number of workers: one for each CPU that the process may use, at most 64. */
#define SENNIT_ALL_CPUS (~0U)

/** Options of a fiber. All members zero is the default. */
struct sennit_fiber_options {
  /** For messages and debuggers. The first 31 bytes are copied. Null for none. */
  const char* name;
  /** Bytes, rounded up to a power of two, at least 8 KiB; 0 means the runtime's. SENNIT_SMALL_STACK asks for
   * less.
   */
  size_t stack_size;
  /** Null, or memory of `stack_size` bytes to use as the stack: 16-aligned, at least 1 KiB, without a guard.
   * It is in use until a join of the fiber has returned or, if the fiber was detached, until its runtime is
   * destroyed.
   */
  void* stack;
  /** Bytes of the guard below the stack, rounded up to pages; 0 means the runtime's. Compile code with
   * frames that are larger than the guard with -fstack-clash-protection.
   */
  size_t guard_size;
  /** The number of the only worker that may run the fiber, from 1; 0 means that any may. Ignored by local
   * runtimes.
   */
  unsigned worker;
};

/** Makes a runtime, and starts its workers. `options` may be null. -EINVAL: an option has an invalid value.
 * Any thread.
 */
int sennit_runtime_create(struct sennit_runtime** result, const struct sennit_runtime_options* options);

/** Destroys a runtime. Unwinds the fibers that are left (see above). Call it outside of fibers, while no
 * thread is in sennit_runtime_run. Handles of its fibers are invalid afterwards. Does nothing for null.
 * -EINVAL: called in a fiber; nothing was done.
 */
int sennit_runtime_destroy(struct sennit_runtime* runtime);

/** Runs function(argument) as a fiber named "main", together with all others, until it ends. The calling
 * thread is a local runtime's while the call lasts; other fibers that are left then wait for the next run or
 * run_once. Those of a parallel runtime continue. -EINVAL: called in a fiber. Another negative result: the
 * fiber was not started, or the error that its function threw.
 */
int sennit_runtime_run(struct sennit_runtime* runtime, sennit_function function, void* argument);

/** For embedding in another event loop: lets each ready fiber run about once. If none is ready, it waits for
 * one until `deadline`. Returns 1 if fibers are ready: call it again soon. Returns 0 if there is nothing to
 * do until the descriptor is readable. -EINVAL: called in a fiber, or for a parallel runtime.
 */
int sennit_runtime_run_once(struct sennit_runtime* runtime, int64_t deadline);

/** Returns a file descriptor that polls readable when run_once has work. The runtime owns it; only poll it.
 * -EINVAL: a parallel runtime.
 */
int sennit_runtime_descriptor(const struct sennit_runtime* runtime);

/** Returns the number of workers; 0 for a local runtime. Any thread. */
int sennit_runtime_workers(const struct sennit_runtime* runtime);

/** Starts a fiber. For a local runtime, call it on the runtime's thread, inside or outside of run. `result`
 * gets the fiber's handle; if it is null, the fiber is detached. `options` may be null. -EINVAL: also for a
 * `stack` that is too small or not aligned (asserted by a library with assertions).
 *
 * The fiber gets its stack when it first runs, or at once if `options` has a name, a size or a stack. If
 * there is no memory for the stack when it first runs, it waits until another fiber's stack is free. If no
 * fiber of the runtime can free one, it fails, and its join returns -ENOMEM.
 */
int sennit_runtime_spawn(struct sennit_runtime* runtime, struct sennit_fiber** result,
                         sennit_function function, void* argument,
                         const struct sennit_fiber_options* options);

/** Starts a detached fiber, from any thread. Posts of one thread to a local runtime start in their order. The
 * runtime must outlive the call. A post that is still queued when the runtime ends is dropped: `function` is
 * not called.
 */
int sennit_runtime_post(struct sennit_runtime* runtime, sennit_function function, void* argument);

/** Returns the number of fibers that have not ended. It counts them. On a local runtime's thread. */
ssize_t sennit_runtime_size(const struct sennit_runtime* runtime);

/* ---- Fibers. A handle is given back by exactly one successful join or detach. ---- */

/** Like sennit_runtime_spawn, in the caller's runtime. -EINVAL: called outside of a fiber. */
int sennit_fiber_spawn(struct sennit_fiber** result, sennit_function function, void* argument,
                       const struct sennit_fiber_options* options);

/** Waits until the fiber has ended, and gives the handle back. It does not give the handle back after
 * -ETIMEDOUT, after -EINVAL, and when the caller is unwound meanwhile. Outside of fibers, a fiber of a
 * parallel runtime can be joined, and one of a local runtime that has ended.
 *
 * -EINVAL: also if the fiber is the caller, another fiber joins it, the fiber belongs to another local
 * runtime, or the handle was given back before. The last one is detected only until another fiber begins,
 * which may get the same handle.
 * Another negative result: the error that the fiber's function threw.
 */
int sennit_fiber_join(struct sennit_fiber* fiber, int64_t deadline);

/** Like sennit_fiber_join, without a stack. Unless the result is -ETIMEDOUT, the handle was given back. The
 * fiber must belong to the caller's kind of runtime.
 */
int sennit_fiber_become_joining(struct sennit_fiber* fiber, sennit_result_function function,
                                const void* state, size_t size, int64_t deadline);

/** Gives the handle back; the fiber continues. Does nothing for null. Fatal: the handle was given back
 * before, or is that of the calling fiber, which sennit_runtime_run waits for.
 */
void sennit_fiber_detach(struct sennit_fiber* fiber);

/** Lets the fiber's park return: the current one, or else the next one. For a fiber of a local runtime, call
 * it on the runtime's thread; from another thread, post a function that calls it.
 */
int sennit_fiber_unpark(struct sennit_fiber* fiber);

/** Returns the fiber's name, "" if it has none. The text belongs to the handle. */
const char* sennit_fiber_name(const struct sennit_fiber* fiber);
/** Returns the fiber's number, unique in the process; 0 for null. */
uint64_t sennit_fiber_id(struct sennit_fiber* fiber);

/* ---- What a fiber does to itself. ---- */

/** Lets every other ready fiber run before the caller resumes, in the order of the runtime's policy. Inline:
 * it takes a few nanoseconds. errno is not preserved. -ENOMEM: with a yield continuation (see below); it
 * has not yielded.
 */
SENNIT_ALWAYS_INLINE int sennit_self_yield(void) {
  return sennit_self_yield_inline();
}

/** Blocks the calling fiber for a duration. Returns 0. */
int sennit_self_sleep(int64_t nanoseconds);
/** Blocks the calling fiber until a time. Returns 0. */
int sennit_self_sleep_until(int64_t deadline);

/** Blocks until sennit_fiber_unpark is called. Returns at once if that has happened since the last park. */
int sennit_self_park(void);
/** Like sennit_self_park, but gives up at a deadline. */
int sennit_self_park_until(int64_t deadline);

/** Blocks without a stack, at any depth, and does not return: when the fiber is unparked, or at the
 * deadline, it resumes with function(copy of the `size` bytes at `state`), on an empty stack. With deadline
 * 0, other ready fibers run first. The fiber ends when `function` returns, or with its runtime: `function`
 * is then not called.
 *
 * All its frames are discarded as they are. Nothing in them may own anything: no cleanup runs. A state of
 * up to 32 bytes is kept in the fiber's descriptor, one of up to 2048 bytes in a block of memory. It is
 * aligned to 16, and belongs to the function until that returns or blocks in this way again.
 *
 * It returns only if it fails, and then nothing has happened. -EINVAL: also for a larger state. -ENOMEM.
 * Debug builds abort if a frame has a cleanup (compile with -fexceptions), or in a coroutine.
 */
int sennit_become(sennit_function function, const void* state, size_t size, int64_t deadline);
/** Until it is cleared or set anew, sennit_self_yield does not return: the calling fiber later resumes with
 * function(copy of the state), on an empty stack. The frames in between are unwound, as at the runtime's
 * end (see above). Otherwise like sennit_become.
 */
int sennit_self_set_yield_continuation(sennit_function function, const void* state, size_t size);
/** Clears the yield continuation: yields return again. */
int sennit_self_clear_yield_continuation(void);

/** Returns the calling fiber, for others to unpark while it lives. Do not join or detach it. Null outside of
 * fibers.
 */
struct sennit_fiber* sennit_self(void);
/** Names the calling fiber. The first 31 bytes are copied. sennit_fiber_name(sennit_self()) returns the
 * name.
 */
int sennit_self_set_name(const char* name);

/* ---- Stacks. Any thread. See sennit/stacks.hpp. ---- */

/** Calls function(argument) on a stack of 1 MiB, which the worker lends for the duration of the call: for
 * code that needs more stack than its fiber has. The function may block. See sennit/on_large_stack.hpp. On
 * threads' own stacks the function is called directly. -ENOMEM: there is no memory for the stack, and the
 * function was not called.
 */
int sennit_on_large_stack(sennit_function function, void* argument);

/** A stack size that may be less than 8 KiB, at least 1 KiB. Stacks of 1 and 2 KiB have no guard: an
 * overflow overwrites another stack. Link with -Wl,-z,now, and install all signal handlers with SA_ONSTACK.
 */
#define SENNIT_SMALL_STACK(bytes) ((size_t)(bytes) | ~(SIZE_MAX >> 1))

/** How deep the stacks of fibers of one name, or of all coroutines, have been used. */
struct sennit_stack_usage {
  /** "fiber" or "coroutine". */
  char kind[16];
  /** The name of the fibers; "" for all without a name. */
  char name[32];
  /** The number of stacks that were examined: those in use and, if stacks are measured, those of fibers that
   * have ended.
   */
  size_t count;
  /** The size of the largest of them, in bytes. */
  size_t size;
  /** The largest part of a stack that has been written to, in bytes. */
  size_t high_water;
  /** A sufficient size: high_water and a margin. */
  size_t enough;
};

/** Switches measurement on or off. While it is on, the stack of a fiber that gets a name is cleared first,
 * and its depth is recorded when the fiber ends: use it in runs that measure. Otherwise a depth includes
 * what earlier fibers left on the stack.
 */
void sennit_stacks_measure(bool on);
/** Copies the first `room` of them, in alphabetical order. Returns how many there are, or -ENOMEM. */
ssize_t sennit_stack_usages(struct sennit_stack_usage* usages, size_t room);
/** Returns how deep the caller's stack has been used, in bytes; 0 if the stack is not one of Sennit's. */
size_t sennit_stack_high_water(void);

/* ---- Diagnostics. ---- */

/** Writes a report to a file descriptor: what each worker does, what each fiber waits for and for how long,
 * and where. It stops the workers for a moment. Any thread or fiber.
 */
void sennit_dump(int descriptor);
/** Writes such a report to standard error whenever the process receives a signal. A thread of Sennit's own
 * writes it, so it comes also if all workers are stuck. -EINVAL: not a signal, or one that cannot be caught.
 * -EAGAIN, -ENOMEM: the thread cannot be started.
 */
int sennit_dump_on_signal(int signal);

/* ---- Sharing. A mutex, condition, semaphore, channel, port or exception server is of one of two kinds:
 *
 *   sennit_..._create()         local: for the fibers of one local runtime at a time, and without atomics
 *   sennit_..._create_shared()  shared: for fibers of all parallel runtimes, and for any thread. A fiber of a
 *                               local runtime that waits for it blocks its thread.
 *
 * The functions are the same for both. -EINVAL: a fiber of a parallel runtime uses a local object, or a
 * function that waits for it is called outside of fibers. Two threads that use one local object outside of
 * fibers are not detected. In code that is compiled with NDEBUG, some operations that need not wait are not
 * checked, wherever they are called: a lock or unlock of a local mutex without waiters, a notification of a
 * local condition, and a send to or a receive from the buffer of a local channel.
 *
 * A shared object may be destroyed when all that waited for it have been served. -EBUSY tells of local
 * objects only, except that no mutex is destroyed while it is locked.
 *
 * The forms ..._become_... wait without a stack, as sennit_become: they do not return, and resume the fiber
 * in a function that gets the result. The function's stack also has copies of the state and the value: with
 * more than 512 bytes of them, about 15 KB are used before it begins. They wait until `deadline`. Only fibers
 * of the object's kind may use them. They return only if they fail, and then nothing has happened: -EINVAL,
 * -ENOMEM. Without a deadline, a state of up to 16 bytes needs no memory, except beside a value of more than
 * 8 bytes, and in waits for a condition, a call or a select. ---- */

/* ---- Mutex. Not recursive. A local one is first come, first served. A shared one may be locked by a fiber
 * that comes while a waiter has been woken, but does not run yet. ---- */

/** Makes an unlocked local mutex. */
int sennit_mutex_create(struct sennit_mutex** result);
/** Makes an unlocked shared mutex. */
int sennit_mutex_create_shared(struct sennit_mutex** result);
/** Destroys a mutex. Does nothing for null. -EBUSY: it is locked or waited for; nothing was done. */
int sennit_mutex_destroy(struct sennit_mutex* mutex);
/** Locks the mutex; waits while it is locked. Outside of fibers it locks a free local mutex, and returns
 * -EINVAL for another.
 */
int sennit_mutex_lock(struct sennit_mutex* mutex);
/** Locks the mutex if it is free. -EAGAIN: it is locked. */
int sennit_mutex_trylock(struct sennit_mutex* mutex);
/** Like sennit_mutex_lock, but gives up at a deadline. */
int sennit_mutex_lock_until(struct sennit_mutex* mutex, int64_t deadline);
/** Like sennit_mutex_lock_until, without a stack. If the result is 0, the function has the mutex locked. */
int sennit_mutex_become_locking(struct sennit_mutex* mutex, sennit_result_function function,
                                const void* state, size_t size, int64_t deadline);
/** Unlocks the mutex. A local one passes to the fiber that has waited longest; that of a shared one becomes
 * ready. -EINVAL: it is not locked.
 */
int sennit_mutex_unlock(struct sennit_mutex* mutex);

/* ---- Condition. No spurious wake-ups, but another fiber may come first: test in a loop. ---- */

/** Makes a condition for local mutexes. */
int sennit_condition_create(struct sennit_condition** result);
/** Makes a condition for shared mutexes. */
int sennit_condition_create_shared(struct sennit_condition** result);
/** Destroys a condition. Does nothing for null. -EBUSY: it is waited for; nothing was done. */
int sennit_condition_destroy(struct sennit_condition* condition);
/** Unlocks the mutex, waits for a notification, and locks the mutex again. The caller must hold the mutex,
 * and holds it afterwards, also after -ETIMEDOUT and when it is unwound. In the latter case a cleanup must
 * unlock it: otherwise another waiter that is unwound waits for the mutex in vain, and the program is
 * aborted. -EINVAL: the mutex is not locked, or of the other kind.
 */
int sennit_condition_wait(struct sennit_condition* condition, struct sennit_mutex* mutex);
/** Like sennit_condition_wait, but gives up at a deadline. */
int sennit_condition_wait_until(struct sennit_condition* condition, struct sennit_mutex* mutex,
                                int64_t deadline);
/** Like sennit_condition_wait_until, without a stack. The function has the mutex locked, whatever the result
 * is. If the runtime ends first, the mutex is unlocked.
 */
int sennit_condition_become_waiting(struct sennit_condition* condition, struct sennit_mutex* mutex,
                                    sennit_result_function function, const void* state, size_t size,
                                    int64_t deadline);
/** Makes the waiter ready that came first, if there is one. The caller continues. */
int sennit_condition_notify_one(struct sennit_condition* condition);
/** Makes all waiters ready. The caller continues. */
int sennit_condition_notify_all(struct sennit_condition* condition);

/* ---- Semaphore: a number of permits. ---- */

/** Makes a local semaphore. `permits` is the number of permits at the beginning, at most SIZE_MAX / 8. */
int sennit_semaphore_create(struct sennit_semaphore** result, size_t permits);
/** Makes a shared semaphore. */
int sennit_semaphore_create_shared(struct sennit_semaphore** result, size_t permits);
/** Destroys a semaphore. Does nothing for null. -EBUSY: it is waited for; nothing was done. */
int sennit_semaphore_destroy(struct sennit_semaphore* semaphore);
/** Waits for a permit, and takes it. */
int sennit_semaphore_acquire(struct sennit_semaphore* semaphore);
/** Takes a permit if there is one. -EAGAIN: there is none. */
int sennit_semaphore_tryacquire(struct sennit_semaphore* semaphore);
/** Like sennit_semaphore_acquire, but gives up at a deadline. */
int sennit_semaphore_acquire_until(struct sennit_semaphore* semaphore, int64_t deadline);
/** Like sennit_semaphore_acquire_until, without a stack. */
int sennit_semaphore_become_acquiring(struct sennit_semaphore* semaphore, sennit_result_function function,
                                      const void* state, size_t size, int64_t deadline);
/** Adds permits, and makes as many waiters ready. There may be at most SIZE_MAX / 8 permits. -EINVAL: also
 * for more at once.
 */
int sennit_semaphore_release(struct sennit_semaphore* semaphore, size_t permits);

/* ---- Channel: elements of one size, first in, first out. ---- */

/** Makes a local channel. `element_size` is in bytes, at least 1. `capacity` is the number of elements that
 * fit before senders wait; with 0, each waits for its receiver. No other function of channels allocates,
 * except those without a stack.
 */
int sennit_channel_create(struct sennit_channel** result, size_t element_size, size_t capacity);
/** Makes a shared channel. */
int sennit_channel_create_shared(struct sennit_channel** result, size_t element_size, size_t capacity);
/** Destroys a channel and the elements in it. Does nothing for null. -EBUSY: a fiber waits, or was woken and
 * has not run yet; nothing was done.
 */
int sennit_channel_destroy(struct sennit_channel* channel);
/** Copies an element from `element` into the channel; waits while there is no room. -EPIPE: the channel is
 * closed.
 */
int sennit_channel_send(struct sennit_channel* channel, const void* element);
/** Like sennit_channel_send, but gives up at a deadline. */
int sennit_channel_send_until(struct sennit_channel* channel, const void* element, int64_t deadline);
/** Copies the next element to `element`; waits while there is none. -EPIPE: the channel is closed, and
 * nothing is left in it.
 */
int sennit_channel_receive(struct sennit_channel* channel, void* element);
/** Like sennit_channel_receive, but gives up at a deadline. */
int sennit_channel_receive_until(struct sennit_channel* channel, void* element, int64_t deadline);
/** Like sennit_channel_receive_until, without a stack, for elements of up to 2048 bytes. If the result is 0,
 * the function's `value` is the element.
 *
 *   static void take(void* state, int result, void* value) {
 *     if (result == 0) {
 *       use(*(int*)value);
 *       sennit_channel_become_receiving(numbers, take, NULL, 0, SENNIT_NEVER);
 *     }
 *   }
 */
int sennit_channel_become_receiving(struct sennit_channel* channel, sennit_value_function function,
                                    const void* state, size_t size, int64_t deadline);
/** Like sennit_channel_send_until, without a stack, for elements of up to 2048 bytes. The element is copied
 * at once. Unless the result is 0, the function's `value` is the element, which was not sent.
 */
int sennit_channel_become_sending(struct sennit_channel* channel, const void* element,
                                  sennit_value_function function, const void* state, size_t size,
                                  int64_t deadline);
/** Like sennit_channel_send, but does not wait: -EAGAIN. Also outside of fibers. */
int sennit_channel_trysend(struct sennit_channel* channel, const void* element);
/** Like sennit_channel_receive, but does not wait: -EAGAIN. Also outside of fibers. */
int sennit_channel_tryreceive(struct sennit_channel* channel, void* element);
/** Ends all sends: those that wait return -EPIPE. Receivers get what is left. May be called again. */
int sennit_channel_close(struct sennit_channel* channel);
/** Returns the number of elements in the channel. */
ssize_t sennit_channel_size(const struct sennit_channel* channel);

/* ---- Select: waits for several channels of one kind, and does one of the cases. ---- */

/** A case of a select: to receive an element, or to send one. */
struct sennit_case {
  /** The channel from which the element comes, or to which it goes. */
  struct sennit_channel* channel;
  /** Where the received element goes, or the element to send. */
  void* element;
  /** Whether the element is sent. */
  bool sends;
  /** Of the chosen case, set by the select: 0, or -EPIPE: the channel is closed. */
  int result;
};

/** Waits until one of the cases can be done, does it, and returns its number, from 0. If several can be done,
 * it does one of them, each with the same probability. At most 64 cases. A channel may be in several cases.
 * -ETIMEDOUT: none could be done.
 */
int sennit_select(struct sennit_case* cases, size_t count, int64_t deadline);
/** Like sennit_select, without a stack. At most 8 cases, whose elements together with the state may have 4096
 * bytes, if each is rounded up to 16. Elements to send are copied at once; `element` of a case that receives
 * is not used, and must not be null. The function's result is the number of the chosen case, or -ETIMEDOUT.
 * Its `value` is a struct sennit_case: the chosen one, whose `element` is the received element.
 */
int sennit_select_become(const struct sennit_case* cases, size_t count, sennit_value_function function,
                         const void* state, size_t size, int64_t deadline);

/* ---- Port: calls from fiber to fiber. Any number of callers and servers may use a port. Callers are served
 * in the order in which they came. A call to a server that waits switches directly to it. ---- */

/** Makes a local port. Requests and replies have a fixed size, 0 to 2048 bytes each, and are copied. */
int sennit_port_create(struct sennit_port** result, size_t request_size, size_t reply_size);
/** Makes a shared port. */
int sennit_port_create_shared(struct sennit_port** result, size_t request_size, size_t reply_size);
/** Destroys a port. Calls of a shared port that were received and have no answer fail with -ECONNRESET. Does
 * nothing for null. -EBUSY: a fiber waits in a local port, also for an answer; nothing was done.
 */
int sennit_port_destroy(struct sennit_port* port);
/** Ends all calls that no server has received, and all receives. Calls that were received may still be
 * answered. May be called again.
 */
int sennit_port_close(struct sennit_port* port);

/** Sends a request, and waits for the reply. -EPIPE: the port is closed. -ECONNRESET: a fiber in
 * sennit_port_serve was unwound, or the port was destroyed. If a server that receives by itself ends without
 * an answer, the call waits until its deadline. Another negative result: the server failed with it. After
 * -ETIMEDOUT a server may have the request even so, and its answer is dropped.
 */
int sennit_port_call(struct sennit_port* port, const void* request, void* reply, int64_t deadline);
/** Like sennit_port_call, without a stack. The request is copied at once. The function's `value` is the
 * reply.
 */
int sennit_port_become_calling(struct sennit_port* port, const void* request, sennit_value_function function,
                               const void* state, size_t size, int64_t deadline);

/** The function of a server: reads the request, and writes the reply. Returns 0, or an error, with which the
 * call then fails.
 */
typedef int (*sennit_port_handler)(void* argument, const void* request, void* reply);
/** Answers each call with handler(argument, request, reply), until the port is closed. Then it returns 0. If
 * the last fiber that serves the port in this way is unwound, the port is closed. It allocates once, before
 * it receives the first call. -ENOMEM: it could not, and has received none.
 */
int sennit_port_serve(struct sennit_port* port, sennit_port_handler handler, void* argument);

/** Waits for a call. The caller waits until the call is answered, once, by sennit_call_reply,
 * sennit_call_fail or sennit_call_reply_and_receive. Any fiber may answer it, also later. -EPIPE: the port is
 * closed, and no earlier call is left.
 */
int sennit_port_receive(struct sennit_port* port, struct sennit_call** result, int64_t deadline);
/** Like sennit_port_receive, without a stack. The function's `value` is the struct sennit_call. */
int sennit_port_become_receiving(struct sennit_port* port, sennit_value_function function, const void* state,
                                 size_t size, int64_t deadline);
/** Returns the request, aligned to 16. It belongs to the call until that is answered. Null for null. */
void* sennit_call_request(struct sennit_call* call);
/** Answers a call. It does not exist afterwards. -ECANCELED: its caller has given up. Fatal: the call was
 * answered before, and the port has received no other one since.
 */
int sennit_call_reply(struct sennit_call* call, const void* reply);
/** Answers a call with an error, a number of errno. Otherwise like sennit_call_reply. -EINVAL: the error is
 * 0; nothing was done.
 */
int sennit_call_fail(struct sennit_call* call, int error);
/** Answers a call, and waits for the next one, in one step: it switches directly to the caller. `call` gets
 * the next call. -EPIPE: the port is closed, and `call` is null. (The call was answered even so.)
 */
int sennit_call_reply_and_receive(struct sennit_call** call, const void* reply);

/* ---- Upcalls: idle fibers without stacks that handle events. No fiber starts or ends for an event, and
 * nothing is allocated. ---- */

/** The size of a pool. All members zero is the default. */
struct sennit_upcall_options {
  /** The number of fibers, so that as many handlers can run or wait at a time; 0 means 4. */
  unsigned fibers;
  /** The maximum number of events that are queued while all fibers are busy; 0 means 1024. */
  size_t events;
};

/** Makes a pool, whose fibers belong to the caller's runtime. `options` may be null. -EINVAL: called outside
 * of fibers, or more than 16,777,216 fibers or events. -EAGAIN: the runtime may have no more fibers.
 */
int sennit_upcall_pool_create(struct sennit_upcall_pool** result,
                              const struct sennit_upcall_options* options);
/** Closes a pool, and waits until all posted handlers have returned. Call it in a fiber of the pool's
 * runtime, before that ends. Does nothing for null. -EINVAL: called elsewhere, or in a fiber of the pool,
 * which would wait for itself; nothing was done.
 */
int sennit_upcall_pool_destroy(struct sennit_upcall_pool* pool);
/** Ends all further posts. Handlers that were posted before still run. May be called again. */
int sennit_upcall_pool_close(struct sennit_upcall_pool* pool);
/** Lets a fiber of the pool call function(copy of the `size` bytes at `state`), and does not wait. At most 24
 * bytes, which are aligned to 8. Any thread may post to the pool of a parallel runtime, but no signal
 * handler. The function may wait. If it waits without a stack, the last function must end by
 * sennit_upcall_pool_become_idle. An exception that leaves it ends the program. -EAGAIN: all fibers are busy
 * and the queue is full, or the pool is closed.
 */
int sennit_upcall_pool_post(struct sennit_upcall_pool* pool, sennit_function function, const void* state,
                            size_t size);
/** Gives the calling fiber back to the pool; as sennit_become, it does not return. -EINVAL: the caller is not
 * a fiber of the pool; nothing was done.
 */
int sennit_upcall_pool_become_idle(struct sennit_upcall_pool* pool);

/* ---- Exception servers: a fiber decides what to do when another fiber faults. See
 * sennit/exception_server.hpp for the faults that are served. ---- */

/** What a fault is: SIGSEGV, SIGBUS, a stack overflow, SIGILL or SIGFPE. */
enum sennit_fault_kind {
  SENNIT_FAULT_MEMORY = 0,
  SENNIT_FAULT_BUS = 1,
  SENNIT_FAULT_OVERFLOW = 2,
  SENNIT_FAULT_INSTRUCTION = 3,
  SENNIT_FAULT_ARITHMETIC = 4
};
/** What happens to the fiber that faulted. */
enum sennit_verdict {
  /** It repeats the instruction, with the registers as the handler has left them. */
  SENNIT_VERDICT_RESUME = 0,
  /** Its innermost sennit_exception_server_guard returns -ECANCELED. The frames in between are given up as
   * they are: locks stay locked, and memory is lost. Without a guard the fiber ends.
   */
  SENNIT_VERDICT_KILL = 1,
  /** The instruction throws a C++ exception, sennit::killed: only for code that allows that. */
  SENNIT_VERDICT_UNWIND = 2,
  /** As without a server: usually the process ends. */
  SENNIT_VERDICT_PASS = 3
};
/** The registers of a fiber on x86-64; on AArch64 they are x0 to x30, sp, pc and pstate instead. */
struct sennit_registers {
#if defined(__aarch64__)
  /** General registers x0 to x30. */
  uint64_t x[31];
  /** The stack pointer. */
  uint64_t sp;
  /** The address of the instruction. */
  uint64_t pc;
  /** The flags. */
  uint64_t pstate;
#else
  /** General registers r8 to r15. */
  uint64_t r8_to_r15[8];
  /** A general register. */
  uint64_t rdi;
  /** A general register. */
  uint64_t rsi;
  /** A general register. */
  uint64_t rbp;
  /** A general register. */
  uint64_t rbx;
  /** A general register. */
  uint64_t rdx;
  /** A general register. */
  uint64_t rax;
  /** A general register. */
  uint64_t rcx;
  /** The stack pointer. */
  uint64_t rsp;
  /** The address of the instruction. */
  uint64_t rip;
  /** The flags. */
  uint64_t rflags;
#endif
};
/** A fault, while its handler runs. */
struct sennit_fault {
  /** An enum sennit_fault_kind. */
  int kind;
  /** The accessed address; for SENNIT_FAULT_INSTRUCTION and _ARITHMETIC, that of the instruction. Null if it
   * is unknown.
   */
  void* address;
  /** The name of the fiber, or "". */
  const char* fiber;
  /** The registers with which it resumes. They may be changed. Null where faults are not served. */
  struct sennit_registers* registers;
  /** Whether the fiber has given up its stack (sennit_become_restartable). Then it does not repeat the
   * instruction, and the registers are only to be read.
   */
  bool stackless;
};
/** Returns an enum sennit_verdict. It must not fault itself, nor need what the faulting code may hold, such
 * as the locks of malloc.
 */
typedef int (*sennit_fault_handler)(void* argument, struct sennit_fault* fault);

/** Returns whether faults are served: on x86-64 and AArch64, without sanitizers. Elsewhere a server never
 * gets one. */
bool sennit_serves_faults(void);
/** Makes a server for faults of fibers of one local runtime. */
int sennit_exception_server_create(struct sennit_exception_server** result);
/** Makes a server for faults of fibers of parallel runtimes. */
int sennit_exception_server_create_shared(struct sennit_exception_server** result);
/** Closes and destroys a server, when no fiber serves it any more. Does nothing for null. */
void sennit_exception_server_destroy(struct sennit_exception_server* server);
/** Passes on all faults that are not being handled, from now on. May be called again. */
int sennit_exception_server_close(struct sennit_exception_server* server);
/** Answers each fault by handler(argument, fault), until the server is closed. Then it returns 0. Other
 * fibers run meanwhile.
 */
int sennit_exception_server_serve(struct sennit_exception_server* server, sennit_fault_handler handler,
                                  void* argument);
/** Like sennit_exception_server_serve, without a stack while there is no fault. As sennit_become, it does not
 * return. The fiber ends when the server is closed.
 */
int sennit_exception_server_become_serving(struct sennit_exception_server* server,
                                           sennit_fault_handler handler, void* argument);
/** Calls function(argument), whose faults go to the server. -ECANCELED: the server has killed it. */
int sennit_exception_server_guard(struct sennit_exception_server* server, sennit_function function,
                                  void* argument);
/** From now on, faults of all fibers of the calling fiber's runtime go to the server, outside of
 * sennit_exception_server_guard. Null: to none. A runtime has one at most, and the last call counts. Call it
 * with null before you destroy the server, or faults are passed on.
 */
int sennit_exception_server_guard_runtime(struct sennit_exception_server* server);
/** The calling fiber gives up its stack, and later runs function(copy of the state). At a fault in that, it
 * gives up its stack until the handler has answered, and then runs function(new copy of the state) from the
 * beginning, instead of repeating the instruction. The function may be left at each instruction that faults,
 * so it and what it calls must hold nothing there; under sennit_exception_server_guard it keeps its stack.
 * sennit::restartable (sennit/exception_server.hpp) describes this. Otherwise like sennit_become.
 */
int sennit_become_restartable(sennit_function function, const void* state, size_t size);

/* ---- Coroutine: a function that passes a word to its caller, suspends, and resumes with another word. Any
 * thread, inside or outside of fibers. It may pass from thread to thread between two resumes. ---- */

/** A coroutine's function. It gets the word of the first resume, and returns the word of the last. */
typedef uintptr_t (*sennit_coroutine_function)(struct sennit_coroutine* self, void* argument,
                                               uintptr_t first);

/** Makes a coroutine. `stack_size` is in bytes; 0 means 64 KiB. The function begins at the first resume. */
int sennit_coroutine_create(struct sennit_coroutine** result, sennit_coroutine_function function,
                            void* argument, size_t stack_size);
/** Destroys a coroutine. One that began and is not done is unwound, as fibers at their runtime's end (see
 * above). Does nothing for null. -EINVAL: it is running.
 */
int sennit_coroutine_destroy(struct sennit_coroutine* coroutine);
/** Passes `in` to the coroutine and runs it until it yields or returns. Returns 1 if it yielded, and 0 if it
 * returned. `out` gets its word, and may be null. -EINVAL: it is done, or running. Another negative result:
 * the error that its function threw; it is then done.
 */
int sennit_coroutine_resume(struct sennit_coroutine* coroutine, uintptr_t in, uintptr_t* out);
/** Returns whether the function has returned or thrown. */
bool sennit_coroutine_done(const struct sennit_coroutine* coroutine);
/** Passes `out` to the caller of resume, and returns the word of the next resume. Only the coroutine's
 * function calls it, at any depth.
 */
uintptr_t sennit_coroutine_yield(struct sennit_coroutine* self, uintptr_t out);

/* ---- TCP. Only fibers call these functions. No operation raises SIGPIPE. Errors are those of the system
 * calls (-ECONNREFUSED, -ENETUNREACH, -ECONNRESET, ...; -EPIPE: the peer no longer reads), and -ETIMEDOUT;
 * -ECANCELED: another fiber closed the stream meanwhile; -EBUSY: another fiber reads, or writes, or accepts,
 * and nothing was done. After any error except -ETIMEDOUT, -EBUSY and -ENOMEM, close the object. ---- */

/** Connects to an address ("127.0.0.1", "::1"), or to a host by its name. The addresses of a name are tried
 * in order, and each may use an equal share of the time that is left. TCP_NODELAY is switched on. The
 * result may be a SENNIT_LOOKUP_ERROR.
 */
int sennit_tcp_stream_connect(struct sennit_tcp_stream** result, const char* host, uint16_t port,
                              int64_t deadline);
/** Takes ownership of a connected stream socket of any family, and makes it non-blocking. If this fails, the
 * descriptor remains open and the caller still owns it. May be called outside of fibers.
 *
 * -EBADF; -ENOTSOCK (a pipe, a terminal or a file: use sennit_readiness for those); -EPROTOTYPE (a datagram
 * or packet socket); -EINVAL (a listening socket, or a null result); -ENOMEM.
 */
int sennit_tcp_stream_adopt(struct sennit_tcp_stream** result, int descriptor);
/** Reads at least one byte; waits while there is none. Returns the number of bytes; 0 at the end of the
 * stream, or if `size` is 0. One fiber at a time reads, and one writes; a second one gets -EBUSY.
 */
ssize_t sennit_tcp_stream_read(struct sennit_tcp_stream* stream, void* to, size_t size, int64_t deadline);
/** Writes as many bytes as the kernel takes at once, at least one. Returns their number. */
ssize_t sennit_tcp_stream_write(struct sennit_tcp_stream* stream, const void* from, size_t size,
                                int64_t deadline);
/** Writes all bytes; the deadline is for the whole. `written` is updated while bytes are written. It has
 * their number however this ends, even if the fiber is unwound. It may be null. -ECANCELED: also if a stop
 * was requested in C++; the fiber's next wait then unwinds it.
 */
int sennit_tcp_stream_write_all(struct sennit_tcp_stream* stream, const void* from, size_t size,
                                size_t* written, int64_t deadline);
/** Like sennit_become, until a read would not wait, or until the deadline. The function must attempt the
 * read to find out. That is also so at the peer's end and after an error, which the read then reports. The
 * fiber counts as the one that reads.
 *
 * If the stream is cancelled meanwhile, the function is called, too, and its read returns -ECANCELED. If the
 * stream is closed meanwhile, the function is called, and the stream no longer exists: the data to which
 * `state` points must tell. Up to 16 bytes of state are kept in the descriptor; with another
 * deadline than SENNIT_NEVER, none.
 */
int sennit_tcp_stream_become_reading(struct sennit_tcp_stream* stream, sennit_function function,
                                     const void* state, size_t size, int64_t deadline);
/** Like sennit_tcp_stream_become_reading, until a write would not wait. */
int sennit_tcp_stream_become_writing(struct sennit_tcp_stream* stream, sennit_function function,
                                     const void* state, size_t size, int64_t deadline);
/** An asynchronous transfer. Embed it as the first member of a struct of yours: done() gets its address. */
struct sennit_async_transfer {
  /** Called by a fiber of the pool when the transfer has ended. The result is 0, or an error, also
   * -ECANCELED: the stream was closed. It must not wait without a stack.
   */
  void (*done)(struct sennit_async_transfer* transfer, int result);
  /** Set before that: the number of transferred bytes. 0 at the end of the stream. */
  size_t size;
};
/** Begins what sennit_tcp_stream_read does, without a deadline, and does not wait. A fiber of the pool
 * without a stack makes the transfer, and calls transfer->done(). `pool` null: the default pool of the
 * caller's runtime, which has 1024 fibers. The memory, the transfer and the stream must exist until then. To
 * end the transfer earlier, call sennit_tcp_stream_cancel. If the runtime ends first, done() is not called.
 * -EAGAIN: too many operations are in progress, or the pool is closed; nothing was begun.
 */
int sennit_tcp_stream_async_read(struct sennit_tcp_stream* stream, struct sennit_upcall_pool* pool, void* to,
                                 size_t size, struct sennit_async_transfer* transfer);
/** Begins what sennit_tcp_stream_write_all does. Otherwise like sennit_tcp_stream_async_read. */
int sennit_tcp_stream_async_write_all(struct sennit_tcp_stream* stream, struct sennit_upcall_pool* pool,
                                      const void* from, size_t size, struct sennit_async_transfer* transfer);
/** An asynchronous accept or connect. Embed it as the first member of a struct of yours: done() gets its
 * address.
 */
struct sennit_async_stream {
  /** Called by a fiber of the pool when the operation has ended. The result is 0, or an error. It must not
   * wait without a stack.
   */
  void (*done)(struct sennit_async_stream* operation, int result);
  /** Set before that: the connected stream, which is the caller's to close. Null after an error. */
  struct sennit_tcp_stream* stream;
};
/** Begins what sennit_tcp_stream_connect does, and does not wait. The host is copied. A fiber of the pool
 * without a stack makes the connection, and calls operation->done(). `pool` null: the default pool of the
 * caller's runtime. The operation must exist until then. If the runtime ends first, done() is not called, and
 * the connection is closed. -EAGAIN: too many operations are in progress, or the pool is closed. -ENOMEM.
 * Nothing was begun after either.
 */
int sennit_tcp_stream_async_connect(struct sennit_upcall_pool* pool, const char* host, uint16_t port,
                                    int64_t deadline, struct sennit_async_stream* operation);
/** Sends the end of the stream to the peer. The stream can still be read. -ENOTCONN: the connection is gone.
 */
int sennit_tcp_stream_shutdown(struct sennit_tcp_stream* stream);
/** Closes the connection, but does not free the stream. Bytes that were written are still sent, unless input
 * is unread: then the connection is reset, and the peer may lose them. To avoid that, call
 * sennit_tcp_stream_shutdown first, and read until the peer's end or a deadline. Fibers that wait in the
 * stream, with or without a stack, get -ECANCELED, and so does every later operation. Any fiber
 * may call it while others use the stream, on any worker. Call sennit_tcp_stream_close when none of them uses
 * it any more. May be called again. -EINVAL: null.
 */
int sennit_tcp_stream_cancel(struct sennit_tcp_stream* stream);
/** Closes and frees the stream. Unread input is treated as by sennit_tcp_stream_cancel. No other fiber may
 * use the stream from now on; those that wait in it at this moment get -ECANCELED. So let the fiber that uses
 * a stream close it, and end its operations by sennit_tcp_stream_cancel. Does nothing for null. Call it in a
 * fiber of the runtime that has used the stream, or when that runtime has ended.
 */
void sennit_tcp_stream_close(struct sennit_tcp_stream* stream);
/** Frees the stream, but returns its socket, which stays open and non-blocking and belongs to the caller:
 * for a TLS library, sennit_readiness, or to be adopted again. Fibers that read or write in the stream get
 * -ECANCELED; it returns when none of them uses the socket. Call it in a fiber of the runtime that has used
 * the stream, or when that runtime has ended. -EINVAL: null.
 */
int sennit_tcp_stream_release(struct sennit_tcp_stream* stream);
/** Returns the socket, to set and to read options. */
int sennit_tcp_stream_descriptor(const struct sennit_tcp_stream* stream);

/** Binds to a numeric address ("0.0.0.0", "::") and a port (0: the kernel chooses), with SO_REUSEADDR, and
 * listens. `backlog` is the maximum number of connections that wait for accept; 0 means SOMAXCONN. Also
 * outside of fibers.
 *
 * -EADDRINUSE, -EADDRNOTAVAIL, -EACCES; -EINVAL: also if the address is not numeric; -EMFILE: two file
 * descriptors are needed.
 */
int sennit_tcp_listener_listen(struct sennit_tcp_listener** result, const char* address, uint16_t port,
                               int backlog);
/** Waits for a connection. One fiber at a time. If file descriptors are exhausted it does not fail: it
 * closes the connection that has waited longest, and counts it. Errors of a single connection, such as
 * -ECONNABORTED, are not reported. -ETIMEDOUT; -ECANCELED: the listener was cancelled; -EBUSY: another fiber
 * accepts; -ENOMEM: no connection was accepted, so try again later.
 */
int sennit_tcp_listener_accept(struct sennit_tcp_listener* listener, struct sennit_tcp_stream** result,
                               int64_t deadline);
/** Like sennit_tcp_stream_become_reading, until there is a connection. */
int sennit_tcp_listener_become_accepting(struct sennit_tcp_listener* listener, sennit_function function,
                                         const void* state, size_t size, int64_t deadline);
/** Begins what sennit_tcp_listener_accept does, without a deadline, and does not wait. The listener must
 * exist until operation->done() is called. To end the accept earlier, call sennit_tcp_listener_cancel.
 * Without memory for the stream, the connection is closed, and the result is -ENOMEM. Otherwise like
 * sennit_tcp_stream_async_read.
 */
int sennit_tcp_listener_async_accept(struct sennit_tcp_listener* listener, struct sennit_upcall_pool* pool,
                                     struct sennit_async_stream* operation);
/** Returns the number of connections that were closed because file descriptors were exhausted. */
uint64_t sennit_tcp_listener_refused(const struct sennit_tcp_listener* listener);
/** Returns the TCP port at which it listens. */
int sennit_tcp_listener_port(const struct sennit_tcp_listener* listener);
/** Returns the socket, to set and to read options. */
int sennit_tcp_listener_descriptor(const struct sennit_tcp_listener* listener);
/** Stops listening, but does not free the listener, like sennit_tcp_stream_cancel. A fiber that accepts gets
 * -ECANCELED. The kernel resets the connections that were not accepted yet. To serve them, accept with the
 * deadline 0 until -ETIMEDOUT before.
 */
int sennit_tcp_listener_cancel(struct sennit_tcp_listener* listener);
/** Closes and frees the listener, like sennit_tcp_stream_close. */
void sennit_tcp_listener_close(struct sennit_tcp_listener* listener);

/* ---- Signals that a fiber waits for. ---- */

/** Makes a set of signals. While it exists, its signals only wake its waiter. -EINVAL: not a signal, or one
 * that cannot be waited for (SIGKILL, SIGSTOP, SIGSEGV, SIGBUS, SIGILL, SIGFPE). Any thread.
 */
int sennit_signal_set_create(struct sennit_signal_set** result, const int* signals, size_t count);
/** Destroys the set and restores the former effect of its signals. A waiter gets -ECANCELED. Does nothing
 * for null.
 */
void sennit_signal_set_destroy(struct sennit_signal_set* set);
/** Waits until one of the signals arrives, or has arrived since the last wait. Returns its number, the
 * lowest of several. One fiber at a time. -EBUSY: another fiber waits. -ECANCELED: another fiber has
 * destroyed the set.
 */
int sennit_signal_set_wait(struct sennit_signal_set* set, int64_t deadline);

/* ---- Readiness of a file descriptor that another library owns. ---- */

/** Prepares to watch a file descriptor, without owning it. The descriptor must stay open until the object is
 * destroyed. Several objects and a stream may watch one descriptor; each object except the first then opens
 * a duplicate of it.
 */
int sennit_readiness_create(struct sennit_readiness** result, int descriptor);
/** Destroys the object: in a fiber of the runtime in which it was waited for, or after that runtime has
 * ended. Waiters get -ECANCELED. Does nothing for null.
 */
void sennit_readiness_destroy(struct sennit_readiness* readiness);
/** Waits until a read would not block. It may return too early. One fiber at a time; a second one gets
 * -EBUSY. -EBADF. -EMFILE: no descriptor is left for a duplicate. -ENOMEM, -ENOSPC: the system cannot watch
 * more. -ECANCELED: destroyed meanwhile.
 */
int sennit_readiness_wait_readable(struct sennit_readiness* readiness, int64_t deadline);
/** Waits until a write would not block. Otherwise like sennit_readiness_wait_readable. */
int sennit_readiness_wait_writable(struct sennit_readiness* readiness, int64_t deadline);
/** Like sennit_readiness_wait_readable, without a stack, as sennit_tcp_stream_become_reading. What cannot be
 * watched is ready at once; the forms above then report why.
 */
int sennit_readiness_become_reading(struct sennit_readiness* readiness, sennit_function function,
                                    const void* state, size_t size, int64_t deadline);
/** Like sennit_readiness_become_reading, until a write would not block. */
int sennit_readiness_become_writing(struct sennit_readiness* readiness, sennit_function function,
                                    const void* state, size_t size, int64_t deadline);

/* ---- Blocking calls on other threads. ---- */

/** Calls function(argument) on a thread of the process's pool; only the calling fiber waits. Outside of
 * fibers it is called directly. A call that has begun is waited for even when the runtime ends. -EAGAIN:
 * there is no thread, and none can be started. Another negative result: the error that the function threw.
 */
int sennit_offload(sennit_function function, void* argument);
/** Sets the maximum number of threads of the pool, and of the pool of name look-ups: 64 each by default, at
 * least 1. Any thread.
 */
int sennit_offload_set_limit(unsigned threads);

/** Opens a file, with the flags and mode of open(2), and with O_CLOEXEC. Each operation on a file runs as by
 * sennit_offload. Fibers may use one file at the same time; functions without an offset share its position.
 * Errors are those of the system call (open, read, write, fstat, fsync, close), and of sennit_offload.
 */
int sennit_file_open(struct sennit_file** result, const char* path, int flags, unsigned mode);
/** Reads from the file's position. Returns the number of bytes; 0 at the end of the file, or if `size` is 0.
 */
ssize_t sennit_file_read(struct sennit_file* file, void* to, size_t size);
/** Like sennit_file_read, from an offset in bytes. */
ssize_t sennit_file_read_at(struct sennit_file* file, uint64_t offset, void* to, size_t size);
/** Writes all bytes. `written` gets their number, also on failure; it may be null. */
int sennit_file_write_all(struct sennit_file* file, const void* from, size_t size, size_t* written);
/** Like sennit_file_write_all, at an offset in bytes. */
int sennit_file_write_all_at(struct sennit_file* file, uint64_t offset, const void* from, size_t size,
                             size_t* written);
/** Begins what sennit_file_read_at does, and does not wait. A thread of sennit_offload's pool reads. Then a
 * fiber of the upcall pool, which has no stack until then, calls transfer->done(). `pool` null: the default
 * pool of the caller's runtime. The memory, the transfer and the file must exist until then. If the runtime
 * ends first, done() is not called, and a read that has begun is waited for. -EAGAIN: too many operations are
 * in progress, or the pool is closed. -ENOMEM. Nothing was begun after either.
 */
int sennit_file_async_read_at(struct sennit_file* file, struct sennit_upcall_pool* pool, uint64_t offset,
                              void* to, size_t size, struct sennit_async_transfer* transfer);
/** Begins what sennit_file_write_all_at does. Otherwise like sennit_file_async_read_at. */
int sennit_file_async_write_all_at(struct sennit_file* file, struct sennit_upcall_pool* pool, uint64_t offset,
                                   const void* from, size_t size, struct sennit_async_transfer* transfer);
/** Sets `result` to the size of the file in bytes. */
int sennit_file_size(struct sennit_file* file, uint64_t* result);
/** Waits until all written bytes are on the medium. */
int sennit_file_sync(struct sennit_file* file);
/** Closes and frees the file, even if it fails: written bytes may then be lost. Does nothing for null. */
int sennit_file_close(struct sennit_file* file);

/** Looks up the numeric addresses of a host, in the order in which to try them. `result` gets an array that
 * ends in null, in one block of memory, which the caller passes to free(). The resolver runs on a pool of
 * its own, and does not delay files and sennit_offload. Returns the number of addresses, or a
 * SENNIT_LOOKUP_ERROR, -ETIMEDOUT or -ENOMEM.
 */
int sennit_host_look_up(const char* host, char*** result, int64_t deadline);

#ifdef __cplusplus
}
#endif

#include "sennit/detail/capi/inline.h"

#endif
