// Annotated switches for AddressSanitizer and ThreadSanitizer builds; empty otherwise.
#include "sennit/detail/stack/sanitizer.hpp"

#if defined(SENNIT_SANITIZED)

#include <pthread.h>

#if defined(SENNIT_ASAN)
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif
#if defined(SENNIT_TSAN)
#include <sanitizer/tsan_interface.h>
#endif

namespace sennit::detail {

#if defined(SENNIT_ASAN)
const char sennit_was_not_built_with_address_sanitizer_but_its_user_was = 0;
#else
const char sennit_was_not_built_with_thread_sanitizer_but_its_user_was = 0;
#endif

namespace {

thread_local switch_identity thread_identity;
thread_local switch_identity* current = nullptr;

void fill_thread_identity() {
  pthread_attr_t attributes;
  void* low = nullptr;
  if (pthread_getattr_np(pthread_self(), &attributes) == 0) {
    pthread_attr_getstack(&attributes, &low, &thread_identity.size);
    pthread_attr_destroy(&attributes);
  }
  thread_identity.low = low;
#if defined(SENNIT_TSAN)
  thread_identity.tsan_fiber = __tsan_get_current_fiber();
#endif
}

[[gnu::noinline]] void set_current(switch_identity* identity) noexcept {
  current = identity;
  __asm__ volatile("" : : : "memory");
}

}  // namespace

[[gnu::noinline]] switch_identity* current_identity() noexcept {
  if (current == nullptr) {
    fill_thread_identity();
    current = &thread_identity;
  }
  __asm__ volatile("" : : : "memory");
  return current;
}

[[gnu::noinline]] SENNIT_UNSANITIZED sennit_transfer
annotated_swapstack(sennit_context target, std::uintptr_t value, switch_identity* identity,
                    [[maybe_unused]] bool keep_fake_stack) noexcept {
  [[maybe_unused]] switch_identity* self = current_identity();
  set_current(identity);
#if defined(SENNIT_ASAN)
  void* fake_stack = nullptr;
  __sanitizer_start_switch_fiber(keep_fake_stack ? &fake_stack : nullptr, identity->low, identity->size);
#endif
#if defined(SENNIT_TSAN)
  __tsan_switch_to_fiber(identity->tsan_fiber, 0);
#endif
  // Out of line: of what is inlined here, gcc would poison the locals.
  const sennit_transfer transfer = sennit_swapstack_call(target, value);
#if defined(SENNIT_ASAN)
  __sanitizer_finish_switch_fiber(fake_stack, nullptr, nullptr);
#endif
  set_current(self);
  return transfer;
}

void entered_new_stack() noexcept {
#if defined(SENNIT_ASAN)
  __sanitizer_finish_switch_fiber(nullptr, nullptr, nullptr);
#endif
}

void forget_frames([[maybe_unused]] const void* low, [[maybe_unused]] std::size_t size) noexcept {
#if defined(SENNIT_ASAN)
  __asan_unpoison_memory_region(low, size);
#endif
}

void renew_identity(switch_identity& identity, const void* low, std::size_t size) noexcept {
  identity.low = low;
  identity.size = size;
  forget_frames(low, size);
#if defined(SENNIT_TSAN)
  if (identity.tsan_fiber != nullptr)
    __tsan_destroy_fiber(identity.tsan_fiber);
  identity.tsan_fiber = __tsan_create_fiber(0);
#endif
}

void drop_identity(switch_identity& identity) noexcept {
#if defined(SENNIT_TSAN)
  if (identity.tsan_fiber != nullptr)
    __tsan_destroy_fiber(identity.tsan_fiber);
#endif
  identity = {};
}

}  // namespace sennit::detail
#endif
