// sennit::port: calls from fiber to fiber, on any worker of any parallel runtime, and from OS threads.
// room: rpc
//
//   sennit::port<int, int> squares;
//   auto server = sennit::spawn([&] { squares.serve([](int x) { return x * x; }); });
//   std::cout << squares.call(7) << '\n';  // 49
//   squares.close();
//   server.join();
//
// Source: Draves et al. 1991, sections 2.4 and 3 (message-based RPC by stack handoff).
#pragma once

#include "sennit/detail/rpc/basic_port.hpp"
#include "sennit/detail/sync/any_thread.hpp"

namespace sennit::inline v0_1 {

/// Calls from fiber to fiber: a client sends a request to a server and waits for the reply. Any number of
/// callers and servers may use a port. Callers are served in the order in which they came.
///
/// Its members are those of detail::basic_port, and close() and closed(). receive() returns an `incoming`:
/// it converts to true if there is a request, `*incoming` is the request, and `incoming.reply(value)` or
/// `incoming.fail(exception)` answers it. After close(), calls that no server has taken throw, and
/// receivers get nothing.
///
/// A call to a server that waits switches directly to it: nothing is allocated or queued. Otherwise the
/// call stays in its caller's stack frame until a server receives it. Either side may abandon a call: a
/// caller by a deadline, a stop or its runtime's end; a server by dropping what it has received, which its
/// caller gets as an error.
///
/// - Types: Request and Reply move without throwing; Reply may be void. They are moved and destroyed under
///   a lock, so that their move constructors and destructors must not block; debug builds report it.
/// - Threads: fibers of any parallel runtime, and OS threads.
/// - Cancellation: a wait throws sennit::cancelled if a stop_guard ends it.
/// - Misuse, asserted: to destroy the port while a fiber or thread waits. It must outlive all that was
///   received from it.
///
/// Source: Draves et al. 1991, sections 2.4 and 3.
template <class Request, class Reply>
class port final : public detail::basic_port<Request, Reply, detail::any_thread> {};

}  // namespace sennit::inline v0_1
