// sennit::local::port: calls from fiber to fiber of one local runtime.
// room: rpc
//
//   sennit::local::port<int, int> squares;
//   auto server = sennit::local::spawn([&] { squares.serve([](int x) { return x * x; }); });
//   std::cout << squares.call(7) << '\n';  // 49
//   squares.close();
//   server.join();
//
// Source: Draves et al. 1991, sections 2.4 and 3 (message-based RPC by stack handoff).
#pragma once

#include "sennit/detail/rpc/basic_port.hpp"
#include "sennit/detail/sync/local_waits.hpp"

namespace sennit::local {

// Any number of callers, served in the order in which they came, and any number of servers. Reply may be
// void; both types move without throwing. A call goes to a server that waits directly: the two switch,
// nothing is allocated, no queue comes between. If none waits, the call lies in its caller's frame until one
// does. Either side may go first: a caller by a deadline, a stop or its runtime's end, a server by dropping
// what it has received, which its caller is told.
//
// It must outlive all calls and what was received by it, belongs to no runtime, but all its users must be
// fibers of one runtime at a time.
template <class Request, class Reply>
class port : public detail::basic_port<Request, Reply, detail::local_waits> {};

}  // namespace sennit::local
