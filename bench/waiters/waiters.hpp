// n fibers that wait for one object: what it costs each of them to queue and to be woken, or to leave the
// queue by a deadline.
//
// `ends wake`, of a
//   mutex     each locks it once a round, and all find it locked: main holds it until all are in the queue.
//             Of two mutexes that take turns, so that a fiber that has had one queues for the other.
//   condvar   each waits for the number of the next round, which main sets before it wakes all
//   channel   each receives from one channel, where main sends; a rendezvous
// `ends deadline`: they are never woken. Each waits again and again until a random deadline, so soon that of
// the n one is always due; so they leave from anywhere in the queue.
#pragma once

#include <chrono>
#include <cstdint>
#include <mutex>
#include <vector>

#include "../support/bench.hpp"
#include "../support/deadlines.hpp"
#include "../support/distinct.hpp"
#include "../support/latch.hpp"

namespace bench {

inline std::vector<parameter> waiters_parameters() {
  return {{"n", {100, 1'000, 10'000, 100'000}, {100, 1'000}}};
}

inline constexpr std::size_t waiters_stack_size = 8 * 1024;

/// n fibers that do `Body::run(argument)`.
template <class Library>
class crew {
public:
  template <class Body>
  void start(std::size_t n, Body* argument) {
    fibers_.reserve(n);
    for (std::size_t i = 0; i < n; ++i)
      fibers_.emplace_back(distinct_entry<Body, 16>(i), argument, waiters_stack_size);
  }
  void join() {
    for (auto& each : fibers_)
      each.join();
  }
  std::size_t size() const { return fibers_.size(); }

private:
  std::vector<typename Library::fiber> fibers_;
};

template <class Library>
class mutex_waiters {
public:
  static constexpr const char* name = "mutex";

  explicit mutex_waiters(std::size_t n) : count_(n) {
    held().lock();
    crew_.start(count_, this);
  }
  ~mutex_waiters() {
    over_ = true;
    round();
    crew_.join();
    held().unlock();
  }

  void wake_all(std::uint64_t rounds) {
    for (; rounds != 0; --rounds)
      round();
  }

  static BENCH_INLINE void run(void* argument) {
    mutex_waiters& owner = *static_cast<mutex_waiters*>(argument);
    bool over = false;
    for (unsigned turn = 0; !over; turn ^= 1) {
      auto& mutex = owner.mutexes_[turn];
      mutex.lock();
      const bool last = ++owner.passed_ == owner.count_;
      over = owner.over_;
      mutex.unlock();
      if (last)
        owner.all_passed_.arrive();
    }
  }

private:
  typename Library::mutex& held() { return mutexes_[turn_]; }

  void round() {
    mutexes_[turn_ ^ 1].lock();
    passed_ = 0;
    all_passed_.reset(1);
    held().unlock();
    all_passed_.wait();
    turn_ ^= 1;
  }

  typename Library::mutex mutexes_[2];
  crew<Library> crew_;
  unsigned turn_ = 0;  // of the mutex that main holds
  const std::size_t count_;
  std::size_t passed_ = 0;
  bool over_ = false;
  latch<Library> all_passed_;
};

template <class Library>
class condition_waiters {
public:
  static constexpr const char* name = "condvar";

  explicit condition_waiters(std::size_t n) : count_(n) { crew_.start(count_, this); }
  ~condition_waiters() {
    over_ = true;
    wake_all(1);
    crew_.join();
  }

  void wake_all(std::uint64_t rounds) {
    std::unique_lock hold(mutex_);
    for (; rounds != 0; --rounds) {
      passed_ = 0;
      ++round_;
      begins_.notify_all();
      while (passed_ != count_)
        ended_.wait(hold);
    }
  }

  static BENCH_INLINE void run(void* argument) {
    condition_waiters& owner = *static_cast<condition_waiters*>(argument);
    std::unique_lock hold(owner.mutex_);
    for (std::uint64_t seen = 0;;) {
      while (owner.round_ == seen)
        owner.begins_.wait(hold);
      seen = owner.round_;
      if (++owner.passed_ == owner.count_)
        owner.ended_.notify_one();
      if (owner.over_)
        break;
    }
  }

private:
  typename Library::plain_mutex mutex_;
  typename Library::plain_condition begins_, ended_;
  crew<Library> crew_;
  const std::size_t count_;
  std::size_t passed_ = 0;
  std::uint64_t round_ = 0;
  bool over_ = false;
};

template <class Library>
class channel_waiters {
public:
  static constexpr const char* name = "channel";

  explicit channel_waiters(std::size_t n) : count_(n) { crew_.start(count_, this); }
  ~channel_waiters() {
    send(count_, over);
    crew_.join();
  }

  void wake_all(std::uint64_t rounds) { send(rounds * count_, last); }

  static BENCH_INLINE void run(void* argument) {
    channel_waiters& owner = *static_cast<channel_waiters*>(argument);
    for (;;) {
      const std::uint64_t message = owner.channel_.receive();
      if (message != 0)
        owner.all_received_.arrive();
      if (message == over)
        break;
    }
  }

private:
  static constexpr std::uint64_t last = 1;
  static constexpr std::uint64_t over = 2;

  // For each of the last n messages, which are `with`, a receiver arrives.
  void send(std::uint64_t messages, std::uint64_t with) {
    all_received_.reset(count_);
    for (std::uint64_t i = 0; i < messages; ++i)
      channel_.send(i + count_ < messages ? 0 : with);
    all_received_.wait();
  }

  typename Library::channel channel_;
  const std::size_t count_;
  latch<Library> all_received_;
  crew<Library> crew_;
};

/// `Wait` is an object that is waited for in vain, by `until(deadline)`, with its `name`.
template <class Library, class Wait>
class leaving_fibers {
public:
  explicit leaving_fibers(std::size_t n) : count_(n) { crew_.start(count_, this); }
  ~leaving_fibers() {
    begin(0);
    crew_.join();
  }

  void leave(std::uint64_t times) {
    all_left_.reset(count_);
    begin(times);
    all_left_.wait();
  }

  static BENCH_INLINE void run(void* argument) {
    leaving_fibers& owner = *static_cast<leaving_fibers*>(argument);
    static random_deadlines deadlines[64];
    while (std::uint64_t left = owner.begin_.receive()) {
      for (; left != 0; --left)
        owner.wait_.until(deadlines[Library::worker()].soon(owner.count_));
      owner.all_left_.arrive();
    }
  }

private:
  void begin(std::uint64_t times) {
    for (std::size_t i = 0; i < count_; ++i)
      begin_.send(times);
  }

  Wait wait_;
  typename Library::channel begin_;
  const std::size_t count_;
  latch<Library> all_left_;
  crew<Library> crew_;
};

template <class Library>
struct leaves_mutex {
  static constexpr const char* name = "mutex";
  leaves_mutex() { mutex.lock(); }
  ~leaves_mutex() { mutex.unlock(); }
  void until(deadline_clock::time_point deadline) {
    require(!mutex.try_lock_until(deadline), "a mutex that is locked was taken");
  }
  typename Library::timed_mutex mutex;
};

template <class Library>
struct leaves_condition {
  static constexpr const char* name = "condvar";
  void until(deadline_clock::time_point deadline) {
    std::unique_lock hold(mutex);
    condition.wait_until(hold, deadline);
  }
  typename Library::plain_mutex mutex;
  typename Library::plain_condition condition;
};

template <class Library>
struct leaves_channel {
  static constexpr const char* name = "channel";
  void until(deadline_clock::time_point deadline) {
    require(!channel.receive_until(deadline), "a message came that nobody sent");
  }
  typename Library::channel channel;
};

/// Calls `act`, and prints why it cannot be done if that throws: those fibers that were made wait for ever.
template <class Act>
void or_unsupported(program& program, const char* variant, const params& parameters, Act act) {
  try {
    act();
  } catch (const std::exception& error) {
    program.unsupported(variant, parameters, error.what());
    std::fflush(stdout);
    std::_Exit(0);
  }
}

template <class Waiters>
void measure_woken(program& program, const char* variant, long n) {
  const params parameters = {{"n", n}, {"object", Waiters::name}, {"ends", "wake"}};
  or_unsupported(program, variant, parameters, [&] {
    Waiters waiters(static_cast<std::size_t>(n));
    program.measure(variant, parameters, "waiter", static_cast<double>(n),
                    [&](std::uint64_t count) { waiters.wake_all(count); });
  });
}

template <class Library, class Wait>
void measure_leaving(program& program, const char* variant, long n) {
  constexpr int times = 4;
  const params parameters = {{"n", n}, {"object", Wait::name}, {"ends", "deadline"}};
  or_unsupported(program, variant, parameters, [&] {
    leaving_fibers<Library, Wait> waiters(static_cast<std::size_t>(n));
    program.measure(variant, parameters, "waiter", static_cast<double>(n) * times,
                    [&](std::uint64_t count) { waiters.leave(count * times); });
  });
}

/// Call it from a fiber. A library of this workload has, besides the rest, `plain_mutex` and
/// `plain_condition` as the standard's, `timed_mutex`, `worker()`, and a `channel` of words, a rendezvous,
/// with `send(word)`, `receive()` and `receive_until(deadline)` (false: it has come).
template <class Library>
void measure_waiters_woken(program& program, const char* variant) {
  if (!program.wants(variant))
    return;
  for (const long n : program.values("n")) {
    measure_woken<mutex_waiters<Library>>(program, variant, n);
    measure_woken<condition_waiters<Library>>(program, variant, n);
    measure_woken<channel_waiters<Library>>(program, variant, n);
  }
}

/// After all that are woken: a library that hands out again the stacks of fibers that have ended does it at
/// random from now on, and of many in memory order the next is more quickly found.
template <class Library>
void measure_waiters_leaving(program& program, const char* variant) {
  if (!program.wants(variant))
    return;
  for (const long n : program.values("n")) {
    measure_leaving<Library, leaves_mutex<Library>>(program, variant, n);
    measure_leaving<Library, leaves_condition<Library>>(program, variant, n);
    measure_leaving<Library, leaves_channel<Library>>(program, variant, n);
  }
}

}  // namespace bench
