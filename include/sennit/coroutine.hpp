// sennit::coroutine: a function that stops in the middle, hands a value out, and goes on with another.
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
#include <memory>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>

#include "sennit/detail/arch/inline.hpp"
#include "sennit/detail/arch/word.hpp"
#include "sennit/detail/coro/coroutine_frame.hpp"

namespace sennit {

template <class Signature>
class coroutine;

// `Out operator()(In)` resumes the body with a value and returns what it yields next, or what it returns.
//
//   body     any callable Out f(coroutine::handle& self, In first). `self.yield(out)` hands `out` to the
//            caller and returns the In of the next call.
//   errors   Construction throws std::system_error when memory or mappings ran out. What the body throws
//            comes out of the call that resumed it; the coroutine is then done.
//   done()   after the body returned or threw. Calling a coroutine that is done, that is running (in its own
//            body, or on another thread), or that was moved from, is a misuse (asserted).
//   stack    Bytes, as spawn_options::stack_size; or a std::span<std::byte>, 16-aligned, of 1 KiB at least,
//            which has no guard and is the coroutine's until that is destroyed.
//   end      Destroying a coroutine that is not done unwinds its body (see generator).
//   threads  May be handed from one thread to another between two calls.
//
// Out and In are objects, or there is no In: `Out()`. Each is moved once; what the body returns, twice.
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
      return reinterpret_cast<std::uintptr_t>(std::addressof(value));
  }
  template <class T>
  SENNIT_INLINE static T accept(std::uintptr_t word) {
    if constexpr (detail::fits_word<T>)
      return detail::from_word<T>(word);
    else
      return std::move(*reinterpret_cast<T*>(word));
  }

public:
  // What the body sees of its coroutine.
  class handle {
  public:
    handle(const handle&) = delete;
    handle& operator=(const handle&) = delete;

    // Hands `out` to the caller; returns what the next call brings.
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

  template <class Body>
    requires(!std::same_as<std::remove_cvref_t<Body>, coroutine>)
  explicit coroutine(Body&& body, detail::stack_wish stack = detail::default_stack_size)
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

  coroutine(coroutine&& other) noexcept : frame_(std::exchange(other.frame_, nullptr)) {}
  // `other` is empty afterwards. The coroutine that this was ends as by the destructor.
  coroutine& operator=(coroutine&& other) noexcept {
    coroutine taken(std::move(other));
    std::swap(frame_, taken.frame_);
    return *this;
  }
  ~coroutine() {
    if (frame_ == nullptr)
      return;
    if (!done())
      detail::coroutine_unwind(*frame_);
    detail::coroutine_give(*frame_);
  }

  Out operator()(In... in) {
    if constexpr (takes_nothing)
      return resume(0);
    else
      return resume((hand(in), ...));
  }

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
      } catch (...) {  // also the unwinding of the fiber that the body ran in: it goes on in its resumer
        detail::coroutine_fail(frame, std::current_exception());
      }
    }
    detail::payload_destroy<Body>(frame);
    detail::action_ends(frame);
  }

  detail::coroutine_frame* frame_;
};

}  // namespace sennit
