// What the servers have in common.
#include "servers.hpp"

#include <cstdio>

namespace kv {

namespace {
constexpr std::size_t destroyed_at_once = 5000;  // elements; some 500 us
}

void say_serving(const settings& config) {
  std::printf("Serving on %s:%u, up to %zu clients; Ctrl-C ends it.\n", config.bind.c_str(), config.port,
              config.max_clients);
  if (config.time_slice.count() != 0) {
    std::printf("Commands that compute give way to others after %lld us.\n",
                static_cast<long long>(config.time_slice.count()));
  }
  std::fflush(stdout);
}

void say_ending(std::size_t connections) {
  if (connections == 0) {
    std::puts("Ending.");
  } else {
    std::printf("Ending: %zu connection%s to finish.\n", connections, connections == 1 ? "" : "s");
  }
  std::fflush(stdout);
}

std::chrono::steady_clock::time_point destroy_garbage(server_state& server) {
  using std::chrono::milliseconds;
  const bool more = server.keys.destroy_garbage(destroyed_at_once);
  return std::chrono::steady_clock::now() + (more ? milliseconds(1) : milliseconds(100));
}

}  // namespace kv
