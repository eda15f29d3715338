// sennit::generator: a range whose elements a function yields, from any depth of calls.
// room: coro
//
//   sennit::generator<int> evens([](auto& yield) {
//     for (int i = 0; i < 10; ++i)
//       yield(42 + i * 2);
//   });
//   for (int even : evens)
//     std::cout << even << '\n';
//
// Source: Dolan 2013, section 4 (C++ generators via continuations).
#pragma once

#include <cassert>
#include <cstddef>
#include <iterator>
#include <ranges>
#include <span>
#include <type_traits>
#include <utility>

#include "sennit/detail/arch/inline.hpp"
#include "sennit/detail/arch/word.hpp"
#include "sennit/detail/coro/coroutine_frame.hpp"

namespace sennit::inline v0_1 {

namespace detail {

// How an element goes from the body to the consumer: in the register, or as the address of the yielded
// object, which lives until the body is resumed.
template <class T>
struct element {
  static constexpr bool in_register = fits_word<T>;
  using value_type = std::remove_cvref_t<T>;
  using reference = std::conditional_t<in_register || std::is_reference_v<T>, T, T&&>;

  SENNIT_INLINE static std::uintptr_t pack(std::add_rvalue_reference_t<T> item) noexcept {
    if constexpr (in_register)
      return to_word<T>(item);
    else
      return reinterpret_cast<std::uintptr_t>(__builtin_addressof(item));
  }

  SENNIT_INLINE static reference unpack(std::uintptr_t word) noexcept {
    if constexpr (in_register)
      return from_word<T>(word);
    else
      return static_cast<reference>(*reinterpret_cast<std::add_pointer_t<std::remove_reference_t<T>>>(word));
  }
};

}  // namespace detail

/// A C++20 input range of the values that its body yields. Move-only. The body runs on a stack of its own,
/// in the thread that iterates. It starts at begin(). Unlike `std::generator`, the body may yield from any
/// depth of calls.
///
/// - Element type T: for a reference type the consumer sees that reference; for a trivial value of at most
///   8 bytes, a copy; otherwise `T&&`, so that move-only values can be moved out.
/// - Errors: an exception that leaves the body leaves begin() or `++`, and the range is then at its end.
/// - Misuse, asserted: `*` and `++` at the end, and any use of a generator that was moved from, except to
///   assign or to destroy it.
/// - End: to destroy a generator before its end unwinds the body, so that its destructors run. A `catch
///   (...)` in the body must rethrow. If the body yields again instead, the program ends with a message. No
///   function from which the body yields may be noexcept, or a C function without unwind tables
///   (`std::terminate()`).
/// - Threads: a generator may pass from one thread to another between two increments. It is not
///   synchronized.
/// - Cost: two context switches for an element, however deep in calls, or in generators within generators
///   (yield_all()), the body yields.
///
/// Source: Dolan 2013, section 4.
template <class T>
class [[nodiscard]] generator : public std::ranges::view_interface<generator<T>> {
  using element = detail::element<T>;

public:
  /// The type of the elements, without reference.
  using value_type = typename element::value_type;
  /// What `*` returns: T if it is a reference or a small trivial type, otherwise `T&&`.
  using reference = typename element::reference;

  /// Passes elements from the body to the consumer. It belongs to the body while that runs. Do not copy or
  /// keep it.
  class yielder {
  public:
    yielder(const yielder&) = delete;
    yielder& operator=(const yielder&) = delete;

    /// Passes an element to the consumer, and returns when the next one is wanted. If the generator is
    /// destroyed, it throws an exception that unwinds the body.
    SENNIT_INLINE void operator()(std::add_rvalue_reference_t<T> item) {
      back_.leave(element::pack(static_cast<std::add_rvalue_reference_t<T>>(item)));
    }
    /// Passes a copy of an element to the consumer.
    SENNIT_INLINE void operator()(const value_type& item)
      requires(!std::is_reference_v<T> && std::copy_constructible<value_type>)
    {
      value_type copy(item);
      (*this)(std::move(copy));
    }

    /// Yields all elements of another generator. They go to the consumer directly, whatever the depth of
    /// nesting.
    void yield_all(generator&& inner) {
      assert(inner.frame_ != nullptr && "sennit: a generator that was moved from was yielded");
      generator held(std::move(inner));
      detail::coroutine_frame& frame = *held.frame_;
      if (done(frame))
        return;
      detail::resume_as how = detail::resume_as::same;
      if (std::exchange(frame.state, detail::coroutine_state::active) == detail::coroutine_state::active) {
        (*this)(current(frame));  // its current element has not been taken yet
        how = detail::resume_as::changed;
      }
      while (advance_inner(frame, how)) {
        (*this)(current(frame));  // from a generator that `inner` was inside of before: it yields to `inner`
        how = detail::resume_as::changed;
      }
    }

    /// Yields the elements of any other range.
    template <std::ranges::input_range Range>
      requires std::convertible_to<std::ranges::range_reference_t<Range>, reference>
    void yield_all(Range&& range) {
      for (auto&& item : range)
        (*this)(static_cast<reference>(std::forward<decltype(item)>(item)));
    }

  private:
    friend generator;
    explicit yielder(detail::coroutine_frame& frame) : back_(frame) {}

    // While `inner` runs, it yields to our resumer.
    bool advance_inner(detail::coroutine_frame& inner, detail::resume_as how) {
      inner.root = &back_.root();
      const sennit_transfer got =
          detail::coroutine_resume(inner, reinterpret_cast<std::uintptr_t>(&inner), how);
      inner.root = &inner;
      inner.mail[0] = got.value;
      back_.look();
      if (got.from != nullptr)
        return true;
      finish(inner);
      return false;
    }

    detail::way_back back_;
  };

  /// An input iterator.
  class iterator {
  public:
    /// The type of the elements, without reference.
    using value_type = generator::value_type;
    /// Required of iterators.
    using difference_type = std::ptrdiff_t;

    /// The current element. It lives until the next increment.
    ///
    /// \pre The iterator is not at the end.
    SENNIT_INLINE reference operator*() const {
      assert(has_element() && "sennit: * on a generator that is at its end");
      return current(*frame_);
    }
    /// Resumes the body until its next element or its end. Throws what the body throws.
    ///
    /// \pre The iterator is not at the end.
    SENNIT_INLINE iterator& operator++() {
      assert(has_element() && "sennit: ++ on a generator that is at its end");
      // The body ignores the word; this one is at hand.
      if (!advance(*frame_, frame_->mail[0])) [[unlikely]]
        finish(*std::exchange(frame_, nullptr));
      return *this;
    }
    /// Like `++iterator`.
    SENNIT_INLINE void operator++(int) { ++*this; }
    /// \returns whether the iterator is at the end
    SENNIT_INLINE friend bool operator==(const iterator& left, std::default_sentinel_t) {
      return left.at_end();
    }

  private:
    friend generator;
    explicit iterator(detail::coroutine_frame* frame) : frame_(frame) {}
    SENNIT_INLINE bool at_end() const { return frame_ == nullptr; }
    // Not so of a copy, either, that another one has left behind at the end.
    bool has_element() const { return !at_end() && !done(*frame_); }
    detail::coroutine_frame* frame_;  // null at the end
  };

  /// A generator with a body, any callable `f(generator<T>::yielder&)`. The body is moved to the
  /// generator's stack, or to the heap if it is larger than 96 bytes. It does not start yet.
  ///
  /// `stack` is a size in bytes, as spawn_options::stack_size, or a `std::span<std::byte>`, 16-aligned and
  /// of at least 1 KiB. Such memory has no guard, and is in use until the generator is destroyed.
  ///
  /// \throws std::system_error if memory or mappings are exhausted
  template <class Body>
    requires(!std::same_as<std::remove_cvref_t<Body>, generator>) &&
            std::invocable<std::decay_t<Body>&, yielder&>
  SENNIT_INLINE explicit generator(Body&& body, detail::stack_request stack = detail::default_stack_size)
      : frame_(&detail::coroutine_take(stack)) {
    using body_type = std::decay_t<Body>;
    frame_->action = run<body_type>;
    store<body_type>(std::forward<Body>(body));
    frame_->state = detail::coroutine_state::ready;
  }

  /// Takes the body over from `other`, which is empty afterwards.
  generator(generator&& other) noexcept : frame_(std::exchange(other.frame_, nullptr)) {}
  /// Takes the body over from `other`, which is empty afterwards. The former body ends as by the
  /// destructor.
  generator& operator=(generator&& other) noexcept {
    generator taken(std::move(other));
    std::swap(frame_, taken.frame_);
    return *this;
  }
  /// Unwinds the body if it has started and not ended, and releases the stack.
  SENNIT_INLINE ~generator() {
    if (frame_ == nullptr)
      return;
    if (!done(*frame_)) [[unlikely]]
      detail::coroutine_unwind(*frame_);
    detail::coroutine_give(*frame_);
  }

  /// Starts the body and runs it to its first element. Call it once. Throws what the body throws.
  SENNIT_INLINE iterator begin() {
    assert(frame_ != nullptr && "sennit: begin() of a generator that was moved from");
    if (frame_->state == detail::coroutine_state::ready) {
      frame_->state = detail::coroutine_state::active;
      if (!advance(*frame_, reinterpret_cast<std::uintptr_t>(frame_)))
        finish(*frame_);
    }
    return iterator(done(*frame_) ? nullptr : frame_);
  }
  /// The end of the range.
  std::default_sentinel_t end() const noexcept { return {}; }

private:
  friend yielder;

  template <class Body, class Function>
  SENNIT_INLINE void store(Function&& function) {
    if constexpr (noexcept(detail::payload_store<Body>(*frame_, std::forward<Function>(function)))) {
      detail::payload_store<Body>(*frame_, std::forward<Function>(function));
    } else {
      try {
        detail::payload_store<Body>(*frame_, std::forward<Function>(function));
      } catch (...) {
        detail::coroutine_give(*frame_);
        throw;
      }
    }
  }

  // The action: on the coroutine's stack.
  template <class Body>
  static void run(detail::coroutine_frame& frame) noexcept {
    if (frame.state != detail::coroutine_state::unwinding) {
      try {
        yielder yield(frame);
        detail::payload_get<Body>(frame)(yield);
      } catch (...) {  // also the unwinding of the body's fiber, which continues in its resumer
        detail::coroutine_fail(frame, std::current_exception());
      }
    }
    detail::payload_destroy<Body>(frame);
    detail::action_ends(frame);
  }

  SENNIT_INLINE static reference current(detail::coroutine_frame& frame) {
    return element::unpack(frame.mail[0]);
  }
  SENNIT_INLINE static bool done(detail::coroutine_frame& frame) {
    return frame.state == detail::coroutine_state::idle;
  }

  // Returns whether there is an element.
  SENNIT_INLINE static bool advance(detail::coroutine_frame& frame, std::uintptr_t word) {
    const sennit_transfer got = detail::coroutine_resume(frame, word, detail::resume_as::same);
    if (got.from == nullptr) [[unlikely]]
      return false;
    frame.mail[0] = got.value;
    return true;
  }

  static void finish(detail::coroutine_frame& frame) {
    if (frame.error != nullptr)
      detail::coroutine_rethrow(frame);
  }

  detail::coroutine_frame* frame_;
};

}  // namespace sennit::inline v0_1

template <class T>
inline constexpr bool std::ranges::enable_view<sennit::generator<T>> = true;
