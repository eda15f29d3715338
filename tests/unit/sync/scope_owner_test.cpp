// What the failure of a scope's fiber does to the scope's owner: its wait throws the fiber's exception.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <stdexcept>
#include <stop_token>
#include <string>

#include "sennit/scope.hpp"
#include "sennit/stop_guard.hpp"
#include "support/counted.hpp"
#include "support/kinds.hpp"

namespace sennit {
namespace {

using namespace std::chrono_literals;
using support::counted;

template <class Kind>
class ScopeOwner : public kind_test<Kind> {};

template <class Kind>
void fail_soon(const char* message = "child") {
  for (int i = 0; i < 3; ++i)
    Kind::yield();
  throw std::runtime_error(message);
}

template <class Function>
std::string error_of(Function function) {
  try {
    function();
  } catch (const std::runtime_error& error) {
    return error.what();
  }
  return {};
}

// Waits until a stop is requested. Returns false if something else ended it.
template <class Kind>
bool is_cancelled() {
  try {
    Kind::sleep_for(1h);
  } catch (const cancelled&) {
    return true;
  }
  return false;
}

KIND_TEST(ScopeOwner, LeavesItsBlockByTheErrorOfTheFiberThatFailed) {
  this->run([] {
    typename Kind::template channel<int> values;
    std::atomic<int> alive = 0;
    EXPECT_EQ(error_of([&] {
                typename Kind::scope s;
                for (int i = 0; i < 5; ++i)
                  s.spawn([mine = counted(alive)] { Kind::sleep_for(1h); });
                s.spawn([] { fail_soon<Kind>(); });
                values.receive();
                ADD_FAILURE() << "the wait ended";
              }),
              "child");
    EXPECT_EQ(alive, 0);
    EXPECT_FALSE(stop_requested());
    auto sender = Kind::spawn([&] { values.send(7); });
    EXPECT_EQ(values.receive(), 7);
    sender.join();
  });
}

KIND_TEST(ScopeOwner, TakesWhatItHasOrLeavesItForTheNext) {
  this->run([] {
    for (int round = 0; round < 300; ++round) {
      typename Kind::template channel<int> values(1);
      std::optional<int> got;
      const std::string error = error_of([&] {
        typename Kind::scope s;
        s.spawn([&, round] {
          for (int i = round % 4; i > 0; --i)
            Kind::yield();
          int value = 1;
          values.try_send(value);
        });
        s.spawn([] { fail_soon<Kind>(); });
        got = values.receive();
        s.join();
      });
      EXPECT_EQ(error, "child");
      EXPECT_NE(got.has_value(), values.try_receive().has_value()) << "lost, or there twice";
    }
  });
}

KIND_TEST(ScopeOwner, OfScopesWithinScopesLeavesThemUpToTheOneWhoseFiberFailed) {
  this->run([] {
    for (const bool joins : {false, true}) {
      std::atomic<int> alive = 0;
      const std::string error = error_of([&] {
        typename Kind::scope outermost;
        outermost.spawn([] { EXPECT_TRUE(is_cancelled<Kind>()); });
        const std::string inside = error_of([&] {
          typename Kind::scope outer;
          outer.spawn([] { fail_soon<Kind>(); });
          const std::string innermost = error_of([&] {
            typename Kind::scope inner;
            inner.spawn([mine = counted(alive)] { Kind::sleep_for(1h); });
            if (joins)
              inner.join();
            else
              Kind::sleep_for(1h);
          });
          EXPECT_EQ(innermost, "child");
          EXPECT_EQ(alive, 0);
          throw std::runtime_error(innermost);
        });
        EXPECT_EQ(inside, "child");
        Kind::sleep_for(1us);  // an ordinary wait
        throw std::runtime_error("own");
      });
      EXPECT_EQ(error, "own");
    }
  });
}

KIND_TEST(ScopeOwner, IsAFiberOfAScopeAndPassesTheErrorOn) {
  this->run([] {
    EXPECT_EQ(error_of([] {
                typename Kind::scope outer;
                outer.spawn([] {
                  typename Kind::scope inner;
                  inner.spawn([] { fail_soon<Kind>("grandchild"); });
                  Kind::sleep_for(1h);
                });
                Kind::sleep_for(1h);
              }),
              "grandchild");
  });
}

KIND_TEST(ScopeOwner, ThrowsItsOwnErrorIfThatIsFirst) {
  this->run([] {
    EXPECT_EQ(error_of([] {
                typename Kind::scope s;
                s.spawn([] { fail_soon<Kind>(); });
                struct waits {
                  ~waits() { Kind::sleep_for(1ms); }  // the fiber fails meanwhile
                } const on_the_way;
                throw std::runtime_error("own");
              }),
              "own");
  });
}

KIND_TEST(ScopeOwner, WaitsOnWhereNoFiberFailed) {
  this->run([] {
    typename Kind::scope s;
    s.spawn([] { Kind::sleep_for(1h); });
    s.spawn([] { is_cancelled<Kind>(); });
    s.request_stop();
    Kind::sleep_for(1ms);
    EXPECT_FALSE(stop_requested());
    s.join();
  });
}

KIND_TEST(ScopeOwner, WaitsAsUsualOnceItHasJoined) {
  this->run([] {
    typename Kind::scope s;
    s.spawn([] { fail_soon<Kind>(); });
    EXPECT_EQ(error_of([] { Kind::sleep_for(1h); }), "child");
    EXPECT_TRUE(stop_requested());
    EXPECT_EQ(error_of([&] { s.join(); }), "child");
    EXPECT_FALSE(stop_requested());
    Kind::sleep_for(1us);
    s.spawn([] { throw std::runtime_error("later"); });  // lost: the first error has been thrown
    Kind::sleep_for(1ms);
    s.join();
  });
}

KIND_TEST(ScopeOwner, WaitsOnBehindAShieldAndInDestructors) {
  this->run([] {
    EXPECT_EQ(error_of([] {
                typename Kind::scope s;
                s.spawn([] { throw std::runtime_error("child"); });
                {
                  const stop_shield shield;
                  Kind::sleep_for(1ms);
                  EXPECT_FALSE(stop_requested());
                }
                struct waits {
                  ~waits() { Kind::sleep_for(1us); }
                } const on_the_way;
                while (!stop_requested())
                  Kind::yield();
                Kind::sleep_for(1h);
              }),
              "child");
  });
}

// A guard by the scope's own token, which programs used before the scope ended its owner's waits itself.
KIND_TEST(ScopeOwner, IsCancelledByAGuardWithinTheBlock) {
  this->run([] {
    typename Kind::scope s;
    s.spawn([] { fail_soon<Kind>(); });
    {
      const stop_guard guard(s.get_token());
      EXPECT_TRUE(is_cancelled<Kind>());
    }
    EXPECT_EQ(error_of([&] { s.join(); }), "child");
  });
}

KIND_TEST(ScopeOwner, IsCancelledByAnOuterGuardToo) {
  this->run([] {
    std::stop_source stop;
    const stop_guard guard(stop.get_token());
    try {
      typename Kind::scope s;
      s.spawn([&] { stop.request_stop(); });
      Kind::sleep_for(1h);
      ADD_FAILURE() << "the wait ended";
    } catch (const cancelled&) {
    }
  });
}

// A handler may wait before it rethrows; after one that does not, waits throw sennit::cancelled.
KIND_TEST(ScopeOwner, ThatSwallowsTheErrorIsCancelled) {
  this->run([] {
    typename Kind::scope s;
    s.spawn([] { fail_soon<Kind>(); });
    try {
      Kind::sleep_for(1h);
      ADD_FAILURE() << "the wait ended";
    } catch (...) {
      EXPECT_EQ(error_of([] { Kind::sleep_for(1h); }), "child");
    }
    EXPECT_TRUE(is_cancelled<Kind>());
    EXPECT_TRUE(is_cancelled<Kind>());
    EXPECT_EQ(error_of([&] { s.join(); }), "child");
  });
}

KIND_TEST(ScopeOwner, MayDestroyScopesAndGuardsInAnyOrder) {
  this->run([] {
    std::stop_source stop;
    auto first = std::make_unique<typename Kind::scope>();
    auto second = std::make_unique<typename Kind::scope>();
    {
      const stop_guard guard(stop.get_token());
      first.reset();
      second->spawn([] { fail_soon<Kind>(); });
      EXPECT_EQ(error_of([] { Kind::sleep_for(1h); }), "child");
      EXPECT_EQ(error_of([&] { second->join(); }), "child");
      second.reset();
      stop.request_stop();
      EXPECT_TRUE(is_cancelled<Kind>());
    }
    EXPECT_FALSE(stop_requested());
    Kind::sleep_for(1us);
  });
}

}  // namespace
}  // namespace sennit
