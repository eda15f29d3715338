// Select: among fibers of parallel runtimes, of local ones, and OS threads.
#include "sennit/select.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <numeric>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "sennit/stop_guard.hpp"
#include "support/kinds.hpp"
#include "support/shares.hpp"

namespace sennit {
namespace {

using namespace std::chrono_literals;

template <class Kind>
class Select : public kind_test<Kind> {};

KIND_TEST(Select, DoesWhatCanBeDone) {
  this->run([] {
    typename Kind::template channel<int> numbers(1);
    typename Kind::template channel<std::string> words(1);
    std::string heard;
    const auto number = [&](std::optional<int> n) { heard += n ? std::to_string(*n) : "closed"; };
    const auto word = [&](std::optional<std::string> w) { heard += w ? *w : "closed"; };

    words.send("word");
    EXPECT_EQ(select(on_receive(numbers, number), on_receive(words, word)), 1u);
    EXPECT_EQ(heard, "word");

    const auto sent = [&](bool was) { heard += was ? " sent" : " refused"; };
    EXPECT_EQ(select(on_receive(words, word), on_send(numbers, 7, sent)), 1u);
    EXPECT_EQ(heard, "word sent");
    EXPECT_EQ(numbers.try_receive(), 7);

    EXPECT_EQ(select(on_receive(words, word), otherwise([&] { heard += " none"; })), 1u);
    EXPECT_EQ(heard, "word sent none");

    EXPECT_EQ(select(on_receive(words, word), on_timeout(1ms, [&] { heard += " late"; })), 1u);
    EXPECT_EQ(heard, "word sent none late");

    numbers.close();
    EXPECT_EQ(select(on_receive(words, word), on_send(numbers, 8, sent)), 1u);
    EXPECT_EQ(select(on_receive(numbers, number), on_receive(words, word)), 0u);
    EXPECT_EQ(heard, "word sent none late refusedclosed");
  });
}

KIND_TEST(Select, WaitsForSendersAndReceivers) {
  this->run([] {
    typename Kind::template channel<int> numbers;
    typename Kind::template channel<std::unique_ptr<int>> owners;
    int sum = 0;
    auto peer = Kind::spawn([&] {
      for (int i = 1; i <= 10; ++i)
        numbers.send(i);
      for (int i = 1; i <= 10; ++i)
        owners.send(std::make_unique<int>(i));
      for (int i = 0; i < 10; ++i)
        EXPECT_EQ(**owners.receive(), 5);
      owners.close();
    });
    for (int i = 0; i < 20; ++i)
      select(on_receive(numbers, [&](std::optional<int> n) { sum += *n; }),
             on_receive(owners, [&](std::optional<std::unique_ptr<int>> n) { sum += **n; }));
    EXPECT_EQ(sum, 110);
    int taken = 0;
    bool open = true;
    while (open)
      select(on_receive(numbers, [&](std::optional<int>) { ADD_FAILURE(); }),
             on_send(owners, std::make_unique<int>(5), [&](bool sent) {
               taken += sent ? 1 : 0;
               open = sent;
             }));
    EXPECT_EQ(taken, 10);
    peer.join();
  });
}

KIND_TEST(Select, IsClosedWhileItWaits) {
  this->run([] {
    typename Kind::template channel<int> numbers;
    typename Kind::template channel<std::string> words;
    for (const bool close_words : {true, false}) {
      auto closer = Kind::spawn([&] { close_words ? words.close() : numbers.close(); });
      std::optional<bool> sent;
      std::optional<std::optional<std::string>> got;
      select(on_send(numbers, 1, [&](bool was) { sent = was; }),
             on_receive(words, [&](std::optional<std::string> w) { got = std::move(w); }));
      EXPECT_TRUE((sent && !*sent) || (got && !*got));
      closer.join();
    }
  });
}

// Two selects that both offer to send and to receive on one channel are each other's peers, and never their
// own.
KIND_TEST(Select, MeetsAnotherSelect) {
  this->run([] {
    constexpr int fibers = 8;
    constexpr int rounds = 100;
    typename Kind::template channel<int> both;
    std::atomic<int> sent = 0;
    std::atomic<int> received = 0;
    std::atomic<int> from_oneself = 0;
    std::atomic<int> left = 0;
    std::vector<typename Kind::fiber> all;
    for (int me = 0; me < fibers; ++me)
      all.push_back(Kind::spawn([&, me] {
        for (int round = 0; round < rounds; ++round)
          select(on_send(both, me, [&](bool) { ++sent; }), on_receive(both, [&](std::optional<int> who) {
                   ++received;
                   from_oneself += who == me ? 1 : 0;
                 }));
        // The last fibers may have no peer left.
        ++left;
        while (left < fibers) {
          select(on_send(both, me, [&](bool) { ++sent; }),
                 on_receive(both, [&](std::optional<int>) { ++received; }), on_timeout(1ms, [] {}));
          Kind::sleep_for(100us);  // others' turn, under any policy
        }
      }));
    for (auto& each : all)
      each.join();
    EXPECT_EQ(sent, received);
    EXPECT_GE(sent + received, fibers * rounds);
    EXPECT_EQ(from_oneself, 0);
  });
}

// Whichever cases can be done, each of them is chosen equally often, and no other.
KIND_TEST(Select, ChoosesEquallyOftenAmongAnyCasesThatCanBeDone) {
  this->run([] {
    typename Kind::template channel<int> a(1), b(1), c(1), d(1), e(1);
    const auto ignore = [](std::optional<int>) {};
    expect_equal_shares(std::vector{&a, &b, &c}, [&] {
      return select(on_receive(a, ignore), on_receive(b, ignore), on_receive(c, ignore));
    });
    expect_equal_shares(std::vector{&a, &b, &c, &d, &e}, [&] {
      return select(on_receive(a, ignore), on_receive(b, ignore), on_receive(c, ignore),
                    on_receive(d, ignore), on_receive(e, ignore));
    });
  });
}

// The choice does not depend on other selects of the thread, though they come in between at regular
// intervals.
KIND_TEST(Select, ChoosesEquallyOftenWhateverSelectsItsFunctionsMake) {
  this->run([] {
    constexpr int rounds = 600;
    typename Kind::template channel<int> a(1), b(1), other(1), empty(1);
    const auto ignore = [](std::optional<int>) {};
    for (const int nested : {0, 1, 4, 7, 12, 20, 33, 54, 88, 143}) {
      int chosen[2] = {};
      for (int round = 0; round < rounds; ++round) {
        fill(a);
        fill(b);
        ++chosen[select(on_receive(a,
                                   [&](auto) {
                                     for (int i = 0; i < nested; ++i) {
                                       fill(other);
                                       select(on_receive(other, ignore), on_receive(empty, ignore));
                                     }
                                   }),
                        on_receive(b, ignore))];
      }
      expect_equal(chosen, rounds);
    }
  });
}

KIND_TEST(Select, HasOneChannelInSeveralCases) {
  this->run([] {
    typename Kind::template channel<int> numbers;
    int sum = 0;
    const auto add = [&](std::optional<int> n) { sum += *n; };
    const auto received = [](bool) { ADD_FAILURE(); };
    auto peer = Kind::spawn([&] {
      for (int i = 1; i <= 10; ++i)
        numbers.send(i);
    });
    for (int i = 1; i <= 10; ++i)
      select(on_receive(numbers, add), on_receive(numbers, add), on_receive(numbers, add));
    peer.join();
    EXPECT_EQ(sum, 55);
    EXPECT_EQ(select(on_receive(numbers, add), on_send(numbers, 1, received), on_receive(numbers, add),
                     otherwise([] {})),
              3u);
    EXPECT_FALSE(numbers.try_receive());
  });
}

// A wait that has ended by time is in no list any more, in whichever of its channels something happens first.
KIND_TEST(Select, IsServedByAnyOfItsCasesInTurn) {
  this->run([] {
    typename Kind::template channel<int> a, b, c;
    int sum = 0;
    const auto add = [&](std::optional<int> n) { sum += *n; };
    for (auto* to : {&a, &b, &c, &c, &b, &a}) {
      EXPECT_EQ(select(on_receive(a, add), on_receive(b, add), on_receive(c, add), on_timeout(100us, [] {})),
                3u);
      auto sender = Kind::spawn([&] { to->send(1); });
      EXPECT_LT(select(on_receive(a, add), on_receive(b, add), on_receive(c, add)), 3u);
      sender.join();
      for (auto* each : {&a, &b, &c}) {
        int lost = 1;
        EXPECT_FALSE(each->try_send(lost));
      }
    }
    EXPECT_EQ(sum, 6);
  });
}

KIND_TEST(Select, LeavesNothingBehind) {
  this->run([] {
    typename Kind::template channel<std::string> words;
    typename Kind::template channel<int> numbers;
    std::stop_source stop;
    auto stopped = Kind::spawn([&] {
      const stop_guard guard(stop.get_token());
      EXPECT_THROW(
          select(on_receive(words, [](std::optional<std::string>) {}), on_send(numbers, 1, [](bool) {})),
          cancelled);
    });
    for (int i = 0; i < 3; ++i)
      Kind::yield();
    stop.request_stop();
    stopped.join();
    select(on_receive(words, [](std::optional<std::string>) {}), on_send(numbers, 1, [](bool) {}),
           on_timeout(1us, [] {}));
    std::string lost = "nobody";
    EXPECT_FALSE(words.try_send(lost));
    EXPECT_FALSE(numbers.try_receive());
  });
}

KIND_TEST(Select, ThrowsWhatItsFunctionThrows) {
  this->run([] {
    typename Kind::template channel<int> numbers(1);
    numbers.send(1);
    EXPECT_THROW(select(on_receive(numbers, [](std::optional<int>) { throw std::string("what"); })),
                 std::string);
    numbers.send(2);
    EXPECT_EQ(numbers.try_receive(), 2);
  });
}

KIND_TEST(Select, EndsWithItsRuntime) {
  typename Kind::template channel<int> nothing;
  typename Kind::template channel<std::string> nor_this;
  int left = 0;
  Kind().run([&] {
    Kind::spawn([&] {
      struct note {
        int& at;
        ~note() { ++at; }
      } const on_leaving{left};
      select(on_receive(nothing, [](std::optional<int>) {}), on_send(nor_this, "", [](bool) {}));
    }).detach();
    Kind::yield();
  });
  EXPECT_EQ(left, 1);
}

// Every number that is sent is received once.
template <class Kind>
void many_to_many(int senders, int receivers, int each_sends) {
  typename Kind::template channel<int> a, c;
  typename Kind::template channel<int> b(3);
  std::vector<std::vector<int>> got(static_cast<std::size_t>(receivers));
  std::vector<typename Kind::fiber> all;
  std::vector<typename Kind::fiber> ends;
  for (int me = 0; me < receivers; ++me)
    ends.push_back(Kind::spawn([&, me] {
      auto& mine = got[static_cast<std::size_t>(me)];
      int open = 3;
      const auto take = [&](std::optional<int> n) {
        if (n)
          mine.push_back(*n);
        else
          open = 0;
      };
      while (open != 0) {
        if (me % 2 == 0)
          select(on_receive(a, take), on_receive(b, take), on_receive(c, take), on_timeout(20us, [] {}));
        else
          select(on_receive(c, take), on_receive(a, take), on_receive(b, take));
      }
    }));
  for (int me = 0; me < senders; ++me)
    all.push_back(Kind::spawn([&, me] {
      for (int i = 0; i < each_sends;) {
        const int value = me * each_sends + i;
        const auto sent = [&](bool) { ++i; };
        if (i % 3 == 0)
          a.send(value), ++i;
        else
          select(on_send(b, value, sent), on_send(a, value, sent), on_send(c, value, sent));
      }
    }));
  for (auto& each : all)
    each.join();
  b.close();
  // The rest in b is received before b is seen closed, but perhaps by another fiber than the one that sees
  // that first.
  a.close();
  c.close();
  for (auto& each : ends)
    each.join();
  std::vector<int> sum;
  for (const auto& each : got)
    sum.insert(sum.end(), each.begin(), each.end());
  while (std::optional<int> rest = b.try_receive())
    sum.push_back(*rest);
  std::ranges::sort(sum);
  std::vector<int> wanted(static_cast<std::size_t>(senders * each_sends));
  std::iota(wanted.begin(), wanted.end(), 0);
  EXPECT_EQ(sum, wanted);
}

KIND_TEST(Select, LosesAndDoublesNothing) {
  this->run([] { many_to_many<Kind>(6, 5, 300); });
}

TEST(SelectOnManyWorkers, LosesAndDoublesNothing) {
  for (const unsigned workers : {1u, 2u, 4u}) {
    runtime rt({.workers = workers});
    rt.run([] { many_to_many<parallel_kind>(8, 8, 500); });
  }
}

// At every moment there is a value in one of two channels: a look at both finds it.
TEST(SelectOnManyWorkers, LooksAtAllCasesAtOneMoment) {
  runtime rt({.workers = 2});
  channel<int> left(2), right(2);
  left.send(1);
  std::atomic<bool> over = false;
  rt.run([&] {
    fiber mover = spawn([&] {
      for (int i = 0; i < 20000; ++i) {
        channel<int>& from = i % 2 == 0 ? left : right;
        channel<int>& to = i % 2 == 0 ? right : left;
        to.send(1);
        while (!from.try_receive())
          this_fiber::yield();
      }
      over = true;
    });
    // It puts back what it takes, at once, so that the mover's value is the one that was there.
    while (!over) {
      const auto back_to_left = [&](std::optional<int>) { left.send(1); };
      const auto back_to_right = [&](std::optional<int>) { right.send(1); };
      EXPECT_NE(select(on_receive(left, back_to_left), on_receive(right, back_to_right), otherwise([] {})),
                2u);
      this_fiber::yield();
    }
    mover.join();
  });
}

TEST(SelectOnManyWorkers, WithOsThreads) {
  runtime rt({.workers = 2});
  channel<int> numbers;
  channel<std::string> words;
  std::atomic<int> sum = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 2; ++i)
    threads.emplace_back([&] {
      bool open = true;
      while (open)
        select(on_receive(numbers,
                          [&](std::optional<int> n) {
                            sum += n.value_or(0);
                            open = n.has_value();
                          }),
               on_receive(words,
                          [&](std::optional<std::string> w) { sum += w ? static_cast<int>(w->size()) : 0; }),
               on_timeout(1h, [] { ADD_FAILURE(); }));
    });
  rt.run([&] {
    for (int i = 0; i < 200; ++i) {
      numbers.send(1);
      words.send("ab");
    }
    numbers.close();
  });
  for (auto& each : threads)
    each.join();
  EXPECT_EQ(sum, 600);
}

TEST(SelectOnManyWorkers, AgainstStops) {
  runtime rt({.workers = 2});
  channel<int> a, b;
  std::atomic<int> sent = 0;
  std::atomic<int> received = 0;
  rt.run([&] {
    std::vector<fiber> all;
    for (int i = 0; i < 4; ++i)
      all.push_back(spawn([&, i] {
        for (int round = 0; round < 300; ++round) {
          std::stop_source stop;
          fiber selects = spawn([&] {
            const stop_guard guard(stop.get_token());
            const auto got = [&](std::optional<int>) { ++received; };
            const auto gave = [&](bool) { ++sent; };
            if (i % 2 == 0)
              select(on_receive(a, got), on_receive(b, got));
            else
              select(on_send(a, 1, gave), on_send(b, 2, gave));
          });
          if (round % 3 != 0)
            this_fiber::yield();
          stop.request_stop();
          selects.join();
        }
      }));
    for (fiber& each : all)
      each.join();
  });
  EXPECT_EQ(sent, received);
}

}  // namespace
}  // namespace sennit
