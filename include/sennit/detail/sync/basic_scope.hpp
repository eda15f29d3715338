// The parts that local and parallel scopes share. `Kind` defines how fibers begin and which wait group the
// owner waits with.
#pragma once

#include <atomic>
#include <exception>
#include <memory>
#include <stop_token>
#include <type_traits>
#include <utility>

#include "sennit/detail/timer/chrono.hpp"
#include "sennit/detail/timer/deadline.hpp"
#include "sennit/detail/wait/scope_member.hpp"

namespace sennit::inline v0_1::detail {

/// The members of sennit::scope and sennit::local::scope.
template <class Kind>
class basic_scope {
public:
  /// The options of its fibers: those of the runtime's kind.
  using spawn_options = typename Kind::spawn_options;

  /// A scope without fibers, owned by the caller.
  ///
  /// \throws std::bad_alloc if there is no memory
  basic_scope() : basic_scope({std::shared_ptr<void>(), scope_member::faults_of_caller()}) {}
  basic_scope(const basic_scope&) = delete;
  basic_scope& operator=(const basic_scope&) = delete;

  /// Waits until all fibers have ended, and throws what join() throws. If an exception leaves the block, it
  /// stops the fibers, waits for them, and throws nothing of its own.
  ///
  /// \pre The caller is the owner.
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

  /// Starts a fiber of the scope; it has no handle. Its owner and its fibers may call it: the scope cannot
  /// end meanwhile. Throws as the runtime's spawn(); no fiber was started then.
  template <class Function>
  void spawn(Function&& function, const spawn_options& options = {}) {
    Kind::spawn(
        child<std::decay_t<Function>>{std::make_unique<member>(*this), std::forward<Function>(function)},
        options)
        .detach();
  }
  /// Starts a fiber without a stack, as if its function had just returned `begins` (become.hpp).
  ///
  /// \pre `begins` is not empty.
  /// \throws std::bad_alloc if there is no memory
  void spawn(continuation begins) {
    auto made = std::make_unique<member>(*this);
    made->bind(begins);
    Kind::spawn(std::move(begins)).detach();
    static_cast<void>(made.release());  // the fiber's, and perhaps gone with it
  }

  /// Waits until all fibers of the scope have ended. More may be started after it. Only the owner may call
  /// it.
  ///
  /// \throws the first exception that left a fiber of the scope, once
  /// \throws sennit::cancelled if the owner is stopped
  void join() { join_until(never); }
  /// Like join(), but gives up at a deadline.
  ///
  /// \returns false if the deadline passed first
  bool join_until(std::chrono::steady_clock::time_point deadline) {
    stop_link::ignored until_all_have_ended(failure_);
    if (!running_.wait_until(deadline))
      return false;
    if (error_ == nullptr)
      return true;
    until_all_have_ended.stay();
    std::rethrow_exception(std::exchange(error_, nullptr));
  }
  /// Like join(), but gives up at a time of any clock.
  template <class Clock, class Duration>
  bool join_until(const std::chrono::time_point<Clock, Duration>& time) {
    return wait_by_clock(
        time, [this](std::chrono::steady_clock::time_point deadline) { return join_until(deadline); });
  }
  /// Like join(), but gives up after a duration.
  template <class Rep, class Period>
  bool join_for(std::chrono::duration<Rep, Period> time) {
    return join_until(deadline_after(time));
  }

  /// Stops the fibers of the scope: their waits throw sennit::cancelled. Does not block. Any thread, while
  /// the scope exists.
  void request_stop() noexcept { stop_.request_stop(); }
  /// \returns whether request_stop() was called or a fiber of the scope has failed. Any thread, while the
  ///   scope exists.
  bool stop_requested() const noexcept { return stop_.stop_requested(); }
  /// A token for work that is not a fiber of the scope. Its stop is requested by request_stop() and by the
  /// first error. Any thread, while the scope exists.
  std::stop_token get_token() const noexcept { return stop_.get_token(); }

protected:
  /// A scope whose fibers' faults go to a server.
  explicit basic_scope(std::shared_ptr<const fault_hook> faults) : faults_(std::move(faults)) {}

private:
  // Counts a fiber of the scope for as long as the ticket exists.
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

  // Each child has one, whether it runs or not, or could not be started.
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
      begin();
      return function();
    }
    void begin() { one.release()->begin(); }
    using sennit_scope_child = void;  // (spawn.hpp) it has begin()
  };

  void fail(std::exception_ptr error) noexcept {
    const bool first = !failed_.exchange(true, std::memory_order_relaxed);
    if (first)
      error_ = std::move(error);  // before the owner can see the stop or the end of the child
    request_stop();
    if (first)
      failure_.notify();  // after the owner's own guards by get_token(), which are the inner ones
  }

  void end() noexcept {
    request_stop();
    wait_uninterruptible([this] { running_.wait(); });
  }

  const std::shared_ptr<const fault_hook> faults_;  // owned, or of the scope around it
  std::stop_source stop_;
  typename Kind::wait_group running_{0};
  std::atomic<bool> failed_{false};
  std::exception_ptr error_;
  stop_link failure_{&error_, Kind::notifier};  // the owner's waits end by it
};

}  // namespace sennit::inline v0_1::detail
