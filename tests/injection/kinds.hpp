// The two kinds of runtime, for operations that are the same for both.
#pragma once

#include "injection.hpp"
#include "sennit/channel.hpp"
#include "sennit/condition_variable.hpp"
#include "sennit/event.hpp"
#include "sennit/local/channel.hpp"
#include "sennit/local/condition_variable.hpp"
#include "sennit/local/event.hpp"
#include "sennit/local/mutex.hpp"
#include "sennit/local/port.hpp"
#include "sennit/local/runtime.hpp"
#include "sennit/local/scope.hpp"
#include "sennit/local/supervisor.hpp"
#include "sennit/local/upcall_pool.hpp"
#include "sennit/mutex.hpp"
#include "sennit/port.hpp"
#include "sennit/runtime.hpp"
#include "sennit/scope.hpp"
#include "sennit/supervisor.hpp"
#include "sennit/upcall_pool.hpp"

namespace injection {

struct parallel {
  using policy = sennit::detail::any_thread;
  using runtime = sennit::runtime;
  using options = sennit::runtime_options;
  using fiber = sennit::fiber;
  using scope = sennit::scope;
  using event = sennit::event;
  using mutex = sennit::mutex;
  using condition_variable = sennit::condition_variable;
  using upcall_pool = sennit::upcall_pool;
  template <class T>
  using channel = sennit::channel<T>;
  using supervisor = sennit::supervisor;
  template <class M>
  using inbox = sennit::inbox<M>;
  template <class M, class Behaviour>
  static sennit::actor_ref<M> spawn_actor(Behaviour behaviour) {
    return sennit::spawn_actor<M>(std::move(behaviour));
  }
  using port = sennit::port<int, int>;
  static options usual() { return {.workers = 2}; }
  template <class Function>
  static fiber spawn(Function&& function, const sennit::spawn_options& options = {}) {
    return sennit::spawn(std::forward<Function>(function), options);
  }
};

struct local {
  using policy = sennit::detail::one_thread;
  using runtime = sennit::local::runtime;
  using options = sennit::local::runtime_options;
  using fiber = sennit::local::fiber;
  using scope = sennit::local::scope;
  using event = sennit::local::event;
  using mutex = sennit::local::mutex;
  using condition_variable = sennit::local::condition_variable;
  using upcall_pool = sennit::local::upcall_pool;
  template <class T>
  using channel = sennit::local::channel<T>;
  using supervisor = sennit::local::supervisor;
  template <class M>
  using inbox = sennit::local::inbox<M>;
  template <class M, class Behaviour>
  static sennit::local::actor_ref<M> spawn_actor(Behaviour behaviour) {
    return sennit::local::spawn_actor<M>(std::move(behaviour));
  }
  using port = sennit::local::port<int, int>;
  static options usual() { return {}; }
  template <class Function>
  static fiber spawn(Function&& function, const sennit::local::spawn_options& options = {}) {
    return sennit::local::spawn(std::forward<Function>(function), options);
  }
};

// Runs `function` as a fiber of a new runtime; no call fails outside of its attempt.
template <class Kind, class Function>
void in_fiber(Function function) {
  typename Kind::runtime runtime(Kind::usual());
  runtime.run(function);
}

}  // namespace injection
