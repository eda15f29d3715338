// runtime_options::report_deadlock: what is reported, once, and what is none.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <mutex>
#include <regex>
#include <sstream>
#include <string>
#include <thread>

#include "sennit/channel.hpp"
#include "sennit/event.hpp"
#include "sennit/local/channel.hpp"
#include "sennit/local/mutex.hpp"
#include "sennit/local/runtime.hpp"
#include "sennit/mutex.hpp"
#include "sennit/offload.hpp"
#include "sennit/readiness.hpp"
#include "sennit/runtime.hpp"
#include "support/reports.hpp"

using namespace std::chrono_literals;

namespace {

const std::string deadlock_report = "sennit: deadlock: ";
constexpr auto long_enough = 600ms;  // to be reported

class ReportDeadlock : public testing::Test {
protected:
  void expect(const std::string& what) const {
    EXPECT_EQ(errors.count(what), 1) << what << " is not once in\n" << errors.text();
  }
  // It comes, and comes once.
  void expect_one_report() const {
    EXPECT_TRUE(errors.comes(deadlock_report));
    std::this_thread::sleep_for(long_enough);
    expect(deadlock_report);
  }
  const stderr_file errors;
};

std::string number_of(const std::string& text, const std::string& name) {
  const std::size_t end = text.find(" \"" + name + "\": ");
  const std::size_t begin = text.rfind("\nfiber ", end);
  return end != std::string::npos ? text.substr(begin + 7, end - begin - 7) : "none";
}

TEST_F(ReportDeadlock, ACycleOfJoins) {
  static auto* left = new sennit::fiber;  // they are never joined: the runtime's end resolves it
  static auto* right = new sennit::fiber;
  sennit::runtime runtime({.workers = 2, .report_deadlock = true});
  sennit::channel<int> begin(2), end(1);
  *left = runtime.spawn(
      [&] {
        begin.receive();
        right->join();
      },
      {.name = "left"});
  *right = runtime.spawn(
      [&] {
        begin.receive();
        left->join();
      },
      {.name = "right"});
  begin.send(1);
  begin.send(2);
  std::thread waits([&] { runtime.run([&] { end.receive(); }); });
  EXPECT_TRUE(errors.comes("\"main\": parked: channel receive"));
  std::this_thread::sleep_for(long_enough);
  end.close();
  waits.join();
  const std::string text = errors.text();
  expect(deadlock_report);
  expect("cycle: ");
  const std::string one = number_of(text, "left");
  const std::string two = number_of(text, "right");
  const std::string either =
      "cycle: fiber " + one + " \"left\" joins fiber " + two + " \"right\" joins fiber " + one + "\n";
  const std::string other =
      "cycle: fiber " + two + " \"right\" joins fiber " + one + " \"left\" joins fiber " + two + "\n";
  EXPECT_TRUE(text.find(either) != std::string::npos || text.find(other) != std::string::npos) << text;
  expect("\"left\": parked: join of fiber " + two);
}

// A fiber waits for the mutex that its parent holds, which joins it; again in the next episode.
TEST_F(ReportDeadlock, EachEpisodeIsReported) {
  sennit::runtime runtime({.workers = 2, .report_deadlock = true});
  sennit::mutex mutex;
  std::thread waits([&] {
    runtime.run([&] {
      mutex.lock();
      for (int i = 0; i < 2; ++i)
        sennit::spawn([&] { mutex.lock(); }, {.name = "child"}).join();
      mutex.unlock();
    });
  });
  expect_one_report();
  expect("\"child\": parked: mutex at 0x");
  mutex.unlock();
  EXPECT_TRUE(errors.comes(deadlock_report, 2));
  mutex.unlock();
  waits.join();
}

// Without a value for the option, in a debug build: what another thread might resolve is not reported.
#if !defined(NDEBUG) && !defined(SENNIT_TSAN)
TEST_F(ReportDeadlock, WithoutAValueOnlyWhatIsCertainIsReported) {
  std::atomic<bool> ends{false};
  std::thread other([&] {
    while (!ends)
      std::this_thread::sleep_for(1ms);
  });
  sennit::mutex mutex, second;
  sennit::event event;
  {
    sennit::runtime runtime({.workers = 2});
    std::thread waits([&] { runtime.run([&] { event.wait(); }); });
    std::this_thread::sleep_for(long_enough);
    EXPECT_EQ(errors.count(deadlock_report), 0) << errors.text();
    sennit::runtime also({.workers = 2});
    std::thread in_cycle([&] {
      also.run([&] {
        mutex.lock();
        sennit::spawn([&] { mutex.lock(); }, {.name = "child"}).join();
        mutex.unlock();
      });
    });
    EXPECT_TRUE(errors.comes(deadlock_report));
    expect("cycle: ");
    mutex.unlock();
    event.set();
    in_cycle.join();
    waits.join();
  }
  ends = true;
  other.join();
}

TEST_F(ReportDeadlock, WithoutAValueAProcessWithoutOtherThreadsReportsWithoutACycle) {
#if defined(SUPPORT_EMULATED)
  GTEST_SKIP() << "qemu-user has threads of its own";
#endif
  const pid_t child = ::fork();
  if (child == 0) {
    sennit::runtime({.workers = 2}).run([] { sennit::event().wait(); });
    ::_exit(1);
  }
  EXPECT_TRUE(errors.comes(deadlock_report));
  ::kill(child, SIGKILL);
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_TRUE(WIFSIGNALED(status));
}
#endif

// A regular expression for a cycle, which the report may begin at either end.
std::regex cycle_of(const std::string& text, const void* lefts, const void* rights) {
  const auto part = [&](const std::string& name, const void* wanted) {
    std::ostringstream said;
    said << "fiber " << number_of(text, name) << " \"" << name << "\" waits for the mutex at " << wanted
         << " held by ";
    return said.str();
  };
  const std::string left = part("left", rights), right = part("right", lefts);
  return std::regex("cycle: (" + left + right + "|" + right + left + ")fiber \\d+\n");
}

TEST_F(ReportDeadlock, ACycleOfMutexes) {
  sennit::mutex lefts, rights;
  std::atomic<int> have_one{0};
  sennit::channel<int> end(1);
  sennit::runtime runtime({.workers = 2, .report_deadlock = true});
  const auto lock_both = [&](sennit::mutex& first, sennit::mutex& second) {
    const std::lock_guard hold(first);
    for (++have_one; have_one != 2;)
      sennit::this_fiber::yield();
    const std::lock_guard both(second);
  };
  runtime.spawn([&] { lock_both(lefts, rights); }, {.name = "left"}).detach();
  runtime.spawn([&] { lock_both(rights, lefts); }, {.name = "right"}).detach();
  std::thread waits([&] { runtime.run([&] { end.receive(); }); });
  EXPECT_TRUE(errors.comes("\"main\": parked: channel receive"));
  end.close();
  waits.join();
  const std::string text = errors.text();
  EXPECT_TRUE(std::regex_search(text, cycle_of(text, &lefts, &rights))) << text;
  expect("cycle: ");
}

TEST_F(ReportDeadlock, AMutexWhoseHolderHasEnded) {
  sennit::mutex mutex;
  sennit::runtime runtime({.workers = 2, .report_deadlock = true});
  std::thread waits([&] {
    runtime.run([&] {
      sennit::spawn([&] { mutex.lock(); }, {.name = "forgets"}).join();
      mutex.lock();
    });
  });
  EXPECT_TRUE(errors.comes("\"main\": parked: mutex at"));
  expect(" (not in this report: it ended without unlocking, or belongs to another runtime) for ");
  mutex.unlock();
  waits.join();
  mutex.unlock();
}

TEST_F(ReportDeadlock, ACycleOfMutexesInALocalRuntime) {
  sennit::local::mutex lefts, rights;
  sennit::local::channel<int> end(1);
  sennit::local::runtime runtime({.report_deadlock = true});
  const auto lock_both = [](sennit::local::mutex& first, sennit::local::mutex& second) {
    const std::lock_guard hold(first);
    sennit::local::this_fiber::yield();
    const std::lock_guard both(second);
  };
  runtime.spawn([&] { lock_both(lefts, rights); }, {.name = "left"}).detach();
  runtime.spawn([&] { lock_both(rights, lefts); }, {.name = "right"}).detach();
  std::thread waits([&] { runtime.run([&] { end.receive(); }); });
  EXPECT_TRUE(errors.comes("\"main\": parked: channel receive"));
  runtime.post([&] { end.close(); });
  waits.join();
  const std::string text = errors.text();
  EXPECT_TRUE(std::regex_search(text, cycle_of(text, &lefts, &rights))) << text;
  expect("cycle: ");
}

// The last of those that could send has gone.
TEST_F(ReportDeadlock, AChannelThatNobodySendsTo) {
  sennit::runtime runtime({.workers = 1, .report_deadlock = true});
  sennit::channel<int> channel(1);
  std::thread waits([&] {
    runtime.run([&] {
      auto sender = sennit::spawn([&] {
        sennit::this_fiber::sleep_for(5ms);
        channel.send(1);
      });
      channel.receive();
      channel.receive();
      sender.join();
    });
  });
  EXPECT_TRUE(errors.comes("\"main\": parked: channel receive"));
  expect(deadlock_report);
  channel.close();
  waits.join();
}

TEST_F(ReportDeadlock, FibersOfTwoRuntimes) {
  sennit::runtime one({.workers = 1, .report_deadlock = true});
  sennit::runtime two({.workers = 1, .report_deadlock = true});
  sennit::channel<int> channel(1), end(1);
  std::thread waits([&] { one.run([&] { channel.receive(); }); });
  std::thread also([&] {
    two.run([&] {
      end.receive();
      channel.close();
    });
  });
  expect_one_report();
  expect("sennit: 2 fibers\n");
  end.close();
  waits.join();
  also.join();
}

TEST_F(ReportDeadlock, FibersOfALocalRuntime) {
  sennit::local::runtime runtime({.report_deadlock = true});
  sennit::local::mutex mutex;
  std::thread waits([&] {
    runtime.run([&] {
      sennit::local::this_fiber::sleep_for(5ms);
      mutex.lock();
      for (int i = 0; i < 2; ++i)
        sennit::local::spawn([&] { mutex.lock(); }, {.name = "child"}).join();
      mutex.unlock();
    });
  });
  expect_one_report();
  expect("\"child\": parked: mutex at 0x");
  runtime.post([&] { mutex.unlock(); });
  EXPECT_TRUE(errors.comes(deadlock_report, 2));
  runtime.post([&] { mutex.unlock(); });
  waits.join();
}

TEST_F(ReportDeadlock, ACycleOfJoinsInALocalRuntime) {
  static auto* left = new sennit::local::fiber;
  static auto* right = new sennit::local::fiber;
  sennit::local::runtime runtime({.report_deadlock = true});
  sennit::local::channel<int> end(1);
  *left = runtime.spawn([] { right->join(); }, {.name = "left"});
  *right = runtime.spawn([] { left->join(); }, {.name = "right"});
  std::thread waits([&] { runtime.run([&] { end.receive(); }); });
  EXPECT_TRUE(errors.comes("\"main\": parked: channel receive"));
  runtime.post([&] { end.close(); });
  waits.join();
  const std::string one = number_of(errors.text(), "left");
  const std::string two = number_of(errors.text(), "right");
  expect("cycle: ");
  expect("\"left\" joins fiber " + two);
  expect("\"right\" joins fiber " + one);
}

// A sennit::channel blocks the thread there: the receiver keeps the sender from running.
TEST_F(ReportDeadlock, AFiberOfALocalRuntimeThatHasItsThreadWait) {
  sennit::channel<int> channel(0);
  sennit::local::runtime runtime({.report_deadlock = true});
  std::thread waits([&] {
    runtime.run([&] {
      auto sender = sennit::local::spawn([&] { EXPECT_FALSE(channel.send(1)); }, {.name = "sender"});
      EXPECT_FALSE(channel.receive());
      sender.join();
    });
  });
  expect_one_report();
  expect(
      " \"main\" has its thread wait (channel receive of namespace sennit), so that no other fiber of its "
      "local");
  expect(" \"main\": blocks its thread: channel receive at 0x");
  expect(" \"sender\": ready");
  channel.close();
  waits.join();
}

// The thread waits for a fiber of another runtime, and that one for it: neither is reported.
TEST_F(ReportDeadlock, FibersOfALocalAndAnotherRuntime) {
  sennit::channel<int> asked(1), answered(1);
  sennit::local::runtime local({.report_deadlock = true});
  sennit::runtime parallel({.workers = 1});
  std::thread waits([&] {
    local.run([&] {
      auto child = parallel.spawn([&] { EXPECT_FALSE(asked.receive()); }, {.name = "child"});
      EXPECT_FALSE(answered.receive());
      child.join();
    });
  });
  expect_one_report();
  expect(" \"main\": blocks its thread: channel receive at 0x");
  expect(" \"child\": parked: channel receive at 0x");
  EXPECT_EQ(errors.count("has its thread wait"), 0);
  answered.close();
  EXPECT_TRUE(errors.comes(deadlock_report, 2));
  EXPECT_TRUE(errors.comes(" \"main\": blocks its thread: join of fiber "));
  asked.close();
  waits.join();
}

// The owner of the lock joins the waiter for it.
TEST_F(ReportDeadlock, ACycleOfAJoinAndAMutex) {
  static auto* waiter = new sennit::fiber;  // never joined: the runtime's end resolves it
  sennit::mutex lock;
  sennit::channel<int> begin(1), end(1);
  sennit::runtime runtime({.workers = 2, .report_deadlock = true});
  *waiter = runtime.spawn(
      [&] {
        begin.receive();
        const std::lock_guard hold(lock);
      },
      {.name = "waiter"});
  runtime
      .spawn(
          [&] {
            const std::lock_guard hold(lock);
            begin.send(1);
            waiter->join();
          },
          {.name = "holder"})
      .detach();
  std::thread waits([&] { runtime.run([&] { end.receive(); }); });
  EXPECT_TRUE(errors.comes("\"main\": parked: channel receive"));
  end.close();
  waits.join();
  const std::string text = errors.text();
  std::ostringstream holder, waiter_waits;
  holder << "fiber " << number_of(text, "holder") << " \"holder\" joins ";
  waiter_waits << "fiber " << number_of(text, "waiter") << " \"waiter\" waits for the mutex at " << &lock
               << " held by ";
  const std::regex cycle("cycle: (" + holder.str() + waiter_waits.str() + "|" + waiter_waits.str() +
                         holder.str() + ")fiber \\d+\n");
  EXPECT_TRUE(std::regex_search(text, cycle)) << text;
  expect("cycle: ");
}

// ---- Cases without a deadlock, though no fiber runs for a while.

class NoDeadlock : public ReportDeadlock {
protected:
  ~NoDeadlock() override { EXPECT_EQ(errors.text(), ""); }
  sennit::runtime runtime{{.workers = 2, .report_deadlock = true}};
  sennit::channel<int> never{1};
};

TEST_F(NoDeadlock, WhileATimerIsArmed) {
  runtime.run([&] {
    auto waits = sennit::spawn([&] { never.receive(); });
    sennit::this_fiber::sleep_for(long_enough);
    never.close();
    waits.join();
  });
}

TEST_F(NoDeadlock, WhileAThreadWaitsForAFiberUntilADeadline) {
  auto waits = runtime.spawn([&] { never.receive(); });
  std::thread other([&] { runtime.run([&] { never.receive(); }); });
  EXPECT_FALSE(waits.join_until(std::chrono::steady_clock::now() + long_enough));
  never.close();
  waits.join();
  other.join();
}

TEST_F(NoDeadlock, WhileAFiberOfALocalRuntimeHasItsThreadWaitUntilADeadline) {
  sennit::local::runtime local;
  local.run([&] {
    auto sender = sennit::local::spawn([&] { never.send(1); });
    EXPECT_FALSE(never.receive_until(std::chrono::steady_clock::now() + long_enough));
    sender.join();
  });
}

TEST_F(NoDeadlock, WhileNoThreadWaits) {
  auto waits = runtime.spawn([&] { never.receive(); });
  std::this_thread::sleep_for(long_enough);
  never.close();
  waits.join();
}

TEST_F(NoDeadlock, WhileAFiberWaitsForADescriptor) {
  int pipe[2];
  ASSERT_EQ(::pipe(pipe), 0);
  std::thread waits([&] {
    runtime.run([&] {
      sennit::readiness ready(pipe[0]);
      ready.wait_readable();
    });
  });
  std::this_thread::sleep_for(long_enough);
  EXPECT_EQ(::write(pipe[1], "x", 1), 1);
  waits.join();
  ::close(pipe[0]);
  ::close(pipe[1]);
}

TEST_F(NoDeadlock, WhileACallIsOffloaded) {
  runtime.run([&] {
    auto waits = sennit::spawn([&] { never.receive(); });
    sennit::offload([] { std::this_thread::sleep_for(long_enough); });
    never.close();
    waits.join();
  });
}

TEST_F(NoDeadlock, WhileAFiberRuns) {
  runtime.run([&] {
    auto waits = sennit::spawn([&] { never.receive(); });
    sennit::this_fiber::yield();
    std::this_thread::sleep_for(long_enough);
    never.close();
    waits.join();
  });
}

TEST_F(NoDeadlock, WhileAFiberOfAnotherRuntimeMayComeToIt) {
  std::thread waits([&] { runtime.run([&] { never.receive(); }); });
  sennit::local::runtime local;
  local.run([&] {
    sennit::local::this_fiber::sleep_for(long_enough);
    never.close();
  });
  waits.join();
}

TEST_F(NoDeadlock, WhileALocalRuntimeIsRunByAnotherLoop) {
  std::thread waits([&] { runtime.run([&] { never.receive(); }); });
  sennit::local::runtime local;
  bool go_on = false;
  auto closes = local.spawn([&] {
    sennit::local::this_fiber::park();
    EXPECT_TRUE(go_on);
    never.close();
  });
  local.run_once();
  std::this_thread::sleep_for(long_enough);
  go_on = true;
  closes.unpark();
  local.run([&] { closes.join(); });
  waits.join();
}

TEST_F(NoDeadlock, WhileALocalRuntimeWaits) {
  sennit::local::runtime local;
  local.run([&] {
    auto waits = sennit::local::spawn([] { sennit::local::this_fiber::park(); });
    sennit::local::this_fiber::sleep_for(long_enough);
    sennit::offload([] { std::this_thread::sleep_for(long_enough); });
    waits.unpark();
    waits.join();
  });
}

TEST_F(ReportDeadlock, NothingWhenItIsOff) {
  sennit::runtime runtime({.workers = 2, .report_stuck_after = 1s, .report_deadlock = false});
  sennit::mutex mutex;
  std::thread waits([&] {
    runtime.run([&] {
      mutex.lock();
      mutex.lock();
      mutex.unlock();
    });
  });
  std::this_thread::sleep_for(long_enough);
  mutex.unlock();
  waits.join();
  EXPECT_EQ(errors.text(), "");
}

}  // namespace
