// Channels whose values throw or block when they are moved, and values that are refused.
#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <memory>
#include <optional>
#include <stdexcept>
#include <stop_token>
#include <string>

#include "sennit/channel.hpp"
#include "sennit/fiber.hpp"
#include "sennit/local/channel.hpp"
#include "sennit/local/fiber.hpp"
#include "sennit/local/runtime.hpp"
#include "sennit/runtime.hpp"
#include "sennit/select.hpp"
#include "sennit/stop_guard.hpp"
#include "support/child.hpp"
#include "support/deadlines.hpp"
#include "support/kinds.hpp"

using namespace std::chrono_literals;

namespace sennit {

namespace {

// Throws at the move that `countdown` names, from 0; never if it is negative.
struct throwing {
  explicit throwing(int v) noexcept : value(v) {}
  throwing(throwing&& other) : value(other.value) {
    if (countdown >= 0 && countdown-- == 0)
      throw std::runtime_error("move");
  }
  int value;
  static inline int countdown = -1;
};

using support::generous;
using support::soon;

// How a peer waits: without a limit, with a deadline, with a stop token, in a select.
enum class waiter { plain, deadline, stop, select };
constexpr waiter all_waiters[] = {waiter::plain, waiter::deadline, waiter::stop, waiter::select};

template <class Channel>
std::optional<throwing> receive_by(waiter how, Channel& from) {
  const std::stop_source never;
  if (how == waiter::deadline)
    return from.receive_until(generous());
  if (how == waiter::stop) {
    const stop_guard until(never.get_token());
    return from.receive();
  }
  std::optional<throwing> got;
  if (how == waiter::select) {
    select(on_receive(from, [&](std::optional<throwing>&& value) {
      if (value)
        got.emplace(value->value);
    }));
    return got;
  }
  return from.receive();
}

template <class Channel>
bool send_by(waiter how, Channel& to, int value) {
  throwing sent(value);
  const std::stop_source never;
  if (how == waiter::deadline)
    return to.send_until(std::move(sent), generous());
  if (how == waiter::stop) {
    const stop_guard until(never.get_token());
    return to.send(std::move(sent));
  }
  bool done = false;
  if (how == waiter::select) {
    select(on_send(to, std::move(sent), [&](bool was_sent) { done = was_sent; }));
    return done;
  }
  return to.send(std::move(sent));
}

template <class Kind>
void let_others_run() {
  for (int i = 0; i < 5; ++i)
    Kind::yield();
}

// Offers values until a hand-over to the waiting receiver throws.
template <class Channel>
void throw_at_receiver(Channel& to) {
  throwing offered(1);
  throwing::countdown = 0;
  EXPECT_THROW(to.try_send(offered), std::runtime_error);
  throwing::countdown = -1;
}

// A parallel peer may not wait yet: then there is nothing to take, and try_receive() moves nothing.
template <class Kind, class Channel>
void throw_at_sender(Channel& from) {
  for (bool thrown = false; !thrown; Kind::yield()) {
    throwing::countdown = 0;
    try {
      from.try_receive();
    } catch (const std::runtime_error&) {
      thrown = true;
    }
    throwing::countdown = -1;
  }
}

template <class Kind>
void expect_peers_go_on() {
  for (const waiter how : all_waiters)
    for (const bool closed : {false, true}) {
      SCOPED_TRACE(static_cast<int>(how) * 10 + closed);
      typename Kind::template channel<throwing> values;
      std::optional<int> got;
      auto receiver = Kind::spawn([&] {
        if (const auto value = receive_by(how, values))
          got = value->value;
      });
      let_others_run<Kind>();
      throw_at_receiver(values);
      let_others_run<Kind>();
      if (closed)
        values.close();
      else
        EXPECT_TRUE(values.send(throwing(2)));
      receiver.join();
      EXPECT_EQ(got, closed ? std::nullopt : std::optional(2));

      typename Kind::template channel<throwing> others;
      bool sent = false;
      auto sender = Kind::spawn([&] { sent = send_by(how, others, 3); });
      throw_at_sender<Kind>(others);
      if (closed)
        others.close();
      else
        EXPECT_EQ(others.receive()->value, 3);
      sender.join();
      EXPECT_EQ(sent, !closed);
    }
}

// After a hand-over that threw, a deadline and a stop still end the peer's wait.
template <class Kind>
void expect_waits_end() {
  typename Kind::template channel<throwing> values;
  auto timed = Kind::spawn([&] {
    EXPECT_EQ(values.receive_until(std::chrono::steady_clock::now() + 20ms).status(),
              channel_status::timeout);
  });
  let_others_run<Kind>();
  throw_at_receiver(values);
  timed.join();
  std::stop_source stop;
  bool cancelled_wait = false;
  auto stopped = Kind::spawn([&] {
    const stop_guard until(stop.get_token());
    try {
      values.receive();
    } catch (const cancelled&) {
      cancelled_wait = true;
    }
  });
  let_others_run<Kind>();
  throw_at_receiver(values);
  stop.request_stop();
  stopped.join();
  EXPECT_TRUE(cancelled_wait);
}

template <class Kind>
void expect_buffers_are_strong() {
  typename Kind::template channel<throwing> values(1);
  throwing first(1);
  throwing::countdown = 0;
  EXPECT_THROW(values.try_send(first), std::runtime_error);
  EXPECT_EQ(values.size(), 0u);
  EXPECT_TRUE(values.try_send(first));
  throwing::countdown = 0;
  EXPECT_THROW(values.try_receive(), std::runtime_error);
  throwing::countdown = -1;
  EXPECT_EQ(values.size(), 1u);
  // The receiver gets the first value; moving the second one into the buffer fails the sender only.
  bool failed = false;
  auto sender = Kind::spawn([&] {
    throwing second(2);
    try {
      values.send(std::move(second));
    } catch (const std::runtime_error&) {
      failed = true;
    }
  });
  let_others_run<Kind>();
  throwing::countdown = 1;
  std::optional<throwing> got = values.try_receive();
  EXPECT_EQ(got->value, 1);
  sender.join();
  throwing::countdown = -1;
  EXPECT_TRUE(failed);
  EXPECT_EQ(values.size(), 0u);
}

template <class Kind>
void expect_refused_values_stay() {
  typename Kind::template channel<std::unique_ptr<int>> values;
  auto value = std::make_unique<int>(7);
  EXPECT_EQ(values.send_until(std::move(value), soon()).status(), channel_status::timeout);
  EXPECT_EQ(values.receive_until(soon()).status(), channel_status::timeout);
  std::stop_source stop;
  stop.request_stop();
  {
    const stop_guard until(stop.get_token());
    EXPECT_THROW(values.send(std::move(value)), cancelled);
  }
  auto receiver = Kind::spawn([&] {
    const auto got = values.receive_until(generous());
    EXPECT_EQ(got.status(), channel_status::success);
    EXPECT_EQ(**got, 7);
    EXPECT_EQ(values.receive_until(generous()).status(), channel_status::closed);
  });
  ASSERT_TRUE(value);
  EXPECT_EQ(values.send_until(std::move(value), generous()).status(), channel_status::success);
  EXPECT_FALSE(value);
  let_others_run<Kind>();
  value = std::make_unique<int>(8);
  bool refused = false;
  auto sender = Kind::spawn([&] {
    receiver.join();
    refused = !values.send(std::move(value));
  });
  values.close();
  sender.join();
  EXPECT_TRUE(refused && value && *value == 8);
  EXPECT_EQ(values.send_until(std::move(value), generous()).status(), channel_status::closed);
  EXPECT_TRUE(value);
}

// A sender and a receiver that wait with a deadline find the channel closed.
template <class Kind, class T>
void expect_close_is_told_from_time(T sent) {
  typename Kind::template channel<T> values;
  auto receiver =
      Kind::spawn([&] { EXPECT_EQ(values.receive_until(generous()).status(), channel_status::closed); });
  let_others_run<Kind>();
  values.close();
  receiver.join();
  typename Kind::template channel<T> others;
  auto sender = Kind::spawn(
      [&] { EXPECT_EQ(others.send_until(std::move(sent), generous()).status(), channel_status::closed); });
  let_others_run<Kind>();
  others.close();
  sender.join();
}

template <class Kind>
void expect_all() {
  expect_peers_go_on<Kind>();
  expect_waits_end<Kind>();
  expect_buffers_are_strong<Kind>();
  expect_refused_values_stay<Kind>();
  expect_close_is_told_from_time<Kind>(1);
  expect_close_is_told_from_time<Kind>(std::string("text"));
  expect_close_is_told_from_time<Kind>(throwing(1));
}

// One worker: the countdown of moves is not atomic, and peers wait once they have run.
TEST(ChannelMove, PeersOfAThrowingMoveWaitOnInAParallelRuntime) {
  runtime rt({.workers = 1});
  rt.run([] { expect_all<parallel_kind>(); });
}

TEST(ChannelMove, PeersOfAThrowingMoveWaitOnInALocalRuntime) {
  local::runtime rt;
  rt.run([] { expect_all<local_kind>(); });
}

TEST(ChannelMove, ARuntimeEndsThoughAMoveThrew) {
  channel<throwing> values;
  runtime rt({.workers = 1});
  rt.run([&] {
    spawn([&] { values.receive(); }).detach();
    let_others_run<parallel_kind>();
    throw_at_receiver(values);
  });
}

#if !defined(NDEBUG)
struct yielding {
  yielding() = default;
  yielding(yielding&&) noexcept {
    if (yields)
      this_fiber::yield();
  }
  static inline bool yields = false;
};

TEST(ChannelMove, AMoveThatYieldsIsReported) {
  const auto outcome = support::in_child([] {
    runtime rt({.workers = 1});
    rt.run([] {
      channel<yielding> values(1);
      yielding value;
      yielding::yields = true;
      values.try_send(value);
    });
  });
  EXPECT_TRUE(outcome.killed_by(SIGABRT)) << outcome;
  EXPECT_TRUE(outcome.says("blocks or yields while a value is moved")) << outcome;
}
#endif

}  // namespace

}  // namespace sennit
