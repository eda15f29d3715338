// Each overflow happens in a child process, whose last words and end are looked at. So does all else here
// that has our handler installed: it is there for good.
#include "sennit/detail/fault/handler.hpp"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "sennit/coroutine.hpp"
#include "sennit/generator.hpp"
#include "sennit/local/runtime.hpp"
#include "support/child.hpp"
#include "support/descend.hpp"
#include "support/signal_frames.hpp"

namespace {

using namespace sennit;
using support::descend;
using support::in_child;
using support::outcome;
using support::say;

volatile int* volatile null_pointer = nullptr;

// Sanitizers have frames of their own, and their reports end the process first.
#if defined(SENNIT_SANITIZED) || defined(SENNIT_BACKEND_PORTABLE)
constexpr bool has_plain_frames = false;
#else
constexpr bool has_plain_frames = true;
#endif
// Whether the frame of a fault is found.
constexpr bool knows_frames = has_plain_frames && unwinds_signal_frames;

// Writes at the low end of a frame of that size. (clang probes it anyway.)
#if !defined(__clang__)
[[gnu::optimize("no-stack-clash-protection")]]
#endif
[[gnu::noinline]] void
touch_below(std::size_t size) {
  static_cast<volatile char*>(__builtin_alloca(size))[0] = 1;
}

bool reports_overflow(const outcome& result) {
  return result.says("stack overflow in");
}

// "... in <who>: its stack has <size> bytes and is <depth> bytes deep; ...", once, and the depth is credible:
// the guard page was hit, or (a sanitizer's frames) what lies just above it.
testing::AssertionResult reports(const outcome& result, const std::string& who, std::size_t size) {
  const std::string start =
      "sennit: stack overflow in " + who + ": its stack has " + std::to_string(size) + " bytes and is ";
  const std::size_t at = result.said.find(start);
  if (at == std::string::npos)
    return testing::AssertionFailure() << "no line with \"" << start << "\": " << result;
  if (result.said.find("sennit: stack overflow", at + 1) != std::string::npos)
    return testing::AssertionFailure() << "more than one report: " << result;
  const unsigned long depth = std::strtoul(result.said.c_str() + at + start.size(), nullptr, 10);
  if (depth < size || depth > size + 2 * 4096)
    return testing::AssertionFailure() << "the depth cannot be right: " << result;
  return testing::AssertionSuccess();
}

void overflow_in_generator() {
  generator<int> digger([](auto& yield) { yield(descend(0)); });
  static_cast<void>(digger.begin());
}

TEST(Overflow, InAGeneratorWithoutARuntime) {
  const outcome result = in_child(overflow_in_generator);
  EXPECT_TRUE(reports(result, "coroutine (unnamed)", 65536));
  EXPECT_TRUE(result.ended_by_fault()) << result;
}

TEST(Overflow, OfAStackThatWasUsedBefore) {
  const outcome result = in_child([] {
    for (int i = 0; i < 10; ++i) {
      generator<int> shallow([](auto& yield) { yield(1); });
      static_cast<void>(shallow.begin());
    }
    overflow_in_generator();
  });
  EXPECT_TRUE(reports(result, "coroutine (unnamed)", 65536));
  EXPECT_TRUE(result.ended_by_fault()) << result;
}

TEST(Overflow, InACoroutineWithAStackOfItsOwnSize) {
  const outcome result = in_child([] {
    coroutine<int(int)> digger([](auto& self, int first) { return self.yield(first) + descend(0); }, 200'000);
    digger(1);
    digger(2);
  });
  EXPECT_TRUE(reports(result, "coroutine (unnamed)", 262144));
  EXPECT_TRUE(result.ended_by_fault()) << result;
}

TEST(Overflow, InANamedFiber) {
  const outcome result = in_child([] {
    local::runtime().run(
        [] { local::spawn([] { descend(0); }, {.name = "the digger", .stack_size = 16384}).join(); });
  });
  EXPECT_TRUE(reports(result, "fiber \"the digger\"", 16384));
  EXPECT_TRUE(result.ended_by_fault()) << result;
}

TEST(Overflow, InAFiberThatNamedItselfBeforeItSlept) {
  const outcome result = in_child([] {
    local::runtime().run([] {
      auto digger = local::spawn([] {
        local::this_fiber::set_name("renamed");
        local::this_fiber::yield();
        descend(0);
      });
      local::this_fiber::yield();
      digger.join();
    });
  });
  EXPECT_TRUE(reports(result, "fiber \"renamed\"", 65536));
  EXPECT_TRUE(result.ended_by_fault()) << result;
}

TEST(Overflow, InAnUnnamedFiberWhoseStackHadANamedOne) {
  const outcome result = in_child([] {
    local::runtime().run([] {
      local::spawn([] {}, {.name = "before"}).join();
      local::spawn([] { descend(0); }).join();
    });
  });
  EXPECT_TRUE(reports(result, "fiber (unnamed)", 65536));
  EXPECT_TRUE(result.ended_by_fault()) << result;
}

// A frame that is larger than the stack, and not entered again by its own calls.
[[gnu::noinline]] int oversized() {
  volatile char frame[50'000];
  asm volatile("" : : "r"(frame) : "memory");  // or compilers keep only the elements that are used
  frame[0] = 1;
  frame[sizeof frame - 1] = 2;
  return frame[0] + frame[sizeof frame - 1];
}
// Called deep enough that the frame begins inside the stack.
[[gnu::noinline]] int call_oversized() {
  return oversized() + 1;
}

TEST(Overflow, RecursionAndOversizedFramesAreToldApart) {
  if (!knows_frames)
    GTEST_SKIP() << "no frames are found here";
  const outcome recursive = in_child(
      [] { local::runtime().run([] { local::spawn([] { descend(0); }, {.name = "digger"}).join(); }); });
  EXPECT_TRUE(reports(recursive, "fiber \"digger\"", 65536));
  EXPECT_TRUE(recursive.says(" recurses: give it a larger stack")) << recursive;
  const outcome large = in_child([] {
    local::runtime().run(
        [] { local::spawn([] { call_oversized(); }, {.name = "large", .stack_size = 16384}).join(); });
  });
  EXPECT_TRUE(large.says("sennit: stack overflow in fiber \"large\": its stack has 16384 bytes and is "))
      << large;
  EXPECT_TRUE(
      large.says(" bytes: make its local variables smaller, call it by sennit::on_large_stack(), or give it "
                 "a larger stack\n"))
      << large;
  EXPECT_FALSE(large.says("recurses")) << large;
}

// The frame ends in the guard, or in the stack, of another fiber: the frame's caller shows which fiber ran.
TEST(Overflow, AFrameThatReachesAnotherStackNamesTheFiberThatRan) {
  if (!knows_frames)
    GTEST_SKIP() << "no frames are found here";
  for (const std::size_t reach : {100'000, 220'000}) {
    const outcome result = in_child([reach] {
      local::runtime().run([reach] {
        std::vector<local::fiber> all;
        for (int i = 0; i < 8; ++i)
          all.push_back(local::spawn([] { local::this_fiber::park(); }, {.name = "neighbour"}));
        local::this_fiber::yield();
        local::spawn([reach] { touch_below(reach); }, {.name = "culprit"}).join();
      });
    });
    EXPECT_TRUE(result.says("stack overflow in fiber \"culprit\": its stack has 65536")) << result;
    EXPECT_TRUE(result.ended_by_fault()) << result;
  }
}

// They write at their low end only.
template <std::size_t size>
[[gnu::noinline]] void use_frame() {
  char frame[size];
  volatile char* low = frame;
  __asm__("" : "+r"(low));  // or a compiler keeps one byte of it
  low[0] = 1;
}
[[gnu::noinline]] void use_alloca(std::size_t size) {
  static_cast<volatile char*>(__builtin_alloca(size))[0] = 1;
}

// Code that is compiled with -fstack-clash-protection, as users of the CMake target are, does not step over
// the smallest guard: on AArch64, too, where gcc assumes guards of 64 KiB by itself.
TEST(Overflow, AFrameOfProbedCodeDoesNotStepOverASmallGuard) {
  if (!has_plain_frames)
    GTEST_SKIP() << "sanitizers have their own frames";
#if defined(__riscv) && !defined(__clang__) && __GNUC__ < 15
  GTEST_SKIP() << "gcc before 15 ignores -fstack-clash-protection on RISC-V";
#endif
  void (*const frames[])() = {use_frame<14'000>,  use_frame<20'000>,          use_frame<60'000>,
                              use_frame<250'000>, [] { use_alloca(20'000); }, [] { use_alloca(250'000); }};
  for (void (*frame)() : frames) {
    const outcome result = in_child([frame] {
      local::runtime().run([frame] {
        const local::spawn_options small{.name = "neighbour", .stack_size = 8192, .guard_size = 4096};
        std::vector<local::fiber> all;
        for (int i = 0; i < 20; ++i)
          all.push_back(local::spawn([] { local::this_fiber::park(); }, small));
        local::this_fiber::yield();
        local::spawn(frame, {.name = "probed", .stack_size = 8192, .guard_size = 4096}).join();
      });
    });
    EXPECT_TRUE(reports(result, "fiber \"probed\"", 8192)) << result;
    EXPECT_TRUE(result.ended_by_fault()) << result;
  }
}

TEST(Overflow, InAGeneratorNamesTheFiberThatRunsIt) {
  const outcome result = in_child(
      [] { local::runtime().run([] { local::spawn(overflow_in_generator, {.name = "user"}).join(); }); });
  EXPECT_TRUE(reports(result, "coroutine (unnamed)", 65536));
  EXPECT_TRUE(result.says("; it was run by fiber \"user\"\n")) << result;
}

TEST(Overflow, OnASecondThread) {
  const outcome result = in_child([] { std::thread(overflow_in_generator).join(); });
  EXPECT_TRUE(reports(result, "coroutine (unnamed)", 65536));
  EXPECT_TRUE(result.ended_by_fault()) << result;
}

TEST(Overflow, InARuntimeOnASecondThread) {
  const outcome result = in_child([] {
    local::runtime runtime;
    std::thread([&] {
      runtime.run([] { local::spawn([] { descend(0); }, {.name = "elsewhere"}).join(); });
    }).join();
  });
  EXPECT_TRUE(reports(result, "fiber \"elsewhere\"", 65536));
  EXPECT_TRUE(result.ended_by_fault()) << result;
}

TEST(Overflow, OnAThreadThatOnlyResumes) {
  const outcome result = in_child([] {
    generator<int> digger([](auto& yield) {
      yield(1);
      yield(descend(0));
    });
    auto it = digger.begin();
    std::thread([&] { ++it; }).join();
  });
  EXPECT_TRUE(reports(result, "coroutine (unnamed)", 65536));
  EXPECT_TRUE(result.ended_by_fault()) << result;
}

TEST(Overflow, WhileAnExceptionUnwinds) {
  const outcome result = in_child([] {
    struct digs_when_destroyed {
      ~digs_when_destroyed() { descend(0); }
    };
    generator<int> digger([](auto& yield) {
      digs_when_destroyed last;
      yield(1);
    });
    static_cast<void>(digger.begin());
  });
  EXPECT_TRUE(reports(result, "coroutine (unnamed)", 65536));
  EXPECT_TRUE(result.ended_by_fault()) << result;
}

constexpr int from_previous_handler = 33;

// What had been installed before the first coroutine was made.
void install_previous(int flags) {
  struct sigaction action = {};
  sigemptyset(&action.sa_mask);
  action.sa_flags = flags;
  if ((flags & SA_SIGINFO) != 0)
    action.sa_sigaction = [](int signal, siginfo_t* info, void* context) {
      say(signal == SIGSEGV && info->si_signo == SIGSEGV && context != nullptr ? "the previous handler\n"
                                                                               : "called wrongly\n");
      _exit(from_previous_handler);
    };
  else
    action.sa_handler = [](int signal) {
      say(signal == SIGSEGV ? "the previous handler\n" : "called wrongly\n");
      _exit(from_previous_handler);
    };
  sigaction(SIGSEGV, &action, nullptr);
}

TEST(Overflow, GoesOnToAPreviousHandler) {
  for (int flags : {0, SA_SIGINFO, SA_SIGINFO | SA_ONSTACK}) {
    const outcome result = in_child([flags] {
      install_previous(flags);
      overflow_in_generator();
    });
    EXPECT_TRUE(reports(result, "coroutine (unnamed)", 65536));
    EXPECT_TRUE(result.says("the previous handler")) << result;
    EXPECT_TRUE(result.exited(from_previous_handler)) << result;
  }
}

// Some action in a fiber that is no overflow.
template <class Function>
void in_fiber(Function function) {
  local::runtime().run([&] { local::spawn(function, {.name = "innocent"}).join(); });
}

TEST(OtherFaults, ANullDereferenceInAFiberIsNoOverflow) {
  const outcome result = in_child([] { in_fiber([] { *null_pointer = 1; }); });
  EXPECT_FALSE(reports_overflow(result)) << result;
  EXPECT_TRUE(result.ended_by_fault()) << result;
}

TEST(OtherFaults, ANullDereferenceInAFiberReachesAPreviousHandler) {
  for (int flags : {0, SA_SIGINFO}) {
    const outcome result = in_child([flags] {
      install_previous(flags);
      in_fiber([] { *null_pointer = 1; });
    });
    EXPECT_FALSE(reports_overflow(result)) << result;
    EXPECT_TRUE(result.says("the previous handler")) << result;
    EXPECT_TRUE(result.exited(from_previous_handler)) << result;
  }
}

TEST(OtherFaults, ANullDereferenceOutsideOfAnyCoroutineIsNoOverflow) {
  const outcome result = in_child([] {
    in_fiber([] {});
    *null_pointer = 1;
  });
  EXPECT_FALSE(reports_overflow(result)) << result;
  EXPECT_TRUE(result.ended_by_fault()) << result;
}

// What comes of a stack without a guard that was overrun happens to others.
TEST(OtherFaults, AStackThatWasOverrunIsNamedBeforeWhoeverFaults) {
  if (detail::smallest_stack_size >= detail::page_size)
    GTEST_SKIP() << "no stack is small here";
  const outcome result = in_child([] {
    const detail::stack_memory memory = detail::stack_take(1024);
    detail::stack_name(memory, ::new (memory.high() - sizeof(detail::stack_record))
                                   detail::stack_record{.name = "greedy", .kind = "fiber", .memory = memory});
    in_fiber([&memory] {
      memory.low[0] ^= 1;
      *null_pointer = 1;
    });
  });
  const std::size_t cause =
      result.said.find("sennit: stack overflow in fiber \"greedy\": its stack has 1024 bytes");
  const std::size_t fault = result.said.find("sennit: memory fault (SIGSEGV) at 0x0 in fiber \"innocent\"");
  EXPECT_TRUE(cause != std::string::npos && fault != std::string::npos && cause < fault) << result;
  EXPECT_TRUE(result.ended_by_fault()) << result;
}

// A signal that was sent has no address; it does what it did before.
TEST(OtherFaults, ASentSignalEndsTheProcess) {
  const outcome result = in_child([] {
    in_fiber([] { raise(SIGSEGV); });
    say("went on\n");
  });
  EXPECT_FALSE(reports_overflow(result)) << result;
  EXPECT_FALSE(result.says("went on")) << result;
  EXPECT_TRUE(result.ended_by_fault()) << result;
}

TEST(OtherFaults, ASentSignalThatWasIgnoredStaysIgnored) {
  const outcome result = in_child([] {
    ::signal(SIGSEGV, SIG_IGN);
    in_fiber([] {
      raise(SIGSEGV);
      raise(SIGSEGV);
    });
    say("went on\n");
    overflow_in_generator();
  });
  EXPECT_TRUE(result.says("went on")) << result;
  EXPECT_TRUE(reports(result, "coroutine (unnamed)", 65536));
  EXPECT_TRUE(result.ended_by_fault()) << result;
}

TEST(OtherFaults, ASentSignalReachesAPreviousHandler) {
  const outcome result = in_child([] {
    install_previous(SA_SIGINFO);
    in_fiber([] { raise(SIGSEGV); });
  });
  EXPECT_TRUE(result.says("the previous handler")) << result;
  EXPECT_TRUE(result.exited(from_previous_handler)) << result;
}

TEST(AlternateStack, AThreadThatBroughtOneKeepsIt) {
  const outcome result = in_child([] {
    std::thread([] {
      std::vector<char> mine(256 * 1024);
      stack_t ours = {};
      ours.ss_sp = mine.data();
      ours.ss_size = mine.size();
      stack_t before;
      ASSERT_EQ(sigaltstack(&ours, &before), 0);
      detail::fault_watch_thread();
      generator<int> one([](auto& yield) { yield(1); });
      EXPECT_EQ(*one.begin(), 1);
      stack_t now;
      ASSERT_EQ(sigaltstack(nullptr, &now), 0);
      EXPECT_EQ(now.ss_sp, mine.data());
      EXPECT_EQ(now.ss_size, mine.size());
      sigaltstack(&before, nullptr);
    }).join();
  });
  EXPECT_TRUE(result.exited(0)) << result;
}

TEST(AlternateStack, AnOverflowIsReportedOnTheOneThatTheThreadBrought) {
  const outcome result = in_child([] {
    static char mine[256 * 1024];
    stack_t ours = {};
    ours.ss_sp = mine;
    ours.ss_size = sizeof mine;
    sigaltstack(&ours, nullptr);
    overflow_in_generator();
  });
  EXPECT_TRUE(reports(result, "coroutine (unnamed)", 65536));
  EXPECT_TRUE(result.ended_by_fault()) << result;
}

TEST(AlternateStack, AThreadWithoutOneGetsOne) {
  const outcome result = in_child([] {
    std::thread([] {
      detail::fault_watch_thread();
      stack_t now;
      ASSERT_EQ(sigaltstack(nullptr, &now), 0);
      EXPECT_EQ(now.ss_flags & SS_DISABLE, 0);
      EXPECT_GE(now.ss_size, 16u * 1024);
    }).join();
  });
  EXPECT_TRUE(result.exited(0)) << result;
}

}  // namespace
