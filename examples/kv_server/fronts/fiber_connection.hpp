// A connection: one client's stream and session, and the fiber that serves it.
//
// As long as nobody but the client itself can make the session say anything, one fiber reads, processes and
// writes in a plain loop. A client that is blocked or has subscribed is in company: then the fiber waits for
// word from other fibers, and another one, the listener, waits for what the client sends. It reads once, says
// so, and ends; a new one is started if there is still need.
//
//   other clients' fibers --wake()--> |                     |
//   listener              ----------> | channel, capacity 1 | --> the connection's fiber: process, write
//   the deadline, if any  ----------> |                     |
#pragma once

#include <memory>

#include "sennit/local/channel.hpp"
#include "sennit/tcp_stream.hpp"
#include "session.hpp"
#include "sockets.hpp"

namespace kv {

class fiber_connection final : public front {
public:
  fiber_connection(sennit::tcp_stream& stream, server_state& server);
  fiber_connection(const fiber_connection&) = delete;
  fiber_connection& operator=(const fiber_connection&) = delete;
  ~fiber_connection();

  // Returns when the client has ended it, or is to be closed. Throws std::system_error, as the stream does.
  void serve();

  // Receive no more than has come: serve() returns once that is executed and the replies are sent.
  void end_input() { end_of_input(stream_.native_handle()); }

  void wake() override;
  void break_off() override;
  bool is_gone() override;

private:
  using time_point = std::chrono::steady_clock::time_point;

  // What a listener and its connection share. Either may end first.
  struct listening {
    sennit::tcp_stream* stream;  // nullptr: the connection has ended
    session* to;
    server_state* server;
    std::shared_ptr<sennit::local::channel<bool>> news;
    bool under_way = false;  // a listener reads
    bool ended = false;      // the client has ended its stream
  };

  static void listen(const std::shared_ptr<listening>& shared);

  time_point idle_deadline() const;
  bool is_in_company() const;
  bool receive();
  bool receive_alone();
  bool receive_in_company();
  bool answer();

  sennit::tcp_stream& stream_;
  server_state& server_;
  session session_;
  bool more_has_come_ = false;
  std::shared_ptr<listening> shared_;  // once there was need of it
};

}  // namespace kv
