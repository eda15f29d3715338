// sennit::exception_server: a fiber decides what to do when another fiber faults.
// room: rpc
//
//   sennit::exception_server server;
//   auto pager = sennit::spawn([&] {
//     while (auto fault = server.receive()) {
//       if (fault.kind() == sennit::fault_kind::memory && fill_page_at(fault.address()))
//         fault.reply(sennit::verdict::resume);  // the instruction is repeated
//       else
//         fault.reply(sennit::verdict::kill);  // the other fibers are not affected
//     }
//   });
//   ...
//   sennit::exception_guard guard(server);  // in each fiber whose faults the server is to get
//
// These faults become calls of the server: a memory fault (SIGSEGV, SIGBUS), a stack overflow, an illegal
// instruction and an arithmetic fault, if a fiber's own code causes it, or that of a generator that it
// runs. The fiber waits until the server has replied, and all others continue. Without a server, or where a
// fault cannot be served, the process ends as it would have, with a line on standard error that names the
// fiber. If a handler was installed before Sennit's, it is called.
//
// A fault cannot be served
// - inside Sennit's own code, as far as that can be detected;
// - where the fiber must not yield (no_yield.h), in a move or destructor of a user's type that a channel, a
//   port or a promise calls with its lock held or half changed, and in the completion of a barrier;
// - while the fiber holds a pthread lock, in code that is compiled with checks, and in debug builds;
// - in a fiber that serves another fault at the moment, and in the fiber that was the last to receive;
// - while the runtime ends;
// - if the stack of a generator overflows;
// - in code of an OS thread;
// - in a signal handler with SA_ONSTACK. (A handler without it runs on the fiber's stack, and looks
//   like the fiber.)
//
// The interrupted code may hold anything, including locks of malloc. A server, and the fibers for which it
// waits, must not need what the faulting code may hold.
//
// If a fault leaves less than about 12 KB of its stack, it is served on an emergency stack. The process
// keeps 8 of them, and makes more when a guard is made and when a fiber receives. So at most 8 fibers may
// overflow between two of these: a ninth ends the process with a message.
//
// Faults are served natively on x86-64 and AArch64, and not under AddressSanitizer or ThreadSanitizer; see
// serves_faults. Elsewhere no fault is received. AArch64 processors do not report an integer division by
// zero: its result is 0. There, a fault is not served in SME's streaming mode, nor while its matrix is in
// use.
//
// Source: Draves et al. 1991, section 2.5 (exception handling).
#pragma once

#include <utility>

#include "sennit/detail/rpc/basic_exception_server.hpp"
#include "sennit/detail/sync/any_thread.hpp"
#include "sennit/stop_guard.hpp"

namespace sennit::inline v0_1 {

/// Whether this build serves faults. If it is false, receive() never receives one.
inline constexpr bool serves_faults = detail::fault_redirects;

/// The kind of a fault: memory (SIGSEGV), bus (SIGBUS), overflow (of the stack), instruction (SIGILL) or
/// arithmetic (SIGFPE).
using detail::fault_kind;

/// The registers of a faulting fiber. On x86-64: rax, ..., rip, rflags. On AArch64: x[31], sp, pc, pstate. It
/// has no members where faults are not served.
using detail::machine_registers;

/// What a server's verdict throws. If it leaves a fiber's function, the fiber ends normally, as by
/// sennit::cancelled: its join() returns. A `catch (...)` on the way must rethrow it. A handler that
/// catches it on purpose may continue.
///
/// - verdict::kill: the innermost guarded() of the fiber throws it. Everything that guarded()'s function
///   has on the stack is given up: nothing is destroyed there, locks stay locked, allocated memory is lost,
///   and exceptions that were being handled still seem to be. Only Sennit's own guards and shields are
///   ended, and a port's serve() is left. So the function must not make anything of which others know the
///   address: a request received at a port, a scope, a channel, a `std::stop_callback`. A call of what
///   serve_in_callers() serves must not be killed either.
/// - Outside of a guarded(), in a generator, or where code without unwind tables hides the guarded(), the
///   fiber ends. All that it has on its stack is given up. The stack is never used again, because others
///   may refer to it. The fiber's function object is destroyed. A line on standard error reports it.
/// - verdict::unwind: the instruction that faulted throws it, and everything is destroyed. All functions
///   from there to the handler, except those in C, must be compiled by gcc with -fnon-call-exceptions
///   (clang 19 has no such option). If a function declares that it cannot be left there, the frames are
///   given up as above, and a line reports it. Not all such functions can be detected.
struct killed : detail::forced_unwind {};

/// Receives faults of fibers of parallel runtimes. Fibers of any of them may receive, several at a time.
///
/// \code
///   fault next = server.receive();                // waits; false: the server is closed
///   fault next = server.receive_until(deadline);  // false also if the deadline passed first
///   fault_kind next.kind();
///   void* next.address();                         // that was accessed, or that of the instruction
///   std::string_view next.fiber();                // its name
///   machine_registers& next.registers();          // with which it resumes; may be changed
///   void next.reply(verdict);                     // decides; call it once. Without it, the fault is
///                                                 // passed on
///   void server.close();                          // faults are passed on from now on
///   // For become():
///   server.receiving(), server.receiving_until(deadline)
/// \endcode
///
/// Source: Draves et al. 1991, section 2.5.
class exception_server final : public detail::basic_exception_server<detail::any_thread> {};

/// While it lives, the faults of the fiber that made it go to a server: `exception_guard guard(server)`.
/// Guards of one fiber are nested, and the innermost counts. Fibers that it spawns do not inherit it. Do
/// not hold it in a generator across its yields.
///
/// A scope may have a server as well, `scope(server)`, for all fibers that it spawns, and for those of
/// scopes that these make, also if they block without a stack. A fault goes to the fiber's innermost guard,
/// or else to the server of its scope, or else to that of its runtime. Only one of them is asked.
/// Destructors of a fiber's function object and of its fiber-local values no longer belong to its scope.
class exception_guard final : public detail::basic_exception_guard<detail::any_thread> {
  using basic_exception_guard::basic_exception_guard;
};

/// Calls a function that may fault, under an exception_guard. Returns its result, or throws what it throws,
/// or sennit::killed if a server kills it.
///
/// \code
///   try {
///     sennit::guarded(server, [&] { reply = execute(command); });
///   } catch (const sennit::killed&) {
///     reply = "the command failed";
///   }
/// \endcode
using detail::guarded;

/// While it lives, faults of all fibers of the runtime in which it was made go to a server, if a fiber has
/// no guard of its own and no scope with a server. A runtime has at most one at a time. Fibers of that
/// runtime make and destroy it.
class runtime_exception_guard final : public detail::basic_runtime_exception_guard<detail::any_thread> {
  using basic_runtime_exception_guard::basic_runtime_exception_guard;
};

/// A continuation that runs function(state), or function(), and gives up the fiber's stack at faults. The
/// fiber has no stack while it waits for the server. Once that has answered verdict::resume, the fiber begins
/// the function again, on an empty stack, instead of repeating the instruction. So a thousand fibers that
/// wait for pages need no stack, if their state says where each of them was.
///
/// \code
///   sennit::continuation sum(reader* me) {
///     for (; me->next != me->end; ++me->next) {
///       std::atomic_signal_fence(std::memory_order_seq_cst);  // what is in *me is in memory now
///       me->total += *me->next;                               // may fault
///     }
///     return {};
///   }
///   sennit::scope scope(server);
///   scope.spawn(sennit::restartable(sum, &mine));
/// \endcode
///
/// It is a continuation like `become(this_fiber::yielding(), function, state)`, and the function may return
/// another one, to which this no longer applies. Function and state must be trivially copyable. Each run gets
/// the state as it was given here, so it is usually a pointer.
///
/// **The function may be left at any instruction that faults**, and all functions that it has called with it.
/// Use it for code that you know: what another library holds or has half changed at that moment stays so.
/// (The C library's memory and string functions hold nothing.) Put a fence before each access, as in the
/// example, or the compiler may keep some of the state in registers.
///
/// The fiber keeps its stack, and repeats the instruction, where more would be lost:
/// - if a function on the stack, from the fault up to `function` itself, has a handler, or anything to
/// destroy
///   when an exception leaves it, wherever that is in the function. This is read from the functions'
///   exception tables. **They do not show everything**: an object is not in them if nothing, or only an
///   unlikely branch, throws while it lives. A `std::lock_guard` around nothing but the access is such an
///   object. It would stay locked.
/// - under an exception_guard or guarded(): the server is that of a scope or a runtime;
/// - if an exception is being thrown or handled, under a stop_shield, and in a signal handler;
/// - in or above code without unwind tables, and where a wrong function pointer was called;
/// - in a generator or coroutine, or on another stack than the fiber's, such as after an overflow. A fault
/// that
///   leaves less than about 12 KB of the stack counts as one, so give such fibers 32 KiB or more.
///
/// verdict::kill and verdict::unwind end the fiber. After verdict::pass, and if the server is closed, the
/// function begins again, and its next fault is not served. If the fiber's scope is stopped meanwhile, or its
/// runtime ends, the fiber ends. If there is no memory to begin again, `std::bad_alloc` leaves the fiber's
/// function. If the function yields by a yield continuation, this no longer applies.
///
/// Source: Draves et al. 1991, section 2.2 (page faults block with a continuation).
template <class Function, class State>
continuation restartable(Function function, State state) {
  return detail::block(detail::yield_wait{}, detail::runs_restartable<Function, State>{std::move(function)},
                       std::move(state));
}
/// Runs function(). Otherwise like restartable(function, state).
template <class Function>
continuation restartable(Function function) {
  return detail::block(detail::yield_wait{},
                       detail::runs_restartable<Function, detail::no_state>{std::move(function)},
                       detail::no_state{});
}

}  // namespace sennit::inline v0_1
