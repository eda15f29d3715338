// Supervisors over either policy: a scope whose actors begin again when they fail. `Kind` defines the scope,
// the lock, and how actors begin.
//
//   failed                     a behaviour has thrown. The supervisor counts that, and requests that the
//   actors
//     |                        begin again that the policy names: it stops the waits of those with a stack
//   all of them have left      their behaviours are destroyed
//     |
//   each begins again          with a copy of the behaviour that it was started with, and with its mailbox
//
// An actor without a stack keeps only its behaviour. It gets a new copy before its next message.
#pragma once

#include <atomic>
#include <concepts>
#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <type_traits>
#include <utility>

#include "sennit/detail/sync/begin_actor.hpp"
#include "sennit/detail/timer/chrono.hpp"
#include "sennit/stop_guard.hpp"
#include "sennit/supervisor_options.hpp"

namespace sennit::inline v0_1::detail {

/// The members of sennit::supervisor and sennit::local::supervisor.
template <class Kind>
class basic_supervisor {
  using time_point = std::chrono::steady_clock::time_point;
  template <class M>
  using ref = basic_actor_ref<M, typename Kind::actors>;
  template <class M>
  using inbox = basic_inbox<M, typename Kind::actors>;

public:
  /// The options of its actors: those of the runtime's kind.
  using actor_options = typename Kind::actor_options;

  /// A supervisor without actors, owned by the caller.
  ///
  /// \throws std::bad_alloc if there is no memory
  explicit basic_supervisor(const supervisor_options& options = {})
      : options_(options),
        recent_(options.restarts != no_limit_of_restarts ? new time_point[options.restarts] : nullptr) {}
  basic_supervisor(const basic_supervisor&) = delete;
  basic_supervisor& operator=(const basic_supervisor&) = delete;

  /// Starts an actor. The behaviour must be copyable: each start uses a copy of it. Otherwise like
  /// sennit::spawn_actor(scope, behaviour, options). The owner may call it.
  template <class M, class Behaviour>
  ref<M> spawn(Behaviour&& behaviour, const actor_options& options = {}) {
    using kept = std::decay_t<Behaviour>;
    static_assert(std::copy_constructible<kept>,
                  "the behaviour of a supervised actor must be copyable: it may have to begin again");
    membership me(new member(*this));
    if constexpr (behaves_with_stack<kept, M, typename Kind::actors>)
      return Kind::template spawn_actor<M>(
          scope_, stackful<M, kept>{std::move(me), std::forward<Behaviour>(behaviour)}, options);
    else if constexpr (behaves_without_stack<kept, M, typename Kind::actors>)
      return Kind::template spawn_actor<M>(
          scope_, stackless<M, kept>{std::move(me), std::forward<Behaviour>(behaviour), {}}, options);
    else  // says what is wrong with it
      return Kind::template spawn_actor<M>(scope_, std::forward<Behaviour>(behaviour), options);
  }

  /// Waits until all actors have ended. More may be started after it. Only the owner may call it.
  ///
  /// \throws the exception of the failure that exceeded the limit, once
  /// \throws sennit::cancelled if the owner is stopped
  void join() { scope_.join(); }
  /// Like join(), but gives up at a deadline.
  ///
  /// \returns false if the deadline passed first
  bool join_until(std::chrono::steady_clock::time_point deadline) { return scope_.join_until(deadline); }
  /// Like join(), but gives up after a duration.
  template <class Rep, class Period>
  bool join_for(std::chrono::duration<Rep, Period> time) {
    return scope_.join_for(time);
  }
  /// Cancels all actors. Does not block. Any thread, while the supervisor exists.
  void request_stop() noexcept { scope_.request_stop(); }
  /// \returns the number of failures after which actors began again
  std::size_t restarts() const noexcept { return restarts_.load(std::memory_order_relaxed); }

private:
  // An actor, in the order of their starts. All but `begins_anew` is protected by the lock.
  struct member {
    explicit member(basic_supervisor& in) : of(in) {
      const auto held = of.hold();
      previous = of.last_;
      (previous != nullptr ? previous->next : of.first_) = this;
      of.last_ = this;
    }
    basic_supervisor& of;
    member* next = nullptr;
    member* previous = nullptr;
    bool is_inside = false;                // a behaviour with a stack runs
    bool must_leave = false;               // it is to begin again
    std::atomic<bool> begins_anew{false};  // without a stack: before its next message
    std::stop_source run{std::nostopstate};
  };
  struct leave {
    void operator()(member* ended) const noexcept {
      {
        const auto held = ended->of.hold();
        ended->of.exit(*ended);
        (ended->previous != nullptr ? ended->previous->next : ended->of.first_) = ended->next;
        (ended->next != nullptr ? ended->next->previous : ended->of.last_) = ended->previous;
      }
      delete ended;
    }
  };
  using membership = std::unique_ptr<member, leave>;

  // Locks also in a fiber that is stopped.
  std::unique_lock<typename Kind::mutex> hold() noexcept {
    std::unique_lock<typename Kind::mutex> held(lock_, std::defer_lock);
    wait_uninterruptible([&held] { held.lock(); });
    return held;
  }

  template <class M, class Behaviour>
  struct stackful {
    membership me;
    Behaviour original;

    void operator()(inbox<M>& in) {
      basic_supervisor& of = me->of;
      for (;;) {
        try {
          of.enter(*me);
          Behaviour current(original);
          if (of.options_.policy == restart_policy::one_for_one) {
            current(in);
          } else {
            const stop_guard guard(me->run.get_token());
            current(in);
          }
          return;
        } catch (const cancelled&) {
          if (!of.left(*me) || stop_requested())
            throw;
        } catch (const forced_unwind&) {
          throw;
        } catch (...) {
          if (!of.failed(*me))
            throw;
        }
        Kind::yield();  // otherwise a behaviour that fails at once would occupy the worker
        if (stop_requested())
          throw_cancelled();
      }
    }
  };

  template <class M, class Behaviour>
  struct stackless {
    membership me;
    Behaviour original;
    std::optional<Behaviour> current;

    void operator()(M message, inbox<M>& in) {
      try {
        if (!current || me->begins_anew.exchange(false, std::memory_order_relaxed))
          current.emplace(original);
        if constexpr (std::invocable<Behaviour&, M>)
          (*current)(std::move(message));
        else
          (*current)(std::move(message), in);
      } catch (const forced_unwind&) {
        throw;
      } catch (...) {
        if (!me->of.failed(*me))
          throw;
        current.reset();
      }
    }
  };

  // A behaviour with a stack begins, when those that are to begin again have left.
  void enter(member& who) {
    std::stop_source run(std::nostopstate);
    if (options_.policy != restart_policy::one_for_one)
      run = std::stop_source();
    auto held = hold();
    all_left_.wait(held, [this] { return leaving_ == 0; });
    who.run = std::move(run);
    who.is_inside = true;
  }
  // With the lock. Returns whether it is to begin again.
  bool exit(member& who) noexcept {
    who.is_inside = false;
    if (!who.must_leave)
      return false;
    who.must_leave = false;
    if (--leaving_ == 0)
      all_left_.notify_all();
    return true;
  }
  bool left(member& who) noexcept {
    const auto held = hold();
    return exit(who);
  }
  // Returns false if that was one failure too many.
  bool failed(member& who) noexcept {
    const auto held = hold();
    if (exit(who))
      return true;  // another failure has caused this one, or came first
    if (!count())
      return false;
    if (options_.policy == restart_policy::one_for_one)
      return true;
    for (member* each = options_.policy == restart_policy::one_for_all ? first_ : who.next; each != nullptr;
         each = each->next)
      if (each != &who)
        begin_anew(*each);
    return true;
  }
  void begin_anew(member& each) noexcept {
    each.begins_anew.store(true, std::memory_order_relaxed);
    if (!each.is_inside || each.must_leave)
      return;
    each.must_leave = true;
    ++leaving_;
    each.run.request_stop();
  }
  bool count() noexcept {
    const std::size_t done = restarts_.load(std::memory_order_relaxed);
    if (options_.restarts == 0)
      return false;
    if (recent_ != nullptr) {
      time_point& oldest = recent_[done % options_.restarts];
      const time_point now = std::chrono::steady_clock::now();
      if (done >= options_.restarts && now - oldest < options_.period)
        return false;
      oldest = now;
    }
    restarts_.store(done + 1, std::memory_order_relaxed);
    return true;
  }

  const supervisor_options options_;
  const std::unique_ptr<time_point[]> recent_;  // the last restarts, a ring; or null
  std::atomic<std::size_t> restarts_{0};
  typename Kind::mutex lock_;
  typename Kind::condition_variable all_left_;
  std::size_t leaving_ = 0;  // the members with must_leave
  member* first_ = nullptr;
  member* last_ = nullptr;
  typename Kind::scope scope_;  // destroyed first: its fibers use the rest
};

}  // namespace sennit::inline v0_1::detail
