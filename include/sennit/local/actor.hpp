// sennit::local::spawn_actor: actors of one local runtime.
// room: sync
//
//   auto counter = sennit::local::spawn_actor<int>([sum = 0](int n) mutable { sum += n; });
//   counter.send(5);
//
// See sennit/actor.hpp.
#pragma once

#include <cstddef>
#include <utility>

#include "sennit/detail/sync/begin_actor.hpp"
#include "sennit/detail/sync/one_thread.hpp"
#include "sennit/local/fiber.hpp"
#include "sennit/local/future.hpp"
#include "sennit/local/scope.hpp"

namespace sennit::inline v0_1::detail {
struct local_actors {
  using policy = one_thread;
  static auto spawn(continuation begins) { return local::spawn(std::move(begins)); }
};
}  // namespace sennit::inline v0_1::detail

namespace sennit::inline v0_1::local {

/// Options of an actor.
struct actor_options {
  /// The number of messages that the mailbox holds. A send waits while the mailbox is full. With 0, each
  /// send waits for its receive.
  std::size_t mailbox = 64;
  /// Options of the fiber of an actor that has a stack. An actor without a stack ignores them.
  spawn_options fiber = {};
};

/// Like sennit::actor_ref, with the same members and results, without atomic operations, for the fibers of
/// one local runtime.
template <class M>
using actor_ref = detail::basic_actor_ref<M, detail::local_actors>;

/// Like sennit::inbox, with the same members and results.
template <class M>
using inbox = detail::basic_inbox<M, detail::local_actors>;

/// Starts an actor in a fiber of the caller's local runtime. Otherwise like sennit::spawn_actor().
template <class M, class Behaviour>
actor_ref<M> spawn_actor(Behaviour&& behaviour, const actor_options& options = {}) {
  return detail::begin_actor<M, detail::local_actors, false>(
      std::forward<Behaviour>(behaviour), options, [](auto&& begins, const auto&... with) {
        local::spawn(std::forward<decltype(begins)>(begins), with...).detach();
      });
}
/// Starts an actor in a fiber of a scope. Otherwise like sennit::spawn_actor(scope, behaviour, options).
template <class M, class Behaviour>
actor_ref<M> spawn_actor(scope& in, Behaviour&& behaviour, const actor_options& options = {}) {
  return detail::begin_actor<M, detail::local_actors, true>(
      std::forward<Behaviour>(behaviour), options, [&in](auto&& begins, const auto&... with) {
        in.spawn(std::forward<decltype(begins)>(begins), with...);
      });
}

}  // namespace sennit::inline v0_1::local
