// The contents of a call from its beginning to its end: the request until a server has taken it, then the
// reply. They share their memory, because this lies in the descriptor if the caller has no stack.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <new>
#include <type_traits>
#include <utility>

namespace sennit::inline v0_1::detail {

enum class call_phase : std::uint8_t {
  asked,      // holds the request, and waits for its reply
  sent,       // holds the request, which is one way
  entered,    // holds the request: its caller runs the server's function
  closed,     // holds the request: the port was closed before a server took it
  too_large,  // holds the request: it is larger than its receiver's limit
  taken,      // a server has the request, and owes the answer
  received,   // a server has the request, and nothing is owed
  replied,    // holds the reply
  failed,     // holds what the server failed with
  abandoned,  // the server has gone without an answer
  late,       // its deadline has passed
  stopped,    // a stop was requested before it ended
};

template <class Request, class Reply>
class call_state {
public:
  call_state(call_phase begins, Request&& request) noexcept : phase_(begins), request_(std::move(request)) {}
  // The source holds the same phase. What is left in it may only be destroyed.
  call_state(call_state&& other) noexcept : phase_(other.phase_) {
    if constexpr (is_copied_as_bytes) {
      if (phase_ == call_phase::failed) [[unlikely]]
        ::new (static_cast<void*>(&error_)) std::exception_ptr(std::move(other.error_));
      else  // whatever there is: a test would cost more
        std::memcpy(static_cast<void*>(__builtin_addressof(request_)),
                    static_cast<const void*>(__builtin_addressof(other.request_)), value_bytes);
    } else if (holds_request())
      ::new (static_cast<void*>(__builtin_addressof(request_))) Request(std::move(other.request_));
    else if (phase_ == call_phase::replied)
      ::new (static_cast<void*>(__builtin_addressof(reply_))) Reply(std::move(other.reply_));
    else if (phase_ == call_phase::failed)
      ::new (static_cast<void*>(&error_)) std::exception_ptr(std::move(other.error_));
  }
  ~call_state() { destroy(); }

  call_phase phase() const noexcept { return phase_; }
  bool holds_request() const noexcept { return phase_ <= call_phase::too_large; }
  bool has_ended() const noexcept { return phase_ >= call_phase::closed && phase_ != call_phase::taken; }

  Request& request() noexcept { return request_; }
  Reply& reply() noexcept { return reply_; }
  std::exception_ptr& error() noexcept { return error_; }

  // Destroys the contents.
  void go_to(call_phase next) noexcept {
    destroy();
    phase_ = next;
  }
  // Like go_to(), for a call that holds no request.
  void leave_answer(call_phase next) noexcept {
    if (phase_ == call_phase::failed) [[unlikely]]
      error_.~exception_ptr();
    else if (phase_ == call_phase::replied)
      reply_.~Reply();
    phase_ = next;
  }
  // The request was moved from.
  void request_moved(call_phase next) noexcept {
    request_.~Request();
    phase_ = next;
  }
  // Keeps the request.
  void enter() noexcept { phase_ = call_phase::entered; }
  void refuse(call_phase why) noexcept { phase_ = why; }
  // It holds nothing.
  void reply_with(Reply&& value) noexcept {
    phase_ = call_phase::replied;
    ::new (static_cast<void*>(__builtin_addressof(reply_))) Reply(std::move(value));
  }
  void fail_with(std::exception_ptr&& error) noexcept {
    phase_ = call_phase::failed;
    ::new (static_cast<void*>(&error_)) std::exception_ptr(std::move(error));
  }

private:
  static constexpr std::size_t value_bytes = sizeof(Request) > sizeof(Reply) ? sizeof(Request)
                                                                             : sizeof(Reply);
  static constexpr bool is_copied_as_bytes = std::is_trivially_copyable_v<Request> &&
                                             std::is_trivially_copyable_v<Reply> &&
                                             value_bytes <= sizeof(void*);

  // One of them at most. (gcc takes it that a destructor may change the phase, and would warn of the next.)
  void destroy() noexcept {
    if (phase_ == call_phase::failed) [[unlikely]]
      error_.~exception_ptr();
    else if (holds_request())
      request_.~Request();
    else if (phase_ == call_phase::replied)
      reply_.~Reply();
  }

  call_phase phase_;
  union {
    Request request_;
    Reply reply_;
    std::exception_ptr error_;
  };
};

}  // namespace sennit::inline v0_1::detail
