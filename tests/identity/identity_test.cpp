// Which continuation it is does not depend on the addresses of functions.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <vector>

#include "other.hpp"
#include "sennit/become.hpp"
#include "support/kinds.hpp"

namespace {

using namespace std::chrono_literals;
using sennit::become;
using sennit::this_fiber::sleeping_until;
using steady = std::chrono::steady_clock;

// The same code as the other's.
struct second_kind {
  void operator()(std::atomic<int>* turns) const noexcept { ++*turns; }
};

template <class Function, class Wait = sennit::detail::put_off_wait>
sennit::detail::continuation_code& code_of() {
  return sennit::detail::blocked<Wait, Function, std::atomic<int>*>::code;
}

TEST(Identity, FunctionsAreFoldedAndContinuationsAreNot) {
  // What this is about has happened: two functions have one address.
  EXPECT_EQ(code_of<first_kind>().drop, code_of<second_kind>().drop);
  EXPECT_NE(&code_of<first_kind>(), &code_of<second_kind>());
  EXPECT_NE(static_cast<const void*>(&code_of<first_kind>()), code_in_shared_object());
}

// Whoever made them: the ones that wait for what may be put off are filed again, the others are woken.
TEST(Identity, EachContinuationIsRecognizedForWhatItIs) {
  sennit::runtime runtime({.workers = 1});
  runtime.run([] {
    time_to_end deadline = steady::now() + 1ms;
    const auto far = deadline.load() + 1h;
    std::atomic<int> put_off = 0;
    std::atomic<int> woken = 0;
    std::vector<sennit::fiber> all;
    all.push_back(sennit::spawn(become(sleeping_until(deadline), first_kind(), &put_off)));
    all.push_back(sennit::spawn(become(sleeping_until(deadline), second_kind(), &put_off)));
    all.push_back(begin_in_shared_object(deadline, put_off));
    std::vector<sennit::fiber> sleepers;
    sleepers.push_back(sennit::spawn(become(sleeping_until(deadline.load()), first_kind(), &woken)));
    sleepers.push_back(sennit::spawn(become(sleeping_until(deadline.load()), second_kind(), &woken)));
    deadline = far;
    for (auto& each : sleepers)
      each.join();
    auto& timers = sennit::detail::running_parallel().timers;
    for (int i = 0; timers.earliest() != far && i < 1000; ++i)
      sennit::this_fiber::sleep_for(1ms);
    EXPECT_EQ(timers.earliest(), far);
    EXPECT_EQ(sennit::stackless(), all.size());
    EXPECT_EQ(put_off, 0);
    EXPECT_EQ(woken, 2);
    for (auto& each : all)
      each.detach();  // until the runtime ends, before which `deadline` is not looked at any more
  });
}

}  // namespace
