// Lists of waiters for types of users' own, over either policy (basic_wait_queue.hpp).
//
// All that runs with the lock held is a function that the list calls: it cannot be switched away from, and
// its faults are fatal. What it has woken is made ready when the lock is released.
//
// The word of a waiter in the list is the address of its offer. The offer lies in the waiter's frame, or in
// its continuation, until it is woken: a fiber that has parked cannot run before, and any other waiter waits
// for release_taken().
#pragma once

#include <atomic>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "sennit/detail/cont/timed_wait.hpp"
#include "sennit/detail/sched/faults_are_fatal.hpp"
#include "sennit/detail/sync/wait_lists.hpp"
#include "sennit/detail/timer/chrono.hpp"
#include "sennit/detail/timer/deadline.hpp"

namespace sennit::inline v0_1 {

/// How a wait in a wait_list has ended.
enum class wait_list_end : std::uint8_t {
  at_once,  ///< no wait was needed
  woken,    ///< a waker has done its step in the offer
  gave_up   ///< the deadline has passed, or a stop was requested
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
  static_assert(std::is_object_v<Offer>);
  using lists = wait_lists<Policy>;
  static constexpr const char* reason = "wait list";

  // What is to be woken when the lock is released, by now(). (A woken waiter may destroy the list.) In a
  // local runtime there is no lock: fibers are made ready at once, so that a stop does not find them waiting.
  struct wakes {
    fiber_chain fibers;
    taken_waiters others;
    bool any = false;

    void add(fiber& who) noexcept {
      const bool is_first = !std::exchange(any, true);
      if constexpr (Policy::is_shared)
        fibers(&who);
      else if (is_first)
        lists::wake(&who);
      else
        Policy::wake_back(who);
    }
    void now() noexcept {
      if (fibers.size == 1)
        lists::wake(fibers.pop());
      else if (fibers.size != 0)
        lists::wake_all(fibers);
      release_taken(others);
    }
  };

public:
  /// An empty list.
  basic_wait_list() noexcept = default;
  basic_wait_list(const basic_wait_list&) = delete;
  basic_wait_list& operator=(const basic_wait_list&) = delete;
  ~basic_wait_list() { assert(list_.empty() && "sennit: fibers wait in a dead wait_list"); }

  /// The waiters, as a function that the list calls with its lock held sees them. Valid during that call.
  class waiters {
  public:
    waiters(const waiters&) = delete;
    waiters& operator=(const waiters&) = delete;

    /// \returns whether the list is empty
    bool empty() const noexcept { return of_.list_.empty(); }
    /// \returns the offer of the waiter that has waited longest, which may be changed; or null. That waiter
    /// may
    ///   give up at this moment: then wake_first() wakes another one.
    Offer* first() noexcept { return empty() ? nullptr : __builtin_addressof(offer_of(*first_waiter())); }
    /// Looks into the continuation of the waiter that has waited longest.
    ///
    /// \returns the state with which its function will be called, which may be changed. Null if the list is
    ///   empty, or if that waiter has a stack, a deadline or a stop, resumes in another function, or has a
    ///   state of another type.
    template <class State, class Function>
    State* first_state(Function function) noexcept {
      if (empty() || first_waiter()->flags.kind == waiter_kind::multi)
        return nullptr;
      return continuation_state<State>(*static_cast<fiber*>(first_waiter()), function);
    }
    /// Takes the waiter that has waited longest off the list, does its next step, `step(offer)`, and wakes it
    /// once the lock is released. `step` must not throw, and must not use the waiters.
    ///
    /// \returns false if the list is empty
    template <class Step>
    bool wake_first(Step&& step) noexcept {
      return wake_first_if([](const Offer&) { return true; }, step);
    }
    /// Like wake_first(), for the first one for which `which(offer)` is true. The offer is constant for
    /// `which`, which must not use the waiters, either.
    template <class Which, class Step>
    bool wake_first_if(Which&& which, Step&& step) noexcept {
      const in_function meanwhile(*this);
      for (wait_node* each = of_.list_.next; each != &of_.list_;) {
        auto& w = static_cast<waiter&>(*each);
        each = each->next;
        Offer& offer = offer_of(w);
        if (!which(std::as_const(offer)))
          continue;
        w.leave_list();
        fiber* who = nullptr;
        if (!take(w, who))
          continue;  // it gives up at this moment
        count_recognition(who);
        if (who != nullptr)
          wakes_.add(*who);
        step(offer);
        return true;
      }
      return false;
    }
    /// Wakes all, in the order in which they have waited, as wake_first() does.
    ///
    /// \returns how many
    template <class Step>
    std::size_t wake_all(Step&& step) noexcept {
      std::size_t count = 0;
      while (wake_first(step))
        ++count;
      return count;
    }

  private:
    friend basic_wait_list;
    explicit waiters(basic_wait_list& of) noexcept : of_(of) {}

    // While `which` and `step` run, which may not use the waiters.
    struct in_function {
      explicit in_function(waiters& now) noexcept : of(now) {
        assert(!of.in_function_ &&
               "sennit: which() or step() uses the waiters of the wait_list that calls it");
        of.in_function_ = true;
      }
      ~in_function() { of.in_function_ = false; }
      waiters& of;
    };

    waiter* first_waiter() const noexcept { return static_cast<waiter*>(of_.list_.next); }
    bool take(waiter& w, fiber*& who) noexcept {
      if (w.flags.kind != waiter_kind::multi) [[likely]]
        return lists::take(w, who);
      w.next = nullptr;
      return take_multi_wait(static_cast<multi_wait_node&>(w), who, wakes_.others);
    }

    basic_wait_list& of_;
    wakes wakes_;
    bool in_function_ = false;
  };

  /// Locks the list, calls `function(waiters)`, unlocks it, and wakes those that the function has woken. The
  /// lock is a spin lock, and protects what belongs to the list as well. The function must not block, and
  /// must not use this list except by its argument.
  ///
  /// \returns what the function returns
  /// \throws what the function throws
  template <class Function>
  decltype(auto) locked(Function&& function) {
    const no_switch_here<true, switch_in::list> meanwhile;
    holding hold(*this);
    return std::forward<Function>(function)(static_cast<waiters&>(hold));
  }

  /// Calls `must_wait(offer, waiters)` or `must_wait(offer)` with the lock held. If it returns true, waits
  /// until a waker has done its step in `offer`, which must exist until then. Those that must_wait has woken
  /// are made ready in the same step; the first of them runs next if it is of the same worker and the run
  /// policy allows it (handoff).
  ///
  /// \throws sennit::cancelled if a stop_guard ends the wait; and what must_wait throws
  template <class MustWait>
  wait_list_end wait(Offer& offer, MustWait&& must_wait) {
    return wait_until(offer, must_wait, never);
  }
  /// Like wait(), but gives up at a deadline.
  template <class MustWait>
  wait_list_end wait_until(Offer& offer, MustWait&& must_wait,
                           std::chrono::steady_clock::time_point deadline) {
    holding hold(*this);
    if (!asked(must_wait, offer, hold))
      return wait_list_end::at_once;
    // By value: when the lock is released, the caller may be woken, and its frame be gone.
    const auto enters = [this, &offer, woken = hold.pass_on()](waiter& w, fiber*& next) {
      wakes those = woken;
      enter(w, offer);
      unlock();
      next = those.fibers.pop();
      those.now();
      return true;
    };
    return waits_.wait_to_be_served({reason, this}, deadline, enters).served ? wait_list_end::woken
                                                                             : wait_list_end::gave_up;
  }
  /// Like wait(), but gives up at a time of any clock.
  template <class MustWait, class Clock, class Duration>
  wait_list_end wait_until(Offer& offer, MustWait&& must_wait,
                           const std::chrono::time_point<Clock, Duration>& time) {
    wait_list_end how = wait_list_end::gave_up;
    wait_by_clock(time, [&](std::chrono::steady_clock::time_point deadline) {
      how = wait_until(offer, must_wait, deadline);
      return how != wait_list_end::gave_up;
    });
    return how;
  }
  /// Like wait(), but gives up after a duration.
  template <class MustWait, class Rep, class Period>
  wait_list_end wait_for(Offer& offer, MustWait&& must_wait, std::chrono::duration<Rep, Period> time) {
    return wait_until(offer, must_wait, deadline_after(time));
  }

  /// wait() without a stack, for become(), whose function gets a `waited<Offer>`. must_wait is called when
  /// the fiber has given up its stack; it must not throw, and its fiber keeps it until then.
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
  // Holds the lock, until it is passed on to whoever enters the list.
  class holding : public waiters {
  public:
    explicit holding(basic_wait_list& of) noexcept : waiters(of) { of.lock(); }
    ~holding() {
      if (held_)
        release();
    }
    void release() noexcept {
      wakes those = pass_on();
      this->of_.unlock();
      those.now();
    }
    wakes pass_on() noexcept {
      held_ = false;
      return this->wakes_;
    }

  private:
    bool held_ = true;
  };

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

    bool file(fiber& f) noexcept { return file(f, f); }
    // For timed_wait.
    bool file(fiber& f, waiter& me) noexcept {
      basic_wait_list& at = *at_;
      holding hold(at);
      const bool waits = waits_ = asked(must_wait_, offer_, hold);
      if (waits) {
        lists::prepare(f, reason);
        at.enter(me, offer_);
      }
      hold.release();  // the fiber may be gone
      return waits;
    }
    bool withdraw(fiber& f) noexcept { return leave(f); }
    bool leave(waiter& me) noexcept { return at_->waits_.leave(me); }
    waited<Offer> end(fiber&, std::uintptr_t, fiber_status why) noexcept {
      return {std::move(offer_), !waits_                         ? wait_list_end::at_once
                                 : why == fiber_status::notified ? wait_list_end::woken
                                                                 : wait_list_end::gave_up};
    }

  private:
    basic_wait_list* at_;
    Offer offer_;
    [[no_unique_address]] MustWait must_wait_;
    bool waits_ = false;
  };

  template <class MustWait>
  static bool asked(MustWait& must_wait, Offer& offer, waiters& now) {
    const no_switch_here<true, switch_in::list> meanwhile;
    if constexpr (std::is_invocable_v<MustWait&, Offer&, waiters&>)
      return must_wait(offer, now);
    else
      return must_wait(offer);
  }
  void lock() noexcept {
    if constexpr (Policy::is_shared) {
      assert(holder_.load(std::memory_order_relaxed) != sennit_thread_self() &&
             "sennit: a function that a wait_list calls uses the same wait_list");
      waits_.lock();
#if !defined(NDEBUG)
      holder_.store(sennit_thread_self(), std::memory_order_relaxed);
#endif
    }
  }
  void unlock() noexcept {
    if constexpr (Policy::is_shared) {
#if !defined(NDEBUG)
      holder_.store(nullptr, std::memory_order_relaxed);
#endif
      waits_.unlock();
    }
  }
  static Offer& offer_of(waiter& w) noexcept { return *reinterpret_cast<Offer*>(w.word); }
  void enter(waiter& w, Offer& offer) noexcept {
    w.word = reinterpret_cast<std::uintptr_t>(__builtin_addressof(offer));
    list_push_back(list_, w);
  }

  waiter_list list_;
  [[no_unique_address]] lists waits_;
  std::atomic<const void*> holder_{nullptr};  // the thread that holds the lock, in builds with assertions
};

}  // namespace sennit::inline v0_1::detail
