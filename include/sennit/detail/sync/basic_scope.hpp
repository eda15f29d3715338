// Scopes: what those of local runtimes and those of all have in common. `Kind` says how fibers begin, and
// with what one waits for them.
#pragma once

#include <atomic>
#include <chrono>
#include <exception>
#include <memory>
#include <stop_token>
#include <type_traits>
#include <utility>

#include "sennit/detail/sched/deadline.hpp"
#include "sennit/detail/sched/scope_member.hpp"

namespace sennit::detail {

template <class Kind>
class basic_scope {
public:
  using spawn_options = typename Kind::spawn_options;

  basic_scope() : basic_scope({std::shared_ptr<void>(), scope_member::faults_of_caller()}) {}
  basic_scope(const basic_scope&) = delete;
  basic_scope& operator=(const basic_scope&) = delete;

  // As join(); but where the scope is left by an exception, its fibers are told to stop, and only waited for.
  ~basic_scope() noexcept(false) {
    failure_.leave_owner();
    if (std::uncaught_exceptions() > failure_.exceptions()) {
      end();
      return;
    }
    try {
      join();
    } catch (...) {
      end();
      throw;
    }
  }

  // Starts a fiber of the scope. Any fiber may, while the scope cannot end: its owner, or another of its
  // fibers. Throws as the runtime's spawn.
  template <class Function>
  void spawn(Function&& function, const spawn_options& options = {}) {
    Kind::spawn(
        child<std::decay_t<Function>>{std::make_unique<member>(*this), std::forward<Function>(function)},
        options)
        .detach();
  }
  // One that begins without a stack, as if its function had just returned `begins` (become.hpp).
  void spawn(continuation begins) {
    auto made = std::make_unique<member>(*this);
    made->bind(begins);
    Kind::spawn(std::move(begins)).detach();
    static_cast<void>(made.release());  // the fiber's, and perhaps gone with it
  }

  // Waits until all fibers of the scope have ended, and throws what the first one threw, once. More may be
  // started after it. Only the owner. Throws sennit::cancelled when the owner is told to stop.
  void join() { join_until(never); }
  // Returns false if the deadline (steady clock) passed first.
  bool join_until(std::chrono::steady_clock::time_point deadline) {
    stop_link::aside until_all_have_ended(failure_);
    if (!running_.wait_until(deadline))
      return false;
    if (error_ == nullptr)
      return true;
    until_all_have_ended.stay();
    std::rethrow_exception(std::exchange(error_, nullptr));
  }
  // Takes a time of any clock.
  template <class Clock, class Duration>
  bool join_until(const std::chrono::time_point<Clock, Duration>& time) {
    return wait_by_clock(
        time, [this](std::chrono::steady_clock::time_point deadline) { return join_until(deadline); });
  }
  template <class Rep, class Period>
  bool join_for(std::chrono::duration<Rep, Period> time) {
    return join_until(deadline_after(time));
  }

  // Has the waits of its fibers throw sennit::cancelled. Anywhere.
  void request_stop() noexcept { stop_.request_stop(); }
  bool stop_requested() const noexcept { return stop_.stop_requested(); }
  // That request_stop() and the first error stop: for work that is no fiber of the scope.
  std::stop_token get_token() const noexcept { return stop_.get_token(); }

protected:
  explicit basic_scope(std::shared_ptr<const fault_hook> faults) : faults_(std::move(faults)) {}

private:
  // It is counted until that is gone.
  class ticket {
  public:
    explicit ticket(basic_scope& of) : of_(&of) { of.running_.add(1); }
    ticket(ticket&& other) noexcept : of_(std::exchange(other.of_, nullptr)) {}
    ticket& operator=(ticket&&) = delete;
    ~ticket() {
      if (of_ != nullptr)
        of_->running_.done();
    }
    basic_scope& operator*() const noexcept { return *of_; }

  private:
    basic_scope* of_;
  };

  // Each child's, whether it runs or not, or could not be started.
  struct member final : scope_member {
    explicit member(basic_scope& in) : scope_member(in.get_token(), in.faults_.get(), end), of(in) {}
    void fail(std::exception_ptr error) noexcept override { (*of).fail(std::move(error)); }
    static void end(local_value& self) noexcept {
      auto& ended = static_cast<member&>(self);
      const ticket last(std::move(ended.of));
      delete &ended;
    }
    ticket of;
  };

  template <class Function>
  struct child {
    std::unique_ptr<member> one;  // until it begins
    Function function;
    decltype(auto) operator()()
      requires std::is_invocable_v<Function&>
    {
      one.release()->begin();
      return function();
    }
  };

  void fail(std::exception_ptr error) noexcept {
    const bool first = !failed_.exchange(true, std::memory_order_relaxed);
    if (first)
      error_ = std::move(error);  // the owner sees it when it sees that it is told, or that the child is done
    request_stop();
    if (first)
      failure_.tell();  // after the owner's own guards by get_token(), which are the inner ones
  }

  void end() noexcept {
    request_stop();
    wait_in_any_case([this] { running_.wait(); });
  }

  const std::shared_ptr<const fault_hook> faults_;  // owned, or of the scope around it
  std::stop_source stop_;
  typename Kind::wait_group running_{0};
  std::atomic<bool> failed_{false};
  std::exception_ptr error_;
  stop_link failure_{&error_, Kind::tells};  // the owner's waits end by it
};

}  // namespace sennit::detail
