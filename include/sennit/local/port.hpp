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
#include "sennit/detail/sync/one_thread.hpp"

namespace sennit::inline v0_1::local {

/// Like sennit::port, with the same members and results, without atomic operations, for the fibers of one
/// local runtime at a time. It belongs to no runtime, and must outlive all calls and all that was received
/// from it.
template <class Request, class Reply>
class port final : public detail::basic_port<Request, Reply, detail::one_thread> {};

}  // namespace sennit::inline v0_1::local
