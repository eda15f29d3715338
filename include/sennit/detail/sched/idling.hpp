// How workers of a parallel runtime go to sleep, who wakes them, and which of the sleepers watches.
//
// Who has made work wakes a sleeper; for what is in a worker's own ring none, while somebody searches, for
// that one finds it, or looks once more before it sleeps. Who searches, finds something and was the last
// wakes the next. (It may overlook what is pushed at the same time, with only a light fence on either side.
// Then the next sleeper comes a moment later: when the watcher looks.)
//
// As long as a worker is awake and others sleep, one of these is the watcher, which looks whether a worker
// is stuck. Who comes back with work sees to it that there is one.
//
// A worker is what Ways says, so that the model checker has this as it is.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <mutex>

namespace sennit::detail {

// ---- Any thread.

template <class Runtime>
void wake_a_sleeper(Runtime& of) noexcept {
  if (const unsigned chosen = of.asleep.choose(); chosen != of.asleep.none)
    of.workers[chosen]->driver->wake();
}

template <class Runtime>
void wake_unless_searched(Runtime& of) noexcept {
  if (of.searching.load(std::memory_order_relaxed) == 0)
    wake_a_sleeper(of);
}

template <class Runtime, class Chain>
void put_injected(Runtime& of, const Chain& ready) noexcept {
  const std::lock_guard hold(of.injected_lock);
  of.injected.splice(ready);
  of.any_injected.store(of.injected.size != 0, std::memory_order_relaxed);
}

// ---- A worker.

// Its share of what came from outside.
template <class Worker>
void take_injected(Worker& w) noexcept {
  auto& of = w.runtime;
  if (!of.any_injected.load(std::memory_order_relaxed))
    return;
  constexpr std::size_t capacity = Worker::ring_type::capacity;
  const std::lock_guard hold(of.injected_lock);
  const std::size_t all = of.injected.size;
  const std::size_t room = capacity - w.ring.owned();
  for (auto mine = std::min({all / of.workers.size() + 1, all, room, capacity / 2}); mine != 0; --mine)
    w.ring.push(of.injected.pop());
  of.any_injected.store(of.injected.size != 0, std::memory_order_relaxed);
}

// A busy worker sees to it that one of those that sleep watches it.
template <class Worker>
void call_watcher(Worker& w) noexcept {
  if (!w.runtime.watched.load(std::memory_order_relaxed) && w.runtime.asleep.any())
    wake_unless_searched(w.runtime);
}

// One that has nothing to do.
template <class Ways>
class idling {
  using worker = typename Ways::worker;
  using work = typename Ways::work;
  using duration = typename Ways::duration;
  using time_point = decltype(Ways::now());

public:
  // Searches; sleeps once if it finds nothing. `period`: Ways::stuck_after, the first time.
  static work find_or_sleep(worker& w, duration& period) noexcept {
    const typename Ways::lone lone(w);
    work found = search_for_a_while(w, lone);
    if (found == work())  // a second look at one that came meanwhile; but not at those that come and go
      found = sleep_and_watch(w, period, lone.seen() ? 2 : 1);
    if (found != work())
      call_watcher(w);
    return found;
  }

private:
  // But for rings with fewer than `worth`, or all, if it does not pay to steal.
  static bool nothing_to_do(const worker& w, std::size_t worth) noexcept {
    const auto& of = w.runtime;
    if (!w.arrivals.still_empty() || of.any_injected.load(std::memory_order_relaxed) ||
        of.stopping.load(std::memory_order_relaxed))
      return false;
    return of.scatters || !w.help.due() || std::ranges::none_of(of.workers, [worth](const auto& each) {
             return each->ring.might_have() >= worth;
           });
  }

  // Sleeps until something comes, or `deadline`. Who does not watch sleeps only while another does, or all
  // sleep. (A watcher that leaves meanwhile, or who wakes, sees us asleep and has us watch, or we see that.)
  // `worth`: what a ring must have to be searched once more.
  static void sleep(worker& w, time_point deadline, bool watches, std::size_t worth) noexcept {
    auto& of = w.runtime;
    of.asleep.say_asleep(w.index);
    w.arrivals.say_asleep();
    if (nothing_to_do(w, worth) &&
        (watches || of.watched.load(std::memory_order_relaxed) || of.asleep.count() == of.workers.size())) {
      Ways::wait(w, deadline);
      w.help.slept();
    }
    w.arrivals.say_awake();
    of.asleep.say_awake(w.index);
  }

  // Sleeps. One of the sleepers is the watcher: it looks every millisecond whether a worker is stuck, less
  // and less often while nobody is awake, and in the end not at all.
  static work sleep_and_watch(worker& w, duration& period, std::size_t worth) noexcept {
    auto& of = w.runtime;
    const time_point deadline = w.timers.earliest();
    const bool unwatched = period > Ways::longest_watch;
    if (of.workers.size() == 1 || unwatched || of.watched.exchange(true, std::memory_order_relaxed)) {
      sleep(w, deadline, false, worth);
      period = Ways::stuck_after;
      return work();
    }
    const time_point watch = Ways::now() + period;
    sleep(w, std::min(deadline, watch), true, worth);
    const bool in_peace = Ways::now() >= watch;
    const bool all_asleep = of.asleep.count() + 1 == of.workers.size();
    period = in_peace && all_asleep ? 2 * period : Ways::stuck_after;
    const work found = in_peace ? Ways::serve_stuck(w) : work();
    of.watched.store(false, std::memory_order_relaxed);
    return found;
  }

  static work search_for_a_while(worker& w, const typename Ways::lone& lone) noexcept {
    auto& of = w.runtime;
    of.searching.fetch_add(1, std::memory_order_relaxed);
    work found = work();
    for (unsigned round = 0; found == work() && round < Ways::search_rounds; ++round) {
      found = Ways::search(w);
      if (found == work())
        Ways::pause();
    }
    if (found == work())
      found = lone.take(w);
    // Who stops searching wakes the next if it was the last: there may be more than it takes.
    if (of.searching.fetch_sub(1, std::memory_order_seq_cst) == 1 && found != work() && w.help.pays() &&
        of.asleep.any() && !nothing_to_do(w, 2))
      wake_unless_searched(of);
    return found;
  }
};

}  // namespace sennit::detail
