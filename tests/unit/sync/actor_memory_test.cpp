// What idle actors without a stack take of the process' memory: descriptors, cells and all that the allocator
// adds.
#include <gtest/gtest.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <variant>

#include "support/process.hpp"
#include "unit/sync/actor_support.hpp"

namespace sennit {
namespace {

constexpr std::size_t actor_bytes_limit = 256;

// By how much the process grows for each of `count` idle actors, except for the references to them. They have
// handled messages, of which some were queued.
template <class Kind, class M>
double idle_actor_bytes(std::size_t count) {
  using actors = actors_of<Kind>;
  std::atomic<std::size_t> handled{0};
  const auto all = std::make_unique<typename actors::template ref<M>[]>(count);
  for (std::size_t i = 0; i < count; ++i)
    all[i] = {};  // touches the pages
  const std::size_t before = support::anonymous_bytes();
  for (std::size_t i = 0; i < count; ++i) {
    all[i] = actors::template spawn<M>([&handled](const M&) { ++handled; });
    for (int message = 0; message < 3; ++message)
      all[i].send(M());
    while (handled != 3 * (i + 1))
      Kind::yield();
  }
  until_stackless<Kind>(count);
  const std::size_t after = support::anonymous_bytes();
  EXPECT_EQ(handled, 3 * count);
  for (std::size_t i = 0; i < count; ++i)
    all[i].stop();
  for (std::size_t i = 0; i < count; ++i)
    all[i].wait();
  return static_cast<double>(after - before) / static_cast<double>(count);
}

template <class Kind>
void expect_small_actors() {
#if defined(SENNIT_SANITIZED) || !defined(__x86_64__)
  GTEST_SKIP() << "sanitizers and emulators take memory of their own for the program's";
#endif
  struct request {
    typename Kind::template promise<int> reply;
    int amount = 0;
  };
  using message = std::variant<int, request>;
  static_assert(sizeof(message) == 24);
  Kind().run([] {
    constexpr std::size_t count = std::size_t{1} << 16;
    idle_actor_bytes<Kind, std::uint64_t>(10);  // what the process takes for itself
    EXPECT_LE((idle_actor_bytes<Kind, std::uint64_t>(count)), actor_bytes_limit + 1);
    EXPECT_LE((idle_actor_bytes<Kind, message>(count)), actor_bytes_limit + 1);
  });
}

TEST(ActorMemory, OfIdleActorsOfALocalRuntimeIsSmall) {
  expect_small_actors<local_kind>();
}

TEST(ActorMemory, OfIdleActorsOfAParallelRuntimeIsSmall) {
  expect_small_actors<parallel_kind>();
}

}  // namespace
}  // namespace sennit
