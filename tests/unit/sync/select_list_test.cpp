// Selects over lists of cases: among fibers of parallel runtimes, of local ones, and OS threads.
#include "sennit/select_list.hpp"

#include <gtest/gtest.h>
#include <time.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <deque>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "sennit/biased.hpp"
#include "sennit/stop_guard.hpp"
#include "support/child.hpp"
#include "support/kinds.hpp"
#include "support/shares.hpp"

namespace sennit {
namespace {

using namespace std::chrono_literals;

std::chrono::steady_clock::time_point in(std::chrono::steady_clock::duration time) {
  return std::chrono::steady_clock::now() + time;
}

template <class Kind>
class SelectList : public kind_test<Kind> {};

KIND_TEST(SelectList, OfNoCasesDoesNotWait) {
  this->run([] {
    typename Kind::select_list list;
    EXPECT_TRUE(list.empty());
    EXPECT_EQ(list.select(), std::nullopt);
    EXPECT_EQ(list.select_until(in(1h)), std::nullopt);
    EXPECT_EQ(list.try_select(), std::nullopt);
    EXPECT_FALSE(list.remove(0));
    list.clear();
  });
}

KIND_TEST(SelectList, DoesWhatCanBeDone) {
  this->run([] {
    typename Kind::template channel<int> numbers(1);
    typename Kind::template channel<std::string> words(1);
    std::string heard;
    typename Kind::select_list list;
    const auto number = list.add(on_receive(numbers, [&](auto n) { heard += n ? std::to_string(*n) : "-"; }));
    const auto word = list.add(on_receive(words, [&](auto w) { heard += w ? *w : "+"; }));
    EXPECT_EQ(list.size(), 2u);
    EXPECT_EQ(list.try_select(), std::nullopt);
    words.send("word");
    EXPECT_EQ(list.select(), word);
    numbers.send(7);
    EXPECT_EQ(list.try_select(), number);
    EXPECT_EQ(list.select_until(in(1ms)), std::nullopt);
    EXPECT_EQ(heard, "word7");
    numbers.close();
    EXPECT_EQ(list.select(), number);
    EXPECT_EQ(list.select(), number);  // a closed channel is chosen repeatedly
    EXPECT_EQ(heard, "word7--");
  });
}

KIND_TEST(SelectList, WaitsForSendersOfManyChannels) {
  this->run([] {
    constexpr int count = 40;
    std::deque<typename Kind::template channel<int>> channels(count);
    typename Kind::select_list list;
    int sum = 0;
    std::vector<std::size_t> chosen(count);
    for (auto& each : channels)
      list.add(on_receive(each, [&](std::optional<int> n) { sum += *n; }));
    std::vector<typename Kind::fiber> senders;
    for (int i = 0; i < count; ++i)
      senders.push_back(Kind::spawn([&, i] {
        for (int round = 0; round < 5; ++round) {
          channels[static_cast<std::size_t>(i)].send(i);
          Kind::yield();
        }
      }));
    for (int i = 0; i < count * 5; ++i)
      ++chosen[*list.select()];
    for (auto& each : senders)
      each.join();
    EXPECT_EQ(sum, 5 * count * (count - 1) / 2);
    for (const std::size_t each : chosen)
      EXPECT_EQ(each, 5u);
    EXPECT_EQ(list.try_select(), std::nullopt);
  });
}

// Whichever cases can be done, each of them is chosen equally often, and no other.
KIND_TEST(SelectList, ChoosesEquallyOftenAmongAnyCasesThatCanBeDone) {
  this->run([] {
    using channel = typename Kind::template channel<int>;
    const auto ignore = [](std::optional<int>) {};
    {
      std::deque<channel> channels;
      std::vector<channel*> all;
      typename Kind::select_list list;
      for (int i = 0; i < 5; ++i) {
        all.push_back(&channels.emplace_back(1));
        list.add(on_receive(channels.back(), ignore));
      }
      expect_equal_shares(all, [&] { return *list.select(); });
      list.remove(3);
      list.remove(4);
      all.resize(3);
      expect_equal_shares(all, [&] { return *list.select(); });
    }
    for (const std::size_t count : {10u, 100u}) {
      std::deque<channel> channels;
      typename Kind::select_list list;
      for (std::size_t i = 0; i < count; ++i)
        list.add(on_receive(channels.emplace_back(1), ignore));
      constexpr int rounds = 1000;
      int chosen[3] = {};
      for (int round = 0; round < rounds; ++round) {
        for (std::size_t i = 0; i < 3; ++i)
          fill(channels[i]);
        const std::size_t number = *list.select();
        ASSERT_LT(number, 3u);
        ++chosen[number];
      }
      expect_equal(chosen, rounds);
    }
  });
}

// The time does not grow with the square of their number.
KIND_TEST(SelectList, AddsAndClearsManyCasesQuickly) {
  this->run([] {
    typename Kind::template channel<int> numbers;
    const auto processor_time = [] {
      timespec now{};
      clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
      return std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec);
    };
    const auto fastest = [&](int count) {
      std::chrono::nanoseconds least = 1h;
      for (int attempt = 0; attempt < 3; ++attempt) {
        const auto begin = processor_time();
        typename Kind::select_list list;
        for (int i = 0; i < count; ++i)
          list.add(on_receive(numbers, [](std::optional<int>) {}));
        list.clear();
        EXPECT_TRUE(list.empty());
        least = std::min(least, processor_time() - begin);
      }
      return least;
    };
    EXPECT_LT(fastest(40'000), 400 * fastest(1'000));  // 1,600 times, if each looked at all others
  });
}

// The destructor of a case's function may use the list.
KIND_TEST(SelectList, IsEmptyBeforeItsCasesAreDestroyed) {
  this->run([] {
    typename Kind::template channel<int> numbers(1);
    typename Kind::select_list list;
    std::vector<std::size_t> sizes;
    struct user {
      user(typename Kind::select_list& uses, std::vector<std::size_t>& to) : list(&uses), sizes(to) {}
      user(user&& other) noexcept : list(std::exchange(other.list, nullptr)), sizes(other.sizes) {}
      ~user() {
        if (list != nullptr)
          sizes.push_back(list->size());
      }
      void operator()(std::optional<int>) const {}
      typename Kind::select_list* list;
      std::vector<std::size_t>& sizes;
    };
    for (int i = 0; i < 3; ++i)
      list.add(on_receive(numbers, user(list, sizes)));
    list.clear();
    EXPECT_EQ(sizes, std::vector<std::size_t>(3, 0));
    EXPECT_EQ(list.add(on_receive(numbers, [](std::optional<int>) {})), 0u);
  });
}

KIND_TEST(SelectList, HasOneChannelInSeveralCases) {
  this->run([] {
    typename Kind::template channel<int> numbers;
    typename Kind::template channel<int> others;
    int sum = 0;
    const auto add = [&](std::optional<int> n) { sum += *n; };
    typename Kind::select_list list;
    list.add(on_receive(numbers, add));
    list.add(on_receive(others, add));
    list.add(on_receive(numbers, add));
    const auto send = list.add(on_send(numbers, 100, [](bool) { ADD_FAILURE(); }));
    EXPECT_EQ(list.try_select(), std::nullopt);  // it is not its own peer
    EXPECT_EQ(list.select_until(in(1ms)), std::nullopt);
    EXPECT_TRUE(list.remove(send));
    auto sender = Kind::spawn([&] {
      for (int i = 1; i <= 10; ++i)
        (i % 2 == 0 ? numbers : others).send(i);
    });
    for (int i = 1; i <= 10; ++i)
      EXPECT_TRUE(list.select());
    sender.join();
    EXPECT_EQ(sum, 55);
  });
}

KIND_TEST(SelectList, RemovesACaseThatSends) {
  this->run([] {
    typename Kind::template channel<std::unique_ptr<int>> owners(1);
    int sent = 0;
    int refused = 0;
    const auto note = [&](bool was) { ++(was ? sent : refused); };
    typename Kind::select_list list;
    EXPECT_EQ(list.add(on_send(owners, std::make_unique<int>(1), note)), 0u);
    EXPECT_EQ(list.add(on_send(owners, std::make_unique<int>(2), note)), 1u);
    EXPECT_TRUE(list.select());
    EXPECT_EQ(list.size(), 1u);
    EXPECT_EQ(list.try_select(), std::nullopt);
    auto receiver = Kind::spawn([&] { EXPECT_EQ(**owners.receive() + **owners.receive(), 3); });
    EXPECT_TRUE(list.select());
    receiver.join();
    EXPECT_TRUE(list.empty());
    owners.close();
    EXPECT_EQ(list.add(on_send(owners, std::make_unique<int>(3), note)), 0u);
    EXPECT_EQ(list.select(), 0u);
    EXPECT_EQ(list.select(), std::nullopt);
    EXPECT_EQ(std::pair(sent, refused), std::pair(2, 1));
  });
}

// The usual loop: it ends when all channels are closed.
KIND_TEST(SelectList, EndsWhenItsFunctionsHaveRemovedAllCases) {
  this->run([] {
    std::deque<typename Kind::template channel<int>> channels(3);
    typename Kind::select_list list;
    int sum = 0;
    std::size_t numbers[3];
    for (std::size_t i = 0; i < 3; ++i)
      numbers[i] =
          list.add(on_receive(channels[i], [&, i, text = std::string(100, 'x')](std::optional<int> n) {
            if (n)
              sum += *n;
            else
              EXPECT_TRUE(list.remove(numbers[i]));
            EXPECT_EQ(text, std::string(100, 'x'));  // it exists until the call has ended
          }));
    std::vector<typename Kind::fiber> senders;
    for (auto& each : channels)
      senders.push_back(Kind::spawn([&] {
        for (int i = 1; i <= 4; ++i)
          each.send(i);
        each.close();
      }));
    while (list.select()) {
    }
    EXPECT_EQ(sum, 30);
    for (auto& each : senders)
      each.join();
  });
}

KIND_TEST(SelectList, GivesTheNumberOfARemovedCaseToTheNextOne) {
  this->run([] {
    typename Kind::template channel<int> numbers(1);
    typename Kind::select_list list;
    const auto ignore = [](std::optional<int>) {};
    for (std::size_t i = 0; i < 4; ++i)
      EXPECT_EQ(list.add(on_receive(numbers, ignore)), i);
    EXPECT_TRUE(list.remove(1));
    EXPECT_FALSE(list.remove(1));
    EXPECT_TRUE(list.remove(2));
    EXPECT_EQ(list.size(), 2u);
    EXPECT_EQ(list.add(on_receive(numbers, ignore)), 1u);
    EXPECT_EQ(list.add(on_receive(numbers, ignore)), 2u);
    EXPECT_EQ(list.add(on_receive(numbers, ignore)), 4u);
    list.clear();
    EXPECT_TRUE(list.empty());
  });
}

KIND_TEST(SelectList, IsUsedByItsFunctions) {
  this->run([] {
    typename Kind::template channel<int> outer(1), inner(2);
    typename Kind::select_list list;
    std::string heard;
    list.add(on_receive(outer, [&](std::optional<int>) {
      heard += '(';
      const auto added =
          list.add(on_receive(inner, [&](std::optional<int> n) { heard += std::to_string(*n); }));
      EXPECT_EQ(list.select(), added);
      list.clear();  // its own case, too
      heard += ')';
    }));
    outer.send(1);
    inner.send(2);
    EXPECT_EQ(list.select(), 0u);
    EXPECT_EQ(heard, "(2)");
    EXPECT_EQ(list.select(), std::nullopt);
  });
}

KIND_TEST(SelectList, LastsWhenItsFunctionThrows) {
  this->run([] {
    typename Kind::template channel<int> numbers(2);
    typename Kind::select_list list;
    list.add(on_receive(numbers, [&](std::optional<int> n) {
      if (*n == 1)
        list.clear();
      throw std::string("what");
    }));
    numbers.send(0);
    numbers.send(1);
    EXPECT_THROW(list.select(), std::string);
    EXPECT_EQ(list.size(), 1u);
    EXPECT_THROW(list.select(), std::string);
    EXPECT_TRUE(list.empty());
  });
}

// Between selects the objects of the cases may be gone.
KIND_TEST(SelectList, OutlivesTheChannelsOfRemovedCases) {
  this->run([] {
    using channel = typename Kind::template channel<int>;
    typename Kind::select_list list;
    auto first = std::make_unique<channel>(1);
    auto second = std::make_unique<channel>(1);
    const auto a = list.add(on_receive(*first, [](std::optional<int>) {}));
    const auto b = list.add(on_receive(*second, [&](std::optional<int>) {
      first.reset();
      second.reset();
    }));
    second->send(1);
    EXPECT_EQ(list.select(), b);
    EXPECT_TRUE(list.remove(a));
    EXPECT_TRUE(list.remove(b));
    EXPECT_EQ(list.try_select(), std::nullopt);
  });
}

KIND_TEST(SelectList, LastsWhenAStopEndsItsWait) {
  this->run([] {
    typename Kind::template channel<std::string> words;
    typename Kind::template channel<int> numbers;
    typename Kind::select_list list;
    int got = 0;
    list.add(on_receive(words, [](auto) { ADD_FAILURE(); }));
    list.add(on_receive(numbers, [&](std::optional<int> n) { got = *n; }));
    std::stop_source stop;
    auto stopped = Kind::spawn([&] {
      const stop_guard guard(stop.get_token());
      EXPECT_THROW(list.select(), cancelled);
    });
    for (int i = 0; i < 3; ++i)
      Kind::yield();
    stop.request_stop();
    stopped.join();
    std::string lost = "nobody";
    EXPECT_FALSE(words.try_send(lost));
    auto sender = Kind::spawn([&] { numbers.send(9); });
    EXPECT_EQ(list.select(), 1u);
    EXPECT_EQ(got, 9);
    sender.join();
  });
}

KIND_TEST(SelectList, EndsWithItsRuntime) {
  typename Kind::template channel<int> nothing;
  int left = 0;
  Kind().run([&] {
    Kind::spawn([&] {
      typename Kind::select_list list;
      list.add(on_receive(nothing, [](std::optional<int>) {}));
      struct note {
        int& at;
        ~note() { ++at; }
      } const on_leaving{left};
      list.select();
    }).detach();
    Kind::yield();
  });
  EXPECT_EQ(left, 1);
}

// Lists of two fibers that both offer to send and to receive are each other's peers.
KIND_TEST(SelectList, MeetsAnotherList) {
  this->run([] {
    constexpr int rounds = 200;
    typename Kind::template channel<int> a, b;
    std::atomic<int> sent = 0;
    std::atomic<int> received = 0;
    const auto user = [&](bool backwards) {
      typename Kind::select_list list;
      for (int round = 0; round < rounds; ++round) {
        list.add(on_send(backwards ? b : a, round, [&](bool) { ++sent; }));
        list.add(on_receive(backwards ? a : b, [&](std::optional<int>) { ++received; }));
        list.add(on_receive(backwards ? b : a, [&](std::optional<int>) { ++received; }));
        list.select();
        list.clear();
      }
    };
    auto one = Kind::spawn([&] { user(false); });
    auto other = Kind::spawn([&] { user(true); });
    one.join();
    other.join();
    EXPECT_EQ(sent, rounds);
    EXPECT_EQ(received, rounds);
  });
}

TEST(SelectListOnManyWorkers, LosesAndDoublesNothing) {
  constexpr int count = 500;
  constexpr int fibers = 4;
  runtime rt({.workers = 2});
  channel<int> plain, buffered(3);
  biased_channel<int> biased(2);
  std::atomic<int> sum = 0;
  rt.run([&] {
    std::vector<fiber> receivers;
    for (int me = 0; me < fibers; ++me)
      receivers.push_back(spawn([&] {
        select_list list;
        const auto add = [&](std::optional<int> n) {
          sum += n.value_or(0);
          if (!n)
            list.clear();
        };
        list.add(on_receive(plain, add));
        list.add(on_receive(buffered, add));
        list.add(on_receive(biased, add));
        while (list.select_until(in(1h))) {
        }
      }));
    std::vector<fiber> senders;
    for (int me = 0; me < fibers; ++me)
      senders.push_back(spawn([&] {
        select_list list;
        for (int i = 0; i < count; ++i) {
          list.add(on_send(plain, 1, [](bool) {}));
          list.add(on_send(buffered, 1, [](bool) {}));
          list.add(on_send(biased, 1, [](bool) {}));
          list.select();
          list.clear();
        }
      }));
    for (fiber& each : senders)
      each.join();
    plain.close();
    for (fiber& each : receivers)
      each.join();
  });
  buffered.close();
  biased.close();
  while (std::optional<int> rest = buffered.try_receive())
    sum += *rest;
  while (std::optional<int> rest = biased.try_receive())
    sum += *rest;
  EXPECT_EQ(sum, fibers * count);
}

TEST(SelectListOnManyWorkers, IsUsedByAnOsThread) {
  runtime rt({.workers = 2});
  channel<int> a, b;
  int sum = 0;
  std::thread thread([&] {
    select_list list;
    std::size_t first = 0, second = 0;
    first = list.add(
        on_receive(a, [&](std::optional<int> n) { n ? sum += * n : sum += list.remove(first) ? 0 : 1; }));
    second = list.add(
        on_receive(b, [&](std::optional<int> n) { n ? sum += * n : sum += list.remove(second) ? 0 : 1; }));
    while (list.select()) {
    }
  });
  rt.run([&] {
    for (int i = 0; i < 200; ++i)
      (i % 3 == 0 ? a : b).send(1);
    a.close();
    b.close();
  });
  thread.join();
  EXPECT_EQ(sum, 200);
}

class SelectListMisuse : public testing::Test {
protected:
  // Runs `misuse(list)` in a fiber while another fiber waits with the list.
  template <class Misuse>
  static void while_another_waits(const Misuse& misuse) {
    local::runtime rt;
    rt.run([&] {
      local::channel<int> nothing;
      auto list = std::make_unique<local::select_list>();
      list->add(on_receive(nothing, [](std::optional<int>) {}));
      auto waits = local::spawn([&] { list->select(); });
      local::this_fiber::yield();
      misuse(list, nothing);
      waits.join();
    });
  }
};

TEST_F(SelectListMisuse, ByTwoFibersAtATimeIsFatal) {
  EXPECT_DEATH(while_another_waits([](auto& list, auto&) { list->select(); }),
               "selects with a select_list in which another fiber or thread waits");
  EXPECT_DEATH(while_another_waits([](auto& list, auto&) { list->remove(0); }),
               "removes a case of a select_list in which another fiber or thread waits");
  EXPECT_DEATH(while_another_waits([](auto& list, auto& channel) {
                 list->add(on_receive(channel, [](std::optional<int>) {}));
               }),
               "adds a case to a select_list in which another fiber or thread waits");
  EXPECT_DEATH(while_another_waits([](auto& list, auto&) { list.reset(); }),
               "destroys a select_list in which another fiber or thread waits");
}

TEST_F(SelectListMisuse, DestructionByItsOwnFunctionIsFatal) {
  EXPECT_DEATH(
      {
        local::channel<int> numbers(1);
        auto list = std::make_unique<local::select_list>();
        list->add(on_receive(numbers, [&](std::optional<int>) { list.reset(); }));
        int number = 1;
        numbers.try_send(number);
        list->select();
      },
      "destroys a select_list while a function of one of its cases is called");
}

TEST_F(SelectListMisuse, WaitOfALocalListOutsideOfFibersIsFatal) {
  EXPECT_DEATH(
      {
        local::channel<int> numbers(1);
        local::select_list list;
        list.add(on_receive(numbers, [](std::optional<int>) {}));
        list.select();
      },
      "select");
}

}  // namespace
}  // namespace sennit
