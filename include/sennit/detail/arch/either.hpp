// Nothing, an A or a B: a std::variant that is quicker to compile.
#pragma once

#include <new>
#include <type_traits>
#include <utility>

namespace sennit::inline v0_1::detail {

template <class A, class B>
class either {
public:
  either() noexcept {}
  either(const either&) = delete;
  either& operator=(const either&) = delete;
  ~either() { clear(); }

  template <class T, class... Arguments>
  T& emplace(Arguments&&... arguments) {
    static_assert(std::is_same_v<T, A> || std::is_same_v<T, B>);
    clear();
    T* const made = ::new (static_cast<void*>(&place_)) T(std::forward<Arguments>(arguments)...);
    holds_ = std::is_same_v<T, A> ? content::a : content::b;
    return *made;
  }
  // Returns null if it holds no T.
  template <class T>
  T* get() noexcept {
    static_assert(std::is_same_v<T, A> || std::is_same_v<T, B>);
    if constexpr (std::is_same_v<T, A>)
      return holds_ == content::a ? &place_.a : nullptr;
    else
      return holds_ == content::b ? &place_.b : nullptr;
  }
  void clear() noexcept {
    const content held = std::exchange(holds_, content::nothing);
    if (held == content::a)
      place_.a.~A();
    else if (held == content::b)
      place_.b.~B();
  }

private:
  enum class content : unsigned char { nothing, a, b };
  union place {
    place() noexcept {}
    ~place() {}
    A a;
    B b;
  };
  place place_;
  content holds_ = content::nothing;
};

}  // namespace sennit::inline v0_1::detail
