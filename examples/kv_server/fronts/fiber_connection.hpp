// A connection: one client's stream and session, and the fiber that serves it.
//
// As long as nobody but the client itself can make the session say anything, one fiber reads, processes and
// writes, and rests without a stack until there is something to read again. A client that is blocked or has
// subscribed is in company: then the fiber waits for word from other fibers, and another one, the listener,
// waits for what the client sends. It reads once, says so, and ends; a new one is started if there is still
// need.
//
//   other clients' fibers --wake()--> |                     |
//   listener              ----------> | channel, capacity 1 | --> the connection's fiber: process, write
//   the deadline, if any  ----------> |                     |
//
// Threads. `Kind` (fiber_kinds.hpp) says whether the fibers are one thread's. A connection holds the server's
// lock while it looks at what others may change, and lets it go to receive, to send and to wait.
#pragma once

#include <memory>
#include <mutex>
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
  using lock = std::unique_lock<mutex>;

  using workspaces = typename Kind::workspaces;
  using time_point = std::chrono::steady_clock::time_point;

  // Both with the lock held.
  fiber_connection(std::shared_ptr<sennit::tcp_stream> stream, server_state& server, mutex& guard,
                   workspaces& spaces);
  ~fiber_connection();
  fiber_connection(const fiber_connection&) = delete;
  fiber_connection& operator=(const fiber_connection&) = delete;

  // Called when there is something to read. True: it rests, until reading(), or reading_until(), has been
  // waited for. False: the
  // client has ended it, or is to be closed. Throws std::system_error, as the stream does. `held`: the lock,
  // before and after.
  bool serve(lock& held);
  auto reading() const { return stream_->reading(); }
  auto reading_until(time_point deadline) const { return stream_->reading_until(deadline); }
  const session& its_session() const { return session_; }
  // When it is to be closed, if it says nothing.
  time_point idle_deadline() const;

  // Receive no more than has come: serve() returns false once that is executed and the replies are sent. With
  // the lock held, like what follows.
  void end_input() { end_of_input(stream_->native_handle()); }

  void wake() override;
  void break_off() override;
  bool is_gone() override;

private:
  // What a listener and its connection share. Either may end first. Used with the lock held, but for the
  // stream and the channel.
  struct listening {
    std::shared_ptr<sennit::tcp_stream> stream;
    session* to;  // nullptr: the connection has ended
    server_state& server;
    mutex& guard;
    workspaces& spaces;
    typename Kind::channel news{1};
    bool under_way = false;  // a listener reads
    bool ended = false;      // the client has ended its stream
    bool heard = false;      // it has read something since we last looked
  };

  // Transfers, or waits, without the lock. Who is told there that the runtime ends leaves without it: then
  // fibers run one after the other.
  template <class Function>
  static auto without(lock& held, Function&& function) -> decltype(function()) {
    held.unlock();
    try {
      const auto result = function();
      held.lock();
      return result;
    } catch (const std::system_error&) {
      held.lock();
      throw;
    }
  }

  static void listen(listening& shared);

  bool is_in_company() const;
  bool may_rest() const;
  bool receive(lock& held);
  bool receive_alone(lock& held);
  bool receive_in_company(lock& held);
  bool answer(lock& held);
  void send();

  std::shared_ptr<sennit::tcp_stream> stream_;
  server_state& server_;
  mutex& guard_;
  workspaces& spaces_;
  session session_;
  bool more_has_come_ = false;
  std::shared_ptr<listening> shared_;  // once there was need of it
};

}  // namespace kv
