// The fibers of one thread, and those of several: what the front on fibers takes from Sennit, for each.
//
// One lock guards the server's state. Fibers of one thread do not need it: none waits while it looks at that
// state, nor is made to yield (computing/computing.hpp). A `space` is a workspace for as long as its user
// receives, processes or sends.
#pragma once

#include <memory>
#include <string_view>
#include <utility>

#include "sennit/become.hpp"
#include "sennit/channel.hpp"
#include "sennit/counting_semaphore.hpp"
#include "sennit/local/channel.hpp"
#include "sennit/local/counting_semaphore.hpp"
#include "sennit/local/runtime.hpp"
#include "sennit/mutex.hpp"
#include "sennit/runtime.hpp"
#include "state.hpp"

namespace kv {

struct one_worker {
  struct mutex {
    void lock() {}
    void unlock() {}
  };
  using channel = sennit::local::channel<bool>;
  using semaphore = sennit::local::counting_semaphore;

  // Between receiving and processing no other fiber of the thread runs: all sessions share one.
  class space {
  public:
    explicit space(server_state& server) : shared_(server.shared) {}
    workspace& take() { return shared_; }
    void give_back() {}

  private:
    workspace& shared_;
  };

  // Calls next(state) with the lock held.
  template <class State>
  static sennit::continuation locked(mutex&, sennit::continuation (*next)(State), State state) {
    return next(std::move(state));
  }

  template <class Function>
  static void spawn(Function&& function, std::string_view name) {
    sennit::local::spawn(std::forward<Function>(function), {.name = name});
  }
  // `number`: of the connection. It has no name, which would have to be kept while it has no stack.
  template <class Function>
  static void spawn_connection(Function&& function, std::size_t) {
    sennit::local::spawn(std::forward<Function>(function));
  }
};

struct several_workers {
  using mutex = sennit::mutex;
  using channel = sennit::channel<bool>;
  using semaphore = sennit::counting_semaphore;

  class space {
  public:
    explicit space(server_state&) {}
    // The same until it is given back. Throws std::bad_alloc.
    workspace& take() {
      if (own_ == nullptr) {
        own_ = std::make_unique_for_overwrite<workspace>();
      }
      return *own_;
    }
    void give_back() { own_.reset(); }

  private:
    std::unique_ptr<workspace> own_;
  };

  // The fiber that holds the lock may not run just now, while on another worker one connection after the
  // other comes here: they wait for it without a stack.
  template <class State>
  static sennit::continuation locked(mutex& guard, sennit::continuation (*next)(State), State state) {
    if (guard.try_lock()) {
      return next(std::move(state));
    }
    return sennit::become(guard.locking(), next, std::move(state));
  }

  template <class Function>
  static void spawn(Function&& function, std::string_view name) {
    sennit::spawn(std::forward<Function>(function), {.name = name}).detach();
  }
  // To the workers in turn: its events come to where it first waits.
  template <class Function>
  static void spawn_connection(Function&& function, std::size_t number) {
    sennit::spawn(std::forward<Function>(function), {.near = static_cast<unsigned>(number)}).detach();
  }
};

}  // namespace kv
