// Giving up a stack and getting one.
#include "sennit/detail/sched/continuation.hpp"

#include <algorithm>
#include <atomic>
#include <cassert>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <thread>

#include "sennit/detail/sched/first_round.hpp"
#include "sennit/detail/sched/hooks.hpp"
#include "sennit/detail/sched/spawn.hpp"

namespace sennit::inline v0_1::detail {

namespace {

// Sanitizers detect uses of a stack that was given back.
#if defined(SENNIT_SANITIZED)
constexpr bool keeps_blocks = false;
#else
constexpr bool keeps_blocks = true;
#endif

block_pool* pool_for(std::size_t size) noexcept {
  worker* const w = this_worker();
  return keeps_blocks && w != nullptr && size < block_pool::sizes ? &w->blocks : nullptr;
}

}  // namespace

bool keep_or_fail(continuation& next, fiber& self) noexcept {
  try {
    continuation_access::keep(next, self);
    return true;
  } catch (...) {
    fiber_fail(self);
  }
  next = {};
  return false;
}

continuation_overflow* continuation_overflow::make(std::size_t size) {
  const std::size_t bytes = sizeof(continuation_overflow) + size;
  const std::size_t wanted = std::min<std::size_t>(block_pool::size_for(bytes), block_pool::sizes);
  block_pool* const pool = pool_for(wanted);
  void* block = pool != nullptr ? pool->take(wanted) : nullptr;
  if (block == nullptr)
    block = ::operator new(keeps_blocks && wanted < block_pool::sizes ? block_pool::bytes_of(wanted) : bytes);
  auto* const made = ::new (block) continuation_overflow;
  made->block_size = wanted;
  return made;
}

void continuation_overflow::destroy(continuation_overflow* overflow) noexcept {
  block_pool* const pool = pool_for(overflow->block_size);
  if (pool == nullptr || !pool->keep(overflow, overflow->block_size))
    ::operator delete(overflow);
}

void continuation_access::keep_values(continuation& made, const fiber& f) {
  const coroutine_frame& frame = *f.frame;
  make_overflow(made);
  std::copy_n(f.name, sizeof f.name, made.overflow_->name);
  made.overflow_->locals = frame.own.locals;
  const stack_memory& memory = frame.record.memory;
  made.overflow_->stack = stack_is_adopted(memory)
                              ? stack_shape_of(std::min(memory.size, maximum_stack_size) | small_stack_mark,
                                               0, f.home->usual_stack)
                              : memory.shape;
}

void continuation_access::keep_overflow(continuation& made, const fiber& f) {
  keep_values(made, f);
  if ((f.flags.slow_path & is_of_scope) != 0)
    made.code_ = &scope_code(f, *made.code_);
}

void continuation_access::make_overflow(continuation& made) {
  if (made.overflow_ == nullptr)
    made.overflow_ = continuation_overflow::make(0);
}

void continuation_access::get(fiber& f, continuation& empty) noexcept {
  empty.overflow_ = f.overflow;
  empty.code_ = &continuation_of(f);
  if (!empty.code_->in_overflow)
    empty.code_->move(f.room(), empty.room_);
}

void thread_dispatch(worker& w, fiber& f, [[maybe_unused]] sennit_context self) noexcept {
  coroutine_frame& frame = *f.frame;
#if defined(SENNIT_SANITIZED)
  frame.context = self;  // in fiber_loop
#endif
  auto& next = payload_get<continuation>(frame);
  stack_detach(f, next);
  payload_destroy<continuation>(frame);
  count_stacks(-1);
  cache_stack(w, frame);
}

void is_of_other_kind(bool parallel, const char* reason) noexcept {
  std::fprintf(stderr,
               "sennit: %s: a fiber of a %s runtime cannot wait for this without a stack; take sennit::%s\n",
               reason, parallel ? "local" : "parallel", parallel ? "local" : "..., not sennit::local::...");
  std::abort();
}

fiber& stackless_make(worker& w, continuation&& begins) {
  assert(begins && "sennit: a fiber is to begin with an empty continuation");
  if (w.spare_frame_count == 0 && this_worker() == &w)  // the fiber will need one
    cache_stack(w, acquire_stack(w, w.usual_stack, 0));
  fiber& f = *fiber_make(w);
  continuation_access::put(begins, f);
  f.flags = {.status = fiber_status::parked, .owned = true, .stackless = gave_up_stack};
  f.id = 0;
  if (f.overflow != nullptr && f.overflow->locals != nullptr)
    scope_fiber_begins(f);
  return f;
}

void attach_values(fiber& f, coroutine_frame& frame, const continuation_overflow& overflow) noexcept {
  frame.own.locals = overflow.locals;
  std::copy_n(overflow.name, sizeof f.name, f.name);
}

void drop_continuation(fiber& f, coroutine_frame& frame) noexcept {
  if ((f.flags.slow_path & is_of_scope) != 0)
    scope_wait_ends(f);
  continuation dropped;
  const continuation_overflow* const overflow = f.overflow;
  continuation_access::get(f, dropped);
  stack_attach(f, frame, overflow);
}

sennit_decision entering_round([[maybe_unused]] worker& w, coroutine_frame& frame) noexcept {
  count_stacks(1);
  renew_identity(frame.identity, frame.record.memory.low, frame.record.memory.size);
#if defined(SENNIT_SANITIZED)
  w.attached = &frame;
#endif
  return {frame.context, direct_entry ? 0 : reinterpret_cast<std::uintptr_t>(&frame)};  // for fiber_loop
}

}  // namespace sennit::inline v0_1::detail
