// Coroutines that are reused as a whole: their construction, their run loop, and the lists of idle ones.
#include "sennit/detail/coro/coroutine_frame.hpp"

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <mutex>

#include "sennit/detail/arch/never_destroyed.hpp"
#include "sennit/detail/arch/thread_end.hpp"
#include "sennit/detail/fault/handler.hpp"

namespace sennit::inline v0_1::detail {

namespace {

// Tops at one offset of their pages would share a few cache sets. The colours spread them within half a page.
// So what a fiber uses while it waits, and a little more, is in one page: one entry of the TLB.
constexpr std::size_t colour_step = 128;

// Idle coroutines that no thread keeps: those of ended threads, those beyond pool_limit, and all without the
// default stack size.
struct idle_list {
  std::mutex lock;
  coroutine_frame* first = nullptr;
};
constinit never_destroyed<idle_list> process_idle;

#if defined(SENNIT_SANITIZED) || defined(SENNIT_BACKEND_PORTABLE)

// What sennit_serve does.
SENNIT_UNSANITIZED void run_loop(sennit_context from, std::uintptr_t value, std::uintptr_t, std::uintptr_t,
                                 std::uintptr_t) noexcept {
  auto& frame = *reinterpret_cast<coroutine_frame*>(value);
  entered_new_stack(from);
  for (;;) {
#if defined(SENNIT_SANITIZED)
    frame.resumer = from;
    frame.action(frame);
    frame.state = coroutine_state::idle;
    frame.active_identity = &frame.identity;  // another coroutine may have yielded for us last
    from = swap(frame.resumer, 0, frame.resumer_identity, false).from;
#else
    frame.action(frame);
    sennit_swapstack_filed(frame.resumer, 0, &frame.context);
#endif
  }
}

coroutine_frame& make_pooled(const stack_source& stack) {
  return coroutine_make(stack, run_loop);
}

#else

coroutine_frame& make_pooled(const stack_source& stack) {
  coroutine_frame& frame = coroutine_make(stack, nullptr);
  frame.context = sennit_newserver(reinterpret_cast<sennit_server*>(&frame));
  return frame;
}

#endif

void give_to_process(coroutine_frame& frame) noexcept {
  stack_trim_below(frame.record.memory, reinterpret_cast<const char*>(frame.context) - SENNIT_BELOW_RECORD);
  idle_list& idle = process_idle.value;
  std::lock_guard hold(idle.lock);
  frame.next = idle.first;
  idle.first = &frame;
}

// Makes room by giving idle coroutines to the process.
void pool_shrink(sennit_pool& pool, std::uint32_t room) noexcept {
  while (pool.first->next != nullptr && pool.first->room < room) {
    coroutine_frame& frame = *coroutine_of(pool.first);
    pool.first = pool.first->next;
    give_to_process(frame);
  }
}

// The last entry of the calling thread's pool, once that is open.
constinit thread_local sennit_idle last_idle = {nullptr, pool_limit};

// When a thread ends, its pool gives everything to the process, and stays closed.
constinit thread_end pool_end([](void* last) {
  pool_shrink(sennit_thread_self()->pool, pool_limit);
  static_cast<sennit_idle*>(last)->room = 0;
});

// Without memory the pool stays closed for now. Idle coroutines then go to the process.
void open_pool() noexcept {
  static constinit thread_local bool opened = false;
  if (opened || pool_end.arm(&last_idle) != 0)
    return;
  opened = true;
  sennit_thread_self()->pool.first = &last_idle;
}

coroutine_frame* take_from_process(stack_shape shape) noexcept {
  idle_list& idle = process_idle.value;
  std::lock_guard hold(idle.lock);
  for (coroutine_frame** link = &idle.first; *link != nullptr; link = &(*link)->next) {
    coroutine_frame* frame = *link;
    if (frame->record.memory.shape != shape)
      continue;
    *link = frame->next;
    return frame;
  }
  return nullptr;
}

}  // namespace

coroutine_frame& coroutine_make(const stack_source& stack, sennit_entry loop) {
  fault_must_watch_thread();
  const stack_memory memory = stack_get(stack);
  // Small stacks already lie at several offsets of their pages. An adopted stack lies where its owner wants
  // it.
  const bool coloured = !stack.is_provided() && memory.size >= minimum_stack_size;
  const std::size_t colour = coloured ? memory.index % stack_colours * colour_step : 0;
  char* top = memory.high() - sizeof(coroutine_frame) - colour;
  top -= reinterpret_cast<std::uintptr_t>(top) % 64;
  auto* frame = ::new (top) coroutine_frame{};
  frame->record.memory = memory;
  frame->state = coroutine_state::idle;
  frame->takes = memory.shape == default_stack_shape ? 1 : pool_limit + 1;
  frame->root = frame;
  frame->active_identity = &frame->identity;
  try {
    begin_identity(frame->identity, memory.size);
  } catch (...) {
    stack_give(memory);
    throw;
  }
  frame->context = loop != nullptr ? sennit_newlinked(&frame->resumer, loop) : sennit_newrounds(frame);
  stack_name(memory, &frame->record);
  return *frame;
}

coroutine_frame& coroutine_take_slow(std::size_t size, std::byte* memory, std::size_t guard) {
  open_pool();
  const stack_source source({size, memory, guard}, default_stack_shape);
  if (source.is_provided())
    return make_pooled(source);
  fault_must_watch_thread();
  coroutine_frame* frame = take_from_process(source.shape);
  return frame != nullptr ? *frame : make_pooled(source);
}

void coroutine_give_slow(coroutine_frame& frame) noexcept {
  const stack_memory& memory = frame.record.memory;
  stack_must_be_whole(memory, &frame.record);
  if (stack_is_adopted(memory)) {
    drop_identity(frame.identity);
    return stack_give(stack_memory(memory));
  }
  const bool usual = frame.takes == 1;
  give_to_process(frame);
  if (usual)
    pool_shrink(sennit_thread_self()->pool, pool_limit / 2);
}

void throw_forced_unwind() {
  throw forced_unwind{};
}

void coroutine_fail(coroutine_frame& frame, std::exception_ptr error) noexcept {
  if (frame.root->state == coroutine_state::unwinding)  // it must unwind: no waiter needs its result
    return;
  if (error == nullptr) {
    std::fputs(
        "sennit: the body of a coroutine or generator was left by pthread_exit() or by the cancellation of "
        "its "
        "thread, which cannot continue in the resumer. Return from the body, or throw an exception\n",
        stderr);
    std::abort();
  }
  ::new (&frame.error) std::exception_ptr(std::move(error));
}

void coroutine_rethrow(coroutine_frame& frame) {
  auto& kept = *std::launder(reinterpret_cast<std::exception_ptr*>(&frame.error));
  std::exception_ptr error = std::move(kept);
  std::destroy_at(&kept);
  frame.error = nullptr;
  std::rethrow_exception(std::move(error));
}

void coroutine_unwind(coroutine_frame& frame) noexcept {
  assert(frame.context != nullptr && "sennit: a coroutine that is running was destroyed");
  frame.state = coroutine_state::unwinding;
  // A body that never began learns its frame from the value. Others ignore it.
  coroutine_resume(frame, reinterpret_cast<std::uintptr_t>(&frame), resume_as::changed);
  if (frame.state != coroutine_state::idle) {
    std::fputs(
        "sennit: a coroutine that was destroyed early caught its unwinding with catch (...) and went on; "
        "a handler that catches everything must rethrow\n",
        stderr);
    std::abort();
  }
}

}  // namespace sennit::inline v0_1::detail
