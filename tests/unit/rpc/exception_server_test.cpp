// Exception servers, in both kinds of runtime.
#include "sennit/exception_server.hpp"

#include <gtest/gtest.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "sennit/become.hpp"
#include "sennit/generator.hpp"
#include "sennit/no_yield_guard.hpp"
#include "support/child.hpp"
#include "support/faults.hpp"
#include "support/kinds.hpp"

extern "C" int sennit_pthread_mutex_lock(pthread_mutex_t* lock);  // what the plugin has called instead

namespace sennit {
namespace {

using support::closed_page;
using support::in_child;
using support::outcome;

constexpr std::size_t page_size = detail::page_size;

template <class Kind>
class ExceptionServer : public kind_test<Kind> {
protected:
  void SetUp() override {
    if (!serves_faults)
      GTEST_SKIP() << "faults are not served in this build";
  }

  // A fiber that answers so many faults with what `decide` says.
  template <class Decide>
  static typename Kind::fiber serve(typename Kind::exception_server& of, int count, Decide decide) {
    return Kind::spawn(
        [&of, count, decide] {
          for (int i = 0; i < count; ++i) {
            auto fault = of.receive();
            fault.reply(decide(fault));
          }
        },
        {.name = "server"});
  }
  static typename Kind::fiber answer(typename Kind::exception_server& of, int count, verdict with) {
    return serve(of, count, [with](auto&) { return with; });
  }
  // A fiber that is served.
  template <class Function>
  static typename Kind::fiber served(typename Kind::exception_server& by, Function function) {
    return Kind::spawn(
        [&by, function] {
          const typename Kind::exception_guard served(by);
          function();
        },
        {.name = "faulty"});
  }
  // The same in a child process.
  template <class Function>
  static outcome dies(Function function) {
    return in_child([&] { Kind().run(function); });
  }
};

[[gnu::noinline]] void write_to(volatile int* at) {
  *at = 1;
}
volatile int* const nowhere = nullptr;

volatile int forever = 1;
[[gnu::noinline]] int descend(int depth) {
  volatile char frame[200];
  frame[depth % 200] = static_cast<char>(depth);
  return forever == 0 ? 0 : descend(depth + 1) + frame[depth % 200];
}

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

#if SENNIT_REDIRECTS
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

struct counts_its_end {
  int& ended;
  ~counts_its_end() { ++ended; }
};

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
  const outcome result = in_child([&] {
    Kind().run([&] {
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
  });
  EXPECT_TRUE(result.exited(0)) << result;
  EXPECT_TRUE(
      result.says("sennit: fiber \"stubborn\": a fault killed it, and no sennit::guarded function is "
                  "there to leave: nothing of that is destroyed"))
      << result;
}

// Those of a scope are counted, killed or not, and may be told to stop afterwards.
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

// ---- pass

KIND_TEST(ExceptionServer, PassesOnAndTheProcessDies) {
  const outcome result = this->dies([&] {
    typename Kind::exception_server server;
    auto passes = this->serve(server, 1, [](auto&) { return verdict::pass; });
    this->served(server, [] { write_to(nowhere); }).join();
  });
  EXPECT_TRUE(result.says("sennit: memory fault (SIGSEGV) at 0x0 in fiber \"faulty\"\n")) << result;
  EXPECT_TRUE(result.killed_by(SIGSEGV)) << result;
}

KIND_TEST(ExceptionServer, AnOverflowThatIsPassedOnIsReported) {
  const outcome result = this->dies([&] {
    typename Kind::exception_server server;
    auto passes = this->serve(server, 1, [](auto&) { return verdict::pass; });
    this->served(server, [] { descend(0); }).join();
  });
  EXPECT_TRUE(result.says("sennit: stack overflow in fiber \"faulty\"")) << result;
  EXPECT_TRUE(result.killed_by(SIGSEGV)) << result;
}

KIND_TEST(ExceptionServer, AFaultWithoutAReplyIsPassedOn) {
  const outcome result = this->dies([&] {
    typename Kind::exception_server server;
    auto forgets = Kind::spawn([&] { server.receive(); });
    this->served(server, [] { write_to(nowhere); }).join();
  });
  EXPECT_TRUE(result.says("in fiber \"faulty\"")) << result;
  EXPECT_TRUE(result.killed_by(SIGSEGV)) << result;
}

KIND_TEST(ExceptionServer, AServerThatIsGoneServesNobody) {
  for (const bool waits : {false, true}) {
    const outcome result = this->dies([&] {
      auto server = std::make_unique<typename Kind::exception_server>();
      bool begun = false;
      auto faulty = this->served(*server, [&] {
        begun = true;
        if (!waits)
          while (server != nullptr)
            Kind::yield();
        write_to(nowhere);
      });
      while (!begun)
        Kind::yield();
      server.reset();
      faulty.join();
    });
    EXPECT_TRUE(result.says("in fiber \"faulty\"")) << result;
    EXPECT_TRUE(result.killed_by(SIGSEGV)) << result;
  }
}

KIND_TEST(ExceptionServer, AFaultOfTheServerEndsTheProcess) {
  for (const bool for_all : {false, true}) {
    const outcome result = this->dies([&] {
      typename Kind::exception_server server;
      std::optional<typename Kind::runtime_exception_guard> all;
      if (for_all)
        all.emplace(server);
      auto faults = this->serve(server, 1, [](auto&) {
        write_to(nowhere);
        return verdict::resume;
      });
      this->served(server, [] { write_to(nowhere); }).join();
    });
    EXPECT_TRUE(result.says("sennit: memory fault (SIGSEGV) at 0x0 in fiber \"server\"\n")) << result;
    EXPECT_TRUE(result.killed_by(SIGSEGV)) << result;
  }
}

// However it faults, and though the server is that of all fibers.
KIND_TEST(ExceptionServer, AnyFaultOfTheServerOfAllIsReportedAndNotServed) {
  const auto dies_serving = [&](void (*by)()) {
    return this->dies([&] {
      typename Kind::exception_server server;
      const typename Kind::runtime_exception_guard all(server);
      auto faults = this->serve(server, 2, [by](auto& fault) {
        if (fault.fiber() != "served")
          std::fputs("the server was asked about itself\n", stderr);
        by();
        return verdict::kill;
      });
      Kind::spawn([] { write_to(nowhere); }, {.name = "served"}).join();
    });
  };
  const outcome overflowed = dies_serving([] { descend(0); });
  EXPECT_TRUE(overflowed.says("sennit: stack overflow in fiber \"server\"")) << overflowed;
  const outcome in_generator = dies_serving([] {
    generator<int> body([](auto& yield) {
      write_to(nowhere);
      yield(1);
    });
    static_cast<void>(body.begin());
  });
  EXPECT_TRUE(in_generator.says("sennit: memory fault (SIGSEGV) at 0x0 in coroutine")) << in_generator;
  for (const outcome& each : {overflowed, in_generator}) {
    EXPECT_TRUE(each.killed_by(SIGSEGV)) << each;
    EXPECT_FALSE(each.says("asked about itself")) << each;
  }
}

KIND_TEST(ExceptionServer, AFaultOfTheServerBetweenTwoOthersEndsTheProcess) {
  const outcome result = this->dies([&] {
    typename Kind::exception_server server;
    const typename Kind::runtime_exception_guard all(server);
    auto faults = Kind::spawn(
        [&] {
          server.receive().reply(verdict::kill);
          write_to(nowhere);
        },
        {.name = "server"});
    this->served(server, [] { write_to(nowhere); }).join();
    faults.join();
  });
  EXPECT_TRUE(result.says("at 0x0 in fiber \"server\"\n")) << result;
  EXPECT_TRUE(result.killed_by(SIGSEGV)) << result;
}

// Others would run before it goes on. pthread locks, of code that is compiled with checks, are such
// stretches.
KIND_TEST(ExceptionServer, AFaultWhereAFiberIsNotToYieldEndsTheProcess) {
  const auto dies_in = [&](void (*function)()) {
    const outcome result = this->dies([&] {
      typename Kind::exception_server server;
      auto kills = this->answer(server, 2, verdict::kill);
      this->served(server,
                   [&server, function] {
                     {
                       const no_yield_guard ended;
                     }
                     EXPECT_THROW(guarded(server, [] { write_to(nowhere); }), killed);  // served
                     function();
                   })
          .join();
    });
    EXPECT_TRUE(result.killed_by(SIGSEGV)) << result;
    return result;
  };
  const std::string memory =
      "sennit: memory fault (SIGSEGV) at 0x0 in fiber \"faulty\", where it is not to yield\n";
  const outcome in_guard = dies_in([] {
    const no_yield_guard together;
    write_to(nowhere);
  });
  EXPECT_TRUE(in_guard.says(memory)) << in_guard;
  const outcome with_lock = dies_in([] {
    pthread_mutex_t held = PTHREAD_MUTEX_INITIALIZER;
    sennit_pthread_mutex_lock(&held);
    write_to(nowhere);
  });
  EXPECT_TRUE(with_lock.says(memory)) << with_lock;
  const outcome overflow = dies_in([] {
    sennit_no_yield_begin();
    descend(0);
  });
  EXPECT_TRUE(
      overflow.says("sennit: stack overflow in fiber \"faulty\", where it is not to yield: its stack"))
      << overflow;
}

#if defined(SENNIT_KNOWS_HELD_LOCKS)
KIND_TEST(ExceptionServer, AFaultWithAPthreadLockHeldEndsTheProcess) {
  const outcome result = this->dies([&] {
    typename Kind::exception_server server;
    auto kills = this->answer(server, 1, verdict::kill);
    this->served(server,
                 [] {
                   std::mutex held;
                   const std::lock_guard hold(held);
                   write_to(nowhere);
                 })
        .join();
  });
  EXPECT_TRUE(result.says("in fiber \"faulty\", while it holds a pthread lock\n")) << result;
  EXPECT_TRUE(result.killed_by(SIGSEGV)) << result;
}
#endif

// ---- the runtime's end

KIND_TEST(ExceptionServer, AFaultThatWaitsWhenTheRuntimeEndsEndsItsFiber) {
  int ended = 0;
  for (const bool received : {false, true}) {
    typename Kind::exception_server server;
    bool waits = false;
    {
      Kind ends;
      ends.run([&] {
        auto faulty = Kind::spawn([&] {
          const counts_its_end outer{ended};
          guarded(server, [&] {
            waits = true;
            write_to(nowhere);
          });
        });
        auto keeps = Kind::spawn([&] {
          if (!received)
            return;
          auto fault = server.receive();
          typename Kind::event never;
          never.wait();
        });
        while (!waits)
          Kind::yield();
        for (int i = 0; i < 10; ++i)
          Kind::sleep_for(std::chrono::milliseconds(1));
        faulty.detach();
        keeps.detach();
      });
    }
  }
  EXPECT_EQ(ended, 2);
}

// And does not go on by a handler of killed.
KIND_TEST(ExceptionServer, WhoLeavesWhenTheRuntimeEndsIsNotKilled) {
  bool caught = false;
  typename Kind::exception_server server;
  bool waits = false;
  {
    Kind ends;
    ends.run([&] {
      Kind::spawn([&] {
        try {
          guarded(server, [&] {
            waits = true;
            write_to(nowhere);
          });
        } catch (const killed&) {
          caught = true;
          typename Kind::event never;
          never.wait();
        }
      }).detach();
      while (!waits)
        Kind::yield();
      for (int i = 0; i < 10; ++i)
        Kind::sleep_for(std::chrono::milliseconds(1));
    });
  }
  EXPECT_FALSE(caught);
}

// Who calls what is no function is killed like others.
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

// Who waits for faults is told to stop as in any wait.
KIND_TEST(ExceptionServer, StopsReceiving) {
  const closed_page page;
  this->run([&] {
    typename Kind::exception_server server;
    {
      typename Kind::scope servers;
      servers.spawn([&] {
        for (;;) {
          auto fault = server.receive();
          page.open();
          fault.reply(verdict::resume);
        }
      });
      this->served(server, [&] { *page.at() = 1; }).join();
      servers.request_stop();
    }
    EXPECT_EQ(*page.at(), 1);
  });
}

// ---- without a stack

// Has no stack but while it answers: it kills, so often, and then ends.
template <class Kind>
struct without_stack {
  using fault = typename Kind::exception_server::fault;
  typename Kind::exception_server* faults;
  int left;
  void (*first)() = [] {};

  static continuation answer(without_stack me, fault&& received) {
    me.first();
    EXPECT_TRUE(received);
    EXPECT_EQ(received.kind(), fault_kind::memory);
    received.reply(verdict::kill);
    return --me.left == 0 ? continuation() : me.wait();
  }
  continuation wait() { return become(faults->receiving(), answer, *this); }
};

KIND_TEST(ExceptionServer, ReceivesWithoutAStack) {
  constexpr int fibers = 10, each = 5;
  std::atomic<int> caught = 0;
  this->run([&] {
    typename Kind::exception_server server;
    auto kills = Kind::spawn(without_stack<Kind>{&server, fibers * each}.wait());
    until_stackless<Kind>(1);
    std::vector<typename Kind::fiber> all;
    for (int i = 0; i < fibers; ++i)
      all.push_back(Kind::spawn([&] {
        for (int n = 0; n < each; ++n)
          try {
            guarded(server, [] { write_to(nowhere); });
          } catch (const killed&) {
            ++caught;
          }
      }));
    this->join(all);
    kills.join();
  });
  EXPECT_EQ(caught, fibers * each);
}

KIND_TEST(ExceptionServer, DeadlinesAndStopsEndAReceiveWithoutAStackToo) {
  using fault = typename Kind::exception_server::fault;
  this->run([&] {
    typename Kind::exception_server server;
    const auto soon = [] { return std::chrono::steady_clock::now() + std::chrono::milliseconds(1); };
    EXPECT_FALSE(server.receive_until(soon()));
    int empty = 0;
    const auto count = [&empty](fault&& received) { empty += received ? 0 : 1; };
    Kind::spawn(become(server.receiving_until(soon()), count)).join();
    EXPECT_EQ(empty, 1);
    std::stop_source stop;
    auto stopped = Kind::spawn(become(stoppable(server.receiving(), stop.get_token()), count));
    until_stackless<Kind>(1);
    stop.request_stop();
    stopped.join();
    EXPECT_EQ(empty, 2);
    // In time.
    auto kills = Kind::spawn(become(server.receiving_until(soon() + std::chrono::hours(1)),
                                    [](fault&& received) { received.reply(verdict::kill); }));
    EXPECT_THROW(guarded(server, [] { write_to(nowhere); }), killed);
    kills.join();
  });
}

KIND_TEST(ExceptionServer, AFaultOfAServerWithoutAStackEndsTheProcess) {
  const outcome result = this->dies([&] {
    typename Kind::exception_server server;
    const typename Kind::runtime_exception_guard all(server);
    auto faults =
        Kind::spawn([&] { return without_stack<Kind>{&server, 2, [] { write_to(nowhere); }}.wait(); },
                    {.name = "server"});
    this->served(server, [] { write_to(nowhere); }).join();
    faults.join();
  });
  EXPECT_TRUE(result.says("sennit: memory fault (SIGSEGV) at 0x0 in fiber \"server\"\n")) << result;
  EXPECT_TRUE(result.killed_by(SIGSEGV)) << result;
}

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
