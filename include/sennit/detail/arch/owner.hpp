// Owns an object whose class only src/ defines. (std::unique_ptr would cost each public header <memory>.)
#pragma once

#include <utility>

namespace sennit::inline v0_1::detail {

// The class declares `void destroy_owned(T* object) noexcept` beside itself, and defines it where it is
// complete.
template <class T>
class owner {
public:
  constexpr owner() noexcept = default;
  explicit constexpr owner(T* object) noexcept : object_(object) {}
  owner(owner&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  owner& operator=(owner&& other) noexcept {
    owner taken(std::move(other));
    std::swap(object_, taken.object_);
    return *this;
  }
  ~owner() {
    if (object_ != nullptr)
      destroy_owned(object_);
  }

  // The caller owns it from then on.
  T* release() noexcept { return std::exchange(object_, nullptr); }
  T* get() const noexcept { return object_; }
  T* operator->() const noexcept { return object_; }
  T& operator*() const noexcept { return *object_; }
  explicit operator bool() const noexcept { return object_ != nullptr; }

private:
  T* object_ = nullptr;
};

}  // namespace sennit::inline v0_1::detail
