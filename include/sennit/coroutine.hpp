// sennit::coroutine: a function that passes values to its caller, suspends, and resumes with values of its
// caller.
// room: coro
//
//   sennit::coroutine<int(int)> sum([](auto& self, int first) {
//     int total = first;
//     for (;;)
//       total += self.yield(total);
//     return total;
//   });
//   sum(1);  // 1
//   sum(2);  // 3
//   sum(3);  // 6
//
// Source: Dolan 2013, sections 3.1 (values both ways) and 4.
#pragma once

#include <cassert>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <optional>
#include <span>
#include <tuple>
#include <type_traits>
#include <utility>

#include "sennit/detail/arch/inline.hpp"
#include "sennit/detail/arch/word.hpp"
#include "sennit/detail/coro/coroutine_frame.hpp"

namespace sennit::inline v0_1 {

template <class Signature>
class coroutine;

/// A stackful coroutine: `Out operator()(In)` resumes the body with a value and returns what it yields
/// next, or what it returns. Move-only. It is not scheduled, and the body runs in the thread that calls it,
/// on a stack of its own.
///
/// - Types: Out and In are object types, or there is no In: `Out()`. Each value is moved once; what the
///   body returns, twice.
/// - Errors: an exception that leaves the body leaves the call that resumed it. The coroutine is then done.
/// - Misuse, asserted: to call a coroutine that is done, that is running in its own body or on another
///   thread, or that was moved from.
/// - End: to destroy a coroutine that is not done unwinds its body; see generator.
/// - Threads: it may pass from one thread to another between two calls. It is not synchronized.
///
/// Source: Dolan 2013, sections 3.1 and 4.
template <class Out, class... In>
  requires std::is_object_v<Out> && (sizeof...(In) <= 1) && (std::is_object_v<In> && ...)
class [[nodiscard]] coroutine<Out(In...)> {
  static constexpr bool takes_nothing = sizeof...(In) == 0;
  using in_type = std::tuple_element_t<0, std::tuple<In..., void>>;

  // Values go as words: themselves where that is possible, else their address.
  template <class T>
  SENNIT_INLINE static std::uintptr_t hand(T& value) noexcept {
    if constexpr (detail::fits_word<T>)
      return detail::to_word(value);
    else
      return reinterpret_cast<std::uintptr_t>(__builtin_addressof(value));
  }
  template <class T>
  SENNIT_INLINE static T accept(std::uintptr_t word) {
    if constexpr (detail::fits_word<T>)
      return detail::from_word<T>(word);
    else
      return std::move(*reinterpret_cast<T*>(word));
  }

public:
  /// The coroutine as its body sees it. Do not copy or keep it.
  class handle {
  public:
    handle(const handle&) = delete;
    handle& operator=(const handle&) = delete;

    /// Passes a value to the caller, and returns the value of the next call. If the coroutine is destroyed,
    /// it throws an exception that unwinds the body. It may be called at any depth of calls.
    SENNIT_INLINE in_type yield(Out out) { return take(back_.leave(hand(out))); }

  private:
    friend coroutine;
    explicit handle(detail::coroutine_frame& frame) : back_(frame) {}
    SENNIT_INLINE static in_type take(std::uintptr_t word) {
      if constexpr (!takes_nothing)
        return accept<in_type>(word);
    }
    detail::way_back back_;
  };

  /// A coroutine with a body, any callable `Out f(coroutine::handle& self, In first)`. The body starts at
  /// the first call.
  ///
  /// `stack` is a size in bytes, as spawn_options::stack_size, or a `std::span<std::byte>`, 16-aligned and
  /// of at least 1 KiB. Such memory has no guard, and is in use until the coroutine is destroyed.
  ///
  /// \throws std::system_error if memory or mappings are exhausted
  template <class Body>
    requires(!std::same_as<std::remove_cvref_t<Body>, coroutine>)
  explicit coroutine(Body&& body, detail::stack_request stack = detail::default_stack_size)
      : frame_(&detail::coroutine_take(stack)) {
    using body_type = std::decay_t<Body>;
    try {
      detail::payload_store<body_type>(*frame_, std::forward<Body>(body));
    } catch (...) {
      detail::coroutine_give(*frame_);
      throw;
    }
    frame_->action = run<body_type>;
    frame_->state = detail::coroutine_state::ready;
  }

  /// Takes the body over from `other`, which is empty afterwards.
  coroutine(coroutine&& other) noexcept : frame_(std::exchange(other.frame_, nullptr)) {}
  /// Takes the body over from `other`, which is empty afterwards. The former body ends as by the
  /// destructor.
  coroutine& operator=(coroutine&& other) noexcept {
    coroutine taken(std::move(other));
    std::swap(frame_, taken.frame_);
    return *this;
  }
  /// Unwinds the body if it is not done, and releases the stack.
  ~coroutine() {
    if (frame_ == nullptr)
      return;
    if (!done())
      detail::coroutine_unwind(*frame_);
    detail::coroutine_give(*frame_);
  }

  /// Resumes the body with a value. Returns what it yields or returns, or throws what it throws.
  ///
  /// \pre The coroutine is neither done nor running.
  Out operator()(In... in) {
    if constexpr (takes_nothing)
      return resume(0);
    else
      return resume((hand(in), ...));
  }

  /// \returns whether the body has returned or thrown
  bool done() const noexcept {
    assert(frame_ != nullptr && "sennit: done() of a coroutine that was moved from");
    return frame_->state == detail::coroutine_state::idle;
  }

private:
  SENNIT_INLINE Out resume(std::uintptr_t in) {
    assert(frame_ != nullptr && "sennit: a coroutine that was moved from was called");
    assert(!done() && "sennit: a coroutine that is done was called");
    [[maybe_unused]] std::conditional_t<detail::fits_word<Out>, nothing, std::optional<Out>> result;
    if constexpr (!detail::fits_word<Out>)
      result_of(*frame_) = reinterpret_cast<std::uintptr_t>(&result);
    std::uintptr_t word = in;
    if (frame_->state == detail::coroutine_state::ready) {
      frame_->state = detail::coroutine_state::active;
      first_of(*frame_) = in;
      word = reinterpret_cast<std::uintptr_t>(frame_);
    }
    const sennit_transfer got = detail::coroutine_resume(*frame_, word, detail::resume_as::same);
    if (got.from != nullptr) [[likely]]
      return accept<Out>(got.value);
    if (frame_->error != nullptr)
      detail::coroutine_rethrow(*frame_);
    if constexpr (detail::fits_word<Out>)
      return detail::from_word<Out>(result_of(*frame_));
    else
      return std::move(*result);
  }

  struct nothing {};
  // The first call's argument; and the body's result, or where it goes: an optional on the caller's stack.
  static std::uintptr_t& first_of(detail::coroutine_frame& frame) { return frame.mail[0]; }
  static std::uintptr_t& result_of(detail::coroutine_frame& frame) { return frame.mail[1]; }

  template <class Body>
  SENNIT_INLINE static Out start(Body& body, handle& self, detail::coroutine_frame& frame) {
    if constexpr (takes_nothing)
      return body(self);
    else
      return body(self, handle::take(first_of(frame)));
  }

  template <class Body>
  static void run(detail::coroutine_frame& frame) noexcept {
    if (frame.state != detail::coroutine_state::unwinding) {
      try {
        handle self(frame);
        Body& body = detail::payload_get<Body>(frame);
        Out out = start(body, self, frame);
        if constexpr (detail::fits_word<Out>)
          result_of(frame) = detail::to_word(out);
        else  // looked up now: each call has a place of its own
          reinterpret_cast<std::optional<Out>*>(result_of(frame))->emplace(std::move(out));
      } catch (...) {  // also the unwinding of the body's fiber, which continues in its resumer
        detail::coroutine_fail(frame, std::current_exception());
      }
    }
    detail::payload_destroy<Body>(frame);
    detail::action_ends(frame);
  }

  detail::coroutine_frame* frame_;
};

}  // namespace sennit::inline v0_1
