// Every wait's second form: without a stack.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "sennit/become.hpp"
#include "support/kinds.hpp"

namespace {

using sennit::become;
using sennit::continuation;

template <class Kind>
class BecomeWaits : public sennit::kind_test<Kind> {};

KIND_TEST(BecomeWaits, Event) {
  this->run([] {
    typename Kind::event happened;
    std::atomic<int> woken = 0;
    std::vector<typename Kind::fiber> all;
    for (int i = 0; i < 10; ++i)
      all.push_back(Kind::spawn([&] { return become(happened.waiting(), [&] { ++woken; }); }));
    sennit::until_stackless<Kind>(10);
    EXPECT_EQ(woken, 0);
    happened.set();
    for (auto& each : all)
      each.join();
    EXPECT_EQ(woken, 10);
    // It has happened: there is no waiter.
    Kind::spawn([&] { return become(happened.waiting(), [&] { ++woken; }); }).join();
    EXPECT_EQ(woken, 11);
  });
}

KIND_TEST(BecomeWaits, Semaphore) {
  this->run([] {
    typename Kind::counting_semaphore permits(2);
    std::atomic<int> inside = 0;
    std::atomic<int> most = 0;
    std::atomic<int> entered = 0;
    std::vector<typename Kind::fiber> all;
    for (int i = 0; i < 50; ++i)
      all.push_back(Kind::spawn([&] {
        return become(permits.acquiring(), [&] {
          const int now = ++inside;
          for (int seen = most; seen < now && !most.compare_exchange_weak(seen, now);) {
          }
          Kind::yield();
          --inside;
          ++entered;
          permits.release();
        });
      }));
    for (auto& each : all)
      each.join();
    EXPECT_GE(most, 1);
    EXPECT_LE(most, 2);
    EXPECT_EQ(entered, 50);
  });
}

KIND_TEST(BecomeWaits, WaitGroup) {
  this->run([] {
    typename Kind::wait_group pending(3);
    std::atomic<bool> done = false;
    auto waits = Kind::spawn([&] { return become(pending.waiting(), [&] { done = true; }); });
    pending.done();
    pending.done();
    sennit::until_stackless<Kind>(1);
    EXPECT_FALSE(done);
    pending.done();
    waits.join();
    EXPECT_TRUE(done);
  });
}

KIND_TEST(BecomeWaits, Mutex) {
  this->run([] {
    typename Kind::mutex mutex;
    int inside = 0;
    int sum = 0;
    std::vector<typename Kind::fiber> all;
    for (int i = 0; i < 50; ++i)
      all.push_back(Kind::spawn([&] {
        return become(mutex.locking(), [&] {
          EXPECT_EQ(++inside, 1);
          Kind::yield();
          sum += inside--;
          mutex.unlock();
        });
      }));
    for (int i = 0; i < 50; ++i) {
      const std::lock_guard hold(mutex);
      EXPECT_EQ(++inside, 1);
      Kind::yield();
      --inside;
    }
    for (auto& each : all)
      each.join();
    EXPECT_EQ(sum, 50);
  });
}

KIND_TEST(BecomeWaits, SharedMutex) {
  this->run([] {
    typename Kind::shared_mutex mutex;
    std::atomic<int> readers = 0;
    std::atomic<int> most_readers = 0;
    std::atomic<int> writers = 0;
    std::atomic<int> entered = 0;
    std::vector<typename Kind::fiber> all;
    mutex.lock();
    for (int i = 0; i < 40; ++i)
      if (i % 4 == 0)
        all.push_back(Kind::spawn([&] {
          return become(mutex.locking(), [&] {
            EXPECT_EQ(++writers, 1);
            EXPECT_EQ(readers, 0);
            Kind::yield();
            --writers;
            ++entered;
            mutex.unlock();
          });
        }));
      else
        all.push_back(Kind::spawn([&] {
          return become(mutex.locking_shared(), [&] {
            const int now = ++readers;
            EXPECT_EQ(writers, 0);
            for (int seen = most_readers; seen < now && !most_readers.compare_exchange_weak(seen, now);) {
            }
            Kind::yield();
            --readers;
            ++entered;
            mutex.unlock_shared();
          });
        }));
    sennit::until_stackless<Kind>(all.size());
    EXPECT_EQ(entered, 0);
    mutex.unlock();
    for (auto& each : all)
      each.join();
    EXPECT_EQ(entered, 40);
    EXPECT_GE(most_readers, 1);
  });
}

KIND_TEST(BecomeWaits, Barrier) {
  struct stepping {
    typename Kind::barrier* all;
    std::atomic<int>* steps;
    int count;
    int round = 0;
    static continuation on(stepping me) {
      EXPECT_GE(*me.steps, me.round * me.count);
      if (me.round++ == 20)
        return {};
      ++*me.steps;
      return me.round % 2 == 0 ? become(me.all->arriving(), on, me)
                               : become(me.all->waiting(me.all->arrive()), on, me);
    }
  };
  this->run([] {
    constexpr int count = 5;
    typename Kind::barrier all(count + 1);
    std::atomic<int> steps = 0;
    std::vector<typename Kind::fiber> stepping_all;
    for (int i = 0; i < count; ++i)
      stepping_all.push_back(Kind::spawn([&] { return stepping::on({&all, &steps, count}); }));
    for (int i = 0; i < 20; ++i)
      all.arrive_and_wait();  // with a stack among them
    for (auto& each : stepping_all)
      each.join();
    EXPECT_EQ(steps, 20 * count);
  });
}

KIND_TEST(BecomeWaits, ConditionVariable) {
  this->run([] {
    struct shared {
      typename Kind::mutex mutex;
      typename Kind::condition_variable changed;
      int turn = 0;
      std::vector<int> order;
    } board;
    struct player {
      shared* at;
      int number;
      static continuation on(player me, std::unique_lock<typename Kind::mutex> lock) {
        if (me.at->turn != me.number)
          return become(me.at->changed.waiting(std::move(lock)), on, me);
        me.at->order.push_back(me.number);
        ++me.at->turn;
        me.at->changed.notify_all();
        return {};
      }
    };
    std::vector<typename Kind::fiber> all;
    for (int i = 9; i >= 0; --i)
      all.push_back(
          Kind::spawn([&board, i] { return player::on({&board, i}, std::unique_lock(board.mutex)); }));
    for (auto& each : all)
      each.join();
    EXPECT_EQ(board.order, (std::vector{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}));
  });
}

template <class Kind, class T>
struct adder {
  using channel = typename Kind::template channel<T>;
  channel* from;
  std::atomic<long>* sum;
  static continuation on(adder me, std::optional<T> value) {
    if (!value)
      return {};
    if constexpr (std::is_same_v<T, long>)
      *me.sum += *value;
    else
      *me.sum += std::stol(*value);
    return become(me.from->receiving(), on, me);
  }
};

template <class Kind, class T>
void receives(std::size_t capacity) {
  Kind().run([capacity] {
    typename Kind::template channel<T> values(capacity);
    std::atomic<long> sum = 0;
    std::vector<typename Kind::fiber> all;
    for (int i = 0; i < 3; ++i)
      all.push_back(Kind::spawn(
          [&] { return become(values.receiving(), adder<Kind, T>::on, adder<Kind, T>{&values, &sum}); }));
    for (long i = 1; i <= 300; ++i)
      if constexpr (std::is_same_v<T, long>)
        values.send(i);
      else
        values.send(std::to_string(i));
    values.close();
    for (auto& each : all)
      each.join();
    EXPECT_EQ(sum, 300 * 301 / 2);
  });
}

// In the descriptor, and in memory of its own.
KIND_TEST(BecomeWaits, ChannelReceiveWithStatesOfAllSizes) {
  this->run([] {
    const auto receive = [](auto state, auto value) {
      typename Kind::template channel<decltype(value)> values;
      int right = 0;
      auto waits = Kind::spawn([&] {
        return become(
            values.receiving(),
            [&](const decltype(state)&, std::optional<decltype(value)> got) { right += got == value; },
            state);
      });
      sennit::until_stackless<Kind>(1);
      values.send(value);
      waits.join();
      EXPECT_EQ(right, 1) << sizeof state << " " << sizeof value;
    };
    const auto with = [&](auto state) {
      receive(state, 'c');
      receive(state, 7);
      receive(state, -9L);
      receive(state, std::string("a text too long to lie in the object"));
    };
    with(std::array<char, 1>{});
    with(std::array<char, 8>{});
    with(std::array<char, 16>{});
    with(std::array<char, 40>{});
    with(std::array<char, 100>{});
  });
}

KIND_TEST(BecomeWaits, ChannelReceive) {
  receives<Kind, long>(0);
  receives<Kind, long>(7);
  receives<Kind, std::string>(0);
  receives<Kind, std::string>(7);
}

// The word of its wake-up must not be taken for the word of a yield, or of a spawn.
KIND_TEST(BecomeWaits, WaitsAfterAnyWord) {
  this->run([] {
    typename Kind::template channel<long> values;
    std::atomic<int> steps = 0;
    struct step {
      static void on(std::atomic<int>* count, std::optional<long> value) {
        Kind::yield();
        auto child = Kind::spawn([] {});
        Kind::yield();
        child.join();
        *count += static_cast<int>(*value);
      }
    };
    std::vector<typename Kind::fiber> all;
    for (int i = 0; i < 8; ++i)
      all.push_back(Kind::spawn([&] { return become(values.receiving(), step::on, &steps); }));
    for (long i = 1; i <= 8; ++i)
      values.send(i);
    for (auto& each : all)
      each.join();
    EXPECT_EQ(steps, 36);
  });
}

KIND_TEST(BecomeWaits, ChannelSend) {
  this->run([] {
    typename Kind::template channel<std::string> values;
    struct sender {
      decltype(values)* to;
      int left;
      static continuation on(sender me, bool sent) {
        EXPECT_TRUE(sent);
        return me.left == 0 ? continuation()
                            : become(me.to->sending(std::to_string(me.left)), on, sender{me.to, me.left - 1});
      }
    };
    std::vector<typename Kind::fiber> all;
    for (int i = 0; i < 4; ++i)
      all.push_back(Kind::spawn([&] { return sender::on({&values, 50}, true); }));
    long sum = 0;
    for (int i = 0; i < 200; ++i)
      sum += std::stol(*values.receive());
    for (auto& each : all)
      each.join();
    EXPECT_EQ(sum, 4 * 50 * 51 / 2);
  });
}

KIND_TEST(BecomeWaits, ClosedChannels) {
  this->run([] {
    typename Kind::template channel<int> values;
    std::atomic<int> refused = 0;
    std::vector<typename Kind::fiber> all;
    for (int i = 0; i < 2; ++i)  // one pair waits, the other comes late
    {
      all.push_back(
          Kind::spawn([&] { return become(values.sending(1), [&](bool sent) { refused += !sent; }); }));
      if (i == 0)
        sennit::until_stackless<Kind>(1);
      values.close();
    }
    all.push_back(Kind::spawn(
        [&] { return become(values.receiving(), [&](std::optional<int> value) { refused += !value; }); }));
    for (auto& each : all)
      each.join();
    EXPECT_EQ(refused, 3);
  });
}

KIND_TEST(BecomeWaits, Join) {
  this->run([] {
    typename Kind::event go;
    std::atomic<int> seen = 0;
    auto first = Kind::spawn([&] { go.wait(); });
    auto second = Kind::spawn([&] { return become(sennit::joining(std::move(first)), [&] { seen = 1; }); });
    sennit::until_stackless<Kind>(1);
    EXPECT_EQ(seen, 0);
    go.set();
    second.join();
    EXPECT_EQ(seen, 1);
    // One that threw already.
    std::atomic<bool> begun = false;
    auto throws = Kind::spawn([&] {
      begun = true;
      throw std::runtime_error("thrown");
    });
    while (!begun)
      Kind::yield();
    auto gets_it = Kind::spawn([&] { return become(sennit::joining(std::move(throws)), [&] { seen = 2; }); });
    EXPECT_THROW(gets_it.join(), std::runtime_error);
    EXPECT_EQ(seen, 1);
  });
}

KIND_TEST(BecomeWaits, ManyJoinOneAfterAnother) {
  this->run([] {
    std::atomic<int> steps = 0;
    auto last = Kind::spawn([&] { ++steps; });
    for (int i = 0; i < 300; ++i)
      last = Kind::spawn([&steps, before = std::move(last)]() mutable {
        return become(sennit::joining(std::move(before)), [&steps] { ++steps; });
      });
    last.join();
    EXPECT_EQ(steps, 301);
  });
}

KIND_TEST(BecomeWaits, Future) {
  this->run([] {
    typename Kind::template promise<std::string> promise;
    std::string got;
    auto waits = Kind::spawn([&, future = promise.get_future()]() mutable {
      return become(std::move(future).waiting(),
                    [&](typename Kind::template future<std::string> ready) { got = ready.get(); });
    });
    sennit::until_stackless<Kind>(1);
    promise.set_value("kept");
    waits.join();
    EXPECT_EQ(got, "kept");
  });
}

// Their runtime ends while they wait, each for something else.
KIND_TEST(BecomeWaits, TheRuntimesEnd) {
  typename Kind::event happened;
  typename Kind::counting_semaphore permits(0);
  typename Kind::wait_group pending(1);
  typename Kind::mutex mutex;
  typename Kind::shared_mutex shared;
  typename Kind::barrier together(5);
  typename Kind::condition_variable changed;
  typename Kind::template channel<std::string> values;
  typename Kind::template channel<int> to;
  typename Kind::template promise<int> promise;
  std::atomic<int> went_on = 0;
  {
    Kind().run([&] {
      const auto on = [&](auto&&...) { ++went_on; };
      const auto waits_for = [&](auto make) {
        Kind::spawn([&, make]() mutable { return become(make(), on); }).detach();
      };
      mutex.lock();
      waits_for([&] { return happened.waiting(); });
      waits_for([&] { return permits.acquiring(); });
      waits_for([&] { return pending.waiting(); });
      waits_for([&] { return mutex.locking(); });
      shared.lock();
      waits_for([&] { return shared.locking(); });
      waits_for([&] { return shared.locking_shared(); });
      waits_for([&] { return together.arriving(); });
      waits_for([&] { return values.receiving(); });
      waits_for([&] { return to.sending(1); });
      waits_for([&] { return promise.get_future().waiting(); });
      waits_for([&] { return sennit::joining(Kind::spawn([&] { happened.wait(); })); });
      sennit::until_stackless<Kind>(11);
    });
  }
  mutex.unlock();
  shared.unlock();
  EXPECT_TRUE(shared.try_lock());
  shared.unlock();
  EXPECT_EQ(went_on, 0);
}

// A writer that waits keeps readers out; when it ends with its runtime, those of another are let in.
TEST(BecomeWaitsForASharedMutex, AWriterThatEndsLetsReadersIn) {
  sennit::shared_mutex mutex;
  sennit::runtime stays({.workers = 1});
  std::atomic<bool> read = false;
  mutex.lock_shared();
  std::optional<sennit::runtime> ends;
  ends.emplace(sennit::runtime_options{.workers = 1});
  ends->spawn([&] { return become(mutex.locking(), [] { ADD_FAILURE() << "it went on"; }); }).detach();
  sennit::until_stackless<sennit::parallel_kind>(1);
  auto reader = stays.spawn([&] {
    return become(mutex.locking_shared(), [&] {
      read = true;
      mutex.unlock_shared();
    });
  });
  sennit::until_stackless<sennit::parallel_kind>(2);
  EXPECT_FALSE(read);
  ends.reset();
  reader.join();
  EXPECT_TRUE(read);
  mutex.unlock_shared();
}

}  // namespace
