// The descriptor: the scheduler's data about a fiber. It outlives the fiber's stack.
//
// Descriptors are type-stable: their memory is reused only for descriptors.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <new>
#include <utility>

#include "sennit/detail/arch/context.h"
#include "sennit/detail/arch/inline.hpp"
#include "sennit/detail/arch/look.hpp"
#include "sennit/detail/coro/coroutine_frame.hpp"
#include "sennit/detail/sched/claim.hpp"
#include "sennit/detail/timer/chrono.hpp"
#include "sennit/detail/timer/clock.hpp"

struct sennit_worker;

namespace sennit::inline v0_1::detail {

enum class fiber_status : std::uint8_t {
  unused,
  parked,
  waiting,  // parked in a list
  unpark,   // parked until unpark() is called
  joining,  // parked until another fiber ends: its object; its word, if it has no stack
  // Ready or running, after a park. It ended because
  notified,   // the awaited event happened; the word has details
  timed_out,  // the deadline passed first
  unwinding,  // the runtime ends: the fiber leaves by forced unwind
  stopped,    // (local runtimes) a stop was requested (stop.hpp)
  // Runs, and its thread waits by means for threads. No other fiber of its (local) runtime can run.
  blocks_thread,
  begins,   // ready or running; it has not parked yet
  finished  // debuggers take it that this is the last
};

struct fiber;

// The bytes that a descriptor can hold of a continuation (continuation.hpp).
inline constexpr std::size_t continuation_room = 48;

// A node in a ring of waiters: a waiter's, or the list's own, which stands between last and first. An empty
// list contains only its own node. Entering and leaving need no test for null or for the ends.
struct wait_node {
  wait_node* next = nullptr;
  wait_node* previous = nullptr;

  void leave_list() noexcept {
    next->previous = previous;
    previous->next = next;
  }
};

// For diagnostics: why a fiber or thread waits, and for which object.
struct wait_reason {
  constexpr wait_reason(const char* why) noexcept : text(why) {}
  wait_reason(const char* why, const void* of) noexcept
      : text(why), object(reinterpret_cast<std::uintptr_t>(of)) {}
  constexpr wait_reason(const char* why, std::uintptr_t of) noexcept : text(why), object(of) {}

  // Returns this reason, or one with the object `other` if this names none.
  wait_reason or_of(const void* other) const noexcept {
    return object != 0 ? *this : wait_reason(text, other);
  }

  const char* text;  // a literal
  // The object's address; 0 if there is none, or more than one. With is_descriptor, the address of a file
  // descriptor's number; with has_owner, of an object that begins with a lock_owner.
  std::uintptr_t object = 0;
};
inline constexpr std::uintptr_t is_descriptor = 1;  // these addresses are aligned to more
inline constexpr std::uintptr_t has_owner = 2;

// The owner of a lock, for deadlock reports. The owner writes it.
struct lock_owner {
  static constexpr std::uint32_t no_fiber = ~std::uint32_t{0};
  std::uint32_t id = 0;  // the owner's fiber id; 0: the lock keeps none; `no_fiber`: no fiber is the owner
  void take() noexcept;  // the calling fiber or thread becomes the owner
  // Returns whether the calling fiber holds the lock and no stop can end its waits. Returns false outside of
  // fibers, and if the lock keeps no owner.
  bool blocks_caller() const noexcept;
  // The number of runtimes that report deadlocks. A lock that is first taken while this is not 0 keeps its
  // owner from then on. Its fast paths then fail, and cost other locks nothing.
  static constinit inline std::atomic<unsigned> wanted{0};

private:
  static bool is_of_caller(std::uint32_t holder) noexcept;
};

// The name of a fiber's stack, compared by address. It is an array: with a pointer to a literal, each file
// would have its own literal.
inline constexpr char fiber_kind[] = "fiber";

// The reasons of a fiber that joins another one, and of one that has yielded.
inline constexpr const char* join_reason = "join";
inline constexpr const char* yield_reason = "yield";

// Whether a fiber has been notified that its runtime ends.
enum class shutdown_state : std::uint8_t {
  none,
  delivered,  // it was notified, and is not notified again
  pending,    // it must leave at its next wait
  no_stack    // it cannot begin: there is no memory for its stack
};
// Tests a bit: one instruction.
constexpr bool may_begin(shutdown_state state) noexcept {
  return (static_cast<unsigned>(state) & static_cast<unsigned>(shutdown_state::pending)) == 0;
}
static_assert(may_begin(shutdown_state::delivered) && !may_begin(shutdown_state::no_stack));

// Whether a fiber has a stack. If this is not 0, it has none.
enum stack_state : std::uint8_t {
  has_stack,
  gave_up_stack,  // it has blocked with a continuation (continuation.hpp)
  not_begun       // it gets a stack when it is entered for the first time (first_round.hpp)
};

// From `multi` on, a waker must take a claim.
enum class waiter_kind : std::uint8_t {
  fiber,
  pinned_fiber,     // (parallel runtimes) runs on one worker only
  migrating_fiber,  // (tests) moves to another worker whenever it becomes ready
  multi,            // a multi_wait_node (wait.hpp): several events may end the wait
  scope_fiber       // (parallel runtimes) a scope's, in a list without a stack (scope_member.hpp)
};

inline constexpr bool says_parked(fiber_status s) noexcept {
  return s >= fiber_status::parked && s <= fiber_status::joining;
}

inline bool lock_owner::blocks_caller() const noexcept {
  // It is read once, since the holder may unlock meanwhile. Then it is 0, and so may be the caller's number.
  const std::uint32_t holder = look(id);
  return holder != 0 && is_of_caller(holder);
}

// Bits of fiber_flags::unusual.
enum : std::uint8_t {
  needs_slow_path = 1,         // has a name, an error, no stack or one of another size, or was made to leave
  has_yield_continuation = 2,  // has a yield continuation (continuation.hpp), which its yields must use
  is_of_scope = 4,             // has a scope_member among its fiber-local values
  has_error = 8,               // ended with an exception
};

// A spawn resets these in one store.
struct fiber_flags {
  fiber_status status = fiber_status::unused;
  bool owned = false;  // a handle refers to it, and keeps it after its end
  stack_state stackless = has_stack;
  bool unpark_pending = false;  // an unpark came before its park, or ended it
  bool stoppable = false;       // has guards or shields (stop.hpp)
  std::uint8_t slow_path = 0;   // not 0: not reusable as it is
  shutdown_state shutdown = shutdown_state::none;
  waiter_kind kind = waiter_kind::fiber;
};
static_assert(sizeof(fiber_flags) == 8);

// A waiter in a list.
struct waiter : wait_node {
  std::uintptr_t word = 0;  // the offer of the waiter, then the word of its waker
  fiber_flags flags;
};

// The waiters for one object, in order. A waiter is in at most one list. Not movable.
struct waiter_list : wait_node {
  constexpr waiter_list() noexcept : wait_node{this, this} {}
  waiter_list(const waiter_list&) = delete;
  waiter_list& operator=(const waiter_list&) = delete;
  bool empty() const { return next == this; }
};

// Why a fiber is parked, on its stack. Diagnostics and the runtime's end use it.
struct wait_site {
  constexpr wait_site() noexcept = default;
  constexpr wait_site(const wait_reason& why, bool (*how)(wait_site& site, fiber& f) noexcept) noexcept
      : reason(why.text), object(why.object), withdraw(how) {}

  const char* reason = "";
  std::uintptr_t object = 0;  // as in wait_reason
  // Removes the fiber from what it waits for. Returns false if another fiber or thread has done so, and makes
  // it ready. Called only while the fiber cannot continue: no other fiber of its runtime runs, or it would
  // wait for a lock (scope_member.hpp).
  bool (*withdraw)(wait_site& site, fiber& f) noexcept = nullptr;
};

struct continuation_overflow;

// When a fiber parked, and, in a parallel runtime, which fiber ran next, in one word. The lowest bit is 1,
// which distinguishes the word from an address. Above it, there is a time in units of 65,536 ns (unambiguous
// for 208 days), then the signed distance to the successor's descriptor. Distance 0: no successor yet, or one
// that is too far away.
inline constexpr unsigned park_unit = 16;  // log2, ns
inline constexpr unsigned park_bits = 40;  // below the successor
inline constexpr std::uint64_t park_times = (std::uint64_t{1} << park_bits) - 1;
constexpr std::uint64_t parked_at(std::uint64_t monotonic) noexcept {
  return ((monotonic >> park_unit << 1) | 1) & park_times;
}
constexpr std::ptrdiff_t successor_in(std::uint64_t parked) noexcept {
  return parked % 2 != 0 ? static_cast<std::ptrdiff_t>(static_cast<std::int64_t>(parked) >> park_bits) : 0;
}
constexpr std::uint64_t with_successor(std::uint64_t parked, std::ptrdiff_t apart) noexcept {
  const std::uint64_t both = parked | static_cast<std::uint64_t>(apart) << park_bits;
  return successor_in(both) == apart ? both : parked;
}
// Returns how long ago that was, in ns. Returns -1 if the word holds no time, or the caller's clock is
// behind.
constexpr std::int64_t parked_for(std::uint64_t parked, std::uint64_t monotonic) noexcept {
  const std::uint64_t units = ((parked_at(monotonic) - parked) & park_times) >> 1;
  return parked % 2 != 0 && units < park_times / 4 ? static_cast<std::int64_t>(units << park_unit) : -1;
}

// Two adjacent cache lines: the processor fetches such pairs together. A stackless fiber stores its
// continuation where other fibers have the data of their stack.
struct alignas(128) fiber : waiter {
  // First line: written when a fiber begins, blocks, wakes, or is switched to. A resume passes the word.
  union {
    sennit_context context = nullptr;  // where it is suspended
    continuation_overflow* overflow;   // stackless: separate data, or null
  };
  union {
    fiber* next = nullptr;  // in the ring, or among idle fibers
    std::uint64_t since;    // while parked: parked_at() of its beginning
  };
  union {
    fiber* joiner = nullptr;
    std::atomic<std::uintptr_t> ended;  // (parallel runtimes) see parallel/worker_inline.hpp
  };
  union {
    // Local runtimes: the distance to the descriptor of a fiber that ran next after an earlier wait; 0: none
    // yet, or too far away. That fiber may be gone. A descriptor, or zeroes, still lie there. That holds even
    // if this was read from a fiber of a parallel runtime, whose permit is at most parked_for_grant.
    std::int32_t successor = 0;
    wait_claim permit;  // (parallel runtimes) this_fiber::park and unpark
  };
  std::uint32_t id = 0;  // 0: not assigned yet
  // Second line: what else a block writes, and data that is only read.
  union {
    const char* reason = "";  // why it is parked
    wait_site* site;          // the same, in parallel runtimes; its code, if it is stackless
  };
  sennit_worker* home = nullptr;
  // The rest holds its continuation while it is stackless.
  coroutine_frame* frame = nullptr;  // its stack; null: none
  union {
    void* error =
        nullptr;  // a std::exception_ptr, by its only word: the exception with which it ended, if has_error
    std::uintptr_t object;  // (local runtimes) the awaited object while parked, as in wait_reason
  };
  char name[32] = {};  // for diagnostics

  constexpr fiber() noexcept {}
  void* room() noexcept { return reinterpret_cast<char*>(this) + sizeof(fiber) - continuation_room; }
  bool is_parked() const { return says_parked(flags.status); }
};
static_assert(sizeof(fiber) == 128);

// Returns the exception with which it ended, or null.
static_assert(sizeof(std::exception_ptr) == sizeof(void*), "it is kept where a pointer lies");
inline std::exception_ptr* fiber_error(fiber& f) noexcept {
  return (f.flags.slow_path & has_error) != 0 ? std::launder(reinterpret_cast<std::exception_ptr*>(&f.error))
                                              : nullptr;
}
// Returns that exception, and removes it from the fiber.
inline std::exception_ptr fiber_take_error(fiber& f) noexcept {
  std::exception_ptr* const error = fiber_error(f);
  if (error == nullptr)
    return nullptr;
  std::exception_ptr taken = std::move(*error);
  error->~exception_ptr();
  return taken;
}

// Nanoseconds of the monotonic clock. Always odd, to distinguish it from an address.
std::uint64_t monotonic_now() noexcept;

// Returns its stack. Returns null for a main fiber, and for a fiber without a stack (moves of its state run
// before one is attached).
inline coroutine_frame* fiber_frame(const fiber& f) noexcept {
  return f.flags.stackless ? nullptr : f.frame;
}

SENNIT_INLINE void list_push_back(waiter_list& list, waiter& w) {
  wait_node* last = list.previous;
  store_in_order(w.previous, last);
  store_in_order(w.next, &list);
  store_in_order(list.previous, &w);
  store_in_order(last->next, &w);
}

inline void list_push_front(waiter_list& list, waiter& w) {
  wait_node* first = list.next;
  store_in_order(w.next, first);
  store_in_order(w.previous, &list);
  store_in_order(list.next, &w);
  store_in_order(first->previous, &w);
}

SENNIT_INLINE waiter& list_pop_front(waiter_list& list) {
  wait_node* first = list.next;
  list.next = first->next;
  first->next->previous = &list;
  return static_cast<waiter&>(*first);
}

// For local runtimes, where all waiters are fibers.
SENNIT_INLINE fiber& list_pop_fiber(waiter_list& list) {
  return static_cast<fiber&>(list_pop_front(list));
}

// Removes a parked fiber from what it waits for: its deadline has passed, or its runtime ends.
inline void stop_waiting(fiber& f) {
  if (f.flags.status == fiber_status::waiting)
    f.leave_list();
  else if (f.flags.status == fiber_status::joining)
    reinterpret_cast<fiber*>(f.flags.stackless ? f.word : f.object)->joiner = nullptr;
}

struct join_access;  // friend of handles (waits.hpp)

// Fibers that are neither parked nor queued, in FIFO order, linked by `next`.
struct fiber_chain {
  fiber* first = nullptr;
  fiber* last = nullptr;
  std::size_t size = 0;

  void operator()(fiber* f) noexcept {
    f->next = nullptr;
    (first == nullptr ? first : last->next) = f;
    last = f;
    ++size;
  }
  // Returns null if the chain is empty.
  fiber* pop() noexcept {
    fiber* const f = first;
    if (f == nullptr)
      return nullptr;
    first = f->next;
    --size;
    return f;
  }
  void splice(const fiber_chain& behind) noexcept {
    if (behind.first == nullptr)
      return;
    (first == nullptr ? first : last->next) = behind.first;
    last = behind.last;
    size += behind.size;
  }
};

// The process has had more than fiber_block::least fibers at a time: more than a CPU's caches hold.
extern std::atomic<bool> many_fibers;

// Throws std::system_error (EAGAIN) if the runtime has reached its limit of fibers, by a count that may be
// slightly old. Any thread may call it; for a local runtime, only the worker's.
void fiber_must_be_below_limit(sennit_worker& home);

// Free descriptors that a worker keeps for its next fibers. It takes and gives them at_once at a time.
struct spare_descriptors {
  static constexpr unsigned at_once = 64;
  static constexpr unsigned most = 256;

  fiber* first = nullptr;
  unsigned count = 0;

  void add(fiber& f) noexcept {
    f.next = std::exchange(first, &f);
    ++count;
  }
  fiber* take() noexcept {
    --count;
    return std::exchange(first, first->next);
  }
};
// Gives back descriptors until `left` remain.
void give_spare_descriptors(spare_descriptors& spare, unsigned left) noexcept;

// Takes a free descriptor for a worker, and returns one. Any thread. fiber_make throws std::bad_alloc, and
// what fiber_must_be_below_limit throws.
fiber* fiber_make(sennit_worker& home);
void fiber_free(fiber* f) noexcept;

// Returns the fiber's number in the process, for diagnostics. The first call assigns it. Any thread, while
// the fiber cannot begin anew.
std::uint64_t fiber_id(fiber& f) noexcept;
// Returns a number that no fiber has.
std::uint32_t fiber_fresh_id() noexcept;

// Calls visit(argument, fiber) for each fiber of a worker that is not finished, on the worker's thread.
void fiber_for_each(const sennit_worker& home, void (*visit)(void* argument, fiber& f), void* argument);

// Counts the same fibers.
std::size_t fiber_count(const sennit_worker& home) noexcept;

}  // namespace sennit::inline v0_1::detail
