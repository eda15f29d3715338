// Scopes of both kinds of runtime: no fiber outlives them, the first error stops the others.
#include "sennit/scope.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <stdexcept>
#include <string>

#include "sennit/fiber_local.hpp"
#include "stop_support.hpp"
#include "support/counted.hpp"
#include "support/kinds.hpp"

namespace sennit {
namespace {

using namespace std::chrono_literals;
using support::counted;

template <class Kind>
class Scope : public kind_test<Kind> {};

KIND_TEST(Scope, EndsWhenAllHaveEnded) {
  this->run([] {
    std::atomic<int> alive = 0;
    std::atomic<int> done = 0;
    {
      typename Kind::scope s;
      for (int i = 0; i < 50; ++i)
        s.spawn([&, mine = counted(alive), i] {
          Kind::sleep_for(std::chrono::microseconds(i % 7 * 100));
          ++done;
        });
    }
    EXPECT_EQ(done, 50);
    EXPECT_EQ(alive, 0);  // with their functions' objects
  });
}

KIND_TEST(Scope, EndsWhenItsFibersLocalsHaveEnded) {
  static std::atomic<int> values = 0;
  struct slow : counted {
    slow() : counted(values) {}
    ~slow() { Kind::sleep_for(200us); }
  };
  static fiber_local<slow> value;
  this->run([] {
    {
      typename Kind::scope s;
      for (int i = 0; i < 5; ++i)
        s.spawn([] { value.get(); });
    }
    EXPECT_EQ(values, 0);
  });
}

KIND_TEST(Scope, FirstErrorStopsTheOthersAndComesOut) {
  this->run([] {
    typename Kind::template channel<int> nothing;
    std::atomic<int> stopped = 0;
    const auto wait_in_vain = [&] {
      try {
        nothing.receive();
      } catch (const cancelled&) {
        ++stopped;
        throw;
      }
    };
    typename Kind::scope s;
    for (int i = 0; i < 10; ++i)
      s.spawn(wait_in_vain);
    s.spawn([] {
      Kind::sleep_for(1ms);
      throw std::runtime_error("first");
    });
    try {
      s.join();
      ADD_FAILURE() << "nothing was thrown";
    } catch (const std::runtime_error& error) {
      EXPECT_STREQ(error.what(), "first");
    }
    EXPECT_EQ(stopped, 10);
    EXPECT_TRUE(s.stop_requested());
    EXPECT_NO_THROW(s.join());  // once
  });
}

KIND_TEST(Scope, ItsEndThrowsToo) {
  this->run([] {
    const auto failing = [] {
      typename Kind::scope s;
      s.spawn([] { throw std::runtime_error("inside"); });
    };
    EXPECT_THROW(failing(), std::runtime_error);
  });
}

KIND_TEST(Scope, ThatIsLeftByAnExceptionStopsItsFibers) {
  this->run([] {
    std::atomic<int> alive = 0;
    try {
      typename Kind::scope s;
      for (int i = 0; i < 5; ++i)
        s.spawn([mine = counted(alive)] { Kind::sleep_for(1h); });
      s.spawn([] { throw std::logic_error("lost"); });
      Kind::yield();
      throw std::runtime_error("owner's");
    } catch (const std::runtime_error& error) {
      EXPECT_STREQ(error.what(), "owner's");
    }
    EXPECT_EQ(alive, 0);
  });
}

KIND_TEST(Scope, StopsWithTheScopeAroundIt) {
  this->run([] {
    std::atomic<int> alive = 0;
    typename Kind::scope outer;
    for (int i = 0; i < 3; ++i)
      outer.spawn([&] {
        typename Kind::scope inner;
        for (int k = 0; k < 3; ++k)
          inner.spawn([mine = counted(alive)] { Kind::sleep_for(1h); });
        inner.join();
        ADD_FAILURE() << "went on";
      });
    while (alive < 9)
      Kind::yield();
    outer.request_stop();
    outer.join();
    EXPECT_EQ(alive, 0);
  });
}

KIND_TEST(Scope, GrowsFromInside) {
  this->run([] {
    std::atomic<int> leaves = 0;
    struct grower {
      typename Kind::scope& in;
      std::atomic<int>& leaves;
      void operator()(int depth) const {
        if (depth == 0) {
          ++leaves;
          return;
        }
        for (int i = 0; i < 2; ++i)
          in.spawn([*this, depth] { (*this)(depth - 1); });
      }
    };
    typename Kind::scope s;
    grower{s, leaves}(7);
    s.join();
    EXPECT_EQ(leaves, 128);
    s.spawn([&] { ++leaves; });
    s.join();
    EXPECT_EQ(leaves, 129);
  });
}

KIND_TEST(Scope, IsJoinedUntilADeadline) {
  this->run([] {
    typename Kind::scope s;
    s.spawn([] { Kind::sleep_for(1h); });
    EXPECT_FALSE(s.join_for(1ms));
    s.request_stop();
    EXPECT_TRUE(s.join_for(1min));
  });
}

// Only the owner's wait ends: the scope's fibers continue.
KIND_TEST(Scope, IsJoinedUntilAStop) {
  this->run([] {
    for (const auto deadline : {detail::never, std::chrono::steady_clock::now() + 1h}) {
      typename Kind::event end;
      std::stop_source stop;
      std::atomic<bool> begun = false;
      auto owner = Kind::spawn([&] {
        typename Kind::scope s;
        s.spawn([&] { end.wait(); });
        be_cancelled(stop.get_token(), [&] { static_cast<void>(s.join_until(deadline)); }, begun);
        EXPECT_FALSE(s.stop_requested());
        end.set();
        s.join();
      });
      while (!begun)
        Kind::yield();
      Kind::yield();
      stop.request_stop();
      owner.join();
    }
  });
}

KIND_TEST(Scope, LosesNothingWhereSpawnThrows) {
  this->run([] {
    struct thrower {
      thrower() = default;
      thrower(const thrower&) { throw std::runtime_error("copy"); }
      void operator()() const {}
    };
    typename Kind::scope s;
    const thrower cannot_be_copied;
    EXPECT_THROW(s.spawn(cannot_be_copied), std::runtime_error);
    s.spawn([] {});
    s.join();
  });
}

KIND_TEST(Scope, EndsWithItsRuntime) {
  std::atomic<int> alive = 0;
  Kind().run([&] {
    Kind::spawn([&] {
      typename Kind::scope s;
      for (int i = 0; i < 5; ++i)
        s.spawn([mine = counted(alive)] { Kind::sleep_for(1h); });
      s.join();
    }).detach();
    Kind::yield();
  });
  EXPECT_EQ(alive, 0);
}

// Its runtime ends while the end of the scope waits for the fibers that it has stopped.
KIND_TEST(Scope, EndsWithItsRuntimeWhileItIsLeft) {
  std::atomic<int> alive = 0;
  std::atomic<bool> leaves = false;
  bool left = false;
  bool went_on = false;
  Kind().run([&] {
    Kind::spawn([&] {
      try {
        typename Kind::scope s;
        s.spawn([mine = counted(alive)] {
          const stop_shield in_any_case;
          Kind::sleep_for(1h);
        });
        Kind::yield();
        leaves = true;
        throw std::runtime_error("owner's");
      } catch (const std::runtime_error&) {
        left = true;
      }
      Kind::sleep_for(1h);
      went_on = true;
    }).detach();
    while (!leaves)
      Kind::yield();
    Kind::sleep_for(1ms);
  });
  EXPECT_EQ(alive, 0);
  EXPECT_TRUE(left);
  EXPECT_FALSE(went_on);
}

}  // namespace
}  // namespace sennit
