// Tests of what sennit:: and sennit::local:: have in common: typed tests over runtimes of both kinds.
//
//   template <class Kind>
//   class Events : public kind_test<Kind> {};
//   TYPED_TEST_SUITE(Events, every_kind, kind_name);
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "sennit/barrier.hpp"
#include "sennit/channel.hpp"
#include "sennit/condition_variable.hpp"
#include "sennit/counting_semaphore.hpp"
#include "sennit/detail/sched/registry.hpp"
#include "sennit/event.hpp"
#include "sennit/future.hpp"
#include "sennit/local/barrier.hpp"
#include "sennit/local/channel.hpp"
#include "sennit/local/condition_variable.hpp"
#include "sennit/local/counting_semaphore.hpp"
#include "sennit/local/event.hpp"
#include "sennit/local/future.hpp"
#include "sennit/local/mutex.hpp"
#include "sennit/local/once.hpp"
#include "sennit/local/recursive_mutex.hpp"
#include "sennit/local/runtime.hpp"
#include "sennit/local/scope.hpp"
#include "sennit/local/shared_mutex.hpp"
#include "sennit/local/wait_group.hpp"
#include "sennit/mutex.hpp"
#include "sennit/once.hpp"
#include "sennit/recursive_mutex.hpp"
#include "sennit/runtime.hpp"
#include "sennit/scope.hpp"
#include "sennit/shared_mutex.hpp"
#include "sennit/wait_group.hpp"

namespace sennit {

// A runtime with so many workers. What runs here, or was started, runs on one of them.
template <unsigned worker_count>
struct on_workers {
  using fiber = sennit::fiber;
  using barrier = sennit::barrier<>;
  using condition_variable = sennit::condition_variable;
  using counting_semaphore = sennit::counting_semaphore;
  using event = sennit::event;
  using mutex = sennit::mutex;
  using once_flag = sennit::once_flag;
  using recursive_mutex = sennit::recursive_mutex;
  using scope = sennit::scope;
  using spawn_options = sennit::spawn_options;
  using shared_mutex = sennit::shared_mutex;
  using wait_group = sennit::wait_group;
  template <class T>
  using channel = sennit::channel<T>;
  template <class T>
  using future = sennit::future<T>;
  template <class T>
  using promise = sennit::promise<T>;
  template <class Completion>
  static auto barrier_with(std::size_t expected, Completion completion) {
    return sennit::barrier(expected, std::move(completion));
  }

  static std::string name() { return "Workers" + std::to_string(worker_count); }
  static constexpr int threads(int wanted) { return wanted; }  // OS threads that may take part

  template <class Function>
  void run(Function function) {
    rt.spawn(std::move(function), {.pinned = 0}).join();
  }
  template <class Function>
  static fiber spawn(Function function, const spawn_options& options = {}) {
    return sennit::spawn(std::move(function), options);
  }
  static fiber spawn(continuation begins) { return sennit::spawn(std::move(begins)); }
  template <class Function>
  static fiber spawn_here(Function function) {
    return sennit::spawn(std::move(function), {.pinned = 0});
  }
  static void yield() {
    if (detail::this_parallel() != nullptr)
      this_fiber::yield();
    else
      std::this_thread::yield();
  }
  static void sleep_for(std::chrono::microseconds time) {
    if (detail::this_parallel() != nullptr)
      this_fiber::sleep_for(time);
    else
      std::this_thread::sleep_for(time);
  }

  runtime rt{{.workers = worker_count}};
};

template <run_policy policy>
struct on_one_thread {
  using fiber = local::fiber;
  using barrier = local::barrier<>;
  using condition_variable = local::condition_variable;
  using counting_semaphore = local::counting_semaphore;
  using event = local::event;
  using mutex = local::mutex;
  using once_flag = local::once_flag;
  using recursive_mutex = local::recursive_mutex;
  using scope = local::scope;
  using spawn_options = local::spawn_options;
  using shared_mutex = local::shared_mutex;
  using wait_group = local::wait_group;
  template <class T>
  using channel = local::channel<T>;
  template <class T>
  using future = local::future<T>;
  template <class T>
  using promise = local::promise<T>;
  template <class Completion>
  static auto barrier_with(std::size_t expected, Completion completion) {
    return local::barrier(expected, std::move(completion));
  }

  static std::string name() {
    return policy == run_policy::fifo   ? "LocalFifo"
           : policy == run_policy::lifo ? "LocalLifo"
                                        : "LocalHybrid";
  }
  static constexpr int threads(int) { return 0; }

  template <class Function>
  void run(Function function) {
    rt.run(std::move(function));
  }
  template <class Function>
  static fiber spawn(Function function, const spawn_options& options = {}) {
    return local::spawn(std::move(function), options);
  }
  static fiber spawn(continuation begins) { return local::spawn(std::move(begins)); }
  template <class Function>
  static fiber spawn_here(Function function) {
    return spawn(std::move(function));
  }
  static void yield() { local::this_fiber::yield(); }
  static void sleep_for(std::chrono::microseconds time) { local::this_fiber::sleep_for(time); }

  local::runtime rt{{.policy = policy}};
};

using every_kind =
    testing::Types<on_one_thread<run_policy::fifo>, on_one_thread<run_policy::lifo>,
                   on_one_thread<run_policy::hybrid>, on_workers<1>, on_workers<2>, on_workers<4>>;

// For tests that take long to compile, of what does not depend on the policy.
using few_kinds = testing::Types<on_one_thread<run_policy::fifo>, on_workers<1>, on_workers<4>>;

struct kind_name {
  template <class Kind>
  static std::string GetName(int) {
    return Kind::name();
  }
};

// How many fibers of the process are parked without a stack just now.
inline std::size_t stackless() {
  std::size_t found = 0;
  for (const detail::fiber_block* block = sennit_debug.blocks; block != nullptr; block = block->older)
    for (const detail::fiber& each : block->fibers) {
      const detail::fiber_status status = detail::look(each.flags.status);
      found += status >= detail::fiber_status::parked && status <= detail::fiber_status::joining &&
               detail::look(each.flags.stackless);
    }
  return found;
}

template <class Kind>
void until_stackless(std::size_t count) {
  for (int i = 0; stackless() != count && i < 5000; ++i)
    Kind::sleep_for(std::chrono::milliseconds(1));
  EXPECT_EQ(stackless(), count);
}

// A fiber next to the calling one, which has run until it waits when this returns.
template <class Kind, class Function>
typename Kind::fiber start(Function function) {
  bool begun = false;
  auto started = Kind::spawn_here([&begun, function]() mutable {
    begun = true;
    function();
  });
  while (!begun)
    Kind::yield();
  return started;
}

template <class Kind>
class kind_test : public testing::Test {
protected:
  using fiber_list = std::vector<typename Kind::fiber>;

  template <class Function>
  void run(Function function) {
    kind.run(std::move(function));
  }
  static void join(fiber_list& all) {
    for (auto& each : all)
      if (each.joinable())
        each.join();
    all.clear();
  }
  // Runs `count` fibers, and `threads` OS threads if these may, of one function, and waits for all.
  template <class Function>
  void run_all(int count, Function function, int threads = 0) {
    std::vector<std::thread> os;
    for (int i = 0; i < Kind::threads(threads); ++i)
      os.emplace_back([&, i] { function(count + i); });
    run([&] {
      fiber_list all;
      for (int i = 0; i < count; ++i)
        all.push_back(Kind::spawn([&, i] { function(i); }));
      join(all);
    });
    for (std::thread& each : os)
      each.join();
  }

  Kind kind;
};

}  // namespace sennit
