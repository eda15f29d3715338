// sennit::dump: what it says of every kind of fiber, and that it harms none.
#include "sennit/dump.hpp"

#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <regex>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "sennit/channel.hpp"
#include "sennit/generator.hpp"
#include "sennit/local/channel.hpp"
#include "sennit/local/runtime.hpp"
#include "sennit/mutex.hpp"
#include "sennit/runtime.hpp"
#include "sennit/wait_group.hpp"
#include "support/reports.hpp"
#include "support/signal_frames.hpp"

using namespace std::chrono_literals;

// To be found in backtraces: neither inlined nor left by a jump.
extern "C" {
[[gnu::noinline]] void dump_test_lock(sennit::mutex& m) {
  m.lock();
  m.unlock();
}
[[gnu::noinline]] void dump_test_receive(sennit::channel<int>& c) {
  c.receive();
  __asm__ volatile("");
}
[[gnu::noinline]] void dump_test_receive_in_catch(sennit::channel<int>& c) {
  try {
    throw 1;
  } catch (int) {
    c.receive();
  }
}
[[gnu::noinline]] void dump_test_sleep(const std::atomic<bool>& until) {
  while (!until)
    sennit::this_fiber::sleep_for(300ms);
  __asm__ volatile("");
}
[[gnu::noinline]] void dump_test_join(sennit::fiber& f) {
  f.join();
  __asm__ volatile("");
}
[[gnu::noinline]] void dump_test_run(const std::atomic<bool>& until) {
  while (!until)
    __asm__ volatile("");
}
[[gnu::noinline]] void dump_test_local_receive(sennit::local::channel<int>& c) {
  c.receive();
  __asm__ volatile("");
}
[[gnu::noinline]] void dump_test_in_generator(sennit::local::channel<int>& c) {
  sennit::generator<int> numbers([&](auto& yield) {
    dump_test_local_receive(c);
    yield(1);
  });
  static_cast<void>(numbers.begin());
  __asm__ volatile("");
}
}

namespace {

constexpr bool shows_running = has_backtraces_of_running && unwinds_signal_frames;

// The fiber's line and its backtrace.
std::string part_of(const std::string& dump, const std::string& name) {
  const std::size_t begin = dump.find("\"" + name + "\": ");
  if (begin == std::string::npos)
    return "";
  std::size_t end = dump.find('\n', begin) + 1;
  while (dump.compare(end, 3, "  #") == 0)
    end = dump.find('\n', end) + 1;
  return dump.substr(begin, end - begin);
}

void expect_in(const std::string& dump, const std::string& name, const std::string& state,
               const std::string& function) {
  const std::string part = part_of(dump, name);
  EXPECT_TRUE(std::regex_search(part, std::regex("\": " + state))) << name << " is not " << state << " in\n"
                                                                   << dump;
  const bool found = !has_backtraces || part.find(" " + function) != std::string::npos;
  EXPECT_TRUE(found) << "no " << function << " in\n" << part;
}

void wait_for(const auto& condition) {
  while (!condition())
    std::this_thread::sleep_for(1ms);
}

TEST(dump, names_what_each_fiber_of_a_parallel_runtime_waits_for) {
  sennit::runtime runtime({.workers = 2});
  sennit::mutex mutex;
  sennit::channel<int> channel(1);
  std::atomic<bool> done{false};
  mutex.lock();
  auto at_mutex = runtime.spawn([&] { dump_test_lock(mutex); }, {.name = "at-mutex"});
  auto at_channel = runtime.spawn([&] { dump_test_receive(channel); }, {.name = "at-channel"});
  auto in_catch = runtime.spawn([&] { dump_test_receive_in_catch(channel); }, {.name = "in-catch"});
  auto sleeper = runtime.spawn([&] { dump_test_sleep(done); }, {.name = "sleeper"});
  auto joiner = runtime.spawn([&] { dump_test_join(sleeper); }, {.name = "joiner"});
  auto patient =
      runtime.spawn([&] { at_mutex.join_until(std::chrono::steady_clock::now() + 1h); }, {.name = "patient"});
  auto runner = runtime.spawn([&] { dump_test_run(done); }, {.name = "runner"});
  std::this_thread::sleep_for(100ms);

  const std::string dump = dumped();
  EXPECT_EQ(dump.rfind("sennit: 7 fibers\n", 0), 0u) << dump;
  expect_in(dump, "at-mutex", "parked: mutex" + at(&mutex) + "\n", "dump_test_lock");
  expect_in(dump, "at-channel", "parked: channel receive" + at(&channel) + "\n", "dump_test_receive+");
  expect_in(dump, "in-catch", "parked: channel receive" + at(&channel) + "\n", "dump_test_receive_in_catch");
  expect_in(dump, "sleeper", "parked: sleep" + for_long + "\n", "dump_test_sleep");
  expect_in(dump, "runner", "running\n", shows_running ? "dump_test_run" : "");
  std::smatch found;
  ASSERT_TRUE(std::regex_search(dump, found, std::regex("fiber (\\d+) \"sleeper\"")));
  expect_in(dump, "joiner", "parked: join of fiber " + found[1].str() + for_long + "\n", "dump_test_join");
  ASSERT_TRUE(std::regex_search(dump, found, std::regex("fiber (\\d+) \"at-mutex\"")));
  expect_in(dump, "patient", "parked: join of fiber " + found[1].str() + for_long + "\n",
            "sennit::v0_1::fiber::join_until");
  ASSERT_TRUE(std::regex_search(dump, found, std::regex("fiber (\\d+) \"runner\"")));
  EXPECT_NE(dump.find("runs fiber " + found[1].str()), std::string::npos) << dump;
  EXPECT_NE(dump.find("runtime 1: 2 workers: worker 0 "), std::string::npos) << dump;

  done = true;
  channel.close();
  mutex.unlock();
  runner.join();
  at_channel.join();
  patient.join();
  joiner.join();
}

TEST(dump, names_the_fibers_of_the_callers_local_runtime) {
  sennit::local::runtime runtime;
  std::string dump;
  runtime.run([&] {
    sennit::local::channel<int> channel;
    auto receiver = sennit::local::spawn([&] { dump_test_local_receive(channel); }, {.name = "receiver"});
    auto generating = sennit::local::spawn([&] { dump_test_in_generator(channel); }, {.name = "generating"});
    sennit::local::this_fiber::yield();
    auto fresh = sennit::local::spawn([] {}, {.name = "fresh"});
    dump = dumped();
    channel.close();
  });
  EXPECT_EQ(dump.rfind("sennit: 4 fibers\n", 0), 0u) << dump;
  expect_in(dump, "main", "running\n", "");
  expect_in(dump, "receiver", "parked: channel receive at 0x[0-9a-f]+" + for_long + "\n",
            "dump_test_local_receive");
  expect_in(dump, "generating", "parked: channel receive at 0x[0-9a-f]+" + for_long + "\n",
            "dump_test_local_receive");
  if (has_backtraces) {
    EXPECT_NE(part_of(dump, "generating").find("dump_test_in_generator"), std::string::npos) << dump;
    EXPECT_NE(part_of(dump, "main").find("#0 "), std::string::npos) << dump;
  }
  EXPECT_NE(part_of(dump, "fresh").find("ready"), std::string::npos) << dump;
}

TEST(dump, sees_a_local_runtime_of_another_thread) {
  std::atomic<bool> ready{false};
  std::atomic<sennit::local::runtime*> its{nullptr};
  std::atomic<bool> done{false};
  std::thread other([&] {
    sennit::local::runtime runtime;
    its = &runtime;
    runtime.run([&] {
      sennit::local::channel<int> channel;
      auto receiver = sennit::local::spawn([&] { dump_test_local_receive(channel); }, {.name = "receiver"});
      sennit::local::this_fiber::yield();
      ready = true;
      while (!done)
        sennit::local::this_fiber::sleep_for(5ms);
      channel.close();
    });
  });
  wait_for([&] { return ready.load(); });
  std::this_thread::sleep_for(2ms);
  const std::string dump = dumped();
  done = true;
  other.join();
  expect_in(dump, "receiver", "parked: channel receive at 0x[0-9a-f]+" + for_long + "\n",
            "dump_test_local_receive");
  EXPECT_NE(dump.find("runtime 1 (local): "), std::string::npos) << dump;
}

TEST(dump, sees_a_local_runtime_that_nobody_runs) {
  sennit::local::runtime runtime;
  sennit::local::channel<int> channel;
  auto receiver = runtime.spawn([&] { dump_test_local_receive(channel); }, {.name = "receiver"});
  runtime.run_once();
  const std::string dump = dumped();
  expect_in(dump, "receiver", "parked: channel receive at 0x[0-9a-f]+" + for_long + "\n",
            "dump_test_local_receive");
  EXPECT_NE(dump.find("has no thread now"), std::string::npos) << dump;
  channel.close();
  runtime.run([&] { receiver.join(); });
}

TEST(dump, says_when_a_worker_cannot_be_stopped) {
  sennit::runtime runtime({.workers = 2});
  sennit::channel<int> channel(1);
  std::atomic<bool> blocks{false};
  std::atomic<bool> done{false};
  auto receiver = runtime.spawn([&] { dump_test_receive(channel); }, {.name = "receiver"});
  auto blocker = runtime.spawn([&] {
    sigset_t urgent;
    sigemptyset(&urgent);
    sigaddset(&urgent, SIGURG);
    pthread_sigmask(SIG_BLOCK, &urgent, nullptr);
    blocks = true;
    dump_test_run(done);
    pthread_sigmask(SIG_UNBLOCK, &urgent, nullptr);
  });
  wait_for([&] { return blocks.load(); });
  const std::string dump = dumped();
  done = true;
  EXPECT_NE(dump.find(" could not be stopped"), std::string::npos) << dump;
  EXPECT_NE(part_of(dump, "receiver").find("not looked at"), std::string::npos) << dump;
  channel.close();
  receiver.join();
  blocker.join();
}

TEST(dump, may_be_called_by_several_fibers_at_once) {
  sennit::runtime runtime({.workers = 4});
  std::vector<sennit::fiber> fibers;
  std::atomic<int> whole{0};
  for (int i = 0; i < 8; ++i)
    fibers.push_back(runtime.spawn([&] {
      for (int round = 0; round < 3; ++round)
        whole += dumped().rfind("sennit: ", 0) == 0;
    }));
  for (sennit::fiber& each : fibers)
    each.join();
  EXPECT_EQ(whole, 24);
}

// Fibers come, go, park, give way and throw while they are looked at.
TEST(dump, harms_no_fiber) {
  sennit::runtime runtime({.workers = 3});
  sennit::mutex mutex;
  sennit::channel<int> channel(2);
  std::atomic<bool> done{false};
  std::atomic<long> work{0};
  std::vector<sennit::fiber> fibers;
  fibers.push_back(runtime.spawn([&] {
    for (int i = 0; !done; ++i)
      channel.send(i);
    channel.close();
  }));
  fibers.push_back(runtime.spawn([&] {
    while (channel.receive())
      ++work;
  }));
  for (int i = 0; i < 4; ++i)
    fibers.push_back(runtime.spawn([&] {
      while (!done) {
        mutex.lock();
        sennit::this_fiber::yield();
        mutex.unlock();
        ++work;
        sennit::spawn_now([&] { sennit::this_fiber::yield(); }).join();
        try {
          throw 1;
        } catch (int) {
          sennit::this_fiber::sleep_for(10us);
        }
      }
    }));
  std::thread local([&] {
    while (!done) {
      sennit::local::runtime short_lived;
      short_lived.run([] {
        auto child = sennit::local::spawn([] { sennit::local::this_fiber::yield(); });
        sennit::local::this_fiber::sleep_for(10us);
        child.join();
      });
      sennit::runtime also({.workers = 1});
      also.run([] { sennit::this_fiber::yield(); });
    }
  });
  const auto end = std::chrono::steady_clock::now() + 3s;
  for (int i = 0; i < 100 && std::chrono::steady_clock::now() < end; ++i) {
    const std::string dump = dumped();
    EXPECT_EQ(dump.rfind("sennit: ", 0), 0u);
    std::this_thread::sleep_for(1ms);
  }
  done = true;
  for (sennit::fiber& each : fibers)
    each.join();
  local.join();
  EXPECT_GT(work, 0);
}

TEST(dump, comes_by_a_signal_when_all_workers_are_stuck) {
  sennit::dump_on_signal(SIGUSR1);
  sennit::dump_on_signal();
  std::atomic<bool> done{false};
  sennit::runtime runtime({.workers = 2});
  auto one = runtime.spawn([&] { dump_test_run(done); }, {.name = "one"});
  auto two = runtime.spawn([&] { dump_test_run(done); }, {.name = "two"});
  std::this_thread::sleep_for(50ms);
  for (const int signal : {SIGUSR1, SIGQUIT}) {
    const memory_file file;
    const int kept = ::dup(STDERR_FILENO);
    ::dup2(file.fd(), STDERR_FILENO);
    ::kill(::getpid(), signal);
    wait_for([&] { return file.text().find("\"two\"") != std::string::npos; });
    ::dup2(kept, STDERR_FILENO);
    ::close(kept);
    expect_in(file.text(), "one", "running\n", shows_running ? "dump_test_run" : "");
  }
  done = true;
  one.join();
  two.join();
}

TEST(dump, is_refused_for_signals_that_cannot_be_had) {
  for (const int signal : {0, -1, 1000, SIGKILL, SIGSEGV, SIGFPE, SIGURG}) {
    try {
      sennit::dump_on_signal(signal);
      FAIL() << signal;
    } catch (const std::system_error& error) {
      EXPECT_EQ(error.code(), std::errc::invalid_argument) << signal;
    }
  }
}

TEST(dump, of_nothing) {
  EXPECT_EQ(dumped(), "sennit: 0 fibers\n");
}

}  // namespace
