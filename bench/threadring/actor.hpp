// Actors: a header over channels. An actor is a fiber with a mailbox, from which it takes one message after
// another; all that it owns is its own. Whoever knows it may send.
#pragma once

#include <utility>

namespace bench {

/// `Kind`: a runtime's `fiber`, `spawn(function)` and `channel<Message>`.
template <class Kind, class Message>
class actor {
public:
  actor() = default;
  actor(const actor&) = delete;
  actor& operator=(const actor&) = delete;

  /// Once: `behave(message)` is called for each, until stop(). Earlier messages wait.
  template <class Behave>
  void begin(Behave behave) {
    fiber_ = Kind::spawn([this, behave]() mutable {
      while (auto message = mailbox_.receive())
        behave(std::move(*message));
    });
  }
  /// Waits while the mailbox is full.
  void send(Message message) { mailbox_.send(std::move(message)); }
  /// Once, when no fiber sends any more. Returns when it has ended.
  void stop() {
    mailbox_.close();
    fiber_.join();
  }

private:
  typename Kind::template channel<Message> mailbox_{1};
  typename Kind::fiber fiber_;
};

}  // namespace bench
