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
/// \code
///   // A client:
///   Reply p.call(request);                            // waits for the reply; throws the server's
///                                                     // exception
///   optional<Reply> p.call_until(request, deadline);  // empty: the deadline passed first. Reply void:
///                                                     // bool, false then
///   optional<Reply> p.call_for(request, duration);    // likewise
///   bool p.send(request);                             // waits until a server has it; no reply; false:
///                                                     // closed
///   // A server:
///   incoming next = p.receive();                      // waits; empty: closed, and no earlier call is left
///   incoming next = p.receive_until(deadline);        // empty also if the deadline passed first
///   if (next) use(*next);                             // the request
///   bool next.reply(value), next.fail(exception);     // answers it; false: the caller has given up, or
///                                                     // has only sent
///   bool p.reply_and_receive(next, value);            // both in one step; false: closed, next is empty
///   void p.serve(handler);                            // answers each request with handler(request), until
///                                                     // close()
///   void p.serve_in_callers(handler);                 // likewise, but the callers' fibers run the handler
///   // Both:
///   void p.close();                                   // may be called again
///   bool p.closed();
///   // For become(), and likewise with _until and a deadline:
///   p.calling(request), p.sending(request), p.receiving()
/// \endcode
///
/// - Errors: call() throws `std::system_error` with broken_pipe if the port is closed, connection_reset if
///   the server dropped the request, message_size if it is larger than the server's limit
///   (`receive_options`, the last argument of a server's functions).
/// - close(): calls and sends that no server has received end as those of a closed port. Receivers get an
///   empty `incoming`. Requests that were received may still be answered.
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
