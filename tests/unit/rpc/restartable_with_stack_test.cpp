// Where a fiber keeps its stack at a fault although its function is restartable, and repeats the instruction.
#include <signal.h>
#include <sys/mman.h>

#include <atomic>
#include <cstring>

#include "restartable.hpp"
#include "sennit/generator.hpp"
#include "sennit/stop_guard.hpp"

namespace sennit {
namespace {

template <class Kind>
class RestartableWithStack : public exception_servers<Kind> {};

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

KIND_TEST(RestartableWithStack, IfAFunctionHasSomethingToDestroy) {
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
KIND_TEST(RestartableWithStack, IfTheFaultingFunctionMayHaveSomethingToDestroy) {
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

KIND_TEST(RestartableWithStack, UnderAShieldAndWhileAnExceptionIsHandled) {
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

KIND_TEST(RestartableWithStack, InAGenerator) {
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
KIND_TEST(RestartableWithStack, IfTheTableDoesNotTellWhatLivesAtTheFault) {
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

KIND_TEST(RestartableWithStack, UnderAGuard) {
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

KIND_TEST(RestartableWithStack, InASignalHandler) {
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
KIND_TEST(RestartableWithStack, AboveCodeWithoutUnwindTables) {
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

KIND_TEST(RestartableWithStack, ACallOfNowhereIsServed) {
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

KIND_TEST(RestartableWithStack, BelongsToOneFiber) {
  this->run([] { keeps_its_stack<Kind>([](reader* me) { Kind::spawn([me] { add_page(me); }).join(); }); });
}

}  // namespace
}  // namespace sennit
