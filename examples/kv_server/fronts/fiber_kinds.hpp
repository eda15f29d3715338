// The fibers of one thread, and those of several: what the front on fibers takes from Sennit, for each.
//
// One lock guards the server's state. Fibers of one thread do not need it: none waits while it looks at that
// state.
#pragma once

#include <chrono>
#include <memory>
#include <utility>

#include "sennit/channel.hpp"
#include "sennit/local/channel.hpp"
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

  // Between receiving and processing no other fiber of the thread runs: all sessions share one.
  struct receiving {
    workspace& space(server_state& server) { return server.shared; }
  };

  template <class Function>
  static void spawn(Function&& function, std::string_view name) {
    sennit::local::spawn(std::forward<Function>(function), {.name = name});
  }
  // `number`: of the connection.
  template <class Function>
  static void spawn_connection(Function&& function, std::size_t) {
    spawn(std::forward<Function>(function), "connection");
  }
  static void yield() { sennit::local::this_fiber::yield(); }
  static void sleep_until(std::chrono::steady_clock::time_point time) {
    sennit::local::this_fiber::sleep_until(time);
  }
};

struct several_workers {
  using mutex = sennit::mutex;
  using channel = sennit::channel<bool>;

  // Not filled with zeroes: of what is never written, there is no memory.
  class receiving {
  public:
    workspace& space(server_state&) { return *own_; }

  private:
    std::unique_ptr<workspace> own_ = std::make_unique_for_overwrite<workspace>();
  };

  template <class Function>
  static void spawn(Function&& function, std::string_view name) {
    sennit::spawn(std::forward<Function>(function), {.name = name}).detach();
  }
  // To the workers in turn: its events come to where it first waits.
  template <class Function>
  static void spawn_connection(Function&& function, std::size_t number) {
    sennit::spawn(std::forward<Function>(function),
                  {.name = "connection", .near = static_cast<unsigned>(number)})
        .detach();
  }
  static void yield() { sennit::this_fiber::yield(); }
  static void sleep_until(std::chrono::steady_clock::time_point time) {
    sennit::this_fiber::sleep_until(time);
  }
};

}  // namespace kv
