// The ends of actors: monitors, links, scopes and the end of the runtime.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <vector>

#include "unit/sync/actor_support.hpp"

namespace sennit {
namespace {

using namespace std::chrono_literals;
using steady = std::chrono::steady_clock;

template <class Kind>
class ActorEnds : public actor_test<Kind> {};

KIND_TEST(ActorEnds, MonitorsTellTheReason) {
  using test = ActorEnds<Kind>;
  this->run([] {
    std::vector<exit_reason> seen;
    std::string text;
    std::atomic<int> told{0};
    auto watcher = actors_of<Kind>::template spawn<actor_exit>([&](const actor_exit& exit) {
      seen.push_back(exit.reason);
      try {
        if (exit.error != nullptr)
          std::rethrow_exception(exit.error);
      } catch (const std::runtime_error& error) {
        text += error.what();
      }
      ++told;
    });
    const auto notice = [](const actor_exit& exit) { return exit; };
    for (const bool has_stack : {true, false}) {
      seen.clear();
      text.clear();
      told = 0;
      for (int end = 0; end < 4; ++end) {
        auto watched = test::adder(has_stack);
        if (end != 3)
          watched.monitor(watcher, notice);
        if (end == 0)
          watched.send(typename test::fail{});
        else if (end == 1)
          watched.stop();
        else
          watched.cancel();
        watched.wait();
        if (end == 3)
          watched.monitor(watcher, notice);  // it has ended already
        while (told != end + 1)
          Kind::yield();
      }
      EXPECT_EQ(seen, (std::vector{exit_reason::failed, exit_reason::stopped, exit_reason::cancelled,
                                   exit_reason::cancelled}));
      EXPECT_EQ(text, "failed");
    }
  });
}

KIND_TEST(ActorEnds, MonitorsEndWhenAStopIsRequested) {
  this->run([] {
    std::atomic<int> notices{0};
    auto watcher = actors_of<Kind>::template spawn<int>([&](int each) { notices += each; });
    auto watched = actors_of<Kind>::template spawn<int>([](int) {});
    std::stop_source stopped;
    std::stop_source not_stopped;
    watched.monitor(watcher, [](const actor_exit&) { return 1; }, stopped.get_token());
    watched.monitor(watcher, [](const actor_exit&) { return 10; }, not_stopped.get_token());
    Kind::sleep_for(1ms);
    stopped.request_stop();
    until_stackless<Kind>(3);  // the watcher, the watched actor and a monitor
    watched.stop();
    while (notices != 10)
      Kind::yield();
    watcher.stop();
    watcher.wait();
    EXPECT_EQ(notices, 10);
  });
}

KIND_TEST(ActorEnds, AFullWatcherDelaysOnlyItsNotices) {
  using inbox = typename actors_of<Kind>::template inbox<int>;
  this->run([] {
    typename Kind::event go;
    std::atomic<int> notices{0};
    auto watcher = actors_of<Kind>::template spawn<int>(
        [&](inbox& in) {
          go.wait();
          for (const int each : in)
            notices += each;
        },
        typename actors_of<Kind>::options{.mailbox = 1});
    auto gone = actors_of<Kind>::template spawn<int>([](int) {});
    {
      auto watched = actors_of<Kind>::template spawn<int>([](int) {});
      for (int i = 0; i < 5; ++i)
        watched.monitor(watcher, [](const actor_exit&) { return 1; });
      watched.monitor(gone, [](const actor_exit&) { return 1; });
      gone.cancel();
      watched.stop();
      watched.wait();  // not held up by its watchers
    }
    go.set();
    while (notices != 5)
      Kind::yield();
    watcher.stop();
    watcher.wait();
  });
}

KIND_TEST(ActorEnds, LinkedActorsFailTogether) {
  using test = ActorEnds<Kind>;
  this->run([] {
    for (const bool has_stack : {true, false}) {
      // A chain: the failure passes through all.
      std::vector<typename test::ref> chain;
      for (int i = 0; i < 4; ++i) {
        chain.push_back(test::adder(has_stack == (i % 2 == 0)));
        if (i != 0)
          chain[static_cast<std::size_t>(i)].link(chain[static_cast<std::size_t>(i) - 1]);
      }
      auto apart = test::adder(has_stack);
      apart.link(chain[0]);
      apart.stop();  // an orderly end has no effect
      apart.wait();
      EXPECT_EQ(test::sum_of(chain[0]).value_or(-1), 0);
      chain[1].send(typename test::fail{});
      for (auto& each : chain) {
        const actor_exit exit = each.wait();
        EXPECT_EQ(exit.reason, exit_reason::failed);
        EXPECT_THROW(std::rethrow_exception(exit.error), std::runtime_error);
      }
    }
  });
}

KIND_TEST(ActorEnds, AScopeWaitsForItsActors) {
  using test = ActorEnds<Kind>;
  this->run([] {
    for (const bool has_stack : {true, false}) {
      typename test::ref outside;
      {
        typename Kind::scope scope;
        auto inside = test::adder(has_stack, scope);
        outside = inside;
        inside.send(typename test::add{1});
        EXPECT_FALSE(scope.join_for(1ms));
        inside.stop();
      }
      EXPECT_TRUE(outside.ended());
      EXPECT_EQ(outside.wait().reason, exit_reason::stopped);
    }
  });
}

KIND_TEST(ActorEnds, AScopeFailsWithItsActors) {
  using test = ActorEnds<Kind>;
  this->run([] {
    for (const bool has_stack : {true, false}) {
      typename test::ref failing;
      typename test::ref beside[2];
      EXPECT_THROW(
          {
            typename Kind::scope scope;
            failing = test::adder(has_stack, scope);
            beside[0] = test::adder(true, scope);
            beside[1] = test::adder(false, scope);
            failing.send(typename test::fail{});
          },
          std::runtime_error);
      EXPECT_EQ(failing.wait().reason, exit_reason::failed);
      for (auto& each : beside)
        EXPECT_EQ(each.wait().reason, exit_reason::cancelled);
    }
  });
}

KIND_TEST(ActorEnds, OfAStoppedScopeAreCancelled) {
  using test = ActorEnds<Kind>;
  this->run([] {
    for (const bool has_stack : {true, false}) {
      typename test::ref stopped;
      {
        typename Kind::scope scope;
        stopped = test::adder(has_stack, scope);
        Kind::yield();
        scope.request_stop();
      }
      EXPECT_TRUE(stopped.ended());
      EXPECT_EQ(stopped.wait().reason, exit_reason::cancelled);
      EXPECT_EQ(test::sum_of(stopped).status(), channel_status::closed);
    }
  });
}

KIND_TEST(ActorEnds, TheEndOfTheRuntimeEndsThem) {
  using counted = typename ActorEnds<Kind>::counted_message;
  using inbox = typename actors_of<Kind>::template inbox<counted>;
  std::atomic<int> alive{0};
  typename actors_of<Kind>::template ref<counted> kept[3];
  {
    Kind ending;
    ending.run([&] {
      kept[0] = actors_of<Kind>::template spawn<counted>([](const counted&) {});
      kept[1] = actors_of<Kind>::template spawn<counted>([](inbox& in) { in.receive(); });
      kept[2] = actors_of<Kind>::template spawn<counted>([](inbox&) {
        typename Kind::event never_set;
        never_set.wait();
      });
      for (int i = 0; i < 3; ++i)
        kept[2].send(counted(alive));
      kept[0].monitor(kept[1], [&](const actor_exit&) { return counted(alive); });
      kept[0].link(kept[1]);
      Kind::sleep_for(std::chrono::milliseconds(1));
    });
  }
  EXPECT_EQ(alive, 0);
  counted late(alive);
  for (auto& each : kept) {
    EXPECT_TRUE(each.ended());
    EXPECT_FALSE(each.send(std::move(late)));
  }
}

}  // namespace
}  // namespace sennit
