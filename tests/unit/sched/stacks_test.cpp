// Fibers and coroutines on stacks of all kinds: small ones, the user's, and as many as the kernel allows.
#include "sennit/stacks.hpp"

#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "sennit/coroutine.hpp"
#include "sennit/generator.hpp"
#include "sennit/local/runtime.hpp"
#include "sennit/runtime.hpp"
#include "support/child.hpp"
#include "support/process.hpp"

namespace sennit {
namespace {

using support::in_child;
using support::resident_bytes;

struct local_stacks {
  using fiber = local::fiber;
  using options = local::spawn_options;
  static void run(auto function, std::size_t stack_size = 64 * 1024, std::size_t guard_size = 0) {
    local::runtime({.stack_size = stack_size, .guard_size = guard_size}).run(function);
  }
  static fiber spawn(auto function, const options& how) { return local::spawn(function, how); }
  static void park() { local::this_fiber::park(); }
  static void yield() { local::this_fiber::yield(); }
  static void sleep() { local::this_fiber::sleep_for(std::chrono::milliseconds(2)); }
};
struct parallel_stacks {
  using fiber = sennit::fiber;
  using options = sennit::spawn_options;
  static void run(auto function, std::size_t stack_size = 64 * 1024, std::size_t guard_size = 0) {
    sennit::runtime({.workers = 2, .stack_size = stack_size, .guard_size = guard_size}).run(function);
  }
  static fiber spawn(auto function, const options& how) { return sennit::spawn(function, how); }
  static void park() { this_fiber::park(); }
  static void yield() { this_fiber::yield(); }
  static void sleep() { this_fiber::sleep_for(std::chrono::milliseconds(2)); }
};

template <class Kind>
class Stacks : public testing::Test {};
using kinds = testing::Types<local_stacks, parallel_stacks>;
TYPED_TEST_SUITE(Stacks, kinds);

// What a fiber that waits lives on; frames of code that is not optimised are larger, sanitizers' larger
// still.
#if defined(SENNIT_SANITIZED)
constexpr std::size_t tiny = 16384;
#elif defined(__OPTIMIZE__)
constexpr std::size_t tiny = 1024;
#else
constexpr std::size_t tiny = 4096;
#endif
constexpr std::size_t tiny_class() {
  return std::max(tiny, detail::smallest_stack_size);
}
constexpr bool has_seal = tiny_class() < detail::page_size;

std::uintptr_t here() {
  return reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
}

#if defined(SENNIT_SANITIZED)
constexpr int many = 2'000;  // of gcc's TSan a process can have 8,128; others get slow
#else
constexpr int many = 12'000;
#endif

TYPED_TEST(Stacks, ThousandsOfSmallOnesParkAndGoOn) {
  std::atomic<int> arrived{0};
  std::atomic<int> in_place{0};
  const auto body = [&arrived, &in_place] {
    const detail::stack_place place = detail::stack_find(here());
    ++arrived;
    TypeParam::park();
    in_place += place.size == tiny_class() && detail::stack_find(here()).low == place.low;
  };
  TypeParam::run([&] {
    for (int round = 0; round < 2; ++round) {
      std::vector<typename TypeParam::fiber> all;
      for (int i = 0; i < many; ++i)
        all.push_back(TypeParam::spawn(body, {.stack_size = small_stack(tiny)}));
      while (arrived != (round + 1) * many)
        TypeParam::yield();
      for (auto& each : all)
        each.unpark();
      for (auto& each : all)
        each.join();
    }
  });
  EXPECT_EQ(in_place, 2 * many);
}

TYPED_TEST(Stacks, ARuntimesMayAllBeSmall) {
#if defined(SENNIT_SANITIZED)
  GTEST_SKIP() << "sanitizers' frames want more";
#endif
  const std::size_t wanted = detail::stack_class(small_stack(4096));
  std::atomic<int> in_place{0};
  const auto body = [&in_place, wanted] { in_place += detail::stack_find(here()).size == wanted; };
  const auto spawner = [&] {
    std::array<typename TypeParam::fiber, 8> all;
    for (int round = 0; round < 10; ++round) {
      for (auto& each : all)
        each = TypeParam::spawn(body, {});
      for (auto& each : all)
        each.join();
    }
  };
  TypeParam::run([&] { TypeParam::spawn(spawner, {.stack_size = 64 * 1024}).join(); }, small_stack(4096));
  EXPECT_EQ(in_place, 80);
}

// The bytes below the calling fiber's stack that are its guard's.
std::size_t guard_here() {
  const detail::stack_place mine = detail::stack_find(here());
  std::size_t size = 0;
  for (;; size += detail::page_size) {
    const auto below = reinterpret_cast<std::uintptr_t>(mine.low) - size - 1;
    const detail::stack_place place = detail::stack_find(below);
    if (!place.guard || place.low != mine.low)
      return size;
  }
}

TYPED_TEST(Stacks, HaveTheGuardOfTheirRuntimeOrTheirOwn) {
  constexpr std::size_t ours = 128 * 1024;
  for (const std::size_t of_runtime : {std::size_t{0}, std::size_t{8192}, ours})
    TypeParam::run(
        [of_runtime] {
          const std::size_t usual = of_runtime != 0 ? of_runtime : detail::default_guard_size;
          EXPECT_EQ(guard_here(), usual);
          for (int round = 0; round < 2; ++round)  // the second time on stacks that were used before
            for (const std::size_t stack_size : {0, 16384})
              for (const std::size_t guard_size : {std::size_t{0}, std::size_t{4000}, ours}) {
                std::size_t found = 0;
                TypeParam::spawn([&found] { found = guard_here(); },
                                 {.stack_size = stack_size, .guard_size = guard_size})
                    .join();
                EXPECT_EQ(found, guard_size == 4000 ? 4096 : guard_size != 0 ? guard_size : usual);
              }
        },
        64 * 1024, of_runtime);
}

TYPED_TEST(Stacks, StacksAndGuardsThatCannotBeAreRefused) {
  const auto expect_invalid = [](auto function) {
    try {
      function();
      ADD_FAILURE() << "it was not refused";
    } catch (const std::system_error& error) {
      EXPECT_EQ(error.code(), std::errc::invalid_argument);
    }
  };
  constexpr std::size_t too_much = std::size_t{1} << 60;
  for (const std::size_t size : {too_much, ~std::size_t{0}}) {
    expect_invalid([&] { TypeParam::run([] {}, size); });
    expect_invalid([&] { TypeParam::run([] {}, 65536, size); });
    TypeParam::run([&] {
      expect_invalid([&] { TypeParam::spawn([] {}, {.stack_size = size}); });
      expect_invalid([&] { TypeParam::spawn([] {}, {.guard_size = size}); });
    });
  }
}

// A handler with SA_ONSTACK has room of its own, wherever the fiber runs that is interrupted.
std::atomic<int> handled;  // on both threads at once
std::atomic<bool> handled_beside;
void handle(int) {
  volatile char large[16 * 1024];
  large[0] = 1;
  large[sizeof large - 1] = 1;
  if (detail::stack_find(here()).found)
    handled_beside = false;
  ++handled;
}

TYPED_TEST(Stacks, SignalHandlersDoNotRunOnThem) {
#if defined(SENNIT_TSAN)
  GTEST_SKIP() << "TSan calls handlers later, and where it likes";
#endif
  struct sigaction action = {};
  action.sa_handler = handle;
  action.sa_flags = SA_ONSTACK;
  struct sigaction before = {};
  ASSERT_EQ(sigaction(SIGUSR1, &action, &before), 0);
  handled = 0;
  handled_beside = true;
  constexpr int fibers = 100;
  TypeParam::run([] {
    std::array<typename TypeParam::fiber, fibers> all;
    for (auto& each : all)
      each = TypeParam::spawn(
          [] {
            ::syscall(SYS_tgkill, ::getpid(), ::syscall(SYS_gettid), SIGUSR1);
            TypeParam::yield();
          },
          {.stack_size = small_stack(tiny)});
    for (auto& each : all)
      each.join();
  });
  EXPECT_EQ(handled, fibers);
  EXPECT_TRUE(handled_beside);
  sigaction(SIGUSR1, &before, nullptr);
}

[[gnu::noinline]] void overrun() {
  const detail::stack_place place = detail::stack_find(here());
  // As a frame would that is too large; but not further down, where no memory may be.
  std::memset(place.low, 1, detail::stack_seal_size);
}

TYPED_TEST(Stacks, WhoOverrunsASmallOneIsNamed) {
  if (!has_seal)
    GTEST_SKIP() << "no stack is small here";
  const auto result = in_child([] {
    TypeParam::run(
        [] { TypeParam::spawn(overrun, {.name = "greedy", .stack_size = small_stack(tiny)}).join(); });
  });
  EXPECT_TRUE(result.killed_by(SIGABRT)) << result;
  EXPECT_TRUE(result.says("sennit: stack overflow in fiber \"greedy\": its stack has " +
                          std::to_string(tiny) + " bytes and no guard"))
      << result;
  EXPECT_TRUE(result.says("ask for a larger stack")) << result;
}

// ---- Stacks of the user's.

class brought {
public:
  std::span<std::byte> span() { return bytes_; }
  bool contains(std::uintptr_t address) const {
    const auto low = reinterpret_cast<std::uintptr_t>(bytes_.data());
    return address >= low && address - low < bytes_.size();
  }

private:
  alignas(16) std::array<std::byte, 64 * 1024> bytes_{};
};

TYPED_TEST(Stacks, AFiberRunsOnMemoryOfTheUsersUntilItIsJoined) {
  const auto memory = std::make_unique<brought>();
  brought& mine = *memory;
  std::atomic<int> ran{0};
  TypeParam::run([&] {
    for (int round = 0; round < 3; ++round) {
      auto f = TypeParam::spawn(
          [&] {
            EXPECT_TRUE(mine.contains(here()));
            const detail::stack_place place = detail::stack_find(here());
            EXPECT_STREQ(place.record->name, "guest");
            EXPECT_EQ(reinterpret_cast<std::byte*>(place.low), mine.span().data());
            TypeParam::yield();
            ++ran;
          },
          {.name = "guest", .stack = mine.span()});
      f.join();
      EXPECT_FALSE(detail::stack_find(reinterpret_cast<std::uintptr_t>(mine.span().data()) + 100).found);
      std::fill(mine.span().begin(), mine.span().end(), std::byte{0xff});  // it is ours again
    }
    TypeParam::spawn([&] { ++ran; }, {.stack = mine.span().subspan(0, 16 * 1024)}).detach();
    TypeParam::spawn([&] { ++ran; }, {.stack = mine.span().subspan(16 * 1024)}).join();
    while (ran != 5)
      TypeParam::yield();
  });
  EXPECT_EQ(ran, 5);
}

#if !defined(NDEBUG)
// Before others run, on what may be damaged.
TYPED_TEST(Stacks, AnOverrunIsSeenWhenItsFiberYields) {
  for (const bool forced : {false, true}) {
    const auto result = in_child([forced] {
      const auto memory = std::make_unique<brought>();
      TypeParam::run([&] {
        TypeParam::spawn(
            [forced] {
              overrun();
              forced ? sennit_forced_yield() : TypeParam::yield();
              std::puts("it went on");
            },
            {.name = "greedy", .stack = memory->span()})
            .join();
      });
    });
    EXPECT_TRUE(result.killed_by(SIGABRT)) << result;
    EXPECT_TRUE(result.says("sennit: stack overflow in fiber \"greedy\"")) << result;
    EXPECT_FALSE(result.says("it went on")) << result;
  }
}
#endif

TEST(CoroutineStacks, MayBeSmallOrTheUsers) {
  const auto memory = std::make_unique<brought>();
  {
    coroutine<std::uintptr_t()> on_mine(
        [](auto& self) {
          self.yield(here());
          return here();
        },
        memory->span());
    EXPECT_TRUE(memory->contains(on_mine()));
    EXPECT_TRUE(memory->contains(on_mine()));
  }
  EXPECT_FALSE(detail::stack_find(reinterpret_cast<std::uintptr_t>(memory->span().data()) + 100).found);
  std::fill(memory->span().begin(), memory->span().end(), std::byte{0xff});
  generator<int> numbers(
      [](auto& yield) {
        for (int i = 0; i < 3; ++i)
          yield(i);
      },
      memory->span());
  int sum = 0;
  for (const int each : numbers)
    sum += each;
  EXPECT_EQ(sum, 3);

  coroutine<std::uintptr_t()> small([](auto&) { return here(); }, small_stack(tiny));
  EXPECT_EQ(detail::stack_find(small()).size, tiny_class());
}

TEST(BroughtStacks, ThatCannotBeOnesAreRefused) {
  const auto memory = std::make_unique<brought>();
  const std::string least = "at least " + std::to_string(detail::smallest_stack_size) + " bytes";
  const std::pair<std::span<std::byte>, const char*> bad[] = {{memory->span().subspan(8), "16-aligned"},
                                                              {memory->span().first(512), least.c_str()}};
  for (const auto& [stack, what] : bad) {
    const auto result = in_child([refused = stack] {
      local::runtime().run([&] {
        try {
          local::spawn([] {}, {.stack = refused}).join();
        } catch (const std::system_error& error) {
          EXPECT_EQ(error.code(), std::errc::invalid_argument);
          local::spawn([] {}).join();
          std::fputs(error.what(), stderr);
        }
      });
    });
#if defined(NDEBUG)
    EXPECT_TRUE(result.exited(0)) << result;
#else
    EXPECT_TRUE(result.killed_by(SIGABRT)) << result;
#endif
    EXPECT_TRUE(result.says(what)) << result;
  }
#if !defined(NDEBUG)
  const auto result =
      in_child([] { static_cast<void>(generator<int>([](auto&) {}, std::span<std::byte>())); });
  EXPECT_TRUE(result.killed_by(SIGABRT) && result.says("is null")) << result;
#endif
}

// ---- How deep they have been.

const stack_usage* usage_of(const std::vector<stack_usage>& all, const std::string& name) {
  const auto found = std::ranges::find(all, name, &stack_usage::name);
  return found != all.end() ? &*found : nullptr;
}

[[gnu::noinline]] void use_stack(std::size_t bytes) {
  auto* const frame = static_cast<char*>(__builtin_alloca(bytes));
  std::memset(frame, 1, bytes);
  __asm__ volatile("" : : "r"(frame) : "memory");
}

TYPED_TEST(Stacks, DepthsAreTheNamesOwn) {
  const auto result = in_child([] {
    measure_stacks(true);
    TypeParam::run([] {
      for (int round = 0; round < 3; ++round) {  // on one stack after the other, and again
        TypeParam::spawn([] { use_stack(30'000); }, {.name = "deep"}).join();
        TypeParam::spawn([] { use_stack(100); }, {.name = "shallow"}).join();
      }
      std::atomic<bool> seen{false};
      auto alive = TypeParam::spawn(
          [&seen] {
            const std::size_t before = stack_high_water();
            use_stack(10'000);
            seen = stack_high_water() >= before + 9'000 && stack_high_water() < 40'000;
            TypeParam::park();
          },
          {.name = "alive", .stack_size = 32 * 1024});
      while (!seen)
        TypeParam::yield();
      const std::vector<stack_usage> all = stack_usages();
      alive.unpark();
      alive.join();
      const stack_usage* const deep = usage_of(all, "deep");
      const stack_usage* const shallow = usage_of(all, "shallow");
      const stack_usage* const still = usage_of(all, "alive");
      ASSERT_TRUE(deep != nullptr && shallow != nullptr && still != nullptr);
      EXPECT_EQ(deep->count, 3u);
      EXPECT_EQ(deep->size, 64u * 1024);
      EXPECT_GE(deep->high_water, 30'000u);
      EXPECT_LT(deep->high_water, 50'000u);
      EXPECT_GE(shallow->high_water, 100u);
      EXPECT_LT(shallow->high_water, 20'000u);
      EXPECT_EQ(still->count, 1u);
      EXPECT_EQ(still->size, 32u * 1024);
      EXPECT_GE(still->high_water, 10'000u);
    });
  });
  EXPECT_TRUE(result.exited(0)) << result;
}

TEST(StackUsage, AdvisesNoMoreThanWhatIsUsedAndAMargin) {
  stack_usage usage{"fiber", "waiter", 1000, 64 * 1024, 400};
  EXPECT_EQ(usage.enough(), 656u);
  const bool small = detail::smallest_stack_size < 8192;
  EXPECT_EQ(usage.advice(),
            "fiber \"waiter\": 1000 with stacks of 65536 bytes, of which 400 were used: less would do, "
            ".stack_size = " +
                std::string(small ? "small_stack(1024), which has no guard page" : "8192"));
  usage.high_water = 3000;
  EXPECT_TRUE(usage.advice().ends_with(small ? ".stack_size = small_stack(4096)" : ".stack_size = 8192"))
      << usage.advice();
  usage.high_water = 60'000;
  EXPECT_EQ(usage.enough(), 75'000u);
  EXPECT_TRUE(usage.advice().ends_with("little is left, .stack_size = 131072")) << usage.advice();
  usage.name = "main";
  EXPECT_TRUE(usage.advice().ends_with(".stack_size = 131072 in runtime_options")) << usage.advice();
  usage.high_water = 40'000;
  EXPECT_NE(usage.advice().find("that is right"), std::string::npos) << usage.advice();
  usage.size = 60'000;  // it was brought, and no class has that size
  EXPECT_NE(usage.advice().find("that is right"), std::string::npos) << usage.advice();
  EXPECT_EQ(stack_high_water(), 0u);  // the thread's own
}

// ---- What is idle, and what there is no room for.

TYPED_TEST(Stacks, OfAPeakAreGivenBackWhenTheRuntimeRests) {
  const auto result = in_child([] {
    TypeParam::run([] {
      constexpr int peak = 4000;
      constexpr std::size_t page = 4096;
      std::atomic<int> arrived{0};
      std::vector<typename TypeParam::fiber> all;
      for (int i = 0; i < peak; ++i)
        all.push_back(TypeParam::spawn(
            [&arrived] {
              use_stack(3 * page);
              ++arrived;
              TypeParam::park();
            },
            {}));
      while (arrived != peak)
        TypeParam::yield();
      const std::size_t at_peak = resident_bytes();
      for (auto& each : all)
        each.unpark();
      for (auto& each : all)
        each.join();
      while (resident_bytes() + peak * page * 3 / 2 > at_peak)  // for ever, if it does not come back
        TypeParam::sleep();
    });
  });
  EXPECT_TRUE(result.exited(0)) << result;
}

// If each guard splits its mapping, their number is limited. A program that asks for a million gets an error.
TYPED_TEST(Stacks, AMillionThatMustSplitMappingsEndInAnErrorAndARuntimeThatGoesOn) {
  const auto result = in_child([] {
    detail::guards = detail::guard_method::split;
    detail::most_split_guards = 3000;
    TypeParam::run([] {
      for (int round = 0; round < 2; ++round) {
        std::vector<typename TypeParam::fiber> all;
        std::atomic<std::size_t> ran{0};
        try {
          while (all.size() != 1'000'000)
            all.push_back(TypeParam::spawn(
                [&ran] {
                  TypeParam::park();
                  ++ran;
                },
                {.stack_size = 8192}));
          ADD_FAILURE() << "there are a million";
        } catch (const std::system_error& error) {
          EXPECT_EQ(error.code(), std::errc::not_enough_memory);
          EXPECT_NE(std::string(error.what()).find("raise vm.max_map_count"), std::string::npos)
              << error.what();
        }
        EXPECT_GT(all.size(), 2900u);
        for (auto& each : all)
          each.unpark();
        for (auto& each : all)
          each.join();
        EXPECT_EQ(ran, all.size());
      }
    });
    bool ran = false;
    std::thread([&ran] { TypeParam::run([&ran] { ran = true; }); }).join();
    EXPECT_TRUE(ran);
  });
  EXPECT_TRUE(result.exited(0)) << result;
}

}  // namespace
}  // namespace sennit
