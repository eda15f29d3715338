// The fibers of one thread, and those of several: what the front on fibers takes from Sennit, for each.
//
// One lock guards the server's state. Fibers of one thread do not need it: none waits while it looks at that
// state, nor is made to yield (computing/computing.hpp). A `space` is a workspace for as long as somebody
// receives, processes or sends; one user's.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string_view>
#include <utility>

#include "sennit/become.hpp"
#include "sennit/channel.hpp"
#include "sennit/counting_semaphore.hpp"
#include "sennit/exception_server.hpp"
#include "sennit/local/channel.hpp"
#include "sennit/local/counting_semaphore.hpp"
#include "sennit/local/exception_server.hpp"
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
  using exception_server = sennit::local::exception_server;

  // Between receiving and processing no other fiber of the thread runs: all sessions share one.
  struct workspaces {
    explicit workspaces(server_state& server) : shared(server.shared) {}
    workspace& shared;
  };
  class space {
  public:
    explicit space(workspaces& all) : shared_(all.shared) {}
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
  static void name_fiber(std::string_view name) { sennit::local::this_fiber::set_name(name); }
};

struct several_workers {
  using mutex = sennit::mutex;
  using channel = sennit::channel<bool>;
  using semaphore = sennit::counting_semaphore;
  using exception_server = sennit::exception_server;

  // As many as have been in use at once. Not filled with zeroes: what is never written takes no memory.
  struct own_workspace : workspace {
    std::unique_ptr<own_workspace> next;
  };
  class workspaces {
  public:
    explicit workspaces(server_state&) {}
    ~workspaces() {
      delete warm_.load();
      while (others_ != nullptr) {
        others_ = std::move(others_->next);
      }
    }
    workspaces(const workspaces&) = delete;
    workspaces& operator=(const workspaces&) = delete;

    std::unique_ptr<own_workspace> take() {
      std::unique_ptr<own_workspace> taken(warm_.exchange(nullptr));
      if (taken == nullptr) {
        const std::lock_guard hold(guard_);
        if (others_ != nullptr) {
          taken = std::move(others_);
          others_ = std::move(taken->next);
        }
      }
      return taken != nullptr ? std::move(taken) : std::make_unique_for_overwrite<own_workspace>();
    }
    void give(std::unique_ptr<own_workspace> given) {
      std::unique_ptr<own_workspace> before(warm_.exchange(given.release()));
      if (before != nullptr) {
        const std::lock_guard hold(guard_);
        before->next = std::move(others_);
        others_ = std::move(before);
      }
    }

  private:
    std::atomic<own_workspace*> warm_{nullptr};  // given back last; often the only one
    std::mutex guard_;                           // nobody waits with it held
    std::unique_ptr<own_workspace> others_;
  };
  class space {
  public:
    explicit space(workspaces& all) : all_(all) {}
    ~space() { give_back(); }
    space(const space&) = delete;
    space& operator=(const space&) = delete;

    // The same until it is given back. Throws std::bad_alloc.
    workspace& take() {
      if (own_ == nullptr) {
        own_ = all_.take();
      }
      return *own_;
    }
    void give_back() {
      if (own_ != nullptr) {
        all_.give(std::move(own_));
      }
    }

  private:
    workspaces& all_;
    std::unique_ptr<own_workspace> own_;
  };

  // Calls next(state) with the lock held. Who holds it may not run just now, while on another worker one
  // connection after the other comes here: they wait for it without a stack.
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
  static void name_fiber(std::string_view name) { sennit::this_fiber::set_name(name); }
};

}  // namespace kv
