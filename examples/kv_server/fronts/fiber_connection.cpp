// What a connection does between two waits.
#include "fiber_connection.hpp"

#include <span>
#include <utility>

namespace kv {

namespace {

using clock = std::chrono::steady_clock;

// False: the stream is of no more use, or there is no memory to use it.
template <class Transfer>
bool is_done(Transfer transfer) {
  try {
    transfer();
    return true;
  } catch (const std::system_error&) {
    // Reset by the peer, idle for too long, broken off by us: the connection's end like any other.
  } catch (const std::bad_alloc&) {
  }
  return false;
}

}  // namespace

template <class Kind>
fiber_connection<Kind>::fiber_connection(std::shared_ptr<sennit::tcp_stream> stream, server_state& server,
                                         mutex& guard, workspaces& spaces)
    : stream_(std::move(stream)),
      server_(server),
      guard_(guard),
      spaces_(spaces),
      space_(spaces),
      session_(server, server.shared, server.stats.connections_received + 1, this) {}

template <class Kind>
fiber_connection<Kind>::~fiber_connection() {
  if (shared_ != nullptr) {
    shared_->to = nullptr;
    stream_->close();  // the listener ends
  }
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

template <class Kind>
bool fiber_connection<Kind>::receive() {
  std::size_t count = 0;
  return is_done([&] {
           session_.use(space_.take());
           const std::span<char> space = session_.receive_space();
           count = stream_->read_some(space, idle_deadline());
           session_.received(count);
           more_has_come_ = count == space.size();  // perhaps
         }) &&
         count != 0;
}

template <class Kind>
auto fiber_connection<Kind>::process() -> step {
  if (!is_done([&] { session_.use(space_.take()); })) {
    return step::close;
  }
  if (shared_ != nullptr) {
    shared_->heard = false;
  }
  switch (session_.process()) {
    case session::outcome::close:
      return step::close;
    case session::outcome::more:
      return step::process;
    case session::outcome::compute:
      if (session_.computes_until_the_end() && !is_done([&] { listen(); })) {
        return step::close;
      }
      return step::compute;
    case session::outcome::wait:
      break;
  }
  // Who is alone remains so while it sends: then there is nothing to look at, and no need of the lock.
  if (has_news() || has_ended() || is_in_company()) {
    return step::look;
  }
  return more_has_come_ ? step::receive : step::rest;
}

template <class Kind>
bool fiber_connection<Kind>::send() {
  return is_done([&] {
    if (!session_.output().empty()) {
      stream_->write_all(session_.output(), idle_deadline());
    }
    session_.output_sent();
    space_.give_back();
  });
}

template <class Kind>
void fiber_connection<Kind>::listen() {
  if (shared_ == nullptr) {
    shared_.reset(new listening{stream_, &session_, guard_, typename Kind::space(spaces_)});
  }
  if (!shared_->under_way) {
    shared_->under_way = true;
    more_has_come_ = false;  // the listener will see
    Kind::spawn([shared = shared_] { return sennit::become(&listening::reading, hear, shared); }, "listener");
  }
}

template <class Kind>
sennit::continuation fiber_connection<Kind>::hear(std::shared_ptr<listening> shared) {
  shared->received = 0;  // closed, if the connection has ended
  is_done([&] {
    const std::span<char> space(shared->space.take().receive_block);
    shared->received = shared->stream->read_some(space);
  });
  return Kind::locked(shared->guard, tell, shared);
}

template <class Kind>
sennit::continuation fiber_connection<Kind>::tell(std::shared_ptr<listening> shared) {
  const std::lock_guard hold(shared->guard, std::adopt_lock);
  shared->under_way = false;
  if (shared->to != nullptr) {
    shared->ended = shared->received == 0;
    shared->heard = true;
    shared->to->set_aside({shared->space.take().receive_block.data(), shared->received});
    bool news = true;
    shared->news.try_send(news);
    if (shared->ended) {
      shared->to->stop_computing();
    }
    shared->under_way = shared->to->computes_until_the_end() && !shared->ended;
  }
  shared->space.give_back();
  if (shared->under_way) {
    return sennit::become(&listening::reading, hear, shared);
  }
  return {};
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
  stop_computing();
  wake();
}

template <class Kind>
bool fiber_connection<Kind>::is_gone() {
  return !stream_->is_open() || has_ended() || peer_is_gone(stream_->native_handle());
}

template class fiber_connection<one_worker>;
template class fiber_connection<several_workers>;

}  // namespace kv
