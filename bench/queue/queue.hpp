// A bounded queue with a mutex and two condition variables, two producers, two consumers: the first seed's
// condvar benchmark. One item is one operation.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "../support/bench.hpp"
#include "../support/distinct.hpp"

namespace bench {

template <class Library>
class bounded_queue {
public:
  static constexpr std::size_t capacity = 64;

  BENCH_INLINE void push(std::uint64_t item) {
    mutex_.lock();
    while (size_ == capacity)
      not_full_.wait(mutex_);
    items_[(first_ + size_++) % capacity] = item;
    mutex_.unlock();
    not_empty_.notify_one();
  }

  BENCH_INLINE std::uint64_t pop() {
    mutex_.lock();
    while (size_ == 0)
      not_empty_.wait(mutex_);
    const std::uint64_t item = items_[first_];
    first_ = (first_ + 1) % capacity;
    --size_;
    mutex_.unlock();
    not_full_.notify_one();
    return item;
  }

private:
  typename Library::mutex mutex_;
  typename Library::condition_variable not_empty_, not_full_;
  std::array<std::uint64_t, capacity> items_;
  std::size_t first_ = 0, size_ = 0;
};

template <class Library>
struct queue_user {
  bounded_queue<Library>* queue;
  std::uint64_t items;
  std::uint64_t sum = 0;
};

template <class Library>
struct producer {
  static BENCH_INLINE void run(void* argument) {
    auto& user = *static_cast<queue_user<Library>*>(argument);
    for (std::uint64_t item = 0; item < user.items; ++item) {
      user.queue->push(item);
      user.sum += item;
    }
  }
};

template <class Library>
struct consumer {
  static BENCH_INLINE void run(void* argument) {
    auto& user = *static_cast<queue_user<Library>*>(argument);
    for (std::uint64_t left = user.items; left != 0; --left)
      user.sum += user.queue->pop();
  }
};

/// Call it from a fiber.
template <class Library>
void measure_queue(program& program, const char* variant) {
  program.measure(variant, {}, "item", 2, [](std::uint64_t count) {
    bounded_queue<Library> queue;
    std::array<queue_user<Library>, 4> users;
    users.fill({&queue, count});
    std::vector<typename Library::fiber> running;
    running.emplace_back(distinct_entry<producer<Library>>(0), &users[0]);
    running.emplace_back(distinct_entry<consumer<Library>>(1), &users[1]);
    running.emplace_back(distinct_entry<producer<Library>>(2), &users[2]);
    running.emplace_back(distinct_entry<consumer<Library>>(3), &users[3]);
    for (auto& each : running)
      each.join();
    require(users[0].sum + users[2].sum == users[1].sum + users[3].sum, "the queue lost an item");
  });
}

}  // namespace bench
