// OS threads are waiters that continue by themselves once they are released. What user code wakes, while a
// value is moved with a lock held, does not release those whose value is moved.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <optional>
#include <thread>
#include <utility>

#include "sennit/channel.hpp"
#include "sennit/event.hpp"
#include "sennit/no_yield_guard.hpp"
#include "sennit/port.hpp"
#include "sennit/runtime.hpp"
#include "sennit/select.hpp"
#include "support/deadlines.hpp"

namespace sennit {
namespace {

using namespace std::chrono_literals;

// A move or a destructor under a lock wakes others, and gives the peer time to continue.
class waking {
public:
  explicit waking(int v) noexcept : value(v) {}
  waking(waking&& other) noexcept : value(std::exchange(other.value, 0)) { wake_others(); }
  waking& operator=(waking&&) = delete;
  ~waking() { wake_others(); }
  int value;

  static inline std::atomic<bool> peer_continued = false;
  static inline bool too_soon = false;
  static inline int woken = 0;

private:
  static void wake_others() noexcept {
    const std::uint32_t* const count = detail::no_yield_count();
    if (count == nullptr || *count == 0)
      return;  // a peer's, or with no lock held
    ++woken;
    event{}.set();
    for (int i = 0; i < 20 && !peer_continued; ++i)
      std::this_thread::sleep_for(1ms);
    too_soon = too_soon || peer_continued;
  }
};

// `peer` waits on a thread until `act`, in a fiber, serves it.
template <class Peer, class Act>
void expect_peer_stays(const char* what, Peer peer, Act act) {
  SCOPED_TRACE(what);
  waking::peer_continued = false;
  waking::too_soon = false;
  waking::woken = 0;
  std::thread waits([&] { peer(); });
  std::this_thread::sleep_for(10ms);  // a peer that does not wait yet shows nothing
  runtime({.workers = 1}).run(act);
  waits.join();
  EXPECT_GE(waking::woken, 1);
  EXPECT_FALSE(waking::too_soon);
}

// What the peer does when its wait has ended.
void go_on() {
  waking::peer_continued = true;
}

TEST(EarlyWaiters, AreNotReleasedByTheMoveOfTheirValue) {
  channel<waking> values;
  const auto receives = [&] {
    values.receive();
    go_on();
  };
  const auto sends = [&] {
    values.send(waking(1));
    go_on();
  };
  const auto take_one = [](channel<waking>& from) {
    while (!from.try_receive())
      this_fiber::yield();
  };
  const auto send_one = [&] {
    waking value(2);
    while (!values.try_send(value))
      this_fiber::yield();
  };
  expect_peer_stays("a receiver", receives, send_one);
  expect_peer_stays("a sender", sends, [&] { take_one(values); });
  expect_peer_stays(
      "a select",
      [&] {
        select(on_receive(values, [](auto&&) {}));
        go_on();
      },
      send_one);
  channel<waking> buffered(1);
  buffered.send(waking(3));
  expect_peer_stays(
      "a sender behind a buffer",
      [&] {
        buffered.send(waking(4));
        go_on();
      },
      [&] { take_one(buffered); });
}

TEST(EarlyWaiters, AreNotReleasedByTheMovesOfACall) {
  port<waking, waking> calls;
  expect_peer_stays(
      "a server",
      [&] {
        auto call = calls.receive();
        go_on();
        call.reply(waking(2));
      },
      [&] { calls.call_until(waking(1), support::generous()); });
  expect_peer_stays(
      "a caller",
      [&] {
        calls.call(waking(1));
        go_on();
      },
      [&] { calls.receive().reply(waking(2)); });
}

}  // namespace
}  // namespace sennit
