// The parts that local and parallel ports share. How a call proceeds: port_calls.hpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <optional>
#include <type_traits>
#include <utility>
#include <variant>

#include "sennit/detail/arch/inline.hpp"
#include "sennit/detail/cont/timed_wait.hpp"
#include "sennit/detail/rpc/port_calls.hpp"
#include "sennit/detail/timer/chrono.hpp"
#include "sennit/detail/timer/deadline.hpp"

namespace sennit::inline v0_1 {

/// Limits the requests that a server receives.
struct receive_options {
  /// The size in bytes of the largest request. The call of a larger one throws `std::system_error`
  /// (message_size), and no server receives it. Give all servers of a port the same limit.
  ///
  /// The size of a request is the result of `message_size(const Request&)`, which is found by
  /// argument-dependent lookup. It must not throw, nor block, because it is called under a lock. Without
  /// such a function, it is the size of all elements of a range, or else the size of the object.
  std::size_t largest = detail::any_size;
};

}  // namespace sennit::inline v0_1

namespace sennit::inline v0_1::detail {

/// What call() throws where there is no reply. `error`: what the server failed with, if it did.
[[noreturn, gnu::cold]] void throw_answer(call_phase what, std::exception_ptr& error);
/// What send() throws where a request was too large, or the wait has ended in another way.
[[noreturn, gnu::cold]] void throw_sending(call_phase what);

template <class Reply>
using reply_kept = std::conditional_t<std::is_void_v<Reply>, std::monostate, Reply>;

/// The members of sennit::port and sennit::local::port.
template <class Request, class Reply, class Policy>
class basic_port : public port_calls<Request, reply_kept<Reply>, Policy> {
  static_assert(std::is_object_v<Request> && std::is_nothrow_move_constructible_v<Request>,
                "a request is moved from the caller to the server, under a lock: that must not throw");
  static_assert(std::is_void_v<Reply> ||
                    (std::is_object_v<Reply> && std::is_nothrow_move_constructible_v<Reply>),
                "a reply is moved from the server to the caller, under a lock: that must not throw");
  using calls = port_calls<Request, reply_kept<Reply>, Policy>;
  using typename calls::state;

protected:
  using typename calls::record;

public:
  using typename calls::incoming;

  /// How a call ended that was made without a stack.
  class answer {
  public:
    /// Returns the reply, which is moved, or throws what call() throws. Call it once. Throws
    /// `std::system_error` with timed_out after a deadline, and with operation_canceled after a stop.
    Reply get() { return result_of(state_); }

  private:
    friend basic_port;
    explicit answer(state&& is) noexcept : state_(std::move(is)) {}
    state state_;
  };

  /// How a send() ended that was made without a stack.
  class sending_result {
  public:
    /// \returns whether a server has the request; or throws what send() throws
    bool get() const {
      if (how_ == call_phase::too_large || how_ >= call_phase::late) [[unlikely]]
        throw_sending(how_);
      return how_ != call_phase::closed;
    }

  private:
    friend basic_port;
    explicit sending_result(call_phase how) noexcept : how_(how) {}
    call_phase how_;
  };

  /// Sends a request to a server, waits for its reply and returns it.
  ///
  /// \throws the exception with which the server failed
  /// \throws std::system_error with broken_pipe if the port is closed, connection_reset if the server ended
  ///   without an answer, message_size if the request is larger than the server's limit
  SENNIT_INLINE Reply call(Request request) {
    record mine(*this, call_phase::asked, std::move(request));
    this->transact(mine, never);
    return result_of(mine.at);
  }
  /// Like call(), but gives up at a deadline. Returns a `std::optional<Reply>`, which is empty if the
  /// deadline passed first; if Reply is void, a bool, which is false then. A server may have the request
  /// even so, and its answer is dropped.
  auto call_until(Request request, std::chrono::steady_clock::time_point deadline) {
    record mine(*this, call_phase::asked, std::move(request));
    this->transact(mine, deadline);
    if constexpr (std::is_void_v<Reply>) {
      if (mine.at.has_ended())
        result_of(mine.at);
      return mine.at.has_ended();
    } else {
      return mine.at.has_ended() ? std::optional<Reply>(result_of(mine.at)) : std::nullopt;
    }
  }
  /// Like call_until(), but gives up after a duration.
  template <class Rep, class Period>
  auto call_for(Request request, std::chrono::duration<Rep, Period> time) {
    return call_until(std::move(request), deadline_after(time));
  }
  /// Sends a request without a reply: waits until a server has received it.
  ///
  /// \returns false if the port is closed
  /// \throws std::system_error with message_size if the request is larger than the server's limit
  bool send(Request request) {
    record mine(*this, call_phase::sent, std::move(request));
    this->transact(mine, never);
    return sending_result(mine.at.phase()).get();
  }

  /// Waits for the next request, in the order in which they came.
  ///
  /// \returns an empty incoming if the port is closed and no earlier call is left
  incoming receive(receive_options options = {}) { return receive_until(never, options); }
  /// Like receive(), but gives up at a deadline. The incoming is then empty.
  incoming receive_until(std::chrono::steady_clock::time_point deadline, receive_options options = {}) {
    incoming next = this->nothing_yet(options.largest);
    this->receive_by(next, deadline);
    return next;
  }

  /// Answers one request and receives the next, in one step. If Reply is void, pass {}.
  ///
  /// \returns false if the port is closed and no earlier call is left; `served` is empty then
  SENNIT_INLINE bool reply_and_receive(incoming& served, reply_kept<Reply> value,
                                       receive_options options = {}) {
    return this->answer_and_receive(served, std::move(value), options.largest);
  }

  /// Serves requests until the port is closed: `handler(Request)` returns the reply, and its exceptions are
  /// thrown to the caller. Any number of fibers may serve a port. When the last of them is unwound (by a
  /// stop or its runtime's end) or killed by a fault, the port is closed.
  template <class Handler>
  void serve(Handler handler, receive_options options = {}) {
    typename calls::service here(*this, options.largest);
    incoming& next = here.next;
    std::exception_ptr error;  // null at the loop's head
    this->receive_by(next, never);
    while (next) {
      try {
        if constexpr (std::is_void_v<Reply>) {
          handler(std::move(*next));
          reply_and_receive(next, {}, options);
        } else {
          reply_and_receive(next, handler(std::move(*next)), options);
        }
        continue;
      } catch (const forced_unwind&) {
        throw;
      } catch (...) {
        error = std::current_exception();
      }
      next.fail(std::exchange(error, nullptr));
      next = receive(options);
    }
  }

  /// Serves requests until the port is closed, without switches: callers run `handler(Request)` themselves,
  /// as a part of their own fibers, any number at a time. A call's deadline does not end the handler.
  /// Returns when the last such call has ended. No other fiber may serve the port meanwhile.
  template <class Handler>
  void serve_in_callers(Handler handler) {
    typename calls::procedure mine{[](void* of, Request&& request) -> reply_kept<Reply> {
                                     if constexpr (std::is_void_v<Reply>)
                                       return (*static_cast<Handler*>(of))(std::move(request)),
                                              std::monostate{};
                                     else
                                       return (*static_cast<Handler*>(of))(std::move(request));
                                   },
                                   __builtin_addressof(handler)};
    typename calls::lending here(*this, mine);
    for (incoming early = this->nothing_yet(); this->receive_early(early);) {  // earlier callers
      try {
        early.reply(mine.run(mine.handler, std::move(*early)));
      } catch (const forced_unwind&) {
        throw;
      } catch (...) {
        early.fail(std::current_exception());
      }
    }
    here.wait();
  }

  /// call() without a stack, for become(), whose function gets an `answer`.
  auto calling(Request request) noexcept { return call_wait<answer>(*this, std::move(request)); }
  /// send() without a stack, for become(), whose function gets a `sending_result`.
  auto sending(Request request) noexcept { return call_wait<sending_result>(*this, std::move(request)); }
  /// receive() without a stack, for become(), whose function gets an `incoming`.
  auto receiving(receive_options options = {}) noexcept { return receive_wait(*this, options); }
  /// call_until() without a stack, for become(). After the deadline, the get() of the `answer` throws
  /// `std::system_error` with timed_out.
  auto calling_until(Request request, std::chrono::steady_clock::time_point deadline) noexcept {
    return timed_wait(calling(std::move(request)), deadline);
  }
  /// Like sending(), but gives up at a deadline. The get() of the `sending_result` then throws
  /// `std::system_error` with timed_out.
  auto sending_until(Request request, std::chrono::steady_clock::time_point deadline) noexcept {
    return timed_wait(sending(std::move(request)), deadline);
  }
  /// receive_until() without a stack, for become(), whose function gets an `incoming`.
  auto receiving_until(std::chrono::steady_clock::time_point deadline,
                       receive_options options = {}) noexcept {
    return timed_wait(receiving(options), deadline);
  }

private:
  template <class>
  friend class fault_dispatcher;
  template <class Result>
  class call_wait : public continuation_wait {
    static constexpr bool wants_answer = std::is_same_v<Result, answer>;

  public:
    static constexpr const char* reason = "port call";
    SENNIT_OBJECT_AT(call_wait, record_)  // whose first member is the port's address
    call_wait(basic_port& at, Request&& request) noexcept
        : record_(at, wants_answer ? call_phase::asked : call_phase::sent, std::move(request)) {}
    fiber* file(fiber& f) noexcept {
      Policy::prepare(f, reason);
      return calls::template file_call<wants_answer>(record_, f, f);
    }
    bool file(fiber& f, waiter& me) noexcept {
      Policy::prepare(f, reason);
      return calls::template file_call<wants_answer>(record_, me, f) != nullptr;
    }
    bool has_usual_end() const noexcept { return record_.at.phase() == call_phase::replied; }
    bool leave(waiter& me) noexcept { return calls::leave_call(record_, me); }
    bool withdraw(fiber& f) noexcept { return leave(f); }
    auto bring(fiber_status why) noexcept {
      calls::finish_call(record_, why);
      brought made{answer(std::move(record_.at)), static_cast<basic_port*>(record_.port)};
      record_.at.go_to(call_phase::received);
      return made;
    }
    Result end(fiber&, std::uintptr_t, fiber_status why) { return bring(why).get(); }

  private:
    struct brought {
      answer ended;
      basic_port* at;
      decltype(auto) get() {
        if (ended.state_.phase() == call_phase::entered) [[unlikely]]
          at->run_lent(ended.state_);
        if constexpr (wants_answer)
          return std::move(ended);
        else
          return sending_result(ended.state_.phase());
      }
    };
    record record_;
  };

  class receive_wait : public continuation_wait {
  public:
    static constexpr const char* reason = calls::receive_reason;
    SENNIT_OBJECT_AT(receive_wait, next_)  // next_ begins with the port's address
    receive_wait(basic_port& at, receive_options options) noexcept : next_(at.nothing_yet(options.largest)) {}
    fiber* file(fiber& f) noexcept {
      Policy::prepare(f, reason);
      return calls::file_receive(next_, f, f);
    }
    bool file(fiber& f, waiter& me) noexcept {
      Policy::prepare(f, reason);
      return calls::file_receive(next_, me, f) != nullptr;
    }
    bool has_usual_end() const noexcept { return bool(next_); }
    bool leave(waiter& me) noexcept { return calls::leave_receive(next_, me); }
    bool withdraw(fiber& f) noexcept { return leave(f); }
    auto bring(fiber_status) noexcept { return brought{std::move(next_)}; }
    incoming end(fiber&, std::uintptr_t, fiber_status) noexcept { return std::move(next_); }

  private:
    struct brought {
      incoming next;
      incoming&& get() noexcept { return std::move(next); }
    };
    incoming next_;
  };

  SENNIT_INLINE static Reply result_of(state& of) {
    if (of.phase() != call_phase::replied) [[unlikely]]
      throw_answer(of.phase(), of.error());
    if constexpr (!std::is_void_v<Reply>)
      return std::move(of.reply());
  }
};

}  // namespace sennit::inline v0_1::detail
