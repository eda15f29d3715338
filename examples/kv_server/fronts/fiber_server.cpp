// The server on fibers: one accepts, one waits for the signals to end, one destroys removed values,
// one closes idle connections, one is asked when a client's command faults, and each connection has its own
// (fiber_connection.hpp). All of one thread, or on several workers.
#include <algorithm>
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
#include "sennit/no_yield_guard.hpp"
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
  static constexpr int most_beginners = 16;

  // A connection in the list of all. Made and destroyed with the lock held.
  struct guest {
    guest(std::shared_ptr<sennit::tcp_stream> stream, fiber_server& server)
        : of(server),
          served(std::move(stream), server.server_, server.guard_, server.spaces_),
          place(server.guests_.insert(server.guests_.end(), this)) {}
    ~guest() {
      of.guests_.erase(place);
      if (of.guests_.empty()) {
        of.say_changed();
      }
    }
    guest(const guest&) = delete;
    guest& operator=(const guest&) = delete;
    auto reading() const { return served.reading(); }
    auto news() const { return served.news(); }

    fiber_server& of;
    connection served;
    typename std::list<guest*>::iterator place;
    clock::time_point closed_at = clock::time_point::max();  // while it rests, with a time-out
  };

  sennit::continuation destroy_garbage_later();
  sennit::continuation close_idle();
  sennit::continuation await_client();
  sennit::continuation accept();
  bool accept_one();
  // What a connection's fiber goes on with; see fiber_connection.hpp. Without the lock:
  using owned = std::unique_ptr<guest>;
  static sennit::continuation begin(owned its);
  static sennit::continuation rest(owned its);
  static sennit::continuation receive(owned its);
  static sennit::continuation lock_to_answer(owned its);
  static sennit::continuation hear_news(owned its, std::optional<bool> news);
  // With the lock held, which they let go:
  static sennit::continuation answer(owned its);
  static sennit::continuation rest_in_time(owned its);
  static sennit::continuation look(owned its);
  static sennit::continuation time_out(owned its);
  static sennit::continuation close(owned its);

  static sennit::continuation locked(sennit::continuation (*next)(owned), owned its) {
    mutex& guard = its->of.guard_;
    return Kind::locked(guard, next, std::move(its));
  }
  static typename connection::step process_whole(connection& served);
  [[gnu::noinline]] void run_guarded(const connection& of);
  void answer_faults();
  void refuse(sennit::tcp_stream& stream);
  void finish_connections();
  void say_changed();

  server_state& server_;
  sennit::tcp_listener listener_;
  std::optional<sennit::signal_set> signals_;
  typename Kind::exception_server faults_;
  mutex guard_;  // of the server's state, and of what follows
  typename Kind::workspaces spaces_{server_};
  std::list<guest*> guests_;  // of those that rest, with a time-out, who has rested longest first
  typename Kind::semaphore beginners_{most_beginners};  // which have a stack that they have not run on
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
  Kind::spawn([this] { return await_client(); }, "acceptor");
  Kind::spawn([this] { return destroy_garbage_later(); }, "garbage");
  if (server_.config.timeout.count() != 0) {
    Kind::spawn([this] { return close_idle(); }, "time-out");
  }
  signals_->wait();
  finish_connections();
}

template <class Kind>
sennit::continuation fiber_server<Kind>::destroy_garbage_later() {
  std::unique_lock hold(guard_);
  const clock::time_point next = destroy_garbage(server_);
  hold.unlock();
  return sennit::become(sennit::this_fiber::sleeping_until(next), &fiber_server::destroy_garbage_later, this);
}

// Not at each deadline, if they are close together: it passes by those that wait for others, too. A request
// that comes just then is still answered. (A wait with a deadline for each connection would take 400 bytes of
// it.)
template <class Kind>
sennit::continuation fiber_server<Kind>::close_idle() {
  constexpr std::chrono::milliseconds pause{100};
  const std::lock_guard hold(guard_);
  const clock::time_point now = clock::now();
  clock::time_point next = now + server_.config.timeout;
  for (guest* each : guests_) {
    if (each->closed_at > now && each->closed_at != clock::time_point::max()) {
      next = each->closed_at;
      break;
    }
    if (each->closed_at <= now) {
      each->closed_at = clock::time_point::max();
      each->served.end_input();
    }
  }
  next = std::max(next, now + pause);
  return sennit::become(sennit::this_fiber::sleeping_until(next), &fiber_server::close_idle, this);
}

// Of many that arrive at once few have a stack at a time: it queues for its turn even if a client is there
// already, and waits where another worker is behind with those that were given to it.
template <class Kind>
sennit::continuation fiber_server<Kind>::await_client() {
  return sennit::become(listener_.accepting(), &fiber_server::accept, this);
}

// Descriptors or memory have run out: those who wait to be accepted wait on, until somebody leaves.
template <class Kind>
sennit::continuation fiber_server<Kind>::accept() {
  constexpr std::chrono::milliseconds pause{20};
  if (!listener_.is_open()) {
    return {};
  }
  try {
    if (accept_one()) {
      return sennit::become(beginners_.acquiring(), &fiber_server::await_client, this);
    }
    return await_client();
  } catch (const std::system_error&) {
  } catch (const std::bad_alloc&) {
  }
  return sennit::become(sennit::this_fiber::sleeping_for(pause), &fiber_server::await_client, this);
}

// Whether a connection has begun.
template <class Kind>
bool fiber_server<Kind>::accept_one() {
  auto stream = std::make_shared<sennit::tcp_stream>(listener_.accept());
  std::unique_lock hold(guard_);
  if (server_.stats.connected_clients >= server_.config.max_clients) {
    ++server_.stats.rejected_connections;
    hold.unlock();
    refuse(*stream);
    return false;
  }
  const std::size_t number = server_.stats.connections_received;
  auto arrived = std::make_unique<guest>(std::move(stream), *this);
  if (ending_) {
    arrived->served.end_input();
  }
  Kind::spawn_connection([arrived = std::move(arrived)]() mutable { return begin(std::move(arrived)); },
                         number);
  return true;
}

template <class Kind>
sennit::continuation fiber_server<Kind>::begin(owned its) {
  its->of.beginners_.release();
  return rest(std::move(its));
}

template <class Kind>
sennit::continuation fiber_server<Kind>::rest(owned its) {
  if (its->of.server_.config.timeout.count() != 0) {
    return locked(rest_in_time, std::move(its));
  }
  return sennit::become(&guest::reading, receive, std::move(its));
}

template <class Kind>
sennit::continuation fiber_server<Kind>::rest_in_time(owned its) {
  fiber_server& of = its->of;
  const std::lock_guard hold(of.guard_, std::adopt_lock);
  its->closed_at = its->served.idle_deadline();
  of.guests_.splice(of.guests_.end(), of.guests_, its->place);
  return sennit::become(&guest::reading, receive, std::move(its));
}

template <class Kind>
sennit::continuation fiber_server<Kind>::receive(owned its) {
  const bool received = its->served.receive();
  return locked(received ? answer : close, std::move(its));
}

template <class Kind>
sennit::continuation fiber_server<Kind>::lock_to_answer(owned its) {
  return locked(answer, std::move(its));
}

// Commands are executed in one piece, also where they compute within a transaction.
template <class Kind>
auto fiber_server<Kind>::process_whole(connection& served) -> typename connection::step {
  const sennit::no_yield_guard whole;
  return served.process();
}

// A client whose next request is always there already must not keep the others from their turn.
template <class Kind>
sennit::continuation fiber_server<Kind>::answer(owned its) {
  connection& served = its->served;
  its->closed_at = clock::time_point::max();
  auto next = process_whole(served);
  its->of.guard_.unlock();
  const bool sent = served.send();
  if (!sent) {
    next = connection::step::close;
  }
  switch (next) {
    case connection::step::rest:
      return rest(std::move(its));
    case connection::step::receive:
      return sennit::become(sennit::this_fiber::yielding(), receive, std::move(its));
    case connection::step::process:
      return sennit::become(sennit::this_fiber::yielding(), lock_to_answer, std::move(its));
    case connection::step::compute:
      served.compute();
      return locked(answer, std::move(its));
    case connection::step::look:
      return locked(look, std::move(its));
    case connection::step::close:
      break;
  }
  if (sent && served.its_session().is_at_risk()) {
    its->of.run_guarded(served);
  }
  return locked(close, std::move(its));
}

// In company.
template <class Kind>
sennit::continuation fiber_server<Kind>::look(owned its) {
  if (its->served.has_news()) {
    return answer(std::move(its));
  }
  const std::lock_guard hold(its->of.guard_, std::adopt_lock);
  auto here = std::move(its);  // goes with the lock held
  try {
    if (!here->served.has_ended()) {
      here->served.listen();
      return sennit::become(&guest::news, hear_news, std::move(here));
    }
  } catch (const std::bad_alloc&) {
    // No memory to wait in.
  }
  return {};
}

template <class Kind>
sennit::continuation fiber_server<Kind>::hear_news(owned its, std::optional<bool> news) {
  return locked(news ? look : time_out, std::move(its));
}

// In company: in vain for others, or for what the client sends.
template <class Kind>
sennit::continuation fiber_server<Kind>::time_out(owned its) {
  its->served.time_out();
  return its->served.has_news() ? answer(std::move(its)) : close(std::move(its));
}

template <class Kind>
sennit::continuation fiber_server<Kind>::close(owned its) {
  const std::lock_guard hold(its->of.guard_, std::adopt_lock);
  const auto closed = std::move(its);
  return {};
}

// Only here is a client's fiber guarded: without the lock, owning what it owns outside of what it runs. So no
// guard is held while a connection rests, and requests pay nothing. Whoever is killed goes on here, and the
// connection ends like any other.
template <class Kind>
void fiber_server<Kind>::run_guarded(const connection& of) {
  Kind::name_fiber("client " + std::to_string(of.its_session().id()));
  try {
    sennit::guarded(faults_, run_at_risk);
  } catch (const sennit::killed&) {
    const std::lock_guard hold(guard_);
    ++server_.stats.client_faults;
  }
}

// Nobody else is guarded: whatever comes here holds nothing that others need.
template <class Kind>
void fiber_server<Kind>::answer_faults() {
  while (auto fault = faults_.receive()) {
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
  say_ending(guests_.size());
  ending_ = true;
  listener_.close();
  for (guest* each : guests_) {
    each->served.end_input();
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
  while (in_time && !guests_.empty() && !hurry_) {
    hold.unlock();
    in_time = changed_.receive_until(deadline).has_value();
    hold.lock();
  }
  for (guest* each : guests_) {
    each->served.stop_computing();
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
    sennit::local::runtime runtime({.time_slice = server.config.time_slice});
    runtime.run([&] { front.serve(); });
  } else {
    fiber_server<several_workers> front(server);
    sennit::runtime runtime({.workers = workers, .time_slice = server.config.time_slice});
    runtime.run([&] { front.serve(); });
  }
}

}  // namespace kv
