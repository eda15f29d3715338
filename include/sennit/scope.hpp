// sennit::scope: fibers that end before a block does.
// room: sync
//
//   {
//     sennit::scope scope;
//     for (const std::string& host : hosts)
//       scope.spawn([&] { fetch(host); });
//   }  // all have ended; if one threw, the others were stopped, and its exception comes out here
//
// Two connections, joined to a relay. If either direction fails, the other one ends as well:
//
//   sennit::scope both;
//   both.spawn([&] { pump(client, server); });
//   pump(server, client);  // throws what the fiber threw
//   both.join();
#pragma once

#include <utility>

#include "sennit/detail/sync/basic_scope.hpp"
#include "sennit/fiber.hpp"
#include "sennit/wait_group.hpp"

namespace sennit::inline v0_1 {

class exception_server;

namespace detail {
struct shared_scope {
  static constexpr auto notifier = stop_link::thread::any;
  using spawn_options = sennit::spawn_options;
  using wait_group = sennit::wait_group;
  template <class Function>
  static auto spawn(Function&& function, const spawn_options& options) {
    return sennit::spawn(std::forward<Function>(function), options);
  }
  static auto spawn(continuation begins) { return sennit::spawn(std::move(begins)); }
};
}  // namespace detail

/// Owns fibers and waits for them in its destructor (structured concurrency).
///
/// \code
///   scope s;                          // the owner is the calling fiber or thread
///   void s.spawn(function, options);  // the owner, and every fiber of the scope; throws what
///                                     // sennit::spawn throws
///   void s.spawn(continuation);       // a fiber without a stack, which begins with what become() returned
///   void s.join();                    // the owner; throws the first error of a fiber, once
///   bool s.join_until(time);          // false: the time came first; the fibers still run
///   bool s.join_for(duration);        // likewise
///   void s.request_stop();            // any thread; does not wait: waits of the fibers throw
///                                     // sennit::cancelled
///   bool s.stop_requested();          // any thread; also true after the first error
///   std::stop_token s.get_token();    // any thread; for work that is not a fiber of the scope
///   ~scope();                         // joins; if an exception leaves the block, stops the fibers first
/// \endcode
///
/// spawn() also starts a fiber after request_stop(). That fiber runs to its first wait, which throws
/// sennit::cancelled. More fibers may be started after join().
///
/// Its owner is the fiber that constructs it, on whose stack it lives. It is neither copied nor moved. No
/// fiber of a scope outlives it: when join() returns, or the destructor, the fibers, their function objects
/// and their fiber-locals are gone.
///
/// - First error: the first exception that leaves a fiber of the scope stops the others: their waits throw
///   sennit::cancelled (stop_guard.hpp). Further errors are lost. The first exception leaves the block:
///   join(), the destructor, or a wait of the owner throws it.
/// - Owner: when a fiber fails, the owner's current or next wait throws that fiber's exception, and
///   sennit::stop_requested() returns true for the owner. What the owner waited for is not consumed. A
///   stop_shield inside the block hides the failure, and waits in destructors that run because of an
///   exception continue. A handler inside the block must rethrow the exception or call join(). If it does
///   neither, further waits throw sennit::cancelled until join() has thrown the exception.
/// - Two errors: an exception of the owner itself that leaves the block first wins. The fiber's exception
///   is then lost. If a stop_guard or a scope around this one stops the owner at the same time, its wait
///   throws for the innermost of them.
/// - Owner stops: any exception that leaves the block, including sennit::cancelled, stops the fibers, and
///   the scope waits for them. Thus scopes in fibers of scopes are stopped as well.
/// - Stop: after request_stop(), fibers end at their waits, or when they check sennit::stop_requested(). A
///   fiber that is left by sennit::cancelled has ended normally: that is not an error.
/// - No stack: a fiber may block without a stack (become.hpp). It has ended when the last of its functions
///   has, and whatever one of them throws is its error. A stop ends it where it waits: the state is
///   destroyed, and the function is not called, except that of a wait that is stoppable() with get_token().
///
/// The owner may also be an OS thread, whose waits end in the same way. A fiber that has released its stack
/// (become.hpp) cannot own a scope. Do not hold a scope across the yields of a generator or coroutine. If
/// another fiber or thread than its owner destroys it, the program ends with a message.
class scope final : public detail::basic_scope<detail::shared_scope> {
public:
  /// A scope without fibers. If the owner is a fiber of a scope that has an exception server, the new scope
  /// has it as well.
  ///
  /// \throws std::bad_alloc if there is no memory
  scope() = default;
  /// A scope whose fibers' faults go to a server (exception_server.hpp), unless a fiber has a guard of its
  /// own. They do not go to the server of the runtime. A fiber that is killed has ended normally: that is
  /// not an error and stops no other fiber. If the server ends before the scope, a fault ends the process.
  ///
  /// \throws std::bad_alloc if there is no memory
  explicit scope(exception_server& faults);
};

}  // namespace sennit::inline v0_1
