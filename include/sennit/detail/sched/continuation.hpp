// Fibers that block without a stack, as the run loop sees them.
//
// A fiber's function that returns a continuation blocks: its frames have returned, and its stack belongs to
// the worker again. The descriptor keeps the rest: the code, which defines the wait and the next function,
// and up to 48 bytes of its data. Before such a fiber is entered, it gets a stack. Most often this is the
// stack that its predecessor has just given up.
//
//   round (on its stack) -> thread_block: stack_detach, file -> ... woken, queued like any other fiber ...
//     -> the next fiber has no stack, either: call_continuation, stack_attach, right here (handoff)
//     or entering: stack_for -> round, of a `resumed`: call_continuation
//
// A separate block, continuation_overflow, holds larger data. It also holds the fiber's name, fiber-local
// values and stack size, if there are any. Workers keep some of these blocks for reuse.
//
// Source: Draves et al. 1991, sections 2.1, 2.3 and 2.6. Functions that begin with stack_ or thread_, and
// call_continuation, are those of its Figures 3 and 4. The threads of that paper are our fibers.
// docs/explanation/continuations.md lists the differences.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <new>
#include <utility>

#include "sennit/detail/arch/inline.hpp"
#include "sennit/detail/sched/counters.hpp"
#include "sennit/detail/sched/fiber.hpp"
#include "sennit/detail/sched/hooks.hpp"
#include "sennit/fiber_local.hpp"

namespace sennit::inline v0_1 {

class continuation;

namespace detail {

// One object for each combination of wait, function and state. Its address identifies the combination. It is
// not const, so that no linker folds it with an equal one.
struct continuation_code : wait_site {
  // Runs on the stack that the fiber gets. Takes the data out of its place, attaches the stack, destroys the
  // continuation_overflow if there is one, and continues with the function. If the wait, the function and the
  // state are trivially destructible, nothing on the stack needs destruction then: leave_frames may leave the
  // frames permanently.
  continuation (*run)(fiber& f, coroutine_frame& frame);
  // The fiber has no stack any more. Puts it where its waker finds it, and must not touch it after that. If
  // `from` is not null and the data belongs into the descriptor, moves it from there first; otherwise the
  // data is already in its place. Returns null if the fiber need not wait. Otherwise returns `f` or, in a
  // local runtime, a parked fiber of the same worker, which the caller makes ready and lets run next.
  fiber* (*file)(void* from, fiber& f) noexcept;
  // Called by the waker, on the waker's stack: performs the fiber's next step. Returns false if the fiber
  // waits for more: it has been filed again, and may be gone. Null if another fiber cannot perform any step.
  bool (*woken)(void* at, fiber& f) noexcept;
  void (*move)(void* from, void* to) noexcept;  // leaves nothing at `from`
  void (*drop)(void* at) noexcept;
  std::uintptr_t (*entry)(const void* at) noexcept;  // for diagnostics: the function with which it resumes
  continuation (*shown)(fiber& f, coroutine_frame& frame);  // for diagnostics: its symbol contains the type
  // The offset, within the continuation's place, of the address of the awaited object; is_descriptor as in
  // wait_reason. The site's `object` is for fibers that have a stack.
  std::size_t object_at = no_object;
  bool in_overflow = false;       // the data does not fit a descriptor
  bool in_list = false;           // the fiber itself waits in a list, under its object's lock
  const void* resumes = nullptr;  // identifies the types of the function and the state
  std::size_t function_at = 0;    // their offsets within the place
  std::size_t state_at = 0;
  static constexpr std::size_t no_object = ~std::size_t{0};
};

struct alignas(16) continuation_overflow {
  char name[32] = {};
  local_value* locals = nullptr;
  stack_shape stack;           // empty: its worker's
  std::size_t block_size = 0;  // a size of block_pool.hpp

  // Makes one with `size` bytes behind it, from the calling worker's pool if possible. Throws std::bad_alloc.
  static continuation_overflow* make(std::size_t size);
  static void destroy(continuation_overflow* overflow) noexcept;
  void* room() noexcept { return this + 1; }
};
static_assert(sizeof(continuation_overflow) % 16 == 0);

struct continuation_access;
class scope_member;

}  // namespace detail

// The result of a fiber's function: blocks without a stack (become.hpp), or, if default-constructed, ends the
// fiber.
class [[nodiscard]] continuation {
public:
  constexpr continuation() noexcept {}
  continuation(continuation&& other) noexcept { take(other); }
  continuation& operator=(continuation&& other) noexcept {
    if (this != &other) {
      drop();
      take(other);
    }
    return *this;
  }
  ~continuation() { drop(); }

  // Returns false if the fiber ends.
  explicit operator bool() const noexcept { return code_ != nullptr; }

private:
  friend struct detail::continuation_access;

  void* at() noexcept { return code_->in_overflow ? overflow_->room() : room_; }
  void take(continuation& other) noexcept {
    code_ = std::exchange(other.code_, nullptr);
    overflow_ = std::exchange(other.overflow_, nullptr);
    if (code_ != nullptr && !code_->in_overflow)
      code_->move(other.room_, room_);
  }
  void drop() noexcept {
    if (code_ != nullptr)
      code_->drop(at());
    if (overflow_ != nullptr)
      detail::continuation_overflow::destroy(overflow_);
    code_ = nullptr;
    overflow_ = nullptr;
  }

  detail::continuation_code* code_ = nullptr;
  detail::continuation_overflow* overflow_ = nullptr;
  alignas(16) std::byte room_[detail::continuation_room];
};

namespace detail {

// A dump may stop this thread between any two instructions. It follows pointers in a descriptor that is
// marked stackless or names a frame. So these marks are set after the pointers, and cleared before them.
inline void set_stackless(fiber& f, stack_state is) noexcept {
  std::atomic_signal_fence(std::memory_order_seq_cst);
  f.flags.stackless = is;
  std::atomic_signal_fence(std::memory_order_seq_cst);
}

struct continuation_access {
  // Begins a continuation. The caller constructs its data in the place that this returns. Throws
  // std::bad_alloc.
  template <std::size_t size>
  static void* begin(continuation& made) {
    if constexpr (size > continuation_room)
      return (made.overflow_ = continuation_overflow::make(size))->room();
    else
      return made.room_;
  }
  // Likewise, in a block that the caller owns and that is large enough.
  static void* begin_in(continuation& made, continuation_overflow* memory) noexcept {
    return (made.overflow_ = memory)->room();
  }
  static void finish(continuation& made, continuation_code& code) noexcept { made.code_ = &code; }

  // Keeps the fiber's values (name, locals, stack size), if it has any. Throws std::bad_alloc.
  static void keep(continuation& made, const fiber& f);
  SENNIT_INLINE static bool has_values(const fiber& f, const coroutine_frame& frame) noexcept;
  SENNIT_INLINE static bool has_name_or_locals(const fiber& f, const coroutine_frame& frame) noexcept {
    return __builtin_expect(f.name[0] != 0, 0) || __builtin_expect(frame.own.locals != nullptr, 0);
  }
  static void keep_overflow(continuation& made, const fiber& f);
  // Like keep_overflow, but without the scope: for a continuation that the fiber might not use.
  static void keep_values(continuation& made, const fiber& f);
  // For a fiber of a scope that begins with this continuation. Throws std::bad_alloc.
  static void bind(continuation& made, scope_member& to);
  // Moves a continuation into a descriptor, except the code's data. If that belongs into the descriptor, it
  // still has to be moved, from the place that this returns. `made` must then be forgotten or overwritten.
  SENNIT_INLINE static void* give(continuation& made, fiber& f) noexcept;
  static void forget(continuation& given) noexcept {
    given.code_ = nullptr;
    given.overflow_ = nullptr;
  }
  // Move a whole continuation into a descriptor, and out of it.
  static void put(continuation& made, fiber& f) noexcept;
  static void get(fiber& f, continuation& empty) noexcept;

private:
  static void make_overflow(continuation& made);
};

inline void* continuation_access::give(continuation& made, fiber& f) noexcept {
  f.frame = nullptr;
  std::atomic_signal_fence(std::memory_order_seq_cst);
  f.overflow = made.overflow_;
  f.site = made.code_;
  set_stackless(f, gave_up_stack);
  return made.room_;
}

inline continuation_code& continuation_of(fiber& f) noexcept {
  return static_cast<continuation_code&>(*f.site);
}
// The place of the code's data.
inline void* continuation_place(fiber& f) noexcept {
  return continuation_of(f).in_overflow ? f.overflow->room() : f.room();
}
inline void continuation_access::put(continuation& made, fiber& f) noexcept {
  void* const from = give(made, f);
  if (!continuation_of(f).in_overflow)
    continuation_of(f).move(from, f.room());
  forget(made);
}

// Puts a fiber that has just lost its stack where its waker finds it. `parked`: its worker's parks_at.
// `from`: the result of stack_leave(), or null. Returns what continuation_code::file() returns.
SENNIT_INLINE fiber* file_stackless(fiber& f, std::uint64_t parked, void* from) noexcept {
  const wait_site* const code = counting ? f.site : nullptr;  // f may be gone once it is filed
  f.since = parked;
  fiber* const next = continuation_of(f).file(from, f);
  if (counting && next != nullptr)
    count_block(code->reason, code);
  return next;
}
// Files a fiber that has not had a stack yet. Returns false if the fiber need not wait.
bool file_new_stackless(fiber& f, std::uint64_t parked) noexcept;

// Continuation recognition: the waker looks at the fiber's next step, and performs it in the fiber's place.
// Returns false if the fiber waits again, and must not be made ready. Call this with no lock held. The caller
// must be the only one that may make the fiber ready.
inline bool recognize(fiber& f) noexcept {
  if (!f.flags.stackless)
    return true;
  const auto woken = continuation_of(f).woken;
  return woken == nullptr || woken(continuation_place(f), f);
}

// The body of a fiber that gets a stack again (call_continuation), in place of a function.
struct resumed {
  continuation operator()();  // never called: declares the result type
};

// Called when the frames of a fiber's function have returned: takes its stack from it, and gives it its
// continuation, as continuation_access::give does. The code's data is moved later, by file(): that saves a
// call.
inline void* stack_leave(fiber& f, coroutine_frame& frame, continuation& next) noexcept {
  frame.own.locals = nullptr;
  frame.record.name = nullptr;
  return continuation_access::give(next, f);
}
// Like stack_leave, and moves the data, too. The fiber is not filed yet.
inline void stack_detach(fiber& f, continuation& next) noexcept {
  void* const from = stack_leave(f, *f.frame, next);
  if (!continuation_of(f).in_overflow)
    continuation_of(f).move(from, f.room());
  continuation_access::forget(next);
}
// Disposes of the running fiber, which has left its stack for good at `self`. Its continuation, the payload,
// moves to its descriptor, and the worker gets the stack. The fiber is not filed yet.
void thread_dispatch(sennit_worker& w, fiber& f, sennit_context self) noexcept;
// Called before a stack is attached. Restores the fiber's values.
[[gnu::cold]] void attach_values(fiber& f, coroutine_frame& frame,
                                 const continuation_overflow& overflow) noexcept;
// Gives a stack to a running fiber whose continuation has been taken out of its place. `overflow`: the
// fiber's, or null.
SENNIT_INLINE void stack_attach(fiber& f, coroutine_frame& frame,
                                const continuation_overflow* overflow) noexcept {
  f.frame = nullptr;
  f.name[0] = 0;
  frame.own.locals = nullptr;
  if (overflow != nullptr) [[unlikely]]
    attach_values(f, frame, *overflow);
  set_stackless(f, has_stack);
  f.context = frame.context;
  frame.record.name = f.name;
  std::atomic_signal_fence(std::memory_order_seq_cst);
  f.frame = &frame;
  f.flags.slow_path |= needs_slow_path;  // it does not keep this stack
  f.word = 0;
  if (overflow != nullptr) [[unlikely]]
    attach_scope(f);
}

// How a fiber continues after a yield. It is a fiber-local value: it stays with the fiber while that has no
// stack, and its `destroy` knows the type.
struct yield_continuation : local_value {
  explicit yield_continuation(void (*destroyed_by)(local_value& self) noexcept) noexcept
      : local_value{local_key::yield_continuation, destroyed_by} {}
  virtual continuation make() const = 0;  // throws std::bad_alloc
  continuation left_by;                   // set by a yield while it leaves the frames

protected:
  ~yield_continuation() = default;
};
// Copies what the running fiber has set. Throws std::bad_alloc, and what copying throws.
continuation continuation_of_yield(const fiber& self);
// Sets it for the running fiber, which takes ownership of `made`.
void set_yield_continuation(yield_continuation* made) noexcept;
void clear_yield_continuation(const char* what) noexcept;

// The running fiber continues with `next`. Its frames are given up: only guards and shields in them are
// destroyed. If it throws std::bad_alloc, nothing has changed, but that faults keep the stack. become.hpp
// says when it may be called.
[[noreturn, gnu::cold]] void leave_frames(continuation&& next);
// The running fiber's frame, if no function object lies there. Then the payload may be a continuation, which
// is destroyed if it throws.
coroutine_frame* frame_without_body() noexcept;
[[noreturn]] void leave_frames_by_payload(coroutine_frame& frame);
// As leave_frames(make()). The continuation is made where it is needed, unless the fiber's function object is
// still there.
template <class Make>
[[noreturn]] void leave_frames_by(Make make) {
  if (coroutine_frame* const frame = frame_without_body()) [[likely]] {
    ::new (static_cast<void*>(frame->payload)) continuation(make());
    leave_frames_by_payload(*frame);
  }
  leave_frames(make());
}
// If the fiber may not leave its frames, ends the program with the reason. Builds with assertions and without
// a sanitizer also check the frames. `frame`: the __builtin_dwarf_cfa() of a function. Its callers' frames
// are checked, except the first `trusted` ones. `what`: the function that the user called.
[[gnu::cold]] void may_leave_frames(const char* what, const void* frame, unsigned trusted = 0) noexcept;

// Calls the continuation of a fiber on the stack that the fiber gets by that. At the runtime's end, destroys
// the continuation instead.
[[gnu::cold]] void drop_continuation(fiber& f, coroutine_frame& frame) noexcept;
SENNIT_INLINE continuation call_continuation_of_stackless(fiber& f, coroutine_frame& frame) {
  if (f.flags.status == fiber_status::unwinding) [[unlikely]] {
    drop_continuation(f, frame);
    return {};
  }
  count_call();
  return continuation_of(f).run(f, frame);
}
inline continuation call_continuation(fiber& f, coroutine_frame& frame) {
  if (!f.flags.stackless) [[unlikely]]
    return {};  // it was called before, and is discarded
  return call_continuation_of_stackless(f, frame);
}

// Returns where to enter the current fiber, which has no stack: at the beginning of one of the worker's
// stacks. Without memory for one, enters another fiber (refused_fibers.hpp).
[[gnu::cold]] sennit_decision stack_for(sennit_worker& w, fiber& f) noexcept;
// Its last part: how to enter such a stack, for the round that was stored there.
sennit_decision entering_round(sennit_worker& w, coroutine_frame& frame) noexcept;

// Returns whether the fiber may continue on a stack of the usual size that another fiber has given up (stack
// handoff). It has none, and wants one of that size.
inline stack_shape stack_shape_of(const sennit_worker& w, const fiber& f) noexcept;
inline bool may_have(const sennit_worker& w, const fiber& f, const coroutine_frame& frame) noexcept {
  return f.flags.stackless == gave_up_stack &&
         (__builtin_expect(f.overflow == nullptr, 1) || stack_shape_of(w, f) == frame.record.memory.shape);
}

// Makes a fiber that begins with a continuation. It is neither filed nor visible to others yet. Throws
// std::bad_alloc.
fiber& stackless_make(sennit_worker& w, continuation&& begins);

// Ends the program with a message if a stackless fiber waits for an object of the other kind of runtime. It
// has no thread that could wait in its place.
inline void must_be_of_kind(const fiber& f, bool parallel, const char* reason) noexcept;
[[noreturn, gnu::cold]] void is_of_other_kind(bool parallel, const char* reason) noexcept;

// For diagnostics. Called by any thread that may look at the fiber.
SENNIT_UNSANITIZED inline const char* fiber_name(const fiber& f) noexcept {
  return !f.flags.stackless ? f.name : f.overflow != nullptr ? f.overflow->name : "";
}

}  // namespace detail
}  // namespace sennit::inline v0_1
