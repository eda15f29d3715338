// Giving up a stack and getting one.
#include "sennit/detail/sched/continuation.hpp"

#include <algorithm>
#include <atomic>
#include <cassert>
#include <cstdio>
#include <cstdlib>
#include <exception>

#include "sennit/detail/sched/parallel.hpp"

namespace sennit::detail {

void continuation_access::keep(continuation& made, const fiber& f) {
  const coroutine_frame& frame = *f.frame;
  const std::size_t size = frame.record.memory.size;
  const bool usual_size = size == f.home->stack_size;
  if (f.name[0] == 0 && frame.own.locals == nullptr && usual_size) [[likely]]
    return;
  if (made.far_ == nullptr) {
    continuation_far* const far = continuation_far::make(continuation_room);
    made.code_->move(made.room_, far->room());
    made.far_ = far;
  }
  std::copy_n(f.name, sizeof f.name, made.far_->name);
  made.far_->locals = frame.own.locals;
  made.far_->stack_size = usual_size ? 0 : size;
}

continuation continuation_access::run(continuation& made, std::uintptr_t word, fiber_status why) {
  struct ending {
    continuation& gone;
    ~ending() { gone.drop(); }
  } const its_room_goes{made};
  return std::exchange(made.code_, nullptr)->run(made.at(), word, why);
}

namespace {

// A dump may stop this thread between any two instructions, and follows what a descriptor that says that it
// is stackless, or names a frame, points to: those two come after that, and go before it.
void say_stackless(fiber& f, bool is) noexcept {
  std::atomic_signal_fence(std::memory_order_seq_cst);
  f.flags.stackless = is;
  std::atomic_signal_fence(std::memory_order_seq_cst);
}

}  // namespace

void continuation_access::put(continuation& made, fiber& f) noexcept {
  f.frame = nullptr;
  std::atomic_signal_fence(std::memory_order_seq_cst);
  f.far = std::exchange(made.far_, nullptr);
  f.site = made.code_;
  say_stackless(f, true);
  if (f.far == nullptr)
    made.code_->move(made.room_, f.room());
  made.code_ = nullptr;
}

void continuation_access::get(fiber& f, continuation& empty) noexcept {
  empty.far_ = f.far;
  empty.code_ = &continuation_of(f);
  if (f.far == nullptr)
    empty.code_->move(f.room(), empty.room_);
}

void stack_detach(worker& w, fiber& f, [[maybe_unused]] sennit_context self) noexcept {
  coroutine_frame& frame = *f.frame;
#if defined(SENNIT_SANITIZED)
  frame.context = self;  // in fiber_loop
#endif
  auto& next = payload_get<continuation>(frame);
  continuation_access::put(next, f);
  payload_destroy<continuation>(frame);
  frame.own.locals = nullptr;
  frame_keep(w, frame);
}

void must_be_of_kind(const fiber& f, bool parallel, const char* reason) noexcept {
  if ((f.home->shared != nullptr) == parallel) [[likely]]
    return;
  std::fprintf(stderr,
               "sennit: %s: a fiber of a %s runtime cannot wait for this without a stack; take sennit::%s\n",
               reason, parallel ? "local" : "parallel", parallel ? "local" : "..., not sennit::local::...");
  std::abort();
}

fiber& stackless_make(worker& w, continuation&& begins) {
  assert(begins && "sennit: a fiber is to begin with an empty continuation");
  fiber& f = *fiber_make(w);
  continuation_access::put(begins, f);
  f.flags = {.status = fiber_status::parked, .owned = true, .stackless = true};
  f.id = 0;
  return f;
}

namespace {

[[noreturn, gnu::cold]] void no_stack(const char* why) noexcept {
  std::fprintf(
      stderr,
      "sennit: there is no memory for the stack of a fiber that blocked without one and is to go on: "
      "%s\n",
      why);
  std::abort();
}

coroutine_frame& take_frame(worker& w, std::size_t stack_size) noexcept {
  try {
    return frame_take(w, stack_size);
  } catch (const std::exception& error) {
    no_stack(error.what());
  }
}

}  // namespace

void stack_attach(worker& w, fiber& f) noexcept {
  continuation_far* const far = f.far;
  const std::size_t size = far != nullptr && far->stack_size != 0 ? far->stack_size : w.stack_size;
  coroutine_frame& frame = take_frame(w, size);
  auto& next = *::new (static_cast<void*>(frame.payload)) resumed{{}, f.word, f.flags.status};
  continuation_access::get(f, next.what);
  frame.own.locals = far != nullptr ? far->locals : nullptr;
  frame.round = w.shared == nullptr ? fiber_round<resumed> : parallel_round<resumed>;
  frame.record.name = f.name;
  if (far != nullptr)
    std::copy_n(far->name, sizeof f.name, f.name);
  else
    f.name[0] = 0;
  f.frame = nullptr;
  f.error = nullptr;
  say_stackless(f, false);
  f.context = frame.context;
  std::atomic_signal_fence(std::memory_order_seq_cst);
  f.frame = &frame;
  f.flags.unusual = true;                                                // its stack is not to stay with it
  f.word = direct_entry ? 0 : reinterpret_cast<std::uintptr_t>(&frame);  // for fiber_loop
  renew_identity(frame.identity, frame.record.memory.low, frame.record.memory.size);
}

}  // namespace sennit::detail
