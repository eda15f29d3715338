// Lists of waiters for types of users' own, over either policy (basic_wait_queue.hpp).
//
// The word of a waiter in the list is the address of its offer. Its offer lies in its frame, or in its
// continuation, until it is woken: a fiber that has parked cannot run before, and any other waiter waits for
// release_taken().
#pragma once

#include <cassert>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "sennit/detail/cont/timed_wait.hpp"
#include "sennit/detail/sched/faults_are_fatal.hpp"
#include "sennit/detail/sync/wait_lists.hpp"
#include "sennit/detail/timer/chrono.hpp"
#include "sennit/detail/timer/deadline.hpp"

namespace sennit::inline v0_1 {

/// How a wait without a stack in a wait_list has ended.
enum class wait_list_end : std::uint8_t {
  at_once,  ///< no wait was needed
  taken,    ///< a waker has taken the waiter off the list
  given_up  ///< the deadline has passed, or a stop was requested
};

/// The result of a wait without a stack in a wait_list.
template <class Offer>
struct waited {
  Offer offer;        ///< with what a waker has done to it
  wait_list_end how;  ///< how the wait has ended
};

}  // namespace sennit::inline v0_1

namespace sennit::inline v0_1::detail {

/// The members of sennit::wait_list and sennit::local::wait_list.
template <class Policy, class Offer>
class basic_wait_list {
  using lists = wait_lists<Policy>;
  static constexpr const char* reason = "wait list";

public:
  basic_wait_list() noexcept = default;
  basic_wait_list(const basic_wait_list&) = delete;
  basic_wait_list& operator=(const basic_wait_list&) = delete;
  ~basic_wait_list() { assert(list_.empty() && "sennit: fibers wait in a dead wait_list"); }

  /// Locks the list, and what belongs to it. A spin lock: hold it for a few instructions, and do not block.
  void lock() noexcept SENNIT_NOT_ANALYZED { waits_.lock(); }
  /// Unlocks the list.
  void unlock() noexcept SENNIT_NOT_ANALYZED { waits_.unlock(); }

  /// A waiter that a waker has taken off the list, or none. Pass it to wake(), or to a wait.
  class taken {
  public:
    /// None.
    taken() noexcept = default;
    /// Takes the waiter over from `other`, which has none afterwards.
    taken(taken&& other) noexcept
        : offer_(std::exchange(other.offer_, nullptr)), who_(std::exchange(other.who_, nullptr)) {}
    /// Takes the waiter over from `other`.
    ///
    /// \pre there is none here
    taken& operator=(taken&& other) noexcept {
      assert(offer_ == nullptr && "sennit: a waiter that was taken is not woken");
      offer_ = std::exchange(other.offer_, nullptr);
      who_ = std::exchange(other.who_, nullptr);
      return *this;
    }
    ~taken() { assert(offer_ == nullptr && "sennit: a waiter that was taken is not woken"); }
    /// \returns whether there is a waiter
    explicit operator bool() const noexcept { return offer_ != nullptr; }
    /// The waiter's offer. It may be changed until the waiter is woken.
    Offer& operator*() const noexcept { return *offer_; }
    /// Access to a member of the offer.
    Offer* operator->() const noexcept { return offer_; }

  private:
    friend basic_wait_list;
    taken(Offer* offer, fiber* who) noexcept : offer_(offer), who_(who) {}
    Offer* offer_ = nullptr;
    fiber* who_ = nullptr;  // null: it continues by itself when it is released
  };

  // ---- For wakers. All but wake() need the lock.

  /// \returns whether the list is empty
  bool empty() const noexcept { return list_.empty(); }
  /// \returns the offer of the waiter that has waited longest, or null. It may be changed while the lock is
  ///   held. The waiter may give up at this moment, so that take_first() returns another one.
  Offer* first_offer() noexcept { return list_.empty() ? nullptr : &offer_of(first()); }
  /// Looks into the continuation of the waiter that has waited longest.
  ///
  /// \returns the state with which its function will be called, if it waits without a stack and without a
  ///   deadline or stop, is to resume in `function`, and has a state of this type; otherwise null. The state
  ///   may be changed while the lock is held.
  template <class State, class Function>
  State* first_state(Function function) noexcept {
    if (list_.empty() || first().flags.kind == waiter_kind::multi)
      return nullptr;
    return continuation_state<State>(static_cast<fiber&>(first()), function);
  }
  /// Takes the waiter that has waited longest off the list. It is the caller's duty to wake it.
  [[nodiscard]] taken take_first() noexcept {
    while (!list_.empty()) {
      waiter& w = list_pop_front(list_);
      Offer& offer = offer_of(w);
      fiber* who = nullptr;
      if (!lists::take(w, who))
        continue;
      count_recognition(who);
      return taken(&offer, who);
    }
    return {};
  }
  /// Wakes a waiter, if there is one in `woken`. Without the lock. Does not block.
  static void wake(taken&& woken) noexcept {
    if (std::exchange(woken.offer_, nullptr) == nullptr)
      return;
    if (woken.who_ != nullptr)
      lists::wake(std::exchange(woken.who_, nullptr));
    else
      lists::release_taken();
  }

  // ---- For waiters.

  /// With the lock held, which it releases: waits until a waker has taken the caller. `offer` must exist
  /// until then.
  void wait(Offer& offer) { wait_until(offer, never); }
  /// Like wait(), but gives up at a deadline.
  ///
  /// \returns false if the deadline has passed first
  bool wait_until(Offer& offer, std::chrono::steady_clock::time_point deadline) {
    return wait_waking({}, offer, deadline);
  }
  /// Like wait_until(), but gives up after a duration.
  template <class Rep, class Period>
  bool wait_for(Offer& offer, std::chrono::duration<Rep, Period> time) {
    return wait_until(offer, deadline_after(time));
  }
  /// Like wait_until(), and wakes a waiter in the same step. If that is a fiber of the same worker, it runs
  /// next, ahead of the fibers that are ready, as far as the run policy allows (handoff).
  bool wait_waking(taken&& woken, Offer& offer, std::chrono::steady_clock::time_point deadline = never) {
    const auto enters = [this, &woken, &offer](waiter& w, fiber*& next) {
      fiber* const ready = std::exchange(woken.who_, nullptr);  // the waiter's frame is gone soon
      const bool releases = std::exchange(woken.offer_, nullptr) != nullptr && ready == nullptr;
      enter(w, offer);
      waits_.unlock();
      next = ready;
      if (releases)
        lists::release_taken();
      return true;
    };
    return waits_.wait_to_be_served({reason, this}, deadline, enters).served;
  }

  /// A wait for become(). When the fiber has given up its stack, `must_wait(offer)` is called with the lock
  /// held. If it returns false, the fiber need not wait; it may have stored the result in the offer. It may
  /// also be called as `must_wait(offer, woken)`: a waiter that it stores in `woken` is woken in the same
  /// step, as by wait_waking(). It must not block or throw. The continuation's function gets a
  /// `waited<Offer>`.
  template <class MustWait>
  auto waiting(Offer offer, MustWait must_wait) noexcept {
    return stackless_wait<MustWait>(*this, std::move(offer), std::move(must_wait));
  }
  /// Like waiting(), but gives up at a deadline.
  template <class MustWait>
  auto waiting_until(Offer offer, MustWait must_wait,
                     std::chrono::steady_clock::time_point deadline) noexcept {
    return timed_wait(waiting(std::move(offer), std::move(must_wait)), deadline);
  }

private:
  template <class MustWait>
  class stackless_wait : public continuation_wait {
    static_assert(std::is_nothrow_move_constructible_v<Offer> &&
                      std::is_nothrow_move_constructible_v<MustWait>,
                  "what a fiber keeps while it has no stack must move without throwing");

  public:
    static constexpr const char* reason = basic_wait_list::reason;
    SENNIT_OBJECT_AT(stackless_wait, at_)
    stackless_wait(basic_wait_list& at, Offer&& offer, MustWait&& must_wait) noexcept
        : at_(&at), offer_(std::move(offer)), must_wait_(std::move(must_wait)) {}

    fiber* file(fiber& f) noexcept {
      taken woken;
      if (!enter_list(f, f, woken)) {
        wake(std::move(woken));
        return nullptr;
      }
      if (!Policy::is_shared && woken.who_ != nullptr && woken.who_->home == f.home) {
        woken.offer_ = nullptr;
        return std::exchange(woken.who_, nullptr);
      }
      wake(std::move(woken));
      return &f;  // which may be gone
    }
    // For timed_wait.
    bool file(fiber& f, waiter& me) noexcept {
      taken woken;
      const bool waits = enter_list(f, me, woken);
      wake(std::move(woken));
      return waits;
    }
    bool withdraw(fiber& f) noexcept { return leave(f); }
    bool leave(waiter& me) noexcept { return at_->waits_.leave(me); }
    waited<Offer> end(fiber&, std::uintptr_t, fiber_status why) noexcept {
      const bool was_taken = why == fiber_status::notified;
      return {std::move(offer_), !filed_     ? wait_list_end::at_once
                                 : was_taken ? wait_list_end::taken
                                             : wait_list_end::given_up};
    }

  private:
    bool enter_list(fiber& f, waiter& me, taken& woken) noexcept {
      basic_wait_list& at = *at_;
      Policy::prepare(f, reason);
      at.lock();
      filed_ = must_wait(woken);
      const bool waits = filed_;
      if (waits)
        at.enter(me, offer_);
      at.unlock();
      return waits;
    }
    bool must_wait(taken& woken) noexcept {
      const no_switch_here<true> meanwhile;
      if constexpr (std::is_invocable_v<MustWait&, Offer&, taken&>)
        return must_wait_(offer_, woken);
      else
        return must_wait_(offer_);
    }

    basic_wait_list* at_;
    Offer offer_;
    [[no_unique_address]] MustWait must_wait_;
    bool filed_ = false;
  };

  waiter& first() noexcept { return static_cast<waiter&>(*list_.next); }
  static Offer& offer_of(waiter& w) noexcept { return *reinterpret_cast<Offer*>(w.word); }
  void enter(waiter& w, Offer& offer) noexcept {
    w.word = reinterpret_cast<std::uintptr_t>(__builtin_addressof(offer));
    list_push_back(list_, w);
  }

  waiter_list list_;
  [[no_unique_address]] lists waits_;
};

}  // namespace sennit::inline v0_1::detail
