// Ports: callers and servers that wait without a stack.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <system_error>
#include <vector>

#include "ports.hpp"
#include "sennit/become.hpp"
#include "support/kinds.hpp"

namespace {

using namespace std::chrono_literals;
using sennit::become;
using sennit::closed_error;
using sennit::continuation;
using sennit::dropped_error;
using sennit::error_of;

template <class Kind>
class PortsWithoutAStack : public sennit::port_test<Kind> {};

// Slow dispatches make polls more frequent, in the end one at each dispatch. None may be passed over.
KIND_TEST(PortsWithoutAStack, TimersDoNotWaitForCalls) {
  this->run([] {
    using tests = PortsWithoutAStack<Kind>;
    typename tests::numbers port;
    auto server = Kind::spawn(become(port.receiving(), tests::answer_and_go_on, &port));
    for (int i = 0; i < 200; ++i) {
      const auto until = std::chrono::steady_clock::now() + 300us;
      while (std::chrono::steady_clock::now() < until) {
      }
      port.call(i);
    }
    std::atomic<bool> woke{false};
    auto sleeper = sennit::start<Kind>([&] {
      Kind::sleep_for(1ms);
      woke = true;
    });
    for (int i = 0; !woke && i < 20'000'000; ++i)
      port.call(1);
    EXPECT_TRUE(woke);
    port.close();
    sleeper.join();
    server.join();
  });
}

KIND_TEST(PortsWithoutAStack, ACallWithoutAStack) {
  this->run([] {
    typename PortsWithoutAStack<Kind>::numbers port;
    for (const bool queued : {false, true}) {
      typename Kind::fiber server;
      if (!queued) {
        server = PortsWithoutAStack<Kind>::serve(port);
        Kind::sleep_for(1ms);
      }
      int got = 0;
      auto caller = Kind::spawn(
          [&] { return become(port.calling(21), [](int* to, auto answer) { *to = answer.get(); }, &got); });
      sennit::until_stackless<Kind>(queued ? 1 : 0);
      if (queued)
        port.receive().reply(42);
      caller.join();
      EXPECT_EQ(got, 42);
      if (!queued) {
        port.close();
        server.join();
        break;
      }
    }
  });
}

KIND_TEST(PortsWithoutAStack, BothWithoutAStack) {
  this->run([] {
    typename PortsWithoutAStack<Kind>::numbers port;
    auto server = PortsWithoutAStack<Kind>::serve_without_a_stack(port);
    sennit::until_stackless<Kind>(1);
    struct caller {
      typename PortsWithoutAStack<Kind>::numbers* port;
      int left;
      int sum = 0;
      int* result;
      static continuation go_on(std::unique_ptr<caller> me,
                                typename PortsWithoutAStack<Kind>::numbers::answer answer) {
        me->sum += answer.get();
        return ask(std::move(me));
      }
      static continuation ask(std::unique_ptr<caller> me) {
        if (me->left == 0) {
          *me->result = me->sum;
          return {};
        }
        auto call = me->port->calling(me->left--);
        return become(std::move(call), go_on, std::move(me));
      }
    };
    int sum = 0;
    Kind::spawn([&] { return caller::ask(std::make_unique<caller>(&port, 100, 0, &sum)); }).join();
    EXPECT_EQ(sum, 2 * 5050);
    port.close();
    server.join();
  });
}

KIND_TEST(PortsWithoutAStack, AnAnswerCarriesErrors) {
  this->run([] {
    typename PortsWithoutAStack<Kind>::numbers port;
    const auto error_of_call = [&port] {
      std::error_condition result;
      Kind::spawn([&] {
        return become(
            port.calling(1),
            [](std::error_condition* to, auto answer) { *to = error_of([&] { answer.get(); }); }, &result);
      }).join();
      return result;
    };
    auto server = Kind::spawn([&] {
      {
        auto dropped = port.receive();
      }
      port.receive().fail(
          std::make_exception_ptr(std::system_error(make_error_code(std::errc::no_space_on_device), "full")));
    });
    EXPECT_EQ(error_of_call(), dropped_error);
    EXPECT_EQ(error_of_call(), make_error_condition(std::errc::no_space_on_device));
    server.join();
    port.close();
    EXPECT_EQ(error_of_call(), closed_error);
  });
}

KIND_TEST(PortsWithoutAStack, DeadlinesWithoutAStack) {
  this->run([] {
    typename PortsWithoutAStack<Kind>::numbers port;
    const auto outcome_of = [&port](auto deadline) {
      std::error_condition error;
      int got = 0;
      struct places {
        std::error_condition* error;
        int* got;
      };
      Kind::spawn([&] {
        return become(
            port.calling_until(4, deadline),
            [](places to, auto answer) { *to.error = error_of([&] { *to.got = answer.get(); }); },
            places{&error, &got});
      }).join();
      return std::pair(error, got);
    };
    using clock = std::chrono::steady_clock;
    const auto late = std::pair(make_error_condition(std::errc::timed_out), 0);
    EXPECT_EQ(outcome_of(clock::now() + 2ms), late);  // no server has taken it
    EXPECT_FALSE(port.receive_until(clock::now()));   // and none will
    std::atomic<bool> has_it = false;
    std::atomic<bool> given_up = false;
    auto server = Kind::spawn([&] {
      auto next = port.receive();
      has_it = true;
      while (!given_up)
        Kind::sleep_for(1ms);
      EXPECT_FALSE(next.reply(1));
      port.serve([](int x) { return 2 * x; });
    });
    do {
      EXPECT_EQ(outcome_of(clock::now() + 5ms), late);  // a server has taken it
    } while (!has_it);
    given_up = true;
    EXPECT_EQ(outcome_of(clock::now() + 1h), std::pair(std::error_condition(), 8));
    port.close();
    server.join();

    typename PortsWithoutAStack<Kind>::numbers other;
    for (const bool called : {false, true}) {
      int result = 0;
      auto waiting = Kind::spawn([&] {
        return become(
            other.receiving_until(clock::now() + (called ? clock::duration(1h) : clock::duration(2ms))),
            [](int* to, typename PortsWithoutAStack<Kind>::numbers::incoming next) {
              if (next)
                next.reply(*to = *next);
              else
                *to = -1;
            },
            &result);
      });
      if (called) {
        EXPECT_EQ(other.call(7), 7);
      }
      waiting.join();
      EXPECT_EQ(result, called ? 7 : -1);
    }
  });
}

KIND_TEST(PortsWithoutAStack, SendsWithoutAStack) {
  this->run([] {
    using port_type = typename PortsWithoutAStack<Kind>::numbers;
    using result = typename port_type::sending_result;
    port_type port;
    int sent = 0;
    const auto count = [&sent](result how) { sent += how.get() ? 1 : 10; };
    const auto send = [&](int number) {
      return Kind::spawn([&, number] { return become(port.sending(number), count); });
    };
    // No server receives yet.
    auto early = send(1);
    sennit::until_stackless<Kind>(1);
    EXPECT_EQ(sent, 0);
    auto first = port.receive();
    early.join();
    EXPECT_EQ(*first, 1);
    EXPECT_EQ(sent, 1);
    EXPECT_FALSE(first.reply(5));  // its caller does not want it
    // This one does.
    int received = 0;
    auto server = Kind::spawn(
        [&] { return become(port.receiving(), [&received](auto next) { received = next ? *next : -1; }); });
    sennit::until_stackless<Kind>(1);
    send(2).join();
    server.join();
    EXPECT_EQ(received, 2);
    EXPECT_EQ(sent, 2);

    const auto error_of_sending = [](auto wait) {
      std::error_condition error;
      Kind::spawn([&] {
        return become(std::move(wait), [&error](result how) { error = error_of([&] { how.get(); }); });
      }).join();
      return error;
    };
    const auto soon = [] { return std::chrono::steady_clock::now() + 1ms; };
    EXPECT_EQ(error_of_sending(port.sending_until(3, soon())), std::errc::timed_out);
    EXPECT_FALSE(port.receive_until(std::chrono::steady_clock::time_point::min()));  // it has left
    auto modest = Kind::spawn(
        [&] { return become(port.receiving({.largest = 1}), [](auto next) { EXPECT_FALSE(next); }); });
    sennit::until_stackless<Kind>(1);
    EXPECT_EQ(error_of_sending(port.sending(4)), std::errc::message_size);
    port.close();
    modest.join();
    send(5).join();
    EXPECT_EQ(sent, 12);
  });
}

// Deadlines and answers race.
KIND_TEST(PortsWithoutAStack, ManyGiveUpWithoutAStack) {
  this->run([] {
    typename PortsWithoutAStack<Kind>::numbers port;
    auto first = PortsWithoutAStack<Kind>::serve(port);
    auto second = PortsWithoutAStack<Kind>::serve_without_a_stack(port);
    std::atomic<int> ended = 0;
    struct caller {
      typename PortsWithoutAStack<Kind>::numbers* port;
      std::atomic<int>* ended;
      int left;
      static continuation ask(caller me) {
        if (me.left == 0)
          return {};
        const auto deadline = std::chrono::steady_clock::now() + std::chrono::microseconds(me.left % 20);
        auto call = me.port->calling_until(me.left--, deadline);
        return become(
            std::move(call),
            [](caller then, typename PortsWithoutAStack<Kind>::numbers::answer answer) {
              try {
                EXPECT_EQ(answer.get(), 2 * (then.left + 1));
              } catch (const std::system_error& error) {
                EXPECT_EQ(error.code(), std::errc::timed_out);
              }
              ++*then.ended;
              return ask(then);
            },
            me);
      }
    };
    std::vector<typename Kind::fiber> all;
    for (int i = 0; i < 30; ++i)
      all.push_back(Kind::spawn([&] { return caller::ask({&port, &ended, 50}); }));
    for (auto& each : all)
      each.join();
    EXPECT_EQ(ended, 30 * 50);
    port.close();
    first.join();
    second.join();
  });
}

}  // namespace
