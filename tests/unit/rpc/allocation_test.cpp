// Calls of ports, upcalls, and loops by continuation allocate nothing, once fibers have their stacks.
#include <gtest/gtest.h>

#include <atomic>
#include <cstddef>
#include <type_traits>
#include <utility>

#include "ports.hpp"
#include "sennit/become.hpp"
#include "sennit/local/upcall_pool.hpp"
#include "sennit/upcall_pool.hpp"
#include "support/kinds.hpp"

#if !defined(SENNIT_SANITIZED)  // sanitizers have allocators of their own

namespace {

std::atomic<unsigned> allocations = 0;

}  // namespace

extern "C" {

void* __libc_malloc(std::size_t size);
void* __libc_memalign(std::size_t alignment, std::size_t size);

// What operator new and the library get their memory by.
void* malloc(std::size_t size) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  return __libc_malloc(size);
}
void* aligned_alloc(std::size_t alignment, std::size_t size) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  return __libc_memalign(alignment, size);
}

}  // extern "C"

namespace {

using sennit::become;
using sennit::continuation;

constexpr int call_count = 1'000;

// What a thousand calls allocate, once fibers have their stacks: a worker makes one for the first that it
// takes over without, which may be at any time.
template <class Round>
unsigned allocated_by(Round&& round) {
  unsigned made = 1;
  for (int i = 0; i < 2 || (made != 0 && i < 50); ++i) {
    const unsigned before = allocations;
    round();
    made = allocations - before;
  }
  return made;
}

template <class Kind>
class Allocations : public sennit::port_test<Kind> {
public:
  using typename sennit::port_test<Kind>::numbers;

  static unsigned of_calls(numbers& port) {
    return allocated_by([&] {
      for (int i = 0; i < call_count; ++i)
        EXPECT_EQ(port.call(i), 2 * i);
    });
  }

  // A client that calls without a stack.
  struct client {
    numbers* port;
    int* left;
  };
  static continuation ask(client self) {
    if (--*self.left == 0)
      return {};
    return become(self.port->calling(7), take, self);
  }
  static continuation take(client self, typename numbers::answer answer) {
    EXPECT_EQ(answer.get(), 14);
    return ask(self);
  }
};

KIND_TEST(Allocations, AreSeen) {
  const unsigned before = allocations;
  int* volatile made = new int;  // volatile: or compilers remove it as unused
  delete made;
  EXPECT_GT(allocations, before);
}

KIND_TEST(Allocations, AServerWithAStackMakesNone) {
  this->run([] {
    typename Allocations<Kind>::numbers port;
    auto server = Allocations<Kind>::serve(port);
    EXPECT_EQ(Allocations<Kind>::of_calls(port), 0u);
    port.close();
    server.join();
  });
}

KIND_TEST(Allocations, AServerWithoutAStackMakesNone) {
  this->run([] {
    typename Allocations<Kind>::numbers port;
    auto server = Allocations<Kind>::serve_without_a_stack(port);
    EXPECT_EQ(Allocations<Kind>::of_calls(port), 0u);
    port.close();
    server.join();
  });
}

KIND_TEST(Allocations, BothSidesWithoutAStackMakeNone) {
  this->run([] {
    using test = Allocations<Kind>;
    typename test::numbers port;
    auto server = test::serve_without_a_stack(port);
    const unsigned made = allocated_by([&] {
      int left = call_count;
      Kind::spawn([&] { return test::ask({&port, &left}); }).join();
    });
    EXPECT_EQ(made, 0u);
    port.close();
    server.join();
  });
}

KIND_TEST(Allocations, CallersWhoRunTheServersFunctionMakeNone) {
  this->run([] {
    typename Allocations<Kind>::numbers port;
    auto server = Kind::spawn([&] { port.serve_in_callers([](int x) { return 2 * x; }); });
    EXPECT_EQ(Allocations<Kind>::of_calls(port), 0u);
    port.close();
    server.join();
  });
}

KIND_TEST(Allocations, UpcallsMakeNone) {
  this->run([] {
    using events = std::conditional_t<std::is_same_v<Kind, sennit::local_kind>, sennit::local::upcall_pool,
                                      sennit::upcall_pool>;
    events pool;
    std::atomic<int> called = 0;
    int posted = 0;
    const unsigned made = allocated_by([&] {
      for (int i = 0; i < call_count; ++i, ++posted)
        EXPECT_TRUE(pool.post([&called] { ++called; }));
      while (called != posted)
        Kind::yield();
    });
    EXPECT_EQ(made, 0u);
  });
}

// What a fiber keeps while it yields without a stack, over and over.
template <std::size_t size>
struct kept {
  int* left;
  std::byte more[size - sizeof(int*)];
};
template <std::size_t size>
continuation go_round(kept<size> state) {
  if (--*state.left == 0)
    return {};
  return become(sennit::this_fiber::yielding(), go_round<size>, state);
}

template <class Kind, std::size_t... sizes>
void expect_no_allocations(std::index_sequence<sizes...>) {
  const auto expect = [](auto begin, std::size_t size) {
    const unsigned made = allocated_by([&] {
      int left = call_count;
      Kind::spawn([&] { return begin(&left); }).join();
    });
    EXPECT_EQ(made, 0u) << "with a state of " << size << " bytes";
  };
  (expect([](int* left) { return go_round<sizes>({left, {}}); }, sizes), ...);
}

KIND_TEST(Allocations, LoopsByContinuationMakeNone) {
  this->run([] {
    expect_no_allocations<Kind>(std::index_sequence<40, 48, 56, 200, 440, 456, 1'000, 3'000, 10'000>());
  });
}

// Outside of a worker there is no pool.
template <std::size_t size>
unsigned allocated_for_state() {
  const unsigned before = allocations;
  const continuation made = become(sennit::this_fiber::yielding(), go_round<size>, kept<size>{});
  EXPECT_TRUE(made);
  return allocations - before;
}

TEST(ContinuationState, NeedsMemoryOnlyWhereADescriptorHasNoRoom) {
  EXPECT_EQ(allocated_for_state<16>(), 0u);
  EXPECT_EQ(allocated_for_state<40>(), 0u);  // beside it, the function
  EXPECT_EQ(allocated_for_state<48>(), 1u);
  EXPECT_EQ(allocated_for_state<1'000>(), 1u);
}

}  // namespace

#endif
