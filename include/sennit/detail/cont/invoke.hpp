// std::invoke, without <functional>, which takes a tenth of the time in which mutex.hpp compiles.
#pragma once

#include <tuple>
#include <type_traits>
#include <utility>

#include "sennit/detail/arch/inline.hpp"

namespace sennit::inline v0_1::detail {

// Calls a function object, or a pointer to a member.
template <class Function, class... Arguments>
SENNIT_INLINE constexpr std::invoke_result_t<Function, Arguments...> invoke(Function&& function,
                                                                            Arguments&&... arguments) {
  if constexpr (std::is_member_pointer_v<std::remove_reference_t<Function>>)
    return std::apply(function, std::forward_as_tuple(std::forward<Arguments>(arguments)...));
  else
    return std::forward<Function>(function)(std::forward<Arguments>(arguments)...);
}

}  // namespace sennit::inline v0_1::detail
