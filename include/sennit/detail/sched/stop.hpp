// Being told to stop: how a stop token ends the waits of a fiber, or of an OS thread.
//
// A fiber has a chain of links, innermost first: guards, each of which has a token, and shields, which hide
// what lies behind them. The outermost one of a scope's fiber is no guard of its frames, but lies with its
// scope_member. A wait that has a claim of its own enters the words (stop_word.hpp) of all links that it can
// see. Waits of local runtimes have no claim: their fiber is taken out of where it waits on its worker's
// thread, where a stop that was requested on another one comes as a post.
//
// A fiber without links pays for all this by one look at a flag in each wait.
#pragma once

#include <atomic>
#include <cstdint>

#include "sennit/detail/sched/parallel.hpp"
#include "sennit/detail/sched/stop_word.hpp"

namespace sennit::detail {

struct stop_notice;

class stop_link {
public:
  enum class kind : std::uint8_t { guard, shield, scope };

  // The innermost of the calling fiber, or OS thread, until its destruction there. A guard in a fiber of a
  // local runtime may throw std::bad_alloc.
  explicit stop_link(kind what);
  // A scope's: while its fiber has a stack, the outermost. A fiber of a local runtime may throw
  // std::bad_alloc; in the others', `notice` is null.
  stop_link();
  void enter(fiber& f) noexcept;
  void leave(fiber& f) noexcept;  // may be called again
  stop_notice* notice() const noexcept { return notice_; }
  ~stop_link();
  stop_link(const stop_link&) = delete;
  stop_link& operator=(const stop_link&) = delete;

  // Destroys the guards and shields of the running fiber that lie there, in frames that nobody will destroy:
  // who requests a stop would look there. (A scope's link is left.)
  static void give_up(const void* low, const void* high) noexcept;

  // The innermost of the running fiber is a shield.
  static bool is_shielded() noexcept;

  // Stop is requested. Once; any thread, while the link is there.
  void tell() noexcept;

  // The next that the caller's wait sees, from the innermost on; null: none.
  static stop_link* first_seen() noexcept;
  stop_link* next_seen() const noexcept { return seen(outer_); }
  bool is_told() const noexcept { return word_.is_told(); }

  // The calling fiber's or thread's wait throws sennit::cancelled because of a link that it sees. Reports a
  // second time for the same link, where runtimes report deadlocks: the first exception was swallowed.
  static void note_thrown() noexcept;

private:
  friend class stop_watch;
  friend class local_stop_watch;
  static stop_link* seen(stop_link* link) noexcept;

  stop_link* const outer_;
  const int
      exceptions_;  // that were on their way when it was made: while there are more, waits do not see it
  const kind kind_;
  enum : std::uint8_t { never_yet, once, often } thrown_ = never_yet;  // cancelled, because of this link
  stop_notice* notice_ = nullptr;  // a guard's or a scope's, in a fiber of a local runtime
  basic_stop_word<> word_;
};

// Takes a claim when the calling fiber or thread is told to stop. As fiber_timer.
class stop_watch {
public:
  stop_watch() = default;
  stop_watch(const stop_watch&) = delete;
  stop_watch& operator=(const stop_watch&) = delete;
  ~stop_watch() { end(); }

  // Once. `who`: the calling fiber, or null: an OS thread, which waits for the claim's word.
  void arm(fiber* who, wait_claim& claim) noexcept {
    if (who == nullptr || who->flags.stoppable) [[unlikely]]
      watch(who, claim);
  }
  // The wait is over. True: the caller was told to stop.
  bool end() noexcept {
    if (entered_ != left_) [[unlikely]]
      leave();
    return told_;
  }

private:
  friend class stop_link;
  void watch(fiber* who, wait_claim& claim) noexcept;
  void leave() noexcept;

  fiber* who_ = nullptr;
  wait_claim* claim_ = nullptr;
  stop_link* entered_ = nullptr;  // the links from this one on,
  stop_link* left_ = nullptr;     // up to this one
  bool told_ = false;
};

// The same for a wait of a local runtime: while it lives, its fiber's links know that it may be told.
class local_stop_watch {
public:
  local_stop_watch() noexcept;
  ~local_stop_watch();
  local_stop_watch(const local_stop_watch&) = delete;
  local_stop_watch& operator=(const local_stop_watch&) = delete;
  // Before the wait: the caller was told to stop.
  bool told() const noexcept { return told_; }

private:
  stop_link* const first_;
  bool told_ = false;
};

// Wakes an OS thread that waits for its claim's word.
void wake_thread(std::atomic<claim_state>& word) noexcept;

[[noreturn, gnu::cold]] void throw_cancelled();

// The calling fiber was told to leave, by its runtime's end, and must go on: it is told again at its next
// wait.
void tell_again() noexcept;

// Calls `wait`, and once more if the caller is told to leave in it, which happens once: what must have been
// waited for in any case, in destructors above all.
template <class Wait>
void wait_in_any_case(Wait wait) {
  const stop_link shield(stop_link::kind::shield);
  try {
    wait();
  } catch (const forced_unwind&) {
    wait();
    tell_again();
  }
}

}  // namespace sennit::detail
