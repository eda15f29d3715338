// Misuse that is reported: each case runs in its own process, which ends with a message.
#include <gtest/gtest.h>
#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <system_error>
#include <type_traits>
#include <typeinfo>
#include <utility>

#include "sennit/barrier.hpp"
#include "sennit/channel.hpp"
#include "sennit/condition_variable.hpp"
#include "sennit/counting_semaphore.hpp"
#include "sennit/event.hpp"
#include "sennit/generator.hpp"
#include "sennit/latch.hpp"
#include "sennit/local/barrier.hpp"
#include "sennit/local/channel.hpp"
#include "sennit/local/condition_variable.hpp"
#include "sennit/local/counting_semaphore.hpp"
#include "sennit/local/event.hpp"
#include "sennit/local/latch.hpp"
#include "sennit/local/mutex.hpp"
#include "sennit/local/once.hpp"
#include "sennit/local/runtime.hpp"
#include "sennit/local/scope.hpp"
#include "sennit/local/shared_mutex.hpp"
#include "sennit/local/wait_group.hpp"
#include "sennit/mutex.hpp"
#include "sennit/once.hpp"
#include "sennit/runtime.hpp"
#include "sennit/scope.hpp"
#include "sennit/shared_mutex.hpp"
#include "sennit/stop_guard.hpp"
#include "sennit/wait_group.hpp"
#include "support/child.hpp"

namespace sennit {
namespace {

using namespace std::chrono_literals;

// One of the two kinds of runtime, and the types that its fibers use.
struct parallel {
  using runtime_type = runtime;
  using options = runtime_options;
  using fiber_type = fiber;
  using mutex_type = mutex;
  using flag = once_flag;
  using scope_type = scope;
  template <class Function>
  static fiber spawn(Function function) {
    return sennit::spawn(std::move(function));
  }
  static void yield() { this_fiber::yield(); }
  static void wait() { this_fiber::sleep_for(1h); }
  static options one_worker() { return {.workers = 1}; }
};
struct on_one_thread {
  using runtime_type = local::runtime;
  using options = local::runtime_options;
  using fiber_type = local::fiber;
  using mutex_type = local::mutex;
  using flag = local::once_flag;
  using scope_type = local::scope;
  template <class Function>
  static local::fiber spawn(Function function) {
    return local::spawn(std::move(function));
  }
  static void yield() { local::this_fiber::yield(); }
  static void wait() { local::this_fiber::sleep_for(1h); }
  static options one_worker() { return {}; }
};

// The messages of a process in which a fiber runs `function`.
template <class Kind, class Function>
support::outcome outcome_of(Function function) {
  return support::in_child([&] {
    typename Kind::runtime_type runtime(typename Kind::options{.report_deadlock = true});
    runtime.run(function);
  });
}

template <class Kind>
class Misuse : public testing::Test {};
using kinds = testing::Types<parallel, on_one_thread>;
TYPED_TEST_SUITE(Misuse, kinds);

TYPED_TEST(Misuse, AMutexLockedTwiceByAFiberEndsTheProgram) {
  const support::outcome seen = outcome_of<TypeParam>([] {
    typename TypeParam::mutex_type mutex;
    mutex.lock();
    mutex.lock();
  });
  EXPECT_TRUE(seen.killed_by(SIGABRT)) << seen;
  EXPECT_TRUE(seen.says(" \"main\" locks a mutex that it holds already")) << seen;
}

// Its link would stay in the chain of the fiber that made it.
TYPED_TEST(Misuse, AScopeDestroyedByAnotherFiberEndsTheProgram) {
  for (const bool maker_has_ended : {false, true}) {
    const support::outcome seen = outcome_of<TypeParam>([maker_has_ended] {
      std::unique_ptr<typename TypeParam::scope_type> scope;
      std::atomic<bool> is_made = false;
      auto maker = TypeParam::spawn([&] {
        scope = std::make_unique<typename TypeParam::scope_type>();
        is_made = true;
        if (!maker_has_ended)
          TypeParam::wait();
      });
      while (!is_made)
        TypeParam::yield();
      if (maker_has_ended)
        maker.join();
      scope.reset();
    });
    EXPECT_TRUE(seen.killed_by(SIGABRT)) << seen;
    EXPECT_TRUE(seen.says(" \"main\" destroys a sennit::scope that was made elsewhere")) << seen;
  }
}

TYPED_TEST(Misuse, AMutexMayBeTriedByItsHolderAndLockedAfterAnotherFiberUnlockedIt) {
  const support::outcome seen = outcome_of<TypeParam>([] {
    typename TypeParam::mutex_type mutex;
    mutex.lock();
    EXPECT_FALSE(mutex.try_lock());
    EXPECT_FALSE(mutex.try_lock_for(1ms));
    TypeParam::spawn([&] { mutex.unlock(); }).join();
    mutex.lock();
    mutex.unlock();
  });
  EXPECT_TRUE(seen.exited(0)) << seen;
}

TYPED_TEST(Misuse, CallOnceInItsOwnFunctionEndsTheProgram) {
  const support::outcome seen = outcome_of<TypeParam>([] {
    typename TypeParam::flag flag;
    call_once(flag, [&] { call_once(flag, [] {}); });
  });
  EXPECT_TRUE(seen.killed_by(SIGABRT)) << seen;
  EXPECT_TRUE(seen.says(" \"main\" calls call_once() in the function")) << seen;
}

// ThreadSanitizer's pthread_exit() works on threads' own stacks only.
#if !defined(SUPPORT_TSAN)
TYPED_TEST(Misuse, PthreadExitAndCancellationInAFiberEndTheProgram) {
  const auto exits = [] { pthread_exit(nullptr); };
  const auto is_cancelled = [] {
    pthread_cancel(pthread_self());
    pthread_testcancel();
  };
  const auto in_generator = [] {
    for ([[maybe_unused]] int each : generator<int>([](auto& yield) {
           yield(1);
           pthread_exit(nullptr);
         })) {
    }
  };
  for (const support::outcome& seen :
       {outcome_of<TypeParam>([&] { TypeParam::spawn(exits).join(); }),
        outcome_of<TypeParam>([&] { TypeParam::spawn(is_cancelled).join(); }),
        outcome_of<TypeParam>([&] { TypeParam::spawn(in_generator).join(); })}) {
    EXPECT_TRUE(seen.killed_by(SIGABRT)) << seen;
    EXPECT_TRUE(seen.says("was left by pthread_exit() or by the cancellation of its thread")) << seen;
  }
}

#endif

TYPED_TEST(Misuse, ExitInAFiberEndsTheProcessWithItsStatus) {
  const support::outcome seen = support::in_child([] {
    std::atexit([] { std::fputs("at exit\n", stderr); });
    typename TypeParam::runtime_type runtime;
    runtime.run([] {
      auto other = TypeParam::spawn([] {
        for (;;)
          TypeParam::yield();
      });
      TypeParam::yield();
      std::exit(7);
    });
  });
  EXPECT_TRUE(seen.exited(7)) << seen;
  EXPECT_TRUE(seen.says("at exit")) << seen;
}

TYPED_TEST(Misuse, ExitInAFiberOfAStaticRuntimeEndsWithAMessage) {
  const support::outcome seen = support::in_child([] {
    static typename TypeParam::runtime_type runtime;
    runtime.run([] { std::exit(7); });
  });
  EXPECT_TRUE(seen.killed_by(SIGABRT)) << seen;
  EXPECT_TRUE(seen.says("\"main\" destroys the runtime that runs it")) << seen;
  EXPECT_TRUE(seen.says("exit()")) << seen;
}

TYPED_TEST(Misuse, ASwallowedCancellationIsReportedAtTheNextWait) {
  const auto waits_again = [](auto handle) {
    std::stop_source stop;
    stop.request_stop();
    const stop_guard guard(stop.get_token());
    handle();
  };
  const support::outcome swallowed = outcome_of<TypeParam>([&] {
    waits_again([&] {
      for (int i = 0; i < 3; ++i)
        try {
          TypeParam::wait();
          ADD_FAILURE() << "the wait ended";
        } catch (...) {
        }
    });
  });
  EXPECT_TRUE(swallowed.exited(0)) << swallowed;
  EXPECT_TRUE(swallowed.says(" \"main\" has caught sennit::cancelled and waits again")) << swallowed;
  EXPECT_EQ(swallowed.said.find("waits again"), swallowed.said.rfind("waits again")) << swallowed;

  const support::outcome rethrown = outcome_of<TypeParam>([&] {
    waits_again([&] {
      try {
        TypeParam::wait();
      } catch (...) {
        try {
          TypeParam::wait();
        } catch (const cancelled&) {
        }
        throw;
      }
    });
  });
  EXPECT_FALSE(rethrown.says("waits again")) << rethrown;
}

TYPED_TEST(Misuse, OperationsOfAnEmptyHandleNameTheMisuse) {
  using fiber_type = typename TypeParam::fiber_type;
  const auto throws = [](auto operation) {
    return support::in_child([&] {
      typename TypeParam::runtime_type runtime;
      runtime.run([&] {
        auto joined = TypeParam::spawn([] {});
        joined.join();
        try {
          operation(joined);
        } catch (const std::system_error& error) {
          EXPECT_EQ(error.code(), std::errc::invalid_argument);
          std::fputs(error.what(), stderr);
        }
      });
    });
  };
  const auto check = [](const support::outcome& seen) {
    EXPECT_TRUE(seen.says("of an empty handle") || seen.says("join of a handle that is empty")) << seen;
    EXPECT_TRUE(seen.exited(0) || seen.killed_by(SIGABRT)) << seen;
  };
  check(throws([](fiber_type& f) { f.join(); }));
  check(throws([](fiber_type& f) { f.join_for(1ms); }));
  check(throws([](fiber_type& f) { f.detach(); }));
#if defined(NDEBUG)
  constexpr bool checks_unpark = !std::is_same_v<fiber_type, local::fiber>;  // its test would cost time
#else
  constexpr bool checks_unpark = true;
#endif
  if constexpr (checks_unpark)
    check(throws([](fiber_type& f) { f.unpark(); }));
  check(throws([](fiber_type& f) { static_cast<void>(f.id()); }));
}

#if !defined(NDEBUG)

// A fiber waits for an object, by `wait`, and the object is destroyed meanwhile.
template <class Kind, class Object, class... Arguments>
void expect_report_of_destruction(void (*wait)(Object&), Arguments... arguments) {
  const support::outcome seen = support::in_child([&] {
    typename Kind::runtime_type runtime(Kind::one_worker());
    runtime.run([&] {
      auto object = std::make_unique<Object>(arguments...);
      auto waits = Kind::spawn([&] { wait(*object); });
      for (int i = 0; i < 100; ++i)
        Kind::yield();
      object.reset();
    });
  });
  EXPECT_TRUE(seen.killed_by(SIGABRT)) << typeid(Object).name() << seen;
  EXPECT_TRUE(seen.says("destroyed") || seen.says("dead")) << typeid(Object).name() << seen;
}

TEST(MisuseInDebugBuilds, DestructionOfAnObjectThatAFiberWaitsForIsReported) {
  expect_report_of_destruction<parallel, event>([](event& e) { e.wait(); });
  expect_report_of_destruction<parallel, counting_semaphore>([](counting_semaphore& s) { s.acquire(); }, 0u);
  expect_report_of_destruction<parallel, wait_group>([](wait_group& g) {
    g.add(1);
    g.wait();
  });
  expect_report_of_destruction<parallel, latch>([](latch& l) { l.wait(); }, 1);
  expect_report_of_destruction<parallel, barrier<>>([](barrier<>& b) { b.arrive_and_wait(); }, 2);
  expect_report_of_destruction<parallel, channel<int>>([](channel<int>& c) { c.receive(); });
  expect_report_of_destruction<parallel, shared_mutex>([](shared_mutex& m) {
    m.lock_shared();
    m.lock();
  });
  expect_report_of_destruction<parallel, condition_variable>([](condition_variable& c) {
    mutex m;
    std::unique_lock hold(m);
    c.wait(hold);
  });
  expect_report_of_destruction<parallel, event>([](event& e) { e.wait_for(1h); });
  expect_report_of_destruction<parallel, event>([](event& e) {
    std::stop_source stop;
    const stop_guard guard(stop.get_token());
    e.wait();
  });
  expect_report_of_destruction<on_one_thread, local::event>([](local::event& e) { e.wait(); });
  expect_report_of_destruction<on_one_thread, local::counting_semaphore>(
      [](local::counting_semaphore& s) { s.acquire(); }, 0u);
  expect_report_of_destruction<on_one_thread, local::channel<int>>(
      [](local::channel<int>& c) { c.receive(); });
  expect_report_of_destruction<on_one_thread, local::condition_variable>([](local::condition_variable& c) {
    local::mutex m;
    std::unique_lock hold(m);
    c.wait_for(hold, 1h);
  });
}

#endif

}  // namespace
}  // namespace sennit
