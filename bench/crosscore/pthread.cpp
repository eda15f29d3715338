// POSIX threads, each pinned to its own processor: see crosscore.hpp. `condvar`: a mutex and a condition
// variable; `futex`: only the system call; `spin`: neither, two processors that do nothing else. `plain`: as
// that, by as few loads and stores as there can be, and without a pause while it waits.
#include <atomic>
#include <chrono>
#include <memory>

#include "../peers/pthread.hpp"
#include "../support/futex.hpp"
#include "crosscore.hpp"

namespace {

class condvar_mailbox {
public:
  void put(std::uint64_t message) {
    mutex_.lock();
    message_ = message;
    mutex_.unlock();
    filled_.notify_one();
  }

  std::uint64_t take() {
    mutex_.lock();
    while (message_ == 0)
      filled_.wait(mutex_);
    const std::uint64_t taken = message_;
    message_ = 0;
    mutex_.unlock();
    return taken;
  }

private:
  bench::pthreads::mutex mutex_;
  bench::pthreads::condition_variable filled_;
  std::uint64_t message_ = 0;
};

class futex_mailbox {
public:
  void put(std::uint64_t message) {
    message_ = message;
    full_.store(1, std::memory_order_release);
    bench::futex_wake_one(full_);
  }

  std::uint64_t take() {
    while (full_.load(std::memory_order_acquire) == 0)
      bench::futex_wait(full_, 0);
    full_.store(0, std::memory_order_relaxed);
    return message_;
  }

private:
  std::uint64_t message_ = 0;
  std::atomic<std::uint32_t> full_{0};
};

struct spins {
  static BENCH_INLINE void once() {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("isb" ::: "memory");
#endif
  }
};

struct pinned_start {
  unsigned processor;
  bench::entry entry;
  void* argument;
};

// On the `index`-th processor that the process may use.
void pin_to(unsigned index) {
  cpu_set_t allowed;
  sched_getaffinity(0, sizeof allowed, &allowed);
  for (std::size_t cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (!CPU_ISSET(cpu, &allowed) || index-- != 0)
      continue;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    sched_setaffinity(0, sizeof one, &one);
    return;
  }
}

class pinned_thread {
public:
  pinned_thread(unsigned processor, bench::entry entry, void* argument)
      : start_(new pinned_start{processor, entry, argument}), thread_(run, start_.get()) {}
  void join() { thread_.join(); }

private:
  static void* run(void* argument) {
    const auto& start = *static_cast<pinned_start*>(argument);
    pin_to(start.processor);
    return start.entry(start.argument);
  }

  std::unique_ptr<pinned_start> start_;
  bench::pthreads::fiber thread_;
};

template <class Mailbox>
void measure(bench::program& program, const char* variant) {
  const auto start = [](unsigned processor, bench::entry entry, void* argument) {
    return pinned_thread(processor, entry, argument);
  };
  bench::measure_crosscore<Mailbox>(program, variant, start, [](auto&, auto&) {});
}

// Two threads that never sleep. They begin when both are there, and the time is only that of the messages, so
// that a short run tells something on a machine with other work.
template <class Mailbox>
class awake_pair {
public:
  static double run(std::uint64_t count) {
    awake_pair pair(count);
    pinned_thread first(0, begin_first, &pair);
    pinned_thread second(1, answer, &pair);
    first.join();
    second.join();
    return pair.seconds_;
  }

private:
  explicit awake_pair(std::uint64_t count) : count_(count) {}

  void meet() {
    there_.fetch_add(1);
    while (there_.load() != 2) {
    }
  }
  static void* begin_first(void* of) {
    auto& self = *static_cast<awake_pair*>(of);
    self.meet();
    const auto began = std::chrono::steady_clock::now();
    std::uint64_t message = 1;
    for (std::uint64_t left = self.count_; left != 0; --left) {
      self.there_and_back_[0].put(message);
      message = self.there_and_back_[1].take() + 1;
    }
    self.seconds_ = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
    bench::require(message == 2 * self.count_ + 1, "a message was lost");
    return nullptr;
  }
  static void* answer(void* of) {
    auto& self = *static_cast<awake_pair*>(of);
    self.meet();
    for (std::uint64_t left = self.count_; left != 0; --left)
      self.there_and_back_[1].put(self.there_and_back_[0].take() + 1);
    return nullptr;
  }

  Mailbox there_and_back_[2];
  const std::uint64_t count_;
  double seconds_ = 0;
  alignas(128) std::atomic<unsigned> there_{0};
};

template <class Mailbox>
void measure_awake(bench::program& program, const char* variant) {
  program.measure(variant, {}, "message", 2, awake_pair<Mailbox>::run);
}

}  // namespace

int main(int argc, char** argv) {
  bench::program program(argc, argv, bench::pthreads::version(),
                         "a processor each; mutex and condition variable, futex, spinning with a pause, or "
                         "plain loads and stores");
  bench::require_two_workers(program);
  measure<condvar_mailbox>(program, "condvar");
  measure<futex_mailbox>(program, "futex");
  measure_awake<bench::polled_mailbox<spins>>(program, "spin");
  measure_awake<bench::plain_mailbox>(program, "plain");
}
