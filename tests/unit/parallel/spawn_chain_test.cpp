// Fibers each of which starts the next one and ends, so that none ever waits: the clock and the host are
// still checked.
#include <gtest/gtest.h>

#include <utility>

#include "sennit/local/runtime.hpp"
#include "support/policies.hpp"

namespace sennit::inline v0_1::local {
namespace {

using namespace std::chrono_literals;

class spawn_chain {
public:
  explicit spawn_chain(bool keeps_handles) : keeps_handles_(keeps_handles) { next(); }
  // Waits for the last one.
  void stop() {
    stopped_ = true;
    while (runs_)
      this_fiber::yield();
  }
  long started() const { return started_; }
  bool gave_up() const { return started_ == most; }

private:
  static constexpr long most = 3'000'000;
  void next() {
    runs_ = !stopped_ && !gave_up();
    if (!runs_)
      return;
    ++started_;
    fiber made = spawn([this] { next(); });
    if (!keeps_handles_)
      return made.detach();
    std::swap(handles_[started_ % 2], made);  // now the one before the last, which has ended
    if (made.joinable())
      made.join();
  }
  const bool keeps_handles_;
  bool runs_ = false;
  bool stopped_ = false;
  long started_ = 0;
  fiber handles_[2];
};

class LocalSpawnChain : public testing::TestWithParam<run_policy> {
protected:
  runtime rt{{.policy = GetParam()}};
};
INSTANTIATE_TEST_SUITE_P(Policies, LocalSpawnChain, support::every_policy(), support::policy_name);

TEST_P(LocalSpawnChain, DoesNotDelayDeadlines) {
  for (const bool keeps_handles : {false, true})
    rt.run([&] {
      spawn_chain all(keeps_handles);
      this_fiber::sleep_for(1ms);
      EXPECT_FALSE(all.gave_up()) << keeps_handles;
      all.stop();
    });
}

TEST_P(LocalSpawnChain, IsNotOneRoundOfRunOnce) {
  const spawn_chain* all = nullptr;
  fiber main = rt.spawn([&] {
    spawn_chain those(true);
    all = &those;
    this_fiber::sleep_for(1ms);
    those.stop();
    all = nullptr;
  });
  for (long before = 0; rt.run_once();) {
    const long started = all != nullptr ? all->started() : 0;
    EXPECT_LT(started - std::exchange(before, started), 1'000);
  }
}

}  // namespace
}  // namespace sennit::inline v0_1::local
