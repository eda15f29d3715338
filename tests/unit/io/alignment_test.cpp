// Objects of the user are aligned as their type asks, wherever Sennit keeps them.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "sennit/coroutine.hpp"
#include "sennit/fiber_local.hpp"
#include "sennit/generator.hpp"
#include "sennit/offload.hpp"
#include "sennit/on_large_stack.hpp"
#include "sennit/select.hpp"
#include "support/kinds.hpp"

namespace sennit {
namespace {

using namespace std::chrono_literals;

std::atomic<int> misaligned = 0;

template <std::size_t alignment>
struct alignas(alignment) value {
  explicit value(int of = 7) noexcept : number(of) { look(); }
  value(const value& other) noexcept : number(other.number) { look(); }
  value& operator=(const value& other) noexcept {
    number = other.number;
    look();
    return *this;
  }
  ~value() { look(); }
  // Not inlined: a compiler that sees the type would take the alignment for granted.
  [[gnu::noinline]] void look() const noexcept {
    if (address_of(this) % alignment != 0)
      ++misaligned;
  }
  static std::uintptr_t address_of(const void* object) noexcept {
    std::uintptr_t address;
    __asm__("" : "=r"(address) : "0"(object));
    return address;
  }
  int number;
};

template <class V>
fiber_local<V> local_value;

// Stacks for many local variables of such types at -O0.
constexpr std::size_t large_stack = std::size_t{4} << 20;

template <class V, template <class> class Future>
Future<V> keeps(V parameter, Future<void> until) {
  V variable(parameter.number + 1);
  co_await until;
  variable.look();
  parameter.look();
  co_return V(parameter.number + variable.number);
}

template <class Kind, class V>
struct checks {
  static auto spawn(auto function) { return Kind::spawn(std::move(function), {.stack_size = large_stack}); }

  static void fibers() {
    auto child = spawn([captured = V()] {
      captured.look();
      const V variable;
      local_value<V>->look();
      Kind::yield();
      EXPECT_EQ(captured.number + variable.number + local_value<V>->number, 21);
      variable.look();
    });
    child.join();
    EXPECT_EQ(on_large_stack([captured = V(3)] { return V(captured.number); }).number, 3);
    EXPECT_EQ(offload([captured = V(4)] { return V(captured.number); }).number, 4);
    typename Kind::scope children;
    children.spawn([captured = V(5)] { captured.look(); }, {.stack_size = large_stack});
  }

  static void channels() {
    for (const std::size_t capacity : {0, 2}) {
      typename Kind::template channel<V> values(capacity);
      auto sender = spawn([&] {
        for (int i = 0; i < 5; ++i)
          values.send(V(i));
        V last(5);
        select(on_send(values, last, [](bool) {}));
        values.close();
      });
      std::optional<V> first;
      select(on_receive(values, [&](std::optional<V> got) { first = std::move(got); }));
      EXPECT_EQ(first->number, 0);
      EXPECT_EQ(values.receive_until(std::chrono::steady_clock::now() + 10min)->number, 1);
      int sum = 0;
      for (const V& each : values)
        sum += each.number;
      EXPECT_EQ(sum, 2 + 3 + 4 + 5);
      sender.join();
    }
  }

  static void futures() {
    typename Kind::template promise<V> promise;
    auto future = promise.get_future();
    promise.set_value(V(2));
    EXPECT_EQ(future.get().number, 2);
    in_coroutine_frames();
  }

  // Frames whose memory lies at different multiples of 16.
  static void in_coroutine_frames() {
    const int before = misaligned;
    for (std::size_t i = 0; i < 8; ++i) {
      typename Kind::template promise<void> go_on;
      auto result = keeps<V, Kind::template future>(V(10), go_on.get_future());
      const auto between = std::make_unique<std::byte[]>(24 + 16 * i);
      go_on.set_value();
      EXPECT_EQ(result.get().number, 21);
    }
    EXPECT_EQ(misaligned - before, 0) << "of " << alignof(V);
  }

  static void ports() {
    typename Kind::template port<V, V> port;
    auto server = spawn([&] { port.serve([](V request) { return V(request.number + 1); }); });
    EXPECT_EQ(port.call(V(1)).number, 2);
    port.close();
    server.join();
  }

  static void coroutines() {
    int sum = 0;
    for (const V& each : generator<V>(
             [captured = V(1)](auto& yield) {
               captured.look();
               for (int i = 0; i < 3; ++i)
                 yield(V(i + captured.number));
             },
             large_stack))
      sum += each.number;
    EXPECT_EQ(sum, 6);
    coroutine<V(V)> doubles(
        [captured = V(2)](auto& self, V in) {
          for (int i = 0; i < 2; ++i)
            in = self.yield(V(in.number * captured.number));
          return V(in.number);
        },
        large_stack);
    EXPECT_EQ(doubles(V(3)).number, 6);
    EXPECT_EQ(doubles(V(4)).number, 8);
    EXPECT_EQ(doubles(V(5)).number, 5);
  }

  static void all() {
    const int before = misaligned;
    fibers();
    channels();
    futures();
    ports();
    coroutines();
    EXPECT_EQ(misaligned - before, 0) << "of " << alignof(V);
  }
};

template <class Kind>
class Alignment : public kind_test<Kind> {};

KIND_TEST_UP_TO(2, Alignment, OfValuesIsAsTheirTypesAsk) {
  this->run([] {
    checks<Kind, value<64>>::spawn([] {
      checks<Kind, value<64>>::all();
      checks<Kind, value<4096>>::all();
      checks<Kind, value<16>>::in_coroutine_frames();
      checks<Kind, value<32>>::in_coroutine_frames();
      checks<Kind, value<128>>::in_coroutine_frames();
    }).join();
  });
}

// Through the runtimes' own functions: run(), post() and spawn() from a thread.
template <class Runtime>
void runtime_keeps_alignment(Runtime&& runtime) {
  using V = value<64>;
  const int before = misaligned;
  std::atomic<int> posted = 0;
  runtime.post([&posted, captured = V(1)] { posted = captured.number; });
  EXPECT_EQ(runtime.run([captured = V(2)] { return captured; }).number, 2);
  auto spawned = runtime.spawn([captured = V(3)] { captured.look(); });
  runtime.run([&] {
    spawned.join();
    while (posted == 0)
      detail::in_fiber() && detail::this_parallel() != nullptr ? this_fiber::yield()
                                                               : local::this_fiber::yield();
  });
  EXPECT_EQ(misaligned - before, 0);
}

TEST(AlignmentOfPosts, IsAsTheirTypesAsk) {
  runtime_keeps_alignment(runtime({.workers = 2}));
  runtime_keeps_alignment(local::runtime());
}

}  // namespace
}  // namespace sennit
