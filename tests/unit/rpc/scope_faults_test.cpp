// Exception servers of scopes, in both kinds of runtime.
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sennit/become.hpp"
#include "sennit/exception_server.hpp"
#include "sennit/scope.hpp"
#include "support/faults.hpp"
#include "support/kind_in_child.hpp"
#include "support/kinds.hpp"

namespace sennit {
namespace {

using support::closed_page;

int* volatile nowhere = nullptr;

template <class Kind>
class ScopeFaults : public kind_test<Kind> {
protected:
  void SetUp() override {
    if (!serves_faults)
      GTEST_SKIP() << "faults are not served in this build";
  }

  // A server that kills whoever faults, until the end of its block; how many those were.
  struct killer {
    killer() : serving(Kind::spawn([this] { serve(); })) {}
    ~killer() {
      stop.request_stop();
      serving.join();
    }
    void serve() {
      const stop_guard guard(stop.get_token());
      for (;;) {
        auto fault = server.receive();
        ++count;
        fault.reply(verdict::kill);
      }
    }
    typename Kind::exception_server server;
    std::stop_source stop;
    int count = 0;
    typename Kind::fiber serving;
  };
};

KIND_TEST(ScopeFaults, GoToTheScopesServer) {
  this->run([] {
    typename ScopeFaults<Kind>::killer of_scope;
    typename ScopeFaults<Kind>::killer of_runtime;
    const typename Kind::runtime_exception_guard all(of_runtime.server);
    std::atomic<int> finished = 0;
    typename Kind::scope scope(of_scope.server);
    for (int i = 0; i < 10; ++i)
      scope.spawn([&, i] {
        if (i % 2 == 0)
          *nowhere = 1;
        ++finished;
      });
    Kind::spawn([] { *nowhere = 1; }).join();  // of no scope
    scope.join();                              // a killed fiber has just ended
    EXPECT_FALSE(scope.stop_requested());
    EXPECT_EQ(finished, 5);
    EXPECT_EQ(of_scope.count, 5);
    EXPECT_EQ(of_runtime.count, 1);
  });
}

KIND_TEST(ScopeFaults, MayBeRepaired) {
  this->run([] {
    const closed_page page;
    typename Kind::exception_server server;
    auto repairs = Kind::spawn([&] {
      auto fault = server.receive();
      EXPECT_EQ(fault.fiber(), "child");
      page.open();
      fault.reply(verdict::resume);
    });
    typename Kind::scope scope(server);
    scope.spawn([&] { page.at()[3] = 42; }, {.name = "child"});
    scope.join();
    repairs.join();
    EXPECT_EQ(page.at()[3], 42);
  });
}

KIND_TEST(ScopeFaults, AFibersOwnGuardGoesFirst) {
  this->run([] {
    typename ScopeFaults<Kind>::killer of_scope;
    typename ScopeFaults<Kind>::killer of_fiber;
    typename Kind::scope scope(of_scope.server);
    scope.spawn([&] {
      EXPECT_THROW(guarded(of_fiber.server, [] { *nowhere = 1; }), killed);
      *nowhere = 1;
    });
    scope.join();
    EXPECT_EQ(of_fiber.count, 1);
    EXPECT_EQ(of_scope.count, 1);
  });
}

KIND_TEST(ScopeFaults, GoToTheServerOfTheScopeAround) {
  this->run([] {
    typename ScopeFaults<Kind>::killer of_outer;
    typename ScopeFaults<Kind>::killer of_inner;
    typename ScopeFaults<Kind>::killer of_maker;
    typename Kind::scope outer(of_outer.server);
    outer.spawn([&] {
      const typename Kind::exception_guard own(of_maker.server);  // is not inherited
      typename Kind::scope inherits;
      typename Kind::scope another(of_inner.server);
      for (int i = 0; i < 3; ++i) {
        inherits.spawn([] {
          typename Kind::scope deeper;
          deeper.spawn([] { *nowhere = 1; });
        });
        another.spawn([] { *nowhere = 1; });
      }
    });
    outer.join();
    EXPECT_EQ(of_outer.count, 3);
    EXPECT_EQ(of_inner.count, 3);
    EXPECT_EQ(of_maker.count, 0);
  });
}

KIND_TEST(ScopeFaults, GoThereFromContinuations) {
  this->run([] {
    typename ScopeFaults<Kind>::killer of_scope;
    auto mine = std::make_shared<int>(0);
    std::atomic<int> finished = 0;
    {
      typename Kind::scope scope(of_scope.server);
      for (int i = 0; i < 4; ++i)
        scope.spawn([mine, &finished, i] {
          return become(this_fiber::yielding(), [mine, &finished, i] {
            if (i % 2 == 0)
              *nowhere = 1;
            return become(this_fiber::yielding(), [mine, &finished] { ++finished; });
          });
        });
      scope.spawn(become(this_fiber::yielding(), [] { *nowhere = 1; }));
      scope.join();
    }
    EXPECT_EQ(finished, 2);
    EXPECT_EQ(of_scope.count, 3);
    Kind::spawn([] { Kind::yield(); }).join();
  });
}

// Stacks are reused whole.
KIND_TEST(ScopeFaults, TheStackOfAFiberThatEndedIsNobodys) {
  const support::outcome result = support::run_in_child<Kind>([] {
    {
      typename ScopeFaults<Kind>::killer of_scope;
      typename Kind::scope scope(of_scope.server);
      for (int i = 0; i < 5; ++i)
        scope.spawn([] {}, {.name = "before"});
      scope.join();
    }
    for (int i = 0; i < 5; ++i)  // on the same stacks
      Kind::spawn([] { *nowhere = 1; }, {.name = "after"}).join();
  });
  EXPECT_TRUE(result.says("memory fault (SIGSEGV) at 0x0 in fiber \"after\"")) << result;
  EXPECT_TRUE(result.killed_by(SIGSEGV)) << result;
}

KIND_TEST(ScopeFaults, AServerThatIsGoneServesNobody) {
  const support::outcome result = support::run_in_child<Kind>([] {
    std::optional<typename ScopeFaults<Kind>::killer> of_scope(std::in_place);
    typename ScopeFaults<Kind>::killer of_runtime;
    const typename Kind::runtime_exception_guard all(of_runtime.server);
    typename Kind::scope scope(of_scope->server);
    of_scope.reset();
    scope.spawn([] { *nowhere = 1; }, {.name = "child"});
    scope.join();
  });
  EXPECT_TRUE(result.says("memory fault (SIGSEGV) at 0x0 in fiber \"child\"")) << result;
  EXPECT_TRUE(result.killed_by(SIGSEGV)) << result;
}

}  // namespace
}  // namespace sennit
