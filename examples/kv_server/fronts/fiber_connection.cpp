// A connection's loop.
#include "fiber_connection.hpp"

#include <algorithm>
#include <span>
#include <system_error>

#include "sennit/local/runtime.hpp"

namespace kv {

namespace local = sennit::local;
using clock = std::chrono::steady_clock;

fiber_connection::fiber_connection(sennit::tcp_stream& stream, server_state& server)
    : stream_(stream),
      server_(server),
      session_(server, server.shared, server.stats.connections_received + 1, this) {}

fiber_connection::~fiber_connection() {
  if (shared_ != nullptr) {
    shared_->stream = nullptr;
  }
}

void fiber_connection::serve() {
  while (receive() && answer()) {
  }
}

fiber_connection::time_point fiber_connection::idle_deadline() const {
  const auto timeout = server_.config.timeout;
  return timeout.count() == 0 ? time_point::max() : clock::now() + timeout;
}

bool fiber_connection::is_in_company() const {
  return session_.is_in_company() || (shared_ != nullptr && shared_->under_way);
}

// False: the client has ended its stream.
bool fiber_connection::receive() {
  more_has_come_ = false;
  if (session_.has_news()) {  // since we last looked, while we wrote
    return true;
  }
  return is_in_company() ? receive_in_company() : receive_alone();
}

bool fiber_connection::receive_alone() {
  const std::span<char> space = session_.receive_space();
  const std::size_t count = stream_.read_some(std::as_writable_bytes(space), idle_deadline());
  session_.received(count);
  more_has_come_ = count == space.size();  // perhaps
  return count != 0;
}

// Returns when there may be something to process. Whoever waits for others is not idle.
bool fiber_connection::receive_in_company() {
  if (shared_ == nullptr) {
    shared_ = std::make_shared<listening>(
        listening{&stream_, &session_, &server_, std::make_shared<local::channel<bool>>(1)});
  }
  if (!shared_->under_way) {
    shared_->under_way = true;
    local::spawn([shared = shared_] { listen(shared); }, {.name = "listener"});
  }
  const bool waits = session_.is_in_company();
  const bool news = shared_->news->receive_until(waits ? session_.deadline() : idle_deadline()).has_value();
  if (shared_->ended) {
    return false;
  }
  if (!news && waits) {
    session_.time_out();
  }
  return news || waits;
}

void fiber_connection::listen(const std::shared_ptr<listening>& shared) {
  if (shared->stream == nullptr) {  // before we first ran
    return;
  }
  std::error_code error;
  const std::size_t count =
      shared->stream->read_some(std::span<char>(shared->server->shared.receive_block), error);
  shared->under_way = false;
  if (shared->stream == nullptr) {
    return;
  }
  shared->ended = count == 0;
  shared->to->set_aside({shared->server->shared.receive_block.data(), count});
  bool news = true;
  shared->news->try_send(news);
}

// False: close.
bool fiber_connection::answer() {
  session::outcome outcome{};
  do {
    outcome = session_.process();
    if (!session_.output().empty()) {
      stream_.write_all(std::as_bytes(std::span(session_.output())), idle_deadline());
    }
    session_.output_sent();
    if (outcome == session::outcome::more || more_has_come_) {
      local::this_fiber::yield();  // a client whose next request is always there already must not keep us
    }
  } while (outcome == session::outcome::more);
  return outcome != session::outcome::close;
}

void fiber_connection::wake() {
  if (shared_ != nullptr) {
    bool news = true;
    shared_->news->try_send(news);
  }
}

// Whoever waits in the stream gets operation_canceled; whoever waits for news gets some.
void fiber_connection::break_off() {
  stream_.close();
  wake();
}

bool fiber_connection::is_gone() {
  return !stream_.is_open() || (shared_ != nullptr && shared_->ended) ||
         peer_is_gone(stream_.native_handle());
}

}  // namespace kv
