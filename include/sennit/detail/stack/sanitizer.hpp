// Switches as the sanitizers must see them. In ordinary builds this costs nothing, and only the (unused)
// identity in each coroutine exists.
//
// A switch orders what came before it and what comes after it, in a generator as in a local runtime: the
// fibers of one thread take turns, and may share data without locks. AddressSanitizer must know the stack we
// run on (bounds, fake stack), and where to look for leaks: memory that only a suspended stack refers to is
// not lost. ThreadSanitizer must know our logical thread, MemorySanitizer our stack. They learn it from
// annotations around a switch. These need the *target's* identity; our own is the calling thread's current
// one. The library and all its users must be built with the same sanitizer: a mixture fails to link, and the
// missing symbol's name states the reason (sanitized.h).
//
// MemorySanitizer's initialisation state belongs to the memory, so a suspended stack keeps its own. Words
// that a switch hands over in registers count as initialised.
#pragma once

#include <cstddef>
#include <cstdint>

#include "sennit/detail/arch/context.h"
#include "sennit/detail/arch/sanitized.h"

// SENNIT_SHADOW_STACK: such builds do the same for the processor's shadow stack, with which it compares
// return addresses (shadow_stack.hpp). Each of our stacks gets a shadow stack if the thread that makes it has
// one.
#if defined(SENNIT_ASAN) || defined(SENNIT_TSAN) || defined(SENNIT_MSAN) || defined(SENNIT_SHADOW_STACK)
#define SENNIT_SANITIZED 1
#endif

namespace sennit::inline v0_1::detail {

// Our identity for the sanitizers while we run on a stack.
struct switch_identity {
  const void* low = nullptr;  // the stack's bounds
  std::size_t size = 0;
  void* tsan_fiber = nullptr;  // TSan's
#if defined(SENNIT_ASAN)
  void* fake_stack = nullptr;            // while suspended
  struct leak_roots* reached = nullptr;  // what is registered of it while suspended
#endif
#if defined(SENNIT_SHADOW_STACK)
  std::uintptr_t shadow = 0;   // the pointer to its shadow stack, while suspended; 0: it has none
  void* shadow_low = nullptr;  // what was mapped for that
  std::size_t shadow_size = 0;
#endif
};

#if defined(SENNIT_SANITIZED)

// Defined where the library is built with it.
#if defined(SENNIT_ASAN)
#define SENNIT_NAME_OF_BUILD sennit_was_not_built_with_address_sanitizer_but_its_user_was
#elif defined(SENNIT_TSAN)
#define SENNIT_NAME_OF_BUILD sennit_was_not_built_with_thread_sanitizer_but_its_user_was
#elif defined(SENNIT_MSAN)
#define SENNIT_NAME_OF_BUILD sennit_was_not_built_with_memory_sanitizer_but_its_user_was
#else
#define SENNIT_NAME_OF_BUILD sennit_was_not_built_for_shadow_stacks_but_its_user_was
#endif
extern const char SENNIT_NAME_OF_BUILD;

switch_identity* current_identity() noexcept;
sennit_transfer annotated_swapstack(sennit_context target, std::uintptr_t value, switch_identity* identity,
                                    bool keep) noexcept;

// On a stack that was entered for the first time, by `from`: the first thing to do.
void entered_new_stack(sennit_context from) noexcept;

// Switches. If `keep` is false, our stack's contents are dead (it is about to be reused), except those of
// code that no sanitizer instruments.
[[gnu::always_inline]] inline sennit_transfer swap(sennit_context target, std::uintptr_t value,
                                                   switch_identity* identity, bool keep = true) {
  __asm__ volatile("" : : "r"(&SENNIT_NAME_OF_BUILD));
  return annotated_swapstack(target, value, identity, keep);
}

// What AddressSanitizer remembers of frames that were left by an exception is over; so is what
// MemorySanitizer remembers of anybody's.
void forget_frames(const void* low, std::size_t size) noexcept;

// A stack gets its first user, or a new one: a fresh logical thread, nothing poisoned.
void renew_identity(switch_identity& identity, const void* low, std::size_t size) noexcept;
void drop_identity(switch_identity& identity) noexcept;

// A context is made on a stack of that size, for the first time or after its frames were left. Throws
// std::system_error where there is no memory for its shadow stack.
#if defined(SENNIT_SHADOW_STACK)
void begin_identity(switch_identity& identity, std::size_t size);
#else
inline void begin_identity(switch_identity&, std::size_t) {}
#endif

// The running context calls a function on another stack: to be made before the call, and destroyed after it.
class stack_visit {
public:
  explicit stack_visit(const struct stack_memory& to) noexcept;
  ~stack_visit();
  stack_visit(const stack_visit&) = delete;
  stack_visit& operator=(const stack_visit&) = delete;

private:
  friend void visit_leaves(const stack_visit& visit) noexcept;
  const void* low_ = nullptr;  // of the stack that is left
  std::size_t size_ = 0;
  void* fake_stack_ = nullptr;
  const void* root_ = nullptr;  // what is used of it
  std::size_t root_size_ = 0;
};
// There: the first, and the last thing to do.
void visit_arrives() noexcept;
void visit_leaves(const stack_visit& visit) noexcept;

#else

struct stack_visit {};
inline void visit_arrives() noexcept {}
inline void visit_leaves(const stack_visit&) noexcept {}

inline switch_identity* current_identity() noexcept {
  return nullptr;
}

[[gnu::always_inline]] inline sennit_transfer swap(sennit_context target, std::uintptr_t value,
                                                   switch_identity*, bool = true) {
  return sennit_swapstack(target, value);
}
inline void entered_new_stack(sennit_context) noexcept {}

inline void forget_frames(const void*, std::size_t) noexcept {}
inline void renew_identity(switch_identity&, const void*, std::size_t) noexcept {}
inline void drop_identity(switch_identity&) noexcept {}
inline void begin_identity(switch_identity&, std::size_t) {}

#endif

#if defined(SENNIT_MSAN)
// A system call that MemorySanitizer does not know has written here.
void written_unseen(const void* at, std::size_t size) noexcept;
#else
inline void written_unseen(const void*, std::size_t) noexcept {}
#endif

}  // namespace sennit::inline v0_1::detail
