// The TCP stream and the TCP listener of C.
//
// The handle of a stream is its io_source, so a connection takes no more memory in C than in C++.
#pragma once

#include <utility>

#include "sennit/select_io.hpp"
#include "sennit/sennit.h"
#include "sennit/tcp_listener.hpp"
#include "sennit/tcp_stream.hpp"

struct sennit_tcp_listener {
  sennit::tcp_listener listener;
};

namespace sennit::inline v0_1::capi {

// The handle of a stream, which the caller owns from now on.
inline sennit_tcp_stream* handle_of(tcp_stream&& stream) noexcept {
  return reinterpret_cast<sennit_tcp_stream*>(detail::source_access::take(stream));
}
// The stream of a handle, which the caller gives back.
inline tcp_stream stream_of(sennit_tcp_stream* handle) noexcept {
  return detail::source_access::stream(detail::owned_source(reinterpret_cast<detail::io_source*>(handle)));
}

// The stream of a handle during a call. The handle's owner keeps it.
class lent_stream {
public:
  explicit lent_stream(const sennit_tcp_stream* handle) noexcept
      : stream_(stream_of(const_cast<sennit_tcp_stream*>(handle))) {}
  ~lent_stream() { detail::source_access::take(stream_); }
  lent_stream(const lent_stream&) = delete;
  lent_stream& operator=(const lent_stream&) = delete;
  tcp_stream* operator->() noexcept { return &stream_; }
  tcp_stream& operator*() noexcept { return stream_; }

private:
  tcp_stream stream_;
};

}  // namespace sennit::inline v0_1::capi
