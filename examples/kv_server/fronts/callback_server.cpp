// The server on callbacks: one thread, epoll's events, a state machine for each connection. What fibers are
// compared with, so it knows the same tricks: events are edge-triggered and registered once; a read that got
// less than it asked for has emptied the socket and is not repeated; a reply is sent before epoll is asked.
//
//                     +--------------------- all sent ----------------------+
//                     v                                                     |
//   receiving --something to process--> process() --output--> sending ------+--outcome close--> closed
//
// A connection that could go on at once (more in the socket, more to process, news) goes to the end of the
// line of those that are due, and others have their turn.
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <deque>
#include <list>
#include <memory>
#include <set>
#include <system_error>
#include <utility>

#include "servers.hpp"
#include "session.hpp"

namespace kv {

namespace {

using clock = std::chrono::steady_clock;
using time_point = clock::time_point;

class callback_server;

class callback_connection final : public front {
public:
  callback_connection(callback_server& owner, descriptor socket);
  ~callback_connection();
  callback_connection(const callback_connection&) = delete;
  callback_connection& operator=(const callback_connection&) = delete;

  int socket() const { return socket_.get(); }
  void on_events(std::uint32_t events);
  void on_turn() {
    due_ = false;
    go_on();
  }
  void on_deadline();
  void end_input() { end_of_input(socket_.get()); }

  void wake() override;
  void break_off() override;
  bool is_gone() override { return broken_ || peer_is_gone(socket_.get()); }

private:
  friend class callback_server;

  // One step: send what is left, or process once. May end this connection.
  void go_on() {
    if (broken_) {
      return close();
    }
    if (!sending_) {
      if (outcome_ != session::outcome::more && !session_.has_news() && !receive()) {
        return;
      }
      process();
    }
    send_rest();
  }
  // True: there is something to process. False: nothing yet, or it is closed.
  bool receive() {
    if (!readable_) {
      return false;
    }
    const std::span<char> space = session_.receive_space();
    const ssize_t count = ::recv(socket_.get(), space.data(), space.size(), 0);
    if (count > 0) {
      readable_ = exact_ || static_cast<std::size_t>(count) == space.size();
      session_.received(static_cast<std::size_t>(count));
      return true;
    }
    if (count < 0 && (errno == EAGAIN || errno == EINTR)) {
      readable_ = errno == EINTR;
      set_deadline();
      return false;
    }
    close();
    return false;
  }
  void process() {
    outcome_ = session_.process();
    sending_ = true;
    sent_ = 0;
  }
  void send_rest();
  void close();
  void set_deadline();

  callback_server& owner_;
  descriptor socket_;
  bool readable_ = false;  // an attempt is worthwhile; epoll's next event tells
  bool writable_ = true;
  bool exact_ = false;    // after the last event there is: only EAGAIN tells that the socket is empty
  bool sending_ = false;  // output is there, or its outcome is not dealt with
  bool due_ = false;      // in the line
  bool broken_ = false;
  session::outcome outcome_ = session::outcome::wait;
  std::size_t sent_ = 0;
  time_point deadline_ = time_point::max();  // as in the server's list
  session session_;
  std::list<std::unique_ptr<callback_connection>>::iterator place_;
};

class callback_server {
public:
  explicit callback_server(server_state& server);

  void serve();

private:
  friend class callback_connection;

  void watch(int socket, std::uint32_t events, void* what);
  void wait_for_events();
  time_point next_deadline() const;
  void run_due();
  void run_deadlines();
  void accept_all();
  void on_signal();

  server_state& server_;
  descriptor epoll_, signals_, listener_;
  bool accepting_ = false;  // an attempt to accept is worthwhile
  time_point retry_accept_ = time_point::max();
  time_point garbage_ = time_point::min();
  time_point end_ = time_point::max();
  std::deque<callback_connection*> due_;
  std::set<std::pair<time_point, callback_connection*>> deadlines_;
  std::list<std::unique_ptr<callback_connection>> connections_;
};

// --- a connection ---

callback_connection::callback_connection(callback_server& owner, descriptor socket)
    : owner_(owner),
      socket_(std::move(socket)),
      session_(owner.server_, owner.server_.shared, owner.server_.stats.connections_received + 1, this) {}

callback_connection::~callback_connection() {
  if (deadline_ != time_point::max()) {
    owner_.deadlines_.erase({deadline_, this});
  }
  if (due_) {
    std::erase(owner_.due_, this);
  }
}

void callback_connection::on_events(std::uint32_t events) {
  if ((events & (EPOLLRDHUP | EPOLLPRI | EPOLLHUP | EPOLLERR)) != 0) {
    exact_ = true;
  }
  if ((events & (EPOLLIN | EPOLLRDHUP | EPOLLPRI | EPOLLHUP | EPOLLERR)) != 0) {
    readable_ = true;
  }
  if ((events & (EPOLLOUT | EPOLLHUP | EPOLLERR)) != 0) {
    writable_ = true;
  }
  if (!due_) {
    go_on();
  }
}

void callback_connection::send_rest() {
  const std::string_view output = session_.output();
  while (sent_ < output.size()) {
    if (!writable_) {
      return set_deadline();
    }
    const ssize_t count = ::send(socket_.get(), output.data() + sent_, output.size() - sent_, MSG_NOSIGNAL);
    if (count >= 0) {
      sent_ += static_cast<std::size_t>(count);
      writable_ = exact_ || sent_ == output.size();
    } else if (errno == EAGAIN) {
      writable_ = false;
    } else if (errno != EINTR) {
      return close();
    }
  }
  session_.output_sent();
  sending_ = false;
  if (outcome_ == session::outcome::close) {
    return close();
  }
  if (outcome_ == session::outcome::compute) {
    session_.compute();
    outcome_ = session::outcome::more;
  }
  if (outcome_ == session::outcome::more || readable_ || session_.has_news()) {
    wake();
  }
  set_deadline();
}

// Whoever waits for others is not idle.
void callback_connection::set_deadline() {
  const auto timeout = owner_.server_.config.timeout;
  time_point wanted = time_point::max();
  if (session_.is_in_company() && !sending_) {
    wanted = session_.deadline();
  } else if (timeout.count() != 0) {
    wanted = clock::now() + timeout;
  }
  if (wanted == deadline_) {
    return;
  }
  if (deadline_ != time_point::max()) {
    owner_.deadlines_.erase({deadline_, this});
  }
  deadline_ = wanted;
  if (deadline_ != time_point::max()) {
    owner_.deadlines_.emplace(deadline_, this);
  }
}

void callback_connection::on_deadline() {
  deadline_ = time_point::max();
  if (!session_.is_in_company() || sending_) {
    return close();
  }
  session_.time_out();
  set_deadline();
}

void callback_connection::wake() {
  if (!due_) {
    owner_.due_.push_back(this);
    due_ = true;
  }
}

void callback_connection::break_off() {
  broken_ = true;
  wake();
}

void callback_connection::close() {
  owner_.connections_.erase(place_);  // and this with it
}

// --- the loop ---

callback_server::callback_server(server_state& server)
    : server_(server), epoll_(::epoll_create1(EPOLL_CLOEXEC)) {
  signals_ = open_signals(stop_signals);
  listener_ = listen_on(server.config.bind, server.config.port);
  watch(signals_.get(), EPOLLIN, &signals_);
  watch(listener_.get(), EPOLLIN | EPOLLET, &listener_);
}

void callback_server::watch(int socket, std::uint32_t events, void* what) {
  epoll_event event{.events = events, .data = {.ptr = what}};
  if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, socket, &event) != 0) {
    throw std::system_error(errno, std::generic_category(), "watch a descriptor with epoll");
  }
}

void callback_server::serve() {
  say_serving(server_.config);
  while (clock::now() < end_ && (listener_.get() >= 0 || !connections_.empty())) {
    wait_for_events();
    if (accepting_) {
      accept_all();
    }
    run_due();
    run_deadlines();
  }
  connections_.clear();
}

time_point callback_server::next_deadline() const {
  const time_point first = deadlines_.empty() ? time_point::max() : deadlines_.begin()->first;
  return std::min({first, retry_accept_, garbage_, end_});
}

// Connections are not destroyed but by their own turn, event or deadline: those of the batch exist.
void callback_server::wait_for_events() {
  int timeout = 0;
  if (due_.empty()) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(next_deadline() - clock::now()).count();
    timeout = static_cast<int>(std::clamp<decltype(left)>(left, 0, 1000));
  }
  std::array<epoll_event, 256> events;
  const int count = ::epoll_wait(epoll_.get(), events.data(), static_cast<int>(events.size()), timeout);
  for (int i = 0; i < count; ++i) {
    void* what = events[static_cast<std::size_t>(i)].data.ptr;
    if (what == &listener_) {
      accepting_ = true;
    } else if (what == &signals_) {
      on_signal();
    } else {
      static_cast<callback_connection*>(what)->on_events(events[static_cast<std::size_t>(i)].events);
    }
  }
}

// Those that become due meanwhile have their turn in the next round, after the events.
void callback_server::run_due() {
  for (std::size_t left = due_.size(); left != 0 && !due_.empty(); --left) {
    callback_connection* first = due_.front();
    due_.pop_front();
    first->on_turn();
  }
}

void callback_server::run_deadlines() {
  const time_point now = clock::now();
  while (!deadlines_.empty() && deadlines_.begin()->first <= now) {
    callback_connection* first = deadlines_.begin()->second;
    deadlines_.erase(deadlines_.begin());
    first->on_deadline();
  }
  if (garbage_ <= now) {
    garbage_ = destroy_garbage(server_);
  }
  if (retry_accept_ <= now) {
    retry_accept_ = time_point::max();
    accepting_ = true;
  }
}

void callback_server::accept_all() {
  accepting_ = false;
  while (listener_.get() >= 0) {
    descriptor socket = accept_from(listener_, false);
    if (socket.get() < 0) {
      if (errno != EAGAIN) {  // no descriptor, no memory; or that client has gone again
        retry_accept_ = clock::now() + std::chrono::milliseconds(20);
      }
      return;
    }
    if (server_.stats.connected_clients >= server_.config.max_clients) {
      ++server_.stats.rejected_connections;
      ::send(socket.get(), too_many_clients.data(), too_many_clients.size(), MSG_NOSIGNAL);
      continue;
    }
    try {
      connections_.push_back(std::make_unique<callback_connection>(*this, std::move(socket)));
      callback_connection& made = *connections_.back();
      made.place_ = std::prev(connections_.end());
      made.set_deadline();
      watch(made.socket(), EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLPRI | EPOLLET, &made);
    } catch (const std::system_error&) {
      connections_.pop_back();
    } catch (const std::bad_alloc&) {
      // That client is closed; the others go on.
    }
  }
}

void callback_server::on_signal() {
  signalfd_siginfo which;
  while (::read(signals_.get(), &which, sizeof which) > 0) {
    if (listener_.get() < 0) {
      end_ = time_point::min();
      continue;
    }
    say_ending(connections_.size());
    listener_.reset();
    end_ = clock::now() + server_.config.shutdown_timeout;
    for (const auto& each : connections_) {
      each->end_input();
    }
  }
}

}  // namespace

void serve_with_callbacks(server_state& server) {
  callback_server(server).serve();
}

}  // namespace kv
