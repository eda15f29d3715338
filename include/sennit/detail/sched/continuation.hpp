// Fibers that block without a stack: what the run loop knows of them.
//
// A fiber's function that returns a continuation blocks: its frames have returned, its stack is the worker's
// again, and what is left of it is in the descriptor: the code, which says what it waits for and where it
// goes on, and up to 48 bytes of what that code wants kept. Who is about to enter such a fiber attaches a
// stack to it first, most often the one that its predecessor has just given up.
//
//   round (on its stack) -> thread_block: stack_detach, file -> ... woken, queued as any other ...
//     -> who runs next has no stack, either: call_continuation, stack_attach, right here (handoff)
//     or entering: stack_for -> round, of a `resumed`: call_continuation
//
// What does not fit, and what belongs to a fiber beside its continuation (its name, its fiber-local values,
// the size of its stack), lies in memory of its own: continuation_far. Workers keep some for the next.
//
// Source: Draves et al. 1991, sections 2.1, 2.3 and 2.6. Functions that begin with stack_ or thread_, and
// call_continuation, are those of its Figures 3 and 4, whose threads are our fibers; docs/continuations.md
// says what is the same and what is not.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <new>
#include <utility>

#include "sennit/detail/arch/inline.hpp"
#include "sennit/detail/sched/counters.hpp"
#include "sennit/detail/sched/fiber.hpp"
#include "sennit/fiber_local.hpp"

namespace sennit {

class continuation;

namespace detail {

// One for each combination of wait, function and state. Its address says which it is; it is no constant, so
// that no linker folds it with an equal one.
struct continuation_code : wait_site {
  // On the stack that the fiber is to have: takes what lies in its place out, attaches the stack, destroys
  // the continuation_far, if there is one, and goes on. Nothing is left on the stack then that has to be
  // destroyed if the wait, the function and the state need not be: the frames may be left for good
  // (leave_frames).
  continuation (*run)(fiber& f, coroutine_frame& frame);
  // The fiber has no stack any more: puts it where its waker finds it, and must not touch it after that.
  // `from`: what its code wants kept is to be moved from there before that; null: it lies in its place.
  // False: it need not wait.
  bool (*file)(void* at, void* from, fiber& f) noexcept;
  // By who ends the wait, on its own stack: does what the fiber would do first. False: it waits for more, has
  // been filed again, and may be gone. Null: there is nothing that another could do.
  bool (*woken)(void* at, fiber& f) noexcept;
  void (*move)(void* from, void* to) noexcept;  // nothing is left there
  void (*drop)(void* at) noexcept;
  std::uintptr_t (*entry)(const void* at) noexcept;         // for people: the function it goes on in
  continuation (*shown)(fiber& f, coroutine_frame& frame);  // the same: what has its type in its name
  // How far into its place the address of what it waits for lies; is_descriptor: as in wait_reason. That of
  // the site is for who has a stack.
  std::size_t object_at = no_object;
  static constexpr std::size_t no_object = ~std::size_t{0};
};

struct alignas(16) continuation_far {
  char name[32] = {};
  local_value* locals = nullptr;
  stack_shape stack;           // none: its worker's
  std::size_t block_size = 0;  // as block_pool.hpp has it

  // With so many bytes behind it; of the calling worker's pool, if it can be. Throws std::bad_alloc.
  static continuation_far* make(std::size_t size);
  static void destroy(continuation_far* far) noexcept;
  void* room() noexcept { return this + 1; }
};
static_assert(sizeof(continuation_far) % 16 == 0);

struct continuation_access;
class scope_member;

}  // namespace detail

// What a fiber's function returns to block without a stack (become.hpp), or, by default, to end.
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

  // False: the fiber is to end.
  explicit operator bool() const noexcept { return code_ != nullptr; }

private:
  friend struct detail::continuation_access;

  void* at() noexcept { return far_ != nullptr ? far_->room() : room_; }
  void take(continuation& other) noexcept {
    code_ = std::exchange(other.code_, nullptr);
    far_ = std::exchange(other.far_, nullptr);
    if (code_ != nullptr && far_ == nullptr)
      code_->move(other.room_, room_);
  }
  void drop() noexcept {
    if (code_ != nullptr)
      code_->drop(at());
    if (far_ != nullptr)
      detail::continuation_far::destroy(far_);
    code_ = nullptr;
    far_ = nullptr;
  }

  detail::continuation_code* code_ = nullptr;
  detail::continuation_far* far_ = nullptr;
  alignas(16) std::byte room_[detail::continuation_room];
};

namespace detail {

// A dump may stop this thread between any two instructions, and follows what a descriptor that says that it
// is stackless, or names a frame, points to: those two come after that, and go before it.
inline void say_stackless(fiber& f, bool is) noexcept {
  std::atomic_signal_fence(std::memory_order_seq_cst);
  f.flags.stackless = is;
  std::atomic_signal_fence(std::memory_order_seq_cst);
}

struct continuation_access {
  // A continuation of `code`; what it wants kept is to be made in the place that this returns. Throws
  // std::bad_alloc.
  template <std::size_t size>
  static void* begin(continuation& made) {
    if constexpr (size > continuation_room)
      return (made.far_ = continuation_far::make(size))->room();
    else
      return made.room_;
  }
  static void finish(continuation& made, continuation_code& code) noexcept { made.code_ = &code; }

  // Keeps what a fiber has beside its stack, if it has. Throws std::bad_alloc.
  static void keep(continuation& made, const fiber& f);
  SENNIT_INLINE static bool has_values(const fiber& f, const coroutine_frame& frame) noexcept;
  static void keep_far(continuation& made, const fiber& f);
  // The same of one that the fiber may yet not go on with.
  static void keep_values(continuation& made, const fiber& f);
  // Of a fiber that is to begin with it, in a scope. Throws std::bad_alloc.
  static void bind(continuation& made, scope_member& to);
  // Into a descriptor, but for what its code wants kept: where that lies, if it is yet to be moved; or null.
  SENNIT_INLINE static void* give(continuation& made, fiber& f) noexcept;
  // Into a descriptor, and out of it.
  static void put(continuation& made, fiber& f) noexcept;
  static void get(fiber& f, continuation& empty) noexcept;

private:
  static void make_far(continuation& made);
};

inline void* continuation_access::give(continuation& made, fiber& f) noexcept {
  continuation_far* const far = std::exchange(made.far_, nullptr);
  f.frame = nullptr;
  std::atomic_signal_fence(std::memory_order_seq_cst);
  f.far = far;
  f.site = std::exchange(made.code_, nullptr);
  say_stackless(f, true);
  return far == nullptr ? made.room_ : nullptr;
}

// Where what its code wants kept lies.
inline void* continuation_place(fiber& f) noexcept {
  return f.far != nullptr ? f.far->room() : f.room();
}
inline continuation_code& continuation_of(fiber& f) noexcept {
  return static_cast<continuation_code&>(*f.site);
}
inline void continuation_access::put(continuation& made, fiber& f) noexcept {
  if (void* const from = give(made, f))
    continuation_of(f).move(from, f.room());
}

// Puts a fiber that has no stack where its waker finds it. False: it need not wait. `parked`: its worker's
// parks_at.
inline bool file_new_stackless(fiber& f, std::uint64_t parked, void* from = nullptr) noexcept {
  f.since = parked;
  return continuation_of(f).file(continuation_place(f), from, f);
}
// The same of one that has just lost it: `from`, stack_leave's.
inline bool file_stackless(fiber& f, std::uint64_t parked, void* from = nullptr) noexcept {
  const wait_site* const code = counting ? f.site : nullptr;  // f may be gone once it is filed
  const bool waits = file_new_stackless(f, parked, from);
  if (counting && waits)
    count_block(code->reason, code);
  return waits;
}

// Continuation recognition: who ends the wait of a fiber looks at what that is about to do, and does it in
// its place. False: the fiber is not to be made ready, it waits again. To be called with no lock held, by the
// only one who may make it ready.
inline bool recognize(fiber& f) noexcept {
  if (!f.flags.stackless)
    return true;
  const auto woken = continuation_of(f).woken;
  return woken == nullptr || woken(continuation_place(f), f);
}

// What a fiber that gets a stack again does on it (call_continuation), where others have their function.
struct resumed {
  continuation operator()();  // never called: it says what such a body returns
};

// The frames of a fiber's function have returned: takes its stack from it, and leaves it its continuation,
// but for what the code wants kept: it is moved when the fiber is filed, which makes one call of the two.
inline void* stack_leave(fiber& f, coroutine_frame& frame, continuation& next) noexcept {
  frame.own.locals = nullptr;
  frame.record.name = nullptr;
  return continuation_access::give(next, f);
}
// The whole of it; it is not filed yet.
inline void stack_detach(fiber& f, continuation& next) noexcept {
  if (void* const from = stack_leave(f, *f.frame, next))
    continuation_of(f).move(from, f.room());
}
// Disposes of the running fiber, which has left its stack for good: at `self`. Its continuation, which is the
// payload, is kept in its descriptor; the stack is the worker's. It is not filed yet.
void thread_dispatch(sennit_worker& w, fiber& f, sennit_context self) noexcept;
// Before and after it has one: what it has beside its stack comes with it; its scope's faults and stops.
[[gnu::cold]] void attach_values(fiber& f, coroutine_frame& frame, const continuation_far& far) noexcept;
[[gnu::cold]] void attach_scope(fiber& f) noexcept;
// Gives a stack to a fiber whose continuation has been taken out of its place, and that runs.
inline void stack_attach(fiber& f, coroutine_frame& frame) noexcept {
  const continuation_far* const far = f.far;
  f.frame = nullptr;
  f.name[0] = 0;
  frame.own.locals = nullptr;
  if (far != nullptr) [[unlikely]]
    attach_values(f, frame, *far);
  say_stackless(f, false);
  f.context = frame.context;
  frame.record.name = f.name;
  std::atomic_signal_fence(std::memory_order_seq_cst);
  f.frame = &frame;
  f.flags.unusual |= is_unusual;  // its stack is not to stay with it
  f.word = 0;
  if (far != nullptr) [[unlikely]]
    attach_scope(f);
}

// What the fiber goes on with that yields: one of its fiber-local values, which stay with it while it has no
// stack, and whose `destroy` knows the type.
struct yield_continuation : local_value {
  static constexpr std::uint64_t its_key = 0;  // nobody else's
  explicit yield_continuation(void (*destroyed_by)(local_value& self) noexcept) noexcept
      : local_value{its_key, destroyed_by} {}
  virtual continuation make() const = 0;  // throws std::bad_alloc
  continuation left_by;                   // of a yield, whose frames are being left

protected:
  ~yield_continuation() = default;
};
// Copies of what the running fiber has set. Throws std::bad_alloc, and what copying throws.
continuation continuation_of_yield(const fiber& self);
// Of the running fiber. `made` is owned.
void set_yield_continuation(yield_continuation* made) noexcept;
void clear_yield_continuation(const char* what) noexcept;
// Before they are destroyed: what that calls may yield.
void forget_yield_continuation() noexcept;

// The running fiber goes on with `next`; its frames are given up, and nothing of them is destroyed but guards
// and shields. Throws std::bad_alloc, before that. (become.hpp says when it may be called.)
[[noreturn, gnu::cold]] void leave_frames(continuation&& next);
// Where a fiber that is to leave its frames may not, ends the program and says why; in builds with assertions
// and without a sanitizer it looks at the frames, too: of the callers of the function whose
// __builtin_dwarf_cfa() `frame` is, but for the first `trusted` ones. `what`: is called.
[[gnu::cold]] void may_leave_frames(const char* what, const void* frame, unsigned trusted = 0) noexcept;

// Calls the continuation of a fiber on the stack that it is to have, which it gets so. (Where the runtime
// ends, destroys it.)
[[gnu::cold]] void drop_continuation(fiber& f, coroutine_frame& frame) noexcept;
inline continuation call_continuation(fiber& f, coroutine_frame& frame) {
  if (!f.flags.stackless) [[unlikely]]
    return {};  // it was called, and is discarded
  if (f.flags.status == fiber_status::unwinding) [[unlikely]] {
    drop_continuation(f, frame);
    return {};
  }
  count_call();
  return continuation_of(f).run(f, frame);
}

// Where a fiber that has no stack, and is current, is to be entered: at the beginning of one of the worker's.
// Ends the program when there is no memory for one.
[[gnu::cold]] sennit_decision stack_for(sennit_worker& w, fiber& f) noexcept;

// Whether it may go on on a stack that another fiber has given up instead (stack handoff): it has none, and
// wants one of that size.
inline stack_shape stack_shape_of(const sennit_worker& w, const fiber& f) noexcept;
inline bool may_have(const sennit_worker& w, const fiber& f, const coroutine_frame& frame) noexcept {
  return f.flags.stackless && stack_shape_of(w, f) == frame.record.memory.shape;
}

// A fiber that begins with a continuation: neither filed nor known to anybody yet. Throws std::bad_alloc.
fiber& stackless_make(sennit_worker& w, continuation&& begins);

// Ends the program, with a message, if a fiber without a stack waits for what is for fibers of the other kind
// of runtime: nobody's thread could wait in its place.
inline void must_be_of_kind(const fiber& f, bool parallel, const char* reason) noexcept;
[[noreturn, gnu::cold]] void is_of_other_kind(bool parallel, const char* reason) noexcept;

// People's: any thread that may look at the fiber.
SENNIT_UNSANITIZED inline const char* fiber_name(const fiber& f) noexcept {
  return !f.flags.stackless ? f.name : f.far != nullptr ? f.far->name : "";
}

}  // namespace detail
}  // namespace sennit
