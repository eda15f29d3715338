// sennit::on_large_stack: calls a function on a stack of 1 MiB.
// room: sched
//
//   sennit::spawn([&] {
//     const bool fits = sennit::on_large_stack([&] { return std::regex_match(line, pattern); });
//     ...
//   }, {.stack_size = 16 * 1024});
//
// For code that needs more stack than its fiber has: TLS handshakes, getaddrinfo, std::regex, parsers, printf
// of long doubles. docs/stacks.md has a table of what some of these need.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

#include "sennit/detail/arch/exceptions.hpp"

namespace sennit {

inline constexpr std::size_t large_stack_size = std::size_t{1} << 20;

namespace detail {
void call_on_large_stack(void (*function)(void*), void* argument);
}

// Calls `function` and returns its result. Exceptions pass through. It costs little more than two switches
// (docs/stacks.md).
//
// The function runs in the calling fiber, on a stack that the worker lends: it may block, yield and resume on
// another worker. The stack is lent until the function has returned. A worker keeps up to four idle ones, so
// code that computes needs one for each worker; a fiber that blocks in the function keeps its stack
// meanwhile.
//
// Calls may be nested. A call runs directly, without another stack, where at least half of `large_stack_size`
// is left of the current stack, and on stacks that are not Sennit's: those of threads. A coroutine or
// generator that calls it gets a large stack, too; one that is made in the function has a stack of its own,
// of its own size.
//
// In the function no fiber can block without a stack by sennit_become() or a yield continuation.
//
// Throws std::system_error or std::bad_alloc if there is no memory for a stack; the function is then not
// called.
template <class Function>
std::invoke_result_t<Function> on_large_stack(Function&& function) {
  using result = std::invoke_result_t<Function>;
  const auto call = [](auto& run) {
    detail::call_on_large_stack([](void* f) { (*static_cast<std::remove_reference_t<decltype(run)>*>(f))(); },
                                &run);
  };
  if constexpr (std::is_void_v<result>) {
    auto run = [&] { std::invoke(std::forward<Function>(function)); };
    call(run);
  } else if constexpr (std::is_reference_v<result>) {
    std::remove_reference_t<result>* at = nullptr;
    auto run = [&] {
      result&& found = std::invoke(std::forward<Function>(function));
      at = std::addressof(found);
    };
    call(run);
    return static_cast<result>(*at);
  } else {
    std::optional<result> value;
    auto run = [&] { value.emplace(std::invoke(std::forward<Function>(function))); };
    call(run);
    return result(std::move(*value));
  }
}

}  // namespace sennit
