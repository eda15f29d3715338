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

namespace sennit {

class exception_server;

namespace detail {
struct shared_scope {
  static constexpr auto tells = stop_link::thread::any;
  using spawn_options = sennit::spawn_options;
  using wait_group = sennit::wait_group;
  template <class Function>
  static auto spawn(Function&& function, const spawn_options& options) {
    return sennit::spawn(std::forward<Function>(function), options);
  }
  static auto spawn(continuation begins) { return sennit::spawn(std::move(begins)); }
};
}  // namespace detail

// Made by a fiber, its owner, on whose stack it lives; neither copied nor moved. No fiber of it outlives it:
// with their functions' objects and their fiber-locals they have ended before join() returns, or the
// destructor.
//
//   first error   The first exception that leaves a fiber of the scope stops the others: their waits throw
//                 sennit::cancelled (stop_guard.hpp). Further errors are lost. The exception comes out of the
//                 block: join(), the destructor, or a wait of the owner throws it.
//   owner         When a fiber fails, the wait that ends, or would begin, in the owner's own code throws the
//                 exception of that fiber. stop_requested() (stop_guard.hpp) returns true there. What the
//                 owner waited for stays as if it had not been waited for. A stop_shield inside of the block
//                 hides the failure, and waits in destructors that run because of an exception go on.
//                 A handler inside of the block must rethrow the exception, or call join(). If it does
//                 neither, further waits throw sennit::cancelled until join() has thrown the exception.
//   two errors    An exception of the owner's own that leaves the block first wins: the destructor cannot
//                 replace it, and the fiber's is lost. If the owner is told to stop at the same time, by a
//                 stop_guard or a scope around this one, its wait throws for the innermost of them.
//   owner stops   An exception that leaves the scope's block, and so one by which the owner is told to stop,
//                 stops the fibers, and is waited with. So scopes in fibers of scopes are stopped with them.
//   stop          request_stop(): fibers end when they wait, or look at sennit::stop_requested(). One that is
//                 left by sennit::cancelled has just ended: that is no error.
//   no stack      A fiber may go on by continuations (become.hpp): it has ended when the last of its
//                 functions has, and what any of them throws is its error. A stop ends it where it waits: the
//                 state is destroyed, and the function is not called, but that of a wait that is stoppable()
//                 by get_token().
//
// The owner may also be an OS thread: its waits end likewise. A fiber that has given up its stack
// (become.hpp) cannot own a scope. As a stop_guard, a scope is not held in a generator or coroutine across
// its yields. A scope that is not destroyed by its owner ends the program with a message.
//
// The destructor throws what join() throws, if no exception is on its way. The constructor throws
// std::bad_alloc.
//
//   spawn(function, spawn_options = {})
//                  starts a fiber of the scope; it has no handle. Any fiber may, while the scope cannot end:
//                  its owner, or another of its fibers. Throws as sennit::spawn, and nothing was started.
//   spawn(continuation)
//                  starts one without a stack, as if its function had just returned that. std::bad_alloc.
//   join()         waits until all have ended, and throws what the first one threw, once. More may be started
//                  after it. Only the owner calls it. Throws sennit::cancelled where the owner is told to
//                  stop.
//   join_until(deadline), join_for(time)
//                  false: that (steady clock) has passed first.
//   request_stop() has the waits of its fibers throw sennit::cancelled. Any thread.
//   stop_requested(), get_token()
//                  whether that was done, or a fiber has failed; a std::stop_token of it, for work that is no
//                  fiber of the scope. Any thread.
class scope : public detail::basic_scope<detail::shared_scope> {
public:
  // Made in a fiber of a scope that has an exception server, it has that, too.
  scope() = default;
  // Faults of its fibers go to this server (exception_server.hpp), and not to one of the runtime's, but for
  // those of fibers that have a guard of their own. A fiber that is killed has just ended: that is no error,
  // and stops nobody. The server may end before the scope does; faults end the process then.
  explicit scope(exception_server& faults);
};

}  // namespace sennit
