// The server: sessions on the network, a fiber for each connection.
#pragma once

#include "state.hpp"

namespace kv {

// Serves until SIGINT or SIGTERM, then closes every connection and returns. Throws std::system_error if it
// cannot listen.
void serve(const settings& config);

}  // namespace kv
