// Counters: a table for each thread, their sums, and the file.
#include "sennit/detail/sched/counters.hpp"

#if defined(SENNIT_COUNTERS)

#include <algorithm>
#include <array>
#include <chrono>
#include <cinttypes>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <mutex>
#include <utility>

#include "sennit/detail/arch/spin_lock.hpp"
#include "sennit/detail/sched/fiber.hpp"
#include "sennit/detail/stack/stack.hpp"
#include "stack/guard.hpp"

namespace sennit::inline v0_1::detail {

namespace {

struct block_counts {
  std::uint64_t with_stack = 0;
  std::uint64_t without = 0;
};

// The place and the reason: a forced yield counts as a separate place.
using block_site = std::pair<const void*, const char*>;

// Sleeps that are longer than this are counted apart: a server that has no load at all sleeps so long.
constexpr std::int64_t long_sleep_ns = 10'000'000;

struct event_counts {
  std::uint64_t handoffs = 0;
  std::uint64_t nothing_ready = 0;
  std::uint64_t polls_due = 0;
  std::uint64_t calls = 0;
  std::uint64_t recognized_with_stack = 0;
  std::uint64_t recognized_without = 0;
  std::uint64_t sleeps = 0;
  std::int64_t slept_ns = 0;
  std::int64_t slept_long_ns = 0;  // this much of slept_ns was in long sleeps

  void add(const event_counts& more) noexcept {
    handoffs += more.handoffs;
    nothing_ready += more.nothing_ready;
    polls_due += more.polls_due;
    calls += more.calls;
    recognized_with_stack += more.recognized_with_stack;
    recognized_without += more.recognized_without;
    sleeps += more.sleeps;
    slept_ns += more.slept_ns;
    slept_long_ns += more.slept_long_ns;
  }
};

// How many stacks are in use: how long each number was, the maximum, and the maximum of each of a few hundred
// time slices. The slices double in length when there are no more.
class stack_use {
public:
  void change(int by) noexcept {
    const lock_holder hold(lock_);
    pass();
    in_use_ += by;
    most_ = std::max(most_, in_use_);
    auto& slice = course_[slice_];
    slice = std::max(slice, in_use_);
  }

  void write(std::FILE* to) noexcept {
    const lock_holder hold(lock_);
    pass();
    double all = 0, weighted = 0;
    for (std::size_t n = 0; n < held_.size(); ++n) {
      all += seconds(held_[n]);
      weighted += static_cast<double>(n) * seconds(held_[n]);
    }
    std::fprintf(to, "\"stacks\": {\"most\": %d, \"average\": %.4f, \"seconds\": {", most_,
                 all > 0 ? weighted / all : 0);
    const char* separator = "";
    for (std::size_t n = 0; n < held_.size(); ++n)
      if (held_[n] != clock::duration::zero())
        std::fprintf(to, "%s\"%zu\": %.6f", std::exchange(separator, ", "), n, seconds(held_[n]));
    std::fprintf(to, "}, \"slice_seconds\": %.6f, \"course\": [", seconds(length_));
    for (std::size_t i = 0; i <= slice_; ++i)
      std::fprintf(to, "%s%d", i == 0 ? "" : ", ", course_[i]);
    std::fputs("]}", to);
  }

private:
  static double seconds(clock::duration time) noexcept { return std::chrono::duration<double>(time).count(); }

  // Nothing has changed up to now.
  void pass() noexcept SENNIT_REQUIRES(lock_) {
    const time_point now = clock::now();
    if (since_ == time_point()) {
      since_ = now;
      slice_ends_ = now + length_;
    }
    held_[std::min(static_cast<std::size_t>(in_use_), held_.size() - 1)] += now - since_;
    since_ = now;
    for (; now >= slice_ends_; slice_ends_ += length_) {
      if (slice_ + 1 == course_.size())
        halve();
      course_[++slice_] = in_use_;
    }
  }
  void halve() noexcept SENNIT_REQUIRES(lock_) {
    for (std::size_t i = 0; i < course_.size() / 2; ++i)
      course_[i] = std::max(course_[2 * i], course_[2 * i + 1]);
    slice_ = course_.size() / 2 - 1;
    length_ *= 2;
  }

  spin_lock lock_;
  int in_use_ SENNIT_GUARDED_BY(lock_) = 0;
  int most_ SENNIT_GUARDED_BY(lock_) = 0;
  time_point since_ SENNIT_GUARDED_BY(lock_){};
  std::array<clock::duration, 4096> held_ SENNIT_GUARDED_BY(lock_){};  // the last one: this many, or more
  std::array<int, 256> course_ SENNIT_GUARDED_BY(lock_){};
  std::size_t slice_ SENNIT_GUARDED_BY(lock_) = 0;
  clock::duration length_ SENNIT_GUARDED_BY(lock_) = std::chrono::milliseconds(1);
  time_point slice_ends_ SENNIT_GUARDED_BY(lock_){};
};

// Never destroyed: threads may end after everything else.
struct process_sums {
  std::mutex lock;
  std::map<block_site, block_counts> blocks;
  event_counts events;
  stack_use stacks;

  process_sums() {
    std::atexit([] { sums().write(); });
  }
  static process_sums& sums() {
    static auto* only = new process_sums;
    return *only;
  }

  void write() {
    const char* const path = std::getenv("SENNIT_COUNTERS");
    std::FILE* const to = path != nullptr ? std::fopen(path, "w") : nullptr;
    if (to == nullptr)
      return;
    const std::lock_guard hold(lock);
    std::fputs("{\"blocks\": [", to);
    const char* separator = "";
    for (const auto& [site, count] : blocks)
      std::fprintf(to,
                   "%s\n  {\"site\": \"%p\", \"reason\": \"%s\", \"with_stack\": %" PRIu64
                   ", \"without_stack\": %" PRIu64 "}",
                   std::exchange(separator, ","), site.first, site.second, count.with_stack, count.without);
    std::fprintf(to,
                 "],\n\"handoffs\": %" PRIu64 ", \"nothing_ready\": %" PRIu64 ", \"polls_due\": %" PRIu64
                 ", \"continuations_called\": %" PRIu64 ",\n\"recognized_with_stack\": %" PRIu64
                 ", \"recognized_without_stack\": %" PRIu64 ",\n",
                 events.handoffs, events.nothing_ready, events.polls_due, events.calls,
                 events.recognized_with_stack, events.recognized_without);
    constexpr double second = 1e9;
    std::fprintf(to, "\"sleeps\": {\"count\": %" PRIu64 ", \"seconds\": %.6f, \"long_seconds\": %.6f},\n",
                 events.sleeps, static_cast<double>(events.slept_ns) / second,
                 static_cast<double>(events.slept_long_ns) / second);
    stacks.write(to);
    std::fprintf(to, ",\n\"descriptor_bytes\": %zu, \"stack_bytes\": %zu}\n", sizeof(fiber),
                 kernel_page_size());
    std::fclose(to);
  }
};

// The counters of a thread.
struct thread_counts {
  thread_counts() { process_sums::sums(); }
  ~thread_counts() {
    process_sums& all = process_sums::sums();
    const std::lock_guard hold(all.lock);
    for (const auto& [at, counts] : blocks) {
      block_counts& to = all.blocks[at];
      to.with_stack += counts.with_stack;
      to.without += counts.without;
    }
    all.events.add(events);
  }
  thread_counts(const thread_counts&) = delete;
  thread_counts& operator=(const thread_counts&) = delete;

  std::map<block_site, block_counts> blocks;
  event_counts events;
  const void* site = nullptr;
  bool forced = false;
};

// In functions that are not inline, so that no caller keeps the address while a fiber moves.
thread_counts& mine() noexcept {
  static thread_local thread_counts here;
  return here;
}

}  // namespace

void count_site() noexcept {
  mine().site = __builtin_return_address(0);
}

void count_block(const char* reason, const void* code) noexcept {
  thread_counts& all = mine();
  const bool forced = std::exchange(all.forced, false);
  block_counts& here = all.blocks[{code != nullptr ? code : all.site, forced ? "forced yield" : reason}];
  ++(code != nullptr ? here.without : here.with_stack);
}

void count_forced(bool yield) noexcept {
  mine().forced = yield;
}

void count_handoff() noexcept {
  ++mine().events.handoffs;
}

void count_nothing_ready() noexcept {
  ++mine().events.nothing_ready;
}

void count_poll_due() noexcept {
  ++mine().events.polls_due;
}

void count_call() noexcept {
  ++mine().events.calls;
}

void count_recognition(const fiber* waiting) noexcept {
  if (waiting == nullptr)
    return;
  event_counts& here = mine().events;
  ++(waiting->flags.stackless ? here.recognized_without : here.recognized_with_stack);
}

void count_stacks(int change) noexcept {
  process_sums::sums().stacks.change(change);
}

counted_sleep::counted_sleep() noexcept : began_(clock::now().time_since_epoch().count()) {}

counted_sleep::~counted_sleep() {
  const std::int64_t slept = clock::now().time_since_epoch().count() - began_;
  event_counts& here = mine().events;
  ++here.sleeps;
  here.slept_ns += slept;
  here.slept_long_ns += slept > long_sleep_ns ? slept : 0;
}

}  // namespace sennit::inline v0_1::detail

#endif
