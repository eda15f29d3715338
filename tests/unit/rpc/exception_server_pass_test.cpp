// Faults that no exception server answers, or may: the process ends.
#include <pthread.h>
#include <signal.h>

#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "exception_servers.hpp"
#include "sennit/no_yield_guard.hpp"

extern "C" int sennit_pthread_mutex_lock(pthread_mutex_t* lock);  // what the plugin has called instead

namespace sennit {
namespace {

template <class Kind>
class ExceptionServerPasses : public exception_servers<Kind> {};

KIND_TEST(ExceptionServerPasses, PassesOnAndTheProcessDies) {
  const outcome result = this->dies([&] {
    typename Kind::exception_server server;
    auto passes = this->serve(server, 1, [](auto&) { return verdict::pass; });
    this->served(server, [] { write_to(nowhere); }).join();
  });
  EXPECT_TRUE(
      result.says("sennit: memory fault (SIGSEGV) at 0x0 in fiber \"faulty\", passed on by its "
                  "exception server\n"))
      << result;
  EXPECT_TRUE(result.killed_by(SIGSEGV)) << result;
}

KIND_TEST(ExceptionServerPasses, AnOverflowThatIsPassedOnIsReported) {
  const outcome result = this->dies([&] {
    typename Kind::exception_server server;
    auto passes = this->serve(server, 1, [](auto&) { return verdict::pass; });
    this->served(server, [] { descend(0); }).join();
  });
  EXPECT_TRUE(
      result.says("sennit: stack overflow in fiber \"faulty\", passed on by its exception server: "
                  "its stack has"))
      << result;
  EXPECT_TRUE(result.killed_by(SIGSEGV)) << result;
}

KIND_TEST(ExceptionServerPasses, AFaultWithoutAReplyIsPassedOn) {
  const outcome result = this->dies([&] {
    typename Kind::exception_server server;
    auto forgets = Kind::spawn([&] { server.receive(); });
    this->served(server, [] { write_to(nowhere); }).join();
  });
  EXPECT_TRUE(result.says("in fiber \"faulty\", passed on by its exception server\n")) << result;
  EXPECT_TRUE(result.killed_by(SIGSEGV)) << result;
}

KIND_TEST(ExceptionServerPasses, AServerThatIsGoneServesNobody) {
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
    EXPECT_TRUE(result.says("in fiber \"faulty\", passed on by its exception server\n")) << result;
    EXPECT_TRUE(result.killed_by(SIGSEGV)) << result;
  }
}

KIND_TEST(ExceptionServerPasses, AFaultOfTheServerEndsTheProcess) {
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
KIND_TEST(ExceptionServerPasses, AnyFaultOfTheServerOfAllIsReportedAndNotServed) {
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

KIND_TEST(ExceptionServerPasses, AFaultOfTheServerBetweenTwoOthersEndsTheProcess) {
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

// Others would run before it resumes. In code that is compiled with checks, a held pthread lock makes such a
// stretch, too.
KIND_TEST(ExceptionServerPasses, AFaultWhereAFiberIsNotToYieldEndsTheProcess) {
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
KIND_TEST(ExceptionServerPasses, AFaultWithAPthreadLockHeldEndsTheProcess) {
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

}  // namespace
}  // namespace sennit
