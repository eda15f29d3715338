// Ports: what happens when one side goes away, or gives up.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <optional>
#include <stop_token>
#include <vector>

#include "ports.hpp"
#include "sennit/exception_server.hpp"
#include "sennit/stop_guard.hpp"
#include "support/kinds.hpp"

namespace {

using namespace std::chrono_literals;
using sennit::closed_error;
using sennit::dropped_error;
using sennit::error_of;

template <class Kind>
class PortsGivenUp : public sennit::port_test<Kind> {};

KIND_TEST(PortsGivenUp, ARequestThatIsDroppedAnswersWithAnError) {
  this->run([] {
    typename PortsGivenUp<Kind>::numbers port;
    auto server = Kind::spawn([&] {
      {
        auto dropped = port.receive();
      }
      auto first = port.receive();
      first = port.receive();  // and so is what it was
      EXPECT_TRUE(first.reply(3));
      EXPECT_FALSE(first);
    });
    EXPECT_EQ(error_of([&] { port.call(1); }), dropped_error);
    auto second = sennit::start<Kind>([&] { EXPECT_EQ(error_of([&] { port.call(2); }), dropped_error); });
    EXPECT_EQ(port.call(3), 3);
    second.join();
    server.join();
  });
}

KIND_TEST(PortsGivenUp, AServerThatDiesAnswersItsCallers) {
  this->run([] {
    typename PortsGivenUp<Kind>::numbers port;
    std::stop_source stop;
    std::atomic<bool> has_it = false;
    auto server = Kind::spawn([&] {
      sennit::stop_guard guard(stop.get_token());
      port.serve([&](int x) {
        has_it = true;
        Kind::sleep_for(1h);
        return x;
      });
    });
    std::vector<typename Kind::fiber> callers;
    callers.push_back(sennit::start<Kind>([&] {
      EXPECT_EQ(error_of([&] { port.call(1); }), dropped_error);  // the server has it
    }));
    while (!has_it)
      Kind::sleep_for(1ms);
    callers.push_back(sennit::start<Kind>([&] {
      EXPECT_EQ(error_of([&] { port.call(2); }), closed_error);  // no server will ever take it
    }));
    Kind::sleep_for(1ms);
    stop.request_stop();
    for (auto& each : callers)
      each.join();
    server.join();
    EXPECT_TRUE(port.closed());
  });
}

int* volatile nowhere = nullptr;

// Servers in serve(), which fault for a negative request.
template <class Kind>
struct careless_servers {
  using port_type = typename Kind::template port<int, int>;
  // When it returns, all are in serve().
  careless_servers(port_type& of, std::size_t count) : port(of), all_there(count) {
    for (std::size_t i = 0; i < count; ++i)
      fibers.push_back(Kind::spawn([this] { port.serve([this](int x) { return twice(x); }); }));
    std::vector<typename Kind::fiber> callers;
    for (std::size_t i = 0; i < count; ++i)
      callers.push_back(Kind::spawn([this] { port.call(0); }));
    for (auto& each : callers)
      each.join();
  }
  ~careless_servers() {
    port.close();
    for (auto& each : fibers)
      each.join();
  }
  int twice(int x) {
    if (x == 0)
      all_there.arrive_and_wait();
    if (x < 0)
      *nowhere = x;
    return 2 * x;
  }
  port_type& port;
  typename Kind::barrier all_there;
  std::vector<typename Kind::fiber> fibers;
};

KIND_TEST(PortsGivenUp, AServerKilledByAFaultAnswersItsCallers) {
  if (!sennit::serves_faults)
    GTEST_SKIP() << "faults are not served in this build";
  this->run([] {
    typename Kind::exception_server faults;
    const typename Kind::runtime_exception_guard all(faults);
    auto killer = Kind::spawn([&faults] {
      for (int i = 0; i < 3; ++i) {
        auto fault = faults.receive();
        fault.reply(sennit::verdict::kill);
      }
    });
    typename Kind::template port<int, int> port;
    const careless_servers<Kind> two(port, 2);
    EXPECT_EQ(error_of([&] { EXPECT_FALSE(port.call_for(-1, 5s)); }), dropped_error);
    EXPECT_FALSE(port.closed());
    EXPECT_EQ(port.call_for(7, 5s), 14);  // by the other
    EXPECT_EQ(error_of([&] { EXPECT_FALSE(port.call_for(-1, 5s)); }), dropped_error);
    EXPECT_TRUE(port.closed());
    EXPECT_EQ(error_of([&] { EXPECT_FALSE(port.call_for(7, 5s)); }), closed_error);

    // In a function that is left, of a fiber that continues.
    typename Kind::template port<int, int> guarded;
    auto third = Kind::spawn([&] {
      EXPECT_THROW(sennit::guarded(faults,
                                   [&] {
                                     guarded.serve([](int x) {
                                       *nowhere = x;
                                       return x;
                                     });
                                   }),
                   sennit::killed);
      EXPECT_TRUE(guarded.closed());
    });
    EXPECT_EQ(error_of([&] { EXPECT_FALSE(guarded.call_for(1, 5s)); }), dropped_error);
    guarded.close();
    third.join();
    killer.join();
  });
}

KIND_TEST(PortsGivenUp, ClosingAnswersWhoWaits) {
  this->run([] {
    typename PortsGivenUp<Kind>::numbers port;
    auto caller = sennit::start<Kind>([&] { EXPECT_EQ(error_of([&] { port.call(1); }), closed_error); });
    auto sender = sennit::start<Kind>([&] { EXPECT_FALSE(port.send(1)); });
    Kind::sleep_for(1ms);
    port.close();
    caller.join();
    sender.join();

    typename PortsGivenUp<Kind>::numbers other;
    auto server = sennit::start<Kind>([&] { EXPECT_FALSE(other.receive()); });
    Kind::sleep_for(1ms);
    other.close();
    other.close();
    server.join();
  });
}

KIND_TEST(PortsGivenUp, WhatAServerHasItMayAnswerAfterTheClosing) {
  this->run([] {
    typename PortsGivenUp<Kind>::numbers port;
    auto caller = sennit::start<Kind>([&] { EXPECT_EQ(port.call(1), 7); });
    auto next = port.receive();
    port.close();
    EXPECT_FALSE(port.reply_and_receive(next, 7));
    EXPECT_FALSE(next);
    caller.join();
  });
}

KIND_TEST(PortsGivenUp, ADeadlineEndsACall) {
  this->run([] {
    typename PortsGivenUp<Kind>::numbers port;
    EXPECT_EQ(port.call_for(1, 2ms), std::nullopt);  // no server has taken it
    EXPECT_EQ(port.call_until(1, std::chrono::steady_clock::time_point::min()), std::nullopt);
    EXPECT_FALSE(port.receive_until(std::chrono::steady_clock::now()));  // and none will

    std::atomic<bool> has_it = false;
    std::atomic<bool> given_up = false;
    auto server = Kind::spawn([&] {
      auto next = port.receive();
      has_it = true;
      EXPECT_EQ(*next, 2);
      while (!given_up)
        Kind::sleep_for(1ms);
      EXPECT_FALSE(next.reply(4));  // too late
      next = port.receive();
      EXPECT_TRUE(next.reply(6));
    });
    do {
      EXPECT_EQ(port.call_for(2, 5ms), std::nullopt);
    } while (!has_it);
    given_up = true;
    EXPECT_EQ(port.call_for(3, 1h), 6);
    server.join();
  });
}

KIND_TEST(PortsGivenUp, AStopEndsACall) {
  this->run([] {
    typename PortsGivenUp<Kind>::numbers port;
    for (const bool is_taken : {false, true}) {
      std::stop_source stop;
      auto caller = sennit::start<Kind>([&] {
        sennit::stop_guard guard(stop.get_token());
        EXPECT_THROW(port.call(1), sennit::cancelled);
      });
      Kind::sleep_for(1ms);
      typename PortsGivenUp<Kind>::numbers::incoming next;
      if (is_taken)
        next = port.receive();
      stop.request_stop();
      caller.join();
      if (is_taken)
        EXPECT_FALSE(next.reply(1));
      else
        EXPECT_FALSE(port.receive_until(std::chrono::steady_clock::now()));
    }
  });
}

}  // namespace
