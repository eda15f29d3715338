// The channel of C, of both kinds.
#pragma once

#include <cstddef>

#include "byte_channel.hpp"
#include "kind.hpp"
#include "sennit/detail/sync/any_thread.hpp"
#include "sennit/detail/sync/one_thread.hpp"

struct sennit_channel {
  using local_one = sennit::capi::byte_channel<sennit::detail::one_thread>;
  using shared_one = sennit::capi::byte_channel<sennit::detail::any_thread>;
  sennit_channel(bool shared, std::size_t size, std::size_t capacity) : channel(shared, size, capacity) {}
  std::size_t users = 0;  // of a local one
  sennit::capi::kinds<local_one, shared_one> channel;
};
