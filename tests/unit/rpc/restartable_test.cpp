// Fibers that give up their stack because of a fault, in both kinds of runtime.
#include <atomic>
#include <chrono>
#include <cstring>
#include <memory>
#include <vector>

#include "restartable.hpp"
#include "sennit/become.hpp"
#include "sennit/fiber_local.hpp"
#include "sennit/scope.hpp"

namespace sennit {
namespace {

template <class Kind>
class Restartable : public exception_servers<Kind> {};

[[gnu::noinline]] continuation read(reader* me) {
  ++me->begun;
  for (; me->next != me->end; ++me->next) {
    std::atomic_signal_fence(std::memory_order_seq_cst);
    me->sum += *me->pages->page(me->next);
  }
  return {};
}

KIND_TEST(Restartable, AThousandFibersThatWaitForPagesHaveNoStack) {
  constexpr std::size_t fibers = 1000;
  this->run([] {
    const closed_pages pages(fibers);
    typename Kind::exception_server server;
    std::vector<reader> readers(fibers);
    {
      typename Kind::scope scope(server);
      for (std::size_t i = 0; i < fibers; ++i) {
        readers[i] = {&pages, i, i + 1};
        scope.spawn(restartable(read, &readers[i]));
      }
      until_stackless<Kind>(fibers);
      auto pager = Kind::spawn([&] {
        for (std::size_t i = 0; i < fibers; ++i) {
          auto fault = server.receive();
          EXPECT_TRUE(fault.stackless());
          EXPECT_EQ(fault.kind(), fault_kind::memory);
          pages.open(fault.address());
          fault.reply(verdict::resume);
        }
      });
      scope.join();
      pager.join();
    }
    for (std::size_t i = 0; i < fibers; ++i) {
      EXPECT_EQ(readers[i].sum, static_cast<long>(i) + 1);
      EXPECT_EQ(readers[i].begun, 2);
    }
  });
}

KIND_TEST(Restartable, BeginsAnewAfterEachFaultWithItsNameAndItsValues) {
  static fiber_local<int> local;
  static int found;
  found = 0;
  this->run([] {
    const closed_pages pages(20);
    typename Kind::exception_server server;
    const typename Kind::runtime_exception_guard all(server);
    auto pager = serve_pages<Kind>(server, pages, true);
    reader me{&pages, 0, pages.count()};
    Kind::spawn([&me] {
      *local = 42;
      return restartable(
          [](reader* mine) {
            found += *local;
            return read(mine);
          },
          &me);
    }).join();
    EXPECT_EQ(me.sum, 210);
    EXPECT_EQ(me.begun, 21);
    EXPECT_EQ(found, 21 * 42);
    server.close();
    pager.join();
  });
}

KIND_TEST(Restartable, IsKnownToTheServerByTheFibersName) {
  this->run([] {
    const closed_pages pages(1);
    typename Kind::exception_server server;
    const typename Kind::runtime_exception_guard all(server);
    reader me{&pages, 0, 1};
    auto reads = Kind::spawn([&me] { return restartable(read, &me); }, {.name = "reader"});
    auto fault = server.receive();
    EXPECT_TRUE(fault.stackless());
    EXPECT_EQ(fault.fiber(), "reader");
    EXPECT_EQ(fault.address(), const_cast<int*>(pages.page(0)));
    pages.open(fault.address());
    fault.reply(verdict::resume);
    reads.join();
    EXPECT_EQ(me.sum, 1);
  });
}

KIND_TEST(Restartable, KillAndUnwindEndTheFiber) {
  this->run([] {
    typename Kind::exception_server server;
    const typename Kind::runtime_exception_guard all(server);
    for (const verdict ends : {verdict::kill, verdict::unwind}) {
      auto server_fiber = exception_servers<Kind>::serve(server, 1, [ends](auto& fault) {
        EXPECT_TRUE(fault.stackless());
        return ends;
      });
      touched_once me{nowhere};
      Kind::spawn(restartable(touch, &me)).join();
      server_fiber.join();
      EXPECT_EQ(me.begun, 1);
    }
  });
}

// What is passed on ends the process, when the function faults again; also by a server that is closed.
KIND_TEST(Restartable, AFaultThatIsPassedOnHappensAgainAndIsNotServed) {
  for (const bool closes : {false, true}) {
    const outcome result = this->dies([closes] {
      typename Kind::exception_server server;
      const typename Kind::runtime_exception_guard all(server);
      touched_once me{nowhere};
      auto faults = Kind::spawn([&me] { return restartable(touch, &me); }, {.name = "faulty"});
      if (closes) {
        until_stackless<Kind>(1);
        server.close();
      } else {
        server.receive().reply(verdict::pass);
      }
      faults.join();
    });
    EXPECT_TRUE(result.says("sennit: memory fault (SIGSEGV) at 0x0 in fiber \"faulty\"")) << result;
    EXPECT_TRUE(closes || result.says(", passed on by its exception server\n")) << result;
    EXPECT_TRUE(result.killed_by(SIGSEGV)) << result;
  }
}

KIND_TEST(Restartable, AStopOfItsScopeEndsTheWait) {
  this->run([] {
    typename Kind::exception_server server;
    touched_once me{nowhere};
    typename Kind::scope scope(server);
    scope.spawn(restartable(touch, &me));
    until_stackless<Kind>(1);
    scope.request_stop();
    scope.join();
    EXPECT_EQ(me.begun, 1);
    // The call has left with it.
    EXPECT_FALSE(server.receive_until(std::chrono::steady_clock::now()));
  });
}

// A fiber that is not joined: it ends with the test's runtime, after the test.
touched_once touched_at_the_end;
template <class Kind>
void touch_detached(const std::shared_ptr<typename Kind::exception_server>& server) {
  touched_at_the_end = {nowhere};
  Kind::spawn([server] {
    typename Kind::scope scope(*server);
    scope.spawn(restartable(touch, &touched_at_the_end));
    scope.join();
  }).detach();
}

KIND_TEST(Restartable, TheEndOfItsRuntimeEndsTheWait) {
  const auto server = std::make_shared<typename Kind::exception_server>();
  this->run([server] {
    touch_detached<Kind>(server);
    until_stackless<Kind>(1);
  });
  EXPECT_EQ(touched_at_the_end.begun, 1);
}

KIND_TEST(Restartable, DoesNotBeginAgainWhenItsRuntimeEnds) {
  const auto server = std::make_shared<typename Kind::exception_server>();
  this->run([server] {
    touch_detached<Kind>(server);
    server->receive().reply(verdict::resume);
  });
  EXPECT_LE(touched_at_the_end.begun, Kind::params[0].workers == 0 ? 1 : 2);
}

// The function may continue as something else, to which this no longer applies.
KIND_TEST(Restartable, EndsWithTheFunction) {
  this->run([] {
    const closed_pages pages(2);
    typename Kind::exception_server server;
    const typename Kind::runtime_exception_guard all(server);
    int with_a_stack = 0;
    auto pager = Kind::spawn([&] {
      while (auto fault = server.receive()) {
        with_a_stack += fault.stackless() ? 0 : 1;
        pages.open(fault.address());
        fault.reply(verdict::resume);
      }
    });
    const auto first = [](reader* mine) -> continuation {
      static_cast<void>(read(mine));
      mine->end = 2;
      return become(this_fiber::yielding(), read, mine);
    };
    reader me{&pages, 0, 1};
    Kind::spawn(restartable(first, &me)).join();
    EXPECT_EQ(me.sum, 3);
    EXPECT_EQ(me.begun, 3);
    EXPECT_EQ(with_a_stack, 1);
    // Nor if it has left its frames.
    const closed_pages more(1);
    const auto leaves = [](reader* mine) { become_now(this_fiber::yielding(), read, mine); };
    reader other{&more, 0, 1};
    server.close();
    pager.join();
    typename Kind::exception_server second;
    typename Kind::scope scope(second);
    auto opens = serve_pages<Kind>(second, more, false);
    scope.spawn(restartable(leaves, &other));
    scope.join();
    EXPECT_EQ(other.sum, 1);
    second.close();
    opens.join();
  });
}

// The C library's function has no table of what it destroys.
KIND_TEST(Restartable, GivesUpTheStackInMemcpy) {
  this->run([] {
    const closed_pages pages(1);
    typename Kind::exception_server server;
    const typename Kind::runtime_exception_guard all(server);
    auto pager = serve_pages<Kind>(server, pages, true);
    struct copied {
      const closed_pages* from;
      int value;
      int begun;
    } me{&pages, 0, 0};
    const auto copy = [](copied* mine) {
      ++mine->begun;
      std::atomic_signal_fence(std::memory_order_seq_cst);
      static void* (*volatile const copies)(void*, const void*, std::size_t) = std::memcpy;
      copies(&mine->value, const_cast<int*>(mine->from->page(0)), sizeof(int));
    };
    Kind::spawn(restartable(copy, &me)).join();
    EXPECT_EQ(me.value, 1);
    EXPECT_EQ(me.begun, 2);
    server.close();
    pager.join();
  });
}

// The server is that of the scope to which the fiber's scope belongs.
KIND_TEST(Restartable, InAScopeWithinAScope) {
  this->run([] {
    const closed_pages pages(5);
    typename Kind::exception_server server;
    auto pager = serve_pages<Kind>(server, pages, true);
    reader me{&pages, 0, pages.count()};
    {
      typename Kind::scope outer(server);
      outer.spawn([&me] {
        typename Kind::scope inner;
        inner.spawn(restartable(read, &me));
        inner.join();
      });
      outer.join();
    }
    EXPECT_EQ(me.sum, 15);
    EXPECT_EQ(me.begun, 6);
    server.close();
    pager.join();
  });
}

}  // namespace
}  // namespace sennit
