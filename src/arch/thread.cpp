// The per-thread block and the address of a thread's C++ exception globals.
#include "sennit/detail/arch/thread.h"

#include <cxxabi.h>

#include <atomic>
#include <cerrno>
#include <cstddef>

namespace {

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

}  // namespace

extern "C" {

int* sennit_errno_location();  // sennit/errno.h, which would redefine errno here

// Used: the inline switch names it in assembly only, which link-time optimisation does not see.
[[gnu::used]] __thread sennit_thread_block sennit_thread = {&unknown, nullptr, {&closed}, nullptr};

// Called by the switches' slow path: the calling thread's exception globals, remembered in its block.
[[gnu::noinline]] sennit_exception_state* sennit_exceptions_lookup() noexcept {
  if (sennit_thread_self()->exceptions == &unknown)
    if (auto* prepare = before_first_switch.load(std::memory_order_acquire))
      prepare();
  auto* globals = reinterpret_cast<sennit_exception_state*>(abi::__cxa_get_globals());
  sennit_thread_self()->exceptions = globals;
  return globals;
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

[[gnu::noinline]] sennit_thread_block* sennit_thread_lookup() {
  return &sennit_thread;
}

}  // extern "C"
