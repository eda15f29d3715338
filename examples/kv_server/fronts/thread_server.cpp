// The thread front: a thread for each connection, and one lock for the state. A thread holds the lock while
// it executes, and not while it waits, receives or sends.
//
// The thread of a client that is blocked or has subscribed polls its socket and an eventfd, to which other
// threads write.
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <condition_variable>
#include <functional>
#include <list>
#include <mutex>
#include <system_error>
#include <thread>

#include "servers.hpp"
#include "session.hpp"

namespace kv {

namespace {

using clock = std::chrono::steady_clock;
using time_point = clock::time_point;

struct shared_state {
  server_state& server;
  std::mutex lock = {};  // of all that is here, and of the server
  std::list<class thread_connection*> connections = {};
  std::size_t threads = 0;  // that have not ended
  std::condition_variable ended = {};
  bool ending = false;
};

class thread_connection final : public front {
public:
  // The lock is held, by serve() except while it waits, receives and sends.
  thread_connection(shared_state& all, workspace& space, descriptor socket)
      : all_(all),
        socket_(std::move(socket)),
        session_(all.server, space, *this),
        place_(all.connections.insert(all.connections.end(), this)) {
    if (all.ending) {
      break_off();
    }
  }
  ~thread_connection() { all_.connections.erase(place_); }
  thread_connection(const thread_connection&) = delete;
  thread_connection& operator=(const thread_connection&) = delete;
  void serve(std::unique_lock<std::mutex>& hold) {
    session::outcome outcome = session::outcome::wait;
    while (outcome != session::outcome::close) {
      if (outcome == session::outcome::wait && !session_.has_news() && !receive(hold)) {
        return;
      }
      outcome = session_.process();
      hold.unlock();
      const bool sent = send(session_.output());
      session_.output_sent();
      if (sent && outcome == session::outcome::compute) {
        session_.compute();
      } else if (outcome == session::outcome::more) {
        std::this_thread::yield();  // gives a waiting thread the lock
      }
      hold.lock();
      if (!sent) {
        return;
      }
    }
  }

  void wake() override {
    const std::uint64_t one = 1;
    [[maybe_unused]] const auto put = news_.get() < 0 ? 0 : ::write(news_.get(), &one, sizeof one);
  }
  // Ends this thread's wait for the socket.
  void break_off() override {
    ::shutdown(socket_.get(), SHUT_RDWR);
    wake();
  }
  bool is_gone() override { return peer_is_gone(socket_.get()); }

private:
  // Returns false if the connection is to be closed, true if there may be something to process.
  bool receive(std::unique_lock<std::mutex>& hold) {
    const bool awaits_others = session_.awaits_other_clients();
    if (awaits_others && news_.get() < 0) {
      news_ = descriptor(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
      if (news_.get() < 0) {
        return false;
      }
    }
    const time_point deadline = session_.deadline();
    const std::span<char> space = session_.receive_space();
    hold.unlock();
    pollfd waits[] = {{socket_.get(), POLLIN, 0}, {news_.get(), POLLIN, 0}};
    int ready = 1;
    if (awaits_others) {
      ready = ::poll(waits, 2, milliseconds_until(deadline));
    }
    ssize_t count = -1;
    errno = EAGAIN;
    if (ready > 0 && (waits[0].revents != 0 || !awaits_others)) {
      count = ::recv(socket_.get(), space.data(), space.size(), awaits_others ? MSG_DONTWAIT : 0);
    }
    const bool again = errno == EAGAIN || errno == EINTR;
    std::uint64_t ignored;
    [[maybe_unused]] const auto got = awaits_others ? ::read(news_.get(), &ignored, sizeof ignored) : 0;
    hold.lock();
    if (count > 0) {
      session_.received(static_cast<std::size_t>(count));
    } else if (ready == 0 && clock::now() >= deadline) {
      session_.time_out();
    }
    return count > 0 || (count < 0 && again);
  }
  bool send(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t count = ::send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (count >= 0) {
        bytes.remove_prefix(static_cast<std::size_t>(count));
      } else if (errno != EINTR) {
        return false;
      }
    }
    return true;
  }

  shared_state& all_;
  descriptor socket_;
  descriptor news_;  // an eventfd, once there was need of it
  session session_;
  std::list<thread_connection*>::iterator place_;
};

void serve_connection(shared_state& all, descriptor socket) {
  workspace space;
  std::unique_lock hold(all.lock);
  try {
    thread_connection(all, space, std::move(socket)).serve(hold);
  } catch (const std::bad_alloc&) {
    // Closes only this client.
  }
  if (--all.threads == 0) {
    all.ended.notify_all();  // with the lock held: `all` may be gone afterwards
  }
}

void accept_one(shared_state& all, const descriptor& listener) {
  descriptor socket = accept_from(listener, true);
  if (socket.get() < 0) {
    if (errno != EAGAIN) {  // no descriptor, no memory; or that client has gone again
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    return;
  }
  const std::lock_guard hold(all.lock);
  if (refuse_if_full(all.server.config, all.threads, socket.get())) {
    return;
  }
  try {
    std::thread(serve_connection, std::ref(all), std::move(socket)).detach();
    ++all.threads;
  } catch (const std::system_error&) {
    // No more threads: this client is closed.
  }
}

}  // namespace

void serve_with_threads(server_state& server) {
  shared_state all{server};
  const descriptor signals = open_signals();
  const descriptor listener = listen_on(server.config.bind, server.config.port);
  say_serving(server.config);
  time_point garbage = clock::now();
  for (pollfd waits[] = {{signals.get(), POLLIN, 0}, {listener.get(), POLLIN, 0}}; waits[0].revents == 0;) {
    ::poll(waits, 2, milliseconds_until(garbage));
    if (waits[1].revents != 0) {
      accept_one(all, listener);
    }
    if (clock::now() >= garbage) {
      const std::lock_guard hold(all.lock);
      garbage = destroy_garbage(all.server);
    }
  }
  std::unique_lock hold(all.lock);
  all.ending = true;
  for (thread_connection* each : all.connections) {
    each->break_off();
  }
  all.ended.wait(hold, [&] { return all.threads == 0; });
}

}  // namespace kv
