// Fibers that block without a stack: what the run loop knows of them.
//
// A fiber's function that returns a continuation blocks: its frames have returned, its stack is the worker's
// again, and what is left of it is in the descriptor: the code, which says what it waits for and where it
// goes on, and up to 48 bytes of what that code wants kept. Who is about to enter such a fiber attaches a
// stack to it first, most often the one that its predecessor has just given up.
//
//   round (on its stack) -> become (a decider): stack_detach, file -> ... woken, queued as any other ...
//     -> entering: stack_attach -> round, of a `resumed`, which calls the continuation
//
// What does not fit, and what belongs to a fiber beside its continuation (its name, its fiber-local values,
// the size of its stack), lies in memory of its own: continuation_far.
//
// Source: Draves et al. 1991, sections 2.1, 2.3 and 2.6 (Figures 3 and 4: stack_attach, stack_detach).
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>
#include <utility>

#include "sennit/detail/sched/fiber.hpp"

namespace sennit {

class continuation;

namespace detail {

// One for each combination of wait, function and state. Its address says which it is; it is no constant, so
// that no linker folds it with an equal one.
struct continuation_code : wait_site {
  // Takes what lies there out, onto the stack, and goes on. The word, and why the wait has ended.
  continuation (*run)(void* at, std::uintptr_t word, fiber_status why);
  // The fiber has no stack any more: puts it where its waker finds it, and must not touch it after that.
  // False: it need not wait.
  bool (*file)(void* at, fiber& f) noexcept;
  void (*move)(void* from, void* to) noexcept;  // nothing is left there
  void (*drop)(void* at) noexcept;
  std::uintptr_t (*entry)(const void* at) noexcept;  // for people: the function it goes on in
};

struct continuation_far {
  char name[32] = {};
  local_value* locals = nullptr;
  std::size_t stack_size = 0;  // 0: its worker's

  // With so many bytes behind it. Throws std::bad_alloc.
  static continuation_far* make(std::size_t size) {
    return ::new (::operator new(sizeof(continuation_far) + size)) continuation_far;
  }
  static void destroy(continuation_far* far) noexcept { ::operator delete(far); }
  void* room() noexcept { return this + 1; }
};
static_assert(sizeof(continuation_far) % 16 == 0);

struct continuation_access;

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

struct continuation_access {
  // A continuation of `code`; what it wants kept is to be made at its place(). Throws std::bad_alloc.
  static void begin(continuation& made, std::size_t size) {
    if (size > continuation_room)
      made.far_ = continuation_far::make(size);
  }
  static void* place(continuation& made) noexcept { return made.at(); }
  static void finish(continuation& made, continuation_code& code) noexcept { made.code_ = &code; }

  // Keeps what a fiber has beside its stack. Throws std::bad_alloc.
  static void keep(continuation& made, const fiber& f);
  // On a stack: goes on.
  static continuation run(continuation& made, std::uintptr_t word, fiber_status why);
  // Between a frame's payload and a descriptor.
  static void put(continuation& made, fiber& f) noexcept;
  static void get(fiber& f, continuation& empty) noexcept;
};

// Where what its code wants kept lies.
inline void* continuation_place(fiber& f) noexcept {
  return f.far != nullptr ? f.far->room() : f.room();
}
inline continuation_code& continuation_of(fiber& f) noexcept {
  return static_cast<continuation_code&>(*f.site);
}

// What a fiber does that got a stack again.
struct resumed {
  continuation what;
  std::uintptr_t word;
  fiber_status why;
  continuation operator()() { return continuation_access::run(what, word, why); }
};

// The fiber, which runs, has left its stack for good: `self` is where it was left, its continuation is the
// payload. The stack is the worker's; the fiber is not filed yet.
void stack_detach(sennit_worker& w, fiber& f, sennit_context self) noexcept;

// A stack of the worker's for a fiber that has none and is about to be entered. Ends the program when there
// is no memory for one.
[[gnu::cold]] void stack_attach(sennit_worker& w, fiber& f) noexcept;

// A fiber that begins with a continuation: neither filed nor known to anybody yet. Throws std::bad_alloc.
fiber& stackless_make(sennit_worker& w, continuation&& begins);

// Ends the program, with a message, if a fiber without a stack waits for what is for fibers of the other kind
// of runtime: nobody's thread could wait in its place.
void must_be_of_kind(const fiber& f, bool parallel, const char* reason) noexcept;

// People's: any thread that may look at the fiber.
SENNIT_UNSANITIZED inline const char* fiber_name(const fiber& f) noexcept {
  return !f.flags.stackless ? f.name : f.far != nullptr ? f.far->name : "";
}

}  // namespace detail
}  // namespace sennit
