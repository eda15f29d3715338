// A lexer feeds a parser, token by token, among n other runnable fibers; under a strict FIFO run queue each
// token costs a walk over all of them, and whatever they touch. All do a fixed amount of work: as many tokens
// as each of the others does steps. The operation is one token or one step, so that less time is more
// throughput of the whole.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "../support/bench.hpp"
#include "../support/distinct.hpp"

namespace bench {

/// The parameters every program of this workload takes: `fibers`, the others; `bytes`, what each fiber works
/// on.
inline std::vector<parameter> policy_parameters() {
  return {{"fibers", {0, 10, 100, 1000}, {0, 10, 100}}, {"bytes", {4096}, {4096}}};
}

template <class Library>
class pipeline {
public:
  pipeline(std::uint64_t rounds, std::size_t bytes) : rounds_(rounds), words_(bytes / 8), text_(words_) {}

  /// A fiber of the pair or of the others, with what it works on.
  struct worker {
    explicit worker(pipeline* shared) : owner(shared) {}
    pipeline* owner;
    std::vector<std::uint64_t> block;
  };

  struct lexer {
    static BENCH_INLINE void run(void* argument) {
      pipeline& owner = *static_cast<worker*>(argument)->owner;
      for (std::uint64_t left = owner.rounds_; left != 0; --left) {
        owner.mutex_.lock();
        while (owner.full_)
          owner.taken_.wait(owner.mutex_);
        work(owner.text_);
        owner.full_ = true;
        owner.mutex_.unlock();
        owner.given_.notify_one();
      }
    }
  };

  struct parser {
    static BENCH_INLINE void run(void* argument) {
      pipeline& owner = *static_cast<worker*>(argument)->owner;
      for (std::uint64_t left = owner.rounds_; left != 0; --left) {
        owner.mutex_.lock();
        while (!owner.full_)
          owner.given_.wait(owner.mutex_);
        work(owner.text_);
        owner.full_ = false;
        owner.mutex_.unlock();
        owner.taken_.notify_one();
      }
    }
  };

  struct other {
    static BENCH_INLINE void run(void* argument) {
      worker& self = *static_cast<worker*>(argument);
      self.block.resize(self.owner->words_);
      for (std::uint64_t left = self.owner->rounds_; left != 0; --left) {
        work(self.block);
        Library::yield();
      }
    }
  };

private:
  /// Touches each cache line of `block`.
  static void work(std::vector<std::uint64_t>& block) {
    for (std::size_t i = 0; i < block.size(); i += 8)
      ++block[i];
  }

  const std::uint64_t rounds_;
  const std::size_t words_;
  std::vector<std::uint64_t> text_;
  typename Library::mutex mutex_;
  typename Library::condition_variable given_, taken_;
  bool full_ = false;
};

/// Call it from a fiber, on a runtime with the policy named by `variant`.
template <class Library>
void measure_policy(program& program, const char* variant) {
  using shared = pipeline<Library>;
  for (const long others : program.values("fibers")) {
    for (const long bytes : program.values("bytes")) {
      program.measure(variant, {{"fibers", others}, {"bytes", bytes}}, "step",
                      static_cast<double>(others + 1), [&](std::uint64_t count) {
                        shared owner(count, static_cast<std::size_t>(bytes));
                        std::vector<typename shared::worker> workers(static_cast<std::size_t>(others) + 2,
                                                                     typename shared::worker(&owner));
                        std::vector<typename Library::fiber> running;
                        running.emplace_back(distinct_entry<typename shared::lexer>(0), &workers[0]);
                        running.emplace_back(distinct_entry<typename shared::parser>(1), &workers[1]);
                        for (std::size_t i = 2; i < workers.size(); ++i) {
                          running.emplace_back(distinct_entry<typename shared::other>(i), &workers[i]);
                        }
                        for (auto& each : running)
                          each.join();
                      });
    }
  }
}

}  // namespace bench
