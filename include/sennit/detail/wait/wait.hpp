// Waiting and waking: for fibers of parallel runtimes and for OS threads, with or without a deadline.
//
// A fiber that only one event can wake is itself the node in that object's list. This is the fast path,
// parallel_block(). All other waiters wait through a multi_wait in their own frame. There a deadline, a
// second list or another thread may come at any moment, and the claim decides which came first.
//
// The rule of lifetimes: a waiter that was served does not touch the object again. The waker does not touch
// the object, or the waiter's frame, after it has released the waiter. A served waiter was taken out of its
// list under the object's lock. If it had parked, it is made ready after the lock was released. If it had not
// parked, or is an OS thread, it could continue at once. So it waits until the waker has released the lock
// and releases it. A waiter that gives up, because of a deadline or a stop, leaves the list under the lock.
// The object must outlive that.
#pragma once

#include <atomic>
#include <cassert>
#include <cstdint>

#include "sennit/detail/arch/inline.hpp"
#include "sennit/detail/sched/served_claim.hpp"
#include "sennit/detail/wait/stop.hpp"

namespace sennit::inline v0_1::detail {

class multi_wait;
class token_watch;
// As token_watch::arm(), where its class is not defined: that needs <stop_token>.
void token_watch_arm(token_watch& watch, fiber& who) noexcept;

// A place in which a multi_wait waits: in a list, or in a word.
struct multi_wait_node : waiter {
  multi_wait* of = nullptr;
  std::uint32_t number = 0;  // of the place within that wait
  // The next place of that wait in the same object, as a ring, or null. In a local runtime the ring is of all
  // places of the wait.
  multi_wait_node* beside = nullptr;
  std::atomic<bool> released{false};  // set by a waker that lost the claim, where there is no lock
};

// Ends the wait of a waiter that was taken out of a list, under the list's lock. Returns false if it had
// stopped waiting. After the lock was released, the same thread passes `who` to make_ready(): the fiber to
// make ready, or null. Null: the waiter continues by itself once make_ready() has released it.
bool take_multi_wait(multi_wait_node& w, fiber*& who) noexcept;
// As take_multi_wait(), for each kind that has a claim.
bool take_by_claim(waiter& w, fiber*& who) noexcept;
// Those that continue by themselves, apart from the thread's: other objects are used before they are
// released.
struct taken_waiters {
  basic_served_claim<>* last = nullptr;
};
bool take_multi_wait(multi_wait_node& w, fiber*& who, taken_waiters& among) noexcept;
[[gnu::cold]] void release_all(taken_waiters& taken) noexcept;
inline void release_taken(taken_waiters& taken) noexcept {
  if (taken.last != nullptr)
    release_all(taken);
}
SENNIT_INLINE bool take_waiter(waiter& w, std::uintptr_t word, fiber*& who) noexcept {
  w.next = nullptr;
  w.word = word;
  if (w.flags.kind >= waiter_kind::multi) [[unlikely]]
    return take_by_claim(w, who);
  who = static_cast<fiber*>(&w);
  return true;
}
// Releases the waiters that the calling thread has taken, and that continue by themselves. User code that
// runs with a lock held has a list of its own meanwhile (taken_waiters_stay).
[[gnu::cold]] void release_taken() noexcept;
SENNIT_INLINE void make_ready(fiber* who) noexcept {
  if (who != nullptr) [[likely]]
    parallel_ready(*who, fiber_status::notified);
  else
    release_taken();
}

// Takes a waiter out of its list, under the list's lock. Returns false if it was taken out before.
inline bool leave_list(waiter& w) noexcept {
  if (w.next == nullptr)
    return false;
  w.leave_list();
  w.next = nullptr;
  return true;
}

// A wait of the calling fiber or thread that several events may end. Construct it, enter node(), or other
// places that belong to it, into lists, call wait(), then leave the lists. A fiber of a local runtime blocks
// its thread, unless it uses kind::local. Then only its own thread may end the wait, and wait() may throw.
class multi_wait {
public:
  enum class kind : bool { any, local };
  multi_wait(const wait_reason& why, time_point deadline, kind among = kind::any) noexcept;
  // For a fiber without a stack.
  multi_wait(const char* reason, time_point deadline, fiber& who) noexcept;
  multi_wait(const multi_wait&) = delete;
  multi_wait& operator=(const multi_wait&) = delete;

  multi_wait_node& node() noexcept { return node_; }
  // Whether it waits on the thread of its wakers.
  bool is_local() const noexcept { return local_; }
  // Makes `place` one of this wait's.
  void own(multi_wait_node& place, std::uint32_t number = 0) noexcept {
    place.flags.kind = waiter_kind::multi;
    place.of = this;
    place.number = number;
    place.beside = nullptr;
    place.released.store(false, std::memory_order_relaxed);
  }
  // Returns true if it was served: it has left the list that served it. Returns false if the deadline passed
  // first, or the caller must leave. Then leave the lists, and call throw_if_interrupted(). Keeps errno.
  bool wait();
  // Replaces wait() for a fiber without a stack. Returns false if the wait has ended; otherwise the wait may
  // be gone already. (For a local runtime, the caller adds the deadline.) `stop`: may end the wait, too; or
  // null.
  bool file(token_watch* stop) noexcept;
  // Ends a wait begun by file(). Returns false if another event has ended it, and makes the fiber ready.
  bool withdraw() noexcept { return local_ ? claim_.take_alone(claim_state::timed_out) : claim_.withdraw(); }
  // For a wait that has ended: returns whether a waker ended it, once the waker has released it.
  bool was_served() const noexcept { return claim_.was_served(); }
  // Gives up, before wait() or instead of it. Returns false if the wait has ended.
  bool cancel() noexcept {
    return local_ ? claim_.take_alone(claim_state::timed_out)
                  : claim_.take(claim_state::timed_out) != claim_result::lost;
  }
  std::uintptr_t word() const noexcept { return node_.word; }
  // The place where it was taken, if it was.
  std::uint32_t place() const noexcept { return place_of(claim_.state()); }
  bool was_taken_at(const multi_wait_node& place) const noexcept {
    return claim_.state() == taken_at(place.number);
  }
  // Throws forced_unwind if the runtime ends, or cancelled if a stop was requested.
  void throw_if_interrupted() const;

private:
  friend bool take_multi_wait(multi_wait_node& w, fiber*& who, taken_waiters& among) noexcept;
  void wait_as_fiber() noexcept;
  void wait_as_local_fiber();
  void wait_as_thread() noexcept;
  static bool withdraw_from(wait_site& site, fiber& f) noexcept;

  struct site_type : wait_site {
    site_type(const wait_reason& why, multi_wait& of) noexcept : wait_site(why, withdraw_from), self(&of) {}
    multi_wait* self;
  };
  site_type site_;
  fiber* who_ = nullptr;  // null: an OS thread
  bool local_ = false;    // the fiber is parked on the thread of the waker
  basic_served_claim<> claim_;
  multi_wait_node node_;
  fiber_timer timer_;
  stop_watch stop_;
  time_point deadline_;
  bool shutting_down_ = false;
  bool stopped_ = false;
};

// Identifies the caller while it lives: the fiber of any runtime, or the OS thread outside of fibers.
inline const void* caller() noexcept {
  const worker* w = this_worker();
  if (w != nullptr && w->ready.running())
    return w->ready.current;
  return sennit_thread_self();
}

// Returns the caller's worker if the caller may use the fast path, or null. A fiber that a stop may interrupt
// may not. Nor may any fiber while its runtime ends. It might have to unwind before it has filed itself, and
// would not finish the filing, such as releasing a lock.
SENNIT_INLINE parallel_worker* can_enqueue_directly(time_point deadline) noexcept {
  parallel_worker* w = this_parallel();
  return w != nullptr && deadline == never && !w->unwinding && !w->ready.current->flags.stoppable ? w
                                                                                                  : nullptr;
}

// ---- Waiting in a place.
//
// Waits in wait queues and lists (room sync), and in the slots below, go through wait_in(). A fiber's own
// park, a select, and waits of a local runtime for a join, for I/O and for offload() do not. wait_in() takes:
//
//   place     `place.leave(waiter&)` takes the waiter out. It returns false if a waker has already taken it.
//   enter     `enter(waiter&, fiber*& next)` puts the waiter in, and returns true. From then on the waiter
//             may be served and gone, with everything on its stack. It returns false if no wait is needed.
//             `next` is a fiber that the waiter readies, to run next.
//   gave_up   `gave_up(waiter&)` replaces leave() for a waiter whose deadline has passed, or that was
//             stopped. It returns false if the awaited event has come at the same time.

struct wait_result {
  bool served;  // otherwise the deadline has passed
  std::uintptr_t word = 0;
};

template <class Place>
struct place_site : wait_site {
  place_site(const wait_reason& why, const Place& at) noexcept : wait_site(why, withdraw_from), place(at) {}
  static bool withdraw_from(wait_site& site, fiber& f) noexcept {
    return static_cast<place_site&>(site).place.leave(f);
  }
  Place place;
};

// The fast path. Returns the waker's word.
template <class Place, class Enter>
SENNIT_INLINE std::uintptr_t block_in(parallel_worker& w, const Place& place, const wait_reason& why,
                                      const Enter& enter) {
  place_site<Place> site(why, place);
  return parallel_block(w, site, [&enter](fiber& self) {
    const Enter then = enter;  // the original is on the stack of the waiter
    fiber* next = nullptr;
    const bool waits = then(self, next);
    if (next != nullptr)
      make_ready(next);
    return waits;
  });
}

template <class Enter, class GaveUp>
[[gnu::noinline]] wait_result wait_with_claim(const wait_reason& why, time_point deadline, const Enter& enter,
                                              const GaveUp& gave_up) {
  multi_wait wait(why, deadline);
  fiber* next = nullptr;
  if (!enter(wait.node(), next))
    return {true};
  if (next != nullptr)
    make_ready(next);
  if (wait.wait())
    return {true, wait.word()};  // the place may be gone
  const bool in_time = !gave_up(wait.node());
  wait.throw_if_interrupted();
  return {in_time};
}

template <class Place, class Enter, class GaveUp>
SENNIT_INLINE wait_result wait_in(const Place& place, const wait_reason& why, time_point deadline,
                                  const Enter& enter, const GaveUp& gave_up) {
  if (parallel_worker* const w = can_enqueue_directly(deadline)) [[likely]]
    return {true, block_in(*w, place, why, enter)};
  return wait_with_claim(why, deadline, enter, gave_up);
}

// Blocks until the deadline, as this_fiber::sleep_until or the thread's sleep.
void sleep_until(time_point deadline);

// The site of a fiber's own park, which waits for its permit.
struct park_site : wait_site {
  park_site() noexcept : wait_site{"park", withdraw_permit} {}
  static bool withdraw_permit(wait_site&, fiber& f) noexcept { return f.permit.withdraw(); }
};

// ---- Words in which one waiter at a time waits: for a fiber's end, for I/O, for a call on another thread.
//
// Such a word holds its waiter, or a number that is no address. A waker exchanges it first.

struct slot_place {
  bool leave(waiter& me) const noexcept;
  std::atomic<std::uintptr_t>* slot;
  std::uintptr_t left;     // the word after the waiter has left
  std::uintptr_t tag = 0;  // added to the address of a waiter whose wait other events may end, too
};

// wait_in_slot() (hooks.hpp). `multi_tag`: added to the waiter's address if other events may end its wait,
// too.
bool wait_in_slot(std::atomic<std::uintptr_t>& slot, std::uintptr_t expected, std::uintptr_t left,
                  const wait_reason& why, time_point deadline, std::uintptr_t multi_tag);

// For a waiter that was taken out of such a word: waits until the waker releases it, which is very soon.
// Returns at once for a waiter without a claim.
void wait_for_release(const waiter& me) noexcept;

// Ends the wait of a waiter that was taken out of such a word. Returns the fiber to make ready, or null.
fiber* end_slot_wait(waiter& w, std::uintptr_t word) noexcept;

// Wakes the waiter that was taken out of such a word, also one of worker_operations::wait_in_slot.
void wake_in_slot(std::uintptr_t word) noexcept;

// ---- A fiber's end.

// The value of fiber::ended for a waiter.
inline std::uintptr_t ended_word(waiter& me) noexcept {
  return reinterpret_cast<std::uintptr_t>(&me) +
         (me.flags.kind == waiter_kind::multi ? ended_multi : std::uintptr_t{0});
}
// Enters a waiter's value into fiber::ended, so that the end wakes it. Returns false if the fiber has ended.
inline bool observe_end(fiber& f, std::uintptr_t who) noexcept {
  std::uintptr_t expected = ended_not_yet;
  const bool waits =
      f.ended.compare_exchange_strong(expected, who, std::memory_order_acq_rel, std::memory_order_acquire);
  assert((waits || expected == ended_already) && "sennit: two join one fiber");
  return waits;
}
inline bool observe_end(fiber& f, waiter& me) noexcept {
  return observe_end(f, ended_word(me));
}

// The waiter leaves. Returns false if it has been taken out, and no other thread touches it any more.
bool observe_end_no_more(fiber& f, waiter& me) noexcept;

// Waits until a fiber of a parallel runtime has ended; callable anywhere. Returns false if the deadline
// passed first.
bool wait_for_end(fiber& f, time_point deadline);

// Waits without a deadline.
SENNIT_INLINE void wait_for_end(fiber& f) {
  parallel_worker* w = this_parallel();
  if (w == nullptr || w->ready.current->flags.stoppable) [[unlikely]] {
    wait_for_end(f, never);
  } else {
    assert(&f != w->ready.current && "sennit: a fiber joins itself, and so would wait for ever");
    place_site<slot_place> site({join_reason, &f}, {&f.ended, ended_not_yet, ended_multi});
    const auto file = [joined = &f](fiber& waits) {
      return observe_end(*joined, reinterpret_cast<std::uintptr_t>(&waits));
    };
    fiber& self = *w->ready.current;
    parallel_block_begins(self, site);
    const int kept = *w->error_number;
    const sennit_decision to = parallel_prepare_join(*w, f);
    parallel_block_ended(kept, to.target != nullptr ? switch_context(self, to) : parallel_suspend(*w, file));
  }
}

}  // namespace sennit::inline v0_1::detail
