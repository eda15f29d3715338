// Exception servers of either kind of runtime.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <type_traits>
#include <utility>

#include "sennit/detail/cont/timed_wait.hpp"
#include "sennit/detail/rpc/fault_dispatcher.hpp"
#include "sennit/detail/timer/chrono.hpp"
#include "sennit/local/scope.hpp"
#include "sennit/scope.hpp"

namespace sennit::inline v0_1::detail {

/// The members of sennit::exception_server and sennit::local::exception_server.
template <class Policy>
class basic_exception_server {
  using dispatcher = fault_dispatcher<Policy>;

public:
  /// A fault that was received, and whose fiber waits. While it lives, faults of the fiber that has
  /// received it are not served. So it stays in the frame that received it.
  class fault {
  public:
    /// Passes the fault on if it has no reply.
    ~fault() { reply(verdict::pass); }
    fault(const fault&) = delete;
    fault& operator=(const fault&) = delete;

    /// \returns false if no fault was received: the deadline passed, a stop was requested, or the server is
    ///   closed. The other members must not be used then.
    explicit operator bool() const noexcept { return received_; }
    /// The kind of the fault.
    fault_kind kind() const noexcept { return report_.kind; }
    /// The address that was accessed; for fault_kind::instruction and arithmetic, that of the instruction.
    /// Null if the processor does not report it.
    void* address() const noexcept { return report_.address; }
    /// The name of the fiber, or an empty string.
    std::string_view fiber() const noexcept { return report_.fiber; }
    /// Whether the fiber has given up its stack (restartable()). Then it does not repeat the instruction, and
    /// changes of the registers have no effect.
    bool stackless() const noexcept { return report_.stackless; }
    /// The registers with which the fiber resumes, if it resumes. They may be changed.
    machine_registers& registers() noexcept { return report_.registers; }
    /// Decides what happens to the fiber. Call it once. It has no effect if the fiber has been unwound
    /// meanwhile because its runtime ends.
    void reply(verdict answer) noexcept {
      if (call_)
        call_.reply({answer, report_.registers});
    }

  private:
    friend basic_exception_server;
    fault(const std::shared_ptr<dispatcher>& of, time_point deadline) : of_(of), call_(of_->nothing_yet()) {
      fault_fill_reserve();
      of_->receive(call_, deadline);
      note();
    }
    // For a receiver that waited without a stack.
    fault(std::shared_ptr<dispatcher>&& of, typename dispatcher::incoming&& call) noexcept
        : of_(std::move(of)), call_(std::move(call)) {
      note();
    }
    void note() noexcept {
      received_ = bool(call_);
      if (received_)
        report_ = *call_;
      else
        report_ = {};
    }

    const std::shared_ptr<dispatcher> of_;
    typename dispatcher::incoming call_;
    bool received_;
    fault_report report_;
    const hook_of_fiber unserved_hook_{unserved};
  };

  /// Makes a server without guards.
  basic_exception_server() : dispatcher_(std::make_shared<dispatcher>()) {}
  /// Closes the server. Fibers may still be returning from receive(), and fibers that it serves may
  /// continue to exist.
  ~basic_exception_server() { close(); }
  basic_exception_server(const basic_exception_server&) = delete;
  basic_exception_server& operator=(const basic_exception_server&) = delete;

  /// Waits for a fault. Only fibers may call it. Throws sennit::cancelled if a stop_guard ends the wait.
  /// The result is empty if the server is closed.
  fault receive() { return receive_until(never); }
  /// Like receive(), but gives up at a deadline. The result is then empty.
  fault receive_until(std::chrono::steady_clock::time_point deadline) { return fault(dispatcher_, deadline); }
  /// receive() without a stack, for become(). The fault belongs to the function's call and cannot be kept,
  /// so that the function takes a reference:
  ///
  /// \code
  ///   sennit::continuation serve(pager* me, sennit::exception_server::fault&& fault) {
  ///     if (!fault)
  ///       return {};
  ///     fault.reply(me->fill(fault.address()) ? sennit::verdict::resume : sennit::verdict::pass);
  ///     return sennit::become(me->faults.receiving(), serve, me);
  ///   }
  /// \endcode
  auto receiving() noexcept {
    fault_fill_reserve();
    return receive_wait(dispatcher_);
  }
  /// receive_until() without a stack, for become(). Otherwise like receiving().
  auto receiving_until(std::chrono::steady_clock::time_point deadline) noexcept {
    return timed_wait(receiving(), deadline);
  }
  /// Closes the server: waiting and later faults are passed on, and receivers get an empty fault. Faults
  /// that were received may still be answered. May be called again, by any fiber or thread; for a local
  /// server, on its thread.
  void close() noexcept { dispatcher_->close(); }

private:
  template <class>
  friend class basic_exception_guard;
  template <class>
  friend class basic_runtime_exception_guard;
  friend sennit::scope;
  friend local::scope;
  friend struct exception_server_access;
  std::shared_ptr<const fault_hook> for_scope() const {
    prepare_to_serve();
    return dispatcher_;
  }

  class receive_wait : public continuation_wait {
  public:
    static constexpr const char* reason = dispatcher::receive_reason;
    explicit receive_wait(const std::shared_ptr<dispatcher>& of) noexcept
        : of_(of), next_(of->nothing_yet()) {}
    bool file(fiber& f) noexcept { return file(f, f); }
    bool file(fiber& f, waiter& me) noexcept { return of_->file_receive(next_, f, me); }
    bool leave(waiter& me) noexcept { return dispatcher::leave_receive(next_, me); }
    bool withdraw(fiber& f) noexcept { return leave(f); }
    auto bring(fiber_status) noexcept { return brought{std::move(of_), std::move(next_)}; }
    fault end(fiber&, std::uintptr_t, fiber_status) noexcept {
      return fault(std::move(of_), std::move(next_));
    }

  private:
    struct brought {
      std::shared_ptr<dispatcher> of;
      typename dispatcher::incoming next;
      fault get() noexcept { return fault(std::move(of), std::move(next)); }
    };
    std::shared_ptr<dispatcher> of_;
    typename dispatcher::incoming next_;
  };

  const std::shared_ptr<dispatcher> dispatcher_;
};

/// The members of sennit::exception_guard and sennit::local::exception_guard.
template <class Policy>
class basic_exception_guard {
public:
  /// Sends the faults of the calling fiber to the server. Makes emergency stacks if there are too few.
  explicit basic_exception_guard(basic_exception_server<Policy>& server)
      : dispatcher_(server.dispatcher_), hook_(*dispatcher_) {}

private:
  const std::shared_ptr<fault_dispatcher<Policy>> dispatcher_;
  const hook_of_fiber hook_;
};

/// Calls the function, with a guard. See `sennit::guarded`.
template <class Policy, class Function>
decltype(auto) guarded(basic_exception_server<Policy>& server, Function&& function) {
  using result = std::invoke_result_t<Function&>;
  const basic_exception_guard<Policy> guard(server);
  if constexpr (std::is_void_v<result>) {
    auto run = [&] { function(); };  // which has an address that is no function's
    call_guarded([](void* f) { (*static_cast<decltype(run)*>(f))(); }, &run);
  } else {
    std::optional<result> value;
    auto keep = [&] { value.emplace(function()); };
    call_guarded([](void* f) { (*static_cast<decltype(keep)*>(f))(); }, &keep);
    return result(std::move(*value));
  }
}

/// The members of sennit::runtime_exception_guard and sennit::local::runtime_exception_guard.
template <class Policy>
class basic_runtime_exception_guard {
public:
  /// Sends the faults of the calling fiber's runtime to the server.
  explicit basic_runtime_exception_guard(basic_exception_server<Policy>& server)
      : hook_(server.dispatcher_) {}

private:
  const hook_of_runtime hook_;
};

}  // namespace sennit::inline v0_1::detail
