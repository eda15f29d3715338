// Faults that go to a hook, in generators without a runtime.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>
#include <unwind.h>

#include <cerrno>
#include <cstdint>
#include <latch>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "sennit/detail/fault/hook.hpp"
#include "sennit/generator.hpp"
#include "support/child.hpp"
#include "support/descend.hpp"
#include "support/faults.hpp"

namespace {

using namespace sennit;
using namespace sennit::detail;
using support::closed_page;
using support::descend;
using support::hooked;
using support::in_child;
using support::outcome;
using support::run_hooked;
using support::say;
using support::test_hook;

FAULT_TEST(Redirect, AFaultIsRepairedAndTheInstructionDoneAgain) {
  const closed_page page;
  const test_hook hook([&](const fault_site&) {
    page.open();
    return fault_answer::resume;
  });
  run_hooked(hook, [&](auto&) {
    page.at()[5] = 7;
    EXPECT_EQ(page.at()[5], 7);
  });
  EXPECT_EQ(hook.served, 1);
  EXPECT_EQ(hook.kind, fault_kind::memory);
  EXPECT_EQ(hook.address, const_cast<int*>(page.at() + 5));
  EXPECT_FALSE(hook.emergency);
}

FAULT_TEST(Redirect, FaultsManyTimes) {
  const closed_page page;
  const test_hook hook([&](const fault_site&) {
    page.open();
    return fault_answer::resume;
  });
  run_hooked(hook, [&](auto&) {
    for (int i = 0; i < 10'000; ++i) {
      *page.at() = *page.at() + 1;
      page.close();
    }
  });
  EXPECT_EQ(hook.served, 10'000);
  page.open();
  EXPECT_EQ(*page.at(), 10'000);
}

// ---- Each kind.

#if SENNIT_REDIRECTS

// What a hook sees of a function that faults; the instruction, of so many bytes, is left out.
template <class Function>
void expect_fault(fault_kind kind, std::size_t length, Function function) {
  std::uintptr_t at = 0;
  const test_hook hook([&](const fault_site& site) {
    at = program_counter(*site.registers);
    program_counter(*site.registers) += length;
    return fault_answer::resume;
  });
  run_hooked(hook, [&](auto&) { function(); });
  EXPECT_EQ(hook.served, 1);
  EXPECT_EQ(hook.kind, kind);
  EXPECT_EQ(hook.address, reinterpret_cast<void*>(at));
}

FAULT_TEST(Redirect, AnIllegalInstruction) {
#if defined(__x86_64__)
  expect_fault(fault_kind::instruction, 2, [] { asm volatile("ud2"); });
#else
  expect_fault(fault_kind::instruction, 4, [] { asm volatile(".inst 0"); });
#endif
}

#if defined(__x86_64__)
FAULT_TEST(Redirect, ADivisionByZero) {
  expect_fault(fault_kind::arithmetic, 2, [] {
    unsigned low = 1, high = 0;
    asm volatile("divl %2" : "+a"(low), "+d"(high) : "c"(0));
    EXPECT_EQ(low, 1u);
  });
}
#endif

FAULT_TEST(Redirect, AFileThatEndsBeforeItsMapping) {
  const int file = ::memfd_create("short", 0);
  void* const at = ::mmap(nullptr, page_size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  ASSERT_NE(at, MAP_FAILED);
  const test_hook hook([&](const fault_site&) {
    EXPECT_EQ(::ftruncate(file, page_size), 0);
    return fault_answer::resume;
  });
  run_hooked(hook, [&](auto&) { *static_cast<volatile int*>(at) = 3; });
  EXPECT_EQ(hook.served, 1);
  EXPECT_EQ(hook.kind, fault_kind::bus);
  EXPECT_EQ(hook.address, at);
  ::munmap(at, page_size);
  ::close(file);
}

// An address that no page can have: x86-64 does not say which.
FAULT_TEST(Redirect, AnAddressThatCannotBe) {
#if defined(__x86_64__)
  constexpr std::size_t length = 2;
#else
  constexpr std::size_t length = 4;
#endif
  const test_hook hook([&](const fault_site& site) {
    program_counter(*site.registers) += length;
    return fault_answer::resume;
  });
  run_hooked(hook, [&](auto&) {
    std::uint64_t address = 0x8000'0000'0000'0000;
#if defined(__x86_64__)
    asm volatile("movl %%eax, (%0)" : : "c"(address) : "memory");
#else
    asm volatile("str wzr, [%0]" : : "r"(address) : "memory");
#endif
  });
  EXPECT_EQ(hook.served, 1);
  EXPECT_EQ(hook.kind, fault_kind::memory);
}

// ---- On which stack.

// The hook has the function left as longjmp would: by its caller's stack pointer and program counter.
#if defined(__x86_64__)
[[gnu::noinline]] void overflow_and_come_back(std::uint64_t (&home)[3]) {
  asm volatile(
      "movq %%rbx, 16(%0)\n\t"
      "movq %%rsp, (%0)\n\t"
      "movq %%rbp, 8(%0)\n\t"
      "leaq -128(%%rsp), %%rsp\n\t"
      "andq $-16, %%rsp\n\t"
      "xorl %%edi, %%edi\n\t"
      "call *%1\n\t"
      ".globl fault_test_home\nfault_test_home:\n\t"
      :
      : "a"(home), "d"(descend)
      : "memory", "rcx", "rsi", "rdi", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15");
}
extern "C" char fault_test_home[];
fault_answer go_home(const fault_site& site, const std::uint64_t (&home)[3]) {
  site.registers->rip = reinterpret_cast<std::uint64_t>(fault_test_home);
  site.registers->rsp = home[0];
  site.registers->rbp = home[1];
  site.registers->rbx = home[2];
  return fault_answer::resume;
}
#else
[[gnu::noinline]] void overflow_and_come_back(std::uint64_t (&home)[3]) {
  asm volatile(
      "mov x10, sp\n\t"
      "stp x10, x29, [%0]\n\t"
      "str x19, [%0, #16]\n\t"
      "mov w0, wzr\n\t"
      "blr %1\n\t"
      ".globl fault_test_home\nfault_test_home:\n\t"
      :
      : "r"(home), "r"(descend)
      : "memory", "cc", "x0", "x1", "x2", "x3", "x4", "x5", "x6", "x7", "x8", "x9", "x10", "x11", "x12",
        "x13", "x14", "x15", "x16", "x17", "x18", "x20", "x21", "x22", "x23", "x24", "x25", "x26", "x27",
        "x30");
}
extern "C" char fault_test_home[];
fault_answer go_home(const fault_site& site, const std::uint64_t (&home)[3]) {
  site.registers->pc = reinterpret_cast<std::uint64_t>(fault_test_home);
  site.registers->sp = home[0];
  site.registers->x[29] = home[1];
  site.registers->x[19] = home[2];
  return fault_answer::resume;
}
#endif

FAULT_TEST(Redirect, AnOverflowIsServedOnAnEmergencyStackAgainAndAgain) {
  fault_fill_reserve();
  std::uint64_t home[3];
  std::uintptr_t served_at = 0;
  const test_hook hook([&](const fault_site& site) {
    served_at = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
    return go_home(site, home);
  });
  run_hooked(hook, [&](auto&) {
    for (int i = 0; i < 100; ++i)
      overflow_and_come_back(home);
  });
  EXPECT_EQ(hook.served, 100);
  EXPECT_EQ(hook.kind, fault_kind::overflow);
  EXPECT_TRUE(hook.emergency);
  EXPECT_EQ(stack_find(served_at).record->kind, std::string("an emergency stack"));
}

// Also while another thread does the same.
FAULT_TEST(Redirect, WhoHasFilledTheReserveFindsAnEmergencyStack) {
  constexpr int threads = 4;
  for (int i = 0; i < 30; ++i) {
    const outcome result = in_child([] {
      std::latch begin(threads);
      std::vector<std::jthread> all;
      for (int t = 0; t < threads; ++t)
        all.emplace_back([&] {
          std::uint64_t home[3];
          const test_hook hook([&](const fault_site& site) { return go_home(site, home); });
          begin.arrive_and_wait();
          fault_fill_reserve();
          run_hooked(hook, [&](auto&) { overflow_and_come_back(home); });
          EXPECT_EQ(hook.served, 1);
        });
    });
    ASSERT_TRUE(result.exited(0)) << result;
  }
}

FAULT_TEST(Redirect, AFaultDeepInAStackIsServedOnAnEmergencyStack) {
  fault_fill_reserve();
  const closed_page page;
  const test_hook hook([&](const fault_site&) {
    page.open();
    return fault_answer::resume;
  });
  run_hooked(hook, [&](auto&) {
    void* const most = __builtin_alloca(50 * 1024);
    asm volatile("" : : "r"(most) : "memory");
    *page.at() = 1;
    EXPECT_EQ(*page.at(), 1);
  });
  EXPECT_EQ(hook.served, 1);
  EXPECT_TRUE(hook.emergency);
}

// ---- What sees it: unwinding.

FAULT_TEST(Redirect, ABacktraceGoesOnInTheFunctionThatFaulted) {
  const closed_page page;
  bool seen = false;
  bool seen_caller = false;
  std::uintptr_t caller = 0;
  const test_hook hook([&](const fault_site& site) {
    struct search {
      std::uintptr_t pc, caller;
      bool at_pc = false, at_caller = false;
    } wanted{program_counter(*site.registers), caller};
    _Unwind_Backtrace(
        [](_Unwind_Context* frame, void* argument) {
          auto& looks_for = *static_cast<search*>(argument);
          int exact = 0;
          const std::uintptr_t pc = _Unwind_GetIPInfo(frame, &exact);
          if (pc == looks_for.pc && exact != 0)
            looks_for.at_pc = true;
          if (looks_for.at_pc && pc == looks_for.caller)
            looks_for.at_caller = true;
          return _URC_NO_REASON;
        },
        &wanted);
    seen = wanted.at_pc;
    seen_caller = wanted.at_caller;
    page.open();
    return fault_answer::resume;
  });
  run_hooked(hook, [&](auto&) {
    [&]() __attribute__((noinline)) {
      caller = reinterpret_cast<std::uintptr_t>(__builtin_return_address(0));
      *page.at() = 1;
    }();
  });
  EXPECT_TRUE(seen);
  EXPECT_TRUE(seen_caller);
}

#endif

// ---- The handler that gets it, if the hook does not.

void illegal_instruction() {
#if defined(__aarch64__)
  asm volatile(".inst 0");  // __builtin_trap() is a breakpoint
#else
  __builtin_trap();
#endif
}

void fault_here() {
  *static_cast<volatile int*>(nullptr) = 1;
}

TEST(NotServed, WithoutAHookTheProcessDiesAndTheStackIsNamed) {
  const outcome result = in_child([] {
    generator<int> body([](auto& yield) {
      fault_here();
      yield(1);
    });
    static_cast<void>(body.begin());
  });
#if !defined(SENNIT_SANITIZED)
  EXPECT_TRUE(result.says("sennit: memory fault (SIGSEGV) at 0x0 in coroutine (unnamed)\n")) << result;
#endif
  EXPECT_TRUE(result.ended_by_fault()) << result;
}

FAULT_TEST(NotServed, AHookThatDoesNotWantIt) {
  const outcome result = in_child([] {
    test_hook hook([](const fault_site&) {
      say("served\n");
      return fault_answer::resume;
    });
    hook.wanted = false;
    run_hooked(hook, [](auto&) { fault_here(); });
  });
  EXPECT_TRUE(result.says("memory fault (SIGSEGV) at 0x0 in coroutine")) << result;
  EXPECT_FALSE(result.says("served")) << result;
  EXPECT_TRUE(result.killed_by(SIGSEGV)) << result;
}

FAULT_TEST(NotServed, AHookThatPassesItOn) {
  for (const bool illegal : {false, true}) {
    const outcome result = in_child([&] {
      const test_hook hook([](const fault_site&) {
        say("passed on\n");
        return fault_answer::pass;
      });
      run_hooked(hook, [&](auto&) {
        if (illegal)
          illegal_instruction();
        fault_here();
      });
    });
    EXPECT_TRUE(result.says("passed on\nsennit: ")) << result;
    EXPECT_TRUE(result.killed_by(illegal ? SIGILL : SIGSEGV)) << result;
  }
}

// A handler that was there before ours gets the faults that are passed on, and may repair them. The next goes
// to the hook.
FAULT_TEST(NotServed, PassedOnToAnEarlierHandlerThatRepairsIt) {
  static void* page;
  const outcome result = in_child([] {
    page = ::mmap(nullptr, page_size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    struct sigaction earlier = {};
    earlier.sa_flags = SA_SIGINFO;
    earlier.sa_sigaction = [](int, siginfo_t* info, void*) {
      say(info->si_addr == page ? "earlier handler\n" : "called wrongly\n");
      ::mprotect(page, page_size, PROT_READ | PROT_WRITE);
    };
    ::signal(SIGSEGV, SIG_DFL);
    sigaction(SIGSEGV, &earlier, nullptr);
    const test_hook hook([](const fault_site&) {
      say("hook\n");
      return fault_answer::pass;
    });
    run_hooked(hook, [](auto&) {
      for (int i = 0; i < 2; ++i) {
        *static_cast<volatile int*>(page) = 1;
        ::mprotect(page, page_size, PROT_NONE);
      }
    });
  });
  EXPECT_TRUE(result.exited(0)) << result;
  EXPECT_EQ(result.said, "hook\nearlier handler\nhook\nearlier handler\n") << result;
}

FAULT_TEST(NotServed, AFaultInTheHookOfAnEmergencyStack) {
  const outcome result = in_child([] {
    fault_fill_reserve();
    const test_hook hook([](const fault_site&) {
      fault_here();
      return fault_answer::resume;
    });
    run_hooked(hook, [](auto&) { descend(0); });
  });
  EXPECT_TRUE(result.says("in an emergency stack")) << result;
  EXPECT_TRUE(result.killed_by(SIGSEGV)) << result;
}

FAULT_TEST(NotServed, WhatIsSentByKill) {
  const outcome result = in_child([] {
    const test_hook hook([](const fault_site&) {
      say("served\n");
      return fault_answer::resume;
    });
    run_hooked(hook, [](auto&) { raise(SIGFPE); });
  });
  EXPECT_FALSE(result.says("served")) << result;
  EXPECT_TRUE(result.killed_by(SIGFPE)) << result;
}

// ---- What is kept besides registers.

FAULT_TEST(Redirect, TheSignalMaskAndErrnoAreAsTheyWere) {
  const closed_page page;
  sigset_t in_hook, after;
  const test_hook hook([&](const fault_site&) {
    pthread_sigmask(SIG_SETMASK, nullptr, &in_hook);
    page.open();
    errno = EDOM;
    return fault_answer::resume;
  });
  run_hooked(hook, [&](auto&) {
    sigset_t mine, before;
    sigemptyset(&mine);
    sigaddset(&mine, SIGUSR2);
    pthread_sigmask(SIG_SETMASK, &mine, &before);
    errno = ENOTTY;
    *page.at() = 1;
    EXPECT_EQ(errno, ENOTTY);
    pthread_sigmask(SIG_SETMASK, &before, &after);
  });
  for (const sigset_t* each : {&in_hook, &after}) {
    EXPECT_EQ(sigismember(each, SIGUSR2), 1);
    EXPECT_EQ(sigismember(each, SIGSEGV), 0);
  }
}

}  // namespace
