// An object of the process that is made without allocating and never destroyed: threads may outlive static
// objects.
#pragma once

namespace sennit::inline v0_1::detail {

template <class T>
union never_destroyed {
  T value;
  constexpr never_destroyed() noexcept : value() {}
  constexpr ~never_destroyed() {}
};

}  // namespace sennit::inline v0_1::detail
