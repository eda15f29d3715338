// A token goes round a ring of n fibers, each of which waits on a mailbox of its own; one hop is one
// operation. `order` says how the ring lies in memory: each next fiber made after the one before, or at
// random.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <numeric>
#include <random>
#include <stdexcept>
#include <type_traits>
#include <utility>
#include <vector>

#include "../support/bench.hpp"
#include "../support/distinct.hpp"

namespace bench {

/// The parameter every program of this workload takes.
inline std::vector<parameter> threadring_parameters() {
  return {{"n", {503, 10'000, 100'000}, {503, 10'000}}};
}

/// Holds one token; made of the library's mutex and condition variable.
template <class Library>
class mailbox {
public:
  BENCH_INLINE void put(std::uint64_t token) {
    mutex_.lock();
    token_ = token;
    full_ = true;
    mutex_.unlock();
    filled_.notify_one();
  }

  BENCH_INLINE std::uint64_t take() {
    mutex_.lock();
    while (!full_)
      filled_.wait(mutex_);
    full_ = false;
    const std::uint64_t token = token_;
    mutex_.unlock();
    return token;
  }

private:
  typename Library::mutex mutex_;
  typename Library::condition_variable filled_;
  std::uint64_t token_ = 0;
  bool full_ = false;
};

/// A mailbox that keeps its fiber's handle: `belongs_to(handle&&)`, before the first `put`, and `join()`.
template <class Mailbox>
concept keeps_its_fiber = requires(Mailbox& mail) { mail.join(); };

/// A ring of `n` fibers. `Mailbox` has `put(token)` and `take()`.
template <class Library, class Mailbox = mailbox<Library>>
class ring {
public:
  explicit ring(std::size_t n, std::size_t stack_size) : nodes_(n) {
    link_in_memory_order();
    fibers_.reserve(n);
    for (std::size_t i = 0; i < n; ++i) {
      typename Library::fiber made(distinct_entry<ring>(i), &nodes_[i], stack_size);
      if constexpr (keeps_its_fiber<Mailbox>)
        nodes_[i].mail.belongs_to(std::move(made.handle()));
      else
        fibers_.push_back(std::move(made));
    }
  }

  ~ring() {
    nodes_.front().mail.put(stop);
    if constexpr (keeps_its_fiber<Mailbox>) {
      node* each = &nodes_.front();
      do {  // in the ring's order: an ended fiber wakes no other any more
        each->mail.join();
        each = each->next;
      } while (each != &nodes_.front());
    }
    for (auto& each : fibers_)
      each.join();
  }

  void link_in_memory_order() {
    std::vector<std::size_t> order(nodes_.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    link(order);
  }

  void link_in_random_order() {
    std::vector<std::size_t> order(nodes_.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::shuffle(order.begin(), order.end(), std::mt19937_64(1));
    link(order);
  }

  /// Passes the token for `hops` hops.
  void pass(std::uint64_t hops) {
    nodes_.front().mail.put(hops);
    require(done_.take() == 0, "the token was lost");
  }

  static BENCH_INLINE void run(void* argument) {
    auto& self = *static_cast<node*>(argument);
    for (;;) {
      const std::uint64_t token = self.mail.take();
      if (token == stop)
        break;
      if (token == 0) {
        self.owner->done_.put(0);
      } else {
        self.next->mail.put(token - 1);
      }
    }
    if (self.next != &self.owner->nodes_.front())  // that one was the first to end
      self.next->mail.put(stop);
  }

private:
  static constexpr std::uint64_t stop = UINT64_MAX;

  struct node {
    Mailbox mail;
    node* next;
    ring* owner;
  };

  void link(const std::vector<std::size_t>& order) {
    for (std::size_t i = 0; i < order.size(); ++i) {
      node& each = nodes_[order[i]];
      each.owner = this;
      each.next = &nodes_[order[(i + 1) % order.size()]];
    }
  }

  std::vector<node> nodes_;
  std::vector<typename Library::fiber> fibers_;  // those that no mailbox keeps
  std::conditional_t<keeps_its_fiber<Mailbox>, mailbox<Library>, Mailbox> done_;
};

/// The most fibers a library is asked for, and why no more.
struct ring_limit {
  long n;
  const char* reason;
};

/// Call it from a fiber. `Ring` is made of n and `arguments`, and has what ring has.
template <class Ring, class... Arguments>
void measure_ring(program& program, const char* variant, const ring_limit& limit, Arguments... arguments) {
  for (const long n : program.values("n")) {
    if (n > limit.n) {
      program.unsupported(variant, {{"n", n}}, limit.reason);
      continue;
    }
    const params in_memory_order = {{"n", n}, {"order", "memory"}};
    const params at_random = {{"n", n}, {"order", "random"}};
    if (!program.wants(variant, in_memory_order) && !program.wants(variant, at_random))
      continue;
    try {
      Ring nodes(static_cast<std::size_t>(n), arguments...);
      const auto lap = [&](std::uint64_t laps) { nodes.pass(laps * static_cast<std::uint64_t>(n)); };
      program.measure_rate(variant, in_memory_order, "hop", static_cast<double>(n), lap);
      program.report_memory(variant, in_memory_order, "fiber", static_cast<double>(n));
      nodes.link_in_random_order();
      program.measure_rate(variant, at_random, "hop", static_cast<double>(n), lap);
    } catch (const std::exception& error) {
      program.unsupported(variant, {{"n", n}}, error.what());
      std::fflush(stdout);
      std::_Exit(0);  // those fibers that were made wait for ever
    }
  }
}

/// The same of fibers with stacks. `stack_size` is the least the library's fibers can live on here.
template <class Library, class Mailbox = mailbox<Library>>
void measure_threadring(program& program, const char* variant, std::size_t stack_size,
                        const ring_limit& limit = {INT64_MAX, ""}) {
  measure_ring<ring<Library, Mailbox>>(program, variant, limit, stack_size);
}

}  // namespace bench
