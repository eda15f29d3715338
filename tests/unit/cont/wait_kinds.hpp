// The objects that fibers without a stack wait for, in tests of deadlines and of stops.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "sennit/become.hpp"
#include "support/deadlines.hpp"
#include "support/kinds.hpp"

namespace sennit {

using steady = std::chrono::steady_clock;

using support::generous;
using support::past;
using support::soon;

// Requests the stop, from a fiber beside the waiters or from another thread.
inline void request(std::stop_source stop, bool elsewhere) {
  if (elsewhere)
    std::thread([&] { stop.request_stop(); }).join();
  else
    stop.request_stop();
}

template <std::size_t Count>
void expect_each(const std::atomic<int> (&results)[Count], int wanted) {
  for (const auto& each : results)
    EXPECT_EQ(each, wanted) << "of number " << &each - results;
}

// Locks that many fibers race for. The owner notes that it is inside, yields, and unlocks: no other fiber may
// be inside then.
template <class Kind>
class watched_locks {
public:
  typename Kind::mutex mutex;
  typename Kind::shared_mutex shared;

  void has_mutex() {
    EXPECT_EQ(++inside_, 1);
    Kind::yield();
    --inside_;
    mutex.unlock();
  }
  void writes() {
    EXPECT_EQ(++writing_, 1);
    EXPECT_EQ(reading_, 0);
    Kind::yield();
    --writing_;
    shared.unlock();
  }
  void reads() {
    ++reading_;
    EXPECT_EQ(writing_, 0);
    Kind::yield();
    --reading_;
    shared.unlock_shared();
  }
  void expect_free() {
    EXPECT_TRUE(mutex.try_lock());
    mutex.unlock();
    EXPECT_TRUE(shared.try_lock());
    shared.unlock();
  }

private:
  long inside_ = 0;
  std::atomic<long> reading_ = 0;
  std::atomic<long> writing_ = 0;
};

// What is waited for, of each kind whose wait brings whether it came in time.
template <class Kind>
struct wait_kinds {
  typename Kind::event event;
  typename Kind::counting_semaphore semaphore{0};
  typename Kind::wait_group group{1};
  typename Kind::mutex mutex;
  typename Kind::shared_mutex read;
  typename Kind::shared_mutex written;
  typename Kind::template channel<int> numbers;
  typename Kind::template channel<std::string> texts;
  typename Kind::template channel<int> taken;
  typename Kind::template promise<int> promise;

  static constexpr int count = 10;

  // A fiber for each of them, from 0; the result is +1 if it came in time, else -1. `as(wait)` is what it
  // waits by.
  template <class Begin, class As>
  void each(std::atomic<int>* results, steady::time_point deadline, Begin begin, As as) {
    const auto waits = [&](std::atomic<int>& result, auto make) {
      begin_one(begin, result, [make, as]() mutable { return as(make()); });
    };
    waits(results[0], [this, deadline] { return event.waiting_until(deadline); });
    waits(results[1], [this, deadline] { return semaphore.acquiring_until(deadline); });
    waits(results[2], [this, deadline] { return group.waiting_until(deadline); });
    waits(results[3], [this, deadline] { return mutex.locking_until(deadline); });
    waits(results[4], [this, deadline] { return numbers.receiving_until(deadline); });
    waits(results[5], [this, deadline] { return texts.receiving_until(deadline); });
    waits(results[6], [this, deadline] { return taken.sending_until(1, deadline); });
    waits(results[7], [this, deadline] { return promise.get_future().waiting_until(deadline); });
    waits(results[8], [this, deadline] { return read.locking_shared_until(deadline); });
    waits(results[9], [this, deadline] { return written.locking_until(deadline); });
  }
  template <class Begin>
  void each(std::atomic<int>* results, steady::time_point deadline, Begin begin) {
    each(results, deadline, begin, [](auto wait) { return wait; });
  }
  // The same without deadlines, where `as` is to bring a result.
  template <class Begin, class As>
  void each(std::atomic<int>* results, Begin begin, As as) {
    const auto waits = [&](std::atomic<int>& result, auto make) {
      begin_one(begin, result, [make, as]() mutable { return as(make()); });
    };
    waits(results[0], [this] { return event.waiting(); });
    waits(results[1], [this] { return semaphore.acquiring(); });
    waits(results[2], [this] { return group.waiting(); });
    waits(results[3], [this] { return mutex.locking(); });
    waits(results[4], [this] { return numbers.receiving(); });
    waits(results[5], [this] { return texts.receiving(); });
    waits(results[6], [this] { return taken.sending(1); });
    waits(results[7], [this] { return promise.get_future().waiting(); });
    waits(results[8], [this] { return read.locking_shared(); });
    waits(results[9], [this] { return written.locking(); });
  }
  template <class Begin, class Make>
  static void begin_one(Begin& begin, std::atomic<int>& result, Make make) {
    begin([make, &result]() mutable {
      return become(make(), [&result](auto what) { result = in_time(what) ? 1 : -1; });
    });
  }

  static bool in_time(bool was) { return was; }
  template <class T>
  static bool in_time(const std::optional<T>& value) {
    return value.has_value();
  }
  static bool in_time(typename Kind::template future<int>& result) { return result.ready(); }

  void lock_all() {
    mutex.lock();
    read.lock();
    written.lock_shared();
  }
  // After lock_all(). Those that wait have the mutexes then.
  void bring_all() {
    event.set();
    semaphore.release();
    group.done();
    mutex.unlock();
    read.unlock();
    written.unlock_shared();
    EXPECT_TRUE(numbers.send(7));
    EXPECT_TRUE(texts.send("a text too long to lie in the object"));
    EXPECT_EQ(taken.receive(), 1);
    promise.set_value(9);
  }

  void unlock_all() {
    mutex.unlock();
    read.unlock_shared();
    written.unlock();
  }

  // After lock_all(): no fiber waits for any of them any more, and none has been lost.
  void nobody_waits() {
    event.set();
    semaphore.release();
    EXPECT_TRUE(semaphore.try_acquire());
    group.done();
    mutex.unlock();
    read.unlock();
    written.unlock_shared();
    EXPECT_TRUE(mutex.try_lock());
    EXPECT_TRUE(read.try_lock_shared());
    EXPECT_TRUE(written.try_lock());
    unlock_all();
    int number = 1;
    EXPECT_FALSE(numbers.try_send(number));
    std::string text;
    EXPECT_FALSE(texts.try_send(text));
    EXPECT_FALSE(taken.try_receive());
    promise.set_value(9);
  }
};

template <class Kind>
struct running {
  std::vector<typename Kind::fiber> all;
  template <class Function>
  void operator()(Function function) {
    all.push_back(Kind::spawn(std::move(function)));
  }
  void join() {
    for (auto& each : all)
      each.join();
  }
};

}  // namespace sennit
