// Switches as the sanitizers must see them. In ordinary builds nothing here costs or exists at run time but
// the (unused) identity in each coroutine.
//
// A switch orders what came before it and what comes after it, in a generator as in a local runtime: the
// fibers of one thread take turns, and may share data without locks.
//
// AddressSanitizer must know on which stack we are (bounds, fake stack), and what to look for leaks in: what
// only a suspended stack refers to is not lost. ThreadSanitizer must know which logical thread we are. They
// learn it from annotations around a switch, which need the *target's* identity; our own
// is the calling thread's current one. The library and all its users must be built with the same sanitizer:
// a mixture fails to link (the symbol's name says why).
#pragma once

#include <cstddef>
#include <cstdint>

#include "sennit/detail/arch/context.h"

#if defined(__SANITIZE_ADDRESS__)
#define SENNIT_ASAN 1
#endif
#if defined(__SANITIZE_THREAD__)
#define SENNIT_TSAN 1
#endif
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SENNIT_ASAN 1
#endif
#if __has_feature(thread_sanitizer)
#define SENNIT_TSAN 1
#endif
#endif
#if defined(SENNIT_ASAN) || defined(SENNIT_TSAN)
#define SENNIT_SANITIZED 1
#endif

namespace sennit::detail {

// Whom the sanitizers take us for while we run on a stack.
struct switch_identity {
  const void* low = nullptr;  // the stack's bounds
  std::size_t size = 0;
  void* tsan_fiber = nullptr;  // TSan's
#if defined(SENNIT_ASAN)
  void* fake_stack = nullptr;            // while suspended
  struct leak_roots* reached = nullptr;  // what is registered of it while suspended
#endif
};

#if defined(SENNIT_SANITIZED)

#if defined(SENNIT_ASAN)
extern const char sennit_was_not_built_with_address_sanitizer_but_its_user_was;
#else
extern const char sennit_was_not_built_with_thread_sanitizer_but_its_user_was;
#endif

switch_identity* current_identity() noexcept;
sennit_transfer annotated_swapstack(sennit_context target, std::uintptr_t value, switch_identity* identity,
                                    bool keep) noexcept;

// On a stack that was entered for the first time, by `from`: the first thing to do.
void entered_new_stack(sennit_context from) noexcept;

// Switches. `keep` false: what is on our stack is dead (it is about to be reused), but for code that no
// sanitizer instruments.
[[gnu::always_inline]] inline sennit_transfer swap(sennit_context target, std::uintptr_t value,
                                                   switch_identity* identity, bool keep = true) {
#if defined(SENNIT_ASAN)
  __asm__ volatile("" : : "r"(&sennit_was_not_built_with_address_sanitizer_but_its_user_was));
#else
  __asm__ volatile("" : : "r"(&sennit_was_not_built_with_thread_sanitizer_but_its_user_was));
#endif
  return annotated_swapstack(target, value, identity, keep);
}

// What AddressSanitizer remembers of frames that were left by an exception is over.
void forget_frames(const void* low, std::size_t size) noexcept;

// A stack gets its first user, or a new one: a fresh logical thread, nothing poisoned.
void renew_identity(switch_identity& identity, const void* low, std::size_t size) noexcept;
void drop_identity(switch_identity& identity) noexcept;

#else

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

#endif

}  // namespace sennit::detail
