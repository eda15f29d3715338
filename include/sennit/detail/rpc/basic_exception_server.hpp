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

template <class Kind>
class basic_exception_server {
  using desk = exception_desk<Kind>;

public:
  // A fault that was received, and waits. While it lives, the fiber that has received it is served by nobody;
  // so it stays where it is, in the frame that received it.
  class fault {
  public:
    ~fault() { reply(verdict::pass); }
    fault(const fault&) = delete;
    fault& operator=(const fault&) = delete;

    // False: none was received by the deadline, or before the stop. It says nothing then, and takes no reply.
    explicit operator bool() const noexcept { return received_.was_received; }
    fault_kind kind() const noexcept { return received_.kind; }
    // What was touched, or (fault_kind::instruction and arithmetic) the instruction's. Null where the
    // processor does not say.
    void* address() const noexcept { return received_.address; }
    // The name of the fiber, if it has one.
    std::string_view fiber() const noexcept { return received_.fiber; }
    // What the fiber goes on with, if it goes on. General registers and flags.
    machine_registers& registers() noexcept { return received_.registers; }
    // Once. Nothing happens if the fiber has left meanwhile, because its runtime ends.
    void reply(verdict answer) noexcept { of_.reply(received_, answer); }

  private:
    friend basic_exception_server;
    fault(desk& of, time_point deadline) : of_(of) { of.receive(received_, deadline); }
    // By who has waited for it without a stack; `filed`: not in vain.
    fault(desk& of, bool filed, time_point deadline) : of_(of) {
      if (filed && !of.take(received_))
        of.receive(received_, deadline);
    }
    desk& of_;
    typename desk::holder received_;
    const hook_of_fiber nobody_{unserved};
  };

  basic_exception_server() : desk_(std::make_shared<desk>()) {}
  ~basic_exception_server() { close(); }
  basic_exception_server(const basic_exception_server&) = delete;
  basic_exception_server& operator=(const basic_exception_server&) = delete;

  fault receive() { return receive_until(never); }
  fault receive_until(std::chrono::steady_clock::time_point deadline) { return fault(*desk_, deadline); }
  auto receiving() noexcept {
    fault_fill_reserve();
    return receive_wait(*desk_);
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

  // Waits for the permit that comes with each fault. If the fault is gone then (its runtime ends), it waits
  // for another with its stack.
  class receive_wait : public continuation_wait {
  public:
    static constexpr const char* reason = "exception receive";
    explicit receive_wait(desk& of) noexcept : of_(&of), filed_(of.filing()) {}
    bool file(fiber& f) noexcept { return file(f, f); }
    bool file(fiber& f, waiter& me) noexcept {
      of_->is_received_by(f);
      return filed_.file(f, me);
    }
    bool leave(waiter& me) noexcept { return filed_.leave(me); }
    bool withdraw(fiber& f) noexcept { return leave(f); }
    fault end(fiber&, std::uintptr_t, fiber_status) { return fault(*of_, true, never); }
    fault end_by(time_point deadline, bool in_time) { return fault(*of_, in_time, deadline); }

  private:
    desk* of_;
    decltype(std::declval<desk&>().filing()) filed_;
  };

  const std::shared_ptr<desk> desk_;
};

template <class Kind>
class basic_exception_guard {
public:
  explicit basic_exception_guard(basic_exception_server<Kind>& server) : desk_(server.desk_), hook_(*desk_) {}

private:
  const std::shared_ptr<exception_desk<Kind>> desk_;
  const hook_of_fiber hook_;
};

// Calls the function, with a guard.
template <class Kind, class Function>
decltype(auto) guarded(basic_exception_server<Kind>& server, Function&& function) {
  using result = std::invoke_result_t<Function&>;
  const basic_exception_guard<Kind> guard(server);
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

template <class Kind>
class basic_runtime_exception_guard {
public:
  explicit basic_runtime_exception_guard(basic_exception_server<Kind>& server) : hook_(server.desk_) {}

private:
  const hook_of_runtime hook_;
};

}  // namespace sennit::detail
