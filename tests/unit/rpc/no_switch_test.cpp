// Code of the user's that runs with a lock of Sennit's held must not switch: debug builds report it.
// Elsewhere such code may block.
#include <gtest/gtest.h>

#include <cstddef>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "sennit/become.hpp"
#include "sennit/generator.hpp"
#include "sennit/select.hpp"
#include "support/child.hpp"
#include "support/kinds.hpp"

namespace sennit {
namespace {

// What `value` does when it is moved or destroyed.
template <class Kind>
struct value {
  value() = default;
  value(value&&) noexcept { act(in_move); }
  value& operator=(value&&) = delete;
  ~value() { act(in_end); }
  static void act(bool now) noexcept {
    if (!now)
      return;
    {
      static std::mutex other;  // forgetting this lock does not forget the one of the channel
      const std::lock_guard hold(other);
    }
    Kind::yield();
  }
  static inline bool in_move = false;
  static inline bool in_end = false;
};

template <class Kind>
struct sized {
  friend std::size_t message_size(const sized&) noexcept {
    Kind::yield();
    return 1;
  }
};

#if !defined(NDEBUG)

template <class Kind>
struct refused {
  using value_type = value<Kind>;
  using values = typename Kind::template channel<value_type>;
  using requests = typename Kind::template port<value_type, int>;

  static void into_a_buffer() {
    values through(1);
    value_type sent;
    value_type::in_move = true;
    through.try_send(sent);
  }
  static void out_of_a_buffer() {
    values through(1);
    through.send(value_type());
    value_type::in_end = true;
    through.try_receive();
  }
  static void to_a_receiver() {
    values through;
    auto receiver = start<Kind>([&] { through.receive(); });
    let_wait();
    value_type sent;
    value_type::in_move = true;
    through.send(std::move(sent));
  }
  static void by_a_select() {
    values through(1);
    value_type sent;
    value_type::in_move = true;
    select(on_send(through, std::move(sent), [](bool) {}));
  }
  static void of_a_request() {
    requests port;
    auto server = start<Kind>([&] { port.serve([](value_type&&) { return 1; }); });
    let_wait();
    value_type::in_move = true;
    port.call(value_type());
  }
  static void of_a_reply() {
    typename Kind::template port<int, value_type> port;
    auto server = start<Kind>([&] { port.receive().reply(value_type()); });
    let_wait();
    value_type::in_move = true;
    port.call(1);
  }
  static void of_a_size() {
    typename Kind::template port<sized<Kind>, int> port;
    auto server = start<Kind>([&] { port.receive({.largest = 1}); });
    let_wait();
    port.call({});
  }
  static void in_a_completion() {
    Kind::barrier_with(1, []() noexcept { Kind::yield(); }).arrive_and_wait();
  }
  static void of_a_state() {
    typename Kind::event wanted;
    auto waits = Kind::spawn([&]() -> continuation {
      continuation next = become(wanted.waiting(), [](value_type&) {}, value_type());
      value_type::in_move = true;
      return next;
    });
    waits.join();
  }
  static void of_a_function() {
    auto other = Kind::spawn([] { let_wait(); });                    // the yield finds it
    auto begins = Kind::spawn([kept = value_type()] { return 0; });  // (void ones are wrapped)
    value_type::in_move = true;
    begins.join();
    other.join();
  }
  static void let_wait() {
    for (int i = 0; i < 5; ++i)
      Kind::yield();
  }
};

template <class Kind>
void expect_refused(void (*misuse)(), const std::string& message) {
  const support::outcome child = support::in_child([misuse] {
    Kind kind;
    kind.run(misuse);
  });
  EXPECT_TRUE(child.killed_by(SIGABRT) && child.says(message)) << message << "\n" << child;
}

template <class Kind>
void expect_all_refused() {
  using misuse = refused<Kind>;
  Kind::param = Kind::params[0];
  for (void (*each)() : {misuse::into_a_buffer, misuse::out_of_a_buffer, misuse::to_a_receiver,
                         misuse::by_a_select, misuse::of_a_request, misuse::of_a_reply})
    expect_refused<Kind>(each, "blocks or yields while a value is moved into or out of a channel or a port");
  expect_refused<Kind>(misuse::of_a_size, "blocks or yields in message_size() of a request");
  expect_refused<Kind>(misuse::in_a_completion, "blocks or yields in the completion function of a barrier");
  expect_refused<Kind>(misuse::of_a_state, "blocks or yields while the state of a continuation is moved");
  expect_refused<Kind>(misuse::of_a_function, "blocks or yields while its function is moved to its stack");
}

TEST(NoSwitch, UnderALockIsReportedInAParallelRuntime) {
  expect_all_refused<parallel_kind>();
}

TEST(NoSwitch, UnderALockIsReportedInALocalRuntime) {
  expect_all_refused<local_kind>();
}

// A move that waits for an event.
struct waiting_value {
  waiting_value() = default;
  waiting_value(waiting_value&&) noexcept { event().wait(); }
};

TEST(NoSwitch, UnderALockIsReportedOfAThread) {
  const support::outcome child = support::in_child([] {
    channel<waiting_value> through(1);
    std::thread([&] {
      waiting_value sent;
      through.try_send(sent);
    }).join();
  });
  EXPECT_TRUE(child.killed_by(SIGABRT) && child.says("a thread blocks or yields while a value is moved"))
      << child;
}

#endif

template <class Kind>
class NoSwitch : public kind_test<Kind> {};

// Without a lock: results of futures, functions of fibers, once, generators.
KIND_TEST_UP_TO(2, NoSwitch, IsNeededWhereNoLockIsHeld) {
  this->run([] {
    using value_type = value<Kind>;
    value_type::in_move = value_type::in_end = true;
    typename Kind::template promise<value_type> promise;
    auto future = promise.get_future();
    auto setter = Kind::spawn([&] { promise.set_value(value_type()); });
    future.get();
    setter.join();
    int runs = 0;
    // The function moves to its stack when the fiber begins; it is destroyed there.
    const auto counts = [&runs] {
      return [kept = value_type(), &runs] {
        ++runs;
        value_type::in_end = true;
      };
    };
    value_type::in_move = value_type::in_end = false;
    Kind::spawn(counts()).join();
    value_type::in_end = false;
    {
      typename Kind::scope children;
      children.spawn(counts());
    }
    value_type::in_move = true;
    typename Kind::once_flag once;
    call_once(once, [&] {
      Kind::yield();
      ++runs;
    });
    for (value_type&& each : generator<value_type>([](auto& yield) { yield(value_type()); })) {
      const value_type taken(std::move(each));
      ++runs;
    }
    typename Kind::template port<value_type, int> port;
    auto server = Kind::spawn([&] {
      for (auto served = port.receive(); served; served = port.receive()) {
        value_type::in_end = true;
        auto moved = std::move(served);
        value_type::in_end = false;
        moved.reply(1);
      }
    });
    value_type::in_move = value_type::in_end = false;
    runs += port.call(value_type());
    port.close();
    server.join();
    EXPECT_EQ(runs, 5);
  });
}

}  // namespace
}  // namespace sennit
