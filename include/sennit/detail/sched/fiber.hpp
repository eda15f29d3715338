// The descriptor: what the scheduler knows of a fiber. It outlives the fiber's stack.
//
// Descriptors are type-stable: their memory is only ever reused for descriptors, so that a stale reference
// can look at the epoch, which grows whenever a fiber ends, and see that its fiber is gone.
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

// Why a parked fiber was resumed.
enum class wake : std::uint8_t {
  notified,   // what it waited for happened; the word handed over says more
  timed_out,  // its deadline passed first
  unwinding,  // its runtime ends: it leaves by forced unwind
};

enum class fiber_status : std::uint8_t {
  unused,
  ready,
  parked,
  finished
};  // a running fiber counts as ready

struct fiber;

// Fibers that wait for one thing, in order. The links are in the descriptors: a fiber waits in one list at
// most.
struct fiber_list {
  fiber* first = nullptr;
  fiber* last = nullptr;
};

inline constexpr std::size_t no_timer = static_cast<std::size_t>(-1);

// What a spawn resets, in one store.
struct fiber_flags {
  wake why = wake::notified;
  fiber_status status = fiber_status::unused;
  bool started = false;         // its function has begun
  bool owned = false;           // a handle refers to it: kept after its end until that is gone
  bool unwind = false;          // told to leave
  bool in_park = false;         // parked for whoever unparks it
  bool unpark_pending = false;  // an unpark came before its park, or ended it
  bool unusual = false;         // has a name, no stack, or one of another size: not to be reused as it is
};

struct alignas(64) fiber {
  // First line: what a switch, a spawn and a join touch.
  sennit_context context = nullptr;  // where it is suspended
  std::uintptr_t word = 0;           // what its resume hands over
  fiber* next = nullptr;             // in the ring, or a free list
  fiber* previous = nullptr;
  fiber_flags flags;
  coroutine_frame* frame = nullptr;  // its stack; null: none
  fiber* joiner = nullptr;
  sennit_worker* home = nullptr;
  // Second line: what waiting touches.
  fiber_list* waits_in = nullptr;  // null: in no list
  fiber* wait_next = nullptr;      // in that list
  fiber* wait_previous = nullptr;
  std::size_t timer = no_timer;  // its place among the worker's timers
  const char* reason = "";       // what it waits for while parked
  void* error = nullptr;         // std::exception_ptr*: what its function ended with
  std::uint64_t epoch = 0;       // how many fibers this descriptor has been
  std::uint64_t number = 0;      // of the descriptor
  // What people want to see.
  char name[32] = {};

  std::uint64_t id() const { return number + (epoch << 32); }
};

[[gnu::always_inline]] inline void list_push_back(fiber_list& list, fiber& f) {
  f.wait_next = nullptr;
  f.wait_previous = list.last;
  (list.last != nullptr ? list.last->wait_next : list.first) = &f;
  list.last = &f;
  f.waits_in = &list;
}

[[gnu::always_inline]] inline void list_remove(fiber_list& list, fiber& f) {
  (f.wait_previous != nullptr ? f.wait_previous->wait_next : list.first) = f.wait_next;
  (f.wait_next != nullptr ? f.wait_next->wait_previous : list.last) = f.wait_previous;
  f.waits_in = nullptr;
}

[[gnu::always_inline]] inline fiber* list_pop_front(fiber_list& list) {
  fiber* f = list.first;
  if (f != nullptr)
    list_remove(list, *f);
  return f;
}

// A free descriptor for a worker, and back. Any thread. fiber_make throws std::bad_alloc.
fiber* fiber_make(sennit_worker& home);
void fiber_free(fiber* f) noexcept;

// Calls visit(argument, fiber) for each fiber of a worker that is not finished, on the worker's thread.
void fiber_for_each(const sennit_worker& home, void (*visit)(void* argument, fiber& f), void* argument);

}  // namespace sennit::detail
