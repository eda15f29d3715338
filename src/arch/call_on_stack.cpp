// A call on another stack by a context of its own: see include/sennit/detail/arch/call_on_stack.hpp.
#include "sennit/detail/arch/call_on_stack.hpp"

#include <cstdint>
#include <exception>
#include <utility>

namespace sennit::inline v0_1::detail {

namespace {

struct call {
  void (*function)(void*);
  void* argument;
  std::exception_ptr error;
};

void run(sennit_context caller, std::uintptr_t value, std::uintptr_t, std::uintptr_t,
         std::uintptr_t) noexcept {
  auto& made = *reinterpret_cast<call*>(value);
  try {
    made.function(made.argument);
  } catch (...) {
    made.error = std::current_exception();
  }
  sennit_swapstack(caller, 0);
  __builtin_unreachable();
}

}  // namespace

void call_by_context(void* top, void (*function)(void*), void* argument) {
  call made{function, argument, nullptr};
  sennit_swapstack(sennit_newstack(top, run), reinterpret_cast<std::uintptr_t>(&made));
  if (made.error != nullptr)
    std::rethrow_exception(std::move(made.error));
}

}  // namespace sennit::inline v0_1::detail
