// Links: how they are found, told, and what waits do with them.
#include "sennit/detail/sched/stop.hpp"

#include <cassert>
#include <exception>
#include <utility>

#include "sennit/stop_guard.hpp"

namespace sennit::detail {

namespace {

// The fiber that the calling thread runs, or null.
fiber* running_fiber() noexcept {
  const worker* const w = this_worker();
  return w != nullptr && w->ready.running() && fiber_frame(*w->ready.current) != nullptr ? w->ready.current
                                                                                         : nullptr;
}

// Ends a wait of a local runtime, on its worker's thread.
void stop_parked(fiber& f) noexcept {
  if (!f.is_parked())
    return;
  stop_waiting(f);
  unpark_in_turn(f, fiber_status::stopped);
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

// What a link of a local runtime's fiber has ready, for a stop that is requested on another thread.
struct stop_notice final : posted {
  explicit stop_notice(fiber& f) : who(f) {}
  void run() override {
    if (link != nullptr) {
      link->notice_ = nullptr;
      if (link->watched_)
        stop_parked(who);
    }
    delete this;
  }
  fiber& who;
  stop_link* link = nullptr;
  bool sent = false;
};

stop_link::stop_link(kind what)
    : outer_(innermost(running_fiber())), exceptions_(std::uncaught_exceptions()), kind_(what) {
  fiber* const me = running_fiber();
  if (what == kind::guard && me != nullptr && me->home->shared == nullptr) {
    notice_ = new stop_notice(*me);
    notice_->link = this;
  }
  set_innermost(me, this);
}

void stop_link::give_up(const void* low, const void* high) noexcept {
  const fiber* const me = running_fiber();
  for (stop_link* link = innermost(me); link != nullptr && link >= low && link < high; link = innermost(me))
    if (link->kind_ == kind::guard)
      reinterpret_cast<stop_guard*>(link)->~stop_guard();  // whose first member it is
    else
      link->~stop_link();
}

stop_link::~stop_link() {
  fiber* const me = running_fiber();
  assert(innermost(me) == this && "sennit: guards and shields are not nested, or those of another fiber");
  set_innermost(me, outer_);
  if (notice_ == nullptr)
    return;
  if (notice_->sent)
    notice_->link = nullptr;
  else
    delete notice_;
}

void stop_link::tell() noexcept {
  fiber* wake = nullptr;
  if (const std::uintptr_t who = word_.begin_telling()) {
    const auto& wait = *reinterpret_cast<const stop_watch*>(who);
    const claim_result result = wait.claim_->take(claim_state::timed_out);
    if (result == claim_result::parked)
      wake = wait.who_;
    else if (result == claim_result::early && wait.who_ == nullptr)
      wake_thread(wait.claim_->word());
  }
  if (notice_ != nullptr) {
    worker& home = *notice_->who.home;
    if (this_worker() != &home) {
      notice_->sent = true;
      worker_post(home, notice_);
    } else if (watched_) {
      stop_parked(notice_->who);
    }
  }
  word_.end_telling();
  if (wake != nullptr)
    parallel_ready_in_turn(*wake, fiber_status::timed_out);
}

stop_link* stop_link::seen(stop_link* link) noexcept {
  return link != nullptr && link->kind_ == kind::guard && std::uncaught_exceptions() <= link->exceptions_
             ? link
             : nullptr;
}

stop_link* stop_link::first_seen() noexcept {
  return seen(innermost(running_fiber()));
}

void stop_watch::watch(fiber* who, wait_claim& claim) noexcept {
  who_ = who;
  claim_ = &claim;
  entered_ = left_ = stop_link::first_seen();
  for (; left_ != nullptr; left_ = left_->next_seen()) {
    if (!left_->word_.enter(reinterpret_cast<std::uintptr_t>(this))) {
      told_ = true;
      claim.take(claim_state::timed_out);
      return;
    }
  }
}

void stop_watch::leave() noexcept {
  for (; entered_ != left_; entered_ = entered_->outer_)
    told_ |= !entered_->word_.leave(reinterpret_cast<std::uintptr_t>(this));
}

local_stop_watch::local_stop_watch() noexcept : first_(stop_link::first_seen()) {
  for (stop_link* each = first_; each != nullptr; each = each->next_seen()) {
    each->watched_ = true;
    told_ |= each->is_told();
  }
}

local_stop_watch::~local_stop_watch() {
  for (stop_link* each = first_; each != nullptr; each = each->outer_)
    each->watched_ = false;
}

void throw_cancelled() {
  throw cancelled{};
}

void tell_again() noexcept {
  if (fiber* const me = running_fiber())
    me->flags.told = telling::due;
}

}  // namespace sennit::detail

namespace sennit {

bool stop_requested() noexcept {
  for (const auto* each = detail::stop_link::first_seen(); each != nullptr; each = each->next_seen())
    if (each->is_told())
      return true;
  return false;
}

}  // namespace sennit
