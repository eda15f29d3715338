// Ports: calls and servers.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "ports.hpp"
#include "sennit/become.hpp"
#include "sennit/stop_guard.hpp"
#include "support/kinds.hpp"

namespace {

using namespace std::chrono_literals;
using sennit::become;
using sennit::closed_error;
using sennit::error_of;

template <class Kind>
class Ports : public sennit::port_test<Kind> {};

KIND_TEST(Ports, AServerAnswersCalls) {
  this->run([] {
    typename Ports<Kind>::numbers port;
    auto server = Ports<Kind>::serve(port);
    for (int i = 0; i < 100; ++i)
      EXPECT_EQ(port.call(i), 2 * i);
    EXPECT_FALSE(port.closed());
    port.close();
    EXPECT_TRUE(port.closed());
    server.join();
    EXPECT_EQ(error_of([&] { port.call(1); }), closed_error);
    EXPECT_FALSE(port.send(1));
    EXPECT_FALSE(port.receive());
  });
}

// The caller's time slice goes to the server, and back, before any other fiber runs. (Others may run on other
// workers.)
KIND_TEST_UP_TO(1, Ports, ACallIsServedBeforeOthersThatAreReady) {
  std::string log;
  const auto calls = [&] {
    typename Kind::template port<int, int> port;
    bool waits = false;
    auto server = Kind::spawn([&] {
      waits = true;
      port.serve([&](int x) {
        log += 'S';
        return x;
      });
    });
    while (!waits)
      Kind::yield();
    typename Ports<Kind>::fiber_list others;
    for (int i = 0; i < 3; ++i)
      others.push_back(Kind::spawn([&] { log += 'o'; }));
    port.call(1);
    log += 'C';
    for (auto& each : others)
      each.join();
    port.close();
    server.join();
  };
  this->run([&] { Kind::spawn(calls).join(); });  // a pinned fiber waits in the queue
  EXPECT_EQ(log, "SCooo");
}

KIND_TEST(Ports, RequestsAndRepliesMove) {
  this->run([] {
    using text = std::unique_ptr<std::string>;
    typename Kind::template port<text, text> port;
    auto server = Kind::spawn([&] {
      port.serve([](text asked) {
        *asked += " to you";
        return asked;
      });
    });
    EXPECT_EQ(*port.call(std::make_unique<std::string>("hello")), "hello to you");
    EXPECT_EQ(**port.call_for(std::make_unique<std::string>("good bye"), 1h), "good bye to you");
    port.close();
    server.join();
  });
}

KIND_TEST(Ports, TheReplyMayBeNothing) {
  this->run([] {
    typename Kind::template port<int, void> port;
    int sum = 0;
    auto server = Kind::spawn([&] { port.serve([&](int x) { sum += x; }); });
    port.call(1);
    EXPECT_TRUE(port.call_for(2, 1h));
    EXPECT_EQ(sum, 3);
    port.close();
    server.join();
    server = Kind::spawn([&] { EXPECT_FALSE(port.receive()); });
    server.join();
  });
}

KIND_TEST(Ports, CallsAreServedInTheirOrder) {
  this->run([] {
    typename Ports<Kind>::numbers port;
    std::vector<int> order;
    std::vector<typename Kind::fiber> callers;
    for (int i = 0; i < 5; ++i) {
      callers.push_back(sennit::start<Kind>([&port, i] { EXPECT_EQ(port.call(i), i + 10); }));
      Kind::sleep_for(1ms);  // it waits
    }
    for (auto next = port.receive(); order.size() != 5;) {
      order.push_back(*next);
      if (order.size() == 5)
        EXPECT_TRUE(next.reply(*next + 10));
      else
        EXPECT_TRUE(port.reply_and_receive(next, *next + 10));
    }
    for (auto& each : callers)
      each.join();
    EXPECT_EQ(order, (std::vector{0, 1, 2, 3, 4}));
  });
}

KIND_TEST(Ports, WhatTheServerThrowsIsThrownToTheCaller) {
  this->run([] {
    typename Ports<Kind>::numbers port;
    auto server = Kind::spawn([&] {
      port.serve([](int x) {
        if (x < 0)
          throw std::out_of_range("negative");
        return x;
      });
    });
    EXPECT_THROW(port.call(-1), std::out_of_range);
    EXPECT_EQ(port.call(1), 1);
    EXPECT_THROW(port.call_for(-1, 1h), std::out_of_range);
    port.close();
    server.join();
  });
}

KIND_TEST(Ports, SendingWaitsForAServerOnly) {
  this->run([] {
    typename Ports<Kind>::numbers port;
    std::atomic<int> sent = 0;
    auto sender = sennit::start<Kind>([&] {
      EXPECT_TRUE(port.send(1));  // no server receives yet
      ++sent;
      EXPECT_TRUE(port.send(2));
      ++sent;
    });
    Kind::sleep_for(1ms);
    EXPECT_EQ(sent, 0);
    auto first = port.receive();
    EXPECT_EQ(*first, 1);
    EXPECT_FALSE(first.reply(5));  // its caller does not want it
    auto second = port.receive();
    EXPECT_EQ(*second, 2);
    sender.join();
    EXPECT_EQ(sent, 2);

    // A server waits.
    auto server = sennit::start<Kind>([&] {
      auto next = port.receive();
      EXPECT_EQ(*next, 3);
      EXPECT_FALSE(port.reply_and_receive(next, 0));
    });
    Kind::sleep_for(1ms);
    EXPECT_TRUE(port.send(3));
    port.close();
    server.join();
  });
}

KIND_TEST(Ports, AnIncomingRequestMoves) {
  this->run([] {
    typename Ports<Kind>::numbers port;
    auto caller = sennit::start<Kind>([&] { EXPECT_EQ(port.call(20), 21); });
    auto received = port.receive();
    std::vector<typename Ports<Kind>::numbers::incoming> kept;
    kept.push_back(std::move(received));
    EXPECT_FALSE(received);  // NOLINT: what is left of it
    for (int i = 0; i < 20; ++i)
      kept.emplace_back();
    ASSERT_TRUE(kept.front());
    EXPECT_TRUE(kept.front().reply(*kept.front() + 1));
    caller.join();
  });
}

// Many callers of all forms, servers of all forms.
KIND_TEST(Ports, ManyCallManyServe) {
  this->run([] {
    constexpr int callers = 40;
    constexpr int calls = 50;
    typename Ports<Kind>::numbers port;
    std::vector<typename Kind::fiber> servers;
    for (int i = 0; i < 3; ++i) {
      servers.push_back(Ports<Kind>::serve(port));
      servers.push_back(Ports<Kind>::serve_without_a_stack(port));
    }
    std::atomic<int> answered = 0;
    std::atomic<int> given_up = 0;
    std::vector<typename Kind::fiber> all;
    for (int i = 0; i < callers; ++i) {
      all.push_back(Kind::spawn([&, i] {
        for (int k = 0; k < calls; ++k) {
          const int asked = i * calls + k;
          if (k % 5 == 0) {
            const auto got = port.call_for(asked, std::chrono::microseconds(k));
            given_up += !got;
            if (got) {
              EXPECT_EQ(*got, 2 * asked);
              ++answered;
            }
          } else {
            EXPECT_EQ(port.call(asked), 2 * asked);
            ++answered;
          }
        }
      }));
    }
    for (auto& each : all)
      each.join();
    EXPECT_EQ(answered + given_up, callers * calls);
    port.close();
    for (auto& each : servers)
      each.join();
  });
}

KIND_TEST(Ports, ThreadsCallAndServe) {
  if constexpr (std::is_same_v<Kind, sennit::parallel_kind>) {
    typename Ports<Kind>::numbers port;
    std::atomic<bool> over = false;
    std::thread server([&] { port.serve([](int x) { return 2 * x; }); });
    std::thread caller([&] {
      for (int i = 0; i < 200; ++i)
        EXPECT_EQ(port.call(i), 2 * i);
      EXPECT_EQ(port.call_for(5, 1h), 10);
      over = true;
    });
    this->run([&] {
      auto another = Ports<Kind>::serve(port);
      for (int i = 0; i < 200; ++i)
        EXPECT_EQ(port.call(i), 2 * i);
      while (!over)  // a join would hold the worker, and the server on it
        Kind::sleep_for(1ms);
      port.close();
      another.join();
    });
    caller.join();
    server.join();
  }
}

KIND_TEST(Ports, CallersRunWhatIsServedThemselves) {
  this->run([] {
    typename Ports<Kind>::numbers port;
    std::atomic<int> inside = 0;
    std::atomic<bool> may_leave = false;
    int early = 0;
    auto caller = sennit::start<Kind>([&] { early = port.call(5); });  // no server serves yet
    Kind::sleep_for(1ms);
    auto server = sennit::start<Kind>([&] {
      port.serve_in_callers([&](int x) {
        if (x < 0)
          throw std::out_of_range("negative");
        if (x == 0) {
          ++inside;
          while (!may_leave)
            Kind::sleep_for(1ms);
        }
        return 3 * x;
      });
      EXPECT_TRUE(may_leave);  // not before the last call has ended
    });
    caller.join();
    EXPECT_EQ(early, 15);
    EXPECT_EQ(port.call(2), 6);
    EXPECT_EQ(port.call_for(3, 1h), 9);
    EXPECT_TRUE(port.send(4));
    EXPECT_THROW(port.call(-1), std::out_of_range);
    int got = 0;
    Kind::spawn([&] {
      return become(port.calling(7), [](int* to, auto answer) { *to = answer.get(); }, &got);
    }).join();
    EXPECT_EQ(got, 21);
    std::vector<typename Kind::fiber> several;
    for (int i = 0; i < 3; ++i)
      several.push_back(Kind::spawn([&] { EXPECT_EQ(port.call(0), 0); }));
    while (inside != 3)  // all at once
      Kind::sleep_for(1ms);
    port.close();
    EXPECT_EQ(error_of([&] { port.call(1); }), closed_error);
    Kind::sleep_for(2ms);
    may_leave = true;
    for (auto& each : several)
      each.join();
    server.join();
  });
}

KIND_TEST(Ports, AStopEndsWhoServesInCallers) {
  this->run([] {
    typename Ports<Kind>::numbers port;
    std::stop_source stop;
    std::atomic<bool> may_leave = false;
    std::atomic<bool> inside = false;
    auto server = sennit::start<Kind>([&] {
      sennit::stop_guard guard(stop.get_token());
      port.serve_in_callers([&](int x) {
        inside = true;
        while (!may_leave)
          Kind::sleep_for(1ms);
        return x;
      });
    });
    auto caller = sennit::start<Kind>([&] { EXPECT_EQ(port.call(1), 1); });
    while (!inside)
      Kind::sleep_for(1ms);
    stop.request_stop();
    while (!port.closed())
      Kind::sleep_for(1ms);
    may_leave = true;
    server.join();
    caller.join();
  });
}

}  // namespace
