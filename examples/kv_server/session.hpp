// A session is the server's side of one client, without I/O: received bytes go in, replies come out.
//
//   while (there are bytes: read into session.receive_space(), session.received(count))
//     do { outcome = session.process(); send session.output(); session.output_sent();
//          if (outcome == session::outcome::compute) session.compute(); }
//     while (outcome is more or compute);  leave both loops at outcome::close
//
// If awaits_other_clients() holds, other clients may cause output at any time. The front then calls process()
// when it is woken (state.hpp), still receives, so that it notices the end of the connection, and calls
// time_out() at deadline().
//
// Memory. An idle session holds none. Bytes are received into a block that all sessions of a thread share;
// whole requests are executed there, and the rest is copied to the session's own memory. Nothing else may use
// the block between the read and the return of process(). Sessions share an output block the same way.
//
// Threads. With several threads, each has a workspace, and a lock must be held around the constructor, the
// destructor, process(), awaits_other_clients(), has_news(), deadline() and time_out().
//
// Bounds. process() stops after flush_size bytes of replies, and after commands that have used many elements,
// so that other clients have their turn. Memory beyond own_allowance counts against
// settings::max_memory_clients; the session that exceeds it is closed.
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

  session(server_state& server, workspace& shared, front& side);
  session(const session&) = delete;
  session& operator=(const session&) = delete;
  ~session();

  // Sets another workspace. Call it between process() and the next receive_space().
  void use(workspace& shared) { shared_ = &shared; }

  // Returns where to put received bytes; never empty.
  std::span<char> receive_space();
  void received(std::size_t count);

  outcome process();

  // Needs no lock. process() must not be called meanwhile.
  void compute() {
    client_.sorting->job.run();
    if (client_.sorting->job.result() != sort_job::outcome::unfinished) {
      count_computing(false);  // not in process(): a client that is executed before this one would see it
    }
  }

  // Then receive_space() is a block of the workspace.
  bool is_between_requests() const { return input_.size() == 0; }
  bool awaits_other_clients() const { return client_.waiting != nullptr || !client_.channels.empty(); }
  bool has_news() const { return client_.pushed.size() != 0 || client_.broken; }  // call process()
  std::chrono::steady_clock::time_point deadline() const;                         // max(): none
  void time_out();  // ends the wait of a blocked client; call process() next

  std::string_view output() const { return output_.view(); }
  void output_sent();

private:
  outcome run_requests();
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
};

}  // namespace kv
