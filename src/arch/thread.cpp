// The per-thread block, and what a context puts aside of its thread: exception globals, control state.
#include "sennit/detail/arch/thread.h"

#include <cxxabi.h>

#include <atomic>
#include <cassert>
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstdlib>

#include "sennit/detail/arch/context_types.h"
#include "sennit/detail/arch/shadow_stack.hpp"
#include "sennit/fp_control.h"

// libc++abi has it, as the ABI requires, but declares it in no public header.
namespace __cxxabiv1 {
struct __cxa_eh_globals;
extern "C" __cxa_eh_globals* __cxa_get_globals() noexcept;
}  // namespace __cxxabiv1

namespace {

// A program that links us is not marked as able to have them, so the loader gives it none; one may still be
// forced upon it.
void refuse_shadow_stack() noexcept {
#if !defined(SENNIT_SHADOW_STACK)
  if (sennit::detail::shadow_stack_pointer() == 0)
    return;
  std::fputs(
      "sennit: this thread has a shadow stack, which a switch of this build would leave as it is: build "
      "Sennit with "
      "-DSENNIT_SHADOW_STACK=ON, or run with GLIBC_TUNABLES=glibc.cpu.x86_shstk=off\n",
      stderr);
  std::abort();
#endif
}

constexpr sennit_exception_state busy_with(void* exception) {
  sennit_exception_state state{};
  state.caught = exception;
  state.uncaught = 1;
  return state;
}

// Looks busy for ever, so that a thread's first switch goes the way that looks its own globals up.
constinit sennit_exception_state unknown = busy_with(&unknown);

constinit sennit_idle closed = {.next = nullptr, .room = 0};

constinit std::atomic<void (*)()> before_first_switch{nullptr};

static_assert(sizeof(void*) != 8 || sizeof(sennit_exception_state) == 16,
              "the layout of libstdc++'s and libc++abi's __cxa_eh_globals");
static_assert(offsetof(sennit_thread_block, exceptions) == 0, "the switches' assembly reads it there");

static_assert(sizeof(void*) != 8 || offsetof(sennit_thread_block, worker) == 8,
              "sennit_thread_worker reads it there");

static_assert(sizeof(void*) != 8 || offsetof(sennit_thread_block, bias_number) == 32,
              "sennit_thread_bias_number reads it there");

static_assert(sizeof(sennit_slow_state) <= (sizeof(void*) == 8 ? 32 : 16),
              "SLOW_STATE of the switches' assembly");
static_assert(offsetof(sennit_fp_keeper, looks_busy) == 0);

struct thread_state {
  sennit_exception_state* globals;
  sennit_fp_keeper* keeper;  // of the context that runs; null: it has none
};

// The calling thread's. Its block then shows the first, whatever it showed before.
SENNIT_UNSANITIZED thread_state look_up() noexcept {
  sennit_exception_state* const shown = sennit_thread_self()->exceptions;
  if (shown == &unknown) {
    refuse_shadow_stack();
    if (auto* prepare = before_first_switch.load(std::memory_order_acquire))
      prepare();
  }
  auto* const globals = reinterpret_cast<sennit_exception_state*>(abi::__cxa_get_globals());
  sennit_thread_self()->exceptions = globals;
  const bool keeps = shown != &unknown && shown != globals;
  return {globals, keeps ? reinterpret_cast<sennit_fp_keeper*>(shown) : nullptr};
}

constexpr bool is_busy(const sennit_exception_state& state) noexcept {
#if defined(__ARM_EABI__) && !defined(__ARM_DWARF_EH__) && !defined(__USING_SJLJ_EXCEPTIONS__)
  if (state.propagating != nullptr)
    return true;
#endif
  return state.caught != nullptr || state.uncaught != 0;
}

}  // namespace

extern "C" {

int* sennit_errno_location();  // sennit/errno.h, which would redefine errno here

// Used: the inline switch names it in assembly only, which link-time optimisation does not see.
[[gnu::used]] __thread sennit_thread_block sennit_thread = {&unknown, nullptr, {&closed},         nullptr,
                                                            0,        nullptr, 0x9E3779B97F4A7C15};
#if !defined(SENNIT_ANY_BUILD)
// Its name in src/arch/switch_<isa>.S and for the compiler plugin; two libraries in one program both define
// it.
extern __thread sennit_thread_block thread_of_any_build __asm__("sennit_thread")
    __attribute__((alias(SENNIT_THREAD)));
#endif

[[gnu::noinline]] SENNIT_UNSANITIZED uintptr_t sennit_slow_state_save(sennit_slow_state* saved) {
  const thread_state here = look_up();
  saved->exceptions = *here.globals;
  saved->keeper = here.keeper;
  *here.globals = {};
  if (here.keeper != nullptr) {
    here.keeper->own = sennit_fp_control_get();
    sennit_fp_control_set(here.keeper->found);
  }
  return here.keeper != nullptr || is_busy(saved->exceptions);
}

[[gnu::noinline]] SENNIT_UNSANITIZED void sennit_slow_state_restore(sennit_slow_state* saved) {
  *look_up().globals = saved->exceptions;
  if (sennit_fp_keeper* const keeper = saved->keeper) {
    keeper->found = sennit_fp_control_get();
    sennit_fp_control_set(keeper->own);
    sennit_thread_self()->exceptions = &keeper->looks_busy;
  }
}

void sennit_slow_state_discard() {
  if (!is_busy(*sennit_thread_self()->exceptions)) [[likely]]
    return;
  sennit_slow_state saved;
  sennit_slow_state_save(&saved);
}

void sennit_fp_control_keep(sennit_fp_keeper* keeper) {
  sennit_fp_keeper* const outer = look_up().keeper;
  keeper->looks_busy = busy_with(keeper);
  keeper->found = sennit_fp_control_get();
  keeper->outer = outer;
  sennit_thread_self()->exceptions = outer != nullptr ? &outer->looks_busy : &keeper->looks_busy;
}

void sennit_fp_control_drop(sennit_fp_keeper* keeper) {
  [[maybe_unused]] const sennit_fp_keeper* const now = look_up().keeper;
  assert(now == (keeper->outer != nullptr ? keeper->outer : keeper) &&
         "sennit: floating-point control state is dropped in another context than it was kept in");
  sennit_fp_control_set(keeper->found);
  if (keeper->outer != nullptr)
    sennit_thread_self()->exceptions = &keeper->outer->looks_busy;
}

void sennit_before_first_switch(void (*prepare)()) {
  before_first_switch.store(prepare, std::memory_order_release);
}

// Not a constant function, whatever a compiler that sees it may think.
[[gnu::noinline]] int* sennit_errno_location() {
  int* location = &errno;
  __asm__ volatile("" : "+r"(location)::"memory");
  return location;
}

// Nothrow. Otherwise its callers have exception tables, and a call that such a table leaves out may hide a
// cleanup (silence::may_hide_some). Then round_of_left keeps forced yields from leaving its fiber's frames.
[[gnu::noinline, gnu::nothrow]] sennit_thread_block* sennit_thread_lookup() {
  return &sennit_thread;
}

}  // extern "C"
