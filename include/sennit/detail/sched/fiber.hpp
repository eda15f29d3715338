// The descriptor: what the scheduler knows of a fiber. It outlives the fiber's stack.
//
// Descriptors are type-stable: their memory is only ever reused for descriptors.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>

#include "sennit/detail/arch/context.h"
#include "sennit/detail/arch/inline.hpp"
#include "sennit/detail/coro/coroutine_frame.hpp"
#include "sennit/detail/sched/claim.hpp"
#include "sennit/no_deadline.hpp"

struct sennit_worker;

namespace sennit::detail {

using clock = std::chrono::steady_clock;
using time_point = clock::time_point;
inline constexpr time_point never = no_deadline;

enum class fiber_status : std::uint8_t {
  unused,
  parked,
  waiting,  // parked in a list
  unpark,   // parked for whoever unparks it
  joining,  // parked until the fiber that it waits for (its object; its word, if it has no stack) ends
  // Ready or running; its last park ended because
  notified,   // what it waited for happened (or there was none yet); the word handed over says more
  timed_out,  // its deadline passed first
  unwinding,  // its runtime ends: it leaves by forced unwind
  stopped,    // of a local runtime: a stop was requested (stop.hpp)
  // Runs, and its thread waits, by what is for threads: nobody else of its (local) runtime can run.
  blocks_thread,
  finished
};

struct fiber;

// Bytes of a continuation that a descriptor has room for (continuation.hpp).
inline constexpr std::size_t continuation_room = 48;

// A place in a ring of waiters: a waiter's, or the list's own, which stands between last and first. A list is
// empty when its own place is alone. No test, for null or for the ends, is needed to enter or to leave.
struct wait_node {
  wait_node* next = nullptr;
  wait_node* previous = nullptr;

  void leave_list() noexcept {
    next->previous = previous;
    previous->next = next;
  }
};

// Why somebody waits, and for which object, for people.
struct wait_reason {
  constexpr wait_reason(const char* why) noexcept : text(why) {}
  wait_reason(const char* why, const void* of) noexcept
      : text(why), object(reinterpret_cast<std::uintptr_t>(of)) {}
  constexpr wait_reason(const char* why, std::uintptr_t of) noexcept : text(why), object(of) {}

  // The same, of `object` if it names none.
  wait_reason or_of(const void* other) const noexcept {
    return object != 0 ? *this : wait_reason(text, other);
  }

  const char* text;  // a literal
  // Its address; 0: there is none, or are several. With is_descriptor, that of a file descriptor's number;
  // with has_owner, one where an owner_note lies first.
  std::uintptr_t object = 0;
};
inline constexpr std::uintptr_t is_descriptor = 1;  // what lies there is aligned to more
inline constexpr std::uintptr_t has_owner = 2;

// Who holds a lock, for reports of deadlocks. Written by who holds it.
struct owner_note {
  static constexpr std::uint32_t nobody = ~std::uint32_t{0};
  std::uint32_t id = 0;  // the fiber's; or 0, or nobody's
  void take() noexcept;  // the calling fiber has it, or thread
  // Returns whether the calling fiber holds it and no stop can end its waits. False outside of fibers, and if
  // the lock takes no notes.
  bool blocks_caller() const noexcept;
  // How many runtimes report deadlocks. A lock that is first taken when some do takes such notes from then
  // on; its quick ways fail then, and are the same for all others.
  static constinit inline std::atomic<unsigned> wanted{0};

private:
  bool is_held_by_caller() const noexcept;
};

// What a fiber's stack is known as: this very address. (An array: of a pointer to a literal, each file would
// have a literal of its own.)
inline constexpr char fiber_kind[] = "fiber";

// Why a fiber that joins is parked, and why one that gives way does not run.
inline constexpr const char* join_reason = "join";
inline constexpr const char* yield_reason = "yield";

// The runtime's end, to a fiber.
enum class telling : std::uint8_t {
  nothing,
  due,  // to be told to leave, at its next wait
  done  // it has been told: nothing more is to be told
};

enum class waiter_kind : std::uint8_t {
  fiber,
  claimed,         // a claimed_waiter (wait.hpp): one of several things that may end a wait
  pinned_fiber,    // of a parallel runtime: runs on one worker only
  scattered_fiber  // of one under test: goes to another worker whenever it becomes ready
};

inline constexpr bool says_parked(fiber_status s) noexcept {
  return s >= fiber_status::parked && s <= fiber_status::joining;
}

// A look at what its owner may be changing, each word in one piece.
template <class T>
SENNIT_UNSANITIZED T look(const T& at) noexcept {
  return *const_cast<const volatile T*>(&at);
}

inline bool owner_note::blocks_caller() const noexcept {
  return look(id) != 0 && is_held_by_caller();
}

// Bits of fiber_flags::unusual.
enum : std::uint8_t {
  is_unusual = 1,   // has a name, an error, no stack, or one of another size, or has left
  yields_away = 2,  // has a yield continuation (continuation.hpp), which its yields are to see
  is_of_scope = 4,  // has a scope_member among its fiber-local values
  has_error = 8,    // ended with one
};

// What a spawn resets, in one store.
struct fiber_flags {
  fiber_status status = fiber_status::unused;
  bool owned = false;           // a handle refers to it: kept after its end until that is gone
  bool stackless = false;       // has blocked with a continuation (continuation.hpp)
  bool unpark_pending = false;  // an unpark came before its park, or ended it
  bool stoppable = false;       // has guards or shields (stop.hpp)
  std::uint8_t unusual = 0;     // not 0: not to be reused as it is
  telling told = telling::nothing;
  waiter_kind kind = waiter_kind::fiber;
};
static_assert(sizeof(fiber_flags) == 8);

// Who waits, in a list.
struct waiter : wait_node {
  std::uintptr_t word = 0;  // what it offers while it waits, then what it is woken with
  fiber_flags flags;
};

// Who waits for one thing, in order; everybody waits in one list at most. Not to be moved.
struct waiter_list : wait_node {
  constexpr waiter_list() noexcept : wait_node{this, this} {}
  waiter_list(const waiter_list&) = delete;
  waiter_list& operator=(const waiter_list&) = delete;
  bool empty() const { return next == this; }
};

// Why a fiber is parked, on its stack: for people, and for the runtime's end.
struct wait_site {
  constexpr wait_site() noexcept = default;
  constexpr wait_site(const wait_reason& why, bool (*how)(wait_site& site, fiber& f) noexcept) noexcept
      : reason(why.text), object(why.object), withdraw(how) {}

  const char* reason = "";
  std::uintptr_t object = 0;  // as wait_reason's
  // Takes the fiber out of what it waits for. False: somebody else has, and makes it ready. Only while it
  // cannot go on: no other fiber of its runtime runs, or (scope_member.hpp) it would wait for a lock.
  bool (*withdraw)(wait_site& site, fiber& f) noexcept = nullptr;
};

struct continuation_far;

// When a fiber was parked, and, of a parallel runtime, who ran next then, in one word: which is odd, to be
// told from an address, then a time in units of 65,536 ns (told for 208 days), then, signed, how many
// descriptors lie between; 0: nobody ran next yet, or one too far away.
inline constexpr unsigned park_unit = 16;  // log2, ns
inline constexpr unsigned park_bits = 40;  // below the follower
inline constexpr std::uint64_t park_times = (std::uint64_t{1} << park_bits) - 1;
constexpr std::uint64_t parked_at(std::uint64_t monotonic) noexcept {
  return ((monotonic >> park_unit << 1) | 1) & park_times;
}
constexpr std::ptrdiff_t follower_in(std::uint64_t parked) noexcept {
  return parked % 2 != 0 ? static_cast<std::ptrdiff_t>(static_cast<std::int64_t>(parked) >> park_bits) : 0;
}
constexpr std::uint64_t with_follower(std::uint64_t parked, std::ptrdiff_t apart) noexcept {
  const std::uint64_t both = parked | static_cast<std::uint64_t>(apart) << park_bits;
  return follower_in(both) == apart ? both : parked;
}
// How long ago, in ns. -1: it was not, or the clock of who asks is behind.
constexpr std::int64_t parked_for(std::uint64_t parked, std::uint64_t monotonic) noexcept {
  const std::uint64_t units = ((parked_at(monotonic) - parked) & park_times) >> 1;
  return parked % 2 != 0 && units < park_times / 4 ? static_cast<std::int64_t>(units << park_unit) : -1;
}

// Two lines, next to each other: the processor fetches such pairs together. One that is stackless has its
// continuation where others have what belongs to a stack.
struct alignas(128) fiber : waiter {
  // First line: what a beginning, blocking, waking and a switch write. The word is what its resume hands
  // over.
  union {
    sennit_context context = nullptr;  // where it is suspended
    continuation_far* far;             // stackless: what has no room here, or null
  };
  union {
    fiber* next = nullptr;  // in the ring, or among the idle ones
    std::uint64_t since;    // while parked: parked_at() of when that began
  };
  union {
    fiber* joiner = nullptr;
    std::atomic<std::uintptr_t> ended;  // of a parallel runtime: see parallel.hpp
  };
  union {
    // Of a local runtime: who ran next in one of its last waits, as how many descriptors lie between; 0:
    // nobody yet, or one too far away. That one may be gone; what lies there is a descriptor still, or
    // zeroes, even where this has been read of a fiber of a parallel runtime, whose permit says
    // parked_for_grant at most.
    std::int32_t follower = 0;
    wait_claim permit;  // of a parallel runtime: this_fiber::park and unpark
  };
  std::uint32_t id = 0;  // 0: nobody has asked yet
  // Second line: what else is written when it blocks, and what is only read.
  union {
    const char* reason = "";  // what it waits for while parked
    wait_site* site;          // the same, of a parallel runtime, and of one that is stackless: its code
  };
  sennit_worker* home = nullptr;
  // The rest is its continuation, while it is stackless.
  coroutine_frame* frame = nullptr;  // its stack; null: none
  union {
    void* error =
        nullptr;  // a std::exception_ptr, by its only word: what its function ended with, if has_error
    std::uintptr_t object;  // of a local runtime, while parked: what it waits for, as wait_reason's
  };
  char name[32] = {};  // what people want to see

  constexpr fiber() noexcept {}
  void* room() noexcept { return reinterpret_cast<char*>(this) + sizeof(fiber) - continuation_room; }
  bool is_parked() const { return says_parked(flags.status); }
};
static_assert(sizeof(fiber) == 128);

// What it ended with, or null.
static_assert(sizeof(std::exception_ptr) == sizeof(void*), "it is kept where a pointer lies");
inline std::exception_ptr* fiber_error(fiber& f) noexcept {
  return (f.flags.unusual & has_error) != 0 ? std::launder(reinterpret_cast<std::exception_ptr*>(&f.error))
                                            : nullptr;
}
// The same, which the fiber does not have any more.
inline std::exception_ptr fiber_take_error(fiber& f) noexcept {
  std::exception_ptr* const error = fiber_error(f);
  if (error == nullptr)
    return nullptr;
  std::exception_ptr taken = std::move(*error);
  std::destroy_at(error);
  return taken;
}

// Nanoseconds of the monotonic clock. Always odd: to be told from an address.
std::uint64_t monotonic_now() noexcept;

// Its stack, or null: a host, or one that has none (yet: moves of its state run before it is attached).
inline coroutine_frame* fiber_frame(const fiber& f) noexcept {
  return f.flags.stackless ? nullptr : f.frame;
}

SENNIT_INLINE void list_push_back(waiter_list& list, waiter& w) {
  wait_node* last = list.previous;
  store_in_turn(w.previous, last);
  store_in_turn(w.next, &list);
  store_in_turn(list.previous, &w);
  store_in_turn(last->next, &w);
}

inline void list_push_front(waiter_list& list, waiter& w) {
  wait_node* first = list.next;
  store_in_turn(w.next, first);
  store_in_turn(w.previous, &list);
  store_in_turn(list.next, &w);
  store_in_turn(first->previous, &w);
}

SENNIT_INLINE waiter& list_pop_front(waiter_list& list) {
  wait_node* first = list.next;
  list.next = first->next;
  first->next->previous = &list;
  return static_cast<waiter&>(*first);
}

// Of a local runtime, where all that wait are fibers.
SENNIT_INLINE fiber& list_pop_fiber(waiter_list& list) {
  return static_cast<fiber&>(list_pop_front(list));
}

// What a parked fiber waits for is not to wake it any more: its deadline has passed, or its runtime ends.
inline void stop_waiting(fiber& f) {
  if (f.flags.status == fiber_status::waiting)
    f.leave_list();
  else if (f.flags.status == fiber_status::joining)
    reinterpret_cast<fiber*>(f.flags.stackless ? f.word : f.object)->joiner = nullptr;
}

struct join_access;  // whose a handle is (waits.hpp)

// Fibers that are neither parked nor queued, first in, first out, through `next`.
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
  // Null, when there is none.
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

// The process has had more than fiber_block::least at a time: more than the caches of a CPU hold.
extern std::atomic<bool> many_fibers;

// Throws std::system_error (EAGAIN) if the runtime's limit of fibers is reached, as far as that can be seen.
// Any thread; of a local runtime the worker's.
void fiber_must_be_below_limit(sennit_worker& home);

// A free descriptor for a worker, and back. Any thread. fiber_make throws std::bad_alloc, and as
// fiber_must_be_below_limit.
fiber* fiber_make(sennit_worker& home);
void fiber_free(fiber* f) noexcept;

// The fiber's number in the process, for people: given when it is first asked for. Any thread, while it
// cannot begin anew.
std::uint64_t fiber_id(fiber& f) noexcept;
// A number that no fiber has.
std::uint32_t fiber_fresh_id() noexcept;

// Calls visit(argument, fiber) for each fiber of a worker that is not finished, on the worker's thread.
void fiber_for_each(const sennit_worker& home, void (*visit)(void* argument, fiber& f), void* argument);

// How many those are.
std::size_t fiber_count(const sennit_worker& home) noexcept;

}  // namespace sennit::detail
