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
#include "sennit/detail/sync/shared_waits.hpp"

namespace sennit {

// Any number of callers, served in the order in which they came, and any number of servers. Reply may be
// void; both types move without throwing. A call goes to a server that waits directly: the two switch,
// nothing is allocated, no queue comes between. If none waits, the call lies in its caller's frame until one
// does. Either side may go first: a caller by a deadline, a stop or its runtime's end, a server by dropping
// what it has received, which its caller is told.
//
// Who calls:
//
//   call(request)          waits for the reply, and returns it. Throws what the server failed with; or
//                          std::system_error: broken_pipe (the port is closed), connection_reset (the server
//                          went without an answer), message_size (larger than the server wants).
//   call_until(request, deadline), call_for(request, time)
//                          the same as a std::optional<Reply>, or, where that is void, a bool: empty, or
//                          false, if that (steady clock) has passed first. A server may have the request
//                          then; its answer is dropped.
//   send(request)          one way: waits until a server has it. False: the port is closed. Throws
//                          std::system_error: message_size.
//   calling(request), calling_until(request, deadline)
//                          without a stack, for become(), whose function gets an `answer`. Its get() returns
//                          what call() does, once, or throws that; timed_out, where the deadline has passed.
//   sending(request), sending_until(request, deadline)
//                          the same of send(): a `sending_result`, with get().
//
// Who serves:
//
//   serve(handler)         calls handler(Request) for each, and answers with what that returns or throws,
//                          until the port is closed. When the last fiber in serve() is told to leave, or is
//                          killed by a fault, the port is closed.
//   receive()              the next request, an `incoming`; waits for it. Empty (bool(incoming) is false):
//                          the port is closed, and nobody has called before that.
//   receive_until(deadline)
//                          empty also: the deadline has passed first.
//   reply_and_receive(incoming&, reply)
//                          answers it, and receives the next into it, in one step. False: the port is closed,
//                          and nobody has called before that; the incoming is empty. (Reply void: pass {}.)
//   receiving(), receiving_until(deadline)
//                          without a stack, for become(), whose function gets an `incoming`.
//   serve_in_callers(handler)
//                          until the port is closed, callers call handler(Request) themselves, any number
//                          at a time, on their own stacks: without a switch. Nobody else may serve beside it.
//                          Returns when the last such call has ended.
//
// serve() and all that receives take a last argument, receive_options: {.largest = bytes}, as below.
//
// An `incoming` is what a server has received. It can be moved; one fiber or thread at a time uses it.
//
//   bool(incoming), *incoming, incoming->
//                          whether there is a request; the Request, to be read or moved from.
//   reply(value), reply()  answers (the latter: Reply is void), once; it is empty then. False: nobody wants
//                          the answer: its caller has gone, or has only sent.
//   fail(exception_ptr)    the same; the caller's call() throws that.
//
// One that is destroyed unanswered has its caller get connection_reset: so does a server that is left by an
// exception.
//
//   close()                no more calls: those that no server has taken throw, and receivers get nothing.
//                          What servers have taken they may still answer. May be repeated.
//   closed()               whether it was.
//
//   threads  Any, and fibers of any parallel runtime. Requests and replies are moved and
//            destroyed under a lock: that must not block, and debug builds report it.
//   errors   A wait throws sennit::cancelled where a stop is requested (stop_guard.hpp).
//   misuse   Asserted: to destroy it while somebody waits. It must outlive all that was received by it.
template <class Request, class Reply>
class port : public detail::basic_port<Request, Reply, detail::shared_waits> {};

}  // namespace sennit
