// The watchdog's thread: finds stuck workers, and processes in which all fibers wait for each other.
#include "sennit/detail/sched/watchdog.hpp"

#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "fault/write_message.hpp"
#include "sennit/detail/observe/dump.hpp"
#include "sennit/detail/observe/stop_the_world.hpp"
#include "sennit/detail/parallel/worker_inline.hpp"
#include "sennit/detail/sched/registry.hpp"
#include "system/service_thread.hpp"

namespace sennit::inline v0_1::detail {

namespace {

using namespace std::chrono_literals;

// ---- A worker that is stuck.

// A dispatch is counted before it happens. A worker that sleeps may continue with a new fiber at the same
// count. So only both together identify one run of a fiber.
struct run_of_fiber {
  parallel_worker* at;
  unsigned dispatches;
  const fiber* runs;
  time_point since;

  bool goes_on() const noexcept {
    return at->dispatches.value() == dispatches && look(at->ready.current) == runs;
  }
};

// Requires the registry's lock.
template <class Visit>
void each_parallel_worker(Visit visit) {
  for (const registration* each = sennit_debug.workers; each != nullptr; each = each->older)
    if (!each->worker->is_local())
      visit(*static_cast<parallel_worker*>(each->worker));
}

bool is_registered(const worker* w) noexcept {
  const registration* each = sennit_debug.workers;
  while (each != nullptr && each->worker != w)
    each = each->older;
  return each != nullptr;
}

std::vector<run_of_fiber> find_stuck() {
  std::vector<run_of_fiber> found;
  const std::lock_guard hold(registry_lock());
  const time_point now = clock::now();
  each_parallel_worker([&](parallel_worker& w) {
    const watchdog_options& options = w.runtime.watchdog.options;
    if (!options.watches_stuck())
      return;
    watched_run& seen = w.watched;
    const unsigned dispatches = w.dispatches.value();
    const fiber* const runs = look(w.ready.current);
    if (seen.dispatches != dispatches || seen.runs != runs) {
      seen = {dispatches, runs, now, false};
    } else if (runs != nullptr && !seen.reported && now - seen.since >= options.stuck_after) {
      found.push_back({&w, dispatches, runs, seen.since});
      seen.reported = true;
    }
  });
  return found;
}

// The observations made while the worker is held, when nothing may be allocated.
struct stuck_worker {
  std::size_t runtime = 0;
  unsigned index = 0;
  clock::duration time{};
  std::uint64_t fiber_number = 0;
  char name[sizeof fiber::name] = {};
  bool stopped = false;
  stopped_thread place;
};

bool is_oldest_of_its_runtime(const registration& of) noexcept {
  const registration* each = of.older;
  while (each != nullptr && each->worker->runtime_id() != of.worker->runtime_id())
    each = each->older;
  return each == nullptr;
}

// The number that sennit::dump gives a runtime: the oldest is first.
std::size_t number_of(const parallel_runtime& of) noexcept {
  std::size_t number = 0;
  bool found = false;
  for (const registration* each = sennit_debug.workers; each != nullptr; each = each->older) {
    const bool first = is_oldest_of_its_runtime(*each);
    found |= first && each->worker->runtime_id() == &of;
    number += found && first;
  }
  return number;
}

SENNIT_UNSANITIZED bool capture_stuck(const run_of_fiber& run, stuck_worker& seen) noexcept {
  const stop_the_world held(__builtin_dwarf_cfa(), run.at);
  if (!is_registered(run.at) || !run.goes_on())
    return false;
  seen.runtime = number_of(run.at->runtime);
  seen.index = run.at->index;
  seen.time = clock::now() - run.since;
  const bool has_name =
      look(run.runs->flags.stackless) == has_stack;  // else its function or state lies there
  for (std::size_t i = 0; has_name && i + 1 < sizeof seen.name; ++i)
    seen.name[i] = look(run.runs->name[i]);
  if (const stopped_thread* place = held.place_of(*run.at)) {
    seen.place.depth = place->depth;
    std::copy_n(place->at, place->depth, seen.place.at);
    seen.fiber_number = fiber_id(const_cast<fiber&>(*run.runs));
    seen.stopped = true;
  } else {
    seen.fiber_number = look(run.runs->id);
  }
  return run.goes_on();
}

void report_stuck(const run_of_fiber& run) {
  stuck_worker seen;
  if (!capture_stuck(run, seen))
    return;
  std::string text = "sennit: runtime " + std::to_string(seen.runtime) + ": worker " +
                     std::to_string(seen.index) + " is stuck: it has run fiber " +
                     (seen.fiber_number != 0 ? std::to_string(seen.fiber_number) : "?");
  if (seen.name[0] != 0)
    text += std::string(" \"") + seen.name + "\"";
  text += " for " + std::to_string(std::chrono::floor<std::chrono::milliseconds>(seen.time).count()) +
          " ms, and no other fiber\n";
  if (!seen.stopped)
    text += "  (no backtrace: its thread could not be stopped)\n";
  for (std::size_t i = 0; i < seen.place.depth; ++i) {
    text += "  #" + std::to_string(i) + " ";
    describe_address(text, seen.place.at[i]);
    text += "\n";
  }
  write_message(STDERR_FILENO, text);
}

// ---- A process in which all rest.

// The key is computed from each worker's count of dispatches, or of waits. If it is unchanged, no fiber has
// run.
struct process_rest {
  bool rests = false;
  std::uint64_t key = 14695981039346656037u;

  void note(const worker& w, unsigned count) noexcept {
    for (const std::uint64_t word :
         {std::uint64_t{reinterpret_cast<std::uintptr_t>(&w)}, std::uint64_t{count}})
      key = (key ^ word) * 1099511628211u;
  }
};

bool rests(const parallel_worker& w) noexcept {
  const parallel_runtime& of = w.runtime;
  return of.asleep.sleeps(w.index) && w.timers.earliest() == never && !w.driver->watching() &&
         w.arrivals.empty() && !of.any_injected.load(std::memory_order_relaxed) &&
         of.external_wakers.load(std::memory_order_relaxed) == 0;
}

// Requires the registry's lock. A thread outside must wait for fibers: otherwise it continues, and may wake
// them. No such thread may have a deadline, after which it continues.
process_rest capture_rest() noexcept {
  process_rest seen;
  bool waited_for = waiting_thread::for_good.load(std::memory_order_relaxed) != 0;
  for (const registration* each = sennit_debug.workers; each != nullptr; each = each->older) {
    const worker& w = *each->worker;
    if (!w.is_local()) {
      const auto& parallel = static_cast<const parallel_worker&>(w);
      if (!rests(parallel))
        return seen;
      seen.note(w, parallel.dispatches.value());
    } else if (w.thread.load(std::memory_order_relaxed) != 0) {
      const unsigned rest = w.rest.load(std::memory_order_relaxed);
      if (rest % 2 == 0)
        return seen;
      seen.note(w, rest);
      waited_for = true;
    }
  }
  seen.rests = waited_for && waiting_thread::for_a_time.load(std::memory_order_relaxed) == 0;
  return seen;
}

// All must have rested for at least this long before a report: a thread outside may be about to wake a fiber.
constexpr clock::duration rest_period = 100ms;
constexpr unsigned most_tries = 3;

// The data about the last rest that was seen. Used only by the watchdog's thread.
struct known_rest {
  std::uint64_t key = 0;
  unsigned tries = 0;
  bool done = false;
  time_point next_look;
};

bool still_rests(void* key) noexcept {
  const process_rest now = capture_rest();
  return now.rests && now.key == *static_cast<const std::uint64_t*>(key);
}

// Returns whether the process has a thread that neither runs fibers nor waits for them: it may be about to
// wake one. Sennit's own threads are recognized by their names.
bool has_other_threads() {
  std::size_t unknown = 0;
  std::error_code error;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task", error)) {
    std::string name;
    std::ifstream(task.path() / "comm") >> name;
    unknown += name.starts_with("sennit/") ? 0 : 1;
  }
  if (error)
    return true;
  std::size_t known = waiting_thread::for_good.load(std::memory_order_relaxed);
  const std::lock_guard hold(registry_lock());
  for (const registration* each = sennit_debug.workers; each != nullptr; each = each->older)
    if (each->worker->is_local() && each->worker->thread.load(std::memory_order_relaxed) != 0 &&
        look(each->worker->ready.current) == nullptr)
      ++known;
  return unknown > known;
}

void look_for_deadlock(known_rest& known, deadlock_reports wanted) {
  const time_point time = clock::now();
  if (time < known.next_look)
    return;
  known.next_look = time + rest_period;
  process_rest now;
  {
    const std::lock_guard hold(registry_lock());
    now = capture_rest();
  }
  if (!now.rests || (known.done && now.key == known.key))
    return;
  if (now.key != known.key) {
    known.key = now.key;
    known.tries = 0;
    known.done = false;
  } else {
    const bool only_cycles = wanted == deadlock_reports::certain && has_other_threads();
    known.done = report_deadlock(only_cycles, still_rests, &now.key) || ++known.tries == most_tries;
  }
}

}  // namespace

// ---- The thread.

struct watchdog : of_process {
  std::mutex lock;
  std::condition_variable changed;
  watchdog_use* uses = nullptr;
  std::uintptr_t thread_number = 0;  // of the current thread; threads with lower numbers end
  pthread_t thread{};
  bool has_new_use = false;  // a new runtime may be where a former one was: forget what is known
};

namespace {

// How often to look: reports are late by at most that. Requires the lock.
clock::duration period_of(const watchdog& of) noexcept {
  clock::duration shortest = 1s;
  for (const watchdog_use* each = of.uses; each != nullptr; each = each->next) {
    if (each->options.watches_stuck())
      shortest = std::min(shortest, each->options.stuck_after / 8);
    if (each->options.watches_deadlock())
      shortest = std::min(shortest, rest_period);
  }
  return std::max<clock::duration>(shortest, 1ms);
}

// Returns the most that any runtime requests.
deadlock_reports deadlocks_wanted(const watchdog& of) noexcept {
  deadlock_reports most = deadlock_reports::none;
  for (const watchdog_use* each = of.uses; each != nullptr; each = each->next)
    most = std::max(most, each->options.deadlock);
  return most;
}

void look_at_all(known_rest& rest, deadlock_reports deadlocks) noexcept {
  try {
    for (const run_of_fiber& each : find_stuck())
      report_stuck(each);
    if (deadlocks != deadlock_reports::none)
      look_for_deadlock(rest, deadlocks);
  } catch (const std::exception&) {
    std::fputs("sennit: there is no memory to report what goes wrong\n", stderr);
  }
}

extern "C" void* sennit_watchdog_thread(void* number) {
  watchdog& mine = of_this_process<watchdog>();
  const auto me = reinterpret_cast<std::uintptr_t>(number);
  known_rest rest;
  std::unique_lock held(mine.lock);
  while (mine.thread_number == me) {
    mine.changed.wait_for(held, period_of(mine));
    if (mine.thread_number != me)
      break;
    if (std::exchange(mine.has_new_use, false))
      rest = {};
    const deadlock_reports deadlocks = deadlocks_wanted(mine);
    held.unlock();
    look_at_all(rest, deadlocks);
    held.lock();
  }
  return nullptr;
}

// Requires the lock. Returns an errno value.
int start_thread(watchdog& of) noexcept {
  return start_joinable_thread(of.thread, "sennit/watchdog", sennit_watchdog_thread,
                               reinterpret_cast<void*>(of.thread_number));
}

}  // namespace

watchdog_use::watchdog_use(const watchdog_options& wanted) : options(wanted) {
  if (!options.watches())
    return;
  watchdog& mine = of_this_process<watchdog>();
  const std::lock_guard hold(mine.lock);
  if (const int error = mine.uses != nullptr ? 0 : start_thread(mine); error != 0)
    throw std::system_error(error, std::generic_category(), "sennit: no thread to watch workers");
  by = &mine;
  next = mine.uses;
  if (next != nullptr)
    next->previous = this;
  mine.uses = this;
  mine.has_new_use = true;
  if (options.watches_deadlock())
    lock_owner::wanted.fetch_add(1, std::memory_order_relaxed);
  mine.changed.notify_all();
}

watchdog_use::~watchdog_use() {
  if (by == nullptr || by->process != process_generation())
    return;  // no watchdog, or the parent's, in a child
  std::unique_lock hold(by->lock);
  if (next != nullptr)
    next->previous = previous;
  (previous != nullptr ? previous->next : by->uses) = next;
  if (options.watches_deadlock())
    lock_owner::wanted.fetch_sub(1, std::memory_order_relaxed);
  const bool is_last = by->uses == nullptr;
  const pthread_t thread = by->thread;
  if (is_last)
    ++by->thread_number;
  by->changed.notify_all();
  hold.unlock();
  if (is_last)
    ::pthread_join(thread, nullptr);  // so that the process has no unknown thread left
}

}  // namespace sennit::inline v0_1::detail
