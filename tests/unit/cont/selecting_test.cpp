// Select without a stack.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sennit/become.hpp"
#include "sennit/select.hpp"
#include "support/kinds.hpp"

namespace {

using namespace std::chrono_literals;
using sennit::become;
using sennit::continuation;
using sennit::on_receive;
using sennit::on_send;
using sennit::on_timeout;
using sennit::selecting;
using sennit::until_stackless;
using steady = std::chrono::steady_clock;

template <class Kind>
class BecomeSelect : public sennit::kind_test<Kind> {};

template <class Kind>
struct board {
  typename Kind::template channel<int> numbers;
  typename Kind::template channel<std::string> words;
  std::string heard;

  auto number() {
    return on_receive(numbers, [this](std::optional<int> n) { heard += n ? std::to_string(*n) : "closed"; });
  }
  auto word() {
    return on_receive(words, [this](std::optional<std::string> w) { heard += w ? *w : "closed"; });
  }
  auto says(const char* text) {
    return [this, text](std::size_t chosen) { heard += text + std::to_string(chosen); };
  }
};

KIND_TEST(BecomeSelect, DoesWhatCanBeDone) {
  this->run([] {
    board<Kind> on;
    auto peer = sennit::start<Kind>([&] { on.words.send("a word too long to lie in the object"); });
    Kind::spawn([&] { return become(selecting(on.number(), on.word()), on.says(" case ")); }).join();
    peer.join();
    EXPECT_EQ(on.heard, "a word too long to lie in the object case 1");
    on.heard.clear();
    on.numbers.close();
    Kind::spawn([&] { return become(selecting(on.number(), on.word()), on.says(" case ")); }).join();
    EXPECT_EQ(on.heard, "closed case 0");
  });
}

KIND_TEST(BecomeSelect, WaitsForAnyOfThem) {
  this->run([] {
    const auto waits = [](board<Kind>& on) {
      auto started = Kind::spawn([&] {
        return become(selecting(on.number(), on.word(),
                                on_send(on.numbers, 7, [&](bool sent) { on.heard += sent ? "sent" : "not"; }),
                                on_timeout(10min, [&] { on.heard += "late"; })),
                      on.says(" case "));
      });
      until_stackless<Kind>(1);
      EXPECT_EQ(on.heard, "");
      return started;
    };
    {
      board<Kind> on;
      auto fiber = waits(on);
      on.numbers.send(5);
      fiber.join();
      EXPECT_EQ(on.heard, "5 case 0");
    }
    {
      board<Kind> on;
      auto fiber = waits(on);
      on.words.send("a word too long to lie in the object");
      fiber.join();
      EXPECT_EQ(on.heard, "a word too long to lie in the object case 1");
    }
    {
      board<Kind> on;
      auto fiber = waits(on);
      EXPECT_EQ(on.numbers.receive(), 7);
      fiber.join();
      EXPECT_EQ(on.heard, "sent case 2");
      int number = 1;
      EXPECT_FALSE(on.numbers.try_send(number));  // it has left where it was not chosen
    }
    {
      board<Kind> on;
      auto fiber = waits(on);
      on.words.close();
      fiber.join();
      EXPECT_EQ(on.heard, "closed case 1");
    }
  });
}

KIND_TEST(BecomeSelect, TimesOut) {
  this->run([] {
    board<Kind> on;
    const auto deadline = steady::now() + 1ms;
    Kind::spawn([&] {
      return become(selecting(on.number(), on_timeout(10min, [&] { on.heard += "very late"; }),
                              on_timeout(deadline, [&] { on.heard += "late"; })),
                    on.says(" case "));
    }).join();
    EXPECT_GE(steady::now(), deadline);
    EXPECT_EQ(on.heard, "late case 2");
    int number = 1;
    EXPECT_FALSE(on.numbers.try_send(number));
    // What is there is had, late as it may be.
    auto peer = sennit::start<Kind>([&] { on.numbers.send(3); });
    on.heard.clear();
    Kind::spawn([&] {
      return become(selecting(on_timeout(deadline, [&] { on.heard += "late"; }), on.number()),
                    on.says(" case "));
    }).join();
    peer.join();
    EXPECT_EQ(on.heard, "3 case 1");
  });
}

// Its runtime ends while it waits: it just ends, and is in no list any more.
KIND_TEST(BecomeSelect, TheRuntimesEnd) {
  board<Kind> on;
  typename Kind::template channel<std::string> to;
  const auto alive = std::make_shared<int>(0);
  Kind().run([&] {
    for (int i = 0; i < 3; ++i)
      Kind::spawn([&] {
        return become(
            selecting(on.number(), on.word(),
                      on_send(to, "a word too long to lie in the object", [alive](bool) {}),
                      on_timeout(10min, [] {})),
            [](std::shared_ptr<int>, std::size_t) { ADD_FAILURE() << "it went on"; }, alive);
      }).detach();
    until_stackless<Kind>(3);
  });
  EXPECT_EQ(on.heard, "");
  EXPECT_EQ(alive.use_count(), 1);
  int number = 1;
  EXPECT_FALSE(on.numbers.try_send(number));
  std::string word;
  EXPECT_FALSE(on.words.try_send(word));
  EXPECT_FALSE(to.try_receive());
}

// What it waits for goes with its state, after its wait.
KIND_TEST(BecomeSelect, TheRuntimesEndWhereTheStateOwnsTheChannel) {
  using channel = typename Kind::template channel<int>;
  Kind().run([] {
    Kind::spawn([] {
      return become(
          [](std::unique_ptr<channel>& numbers) { return selecting(on_receive(*numbers, [](auto) {})); },
          [](std::unique_ptr<channel>, std::size_t) { ADD_FAILURE() << "it went on"; },
          std::make_unique<channel>());
    }).detach();
    Kind::spawn([] {
      return become(
          [](std::unique_ptr<channel>& numbers) { return numbers->receiving_until(steady::now() + 10min); },
          [](std::unique_ptr<channel>, std::optional<int>) { ADD_FAILURE() << "it went on"; },
          std::make_unique<channel>());
    }).detach();
    until_stackless<Kind>(2);
  });
}

// Selects that are each other's peers, and time-outs that come at the same time: each value is taken once.
KIND_TEST(BecomeSelect, SelectsMeetAndTimeOut) {
  struct meeting {
    typename Kind::template channel<long> left;
    typename Kind::template channel<std::string> right;
    std::atomic<long> sent = 0;
    std::atomic<long> received = 0;
    std::atomic<long> late = 0;
  };
  struct turn {
    meeting* at;
    int round;
    auto receives_left() {
      return on_receive(at->left, [to = at](std::optional<long> n) { to->received += *n; });
    }
    auto receives_right() {
      return on_receive(at->right,
                        [to = at](std::optional<std::string> n) { to->received += std::stol(*n); });
    }
    auto gives_up() {
      return on_timeout(std::chrono::microseconds(round % 7 * 10), [to = at] { ++to->late; });
    }
    static continuation on(turn me, std::size_t) {
      if (++me.round > 400)
        return {};
      const long value = me.round;
      if (me.round % 2 == 0)
        return become(selecting(me.receives_left(),
                                on_send(me.at->right, std::to_string(value),
                                        [to = me.at, value](bool taken) { to->sent += taken ? value : 0; }),
                                me.gives_up()),
                      on, me);
      return become(selecting(me.receives_right(),
                              on_send(me.at->left, value,
                                      [to = me.at, value](bool taken) { to->sent += taken ? value : 0; }),
                              me.gives_up()),
                    on, me);
    }
  };
  this->run([] {
    meeting at;
    std::vector<typename Kind::fiber> all;
    for (int i = 0; i < 8; ++i)
      all.push_back(Kind::spawn([&at, i] { return turn::on({&at, i}, 0); }));
    for (auto& each : all)
      each.join();
    EXPECT_EQ(at.sent, at.received);
    EXPECT_GT(at.sent, 0);
  });
}

}  // namespace
