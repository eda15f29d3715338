// The server on threads: one for each connection, and one lock for the state. A thread holds it while it
// executes, and waits without it.
//
// A client that is blocked or has subscribed is in company: then its thread waits for the socket and for word
// from other threads, which comes through an eventfd.
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <condition_variable>
#include <limits>
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

// Milliseconds for poll(2), rounded up.
int until(time_point deadline) {
  if (deadline == time_point::max()) {
    return -1;
  }
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - clock::now()).count();
  return static_cast<int>(std::clamp<decltype(left)>(left, 0, std::numeric_limits<int>::max()));
}

struct shared_state {
  explicit shared_state(server_state& all) : server(all) {}

  server_state& server;
  std::mutex lock;  // of all that is here, and of the server
  std::condition_variable finished;
  std::list<class thread_connection*> connections;
  std::size_t threads = 0;  // that have not ended
  bool ending = false;
};

class thread_connection final : public front {
public:
  // The lock is held.
  thread_connection(shared_state& all, workspace& space, descriptor socket);
  ~thread_connection();
  thread_connection(const thread_connection&) = delete;
  thread_connection& operator=(const thread_connection&) = delete;

  // The lock is held by `hold`, but for the time of waiting, receiving and sending.
  void serve(std::unique_lock<std::mutex>& hold);

  void end_input() { end_of_input(socket_.get()); }

  void wake() override;
  void break_off() override;
  bool is_gone() override { return peer_is_gone(socket_.get()); }

private:
  time_point idle_deadline() const;
  bool receive(std::unique_lock<std::mutex>& hold);
  bool wait_in_company(std::unique_lock<std::mutex>& hold);
  bool send(std::string_view bytes);
  bool wait_for(short events, time_point deadline);

  shared_state& all_;
  descriptor socket_;
  descriptor news_;  // an eventfd, once there was need of it
  session session_;
  std::list<thread_connection*>::iterator place_;
};

thread_connection::thread_connection(shared_state& all, workspace& space, descriptor socket)
    : all_(all),
      socket_(std::move(socket)),
      session_(all.server, space, all.server.stats.connections_received + 1, this),
      place_(all.connections.insert(all.connections.end(), this)) {
  if (all.ending) {
    end_input();
  }
}

thread_connection::~thread_connection() {
  all_.connections.erase(place_);
}

void thread_connection::serve(std::unique_lock<std::mutex>& hold) {
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
      std::this_thread::yield();  // whoever waits for the lock may have it
    }
    hold.lock();
    if (!sent) {
      return;
    }
  }
}

time_point thread_connection::idle_deadline() const {
  const auto timeout = all_.server.config.timeout;
  return timeout.count() == 0 ? time_point::max() : clock::now() + timeout;
}

// False: close. True: there may be something to process.
bool thread_connection::receive(std::unique_lock<std::mutex>& hold) {
  if (session_.is_in_company()) {
    return wait_in_company(hold);
  }
  const std::span<char> space = session_.receive_space();
  hold.unlock();
  ssize_t count = 0;
  do {
    const bool in_time = all_.server.config.timeout.count() == 0 || wait_for(POLLIN, idle_deadline());
    count = in_time ? ::recv(socket_.get(), space.data(), space.size(), 0) : 0;
  } while (count < 0 && errno == EINTR);
  hold.lock();
  if (count > 0) {
    session_.received(static_cast<std::size_t>(count));
  }
  return count > 0;
}

bool thread_connection::wait_in_company(std::unique_lock<std::mutex>& hold) {
  if (news_.get() < 0) {
    news_ = descriptor(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
    if (news_.get() < 0) {
      return false;
    }
  }
  const time_point deadline = session_.deadline();
  hold.unlock();
  pollfd waits[] = {{socket_.get(), POLLIN, 0}, {news_.get(), POLLIN, 0}};
  const int count = ::poll(waits, 2, until(deadline));
  std::uint64_t ignored;
  [[maybe_unused]] const auto got = ::read(news_.get(), &ignored, sizeof ignored);
  hold.lock();
  if (count == 0 && clock::now() >= deadline) {
    session_.time_out();
    return true;
  }
  if (waits[0].revents == 0) {
    return true;
  }
  const std::span<char> space = session_.receive_space();
  const ssize_t size = ::recv(socket_.get(), space.data(), space.size(), MSG_DONTWAIT);
  if (size > 0) {
    session_.received(static_cast<std::size_t>(size));
  }
  return size > 0 || (size < 0 && (errno == EAGAIN || errno == EINTR));
}

bool thread_connection::send(std::string_view bytes) {
  const time_point deadline = idle_deadline();
  while (!bytes.empty()) {
    const int how = MSG_NOSIGNAL | (deadline == time_point::max() ? 0 : MSG_DONTWAIT);
    const ssize_t count = ::send(socket_.get(), bytes.data(), bytes.size(), how);
    if (count >= 0) {
      bytes.remove_prefix(static_cast<std::size_t>(count));
    } else if (errno == EAGAIN ? !wait_for(POLLOUT, deadline) : errno != EINTR) {
      return false;
    }
  }
  return true;
}

bool thread_connection::wait_for(short events, time_point deadline) {
  pollfd one{socket_.get(), events, 0};
  return ::poll(&one, 1, until(deadline)) != 0;
}

void thread_connection::wake() {
  if (news_.get() >= 0) {
    const std::uint64_t one = 1;
    [[maybe_unused]] const auto put = ::write(news_.get(), &one, sizeof one);
  }
}

// Whoever waits in the socket gets an error or the end of the stream.
void thread_connection::break_off() {
  ::shutdown(socket_.get(), SHUT_RDWR);
  session_.stop_computing();
  wake();
}

void serve_connection(shared_state& all, descriptor socket) {
  workspace space;
  std::unique_lock hold(all.lock);
  try {
    thread_connection(all, space, std::move(socket)).serve(hold);
  } catch (const std::bad_alloc&) {
    // This client is closed; the others go on.
  }
  --all.threads;
  all.finished.notify_all();
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
  if (all.threads >= all.server.config.max_clients) {
    ++all.server.stats.rejected_connections;
    ::send(socket.get(), too_many_clients.data(), too_many_clients.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    return;
  }
  try {
    std::thread([&all, socket = std::move(socket)]() mutable {
      serve_connection(all, std::move(socket));
    }).detach();
    ++all.threads;
  } catch (const std::system_error&) {
    ++all.server.stats.rejected_connections;  // no more threads: this client is closed
  }
}

// Until a signal comes.
void accept_and_clean(shared_state& all, const descriptor& listener, const descriptor& signals) {
  time_point garbage = clock::now();
  for (;;) {
    pollfd waits[] = {{signals.get(), POLLIN, 0}, {listener.get(), POLLIN, 0}};
    ::poll(waits, 2, until(garbage));
    if (waits[0].revents != 0) {
      return;
    }
    if (waits[1].revents != 0) {
      accept_one(all, listener);
    }
    if (clock::now() >= garbage) {
      const std::lock_guard hold(all.lock);
      garbage = destroy_garbage(all.server);
    }
  }
}

void take_signal(const descriptor& signals) {
  signalfd_siginfo which;
  [[maybe_unused]] const auto got = ::read(signals.get(), &which, sizeof which);
}

// True: all threads have ended.
bool wait_for_end(shared_state& all, const descriptor& signals) {
  const time_point deadline = clock::now() + all.server.config.shutdown_timeout;
  std::unique_lock hold(all.lock);
  while (all.threads != 0 && clock::now() < deadline) {
    hold.unlock();
    pollfd impatience{signals.get(), POLLIN, 0};
    if (::poll(&impatience, 1, 0) > 0) {
      return false;
    }
    hold.lock();
    all.finished.wait_for(hold, std::chrono::milliseconds(50), [&] { return all.threads == 0; });
  }
  return all.threads == 0;
}

}  // namespace

void serve_with_threads(server_state& server) {
  shared_state all(server);
  const descriptor signals = open_signals(stop_signals);
  descriptor listener = listen_on(server.config.bind, server.config.port);
  say_serving(server.config);
  accept_and_clean(all, listener, signals);
  take_signal(signals);
  listener.reset();
  {
    const std::lock_guard hold(all.lock);
    all.ending = true;
    say_ending(all.connections.size());
    for (thread_connection* each : all.connections) {
      each->end_input();
    }
  }
  if (!wait_for_end(all, signals)) {
    std::unique_lock hold(all.lock);
    for (thread_connection* each : all.connections) {
      each->break_off();
    }
    all.finished.wait(hold, [&] { return all.threads == 0; });
  }
}

}  // namespace kv
