// C++20 coroutines that await futures, and that return them, of both kinds.
#include <gtest/gtest.h>

#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

#include "future_support.hpp"
#include "support/kinds.hpp"

namespace sennit {
namespace {

template <class Kind, class T>
using future_of = typename Kind::template future<T>;
template <class Kind, class T>
using promise_of = typename Kind::template promise<T>;

template <class Kind>
class Coroutines : public kind_test<Kind> {};

template <class Future>
Future add(Future first, Future second) {
  const int left = co_await first;
  co_return left + co_await std::move(second);
}

KIND_TEST(Coroutines, AFiberWaitsForOne) {
  this->run([] {
    promise_of<Kind, int> first;
    promise_of<Kind, int> second;
    auto sum = add(first.get_future(), second.get_future());
    auto one = Kind::spawn([&] { first.set_value(1); });
    auto other = Kind::spawn([&] { second.set_value(2); });
    EXPECT_EQ(sum.get(), 3);
    one.join();
    other.join();
  });
}

template <class Kind>
future_of<Kind, int> fails_after(future_of<Kind, void> when) {
  co_await when;
  throw std::runtime_error("failed");
}
template <class Kind>
future_of<Kind, std::string> what_of(future_of<Kind, int> from) {
  try {
    co_await from;
  } catch (const std::exception& error) {
    co_return error.what();
  }
  co_return "nothing";
}

KIND_TEST(Coroutines, ErrorsGoThrough) {
  promise_of<Kind, void> when;
  auto what = what_of<Kind>(fails_after<Kind>(when.get_future()));
  when.set_value();
  EXPECT_EQ(what.get(), "failed");

  std::optional<promise_of<Kind, int>> broken(std::in_place);
  what = what_of<Kind>(broken->get_future());
  EXPECT_FALSE(what.ready());
  broken.reset();
  EXPECT_NE(what.get().find("roken"), std::string::npos);

  const auto at_once = []() -> future_of<Kind, void> { co_return; };
  EXPECT_THROW(fails_after<Kind>(at_once()).get(), std::runtime_error);
  expect_future_error(std::future_errc::no_state, [] { add<future_of<Kind, int>>({}, {}).get(); });
}

struct says_when_gone {
  explicit says_when_gone(bool& flag) : gone(flag) {}
  says_when_gone(says_when_gone&& from) noexcept : gone(from.gone), mine(std::exchange(from.mine, false)) {}
  ~says_when_gone() {
    if (mine)
      gone = true;
  }
  bool& gone;
  bool mine = true;
};

template <class Kind>
future_of<Kind, int&> keeps(says_when_gone, int& value, future_of<Kind, void> when) {
  co_await when;
  co_return value;
}
template <class Kind>
future_of<Kind, bool> sees_gone(future_of<Kind, int&> from, const bool& gone) {
  co_await from;
  co_return gone;
}

KIND_TEST(Coroutines, AreGoneBeforeTheirFuturesAreReady) {
  bool gone = false;
  int value = 1;
  promise_of<Kind, void> when;
  auto kept = keeps<Kind>(says_when_gone(gone), value, when.get_future());
  auto seen = sees_gone<Kind>(std::move(kept), gone);
  EXPECT_FALSE(gone);
  when.set_value();
  EXPECT_TRUE(seen.get());

  bool gone_too = false;
  promise_of<Kind, void> nobody_waits;
  (void)keeps<Kind>(says_when_gone(gone_too), value, nobody_waits.get_future());
  nobody_waits.set_value();
  EXPECT_TRUE(gone_too);
}

KIND_TEST(Coroutines, BlockTheFiberThatRunsThem) {
  this->run([] {
    promise_of<Kind, void> when;
    typename Kind::event happens;
    const auto blocks = [](auto first, auto& awaited) -> future_of<Kind, int> {
      co_await first;
      awaited.wait();
      co_return 1;
    };
    auto result = blocks(when.get_future(), happens);
    bool returned = false;
    auto gives = start<Kind>([&] {
      when.set_value();
      returned = true;
    });
    EXPECT_FALSE(returned);
    EXPECT_FALSE(result.ready());
    happens.set();
    EXPECT_EQ(result.get(), 1);
    gives.join();
    EXPECT_TRUE(returned);
  });
}

// A coroutine that blocks a fiber ends when the fiber's runtime ends, and so does the fiber, at its next
// wait.
KIND_TEST(Coroutines, EndWithTheFiberThatTheyBlock) {
  bool left = false;
  std::optional<Kind> ending(std::in_place);
  typename Kind::event never_set;
  future_of<Kind, void> result;
  const auto blocks = [](auto& awaited) -> future_of<Kind, void> {
    awaited.wait();
    co_return;
  };
  ending->run([&] {
    start<Kind>([&] {
      const says_when_gone note(left);
      result = blocks(never_set);
      never_set.wait();
      ADD_FAILURE() << "it was not told";
    }).detach();
  });
  EXPECT_FALSE(left);
  ending.reset();
  EXPECT_TRUE(left);
  expect_future_error(std::future_errc::broken_promise, [&] { result.get(); });
}

TEST(CoroutinesOfOneThread, AwaitFuturesOfTheOtherKind) {
  promise<int> shared;
  auto result = [](future<int> from) -> local::future<int> { co_return co_await from; }(shared.get_future());
  auto again = [](local::future<int> from) -> future<int> { co_return co_await from; }(std::move(result));
  shared.set_value(5);
  EXPECT_EQ(again.get(), 5);
}

}  // namespace
}  // namespace sennit
