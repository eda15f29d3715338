// Being told to stop: how a stop token ends the waits of a fiber, or of an OS thread.
//
// A fiber has a chain of links, innermost first: guards, each of which has a token, and shields, which hide
// what lies behind them. The outermost one of a scope's fiber is no guard of its frames, but lies with its
// scope_member. A wait that has a claim of its own enters the words (stop_word.hpp) of all links that it can
// see. Waits of local runtimes have no claim: their fiber is taken out of where it waits on its worker's
// thread, where a stop that was requested on another one comes as a post.
//
// A scope has a link of kind `owner` in the chain of the fiber that made it. The first fiber of the scope
// that fails tells this link, and the owner's wait throws the exception of that fiber instead of
// sennit::cancelled: an exception that leaves the block cannot be replaced by the scope's destructor.
// join() takes the link out of the chain while it waits.
//
// A fiber without links pays for all this by one look at a flag in each wait.
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>

#include "sennit/detail/sched/parallel.hpp"
#include "sennit/detail/sched/stop_word.hpp"

namespace sennit::detail {

struct stop_notice;

class stop_link {
public:
  enum class kind : std::uint8_t { guard, shield, scope, owner };

  // The innermost of the calling fiber, or OS thread, until its destruction there. A guard in a fiber of a
  // local runtime may throw std::bad_alloc.
  explicit stop_link(kind what) : stop_link(what, nullptr, thread::any) {}
  // Kind `owner`, for a scope: waits throw `*error` once tell() was called. Like a guard, but it may be
  // destroyed while links that were made later exist. `thread`: the threads that may call tell(); with
  // `own`, nothing is allocated.
  enum class thread : std::uint8_t { any, own };
  stop_link(const std::exception_ptr* error, thread tells) : stop_link(kind::owner, error, tells) {}
  // How many exceptions were on their way when it was made.
  int exceptions() const noexcept { return exceptions_; }
  // Takes an owner's link out of the chain for good; may be called again. Ends the program if the link is not
  // in the caller's chain: it would stay in that of another fiber, or thread.
  void leave_owner() noexcept;
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

  // The calling fiber's or thread's wait throws because of a link that it sees. Returns what it throws; null
  // means sennit::cancelled. Reports a second time for the same link, where runtimes report deadlocks: the
  // first exception was swallowed. The error of a scope's fiber is not thrown again after that.
  static std::exception_ptr note_thrown() noexcept;
  // The library has caught what was thrown, and reports the stop by a result: the next wait throws it again.
  // False: nothing was thrown because of a link.
  static bool note_reported() noexcept;

  // While it lives, the calling fiber's waits do not see the link, but all others.
  class aside {
  public:
    explicit aside(stop_link& link) noexcept {
      if (!link.is_out_)
        take(link);
    }
    ~aside() {
      if (link_ != nullptr)
        connect(me_, inner_, link_);
    }
    aside(const aside&) = delete;
    aside& operator=(const aside&) = delete;
    // The link is not put back.
    void stay() noexcept {
      if (link_ != nullptr)
        link_->is_out_ = true;
      link_ = nullptr;
    }

  private:
    void take(stop_link& link) noexcept;

    fiber* me_ = nullptr;
    stop_link* link_ = nullptr;   // null: it was not in the chain, or stays out of it
    stop_link* inner_ = nullptr;  // the link inside of it, or null
  };

private:
  friend class stop_watch;
  friend class local_stop_watch;
  stop_link(kind what, const std::exception_ptr* error, thread tells);
  static stop_link* seen(stop_link* link) noexcept;
  static void connect(fiber* me, stop_link* inner, stop_link* to) noexcept;
  static stop_link* first_told() noexcept;

  stop_link* outer_;
  const int
      exceptions_;  // that were on their way when it was made: while there are more, waits do not see it
  const kind kind_;
  bool is_out_ = false;  // an owner's, which has left the chain for good
  enum : std::uint8_t { never_yet, once, often } thrown_ = never_yet;  // because of this link
  const std::exception_ptr* const error_ = nullptr;                    // an owner's
  stop_notice* notice_ = nullptr;  // in a fiber of a local runtime, if any thread may call tell()
  fiber* waiter_ = nullptr;        // a fiber of a local runtime that waits, where there is no notice
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

// Throws what a wait throws that was told to stop: sennit::cancelled, or the error of a scope's fiber.
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
