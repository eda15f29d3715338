// Links: how waits find them, and how stops notify them.
#include "sennit/detail/wait/stop.hpp"

#include <cassert>
#include <exception>
#include <utility>

#include "sennit/detail/sched/misuse.hpp"
#include "sennit/detail/wait/token_watch.hpp"
#include "sennit/stop_guard.hpp"
#include "stop_notice.hpp"

namespace sennit::inline v0_1::detail {

namespace {

// Returns the fiber that the calling thread runs, or null.
fiber* running_fiber() noexcept {
  const worker* const w = this_worker();
  return w != nullptr && w->ready.running() && fiber_frame(*w->ready.current) != nullptr ? w->ready.current
                                                                                         : nullptr;
}

stop_link*& thread_links() noexcept {
  static thread_local stop_link* first = nullptr;
  return first;
}

stop_link* innermost(const fiber* f) noexcept {
  if (f == nullptr)
    return thread_links();
  return f->flags.stoppable ? f->frame->own.stops : nullptr;
}

void set_innermost(fiber* f, stop_link* link) noexcept {
  if (f == nullptr) {
    thread_links() = link;
    return;
  }
  f->frame->own.stops = link;
  f->flags.stoppable = link != nullptr;
}

}  // namespace

bool take_out_parked(fiber& f) noexcept {
  if (!f.is_parked())
    return false;
  stop_waiting(f);
  return true;
}

void stop_notice::notify() noexcept {
  worker& home = *who->home;
  if (this_worker() == &home) {
    run();
  } else {
    sent = true;
    worker_post(home, this);
  }
}

bool stop_notice::run() {
  sent = false;
  came = true;
  if (watched && take_out_parked(*who)) {
    ended = true;
    unpark_back(*who, fiber_status::stopped);
  }
  if (!owned)
    delete this;
  return true;
}

void stop_notice::release() noexcept {
  watched = owned = false;
  if (!sent)
    delete this;
}

stop_link::stop_link(kind what, const std::exception_ptr* error, thread notifier)
    : outer_(innermost(running_fiber())),
      exceptions_(std::uncaught_exceptions()),
      kind_(what),
      error_(error) {
  fiber* const me = running_fiber();
  if (what != kind::shield && notifier == thread::any && me != nullptr && me->home->is_local()) {
    notice_ = new stop_notice;
    notice_->who = me;
  }
  set_innermost(me, this);
}

stop_link::stop_link() : outer_(nullptr), exceptions_(0), kind_(kind::scope) {
  if (const worker* const w = this_worker(); w != nullptr && w->is_local())
    notice_ = new stop_notice;
}

void stop_link::enter(fiber& f) noexcept {
  assert(innermost(&f) == nullptr);
  set_innermost(&f, this);
}

void stop_link::leave(fiber& f) noexcept {
  if (innermost(&f) == nullptr)  // given up
    return;
  assert(innermost(&f) == this && "sennit: a guard or shield is there still, and its frame is not");
  set_innermost(&f, nullptr);
}

void stop_link::give_up(const void* low, const void* high) noexcept {
  fiber* const me = running_fiber();
  for (stop_link* link = innermost(me); link != nullptr && link >= low && link < high; link = innermost(me))
    if (link->kind_ == kind::guard)
      reinterpret_cast<stop_guard*>(link)->~stop_guard();  // the link is its first member
    else if (link->kind_ == kind::scope)
      link->leave(*me);
    else
      link->~stop_link();
}

bool stop_link::is_shielded() noexcept {
  const stop_link* const link = innermost(running_fiber());
  return link != nullptr && link->kind_ == kind::shield;
}

stop_link::~stop_link() {
  if (kind_ == kind::owner) {
    leave_owner();
  } else if (kind_ != kind::scope) {
    fiber* const me = running_fiber();
    assert(innermost(me) == this && "sennit: guards and shields are not nested, or those of another fiber");
    set_innermost(me, outer_);
  }
  if (notice_ != nullptr)
    notice_->release();
}

// Makes `to` the next link after `inner`, or the innermost one if that is null.
void stop_link::connect(fiber* me, stop_link* inner, stop_link* to) noexcept {
  if (inner != nullptr)
    inner->outer_ = to;
  else
    set_innermost(me, to);
}

void stop_link::leave_owner() noexcept {
  if (is_out_)
    return;
  ignored(*this).stay();
  if (!is_out_)
    fatal_misuse(
        "destroys a sennit::scope that was made elsewhere: a scope is destroyed by the fiber, or OS thread, "
        "that made it, and is not held in a coroutine or in the state of a continuation, which may resume in "
        "another one. Let the fiber that destroys the scope make it; other fibers may be given a reference "
        "to it and spawn there");
}

void stop_link::ignored::take(stop_link& link) noexcept {
  me_ = running_fiber();
  stop_link* each = innermost(me_);
  for (; each != nullptr && each != &link; each = each->outer_)
    inner_ = each;
  if (each == nullptr)
    return;
  link_ = each;
  connect(me_, inner_, link.outer_);
}

void stop_link::notify() noexcept {
  fiber* wake = nullptr;
  if (const std::uintptr_t who = word_.begin_delivery()) {
    const auto& wait = *reinterpret_cast<const stop_watch*>(who);
    const claim_result result = wait.claim_->take(claim_state::timed_out);
    if (result == claim_result::won)
      wake = wait.who_;
    else if (result == claim_result::won_before_park && wait.who_ == nullptr)
      wake_thread(wait.claim_->word());
  }
  if (notice_ != nullptr)
    notice_->notify();
  else if (waiter_ != nullptr && take_out_parked(*waiter_))
    unpark_back(*waiter_, fiber_status::stopped);
  word_.end_delivery();
  if (wake != nullptr)
    parallel_ready_back(*wake, fiber_status::timed_out);
}

stop_link* stop_link::seen(stop_link* link) noexcept {
  return link != nullptr && link->kind_ != kind::shield && std::uncaught_exceptions() <= link->exceptions_
             ? link
             : nullptr;
}

stop_link* stop_link::first_requested() noexcept {
  stop_link* requested = first_seen();
  while (requested != nullptr && !requested->is_requested())
    requested = requested->next_seen();
  return requested;
}

bool stop_link::note_reported() noexcept {
  stop_link* const requested = first_requested();
  if (requested == nullptr || requested->thrown_ == never_yet)
    return false;
  if (requested->thrown_ == once)
    requested->thrown_ = never_yet;
  return true;
}

std::exception_ptr stop_link::note_thrown() noexcept {
  stop_link* const requested = first_requested();
  if (requested == nullptr || requested->thrown_ == often)
    return nullptr;
  // A handler may wait before it rethrows.
  if (requested->thrown_ == once && std::current_exception() == nullptr) {
    requested->thrown_ = often;
    if (lock_owner::wanted.load(std::memory_order_relaxed) != 0)
      report_misuse(
          requested->kind_ == kind::owner
              ? "has caught the error of a fiber of its scope and waits again: this wait throws "
                "sennit::cancelled, as all that follow will. A handler inside of the scope's block must "
                "rethrow, or join() the scope; what must be finished waits under a sennit::stop_shield"
              : "has caught sennit::cancelled and waits again: this wait throws it once more, as all that "
                "follow will. A catch (...) must rethrow it; what must be finished waits under a "
                "sennit::stop_shield");
    return nullptr;
  }
  requested->thrown_ = once;
  return requested->error_ != nullptr ? *requested->error_ : nullptr;
}

stop_link* stop_link::first_seen() noexcept {
  return seen(innermost(running_fiber()));
}

void stop_watch::watch(fiber* who, wait_claim& claim) noexcept {
  who_ = who;
  claim_ = &claim;
  entered_ = left_ = stop_link::first_seen();
  for (stop_link* each = entered_; each != nullptr; each = each->next_seen()) {
    left_ = each;
    if (!each->word_.enter(reinterpret_cast<std::uintptr_t>(this))) {
      requested_ = true;
      claim.take(claim_state::timed_out);
      return;
    }
    left_ = each->outer_;  // need not be seen
  }
}

void stop_watch::leave() noexcept {
  for (; entered_ != left_; entered_ = entered_->outer_)
    requested_ |= !entered_->word_.leave(reinterpret_cast<std::uintptr_t>(this));
}

local_stop_watch::local_stop_watch() noexcept : first_(stop_link::first_seen()) {
  for (stop_link* each = first_; each != nullptr; each = each->next_seen()) {
    if (each->notice_ != nullptr)
      each->notice_->watched = true;
    else
      each->waiter_ = running_fiber();
    requested_ |= each->is_requested();
  }
}

local_stop_watch::~local_stop_watch() {
  for (stop_link* each = first_; each != nullptr; each = each->outer_)
    if (each->notice_ != nullptr)
      each->notice_->watched = false;
    else
      each->waiter_ = nullptr;
}

token_watch::token_watch(std::stop_token token) : token_(std::move(token)) {
  if (const worker* const w = this_worker(); w == nullptr || w->is_local())
    notice_ = new stop_notice;
}

void token_watch::arm(fiber& who, wait_claim* claim) noexcept {
  who_ = &who;
  if (who.home->is_local()) {
    if (notice_ == nullptr)  // made elsewhere
      notice_ = new stop_notice;
    notice_->who = &who;
    notice_->watched = true;
  } else {
    claim_ = claim;
  }
  callback_.emplace(token_, on_stop{*this});
}

void token_watch_arm(token_watch& watch, fiber& who) noexcept {
  watch.arm(who, nullptr);
}

void token_watch::stop() noexcept {
  if (claim_ == nullptr) {  // the claim may have made the fiber ready already, so this does not look at it
    notice_->notify();
    return;
  }
  const claim_result result = claim_->take(claim_state::timed_out);
  ended_ =
      result != claim_result::lost;  // no other thread makes it ready, and it looks after this call has ended
  if (result == claim_result::won)
    parallel_ready_back(*who_, fiber_status::timed_out);
}

bool token_watch::end() noexcept {
  callback_.reset();
  if (notice_ != nullptr)
    std::exchange(notice_, nullptr)->release();
  return ended_;
}

void throw_cancelled() {
  if (std::exception_ptr error = stop_link::note_thrown())
    std::rethrow_exception(std::move(error));
  throw cancelled{};
}

std::uintptr_t park_stoppable(worker& w, fiber_status as, wait_reason why) {
  fiber& self = *w.ready.current;
  const local_stop_watch watch;
  if (watch.is_requested()) {
    self.flags.status = as;
    self.object = why.object;
    stop_waiting(self);
    self.flags.status = fiber_status::stopped;  // it runs, and has not parked
    throw_cancelled();
  }
  const std::uintptr_t word = park_unstoppable(w, as, why);
  if (self.flags.status == fiber_status::stopped)
    throw_cancelled();
  return word;
}

void rearm_shutdown() noexcept {
  if (fiber* const me = running_fiber())
    me->flags.shutdown = shutdown_state::pending;
}

}  // namespace sennit::inline v0_1::detail

namespace sennit::inline v0_1 {

bool stop_requested() noexcept {
  for (const auto* each = detail::stop_link::first_seen(); each != nullptr; each = each->next_seen())
    if (each->is_requested())
      return true;
  return false;
}

}  // namespace sennit::inline v0_1
