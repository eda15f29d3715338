#include <gtest/gtest.h>

#include <memory>
#include <mutex>
#include <numeric>
#include <queue>
#include <string>
#include <vector>

#include "sennit/local/channel.hpp"
#include "sennit/local/condition_variable.hpp"
#include "sennit/local/mutex.hpp"
#include "sennit/local/runtime.hpp"
#include "support/policies.hpp"

namespace sennit::inline v0_1::local {
namespace {

using namespace std::chrono_literals;

class LocalSync : public testing::TestWithParam<run_policy> {
protected:
  runtime rt{{.policy = GetParam()}};

  static auto soon() { return std::chrono::steady_clock::now() + 2ms; }
};

TEST_P(LocalSync, MutexExcludes) {
  rt.run([] {
    mutex m;
    int inside = 0;
    int total = 0;
    std::vector<fiber> fibers;
    for (int i = 0; i < 10; ++i)
      fibers.push_back(spawn([&] {
        for (int round = 0; round < 100; ++round) {
          std::lock_guard hold(m);
          EXPECT_EQ(inside++, 0);
          this_fiber::yield();
          --inside;
          ++total;
        }
      }));
    for (auto& f : fibers)
      f.join();
    EXPECT_EQ(total, 1000);
  });
}

TEST_P(LocalSync, MutexServesInTheOrderOfArrival) {
  rt.run([] {
    mutex m;
    std::vector<int> order;
    m.lock();
    std::vector<fiber> fibers;
    for (int i = 0; i < 5; ++i) {
      fibers.push_back(spawn([&, i] {
        std::lock_guard hold(m);
        order.push_back(i);
      }));
      this_fiber::yield();
    }
    m.unlock();
    for (auto& f : fibers)
      f.join();
    EXPECT_EQ(order, (std::vector<int>{0, 1, 2, 3, 4}));
  });
}

TEST_P(LocalSync, TimedMutexGivesUpAndLeavesTheQueue) {
  rt.run([] {
    mutex m;
    m.lock();
    EXPECT_FALSE(m.try_lock());
    auto impatient = spawn([&] { EXPECT_FALSE(m.try_lock_until(soon())); });
    auto patient = spawn([&] {
      EXPECT_TRUE(m.try_lock_for(10s));
      m.unlock();
    });
    impatient.join();
    m.unlock();
    patient.join();
    EXPECT_TRUE(m.try_lock());
    m.unlock();
  });
}

TEST_P(LocalSync, ConditionVariableIsABoundedQueue) {
  rt.run([] {
    mutex m;
    condition_variable not_empty;
    condition_variable not_full;
    std::queue<int> items;
    long sum = 0;
    std::vector<fiber> fibers;
    for (int producer = 0; producer < 2; ++producer)
      fibers.push_back(spawn([&] {
        for (int i = 1; i <= 1000; ++i) {
          std::unique_lock lock(m);
          not_full.wait(lock, [&] { return items.size() < 8; });
          items.push(i);
          not_empty.notify_one();
        }
      }));
    for (int consumer = 0; consumer < 2; ++consumer)
      fibers.push_back(spawn([&] {
        for (int i = 1; i <= 1000; ++i) {
          std::unique_lock lock(m);
          not_empty.wait(lock, [&] { return !items.empty(); });
          sum += items.front();
          items.pop();
          not_full.notify_one();
        }
      }));
    for (auto& f : fibers)
      f.join();
    EXPECT_EQ(sum, 2 * 500500);
  });
}

TEST_P(LocalSync, ConditionVariableTimesOutWithTheLockHeld) {
  rt.run([] {
    mutex m;
    condition_variable never_notified;
    std::unique_lock lock(m);
    EXPECT_EQ(never_notified.wait_until(lock, soon()), std::cv_status::timeout);
    EXPECT_TRUE(lock.owns_lock());
    EXPECT_FALSE(m.try_lock());
    EXPECT_FALSE(never_notified.wait_for(lock, 1ms, [] { return false; }));
  });
}

TEST_P(LocalSync, NotifyAllWakesEverybody) {
  rt.run([] {
    mutex m;
    condition_variable go;
    bool ready = false;
    int woken = 0;
    std::vector<fiber> fibers;
    for (int i = 0; i < 20; ++i)
      fibers.push_back(spawn([&] {
        std::unique_lock lock(m);
        go.wait(lock, [&] { return ready; });
        ++woken;
      }));
    this_fiber::yield();
    ready = true;
    go.notify_all();
    for (auto& f : fibers)
      f.join();
    EXPECT_EQ(woken, 20);
  });
}

TEST_P(LocalSync, RendezvousHandsOverInOrder) {
  rt.run([] {
    channel<int> c;
    auto producer = spawn([&] {
      for (int i = 0; i < 1000; ++i)
        EXPECT_TRUE(c.send(i));
      c.close();
    });
    int expected = 0;
    for (int item : c)
      EXPECT_EQ(item, expected++);
    EXPECT_EQ(expected, 1000);
    producer.join();
    EXPECT_FALSE(c.send(1));
    EXPECT_FALSE(c.receive().has_value());
  });
}

TEST_P(LocalSync, RendezvousWaitsForItsReceiver) {
  rt.run([] {
    channel<std::string> c;
    bool sent = false;
    auto sender = spawn([&] {
      c.send("a string that is too long for the small buffer");
      sent = true;
    });
    this_fiber::yield();
    EXPECT_FALSE(sent);
    EXPECT_EQ(c.receive()->size(), 46u);
    sender.join();
    EXPECT_TRUE(sent);
  });
}

TEST_P(LocalSync, ChannelsMoveMoveOnlyValues) {
  rt.run([] {
    for (std::size_t capacity : {0u, 3u}) {
      channel<std::unique_ptr<int>> c(capacity);
      auto sender = spawn([&] {
        for (int i = 0; i < 10; ++i)
          c.send(std::make_unique<int>(i));
      });
      for (int i = 0; i < 10; ++i)
        EXPECT_EQ(**c.receive(), i);
      sender.join();
    }
  });
}

TEST_P(LocalSync, BufferedSendsWaitOnlyWhenFull) {
  rt.run([] {
    channel<int> c(2);
    int sent = 0;
    auto sender = spawn([&] {
      for (int i = 0; i < 5; ++i) {
        c.send(i);
        ++sent;
      }
    });
    this_fiber::yield();
    EXPECT_EQ(sent, 2);
    EXPECT_EQ(c.size(), 2u);
    for (int i = 0; i < 5; ++i)
      EXPECT_EQ(c.receive(), i);
    sender.join();
  });
}

TEST_P(LocalSync, ManySendersAndReceivers) {
  rt.run([] {
    for (std::size_t capacity : {0u, 1u, 7u}) {
      channel<long> c(capacity);
      long sum = 0;
      std::vector<fiber> senders;
      std::vector<fiber> receivers;
      for (int i = 0; i < 5; ++i)
        senders.push_back(spawn([&] {
          for (long item = 1; item <= 100; ++item)
            c.send(item);
        }));
      for (int i = 0; i < 3; ++i)
        receivers.push_back(spawn([&] {
          while (auto item = c.receive())
            sum += *item;
        }));
      for (auto& f : senders)
        f.join();
      c.close();
      for (auto& f : receivers)
        f.join();
      EXPECT_EQ(sum, 5 * 5050);
    }
  });
}

TEST_P(LocalSync, ChannelsGiveUpAtTheirDeadlines) {
  rt.run([] {
    channel<int> c;
    EXPECT_FALSE(c.receive_until(soon()).has_value());
    EXPECT_FALSE(c.send_until(1, soon()));
    auto sender = spawn([&] { EXPECT_TRUE(c.send_until(7, std::chrono::steady_clock::now() + 10s)); });
    EXPECT_EQ(c.receive_until(std::chrono::steady_clock::now() + 10s), 7);
    sender.join();
    channel<std::string> words;
    EXPECT_FALSE(words.receive_until(soon()).has_value());
  });
}

TEST_P(LocalSync, CloseWakesWaitersOnBothSides) {
  rt.run([] {
    channel<int> c;
    auto receiver = spawn([&] { EXPECT_FALSE(c.receive().has_value()); });
    this_fiber::yield();
    c.close();
    receiver.join();
    channel<int> d;
    auto sender = spawn([&] { EXPECT_FALSE(d.send(1)); });
    this_fiber::yield();
    d.close();
    sender.join();
  });
}

TEST(LocalSyncEnd, WaitersAreUnwoundWithTheirRuntime) {
  mutex m;
  condition_variable changed;
  channel<std::string> c;
  int unwound = 0;
  struct witness {
    int* count;
    ~witness() { ++*count; }
  };
  {
    runtime rt;
    rt.run([&] {
      spawn([&] {
        witness w{&unwound};
        std::unique_lock lock(m);
        changed.wait(lock);
      });
      spawn([&] {
        witness w{&unwound};
        c.receive();
      });
      spawn([&] {
        witness w{&unwound};
        std::lock_guard hold(m);
        this_fiber::park();
      });
      spawn([&] {
        witness w{&unwound};
        std::lock_guard hold(m);
      });
      this_fiber::sleep_for(1ms);
    });
    EXPECT_EQ(unwound, 0);
  }
  EXPECT_EQ(unwound, 4);
  EXPECT_TRUE(m.try_lock());
  m.unlock();
}

INSTANTIATE_TEST_SUITE_P(Policies, LocalSync, support::every_policy(), support::policy_name);

}  // namespace
}  // namespace sennit::inline v0_1::local
