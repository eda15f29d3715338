// sennit::local::supervisor: a scope whose actors begin again when they fail, in a local runtime.
// room: sync
//
//   sennit::local::supervisor workers({.restarts = 10, .period = 1min});
//   sennit::local::actor_ref<job> worker = workers.spawn<job>(work);
//
// See sennit/supervisor.hpp.
#pragma once

#include <utility>

#include "sennit/detail/sync/basic_supervisor.hpp"
#include "sennit/local/actor.hpp"
#include "sennit/local/condition_variable.hpp"
#include "sennit/local/mutex.hpp"

namespace sennit::inline v0_1::detail {
struct local_supervisor {
  using actors = local_actors;
  using actor_options = local::actor_options;
  using scope = local::scope;
  using mutex = local::mutex;
  using condition_variable = local::condition_variable;
  template <class M, class Behaviour>
  static auto spawn_actor(scope& in, Behaviour behaviour, const actor_options& options) {
    return local::spawn_actor<M>(in, std::move(behaviour), options);
  }
  static void yield() { local::this_fiber::yield(); }
};
}  // namespace sennit::inline v0_1::detail

namespace sennit::inline v0_1::local {

/// Like sennit::supervisor, with the same members and results, for actors of one local runtime.
class supervisor final : public detail::basic_supervisor<detail::local_supervisor> {
public:
  using detail::basic_supervisor<detail::local_supervisor>::basic_supervisor;
};

}  // namespace sennit::inline v0_1::local
