// Ports: receivers that accept no request above a size.
#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <stop_token>
#include <string>
#include <system_error>
#include <vector>

#include "ports.hpp"
#include "sennit/become.hpp"
#include "support/kinds.hpp"

namespace app {

// A request that reports its own size.
struct message {
  std::size_t bytes;
  friend std::size_t message_size(const message& m) noexcept { return m.bytes; }
};

}  // namespace app

namespace {

using namespace std::chrono_literals;
using sennit::become;
using sennit::closed_error;
using sennit::continuation;
using sennit::error_of;
using sennit::receive_options;

const std::error_condition too_large_error = make_error_condition(std::errc::message_size);

TEST(MessageSize, IsThatOfTheElementsOrTheObjects) {
  using sennit::detail::size_of_request;
  EXPECT_EQ(size_of_request(1.0), sizeof(double));
  EXPECT_EQ(size_of_request(std::string("four")), 4u);
  EXPECT_EQ(size_of_request(std::vector<int>{1, 2, 3}), 3 * sizeof(int));
  EXPECT_EQ(size_of_request(std::array<short, 5>{}), 5 * sizeof(short));
  EXPECT_EQ(size_of_request(app::message{7}), 7u);
}

template <class Kind>
class PortLimits : public sennit::kind_test<Kind> {
public:
  using port_type = typename Kind::template port<std::string, std::size_t>;

  static std::error_condition error_of_call(port_type& port, std::size_t size) {
    return error_of([&] { EXPECT_EQ(port.call(std::string(size, 'x')), size); });
  }
  // Without a stack, until the port is closed.
  static continuation serve_small(port_type* port, typename port_type::incoming next) {
    if (!next)
      return {};
    const std::size_t size = next->size();
    next.reply(size);
    return become(port->receiving({.largest = 4}), serve_small, port);
  }
};

KIND_TEST(PortLimits, AServerThatWaitsIsNotWokenByWhatIsTooLarge) {
  this->run([] {
    typename PortLimits<Kind>::port_type port;
    int woken = 0;
    auto server = sennit::start<Kind>([&] {
      while (auto next = port.receive({.largest = 4})) {
        ++woken;
        next.reply(next->size());
      }
    });
    EXPECT_EQ(PortLimits<Kind>::error_of_call(port, 5), too_large_error);
    EXPECT_EQ(woken, 0);
    EXPECT_EQ(PortLimits<Kind>::error_of_call(port, 4), std::error_condition());
    EXPECT_EQ(woken, 1);
    EXPECT_EQ(PortLimits<Kind>::error_of_call(port, 5), too_large_error);
    port.close();
    server.join();
    EXPECT_EQ(woken, 1);
    EXPECT_EQ(PortLimits<Kind>::error_of_call(port, 5), closed_error);
  });
}

KIND_TEST(PortLimits, WhoComesLateRefusesWhatIsInTheQueue) {
  this->run([] {
    typename PortLimits<Kind>::port_type port;
    const std::size_t sizes[] = {5, 3, 6, 7, 4};
    std::error_condition errors[5];
    typename PortLimits<Kind>::fiber_list callers;
    for (std::size_t i = 0; i < 5; ++i)
      callers.push_back(
          sennit::start<Kind>([&, i] { errors[i] = PortLimits<Kind>::error_of_call(port, sizes[i]); }));
    Kind::sleep_for(1ms);
    for (const std::size_t size : {3, 4}) {
      auto next = port.receive({.largest = 4});
      EXPECT_EQ(next->size(), size);
      next.reply(next->size());
    }
    EXPECT_FALSE(port.receive_until(std::chrono::steady_clock::now() + 1ms, {.largest = 4}));
    PortLimits<Kind>::join(callers);
    for (std::size_t i = 0; i < 5; ++i)
      EXPECT_EQ(errors[i], sizes[i] > 4 ? too_large_error : std::error_condition()) << i;
  });
}

KIND_TEST(PortLimits, WithoutAStack) {
  this->run([] {
    typename PortLimits<Kind>::port_type port;
    // One is too large already when it begins to wait.
    auto early =
        sennit::start<Kind>([&] { EXPECT_EQ(PortLimits<Kind>::error_of_call(port, 5), too_large_error); });
    Kind::sleep_for(1ms);
    auto server = Kind::spawn(become(port.receiving({.largest = 4}), PortLimits<Kind>::serve_small, &port));
    early.join();
    sennit::until_stackless<Kind>(1);
    for (int i = 0; i < 3; ++i) {
      EXPECT_EQ(PortLimits<Kind>::error_of_call(port, 5), too_large_error);
      EXPECT_EQ(sennit::stackless(), 1u);  // it rests where it was
      EXPECT_EQ(PortLimits<Kind>::error_of_call(port, 4), std::error_condition());
      sennit::until_stackless<Kind>(1);
    }
    // A caller without a stack is refused, too.
    std::error_condition error;
    Kind::spawn([&] {
      return become(
          port.calling("too large"),
          [](std::error_condition* to, auto answer) { *to = error_of([&] { answer.get(); }); }, &error);
    }).join();
    EXPECT_EQ(error, too_large_error);
    port.close();
    server.join();
  });
}

KIND_TEST(PortLimits, BelongToOneReceiveAlone) {
  this->run([] {
    typename PortLimits<Kind>::port_type port;
    auto server = sennit::start<Kind>([&] {
      auto next = port.receive({.largest = 4});
      ASSERT_TRUE(next);
      EXPECT_TRUE(port.reply_and_receive(next, next->size()));
      EXPECT_EQ(next->size(), 100u);
      next.reply(next->size());
      next = port.receive();
      EXPECT_EQ(next->size(), 50u);
      next.reply(next->size());
    });
    EXPECT_EQ(PortLimits<Kind>::error_of_call(port, 5), too_large_error);
    EXPECT_EQ(PortLimits<Kind>::error_of_call(port, 1), std::error_condition());
    EXPECT_EQ(PortLimits<Kind>::error_of_call(port, 100), std::error_condition());
    EXPECT_EQ(PortLimits<Kind>::error_of_call(port, 50), std::error_condition());
    server.join();
  });
}

// If one object receives again and again, a request that it received does not limit later ones.
KIND_TEST(PortLimits, AreNotLeftByWhatWasReceived) {
  this->run([] {
    typename PortLimits<Kind>::port_type port;
    typename PortLimits<Kind>::fiber_list callers;
    for (int i = 0; i < 3; ++i)
      callers.push_back(sennit::start<Kind>(
          [&] { EXPECT_EQ(PortLimits<Kind>::error_of_call(port, 5), std::error_condition()); }));
    Kind::sleep_for(1ms);
    auto lender =
        Kind::spawn([&] { port.serve_in_callers([](const std::string& text) { return text.size(); }); });
    PortLimits<Kind>::join(callers);
    port.close();
    lender.join();
  });
}

KIND_TEST(PortLimits, WhatIsSentAndCallsWithADeadlineAreRefusedAlike) {
  this->run([] {
    typename Kind::template port<app::message, void> port;
    for (const bool queued : {false, true}) {
      typename PortLimits<Kind>::fiber_list all;
      const auto receive_one = [&port] {
        auto next = port.receive({.largest = 8});
        EXPECT_EQ(next->bytes, 8u);
      };
      if (!queued)
        all.push_back(sennit::start<Kind>(receive_one));
      const auto refused = [&all](auto call) {
        all.push_back(sennit::start<Kind>([call] { EXPECT_EQ(error_of(call), too_large_error); }));
      };
      refused([&port] { port.send({9}); });
      refused([&port] { port.call_for({10}, 1h); });
      if (queued)
        all.push_back(Kind::spawn(receive_one));
      EXPECT_TRUE(port.send({8}));
      PortLimits<Kind>::join(all);
    }
  });
}

KIND_TEST(PortLimits, DeadlinesAndStopsEndAReceiveWithALimit) {
  this->run([] {
    typename PortLimits<Kind>::port_type port;
    const auto serve_none = [](auto wait) {
      bool ended = false;
      Kind::spawn([&] {
        return become(std::move(wait), [](bool* to, auto next) { *to = !next; }, &ended);
      }).join();
      return ended;
    };
    EXPECT_TRUE(serve_none(port.receiving_until(std::chrono::steady_clock::now() + 1ms, {.largest = 4})));
    std::stop_source stop;
    stop.request_stop();
    EXPECT_TRUE(serve_none(sennit::stoppable(port.receiving({.largest = 4}), stop.get_token())));
    port.close();
    EXPECT_TRUE(serve_none(port.receiving({.largest = 4})));
  });
}

// Many callers of two servers: what is small is answered, what is large is refused, whoever comes first.
KIND_TEST(PortLimits, EveryCallEndsOneWayOrTheOther) {
  typename PortLimits<Kind>::port_type port;
  this->run([&] {
    typename PortLimits<Kind>::fiber_list servers;
    servers.push_back(
        Kind::spawn(become(port.receiving({.largest = 4}), PortLimits<Kind>::serve_small, &port)));
    servers.push_back(Kind::spawn(
        [&] { port.serve([](const std::string& text) { return text.size(); }, {.largest = 4}); }));
    typename PortLimits<Kind>::fiber_list callers;
    for (std::size_t i = 0; i < 8; ++i)
      callers.push_back(Kind::spawn([&, i] {
        for (std::size_t j = 0; j < 200; ++j) {
          const std::size_t size = (i + j) % 9;
          EXPECT_EQ(PortLimits<Kind>::error_of_call(port, size),
                    size > 4 ? too_large_error : std::error_condition());
        }
      }));
    PortLimits<Kind>::join(callers);
    port.close();
    PortLimits<Kind>::join(servers);
  });
}

}  // namespace
