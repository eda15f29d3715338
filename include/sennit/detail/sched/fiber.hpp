// The descriptor: what the scheduler knows of a fiber. It outlives the fiber's stack.
//
// Descriptors are type-stable: their memory is only ever reused for descriptors.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

#include "sennit/detail/arch/context.h"
#include "sennit/detail/coro/coroutine_frame.hpp"

struct sennit_worker;

namespace sennit::detail {

using clock = std::chrono::steady_clock;
using time_point = clock::time_point;
inline constexpr time_point never = time_point::max();

enum class fiber_status : std::uint8_t {
  unused,
  parked,
  waiting,  // parked in a list
  joining,  // parked until another fiber ends, or a deadline passes
  // Ready or running; its last park ended because
  notified,   // what it waited for happened (or there was none yet); the word handed over says more
  timed_out,  // its deadline passed first
  unwinding,  // its runtime ends: it leaves by forced unwind
  finished
};

struct fiber;

// A place in a ring of waiters: a fiber's, or the list's own, which stands between last and first. A list is
// empty when its own place is alone. No test, for null or for the ends, is needed to enter or to leave.
struct wait_node {
  wait_node* next;
  wait_node* previous;
};

// Fibers that wait for one thing, in order. A fiber waits in one list at most. Not to be moved.
struct fiber_list : wait_node {
  constexpr fiber_list() noexcept : wait_node{this, this} {}
  fiber_list(const fiber_list&) = delete;
  fiber_list& operator=(const fiber_list&) = delete;
  bool empty() const { return next == this; }
};

// Why a fiber that joins is parked. Without a deadline nothing else tells that it does.
inline constexpr const char* join_reason = "join";

inline constexpr std::uint32_t no_timer = static_cast<std::uint32_t>(-1);

// What a spawn resets, in one store.
struct fiber_flags {
  fiber_status status = fiber_status::unused;
  bool owned = false;           // a handle refers to it: kept after its end until that is gone
  bool unwind = false;          // to be told to leave
  bool in_park = false;         // parked for whoever unparks it
  bool unpark_pending = false;  // an unpark came before its park, or ended it
  bool unusual = false;  // has a name, an error, no stack, or one of another size: not to be reused as it is
  bool told = false;     // the runtime ends: nothing more is to be told
  std::uint8_t none = 0;
};
static_assert(sizeof(fiber_flags) == 8);

// Two lines, next to each other: the processor fetches such pairs together.
struct alignas(128) fiber {
  // First line: what blocking, waking and a switch touch.
  sennit_context context = nullptr;  // where it is suspended
  std::uintptr_t word = 0;           // what its resume hands over
  union {
    wait_node waits{nullptr, nullptr};  // its place, while it is waiting
    fiber* joins;                       // whose end, while it is joining
  };
  fiber* next = nullptr;  // in the ring, or among the idle ones
  sennit_worker* home = nullptr;
  fiber_flags flags;
  std::uint32_t timer = no_timer;  // its place among the worker's timers
  std::uint32_t id = 0;            // 0: nobody has asked yet
  // Second line: what its beginning and its end touch.
  const char* reason = "";           // what it waits for while parked
  coroutine_frame* frame = nullptr;  // its stack; null: none
  fiber* joiner = nullptr;
  void* error = nullptr;  // std::exception_ptr*: what its function ended with
  // What people want to see.
  char name[32] = {};

  bool is_parked() const {
    return flags.status >= fiber_status::parked && flags.status <= fiber_status::joining;
  }
};
static_assert(offsetof(fiber, reason) == 64 && sizeof(fiber) == 128);

[[gnu::always_inline]] inline void list_push_back(fiber_list& list, fiber& f) {
  wait_node* last = list.previous;
  f.waits.previous = last;
  last->next = list.previous = &f.waits;
  f.waits.next = &list;  // not beside its neighbour, or gcc goes through a vector register for the two
}

// What a parked fiber waits for is not to wake it any more: its deadline has passed, or its runtime ends.
inline void stop_waiting(fiber& f) {
  if (f.flags.status == fiber_status::waiting) {
    f.waits.next->previous = f.waits.previous;
    f.waits.previous->next = f.waits.next;
  } else if (f.flags.status == fiber_status::joining) {
    f.joins->joiner = nullptr;
  }
}

[[gnu::always_inline]] inline fiber& list_pop_front(fiber_list& list) {
  wait_node* first = list.next;
  list.next = first->next;
  first->next->previous = &list;
  return *reinterpret_cast<fiber*>(reinterpret_cast<char*>(first) - offsetof(fiber, waits));
}

// A free descriptor for a worker, and back. Any thread. fiber_make throws std::bad_alloc.
fiber* fiber_make(sennit_worker& home);
void fiber_free(fiber* f) noexcept;

// The fiber's number in the process, for people: given when it is first asked for. The fiber's worker's
// thread.
std::uint64_t fiber_id(fiber& f) noexcept;

// Calls visit(argument, fiber) for each fiber of a worker that is not finished, on the worker's thread.
void fiber_for_each(const sennit_worker& home, void (*visit)(void* argument, fiber& f), void* argument);

// How many those are.
std::size_t fiber_count(const sennit_worker& home) noexcept;

}  // namespace sennit::detail
