// sennit::on_large_stack: calls a function on a stack of 1 MiB.
// room: sched
//
//   sennit::spawn([&] {
//     const bool fits = sennit::on_large_stack([&] { return std::regex_match(line, pattern); });
//     ...
//   }, {.stack_size = 16 * 1024});
//
// Use it for code that needs more stack than its fiber has: TLS handshakes, getaddrinfo, std::regex,
// parsers, printf of long doubles. docs/explanation/stacks.md has a table of what some of these need.
#pragma once

#include <cstddef>
#include <optional>
#include <type_traits>
#include <utility>

#include "sennit/detail/arch/exceptions.hpp"

namespace sennit::inline v0_1 {

/// The size of a large stack, in bytes.
inline constexpr std::size_t large_stack_size = std::size_t{1} << 20;

namespace detail {
void call_on_large_stack(void (*function)(void*), void* argument);
}

/// Calls a function on a stack of 1 MiB and returns its result. Exceptions pass through. The call costs
/// little more than two switches (docs/explanation/stacks.md).
///
/// The function runs in the calling fiber, on a stack that the worker lends: it may block, yield and resume
/// on another worker. The stack is lent until the function has returned. A worker keeps up to four idle
/// ones. Thus code that computes needs one for each worker, but each fiber that blocks in the function
/// keeps a stack meanwhile.
///
/// Calls may be nested. A call runs directly, without another stack, if at least half of `large_stack_size`
/// is left on the current stack, and on stacks that are not Sennit's, such as those of threads. If a
/// coroutine or generator calls it, it gets a large stack, too. A coroutine that is made in the function
/// has a stack of its own, of its own size.
///
/// In the function no fiber can block without a stack by sennit_become() or by a yield continuation.
///
/// \throws std::system_error or std::bad_alloc if there is no memory for a stack; the function was not
///   called
template <class Function>
std::invoke_result_t<Function> on_large_stack(Function&& function) {
  using result = std::invoke_result_t<Function>;
  const auto call = [](auto& run) {
    detail::call_on_large_stack([](void* f) { (*static_cast<std::remove_reference_t<decltype(run)>*>(f))(); },
                                &run);
  };
  if constexpr (std::is_void_v<result>) {
    auto run = [&] { std::forward<Function>(function)(); };
    call(run);
  } else if constexpr (std::is_reference_v<result>) {
    std::remove_reference_t<result>* at = nullptr;
    auto run = [&] {
      result&& found = std::forward<Function>(function)();
      at = __builtin_addressof(found);
    };
    call(run);
    return static_cast<result>(*at);
  } else {
    std::optional<result> value;
    auto run = [&] { value.emplace(std::forward<Function>(function)()); };
    call(run);
    return result(std::move(*value));
  }
}

}  // namespace sennit::inline v0_1
