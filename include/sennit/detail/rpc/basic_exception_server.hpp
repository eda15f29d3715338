// Exception servers of either kind of runtime.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <type_traits>
#include <utility>

#include "sennit/detail/cont/timed_wait.hpp"
#include "sennit/detail/rpc/exception_desk.hpp"
#include "sennit/local/scope.hpp"
#include "sennit/scope.hpp"

namespace sennit::detail {

template <class Waits>
class basic_exception_server {
  using desk = exception_desk<Waits>;

public:
  // A fault that was received, and waits. While it lives, the fiber that has received it is served by nobody;
  // so it stays where it is, in the frame that received it.
  class fault {
  public:
    ~fault() { reply(verdict::pass); }
    fault(const fault&) = delete;
    fault& operator=(const fault&) = delete;

    // False: none was received by the deadline, or before the stop, or the server is closed. It says nothing
    // then, and takes no reply.
    explicit operator bool() const noexcept { return received_; }
    fault_kind kind() const noexcept { return report_.kind; }
    // What was touched, or (fault_kind::instruction and arithmetic) the instruction's. Null where the
    // processor does not say.
    void* address() const noexcept { return report_.address; }
    // The name of the fiber, if it has one.
    std::string_view fiber() const noexcept { return report_.fiber; }
    // What the fiber goes on with, if it goes on. General registers and flags.
    machine_registers& registers() noexcept { return report_.registers; }
    // Once. Nothing happens if the fiber has left meanwhile, because its runtime ends.
    void reply(verdict answer) noexcept {
      if (call_)
        call_.reply({answer, report_.registers});
    }

  private:
    friend basic_exception_server;
    fault(const std::shared_ptr<desk>& of, time_point deadline) : of_(of), call_(of_->nothing_yet()) {
      fault_fill_reserve();
      of_->receive(call_, deadline);
      note();
    }
    // By who has waited for it without a stack.
    fault(std::shared_ptr<desk>&& of, typename desk::incoming&& call) noexcept
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

    const std::shared_ptr<desk> of_;
    typename desk::incoming call_;
    bool received_;
    fault_report report_;
    const hook_of_fiber nobody_{unserved};
  };

  basic_exception_server() : desk_(std::make_shared<desk>()) {}
  ~basic_exception_server() { close(); }
  basic_exception_server(const basic_exception_server&) = delete;
  basic_exception_server& operator=(const basic_exception_server&) = delete;

  fault receive() { return receive_until(never); }
  fault receive_until(std::chrono::steady_clock::time_point deadline) { return fault(desk_, deadline); }
  auto receiving() noexcept {
    fault_fill_reserve();
    return receive_wait(desk_);
  }
  auto receiving_until(std::chrono::steady_clock::time_point deadline) noexcept {
    return timed_wait(receiving(), deadline);
  }
  void close() noexcept { desk_->close(); }

private:
  template <class>
  friend class basic_exception_guard;
  template <class>
  friend class basic_runtime_exception_guard;
  friend sennit::scope;
  friend local::scope;
  std::shared_ptr<const fault_hook> for_scope() const {
    prepare_to_serve();
    return desk_;
  }

  class receive_wait : public continuation_wait {
  public:
    static constexpr const char* reason = desk::receive_reason;
    explicit receive_wait(const std::shared_ptr<desk>& of) noexcept : of_(of), next_(of->nothing_yet()) {}
    bool file(fiber& f) noexcept { return file(f, f); }
    bool file(fiber& f, waiter& me) noexcept { return of_->file_receive(next_, f, me); }
    bool leave(waiter& me) noexcept { return desk::leave_receive(next_, me); }
    bool withdraw(fiber& f) noexcept { return leave(f); }
    auto bring(fiber_status) noexcept { return brought{std::move(of_), std::move(next_)}; }
    fault end(fiber&, std::uintptr_t, fiber_status) noexcept {
      return fault(std::move(of_), std::move(next_));
    }

  private:
    struct brought {
      std::shared_ptr<desk> of;
      typename desk::incoming next;
      fault get() noexcept { return fault(std::move(of), std::move(next)); }
    };
    std::shared_ptr<desk> of_;
    typename desk::incoming next_;
  };

  const std::shared_ptr<desk> desk_;
};

template <class Waits>
class basic_exception_guard {
public:
  explicit basic_exception_guard(basic_exception_server<Waits>& server)
      : desk_(server.desk_), hook_(*desk_) {}

private:
  const std::shared_ptr<exception_desk<Waits>> desk_;
  const hook_of_fiber hook_;
};

// Calls the function, with a guard.
template <class Waits, class Function>
decltype(auto) guarded(basic_exception_server<Waits>& server, Function&& function) {
  using result = std::invoke_result_t<Function&>;
  const basic_exception_guard<Waits> guard(server);
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

template <class Waits>
class basic_runtime_exception_guard {
public:
  explicit basic_runtime_exception_guard(basic_exception_server<Waits>& server) : hook_(server.desk_) {}

private:
  const hook_of_runtime hook_;
};

}  // namespace sennit::detail
