// How select chooses a case.
#include "sennit/detail/sync/select_wait.hpp"

#include <algorithm>
#include <cassert>
#include <functional>

namespace sennit::inline v0_1::detail {

namespace {

using case_list = select_case::list;

// The locks of all cases except one, in address order, each once. They are few, so they are searched for each
// time.
class all_locks {
public:
  explicit all_locks(case_list cases, any_lock except = {}) : cases_(cases), except_(except.at()) {
    for (any_lock each = next({}); each.at() != nullptr; each = next(each))
      each.lock();
    held_ = true;
  }
  all_locks(const all_locks&) = delete;
  all_locks& operator=(const all_locks&) = delete;
  ~all_locks() { release(); }
  // A locked object may be gone once its lock is released, so this reads the next one first.
  void release() noexcept {
    if (!held_)
      return;
    held_ = false;
    for (any_lock each = next({}); each.at() != nullptr;) {
      const any_lock following = next(each);
      each.unlock();
      each = following;
    }
  }

private:
  any_lock next(any_lock after) const noexcept {
    const std::less<const void*> before;
    any_lock found;
    for (const select_case* each : cases_)
      if (const any_lock its = each->lock(); its.at() != nullptr && its.at() != except_ &&
                                             before(after.at(), its.at()) &&
                                             (found.at() == nullptr || before(its.at(), found.at())))
        found = its;
    return found;
  }

  case_list cases_;
  const void* except_;
  bool held_ = false;
};

// The case to try first: another one each time, so that no case is always behind another. Not inlined,
// because a fiber that waits may resume on another thread.
[[gnu::noinline]] std::size_t first_to_try(std::size_t cases) noexcept {
  static thread_local unsigned last = 0;
  return ++last % cases;
}

constexpr std::size_t none = select_case::none;

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

// The case whose deadline has passed.
std::size_t due(case_list cases) noexcept {
  const auto when = [](const select_case* each) { return each->deadline(); };
  return static_cast<std::size_t>(std::ranges::min_element(cases, {}, when) - cases.begin());
}

bool watch_each(case_list cases) {
  return std::ranges::all_of(cases, [](select_case* each) { return each->watch(); });
}

// Adds a case to the ring of cases that wait in the same object.
void join_beside(case_list earlier, select_case& joins) noexcept {
  if (joins.object == nullptr)
    return;
  for (select_case* each : earlier)
    if (each->object == joins.object) {
      joins.beside = each->beside != nullptr ? each->beside : each;
      each->beside = &joins;
      return;
    }
}

// Does one of the cases, if one can be done now, and returns its number. Otherwise it enters all of them for
// `wait`, if there is one.
std::size_t attempt_or_enter(case_list cases, multi_wait* wait) {
  later_wake woken;
  struct wake_at_end {  // after the locks are released, also where an attempt throws
    later_wake& woken;
    ~wake_at_end() {
      if (woken.wake != nullptr)
        woken.wake(woken.who);
    }
  } const last{woken};
  all_locks hold(cases);
  if (const std::size_t done = attempt_each(cases, woken); done != none)
    return done;
  if (wait != nullptr) {
    for (std::size_t i = 0; i < cases.size(); ++i)
      wait->own(*cases[i], static_cast<std::uint32_t>(i));
    for (std::size_t i = 1; i < cases.size(); ++i)
      join_beside(cases.first(i), *cases[i]);
    for (select_case* each : cases)
      each->enter();
  }
  return none;
}

// Takes all cases out of their lists. The one that was served has been taken out, as have others of its
// object, which may be gone.
void leave_each(case_list cases, std::size_t served = none) noexcept {
  const all_locks hold(cases, served != none ? cases[served]->lock() : any_lock());
  for (std::size_t i = 0; i < cases.size(); ++i)
    if (i != served)
      cases[i]->leave();
    else
      cases[i]->served();
}

}  // namespace

std::size_t select_one(case_list cases, select_case::family among, bool otherwise) {
  const worker* const w = this_worker();
  const bool in_local = w != nullptr && w->is_local() && w->ready.running();
  assert((among != select_case::family::local || in_local) &&
         "sennit: a select over local channels outside of a local runtime's fiber");
  const auto kind =
      in_local && among != select_case::family::shared ? multi_wait::kind::local : multi_wait::kind::any;
  for (;;) {
    for (select_case* each : cases)
      each->look();
    multi_wait wait("select", earliest(cases), kind);
    if (const std::size_t done = attempt_or_enter(cases, otherwise ? nullptr : &wait); done != none)
      return done;
    if (otherwise)
      return cases.size();
    bool watched = false;
    bool taken = false;
    {
      struct entered {
        case_list cases;
        const multi_wait& wait;
        ~entered() { leave_each(cases, wait.was_served() ? wait.place() : none); }
      } const however{cases, wait};
      watched = watch_each(cases);
      taken = watched ? wait.wait() : !wait.cancel();
    }
    if (taken && cases[wait.place()]->complete())
      return wait.place();
    if (taken || !watched)
      continue;
    wait.throw_if_interrupted();
    return due(cases);
  }
}

bool select_wait_base::file(fiber& f, case_list cases, token_watch* stop) noexcept {
  if (among_ != select_case::family::any)
    must_be_of_kind(f, among_ == select_case::family::shared, reason);
  for (;;) {
    for (select_case* each : cases)
      each->look();
    const time_point deadline = earliest(cases);
    multi_wait& wait = claim_.emplace(reason, deadline, f);
    chosen_ = attempt_or_enter(cases, &wait);
    if (chosen_ != none) {
      claim_.reset();
      return false;
    }
    if (watch_each(cases)) {
      if (f.home->is_local() && deadline != never)
        timer_.emplace(f.home->deadlines, f, deadline);
      return wait.file(stop);
    }
    if (!wait.cancel())
      return false;
    leave_each(cases);
  }
}

bool select_wait_base::withdraw(case_list cases) noexcept {
  const bool withdrawn = claim_->withdraw();
  if (withdrawn)
    forget(cases);
  return withdrawn;
}

// If the cases must be tried again, none is chosen yet; nor if a stop has ended the wait.
void select_wait_base::leave(case_list cases, fiber_status why) noexcept {
  timer_.reset();
  if (!claim_)
    return;
  const bool taken = claim_->was_served();
  leave_each(cases, taken ? claim_->place() : none);
  const std::size_t number = taken ? claim_->place() : due(cases);
  if (taken ? cases[number]->complete() : why != fiber_status::stopped)
    chosen_ = number;
  claim_.reset();
}

void select_wait_base::choose(case_list cases) {
  if (chosen_ == none)
    chosen_ = select_one(cases, among_, false);
}

void select_wait_base::forget(case_list cases) noexcept {
  if (!claim_)
    return;
  leave_each(cases);
  claim_.reset();
}

}  // namespace sennit::inline v0_1::detail
