// A session: one client's side of the server without any I/O. Received bytes go in, replies come out.
//
//   while (there are bytes: read into session.receive_space(), session.received(count))
//     do { outcome = session.process(); send session.output(); session.output_sent();
//          if (outcome == session::outcome::compute) session.compute(); }
//     while (outcome is more or compute);  leave both loops at outcome::close
//
// A session whose is_in_company() holds may get output at any time, by what other clients do. Its front then
// calls process() when it is woken (client.hpp) and when bytes have come. It continues to receive; otherwise
// it would not notice that the client is gone. At deadline() it calls time_out().
//
// Memory. An idle session holds none: bytes are received into a block that the sessions of a thread share,
// from which whole requests are executed in place; only what is left at its end is copied to the session's
// own memory. That is sound if nothing else uses the block from the moment bytes are put there until
// process() has returned: a read that fills the space just before it returns, as one built on readiness
// does. process() leaves nothing in the shared block, so its caller may wait as long as it likes to send.
// The output block is handed from session to session, through workspace::spare_output.
//
// Threads. Sessions of several threads, each with a workspace that is its own for the time, need a lock
// around all that looks at other clients: the constructor, the destructor, process(), is_in_company(),
// has_news(), deadline() and time_out().
//
// Bounds. process() stops at flush_size bytes of replies, except while a command claims keys: an endless
// pipeline is paid for by its sender's reading. What a session holds beyond own_allowance counts against
// settings::max_memory_clients for all sessions together; the one that goes over it is closed, once the
// command that it executes has ended.
#pragma once

#include <span>
#include <string_view>

#include "commands.hpp"

namespace kv {

class session {
public:
  enum class outcome {
    wait,     // send the output, then receive
    more,     // send the output, then process again
    compute,  // send the output, compute, then process again
    close,    // send the output, then close
  };

  static constexpr std::size_t most_received = 64 * 1024;  // at once
  static constexpr std::size_t flush_size = 64 * 1024;
  static constexpr std::size_t own_allowance = 128 * 1024;

  session(server_state& server, workspace& shared, std::uint64_t id, front* side = nullptr);
  session(const session&) = delete;
  session& operator=(const session&) = delete;
  ~session();

  // From now on, another workspace. Between process() and what is received next.
  void use(workspace& shared) { shared_ = &shared; }

  // Where to put received bytes; never empty. Nobody else's bytes may be put anywhere before received().
  std::span<char> receive_space();
  void received(std::size_t count);

  outcome process();

  // Without the lock, and beside whatever others do; nobody calls process() meanwhile.
  void compute() { client_.job->run(); }
  // compute() is to return soon, if it is called at all.
  void stop_computing() {
    if (client_.job != nullptr) {
      client_.job->stop();
    }
  }

  bool is_in_company() const { return client_.waiting != nullptr || client_.subscriptions != 0; }
  bool has_news() const { return client_.pushed.size() != 0 || client_.broken; }  // process() is to be called
  std::chrono::steady_clock::time_point deadline() const;                         // max(): none
  void time_out();  // the client is to be told that it has waited in vain; process() follows

  // Nothing while a command claims keys: it must not wait for the client.
  std::string_view output() const { return client_.held == nullptr ? output_.view() : std::string_view(); }
  void output_sent();

private:
  outcome run_requests();
  outcome suspend(step next);
  void take_pushed();
  void keep_rest();
  void count_computing(bool whether);
  bool within_memory();

  server_state& server_;
  workspace* shared_;
  client client_;
  request_parser parser_;
  buffer input_;             // the session's own: the beginning of a request that is not complete
  std::string_view unread_;  // received, not executed: in input_ or in the shared block
  buffer output_;
  reply_writer reply_{output_};
  invocation call_;                 // the request that is executed
  std::size_t counted_memory_ = 0;  // our part of server_state::client_memory
  bool computing_ = false;          // and counted
  bool pending_ = false;            // the first request of unread_ is parsed, and not done
};

}  // namespace kv
