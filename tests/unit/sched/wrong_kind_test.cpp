// Members of sennit::local in a fiber of a sennit::runtime, the other way round, and calls outside of fibers:
// the program ends with a message, in builds without assertions, too.
#include <gtest/gtest.h>

#include <chrono>
#include <mutex>
#include <string>

#include "sennit/become.hpp"
#include "sennit/local/channel.hpp"
#include "sennit/local/condition_variable.hpp"
#include "sennit/local/fiber.hpp"
#include "sennit/local/mutex.hpp"
#include "sennit/local/runtime.hpp"
#include "sennit/runtime.hpp"
#include "support/child.hpp"

namespace sennit {
namespace {

struct use {
  const char* name;
  void (*it)();
};

void lock_twice() {
  local::mutex mutex;
  mutex.lock();
  mutex.lock();
}
void wait_for_condition() {
  local::mutex mutex;
  local::condition_variable condition;
  std::unique_lock hold(mutex);
  condition.wait(hold);
}
void wait_for_time() {
  local::mutex mutex;
  local::condition_variable condition;
  std::unique_lock hold(mutex);
  condition.wait_for(hold, std::chrono::milliseconds(1));
}

class WrongKind : public testing::TestWithParam<use> {};

TEST_P(WrongKind, IsSaid) {
  const support::outcome said =
      support::in_child([] { runtime({.workers = 2, .report_deadlock = false}).run(GetParam().it); });
  EXPECT_TRUE(said.killed_by(SIGABRT)) << said;
  EXPECT_TRUE(said.says("sennit::local::runtime")) << said;
  EXPECT_TRUE(said.says(" \"main\" of a sennit::runtime")) << said;
}

INSTANTIATE_TEST_SUITE_P(
    Local, WrongKind,
    testing::Values(use{"Mutex", lock_twice}, use{"ConditionVariable", wait_for_condition},
                    use{"Deadline", wait_for_time}, use{"Send", [] { local::channel<int>().send(1); }},
                    use{"Receive", [] { local::channel<int>().receive(); }},
                    use{"Sleep", [] { local::this_fiber::sleep_for(std::chrono::milliseconds(1)); }},
                    use{"Park", [] { local::this_fiber::park(); }},
                    use{"Yield", [] { local::this_fiber::yield(); }},
                    use{"Spawn", [] { local::spawn([] {}).join(); }}),
    [](const testing::TestParamInfo<use>& each) { return each.param.name; });

struct named_use : use {
  const char* says;
};
class OfParallel : public testing::TestWithParam<named_use> {};

TEST_P(OfParallel, IsSaidInLocalFibers) {
  const support::outcome said = support::in_child([] { local::runtime().run(GetParam().it); });
  EXPECT_TRUE(said.killed_by(SIGABRT)) << said;
  EXPECT_TRUE(said.says(GetParam().says + std::string(": this is for fibers of a sennit::runtime"))) << said;
}
TEST_P(OfParallel, IsSaidWhereThereIsNoFiber) {
  const support::outcome said = support::in_child(GetParam().it);
  EXPECT_TRUE(said.killed_by(SIGABRT)) << said;
  EXPECT_TRUE(said.says(GetParam().says + std::string(": there is no fiber here"))) << said;
}

INSTANTIATE_TEST_SUITE_P(
    Use, OfParallel,
    testing::Values(named_use{{"Spawn", [] { spawn([] {}).join(); }}, "spawn"},
                    named_use{{"SpawnWithOptions", [] { spawn([] {}, {.name = "it"}).join(); }}, "spawn"},
                    named_use{{"SpawnContinuation", [] { spawn(become([] {})).join(); }}, "spawn"},
                    named_use{{"SpawnNow", [] { spawn_now([] {}).join(); }}, "spawn_now"},
                    named_use{{"Yield", [] { this_fiber::yield(); }}, "this_fiber::yield"},
                    named_use{{"Park", [] { this_fiber::park(); }}, "this_fiber::park"}),
    [](const testing::TestParamInfo<named_use>& each) { return each.param.name; });

TEST(OfLocal, SpawnIsSaidWhereThereIsNoFiber) {
  const support::outcome said = support::in_child([] { local::spawn([] {}).join(); });
  EXPECT_TRUE(said.killed_by(SIGABRT)) << said;
  EXPECT_TRUE(said.says("sennit: spawn: there is no fiber here")) << said;
}

}  // namespace
}  // namespace sennit
