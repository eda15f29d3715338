// sennit::spawn_actor: fibers that share nothing and send each other messages.
// room: sync
//
//   struct deposit { int amount; };
//   struct balance { sennit::promise<int> reply; };
//   using message = std::variant<deposit, balance>;
//
//   sennit::actor_ref<message> account =
//       sennit::spawn_actor<message>([](sennit::inbox<message>& inbox) {
//         int sum = 0;
//         while (std::optional<message> next = inbox.receive())
//           if (auto* paid = std::get_if<deposit>(&*next))
//             sum += paid->amount;
//           else
//             std::get<balance>(*next).reply.set_value(sum);
//       });
//   account.send(deposit{5});
//   std::optional<int> sum = account.ask_for<int>([](auto reply) { return balance{std::move(reply)}; }, 1s);
//
// An actor that is called for each message needs no stack while it waits. Idle ones then take at most 256
// bytes each:
//
//   auto counter = sennit::spawn_actor<int>([sum = 0](int n) mutable { sum += n; });
//
// There is no selective receive, which takes the first message of some kind and leaves the others queued. A
// queue would be searched for each message, and a full mailbox whose messages all have to wait would be a
// deadlock. An actor that waits for an answer uses ask(), which has a channel of its own. An actor that has
// to postpone messages keeps them in a container of its own.
//
// Source: Dolan 2013, section 7.3 (a library for message passing between actors, over fibers).
#pragma once

#include <cstddef>
#include <utility>

#include "sennit/detail/sync/any_thread.hpp"
#include "sennit/detail/sync/begin_actor.hpp"
#include "sennit/fiber.hpp"
#include "sennit/future.hpp"
#include "sennit/scope.hpp"

namespace sennit::inline v0_1 {

/// Options of an actor.
struct actor_options {
  /// The number of messages that the mailbox holds. A send waits while the mailbox is full. With 0, each
  /// send waits for its receive. The first message allocates the memory for all of them. While there is none,
  /// the mailbox acts as with 0.
  std::size_t mailbox = 64;
  /// Options of the fiber of an actor that has a stack. An actor without a stack ignores them.
  spawn_options fiber = {};
};

namespace detail {
struct shared_actors {
  using policy = any_thread;
  static auto spawn(continuation begins) { return sennit::spawn(std::move(begins)); }
};
}  // namespace detail

/// A counted reference to an actor that takes messages of type M. Copies are cheap, and refer to the same
/// actor. M must be movable.
///
/// \code
///   bool a.send(M&& m), a.send(const M& m);               // waits while the mailbox is full; false: the
///                                                         // actor was stopped, m is untouched
///   bool a.try_send(M& m);                                // moves from m; false: full or stopped
///   channel_result<void> a.send_until(M&& m, deadline);   // true: sent; .status(): success, closed, timeout
///   channel_result<R> a.ask<R>(make);                     // sends make(promise<R>), waits for the answer
///   channel_result<R> a.ask_until<R>(make, deadline);     // .status(): success, closed (no answer will
///   channel_result<R> a.ask_for<R>(make, duration);       // come), timeout
///   void a.stop();                                        // ends after what is queued
///   void a.cancel();                                      // destroys what is queued, and ends
///   bool a.ended();
///   actor_exit a.wait();                                  // waits for the end; does not stop the actor
///   optional<actor_exit> a.wait_until(deadline), a.wait_for(duration);
///   void a.monitor(watcher, make);                        // sends make(actor_exit) to another actor at the
///                                                         // end of this one; make must not throw
///   void a.monitor(watcher, make, stop_token);            // until a stop is requested
///   void a.link(other);                                   // a failure of one ends the other
/// \endcode
///
/// - Life: an actor lives until its behaviour returns or throws, until it is stopped or cancelled, or until
///   its last reference is destroyed, which stops it. A reference may outlive the actor: send() then returns
///   false. When wait() returns, the behaviour and all messages that were left are destroyed.
/// - Order: messages of one sender are handled in the order in which it sent them.
/// - Ask: if the actor ends, requests that it has not answered are destroyed. So their promises are broken,
///   and no ask() waits forever. A request that has been handled must not keep its promise forever, either.
///   An actor that asks itself waits for its deadline, or forever.
/// - Full mailboxes: two actors that send to each other may both wait for room. An actor that sends to
///   itself uses try_send(). With report_deadlock (runtime.hpp) such waits are reported.
/// - Messages: their moves and destructors run under the mailbox's lock. They must not wait, nor use the
///   actor to which they were sent.
/// - Errors: an exception that leaves the behaviour is the actor's exit_reason, and nothing is printed.
///   Use monitor(), link(), wait(), a scope or a supervisor (supervisor.hpp) to see it.
/// - Threads: fibers of any parallel runtime, and OS threads, may use a reference; monitor() and link() only
///   fibers. Different threads must use different references, as for a `std::shared_ptr`.
/// - Cancellation: a wait throws sennit::cancelled if a stop_guard ends it. A message that was not sent stays
///   with its sender.
/// - Misuse, asserted in debug builds: to use an empty reference.
template <class M>
using actor_ref = detail::basic_actor_ref<M, detail::shared_actors>;

/// An actor's side of its mailbox. Its behaviour gets it, and only that may use it.
///
/// \code
///   optional<M> in.receive();                            // waits; empty: stopped, and nothing is left
///   channel_result<M> in.receive_until(deadline);        // an optional<M> with .status()
///   channel_result<M> in.receive_for(duration);          // likewise
///   optional<M> in.try_receive();                        // empty: there is no message now
///   for (M& each : in)                                   // receives until the actor is stopped
///   actor_ref<M> in.self();
///   std::stop_token in.get_token();                      // cancel() requests its stop
///   void in.stop();                                      // closes the mailbox
///   bool in.stopped();
///   size_t in.size();                                    // messages that are queued
/// \endcode
///
/// cancel() ends waits for messages. It ends other waits only under a guard:
///
/// \code
///   [](sennit::inbox<job>& in) {
///     const sennit::stop_guard guard(in.get_token());
///     for (job& each : in)
///       run(each);  // its waits throw sennit::cancelled after cancel()
///   }
/// \endcode
///
/// The guard is not made for every actor, because it makes each wait slower, and those for messages do not
/// need it.
template <class M>
using inbox = detail::basic_inbox<M, detail::shared_actors>;

/// Starts an actor in a fiber of the caller's runtime. The behaviour is moved into the actor. How it is
/// called decides how the actor waits:
///
/// - `behaviour(inbox<M>&)`: it is called once, in a fiber with a stack. The actor ends when it returns.
/// - `behaviour(M)` or `behaviour(M, inbox<M>&)`: it is called for each message, and has no stack in between.
///   Its state is its members, such as the captures of a lambda. It may block, too. M's move constructor must
///   be noexcept. An idle actor takes at most 256 bytes, and what the allocator adds to a block, if the
///   behaviour takes 8 and a message at most 24.
///
/// The mailbox allocates its memory for the first message that has to be queued. An actor without a stack
/// frees it when it is idle again. If there is no memory, sends wait as if the capacity was 0.
///
/// Only fibers of a sennit::runtime may call it; elsewhere it is fatal.
///
/// \throws std::bad_alloc or std::system_error if memory or mappings are exhausted; no actor was started
template <class M, class Behaviour>
actor_ref<M> spawn_actor(Behaviour&& behaviour, const actor_options& options = {}) {
  return detail::begin_actor<M, detail::shared_actors, false>(
      std::forward<Behaviour>(behaviour), options, [](auto&& begins, const auto&... with) {
        sennit::spawn(std::forward<decltype(begins)>(begins), with...).detach();
      });
}
/// Starts an actor in a fiber of a scope. The scope waits for it, and cancels it when the scope stops. An
/// exception that leaves the behaviour is also an error of the scope, which stops its other fibers.
/// Otherwise like spawn_actor(behaviour, options).
///
/// Declare references after the scope: they are then destroyed first, which stops their actors. An actor
/// without a stack takes about 700 bytes in a scope.
///
/// \pre The caller may spawn fibers in the scope (scope.hpp).
template <class M, class Behaviour>
actor_ref<M> spawn_actor(scope& in, Behaviour&& behaviour, const actor_options& options = {}) {
  return detail::begin_actor<M, detail::shared_actors, true>(
      std::forward<Behaviour>(behaviour), options, [&in](auto&& begins, const auto&... with) {
        in.spawn(std::forward<decltype(begins)>(begins), with...);
      });
}

}  // namespace sennit::inline v0_1
