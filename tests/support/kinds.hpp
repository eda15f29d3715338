// Tests of the common parts of sennit:: and sennit::local::. They are compiled for both kinds of runtime, and
// run with each run-queue policy and with 1, 2 and 4 workers.
//
//   template <class Kind>
//   class Events : public kind_test<Kind> {};
//   KIND_TEST(Events, Wakes) {
//     this->run([] { typename Kind::event wanted; ... });
//   }
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include "sennit/barrier.hpp"
#include "sennit/channel.hpp"
#include "sennit/condition_variable.hpp"
#include "sennit/condition_variable_any.hpp"
#include "sennit/counting_semaphore.hpp"
#include "sennit/detail/sched/registry.hpp"
#include "sennit/event.hpp"
#include "sennit/exception_server.hpp"
#include "sennit/future.hpp"
#include "sennit/local/barrier.hpp"
#include "sennit/local/channel.hpp"
#include "sennit/local/condition_variable.hpp"
#include "sennit/local/condition_variable_any.hpp"
#include "sennit/local/counting_semaphore.hpp"
#include "sennit/local/event.hpp"
#include "sennit/local/exception_server.hpp"
#include "sennit/local/future.hpp"
#include "sennit/local/mutex.hpp"
#include "sennit/local/once.hpp"
#include "sennit/local/port.hpp"
#include "sennit/local/recursive_mutex.hpp"
#include "sennit/local/runtime.hpp"
#include "sennit/local/scope.hpp"
#include "sennit/local/select_list.hpp"
#include "sennit/local/shared_mutex.hpp"
#include "sennit/local/wait_group.hpp"
#include "sennit/local/wait_list.hpp"
#include "sennit/mutex.hpp"
#include "sennit/once.hpp"
#include "sennit/port.hpp"
#include "sennit/recursive_mutex.hpp"
#include "sennit/runtime.hpp"
#include "sennit/scope.hpp"
#include "sennit/select_list.hpp"
#include "sennit/shared_mutex.hpp"
#include "sennit/wait_group.hpp"
#include "sennit/wait_list.hpp"

namespace sennit {

// What a fiber of a test runs, of one type whatever the function. The library's code for a fiber's function
// is then compiled once a source file, not once a test. Functions that return something, as a continuation,
// are spawned as they are.
class test_body {
public:
  template <class Function>
    requires(std::is_void_v<std::invoke_result_t<Function&>> && !std::is_same_v<Function, test_body>)
  test_body(Function function)  // NOLINT(google-explicit-constructor)
      : object_(new Function(std::move(function))),
        call_([](void* object) { (*static_cast<Function*>(object))(); }),
        destroy_([](void* object) { delete static_cast<Function*>(object); }) {}
  test_body(test_body&& other) noexcept
      : object_(std::exchange(other.object_, nullptr)), call_(other.call_), destroy_(other.destroy_) {}
  ~test_body() {
    if (object_ != nullptr)
      destroy_(object_);
  }
  void operator()() { call_(object_); }

private:
  void* object_;
  void (*call_)(void*);
  void (*destroy_)(void*);
};

// For a function that is no test_body.
template <class Function>
concept returns_something = !std::is_void_v<std::invoke_result_t<Function&>>;

// A runtime as a test is to have it.
struct runtime_param {
  const char* name;
  run_policy policy = run_policy::fifo;
  unsigned workers = 0;
};

// A runtime with some workers. What runs here, or was started, runs on one of them.
struct parallel_kind {
  static constexpr runtime_param params[] = {{"Workers1", {}, 1}, {"Workers2", {}, 2}, {"Workers4", {}, 4}};
  using fiber = sennit::fiber;
  using barrier = sennit::barrier<>;
  using condition_variable = sennit::condition_variable;
  using condition_variable_any = sennit::condition_variable_any;
  using counting_semaphore = sennit::counting_semaphore;
  using event = sennit::event;
  using exception_server = sennit::exception_server;
  using exception_guard = sennit::exception_guard;
  using runtime_exception_guard = sennit::runtime_exception_guard;
  using mutex = sennit::mutex;
  using once_flag = sennit::once_flag;
  using recursive_mutex = sennit::recursive_mutex;
  using scope = sennit::scope;
  using select_list = sennit::select_list;
  using spawn_options = sennit::spawn_options;
  using shared_mutex = sennit::shared_mutex;
  using wait_group = sennit::wait_group;
  template <class Offer>
  using wait_list = sennit::wait_list<Offer>;
  template <class T>
  using channel = sennit::channel<T>;
  template <class T>
  using future = sennit::future<T>;
  template <class Request, class Reply>
  using port = sennit::port<Request, Reply>;
  template <class T>
  using promise = sennit::promise<T>;
  template <class Completion>
  static auto barrier_with(std::size_t expected, Completion completion) {
    return sennit::barrier(expected, std::move(completion));
  }

  static constexpr int threads(int wanted) { return wanted; }  // OS threads that may take part

  void run(test_body function) { rt.spawn(std::move(function), {.pinned = 0}).join(); }
  template <returns_something Function>
  void run(Function function) {
    rt.spawn(std::move(function), {.pinned = 0}).join();
  }
  static fiber spawn(test_body function, const spawn_options& options = {}) {
    return sennit::spawn(std::move(function), options);
  }
  template <returns_something Function>
  static fiber spawn(Function function, const spawn_options& options = {}) {
    return sennit::spawn(std::move(function), options);
  }
  static fiber spawn(continuation begins) { return sennit::spawn(std::move(begins)); }
  static fiber spawn_now(test_body function) { return sennit::spawn_now(std::move(function)); }
  static fiber spawn_here(test_body function) { return sennit::spawn(std::move(function), {.pinned = 0}); }
  template <returns_something Function>
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

  static inline runtime_param param = params[0];  // of the test that runs
  runtime rt{{.workers = param.workers}};
};

struct local_kind {
  static constexpr runtime_param params[] = {
      {"LocalFifo", run_policy::fifo}, {"LocalLifo", run_policy::lifo}, {"LocalHybrid", run_policy::hybrid}};
  using fiber = local::fiber;
  using barrier = local::barrier<>;
  using condition_variable = local::condition_variable;
  using condition_variable_any = local::condition_variable_any;
  using counting_semaphore = local::counting_semaphore;
  using event = local::event;
  using exception_server = local::exception_server;
  using exception_guard = local::exception_guard;
  using runtime_exception_guard = local::runtime_exception_guard;
  using mutex = local::mutex;
  using once_flag = local::once_flag;
  using recursive_mutex = local::recursive_mutex;
  using scope = local::scope;
  using select_list = local::select_list;
  using spawn_options = local::spawn_options;
  using shared_mutex = local::shared_mutex;
  using wait_group = local::wait_group;
  template <class Offer>
  using wait_list = local::wait_list<Offer>;
  template <class T>
  using channel = local::channel<T>;
  template <class T>
  using future = local::future<T>;
  template <class Request, class Reply>
  using port = local::port<Request, Reply>;
  template <class T>
  using promise = local::promise<T>;
  template <class Completion>
  static auto barrier_with(std::size_t expected, Completion completion) {
    return local::barrier(expected, std::move(completion));
  }

  static constexpr int threads(int) { return 0; }

  void run(test_body function) { rt.run(std::move(function)); }
  template <returns_something Function>
  void run(Function function) {
    rt.run(std::move(function));
  }
  static fiber spawn(test_body function, const spawn_options& options = {}) {
    return local::spawn(std::move(function), options);
  }
  template <returns_something Function>
  static fiber spawn(Function function, const spawn_options& options = {}) {
    return local::spawn(std::move(function), options);
  }
  static fiber spawn(continuation begins) { return local::spawn(std::move(begins)); }
  static fiber spawn_now(test_body function) { return local::spawn_now(std::move(function)); }
  static fiber spawn_here(test_body function) { return spawn(std::move(function)); }
  template <returns_something Function>
  static fiber spawn_here(Function function) {
    return spawn(std::move(function));
  }
  static void yield() { local::this_fiber::yield(); }
  static void sleep_for(std::chrono::microseconds time) { local::this_fiber::sleep_for(time); }

  static inline runtime_param param = params[0];
  // qemu-user cannot start a thread, as the watchdog's, in a child of a process that has others.
#if defined(SUPPORT_EMULATED)
  local::runtime rt{{.policy = param.policy, .report_deadlock = false}};
#else
  local::runtime rt{{.policy = param.policy}};
#endif
};

// The number of the process's descriptors for which `is` returns true, by looking at them.
template <class Predicate>
std::size_t count_descriptors(Predicate is) {
  const std::lock_guard hold(detail::descriptors_lock());
  std::size_t found = 0;
  for (detail::fiber_block* block = sennit_debug.blocks; block != nullptr; block = block->older)
    found += static_cast<std::size_t>(std::ranges::count_if(block->used(), is));
  return found;
}

// How many fibers of the process are parked without a stack just now.
inline std::size_t stackless() {
  return count_descriptors([](const detail::fiber& each) {
    return says_parked(detail::look(each.flags.status)) && detail::look(each.flags.stackless);
  });
}

template <class Kind>
void until_stackless(std::size_t count) {
  // A fiber that gets a false report is awake for a moment now and then: seen once is enough.
  std::size_t seen = stackless();
  for (int i = 0; seen != count && i < 5000; ++i, seen = stackless())
    Kind::sleep_for(std::chrono::milliseconds(1));
  EXPECT_EQ(seen, count);
}

// A fiber next to the calling one, which has run until it waits when this returns.
template <class Kind>
typename Kind::fiber start(test_body function) {
  bool begun = false;
  auto started = Kind::spawn_here([&begun, function = std::move(function)]() mutable {
    begun = true;
    function();
  });
  while (!begun)
    Kind::yield();
  return started;
}
template <class Kind, returns_something Function>
typename Kind::fiber start(Function function) {
  bool begun = false;
  auto started = Kind::spawn_here([&begun, function]() mutable {
    begun = true;
    return function();
  });
  while (!begun)
    Kind::yield();
  return started;
}

template <class Kind>
class kind_test : public testing::Test {
protected:
  using fiber_list = std::vector<typename Kind::fiber>;

  // Runs it as the first fiber. A function that is left by sennit::cancelled ends its fiber without an error:
  // it must return, so that a test does not pass without its last lines.
  void run(test_body function) {
    bool returned = false;
    kind.run([&] {
      function();
      returned = true;
    });
    EXPECT_TRUE(returned) << "a stop or the runtime's end has left the test's function";
  }
  static void join(fiber_list& all) {
    for (auto& each : all)
      if (each.joinable())
        each.join();
    all.clear();
  }
  // Runs `count` fibers, and `threads` OS threads if these may, of one function, and waits for all.
  void run_all(int count, const std::function<void(int)>& function, int threads = 0) {
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

// Registers a test with GoogleTest: once for each way to make a runtime of the kind.
template <class Kind>
void add_kind_test(unsigned workers, const std::string& suite, const char* name, const char* file, int line,
                   testing::Test* (*make)()) {
  for (const runtime_param& param : Kind::params)
    if (param.workers <= workers)
      testing::RegisterTest((suite + "/" + param.name).c_str(), name, nullptr, nullptr, file, line,
                            [&param, make] {
                              Kind::param = param;
                              return make();
                            });
}

// For a program that tests only what parallel runtimes have of their own.
#if defined(SENNIT_PARALLEL_KIND_ALONE)
inline constexpr bool tests_local_kind = false;
#else
inline constexpr bool tests_local_kind = true;
#endif

template <template <class> class Test>
bool add_kind_tests(unsigned workers, const char* suite, const char* name, const char* file, int line) {
  if constexpr (tests_local_kind)
    add_kind_test<local_kind>(workers, suite, name, file, line,
                              []() -> testing::Test* { return new Test<local_kind>; });
  add_kind_test<parallel_kind>(workers, suite, name, file, line,
                               []() -> testing::Test* { return new Test<parallel_kind>; });
  return true;
}

#define KIND_TEST(suite, name) KIND_TEST_UP_TO(~0U, suite, name)

// Like KIND_TEST, with so many workers at most.
#define KIND_TEST_UP_TO(workers, suite, name)                                               \
  template <class Kind>                                                                     \
  class suite##_##name : public suite<Kind> {                                               \
  public:                                                                                   \
    void TestBody() override;                                                               \
  };                                                                                        \
  [[maybe_unused]] const bool suite##_##name##_is_known =                                   \
      ::sennit::add_kind_tests<suite##_##name>(workers, #suite, #name, __FILE__, __LINE__); \
  template <class Kind>                                                                     \
  void suite##_##name<Kind>::TestBody()

}  // namespace sennit
