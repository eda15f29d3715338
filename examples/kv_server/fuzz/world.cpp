// Clients without connections.
#include "world.hpp"

#include <algorithm>
#include <cstring>

#include "harness.hpp"

namespace kv::fuzz {

void peer::process() {
  session::outcome outcome{};
  do {
    outcome = session_.process();
    require(session_.output().size() <= server_.config.max_output, "replies do not exceed their limit");
    received_ += session_.output();
    session_.output_sent();
    if (outcome == session::outcome::compute) {
      session_.compute();
    }
  } while (outcome == session::outcome::more || outcome == session::outcome::compute);
  closed_ = outcome == session::outcome::close;
}

void peer::send(std::string_view bytes, std::size_t piece) {
  while (!bytes.empty() && !closed()) {
    std::string_view part = bytes.substr(0, piece);
    const std::span<char> space = session_.receive_space();
    part = part.substr(0, space.size());
    std::memcpy(space.data(), part.data(), part.size());
    session_.received(part.size());
    bytes.remove_prefix(part.size());
    process();
  }
}

bool peer::settle() {
  if (!std::exchange(woken_, false) || closed()) {
    return false;
  }
  process();
  return true;
}

void peer::time_out() {
  session_.time_out();
  process();
}

world::world(const settings& config) {
  server_ = std::make_unique<server_state>(config);
  memory_in_the_beginning_ = memory_in_use;
}

world::~world() {
  for (auto& each : peers_) {
    each.reset();
  }
}

peer& world::at(std::size_t index) {
  auto& one = peers_[index];
  if (one != nullptr && one->closed()) {
    one.reset();
  }
  if (one == nullptr) {
    one = std::make_unique<peer>(*server_);
  }
  return *one;
}

bool world::settle() {
  bool had = false;
  for (bool any = true; any; had = had || any) {
    any = false;
    for (auto& each : peers_) {
      if (each != nullptr && each->closed()) {
        each.reset();
        any = true;
      }
      any = (each != nullptr && each->settle()) || any;
    }
  }
  return had;
}

void world::end() {
  for (auto& each : peers_) {
    each.reset();
    settle();
  }
  server_state& server = *server_;
  require(server.connected_clients == 0, "nobody is counted as connected who is not");
  require(server.client_memory == 0, "the memory of clients is given back");
  require(server.blocked.size() == 0, "nobody waits who has gone");
  require(server.channels.size() == 0, "nobody listens who has gone");
  keys().clear();
  while (keys().destroy_garbage(10)) {
  }
  require(keys().size() == 0, "a store that is cleared is empty");
  require(memory_in_use == memory_in_the_beginning_, "an empty store is charged nothing");
}

}  // namespace kv::fuzz
