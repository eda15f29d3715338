// Ports: calls, servers, and what happens when one side goes away.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "sennit/become.hpp"
#include "sennit/stop_guard.hpp"
#include "support/kinds.hpp"

namespace {

using namespace std::chrono_literals;
using sennit::become;
using sennit::continuation;

// The code of the std::system_error that `what` throws, or none.
template <class What>
std::error_condition error_of(What what) {
  try {
    what();
  } catch (const std::system_error& error) {
    return error.code().default_error_condition();
  }
  return {};
}
const std::error_condition closed_error = make_error_condition(std::errc::broken_pipe);
const std::error_condition dropped_error = make_error_condition(std::errc::connection_reset);

template <class Kind>
class Ports : public sennit::kind_test<Kind> {
public:
  using numbers = typename Kind::template port<int, int>;

  // Serve by doubling.
  static typename Kind::fiber serve(numbers& port) {
    return Kind::spawn([&port] { port.serve([](int x) { return 2 * x; }); });
  }
  static continuation answer_and_go_on(numbers* port, typename numbers::incoming next) {
    if (!next)
      return {};
    next.reply(2 * *next);
    return become(port->receiving(), answer_and_go_on, port);
  }
  static typename Kind::fiber serve_without_a_stack(numbers& port) {
    return Kind::spawn(become(port.receiving(), answer_and_go_on, &port));
  }
};

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

KIND_TEST(Ports, ARequestThatIsDroppedAnswersWithAnError) {
  this->run([] {
    typename Ports<Kind>::numbers port;
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

KIND_TEST(Ports, AServerThatDiesAnswersItsCallers) {
  this->run([] {
    typename Ports<Kind>::numbers port;
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
      EXPECT_EQ(error_of([&] { port.call(2); }), closed_error);  // nobody will ever take it
    }));
    Kind::sleep_for(1ms);
    stop.request_stop();
    for (auto& each : callers)
      each.join();
    server.join();
    EXPECT_TRUE(port.closed());
  });
}

KIND_TEST(Ports, ClosingAnswersWhoWaits) {
  this->run([] {
    typename Ports<Kind>::numbers port;
    auto caller = sennit::start<Kind>([&] { EXPECT_EQ(error_of([&] { port.call(1); }), closed_error); });
    auto sender = sennit::start<Kind>([&] { EXPECT_FALSE(port.send(1)); });
    Kind::sleep_for(1ms);
    port.close();
    caller.join();
    sender.join();

    typename Ports<Kind>::numbers other;
    auto server = sennit::start<Kind>([&] { EXPECT_FALSE(other.receive()); });
    Kind::sleep_for(1ms);
    other.close();
    other.close();
    server.join();
  });
}

KIND_TEST(Ports, WhatAServerHasItMayAnswerAfterTheClosing) {
  this->run([] {
    typename Ports<Kind>::numbers port;
    auto caller = sennit::start<Kind>([&] { EXPECT_EQ(port.call(1), 7); });
    auto next = port.receive();
    port.close();
    EXPECT_FALSE(port.reply_and_receive(next, 7));
    EXPECT_FALSE(next);
    caller.join();
  });
}

KIND_TEST(Ports, SendingWaitsForAServerOnly) {
  this->run([] {
    typename Ports<Kind>::numbers port;
    std::atomic<int> sent = 0;
    auto sender = sennit::start<Kind>([&] {
      EXPECT_TRUE(port.send(1));  // nobody receives yet
      ++sent;
      EXPECT_TRUE(port.send(2));
      ++sent;
    });
    Kind::sleep_for(1ms);
    EXPECT_EQ(sent, 0);
    auto first = port.receive();
    EXPECT_EQ(*first, 1);
    EXPECT_FALSE(first.reply(5));  // nobody wants it
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

KIND_TEST(Ports, ADeadlineEndsACall) {
  this->run([] {
    typename Ports<Kind>::numbers port;
    EXPECT_EQ(port.call_for(1, 2ms), std::nullopt);  // nobody has taken it
    EXPECT_EQ(port.call_until(1, std::chrono::steady_clock::time_point::min()), std::nullopt);
    EXPECT_FALSE(port.receive_until(std::chrono::steady_clock::now()));  // and nobody will

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

KIND_TEST(Ports, AStopEndsACall) {
  this->run([] {
    typename Ports<Kind>::numbers port;
    for (const bool is_taken : {false, true}) {
      std::stop_source stop;
      auto caller = sennit::start<Kind>([&] {
        sennit::stop_guard guard(stop.get_token());
        EXPECT_THROW(port.call(1), sennit::cancelled);
      });
      Kind::sleep_for(1ms);
      typename Ports<Kind>::numbers::incoming next;
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
      while (!over)  // a join would hold the worker, and who serves on it
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
    auto caller = sennit::start<Kind>([&] { early = port.call(5); });  // nobody serves yet
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

// ---- Without a stack.

KIND_TEST(Ports, ACallWithoutAStack) {
  this->run([] {
    typename Ports<Kind>::numbers port;
    for (const bool queued : {false, true}) {
      typename Kind::fiber server;
      if (!queued) {
        server = Ports<Kind>::serve(port);
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

KIND_TEST(Ports, BothWithoutAStack) {
  this->run([] {
    typename Ports<Kind>::numbers port;
    auto server = Ports<Kind>::serve_without_a_stack(port);
    sennit::until_stackless<Kind>(1);
    struct caller {
      typename Ports<Kind>::numbers* port;
      int left;
      int sum = 0;
      int* result;
      static continuation go_on(std::unique_ptr<caller> me, typename Ports<Kind>::numbers::answer answer) {
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

KIND_TEST(Ports, AnAnswerCarriesErrors) {
  this->run([] {
    typename Ports<Kind>::numbers port;
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

KIND_TEST(Ports, DeadlinesWithoutAStack) {
  this->run([] {
    typename Ports<Kind>::numbers port;
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
    EXPECT_EQ(outcome_of(clock::now() + 2ms), late);  // nobody has taken it
    EXPECT_FALSE(port.receive_until(clock::now()));   // and nobody will
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
      EXPECT_EQ(outcome_of(clock::now() + 5ms), late);  // somebody has
    } while (!has_it);
    given_up = true;
    EXPECT_EQ(outcome_of(clock::now() + 1h), std::pair(std::error_condition(), 8));
    port.close();
    server.join();

    typename Ports<Kind>::numbers other;
    for (const bool called : {false, true}) {
      int result = 0;
      auto waiting = Kind::spawn([&] {
        return become(
            other.receiving_until(clock::now() + (called ? clock::duration(1h) : clock::duration(2ms))),
            [](int* to, typename Ports<Kind>::numbers::incoming next) {
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

// Deadlines and answers race.
KIND_TEST(Ports, ManyGiveUpWithoutAStack) {
  this->run([] {
    typename Ports<Kind>::numbers port;
    auto first = Ports<Kind>::serve(port);
    auto second = Ports<Kind>::serve_without_a_stack(port);
    std::atomic<int> ended = 0;
    struct caller {
      typename Ports<Kind>::numbers* port;
      std::atomic<int>* ended;
      int left;
      static continuation ask(caller me) {
        if (me.left == 0)
          return {};
        const auto deadline = std::chrono::steady_clock::now() + std::chrono::microseconds(me.left % 20);
        auto call = me.port->calling_until(me.left--, deadline);
        return become(
            std::move(call),
            [](caller then, typename Ports<Kind>::numbers::answer answer) {
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

// ---- The runtime's end finds callers and servers, with and without stacks, in all places.

template <class Kind>
void end_with(bool taken, bool stackless) {
  using numbers = typename Kind::template port<int, int>;
  numbers port;
  typename numbers::incoming kept;  // outlives the runtime
  std::atomic<int> waiting = 0;
  const auto token = std::make_shared<int>(0);
  {
    Kind ending;
    ending.run([&] {
      if (stackless) {
        Kind::spawn([&, token] {
          ++waiting;
          return become(
              port.calling(1), [](const std::shared_ptr<int>&, typename numbers::answer) { FAIL(); }, token);
        }).detach();
      } else {
        Kind::spawn([&, token] {
          ++waiting;
          port.call(1);
          FAIL();
        }).detach();
      }
      while (waiting == 0)
        Kind::yield();
      Kind::sleep_for(1ms);
      if (taken)
        kept = port.receive();
    });
  }
  EXPECT_EQ(token.use_count(), 1);  // all that they held is destroyed
  EXPECT_EQ(bool(kept), taken);
  if (taken) {
    EXPECT_FALSE(kept.reply(1));
  }
}

KIND_TEST(Ports, TheEndFindsCallers) {
  for (const bool taken : {false, true})
    for (const bool stackless : {false, true})
      end_with<Kind>(taken, stackless);
}

KIND_TEST(Ports, TheEndFindsServers) {
  for (const bool stackless : {false, true}) {
    typename Ports<Kind>::numbers port;
    {
      Kind ending;
      ending.run([&] {
        auto server = stackless ? Ports<Kind>::serve_without_a_stack(port) : Ports<Kind>::serve(port);
        EXPECT_EQ(port.call(2), 4);
        server.detach();
      });
    }
    EXPECT_EQ(port.closed(), !stackless);  // nobody is left of those who serve()
    port.close();
  }
}

// A server whose callers run its function ends with them, closed before or not.
KIND_TEST(Ports, TheEndFindsCallersInside) {
  for (const bool closed : {false, true}) {
    typename Ports<Kind>::numbers port;
    {
      Kind ending;
      ending.run([&] {
        Kind::spawn([&] {
          port.serve_in_callers([](int x) {
            Kind::sleep_for(1h);
            return x;
          });
        }).detach();
        Kind::sleep_for(1ms);
        Kind::spawn([&] { port.call(1); }).detach();
        Kind::sleep_for(1ms);
        if (closed)
          port.close();
        Kind::sleep_for(1ms);
      });
    }
    EXPECT_TRUE(port.closed());
  }
}

// A request may do anything when it is destroyed.
KIND_TEST(Ports, RequestsAreDestroyedOutsideOfTheLock) {
  struct closes {
    using port_type = typename Kind::template port<closes, int>;
    port_type* port = nullptr;
    explicit closes(port_type* at) noexcept : port(at) {}
    closes(closes&& other) noexcept : port(std::exchange(other.port, nullptr)) {}
    ~closes() {
      if (port != nullptr)
        port->close();
    }
  };
  this->run([] {
    typename Kind::template port<closes, int> port;
    auto waiting = sennit::start<Kind>([&] { EXPECT_EQ(port.call(closes(nullptr)), 1); });
    Kind::sleep_for(1ms);
    auto last =
        sennit::start<Kind>([&] { EXPECT_EQ(error_of([&] { port.call(closes(&port)); }), closed_error); });
    Kind::sleep_for(1ms);
    auto next = port.receive();
    EXPECT_FALSE(next->port);
    port.close();
    EXPECT_TRUE(next.reply(1));
    waiting.join();
    last.join();
    EXPECT_EQ(error_of([&] { port.call(closes(&port)); }), closed_error);
  });
}

// One that serves a call ends with its caller, in one runtime.
KIND_TEST(Ports, TheEndFindsBoth) {
  for (const bool stackless : {false, true}) {
    typename Ports<Kind>::numbers port;
    Kind ending;
    ending.run([&] {
      std::atomic<bool> has_it = false;
      Kind::spawn([&] {
        port.serve([&](int x) {
          has_it = true;
          Kind::sleep_for(1h);
          return x;
        });
      }).detach();
      if (stackless)
        Kind::spawn([&] { return become(port.calling(1), [](auto) { FAIL(); }); }).detach();
      else
        Kind::spawn([&] { port.call(1); }).detach();
      while (!has_it)
        Kind::sleep_for(1ms);
    });
  }
}

}  // namespace
