// Fibers that resume without a stack when there is no memory for another stack, or for another descriptor.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <new>
#include <system_error>
#include <utility>
#include <vector>

#include "sennit/become.hpp"
#include "sennit/local/runtime.hpp"
#include "sennit/runtime.hpp"
#include "support/child.hpp"
#include "support/sanitizers.hpp"

namespace {

constexpr int passed = 0;
constexpr int unlimited = 77;

sennit::continuation count(int* calls) {
  ++*calls;
  return {};
}

// Stacks of parked fibers take all memory; then a fiber without a stack resumes.
template <class Fiber, class Spawn>
int exhaust(const Spawn& spawn) {
  int calls = 0;
  Fiber stackless = spawn(sennit::become(count, &calls));
  std::vector<Fiber> parked;
  parked.reserve(100'000);
  bool ended = false;
  const rlimit none{0, RLIM_INFINITY};
  setrlimit(RLIMIT_AS, &none);
  try {
    while (parked.size() < parked.capacity())
      parked.push_back(spawn([&] {
        while (!ended)
          sennit::this_fiber::park();
      }));
  } catch (const std::exception&) {
    stackless.unpark();
    stackless.join();
    ended = true;
    for (Fiber& each : parked) {
      each.unpark();
      each.join();
    }
    return calls == 1 ? passed : 1;
  }
  return unlimited;
}

// Descriptors take all memory. When memory is free again, more are made, and all fibers resume.
template <class Fiber, class Spawn>
int exhaust_descriptors(const Spawn& spawn) {
  std::size_t calls = 0;
  std::vector<Fiber> parked;
  parked.reserve(100'000);
  const auto park_until = [&](std::size_t count) {
    while (parked.size() < count)
      parked.push_back(spawn(sennit::become([](std::size_t* all) { ++*all; }, &calls)));
  };
  rlimit as_it_was;
  getrlimit(RLIMIT_AS, &as_it_was);
  const rlimit none{0, as_it_was.rlim_max};
  setrlimit(RLIMIT_AS, &none);
  try {
    park_until(parked.capacity());
    return unlimited;
  } catch (const std::bad_alloc&) {
    setrlimit(RLIMIT_AS, &as_it_was);
  }
  park_until(parked.size() + 10'000);
  for (Fiber& each : parked) {
    each.unpark();
    each.join();
  }
  return calls == parked.size() ? passed : 1;
}

// `run`, in a child process, which may so be left without memory.
template <class Run>
void expect_passed(Run run) {
#if defined(SUPPORT_ASAN) || defined(SUPPORT_TSAN)
  GTEST_SKIP() << "sanitizers do not live without memory";
#endif
  const support::outcome result = support::in_child([&] { _exit(run()); });
  if (result.exited(unlimited))
    GTEST_SKIP() << "RLIMIT_AS does not end the memory: an emulator, or other threads' arenas";
  EXPECT_TRUE(result.exited(passed)) << result;
}

template <class Function>
int run_locally(Function function) {
  sennit::local::runtime runtime;
  return runtime.run(
      [&] { return function([](auto begins) { return sennit::local::spawn(std::move(begins)); }); });
}

TEST(Exhausted, FibersOfALocalRuntimeGoOnWithTheLastStack) {
  expect_passed([] { return run_locally([](auto spawn) { return exhaust<sennit::local::fiber>(spawn); }); });
}

TEST(Exhausted, FibersOfAParallelRuntimeGoOnWithTheLastStack) {
  expect_passed([] {
    sennit::runtime runtime({.workers = 1});
    return runtime.run(
        [] { return exhaust<sennit::fiber>([](auto begins) { return sennit::spawn(std::move(begins)); }); });
  });
}

TEST(Exhausted, DescriptorsAreMadeAgainWhenThereIsMemory) {
  expect_passed([] {
    return run_locally([](auto spawn) { return exhaust_descriptors<sennit::local::fiber>(spawn); });
  });
}

}  // namespace
