// How a stop token ends the waits of a fiber or an OS thread.
//
// A fiber has a chain of links, the innermost first: guards, each with a token, and shields, which hide the
// links behind them. The outermost link of a scope's fiber is not in a frame, but in its scope_member. A wait
// with a claim of its own enters the words (stop_word.hpp) of all links that it sees. Waits of local runtimes
// have no claim: their fiber is removed from what it waits for, on its worker's thread. A stop requested on
// another thread arrives there as a post.
//
// A scope has a link of kind `owner` in the chain of the fiber that made it. The first fiber of the scope
// that fails notifies this link. Then the owner's wait throws that fiber's exception instead of
// sennit::cancelled. The scope's destructor could not replace an exception that leaves the block. join()
// takes the link out of the chain while it waits.
//
// A fiber without links pays one test of a flag per wait.
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>

#include "sennit/detail/parallel/worker_inline.hpp"
#include "sennit/detail/sched/stop_word.hpp"

namespace sennit::inline v0_1::detail {

struct stop_notice;

class stop_link {
public:
  enum class kind : std::uint8_t { guard, shield, scope, owner };

  // Becomes the innermost link of the calling fiber or OS thread, until its destruction there. A guard in a
  // fiber of a local runtime may throw std::bad_alloc.
  explicit stop_link(kind what) : stop_link(what, nullptr, thread::any) {}
  // Kind `owner`, for a scope: waits throw `*error` once notify() was called. Like a guard, but it may be
  // destroyed while newer links exist. `thread`: the threads that may call notify(); with `own`, nothing is
  // allocated.
  enum class thread : std::uint8_t { any, own };
  stop_link(const std::exception_ptr* error, thread notifier) : stop_link(kind::owner, error, notifier) {}
  // The number of exceptions in flight when it was made.
  int exceptions() const noexcept { return exceptions_; }
  // Takes an owner's link out of the chain permanently; may be called again. Ends the program if the link is
  // not in the caller's chain: it would stay in the chain of another fiber or thread.
  void leave_owner() noexcept;
  // A scope's: the outermost while its fiber has a stack. In a fiber of a local runtime it may throw
  // std::bad_alloc. In other fibers, `notice` is null.
  stop_link();
  void enter(fiber& f) noexcept;
  void leave(fiber& f) noexcept;  // may be called again
  stop_notice* notice() const noexcept { return notice_; }
  ~stop_link();
  stop_link(const stop_link&) = delete;
  stop_link& operator=(const stop_link&) = delete;

  // Ends the running fiber's guards and shields in this range, whose frames are discarded: a stop request
  // would look there. Leaves a scope's link.
  static void give_up(const void* low, const void* high) noexcept;

  // Returns whether the innermost link of the running fiber is a shield.
  static bool is_shielded() noexcept;

  // Notifies the link that a stop is requested. Once; any thread, while the link is there.
  void notify() noexcept;

  // The links that the caller's wait sees, from the innermost on; null at the end.
  static stop_link* first_seen() noexcept;
  stop_link* next_seen() const noexcept { return seen(outer_); }
  bool is_requested() const noexcept { return word_.is_requested(); }

  // Called when the caller's wait throws because of a link. Returns the exception; null means
  // sennit::cancelled. If runtimes report deadlocks, reports a second throw for the same link: the first
  // exception was swallowed. After that, the error of a scope's fiber is not thrown again.
  static std::exception_ptr note_thrown() noexcept;
  // The library has caught the exception, and reports the stop as a result. The next wait throws again.
  // Returns false if no link caused the exception.
  static bool note_reported() noexcept;

  // During its lifetime, the calling fiber's waits ignore this link, but see all others.
  class ignored {
  public:
    explicit ignored(stop_link& link) noexcept {
      if (!link.is_out_)
        take(link);
    }
    ~ignored() {
      if (link_ != nullptr)
        connect(me_, inner_, link_);
    }
    ignored(const ignored&) = delete;
    ignored& operator=(const ignored&) = delete;
    // The link stays out of the chain.
    void stay() noexcept {
      if (link_ != nullptr)
        link_->is_out_ = true;
      link_ = nullptr;
    }

  private:
    void take(stop_link& link) noexcept;

    fiber* me_ = nullptr;
    stop_link* link_ = nullptr;   // null: it was not in the chain, or stays out of it
    stop_link* inner_ = nullptr;  // the next inner link, or null
  };

private:
  friend class stop_watch;
  friend class local_stop_watch;
  stop_link(kind what, const std::exception_ptr* error, thread notifier);
  static stop_link* seen(stop_link* link) noexcept;
  static void connect(fiber* me, stop_link* inner, stop_link* to) noexcept;
  static stop_link* first_requested() noexcept;

  stop_link* outer_;
  const int exceptions_;  // in flight when it was made: while there are more, waits do not see it
  const kind kind_;
  bool is_out_ = false;  // an owner's that has left the chain permanently
  enum : std::uint8_t { never_yet, once, often } thrown_ = never_yet;  // because of this link
  const std::exception_ptr* const error_ = nullptr;                    // an owner's
  stop_notice* notice_ = nullptr;  // in a fiber of a local runtime, if any thread may call notify()
  fiber* waiter_ = nullptr;        // the waiting fiber of a local runtime, if there is no notice
  basic_stop_word<> word_;
};

// Takes a claim when a stop of the calling fiber or thread is requested. Works like fiber_timer.
class stop_watch {
public:
  stop_watch() = default;
  stop_watch(const stop_watch&) = delete;
  stop_watch& operator=(const stop_watch&) = delete;
  ~stop_watch() { end(); }

  // Once. `who`: the calling fiber, or null for an OS thread, which waits on the claim's word.
  void arm(fiber* who, wait_claim& claim) noexcept {
    if (who == nullptr || who->flags.stoppable) [[unlikely]]
      watch(who, claim);
  }
  // The wait is over. Returns true if a stop was requested.
  bool end() noexcept {
    if (entered_ != left_) [[unlikely]]
      leave();
    return requested_;
  }

private:
  friend class stop_link;
  void watch(fiber* who, wait_claim& claim) noexcept;
  void leave() noexcept;

  fiber* who_ = nullptr;
  wait_claim* claim_ = nullptr;
  stop_link* entered_ = nullptr;  // the links from this one on,
  stop_link* left_ = nullptr;     // up to this one
  bool requested_ = false;
};

// For a wait of a local runtime: during its lifetime, the fiber's links know that they may end its wait.
class local_stop_watch {
public:
  local_stop_watch() noexcept;
  ~local_stop_watch();
  local_stop_watch(const local_stop_watch&) = delete;
  local_stop_watch& operator=(const local_stop_watch&) = delete;
  // Before the wait: returns whether a stop was requested.
  bool is_requested() const noexcept { return requested_; }

private:
  stop_link* const first_;
  bool requested_ = false;
};

// Wakes an OS thread that waits on its claim's word.
void wake_thread(std::atomic<claim_state>& word) noexcept;

// Throws the exception of a wait that a stop has ended: sennit::cancelled, or the error of a scope's fiber.
[[noreturn, gnu::cold]] void throw_cancelled();

// The calling fiber received its runtime's end, but must continue: its next wait throws again.
void rearm_shutdown() noexcept;

// Calls `wait`, and calls it once more if the runtime's end interrupts it, which happens once. For waits that
// must complete, mainly in destructors.
template <class Wait>
void wait_uninterruptible(Wait wait) {
  const stop_link shield(stop_link::kind::shield);
  try {
    wait();
  } catch (const forced_unwind&) {
    wait();
    rearm_shutdown();
  }
}

}  // namespace sennit::inline v0_1::detail
