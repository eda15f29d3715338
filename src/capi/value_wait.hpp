// A wait without a stack that brings bytes, such as an element: they lie in the wait itself, with the
// function's state.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

#include "become.hpp"
#include "sennit/detail/arch/look.hpp"

namespace sennit::inline v0_1::capi {

// The state, and behind it room for a value that is larger than a word. It is aligned to 16 where the
// function gets it.
template <std::size_t Room>
struct c_bytes {
  c_bytes(const void* state, std::size_t size) noexcept { copy_bytes(bytes, state, size); }
  std::byte bytes[Room];
};
template <>
struct c_bytes<0> {
  c_bytes(const void*, std::size_t) noexcept {}
  static constexpr std::byte* bytes = nullptr;
};

// `Wait`: what is waited for. Any number of moves, then:
//
//   bool file(fiber& f, waiter& me, void* value, int& result) noexcept;  // false: it has ended
//   bool leave(waiter& me) noexcept;
//   int result_of(std::uintptr_t word) noexcept;                         // of a wait that was served
//   bool brings(int result) const noexcept;                              // the bytes; or, of something else,
//   void* take_value() noexcept;
template <class Wait, std::size_t Room>
class value_wait : public detail::continuation_wait {
public:
  static constexpr const char* reason = Wait::reason;
  template <class Make>
  value_wait(Make make, const void* state, std::size_t size, std::size_t value_at, const void* value,
             std::size_t value_size)
      : wait_(make()), value_at_(static_cast<std::uint32_t>(value_at)), bytes_(state, size) {
    if (value != nullptr)
      copy_bytes(place(), value, value_size);
  }
  // As in blocked: words that were just stored are not loaded in pairs.
  value_wait(value_wait&& other) noexcept
      : wait_(std::move(other.wait_)),
        word_(detail::look(other.word_)),
        result_(detail::look(other.result_)),
        value_at_(detail::look(other.value_at_)),
        bytes_(other.bytes_) {}

  bool file(detail::fiber& f) noexcept { return file(f, f); }
  bool withdraw(detail::fiber& f) noexcept { return leave(f); }
  bool file(detail::fiber& f, detail::waiter& me) noexcept {
    result_ = pending;
    return wait_.file(f, me, place(), result_);
  }
  bool leave(detail::waiter& me) noexcept { return wait_.leave(me); }

  // On the fiber's stack, whose word is still the waker's.
  auto bring(detail::fiber_status why) noexcept {
    settle(detail::current_fiber().word, why);
    return kept(std::move(*this));
  }
  auto end(detail::fiber&, std::uintptr_t word, detail::fiber_status why) noexcept {
    settle(word, why);
    return kept(std::move(*this));
  }

  // What is passed to the function, which may leave the frames: it needs no destructor.
  struct kept {
    explicit kept(value_wait&& from) noexcept
        : bytes(from.bytes_),
          word(detail::look(from.word_)),
          value_at(detail::look(from.value_at_)),
          result(detail::look(from.result_)) {
      if constexpr (requires { from.wait_.take_value(); })
        other = from.wait_.take_value();
      else
        brings = from.wait_.brings(result);
    }
    kept& get() noexcept { return *this; }
    void* value() noexcept {
      if (!brings)
        return other;
      return value_at == in_word ? static_cast<void*>(&word) : bytes.bytes + value_at;
    }
    alignas(16) [[no_unique_address]] c_bytes<Room> bytes;
    std::uint64_t word;
    std::uint32_t value_at;
    int result;
    bool brings = false;
    void* other = nullptr;  // in place of the bytes
  };

  static constexpr std::uint32_t in_word = ~std::uint32_t{0};

private:
  static constexpr int pending = 1;
  void* place() noexcept {
    return value_at_ == in_word ? static_cast<void*>(&word_) : bytes_.bytes + value_at_;
  }
  void settle(std::uintptr_t word, detail::fiber_status why) noexcept {
    if (result_ == pending)
      result_ = why == detail::fiber_status::notified ? wait_.result_of(word) : -ETIMEDOUT;
  }

  Wait wait_;
  std::uint64_t word_ = 0;
  int result_ = pending;
  std::uint32_t value_at_;
  [[no_unique_address]] c_bytes<Room> bytes_;
};

struct c_value_continuation {
  sennit_value_function function;
  template <class Kept>
  void operator()(Kept&& kept) const {
    function(kept.bytes.bytes, kept.result, kept.value());
  }
};

// Blocks by such a wait, which `make()` returns; comes back only if it fails. `value_size`: of what it
// brings. `value`: what it has at the beginning, `given` bytes, or null. The caller is a fiber.
template <class Make>
SENNIT_INLINE int become_with_value(const char* what, const void* frame, Make make, const void* value,
                                    std::size_t given, std::size_t value_size, sennit_value_function function,
                                    const void* state, std::size_t size, std::int64_t deadline) {
  if (function == nullptr || !is_state(state, size) || value_size > most_state)
    return -EINVAL;
  const bool small = value_size <= sizeof(std::uint64_t);
  const std::size_t value_at = (size + 15) & ~std::size_t{15};
  const std::size_t room = small ? size : value_at + value_size;
  return guarded([&]() __attribute__((always_inline)) -> int {
    const auto with =
        [&]<std::size_t Room>(std::integral_constant<std::size_t, Room>) __attribute__((always_inline)) {
          using wait = value_wait<std::invoke_result_t<Make&>, Room>;
          const auto made = [&] {
            return wait(make, state, size, small ? wait::in_word : value_at, value, given);
          };
          detail::may_leave_frames(what, frame);
          if (deadline == SENNIT_NEVER)
            detail::leave_frames_by(
                [&] { return detail::block_by(made, c_value_continuation{function}, detail::no_state{}); });
          detail::leave_frames_by([&] {
            return detail::block(detail::timed_wait(made(), time_of(deadline)),
                                 c_value_continuation{function}, detail::no_state{});
          });
        };
    if (room == 0)
      with(std::integral_constant<std::size_t, 0>());
    else if (room <= 8)
      with(std::integral_constant<std::size_t, 8>());
    else if (room <= 16)
      with(std::integral_constant<std::size_t, 16>());
    else if (room <= 64)
      with(std::integral_constant<std::size_t, 64>());
    else if (room <= 512)
      with(std::integral_constant<std::size_t, 512>());
    else
      with(std::integral_constant<std::size_t, 2 * most_state>());
    return 0;
  });
}

}  // namespace sennit::inline v0_1::capi
