// sennit::local::exception_server: a fiber of a local runtime that is asked what to do when another faults.
// room: rpc
//
// As sennit::exception_server, whose header says what can be served, and what becomes of a fiber that is
// killed. The server and all whom it serves are fibers of one local runtime.
#pragma once

#include "sennit/detail/sync/local_waits.hpp"
#include "sennit/exception_server.hpp"

namespace sennit::local {

class exception_server : public detail::basic_exception_server<detail::local_waits> {};

class exception_guard : public detail::basic_exception_guard<detail::local_waits> {
  using basic_exception_guard::basic_exception_guard;
};

class runtime_exception_guard : public detail::basic_runtime_exception_guard<detail::local_waits> {
  using basic_runtime_exception_guard::basic_runtime_exception_guard;
};

}  // namespace sennit::local
