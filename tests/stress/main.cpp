// Random operations on parallel runtimes, with what must hold checked:
//
//   stress [--time 30s] [--seed N] [--episode N] [--profile alternate|own]
//
// Each episode makes a runtime, with as many workers, the policy and the rest as drawn from its seed, has OS
// threads and fibers work in it, and ends it. When something is wrong, or nothing has happened for a minute,
// it names the episode, and aborts; --episode N runs that one again and again (threads make each run
// another).
#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstring>
#include <functional>
#include <string_view>
#include <thread>
#include <vector>

#include "stress/stress.hpp"
#include "support/process.hpp"
#include "support/sanitizers.hpp"

namespace {

using namespace stress;
using namespace std::chrono_literals;
using steady = std::chrono::steady_clock;

#if defined(SUPPORT_ASAN) || defined(SUPPORT_TSAN)
constexpr int largest_budget = 600;
#else
constexpr int largest_budget = 4000;
#endif

episode* running = nullptr;
std::mutex running_lock;

settings draw(std::uint64_t seed) {
  random_source random(seed);
  static constexpr unsigned workers[] = {1, 2, 4, 8};
  using enum sennit::run_policy;
  static constexpr sennit::run_policy policies[] = {fifo, fifo, hybrid, lifo};
  settings drawn;
  drawn.seed = seed;
  drawn.workers = workers[random.below(4)];
  drawn.policy = policies[random.below(4)];
  drawn.migrating = random.one_in(3);
  drawn.abrupt = random.one_in(3);
  drawn.budget = random.one_in(3) ? largest_budget : largest_budget / 20;
  return drawn;
}

void wait_until_all_ended(const episode& e) {
  while (e.ended != e.begun || e.alive != 0 || e.runtime->size() != 0)
    std::this_thread::sleep_for(50us);
}

void run_episode(const settings& is) {
  const auto descriptors = support::open_descriptors();
  episode e;
  e.is = is;
  e.budget = is.budget;
  {
    const std::lock_guard hold(running_lock);
    running = &e;
  }
  random_source random(is.seed + 1);
  {
    sennit::detail::force_migration = is.migrating;
    sennit::runtime runtime({.workers = is.workers, .policy = is.policy, .stack_size = 128 * 1024});
    e.runtime = &runtime;
    std::vector<std::thread> threads;
    for (unsigned i = 1 + random.below(3); i != 0; --i)
      threads.emplace_back([&e, seed = random.next()] { act_outside(e, seed); });
    for (std::thread& each : threads)
      each.join();
    {
      const std::lock_guard hold(e.lock);
      e.closed = true;
    }
    for (errand& each : e.errands) {
      while (*each.counted < each.goal) {
        each.who.unpark();
        std::this_thread::yield();
      }
      each.who.join();
    }
    e.errands.clear();
    if (is.abrupt)
      leave_some(e, random.next());
    else
      wait_until_all_ended(e);
    if (is.abrupt && random.one_in(2))
      std::this_thread::sleep_for(std::chrono::microseconds(random.below(2000)));
    e.ending = true;
  }
  check(e, e.alive == 0, "fibers live on after their runtime");
  check(e, e.begun == e.ended, "a function was lost, or run twice");
  check(e, support::open_descriptors() == descriptors, "a file descriptor is left open, or closed twice");
  const std::lock_guard hold(running_lock);
  running = nullptr;
}

void print_totals(std::FILE* to) {
  std::fprintf(
      to,
      "%llu fibers, %llu joins, %llu parks, %llu deadlines passed, %llu exceptions, %llu moves, %llu bytes\n",
      static_cast<unsigned long long>(all.fibers), static_cast<unsigned long long>(all.joins),
      static_cast<unsigned long long>(all.parks), static_cast<unsigned long long>(all.give_ups),
      static_cast<unsigned long long>(all.exceptions), static_cast<unsigned long long>(all.moves),
      static_cast<unsigned long long>(all.bytes));
}

// Ends the program when nothing happens. (give_ups are no progress.)
void watch(const std::atomic<bool>& done) {
  std::uint64_t seen = 0;
  auto since = steady::now();
  while (!done) {
    std::this_thread::sleep_for(100ms);
    if (const std::uint64_t now = all.progress; now != seen) {
      seen = now;
      since = steady::now();
    } else if (steady::now() - since > 60s) {
      const std::lock_guard hold(running_lock);
      std::fprintf(stderr, "stress: STUCK: nothing has happened for 60 s\n");
      if (running != nullptr) {
        running->is.print(stderr);
        std::fprintf(stderr, "%ld functions begun, %ld ended, %ld fibers live, runtime::size() is %zu\n",
                     running->begun.load(), running->ended.load(), running->alive.load(),
                     running->runtime->size());
      }
      print_totals(stderr);
      std::abort();
    }
  }
}

// A whole number and s, m or h.
bool read_time(std::string_view text, std::chrono::seconds& time) {
  long number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const std::string_view unit(end, static_cast<std::size_t>(text.data() + text.size() - end));
  const long factor = unit == "s" ? 1 : unit == "m" ? 60 : unit == "h" ? 3600 : 0;
  time = std::chrono::seconds(number * factor);
  return error == std::errc{} && time.count() > 0;
}

}  // namespace

int main(int count, char** arguments) {
  std::chrono::seconds time = 10s;
  std::uint64_t seed = 1;
  bool one = false;
  std::string_view profile;  // the stack on which a profiler's signal handler runs
  for (int i = 1; i < count; i += 2) {
    const std::string_view name = arguments[i];
    const std::string_view value = i + 1 < count ? arguments[i + 1] : "";
    bool good = name == "--time" && read_time(value, time);
    if (name == "--seed" || name == "--episode") {
      one = name == "--episode";
      good = !value.empty() && std::from_chars(value.data(), value.data() + value.size(), seed).ptr ==
                                   value.data() + value.size();
    }
    if (name == "--profile") {
      profile = value;
      good = value == "alternate" || value == "own";
    }
    if (!good) {
      std::fputs("usage: stress [--time 30s|10m|2h] [--seed N] [--episode N] [--profile alternate|own]\n",
                 stderr);
      return 2;
    }
  }
  std::atomic<bool> done{false};
  std::thread watchdog(watch, std::cref(done));
  if (!profile.empty())
    begin_profile(profile == "alternate");
  const auto end = steady::now() + time;
  random_source seeds(seed);
  unsigned long episodes = 0;
  for (; steady::now() < end; ++episodes)
    run_episode(draw(one ? seed : seeds.next()));
  done = true;
  watchdog.join();
  if (!profile.empty())
    end_profile();
  std::printf("%lu episodes: ", episodes);
  print_totals(stdout);
  return 0;
}
