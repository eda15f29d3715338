// How a fiber begins and ends.
#pragma once

#include <cstdint>
#include <exception>
#include <string_view>
#include <type_traits>
#include <utility>

#include "sennit/detail/sched/worker.hpp"

namespace sennit::detail {

// A fiber's run loop: waits for a message (a function), runs it, finishes, and waits again.
void fiber_loop(sennit_context from, std::uintptr_t value, std::uintptr_t, std::uintptr_t,
                std::uintptr_t) noexcept;

// Keeps the exception being handled for the fiber's joiner, or ends the program when there can be none.
[[gnu::cold]] void fiber_fail(fiber& f) noexcept;
[[noreturn, gnu::cold]] void fiber_terminate(const fiber& f, std::exception_ptr error) noexcept;
[[noreturn, gnu::cold]] void fiber_rethrow(void* error);

// A finished fiber with a stack, for a new one. Throws as fiber_spawn.
[[gnu::cold]] fiber* fiber_take_slow(worker& w, std::size_t stack_size);

// Back, when nobody refers to it any more.
[[gnu::cold]] void fiber_give_slow(worker& w, fiber& f) noexcept;
[[gnu::always_inline]] inline void fiber_give(worker& w, fiber& f) noexcept {
  if (f.flags.unusual) [[unlikely]] {
    fiber_give_slow(w, f);
    return;
  }
  f.next = w.idle;
  w.idle = &f;
}

// A finished fiber that a handle still refers to gives its stack up, to the worker.
void fiber_detach_frame(worker& w, fiber& f) noexcept;
// A stack that no fiber uses goes back to the stack room.
void frame_drop(coroutine_frame& frame) noexcept;

// Ends the fiber's park, or its next one.
void fiber_unpark(fiber& f) noexcept;

// Runs the worker on the calling thread until the host has a reason to go on.
void host_run(worker& w) noexcept;
void worker_post(worker& w, posted* post) noexcept;
void worker_unwind(worker& w) noexcept;
// Keeps at most the first 31 bytes.
void fiber_set_name(fiber& f, std::string_view name) noexcept;

template <class Body>
void fiber_action(coroutine_frame& frame) noexcept {
  fiber& self = *reinterpret_cast<fiber*>(frame.mail[0]);
  self.flags.started = true;
  if (!self.flags.unwind) [[likely]] {
    try {
      payload_get<Body>(frame)();
    } catch (const forced_unwind&) {
    } catch (...) {
      fiber_fail(self);
    }
  }
  payload_destroy<Body>(frame);
}

// A new fiber, ready to run; `owned`: a handle will refer to it. stack_size 0: the worker's. Throws
// std::system_error or std::bad_alloc when memory or mappings ran out, or what copying the function throws.
template <class Function>
[[gnu::always_inline]] inline fiber& fiber_spawn(worker& w, Function&& function, std::size_t stack_size,
                                                 bool owned) {
  using body = std::decay_t<Function>;
  fiber* f = w.idle;
  if (f == nullptr || stack_size != 0) [[unlikely]]
    f = fiber_take_slow(w, stack_size);
  else
    w.idle = f->next;
  coroutine_frame& frame = *f->frame;
  if constexpr (noexcept(body(std::forward<Function>(function))) && fits_payload<body>) {
    payload_store<body>(frame, std::forward<Function>(function));
  } else {
    try {
      payload_store<body>(frame, std::forward<Function>(function));
    } catch (...) {
      fiber_give(w, *f);
      throw;
    }
  }
  frame.action = fiber_action<body>;
  f->flags = {.status = fiber_status::ready, .owned = owned};
  if (stack_size != 0) [[unlikely]]
    f->flags.unusual = frame.record.memory.size != w.stack_size;
  f->word = reinterpret_cast<std::uintptr_t>(&frame);
  f->joiner = nullptr;
  renew_identity(frame.identity, frame.record.memory.low, frame.record.memory.size);
  ++w.live_count;
  w.ready.add(f);
  return *f;
}

}  // namespace sennit::detail
