// Actors of both kinds of runtime, for tests.
#pragma once

#include <optional>
#include <utility>

#include "sennit/actor.hpp"
#include "sennit/local/actor.hpp"
#include "support/kinds.hpp"

namespace sennit {

template <class Kind>
struct actors_of;

template <>
struct actors_of<parallel_kind> {
  using options = actor_options;
  template <class M>
  using ref = actor_ref<M>;
  template <class M>
  using inbox = sennit::inbox<M>;
  template <class M, class... Arguments>
  static ref<M> spawn(Arguments&&... arguments) {
    return spawn_actor<M>(std::forward<Arguments>(arguments)...);
  }
};

template <>
struct actors_of<local_kind> {
  using options = local::actor_options;
  template <class M>
  using ref = local::actor_ref<M>;
  template <class M>
  using inbox = local::inbox<M>;
  template <class M, class... Arguments>
  static ref<M> spawn(Arguments&&... arguments) {
    return local::spawn_actor<M>(std::forward<Arguments>(arguments)...);
  }
};

}  // namespace sennit
