// A connection's loop.
#include "fiber_connection.hpp"

#include <algorithm>
#include <span>
#include <system_error>
#include <utility>

namespace kv {

using clock = std::chrono::steady_clock;

template <class Kind>
fiber_connection<Kind>::fiber_connection(std::shared_ptr<sennit::tcp_stream> stream, server_state& server,
                                         mutex& guard, workspaces& spaces)
    : stream_(std::move(stream)),
      server_(server),
      guard_(guard),
      spaces_(spaces),
      session_(server, server.shared, server.stats.connections_received + 1, this) {}

template <class Kind>
fiber_connection<Kind>::~fiber_connection() {
  if (shared_ != nullptr) {
    shared_->to = nullptr;
    stream_->close();  // the listener ends
  }
}

template <class Kind>
bool fiber_connection<Kind>::serve(lock& held) {
  typename Kind::receiving memory(server_, spaces_);
  session_.use(memory.space());
  while (receive(held) && answer(held)) {
    if (may_rest()) {
      return true;
    }
  }
  return false;
}

// Only what the client sends can be news, and none of it has been read already.
template <class Kind>
bool fiber_connection<Kind>::may_rest() const {
  return !more_has_come_ && !session_.has_news() && !is_in_company() &&
         (shared_ == nullptr || !shared_->heard);
}

template <class Kind>
auto fiber_connection<Kind>::idle_deadline() const -> time_point {
  const auto timeout = server_.config.timeout;
  return timeout.count() == 0 ? time_point::max() : clock::now() + timeout;
}

template <class Kind>
bool fiber_connection<Kind>::is_in_company() const {
  return session_.is_in_company() || (shared_ != nullptr && shared_->under_way);
}

// False: the client has ended its stream.
template <class Kind>
bool fiber_connection<Kind>::receive(lock& held) {
  more_has_come_ = false;
  if (session_.has_news()) {  // since we last looked, while we wrote
    return true;
  }
  if (shared_ != nullptr && std::exchange(shared_->heard, false)) {
    return !shared_->ended;
  }
  return is_in_company() ? receive_in_company(held) : receive_alone(held);
}

template <class Kind>
bool fiber_connection<Kind>::receive_alone(lock& held) {
  const std::span<char> space = session_.receive_space();
  const std::size_t count =
      without(held, [&] { return stream_->read_some(std::as_writable_bytes(space), idle_deadline()); });
  session_.received(count);
  more_has_come_ = count == space.size();  // perhaps
  return count != 0;
}

// Returns when there may be something to process. Whoever waits for others is not idle.
template <class Kind>
bool fiber_connection<Kind>::receive_in_company(lock& held) {
  if (shared_ == nullptr) {
    shared_.reset(new listening{stream_, &session_, server_, guard_, spaces_});
  }
  if (!shared_->under_way) {
    shared_->under_way = true;
    Kind::spawn([shared = shared_] { listen(*shared); }, "listener");
  }
  const bool waits = session_.is_in_company();
  const time_point deadline = waits ? session_.deadline() : idle_deadline();
  const bool news = without(held, [&] { return shared_->news.receive_until(deadline).has_value(); });
  shared_->heard = false;
  if (shared_->ended) {
    return false;
  }
  if (!news && waits) {
    session_.time_out();
  }
  return news || waits;
}

template <class Kind>
void fiber_connection<Kind>::listen(listening& shared) {
  lock held(shared.guard);
  typename Kind::receiving memory(shared.server, shared.spaces);
  const std::span<char> space(memory.space().receive_block);
  std::error_code error;
  held.unlock();
  const std::size_t count = shared.stream->read_some(space, error);  // closed, if the connection has ended
  held.lock();
  shared.under_way = false;
  if (shared.to == nullptr) {
    return;
  }
  shared.ended = count == 0;
  shared.heard = true;
  shared.to->set_aside({space.data(), count});
  bool news = true;
  shared.news.try_send(news);
}

// False: close.
template <class Kind>
bool fiber_connection<Kind>::answer(lock& held) {
  session::outcome outcome{};
  do {
    outcome = session_.process();
    without(held, [&] {
      send();
      if (outcome == session::outcome::more || more_has_come_) {
        Kind::yield();  // a client whose next request is always there already must not keep us
      }
      return true;
    });
  } while (outcome == session::outcome::more);
  return outcome != session::outcome::close;
}

template <class Kind>
void fiber_connection<Kind>::send() {
  if (!session_.output().empty()) {
    stream_->write_all(std::as_bytes(std::span(session_.output())), idle_deadline());
  }
  session_.output_sent();
}

template <class Kind>
void fiber_connection<Kind>::wake() {
  if (shared_ != nullptr) {
    bool news = true;
    shared_->news.try_send(news);
  }
}

// Whoever waits in the stream gets operation_canceled; whoever waits for news gets some.
template <class Kind>
void fiber_connection<Kind>::break_off() {
  stream_->close();
  wake();
}

template <class Kind>
bool fiber_connection<Kind>::is_gone() {
  return !stream_->is_open() || (shared_ != nullptr && shared_->ended) ||
         peer_is_gone(stream_->native_handle());
}

template class fiber_connection<one_worker>;
template class fiber_connection<several_workers>;

}  // namespace kv
