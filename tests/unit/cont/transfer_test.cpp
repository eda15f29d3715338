// How control goes from one fiber to the next (Draves et al. 1991, Figures 3 and 4), seen on the one thread
// of a local runtime, and on the one worker of a parallel one.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "sennit/become.hpp"
#include "support/kinds.hpp"

namespace {

using sennit::become;
using sennit::continuation;
namespace detail = sennit::detail;
namespace this_fiber = sennit::this_fiber;

template <class Kind>
struct one_thread {
  static auto run(auto function) {
    if constexpr (std::is_same_v<Kind, sennit::local_kind>)
      sennit::local::runtime().run(function);
    else
      sennit::runtime({.workers = 1}).run(function);
  }
};

template <class Kind>
class Transfer : public testing::Test, public one_thread<Kind> {};
using kinds = testing::Types<sennit::local_kind, sennit::parallel_kind>;
TYPED_TEST_SUITE(Transfer, kinds);

// A fiber's place, each time that it resumed.
struct visit {
  int who;
  const detail::coroutine_frame* stack;
  std::uintptr_t depth;
};
struct walker {
  std::vector<visit>* steps;
  int who;
  int left;
};
[[gnu::noinline]] std::uintptr_t depth() {
  return reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
}
continuation walk(walker self) {
  self.steps->push_back({self.who, detail::current_fiber().frame, depth()});
  if (--self.left == 0)
    return {};
  return become(this_fiber::yielding(), walk, self);
}

TYPED_TEST(Transfer, AHandoffPassesTheStackFromFiberToFiber) {
  using Kind = TypeParam;
  this->run([] {
    constexpr int fibers = 3, times = 40;
    std::vector<visit> steps;
    steps.reserve(fibers * times);
    std::vector<typename Kind::fiber> all;
    for (int i = 0; i < fibers; ++i)
      all.push_back(Kind::spawn(become(this_fiber::yielding(), walk, walker{&steps, i, times})));
    for (auto& each : all)
      each.join();
    ASSERT_EQ(steps.size(), std::size_t{fibers * times});
    int handoffs = 0;
    for (std::size_t i = 1; i < steps.size(); ++i) {
      handoffs += steps[i].who != steps[i - 1].who;
      EXPECT_EQ(steps[i].stack, steps[0].stack) << "at step " << i;
    }
    EXPECT_GE(handoffs, fibers * (times - 1));  // no two in a row are one fiber's
  });
}

// A call of a continuation begins at the base of the stack: a long sequence of them cannot overflow it.
TYPED_TEST(Transfer, CallsOfContinuationsGetNoDeeper) {
  using Kind = TypeParam;
  this->run([] {
    std::vector<visit> steps;
    Kind::spawn(become(this_fiber::yielding(), walk, walker{&steps, 0, 200})).join();
    for (std::size_t i = 2; i < steps.size(); ++i)  // now and then the stack is left, and entered again
      EXPECT_GE(steps[i].depth, steps[1].depth) << "at step " << i;
  });
}

TYPED_TEST(Transfer, ADetachedStackIsNobodysUntilItIsAttachedAgain) {
  using Kind = TypeParam;
  this->run([] {
    struct both {
      const detail::fiber* self = nullptr;
      const detail::coroutine_frame* before = nullptr;
      const detail::coroutine_frame* after = nullptr;
    } seen;
    auto fiber = Kind::spawn([&seen] {
      seen.self = &detail::current_fiber();
      seen.before = seen.self->frame;
      return become([&seen] { seen.after = detail::current_fiber().frame; });
    });
    while (seen.self == nullptr || !seen.self->is_parked())
      Kind::yield();
    EXPECT_TRUE(seen.self->flags.stackless);
    EXPECT_EQ(fiber_frame(*seen.self), nullptr);
    EXPECT_NE(seen.before, nullptr);
    EXPECT_EQ(seen.after, nullptr);  // it has not resumed
    fiber.unpark();
    fiber.join();
    EXPECT_NE(seen.after, nullptr);
  });
}

#if !defined(SENNIT_SANITIZED)  // where every switch goes through the host
// The next fiber has its own stack; the worker keeps the stack that was given up.
TYPED_TEST(Transfer, ASwitchWithAContinuationGivesTheStackToTheWorker) {
  using Kind = TypeParam;
  this->run([] {
    const auto kept = [] { return detail::this_worker()->spare_frame_count; };
    const detail::coroutine_frame* given_up = nullptr;
    auto fiber = Kind::spawn([&given_up] {
      given_up = detail::current_fiber().frame;
      return become([] {});
    });
    const std::size_t before = kept();
    while (given_up == nullptr)
      Kind::yield();
    EXPECT_EQ(kept(), before + 1);
    EXPECT_EQ(detail::this_worker()->spare_frames, given_up);
    fiber.unpark();
    fiber.join();
  });
}
#endif

// A port's call goes past all ready fibers, and so does its reply.
TYPED_TEST(Transfer, AThreadHandoffGoesPastTheQueue) {
  using Kind = TypeParam;
  this->run([] {
    typename Kind::template port<int, int> port;
    std::vector<int> order;
    auto server = Kind::spawn([&] {
      port.serve([&](int number) {
        order.push_back(number);
        return number;
      });
    });
    Kind::yield();  // it waits
    std::vector<typename Kind::fiber> others;
    for (int i = 10; i < 13; ++i)
      others.push_back(Kind::spawn([&order, i] { order.push_back(i); }));
    port.call(1);
    port.call(2);
    EXPECT_EQ(order, (std::vector{1, 2}));
    for (auto& each : others)
      each.join();
    EXPECT_EQ(order, (std::vector{1, 2, 10, 11, 12}));
    port.close();
    server.join();
  });
}

}  // namespace
