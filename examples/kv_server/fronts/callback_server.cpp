// The server on callbacks: one thread, epoll's events, a state machine for each connection. What fibers are
// compared with, so it knows the same tricks: events are edge-triggered and registered once; a read that got
// less than it asked for has emptied the socket and is not repeated; a reply is sent before epoll is asked.
//
//                     +--------------------- all sent ----------------------+
//                     v                                                     |
//   receiving --something to process--> process() --output--> sending ------+--outcome close--> closed
//
// A connection that can continue at once (more in the socket, more to process, news) goes to the end of the
// queue of due connections, so that the others have their turn.
#include <sys/epoll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <deque>
#include <list>
#include <set>
#include <system_error>
#include <utility>

#include "servers.hpp"
#include "session.hpp"

namespace kv {

namespace {

using clock = std::chrono::steady_clock;
using time_point = clock::time_point;

// What the server and its connections share.
struct callback_state {
  server_state& server;
  std::deque<class callback_connection*> due = {};
  std::set<std::pair<time_point, callback_connection*>> deadlines = {};
  std::list<callback_connection> connections = {};
};

class callback_connection final : public front {
public:
  callback_connection(callback_state& all, descriptor socket)
      : all_(all), socket_(std::move(socket)), session_(all.server, all.server.shared, *this) {}
  ~callback_connection() {
    all_.deadlines.erase({deadline_, this});
    if (due_) {
      std::erase(all_.due, this);
    }
  }
  callback_connection(const callback_connection&) = delete;
  callback_connection& operator=(const callback_connection&) = delete;

  int socket() const { return socket_.get(); }
  void begin(std::list<callback_connection>::iterator place) { place_ = place; }
  void on_events(std::uint32_t events) {
    const bool last = (events & (EPOLLRDHUP | EPOLLPRI | EPOLLHUP | EPOLLERR)) != 0;
    exact_ = exact_ || last;
    readable_ = readable_ || last || (events & EPOLLIN) != 0;
    writable_ = writable_ || (events & (EPOLLOUT | EPOLLHUP | EPOLLERR)) != 0;
    if (!due_) {
      step();
    }
  }
  void on_turn() {
    due_ = false;
    all_.due.pop_front();
    step();
  }
  void on_deadline() {
    session_.time_out();
    set_deadline();
  }

  void wake() override {
    if (!due_) {
      all_.due.push_back(this);
      due_ = true;
    }
  }
  void break_off() override {
    broken_ = true;
    wake();
  }
  bool is_gone() override { return broken_ || peer_is_gone(socket_.get()); }

private:
  // Sends what is left, or processes once. May destroy this connection.
  void step() {
    if (broken_) {
      return close();
    }
    if (!sending_) {
      if (outcome_ != session::outcome::more && !session_.has_news() && !receive()) {
        return;
      }
      outcome_ = session_.process();
      sending_ = true;
      sent_ = 0;
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
    } else if (count < 0 && (errno == EAGAIN || errno == EINTR)) {
      readable_ = errno == EINTR;
      set_deadline();
    } else {
      close();
    }
    return count > 0;
  }
  void send_rest() {
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
  void close() { all_.connections.erase(place_); }  // destroys this connection
  void set_deadline() {
    const time_point wanted =
        session_.awaits_other_clients() && !sending_ ? session_.deadline() : time_point::max();
    if (wanted != deadline_) {
      all_.deadlines.erase({deadline_, this});
      deadline_ = wanted;
      all_.deadlines.emplace(deadline_, this);
    }
  }

  callback_state& all_;
  descriptor socket_;
  bool readable_ = false;  // an attempt is worthwhile; set by epoll's next event
  bool writable_ = true;
  bool exact_ = false;    // no more events come: only EAGAIN shows that the socket is empty
  bool sending_ = false;  // there is output, or its outcome has not been handled
  bool due_ = false;      // in the queue
  bool broken_ = false;
  session::outcome outcome_ = session::outcome::wait;
  std::size_t sent_ = 0;
  time_point deadline_ = time_point::max();  // as in the server's set
  session session_;
  std::list<callback_connection>::iterator place_;
};

class callback_server {
public:
  explicit callback_server(server_state& server) : epoll_(::epoll_create1(EPOLL_CLOEXEC)), all_{server} {
    signals_ = open_signals();
    listener_ = listen_on(server.config.bind, server.config.port);
    watch(signals_.get(), EPOLLIN, &signals_);
    watch(listener_.get(), EPOLLIN | EPOLLET, &listener_);
  }

  void serve() {
    say_serving(all_.server.config);
    while (!ending_) {
      wait_for_events();
      if (accepting_) {
        accept_all();
      }
      run_due();
      run_deadlines();
    }
    all_.connections.clear();
  }

private:
  void watch(int socket, std::uint32_t events, void* what) {
    epoll_event event{.events = events, .data = {.ptr = what}};
    if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, socket, &event) != 0) {
      throw std::system_error(errno, std::generic_category(), "watch a descriptor with epoll");
    }
  }
  // A connection is destroyed only in its own turn, event or deadline, so those of the batch exist.
  void wait_for_events() {
    int timeout = 0;
    if (all_.due.empty()) {
      const time_point first = all_.deadlines.empty() ? time_point::max() : all_.deadlines.begin()->first;
      const time_point next = std::min({first, retry_accept_, garbage_});
      timeout = milliseconds_until(next);
    }
    std::array<epoll_event, 256> events;
    const int count = ::epoll_wait(epoll_.get(), events.data(), static_cast<int>(events.size()), timeout);
    for (int i = 0; i < count; ++i) {
      void* what = events[static_cast<std::size_t>(i)].data.ptr;
      if (what == &listener_) {
        accepting_ = true;
      } else if (what == &signals_) {
        ending_ = true;
      } else {
        static_cast<callback_connection*>(what)->on_events(events[static_cast<std::size_t>(i)].events);
      }
    }
  }
  // Connections that become due meanwhile have their turn in the next round, after the events.
  void run_due() {
    for (std::size_t left = all_.due.size(); left != 0 && !all_.due.empty(); --left) {
      all_.due.front()->on_turn();
    }
  }
  void run_deadlines() {
    const time_point now = clock::now();
    while (!all_.deadlines.empty() && all_.deadlines.begin()->first <= now) {
      all_.deadlines.begin()->second->on_deadline();
    }
    if (garbage_ <= now) {
      garbage_ = destroy_garbage(all_.server);
    }
    if (retry_accept_ <= now) {
      retry_accept_ = time_point::max();
      accepting_ = true;
    }
  }
  void accept_all() {
    accepting_ = false;
    for (;;) {
      descriptor socket = accept_from(listener_, false);
      if (socket.get() < 0) {
        if (errno != EAGAIN) {  // no descriptor, no memory; or that client has gone again
          retry_accept_ = clock::now() + std::chrono::milliseconds(20);
        }
        return;
      }
      if (refuse_if_full(all_.server.config, all_.server.connected_clients, socket.get())) {
        continue;
      }
      try {
        callback_connection& made = all_.connections.emplace_back(all_, std::move(socket));
        made.begin(std::prev(all_.connections.end()));
        watch(made.socket(), EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLPRI | EPOLLET, &made);
      } catch (const std::system_error&) {
        all_.connections.pop_back();
      } catch (const std::bad_alloc&) {
        // Closes only that client.
      }
    }
  }
  descriptor epoll_, signals_, listener_;
  bool accepting_ = false;  // an attempt to accept is worthwhile
  bool ending_ = false;     // SIGINT or SIGTERM has come
  time_point retry_accept_ = time_point::max();
  time_point garbage_ = clock::now();
  callback_state all_;
};

}  // namespace

void serve_with_callbacks(server_state& server) {
  callback_server(server).serve();
}

}  // namespace kv
