// sennit::exception_server: a fiber that is asked what to do when another one faults.
// room: rpc
//
//   sennit::exception_server server;
//   auto pager = sennit::spawn([&] {
//     while (auto fault = server.receive()) {
//       if (fault.kind() == sennit::fault_kind::memory && fill_page_at(fault.address()))
//         fault.reply(sennit::verdict::resume);  // the instruction is done again
//       else
//         fault.reply(sennit::verdict::kill);  // the others notice nothing
//     }
//   });
//   ...
//   sennit::exception_guard guard(server);  // in each fiber whose faults are to go there
//
// A memory fault (SIGSEGV, SIGBUS), a stack overflow, an illegal instruction or an arithmetic fault that a
// fiber's own code causes, or that of a generator it runs, becomes a call of the server: the fiber waits
// until the server has replied; all others run on. Without a server, or where there cannot be one, the
// process ends as it would have, with a line on standard error that names the fiber; or the handler gets it
// that was installed before Sennit's.
//
// There cannot be one: in the middle of what Sennit does for the fiber, as far as that can be seen; where the
// fiber is not to yield (no_yield.h), and while it holds a pthread lock (in code that is compiled with
// checks, and in debug builds), which that line says; in a fiber that serves another's fault just now, and in
// the one that has received last; while the runtime ends; where a generator's stack overflows; in an OS
// thread's own code; in a signal handler with SA_ONSTACK (one without is not told from the fiber, on whose
// stack it runs). Nor in a move or a destructor of the user's that a channel, a port or a promise calls with
// its lock held, or half changed, nor in a barrier's completion: that is said to be where the fiber is not to
// yield. What a fault interrupts may hold anything, malloc's locks too: a server, and fibers that it waits
// for, must not need what the faulting code may hold.
//
// A fault with less than some 12 KB of its stack left is served on an emergency stack, of which the process
// keeps 8. More are made when a guard is made, and when somebody receives. So at most 8 fibers may overflow
// between two of these: a ninth ends the process, with a line that says so.
//
// Only natively on x86-64, and not under AddressSanitizer or ThreadSanitizer: serves_faults says so.
// Elsewhere nothing is ever received.
//
// Source: Draves et al. 1991, section 2.5 (exception handling).
#pragma once

#include "sennit/detail/rpc/basic_exception_server.hpp"
#include "sennit/detail/sync/shared_waits.hpp"
#include "sennit/stop_guard.hpp"

namespace sennit {

inline constexpr bool serves_faults = detail::fault_redirects;

// memory (SIGSEGV), bus (SIGBUS), overflow (of the stack), instruction (SIGILL), arithmetic (SIGFPE).
using detail::fault_kind;

// rax, ..., rip, rflags.
using detail::machine_registers;

// What a server's verdict throws: where a fiber's function is left by it, the fiber just ends, as by
// sennit::cancelled: its join() returns. A catch (...) on the way must rethrow; who catches it on purpose
// goes on.
//
// verdict::kill: thrown by the innermost guarded() that the fiber is in. What the function that was given to
// it has on the stack is given up: nothing there is destroyed, locks stay locked, what was allocated is lost
// (only Sennit's own guards and shields are ended, and a port's serve() is left), exceptions that were being
// handled there seem to be handled still. So nothing that others know the address of may be made there: a
// request received at a port, a scope, a channel, a std::stop_callback; nor may a call of what
// serve_in_callers() serves be killed. Outside of a guarded(), in a generator, or where code that has no
// tables for unwinding hides it, the fiber just ends, all that it has on its stack is given up, and the stack
// is never used again, since others may refer to what is there; its function object is destroyed. That is
// said on standard error.
//
// verdict::unwind: thrown by the instruction that faulted; everything is destroyed. Only where all functions
// from there to whoever is to catch it were compiled by gcc with -fnon-call-exceptions (clang 19 has nothing
// of the kind), but for those in C. Functions that say that they cannot be left there are given up as above,
// and that is said; not all can be told.
struct killed : detail::forced_unwind {};

// Faults of fibers of parallel runtimes. Anybody of any of them may receive, several at a time.
//
//   receive()  waits for a fault, in a fiber; throws sennit::cancelled as all waits do. A fault that has no
//              reply when the object ends is passed on. receive_until(deadline) (steady clock). The fault is
//              empty, bool(fault) false, if the deadline has passed, or the server is closed.
//   receiving(), receiving_until(deadline)
//              the same without a stack, for become(). The fault is the function's for its call, and cannot
//              be kept; so it is a reference:
//
//                sennit::continuation serve(pager* me, sennit::exception_server::fault&& fault) {
//                  if (!fault)
//                    return {};
//                  fault.reply(me->fill(fault.address()) ? sennit::verdict::resume : sennit::verdict::pass);
//                  return sennit::become(me->faults.receiving(), serve, me);
//                }
//
//   fault      kind(), address(), fiber(): the name of the fiber; registers(): what it goes on with, if it
//              goes on, to be changed at will; reply(verdict), once. It stays where it was received.
//   verdict    resume: the instruction is done again, with those registers. kill, unwind: see killed.
//              pass: as if there were no server.
//   close()    ends it: all faults that wait, and those to come, are passed on, and who receives gets an
//              empty one. Those that somebody has received are still answered. From any fiber or thread
//              (a local one: from its thread); may be repeated. Done by the destructor; fibers may still
//              be about to leave receive() then, and fibers it serves may live on.
class exception_server : public detail::basic_exception_server<detail::shared_waits> {};

// While it lives, the faults of the fiber that made it go to the server. Guards of one fiber are nested: the
// innermost counts. Not inherited by fibers that it spawns, of a scope or not. Not to be held in a generator
// across its yields.
//
// A scope may have a server, scope(server), for all fibers that it spawns, and for those of scopes that these
// make; also where they go on by continuations. A fault goes to the fiber's innermost guard; without one, to
// the server of its scope; without that, to the runtime's. Only one of them is asked. Destructors of a
// fiber's function object and of its fiber-local values are no more its scope's.
class exception_guard : public detail::basic_exception_guard<detail::shared_waits> {
  using basic_exception_guard::basic_exception_guard;
};

// Calls the function, with a guard: for what may fault. Returns its result, or throws what it throws, or
// sennit::killed, when a server kills it.
//
//   try {
//     sennit::guarded(server, [&] { reply = execute(command); });
//   } catch (const sennit::killed&) {
//     reply = "the command failed";
//   }
using detail::guarded;

// The same as a guard for all fibers of the runtime that it is made in that have no guard. One at a time;
// made and destroyed in fibers of that runtime.
class runtime_exception_guard : public detail::basic_runtime_exception_guard<detail::shared_waits> {
  using basic_runtime_exception_guard::basic_runtime_exception_guard;
};

}  // namespace sennit
