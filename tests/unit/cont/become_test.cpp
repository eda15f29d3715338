// Fibers that block without a stack.
#include "sennit/become.hpp"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "sennit/fiber_local.hpp"
#include "support/counted.hpp"
#include "support/kinds.hpp"

namespace {

using namespace std::chrono_literals;
using sennit::become;
using sennit::continuation;
namespace this_fiber = sennit::this_fiber;
using support::counted;

template <class Kind>
class Become : public sennit::kind_test<Kind> {};

std::string_view running_name() {
  return sennit::detail::fiber_name(*sennit::detail::this_worker()->ready.current);
}

KIND_TEST(Become, GoesOnWithItsState) {
  int seen = 0;
  this->run([&] {
    Kind::spawn([&seen] { return become(this_fiber::yielding(), [](int* to) { *to = 7; }, &seen); }).join();
  });
  EXPECT_EQ(seen, 7);
}

KIND_TEST(Become, DestroysItsFramesBeforeItBlocks) {
  std::atomic<int> alive = 0;
  this->run([&] {
    std::atomic<int> at_its_end = -1;
    auto fiber = Kind::spawn([&] {
      const counted in_the_frame(alive);
      return become([&] { at_its_end = alive.load(); });
    });
    while (fiber.join_for(1ms))
      FAIL() << "it does not wait";
    EXPECT_EQ(alive, 0);
    EXPECT_EQ(at_its_end, -1);
    fiber.unpark();
    fiber.join();
    EXPECT_EQ(at_its_end, 0);
  });
}

KIND_TEST(Become, TakesAnUnparkThatCameBefore) {
  this->run([&] {
    std::atomic<int> steps = 0;
    auto fiber = Kind::spawn([&] { return become([&] { return become([&] { ++steps; }); }); });
    fiber.unpark();
    EXPECT_FALSE(fiber.join_for(5ms));
    fiber.unpark();
    fiber.join();
    EXPECT_EQ(steps, 1);
  });
}

continuation count_down(std::uint64_t left) {
  return left == 0 ? continuation() : become(this_fiber::yielding(), count_down, left - 1);
}

// A stack of 64 KiB would not hold a frame for each, of 16 bytes at least.
KIND_TEST(Become, LoopsInConstantStack) {
  this->run([] {
    std::vector<typename Kind::fiber> all;
    for (int i = 0; i < 8; ++i)
      all.push_back(Kind::spawn([] { return count_down(5'000); }));
    for (auto& each : all)
      each.join();
  });
}

KIND_TEST(Become, LetsOthersRunByYielding) {
  this->run([] {
    std::atomic<bool> stop = false;
    struct spin {
      static continuation on(std::atomic<bool>* stop) {
        return *stop ? continuation() : become(this_fiber::yielding(), on, stop);
      }
    };
    auto spinner = Kind::spawn([&] { return spin::on(&stop); });
    for (int i = 0; i < 100; ++i)
      Kind::yield();
    stop = true;
    spinner.join();
  });
}

KIND_TEST(Become, SleepsWithoutAStack) {
  this->run([] {
    const auto begin = std::chrono::steady_clock::now();
    std::atomic<int> woken = 0;
    std::vector<typename Kind::fiber> all;
    for (int i = 0; i < 50; ++i)
      all.push_back(Kind::spawn([&woken, i] {
        return become(
            this_fiber::sleeping_for(i % 2 == 0 ? 20ms : 10ms), [](std::atomic<int>* n) { ++*n; }, &woken);
      }));
    for (auto& each : all)
      each.join();
    EXPECT_EQ(woken, 50);
    EXPECT_GE(std::chrono::steady_clock::now() - begin, 20ms);
  });
}

template <std::size_t Size>
struct sized {
  std::array<unsigned char, Size> bytes;
};

template <class Kind, std::size_t Size>
void keeps_bytes() {
  Kind().run([] {
    sized<Size> state{};
    for (std::size_t i = 0; i < Size; ++i)
      state.bytes[i] = static_cast<unsigned char>(i * 7 + 1);
    std::vector<typename Kind::fiber> all;
    std::atomic<int> right = 0;
    static std::atomic<int>* count;
    count = &right;
    for (int i = 0; i < 20; ++i)
      all.push_back(Kind::spawn([state] {
        return become(
            this_fiber::yielding(),
            [](const sized<Size>& kept) {
              bool same = true;
              for (std::size_t at = 0; at < Size; ++at)
                same &= kept.bytes[at] == static_cast<unsigned char>(at * 7 + 1);
              *count += same;
            },
            state);
      }));
    for (auto& each : all)
      each.join();
    EXPECT_EQ(right, 20);
  });
}

KIND_TEST(Become, KeepsStatesOfAllSizes) {
  keeps_bytes<Kind, 1>();
  keeps_bytes<Kind, 47>();
  keeps_bytes<Kind, 48>();
  keeps_bytes<Kind, 49>();
  keeps_bytes<Kind, 1000>();
}

KIND_TEST(Become, MovesWhatOwns) {
  std::atomic<int> alive = 0;
  this->run([&] {
    auto fiber = Kind::spawn([&] {
      return become(
          this_fiber::yielding(),
          [](std::unique_ptr<counted> mine) {
            return become(
                this_fiber::yielding(), [](std::unique_ptr<counted>& still) { EXPECT_EQ(*still->alive, 1); },
                std::move(mine));
          },
          std::make_unique<counted>(alive));
    });
    fiber.join();
    EXPECT_EQ(alive, 0);
  });
}

KIND_TEST(Become, ItsExceptionsComeOutOfJoin) {
  this->run([] {
    auto fiber = Kind::spawn([] {
      return become(this_fiber::yielding(), []() -> continuation { throw std::runtime_error("late"); });
    });
    EXPECT_THROW(fiber.join(), std::runtime_error);
    auto early = Kind::spawn([]() -> continuation { throw std::runtime_error("early"); });
    EXPECT_THROW(early.join(), std::runtime_error);
  });
}

KIND_TEST(Become, KeepsItsNameAndItsLocals) {
  static sennit::fiber_local<int> local;
  this->run([] {
    std::atomic<bool> right = false;
    auto fiber = Kind::spawn(
        [&] {
          *local = 42;
          return become([&] { right = *local == 42 && running_name() == "keeper"; });
        },
        {.name = "keeper"});
    sennit::until_stackless<Kind>(1);
    if (Kind::threads(1) == 0) {  // else another worker has just blocked it, and nothing orders us after that
      EXPECT_EQ(fiber.name(), "keeper");
    }
    fiber.unpark();
    fiber.join();
    EXPECT_TRUE(right);
  });
}

KIND_TEST(Become, KeepsTheSizeOfItsStack) {
  this->run([] {
    std::atomic<long> sum = 0;
    auto fiber = Kind::spawn(
        [&] {
          return become(this_fiber::yielding(), [&] {
            volatile char much[200'000];
            for (std::size_t i = 0; i < sizeof much; i += 100)
              much[i] = 1;
            for (std::size_t i = 0; i < sizeof much; i += 100)
              sum += much[i];
          });
        },
        {.stack_size = 512 * 1024});
    fiber.join();
    EXPECT_EQ(sum, 2000);
  });
}

KIND_TEST(Become, BeginsWithoutAStack) {
  this->run([] {
    std::atomic<int> ran = 0;
    std::vector<typename Kind::fiber> all;
    for (int i = 0; i < 1000; ++i)
      all.push_back(Kind::spawn(become([](std::atomic<int>* n) { ++*n; }, &ran)));
    Kind::yield();
    EXPECT_EQ(ran, 0);
    for (auto& each : all)
      each.unpark();
    for (auto& each : all)
      each.join();
    EXPECT_EQ(ran, 1000);
  });
}

// The runtime's stacks, as many as there were fibers with one at a time, not as many as there were fibers.
KIND_TEST(Become, OnesThatHaveEndedHoldNoStack) {
  this->run([] {
    constexpr int count = 2000;
    std::vector<typename Kind::fiber> all;
    std::atomic<int> ended = 0;
    for (int i = 0; i < count; ++i)
      all.push_back(Kind::spawn(become(this_fiber::yielding(), [&ended] { ++ended; })));
    while (ended != count)
      Kind::yield();
    const std::size_t stacks = sennit::count_descriptors([](const sennit::detail::fiber& each) {
      return !sennit::detail::look(each.flags.stackless) && sennit::detail::look(each.frame) != nullptr;
    });
    EXPECT_LT(stacks, 100u);
    for (auto& each : all)
      each.join();
  });
}

// Either way from one time to the next.
KIND_TEST(Become, BlocksEitherWay) {
  struct step {
    static continuation on(int left) {
      for (int i = 0; i < left % 3; ++i)
        Kind::yield();
      return left == 0 ? continuation() : become(this_fiber::yielding(), on, left - 1);
    }
  };
  this->run([] {
    std::vector<typename Kind::fiber> all;
    for (int i = 0; i < 20; ++i)
      all.push_back(Kind::spawn([] { return step::on(300); }));
    for (auto& each : all)
      each.join();
  });
}

// A fiber that only yields keeps no other from timers, or from outside events.
KIND_TEST(Become, YieldingStarvesNobody) {
  struct spinning {
    static continuation on(std::atomic<bool>* enough) {
      return *enough ? continuation() : become(this_fiber::yielding(), on, enough);
    }
  };
  this->run([] {
    std::atomic<bool> enough = false;
    auto spins = Kind::spawn([&] { return spinning::on(&enough); });
    Kind::sleep_for(std::chrono::milliseconds(1));
    enough = true;
    spins.join();
  });
}

// Begun by a fiber whose runtime is about to end: it just ends.
KIND_TEST(Become, BeginsWhileTheRuntimeEnds) {
  std::atomic<int> alive = 0;
  std::atomic<int> went_on = 0;
  std::atomic<int> spawned = 0;
  {
    Kind().run([&] {
      std::atomic<bool> begun = false;
      Kind::spawn([&] {
        struct spawning {
          std::atomic<int>& alive;
          std::atomic<int>& went_on;
          std::atomic<int>& spawned;
          ~spawning() {
            ++spawned;
            Kind::spawn(become(
                            this_fiber::parking(), [this](std::unique_ptr<counted>) { ++went_on; },
                            std::make_unique<counted>(alive)))
                .detach();
          }
        } const at_its_end{alive, went_on, spawned};
        begun = true;
        Kind::sleep_for(std::chrono::hours(1));
      }).detach();
      while (!begun)
        Kind::yield();
    });
  }
  EXPECT_EQ(spawned, 1);
  EXPECT_EQ(alive, 0);
  EXPECT_EQ(went_on, 0);
}

KIND_TEST(Become, TheRuntimesEndDestroysStates) {
  std::atomic<int> alive = 0;
  std::atomic<int> went_on = 0;
  {
    Kind().run([&] {
      for (int i = 0; i < 10; ++i) {
        Kind::spawn([&] {
          return become([&](std::unique_ptr<counted>) { ++went_on; }, std::make_unique<counted>(alive));
        }).detach();
        Kind::spawn([&] {
          return become(
              this_fiber::sleeping_for(1h), [&](std::unique_ptr<counted>) { ++went_on; },
              std::make_unique<counted>(alive));
        }).detach();
      }
      while (alive != 20)
        Kind::yield();
    });
  }
  EXPECT_EQ(alive, 0);
  EXPECT_EQ(went_on, 0);
}

KIND_TEST(Become, EndsWithAnEmptyContinuation) {
  this->run([] {
    auto fiber = Kind::spawn([] { return continuation(); });
    fiber.join();
  });
}

KIND_TEST(Become, IsJoinedByWhoHasNoStackToo) {
  this->run([] {
    std::atomic<int> at = 0;
    auto first = Kind::spawn([&] { return become([&] { at = 1; }); });
    auto second = Kind::spawn([&] {
      first.join();
      EXPECT_EQ(at, 1);
    });
    Kind::yield();
    first.unpark();
    second.join();
  });
}

KIND_TEST(Become, RunsAsTheFirstFunctionOfARuntime) {
  int seen = 0;
  this->kind.run([&] { return become(this_fiber::yielding(), [&] { seen = 3; }); });
  EXPECT_EQ(seen, 3);
}

}  // namespace
