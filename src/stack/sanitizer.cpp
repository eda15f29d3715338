// Annotated switches for builds with AddressSanitizer, ThreadSanitizer, MemorySanitizer or shadow stacks;
// empty otherwise.
#include "sennit/detail/stack/sanitizer.hpp"

#if defined(SENNIT_SANITIZED_LIBRARY)
extern "C" {
const char SENNIT_SANITIZED_LIBRARY = 0;
}
#endif

#if defined(SENNIT_SANITIZED)

#include <pthread.h>

#include <utility>

#include "sennit/detail/stack/stack.hpp"
#include "stack/title.hpp"

#if defined(SENNIT_ASAN)
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#include <sanitizer/lsan_interface.h>

#include <algorithm>
#include <cstdio>
#include <vector>
#endif
#if defined(SENNIT_TSAN)
#include <sanitizer/tsan_interface.h>
#endif
#if defined(SENNIT_MSAN)
#include <sanitizer/msan_interface.h>
#endif
#if defined(SENNIT_SHADOW_STACK)
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cassert>
#include <cerrno>
#include <system_error>

#include "sennit/detail/arch/shadow_stack.hpp"

#ifndef SYS_map_shadow_stack
#define SYS_map_shadow_stack 453
#endif
#ifndef SHADOW_STACK_SET_TOKEN
#define SHADOW_STACK_SET_TOKEN 1
#endif
#endif

namespace sennit::inline v0_1::detail {

const char SENNIT_NAME_OF_BUILD = 0;

#if defined(SENNIT_ASAN)
// Leaks are memory that nothing refers to any more. LeakSanitizer searches globals and the stacks that
// threads run on. Stacks of suspended contexts must be registered as roots; a thread that runs a fiber is
// such a context, too:
//
//   the context's record and what lies above it, without the red zone below the frame that switched, which
//   may hold old words; its frames in the fake stack, where AddressSanitizer puts local objects so that it
//   sees their use after return. Their owners, in the real stack, point to them: so they are found.
//
// Below the record, in fake frames that were left, and in finished contexts are old words, which would hide
// real leaks. Registering roots costs more than the rest of a switch. So it is done only when a context is
// suspended with other roots than the last time, and when it has finished.
struct leak_root {
  const char* begin;
  std::size_t size;
  bool operator==(const leak_root&) const = default;
};
struct leak_roots {
  std::vector<leak_root> reported;
};
#endif

namespace {

thread_local switch_identity thread_identity;
thread_local switch_identity* current = nullptr;

#if defined(SENNIT_ASAN)
void unreach(switch_identity& identity) noexcept {
  if (identity.reached == nullptr)
    return;
  for (const leak_root& root : identity.reached->reported)
    __lsan_unregister_root_region(root.begin, root.size);
  identity.reached->reported.clear();
}

// For a thread that ends. A thread that ends the process inside a fiber stays suspended.
struct forget_roots {
  ~forget_roots() {
    if (current != &thread_identity)
      return;
    unreach(thread_identity);
    delete std::exchange(thread_identity.reached, nullptr);
  }
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

thread_local switch_identity* who_left = nullptr;  // if anything of it is still needed

[[gnu::noinline]] switch_identity* set_left(switch_identity* identity) noexcept {
  switch_identity* const before = std::exchange(who_left, identity);
  __asm__ volatile("" : : : "memory");
  return before;
}

// The first fake frame that a word in [at, high) points to; null: none. `at` is then behind that word.
SENNIT_UNSANITIZED const char* next_fake_frame(void* fake_stack, const char*& at, const char* high,
                                               std::size_t& size) {
  // Larger than any fake stack: few words are worth the call.
  constexpr std::uintptr_t reach_of_fake_stack = std::uintptr_t{1} << 26;
  const auto base = reinterpret_cast<std::uintptr_t>(fake_stack);
  while (at + sizeof(std::uintptr_t) <= high) {
    const auto word = *reinterpret_cast<const std::uintptr_t*>(at);
    at += sizeof word;
    if (word - base >= reach_of_fake_stack) [[likely]]
      continue;
    void* begin = nullptr;
    void* end = nullptr;
    if (__asan_addr_is_in_fake_stack(fake_stack, reinterpret_cast<void*>(word), &begin, &end) == nullptr)
      continue;
    size = static_cast<std::size_t>(static_cast<char*>(end) - static_cast<char*>(begin));
    return static_cast<const char*>(begin);
  }
  return nullptr;
}

template <class Visit>
void for_each_root(const switch_identity& identity, sennit_context context, Visit visit) {
  const char* const record = reinterpret_cast<const char*>(context);
  const char* const high = static_cast<const char*>(identity.low) + identity.size;
#if defined(SENNIT_BACKEND_PORTABLE)
  const char* at = record - SENNIT_BELOW_RECORD;
#else
  const char* at = record + SENNIT_RECORD_SIZE;
  visit(leak_root{record, sizeof(sennit_context_record)});
#endif
  visit(leak_root{at, static_cast<std::size_t>(high - at)});
  if (identity.fake_stack == nullptr)
    return;
  leak_root last{};
  leak_root frame{};
  while ((frame.begin = next_fake_frame(identity.fake_stack, at, high, frame.size)) != nullptr)
    if (frame != last)
      visit(last = frame);
}

// `identity` is suspended at `context`.
void reach(switch_identity& identity, sennit_context context) {
  if (identity.reached != nullptr) {
    const std::vector<leak_root>& reported = identity.reached->reported;
    std::size_t same = 0;
    std::size_t count = 0;
    for_each_root(identity, context, [&](const leak_root& root) {
      same += count < reported.size() && reported[count] == root;
      ++count;
    });
    if (same == count && count == reported.size())
      return;
  }
  unreach(identity);
  __lsan_disable();  // the list itself is not a leak
  if (identity.reached == nullptr)
    identity.reached = new leak_roots;
  for_each_root(identity, context, [&](const leak_root& root) {
    __lsan_register_root_region(root.begin, root.size);
    identity.reached->reported.push_back(root);
  });
  __lsan_enable();
}

// The first action after an entry; `from` is the context that left for us.
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
  if (!keep)
    unreach(*self);
  self->fake_stack = nullptr;
  set_left(keep ? self : nullptr);
  __sanitizer_start_switch_fiber(keep ? &self->fake_stack : nullptr, identity->low, identity->size);
#endif
#if defined(SENNIT_TSAN)
  __tsan_switch_to_fiber(identity->tsan_fiber, 0);
#endif
#if defined(SENNIT_MSAN)
  __msan_start_switch_fiber(identity->low, identity->size);
#endif
#if defined(SENNIT_SHADOW_STACK)
  // The call below pushes to the target's shadow stack. The target drops that when it resumes from its own
  // call; a new stack keeps it, below all other entries.
  self->shadow = shadow_stack_pointer();
  if (self->shadow != 0) {
    assert(identity->shadow != 0 && "sennit: a stack made by a thread without a shadow stack");
    shadow_stack_switch(identity->shadow);
  }
#endif
  // Out of line: gcc would poison the locals of code that is inlined here.
  const sennit_transfer transfer = sennit_swapstack_call(target, value);
#if defined(SENNIT_SHADOW_STACK)
  if (self->shadow != 0)
    shadow_stack_drop();
#endif
#if defined(SENNIT_ASAN)
  arrive(self->fake_stack, transfer.from);
#endif
#if defined(SENNIT_MSAN)
  __msan_finish_switch_fiber(nullptr, nullptr);
#endif
  set_current(self);
  return transfer;
}

SENNIT_UNSANITIZED stack_visit::stack_visit([[maybe_unused]] const stack_memory& to) noexcept {
#if defined(SENNIT_ASAN) || defined(SENNIT_MSAN)
  switch_identity& self = *current_identity();
  low_ = std::exchange(self.low, to.low);
  size_ = std::exchange(self.size, to.size);
#endif
#if defined(SENNIT_ASAN)
  root_ = __builtin_frame_address(0);
  root_size_ =
      static_cast<std::size_t>(static_cast<const char*>(low_) + size_ - static_cast<const char*>(root_));
  __lsan_register_root_region(root_, root_size_);
  __sanitizer_start_switch_fiber(&fake_stack_, to.low, to.size);
#endif
#if defined(SENNIT_MSAN)
  __msan_start_switch_fiber(to.low, to.size);
#endif
}

SENNIT_UNSANITIZED void visit_arrives() noexcept {
#if defined(SENNIT_ASAN)
  __sanitizer_finish_switch_fiber(nullptr, nullptr, nullptr);
#endif
#if defined(SENNIT_MSAN)
  __msan_finish_switch_fiber(nullptr, nullptr);
#endif
}

SENNIT_UNSANITIZED void visit_leaves([[maybe_unused]] const stack_visit& visit) noexcept {
#if defined(SENNIT_ASAN) || defined(SENNIT_MSAN)
  switch_identity& self = *current_identity();
  self.low = visit.low_;
  self.size = visit.size_;
#endif
#if defined(SENNIT_ASAN)
  __sanitizer_start_switch_fiber(nullptr, visit.low_, visit.size_);
#endif
#if defined(SENNIT_MSAN)
  __msan_start_switch_fiber(visit.low_, visit.size_);
#endif
}

SENNIT_UNSANITIZED stack_visit::~stack_visit() {
#if defined(SENNIT_ASAN)
  __sanitizer_finish_switch_fiber(fake_stack_, nullptr, nullptr);
  __lsan_unregister_root_region(root_, root_size_);
#endif
#if defined(SENNIT_MSAN)
  __msan_finish_switch_fiber(nullptr, nullptr);
#endif
}

#if defined(SENNIT_ASAN)

// AddressSanitizer's reports name threads, and know no fibers. These lines are printed with a report:
//
//   sennit: that was on the stack of fiber "parser", of 65536 bytes
//   sennit: its address is in the stack of coroutine (unnamed), of 65536 bytes
//
// They use AddressSanitizer's only callback, set before main. A program that sets it, too, replaces ours.
namespace {

void print_stack(const char* what, const stack_place& place) noexcept {
  const stack_title who = stack_title_of(place.record);
  const auto put = [](std::string_view text) { std::fwrite(text.data(), 1, text.size(), stderr); };
  std::fprintf(stderr, "sennit: %s the %s of ", what, place.guard ? "guard below the stack" : "stack");
  for (const std::string_view part : {who.kind, who.before, who.name, who.after})
    put(part);
  std::fprintf(
      stderr, ", of %zu bytes\n",
      place.record->memory.low == place.low ? stack_reported_size(place.record->memory) : place.size);
}

SENNIT_UNSANITIZED void name_fibers(const char*) noexcept {
  const stack_place here = stack_find(reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0)));
  if (here.record != nullptr)
    print_stack("that was on", here);
  if (__asan_report_present() == 0)
    return;
  const stack_place there = stack_find(reinterpret_cast<std::uintptr_t>(__asan_get_report_address()));
  if (there.record != nullptr && there.record != here.record)
    print_stack("its address is in", there);
}

[[gnu::constructor]] void take_callback() noexcept {
  __asan_set_error_report_callback(name_fibers);
}

}  // namespace

#endif

void entered_new_stack([[maybe_unused]] sennit_context from) noexcept {
#if defined(SENNIT_ASAN)
  arrive(nullptr, from);
#endif
#if defined(SENNIT_MSAN)
  __msan_finish_switch_fiber(nullptr, nullptr);
#endif
}

void forget_frames([[maybe_unused]] const void* low, [[maybe_unused]] std::size_t size) noexcept {
#if defined(SENNIT_ASAN)
  __asan_unpoison_memory_region(low, size);
#endif
#if defined(SENNIT_MSAN)
  __msan_unpoison(low, size);
#endif
}

#if defined(SENNIT_MSAN)
void written_unseen(const void* at, std::size_t size) noexcept {
  __msan_unpoison(at, size);
}
#endif

#if defined(SENNIT_SHADOW_STACK)

namespace {
void unmap_shadow_stack(switch_identity& identity) noexcept {
  if (identity.shadow_low != nullptr)
    ::munmap(identity.shadow_low, identity.shadow_size);
  identity.shadow_low = nullptr;
  identity.shadow = 0;
}
}  // namespace

// As many bytes as the stack has: a call pushes a word to both at least. Only the kernel can write the token
// of a fresh one, so one whose frames were left is not used again.
void begin_identity(switch_identity& identity, std::size_t size) {
  unmap_shadow_stack(identity);
  if (shadow_stack_pointer() == 0)
    return;
  const long low = ::syscall(SYS_map_shadow_stack, 0, size, SHADOW_STACK_SET_TOKEN);
  if (low == -1)
    throw std::system_error(errno, std::generic_category(), "sennit: no memory for a shadow stack");
  identity.shadow_low = reinterpret_cast<void*>(low);
  identity.shadow_size = size;
  identity.shadow = static_cast<std::uintptr_t>(low) + size;
}

#endif

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
  unreach(identity);
  delete identity.reached;
#endif
#if defined(SENNIT_TSAN)
  if (identity.tsan_fiber != nullptr)
    __tsan_destroy_fiber(identity.tsan_fiber);
#endif
#if defined(SENNIT_SHADOW_STACK)
  unmap_shadow_stack(identity);
#endif
  identity = {};
}

}  // namespace sennit::inline v0_1::detail
#endif
