// Two fibers hand a turn to each other by a mutex and a condition variable each: one message is one hand-off.
#pragma once

#include <cstdint>
#include <vector>

#include "../support/bench.hpp"
#include "../support/distinct.hpp"

namespace bench {

template <class Library>
class handoff {
public:
  explicit handoff(std::uint64_t messages) : messages_(messages) {}

  /// What one of the two needs to know.
  struct side {
    handoff* shared;
    unsigned me;
  };

  static BENCH_INLINE void run(void* argument) {
    const auto [shared, me] = *static_cast<const side*>(argument);
    for (std::uint64_t left = shared->messages_; left != 0; --left) {
      shared->mutex_.lock();
      while (shared->turn_ != me)
        shared->my_turn_[me].wait(shared->mutex_);
      shared->turn_ = 1 - me;
      shared->mutex_.unlock();
      shared->my_turn_[1 - me].notify_one();
    }
  }

private:
  typename Library::mutex mutex_;
  typename Library::condition_variable my_turn_[2];
  unsigned turn_ = 0;
  const std::uint64_t messages_;
};

/// Call it from a fiber.
template <class Library>
void measure_condvar(program& program, const char* variant) {
  program.measure(variant, {}, "message", 2, [](std::uint64_t count) {
    handoff<Library> shared(count);
    typename handoff<Library>::side sides[] = {{&shared, 0}, {&shared, 1}};
    std::vector<typename Library::fiber> running;
    for (std::size_t i = 0; i < 2; ++i)
      running.emplace_back(distinct_entry<handoff<Library>>(i), &sides[i]);
    for (auto& each : running)
      each.join();
  });
}

}  // namespace bench
