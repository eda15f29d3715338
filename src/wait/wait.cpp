// Waits that several events may end, and the ends of fibers.
#include "sennit/detail/wait/wait.hpp"

#include <poll.h>

#include <cerrno>
#include <ctime>
#include <limits>

#include "sennit/detail/sched/hooks.hpp"
#include "sennit/detail/wait/slot.hpp"
#include "sennit/detail/wait/token_watch.hpp"
#include "system/futex.hpp"

namespace sennit::inline v0_1::detail {

namespace {

// Sleeps while the word is `expected`, until the deadline at most. May return early.
#if defined(SENNIT_TSAN)
// TSan delivers signals only in calls that it knows, and futex is not one of them.
void sleep_while(std::atomic<claim_state>&, claim_state, time_point) noexcept {
  ::poll(nullptr, 0, 1);
}
#else
void sleep_while(std::atomic<claim_state>& word, claim_state expected, time_point deadline) noexcept {
  timespec until{};
  const auto since = deadline.time_since_epoch();
  if (deadline != never && since.count() > 0) {
    const auto seconds = std::chrono::floor<std::chrono::seconds>(since);
    constexpr auto latest = std::numeric_limits<std::time_t>::max();
    until = {seconds.count() < latest ? static_cast<std::time_t>(seconds.count()) : latest,
             static_cast<long>((since - seconds).count())};
  }
  futex_wait(word, expected, deadline == never ? nullptr : &until);
}
#endif

}  // namespace

void wake_thread(std::atomic<claim_state>& word) noexcept {
  futex_wake(word, 1);
}

bool take_multi_wait(multi_wait_node& w, fiber*& who) noexcept {
  void*& of_thread = sennit_thread_self()->taken_waiters;
  taken_waiters among{static_cast<basic_served_claim<>*>(of_thread)};
  const bool taken = take_multi_wait(w, who, among);
  of_thread = among.last;
  return taken;
}

bool take_by_claim(waiter& w, fiber*& who) noexcept {
  if (w.flags.kind == waiter_kind::multi)
    return take_multi_wait(static_cast<multi_wait_node&>(w), who);
  auto& f = static_cast<fiber&>(w);
  const bool taken = scope_fiber_taken(f);
  who = taken ? &f : nullptr;
  return taken;
}

bool take_multi_wait(multi_wait_node& w, fiber*& who, taken_waiters& among) noexcept {
  who = nullptr;
  multi_wait& of = *w.of;
  fiber* const waits = of.who_;
  if (of.local_) {
    // If it is not parked, its deadline or its runtime's end came first.
    if (!waits->is_parked() || !of.claim_.serve_alone(taken_at(w.number)))
      return false;
    who = waits;
  } else {
    const claim_result result = of.claim_.serve(taken_at(w.number), among.last);
    if (result == claim_result::lost)
      return false;
    if (result == claim_result::won)
      who = waits;
  }
  for (multi_wait_node* each = w.beside; each != nullptr && each != &w; each = each->beside)
    leave_list(*each);
  return true;
}

void release_taken() noexcept {
  taken_waiters all{
      static_cast<basic_served_claim<>*>(std::exchange(sennit_thread_self()->taken_waiters, nullptr))};
  release_all(all);
}

void release_all(taken_waiters& those) noexcept {
  basic_served_claim<>::release(those.last, wake_thread);
}

multi_wait::multi_wait(const wait_reason& why, time_point deadline, kind among) noexcept
    : site_(why, *this), deadline_(deadline) {
  const worker* const w = this_worker();
  if (w != nullptr && (!w->is_local() || among == kind::local)) {
    who_ = w->ready.current;
    local_ = w->is_local();
  } else {
    claim_.set_sleeps();
  }
  own(node_);
}

multi_wait::multi_wait(const char* reason, time_point deadline, fiber& who) noexcept
    : site_(reason, *this), who_(&who), local_(who.home->is_local()), deadline_(deadline) {
  own(node_);
}

bool multi_wait::withdraw_from(wait_site& site, fiber&) noexcept {
  return static_cast<site_type&>(site).self->withdraw();
}

bool multi_wait::wait() {
  if (local_) {
    wait_as_local_fiber();
  } else {
    stop_.arm(who_, claim_);
    if (who_ != nullptr) {
      wait_as_fiber();
    } else {
      // Fibers of local runtimes may hold pthread locks here.
      if (const worker* const w = this_worker(); w == nullptr || !w->ready.running())
        sennit_should_hold_no_lock("waits", site_.reason);
      wait_as_thread();
    }
    stopped_ = stop_.end();
  }
  return was_served();
}

bool multi_wait::file(token_watch* stop) noexcept {
  if (local_)
    who_->flags.status = fiber_status::parked;
  else
    timer_.arm(*who_, claim_, deadline_);
  if (stop != nullptr)
    stop->arm(*who_, &claim_);
  return local_ ? claim_.is_open() : claim_.park();
}

// Everything is on one thread: the fiber is parked, or its wait has ended. So its claim is never parked.
void multi_wait::wait_as_local_fiber() {
  struct ending {
    wait_claim& claim;
    ~ending() { claim.take_alone(claim_state::timed_out); }
  } const however{claim_};
  if (claim_.is_open())
    park_until(running_worker(), fiber_status::parked, {site_.reason, site_.object}, deadline_);
}

void multi_wait::wait_as_fiber() noexcept {
  timer_.arm(*who_, claim_, deadline_);
  try {
    parallel_block(running_parallel(), site_, [this](fiber&) { return claim_.park(); });
  } catch (const forced_unwind&) {
    claim_.take(claim_state::timed_out);  // unless the runtime's end has taken it
    shutting_down_ = !is_taken(claim_.state());
    if (!shutting_down_)  // it has received something: its next wait throws
      running_parallel().ready.current->flags.shutdown = shutdown_state::pending;
  }
}

namespace {

// For reports: a fiber of a local runtime blocks its thread, if one runs.
class blocked_thread {
public:
  blocked_thread(const wait_site& site, time_point deadline) noexcept {
    worker* const w = this_worker();
    if (w == nullptr || !w->ready.running() || w->ready.current->flags.stackless)
      return;  // no fiber runs, or its state is being moved, and there is no space for the reason
    runs_ = w->ready.current;
    status_ = runs_->flags.status;
    set_wait_reason(*runs_, {site.reason, site.object});
    store_in_order(runs_->flags.status, fiber_status::blocks_thread);  // a reader that sees this also reads
                                                                       // the other fields
    if (deadline == never)
      rest_ = &w->rest;
    count_rest();
  }
  ~blocked_thread() {
    count_rest();
    if (runs_ != nullptr)
      runs_->flags.status = status_;
  }
  blocked_thread(const blocked_thread&) = delete;
  blocked_thread& operator=(const blocked_thread&) = delete;

private:
  void count_rest() noexcept {
    if (rest_ != nullptr)
      rest_->store(rest_->load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  }

  fiber* runs_ = nullptr;
  fiber_status status_{};
  std::atomic<unsigned>* rest_ = nullptr;
};

}  // namespace

void multi_wait::wait_as_thread() noexcept {
  const int kept = errno;
  const blocked_thread noted(site_, deadline_);
  const waiting_thread counted(deadline_);
  while (claim_.state() == claim_state::open) {
    if (deadline_ != never && clock::now() >= deadline_)
      claim_.take(claim_state::timed_out);
    else
      sleep_while(claim_.word(), claim_state::open, deadline_);
  }
  errno = kept;
}

void multi_wait::throw_if_interrupted() const {
  if (shutting_down_)
    throw_forced_unwind();
  if (stopped_)
    throw_cancelled();
}

void sleep_until(time_point deadline) {
  multi_wait nothing_but_time("sleep", deadline);
  nothing_but_time.wait();
  nothing_but_time.throw_if_interrupted();
}

namespace {

using slot_word = std::atomic<std::uintptr_t>;

bool enter_slot(slot_word& slot, std::uintptr_t expected, std::uintptr_t me) noexcept {
  const bool entered = slot_enter(slot, expected, me);
  assert((entered || expected % 2 != 0) && "sennit: two fibers wait where one can: two join one fiber");
  return entered;
}

std::uintptr_t word_of(const waiter& me, std::uintptr_t multi_tag) noexcept {
  return reinterpret_cast<std::uintptr_t>(&me) +
         (me.flags.kind == waiter_kind::multi ? multi_tag : std::uintptr_t{0});
}

}  // namespace

bool slot_place::leave(waiter& me) const noexcept {
  return slot_leave(*slot, left, word_of(me, tag));
}

bool wait_in_slot(slot_word& slot, std::uintptr_t expected, std::uintptr_t left, const wait_reason& why,
                  time_point deadline) {
  return wait_in_slot(slot, expected, left, why, deadline, 0);
}

bool wait_in_slot(slot_word& slot, std::uintptr_t expected, std::uintptr_t left, const wait_reason& why,
                  time_point deadline, std::uintptr_t multi_tag) {
  const slot_place place{&slot, left, multi_tag};
  const auto enter = [place, expected](waiter& me, fiber*&) {
    return enter_slot(*place.slot, expected, word_of(me, place.tag));
  };
  const auto gave_up = [&place](waiter& me) {
    const bool gone = place.leave(me);
    if (!gone)
      wait_for_release(me);
    return gone;
  };
  return wait_in(place, why, deadline, enter, gave_up).served;
}

// Only the waker knows the node, and no lock protects it. If its claim is lost, it exists until it is
// released.
fiber* end_slot_wait(waiter& w, std::uintptr_t word) noexcept {
  fiber* who = nullptr;
  if (!take_waiter(w, word, who))
    static_cast<multi_wait_node&>(w).released.store(true, std::memory_order_release);
  else if (who == nullptr)
    release_taken();
  return who;
}

void wake_in_slot(std::uintptr_t word) noexcept {
  const bool local = (word & local_waiter) != 0;
  fiber* const who = end_slot_wait(*reinterpret_cast<waiter*>(word & ~local_waiter), 0);
  if (who == nullptr)
    return;
  assert((!local || this_worker() == who->home) &&
         "sennit: I/O of a local runtime is used on another thread");
  if (local && !who->is_parked())
    return;  // its deadline or its runtime's end came first
  if (recognize(*who))
    local ? unpark_back(*who, fiber_status::notified) : parallel_ready_back(*who, fiber_status::notified);
}

void wait_for_release(const waiter& me) noexcept {
  if (me.flags.kind != waiter_kind::multi)
    return;
  const auto& claimed = static_cast<const multi_wait_node&>(me);
  if (claimed.of->was_taken_at(claimed)) {
    claimed.of->was_served();
    return;
  }
  for (backoff pause; !claimed.released.load(std::memory_order_acquire);)
    pause();
}

void end_join(waiter& w, std::uintptr_t word) noexcept {
  make_ready(end_slot_wait(w, word));
}

bool observe_end_no_more(fiber& f, waiter& me) noexcept {
  const bool left = slot_leave(f.ended, ended_not_yet, ended_word(me));
  if (!left)
    wait_for_release(me);
  return left;
}

bool wait_for_end(fiber& f, time_point deadline) {
  if (parallel_worker* const w = this_parallel(); w != nullptr && w->ready.running())
    parallel_bring_forward(*w, f);
  return wait_in_slot(f.ended, ended_not_yet, ended_not_yet, {join_reason, &f}, deadline, ended_multi);
}

}  // namespace sennit::inline v0_1::detail
