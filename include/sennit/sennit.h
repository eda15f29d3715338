/* Sennit for C, and for what calls C: fibers, what they wait for, I/O, coroutines.
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
 * The C++ headers say the same at more length; examples/echo_server.c is a whole program. C11 or C++. Link
 * with -lsennit -lstdc++ -pthread.
 *
 * Results. A function that returns int or ssize_t returns 0, or a count, or what its comment says; or, when
 * it fails, an error number of <errno.h>, negated. Every one may return -EINVAL, for misuse that can be told
 * cheaply: a null pointer, or a function that blocks called outside of a fiber. Other misuse is undefined;
 * the library's debug builds assert. Every one that makes or starts something may return -ENOMEM, and what
 * the system says when it has no file descriptors (-EMFILE, -ENFILE), threads (-EAGAIN) or mappings left. One
 * with a deadline may return -ETIMEDOUT. Comments name the errors there are besides. A result that is given
 * through a pointer is set only on success. errno itself says nothing.
 *
 * Time is int64_t nanoseconds. A deadline is a time of sennit_now(); SENNIT_NEVER waits without limit, and 0
 * has always passed: then an operation is a mere attempt. Who waits in vain gets -ETIMEDOUT.
 *
 * Threads. A runtime and all that its fibers use belongs to the thread that runs it; what may be called from
 * other threads says so.
 *
 * The runtime's end. A fiber that has not ended when its runtime is destroyed, or a coroutine, is unwound:
 * the function it is suspended in does not return, and its stack is unwound through all callers, as by a C++
 * exception. Compile C code that fibers run with -fexceptions, and the cleanups of
 * __attribute__((cleanup)) variables are run; they must not block. Compiled without, they are not, and what
 * the frames owned is lost: memory, locks, file descriptors. Compiled even without unwind tables
 * (-fno-asynchronous-unwind-tables; x86-64 and AArch64 have them unless told otherwise), the program is
 * terminated. A program that has its fibers end before their runtime has none of these cares.
 *
 * No function here lets another exception out. One that leaves a C function which we called (from C++ beneath
 * it) becomes the result of whoever joins, runs or resumes it: the error's number, negated, if it is a
 * std::system_error of errno's, -ENOMEM for std::bad_alloc, else -ENOTRECOVERABLE.
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
struct sennit_channel;
struct sennit_coroutine;
struct sennit_tcp_stream;
struct sennit_tcp_listener;
struct sennit_signal_set;
struct sennit_readiness;
struct sennit_file;

/* What a fiber, a post or an offloaded call does. */
typedef void (*sennit_function)(void* argument);

/* ---- Errors and time. Any thread. ---- */

/* What an error (negated or not) means, in English. Never null; the text is static. */
const char* sennit_error_text(int error);

/* How an error of getaddrinfo (EAI_NONAME, EAI_AGAIN, ...) is returned: beyond all errnos. */
#define SENNIT_LOOKUP_ERROR(eai) (-4096 - ((eai) < 0 ? -(eai) : (eai)))

/* CLOCK_MONOTONIC. */
int64_t sennit_now(void);
#define SENNIT_NEVER INT64_MAX

/* ---- Runtime: runs fibers on one thread at a time. ---- */

/* In which order fibers run: see sennit/run_policy.hpp. */
enum sennit_policy { SENNIT_POLICY_FIFO = 0, SENNIT_POLICY_LIFO = 1, SENNIT_POLICY_HYBRID = 2 };

/* All zero is the default. */
struct sennit_runtime_options {
  int policy;        /* an enum sennit_policy */
  size_t stack_size; /* bytes, of fibers that do not ask for others; 0: 64 KiB */
  /* Nanoseconds, at least 100,000, after which a fiber yields that is compiled with checks
   * (docs/compiler.md); 0: none does. The same thread is then to run the runtime again. Where none does:
   * sennit/no_yield.h. */
  int64_t time_slice;
  size_t guard_size; /* bytes, below the stacks of fibers that do not ask for others; 0: 64 KiB */
  /* Whether deadlocks and two other mistakes are reported on standard error, as runtime.hpp says. 1: they
   * are. -1: they are not. 0: certain ones are if the library is a debug build. */
  int report_deadlock;
  /* The most fibers that may exist at a time; 0: no limit. Fibers that have ended count until they are joined
   * or detached. Beyond it, functions that start a fiber return -EAGAIN, and posts wait. */
  size_t max_fibers;
};

struct sennit_fiber_options {
  const char* name; /* for messages and debuggers; the first 31 bytes are copied; null: none */
  /* Bytes, rounded up to a power of two, at least 8 KiB; 0: the runtime's. SENNIT_SMALL_STACK asks for less.
   */
  size_t stack_size;
  /* Null; or memory of `stack_size` bytes to run on instead, 16-aligned, at least 1 KiB, without a guard. It
   * is the fiber's until a join of it has returned, or, if it was detached, until its runtime is destroyed.
   */
  void* stack;
  /* Bytes of the guard below the stack, rounded up to pages; 0: the runtime's. Compile code with frames that
   * are larger than the guard with -fstack-clash-protection. */
  size_t guard_size;
};

/* `options`: null is the default. -EINVAL: they ask for what cannot be. Any thread. */
int sennit_runtime_create(struct sennit_runtime** result, const struct sennit_runtime_options* options);

/* Unwinds the fibers that are left (see above). Outside of fibers; not while it runs. Handles of its fibers
 * are void afterwards. -EINVAL, and nothing is done: called in a fiber. Null: does nothing. */
int sennit_runtime_destroy(struct sennit_runtime* runtime);

/* Runs function(argument) as a fiber named "main", and all others beside it, until it ends; fibers that are
 * left wait for the next run or run_once. The calling thread is the runtime's while the call lasts. -EINVAL:
 * called in a fiber. Another negative result: the fiber was not started, or what its function threw. */
int sennit_runtime_run(struct sennit_runtime* runtime, sennit_function function, void* argument);

/* For embedding in another event loop: lets each fiber that is ready run once, more or less; if none is,
 * waits for one until `deadline`. 1: fibers are ready to go on, call again soon. 0: nothing to do until
 * the descriptor is readable. -EINVAL: called in a fiber. */
int sennit_runtime_run_once(struct sennit_runtime* runtime, int64_t deadline);

/* A file descriptor that polls readable when run_once has something to do. The runtime's; only poll it. */
int sennit_runtime_descriptor(const struct sennit_runtime* runtime);

/* Starts a fiber; on the runtime's thread, inside or outside of run. `result`: gets its handle; null: none is
 * wanted, the fiber is detached. `options`: null is the default. -EINVAL: also for a `stack` that is too
 * small or not aligned (asserted by a library with assertions). */
int sennit_runtime_spawn(struct sennit_runtime* runtime, struct sennit_fiber** result,
                         sennit_function function, void* argument,
                         const struct sennit_fiber_options* options);

/* Has a detached fiber started soon. From any thread; posts of one thread start in their order. The runtime
 * must outlive the call. A post that the runtime's end overtakes is dropped: `function` is not called. */
int sennit_runtime_post(struct sennit_runtime* runtime, sennit_function function, void* argument);

/* Fibers that have not ended. Counts them. On the runtime's thread. */
ssize_t sennit_runtime_size(const struct sennit_runtime* runtime);

/* ---- Fibers. A handle is given back by exactly one successful join or detach. ---- */

/* As sennit_runtime_spawn, in the runtime that the caller runs in. -EINVAL: called outside of a fiber. */
int sennit_fiber_spawn(struct sennit_fiber** result, sennit_function function, void* argument,
                       const struct sennit_fiber_options* options);

/* Waits until the fiber has ended, and gives the handle back: always, except after -ETIMEDOUT, -EINVAL (also:
 * the fiber is the caller, another fiber joins it, or the handle was given back before), and when the caller
 * is unwound meanwhile. A fiber that has ended can also be joined outside of fibers. Another negative result:
 * what the fiber's function threw. */
int sennit_fiber_join(struct sennit_fiber* fiber, int64_t deadline);

/* Gives the handle back; the fiber continues. Null: does nothing. Fatal: the handle was given back before. */
void sennit_fiber_detach(struct sennit_fiber* fiber);

/* Lets the fiber's park return: the one it is in, or else its next one. On the runtime's thread; from
 * another, post a function that does it. */
int sennit_fiber_unpark(struct sennit_fiber* fiber);

/* The name, "" if it has none; the handle's. The number, unique in the process, for people; 0 for null. */
const char* sennit_fiber_name(const struct sennit_fiber* fiber);
uint64_t sennit_fiber_id(struct sennit_fiber* fiber);

/* ---- What a fiber does to itself. ---- */

/* Lets every other fiber that is ready run before the caller goes on, by the runtime's policy. Inline: a few
 * nanoseconds. errno is not kept. -ENOMEM: with a yield continuation (see below), and it has not yielded. */
SENNIT_ALWAYS_INLINE int sennit_self_yield(void) {
  return sennit_self_yield_inline();
}

/* Block the calling fiber only: for so long, or until a time. They return 0. */
int sennit_self_sleep(int64_t nanoseconds);
int sennit_self_sleep_until(int64_t deadline);

/* Blocks until somebody calls sennit_fiber_unpark; at once, if that happened since the last park. */
int sennit_self_park(void);
int sennit_self_park_until(int64_t deadline);

/* Blocks without a stack, at any depth, and does not return: the fiber goes on by function(copy of the `size`
 * bytes at `state`), on an empty stack, when it is unparked or at the deadline; 0 has always passed: then
 * others that are ready run first. It ends when `function` returns, or with its runtime: then `function` is
 * not called. All its frames are discarded as they are, so that nothing in them may own anything: no cleanup
 * runs. Up to 32 bytes lie in the fiber's descriptor, up to 2048 in memory of their own; they are aligned to
 * 16, and the function's until it returns or blocks so again. Returns only when it fails, and then nothing
 * has happened: -EINVAL, also for a larger state; -ENOMEM. Debug builds abort where a frame has a cleanup
 * (compile with -fexceptions), or in a coroutine. */
int sennit_become(sennit_function function, const void* state, size_t size, int64_t deadline);
/* Until it is cleared, or set anew, sennit_self_yield does not return: the calling fiber goes on in its turn
 * by function(copy of the state), on an empty stack. The frames in between are unwound, as at the runtime's
 * end (see above). As sennit_become for the rest. */
int sennit_self_set_yield_continuation(sennit_function function, const void* state, size_t size);
int sennit_self_clear_yield_continuation(void);

/* The calling fiber, for others to unpark, while it lives; not to be joined or detached. Null: no fiber. */
struct sennit_fiber* sennit_self(void);
/* Copies the first 31 bytes. sennit_fiber_name(sennit_self()) tells it. */
int sennit_self_set_name(const char* name);

/* ---- Stacks. Any thread. See sennit/stacks.hpp. ---- */

/* Calls function(argument) on a stack of 1 MiB, which the worker lends for the time of the call: for code
 * that needs more stack than its fiber has. The function may block. See sennit/on_large_stack.hpp. -ENOMEM:
 * there is no memory for the stack, and the function was not called. On threads' own stacks the function is
 * called directly. */
int sennit_on_large_stack(sennit_function function, void* argument);

/* A stack size that may be less than 8 KiB: 1 KiB at least. Stacks of 1 and 2 KiB have no guard: who overruns
 * one writes into another. Link with -Wl,-z,now, and give all signal handlers SA_ONSTACK. */
#define SENNIT_SMALL_STACK(bytes) ((size_t)(bytes) | ~(SIZE_MAX >> 1))

/* How deep the stacks of fibers of one name, or of all coroutines, have been, in bytes. */
struct sennit_stack_usage {
  char kind[16];     /* "fiber" or "coroutine" */
  char name[32];     /* "": all that have none */
  size_t count;      /* of stacks looked at: those in use, and (measured) those that had ended */
  size_t size;       /* the largest of them */
  size_t high_water; /* how much of one has been written to, at most */
  size_t enough;     /* high_water and a margin */
};

/* From now on a fiber that gets a name has its stack emptied first, and how deep it has been is remembered
 * when it ends: for runs that are to find out. Without, a depth is what all who had the stack before left
 * there. */
void sennit_stacks_measure(bool on);
/* Copies the first `room` of them, in alphabetical order; returns how many there are, or -ENOMEM. */
ssize_t sennit_stack_usages(struct sennit_stack_usage* usages, size_t room);
/* How deep the stack that the caller runs on has been; 0: it is none of Sennit's. */
size_t sennit_stack_high_water(void);

/* ---- Mutex: for the fibers of one runtime at a time. First come, first served; not recursive. ---- */

int sennit_mutex_create(struct sennit_mutex** result);
/* -EBUSY, and nothing is done: it is locked, or waited for. Null: does nothing. */
int sennit_mutex_destroy(struct sennit_mutex* mutex);
/* Outside of fibers: a mutex that is free is locked; else -EINVAL. */
int sennit_mutex_lock(struct sennit_mutex* mutex);
/* -EAGAIN: it is locked. */
int sennit_mutex_trylock(struct sennit_mutex* mutex);
int sennit_mutex_lock_until(struct sennit_mutex* mutex, int64_t deadline);
/* -EINVAL: it is not locked. */
int sennit_mutex_unlock(struct sennit_mutex* mutex);

/* ---- Condition. No spurious wake-ups, but another fiber may come first: test in a loop. ---- */

int sennit_condition_create(struct sennit_condition** result);
/* -EBUSY, and nothing is done: it is waited for. Null: does nothing. */
int sennit_condition_destroy(struct sennit_condition* condition);
/* The caller holds the mutex, and holds it again afterwards: also after -ETIMEDOUT, and when it is unwound
 * (so a cleanup must unlock it: if none does, and another waiter is unwound too, the program is aborted, for
 * that one waits for the mutex in vain). -EINVAL: it is not locked. */
int sennit_condition_wait(struct sennit_condition* condition, struct sennit_mutex* mutex);
int sennit_condition_wait_until(struct sennit_condition* condition, struct sennit_mutex* mutex,
                                int64_t deadline);
/* Make one waiter, the first that came, or all ready; the caller goes on. */
int sennit_condition_notify_one(struct sennit_condition* condition);
int sennit_condition_notify_all(struct sennit_condition* condition);

/* ---- Channel: elements of one size, first in, first out; for the fibers of one runtime at a time. ---- */

/* `element_size`: bytes, at least 1; up to 8, elements are handed over in a register, larger ones copied
 * twice. `capacity`: how many lie in it before senders wait; 0: each waits for its receiver. */
int sennit_channel_create(struct sennit_channel** result, size_t element_size, size_t capacity);
/* Elements that are left are dropped. -EBUSY, and nothing is done: somebody waits, or was woken and has not
 * run yet. Null: does nothing. */
int sennit_channel_destroy(struct sennit_channel* channel);
/* Copies an element from `element`. -EPIPE: the channel is closed. -ENOMEM: only for elements of more than 8
 * bytes. */
int sennit_channel_send(struct sennit_channel* channel, const void* element);
int sennit_channel_send_until(struct sennit_channel* channel, const void* element, int64_t deadline);
/* Copies the next element to `element`. -EPIPE: the channel is closed, and nothing is left in it. */
int sennit_channel_receive(struct sennit_channel* channel, void* element);
int sennit_channel_receive_until(struct sennit_channel* channel, void* element, int64_t deadline);
/* The same, but they do not wait: -EAGAIN. Also outside of fibers. */
int sennit_channel_trysend(struct sennit_channel* channel, const void* element);
int sennit_channel_tryreceive(struct sennit_channel* channel, void* element);
/* No more sends: those that wait get -EPIPE; receivers get what is left. May be repeated. */
int sennit_channel_close(struct sennit_channel* channel);
/* Elements that lie in it. */
ssize_t sennit_channel_size(const struct sennit_channel* channel);

/* ---- Coroutine: a function that stops in the middle, hands a word out, and goes on with another. In any
 * thread, inside or outside of fibers; it may be handed from thread to thread between two resumes. ---- */

/* Gets the word of the first resume; what it returns is the result of the last. */
typedef uintptr_t (*sennit_coroutine_function)(struct sennit_coroutine* self, void* argument,
                                               uintptr_t first);

/* `stack_size`: bytes; 0: 64 KiB. The function begins at the first resume. */
int sennit_coroutine_create(struct sennit_coroutine** result, sennit_coroutine_function function,
                            void* argument, size_t stack_size);
/* A coroutine that began and is not done is unwound, as fibers at their runtime's end (see above). -EINVAL:
 * it is running. Null: does nothing. */
int sennit_coroutine_destroy(struct sennit_coroutine* coroutine);
/* Hands `in` to it and runs it until it yields: 1, or returns: 0. `out`: gets the word; may be null. -EINVAL:
 * it is done, or running. Another negative result: what its function threw; it is then done. */
int sennit_coroutine_resume(struct sennit_coroutine* coroutine, uintptr_t in, uintptr_t* out);
bool sennit_coroutine_done(const struct sennit_coroutine* coroutine);
/* Called by its function, at any depth: hands `out` to who resumed it; returns the next resume's word. */
uintptr_t sennit_coroutine_yield(struct sennit_coroutine* self, uintptr_t out);

/* ---- TCP. Called by fibers. No operation raises SIGPIPE. Errors beside those of the system calls (connect,
 * read, write, ...: -ECONNREFUSED, -ENETUNREACH, -ECONNRESET; -EPIPE: the peer no longer reads): -ETIMEDOUT;
 * -ECANCELED: another fiber closed the stream meanwhile; -EBUSY: another fiber reads, or writes, or accepts,
 * and nothing was done. After any but -ETIMEDOUT and -EBUSY, close. ---- */

/* Connects to an address ("127.0.0.1", "::1"), or to a host by its name. The addresses of a name are tried in
 * order, and each may use an equal share of the time that is left. The result may be a SENNIT_LOOKUP_ERROR.
 * TCP_NODELAY is on. */
int sennit_tcp_stream_connect(struct sennit_tcp_stream** result, const char* host, uint16_t port,
                              int64_t deadline);
/* Takes ownership of a connected stream socket of any family, and makes it non-blocking. If this fails, the
 * descriptor remains open and the caller still owns it. Errors: -EBADF; -ENOTSOCK (a pipe, a terminal, a
 * file: use sennit_readiness for those); -EPROTOTYPE (a datagram or packet socket); -EINVAL (a listening
 * socket, or a null result); -ENOMEM. May be called outside of fibers. */
int sennit_tcp_stream_adopt(struct sennit_tcp_stream** result, int descriptor);
/* How many bytes, at least one; 0: the peer has ended its stream (or `size` is 0). One fiber at a time reads,
 * and one writes; a second one gets -EBUSY. */
ssize_t sennit_tcp_stream_read(struct sennit_tcp_stream* stream, void* to, size_t size, int64_t deadline);
/* How many bytes the kernel took, at least one. */
ssize_t sennit_tcp_stream_write(struct sennit_tcp_stream* stream, const void* from, size_t size,
                                int64_t deadline);
/* All of them; the deadline is for the whole. `written` counts the bytes while they are written, and so has
 * their number however this ends, also where the fiber is unwound; it may be null. -ECANCELED also where a
 * stop was requested in C++: then the fiber's next wait unwinds it. */
int sennit_tcp_stream_write_all(struct sennit_tcp_stream* stream, const void* from, size_t size,
                                size_t* written, int64_t deadline);
/* As sennit_become, until a read, or a write, would not have to wait (also because of the peer's end, or an
 * error, which it then reports), or until the deadline: an attempt tells. Who waits is the one fiber that
 * reads, or writes. When the stream is closed meanwhile the function is called, too, and the stream is gone:
 * what `state` points to must say so. Up to 16 bytes of state lie in the descriptor; with a deadline that is
 * not SENNIT_NEVER, none. */
int sennit_tcp_stream_become_reading(struct sennit_tcp_stream* stream, sennit_function function,
                                     const void* state, size_t size, int64_t deadline);
int sennit_tcp_stream_become_writing(struct sennit_tcp_stream* stream, sennit_function function,
                                     const void* state, size_t size, int64_t deadline);
/* Tells the peer that no more will be written. Reading goes on. -ENOTCONN: the connection is gone. */
int sennit_tcp_stream_shutdown(struct sennit_tcp_stream* stream);
/* Closes and frees it; what was written still goes out. Fibers that wait in it get -ECANCELED. Null: does
 * nothing. On the runtime's thread. */
void sennit_tcp_stream_close(struct sennit_tcp_stream* stream);
/* Frees the stream, but returns its socket, which stays open and non-blocking and is the caller's: for a TLS
 * library, sennit_readiness, or to be adopted again. Fibers that read or write in the stream get -ECANCELED;
 * it returns when none of them uses the socket. In a fiber of the runtime that has used the stream, or when
 * that has ended. -EINVAL: null. */
int sennit_tcp_stream_release(struct sennit_tcp_stream* stream);
/* The socket, for options and looking. */
int sennit_tcp_stream_descriptor(const struct sennit_tcp_stream* stream);

/* Binds to a numeric address ("0.0.0.0", "::") and a port (0: the kernel chooses), with SO_REUSEADDR, and
 * listens. `backlog`: connections that wait for accept at most; 0: SOMAXCONN. -EADDRINUSE, -EADDRNOTAVAIL,
 * -EACCES; -EINVAL: also where the address is not numeric; -EMFILE: two file descriptors are needed. Also
 * outside of fibers. */
int sennit_tcp_listener_listen(struct sennit_tcp_listener** result, const char* address, uint16_t port,
                               int backlog);
/* Waits for a connection. One fiber at a time. Running out of file descriptors is no error: the connection
 * that waits longest is then closed unserved, and counted. -ETIMEDOUT; -ECANCELED: closed meanwhile; -EBUSY:
 * another fiber accepts. */
int sennit_tcp_listener_accept(struct sennit_tcp_listener* listener, struct sennit_tcp_stream** result,
                               int64_t deadline);
/* As sennit_tcp_stream_become_reading, until there is a connection. */
int sennit_tcp_listener_become_accepting(struct sennit_tcp_listener* listener, sennit_function function,
                                         const void* state, size_t size, int64_t deadline);
/* How many connections were closed so. */
uint64_t sennit_tcp_listener_refused(const struct sennit_tcp_listener* listener);
/* The TCP port it listens at. */
int sennit_tcp_listener_port(const struct sennit_tcp_listener* listener);
int sennit_tcp_listener_descriptor(const struct sennit_tcp_listener* listener);
/* As sennit_tcp_stream_close. */
void sennit_tcp_listener_close(struct sennit_tcp_listener* listener);

/* ---- Signals that a fiber waits for. ---- */

/* While the set exists its signals only wake who waits. -EINVAL: no signal, or one that cannot be waited for
 * (SIGKILL, SIGSTOP, SIGSEGV, SIGBUS, SIGILL, SIGFPE). Any thread. */
int sennit_signal_set_create(struct sennit_signal_set** result, const int* signals, size_t count);
/* Who waits gets -ECANCELED. Restores what the signals did before. Null: does nothing. */
void sennit_signal_set_destroy(struct sennit_signal_set* set);
/* Waits until one of them comes, or has come since the last wait; returns which, the lowest of several. One
 * fiber at a time. -EBUSY: another fiber waits. -ECANCELED: another fiber has destroyed the set. */
int sennit_signal_set_wait(struct sennit_signal_set* set, int64_t deadline);

/* ---- Readiness of somebody else's file descriptor. ---- */

/* Does not own the file descriptor, which must stay open until the object is destroyed. Several objects and a
 * stream may watch one descriptor; every object but the first then takes a duplicate of it. */
int sennit_readiness_create(struct sennit_readiness** result, int descriptor);
/* By a fiber of the runtime in which it was waited for, or after that runtime. Who waits gets -ECANCELED.
 * Null: does nothing. */
void sennit_readiness_destroy(struct sennit_readiness* readiness);
/* Wait until a read or a write would not block, or too short. -EBADF. -EMFILE: no descriptor is left for a
 * duplicate. -ENOMEM, -ENOSPC: the system watches no more. -ECANCELED: destroyed meanwhile. One fiber may
 * wait for each; a second one gets -EBUSY. */
int sennit_readiness_wait_readable(struct sennit_readiness* readiness, int64_t deadline);
int sennit_readiness_wait_writable(struct sennit_readiness* readiness, int64_t deadline);
/* The same, as sennit_tcp_stream_become_reading. What cannot be watched is ready at once: the forms above say
 * why. */
int sennit_readiness_become_reading(struct sennit_readiness* readiness, sennit_function function,
                                    const void* state, size_t size, int64_t deadline);
int sennit_readiness_become_writing(struct sennit_readiness* readiness, sennit_function function,
                                    const void* state, size_t size, int64_t deadline);

/* ---- Blocking calls on other threads. ---- */

/* Calls function(argument) on a thread of the process's pool; only the calling fiber waits. Outside of a
 * fiber: calls it on the spot. A call that has begun is waited for also at the runtime's end. -EAGAIN: there
 * is no thread, and none can be started. Another negative result: what the function threw. */
int sennit_offload(sennit_function function, void* argument);
/* Sets the maximum number of threads of the pool, and of that of name look-ups, each; 64 by default, at least
 * 1. Any thread may call it. */
int sennit_offload_set_limit(unsigned threads);

/* A file; each operation is made as if by sennit_offload. Flags and mode as open(2), with O_CLOEXEC. Fibers
 * may use one file at the same time; what has no offset moves the position they share. Errors are those of
 * the system call (open, read, write, fstat, fsync, close), and of sennit_offload. */
int sennit_file_open(struct sennit_file** result, const char* path, int flags, unsigned mode);
/* How many bytes; 0: the end of the file (or `size` is 0). `offset`: bytes. */
ssize_t sennit_file_read(struct sennit_file* file, void* to, size_t size);
ssize_t sennit_file_read_at(struct sennit_file* file, uint64_t offset, void* to, size_t size);
/* All of them. `written`: gets how many were, also on failure; may be null. */
int sennit_file_write_all(struct sennit_file* file, const void* from, size_t size, size_t* written);
int sennit_file_write_all_at(struct sennit_file* file, uint64_t offset, const void* from, size_t size,
                             size_t* written);
/* Bytes. */
int sennit_file_size(struct sennit_file* file, uint64_t* result);
/* Returns when what was written is on the medium. */
int sennit_file_sync(struct sennit_file* file);
/* Closes and frees it, also when it fails: then what was written may be lost. Null: does nothing. */
int sennit_file_close(struct sennit_file* file);

/* The numeric addresses of a host, in the order in which they are to be tried: an array that ends in null,
 * in one block of memory, which the caller gives to free(). The resolver runs on a pool of its own, and does
 * not delay files and sennit_offload. Returns how many, or a SENNIT_LOOKUP_ERROR,
 * -ETIMEDOUT or -ENOMEM. */
int sennit_host_look_up(const char* host, char*** result, int64_t deadline);

#ifdef __cplusplus
}
#endif

#endif
