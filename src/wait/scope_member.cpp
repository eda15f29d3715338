// The data of a scope's fiber: its end, exceptions and stop.
#include "sennit/detail/wait/scope_member.hpp"

#include <cassert>
#include <mutex>
#include <utility>

#include "sennit/detail/parallel/worker_inline.hpp"
#include "sennit/detail/sched/faults_are_fatal.hpp"
#include "sennit/detail/sched/hooks.hpp"
#include "stop_notice.hpp"

namespace sennit::inline v0_1::detail {

scope_member::scope_member(std::stop_token token, const fault_hook* faults,
                           void (*destroyed_by)(local_value& self) noexcept)
    : local_value{its_key, destroyed_by}, token_(std::move(token)), faults_(faults) {}

const fault_hook* scope_member::faults_of_caller() noexcept {
  const worker* const w = this_worker();
  if (w == nullptr || !w->ready.running() || (w->ready.current->flags.slow_path & is_of_scope) == 0)
    return nullptr;
  return of(*w->ready.current).faults_;
}

scope_member& scope_member::of(const fiber& f) noexcept {
  local_value* value = f.flags.stackless ? f.overflow->locals : f.frame->own.locals;
  while (value->key != its_key)
    value = value->next;
  return static_cast<scope_member&>(*value);
}

void scope_member::arm(fiber& f) noexcept {
  f.flags.slow_path |= is_of_scope;
  who_ = &f;
  if (link_.notice() != nullptr)
    link_.notice()->who = &f;
  callback_.emplace(std::move(token_), on_stop{*this});
}

void scope_member::begin() noexcept {
  fiber& self = *running_worker().ready.current;
  assert(self.frame->own.locals == nullptr);
  self.frame->own.locals = this;
  arm(self);
  enter(self);
}

void scope_member::begin(fiber& f) noexcept {
  arm(f);
}

void scope_member::bind(continuation& begins) {
  continuation_access::bind(begins, *this);
}
void continuation_access::bind(continuation& made, scope_member& to) {
  make_overflow(made);
  made.overflow_->locals = &to;
  made.code_ = &to.lead_to(*made.code_);
}

void scope_member::enter(fiber& f) noexcept {
  f.frame->record.hook = faults_;
  link_.enter(f);
}

void scope_member::leave(fiber& f) noexcept {
  f.frame->record.hook = nullptr;
  link_.leave(f);
}

// ---- The hooks.

void attach_scope(fiber& f) noexcept {
  if ((f.flags.slow_path & is_of_scope) != 0)
    scope_member::of(f).enter(f);
}

void scope_fiber_begins(fiber& f) noexcept {
  scope_member::of(f).begin(f);
}

continuation_code& scope_code(const fiber& f, continuation_code& real) noexcept {
  return scope_member::of(f).lead_to(real);
}

bool scope_fiber_taken(fiber& f) noexcept {
  return scope_member::of(f).taken();
}

void scope_wait_ends(fiber& f) noexcept {
  scope_member::of(f).end_wait();
}

void scope_fiber_fails(fiber& f, std::exception_ptr error) noexcept {
  scope_member::of(f).fail(std::move(error));
}

void function_left(fiber& self) noexcept {
  if ((self.flags.slow_path & is_of_scope) != 0)
    scope_member::of(self).leave(self);
}

// ---- Without a stack.
//
// If a wait is stoppable by the scope's own token, the token ends it, and not this code. The wait's callback
// is newer than the member's, so it is called first.

namespace {

// In a local runtime, a stop requested elsewhere reaches the thread as a post, after link_ was notified.
bool is_requested(const stop_link& link) noexcept {
  return link.notice() != nullptr ? link.notice()->came : link.is_requested();
}

}  // namespace

continuation_code& scope_member::lead_to(continuation_code& real) noexcept {
  static_cast<continuation_code&>(code_) = real;
  code_.wait_site::withdraw = withdraw;
  code_.run = run;
  code_.file = file;
  code_.woken = real.woken != nullptr ? woken : nullptr;
  code_.of = this;
  code_.real = &real;
  return code_;
}

// The fiber may be entered elsewhere before this returns. It then waits for the lock.
fiber* scope_member::file(void* from, fiber& f) noexcept {
  leading_code& code = code_of(f);
  scope_member& self = *code.of;
  const lock_holder hold(self.lock_);
  const bool claimed = code.real->in_list && self.link_.notice() == nullptr;
  if (claimed) {
    self.claim_.begin_parked();
    self.kind_ = std::exchange(f.flags.kind, waiter_kind::scope_fiber);
  }
  fiber* const next = code.real->file(from, f);
  self.waits_ = next != nullptr;
  if (claimed && !self.waits_)
    f.flags.kind = self.kind_;
  // Not before: a function of a wait_list may stop the scope while the fiber is filed.
  if (stop_notice* const notice = self.link_.notice()) {
    notice->watched = self.waits_;
    notice->ended = false;
  }
  if (self.waits_ && is_requested(self.link_) && self.take_out()) {
    self.stopped_ = true;
    self.waits_ = false;
    if (next != &f)
      unpark(*next);
    return nullptr;
  }
  return next;
}

bool scope_member::end_wait() noexcept {
  const lock_holder hold(lock_);
  waits_ = false;
  if (stop_notice* const notice = link_.notice()) {
    notice->watched = false;
    stopped_ |= notice->ended;
  }
  return stopped_;
}

continuation scope_member::run(fiber& f, coroutine_frame& frame) {
  const leading_code& code = code_of(f);
  if (!code.of->end_wait())
    return code.real->run(f, frame);
  drop_continuation(f, frame);
  return {};
}

// The waker has taken the fiber, so a stop that came meanwhile could not. It is noticed here, and ends the
// wait.
bool scope_member::woken(void* place, fiber& f) noexcept {
  const leading_code& code = code_of(f);
  const lock_holder hold(code.of->lock_);
  if (is_requested(code.of->link_)) {
    code.of->stopped_ = true;
    return true;
  }
  return code.real->woken(place, f);
}

bool scope_member::withdraw(wait_site& site, [[maybe_unused]] fiber& f) noexcept {
  auto& code = static_cast<leading_code&>(site);
  const lock_holder hold(code.of->lock_);
  assert(code.of->who_ == &f);
  return std::exchange(code.of->waits_, false) && code.of->take_out();
}

bool scope_member::taken() noexcept {
  if (claim_.take(claim_state::taken) == claim_result::lost)
    return false;
  who_->flags.kind = kind_;
  return true;
}

bool scope_member::take_out() noexcept {
  if (link_.notice() != nullptr)
    return take_out_parked(*who_);
  if (!code_.real->in_list)
    return code_.real->withdraw(*code_.real, *who_);
  if (!claim_.withdraw())
    return false;
  code_.real->withdraw(*code_.real, *who_);  // false: a waker has met it, and passed it over
  who_->flags.kind = kind_;
  return true;
}

void scope_member::stop() noexcept {
  link_.notify();
  if (link_.notice() != nullptr)
    return;
#if !defined(NDEBUG)
  switches_refused<true, switch_in::list>::check();  // the fiber may wait in that list
#endif
  lock_.lock();
  const bool ended = waits_ && take_out();
  if (ended) {
    waits_ = false;
    stopped_ = true;
  }
  lock_.unlock();
  if (ended)
    parallel_ready_back(*who_, fiber_status::stopped);
}

}  // namespace sennit::inline v0_1::detail
