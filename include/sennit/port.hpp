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

// As local::port; who calls and who serves may be anywhere. Requests and replies are moved under a lock:
// their move must not block.
template <class Request, class Reply>
class port : public detail::basic_port<Request, Reply, detail::shared_waits> {};

}  // namespace sennit
