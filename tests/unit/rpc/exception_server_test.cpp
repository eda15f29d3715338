// Exception servers: faults that are repaired, and fibers that are killed for one.
#include <sys/mman.h>

#include <atomic>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "exception_servers.hpp"
#include "sennit/generator.hpp"

namespace sennit {
namespace {

constexpr std::size_t page_size = detail::page_size;

template <class Kind>
class ExceptionServer : public exception_servers<Kind> {};

// ---- resume

KIND_TEST(ExceptionServer, SeesTheFaultRepairsItAndTheFiberGoesOn) {
  const closed_page page;
  this->run([&] {
    typename Kind::exception_server server;
    auto repairs = this->serve(server, 1, [&](auto& fault) {
      EXPECT_EQ(fault.kind(), fault_kind::memory);
      EXPECT_EQ(fault.address(), const_cast<int*>(page.at() + 3));
      EXPECT_EQ(fault.fiber(), "faulty");
      page.open();
      return verdict::resume;
    });
    auto faulty = this->served(server, [&] { page.at()[3] = 42; });
    faulty.join();
    repairs.join();
    EXPECT_EQ(page.at()[3], 42);
  });
}

#if SENNIT_REDIRECTS && defined(__x86_64__)
KIND_TEST(ExceptionServer, MayChangeRegisters) {
  this->run([&] {
    typename Kind::exception_server server;
    auto mends = this->serve(server, 1, [&](auto& fault) {
      EXPECT_EQ(fault.kind(), fault_kind::arithmetic);
      EXPECT_EQ(fault.address(), reinterpret_cast<void*>(fault.registers().rip));
      fault.registers().rcx = 5;
      return verdict::resume;
    });
    unsigned quotient = 35;
    auto faulty = this->served(server, [&] {
      unsigned high = 0;
      unsigned divisor = 0;
      asm volatile("divl %%ecx" : "+a"(quotient), "+d"(high), "+c"(divisor));
    });
    faulty.join();
    mends.join();
    EXPECT_EQ(quotient, 7u);
  });
}
#elif SENNIT_REDIRECTS
KIND_TEST(ExceptionServer, MayChangeRegisters) {
  const closed_page page;
  page.open();
  page.at()[2] = 9;
  this->run([&] {
    typename Kind::exception_server server;
    auto mends = this->serve(server, 1, [&](auto& fault) {
      EXPECT_EQ(fault.kind(), fault_kind::memory);
      EXPECT_EQ(fault.address(), reinterpret_cast<void*>(8));
      fault.registers().x[17] = reinterpret_cast<std::uint64_t>(page.at());
      return verdict::resume;
    });
    unsigned loaded = 0;
    auto faulty = this->served(server, [&] {
      asm volatile("mov x17, xzr\n\tldr %w0, [x17, #8]" : "=r"(loaded) : : "x17");
    });
    faulty.join();
    mends.join();
    EXPECT_EQ(loaded, 9u);
  });
}

// Calls the function with 1.0 in d8 to d15, and stores what is there afterwards.
extern "C" void vectors_test_call(void (*function)(void*), void* argument, double (&after)[8]);
asm(R"(
    .text
    .globl vectors_test_call
    .type vectors_test_call, %function
vectors_test_call:
    .cfi_startproc
    hint #34
    stp x29, x30, [sp, #-96]!
    .cfi_def_cfa_offset 96
    .cfi_offset x29, -96
    .cfi_offset x30, -88
    str x2, [sp, #16]
    stp d8, d9, [sp, #32]
    stp d10, d11, [sp, #48]
    stp d12, d13, [sp, #64]
    stp d14, d15, [sp, #80]
    .irp n, 8, 9, 10, 11, 12, 13, 14, 15
    fmov d\n, #1.0
    .endr
    mov x9, x0
    mov x0, x1
    blr x9
    ldr x2, [sp, #16]
    stp d8, d9, [x2]
    stp d10, d11, [x2, #16]
    stp d12, d13, [x2, #32]
    stp d14, d15, [x2, #48]
    ldp d8, d9, [sp, #32]
    ldp d10, d11, [sp, #48]
    ldp d12, d13, [sp, #64]
    ldp d14, d15, [sp, #80]
    ldp x29, x30, [sp], #96
    ret
    .cfi_endproc
    .size vectors_test_call, . - vectors_test_call
)");

[[gnu::noinline]] void change_vectors_and_fault() {
  asm volatile(
      ".irp n, 8, 9, 10, 11, 12, 13, 14, 15\n\t"
      "fmov d\\n, #2.0\n\t"
      ".endr\n\t"
      "mov x9, xzr\n\tstr wzr, [x9]"
      :
      :
      : "memory", "x9", "v8", "v9", "v10", "v11", "v12", "v13", "v14", "v15");
}

KIND_TEST(ExceptionServer, KillsAndRestoresTheVectorRegistersThatACallKeeps) {
  this->run([&] {
    typename Kind::exception_server server;
    auto kills = this->answer(server, 1, verdict::kill);
    double after[8] = {};
    vectors_test_call(
        [](void* by) {
          EXPECT_THROW(guarded(*static_cast<typename Kind::exception_server*>(by), change_vectors_and_fault),
                       killed);
        },
        &server, after);
    kills.join();
    for (const double each : after)
      EXPECT_EQ(each, 1.0);
  });
}
#endif

KIND_TEST(ExceptionServer, ServesManyFibersAtOnce) {
  constexpr int fibers = 50, each = 20;
  char* const memory = static_cast<char*>(
      ::mmap(nullptr, fibers * each * page_size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  this->run([&] {
    typename Kind::exception_server server;
    auto repairs = this->serve(server, fibers * each, [&](auto& fault) {
      Kind::yield();
      EXPECT_EQ(::mprotect(fault.address(), page_size, PROT_READ | PROT_WRITE), 0);
      return verdict::resume;
    });
    std::vector<typename Kind::fiber> all;
    for (int i = 0; i < fibers; ++i)
      all.push_back(this->served(server, [=] {
        for (int n = 0; n < each; ++n)
          write_to(reinterpret_cast<int*>(memory + (static_cast<std::size_t>(n) * fibers + i) * page_size));
      }));
    this->join(all);
    repairs.join();
  });
  ::munmap(memory, fibers * each * page_size);
}

KIND_TEST(ExceptionServer, ServesTheGeneratorsOfAFiber) {
  const closed_page page;
  this->run([&] {
    typename Kind::exception_server server;
    auto repairs = this->serve(server, 1, [&](auto& fault) {
      EXPECT_EQ(fault.fiber(), "faulty");
      page.open();
      return verdict::resume;
    });
    int sum = 0;
    auto faulty = this->served(server, [&] {
      generator<int> body([&](auto& yield) {
        yield(1);
        *page.at() = 2;
        yield(int{*page.at()});
      });
      for (int each : body)
        sum += each;
    });
    faulty.join();
    repairs.join();
    EXPECT_EQ(sum, 3);
  });
}

KIND_TEST(ExceptionServer, ServesAllFibersOfARuntimeThatHaveNoneOfTheirOwn) {
  const closed_page page, own;
  this->run([&] {
    typename Kind::exception_server common, special;
    {
      const typename Kind::runtime_exception_guard all(common);
      auto repairs = this->serve(common, 1, [&](auto&) {
        page.open();
        return verdict::resume;
      });
      auto repairs_own = this->serve(special, 1, [&](auto&) {
        own.open();
        return verdict::resume;
      });
      Kind::spawn([&] { *page.at() = 1; }).join();
      this->served(special, [&] { *own.at() = 1; }).join();
      repairs.join();
      repairs_own.join();
    }
    EXPECT_EQ(*page.at() + *own.at(), 2);
  });
}

KIND_TEST(ExceptionServer, AFiberThatIsToStopIsServedAllTheSame) {
  const closed_page page;
  this->run([&] {
    typename Kind::exception_server server;
    std::stop_source stop;
    bool went_on = false;
    auto repairs = this->serve(server, 1, [&](auto&) {
      stop.request_stop();
      page.open();
      return verdict::resume;
    });
    auto faulty = this->served(server, [&] {
      const stop_guard stops(stop.get_token());
      *page.at() = 1;
      went_on = true;
    });
    faulty.join();
    repairs.join();
    EXPECT_TRUE(went_on);
  });
}

// ---- kill

KIND_TEST(ExceptionServer, KillsOneAndTheOthersNoticeNothing) {
  this->run([&] {
    typename Kind::exception_server server;
    auto kills = this->answer(server, 10, verdict::kill);
    std::vector<typename Kind::fiber> all;
    std::atomic<int> finished{0}, went_on{0};
    for (int i = 0; i < 20; ++i)
      all.push_back(Kind::spawn([&, i] {
        guarded(server, [&] {
          Kind::yield();
          if (i % 2 == 0) {
            write_to(nowhere);
            ++went_on;
          }
        });
        ++finished;
      }));
    this->join(all);
    kills.join();
    EXPECT_EQ(finished, 10);
    EXPECT_EQ(went_on, 0);
  });
}

KIND_TEST(ExceptionServer, AKilledFunctionThrowsAndItsCallerGoesOn) {
  int outer = 0, inner = 0, caught = 0;
  this->run([&] {
    typename Kind::exception_server server;
    auto kills = this->answer(server, 100, verdict::kill);
    Kind::spawn([&] {
      for (int i = 0; i < 100; ++i) {
        const counts_its_end mine{outer};
        try {
          guarded(server, [&] {
            const counts_its_end given_up{inner};
            Kind::yield();
            write_to(nowhere);
          });
        } catch (const killed&) {
          ++caught;
        }
        EXPECT_EQ(guarded(server, [&] { return i; }), i);
      }
    }).join();
    kills.join();
  });
  EXPECT_EQ(outer, 100);
  EXPECT_EQ(caught, 100);
  EXPECT_EQ(inner, 0);
}

void fault_here() {
  write_to(nowhere);
}
int forty_two() {
  return 42;
}

KIND_TEST(ExceptionServer, GuardsPlainFunctions) {
  bool caught = false;
  this->run([&] {
    typename Kind::exception_server server;
    auto kills = this->answer(server, 1, verdict::kill);
    Kind::spawn([&] {
      EXPECT_EQ(guarded(server, forty_two), 42);
      try {
        guarded(server, fault_here);
      } catch (const killed&) {
        caught = true;
      }
    }).join();
    kills.join();
  });
  EXPECT_TRUE(caught);
}

KIND_TEST(ExceptionServer, StopsFindNothingOfWhatIsGivenUp) {
  this->run([&] {
    typename Kind::exception_server server;
    std::stop_source stop;
    auto kills = this->answer(server, 1, verdict::kill);
    Kind::spawn([&] {
      try {
        guarded(server, [&] {
          const stop_guard guard(stop.get_token());
          const stop_shield shield;
          write_to(nowhere);
        });
      } catch (const killed&) {
        volatile char overwritten[1000];
        for (volatile char& each : overwritten)
          each = 1;
        stop.request_stop();
        Kind::sleep_for(std::chrono::microseconds(1));
      }
    }).join();
    kills.join();
    EXPECT_TRUE(stop.stop_requested());
  });
}

// More often than there are emergency stacks.
KIND_TEST(ExceptionServer, KillsWhoOverflows) {
  constexpr int times = 30;
  int ended = 0;
  this->run([&] {
    typename Kind::exception_server server;
    auto kills = this->serve(server, times, [](auto& fault) {
      EXPECT_EQ(fault.kind(), fault_kind::overflow);
      return verdict::kill;
    });
    for (int i = 0; i < times; ++i)
      Kind::spawn([&] {
        const counts_its_end outer{ended};
        guarded(server, [] { descend(0); });
      }).join();
    kills.join();
    EXPECT_EQ(ended, times);
  });
}

// No function is there to be left: the fiber's stack goes with it. What its function owns does not.
KIND_TEST(ExceptionServer, EndsAFiberThatIsInNoGuardedFunction) {
  constexpr int times = 20;
  const outcome result = this->dies([&] {
    typename Kind::exception_server server;
    const typename Kind::runtime_exception_guard all(server);
    auto kills = this->answer(server, times, verdict::kill);
    const auto owned = std::make_shared<int>(1);
    for (int i = 0; i < times; ++i)
      Kind::spawn(
          [owned, i] {
            if (i % 2 == 0)
              descend(0);
            write_to(nowhere);
          },
          {.name = "stubborn"})
          .join();
    kills.join();
    EXPECT_EQ(owned.use_count(), 1);
    Kind::spawn([] { Kind::yield(); }).join();
  });
  EXPECT_TRUE(result.exited(0)) << result;
  EXPECT_TRUE(
      result.says("sennit: fiber \"stubborn\": a fault killed it, and no sennit::guarded function is "
                  "there to leave: its frames are given up, and nothing in them is destroyed"))
      << result;
}

// Fibers of a scope are counted, killed or not, and may be stopped afterwards.
KIND_TEST(ExceptionServer, KillsInAScope) {
  std::atomic<int> finished{0};
  this->run([&] {
    typename Kind::exception_server server;
    const typename Kind::runtime_exception_guard all(server);
    auto kills = this->answer(server, 5, verdict::kill);
    {
      typename Kind::scope children;
      for (int i = 0; i < 10; ++i)
        children.spawn([&, i] {
          if (i % 2 == 0)
            *nowhere = 1;
          ++finished;
        });
      children.join();
      children.request_stop();
    }
    kills.join();
  });
  EXPECT_EQ(finished, 5);
}

// A fiber that calls a wrong function pointer is killed like others.
KIND_TEST(ExceptionServer, KillsWhoCallsNowhere) {
  int caught = 0;
  this->run([&] {
    typename Kind::exception_server server;
    auto kills = this->answer(server, 2, verdict::kill);
    Kind::spawn([&] {
      for (const std::uintptr_t at : {std::uintptr_t{0}, std::uintptr_t{0x1000}}) {
        void (*volatile function)() = nullptr;
        std::memcpy(const_cast<void (**)()>(&function), &at, sizeof at);
        try {
          guarded(server, [&] { function(); });
        } catch (const killed&) {
          ++caught;
        }
      }
    }).join();
    kills.join();
  });
  EXPECT_EQ(caught, 2);
}

#if SENNIT_REDIRECTS
// Behind code without tables, which has a frame, no guarded function is found.
KIND_TEST(ExceptionServer, GivesUpAFiberInCodeWithoutTablesWhole) {
  const code_without_tables traps(traps_with_a_frame);
  const outcome result = this->dies([&] {
    typename Kind::exception_server server;
    auto kills = this->answer(server, 1, verdict::kill);
    bool went_on = false;
    Kind::spawn(
        [&] {
          try {
            guarded(server, [&] { traps(); });
          } catch (const killed&) {
          }
          went_on = true;
        },
        {.name = "stubborn, with the longest name"})
        .join();
    kills.join();
    EXPECT_FALSE(went_on);
    Kind::spawn([] { Kind::yield(); }).join();
  });
  EXPECT_TRUE(result.exited(0)) << result;
  EXPECT_TRUE(result.says(
      "sennit: fiber \"stubborn, with the longest name\": a fault killed it, in code without unwinding "
      "tables, which "
      "hides any sennit::guarded function: its frames are given up, and nothing in them is destroyed"))
      << result;
}
#endif

// ---- a pager

// A large array that is there when it is touched.
KIND_TEST(ExceptionServer, PagesInTenThousandPages) {
  constexpr std::size_t pages = 10'000, readers = 4;
  char* const memory = static_cast<char*>(
      ::mmap(nullptr, pages * page_size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
  std::atomic<std::uint64_t> sum{0};
  int served = 0;
  this->run([&] {
    typename Kind::exception_server server;
    auto pager = Kind::spawn([&] {
      for (;;) {
        auto fault = server.receive();
        if (fault.kind() == fault_kind::overflow)
          return fault.reply(verdict::kill);
        auto* const page =
            reinterpret_cast<char*>(reinterpret_cast<std::uintptr_t>(fault.address()) & ~(page_size - 1));
        EXPECT_EQ(::mprotect(page, page_size, PROT_READ | PROT_WRITE), 0);
        *reinterpret_cast<std::uint32_t*>(page) = static_cast<std::uint32_t>((page - memory) / page_size);
        ++served;
        fault.reply(verdict::resume);
      }
    });
    std::vector<typename Kind::fiber> all;
    for (std::size_t i = 0; i < readers; ++i)
      all.push_back(this->served(server, [&, i] {
        for (std::size_t n = i; n < pages; n += readers)
          sum += *reinterpret_cast<const volatile std::uint32_t*>(memory + n * page_size);
      }));
    this->join(all);
    this->served(server, [] { descend(0); }).join();
    pager.join();
  });
  EXPECT_EQ(sum, pages * (pages - 1) / 2);
  EXPECT_EQ(served, static_cast<int>(pages));
  ::munmap(memory, pages * page_size);
}

}  // namespace
}  // namespace sennit
