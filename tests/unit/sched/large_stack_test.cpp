// Calls on large stacks, from fibers of both kinds of runtime, generators and threads.
#include "sennit/on_large_stack.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unwind.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <memory>
#include <new>
#include <set>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "sennit/detail/arch/call_on_stack.hpp"
#include "sennit/event.hpp"
#include "sennit/generator.hpp"
#include "sennit/local/event.hpp"
#include "sennit/local/runtime.hpp"
#include "sennit/runtime.hpp"
#include "sennit/stacks.hpp"
#include "sennit/stop_guard.hpp"
#include "support/child.hpp"

namespace sennit {
namespace {

using support::in_child;

struct local_kind {
  using event = local::event;
  static void run(auto function) { local::runtime().run(function); }
  static auto spawn(auto function) { return local::spawn(function, {.name = "user", .stack_size = 16384}); }
  static void yield() { local::this_fiber::yield(); }
};
template <unsigned Workers>
struct parallel_kind {
  using event = sennit::event;
  static void run(auto function) { sennit::runtime({.workers = Workers}).run(function); }
  static auto spawn(auto function) { return sennit::spawn(function, {.name = "user", .stack_size = 16384}); }
  static void yield() { this_fiber::yield(); }
};

template <class Kind>
class LargeStack : public testing::Test {};
using kinds = testing::Types<local_kind, parallel_kind<1>, parallel_kind<4>>;
TYPED_TEST_SUITE(LargeStack, kinds);

[[gnu::noinline]] detail::stack_place place_here() {
  return detail::stack_find(reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0)));
}

// Takes some 400 KiB.
[[gnu::noinline]] int use_much(int depth) {
  volatile char frame[4096];
  frame[depth] = 1;
  return (depth == 0 ? 0 : use_much(depth - 1)) + frame[depth];
}

// Runs `function` in a fiber of 16 KiB.
template <class Kind>
void in_fiber(auto function) {
  Kind::run([&] { Kind::spawn([&] { function(); }).join(); });
}

TYPED_TEST(LargeStack, ResultsAndExceptionsPass) {
  in_fiber<TypeParam>([] {
    EXPECT_EQ(on_large_stack([] { return use_much(100); }), 101);
    int called = 0;
    on_large_stack([&] { ++called; });
    EXPECT_EQ(called, 1);
    int& same = on_large_stack([&]() -> int& { return called; });
    EXPECT_EQ(&same, &called);
    EXPECT_EQ(*on_large_stack([made = std::make_unique<int>(7)]() mutable { return std::move(made); }), 7);
    errno = 5;
    on_large_stack([] {
      EXPECT_EQ(errno, 5);
      errno = 6;
    });
    EXPECT_EQ(errno, 6);
    for (int i = 0; i < 10; ++i)
      try {
        on_large_stack([i] { use_much(50), throw std::runtime_error(std::to_string(i)); });
        ADD_FAILURE() << "nothing was thrown";
      } catch (const std::runtime_error& error) {
        EXPECT_EQ(error.what(), std::to_string(i));
      }
  });
}

TYPED_TEST(LargeStack, StackIsTheFibersForTheTimeOfTheCallAndUsedAgain) {
  in_fiber<TypeParam>([] {
    const detail::stack_place own = place_here();
    std::set<const char*> used;
    for (int i = 0; i < 100; ++i) {
      const detail::stack_place inside = on_large_stack([] { return place_here(); });
      EXPECT_EQ(inside.size, large_stack_size);
      EXPECT_EQ(inside.record, own.record);
      used.insert(inside.low);
      EXPECT_EQ(detail::stack_find(reinterpret_cast<std::uintptr_t>(inside.low)).record, nullptr);
    }
    EXPECT_LE(used.size(), 4u);  // it may have changed the worker
    EXPECT_EQ(place_here().low, own.low);
    EXPECT_EQ(own.record->lent, nullptr);
  });
}

// Calls `function` with three quarters of a large stack in use.
[[gnu::noinline]] void with_little_left(auto function) {
  volatile char used[large_stack_size * 3 / 4];
  asm volatile("" : : "r"(&used) : "memory");
  function();
}

TYPED_TEST(LargeStack, NestedCallsRunDirectlyWhileThereIsRoom) {
  in_fiber<TypeParam>([] {
    on_large_stack([] {
      const char* const first = place_here().low;
      EXPECT_EQ(on_large_stack([] { return place_here().low; }), first);
      with_little_left([first] {
        on_large_stack([first] {
          EXPECT_NE(place_here().low, first);
          EXPECT_EQ(use_much(100), 101);
        });
        EXPECT_EQ(place_here().low, first);
        EXPECT_THROW(on_large_stack([] { throw 1; }), int);
      });
      EXPECT_EQ(place_here().low, first);
    });
  });
}

TYPED_TEST(LargeStack, CallsMayBlockAndChangeTheWorker) {
  TypeParam::run([] {
    constexpr int count = 40;
    std::atomic<int> sum{0};
    typename TypeParam::event go;
    std::vector<decltype(TypeParam::spawn([] {}))> all;
    for (int i = 0; i < count; ++i)
      all.push_back(TypeParam::spawn([&sum, &go, i] {
        for (int round = 0; round < 3; ++round)
          try {
            sum += on_large_stack([&, i] {
              const char* const mine = place_here().low;
              go.wait();
              TypeParam::yield();
              EXPECT_EQ(place_here().low, mine);
              const int value = use_much(20);
              TypeParam::yield();
              if (i % 4 == round)
                throw value;
              return value;
            });
          } catch (int value) {
            sum += value;
          }
      }));
    TypeParam::yield();
    go.set();
    for (auto& each : all)
      each.join();
    EXPECT_EQ(sum, count * 3 * 21);
  });
}

struct counts_its_end {
  std::atomic<int>& ends;
  ~counts_its_end() { ++ends; }
};

TYPED_TEST(LargeStack, ARuntimesEndAndAStopUnwindThroughTheCall) {
  std::atomic<int> ends{0};
  TypeParam::run([&ends] {
    std::stop_source source;
    auto stopped = TypeParam::spawn([&ends, token = source.get_token()] {
      const counts_its_end outside{ends};
      const stop_guard guard(token);
      on_large_stack([&ends] {
        const counts_its_end inside{ends};
        typename TypeParam::event().wait();
      });
    });
    TypeParam::yield();
    source.request_stop();
    stopped.join();
    EXPECT_EQ(ends, 2);
    TypeParam::spawn([&ends] {
      const counts_its_end outside{ends};
      on_large_stack([&ends] {
        const counts_its_end inside{ends};
        typename TypeParam::event().wait();
      });
    }).detach();
    TypeParam::yield();
  });
  EXPECT_EQ(ends, 4);
}

TYPED_TEST(LargeStack, GeneratorsOfAFiberGetOne) {
  in_fiber<TypeParam>([] {
    generator<int> numbers([](auto& yield) {
      for (int i = 0; i < 3; ++i)
        on_large_stack([&] {
          EXPECT_EQ(place_here().size, large_stack_size);
          yield(use_much(100 + i));
          TypeParam::yield();
        });
    });
    int expected = 101;
    for (const int each : numbers)
      EXPECT_EQ(each, expected++);
    EXPECT_EQ(expected, 104);
  });
}

TYPED_TEST(LargeStack, AnOverflowThereNamesTheFiber) {
  const auto result =
      in_child([] { in_fiber<TypeParam>([] { on_large_stack([] { return use_much(4000); }); }); });
  EXPECT_TRUE(result.ended_by_fault()) << result;
#if !defined(SENNIT_SANITIZED)
  EXPECT_TRUE(result.says("stack overflow in fiber \"user\": its stack has 1048576 bytes")) << result;
#endif
}

#if !defined(SENNIT_SANITIZED)
// Returns whether it reported that there is no memory: malloc may have none either, neither for the list of
// stacks nor for the text of an exception.
template <class Function>
bool lacks_memory(const Function& function) {
  try {
    function();
  } catch (const std::system_error& error) {
    return error.code() == std::errc::not_enough_memory;
  } catch (const std::bad_alloc&) {
    return true;
  }
  return false;
}

TYPED_TEST(LargeStack, WithoutMemoryNothingIsCalled) {
  const auto result = in_child([] {
    in_fiber<TypeParam>([] {
      bool called = false;
      const auto call = [&called] { on_large_stack([&called] { called = true; }); };
      const rlimit none{1, RLIM_INFINITY};
      const rlimit all{RLIM_INFINITY, RLIM_INFINITY};
      ASSERT_EQ(setrlimit(RLIMIT_AS, &none), 0);
      const bool reported = lacks_memory(call);
      setrlimit(RLIMIT_AS, &all);
      if (!reported && called)
        std::_Exit(77);  // an emulator, where the limit has no effect
      EXPECT_TRUE(reported);
      EXPECT_FALSE(called);
      call();
      EXPECT_TRUE(called);
    });
  });
  EXPECT_TRUE(result.exited(0) || result.exited(77)) << result;
}
#endif

TEST(LargeStackOfThreads, CallsRunDirectlyAndGeneratorsGetOne) {
  const auto check = [] {
    EXPECT_FALSE(on_large_stack([] { return place_here().found; }));
    EXPECT_THROW(on_large_stack([] { throw 2; }), int);
    generator<int> numbers([](auto& yield) {
      on_large_stack([&] {
        yield(use_much(100));
        yield(use_much(101));
      });
    });
    int sum = 0;
    for (const int each : numbers)
      sum += each;
    EXPECT_EQ(sum, 203);
    generator<int> left([](auto& yield) { on_large_stack([&] { yield(1); }); });
    EXPECT_EQ(*left.begin(), 1);  // and is destroyed in the middle
  };
  check();
  std::thread(check).join();
}

// What other instruction sets use is tested on all.
#if !defined(SENNIT_SANITIZED)
TEST(CallOnStack, ByAContextOfItsOwnReturnsAndThrows) {
  alignas(16) static std::array<char, 64 * 1024> memory;
  struct seen {
    const char* at = nullptr;
    bool throws = false;
  } what;
  const auto call = [&what] {
    detail::call_by_context(
        memory.data() + memory.size() - 64,
        [](void* to) {
          auto& seen_there = *static_cast<seen*>(to);
          seen_there.at = static_cast<const char*>(__builtin_frame_address(0));
          if (seen_there.throws)
            throw std::runtime_error("from there");
        },
        &what);
  };
  call();
  EXPECT_TRUE(what.at > memory.data() && what.at < memory.data() + memory.size());
  what.throws = true;
  EXPECT_THROW(call(), std::runtime_error);
}
#endif

_Unwind_Reason_Code note_function(_Unwind_Context* frame, void* to) {
  static_cast<std::set<std::uintptr_t>*>(to)->insert(_Unwind_GetRegionStart(frame));
  return _URC_NO_REASON;
}
[[gnu::noinline]] void call_from_here(std::set<std::uintptr_t>& functions) {
  on_large_stack([&] { _Unwind_Backtrace(note_function, &functions); });
  asm volatile("");
}

TEST(CallOnStack, BacktracesPassThroughIt) {
  if (!detail::calls_on_stacks_natively)
    GTEST_SKIP() << "they end there";
  std::set<std::uintptr_t> functions;
  in_fiber<local_kind>([&] { call_from_here(functions); });
  EXPECT_TRUE(functions.contains(reinterpret_cast<std::uintptr_t>(call_from_here)));
}

}  // namespace
}  // namespace sennit
