// What fibers that are parked without a stack take of the process' memory.
#include <gtest/gtest.h>

#include <cstddef>

#include "sennit/become.hpp"
#include "support/kinds.hpp"
#include "support/process.hpp"

namespace {

// By how much the process grows while so many are parked.
template <class Kind>
std::size_t grown_by(std::size_t count) {
  typename Kind::event gate;
  typename Kind::wait_group left(count);
  const std::size_t before = support::anonymous_bytes();
  for (std::size_t i = 0; i < count; ++i)
    Kind::spawn(sennit::become(
                    gate.waiting(), [](typename Kind::wait_group* all) { all->done(); }, &left))
        .detach();
  sennit::until_stackless<Kind>(count);
  const std::size_t after = support::anonymous_bytes();
  gate.set();
  left.wait();
  return after - before;
}

template <class Kind>
void expect_a_descriptor_each() {
#if defined(SENNIT_SANITIZED) || !defined(__x86_64__)
  GTEST_SKIP() << "sanitizers and emulators take memory of their own for the program's";
#endif
  Kind().run([] {
    constexpr std::size_t count = std::size_t{1} << 19;
    grown_by<Kind>(1);  // what the process takes for itself
    EXPECT_LE(static_cast<double>(grown_by<Kind>(count)) / count, sizeof(sennit::detail::fiber) + 0.05);
  });
}

TEST(ParkedMemory, OfALocalRuntimesFibersIsTheirDescriptors) {
  expect_a_descriptor_each<sennit::local_kind>();
}

TEST(ParkedMemory, OfAParallelRuntimesFibersIsTheirDescriptors) {
  expect_a_descriptor_each<sennit::parallel_kind>();
}

}  // namespace
