// What a command has left to do because it takes long: SORT of a large list.
//
// A command is executed in one piece. Nobody else's is meanwhile, so that none sees the store half changed;
// and so everybody waits. One that would keep them waiting puts a computation into its client instead, and is
// done without a reply. The client's session goes on with it before it executes anything else (session.hpp),
// some of it at a time and in the same way, and others have their turns between. What cannot be divided like
// that is left to compute(), beside the commands of others: it knows nothing of the server, and is compiled
// so that it gives way in the middle (computing/computing.hpp).
#pragma once

#include <atomic>
#include <cstddef>

namespace kv {

struct server_state;
class reply_writer;

class computation {
public:
  enum class step {
    more,     // go on when others have had their turn
    compute,  // compute, then go on
    done,
  };

  computation() = default;
  virtual ~computation() = default;
  computation(const computation&) = delete;
  computation& operator=(const computation&) = delete;

  // Throws like a command, if nothing is replied yet.
  virtual step go_on(server_state& server, reply_writer& reply) = 0;

  // Without the lock.
  virtual void compute() = 0;

  // Bytes that it holds. Not while it computes.
  virtual std::size_t memory() const = 0;

  // About how many elements it has to visit. Within a transaction nothing else is served meanwhile, so a
  // large computation is refused there.
  virtual std::size_t size(server_state&) const { return 0; }

  // Whether it is to be stopped once the client sends no more.
  virtual bool ends_with_client() const { return false; }

  // compute() returns soon. From anywhere.
  void stop() { stopped_ = true; }

protected:
  const std::atomic<bool>& stop_word() const { return stopped_; }

private:
  std::atomic<bool> stopped_{false};
};

}  // namespace kv
