// Annotated switches for AddressSanitizer and ThreadSanitizer builds; empty otherwise.
#include "sennit/detail/stack/sanitizer.hpp"

#if defined(SENNIT_SANITIZED)

#include <pthread.h>

#if defined(SENNIT_ASAN)
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#include <sanitizer/lsan_interface.h>

#include <algorithm>
#include <utility>
#include <vector>
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

#if defined(SENNIT_ASAN)
// Leaks are what nothing refers to any more. LeakSanitizer looks into globals and into the stacks that
// threads run on; into those of suspended contexts (threads that run a fiber are such, too) only where we
// tell it to:
//
//   the context's record and what lies above it, without the red zone below the frame that switched, which
//   may hold old words; its frames in the fake stack, where AddressSanitizer puts local objects so that it
//   sees their use after return. Their owners, in the real stack, point to them: so they are found.
//
// Below the record, in fake frames that were left, and in finished contexts are old words, which would hide
// real leaks.
struct leak_roots {
  std::vector<std::pair<const char*, std::size_t>> all;
};
#endif

namespace {

thread_local switch_identity thread_identity;
thread_local switch_identity* current = nullptr;

#if defined(SENNIT_ASAN)
struct forget_roots {
  ~forget_roots() { delete std::exchange(thread_identity.reached, nullptr); }
};
#endif

void fill_thread_identity() {
  pthread_attr_t attributes;
  void* low = nullptr;
  if (pthread_getattr_np(pthread_self(), &attributes) == 0) {
    pthread_attr_getstack(&attributes, &low, &thread_identity.size);
    pthread_attr_destroy(&attributes);
  }
  thread_identity.low = low;
#if defined(SENNIT_ASAN)
  thread_local const forget_roots at_end;
  static_cast<void>(at_end);
#endif
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

#if defined(SENNIT_ASAN)

namespace {

thread_local switch_identity* left = nullptr;  // who just left, if anything of it is still needed

[[gnu::noinline]] switch_identity* set_left(switch_identity* identity) noexcept {
  switch_identity* const before = std::exchange(left, identity);
  __asm__ volatile("" : : : "memory");
  return before;
}

void add_root(leak_roots& roots, const void* low, const void* high) {
  const auto* begin = static_cast<const char*>(low);
  const std::size_t size = static_cast<std::size_t>(static_cast<const char*>(high) - begin);
  __lsan_register_root_region(begin, size);
  roots.all.emplace_back(begin, size);
}

SENNIT_UNSANITIZED void add_fake_frames(leak_roots& roots, void* fake_stack, const char* low,
                                        const char* high) {
  const void* last = nullptr;
  for (const char* at = low; at + sizeof(void*) <= high; at += sizeof(void*)) {
    void* const word = *reinterpret_cast<void* const*>(at);
    void* begin = nullptr;
    void* end = nullptr;
    if (__asan_addr_is_in_fake_stack(fake_stack, word, &begin, &end) == nullptr || begin == last)
      continue;
    add_root(roots, begin, end);
    last = begin;
  }
}

// `identity` is suspended at `context`.
void reach(switch_identity& identity, sennit_context context) {
  const char* const record = reinterpret_cast<const char*>(context);
  const char* const high = static_cast<const char*>(identity.low) + identity.size;
  __lsan_disable();  // the list itself is nobody's leak
  if (identity.reached == nullptr)
    identity.reached = new leak_roots;
#if defined(SENNIT_BACKEND_UCONTEXT)
  const char* const frames = record - SENNIT_BELOW_RECORD;
#else
  const char* const frames = record + SENNIT_RECORD_SIZE;
  add_root(*identity.reached, record, record + sizeof(sennit_context_record));
#endif
  add_root(*identity.reached, frames, high);
  if (identity.fake_stack != nullptr)
    add_fake_frames(*identity.reached, identity.fake_stack, frames, high);
  __lsan_enable();
}

void unreach(switch_identity& identity) noexcept {
  if (identity.reached == nullptr)
    return;
  for (const auto& [begin, size] : identity.reached->all)
    __lsan_unregister_root_region(begin, size);
  identity.reached->all.clear();
}

// We have been entered; `from` is the context of who left for us.
[[gnu::noinline]] void arrive(void* fake_stack, sennit_context from) noexcept {
  __sanitizer_finish_switch_fiber(fake_stack, nullptr, nullptr);
  if (switch_identity* const suspended = set_left(nullptr))
    reach(*suspended, from);
}

}  // namespace

#endif

[[gnu::noinline]] SENNIT_UNSANITIZED sennit_transfer
annotated_swapstack(sennit_context target, std::uintptr_t value, switch_identity* identity,
                    [[maybe_unused]] bool keep) noexcept {
  [[maybe_unused]] switch_identity* self = current_identity();
  set_current(identity);
#if defined(SENNIT_ASAN)
  self->fake_stack = nullptr;
  set_left(keep ? self : nullptr);
  __sanitizer_start_switch_fiber(keep ? &self->fake_stack : nullptr, identity->low, identity->size);
#endif
#if defined(SENNIT_TSAN)
  __tsan_switch_to_fiber(identity->tsan_fiber, 0);
#endif
  // Out of line: of what is inlined here, gcc would poison the locals.
  const sennit_transfer transfer = sennit_swapstack_call(target, value);
#if defined(SENNIT_ASAN)
  arrive(self->fake_stack, transfer.from);
  unreach(*self);
#endif
  set_current(self);
  return transfer;
}

void entered_new_stack([[maybe_unused]] sennit_context from) noexcept {
#if defined(SENNIT_ASAN)
  arrive(nullptr, from);
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
#if defined(SENNIT_ASAN)
  delete identity.reached;
#endif
#if defined(SENNIT_TSAN)
  if (identity.tsan_fiber != nullptr)
    __tsan_destroy_fiber(identity.tsan_fiber);
#endif
  identity = {};
}

}  // namespace sennit::detail
#endif
