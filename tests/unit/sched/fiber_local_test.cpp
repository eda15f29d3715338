// Variables of which each fiber has its own.
#include "sennit/fiber_local.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "sennit/local/runtime.hpp"
#include "sennit/runtime.hpp"

namespace {

using namespace std::chrono_literals;

std::atomic<int> alive{0};

struct counted {
  counted() { ++alive; }
  ~counted() { --alive; }
  int value = 0;
};

sennit::fiber_local<counted> local_number;
sennit::fiber_local<std::string> local_text;

class FiberLocal : public testing::TestWithParam<unsigned> {};
INSTANTIATE_TEST_SUITE_P(Workers, FiberLocal, testing::Values(1u, 2u, 4u));

TEST_P(FiberLocal, EachFiberHasItsOwnWhereverItGoesOn) {
  sennit::runtime rt({.workers = GetParam()});
  rt.run([] {
    local_number->value = -1;
    std::vector<sennit::fiber> all;
    for (int i = 0; i < 50; ++i)
      all.push_back(sennit::spawn([i] {
        EXPECT_EQ(local_number->value, 0);
        local_number->value = i;
        *local_text = std::to_string(i);
        for (int turn = 0; turn < 50; ++turn) {
          turn % 10 == 0 ? sennit::this_fiber::sleep_for(10us) : sennit::this_fiber::yield();
          ASSERT_EQ(local_number->value, i);
          ASSERT_EQ(*local_text, std::to_string(i));
        }
      }));
    for (sennit::fiber& each : all)
      each.join();
    EXPECT_EQ(local_number->value, -1);
    EXPECT_EQ(alive, 1);  // ours
  });
  EXPECT_EQ(alive, 0);
}

TEST(FiberLocal, FibersOfOneThreadDoNotShareIt) {
  sennit::local::runtime rt;
  rt.run([] {
    auto other = sennit::local::spawn([] {
      *local_text = "other";
      sennit::local::this_fiber::yield();
      EXPECT_EQ(*local_text, "other");
    });
    *local_text = "mine";
    sennit::local::this_fiber::yield();
    EXPECT_EQ(*local_text, "mine");
    other.join();
    // Its stack is used again; its values are not.
    sennit::local::spawn([] { EXPECT_EQ(*local_text, ""); }).join();
  });
}

TEST(FiberLocal, OutsideOfFibersItIsTheThreads) {
  *local_text = "main";
  std::thread([] {
    EXPECT_EQ(*local_text, "");
    local_number->value = 1;
    EXPECT_EQ(alive, 1);
  }).join();
  EXPECT_EQ(alive, 0);
  sennit::local::runtime rt;
  rt.run([] { EXPECT_EQ(*local_text, ""); });
  EXPECT_EQ(*local_text, "main");
}

// Newer ones first, also those that a destructor makes, and however the fiber ends.
TEST(FiberLocal, EndsWithItsFiber) {
  static std::string order;
  struct first {
    ~first() { order += '1'; }
  };
  struct late {
    ~late() { order += 'L'; }
  };
  static sennit::fiber_local<late> made_late;
  struct second {
    ~second() {
      order += '2';
      sennit::this_fiber::yield();
      static_cast<void>(*made_late);
    }
  };
  static sennit::fiber_local<first> a;
  static sennit::fiber_local<second> b;
  const auto use_both = [] {
    static_cast<void>(*a);
    static_cast<void>(*b);
  };
  sennit::runtime rt({.workers = 2});
  rt.run([&] {
    sennit::spawn(use_both).join();
    EXPECT_EQ(order, "2L1");
    order.clear();
    auto failing = sennit::spawn([&] {
      use_both();
      throw std::runtime_error("x");
    });
    EXPECT_THROW(failing.join(), std::runtime_error);
    EXPECT_EQ(order, "2L1");
  });
  order.clear();
  {
    sennit::runtime ending({.workers = 2});
    ending.run([&] {
      sennit::spawn([&] {
        use_both();
        sennit::this_fiber::park();
      }).detach();
      sennit::this_fiber::sleep_for(1ms);
    });
  }
  EXPECT_EQ(order, "2L1");
}

TEST(FiberLocal, AConstructorThatThrowsIsTriedAgain) {
  static int tries = 0;
  struct picky {
    picky() {
      if (++tries == 1)
        throw std::runtime_error("not yet");
    }
  };
  sennit::fiber_local<picky> value;
  sennit::local::runtime rt;
  rt.run([&] {
    EXPECT_THROW(value.get(), std::runtime_error);
    EXPECT_NO_THROW(value.get());
    EXPECT_NO_THROW(value.get());
  });
  EXPECT_EQ(tries, 2);
}

// What waits in a destructor notes what for where the exception lies.
TEST(FiberLocal, AnExceptionStaysWhatItIsWhileValuesAndTheFunctionAreDestroyed) {
  struct waits {
    waits() = default;
    waits(waits&&) {}
    ~waits() {
      sennit::local::this_fiber::sleep_for(1us);
      sennit::local::spawn([] {}).join();
    }
  };
  static sennit::fiber_local<waits> value;
  sennit::local::runtime rt;
  rt.run([&] {
    auto of_value = sennit::local::spawn([] {
      value.get();
      throw std::runtime_error("value");
    });
    EXPECT_THROW(of_value.join(), std::runtime_error);
    auto of_function = sennit::local::spawn([held = waits()] { throw std::runtime_error("function"); });
    EXPECT_THROW(of_function.join(), std::runtime_error);
  });
}

// A later object never finds the values of one that is gone.
TEST(FiberLocal, AnObjectMayEndBeforeItsValues) {
  sennit::local::runtime rt;
  rt.run([] {
    for (int i = 0; i < 3; ++i) {
      const auto local = std::make_unique<sennit::fiber_local<int>>();
      EXPECT_EQ(**local, 0);
      **local = 1;
    }
  });
}

}  // namespace
