// sennit::local::exception_server: a fiber of a local runtime decides what to do when another one faults.
// room: rpc
//
// Like sennit::exception_server, whose header describes which faults can be served, and what happens to a
// fiber that is killed. The server and all fibers that it serves belong to one local runtime.
#pragma once

#include "sennit/detail/sync/one_thread.hpp"
#include "sennit/exception_server.hpp"

namespace sennit::inline v0_1::local {

/// Like sennit::exception_server, with the same members and results, for the fibers of one local runtime.
/// close() may be called on its thread.
class exception_server final : public detail::basic_exception_server<detail::one_thread> {};

/// Like sennit::exception_guard, for a fiber of a local runtime.
class exception_guard final : public detail::basic_exception_guard<detail::one_thread> {
  using basic_exception_guard::basic_exception_guard;
};

/// Like sennit::runtime_exception_guard, for all fibers of a local runtime.
class runtime_exception_guard final : public detail::basic_runtime_exception_guard<detail::one_thread> {
  using basic_runtime_exception_guard::basic_runtime_exception_guard;
};

}  // namespace sennit::inline v0_1::local
