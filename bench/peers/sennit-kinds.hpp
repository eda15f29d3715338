// Both kinds of runtime, for workloads that run the same code on each.
#pragma once

#include <utility>

#include "sennit-parallel.hpp"
#include "sennit.hpp"
#include "sennit/actor.hpp"
#include "sennit/channel.hpp"
#include "sennit/counting_semaphore.hpp"
#include "sennit/event.hpp"
#include "sennit/local/actor.hpp"
#include "sennit/local/channel.hpp"
#include "sennit/local/counting_semaphore.hpp"
#include "sennit/local/event.hpp"

namespace bench {

struct local_kind {
  using library = sennit_local;
  using fiber = sennit::local::fiber;
  using event = sennit::local::event;
  using semaphore = sennit::local::counting_semaphore;
  template <class T>
  using channel = sennit::local::channel<T>;
  template <class M>
  using actor_ref = sennit::local::actor_ref<M>;
  template <class M>
  using inbox = sennit::local::inbox<M>;
  template <class M, class Behaviour>
  static actor_ref<M> spawn_actor(Behaviour behaviour) {
    return sennit::local::spawn_actor<M>(std::move(behaviour));
  }
  template <class Begins>
  static fiber spawn(Begins begins) {
    return sennit::local::spawn(std::move(begins));
  }
};

struct parallel_kind {
  using library = sennit_parallel;
  using fiber = sennit::fiber;
  using event = sennit::event;
  using semaphore = sennit::counting_semaphore;
  template <class T>
  using channel = sennit::channel<T>;
  template <class M>
  using actor_ref = sennit::actor_ref<M>;
  template <class M>
  using inbox = sennit::inbox<M>;
  template <class M, class Behaviour>
  static actor_ref<M> spawn_actor(Behaviour behaviour) {
    return sennit::spawn_actor<M>(std::move(behaviour));
  }
  template <class Begins>
  static fiber spawn(Begins begins) {
    return sennit::spawn(std::move(begins));
  }
};

}  // namespace bench
