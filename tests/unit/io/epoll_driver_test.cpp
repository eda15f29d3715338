// The driver and its worker together: fairness, interruptions, ends, and what the kernel refuses.
#include "sennit/detail/io/epoll_driver.hpp"

#include <sys/syscall.h>
#include <sys/time.h>

#include <csignal>
#include <cstddef>
#include <optional>
#include <thread>
#include <vector>

#include "sennit/readiness.hpp"
#include "sennit/signal_set.hpp"
#include "support.hpp"
#include "support/seccomp.hpp"

namespace sennit::inline v0_1::local {
namespace {

using namespace io_test;
using sennit::readiness;
using sennit::signal_set;

static_assert(sizeof(sennit::detail::io_source) <= 64);
static_assert(sizeof(tcp_stream) == sizeof(void*));

// Fills the receiving side of a connection with bytes to be read one by one.
void fill(tcp_stream& from, std::size_t size) {
  from.write_all(std::string(size, 'x'), generous());
}

TEST(EpollDriver, AFiberThatNeverParksGivesWayToReadyOnes) {
  int turns = 0;  // outlives the other fiber, which runs until the runtime ends
  runtime rt;
  rt.run([&] {
    auto [client, server] = make_connection();
    constexpr int size = 6400;
    fill(client, size);
    auto other = spawn([&] {
      for (;;) {
        ++turns;
        this_fiber::yield();
      }
    });
    for (int i = 0; i < size; ++i) {
      char one[1];
      ASSERT_EQ(server.read_some(one, generous()), 1u);
    }
    EXPECT_GE(turns, size / 64 - 2);
  });
}

TEST(EpollDriver, AFiberThatNeverParksGivesWayToThoseWhoWaitForIo) {
  runtime rt;
  rt.run([] {
    auto greedy = make_connection();
    auto patient = make_connection();
    fill(greedy.client, 1000);
    int reads = 0;
    int reads_when_served = 0;
    auto other = spawn([&] {
      char buffer[8];
      patient.server.read_some(buffer, generous());
      reads_when_served = reads;
    });
    this_fiber::yield();
    patient.client.write_all("x");
    for (; reads < 1000; ++reads) {
      char one[1];
      greedy.server.read_some(one, generous());
    }
    EXPECT_GT(reads_when_served, 0);
    EXPECT_LE(reads_when_served, 128);
    other.join();
  });
}

// A storm of signals without SA_RESTART: every system call may say EINTR.
TEST(EpollDriver, InterruptionsDisturbNobody) {
  struct sigaction count{};
  static volatile std::sig_atomic_t interruptions = 0;
  count.sa_handler = [](int) { interruptions = interruptions + 1; };
  struct sigaction former{};
  sigaction(SIGALRM, &count, &former);
  const itimerval often{{0, 300}, {0, 300}};
  setitimer(ITIMER_REAL, &often, nullptr);
  const std::string data(4 << 20, 'i');
  runtime rt;
  rt.run([&] {
    tcp_listener listener("127.0.0.1", 0);
    const auto until = steady::now() + 100ms;
    do {
      auto [client, server] = connect_to(listener);
      shrink_buffers(client);
      auto writer = spawn([&stream = client, &data] {
        stream.write_all(data, generous());
        stream.close();
      });
      EXPECT_TRUE(read_to_end(server) == data);
      writer.join();
      std::error_code error;
      listener.accept(error, steady::now() + 2ms);
      EXPECT_EQ(error, std::errc::timed_out);
    } while (steady::now() < until);
  });
  const itimerval off{};
  setitimer(ITIMER_REAL, &off, nullptr);
  sigaction(SIGALRM, &former, nullptr);
  EXPECT_GT(interruptions, 0);
}

TEST(EpollDriver, NoDescriptorIsLeftOver) {
  const auto before = open_descriptors();
  {
    runtime rt;
    rt.run([] {
      signal_set signals{SIGUSR1};
      tcp_listener listener("127.0.0.1", 0);
      for (int i = 0; i < 20; ++i) {
        auto both = connect_to(listener);
        std::error_code error;
        char buffer[8];
        both.server.read_some(buffer, error, steady::now());
        tcp_stream::connect("nowhere", 1, error);
        tcp_listener::listen("127.0.0.1", listener.port(), error);
        listener.accept(error, steady::now());
      }
    });
  }
  EXPECT_EQ(open_descriptors(), before);
}

// Every way of waiting at once when the runtime ends.
TEST(EpollDriver, UnwindsThoseWhoWaitWhenItsRuntimeEnds) {
  const auto before = open_descriptors();
  int unwound = 0;
  struct witness {
    int& count;
    ~witness() { ++count; }
  };
  {
    runtime rt;
    rt.run([&] {
      spawn([&] {
        witness w{unwound};
        auto [client, server] = make_connection();
        char buffer[8];
        server.read_some(buffer);
      }).detach();
      spawn([&] {
        witness w{unwound};
        auto [client, server] = make_connection();
        server.write_all(std::string(16 << 20, 'x'));
      }).detach();
      spawn([&] {
        witness w{unwound};
        tcp_listener listener("127.0.0.1", 0);
        listener.accept(generous());
      }).detach();
      spawn([&] {
        witness w{unwound};
        tcp_listener listener("127.0.0.1", 0, 0);
        std::vector<tcp_stream> waiting;
        for (;;)
          waiting.push_back(tcp_stream::connect("127.0.0.1", listener.port()));
      }).detach();
      spawn([&] {
        witness w{unwound};
        signal_set signals{SIGUSR1};
        signals.wait();
      }).detach();
      spawn([&] {
        witness w{unwound};
        auto [client, server] = make_connection();
        readiness ready(server.native_handle());
        ready.wait_readable();
      }).detach();
      this_fiber::sleep_for(20ms);
    });
    EXPECT_EQ(unwound, 0);
  }
  EXPECT_EQ(unwound, 6);
  EXPECT_EQ(open_descriptors(), before);
}

TEST(EpollDriver, StreamsOutliveTheirRuntime) {
  std::optional<connection> both;
  std::optional<tcp_listener> listener;
  for (int i = 0; i < 3; ++i) {
    runtime rt;
    rt.run([&] {
      if (!both) {
        listener.emplace("127.0.0.1", 0);
        both = connect_to(*listener);
      }
      std::string got(4, 0);
      auto reader = spawn([&] { both->server.read_some(got, generous()); });
      this_fiber::yield();
      both->client.write_all("more");
      reader.join();
      EXPECT_EQ(got, "more");
      EXPECT_TRUE(connect_to(*listener).server.is_open());
    });
  }
}

TEST(EpollDriver, AStreamMayGoThereAndBackBetweenRuntimes) {
  runtime first;
  runtime second;
  auto both = first.run([] { return make_connection(); });
  for (runtime* rt : {&first, &second, &first, &second}) {
    rt->run([&] {
      char buffer[8];
      auto reader = spawn([&] { EXPECT_EQ(both.server.read_some(buffer, generous()), 4u); });
      this_fiber::yield();
      both.client.write_all("ball");
      reader.join();
    });
  }
}

TEST(EpollDriver, RuntimesOnSeveralThreads) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([] {
      runtime rt;
      rt.run([] {
        tcp_listener listener("127.0.0.1", 0);
        for (int i = 0; i < 100; ++i) {
          auto [client, server] = connect_to(listener);
          auto serving = spawn([&stream = server] { echo(stream); });
          client.write_all("ping");
          char buffer[8];
          EXPECT_EQ(client.read_some(buffer, generous()), 4u);
          client.close();
          serving.join();
        }
      });
    });
  for (auto& thread : threads)
    thread.join();
}

TEST(EpollDriver, AForeignThreadsPostEndsTheWait) {
  runtime rt;
  std::thread poster;
  rt.run([&] {
    auto [client, server] = make_connection();
    poster = std::thread([&rt, &stream = client] {
      std::this_thread::sleep_for(5ms);
      rt.post([&] { stream.write_all("posted"); });
    });
    char buffer[8];
    EXPECT_EQ(server.read_some(buffer, generous()), 6u);
  });
  poster.join();
}

// Makes epoll_pwait2 fail, as old kernels and strict seccomp filters do.
bool forbid_epoll_pwait2(unsigned error) {
  return support::refuse_call(SYS_epoll_pwait2, error);
}

bool works_with_deadlines() {
  runtime rt;
  return rt.run([] {
    const auto start = steady::now();
    this_fiber::sleep_for(1500us);
    const bool slept = steady::now() >= start + 1500us;
    auto [client, server] = make_connection();
    char buffer[8];
    std::error_code error;
    server.read_some(buffer, error, steady::now() + 1500us);
    client.write_all("x");
    return slept && error == std::errc::timed_out && server.read_some(buffer, generous()) == 1;
  });
}

TEST(EpollDriver, DoesWithoutEpollPwait2) {
  if (!in_child([] { return forbid_epoll_pwait2(ENOSYS); }))
    GTEST_SKIP() << "no seccomp here";
  EXPECT_TRUE(in_child([] { return forbid_epoll_pwait2(ENOSYS) && works_with_deadlines(); }));
  EXPECT_TRUE(in_child([] { return forbid_epoll_pwait2(EPERM) && works_with_deadlines(); }));
}

}  // namespace
}  // namespace sennit::inline v0_1::local
