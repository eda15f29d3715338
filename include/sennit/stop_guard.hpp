// sennit::stop_guard: ends a fiber's waits when a stop is requested.
// room: wait
//
//   std::stop_source stop;
//   auto fiber = sennit::spawn([token = stop.get_token()] {
//     sennit::stop_guard guard(token);
//     requests.receive();  // throws sennit::cancelled once stop is requested
//   });
//   stop.request_stop();
//   fiber.join();
//
// One guard ends any number of waits, of any kind: locks, channels, joins, sleeps, I/O. Thus they need no
// stop token each. sennit::scope has guards for its fibers, which also count for fibers without a stack.
// The failure of one of its fibers also ends the waits of the scope's owner. A fiber that releases its
// stack cannot hold a guard of its own: it uses sennit::stoppable() (become.hpp).
#pragma once

#include <stop_token>
#include <utility>

#include "sennit/detail/wait/stop.hpp"

namespace sennit::inline v0_1 {

/// What a wait throws when a stop was requested. It is not a `std::exception`, so that handlers of errors
/// do not catch it. If it leaves a fiber's function, the fiber ends normally, and its join() returns.
///
/// A handler that catches everything must rethrow it, and also the exception that unwinds a fiber when its
/// runtime ends. A handler may catch `sennit::cancelled` on purpose. While the stop still counts, the next
/// wait throws again. Once the guard is destroyed, its stop no longer counts, so that code outside its block
/// may catch the exception and continue. It first asks whether an outer guard or scope stops the fiber as
/// well:
///
/// \code
///   try {
///     const sennit::stop_guard guard(token);
///     request = receive();
///   } catch (const sennit::cancelled&) {
///     if (sennit::stop_requested())
///       throw;
///     request = last_request;
///   }
/// \endcode
struct cancelled : detail::forced_unwind {};

/// While it lives, waits of the calling fiber or OS thread throw sennit::cancelled once a stop is requested
/// of its token. Any thread may request the stop.
///
/// - It ends waits that are in progress, on any worker, and waits that begin later. A call that need not
///   wait (a free mutex, bytes that have arrived) does not throw. A yield is not a wait.
/// - A wait that was cancelled has consumed nothing. A condition variable's lock is held again.
///   docs/explanation/waits.md has a table.
/// - Waits in destructors that run because of an exception do not throw. Two cases need a stop_shield:
///   other destructors that wait, where the exception would call std::terminate() as in any noexcept
///   function, and waits of a generator or coroutine that a destructor resumes.
/// - Guards of one fiber are nested. All of them count, up to the innermost stop_shield.
/// - Only the fiber or thread that makes a guard uses it. Do not hold one in a generator or coroutine
///   across its yields.
///
/// It works in fibers of every runtime and in OS threads, which waits of sennit:: types block.
class stop_guard {
public:
  /// Begins to watch the token. Throws `std::bad_alloc` in a fiber of a local runtime if there is no
  /// memory.
  explicit stop_guard(std::stop_token token)
      : link_(detail::stop_link::kind::guard), callback_(std::move(token), notify{link_}) {}

private:
  struct notify {
    detail::stop_link& link;
    void operator()() const noexcept { link.notify(); }
  };

  detail::stop_link link_;
  std::stop_callback<notify> callback_;  // gone before the link
};

/// While it lives, guards that were made before it do not end the waits of the calling fiber or thread. Use
/// it for work that must be completed in any case.
class stop_shield {
private:
  detail::stop_link link_{detail::stop_link::kind::shield};
};

/// \returns whether a wait of the caller would throw sennit::cancelled, or the error of a fiber of its
///   scope (scope.hpp). Use it in loops that do not wait. Any thread or fiber.
bool stop_requested() noexcept;

}  // namespace sennit::inline v0_1
