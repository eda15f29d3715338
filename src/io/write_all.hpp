// How the two forms of write_all() report the bytes that were written.
#pragma once

#include <cxxabi.h>

#include <system_error>

#include "sennit/detail/io/socket.hpp"
#include "sennit/detail/wait/stop.hpp"
#include "sennit/stop_guard.hpp"
#include "sennit/write_error.hpp"

namespace sennit::inline v0_1::detail {

// The error_code form: a stop is reported as operation_canceled, since an exception could not bring the
// count. The caller's next wait throws sennit::cancelled, or the error of a fiber of the caller's scope.
// `write()` returns 0 or an errno, negated.
template <class Write>
std::error_code reported(Write write) {
  try {
    return io_error(write());
  } catch (const cancelled&) {
    stop_link::note_reported();
  } catch (const forced_unwind&) {
    throw;
  } catch (const abi::__forced_unwind&) {
    throw;
  } catch (...) {
    if (!stop_link::note_reported())
      throw;
  }
  return std::make_error_code(std::errc::operation_canceled);
}

}  // namespace sennit::inline v0_1::detail
