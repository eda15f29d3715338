// The fibers of one thread, and those of several: what the front on fibers takes from Sennit, for each.
//
// One lock guards the server's state. Fibers of one thread do not need it: none waits while it looks at that
// state. `receiving` is made, and goes, with
// the lock held.
#pragma once

#include <chrono>
#include <memory>
#include <string_view>
#include <utility>

#include "sennit/channel.hpp"
#include "sennit/exception_server.hpp"
#include "sennit/local/channel.hpp"
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
  using exception_server = sennit::local::exception_server;

  // Between receiving and processing no other fiber of the thread runs: all sessions share one.
  struct workspaces {};
  class receiving {
  public:
    receiving(server_state& server, workspaces&) : space_(server.shared) {}
    workspace& space() { return space_; }

  private:
    workspace& space_;
  };

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
  static void yield() { sennit::local::this_fiber::yield(); }
  static void sleep_until(std::chrono::steady_clock::time_point time) {
    sennit::local::this_fiber::sleep_until(time);
  }
};

struct several_workers {
  using mutex = sennit::mutex;
  using channel = sennit::channel<bool>;
  using exception_server = sennit::exception_server;

  // As many as have received at once. Not filled with zeroes: of what is never written, there is no memory.
  struct own_workspace : workspace {
    std::unique_ptr<own_workspace> next;
  };
  struct workspaces {
    std::unique_ptr<own_workspace> free;
    workspaces() = default;
    ~workspaces() {
      while (free != nullptr) {
        free = std::move(free->next);
      }
    }
  };
  class receiving {
  public:
    receiving(server_state&, workspaces& all)
        : all_(all), own_(all.free ? std::move(all.free) : std::make_unique_for_overwrite<own_workspace>()) {
      all.free = std::move(own_->next);
    }
    ~receiving() {
      own_->next = std::move(all_.free);
      all_.free = std::move(own_);
    }
    receiving(const receiving&) = delete;
    receiving& operator=(const receiving&) = delete;
    workspace& space() { return *own_; }

  private:
    workspaces& all_;
    std::unique_ptr<own_workspace> own_;
  };

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
  static void yield() { sennit::this_fiber::yield(); }
  static void sleep_until(std::chrono::steady_clock::time_point time) {
    sennit::this_fiber::sleep_until(time);
  }
};

}  // namespace kv
