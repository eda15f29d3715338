// The stress program's parts: an episode is one runtime, and what happens in it is drawn from its seed.
#pragma once

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <memory>
#include <mutex>
#include <utility>

#include "sennit/runtime.hpp"

namespace stress {

// The current state, for the watchdog and the last line. Every event moves `progress`.
struct totals {
  std::atomic<std::uint64_t> progress{0};
  std::atomic<std::uint64_t> fibers{0};
  std::atomic<std::uint64_t> joins{0};
  std::atomic<std::uint64_t> give_ups{0};  // joins and parks whose deadline passed
  std::atomic<std::uint64_t> parks{0};
  std::atomic<std::uint64_t> exceptions{0};
  std::atomic<std::uint64_t> moves{0};
  std::atomic<std::uint64_t> bytes{0};
};
inline totals all;

class random_source {
public:
  explicit random_source(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next() {
    std::uint64_t z = state_ += 0x9e3779b97f4a7c15;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }
  unsigned below(unsigned bound) { return static_cast<unsigned>(next() % bound); }
  bool one_in(unsigned n) { return below(n) == 0; }

private:
  std::uint64_t state_;
};

struct settings {
  std::uint64_t seed = 0;
  unsigned workers = 1;
  sennit::run_policy policy = sennit::run_policy::fifo;
  bool migrating = false;
  bool abrupt = false;  // the runtime ends while fibers wait for what never comes
  int budget = 0;       // of fibers

  void print(std::FILE* to) const {
    static const char* const names[] = {"fifo", "lifo", "hybrid"};
    std::fprintf(to, "--episode %llu: %u workers, %s%s%s\n", static_cast<unsigned long long>(seed), workers,
                 names[static_cast<unsigned>(policy)], migrating ? ", migrating" : "",
                 abrupt ? ", ends abruptly" : "");
  }
};

// A fiber that an OS thread is to unpark until it has counted to its goal, and then to join.
struct errand {
  sennit::fiber who;
  std::shared_ptr<std::atomic<unsigned>> counted;
  unsigned goal;
};

struct episode {
  settings is;
  sennit::runtime* runtime = nullptr;
  std::atomic<int> budget{0};
  std::atomic<long> alive{0};  // fibers whose functions have begun and not ended
  std::atomic<long> begun{0};  // functions made for fibers
  std::atomic<long> ended{0};  // and destroyed
  std::mutex lock;
  std::deque<errand> errands;
  std::atomic<int> talks{0};        // connections that are open
  std::atomic<bool> ending{false};  // pinned fibers are unwound elsewhere
  bool closed = false;              // no errands any more
};

[[noreturn]] inline void fail(const episode& e, const char* what) {
  std::fprintf(stderr, "stress: WRONG: %s\n", what);
  e.is.print(stderr);
  std::abort();
}

inline void check(const episode& e, bool right, const char* what) {
  if (!right) [[unlikely]]
    fail(e, what);
}

// Counted wherever a fiber's function is kept: one that is lost, or run twice, is missed at the end.
class token {
public:
  explicit token(episode& e) : e_(&e) {
    ++e_->begun;
    ++all.fibers;
  }
  token(token&& other) noexcept : e_(std::exchange(other.e_, nullptr)) {}
  ~token() {
    if (e_ != nullptr)
      ++e_->ended;
  }

private:
  episode* e_;
};

// Counts a fiber that lives, and one that leaves in any way.
struct living {
  explicit living(episode& of) : e(of) { ++e.alive; }
  ~living() {
    --e.alive;
    ++all.progress;
  }
  episode& e;
};

// Takes so many fibers from the budget, if they are there.
bool may_start(episode& e, int count);
// Resumes elsewhere, or later.
void hop(const episode& e, random_source& random);
// Fibers at both ends of a connection, which another fiber may close meanwhile.
void stress_io(episode& e, random_source& random);
// Fibers that wait for each other in every way, and are stopped.
void stress_channels(episode& e, random_source& random);
// Actors that send each other messages, and are stopped, cancelled and restarted.
void stress_actors(episode& e, random_source& random);
// Fibers that wait for each other without a stack.
void stress_continuations(episode& e, random_source& random);
// Waits for messages that are never sent.
void listen_in_vain(bool with_deadline);
// Some random operations of a fiber; deeper ones start fewer others.
void act(episode& e, std::uint64_t seed, unsigned depth);
// What an OS thread does with a runtime.
void act_outside(episode& e, std::uint64_t seed);
// Fibers that wait for what never comes.
void leave_some(episode& e, std::uint64_t seed);

// Samples the program as a profiler does, until the end, which prints how often: profile.cpp.
void begin_profile(bool on_alternate_stack);
void end_profile();

}  // namespace stress
