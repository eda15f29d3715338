// A connection: one client's stream and session, and what its fiber does between two waits. The fiber goes
// from one to the next (fiber_server.cpp), and has a stack for none of its waits but that of a send to a
// client that does not read:
//
//   rest --readable--> receive() --lock--> process() --unlock--> send() --> rest
//                                             ^                    |
//                                             +--lock, its turn----+  more to process
//
// As long as nobody but the client itself can make the session say anything, that is all. A client that is
// blocked or has subscribed is in company: then the fiber waits for word from other fibers, and another one,
// the listener, waits for what the client sends. It reads once, says so, and ends; a new one is started if
// there is still need.
//
//   other clients' fibers --wake()--> |                     |
//   listener              ----------> | channel, capacity 1 | --> the connection's fiber: process, write
//   the deadline, if any  ----------> |                     |
//
// Who computes until its client sends no more has a listener, too, which stops it then.
//
// Threads. `Kind` (fiber_kinds.hpp) says whether the fibers are one thread's. The server's lock is held to
// look at what others may change, and not to receive, to send or to wait.
#pragma once

#include <memory>
#include <new>
#include <system_error>

#include "fiber_kinds.hpp"
#include "sennit/tcp_stream.hpp"
#include "session.hpp"
#include "sockets.hpp"

namespace kv {

template <class Kind>
class fiber_connection final : public front {
public:
  using mutex = typename Kind::mutex;
  using workspaces = typename Kind::workspaces;
  using time_point = std::chrono::steady_clock::time_point;

  // What the fiber does once the replies are sent.
  enum class step {
    rest,     // waits until there is something to read
    receive,  // the same, but there may be something already: others have their turn first
    process,  // again, when others have had their turn
    compute,  // and then process
    look,     // in company: whether there are news
    close,
  };

  // Both with the lock held.
  fiber_connection(std::shared_ptr<sennit::tcp_stream> stream, server_state& server, mutex& guard,
                   workspaces& spaces);
  ~fiber_connection();
  fiber_connection(const fiber_connection&) = delete;
  fiber_connection& operator=(const fiber_connection&) = delete;

  // Without the lock. False: the client has ended its stream, or broken it off, was idle for too long, or is
  // to be closed for lack of memory. Not in company.
  bool receive();
  bool send();

  // Without the lock, with no guard against forced yields: this may take long.
  void compute() { session_.compute(); }

  // With the lock held. Only in company there are news of others, an end that the listener has met, and a
  // time that has passed. listen() throws std::bad_alloc; news() then brings whether they came in time.
  step process();
  bool has_news() const { return session_.has_news() || (shared_ != nullptr && shared_->heard); }
  bool has_ended() const { return shared_ != nullptr && shared_->ended; }
  void time_out() { session_.time_out(); }
  void listen();
  void stop_computing() { session_.stop_computing(); }
  auto news() const {
    return shared_->news.receiving_until(session_.is_in_company() ? session_.deadline() : idle_deadline());
  }

  auto reading() const { return stream_->reading(); }
  const session& its_session() const { return session_; }
  // When it is to be closed, if it says nothing. Whoever waits for others is not idle.
  time_point idle_deadline() const;

  // Receive no more than has come: it ends once that is executed and the replies are sent. With the lock
  // held, like what follows.
  void end_input() { end_of_input(stream_->native_handle()); }

  void wake() override;
  void break_off() override;
  bool is_gone() override;

private:
  // What a listener and its connection share. Either may end first. Used with the lock held, but for the
  // stream, the channel, and what the listener receives.
  struct listening {
    std::shared_ptr<sennit::tcp_stream> stream;
    session* to;  // nullptr: the connection has ended
    mutex& guard;
    typename Kind::space space;
    std::size_t received = 0;
    typename Kind::channel news{1};
    bool under_way = false;  // a listener reads
    bool ended = false;      // the client has ended its stream
    bool heard = false;      // it has read something since we last processed

    auto reading() const { return stream->reading(); }
  };

  static sennit::continuation hear(std::shared_ptr<listening> shared);
  static sennit::continuation tell(std::shared_ptr<listening> shared);

  bool is_in_company() const;

  std::shared_ptr<sennit::tcp_stream> stream_;
  server_state& server_;
  mutex& guard_;
  workspaces& spaces_;
  typename Kind::space space_;
  session session_;
  bool more_has_come_ = false;
  std::shared_ptr<listening> shared_;  // once there was need of it
};

}  // namespace kv
