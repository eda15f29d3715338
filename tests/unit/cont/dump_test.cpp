// What a dump says of fibers without a stack, and how long it says that fibers have waited.
#include "sennit/dump.hpp"

#include <gtest/gtest.h>

#include <cstdio>
#include <optional>
#include <regex>
#include <string>

#include "sennit/become.hpp"
#include "support/kinds.hpp"
#include "support/reports.hpp"

[[gnu::noinline]] sennit::continuation dump_test_goes_on(int* to, std::optional<int> value) {
  *to = *value;
  return {};
}

namespace sennit {
namespace {

// As the dump has it; -1: it does not wait.
int milliseconds_of(const std::string& dump, const std::string& name) {
  // By hand: std::regex takes a frame for each character that it skips, and this is on a fiber's stack.
  const std::size_t at = dump.find("\"" + name + "\": parked: ");
  if (at == std::string::npos)
    return -1;
  const std::string line = dump.substr(at, dump.find('\n', at) - at);
  const std::size_t time = line.rfind(" for ");
  int seconds = 0, thousandths = 0;
  return time != std::string::npos &&
                 std::sscanf(line.c_str() + time, " for %d.%3d s", &seconds, &thousandths) == 2
             ? seconds * 1000 + thousandths
             : -1;
}

template <class Kind>
class Dump : public kind_test<Kind> {};

KIND_TEST(Dump, SaysWhatOneWithoutAStackWaitsForAndWhereItGoesOn) {
  std::string dump;
  int value = 0;
  const void* at_channel = nullptr;
  this->run([&] {
    typename Kind::template channel<int> channel;
    at_channel = &channel;
    auto waits = Kind::spawn([&] { return become(channel.receiving(), dump_test_goes_on, &value); },
                             {.name = "waits"});
    until_stackless<Kind>(1);
    dump = dumped();
    channel.send(5);
    waits.join();
  });
  EXPECT_EQ(value, 5);
  EXPECT_TRUE(std::regex_search(dump, std::regex("\"waits\": parked: channel receive" + at(at_channel) +
                                                 ", without a stack; resumes in .*dump_test_goes_on")))
      << dump;
}

KIND_TEST(Dump, SaysWhichObjectAWaitIsFor) {
  this->run([&] {
    typename Kind::mutex mutex;
    typename Kind::event event;
    typename Kind::template future<int> future;
    typename Kind::template promise<int> promise;
    future = promise.get_future();
    mutex.lock();
    const auto nothing = [](auto&&...) {};
    const auto later = std::chrono::steady_clock::now() + std::chrono::hours(1);
    auto locks = Kind::spawn([&] { return become(mutex.locking(), [&] { mutex.unlock(); }); });
    auto timed = Kind::spawn([&] { return become(event.waiting_until(later), nothing); }, {.name = "timed"});
    auto joins = Kind::spawn([&] { return become(joining(std::move(locks)), nothing); }, {.name = "joins"});
    auto gets = Kind::spawn([&] { future.wait_until(later); }, {.name = "gets"});
    until_stackless<Kind>(3);
    std::string dump;
    while (milliseconds_of(dump = dumped(), "gets") < 0)
      Kind::yield();
    const auto expect = [&](const std::string& what) {
      EXPECT_TRUE(std::regex_search(dump, std::regex(what))) << what << " is not in\n" << dump;
    };
    expect(": parked: mutex" + at_mutex(&mutex));
    expect("\"timed\": parked: event" + at(&event));
    expect("\"gets\": parked: future at 0x");
    std::smatch found;
    ASSERT_TRUE(std::regex_search(dump, found, std::regex("fiber (\\d+): parked: mutex")));
    expect("\"joins\": parked: join of fiber " + found[1].str() + for_long);
    mutex.unlock();
    event.set();
    promise.set_value(1);
    joins.join();
    timed.join();
    gets.join();
  });
}

KIND_TEST(Dump, SaysWhoHasWaitedLonger) {
  this->run([&] {
    typename Kind::template channel<int> channel;
    auto without = Kind::spawn([&] { return become(channel.receiving(), [](auto) {}); }, {.name = "without"});
    auto old = Kind::spawn([&] { channel.receive(); }, {.name = "old"});
    std::string dump;
    while (milliseconds_of(dump, "old") < 20 || milliseconds_of(dump, "without") < 20) {
      Kind::yield();
      dump = dumped();
    }
    const auto poll_and_wait = [&] {
      for (unsigned i = 0; i < 2 * detail::longest_poll_interval; ++i)
        Kind::yield();
      channel.receive();
    };
    auto young = Kind::spawn(poll_and_wait, {.name = "young"});
    while (milliseconds_of(dump = dumped(), "young") < 0)
      for (unsigned i = 0; i < detail::longest_poll_interval / 2; ++i)
        Kind::yield();
    EXPECT_GT(milliseconds_of(dump, "old"), milliseconds_of(dump, "young")) << dump;
    EXPECT_GT(milliseconds_of(dump, "without"), milliseconds_of(dump, "young")) << dump;
    channel.close();
    without.join();
    old.join();
    young.join();
  });
}

}  // namespace
}  // namespace sennit
