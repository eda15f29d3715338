// The server on fibers: one accepts, one waits for the signals to end, one removes keys whose time is over,
// one is asked when a client's command faults, and each connection has its own (fiber_connection.hpp). All of
// one thread, or on several workers.
#include <cstdio>
#include <list>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>

#include "fiber_connection.hpp"
#include "sennit/become.hpp"
#include "sennit/signal_set.hpp"
#include "sennit/tcp_listener.hpp"
#include "sennit/tcp_stream.hpp"
#include "servers.hpp"

namespace kv {

namespace {

using clock = std::chrono::steady_clock;

const char* text_of(sennit::fault_kind kind) {
  switch (kind) {
    case sennit::fault_kind::memory:
      return "memory fault";
    case sennit::fault_kind::bus:
      return "bus error";
    case sennit::fault_kind::overflow:
      return "stack overflow";
    case sennit::fault_kind::instruction:
      return "illegal instruction";
    default:
      return "arithmetic fault";
  }
}

// Outlives the runtime, whose end ends the fibers that use it.
template <class Kind>
class fiber_server {
public:
  explicit fiber_server(server_state& server) : server_(server) {}

  void serve();

private:
  using mutex = typename Kind::mutex;
  using connection = fiber_connection<Kind>;

  // A connection in the list of all. With the lock held.
  struct guest {
    guest(std::shared_ptr<sennit::tcp_stream> stream, fiber_server& server)
        : of(server),
          served(std::move(stream), server.server_, server.guard_, server.spaces_),
          place(server.connections_.insert(server.connections_.end(), &served)) {}
    ~guest() {
      of.connections_.erase(place);
      if (of.connections_.empty()) {
        of.say_changed();
      }
    }
    guest(const guest&) = delete;
    guest& operator=(const guest&) = delete;
    auto reading() const { return served.reading(); }

    fiber_server& of;
    connection served;
    typename std::list<connection*>::iterator place;
  };

  sennit::continuation remove_keys();
  void accept_until_closed();
  void accept_one();
  sennit::continuation begin(std::shared_ptr<sennit::tcp_stream> stream);
  static sennit::continuation rest(std::unique_ptr<guest> served, std::unique_lock<mutex>& held);
  static sennit::continuation serve_connection(std::unique_ptr<guest> rested);
  static sennit::continuation serve_locked(std::unique_ptr<guest> rested);
  static sennit::continuation serve_in_time(std::unique_ptr<guest> rested, bool in_time);
  [[gnu::noinline]] void run_guarded(const connection& of, std::unique_lock<mutex>& held);
  void answer_faults();
  void refuse(sennit::tcp_stream& stream);
  void finish_connections();
  void say_changed();

  server_state& server_;
  sennit::tcp_listener listener_;
  std::optional<sennit::signal_set> signals_;
  typename Kind::exception_server faults_;
  mutex guard_;  // of the server's state, and of what follows
  typename Kind::workspaces spaces_;
  std::list<connection*> connections_;
  bool ending_ = false;
  bool hurry_ = false;                 // a second signal has come
  typename Kind::channel changed_{1};  // the last connection has ended, or hurry_
};

template <class Kind>
void fiber_server<Kind>::serve() {
  signals_.emplace(stop_signals);
  listener_ = sennit::tcp_listener(server_.config.bind, server_.config.port);
  say_serving(server_.config);
  if (server_.config.debug_command && sennit::serves_faults) {
    server_.survives_faults = true;
    Kind::spawn([this] { answer_faults(); }, "faults");
  }
  Kind::spawn([this] { accept_until_closed(); }, "acceptor");
  Kind::spawn([this] { return remove_keys(); }, "expiry");
  signals_->wait();
  finish_connections();
}

template <class Kind>
sennit::continuation fiber_server<Kind>::remove_keys() {
  std::unique_lock hold(guard_);
  const clock::time_point next = remove_expired(server_);
  hold.unlock();
  return sennit::become(sennit::this_fiber::sleeping_until(next), &fiber_server::remove_keys, this);
}

// Descriptors or memory have run out: those who wait to be accepted wait on, until somebody leaves. Between
// two the last one comes to rest: of many that arrive at once few have a stack at a time.
template <class Kind>
void fiber_server<Kind>::accept_until_closed() {
  constexpr std::chrono::milliseconds pause{20};
  while (listener_.is_open()) {
    try {
      accept_one();
      Kind::yield();
    } catch (const std::system_error&) {
      Kind::sleep_until(clock::now() + pause);
    } catch (const std::bad_alloc&) {
      Kind::sleep_until(clock::now() + pause);
    }
  }
}

template <class Kind>
void fiber_server<Kind>::accept_one() {
  auto stream = std::make_shared<sennit::tcp_stream>(listener_.accept());
  std::unique_lock hold(guard_);
  if (server_.stats.connected_clients >= server_.config.max_clients) {
    ++server_.stats.rejected_connections;
    hold.unlock();
    refuse(*stream);
    return;
  }
  const std::size_t number = server_.stats.connections_received;
  hold.unlock();
  Kind::spawn_connection([stream = std::move(stream), this]() mutable { return begin(std::move(stream)); },
                         number);
}

template <class Kind>
sennit::continuation fiber_server<Kind>::begin(std::shared_ptr<sennit::tcp_stream> stream) {
  std::unique_lock hold(guard_);
  try {
    auto arrived = std::make_unique<guest>(std::move(stream), *this);
    if (ending_) {
      arrived->served.end_input();
    }
    return rest(std::move(arrived), hold);
  } catch (const std::bad_alloc&) {
    return {};  // the client is let go
  }
}

// With the lock held, and without it when there is a continuation. Who rests holds no stack, and no memory to
// receive into.
template <class Kind>
sennit::continuation fiber_server<Kind>::rest(std::unique_ptr<guest> served, std::unique_lock<mutex>& held) {
  const clock::time_point deadline = served->served.idle_deadline();
  const auto reading = [deadline](const auto& its) { return its->served.reading_until(deadline); };
  auto next = deadline == clock::time_point::max()
                  ? sennit::become(&guest::reading, serve_connection, std::move(served))
                  : sennit::become(reading, serve_in_time, std::move(served));
  held.unlock();
  return next;
}

template <class Kind>
sennit::continuation fiber_server<Kind>::serve_in_time(std::unique_ptr<guest> rested, bool in_time) {
  if (in_time) {
    return serve_connection(std::move(rested));
  }
  const std::lock_guard hold(rested->of.guard_);
  const auto closed = std::move(rested);
  return {};
}

// Who holds the lock may not run just now, while on another worker one connection after the other comes here:
// they wait for it without a stack.
template <class Kind>
sennit::continuation fiber_server<Kind>::serve_connection(std::unique_ptr<guest> rested) {
  mutex& guard = rested->of.guard_;
  if constexpr (requires { guard.locking(); }) {
    if (!guard.try_lock()) {
      return sennit::become([](const auto& its) { return its->of.guard_.locking(); }, serve_locked,
                            std::move(rested));
    }
  }
  return serve_locked(std::move(rested));
}

// With the lock held, and without it when there is a continuation, or the connection has ended.
template <class Kind>
sennit::continuation fiber_server<Kind>::serve_locked(std::unique_ptr<guest> rested) {
  std::unique_lock hold(rested->of.guard_, std::adopt_lock);
  auto here = std::move(rested);  // goes with the lock held
  try {
    if (here->served.serve(hold)) {
      return rest(std::move(here), hold);
    }
    if (here->served.its_session().is_at_risk()) {
      here->of.run_guarded(here->served, hold);
    }
  } catch (const std::system_error&) {
    // Reset by the peer, idle for too long, broken off by us: the connection's end like any other.
  } catch (const std::bad_alloc&) {
    // No memory to rest in.
  }
  return {};
}

// Only here is a client's fiber guarded: without the lock, owning what it owns outside of what it runs. So no
// guard is held while a connection rests, and requests pay nothing. Whoever is killed goes on here, and the
// connection ends like any other.
template <class Kind>
void fiber_server<Kind>::run_guarded(const connection& of, std::unique_lock<mutex>& held) {
  Kind::name_fiber("client " + std::to_string(of.its_session().id()));
  held.unlock();
  bool faulted = false;
  try {
    sennit::guarded(faults_, run_at_risk);
  } catch (const sennit::killed&) {
    faulted = true;
  }
  held.lock();
  server_.stats.client_faults += faulted ? 1 : 0;
}

// Nobody else is guarded: whatever comes here holds nothing that others need.
template <class Kind>
void fiber_server<Kind>::answer_faults() {
  for (;;) {
    auto fault = faults_.receive();
    const std::string_view who = fault.fiber();
    std::fprintf(stderr, "kv_server: %.*s: %s at 0x%zx; its connection is closed\n",
                 static_cast<int>(who.size()), who.data(), text_of(fault.kind()),
                 reinterpret_cast<std::size_t>(fault.address()));
    fault.reply(sennit::verdict::kill);
  }
}

template <class Kind>
void fiber_server<Kind>::refuse(sennit::tcp_stream& stream) {
  std::error_code gone_already;
  stream.write_all(too_many_clients, gone_already, clock::now());
}

// What is left when it returns is ended with the runtime.
template <class Kind>
void fiber_server<Kind>::finish_connections() {
  std::unique_lock hold(guard_);
  say_ending(connections_.size());
  ending_ = true;
  listener_.close();
  for (connection* each : connections_) {
    each->end_input();
  }
  Kind::spawn(
      [this] {
        signals_->wait();
        const std::lock_guard told(guard_);
        hurry_ = true;
        say_changed();
      },
      "second signal");
  const clock::time_point deadline = clock::now() + server_.config.shutdown_timeout;
  bool in_time = true;
  while (in_time && !connections_.empty() && !hurry_) {
    hold.unlock();
    in_time = changed_.receive_until(deadline).has_value();
    hold.lock();
  }
}

template <class Kind>
void fiber_server<Kind>::say_changed() {
  bool news = true;
  changed_.try_send(news);
}

}  // namespace

void serve_with_fibers(server_state& server, unsigned workers) {
  if (workers == 1) {
    fiber_server<one_worker> front(server);
    sennit::local::runtime runtime;
    runtime.run([&] { front.serve(); });
  } else {
    fiber_server<several_workers> front(server);
    sennit::runtime runtime({.workers = workers});
    runtime.run([&] { front.serve(); });
  }
}

}  // namespace kv
