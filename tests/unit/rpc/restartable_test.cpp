// Fibers that give up their stack because of a fault, in both kinds of runtime.
#include <signal.h>
#include <sys/mman.h>

#include <atomic>
#include <cstring>
#include <memory>
#include <new>
#include <string>
#include <vector>

#include "exception_servers.hpp"
#include "sennit/become.hpp"
#include "sennit/fiber_local.hpp"
#include "sennit/generator.hpp"
#include "sennit/scope.hpp"
#include "sennit/stop_guard.hpp"

namespace sennit {
namespace {

template <class Kind>
class Restartable : public exception_servers<Kind> {};

// Pages that may not be touched. Page n holds n + 1 once it is open.
class closed_pages {
public:
  explicit closed_pages(std::size_t count) : count_(count) {
    at_ = static_cast<char*>(::mmap(nullptr, size(), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    if (at_ == MAP_FAILED)
      std::abort();
  }
  ~closed_pages() { ::munmap(at_, size()); }
  closed_pages(const closed_pages&) = delete;
  closed_pages& operator=(const closed_pages&) = delete;

  std::size_t count() const { return count_; }
  volatile int* page(std::size_t n) const {
    return reinterpret_cast<volatile int*>(at_ + n * support::page_size);
  }
  void open(void* touched) const {
    const auto n = static_cast<std::size_t>(static_cast<char*>(touched) - at_) / support::page_size;
    ASSERT_LT(n, count_);
    EXPECT_EQ(::mprotect(at_ + n * support::page_size, support::page_size, PROT_READ | PROT_WRITE), 0);
    *page(n) = static_cast<int>(n) + 1;
  }

private:
  std::size_t size() const { return count_ * support::page_size; }
  std::size_t count_;
  char* at_;
};

// Adds up pages.
struct reader {
  const closed_pages* pages;
  std::size_t next = 0;
  std::size_t end = 0;
  long sum = 0;
  int begun = 0;
};
[[gnu::noinline]] continuation read(reader* me) {
  ++me->begun;
  for (; me->next != me->end; ++me->next) {
    std::atomic_signal_fence(std::memory_order_seq_cst);
    me->sum += *me->pages->page(me->next);
  }
  return {};
}

struct touched_once {
  volatile int* at;
  int begun = 0;
};
[[gnu::noinline]] continuation touch(touched_once* me) {
  ++me->begun;
  std::atomic_signal_fence(std::memory_order_seq_cst);
  *me->at = 1;
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

// A server that opens the page, until it is closed. `wanted`: whether the fibers are to have no stack.
template <class Kind>
typename Kind::fiber serve_pages(typename Kind::exception_server& server, const closed_pages& pages,
                                 bool wanted) {
  return Kind::spawn([&server, &pages, wanted] {
    while (auto fault = server.receive()) {
      EXPECT_EQ(fault.stackless(), wanted);
      pages.open(fault.address());
      fault.reply(verdict::resume);
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

KIND_TEST(Restartable, TheEndOfItsRuntimeEndsTheWait) {
  static touched_once me;
  me = {nowhere};
  const auto server = std::make_shared<typename Kind::exception_server>();
  this->run([server] {
    Kind::spawn([server] {
      typename Kind::scope scope(*server);
      scope.spawn(restartable(touch, &me));
      scope.join();
    }).detach();
    until_stackless<Kind>(1);
  });
  EXPECT_EQ(me.begun, 1);
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
    reader other{&pages, 0, 1};
    other.pages = &more;
    server.close();
    pager.join();
    typename Kind::exception_server second;
    const typename Kind::scope unused;
    typename Kind::scope scope(second);
    auto opens = serve_pages<Kind>(second, more, false);
    scope.spawn(restartable(leaves, &other));
    scope.join();
    EXPECT_EQ(other.sum, 1);
    second.close();
    opens.join();
  });
}

// ---- Where the fiber keeps its stack, and repeats the instruction.

[[gnu::noinline]] void may_throw(const reader* of) {
  if (of->end == 0)
    throw 1;
}

// May throw, as far as compilers see: they leave calls out of tables that cannot.
[[gnu::noinline]] void add_page(reader* to) {
  if (to->end == 0)
    throw 1;
  std::atomic_signal_fence(std::memory_order_seq_cst);
  to->sum += *to->pages->page(to->next);
}

template <class Kind>
void keeps_its_stack(void (*read_once)(reader* me)) {
  const closed_pages pages(1);
  typename Kind::exception_server server;
  const typename Kind::runtime_exception_guard all(server);
  auto pager = serve_pages<Kind>(server, pages, false);
  struct reading {
    reader of;
    void (*read_once)(reader* me);
    int ends = 0;
  } me{{&pages, 0, 1}, read_once};
  Kind::spawn(restartable(
                  [](reading* mine) {
                    ++mine->of.begun;
                    mine->read_once(&mine->of);
                    ++mine->ends;
                  },
                  &me))
      .join();
  EXPECT_EQ(me.of.sum, 1);
  EXPECT_EQ(me.of.begun, 1);
  EXPECT_EQ(me.ends, 1);
  server.close();
  pager.join();
}

KIND_TEST(Restartable, KeepsTheStackIfAFunctionHasSomethingToDestroy) {
  this->run([] {
    keeps_its_stack<Kind>([](reader* me) {
      static volatile int ended;
      struct noted {
        ~noted() { ended = ended + 1; }
      } const owns;
      add_page(me);
    });
  });
}

// In the function that faults: its table does not say what holds for an instruction that calls nothing.
KIND_TEST(Restartable, KeepsTheStackIfTheFaultingFunctionMayHaveSomethingToDestroy) {
  this->run([] {
    keeps_its_stack<Kind>([](reader* me) {
      static volatile int ended;
      struct noted {
        ~noted() { ended = ended + 1; }
      } const owns;
      may_throw(me);  // so there is a table
      std::atomic_signal_fence(std::memory_order_seq_cst);
      me->sum += *me->pages->page(0);
    });
  });
}

KIND_TEST(Restartable, KeepsTheStackUnderAShieldAndWhileAnExceptionIsHandled) {
  this->run([] {
    keeps_its_stack<Kind>([](reader* me) {
      const stop_shield shield;
      add_page(me);
    });
    keeps_its_stack<Kind>([](reader* me) {
      try {
        throw 1;
      } catch (int) {
        add_page(me);
      }
    });
  });
}

KIND_TEST(Restartable, KeepsTheStackInAGenerator) {
  this->run([] {
    keeps_its_stack<Kind>([](reader* me) {
      generator<int> one([me](auto& yield) {
        add_page(me);
        yield(1);
      });
      for (const int value : one)
        EXPECT_EQ(value, 1);
    });
  });
}

// Its entries extend over what lies between two calls, and over what lives there.
KIND_TEST(Restartable, KeepsTheStackIfTheTableDoesNotTellWhatLivesAtTheFault) {
  this->run([] {
    keeps_its_stack<Kind>([](reader* me) {
      static volatile int ended;
      struct noted {
        ~noted() { ended = ended + 1; }
      };
      {
        const noted first;
        may_throw(me);
      }
      may_throw(me);
      {
        const noted second;
        std::atomic_signal_fence(std::memory_order_seq_cst);
        me->sum += *me->pages->page(0);
      }
      may_throw(me);
    });
  });
}

KIND_TEST(Restartable, KeepsTheStackUnderAGuard) {
  this->run([] {
    const closed_pages pages(1);
    typename Kind::exception_server of_guard, of_runtime;
    const typename Kind::runtime_exception_guard all(of_runtime);
    auto pager = serve_pages<Kind>(of_guard, pages, false);
    struct guarded_reader {
      reader of;
      typename Kind::exception_server* server;
    } me{{&pages, 0, 1}, &of_guard};
    Kind::spawn(restartable(
                    [](guarded_reader* mine) {
                      const typename Kind::exception_guard guard(*mine->server);
                      ++mine->of.begun;
                      std::atomic_signal_fence(std::memory_order_seq_cst);
                      mine->of.sum += *mine->of.pages->page(0);
                    },
                    &me))
        .join();
    EXPECT_EQ(me.of.begun, 1);
    EXPECT_EQ(me.of.sum, 1);
    of_guard.close();
    pager.join();
  });
}

KIND_TEST(Restartable, KeepsTheStackInASignalHandler) {
  static reader* reading;
  this->run([] {
    keeps_its_stack<Kind>([](reader* me) {
      reading = me;
      struct sigaction action{};
      action.sa_handler = [](int) { add_page(reading); };
      struct sigaction before;
      ::sigaction(SIGUSR1, &action, &before);
      ::raise(SIGUSR1);
      ::sigaction(SIGUSR1, &before, nullptr);
    });
  });
}

#if defined(__x86_64__)
// A function without unwind tables, which calls another one.
KIND_TEST(Restartable, KeepsTheStackAboveCodeWithoutUnwindTables) {
  static void (*through)(reader*);
  unsigned char code[sizeof calls_a_function];
  std::memcpy(code, calls_a_function, sizeof code);
  void (*const called)(reader*) = add_page;
  std::memcpy(code + called_function_at, &called, sizeof called);
  void* const at = ::mmap(nullptr, support::page_size, PROT_READ | PROT_WRITE | PROT_EXEC,
                          MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(at, MAP_FAILED);
  std::memcpy(at, code, sizeof code);
  through = reinterpret_cast<void (*)(reader*)>(at);
  this->run([] { keeps_its_stack<Kind>([](reader* me) { through(me); }); });
  ::munmap(at, support::page_size);
}
#endif

KIND_TEST(Restartable, ACallOfNowhereIsServed) {
  this->run([] {
    typename Kind::exception_server server;
    const typename Kind::runtime_exception_guard all(server);
    auto kills = exception_servers<Kind>::serve(server, 1, [](auto& fault) {
      EXPECT_FALSE(fault.stackless());
      return verdict::kill;
    });
    touched_once me{nullptr};
    Kind::spawn(restartable(
                    [](touched_once* mine) {
                      ++mine->begun;
                      static void (*volatile const called)() = reinterpret_cast<void (*)()>(0x10);
                      called();
                    },
                    &me))
        .join();
    kills.join();
    EXPECT_EQ(me.begun, 1);
  });
}

KIND_TEST(Restartable, DoesNotBeginAgainWhenItsRuntimeEnds) {
  static touched_once me;
  me = {nowhere};
  const auto server = std::make_shared<typename Kind::exception_server>();
  this->run([server] {
    Kind::spawn([server] {
      typename Kind::scope scope(*server);
      scope.spawn(restartable(touch, &me));
      scope.join();
    }).detach();
    server->receive().reply(verdict::resume);
  });
  EXPECT_LE(me.begun, Kind::params[0].workers == 0 ? 1 : 2);
}

KIND_TEST(Restartable, BelongsToOneFiber) {
  this->run([] { keeps_its_stack<Kind>([](reader* me) { Kind::spawn([me] { add_page(me); }).join(); }); });
}

// ---- Where it gives it up.

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
