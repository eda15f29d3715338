// Which case of a select is chosen.
#include "sennit/detail/sync/select_case.hpp"

#include <algorithm>
#include <cassert>
#include <functional>

namespace sennit::detail {

namespace {

using case_list = std::span<select_case* const>;

// The locks of all cases, in the order of their addresses, each once. Few: they are looked for anew each
// time.
class all_locks {
public:
  explicit all_locks(case_list cases) : cases_(cases) {
    for (spin_lock* each = next(nullptr); each != nullptr; each = next(each))
      each->lock();
    held_ = true;
  }
  all_locks(const all_locks&) = delete;
  all_locks& operator=(const all_locks&) = delete;
  ~all_locks() { release(); }
  // What was locked may be gone from then on: who lets it go looks first.
  void release() noexcept {
    if (!held_)
      return;
    held_ = false;
    for (spin_lock* each = next(nullptr); each != nullptr;) {
      spin_lock* const following = next(each);
      each->unlock();
      each = following;
    }
  }

private:
  spin_lock* next(const spin_lock* after) const noexcept {
    const std::less<const spin_lock*> before;
    spin_lock* found = nullptr;
    for (const select_case* each : cases_)
      if (spin_lock* const its = each->lock();
          its != nullptr && before(after, its) && (found == nullptr || before(its, found)))
        found = its;
    return found;
  }

  case_list cases_;
  bool held_ = false;
};

// Where it is begun to try: another case each time, so that none is always behind another. Not inlined: a
// fiber that waits may go on on another thread.
[[gnu::noinline]] std::size_t first_to_try(std::size_t cases) noexcept {
  static thread_local unsigned last = 0;
  return ++last % cases;
}

constexpr std::size_t none = ~std::size_t{0};

std::size_t attempt_each(case_list cases, later_wake& woken) {
  const std::size_t first = first_to_try(cases.size());
  for (std::size_t i = 0; i < cases.size(); ++i)
    if (const std::size_t number = (first + i) % cases.size(); cases[number]->attempt(woken))
      return number;
  return none;
}

time_point earliest(case_list cases) noexcept {
  time_point first = never;
  for (const select_case* each : cases)
    first = std::min(first, each->deadline());
  return first;
}

// The one whose time has come.
std::size_t due(case_list cases) noexcept {
  const auto when = [](const select_case* each) { return each->deadline(); };
  return static_cast<std::size_t>(std::ranges::min_element(cases, {}, when) - cases.begin());
}

bool watch_each(case_list cases) {
  return std::ranges::all_of(cases, [](select_case* each) { return each->watch(); });
}

// Entered, under the locks. However it ends, all are left.
struct entered {
  explicit entered(case_list all) : cases(all) {
    for (select_case* each : cases)
      each->enter();
  }
  entered(const entered&) = delete;
  entered& operator=(const entered&) = delete;
  ~entered() {
    const all_locks hold(cases);
    for (select_case* each : cases)
      each->leave();
  }
  case_list cases;
};

}  // namespace

std::size_t select_one(case_list cases, select_case::family among, bool otherwise) {
  const worker* const w = this_worker();
  const bool in_local = w != nullptr && w->shared == nullptr && w->ready.running();
  assert((among != select_case::family::local || in_local) &&
         "sennit: a select over local channels outside of a local runtime's fiber");
  const auto kind =
      in_local && among != select_case::family::shared ? claimed_wait::kind::local : claimed_wait::kind::any;
  for (;;) {
    for (select_case* each : cases)
      each->look();
    claimed_wait wait("select", earliest(cases), kind);
    bool watched = false;
    bool taken = false;
    {
      all_locks hold(cases);
      later_wake woken;
      if (const std::size_t done = attempt_each(cases, woken); done != none) {
        hold.release();
        if (woken.wake != nullptr)
          woken.wake(woken.who, woken.word);
        return done;
      }
      if (otherwise)
        return cases.size();
      for (std::size_t i = 0; i < cases.size(); ++i)
        wait.own(*cases[i], static_cast<std::uint32_t>(i));
      const entered all(cases);
      hold.release();
      watched = watch_each(cases);
      taken = watched ? wait.wait() : !wait.cancel();
    }
    if (taken && cases[wait.place()]->complete())
      return wait.place();
    if (taken || !watched)
      continue;
    wait.leave_if_told();
    return due(cases);
  }
}

}  // namespace sennit::detail
